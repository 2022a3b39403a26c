// SPDX-License-Identifier: Apache-2.0
// A large container is paged and its first page is there at once; Home counts it when somebody asks. ZAFFRE_EXPLORER_BLOBS=1000000 for
// a million.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../lib/http.mjs';
import { scale, scaled } from '../lib/server.mjs';
import { ACCOUNT, explorerTests, rows } from './stage.mjs';

const LARGE = Number(process.env.ZAFFRE_EXPLORER_BLOBS ?? scaled(20_000, 2000));

explorerTests('explorer, a large container', (stage) => {
	test(`${LARGE} blobs: the first page is there within a second`, async () => {
		const blob = new Client(stage.server, { service: 'blob' });
		await blob.put('/many', { query: { restype: 'container' } });
		let next = 0;
		const headers = { 'x-ms-blob-type': 'BlockBlob' };
		const put = async () => {
			while (next < LARGE) {
				const answer = await blob.put(`/many/${String(next++).padStart(7, '0')}`, { headers, body: '' });
				assert.equal(answer.status, 201);
			}
		};
		await Promise.all(Array.from({ length: 32 }, put));
		// Beside a container of five, in turns: what both take is the machine's, what one takes more is its size.
		const first = async (container, row) => {
			const page = await stage.open(`#/blobs/${ACCOUNT}/${container}`);
			await rows(page).nth(row).waitFor();
			return { page, ms: await page.evaluate(() => performance.getEntriesByName('first rows')[0].startTime) };
		};
		const times = { few: [], many: [] };
		for (let i = 0; i < 4; i++) {
			const few = await first('photos', 0), many = await first('many', 99);
			times.few.push(few.ms);
			times.many.push(many.ms);
			assert.equal(await rows(many.page).count(), 100, 'a page, never all');
			if (i === 0) {
				await many.page.getByRole('button', { name: 'More' }).click();
				await many.page.getByText('0000150', { exact: true }).waitFor();
				await many.page.getByRole('button', { name: 'Back' }).click();
				await many.page.getByText('0000050', { exact: true }).waitFor();
			}
			await stage.done(few.page);
			await stage.done(many.page);
		}
		const shown = (list) => list.map((ms) => Math.round(ms)).join(', ');
		console.log(`# first rows of ${LARGE} after ${shown(times.many)} ms, of a few after ${shown(times.few)} ms`);
		assert.ok(Math.min(...times.many) < Math.max(1000 / Math.min(1, scale), 1.5 * Math.min(...times.few)), `first rows of many after ${shown(times.many)} ms, of a few after ${shown(times.few)} ms`);
	});

	test('home: counts everything when asked, shows how far it is, and ends when told or when the view is left', async () => {
		for (let i = 0; i < 1001; i += 77) await Promise.all(Array.from({ length: Math.min(77, 1001 - i) }, (_, k) => stage.world.queues.getQueueClient(`counted-${i + k}`).create()));
		let blobs = 0, containers = 0, queues = 0;
		for await (const one of stage.world.service.listContainers()) {
			containers++;
			for await (const page of stage.world.service.getContainerClient(one.name).listBlobsFlat().byPage()) blobs += page.segment.blobItems.length;
		}
		for await (const _ of stage.world.queues.listQueues()) queues++;
		const number = (n) => n.toLocaleString('en-US');
		const page = await stage.open();
		const figures = page.locator('.figures');
		const pagesAsked = [];
		page.on('request', (request) => /[?&]marker=/.test(request.url()) && pagesAsked.push(request.url()));
		await figures.getByText(/^> 1,0\d\d blobs$/).waitFor();
		await figures.getByText('> 1,000 queues', { exact: true }).waitFor();
		await figures.getByText(`${Math.round((await stage.world.team.getStatistics()).shareUsageBytes / 1024)} KiB in files`, { exact: true }).waitFor();
		assert.deepEqual(pagesAsked, [], 'never by itself');

		// The second page of the large container waits: it can be stopped there, and what was found stays.
		let hold = true, release;
		const held = new Promise((resolve) => (release = resolve));
		await page.route(/\/many\?.*marker=/, async (route) => {
			if (hold) await held;
			await route.continue().catch(() => {});
		});
		const ended = () => page.waitForEvent('requestfailed', (request) => /many\?.*marker=/.test(request.url()));
		await page.getByRole('button', { name: 'Count all' }).click();
		await figures.getByText('counting many …').waitFor();
		let gone = ended();
		await page.getByRole('button', { name: 'Stop' }).click();
		await gone;
		await page.getByRole('button', { name: 'Count all' }).waitFor();
		await figures.getByText(/^> 1,0\d\d blobs$/).waitFor();
		await figures.getByText(`${number(queues)} queues`, { exact: true }).waitFor(); // counted to their end
		// Likewise when somebody goes elsewhere.
		await page.getByRole('button', { name: 'Count all' }).click();
		await figures.getByText('counting many …').waitFor();
		gone = ended();
		await page.getByRole('link', { name: 'Queues', exact: true }).click();
		await gone;
		hold = false;
		release();
		await page.getByRole('link', { name: 'Home', exact: true }).click();
		await page.getByRole('button', { name: 'Count all' }).click();
		await figures.getByText(`${number(blobs)} blobs`, { exact: true }).waitFor({ timeout: 120_000 });
		await figures.getByText(`${number(queues)} queues`, { exact: true }).waitFor();
		await figures.getByText(`${containers} containers`, { exact: true }).waitFor();
		assert.equal(await page.getByRole('button', { name: 'Count all' }).count(), 0, 'nothing is left to count');
		await stage.done(page);
	});
});

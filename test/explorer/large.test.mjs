// SPDX-License-Identifier: Apache-2.0
// A large container and a large directory are paged: the page asks for as much as it does of a small one, holds no more rows, and shows
// the first at once; Home counts them when somebody asks. ZAFFRE_EXPLORER_BLOBS=1000000 for a million of each: then by the clock, too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawConnection } from '../lib/http.mjs';
import { scale, scaled } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';
import { ACCOUNT, explorerTests, rows } from './stage.mjs';

const LARGE = Number(process.env.ZAFFRE_EXPLORER_BLOBS ?? scaled(20_000, 2000));
const BY_CLOCK = process.env.ZAFFRE_EXPLORER_BLOBS !== undefined;
const PAGE = 100;
const ANSWERS_BYTES_MAX = 128 * 1024; // of all answers until the rows are there; a page of blobs is 80 KiB
const NODES_MAX = 15 * PAGE;

const digits = (i) => String(i).padStart(7, '0');

// So many empty blobs or files. A connection's requests are answered one after another: it takes many to fill the groups of commits.
const CONNECTIONS = 128, ON_THE_WAY = 8;
async function fill(server, service, path, headers) {
	const sas = accountSas(server.account, server.key, { now: server.now() });
	const port = Number(new URL(server.endpoints[service]).port);
	const target = new URL(server.endpoints[service]).pathname + path;
	let next = 0;
	const put = async () => {
		const connection = await RawConnection.open(port);
		while (next < LARGE) {
			const from = next, until = Math.min(LARGE, (next += ON_THE_WAY));
			const head = `Host: 127.0.0.1\r\nx-ms-version: 2024-11-04\r\nContent-Length: 0\r\n${headers}\r\n`;
			connection.write(Array.from({ length: until - from }, (_, i) => `PUT ${target}/${digits(from + i)}?${sas} HTTP/1.1\r\n${head}`).join(''));
			for (let i = from; i < until; i++) assert.equal((await connection.answer('PUT')).status, 201);
		}
		await connection.end();
	};
	await Promise.all(Array.from({ length: CONNECTIONS }, put));
}

// What a page asked the server until its first rows were there, and what came of it.
async function look(stage, hash, row) {
	const asked = [];
	const page = await stage.open('#/access'); // a view that asks for nothing: the overview and the samples are everywhere
	await page.locator('main h1').waitFor();
	page.on('response', (answer) => asked.push(answer));
	await page.evaluate(() => performance.clearMarks());
	await page.goto(page.url().replace(/#.*/, hash));
	await rows(page).nth(row).waitFor();
	const lists = asked.filter((answer) => /comp=list/.test(answer.url()));
	const bytes = (await Promise.all(lists.map((answer) => answer.body()))).reduce((sum, body) => sum + body.length, 0);
	const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
	return { page, lists: lists.map((answer) => new URL(answer.url()).search), bytes, nodes, shown: await rows(page).count() };
}

async function firstRows(stage, hash, row) {
	const page = await stage.open(hash);
	await rows(page).nth(row).waitFor();
	const ms = await page.evaluate(() => performance.getEntriesByName('first rows')[0].startTime);
	await stage.done(page);
	return ms;
}

async function pagedAsASmallOne(stage, small, large) {
	const few = await look(stage, small, 0), many = await look(stage, large, PAGE - 1);
	assert.equal(many.lists.length, few.lists.length, `asked for ${many.lists.join(' ')}`);
	for (const search of many.lists) {
		assert.equal(new URLSearchParams(search).get('maxresults'), String(PAGE));
		assert.equal(new URLSearchParams(search).get('marker'), null, 'the first list page');
	}
	assert.equal(many.shown, PAGE, 'a page, never all');
	assert.ok(many.bytes < ANSWERS_BYTES_MAX, `${many.bytes} bytes of lists`);
	assert.ok(many.nodes < NODES_MAX, `${many.nodes} nodes`);
	// Further and back: a page replaces the one before it.
	const { page } = many;
	for (const name of ['0000150', '0000250', '0000350']) {
		await page.getByRole('button', { name: 'More' }).click();
		await page.getByText(name, { exact: true }).waitFor();
	}
	assert.equal(await rows(page).count(), PAGE);
	const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
	assert.ok(Math.abs(nodes - many.nodes) < PAGE, `${nodes} nodes, ${many.nodes} at first`);
	await page.getByRole('button', { name: 'Back' }).click();
	await page.getByText('0000250', { exact: true }).waitFor();
	await stage.done(few.page);
	await stage.done(page);
	// Beside a small one, in turns: what both take is the machine's, what one takes more is its size.
	const times = { few: [], many: [] };
	for (let i = 0; i < (BY_CLOCK ? 4 : 1); i++) {
		times.few.push(await firstRows(stage, small, 0));
		times.many.push(await firstRows(stage, large, PAGE - 1));
	}
	const shown = (list) => list.map((ms) => Math.round(ms)).join(', ');
	console.log(`# first rows of ${LARGE} after ${shown(times.many)} ms, of a few after ${shown(times.few)} ms; lists of ${many.bytes} bytes, ${many.nodes} nodes`);
	if (BY_CLOCK) assert.ok(Math.min(...times.many) < Math.max(1000 / Math.min(1, scale), 1.5 * Math.min(...times.few)), `first rows of many after ${shown(times.many)} ms, of a few after ${shown(times.few)} ms`);
}

explorerTests('explorer, large', (stage) => {
	test(`${LARGE} blobs in a container are paged as a few are`, async () => {
		await stage.world.service.getContainerClient('many').create();
		await fill(stage.server, 'blob', '/many', 'x-ms-blob-type: BlockBlob\r\n');
		await pagedAsASmallOne(stage, `#/blobs/${ACCOUNT}/photos`, `#/blobs/${ACCOUNT}/many`);
	});

	test(`${LARGE} files in a directory are paged as a few are`, async () => {
		await stage.world.team.getDirectoryClient('many').create();
		await fill(stage.server, 'file', '/team/many', 'x-ms-type: file\r\nx-ms-content-length: 0\r\n');
		await pagedAsASmallOne(stage, `#/files/${ACCOUNT}/team?dir=reports`, `#/files/${ACCOUNT}/team?dir=many`);
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

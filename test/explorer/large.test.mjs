// SPDX-License-Identifier: Apache-2.0
// A large container is paged and its first page is there at once. ZAFFRE_EXPLORER_BLOBS=1000000 for a million.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../lib/http.mjs';
import { scale, scaled } from '../lib/server.mjs';
import { ACCOUNT, explorerTests, rows } from './stage.mjs';

const LARGE = Number(process.env.ZAFFRE_EXPLORER_BLOBS ?? scaled(50_000, 2000));

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
		const times = [];
		for (let i = 0; i < 3; i++) {
			const page = await stage.open(`#/blobs/${ACCOUNT}/many`);
			await rows(page).nth(99).waitFor();
			times.push(await page.evaluate(() => performance.getEntriesByName('first rows')[0].startTime));
			assert.equal(await rows(page).count(), 100, 'a page, never all');
			if (i === 0) {
				await page.getByRole('button', { name: 'More' }).click();
				await page.getByText('0000150', { exact: true }).waitFor();
				await page.getByRole('button', { name: 'Back' }).click();
				await page.getByText('0000050', { exact: true }).waitFor();
			}
			await stage.done(page);
		}
		console.log(`# first rows of ${LARGE} after ${times.map((ms) => Math.round(ms)).join(', ')} ms`);
		assert.ok(Math.min(...times) < 1000 / Math.min(1, scale), `first rows after ${times}`);
	});
});

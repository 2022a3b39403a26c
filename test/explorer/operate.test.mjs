// SPDX-License-Identifier: Apache-2.0
// Operate in a real browser, while clients race: accounts, limits, checkpoints that can be restored, and a scrub.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { agree, explorerTests, rows, told } from './stage.mjs';

explorerTests('explorer, operate', (stage) => {
	const card = (page, title) => page.locator('section.card', { has: page.getByRole('heading', { name: title, exact: true }) });

	test('accounts: added, given a new key, removed', async () => {
		const page = await stage.open('#/operate');
		await page.getByRole('button', { name: 'Add account' }).click();
		await page.getByLabel('Name', { exact: true }).fill('Not allowed!');
		await page.getByRole('button', { name: 'Create' }).click();
		assert.ok(await page.getByLabel('Name', { exact: true }).evaluate((input) => !input.checkValidity()), 'what no name can be is told before it is sent');
		await page.getByLabel('Name', { exact: true }).fill('fresh');
		await page.getByRole('button', { name: 'Create' }).click();
		const key = /key1: (\S+)/.exec(await page.locator('dialog pre').innerText())[1];
		await page.locator('dialog').getByRole('button', { name: 'Close' }).last().click();
		const row = rows(page).filter({ hasText: 'fresh' });
		await row.getByRole('button', { name: 'Rotate key 1' }).click();
		await page.getByRole('button', { name: 'Make a new key' }).click();
		const now = /key1: (\S+)/.exec(await page.locator('dialog pre').innerText())[1];
		assert.notEqual(now, key);
		const list = (accountKey) => BlobServiceClient.fromConnectionString(`DefaultEndpointsProtocol=http;AccountName=fresh;AccountKey=${accountKey};BlobEndpoint=${stage.server.endpoints.blob.replace(/[^/]+$/, 'fresh')};`).getProperties();
		await list(now);
		await assert.rejects(list(key), { statusCode: 403 });
		await page.locator('dialog').getByRole('button', { name: 'Close' }).last().click();
		await row.getByRole('button', { name: 'Remove' }).click();
		await page.getByRole('button', { name: 'Remove it' }).click();
		await page.locator('dialog').getByRole('button', { name: 'Close' }).last().click();
		await row.waitFor({ state: 'detached' });
		await stage.done(page);
	});

	test('limits: one is set, holds at once and after a restart, a wrong one is refused, and it can be taken away', async () => {
		const own = await startServer({ flags: ['--adminPort', '0'] });
		try {
			const container = BlobServiceClient.fromConnectionString(own.connectionString).getContainerClient('open');
			await container.create({ access: 'blob' });
			await container.getBlockBlobClient('b').upload('x', 1);
			const anonymous = async () => (await fetch(container.getBlobClient('b').url)).status;
			assert.equal(await anonymous(), 200);
			let page = await stage.browser.open(own, '#/operate');
			await page.getByRole('button', { name: 'Limits' }).click();
			await page.getByLabel('limit', { exact: true }).selectOption('public-access');
			await page.getByLabel('value of the limit').fill('perhaps');
			await page.getByRole('button', { name: 'Add limit' }).click();
			await page.locator('dialog .problem', { hasText: 'the value is on or off' }).waitFor();
			assert.equal(await anonymous(), 200);
			await page.getByLabel('value of the limit').fill('off');
			await page.getByRole('button', { name: 'Add limit' }).click();
			await page.getByLabel('public-access of devstoreaccount1').waitFor();
			assert.equal(await anonymous(), 409);
			await page.locator('dialog').getByRole('button', { name: 'Close' }).last().click();
			await rows(page).filter({ hasText: 'no public access' }).waitFor();
			await stage.done(page);
			await own.restart();
			assert.equal(await anonymous(), 409, 'it stands in the data directory');
			page = await stage.browser.open(own, '#/operate');
			await page.getByRole('button', { name: 'Limits' }).click();
			await page.locator('dialog').getByRole('button', { name: 'Remove' }).click();
			await page.getByText('No limits.').waitFor();
			assert.equal(await anonymous(), 200);
			await stage.done(page);
		} finally {
			await own.remove();
		}
	});

	test('checkpoints: made while clients race, restored whole, removed', async () => {
		const page = await stage.open('#/operate');
		const made = card(page, 'Checkpoints');
		for (const name of ['first', 'second']) {
			await page.getByLabel('name of the checkpoint').fill(name);
			await made.getByRole('button', { name: 'Make a checkpoint' }).click();
			await told(page, `Checkpoint ${name} began`);
			await rows(page).filter({ hasText: name }).waitFor();
			await made.locator('.job[data-state=done]', { hasText: name }).waitFor();
		}
		await page.getByLabel('name of the checkpoint').fill('first');
		await made.getByRole('button', { name: 'Make a checkpoint' }).click();
		await page.locator('.toast.bad', { hasText: 'there is a checkpoint first already' }).waitFor();
		const folder = path.join(stage.server.dataDir, 'checkpoints');
		const copy = path.join(tempDir(), 'restored');
		try {
			const restored = await runProgram(['restore', path.join(folder, 'second'), '--location', copy]);
			assert.equal(restored.code, 0, restored.stderr);
			const scrubbed = await runProgram(['scrub', '--location', copy]);
			assert.equal(scrubbed.code, 0, scrubbed.stdout + scrubbed.stderr);
			const server = await startServer({ dataDir: copy });
			const photos = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('photos');
			assert.equal((await photos.getBlobClient('originals/0001.png').getProperties()).metadata.n, '1');
			await server.stop();
		} finally {
			removeDir(path.dirname(copy));
		}
		await rows(page).filter({ hasText: 'first' }).getByRole('button', { name: 'Remove' }).click();
		await agree(page, 'Remove it');
		await rows(page).filter({ hasText: 'first' }).waitFor({ state: 'detached' });
		assert.deepEqual(fs.readdirSync(folder), ['second']);
		await stage.done(page);
	});

	test('checkpoints: one that is cancelled leaves nothing; names cannot lead elsewhere', async () => {
		const origin = /Explorer, metrics and health at (\S+)/.exec(stage.server.stdout)[1];
		const { session } = await (await fetch(`${origin}/api/session`)).json();
		const run = async (command, parameters = {}) => (await fetch(`${origin}/api/command?${new URLSearchParams({ run: command, ...parameters })}`, { method: 'POST', headers: { 'x-zaffre-session': session } })).json();
		for (const name of ['', '..', '.hidden', 'a/b', '../db', 'x'.repeat(65)]) {
			assert.equal((await run('/checkpoint/start', { name })).status, 400, name);
			assert.equal((await run('/checkpoint/remove', { name })).status, 400, name);
		}
		assert.equal((await run('/checkpoint/start', { name: 'given-up' })).status, 200);
		const cancelled = (await run('/checkpoint/cancel')).status;
		let state;
		do state = JSON.parse((await run('/checkpoint/progress')).text);
		while (state.state === 'running');
		const there = fs.existsSync(path.join(stage.server.dataDir, 'checkpoints', 'given-up'));
		assert.equal(there, state.state === 'done', 'whole or not at all');
		if (cancelled === 200) assert.ok(['cancelled', 'done'].includes(state.state), state.state);
	});

	test('scrub: of the running server, with how far it is', async () => {
		const page = await stage.open('#/operate');
		const scrub = card(page, 'Scrub');
		await scrub.getByLabel('MB a second').fill('0');
		await scrub.getByRole('button', { name: 'Scrub' }).click();
		await scrub.locator('.job[data-state=done]', { hasText: 'nothing damaged' }).waitFor();
		assert.match(await scrub.innerText(), /100 %/);
		assert.match(await scrub.innerText(), /[1-9]\d* rows, [\d,]+ extents/);
		await page.getByText('read-only').click();
		assert.ok(await scrub.getByRole('button', { name: 'Scrub' }).isDisabled());
		await scrub.locator('.job[data-state=done]').waitFor();
		await stage.done(page);
	});
});

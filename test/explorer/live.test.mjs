// SPDX-License-Identifier: Apache-2.0
// Files, Live, Access, the test kit and Operate in a real browser, while clients race.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ContainerSASPermissions } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { explorerOf } from '../lib/browser.mjs';
import { Client } from '../lib/http.mjs';
import { removeDir, startServer, tempDir } from '../lib/server.mjs';
import { ACCESS, SHARE, SmbClient } from '../lib/smb.mjs';
import { ACCOUNT, FILES, agree, copy, explorerTests, rows, told } from './stage.mjs';

explorerTests('explorer, what happens now', (stage) => {
	test('files: directories, upload, ranges, snapshots', async () => {
		const page = await stage.open(`#/files/${ACCOUNT}`);
		await rows(page).filter({ hasText: /snapshot 2\d/ }).waitFor();
		await page.locator(`a[href="#/files/${ACCOUNT}/team"]`).click();
		await page.getByText('▸ reports/').click();
		await page.getByText('2026.csv').click();
		await page.getByRole('tab', { name: 'Ranges' }).click();
		await page.locator('.panel code', { hasText: '32768–36863' }).waitFor();
		await page.setInputFiles(FILES, { name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('a new file') });
		await rows(page).filter({ hasText: 'new.txt' }).click();
		await page.locator('pre.content', { hasText: 'a new file' }).waitFor();
		const stored = await stage.world.team.getDirectoryClient('reports').getFileClient('new.txt').downloadToBuffer();
		assert.equal(stored.toString(), 'a new file');
		// The same name again is not overwritten without a word.
		await page.setInputFiles(FILES, { name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('newer') });
		await page.locator('.uploads', { hasText: 'is there already' }).getByRole('button', { name: 'Overwrite' }).click();
		await page.locator('.uploads', { hasText: 'is there already' }).waitFor({ state: 'detached' });
		await page.locator('.uploads', { hasText: 'done' }).waitFor();
		assert.equal((await stage.world.team.getDirectoryClient('reports').getFileClient('new.txt').downloadToBuffer()).toString(), 'newer');
		await page.getByRole('tab', { name: 'Open handles' }).click();
		await page.getByText('Nobody has anything open.').waitFor();
		await stage.done(page);
	});

	test('files: an upload shows how far it is, and one that is cancelled leaves nothing', async () => {
		const page = await stage.open(`#/files/${ACCOUNT}/team?dir=scans`);
		await page.getByText('Nothing here.').waitFor();
		// The last piece waits until somebody says so.
		let release;
		const held = new Promise((resolve) => (release = resolve));
		await page.route(/comp=range/, async (route) => {
			if (/^bytes=8388608-/.test(route.request().headers()['x-ms-range'])) await held;
			await route.continue().catch(() => {});
		});
		const local = path.join(stage.server.dataDir, '..', `long-${process.pid}.bin`);
		writeFileSync(local, Buffer.alloc(9 * 1024 * 1024, 'x'));
		await page.setInputFiles(FILES, local);
		await page.locator('.uploads', { hasText: '8.0 MiB of 9.0 MiB' }).waitFor();
		rmSync(local);
		await page.getByRole('button', { name: 'Cancel' }).click();
		await page.locator('.uploads', { hasText: 'cancelled' }).waitFor();
		release();
		assert.equal(await stage.world.team.getDirectoryClient('scans').getFileClient(path.basename(local)).exists(), false);
		await stage.done(page);
	});

	test('files: leases of a share and of its files are shown there and in Live, and can be broken', async () => {
		const file = stage.world.team.getDirectoryClient('reports').getFileClient('2026.csv');
		await file.getShareLeaseClient().acquireLease(-1);
		await stage.world.team.getShareLeaseClient().acquireLease(60);
		const page = await stage.open(`#/files/${ACCOUNT}/team?tab=leases`);
		await rows(page).filter({ hasText: 'team/reports/2026.csv' }).getByText('for ever').waitFor();
		await rows(page).filter({ hasText: /^share/ }).getByRole('button', { name: 'Release' }).click();
		await told(page, 'Released');
		assert.equal((await stage.world.team.getProperties()).leaseState, 'available');
		await page.goto(page.url().replace(/#.*/, `#/live/${ACCOUNT}?tab=leases`));
		const held = rows(page).filter({ hasText: 'team/reports/2026.csv' });
		await held.getByRole('button', { name: 'Break' }).click();
		await told(page, 'Broken');
		await held.waitFor({ state: 'detached' });
		assert.equal((await file.getProperties()).leaseState, 'broken');
		await stage.done(page);
	});

	test('live: charts show what was before the page was opened', async () => {
		const origin = explorerOf(stage.server);
		const session = (await (await fetch(`${origin}api/session`)).json()).session;
		const samples = async () => (await (await fetch(`${origin}api/history`, { headers: { 'x-zaffre-session': session } })).json()).samples;
		const until = Date.now() + 30_000;
		while ((await samples()).length < 2) {
			assert.ok(Date.now() < until, 'a sample every two seconds');
			await new Promise((resolve) => setTimeout(resolve, 200));
		}
		assert.ok((await samples()).some(([, span, requests]) => span >= 1000 && requests > 0));
		assert.equal((await fetch(`${origin}api/history`)).status, 401, 'not without a session');
		let first = null;
		const page = await stage.open();
		await page.goto('about:blank');
		page.on('response', (answer) => /api\/history/.test(answer.url()) && (first ??= answer.json()));
		await page.goto(`${origin}#/live/${ACCOUNT}`);
		await page.waitForFunction(() => Number(document.querySelector('.figures b')?.textContent) > 0);
		assert.ok((await first).samples.length >= 2, 'at once, not as the page goes on');
		await page.locator('.figures', { hasText: /\d ms a sync/ }).waitFor();
		await stage.done(page);
	});

	test('files: what an SMB client has open, with what it lets others do, and force close', async () => {
		const port = Number(/over SMB is successfully listening at \S+ port (\d+)/.exec(stage.server.stdout)[1]);
		const client = await SmbClient.connect(port);
		await client.negotiate();
		await client.login(stage.server.account, stage.server.key);
		const tree = await client.treeConnect('team');
		assert.equal((await client.create(tree, 'plan.txt', { access: ACCESS.READ, share: SHARE.READ })).status, 0);
		const page = await stage.open(`#/files/${ACCOUNT}/team?tab=handles`);
		const handle = rows(page).filter({ hasText: 'plan.txt' });
		assert.match(await handle.innerText(), /Read\s+r\s+none\s+0\s+127\.0\.0\.1/);
		await handle.getByRole('button', { name: 'Close' }).click();
		await page.getByText('Nobody has anything open.').waitFor();
		client.end();
		await stage.done(page);
	});

	test('live: requests with their reasons, leases that can be broken, conflicts, charts', async () => {
		const page = await stage.open(`#/live/${ACCOUNT}`);
		const lost = rows(page).filter({ hasText: '412' }).first();
		await lost.waitFor({ timeout: 15_000 });
		await page.getByLabel('status').selectOption('conflict');
		await page.getByRole('button', { name: 'Pause' }).click();
		for (const text of await rows(page).allInnerTexts()) assert.match(text, /409|412/);
		await rows(page).first().click();
		await page.locator('.panel').getByText('If-Match').first().waitFor();
		await page.waitForFunction(() => Number(document.querySelector('.figures b')?.textContent) > 0, undefined, { timeout: 15_000 });
		const drawn = await page.locator('.chart canvas').first().evaluate((canvas) => {
			const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
			return data.some((value, i) => i % 4 === 3 && value > 0);
		});
		assert.ok(drawn, 'a chart with something in it');
		const container = stage.world.service.getContainerClient('leased');
		await container.create();
		await container.getBlockBlobClient('held').upload('x', 1);
		await container.getBlobClient('held').getBlobLeaseClient().acquireLease(-1);
		await page.getByRole('tab', { name: 'Leases' }).click();
		const held = rows(page).filter({ hasText: 'leased/held' });
		await held.getByText('for ever').waitFor();
		await held.getByRole('button', { name: 'Break' }).click();
		await held.waitFor({ state: 'detached' });
		assert.equal((await container.getBlobClient('held').getProperties()).leaseState, 'broken');
		await page.getByRole('tab', { name: 'Conflicts' }).click();
		await rows(page).filter({ hasText: 'photos/counter.txt' }).first().waitFor();
		await stage.done(page);
	});

	test('live: filtered by operation and account; markup in what clients send is shown and never runs', async () => {
		const evil = '<img src=x onerror="window.ran=1">';
		const client = new Client(stage.server, { service: 'blob' });
		const page = await stage.open(`#/live/${ACCOUNT}`);
		await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		await rows(page).first().waitFor({ timeout: 15_000 });
		await client.put('/photos/filtered.txt', { headers: { 'x-ms-blob-type': 'BlockBlob', 'user-agent': evil, 'x-ms-client-request-id': evil }, body: 'x' });
		await page.locator('[data-filter]').fill(`blob_put 201 ${ACCOUNT} filtered.txt`);
		await rows(page).filter({ hasText: 'filtered.txt' }).click();
		// A flood of others drives neither it nor what is shown of it away.
		for (let i = 0; i < 5; i++) {
			await Promise.all(Array.from({ length: 120 }, () => client.head('/photos', { query: { restype: 'container' } })));
			await page.waitForResponse((answer) => /api\/requests/.test(answer.url()));
		}
		assert.equal(await rows(page).count(), 1);
		await page.locator('.panel code', { hasText: evil }).first().waitFor();
		await page.locator('[data-filter]').fill('no_such_operation');
		await page.getByText('Nothing that fits the filter, so far.').waitFor();
		const path = `/photos/${encodeURIComponent(evil)}`, put = () => client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'y' });
		await put();
		assert.equal((await client.put(path, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } })).status, 201);
		await page.getByRole('tab', { name: 'Leases' }).click();
		await rows(page).getByText(`photos/${evil}`).waitFor();
		await page.getByRole('tab', { name: 'Conflicts' }).click();
		// The newest conflicts are kept, and others race: so it is refused until it was seen.
		const refused = rows(page).filter({ hasText: 'LeaseIdMissing' }).getByText(`${ACCOUNT}/photos/${evil}`, { exact: true });
		for (let tries = 0; (await refused.count()) === 0; tries++) {
			assert.ok(tries < 300, 'the conflict is not shown');
			assert.equal((await put()).status, 412);
			await page.waitForTimeout(100);
		}
		assert.equal(await page.evaluate(() => window.ran), undefined);
		assert.equal(await page.locator('main img').count(), 0);
		await stage.done(page);
	});

	test('live: copied as curl it is sent again and does the same, without the credentials of who sent it', async () => {
		const dir = tempDir();
		const shell = (line) => new Promise((resolve) => execFile('sh', ['-c', `${line} -s -o answer -w '%{http_code}'`], { cwd: dir }, (_, out) => resolve(out)));
		const client = (service) => new Client(stage.server, { service });
		const page = await stage.open(`#/live/${ACCOUNT}`);
		try {
			await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
			await rows(page).first().waitFor({ timeout: 15_000 });
			const curlOf = async (words) => {
				await page.locator('[data-filter]').fill(words);
				await rows(page).first().click();
				await copy(page, page.getByRole('button', { name: 'Copy as curl' }));
				await page.locator('[data-close]').click();
				return page.evaluate(() => navigator.clipboard.readText());
			};
			const blob = stage.world.photos.getBlockBlobClient("it's a [name] & {more}.txt");
			await blob.upload('first', 5, { metadata: { colour: 'blue' } });
			const put = await curlOf("BLOB_PUT 201 it's");
			assert.match(put, /-H 'x-ms-meta-colour: blue'/);
			assert.doesNotMatch(put, /authorization|SharedKey/i);
			assert.match(put, /^# the body, 5 bytes, is not kept/);
			writeFileSync(path.join(dir, 'body'), 'again');
			assert.equal(await shell(put), '201');
			assert.equal((await blob.downloadToBuffer()).toString(), 'again');
			assert.equal((await blob.getProperties()).metadata.colour, 'blue');

			await client('blob').put('/photos/curled.txt', { headers: { 'x-ms-blob-type': 'BlockBlob', 'if-match': '"0x0"' }, body: 'x' });
			assert.equal(await shell(await curlOf('BLOB_PUT 412 curled.txt')), '412', 'its condition is sent, too');
			await client('blob').head('/photos/readme.md');
			assert.equal(await shell(await curlOf('BLOB_GET_PROPERTIES 200 readme.md')), '200');
			await client('queue').put('/curled');
			assert.equal(await shell(await curlOf('QUEUE_CREATE 201 curled')), '204', 'there already');
			for await (const _ of stage.world.people.listEntities({ queryOptions: { filter: "name eq 'Ken'" } }));
			assert.equal(await shell(await curlOf('people Ken 200')), '200');
			assert.match(readFileSync(path.join(dir, 'answer'), 'utf8'), /"Ken"/);
			await stage.world.team.rootDirectoryClient.getFileClient('plan.txt').downloadToBuffer();
			assert.equal(await shell(await curlOf('FILE_GET plan.txt')), '206');
			// One that came with a SAS: the signature was never shown, so it gets one of its own.
			const sas = await stage.world.photos.generateSasUrl({ permissions: ContainerSASPermissions.parse('l'), expiresOn: new Date(Date.now() + 3600e3) });
			assert.equal((await fetch(`${sas}&restype=container&comp=list&prefix=by-sas`)).status, 200);
			const list = await curlOf('by-sas 200');
			assert.ok(!list.includes(new URL(sas).searchParams.get('sig')) && !list.includes('REDACTED'));
			assert.equal(await shell(list), '200');
			await stage.done(page);
		} finally {
			removeDir(dir);
		}
	});

	test('access: every kind of SAS that is built works, and a refused one is explained', async () => {
		const page = await stage.open(`#/access/${ACCOUNT}`);
		const kinds = [['blob', 'photos', '?restype=container&comp=list&', 'list'], ['queue', 'orders', '/messages?peekonly=true&', null], ['table', 'people', '()?$top=1&', null], ['file', 'team', '?restype=directory&comp=list&', 'list'], ['account', null, '?comp=list&', 'list']];
		let sas;
		for (const [kind, name, operation, also] of kinds) {
			await page.getByLabel('Kind').selectOption(kind);
			if (name) await page.getByLabel('resource').fill(name);
			if (also) await page.locator('.choices').getByText(also, { exact: true }).click();
			await page.getByRole('button', { name: 'Sign' }).click();
			const url = await page.locator('[data-made]').innerText();
			const [path, token] = url.split('?');
			const place = kind === 'account' ? `${path}/` : path;
			const answer = await fetch(place + operation + token, { headers: { 'x-ms-version': kind === 'table' ? '2019-02-02' : '2024-11-04', Accept: kind === 'table' ? 'application/json;odata=nometadata' : '*/*' } });
			assert.equal(answer.status, 200, `${kind}: ${await answer.text()}`);
			await page.locator('.explain', { hasText: `Whoever has it may read${also ? ', list' : ''}`.replace('read', { queue: 'peek', table: 'query' }[kind] ?? 'read') }).waitFor();
			if (kind === 'blob') sas = place + operation + token;
		}
		await page.getByRole('tab', { name: 'Why was this refused?' }).click();
		const why = async (text) => {
			await page.getByLabel('request', { exact: true }).fill(text);
			await page.getByRole('button', { name: 'Why?' }).click();
		};
		await why(sas);
		await page.getByText('would be allowed').waitFor();
		await page.locator('[data-explained]').getByText(/^Whoever has it may read, list on every blob of the container photos, until 2/).waitFor();
		await why(`GET ${sas.replace(/sig=..../, 'sig=AAAA')}`);
		await page.getByText('403 AuthenticationFailed').waitFor();
		assert.match(await page.locator('[data-string]').innerText(), /\/blob\/devstoreaccount1\/photos/);
		await why(`PUT ${sas.replace('comp=list', 'comp=metadata')}\nx-ms-meta-a: 1`);
		await page.getByText(/403 Authorization/).waitFor();
		const before = (await stage.world.photos.getProperties()).etag;
		const signed = new Client(stage.server, { service: 'blob' }).prepare('DELETE', '/photos', { query: { restype: 'container' } });
		await why(`DELETE ${signed.url}\n${Object.entries(signed.headers).map(([header, value]) => `${header}: ${value}`).join('\n')}`);
		await page.getByText('would be allowed').waitFor();
		assert.equal((await stage.world.photos.getProperties()).etag, before, 'judged, not carried out');
		await stage.done(page);
	});

	test('test kit and operate, on a server of their own', async () => {
		const own = await startServer({ flags: ['--adminPort', '0', '--inMemoryPersistence'] });
		try {
			const queue = QueueServiceClient.fromConnectionString(own.connectionString).getQueueClient('timed');
			await queue.create();
			await queue.sendMessage('an hour away', { visibilityTimeout: 3500 });
			const page = await stage.browser.open(own, '#/testkit');
			await page.getByRole('button', { name: '+ 1 h' }).click();
			await page.locator('.pairs').getByText('60 min').waitFor();
			await page.locator('.problem', { hasText: 'The clock of this server runs 60 min ahead' }).waitFor(); // in every view
			assert.equal((await queue.peekMessages()).peekedMessageItems.length, 1, 'the clock moved');
			await page.getByLabel('how far').fill('100');
			await page.getByRole('button', { name: '+ 30 days' }).click();
			await page.locator('.pairs', { hasText: 'Ahead of the machine' }).getByText('30 days').waitFor();
			assert.equal((await queue.peekMessages()).peekedMessageItems.length, 0, 'and now it has expired');
			await page.getByLabel('name of the state').fill('one message');
			await page.getByRole('button', { name: 'Save this state' }).click();
			await page.getByRole('button', { name: 'Restore one message' }).waitFor();
			await page.getByRole('button', { name: 'Reset devstoreaccount1' }).click();
			await agree(page, 'Empty it');
			await told(page, 'devstoreaccount1 is empty');
			assert.equal(await queue.exists(), false);
			await page.getByRole('button', { name: 'Restore one message' }).click();
			await agree(page, 'Go back');
			await told(page, 'As it was at one message');
			assert.equal(await queue.exists(), true);
			await page.getByPlaceholder('every one, or').fill('QUEUE_CREATE');
			await page.getByRole('button', { name: 'Add rule' }).click();
			await rows(page).filter({ hasText: /busy\s*QUEUE_CREATE/ }).waitFor();
			await page.locator('.problem', { hasText: 'Requests fail on purpose: a rule of the test kit.' }).waitFor();
			await page.getByRole('button', { name: 'Remove all' }).click();
			await page.getByText('No rules').waitFor();
			await page.getByRole('link', { name: 'Operate' }).click();
			await page.getByText('key1').waitFor();
			await page.getByText('read-only').click();
			assert.ok(await page.getByRole('button', { name: 'Add account' }).isDisabled());
			await stage.done(page);
		} finally {
			await own.remove();
		}
	});
});

// SPDX-License-Identifier: Apache-2.0
// Home, blobs, queues and tables in a real browser, while clients race over what it shows. Two browsers edit one thing; markup is shown
// and not run; looking at a queue changes nothing.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { Client } from '../lib/http.mjs';
import { ACCOUNT, FILES, agree, explorerTests, rows, told } from './stage.mjs';

explorerTests('explorer', (stage) => {
	test('home: endpoints, connection strings, what the account holds', async () => {
		const page = await stage.open();
		await page.getByText('nothing is wrong').waitFor();
		const text = await page.locator('.snippet pre').innerText();
		assert.equal(text, stage.server.connectionString);
		await page.getByRole('tab', { name: 'rclone' }).click();
		assert.match(await page.locator('.snippet pre').innerText(), /rclone lsd/);
		// File over SMB: its endpoint, and lines for smbclient, Linux and Windows.
		const [, smb] = /over SMB is successfully listening at 127\.0\.0\.1 port (\d+)/.exec(stage.server.stdout);
		await page.getByText(`smb://127.0.0.1:${smb}`, { exact: true }).waitFor();
		await page.getByRole('tab', { name: 'SMB' }).click();
		const lines = await page.locator('.snippet pre').innerText();
		assert.ok(lines.includes(`smbclient -p ${smb} -U '${ACCOUNT}%${stage.server.key}' //127.0.0.1/SHARE`), lines);
		assert.ok(lines.includes(`mount -t cifs //127.0.0.1/SHARE /mnt -o vers=3.1.1,port=${smb},username=${ACCOUNT},password='${stage.server.key}'`), lines);
		assert.ok(lines.includes(`net use Z: \\\\127.0.0.1\\SHARE /user:${ACCOUNT} ${stage.server.key}`), lines);
		await page.locator('.figures').getByText('3 containers').waitFor();
		await stage.done(page);
	});

	test('blobs: folders, upload, preview, metadata, versions, delete', async () => {
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos`);
		await page.getByText('▸ originals/').click();
		await page.getByText('0000.png').click();
		await page.locator('img.preview').waitFor();
		assert.ok(await page.locator('img.preview').evaluate((image) => image.decode().then(() => image.naturalWidth === 96)));
		await page.setInputFiles(FILES, { name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('one\n') });
		await page.getByText('up.txt').first().waitFor();
		await rows(page).filter({ hasText: 'up.txt' }).click();
		await page.locator('pre.content', { hasText: 'one' }).waitFor();
		// The same name again is not overwritten without a word.
		await page.setInputFiles(FILES, { name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('two\n') });
		await page.getByText('is there already').waitFor();
		const overwritten = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.status() === 201);
		await page.getByRole('button', { name: 'Overwrite' }).click();
		await overwritten;
		await page.getByRole('button', { name: 'Reload' }).click();
		await page.locator('[data-close]').click();
		await rows(page).filter({ hasText: 'up.txt' }).click();
		await page.locator('pre.content', { hasText: 'two' }).waitFor();
		await page.getByRole('tab', { name: 'History' }).click();
		await page.getByRole('button', { name: 'Promote' }).first().click();
		await page.getByRole('tab', { name: 'Preview' }).click();
		await page.locator('pre.content', { hasText: 'one' }).waitFor();
		await page.getByRole('tab', { name: 'Metadata' }).click();
		await page.getByRole('button', { name: 'Add one' }).click();
		await page.getByLabel('name').fill('colour');
		await page.getByLabel('value').fill('blue');
		await page.getByRole('button', { name: 'Save metadata' }).click();
		await told(page, 'Saved');
		const stored = await stage.world.photos.getBlobClient('originals/up.txt').getProperties();
		assert.equal(stored.metadata.colour, 'blue');
		// Headers that somebody else changed meanwhile: both sides are shown.
		await page.getByRole('tab', { name: 'Properties' }).click();
		await page.getByLabel('cache-control').fill('no-store');
		await stage.world.photos.getBlobClient('originals/up.txt').setHTTPHeaders({ blobCacheControl: 'max-age=60' });
		await page.getByRole('button', { name: 'Save headers' }).click();
		const differs = await page.locator('dialog tr.differs', { hasText: 'cache-control' }).innerText();
		assert.match(differs, /max-age=60[^]*no-store/);
		const saved = page.waitForResponse((answer) => /comp=properties/.test(answer.url()) && answer.status() === 200);
		await page.getByRole('button', { name: 'Overwrite with mine' }).click();
		await saved;
		assert.equal((await stage.world.photos.getBlobClient('originals/up.txt').getProperties()).cacheControl, 'no-store');
		await page.getByRole('tab', { name: 'Lease' }).click();
		await page.getByRole('button', { name: 'Acquire' }).click();
		await page.locator('.panel .tag', { hasText: 'leased' }).waitFor();
		assert.equal((await stage.world.photos.getBlobClient('originals/up.txt').getProperties()).leaseState, 'leased');
		await page.getByRole('button', { name: 'Break' }).click();
		await page.locator('.panel .tag', { hasText: 'broken' }).waitFor();
		await page.getByRole('button', { name: 'Delete' }).click();
		await agree(page);
		await rows(page).filter({ hasText: 'up.txt' }).waitFor({ state: 'detached' });
		await stage.done(page);
	});

	test('a blob of several blocks goes up and comes down whole', async () => {
		const page = await stage.open(`#/blobs/${ACCOUNT}/backups`);
		const bytes = Buffer.alloc(9 * 1024 * 1024, 'zaffre ');
		await page.setInputFiles(FILES, { name: 'large.bin', mimeType: 'application/octet-stream', buffer: bytes });
		await rows(page).filter({ hasText: 'large.bin' }).click({ timeout: 30_000 });
		const download = page.waitForEvent('download');
		await page.getByRole('button', { name: 'Download' }).click();
		assert.equal(statSync(await (await download).path()).size, bytes.length);
		assert.equal((await download).suggestedFilename(), 'large.bin');
		await stage.done(page);
	});

	test('queues: hidden messages are shown and keep their count', async () => {
		const queue = QueueServiceClient.fromConnectionString(stage.server.connectionString).getQueueClient('quiet');
		await queue.create();
		await queue.sendMessage('seen');
		await queue.sendMessage('later', { visibilityTimeout: 3600 });
		await queue.sendMessage('taken');
		const got = await queue.receiveMessages({ numberOfMessages: 2, visibilityTimeout: 1 });
		assert.equal(got.receivedMessageItems.length, 2);
		await queue.updateMessage(got.receivedMessageItems[1].messageId, got.receivedMessageItems[1].popReceipt, 'taken', 3600).then((r) => (got.receivedMessageItems[1].popReceipt = r.popReceipt));
		const page = await stage.open(`#/queues/${ACCOUNT}/quiet`);
		for (let i = 0; i < 5; i++) {
			await page.getByRole('button', { name: 'Reload' }).click();
			await page.waitForFunction(() => document.querySelectorAll('tbody tr[tabindex]').length === 3);
		}
		const taken = rows(page).filter({ hasText: 'taken' });
		assert.match(await taken.innerText(), /hidden/);
		assert.equal(await taken.locator('td.number').innerText(), '1');
		assert.match(await rows(page).filter({ hasText: 'later' }).innerText(), /hidden/);
		// The receipt of the consumer is still good: nobody touched its message.
		await queue.deleteMessage(got.receivedMessageItems[1].messageId, got.receivedMessageItems[1].popReceipt);
		// One that is hidden can be removed from here, by the receipt of its state.
		await page.getByRole('button', { name: 'Reload' }).click();
		await rows(page).filter({ hasText: 'later' }).click();
		await page.locator('.panel').getByRole('button', { name: 'Delete' }).click();
		await rows(page).filter({ hasText: 'later' }).waitFor({ state: 'detached' });
		assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
		await page.getByRole('button', { name: 'Add message' }).click();
		await page.getByLabel('Text').fill('from the page');
		await page.getByRole('button', { name: 'Add', exact: true }).click();
		await rows(page).filter({ hasText: 'from the page' }).waitFor();
		await stage.done(page);
	});

	test('queues: a poison queue is moved back', async () => {
		const page = await stage.open(`#/queues/${ACCOUNT}/orders-poison`);
		await page.getByRole('button', { name: 'Move to orders' }).click();
		await agree(page, 'Move them');
		await told(page, '1 moved to orders');
		await page.getByText('No messages.').waitFor();
		await stage.done(page);
	});

	test('queues: a queue that is being worked on is shown without an error, and its consumers lose nothing', async () => {
		const page = await stage.open(`#/queues/${ACCOUNT}/jobs`);
		for (let i = 0; i < 10; i++) {
			await page.getByRole('button', { name: 'Reload' }).click();
			await page.waitForTimeout(50);
		}
		assert.equal(await page.locator('.problem').count(), 0);
		assert.deepEqual(stage.race.wrong, []);
		await stage.done(page);
	});

	test('tables: filter and plan, types kept, import and export', async () => {
		const page = await stage.open(`#/tables/${ACCOUNT}/people`);
		await rows(page).nth(7).waitFor();
		await page.locator('[data-filter]').fill("PartitionKey eq 'us' and RowKey eq '005'");
		await page.keyboard.press('Enter');
		await page.locator('.plan').getByText('point', { exact: true }).waitFor();
		assert.equal(await rows(page).count(), 1);
		await rows(page).first().click();
		await page.getByLabel('value of name').fill('Margaret H.');
		await page.getByRole('button', { name: 'Save' }).click();
		await told(page, 'Saved');
		const stored = await stage.world.people.getEntity('us', '005');
		assert.equal(stored.name, 'Margaret H.');
		assert.equal(stored.visits, 2n ** 53n + 5n, 'no digit of an Int64 is lost');
		assert.ok(stored.seen instanceof Date && stored.active === false);
		await page.getByRole('button', { name: 'Import' }).click();
		await page.getByLabel('Rows').fill('PartitionKey,RowKey,name,born@Int32,note\nasia,001,"Yu, ""Y""",1950,"two\nlines"\nasia,002,Rin,1960,\n');
		await page.locator('dialog').getByRole('button', { name: 'Import' }).click();
		await told(page, '2 imported');
		const yu = await stage.world.people.getEntity('asia', '001');
		assert.deepEqual([yu.name, yu.born, yu.note], ['Yu, "Y"', 1950, 'two\nlines']);
		await page.locator('[data-filter]').fill("PartitionKey eq 'asia'");
		await page.keyboard.press('Enter');
		await rows(page).nth(1).waitFor();
		const download = page.waitForEvent('download');
		await page.getByRole('button', { name: 'CSV' }).click();
		assert.match(readFileSync(await (await download).path(), 'utf8'), /born@Int32.*\r\n.*"Yu, ""Y"""/s);
		// A batch is all or nothing: somebody changed one of the two, so both stay.
		await stage.world.people.updateEntity({ partitionKey: 'asia', rowKey: '002', born: 1961 }, 'Merge');
		for (const box of await page.getByLabel('pick').all()) await box.check();
		await page.getByRole('button', { name: 'Delete 2' }).click();
		await agree(page);
		await page.locator('.toast.bad', { hasText: 'batch refused' }).waitFor();
		assert.equal((await stage.world.people.getEntity('asia', '001')).born, 1950);
		await page.locator('td', { hasText: '1961' }).waitFor();
		for (const box of await page.getByLabel('pick').all()) await box.check();
		await page.getByRole('button', { name: 'Delete 2' }).click();
		await agree(page);
		await told(page, '2 deleted');
		await assert.rejects(stage.world.people.getEntity('asia', '001'), { statusCode: 404 });
		await stage.done(page);
	});

	test('two browsers edit one entity: the second sees both sides and decides', async () => {
		const table = TableClient.fromConnectionString(stage.server.connectionString, 'contested', { allowInsecureConnection: true });
		await table.createTable();
		await table.createEntity({ partitionKey: 'p', rowKey: 'r', colour: 'white' });
		const [first, second] = await Promise.all([stage.open(`#/tables/${ACCOUNT}/contested`), stage.open(`#/tables/${ACCOUNT}/contested`)]);
		for (const [page, colour] of [[first, 'red'], [second, 'blue']]) {
			await rows(page).first().click();
			await page.getByLabel('value of colour').fill(colour);
		}
		await first.getByRole('button', { name: 'Save' }).click();
		await told(first, 'Saved');
		await second.getByRole('button', { name: 'Save' }).click();
		const dialog = second.locator('dialog');
		await dialog.getByText('Somebody else changed it first').waitFor();
		const differs = await dialog.locator('tr.differs').innerText();
		assert.match(differs, /red/);
		assert.match(differs, /blue/);
		assert.equal((await table.getEntity('p', 'r')).colour, 'red', 'nothing was overwritten');
		await dialog.getByRole('button', { name: 'Overwrite with mine' }).click();
		await told(second, 'Saved');
		assert.equal((await table.getEntity('p', 'r')).colour, 'blue');
		await stage.done(first);
		await stage.done(second);
	});

	test('markup in names, metadata, messages and entities is shown and never runs', async () => {
		const evil = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>`;
		const url = 'javascript:window.ran=1//';
		const container = stage.world.service.getContainerClient('markup');
		await container.create();
		await container.getBlockBlobClient(`${evil}.html`).upload(`<html>${evil}</html>`, 6 + evil.length + 7, { metadata: { evil: evil, link: url }, blobHTTPHeaders: { blobContentType: 'text/html' }, tags: { k: 'v' } });
		await container.getBlockBlobClient('pic.svg').upload(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"/>`, 63, { blobHTTPHeaders: { blobContentType: 'image/svg+xml' } });
		await container.getBlockBlobClient(`${evil}/inner`).upload('x', 1);
		const queue = stage.world.queues.getQueueClient('markup');
		await queue.create();
		await queue.sendMessage(evil);
		await queue.sendMessage(Buffer.from(JSON.stringify({ evil })).toString('base64'));
		const table = TableClient.fromConnectionString(stage.server.connectionString, 'markup', { allowInsecureConnection: true });
		await table.createTable();
		await table.createEntity({ partitionKey: '<b>p', rowKey: '"><i>', evil, link: url });
		const share = stage.world.shares.getShareClient('markup'); // names of files have no < and no "
		await share.create();
		const file = share.rootDirectoryClient.getFileClient("&lt;img onerror='window.ran=1'&gt;.html");
		await file.create(evil.length, { metadata: { evil } });
		await file.uploadRange(evil, 0, evil.length);
		for (const hash of [`#/blobs/${ACCOUNT}/markup`, `#/queues/${ACCOUNT}/markup`, `#/tables/${ACCOUNT}/markup`, `#/files/${ACCOUNT}/markup`]) {
			const page = await stage.open(hash);
			await rows(page).first().waitFor();
			for (let i = 0; i < (await rows(page).count()); i++) {
				if (/▸/.test(await rows(page).nth(i).innerText())) continue;
				await rows(page).nth(i).click();
				await page.locator('.panel').waitFor();
				for (const tab of await page.locator('.panel [role=tab]').all()) await tab.click();
				for (const asks of ['Delete', 'Copy to …']) {
					if (!(await page.locator('.panel').getByRole('button', { name: asks, exact: true }).count()) || /queues/.test(hash)) continue;
					await page.locator('.panel').getByRole('button', { name: asks, exact: true }).click();
					await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
				}
				await page.locator('[data-close]').click();
			}
			assert.equal(await page.evaluate(() => window.ran), undefined);
			assert.equal(await page.locator('main img[src=x], main script').count(), 0);
			await stage.done(page);
		}
		const folder = await stage.open(`#/blobs/${ACCOUNT}/markup?prefix=${encodeURIComponent(`${evil}/`)}`);
		await folder.getByText('inner').waitFor();
		assert.equal(await folder.evaluate(() => window.ran), undefined);
		await stage.done(folder);
		// What somebody types or pastes, and what an address brings along.
		const access = await stage.open(`#/access/${ACCOUNT}`);
		await access.getByLabel('resource').fill(evil);
		await access.getByRole('button', { name: 'Sign' }).click();
		await access.locator('[data-made]').waitFor();
		await access.getByRole('tab', { name: 'Why was this refused?' }).click();
		await access.getByLabel('request', { exact: true }).fill(`GET ${stage.server.endpoints.blob}/${encodeURIComponent(evil)}?sv=2022-11-02&sr=c&sp=r&sip=${encodeURIComponent(evil)}&sig=AAAA`);
		await access.getByRole('button', { name: 'Why?' }).click();
		await access.locator('[data-explained]', { hasText: evil }).waitFor();
		for (const hash of [`#/blobs/${encodeURIComponent(evil)}/${encodeURIComponent(evil)}?blob=${encodeURIComponent(evil)}&tab=${encodeURIComponent(url)}`, `#/tables/${ACCOUNT}/people?filter=${encodeURIComponent(evil)}`, `#/${encodeURIComponent(evil)}`]) {
			await access.goto(access.url().replace(/#.*/, hash));
			await access.locator('main h1').waitFor();
		}
		assert.equal(await access.evaluate(() => window.ran), undefined);
		assert.equal(await access.locator('main img, main script').count(), 0);
		await stage.done(access);
	});

	test('an edit loses neither a name that every object of a script has (__proto__, constructor, toString) nor the type of a number', async () => {
		const table = TableClient.fromConnectionString(stage.server.connectionString, 'inherited', { allowInsecureConnection: true });
		await table.createTable();
		const names = ['__proto__', 'constructor', 'toString'];
		const put = async (rowKey, fields) => assert.equal((await new Client(stage.server, { service: 'table' }).post('/inherited', { headers: { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' }, body: `{"PartitionKey":"p","RowKey":"${rowKey}",${fields}}` })).status, 201);
		await put('all', names.map((name) => `"${name}":"of ${name}"`).join());
		await put('none', '"other":2.0,"other@odata.type":"Edm.Double"');
		const page = await stage.open(`#/tables/${ACCOUNT}/inherited`);
		for (const name of names) await page.locator('td', { hasText: `of ${name}` }).waitFor();
		// An edit sends the whole entity: what the page lost on the way would be gone.
		for (const [row, name, value] of [['all', 'toString', 'changed'], ['none', 'other', '3']]) {
			await rows(page).filter({ hasText: row }).click();
			await page.getByLabel(`value of ${name}`).fill(value);
			await page.getByRole('button', { name: 'Save' }).click();
			await page.locator('.panel').waitFor({ state: 'detached' });
		}
		const stored = async (row) => (await new Client(stage.server, { service: 'table' }).get(`/inherited(PartitionKey='p',RowKey='${row}')`, { headers: { accept: 'application/json;odata=fullmetadata' } })).text;
		for (const field of ['"__proto__":"of __proto__"', '"constructor":"of constructor"', '"toString":"changed"']) assert.ok((await stored('all')).includes(field), field);
		assert.match(await stored('none'), /"other":3\.0\b/, 'a whole Double stays one');
		// From a file, too: numbers as they are written there, and what is no value is told.
		const bring = async (json) => {
			await page.getByRole('button', { name: 'Import' }).click();
			await page.getByLabel('Rows').fill(json);
			await page.locator('dialog').getByRole('button', { name: 'Import' }).click();
		};
		await bring('[{"PartitionKey":"p","RowKey":"file","half":2.0,"whole":2,"text":"2.0, \\"3\\"","gone":null,"large":"9007199254740993","large@odata.type":"Edm.Int64"}]');
		await told(page, '1 imported');
		assert.match(await stored('file'), /"half":2\.0,"whole":2,"text":"2.0, \\"3\\"","large@odata.type":"Edm.Int64","large":"9007199254740993"\}/);
		await bring('{"PartitionKey":"p","RowKey":"list","list":[1]}');
		await page.locator('.toast.bad', { hasText: 'list is a list or an object' }).waitFor();
		await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
		const blob = new Client(stage.server);
		const sent = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-constructor': 'c', 'x-ms-meta-__proto__': 'p', 'x-ms-meta-other': 'o' };
		assert.equal((await blob.put('/photos/inherited.txt', { headers: sent, body: 'x' })).status, 201);
		await page.goto(page.url().replace(/#.*/, `#/blobs/${ACCOUNT}/photos?blob=inherited.txt&tab=metadata`));
		await page.getByRole('button', { name: 'Save metadata' }).waitFor();
		await page.getByLabel('value', { exact: true }).last().fill('changed');
		// Not by "Saved": that of the entity may still be there.
		const saved = page.waitForResponse((answer) => answer.request().method() === 'PUT' && /comp=metadata/.test(answer.url()));
		await page.getByRole('button', { name: 'Save metadata' }).click();
		assert.equal((await saved).status(), 200);
		const metadata = (await blob.head('/photos/inherited.txt')).headers;
		assert.deepEqual(['constructor', '__proto__', 'other'].map((name) => metadata[`x-ms-meta-${name}`]).filter((value) => value === 'changed').length, 1);
		assert.deepEqual(['constructor', '__proto__', 'other'].filter((name) => metadata[`x-ms-meta-${name}`] === undefined), []);
		await stage.done(page);
	});

	test('keyboard, deep links, read-only and 1,024 pixels', async () => {
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos`, { viewport: { width: 1024, height: 700 } });
		await rows(page).first().waitFor();
		await page.keyboard.press('/');
		assert.ok(await page.locator('[data-filter]').evaluate((input) => input === document.activeElement));
		await page.keyboard.type('originals/');
		await page.keyboard.press('Enter');
		await page.getByText('0000.png').waitFor();
		assert.match(page.url(), /prefix=originals/);
		await rows(page).first().focus();
		await page.keyboard.press('j');
		await page.keyboard.press('Enter');
		await page.locator('.panel h2', { hasText: '0001.png' }).waitFor();
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing sticks out');
		await page.keyboard.press('Escape');
		await page.locator('.panel').waitFor({ state: 'detached' });
		await page.getByText('read-only').click();
		assert.ok(await page.getByRole('button', { name: 'Upload', exact: true }).isDisabled());
		await page.locator('main h1').click();
		await page.keyboard.press('g');
		await page.keyboard.press('t');
		await page.getByRole('heading', { name: 'Tables' }).waitFor();
		await page.keyboard.press('?');
		await page.locator('dialog kbd').first().waitFor();
		await stage.done(page);
	});
});

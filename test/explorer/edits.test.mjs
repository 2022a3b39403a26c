// SPDX-License-Identifier: Apache-2.0
// Queues, tables and open files in a real browser, while clients race: what can be changed there, and how it is shown.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { Client } from '../lib/http.mjs';
import { ACCESS, SHARE, SmbClient } from '../lib/smb.mjs';
import { ACCOUNT, agree, explorerTests, rows, told } from './stage.mjs';

const BATCH_OPLOCK = 9, EXCLUSIVE_LOCK = 0x12;

explorerTests('explorer, edits', (stage) => {
	test('queues: Base64 and JSON are decoded; add with a delay, update, the way of a message, clear', async () => {
		const queue = stage.world.queues.getQueueClient('edited');
		await queue.create();
		await queue.sendMessage(Buffer.from('{"order":7}').toString('base64'));
		const page = await stage.open(`#/queues/${ACCOUNT}/edited`);
		await rows(page).first().click();
		await page.locator('.panel pre.content').waitFor();
		assert.equal(await page.locator('.panel pre.content').innerText(), JSON.stringify({ order: 7 }, null, 2));
		assert.match(await page.locator('.panel h3').first().innerText(), /Base64[^]*JSON/);
		// What was Base64 is edited as what is inside, and stays Base64 unless somebody says otherwise.
		assert.equal(await page.getByLabel('New text').inputValue(), '{"order":7}');
		const update = async (text) => {
			await page.getByLabel('New text').fill(text);
			await page.getByLabel('hide for').fill('0');
			const done = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.status() === 204);
			await page.locator('.panel').getByRole('button', { name: 'Update' }).click();
			await done;
			return (await queue.peekMessages()).peekedMessageItems[0].messageText;
		};
		assert.equal(await update('{"order":8}'), Buffer.from('{"order":8}').toString('base64'));
		await rows(page).filter({ hasText: '{"order":8}' }).click();
		await page.getByLabel('send as Base64').uncheck();
		assert.equal(await update('<changed & told>'), '<changed & told>');
		await told(page, 'Updated');
		await page.getByRole('button', { name: 'Add message' }).click();
		await page.getByLabel('Text', { exact: true }).fill('grüße');
		await page.getByLabel('as Base64').check();
		await page.getByLabel('visible after').fill('1800');
		await page.getByRole('button', { name: 'Add', exact: true }).click();
		const later = rows(page).filter({ hasText: 'grüße' });
		assert.match(await later.innerText(), /hidden, in 30 min/);
		assert.match(await later.locator('.timeline').getAttribute('aria-label'), /^inserted 2.*, next visible 2.*, expires 2/);
		assert.equal(await later.locator('.timeline .waits').count(), 1);
		assert.equal(await rows(page).filter({ hasText: 'changed' }).locator('.timeline .waits').count(), 0);
		assert.equal((await queue.getProperties()).approximateMessagesCount, 2);
		assert.equal((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.length, 1, 'the new one is not visible yet');
		await page.getByRole('button', { name: 'Clear' }).click();
		await agree(page, 'Clear it');
		await page.getByText('No messages.').waitFor();
		assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
		await stage.done(page);
	});

	test('queues: the way of a message has each of its times: inserted, visible, received, next visible, expires', async () => {
		const queue = stage.world.queues.getQueueClient('on-its-way');
		await queue.create();
		const put = await queue.sendMessage('on its way', { visibilityTimeout: 1, messageTimeToLive: 86400 });
		const get = async (visibilityTimeout) => {
			for (;;) {
				const [one] = (await queue.receiveMessages({ visibilityTimeout })).receivedMessageItems;
				if (one) return one;
				await new Promise((resolve) => setTimeout(resolve, 100));
			}
		};
		const shown = (time) => time.toISOString().replace('T', ' ').replace(/\.\d+Z$/, 'Z');
		const before = (time, seconds) => new Date(time.getTime() - seconds * 1000);
		const page = await stage.open(`#/queues/${ACCOUNT}/on-its-way`);
		const label = (pairs) => pairs.map(([what, time]) => `${what} ${shown(time)}`).join(', ');
		const timeline = page.locator('.timeline').first();
		// Nobody had it yet.
		await rows(page).first().waitFor();
		assert.equal(await page.locator('.timeline .taken').count(), 0);
		await get(1);
		const last = await get(600); // visible again after a second; this is the second receipt
		const answer = page.waitForResponse(/\/api\/messages/);
		await page.getByRole('button', { name: 'Reload' }).click();
		const { wasVisible } = (await (await answer).json()).messages[0];
		await timeline.locator('.taken').waitFor();
		const received = before(last.nextVisibleOn, 600);
		assert.equal(await timeline.getAttribute('aria-label'), label([['inserted', put.insertedOn], ['visible', new Date(wasVisible)], ['received', received], ['next visible', last.nextVisibleOn], ['expires', put.expiresOn]]));
		assert.ok(new Date(wasVisible) - put.insertedOn >= 2000 && new Date(wasVisible) - received < 1000, 'since the first receipt ended, not since it was put');
		assert.equal(await timeline.locator('.hidden').count(), 2);
		// In words, too.
		await rows(page).first().click();
		await page.waitForURL(`**/#/queues/${ACCOUNT}/on-its-way?message=${put.messageId}`);
		await page.reload(); // a link to send to somebody
		await page.locator('.panel dd').filter({ hasText: `2 times: last ${shown(received)}` }).waitFor();
		await page.locator('.panel dd').filter({ hasText: shown(last.nextVisibleOn) }).waitFor();
		// Clients see what Azure shows them and nothing else.
		const fields = async (path) => [...new Set((await new Client(stage.server, { service: 'queue' }).get(path)).text.match(/<(?!\?|\/)\w+/g))].join(' ');
		assert.equal(await fields('/orders/messages?peekonly=true'), '<QueueMessagesList <QueueMessage <MessageId <InsertionTime <ExpirationTime <DequeueCount <MessageText');
		await stage.done(page);
	});

	test('tables: range and scan are told apart; JSON in and out keeps every type', async () => {
		const table = TableClient.fromConnectionString(stage.server.connectionString, 'moved', { allowInsecureConnection: true });
		await table.createTable();
		const page = await stage.open(`#/tables/${ACCOUNT}/people?filter=${encodeURIComponent("PartitionKey eq 'eu' and RowKey ge '002'")}`);
		await page.locator('.plan').getByText('range', { exact: true }).waitFor();
		assert.match(await page.locator('.plan').innerText(), /2 rows looked at, 2 matched, 1 range/);
		await page.locator('[data-filter]').fill("name eq 'Ken'");
		await page.keyboard.press('Enter');
		await page.locator('.plan').getByText('scan', { exact: true }).waitFor();
		assert.match(await page.locator('.plan').innerText(), /[89] rows looked at, 1 matched/);
		const download = page.waitForEvent('download');
		await page.getByRole('button', { name: 'JSON' }).click();
		const exported = readFileSync(await (await download).path(), 'utf8');
		assert.equal(JSON.parse(exported).name, 'Ken');

		await page.goto(page.url().replace(/#.*/, `#/tables/${ACCOUNT}/moved`));
		await page.getByRole('heading', { name: 'Tables / moved' }).waitFor();
		await page.getByRole('button', { name: 'Import' }).click();
		await page.getByLabel('Rows').fill(exported);
		await page.locator('dialog').getByRole('button', { name: 'Import' }).click();
		await told(page, '1 imported');
		const strip = ({ etag: _, timestamp: __, 'odata.metadata': ___, ...entity }) => entity;
		const was = (await stage.world.people.listEntities({ queryOptions: { filter: "name eq 'Ken'" } }).next()).value;
		const is = (await table.listEntities().next()).value;
		assert.deepEqual(strip(is), strip(was));
		assert.equal(typeof is.visits, 'bigint');
		await stage.done(page);
	});

	test('files: one that an SMB client keeps to itself: the page says for whom it waits', async () => {
		await stage.world.team.rootDirectoryClient.getFileClient('kept.txt').create(4);
		const client = await SmbClient.connect(Number(/over SMB is successfully listening at \S+ port (\d+)/.exec(stage.server.stdout)[1]));
		await client.negotiate();
		await client.login(stage.server.account, stage.server.key);
		const tree = await client.treeConnect('team');
		assert.equal((await client.create(tree, 'kept.txt', { access: ACCESS.ALL, share: SHARE.ALL, oplock: BATCH_OPLOCK })).status, 0);
		const page = await stage.open(`#/files/${ACCOUNT}/team?file=kept.txt`); // and the client does not answer the break
		await page.locator('.panel').getByText('If a client has it open over SMB').waitFor();
		await page.locator('.panel').getByRole('link', { name: 'Open handles' }).click();
		await rows(page).filter({ hasText: 'kept.txt' }).getByRole('button', { name: 'Close' }).click();
		await told(page, 'Closed');
		await page.goBack();
		await page.locator('.panel').getByRole('button', { name: 'Download' }).waitFor();
		client.end();
		await stage.done(page);
	});

	test('files: an open file with its oplock, its locks and a pending delete; a snapshot can be looked into', async () => {
		const file = stage.world.team.rootDirectoryClient.getFileClient('held.txt');
		await file.create(4);
		const port = Number(/over SMB is successfully listening at \S+ port (\d+)/.exec(stage.server.stdout)[1]);
		const client = await SmbClient.connect(port);
		await client.negotiate();
		await client.login(stage.server.account, stage.server.key);
		const tree = await client.treeConnect('team');
		const open = await client.create(tree, 'held.txt', { access: ACCESS.ALL, share: SHARE.READ | SHARE.DELETE, oplock: BATCH_OPLOCK });
		assert.equal(open.status, 0);
		assert.equal((await client.lock(tree, open.id, [[0, 2, EXCLUSIVE_LOCK]])).status, 0);
		assert.equal((await client.lock(tree, open.id, [[2, 1, EXCLUSIVE_LOCK]])).status, 0);
		assert.equal((await client.setDisposition(tree, open.id, true)).status, 0);
		const page = await stage.open(`#/files/${ACCOUNT}/team?tab=handles`);
		const handle = rows(page).filter({ hasText: 'held.txt' });
		assert.match(await handle.innerText(), /pending delete\s+Read, Write, Delete\s+rd\s+RHW\s+2\s+127\.0\.0\.1/);
		client.end();
		await page.goto(page.url().replace(/#.*/, `#/files/${ACCOUNT}`));
		await rows(page).filter({ hasText: /snapshot 2\d/ }).getByRole('link').click();
		await rows(page).filter({ hasText: 'plan.txt' }).click();
		await page.locator('pre.content', { hasText: 'Grow slowly.' }).waitFor();
		assert.equal(await page.getByRole('button', { name: 'Upload' }).count(), 0, 'nothing is changed in a snapshot');
		assert.equal(await rows(page).filter({ hasText: 'held.txt' }).count(), 0, 'as it was then');
		await stage.done(page);
	});

	test('tables: CSV keeps every type, two types under one name, empty texts and what is not there', async () => {
		const [from, to] = ['csvfrom', 'csvto'].map((name) => TableClient.fromConnectionString(stage.server.connectionString, name, { allowInsecureConnection: true }));
		await Promise.all([from.createTable(), to.createTable()]);
		const entities = [
			{ partitionKey: 'p', rowKey: '1', mixed: 7, empty: '', long: { type: 'Int64', value: '9007199254740993' }, half: { type: 'Double', value: 1 } },
			{ partitionKey: 'p', rowKey: '2', mixed: 'seven, "quoted"\nand more', at: new Date(0), id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' } },
			{ partitionKey: 'q', rowKey: ' 3 ', mixed: true, bytes: Uint8Array.of(0, 255) },
		];
		for (const one of entities) await from.createEntity(one);
		const page = await stage.open(`#/tables/${ACCOUNT}/csvfrom`);
		await rows(page).nth(2).waitFor();
		const download = page.waitForEvent('download');
		await page.getByRole('button', { name: 'Export CSV' }).click();
		const csv = readFileSync(await (await download).path(), 'utf8');
		await page.goto(page.url().replace(/#.*/, `#/tables/${ACCOUNT}/csvto`));
		await page.getByRole('heading', { name: 'Tables / csvto' }).waitFor();
		await page.getByRole('button', { name: 'Import' }).click();
		await page.getByLabel('Rows').fill(csv);
		await page.locator('dialog').getByRole('button', { name: 'Import' }).click();
		await told(page, '3 imported');
		const read = async (table) => {
			const found = [];
			for await (const { etag: _, timestamp: __, 'odata.metadata': ___, ...entity } of table.listEntities({ disableTypeConversion: true })) found.push(entity);
			return found;
		};
		assert.deepEqual(await read(to), await read(from));
		await stage.done(page);
	});

	test('queues: a move to a queue that is not there takes nothing; a queue can be followed', async () => {
		const queue = stage.world.queues.getQueueClient('lonely-poison');
		await queue.create();
		await queue.sendMessage('stays');
		const page = await stage.open(`#/queues/${ACCOUNT}/lonely-poison`);
		await page.getByRole('button', { name: 'Move to lonely' }).click();
		await agree(page, 'Move them');
		await page.locator('.toast.bad', { hasText: 'QueueNotFound' }).waitFor();
		assert.equal((await queue.peekMessages()).peekedMessageItems[0].dequeueCount, 0, 'nobody took it');
		await page.getByLabel('follow').check();
		await queue.sendMessage('came later');
		await rows(page).filter({ hasText: 'came later' }).waitFor();
		await page.getByText('about 2 messages').waitFor();
		await stage.done(page);
	});
});

// SPDX-License-Identifier: Apache-2.0
// Other people's ways to use a queue: az storage queue and message, and the walks of the Azure documentation's quickstarts
// (send, peek, change the contents of a queued message, receive and delete, several at once, queue length).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { QueueClient, QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';

let server, home;
before(async () => {
	home = tempDir('zaffre-az-');
	server = await startServer();
});
after(async () => {
	await server?.remove();
	removeDir(home);
});
const have = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;

describe('the walks of the documentation', () => {
	test('quickstart: add, peek, update, receive, delete', async () => {
		const queue = new QueueClient(server.connectionString, 'quickstart');
		const created = await queue.create();
		assert.ok(created.requestId);
		await queue.sendMessage('First message');
		await queue.sendMessage('Second message');
		const third = await queue.sendMessage('Third message');
		assert.deepEqual((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.map((m) => m.messageText), ['First message', 'Second message', 'Third message']);
		const update = await queue.updateMessage(third.messageId, third.popReceipt, 'Third message has been updated');
		assert.ok(update.popReceipt);
		assert.equal((await queue.getProperties()).approximateMessagesCount, 3);
		const received = (await queue.receiveMessages({ numberOfMessages: 5 })).receivedMessageItems;
		assert.deepEqual(received.map((m) => m.messageText).sort(), ['First message', 'Second message', 'Third message has been updated']);
		for (const message of received) await queue.deleteMessage(message.messageId, message.popReceipt);
		assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
		await queue.delete();
	});
	test('how to: change the contents of a message in place and make it visible at once', async () => {
		const queue = new QueueServiceClient(server.endpoints.queue, new StorageSharedKeyCredential(server.account, server.key)).getQueueClient('howto');
		await queue.createIfNotExists();
		assert.equal((await queue.createIfNotExists()).succeeded, false);
		await queue.sendMessage(Buffer.from('Hello, World').toString('base64'));
		const [message] = (await queue.receiveMessages()).receivedMessageItems;
		await queue.updateMessage(message.messageId, message.popReceipt, Buffer.from('Updated contents.').toString('base64'), 0);
		const [again] = (await queue.receiveMessages({ numberOfMessages: 20, visibilityTimeout: 5 * 60 })).receivedMessageItems;
		assert.equal(Buffer.from(again.messageText, 'base64').toString(), 'Updated contents.');
		assert.equal(again.dequeueCount, 2);
		await queue.deleteMessage(again.messageId, again.popReceipt);
		assert.equal((await queue.deleteIfExists()).succeeded, true);
		assert.equal((await queue.deleteIfExists()).succeeded, false);
	});
});

describe('az', { skip: !have('az') && 'az is not installed (tools/packages.txt)' }, () => {
	async function az(...args) {
		const env = { AZURE_CONFIG_DIR: home, HOME: home, AZURE_STORAGE_CONNECTION_STRING: server.connectionString, AZURE_CORE_COLLECT_TELEMETRY: 'no', AZURE_CORE_NO_COLOR: 'yes' };
		const r = await runProgram(['storage', ...args, '--output', 'json'], { program: 'az', env, cwd: home, timeoutMs: 300_000 });
		assert.equal(r.code, 0, `az storage ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
		return r.stdout.trim() ? JSON.parse(r.stdout) : undefined;
	}
	test('queue: create, exists, list, metadata, policy', { timeout: 600_000 }, async () => {
		assert.equal((await az('queue', 'create', '--name', 'azq', '--metadata', 'a=b')).created, true);
		assert.equal((await az('queue', 'exists', '--name', 'azq')).exists, true);
		assert.deepEqual((await az('queue', 'list', '--prefix', 'azq')).map((q) => q.name), ['azq']);
		await az('queue', 'metadata', 'update', '--name', 'azq', '--metadata', 'colour=blue');
		assert.equal((await az('queue', 'metadata', 'show', '--name', 'azq')).colour, 'blue');
		await az('queue', 'policy', 'create', '--queue-name', 'azq', '--name', 'readers', '--permissions', 'r', '--expiry', '2030-01-01T00:00:00Z');
		assert.ok((await az('queue', 'policy', 'list', '--queue-name', 'azq')).readers);
	});
	test('message: put, peek, get, update, delete, clear', { timeout: 600_000 }, async () => {
		const text = '<job id="1">& more</job>';
		assert.equal((await az('message', 'put', '--queue-name', 'azq', '--content', text, '--time-to-live', '600')).content, text);
		assert.equal((await az('message', 'peek', '--queue-name', 'azq'))[0].content, text);
		const [got] = await az('message', 'get', '--queue-name', 'azq', '--visibility-timeout', '60');
		assert.equal(got.content, text);
		assert.equal(got.dequeueCount, 1);
		const updated = await az('message', 'update', '--queue-name', 'azq', '--id', got.id, '--pop-receipt', got.popReceipt, '--visibility-timeout', '0', '--content', 'changed');
		const [again] = await az('message', 'get', '--queue-name', 'azq');
		assert.equal(again.content, 'changed');
		assert.notEqual(updated.popReceipt, again.popReceipt);
		await az('message', 'delete', '--queue-name', 'azq', '--id', again.id, '--pop-receipt', again.popReceipt);
		await az('message', 'put', '--queue-name', 'azq', '--content', 'x');
		await az('message', 'clear', '--queue-name', 'azq');
		assert.deepEqual(await az('message', 'peek', '--queue-name', 'azq'), []);
		assert.equal((await az('queue', 'delete', '--name', 'azq')).deleted, true);
	});
});

// SPDX-License-Identifier: Apache-2.0
// A workspace that a real Azurite filled is taken over: every kind of blob, metadata, messages, entities of every type.
// Azurite is a dependency of the benchmark: ZAFFRE_AZURITE names its folder, bench/node_modules/azurite by default.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { freePort, removeDir, root, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { importAzurite } from '../../../dist/npm/import.js';

const azurite = process.env.ZAFFRE_AZURITE ?? path.join(root, 'bench/node_modules/azurite');
const skip = fs.existsSync(path.join(azurite, 'dist/src/azurite.js')) ? false : `no Azurite at ${azurite} (make bench installs it)`;

async function startAzurite(location) {
	const ports = [await freePort(), await freePort(), await freePort()];
	const child = spawn(process.execPath, [path.join(azurite, 'dist/src/azurite.js'), '-l', location, '-s', '--skipApiVersionCheck', '--disableTelemetry', '--blobPort', ports[0], '--queuePort', ports[1], '--tablePort', ports[2]].map(String));
	await new Promise((resolve, reject) => {
		let text = '';
		child.stdout.on('data', (piece) => /Table service is successfully listening/.test((text += piece)) && resolve());
		child.once('exit', (code) => reject(new Error(`azurite ended with ${code}: ${text}`)));
	});
	const [blob, queue, table] = ports.map((port) => `http://127.0.0.1:${port}/${WELL_KNOWN_ACCOUNT}`);
	return {
		connection: `DefaultEndpointsProtocol=http;AccountName=${WELL_KNOWN_ACCOUNT};AccountKey=${WELL_KNOWN_KEY};BlobEndpoint=${blob};QueueEndpoint=${queue};TableEndpoint=${table};`,
		stop: () => new Promise((resolve) => (child.removeAllListeners('exit').once('exit', resolve), child.kill('SIGTERM'))),
	};
}

const entity = { partitionKey: "p'1", rowKey: 'ü 1', text: 'a "b"', int: 7, long: { type: 'Int64', value: '9007199254740993' }, double: 1.5, yes: true, bytes: new Uint8Array([1, 2, 255]), when: new Date('2024-02-03T04:05:06.789Z'), id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' } };

async function fill(connection) {
	const container = BlobServiceClient.fromConnectionString(connection).getContainerClient('moved');
	await container.create({ metadata: { Who: 'us' } });
	await container.getBlockBlobClient('dir/a b+ü.txt').upload('hello', 5, { blobHTTPHeaders: { blobContentType: 'text/plain', blobCacheControl: 'no-cache' }, metadata: { k: 'v' } });
	const blocks = container.getBlockBlobClient('blocks');
	const id = (i) => Buffer.from(`b${i}`).toString('base64');
	for (let i = 0; i < 3; i++) await blocks.stageBlock(id(i), Buffer.alloc(100_000, i), 100_000);
	await blocks.commitBlockList([id(2), id(0), id(1)]);
	await container.getBlockBlobClient('empty').upload('', 0);
	const append = container.getAppendBlobClient('append');
	await append.create();
	for (const part of ['one ', 'two']) await append.appendBlock(part, part.length);
	const page = container.getPageBlobClient('page');
	await page.create(4096);
	await page.uploadPages(Buffer.alloc(512, 7), 1024, 512);
	const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('moved');
	await queue.create();
	for (const text of ['first <&>', 'second']) await queue.sendMessage(text);
	const table = TableClient.fromConnectionString(connection, 'Moved', { allowInsecureConnection: true });
	await table.createTable();
	await table.createEntity(entity);
}

async function read(connection) {
	const found = {};
	const container = BlobServiceClient.fromConnectionString(connection).getContainerClient('moved');
	found.metadata = (await container.getProperties()).metadata;
	for await (const b of container.listBlobsFlat({ includeMetadata: true })) {
		const bytes = await container.getBlobClient(b.name).downloadToBuffer();
		found[b.name] = [b.properties.blobType, b.properties.contentType, b.properties.cacheControl || undefined, b.metadata || undefined, bytes.toString('latin1')];
	}
	found.messages = (await QueueServiceClient.fromConnectionString(connection).getQueueClient('moved').peekMessages({ numberOfMessages: 10 })).peekedMessageItems.map((m) => m.messageText);
	const { etag, timestamp, 'odata.metadata': _, ...row } = await TableClient.fromConnectionString(connection, 'Moved', { allowInsecureConnection: true }).getEntity(entity.partitionKey, entity.rowKey);
	found.entity = row;
	return JSON.parse(JSON.stringify(found, (key, value) => (typeof value === 'bigint' ? String(value) : value)));
}

describe('import-azurite', { skip }, () => {
	test('what Azurite held is here, byte for byte', async () => {
		const workspace = tempDir();
		const old = await startAzurite(workspace);
		await fill(old.connection);
		const before = await read(old.connection);
		await old.stop();
		const server = await startServer();
		const count = await importAzurite(workspace, server.connectionString);
		assert.deepEqual(count, { containers: 1, blobs: 5, queues: 1, messages: 2, tables: 1, entities: 1, left: 0 });
		assert.deepEqual(await read(server.connectionString), before);
		await server.remove();
		removeDir(workspace);
	});
	test('what is no workspace is said so', async () => {
		await assert.rejects(importAzurite(root, ''), /is no workspace of Azurite/);
	});
});

// SPDX-License-Identifier: Apache-2.0
// `zaffre import-azurite`: a workspace that a real Azurite filled through the official SDKs is taken over and compared through them:
// every kind of blob, snapshots, uncommitted blocks, messages, entities of every type, policies, properties. Then what an import does
// that was run before, that was stopped half way, or that meets a damaged workspace.
// Azurite is a dependency of the benchmark (bench/package.json) and installed from there; ZAFFRE_AZURITE names another folder.
import { before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { freePort, removeDir, root, runProgram, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';

const azurite = path.join(process.env.ZAFFRE_AZURITE ?? path.join(root, 'bench/node_modules/azurite'), 'dist/src/azurite.js');

// The reason why there is none, or false.
async function installAzurite() {
	if (fs.existsSync(azurite)) return false;
	const failed = await new Promise((resolve) => execFile(path.join(root, 'tools/npm-ci'), ['bench'], { cwd: root, timeout: 300_000 }, resolve));
	return fs.existsSync(azurite) ? false : `no Azurite at ${azurite}: ${failed ? `npm could not install it (${failed.code ?? failed.message})` : 'npm installed none'}`;
}
const skip = await installAzurite();

async function startAzurite(location, accounts) {
	const ports = [await freePort(), await freePort(), await freePort()];
	const args = [azurite, '-l', location, '-s', '--skipApiVersionCheck', '--disableTelemetry', '--blobPort', ports[0], '--queuePort', ports[1], '--tablePort', ports[2]].map(String);
	const child = spawn(process.execPath, args, { env: { ...process.env, ...(accounts ? { AZURITE_ACCOUNTS: accounts } : {}) } });
	await new Promise((resolve, reject) => {
		let text = '';
		child.stdout.on('data', (piece) => /Table service is successfully listening/.test((text += piece)) && resolve());
		child.once('exit', (code) => reject(new Error(`azurite ended with ${code}: ${text}`)));
	});
	const connection = (account, key) => {
		const [blob, queue, table] = ports.map((port) => `http://127.0.0.1:${port}/${account}`);
		return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${blob};QueueEndpoint=${queue};TableEndpoint=${table};`;
	};
	return {
		connection: connection(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY),
		connectionOf: connection,
		stop: () => new Promise((resolve) => (child.removeAllListeners('exit').once('exit', resolve), child.kill('SIGTERM'))),
	};
}

const importAzurite = (workspace, server, options) => runProgram(['import-azurite', workspace, ...(server ? [server.connectionString ?? server] : [])], options);
const blockId = (i) => Buffer.from(`b${i}`).toString('base64');
const tables = (connection) => TableClient.fromConnectionString(connection, 'Moved', { allowInsecureConnection: true });
const entity = { partitionKey: "p'1", rowKey: 'ü 1', text: 'a "b" \\ \u0001', int: 7, long: { type: 'Int64', value: '9007199254740993' }, double: 1.5, whole: { type: 'Double', value: 5 }, nan: { type: 'Double', value: 'NaN' }, yes: true, bytes: new Uint8Array([1, 2, 255]), when: new Date('2024-02-03T04:05:06.789Z'), id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' } };
const policy = { startsOn: new Date('2024-01-01'), expiresOn: new Date('2034-01-01') };

async function fillBlobs(connection) {
	const service = BlobServiceClient.fromConnectionString(connection);
	const container = service.getContainerClient('moved');
	await container.create({ metadata: { Who: 'us' } });
	await container.setAccessPolicy('blob', [{ id: 'rule', accessPolicy: { ...policy, permissions: 'rw' } }]);
	await service.getContainerClient('bare').create();
	const plain = container.getBlockBlobClient('dir/a b+ü%41.txt');
	await plain.upload('hello', 5, { blobHTTPHeaders: { blobContentType: 'text/plain', blobCacheControl: 'no-cache', blobContentEncoding: 'x', blobContentLanguage: 'de', blobContentDisposition: 'inline' }, metadata: { k: 'v' }, tags: { x: 'y z', q: '1' }, tier: 'Cool' });
	await container.getBlockBlobClient('empty').upload('', 0);
	await container.getBlockBlobClient('large').uploadData(Buffer.alloc(9_000_000, 'large'), { maxSingleShotSize: 64 * 1024 * 1024 });
	const blocks = container.getBlockBlobClient('blocks');
	for (let i = 0; i < 3; i++) await blocks.stageBlock(blockId(i), Buffer.alloc(100_000, i), 100_000);
	await blocks.commitBlockList([blockId(2), blockId(0), blockId(1)], { metadata: { in: 'blocks' } });
	await blocks.stageBlock(blockId(9), 'later', 5);
	await container.getBlockBlobClient('twice').stageBlock(blockId(1), 'ab', 2);
	await container.getBlockBlobClient('twice').commitBlockList([blockId(1), blockId(1)]);
	await container.getBlockBlobClient('uncommitted').stageBlock(blockId(1), 'waits', 5);
	const append = container.getAppendBlobClient('append');
	await append.create({ metadata: { log: '1' } });
	for (const part of ['one ', 'two']) await append.appendBlock(part, part.length);
	const page = container.getPageBlobClient('page');
	await page.create(6 * 1024 * 1024, { blobSequenceNumber: 7 });
	await page.uploadPages(Buffer.alloc(4 * 1024 * 1024, 7), 512, 4 * 1024 * 1024);
	await page.clearPages(1024, 512);
	const kept = container.getBlockBlobClient('snapshots');
	await kept.upload('first', 5, { metadata: { state: 'first' } });
	await kept.createSnapshot();
	await kept.upload('second', 6);
	await kept.createSnapshot();
	await kept.upload('now', 3, { metadata: { state: 'now' } });
	await kept.getBlobLeaseClient().acquireLease(-1);
	await service.setProperties({ cors: [{ allowedOrigins: '*', allowedMethods: 'GET,PUT', allowedHeaders: 'a', exposedHeaders: 'b', maxAgeInSeconds: 60 }], defaultServiceVersion: '2020-10-02', deleteRetentionPolicy: { enabled: true, days: 3 } });
}

async function fillOthers(connection) {
	const queues = QueueServiceClient.fromConnectionString(connection);
	const queue = queues.getQueueClient('moved');
	await queue.create({ metadata: { a: 'b' } });
	await queue.sendMessage('gone', { messageTimeToLive: 1000 });
	for (const text of ['first <&>"\u00fc', 'second']) await queue.sendMessage(text, { messageTimeToLive: -1 });
	await queue.sendMessage('hidden', { visibilityTimeout: 600 });
	await queue.setAccessPolicy([{ id: 'rule', accessPolicy: { ...policy, permissions: 'rp' } }]);
	await queues.setProperties({ cors: [{ allowedOrigins: 'http://a', allowedMethods: 'GET', allowedHeaders: '', exposedHeaders: '', maxAgeInSeconds: 5 }] });
	await tables(connection).createTable();
	await tables(connection).createEntity(entity);
	for (let i = 0; i < 30; i++) await tables(connection).createEntity({ partitionKey: 'many', rowKey: String(i), i });
	await tables(connection).setAccessPolicy([{ id: 'rule', accessPolicy: { start: policy.startsOn, expiry: policy.expiresOn, permission: 'r' } }]);
}

async function readBlob(container, item) {
	const client = container.getBlobClient(item.name);
	const blob = item.snapshot ? client.withSnapshot(item.snapshot) : client;
	const { blobType, contentType, cacheControl, contentEncoding, contentLanguage, contentDisposition, accessTier, contentLength, blobSequenceNumber } = item.properties;
	const found = { blobType, contentType, cacheControl, contentEncoding, contentLanguage, contentDisposition, contentLength, blobSequenceNumber };
	for (const name of Object.keys(found)) if (found[name] === '') found[name] = undefined;
	found.accessTier = blobType === 'BlockBlob' && !item.snapshot ? accessTier : undefined;
	found.metadata = (await blob.getProperties()).metadata;
	found.tags = item.snapshot ? undefined : (await client.getTags()).tags;
	found.bytes = crypto.createHash('sha256').update(await blob.downloadToBuffer()).digest('hex');
	if (blobType === 'PageBlob') found.ranges = (await container.getPageBlobClient(item.name).getPageRanges()).pageRange;
	if (blobType === 'BlockBlob' && !item.snapshot) {
		const list = await container.getBlockBlobClient(item.name).getBlockList('all');
		found.blocks = [list.committedBlocks, list.uncommittedBlocks].map((l) => (l ?? []).map(({ name, size }) => ({ name, size })));
	}
	return found;
}

async function read(connection) {
	const found = { blobs: [] };
	const service = BlobServiceClient.fromConnectionString(connection);
	const container = service.getContainerClient('moved');
	found.containers = [];
	for await (const c of service.listContainers({ includeMetadata: true })) found.containers.push([c.name, c.metadata || {}, c.properties.publicAccess]);
	const acl = await container.getAccessPolicy();
	found.acl = [acl.blobPublicAccess, acl.signedIdentifiers];
	const items = [];
	for await (const item of container.listBlobsFlat({ includeSnapshots: true })) items.push(item);
	// Azurite lists a base before its newest snapshot.
	items.sort((a, b) => (`${a.name}\n${a.snapshot || '~'}` < `${b.name}\n${b.snapshot || '~'}` ? -1 : 1));
	for (const item of items) found.blobs.push([item.name, await readBlob(container, item)]);
	found.uncommitted = (await container.getBlockBlobClient('uncommitted').getBlockList('uncommitted')).uncommittedBlocks.map((b) => [b.name, b.size]);
	const { cors, defaultServiceVersion, deleteRetentionPolicy } = await service.getProperties();
	found.properties = { cors, defaultServiceVersion, days: deleteRetentionPolicy.days };
	const queues = QueueServiceClient.fromConnectionString(connection);
	const queue = queues.getQueueClient('moved');
	const state = await queue.getProperties();
	found.queue = [state.metadata, (await queue.getAccessPolicy()).signedIdentifiers, (await queues.getProperties()).cors];
	found.messages = (await queue.peekMessages({ numberOfMessages: 10 })).peekedMessageItems.map((m) => [m.messageText, m.expiresOn.getUTCFullYear()]);
	found.entities = [];
	for await (const { etag, timestamp, ...row } of tables(connection).listEntities()) found.entities.push(row);
	found.tableAcl = await tables(connection).getAccessPolicy().then((p) => p.signedIdentifiers ?? p.map((x) => x));
	return JSON.parse(JSON.stringify(found, (key, value) => (typeof value === 'bigint' ? String(value) : value)));
}

// Block ids that stand twice in a list are given anew: of that blob only how long the blocks are.
function withoutTwice(found) {
	const blob = found.blobs.find(([name]) => name === 'twice')[1];
	blob.blocks = blob.blocks.map((list) => list.map((b) => b.size));
	return found;
}

// Forwards one service and kills the server when the nth request begins.
async function killingProxy(server, service, nth) {
	let requests = 0;
	let killed;
	const sockets = new Set();
	const listener = net.createServer((client) => {
		const upstream = net.connect(server.ports[service], '127.0.0.1');
		for (const s of [client, upstream]) sockets.add(s.on('error', () => {}));
		client.on('data', (bytes) => {
			if (/^(GET|PUT|POST|HEAD|DELETE) /.test(bytes.subarray(0, 8).toString('latin1')) && ++requests === nth) killed = server.kill9();
			upstream.write(bytes);
		});
		upstream.on('data', (bytes) => client.write(bytes));
		upstream.on('close', () => client.destroy());
		client.on('close', () => upstream.destroy());
	});
	await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
	return {
		port: listener.address().port,
		close: async () => {
			await killed;
			for (const s of sockets) s.destroy();
			await new Promise((resolve) => listener.close(resolve));
		},
	};
}

const TAKEN = 'taken over: 2 containers, 8 blobs, 2 snapshots, 2 uncommitted blocks, 1 queue, 3 messages, 1 table, 31 entities\n';

describe('import-azurite of what Azurite filled', () => {
	let workspace, expected;
	before(async () => {
		if (skip) return;
		workspace = tempDir();
		const old = await startAzurite(workspace);
		await fillBlobs(old.connection);
		await fillOthers(old.connection);
		expected = withoutTwice(await read(old.connection));
		await old.stop();
		// The first message is over when the import comes; Azurite itself would have dropped it.
		const file = path.join(workspace, '__azurite_db_queue__.json');
		fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/"expirationTime":"[^"]*"/, '"expirationTime":"2020-01-01T00:00:00.000Z"'));
		assert.equal(expected.messages.shift()[0], 'gone');
	});

	test('everything is here, and a second run changes nothing', { skip }, async () => {
		const server = await startServer();
		const first = await importAzurite(workspace, server);
		assert.deepEqual([first.code, first.stderr], [0, '']);
		assert.equal(first.stdout, `${TAKEN}left out: 1 expired messages\nleft out: the leases of 1 blobs\n`);
		assert.deepEqual(withoutTwice(await read(server.connectionString)), expected);
		const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient('moved');
		assert.equal((await queue.getProperties()).approximateMessagesCount, 3);
		await server.advanceClock(601);
		assert.ok((await queue.peekMessages({ numberOfMessages: 10 })).peekedMessageItems.some((m) => m.messageText === 'hidden'));
		await server.setClock(0);

		const again = await importAzurite(workspace, server);
		assert.equal(again.code, 0, again.stderr);
		assert.match(again.stdout, /^taken over: 1 uncommitted block\nalready there and left alone: 2 containers, 8 blobs, 1 queue, 4 messages, 1 table, 31 entities\n/);
		assert.deepEqual(withoutTwice(await read(server.connectionString)), expected);
		await server.remove();
	});

	test('one that was stopped half way is finished by the next, nothing half or twice', { skip }, async () => {
		const server = await startServer();
		const container = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('moved');
		const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient('moved');
		// What an import leaves that ended in the middle of an append blob: the note, and half of the blob.
		const mark = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('zaffre-import');
		await mark.create();
		await container.create();
		await container.getAppendBlobClient('append').create();
		await container.getAppendBlobClient('append').appendBlock('one ', 4);
		await mark.getBlockBlobClient('under-way').upload('blob\nmoved\nappend', 17);
		const blobs = await importAzurite(workspace, server);
		assert.equal(blobs.code, 0, blobs.stderr);
		assert.equal((await container.getBlobClient('append').downloadToBuffer()).toString(), 'one two');
		assert.equal(await mark.exists(), false);
		// The same in the middle of a queue.
		await queue.clearMessages();
		await queue.sendMessage('half');
		await mark.create();
		await mark.getBlockBlobClient('under-way').upload('queue\nmoved\n', 12);
		const queues = await importAzurite(workspace, server);
		assert.match(queues.stdout, /1 queue, 3 messages/);
		assert.deepEqual((await queue.peekMessages({ numberOfMessages: 10 })).peekedMessageItems.map((m) => m.messageText), ['first <&>"\u00fc', 'second']);
		await server.remove();
	});

	// A server that ends in the middle of a request of one service: blobs of one and of several steps, a queue, a table.
	for (const [service, nth] of [['blob', 12], ['blob', 20], ['blob', 31], ['queue', 4], ['table', 10]])
		test(`a server that is killed in ${service} request ${nth} ends it with 1, and the next run does the rest`, { skip }, async () => {
			const server = await startServer();
			const proxy = await killingProxy(server, service, nth);
			const stopped = await importAzurite(workspace, server.connectionString.replace(`127.0.0.1:${server.ports[service]}`, `127.0.0.1:${proxy.port}`));
			await proxy.close();
			assert.equal(stopped.code, 1);
			assert.match(stopped.stderr, /zaffre: stopped: .*Run the same command again/);
			await server.restart();
			const again = await importAzurite(workspace, server);
			assert.equal(again.code, 0, again.stderr);
			assert.deepEqual(withoutTwice(await read(server.connectionString)), expected);
			await server.remove();
		});

	test('a file that was cut short stops it before anything is sent', { skip }, async () => {
		const server = await startServer();
		const broken = tempDir();
		fs.cpSync(workspace, broken, { recursive: true });
		const file = path.join(broken, '__azurite_db_table__.json');
		fs.truncateSync(file, fs.statSync(file).size - 7);
		const out = await importAzurite(broken, server);
		assert.equal(out.code, 1);
		assert.match(out.stderr, /__azurite_db_table__\.json is damaged or was cut short .*Nothing was imported\n$/);
		const names = [];
		for await (const c of BlobServiceClient.fromConnectionString(server.connectionString).listContainers()) names.push(c.name);
		assert.deepEqual(names, []);
		await server.remove();
		removeDir(broken);
	});

	test('bytes that are gone are named, and the rest is taken over', { skip }, async () => {
		const server = await startServer();
		const broken = tempDir();
		fs.cpSync(workspace, broken, { recursive: true });
		for (const name of fs.readdirSync(path.join(broken, '__blobstorage__'))) fs.truncateSync(path.join(broken, '__blobstorage__', name), 5);
		const out = await importAzurite(broken, server);
		assert.equal(out.code, 1);
		assert.match(out.stderr, /failed: blob moved\/large: the file of its bytes, __blobstorage__\/.* is too short\n/);
		assert.match(out.stderr, /zaffre: \d+ failures; what they are about was not taken over\n$/);
		assert.match(out.stdout, /^taken over: 2 containers, 2 blobs, 1 queue, 3 messages/);
		const container = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('moved');
		for (const name of ['append', 'page', 'blocks', 'snapshots']) assert.equal(await container.getBlobClient(name).exists(), false, name);
		await server.remove();
		removeDir(broken);
	});

	// The workspace of another user, imported by root: a link would make any file a blob, a pipe would hold the import for good.
	test('links and pipes in the place of files are not followed', { skip, timeout: 120_000 }, async () => {
		const server = await startServer();
		const secret = path.join(tempDir(), 'secret');
		fs.writeFileSync(secret, '');
		fs.truncateSync(secret, 64 << 20);
		const store = (dir) => path.join(dir, '__blobstorage__');
		const plant = {
			link: (dir, name) => (fs.rmSync(path.join(store(dir), name)), fs.symlinkSync(secret, path.join(store(dir), name))),
			pipe: (dir, name) => (fs.rmSync(path.join(store(dir), name)), execFileSync('mkfifo', [path.join(store(dir), name)])),
		};
		for (const [kind, put] of Object.entries(plant)) {
			const planted = tempDir();
			fs.cpSync(workspace, planted, { recursive: true });
			for (const name of fs.readdirSync(store(planted))) put(planted, name);
			const out = await importAzurite(planted, server);
			assert.equal(out.code, 1, kind);
			assert.match(out.stderr, /failed: blob moved\/large: the file of its bytes, __blobstorage__\/.* cannot be opened\n/);
			removeDir(planted);
		}
		const folder = tempDir();
		fs.cpSync(workspace, folder, { recursive: true });
		fs.renameSync(store(folder), `${store(folder)}.moved`);
		fs.symlinkSync(`${store(folder)}.moved`, store(folder));
		assert.match((await importAzurite(folder, server)).stderr, /cannot be opened/);
		fs.rmSync(path.join(folder, '__azurite_db_blob__.json'));
		execFileSync('mkfifo', [path.join(folder, '__azurite_db_blob__.json')]);
		const out = await importAzurite(folder, server);
		assert.deepEqual([out.code, /is no plain file/.test(out.stderr)], [1, true], out.stderr);
		const container = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('moved');
		assert.equal(await container.getBlobClient('large').exists(), false);
		await server.remove();
		removeDir(folder);
		removeDir(path.dirname(secret));
	});

	test('other accounts of the workspace are named, and taken with their connection string', { skip }, async () => {
		const dir = tempDir();
		const [k1, k2] = [1, 2].map((n) => Buffer.alloc(64, n).toString('base64'));
		const accounts = `one1:${k1};two2:${k2}`;
		const old = await startAzurite(dir, accounts);
		for (const [account, key] of [['one1', k1], ['two2', k2]]) await BlobServiceClient.fromConnectionString(old.connectionOf(account, key)).getContainerClient(`of-${account}`).create();
		await old.stop();
		const server = await startServer({ env: { ZAFFRE_ACCOUNTS: accounts } });
		const as = (account, key) => `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};` + ['blob', 'queue', 'table'].map((s) => `${s[0].toUpperCase()}${s.slice(1)}Endpoint=http://127.0.0.1:${server.ports[s]}/${account};`).join('');
		const out = await importAzurite(dir, as('one1', k1));
		assert.deepEqual([out.code, out.stdout], [0, 'taken over: 1 container\nnot taken: account two2 of the workspace; run this again with its connection string\n']);
		assert.equal((await importAzurite(dir, as('two2', k2))).code, 0);
		assert.ok(await BlobServiceClient.fromConnectionString(as('two2', k2)).getContainerClient('of-two2').exists());
		await server.remove();
		removeDir(dir);
	});
});

describe('import-azurite: what it refuses', () => {
	test('what is no workspace, no server and no connection string is said so', async () => {
		const dir = tempDir();
		const none = await importAzurite(dir, 'AccountName=a');
		assert.deepEqual([none.code, none.stdout], [1, '']);
		assert.match(none.stderr, /is no workspace of Azurite: it has no __azurite_db_blob__\.json/);
		fs.writeFileSync(path.join(dir, '__azurite_db_table__.json'), '{"collections":[]}');
		assert.match((await importAzurite(dir, 'AccountName=a')).stderr, /the connection string has no BlobEndpoint/);
		const https = await importAzurite(dir, 'AccountName=a;AccountKey=aaaa;BlobEndpoint=https://127.0.0.1:1/a;');
		assert.deepEqual([https.code, /only http:/.test(https.stderr)], [2, true]);
		const port = await freePort();
		const url = `http://127.0.0.1:${port}/a`;
		const away = await importAzurite(dir, `AccountName=a;AccountKey=aaaa;BlobEndpoint=${url};QueueEndpoint=${url};TableEndpoint=${url}`);
		assert.equal(away.code, 1);
		assert.match(away.stderr, /the server at 127\.0\.0\.1 port \d+ does not answer: Connection refused/);
		assert.equal((await runProgram(['import-azurite'])).code, 2);
		assert.match((await runProgram(['import-azurite', '--help'])).stdout, /zaffre import-azurite DIR \[CONNECTION_STRING\]/);
		removeDir(dir);
	});
	test('a wrong key is refused before anything is taken', async () => {
		const server = await startServer();
		const dir = tempDir();
		fs.writeFileSync(path.join(dir, '__azurite_db_table__.json'), '{"collections":[]}');
		const out = await importAzurite(dir, server.connectionString.replace(WELL_KNOWN_KEY, 'AAAA'));
		assert.equal(out.code, 1);
		assert.match(out.stderr, /403 AuthenticationFailed/);
		await server.remove();
		removeDir(dir);
	});
});

// SPDX-License-Identifier: Apache-2.0
// What the document on managing concurrency says of the File service, sentence by sentence, as far as REST alone can show it. What
// needs an SMB client beside it is in test/smb.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, sdkOf } from '../../lib/file.mjs';

let server, client, files, sdk, home, share;
before(async () => {
	server = await startServer();
	client = fileClient(server);
	files = new Files(client);
	sdk = sdkOf(server);
	home = await files.newShare();
	share = sdk.getShareClient(home.slice(1));
});
after(() => server?.remove());
const fresh = () => `${home}/${uniqueName('f')}`;

// "when the Storage service commits a data insert or update operation all further accesses to that data will see the latest update"
test('strong consistency: every access after an acknowledged change sees it', async () => {
	const f = share.rootDirectoryClient.getFileClient(uniqueName('f'));
	for (let i = 0; i < 50; i++) {
		const text = `state ${i}`;
		await f.uploadData(Buffer.from(text));
		assert.equal((await f.downloadToBuffer()).toString(), text);
		assert.equal((await f.getProperties()).contentLength, text.length);
		const names = [];
		for await (const item of share.rootDirectoryClient.listFilesAndDirectories({ prefix: f.name })) names.push(item.properties.contentLength);
		assert.deepEqual(names, [text.length]);
	}
	await f.delete();
	await rejectsWith(f.getProperties(), 404, 'ResourceNotFound');
});

// "The file service can be accessed using two different protocol endpoints – SMB and REST."
test('the REST endpoint is there and is named in the connection string', async () => {
	assert.match(server.connectionString, /;FileEndpoint=http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1;/);
	expectStatus(await client.get('/', { query: { comp: 'list' } }), 200);
});

// "The REST service does not have support for either optimistic locking or pessimistic locking and all updates will follow a last
// writer wins strategy."
describe('last writer wins', () => {
	test('conditional headers are not looked at', async () => {
		const path = fresh();
		await files.put(path, 'one');
		const { etag } = await files.head(path);
		expectStatus(await files.write(path, 0, 'two'), 201);
		for (const stale of [{ 'if-match': etag }, { 'if-none-match': '*' }, { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' }]) {
			expectStatus(await files.write(path, 0, 'new', stale), 201);
			expectStatus(await files.comp(path, 'metadata', { 'x-ms-meta-a': 'b', ...stale }), 200);
			expectStatus(await files.create(path, 3, stale), 201);
			expectStatus(await files.get(path, stale), 200);
		}
		expectStatus(await files.delete(path, { 'if-match': etag }), 202);
	});
	test('of two clients that write in turn the later one is read', async () => {
		const path = fresh(), other = new Files(fileClient(server));
		await files.put(path, 'aaaa');
		expectStatus(await other.write(path, 0, 'bbbb'), 201);
		expectStatus(await files.write(path, 0, 'cc'), 201);
		assert.equal((await other.get(path)).text, 'ccbb');
		expectStatus(await files.comp(path, 'metadata', { 'x-ms-meta-who': 'one' }), 200);
		expectStatus(await other.comp(path, 'metadata', { 'x-ms-meta-who': 'two' }), 200);
		assert.equal((await files.head(path)).headers['x-ms-meta-who'], 'two');
	});
	test('writers at the same time: the result is what the last acknowledged one left', async () => {
		const path = fresh();
		await files.put(path, '0000');
		const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => files.write(path, 0, String(1000 + i))));
		const last = answers.map((r, i) => [expectStatus(r, 201).etag, String(1000 + i)]).sort().pop();
		const now = await files.get(path);
		assert.deepEqual([now.etag, now.text], last);
	});
	// Leases came to the service after the document; without one nothing is locked.
	test('a lease, where a client asks for one, excludes others from writing', async () => {
		const path = fresh();
		await files.put(path, 'x');
		const id = expectStatus(await files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }), 201).headers['x-ms-lease-id'];
		expectError(await files.write(path, 0, 'y'), 412, 'LeaseIdMissing');
		expectStatus(await files.write(path, 0, 'y', { 'x-ms-lease-id': id }), 201);
		expectStatus(await files.get(path), 200);
	});
});

// "the REST Delete File and REST Delete Directory operations are committed atomically and do not result in a pending delete state"
describe('deletes are atomic', () => {
	test('a deleted file is gone at once: 404, not listed, its name free', async () => {
		const d = fresh();
		expectStatus(await files.mkdir(d), 201);
		for (let i = 0; i < 50; i++) {
			await files.put(`${d}/f`, 'x');
			expectStatus(await files.delete(`${d}/f`), 202);
			expectError(await files.get(`${d}/f`), 404, 'ResourceNotFound');
			assert.deepEqual(await files.names(d), []);
		}
		expectStatus(await files.rmdir(d), 202);
		expectError(await files.dir('GET', d), 404, 'ResourceNotFound');
		expectStatus(await files.mkdir(d), 201);
	});
	test('of many deletes at the same time one succeeds, and none answers that it is pending', async () => {
		for (let i = 0; i < 30; i++) {
			const path = fresh();
			await files.put(path, 'x');
			const answers = await Promise.all(Array.from({ length: 8 }, () => files.delete(path)));
			assert.deepEqual(answers.map((r) => r.status).sort(), [202, ...Array(7).fill(404)]);
			assert.ok(answers.every((r) => !/Pending/.test(r.code ?? '')));
		}
	});
	test('a reader of a file that is deleted meanwhile gets all its bytes', async () => {
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f')), bytes = Buffer.alloc(6 << 20, 'q');
		await f.uploadData(bytes);
		const download = await f.download();
		await f.delete();
		const chunks = [];
		for await (const chunk of download.readableStreamBody) chunks.push(chunk);
		assert.ok(Buffer.concat(chunks).equals(bytes));
	});
});

// "Status code 404 (Not Found) is only expected when the file has been removed."
test('404 only when it was removed, or never there', async () => {
	const path = fresh();
	expectError(await files.get(path), 404, 'ResourceNotFound');
	await files.put(path, 'x');
	for (const r of await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 ? files.get(path) : files.write(path, 0, 'y'))))) assert.ok(r.status === 200 || r.status === 201, String(r.status));
	expectStatus(await files.delete(path), 202);
	expectError(await files.get(path), 404, 'ResourceNotFound');
});

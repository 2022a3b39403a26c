// SPDX-License-Identifier: Apache-2.0
// What the document on managing concurrency says of the File service, sentence by sentence: REST through the official SDK and raw
// requests, SMB through the raw client of test/lib. Every cell of the table of share modes is in test/smb/two_doors.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, sdkOf } from '../../lib/file.mjs';
import { ACCESS, SHARE, SmbClient } from '../../lib/smb.mjs';

let server, client, files, sdk, home, share, smbPort;
before(async () => {
	smbPort = await freePort();
	server = await startServer({ flags: ['--smbPort', String(smbPort)] });
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

// An SMB client of the share, as a machine that mounts it.
async function mount() {
	const c = await SmbClient.connect(smbPort);
	assert.equal((await c.negotiate()).status, 0);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	const tree = await c.treeConnect(home.slice(1));
	const name = (path) => path.slice(home.length + 1).replaceAll('/', '\\');
	const open = async (path, o) => {
		const r = await c.create(tree, name(path), { disposition: 1, ...o });
		assert.equal(r.status, 0, `open of ${path}: ${r.status.toString(16)}`);
		return r.id;
	};
	return { c, tree, open, close: (id) => c.close(tree, id), end: () => c.end() };
}
// Every operation of REST on a file.
const OPERATIONS = {
	'Create File': (path) => files.create(path, 4),
	'Get File': (path) => files.get(path),
	'Get File Properties': (path) => files.head(path),
	'Set File Properties': (path) => files.comp(path, 'properties', { 'x-ms-content-type': 'text/plain' }),
	'Get File Metadata': (path) => client.get(path, { query: { comp: 'metadata' } }),
	'Set File Metadata': (path) => files.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }),
	'Put Range': (path) => files.write(path, 0, 'rest'),
	'Clear Range': (path) => files.clear(path, 0, 4),
	'List Ranges': (path) => client.get(path, { query: { comp: 'rangelist' } }),
	'Lease File': (path) => files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }),
	'Rename File': (path) => files.rename(path, `${path}-renamed`),
	'Delete File': (path) => files.delete(path),
};
const codeOf = (r) => r.headers['x-ms-error-code'] ?? String(r.status);

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

test('the SMB endpoint is there: what one writes the other reads', async () => {
	const path = fresh(), m = await mount();
	const id = await m.open(path, { disposition: 2 });
	assert.equal((await m.c.write(m.tree, id, 0, Buffer.from('from smb'))).status, 0);
	assert.equal((await files.get(path)).text, 'from smb');
	expectStatus(await files.write(path, 0, 'rest'), 201);
	assert.equal((await m.c.read(m.tree, id, 0, 100)).data.toString(), 'rest smb');
	await m.end();
});

// "SMB clients that mount file shares can leverage file system locking mechanisms to manage access to shared files – including the
// ability to perform pessimistic locking."
test('a byte range that an SMB client locks is its own until it unlocks', async () => {
	const path = fresh(), m = await mount(), other = await mount();
	await files.put(path, 'x'.repeat(100));
	const [mine, theirs] = [await m.open(path), await other.open(path)];
	assert.equal((await m.c.lock(m.tree, mine, [[0, 10, 0x12]])).status, 0);
	assert.notEqual((await other.c.lock(other.tree, theirs, [[5, 10, 0x12]])).status, 0);
	// Put Range asks for the whole file, not for its own range alone.
	for (const first of [0, 10]) expectError(await files.write(path, first, 'rest'), 409, 'FileLockConflict');
	expectError(await files.get(path), 409, 'FileLockConflict');
	expectStatus(await files.get(path, { 'x-ms-range': 'bytes=10-19' }), 206);
	assert.equal((await m.c.lock(m.tree, mine, [[0, 10, 4]])).status, 0);
	expectStatus(await files.write(path, 0, 'rest'), 201);
	await m.end();
	await other.end();
});

// "When an SMB client opens a file, it specifies both the file access and share mode. Setting a File Access option of "Write" or
// "Read/Write" along with a File Share mode of "None" will result in the file being locked by an SMB client until the file is closed."
// "If REST operation is attempted on a file where an SMB client has the file locked the REST service will return status code 409
// (Conflict) with error code SharingViolation."
for (const [name, access] of [['Write', ACCESS.WRITE], ['Read/Write', ACCESS.READ | ACCESS.WRITE]])
	test(`opened for ${name}, shared with none: locked until the close`, async () => {
		const path = fresh(), m = await mount();
		await files.put(path, 'data');
		const id = await m.open(path, { access, share: SHARE.NONE });
		// Properties and metadata are read without the bytes: the service lets that through (its table of share modes).
		for (const [operation, run] of Object.entries(OPERATIONS))
			if (!['Get File Properties', 'Get File Metadata'].includes(operation)) expectError(await run(path), 409, 'SharingViolation', operation);
		assert.equal((await m.close(id)).status, 0);
		for (const [operation, run] of Object.entries(OPERATIONS))
			if (!['Lease File', 'Rename File'].includes(operation)) assert.ok((await run(path)).status < 300, operation);
		await m.end();
	});

// "When an SMB client opens a file for delete, it marks the file as pending delete until all other SMB client open handles on that file
// are closed. While a file is marked as pending delete, any REST operation on that file will return status code 409 (Conflict) with
// error code SMBDeletePending." "Note that while a file is in an SMB pending delete state, it will not be included in the List Files
// results."
test('pending delete: 409 SMBDeletePending to any operation, not listed, 404 once the last handle is closed', async () => {
	const d = fresh(), path = `${d}/f`, m = await mount(), other = await mount();
	expectStatus(await files.mkdir(d), 201);
	await files.put(path, 'data');
	const [first, second] = [await m.open(path), await other.open(path)];
	assert.equal((await m.c.setDisposition(m.tree, first, true)).status, 0);
	for (const [operation, run] of Object.entries(OPERATIONS)) {
		const r = await run(path);
		assert.deepEqual([r.status, codeOf(r)], [409, 'SMBDeletePending'], operation);
	}
	assert.deepEqual(await files.names(d), []);
	await m.close(first);
	expectError(await files.get(path), 409, 'SMBDeletePending');
	assert.deepEqual(await files.names(d), []);
	await other.close(second);
	expectError(await files.get(path), 404, 'ResourceNotFound');
	await m.end();
	await other.end();
});

// "Status code 404 (Not Found) is not returned since it is possible for the SMB client to remove the pending deletion flag prior to
// closing the file."
test('the flag is removed before the close: the file is there as it was', async () => {
	const d = fresh(), path = `${d}/f`, m = await mount();
	expectStatus(await files.mkdir(d), 201);
	await files.put(path, 'data');
	const id = await m.open(path);
	assert.equal((await m.c.setDisposition(m.tree, id, true)).status, 0);
	expectError(await files.get(path), 409, 'SMBDeletePending');
	assert.equal((await m.c.setDisposition(m.tree, id, false)).status, 0);
	assert.equal((await files.get(path)).text, 'data');
	assert.deepEqual(await files.names(d), ['f']);
	await m.close(id);
	assert.equal((await files.get(path)).text, 'data');
	await m.end();
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

// SPDX-License-Identifier: Apache-2.0
// Directories and files: create, properties, attributes, times, metadata, permissions, names, leases, delete.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { element, expectError, expectStatus, md5, rejectsWith, uniqueName } from '../../lib/assert.mjs';
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

const fresh = (prefix = 'f') => `${home}/${uniqueName(prefix)}`;
const five = ['x-ms-file-attributes', 'x-ms-file-creation-time', 'x-ms-file-last-write-time', 'x-ms-file-change-time', 'x-ms-file-permission-key', 'x-ms-file-id', 'x-ms-file-parent-id'];
const pick = (r, names = five) => Object.fromEntries(names.map((n) => [n, r.headers[n]]));
const ticksOf = (etag) => BigInt(etag.replaceAll('"', ''));
// 100 ns since the year 1.
const ticksOfIso = (text) => BigInt(Date.parse(text.slice(0, 19) + 'Z')) * 10000n + BigInt(text.slice(20, 27)) + 621355968000000000n;

describe('directories', () => {
	test('with the SDK', async () => {
		const d = share.getDirectoryClient(uniqueName('d'));
		const made = await d.create({ metadata: { a: 'b' } });
		assert.deepEqual([made.fileAttributes, made.fileParentId], ['Directory', '0']);
		const p = await d.getProperties();
		assert.deepEqual([p.etag, p.metadata, p.fileId, p.filePermissionKey], [made.etag, { a: 'b' }, made.fileId, made.filePermissionKey]);
		await rejectsWith(d.create(), 409, 'ResourceAlreadyExists');
		await d.setMetadata({ c: 'd' });
		assert.deepEqual((await d.getProperties()).metadata, { c: 'd' });
		const set = await d.setProperties({ fileAttributes: undefined });
		assert.equal(set.fileId, made.fileId);
		const sub = d.getDirectoryClient('sub');
		await sub.create();
		assert.equal((await sub.getProperties()).fileParentId, made.fileId);
		await rejectsWith(d.delete(), 409, 'DirectoryNotEmpty');
		await sub.delete();
		await d.delete();
		await rejectsWith(d.delete(), 404, 'ResourceNotFound');
		await rejectsWith(d.getDirectoryClient('x').create(), 404, 'ParentNotFound');
		await rejectsWith(d.getDirectoryClient('x').getProperties(), 404, 'ParentNotFound');
	});
	test('the root', async () => {
		for (const path of [home, `${home}/`]) {
			const r = expectStatus(await files.dir('GET', path), 200);
			assert.deepEqual(pick(r, ['x-ms-file-attributes', 'x-ms-file-id', 'x-ms-file-parent-id', 'x-ms-file-permission-key']), {
				'x-ms-file-attributes': 'Directory', 'x-ms-file-id': '0', 'x-ms-file-parent-id': '0', 'x-ms-file-permission-key': undefined,
			});
		}
		expectError(await files.mkdir(home), 409, 'ResourceAlreadyExists');
		expectError(await files.rmdir(home), 400, 'InvalidQueryParameterValue');
	});
	test('what lives inside leaves it alone', async () => {
		const d = fresh('d');
		expectStatus(await files.mkdir(d), 201);
		const before = await files.dir('GET', d);
		await files.put(`${d}/f`, 'x');
		expectStatus(await files.delete(`${d}/f`), 202);
		const now = await files.dir('GET', d);
		assert.deepEqual([now.etag, pick(now)], [before.etag, pick(before)]);
	});
	test('kinds do not mix', async () => {
		const d = fresh('d'), f = fresh();
		expectStatus(await files.mkdir(d), 201);
		await files.put(f, 'x');
		expectError(await files.dir('GET', f), 404, 'ResourceNotFound');
		expectError(await files.get(d), 404, 'ResourceNotFound');
		expectError(await files.head(d), 404, 'ResourceNotFound');
		expectError(await files.create(d, 1), 409, 'ResourceTypeMismatch');
		expectError(await files.mkdir(f), 409, 'ResourceAlreadyExists');
		for (const r of [await files.delete(d), await files.write(d, 0, 'x'), await files.comp(d, 'properties'), await files.comp(d, 'metadata')]) expectError(r, 409, 'ResourceTypeMismatch');
		expectError(await files.get(`${f}/x`), 404, 'ParentNotFound');
	});
});

describe('files', () => {
	test('with the SDK', async () => {
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f'));
		const made = await f.create(100, { fileHttpHeaders: { fileContentType: 'text/plain', fileContentLanguage: 'de' }, metadata: { A: 'b' } });
		assert.equal(made.fileAttributes, 'Archive');
		const p = await f.getProperties();
		assert.deepEqual([p.contentLength, p.contentType, p.contentLanguage, p.metadata, p.fileType, p.leaseState, p.isServerEncrypted], [100, 'text/plain', 'de', { a: 'b' }, 'File', 'available', true]);
		assert.equal((await f.downloadToBuffer()).equals(Buffer.alloc(100)), true);
		await f.resize(10);
		assert.deepEqual([(await f.getProperties()).contentLength, (await f.getProperties()).contentType], [10, 'text/plain']);
		await f.setHttpHeaders({ fileContentEncoding: 'gzip' });
		const changed = await f.getProperties();
		assert.deepEqual([changed.contentEncoding, changed.contentLanguage], ['gzip', undefined]);
		await f.setMetadata({});
		assert.deepEqual((await f.getProperties()).metadata, {});
		assert.equal(await f.exists(), true);
		await f.delete();
		assert.equal(await f.exists(), false);
		await rejectsWith(f.delete(), 404, 'ResourceNotFound');
	});
	test('answer of create', async () => {
		const path = fresh();
		const r = expectStatus(await files.create(path, 3), 201);
		assert.deepEqual([r.headers['x-ms-request-server-encrypted'], r.headers['x-ms-file-attributes'], r.headers['x-ms-file-parent-id']], ['true', 'Archive', '0']);
		assert.match(r.headers['x-ms-file-permission-key'], /^\d+\*\d+$/);
		for (const name of five.slice(1, 4)) assert.equal(ticksOfIso(r.headers[name]), ticksOf(r.etag), `${name} and the ETag are one reading of the clock`);
		const head = expectStatus(await files.head(path), 200);
		assert.deepEqual(pick(head), pick(r));
		assert.deepEqual([head.etag, head.headers['content-type'], head.headers['content-length'], head.headers['x-ms-type'], head.headers['x-ms-server-encrypted'], head.headers['accept-ranges']], [r.etag, 'application/octet-stream', '3', 'File', 'true', undefined]);
		const old = expectStatus(await files.create(fresh(), 3, {}, { version: '2018-03-28' }), 201);
		assert.deepEqual(Object.values(pick(old)), Array(7).fill(undefined));
	});
	test('created over: same id, new time, zeros, headers and metadata replaced, lease kept', async () => {
		const path = fresh();
		await files.put(path, 'bytes', { 'x-ms-meta-a': 'b', 'x-ms-content-type': 'text/plain' });
		const lease = expectStatus(await files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }), 201).headers['x-ms-lease-id'];
		const before = await files.head(path);
		expectError(await files.create(path, 4), 412, 'LeaseIdMissing');
		const r = expectStatus(await files.create(path, 4, { 'x-ms-lease-id': lease }), 201);
		assert.equal(r.headers['x-ms-file-id'], before.headers['x-ms-file-id']);
		assert.ok(r.headers['x-ms-file-creation-time'] > before.headers['x-ms-file-creation-time']);
		const got = await files.get(path);
		assert.deepEqual([got.body, got.headers['x-ms-meta-a'], got.headers['content-type'], got.headers['x-ms-lease-state']], [Buffer.alloc(4), undefined, 'application/octet-stream', 'leased']);
	});
	test('set properties: a resize alone keeps the six headers, else they are replaced', async () => {
		const path = fresh();
		await files.put(path, 'abcdef', { 'x-ms-content-type': 'text/plain', 'x-ms-cache-control': 'no-cache' });
		expectStatus(await files.comp(path, 'properties', { 'x-ms-content-length': 3 }), 200);
		let r = await files.get(path);
		assert.deepEqual([r.text, r.headers['content-type'], r.headers['cache-control']], ['abc', 'text/plain', 'no-cache']);
		expectStatus(await files.comp(path, 'properties', { 'x-ms-content-length': 6 }), 200);
		assert.deepEqual((await files.get(path)).body, Buffer.from('abc\0\0\0'));
		expectStatus(await files.comp(path, 'properties', {}), 200);
		r = await files.head(path);
		assert.deepEqual([r.headers['content-type'], r.headers['cache-control']], [undefined, undefined]);
		expectError(await files.comp(path, 'properties', { 'x-ms-content-length': -4 }), 400, 'OutOfRangeInput');
		expectError(await files.comp(path, 'properties', { 'x-ms-content-length': 4 * 1024 ** 4 + 1 }), 400, 'OutOfRangeInput');
		expectError(await files.comp(fresh(), 'properties', {}), 404, 'ResourceNotFound');
	});
	test('size and MD5 of create', async () => {
		expectError(await client.put(fresh(), { headers: { 'x-ms-type': 'file' } }), 400, 'MissingRequiredHeader');
		expectError(await client.put(fresh(), { headers: { 'x-ms-content-length': 1 } }), 400, 'MissingRequiredHeader');
		for (const size of ['-1', String(4 * 1024 ** 4 + 1)]) assert.match(expectError(await files.create(fresh(), size), 400, 'OutOfRangeInput').text, /The file size exceeds the maximum permissible limit\./);
		for (const bad of ['', 'x', 'AAAA']) assert.equal(element(expectError(await files.create(fresh(), 1, { 'x-ms-content-md5': bad }), 400, 'InvalidHeaderValue').text, 'HeaderName'), 'x-ms-content-md5');
		const path = fresh(), sum = md5(Buffer.from('abc'));
		await files.put(path, 'abc', { 'x-ms-content-md5': sum });
		const whole = await files.get(path), part = await files.get(path, { 'x-ms-range': 'bytes=0-1' });
		assert.deepEqual([whole.headers['content-md5'], part.headers['content-md5'], part.headers['x-ms-content-md5']], [sum, undefined, sum]);
	});
	test('create with data, in versions that know it', async () => {
		const version = '2026-06-06', body = 'hello', path = fresh();
		const r = expectStatus(await files.create(path, 10, { 'content-type': 'application/octet-stream' }, { version, body }), 201);
		assert.equal(r.headers['content-md5'], md5(Buffer.from(body)));
		const got = await files.get(path);
		assert.deepEqual([got.body, got.headers['content-md5']], [Buffer.from('hello\0\0\0\0\0'), undefined]);
		expectError(await files.create(fresh(), 10, { 'content-md5': md5(Buffer.from('x')) }, { version, body }), 400, 'Md5Mismatch');
		expectError(await files.create(fresh(), 5 << 20, {}, { version, body: Buffer.alloc((4 << 20) + 1) }), 413, 'RequestBodyTooLarge');
		expectError(await files.create(fresh(), 2, {}, { version, body }), 416, 'InvalidRange');
		expectError(await files.create(fresh(), 10, {}, { body }), 400, 'InvalidHeaderValue');
	});
});

describe('attributes and times', () => {
	const attributes = async (path, given) => expectStatus(await files.create(path, 1, { 'x-ms-file-attributes': given }), 201).headers['x-ms-file-attributes'];
	test('names in and out', async () => {
		for (const [given, shown] of [
			['None', 'Archive'], ['none', 'Archive'], ['ReadOnly', 'ReadOnly | Archive'], ['Temporary', 'Archive | Temporary'],
			['system|hidden', 'Hidden | System | Archive'], ['Offline | NotContentIndexed | NoScrubData', 'Archive | Offline | NotContentIndexed | NoScrubData'],
		])
			assert.equal(await attributes(fresh(), given), shown, given);
		for (const bad of ['None|ReadOnly', 'Nonsense', 'Directory']) expectError(await files.create(fresh(), 1, { 'x-ms-file-attributes': bad }), 400, 'InvalidHeaderValue');
		const d = fresh('d');
		assert.equal(expectStatus(await files.mkdir(d, { 'x-ms-file-attributes': 'Hidden' }), 201).headers['x-ms-file-attributes'], 'Hidden | Directory');
		const path = fresh();
		await files.put(path, 'x');
		const set = async (given) => expectStatus(await files.comp(path, 'properties', { 'x-ms-file-attributes': given }), 200).headers['x-ms-file-attributes'];
		assert.deepEqual([await set('ReadOnly|Hidden'), await set('preserve'), await set('None')], ['ReadOnly | Hidden', 'ReadOnly | Hidden', 'None']);
		assert.equal(expectStatus(await files.create(fresh(), 1, { 'x-ms-file-attributes': 'None', 'x-ms-file-property-semantics': 'Restore' }, { version: '2026-06-06' }), 201).headers['x-ms-file-attributes'], 'None');
	});
	test('read-only refuses what changes it, and set properties clears it', async () => {
		const path = fresh();
		await files.put(path, 'x');
		expectStatus(await files.comp(path, 'properties', { 'x-ms-file-attributes': 'ReadOnly' }), 200);
		for (const r of [await files.create(path, 1), await files.write(path, 0, 'y'), await files.comp(path, 'metadata'), await files.delete(path)]) expectError(r, 409, 'ReadOnlyAttribute');
		assert.equal((await files.get(path)).text, 'x');
		expectStatus(await files.comp(path, 'properties', { 'x-ms-file-attributes': 'None' }), 200);
		expectStatus(await files.delete(path), 202);
	});
	test('times: now, preserve, given', async () => {
		const path = fresh(), given = '2019-01-02T03:04:05.1234567Z';
		const made = expectStatus(await files.create(path, 1, { 'x-ms-file-creation-time': given, 'x-ms-file-last-write-time': '2019-01-02T03:04:05Z', 'x-ms-file-change-time': 'NOW' }), 201);
		assert.deepEqual([made.headers['x-ms-file-creation-time'], made.headers['x-ms-file-last-write-time']], [given, '2019-01-02T03:04:05.0000000Z']);
		assert.equal(ticksOfIso(made.headers['x-ms-file-change-time']), ticksOf(made.etag));
		const kept = expectStatus(await files.comp(path, 'properties', { 'x-ms-file-creation-time': 'preserve' }), 200);
		assert.deepEqual([kept.headers['x-ms-file-creation-time'], kept.headers['x-ms-file-last-write-time']], [given, '2019-01-02T03:04:05.0000000Z']);
		assert.equal(ticksOfIso(kept.headers['x-ms-file-change-time']), ticksOf(kept.etag));
		const set = expectStatus(await files.comp(path, 'properties', { 'x-ms-file-change-time': given, 'x-ms-file-last-write-time': 'now' }), 200);
		assert.equal(set.headers['x-ms-file-change-time'], given);
		assert.equal(ticksOfIso(set.headers['x-ms-file-last-write-time']), ticksOf(set.etag));
		const resized = expectStatus(await files.comp(path, 'properties', { 'x-ms-content-length': 9, 'x-ms-file-last-write-time': 'preserve' }), 200);
		assert.equal(ticksOfIso(resized.headers['x-ms-file-last-write-time']), ticksOf(resized.etag), 'a resize moves it all the same');
		for (const bad of ['yesterday', '2019-13-01T00:00:00Z']) expectError(await files.comp(path, 'properties', { 'x-ms-file-creation-time': bad }), 400, 'InvalidHeaderValue');
		expectError(await files.create(fresh(), 1, { 'x-ms-file-creation-time': 'preserve' }), 400, 'InvalidHeaderValue');
	});
	test('versions in between must say all of it', async () => {
		const version = '2021-04-10', all = { 'x-ms-file-attributes': 'None', 'x-ms-file-creation-time': 'now', 'x-ms-file-last-write-time': 'now', 'x-ms-file-permission': 'inherit' };
		expectStatus(await files.create(fresh(), 1, all, { version }), 201);
		for (const name of Object.keys(all)) {
			const r = expectError(await files.create(fresh(), 1, { ...all, [name]: undefined }, { version }), 400, 'MissingRequiredHeader');
			assert.equal(element(r.text, 'HeaderName'), name);
		}
		expectStatus(await files.create(fresh(), 1, {}, { version: '2021-06-08' }), 201);
	});
});

describe('permissions', () => {
	const sddl = 'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)';
	test('create and get', async () => {
		const { filePermissionKey: key } = await share.createPermission(sddl);
		assert.match(key, /^\d+\*\d+$/);
		assert.equal((await share.createPermission(sddl)).filePermissionKey, key);
		const r = expectStatus(await files.shareComp('GET', home, 'filepermission', { headers: { 'x-ms-file-permission-key': key } }), 200);
		assert.deepEqual([r.text, r.headers['content-type']], [`{"permission":"${sddl}S:NO_ACCESS_CONTROL"}`, undefined]);
		assert.equal((await share.getPermission(key)).permission, `${sddl}S:NO_ACCESS_CONTROL`);
		const other = await files.newShare();
		expectError(await files.shareComp('GET', other, 'filepermission', { headers: { 'x-ms-file-permission-key': key } }), 400, 'InvalidHeaderValue');
		for (const bad of ['x', '1*2', key.replace('*', '')]) expectError(await files.shareComp('GET', home, 'filepermission', { headers: { 'x-ms-file-permission-key': bad } }), 400, 'InvalidHeaderValue');
		await rejectsWith(share.createPermission('invalidPermission'), 400, 'FileInvalidPermission');
		expectError(await files.shareComp('PUT', home, 'filepermission', { body: 'no json' }), 400, 'InvalidInput');
	});
	test('binary form', async () => {
		const headers = { 'x-ms-file-permission-format': 'binary' };
		const { filePermissionKey: key } = await share.createPermission(sddl);
		const r = expectStatus(await files.shareComp('GET', home, 'filepermission', { headers: { ...headers, 'x-ms-file-permission-key': key } }), 200);
		const { permission } = JSON.parse(r.text);
		assert.equal(Buffer.from(permission, 'base64')[0], 1);
		const back = expectStatus(await files.shareComp('PUT', home, 'filepermission', { body: JSON.stringify({ permission, format: 'binary' }) }), 201);
		assert.equal(back.headers['x-ms-file-permission-key'], key);
		assert.equal(expectStatus(await files.create(fresh(), 1, { ...headers, 'x-ms-file-permission': permission }), 201).headers['x-ms-file-permission-key'], key);
	});
	test('of files and directories: inherited, given, by key', async () => {
		const d = fresh('d');
		const inherited = expectStatus(await files.mkdir(d), 201).headers['x-ms-file-permission-key'];
		const text = async (key) => JSON.parse((await files.shareComp('GET', home, 'filepermission', { headers: { 'x-ms-file-permission-key': key } })).text).permission;
		assert.equal(await text(inherited), 'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)S:NO_ACCESS_CONTROL');
		const file = expectStatus(await files.create(`${d}/f`, 1, { 'x-ms-file-permission': 'Inherit' }), 201).headers['x-ms-file-permission-key'];
		assert.match(await text(file), /^O:SYG:SYD:\(A;;FA;;;BA\)/);
		const given = expectStatus(await files.create(fresh(), 1, { 'x-ms-file-permission': sddl }), 201).headers['x-ms-file-permission-key'];
		assert.equal(given, (await share.createPermission(sddl)).filePermissionKey);
		const path = fresh();
		assert.equal(expectStatus(await files.create(path, 1, { 'x-ms-file-permission-key': given }), 201).headers['x-ms-file-permission-key'], given);
		assert.equal(expectStatus(await files.comp(path, 'properties', { 'x-ms-file-permission': 'preserve' }), 200).headers['x-ms-file-permission-key'], given);
		expectError(await files.create(fresh(), 1, { 'x-ms-file-permission': sddl, 'x-ms-file-permission-key': given }), 400, 'BothPermissionAndPermissionKeyHeaderPresent');
		expectError(await files.create(fresh(), 1, { 'x-ms-file-permission': 'invalidPermission' }), 400, 'FileInvalidPermission');
		expectError(await files.create(fresh(), 1, { 'x-ms-file-permission-key': `1*${given.split('*')[1]}` }), 400, 'InvalidHeaderValue');
		expectError(await files.create(fresh(), 1, { 'x-ms-file-permission': `${sddl}${'(A;;FA;;;BA)'.repeat(800)}` }), 400, 'InvalidHeaderValue');
	});
});

describe('names', () => {
	test('case is kept and does not count', async () => {
		const d = fresh('D');
		expectStatus(await files.mkdir(`${d}X`), 201);
		await files.put(`${d}x/ÄÖü`, 'one');
		assert.equal((await files.get(`${d}X/äöÜ`)).text, 'one');
		await files.put(`${d}X/äöü`, 'two');
		assert.deepEqual(await files.names(`${d}X`), ['ÄÖü']);
	});
	test('slashes in their encoded form separate, one behind a directory is dropped', async () => {
		const d = fresh('d');
		expectStatus(await files.mkdir(d), 201);
		await files.put(`${d}%2Ff`, 'x');
		assert.equal((await files.get(`${d}/f`)).text, 'x');
		expectStatus(await files.dir('GET', `${d}/`), 200);
	});
	test('trailing dots', async () => {
		const d = fresh('d'), dots = { 'x-ms-allow-trailing-dot': 'true' };
		expectStatus(await files.mkdir(d), 201);
		await files.put(`${d}/a...`, 'no dots');
		assert.deepEqual(await files.names(d), ['a']);
		expectStatus(await files.create(`${d}/a.`, 1, dots), 201);
		assert.deepEqual(await files.names(d), ['a', 'a.']);
		expectStatus(await files.delete(`${d}/a.`, dots), 202);
		expectError(await files.head(`${d}/a.`, dots), 404, 'ResourceNotFound');
		assert.equal((await files.get(`${d}/a.`)).text, 'no dots');
		expectStatus(await client.head(`${d}/a.`, { headers: dots, version: '2021-12-02' }), 200);
	});
	test('what is allowed and what is not', async () => {
		for (const name of [...'\"\\:|<>*?'].map((c) => `a${c}b`).concat(['a\u0001', 'CON', 'lpt1', 'NUL', 'clock$'])) expectError(await files.create(`${home}/${encodeURIComponent(name)}`, 1), 400, 'InvalidResourceName');
		const odd = "a !#$%&'()+,;=@[]^`{}ñ日本😀\uffffz";
		await files.put(`${home}/${encodeURIComponent(odd)}`, 'odd');
		assert.equal((await files.get(`${home}/${encodeURIComponent(odd)}`)).text, 'odd');
		expectStatus(await files.create(`${home}/${'n'.repeat(255)}`, 1), 201);
		expectError(await files.create(`${home}/${'n'.repeat(256)}`, 1), 400, 'OutOfRangeInput');
		expectError(await files.create(`${home}/${'d/'.repeat(251)}f`, 1), 400, 'InvalidFileOrDirectoryPathName');
		expectError(await files.create(`${home}/${`${'n'.repeat(200)}/`.repeat(11)}f`, 1), 400, 'InvalidFileOrDirectoryPathName');
	});
});

describe('leases of files', () => {
	test('with the SDK, by the table', async () => {
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f'));
		await f.create(4);
		const { etag } = await f.getProperties();
		const lease = f.getShareLeaseClient();
		await lease.acquireLease();
		assert.equal((await f.getProperties()).etag, etag);
		const with_ = (leaseId) => ({ leaseAccessConditions: { leaseId } });
		await rejectsWith(f.uploadRange('abcd', 0, 4), 412, 'LeaseIdMissing');
		await rejectsWith(f.uploadRange('abcd', 0, 4, with_('11111111-2222-3333-4444-555555555555')), 412, 'LeaseIdMismatchWithFileOperation');
		await f.uploadRange('abcd', 0, 4, with_(lease.leaseId));
		await f.download();
		await rejectsWith(f.download(0, undefined, with_('11111111-2222-3333-4444-555555555555')), 412, 'LeaseIdMismatchWithFileOperation');
		await rejectsWith(f.getShareLeaseClient().acquireLease(), 409, 'LeaseAlreadyPresent');
		const old = lease.leaseId;
		await lease.changeLease('11111111-2222-3333-4444-555555555555');
		await rejectsWith(f.delete(with_(old)), 412, 'LeaseIdMismatchWithFileOperation');
		await lease.releaseLease();
		await rejectsWith(f.getProperties(with_(lease.leaseId)), 412, 'LeaseNotPresentWithFileOperation');
		await f.delete();
	});
	test('answers, refusals, break', async () => {
		const path = fresh();
		await files.put(path, 'x');
		for (const duration of ['20', '60', '0']) expectError(await files.lease(path, 'acquire', { 'x-ms-lease-duration': duration }), 400, 'InvalidHeaderValue');
		expectError(await files.lease(path, 'renew', { 'x-ms-lease-id': '11111111-2222-3333-4444-555555555555' }), 400, 'InvalidHeaderValue');
		assert.match(expectError(await files.lease(path, 'break'), 409, 'LeaseNotPresentWithLeaseOperation').text, /There is currently no lease on the file\./);
		const got = expectStatus(await files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }), 201);
		assert.ok(got.headers['x-ms-lease-id'] && got.etag);
		const broken = expectStatus(await files.lease(path, 'break'), 202);
		assert.equal(broken.headers['x-ms-lease-time'], '0');
		assert.equal((await files.head(path)).headers['x-ms-lease-state'], 'broken');
		expectStatus(await files.write(path, 0, 'y'), 201);
		const again = expectStatus(await files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }), 201).headers['x-ms-lease-id'];
		const released = expectStatus(await files.lease(path, 'release', { 'x-ms-lease-id': again }), 200);
		assert.deepEqual([released.headers['x-ms-lease-id'], released.headers['x-ms-lease-time']], [undefined, undefined]);
		expectError(await files.lease(fresh(), 'acquire', { 'x-ms-lease-duration': -1 }), 404, 'ResourceNotFound');
		expectError(await files.create(fresh(), 1, { 'x-ms-lease-id': again }), 412, 'LeaseNotPresentWithFileOperation');
	});
});

test('handles: none without SMB clients', async () => {
	const path = fresh();
	await files.put(path, 'x');
	for (const p of [path, home]) {
		const r = expectStatus(await client.get(p, { query: { comp: 'listhandles' } }), 200);
		assert.equal(r.text, '\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Entries /><NextMarker /></EnumerationResults>');
		const closed = expectStatus(await client.put(p, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': '*', 'x-ms-recursive': p === path ? 'False' : 'True' } }), 200);
		assert.deepEqual([closed.headers['x-ms-number-of-handles-closed'], closed.headers['x-ms-number-of-handles-failed']], ['0', '0']);
	}
	expectStatus(await client.put(path, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': '123' } }), 200);
	const below = expectError(await client.put(path, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': '*', 'x-ms-recursive': 'true' } }), 400, 'InvalidHeaderValue');
	assert.deepEqual(['HeaderName', 'HeaderValue'].map((name) => element(below.text, name)), ['x-ms-recursive', 'true']);
	expectError(await client.put(path, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': 'x' } }), 400, 'InvalidHeaderValue');
	expectError(await client.get(fresh(), { query: { comp: 'listhandles' } }), 404, 'ResourceNotFound');
	const listed = [];
	for await (const handle of share.rootDirectoryClient.listHandles()) listed.push(handle);
	assert.deepEqual(listed, []);
	assert.equal((await share.rootDirectoryClient.forceCloseAllHandles()).closedHandlesCount, 0);
});

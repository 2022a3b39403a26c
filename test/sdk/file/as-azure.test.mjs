// SPDX-License-Identifier: Apache-2.0
// File over REST as the service answers it, where the other files of this folder do not look: raw requests, one rule each. What an
// SMB client has to do with it goes through the raw client of test/lib.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { element, expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, fileSas, range } from '../../lib/file.mjs';
import { SHARE, SmbClient } from '../../lib/smb.mjs';

const GUID = '11111111-2222-3333-4444-555555555555';
let server, client, files, home, smbPort;
before(async () => {
	smbPort = await freePort();
	server = await startServer({ flags: ['--smbPort', String(smbPort), '--shareDeleteRetentionDays', '7'] });
	client = fileClient(server);
	files = new Files(client);
	home = await files.newShare();
});
after(() => server?.remove());
const fresh = (prefix = 'f') => `${home}/${uniqueName(prefix)}`;
const inShare = (path) => path.slice(home.length + 1);

async function mount() {
	const c = await SmbClient.connect(smbPort);
	assert.equal((await c.negotiate()).status, 0);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	const tree = await c.treeConnect(home.slice(1));
	const open = async (path, o) => {
		const r = await c.create(tree, inShare(path).replaceAll('/', '\\'), { disposition: 1, ...o });
		assert.equal(r.status, 0);
		return r.id;
	};
	return { c, tree, open, close: (id) => c.close(tree, id), end: () => c.end() };
}

describe('rename and who may', () => {
	const tokenFor = (path, sp = 'rcwd') => fileSas(server.account, server.key, home.slice(1), inShare(path), { sp });
	const rename = (to, source, sas) => client.put(to, { query: { comp: 'rename' }, sas, headers: { 'x-ms-file-rename-source': source } });
	test('a token for one file takes no other file away', async () => {
		const from = fresh(), to = fresh();
		await files.put(from, 'bytes');
		expectError(await rename(to, files.url(from), tokenFor(to)), 403, 'AuthorizationFailure');
		expectError(await rename(to, files.url(from, {}, tokenFor(to)), tokenFor(to)), 403, 'AuthenticationFailed');
		expectError(await rename(to, files.url(from, {}, tokenFor(from, 'r')), tokenFor(to)), 403, 'AuthorizationPermissionMismatch');
		assert.equal((await files.get(from)).text, 'bytes');
		expectError(await files.head(to), 404, 'ResourceNotFound');
	});
	test('with a token of each end it is done, whichever way the URL is written', async () => {
		const from = fresh(), to = fresh();
		await files.put(from, 'bytes');
		expectStatus(await rename(to, files.url(from, {}, tokenFor(from, 'w')), tokenFor(to, 'w')), 200);
		expectStatus(await rename(from, encodeURIComponent(files.url(to, {}, tokenFor(to, 'w'))), tokenFor(from, 'w')), 200);
		assert.equal((await files.get(from)).text, 'bytes');
	});
	test('a token of the share holds for both ends', async () => {
		const from = fresh(), to = fresh(), sas = fileSas(server.account, server.key, home.slice(1), undefined, { sp: 'w' });
		await files.put(from, 'bytes');
		expectStatus(await rename(to, files.url(from), sas), 200);
		expectStatus(await rename(from, files.url(to, {}, sas), sas), 200);
	});
});

test('rename: to ignore read-only asks for replacing', async () => {
	for (const directory of [false, true]) {
		const from = fresh();
		expectStatus(directory ? await files.mkdir(from) : await files.create(from, 1), 201);
		const r = expectError(await files.rename(from, fresh(), { 'x-ms-file-rename-ignore-readonly': 'true' }, { directory }), 400, 'InvalidHeaderValue');
		assert.equal(element(r.text, 'HeaderName'), 'x-ms-file-rename-ignore-readonly');
		expectStatus(await files.rename(from, fresh(), { 'x-ms-file-rename-ignore-readonly': 'false' }, { directory }), 200);
	}
});

test('a copy is to be archived, within the share and from another one, unless the request says it is not', async () => {
	const from = fresh();
	await files.put(from, 'x');
	expectStatus(await files.comp(from, 'properties', { 'x-ms-file-attributes': 'System' }), 200);
	for (const to of [fresh(), `${await files.newShare()}/copy`])
		for (const [headers, shown] of [
			[{}, 'System | Archive'],
			[{ 'x-ms-file-attributes': 'Temporary|NoScrubData' }, 'Archive | Temporary | NoScrubData'],
			[{ 'x-ms-file-attributes': 'None' }, 'Archive'],
			[{ 'x-ms-file-attributes': 'None', 'x-ms-file-copy-set-archive': 'true' }, 'Archive'],
			[{ 'x-ms-file-attributes': 'Hidden', 'x-ms-file-copy-set-archive': 'false' }, 'Hidden'],
			[{ 'x-ms-file-attributes': 'source', 'x-ms-file-copy-set-archive': 'false' }, 'System'],
		]) {
			expectStatus(await files.copy(from, to, headers), 202);
			assert.equal((await files.head(to)).headers['x-ms-file-attributes'], shown, JSON.stringify(headers));
		}
});

test('attributes of a file to be restored are for versions that know of it', async () => {
	const create = async (version) => expectStatus(await files.create(fresh(), 1, { 'x-ms-file-attributes': 'None', 'x-ms-file-property-semantics': 'Restore' }, { version }), 201).headers['x-ms-file-attributes'];
	assert.deepEqual([await create('2026-06-06'), await create('2026-04-06')], ['None', 'Archive']);
});

test('newer versions say what the source of a copy answered', async () => {
	const to = fresh(), missing = fresh(), sas = fileSas(server.account, server.key, home.slice(1));
	expectStatus(await files.create(to, 5), 201);
	const copy = (version, source) => files.comp(to, 'range', { 'x-ms-write': 'update', 'x-ms-range': range(0, 5), 'x-ms-source-range': range(0, 5), 'x-ms-copy-source': source }, undefined, { version });
	const said = (r) => [r.headers['x-ms-copy-source-status-code'], r.headers['x-ms-copy-source-error-code']];
	assert.deepEqual(said(expectError(await copy('2025-11-05', files.url(missing, {}, sas)), 404, 'CannotVerifyCopySource')), ['404', 'ResourceNotFound']);
	assert.deepEqual(said(expectError(await copy('2025-11-05', files.url(missing, {}, sas).replace(/sig=[^&]*/, 'sig=AAAA')), 403, 'CannotVerifyCopySource')), ['403', 'AuthenticationFailed']);
	assert.deepEqual(said(expectError(await copy('2025-05-05', files.url(missing, {}, sas)), 404, 'CannotVerifyCopySource')), [undefined, undefined]);
});

test('a difference against a file that was deleted and made anew', async () => {
	const own = await files.newShare();
	await files.put(`${own}/f`, 'a'.repeat(1024));
	expectStatus(await files.mkdir(`${own}/d`), 201);
	const prevsharesnapshot = await files.snapshot(own), diff = (path) => client.get(path, { query: { comp: 'rangelist', prevsharesnapshot } });
	expectStatus(await files.delete(`${own}/f`), 202);
	expectError(await diff(`${own}/f`), 404, 'ResourceNotFound');
	expectStatus(await files.create(`${own}/f`, 1024), 201);
	expectError(await diff(`${own}/f`), 409, 'FileGenerationMismatch');
	expectStatus(await files.rmdir(`${own}/d`), 202);
	expectStatus(await files.create(`${own}/d`, 1024), 201);
	expectError(await diff(`${own}/d`), 404, 'ResourceNotFound');
});

test('permissions: what was read and is handed back is the same descriptor', async () => {
	const put = async (permission) => expectStatus(await files.shareComp('PUT', home, 'filepermission', { body: JSON.stringify({ permission }) }), 201).headers['x-ms-file-permission-key'];
	const get = async (key) => JSON.parse(expectStatus(await files.shareComp('GET', home, 'filepermission', { headers: { 'x-ms-file-permission-key': key } }), 200).text).permission;
	for (const [given, shown] of [
		['O:SYG:SYD:(A;;FA;;;BA)', 'O:SYG:SYD:(A;;FA;;;BA)S:NO_ACCESS_CONTROL'],
		['O:SYG:SYD:(A;;FA;;;BA)S:AI(AU;SAFA;FA;;;WD)', 'O:SYG:SYD:(A;;FA;;;BA)S:AI(AU;SAFA;FA;;;WD)'],
	]) {
		const key = await put(given);
		assert.equal(await get(key), shown);
		assert.equal(await put(shown), key);
	}
});

test('a share that was deleted with its lease shows the lease broken, and is free when it comes back', async () => {
	const share = await files.newShare(), name = share.slice(1), of = { restype: 'share' };
	const id = expectStatus(await files.lease(share, 'acquire', { 'x-ms-lease-duration': -1 }, of), 201).headers['x-ms-lease-id'];
	expectStatus(await files.shareComp('DELETE', share, undefined, { headers: { 'x-ms-lease-id': id } }), 202);
	const gone = expectStatus(await client.get('/', { query: { comp: 'list', prefix: name, include: 'deleted' } }), 200).text;
	assert.deepEqual(['Deleted', 'LeaseState', 'LeaseStatus', 'LeaseDuration'].map((n) => element(gone, n)), ['true', 'broken', 'unlocked', undefined]);
	expectStatus(await files.shareComp('PUT', share, 'undelete', { headers: { 'x-ms-deleted-share-name': name, 'x-ms-deleted-share-version': element(gone, 'Version') } }), 201);
	assert.equal((await files.shareComp('GET', share)).headers['x-ms-lease-state'], 'available');
	expectStatus(await files.shareComp('PUT', share, 'metadata'), 200);
});

describe('what an SMB client deletes is neither there nor gone', () => {
	test('whatever is done with its name', async () => {
		const path = fresh(), other = fresh(), m = await mount();
		await files.put(path, 'data');
		await files.put(other, 'other');
		const lease = expectStatus(await files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }), 201).headers['x-ms-lease-id'];
		expectStatus(await files.lease(path, 'release', { 'x-ms-lease-id': lease }), 200);
		const id = await m.open(path);
		assert.equal((await m.c.setDisposition(m.tree, id, true)).status, 0);
		const sas = fileSas(server.account, server.key, home.slice(1)), replace = { 'x-ms-file-rename-replace-if-exists': 'true' };
		const fromUrl = (to, from) => files.comp(to, 'range', { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0', 'x-ms-source-range': 'bytes=0-0', 'x-ms-copy-source': files.url(from, {}, sas) });
		for (const [what, run] of Object.entries({
			'Create Directory': () => files.mkdir(path),
			'Rename onto it': () => files.rename(other, path),
			'Rename onto it, replacing': () => files.rename(other, path, replace),
			'Copy onto it': () => files.copy(other, path),
			'Copy from it': () => files.copy(path, fresh()),
			'Put Range From URL into it': () => fromUrl(path, other),
			'Put Range From URL from it': () => fromUrl(other, path),
			'Abort Copy': () => client.put(path, { query: { comp: 'copy', copyid: GUID }, headers: { 'x-ms-copy-action': 'abort' } }),
			'acquire its lease': () => files.lease(path, 'acquire', { 'x-ms-lease-duration': -1 }),
			'change its lease': () => files.lease(path, 'change', { 'x-ms-lease-id': GUID, 'x-ms-proposed-lease-id': GUID }),
			'release its lease': () => files.lease(path, 'release', { 'x-ms-lease-id': GUID }),
			'break its lease': () => files.lease(path, 'break'),
		})) {
			const r = await run();
			assert.deepEqual([what, r.status, r.code], [what, 409, 'SMBDeletePending']);
		}
		// These two are for such files too.
		assert.match(expectStatus(await client.get(path, { query: { comp: 'listhandles' } }), 200).text, /<HandleId>/);
		assert.equal(expectStatus(await client.put(path, { query: { comp: 'forceclosehandles' }, headers: { 'x-ms-handle-id': '*' } }), 200).headers['x-ms-number-of-handles-closed'], '1');
		expectError(await files.head(path), 404, 'ResourceNotFound');
		await m.end();
	});
	test('and nothing is made in such a directory', async () => {
		const d = fresh('d'), other = fresh(), m = await mount();
		expectStatus(await files.mkdir(d), 201);
		await files.put(other, 'other');
		const id = await m.open(d, { options: 1 });
		assert.equal((await m.c.setDisposition(m.tree, id, true)).status, 0);
		for (const [what, run] of Object.entries({
			'Create File': () => files.create(`${d}/f`, 1),
			'Create Directory': () => files.mkdir(`${d}/e`),
			'Copy File': () => files.copy(other, `${d}/f`),
			'Rename File': () => files.rename(other, `${d}/f`),
			'Create Directory on it': () => files.mkdir(d),
		})) {
			const r = await run();
			assert.deepEqual([what, r.status, r.code], [what, 409, 'SMBDeletePending']);
		}
		await m.close(id);
		expectError(await files.dir('GET', d), 404, 'ResourceNotFound');
		expectStatus(await files.mkdir(d), 201);
		await m.end();
	});
});

test('bytes that an SMB client locks anywhere in a file stop every change of its bytes', async () => {
	const path = fresh(), other = fresh(), m = await mount();
	await files.put(path, 'x'.repeat(100));
	await files.put(other, 'other');
	const id = await m.open(path);
	for (const exclusive of [true, false]) {
		assert.equal((await m.c.lock(m.tree, id, [[0, 10, exclusive ? 0x12 : 0x11]])).status, 0);
		for (const [what, run] of Object.entries({
			'Put Range there': () => files.write(path, 0, 'rest'),
			'Put Range elsewhere': () => files.write(path, 50, 'rest'),
			'Clear Range elsewhere': () => files.clear(path, 50, 4),
			resize: () => files.comp(path, 'properties', { 'x-ms-content-length': 200 }),
			'Create File': () => files.create(path, 4),
			'Copy File': () => files.copy(other, path),
		})) {
			const r = await run();
			assert.deepEqual([what, r.status, r.code], [what, 409, 'FileLockConflict']);
		}
		const there = await files.get(path), elsewhere = await files.get(path, { 'x-ms-range': 'bytes=50-59' });
		assert.deepEqual([there.status, elsewhere.status], exclusive ? [409, 206] : [200, 206]);
		expectStatus(await files.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 200);
		assert.equal((await m.c.lock(m.tree, id, [[0, 10, 4]])).status, 0);
	}
	assert.equal((await files.get(path)).text, 'x'.repeat(100));
	expectStatus(await files.write(path, 0, 'rest'), 201);
	await m.end();
});

test('handles show the address of their client with its port', async () => {
	const path = fresh(), m = await mount();
	await files.put(path, 'x');
	await m.open(path, { share: SHARE.READ | SHARE.WRITE });
	const list = expectStatus(await client.get(path, { query: { comp: 'listhandles' } }), 200).text;
	assert.match(element(list, 'ClientIp'), /^127\.0\.0\.1:\d+$/);
	await m.end();
});

test('six CORS rules are refused without a reason', async () => {
	const rule = '<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>';
	const r = await client.put('/', { query: { restype: 'service', comp: 'properties' }, body: `<StorageServiceProperties><Cors>${rule.repeat(6)}</Cors></StorageServiceProperties>` });
	assert.match(expectError(r, 400, 'InvalidXmlDocument').text, /<LineNumber>0<\/LineNumber><LinePosition>0<\/LinePosition><Reason \/>/);
});

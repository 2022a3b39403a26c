// SPDX-License-Identifier: Apache-2.0
// Rename and copy: with the official SDK, and raw for every flag and refusal.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { element, expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { blobSas } from '../../lib/sign.mjs';
import { Files, fileClient, fileSas, sdkOf } from '../../lib/file.mjs';

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
const kept = ['x-ms-file-id', 'x-ms-file-creation-time', 'x-ms-file-last-write-time', 'x-ms-file-attributes', 'x-ms-file-permission-key'];

describe('rename', () => {
	test('with the SDK, whose path-style address leaves the account out', async () => {
		const f = share.rootDirectoryClient.getFileClient(uniqueName('f')), name = uniqueName('g');
		await f.uploadData(Buffer.from('moved'));
		const { destinationFileClient } = await f.rename(name);
		assert.ok(destinationFileClient);
		assert.equal((await share.rootDirectoryClient.getFileClient(name).downloadToBuffer()).toString(), 'moved');
		assert.equal(await f.exists(), false);
		const d = share.getDirectoryClient(uniqueName('d')), to = uniqueName('e');
		await d.create();
		await d.getFileClient('x').uploadData(Buffer.from('inside'));
		await d.rename(to);
		assert.equal((await share.getDirectoryClient(to).getFileClient('x').downloadToBuffer()).toString(), 'inside');
	});
	test('keeps id, times, attributes, permission, metadata, headers, lease; ETag and change time are new', async () => {
		const from = fresh(), d = fresh('d'), to = `${d}/moved`;
		const parent = expectStatus(await files.mkdir(d), 201).headers['x-ms-file-id'];
		await files.put(from, 'bytes', { 'x-ms-meta-a': 'b', 'x-ms-content-type': 'text/plain', 'x-ms-file-attributes': 'Hidden' });
		const lease = (await files.lease(from, 'acquire', { 'x-ms-lease-duration': -1 })).headers['x-ms-lease-id'];
		const before = await files.head(from);
		expectError(await files.rename(from, to), 412, 'LeaseIdMissing');
		const r = expectStatus(await files.rename(from, to, { 'x-ms-source-lease-id': lease }), 200);
		assert.deepEqual(kept.map((h) => r.headers[h]), kept.map((h) => before.headers[h]));
		assert.equal(r.headers['x-ms-file-parent-id'], parent);
		assert.notEqual(r.etag, before.etag);
		const now = await files.get(to);
		assert.deepEqual([now.text, now.headers['x-ms-meta-a'], now.headers['content-type'], now.headers['x-ms-lease-state'], now.etag], ['bytes', 'b', 'text/plain', 'leased', r.etag]);
		expectError(await files.head(from), 404, 'ResourceNotFound');
		const again = expectStatus(await files.rename(to, from, { 'x-ms-source-lease-id': lease, 'x-ms-meta-c': 'd', 'x-ms-content-type': 'text/html', 'x-ms-file-attributes': 'None', 'x-ms-file-creation-time': '2019-01-01T00:00:00.0000000Z' }), 200);
		assert.deepEqual([again.headers['x-ms-file-attributes'], again.headers['x-ms-file-creation-time']], ['None', '2019-01-01T00:00:00.0000000Z']);
		const back = await files.head(from);
		assert.deepEqual([back.headers['x-ms-meta-a'], back.headers['x-ms-meta-c'], back.headers['content-type']], [undefined, 'd', 'text/html']);
	});
	test('onto a name that is taken', async () => {
		const from = fresh(), to = fresh(), replace = { 'x-ms-file-rename-replace-if-exists': 'true' };
		await files.put(from, 'new');
		await files.put(to, 'old', { 'x-ms-file-attributes': 'ReadOnly' }).catch(() => {});
		expectStatus(await files.comp(to, 'properties', { 'x-ms-file-attributes': 'ReadOnly' }), 200);
		expectError(await files.rename(from, to), 409, 'ResourceAlreadyExists');
		expectError(await files.rename(from, to, replace), 409, 'ReadOnlyAttribute');
		expectStatus(await files.rename(from, to, { ...replace, 'x-ms-file-rename-ignore-readonly': 'true' }), 200);
		assert.equal((await files.get(to)).text, 'new');
		await files.put(from, 'newer');
		const lease = (await files.lease(to, 'acquire', { 'x-ms-lease-duration': -1 })).headers['x-ms-lease-id'];
		expectError(await files.rename(from, to, replace), 412, 'LeaseIdMissing');
		expectStatus(await files.rename(from, to, { ...replace, 'x-ms-destination-lease-id': lease }), 200);
		assert.equal((await files.head(to)).headers['x-ms-lease-state'], 'available', 'the lease ended with what was replaced');
	});
	test('directories: replace a file, never a directory, never themselves', async () => {
		const d = fresh('d'), other = fresh('d'), f = fresh(), replace = { 'x-ms-file-rename-replace-if-exists': 'true' };
		for (const path of [d, other]) expectStatus(await files.mkdir(path), 201);
		await files.put(`${d}/x`, 'inside');
		await files.put(f, 'file');
		expectError(await files.rename(d, other, replace, { directory: true }), 409, 'ResourceAlreadyExists');
		expectError(await files.rename(f, other, replace), 409, 'ResourceTypeMismatch');
		const inside = await files.rename(d, `${d}/y`, {}, { directory: true });
		assert.ok(inside.status === 400 || inside.status === 409, `${inside.status} ${inside.code}`);
		expectStatus(await files.rename(d, f, replace, { directory: true }), 200);
		assert.equal((await files.get(`${f}/x`)).text, 'inside');
		expectStatus(await files.rename(f, `${f.slice(0, -1)}X`.toUpperCase().replace(home.toUpperCase(), home), {}, { directory: true }), 200);
	});
	test('a name in other case is a rename of its own', async () => {
		const d = fresh('d');
		expectStatus(await files.mkdir(d), 201);
		await files.put(`${d}/name`, 'x');
		expectStatus(await files.rename(`${d}/name`, `${d}/NAME`), 200);
		assert.deepEqual(await files.names(d), ['NAME']);
	});
	test('what is refused', async () => {
		const from = fresh();
		await files.put(from, 'x');
		expectError(await files.rename(fresh(), fresh()), 404, 'ResourceNotFound');
		expectError(await files.rename(from, `${fresh('none')}/f`), 404, 'ParentNotFound');
		expectError(await client.put(fresh(), { query: { comp: 'rename' } }), 400, 'MissingRequiredHeader');
		for (const bad of ['nonsense', 'http://127.0.0.1/', files.url(`/${uniqueName('other')}/f`)]) expectError(await client.put(fresh(), { query: { comp: 'rename' }, headers: { 'x-ms-file-rename-source': bad } }), 400, 'InvalidHeaderValue');
		const sddl = 'O:SYG:SYD:(A;;FA;;;BA)';
		expectError(await files.rename(from, fresh(), { 'x-ms-file-permission': sddl, 'x-ms-file-permission-key': '1*1' }), 400, 'BothPermissionAndPermissionKeyHeaderPresent');
		expectError(await client.put(fresh(), { version: '2021-02-12', query: { comp: 'rename' }, headers: { 'x-ms-file-rename-source': files.url(from) } }), 400, 'InvalidQueryParameterValue');
		expectStatus(await client.put(fresh(), { query: { comp: 'rename' }, headers: { 'x-ms-file-rename-source': encodeURIComponent(files.url(from)) } }), 200);
	});
	test('trailing dots of the source', async () => {
		const d = fresh('d'), dots = { 'x-ms-allow-trailing-dot': 'true' }, both = { ...dots, 'x-ms-source-allow-trailing-dot': 'true' };
		expectStatus(await files.mkdir(d), 201);
		expectStatus(await files.create(`${d}/a.`, 1, dots), 201);
		expectError(await files.rename(`${d}/a.`, `${d}/b.`, dots), 404, 'ResourceNotFound');
		expectStatus(await files.rename(`${d}/a.`, `${d}/b.`, both), 200);
		assert.deepEqual(await files.names(d), ['b.']);
	});
});

describe('copy', () => {
	test('with the SDK: within the share, between shares, from a blob, large', async () => {
		const bytes = crypto.randomBytes(9 << 20), f = share.rootDirectoryClient.getFileClient(uniqueName('f'));
		await f.uploadData(bytes, { fileHttpHeaders: { fileContentType: 'text/plain' }, metadata: { a: 'b' } });
		const other = sdk.getShareClient((await files.newShare()).slice(1));
		const blobs = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient(uniqueName('c'));
		await blobs.create();
		const blob = blobs.getBlockBlobClient('b');
		await blob.uploadData(bytes, { metadata: { from: 'blob' }, blobHTTPHeaders: { blobContentType: 'text/html' } });
		const sas = blobSas(server.account, server.key, blobs.containerName, 'b', { sp: 'r' });
		for (const [to, url, type, metadata] of [
			[share, f.url, 'text/plain', { a: 'b' }],
			[other, f.url, 'text/plain', { a: 'b' }],
			[other, `${blob.url}?${sas}`, 'text/html', { from: 'blob' }],
		]) {
			const copy = to.rootDirectoryClient.getFileClient(uniqueName('copy'));
			const r = await copy.startCopyFromURL(url);
			assert.deepEqual([r.copyStatus, /^[0-9a-f-]{36}$/.test(r.copyId)], ['success', true]);
			const p = await copy.getProperties();
			assert.deepEqual([p.copyStatus, p.copyId, p.copySource, p.copyProgress, p.contentType, p.metadata], ['success', r.copyId, url, `${bytes.length}/${bytes.length}`, type, metadata]);
			assert.equal(p.etag, r.etag);
			assert.ok((await copy.downloadToBuffer()).equals(bytes), url);
		}
	});
	test('what the destination takes, and what ends the traces', async () => {
		const from = fresh(), to = fresh();
		await files.put(from, 'small', { 'x-ms-file-attributes': 'Temporary|NoScrubData', 'x-ms-file-creation-time': '2019-01-01T00:00:00.0000000Z', 'x-ms-meta-a': 'b' });
		const source = await files.head(from);
		expectStatus(await files.copy(from, to), 202);
		let r = await files.head(to);
		assert.deepEqual([r.headers['x-ms-file-attributes'], r.headers['x-ms-meta-a'], r.headers['x-ms-file-permission-key']], ['Archive | Temporary | NoScrubData', 'b', source.headers['x-ms-file-permission-key']]);
		assert.notEqual(r.headers['x-ms-file-creation-time'], source.headers['x-ms-file-creation-time']);
		expectStatus(await files.copy(from, to, { 'x-ms-meta-c': 'd', 'x-ms-file-creation-time': 'source', 'x-ms-file-attributes': 'None', 'x-ms-file-copy-set-archive': 'true' }), 202);
		r = await files.head(to);
		assert.deepEqual([r.headers['x-ms-file-attributes'], r.headers['x-ms-meta-a'], r.headers['x-ms-meta-c'], r.headers['x-ms-file-creation-time']], ['Archive', undefined, 'd', source.headers['x-ms-file-creation-time']]);
		expectStatus(await files.write(to, 0, 'X'), 201);
		assert.ok((await files.head(to)).headers['x-ms-copy-id'], 'a write keeps them');
		assert.equal((await files.get(from)).text, 'small', 'the source is untouched');
		assert.equal((await files.get(to)).text, 'Xmall');
		expectStatus(await files.comp(to, 'properties', {}), 200);
		assert.equal((await files.head(to)).headers['x-ms-copy-id'], undefined);
	});
	test('from a URL whose path is encoded as a whole, as the Java library does it', async () => {
		const own = await files.newShare();
		await files.put(`${own}/with%20space`, 'bytes');
		const url = new URL(files.url(`${own}/with%20space`));
		const source = `${url.origin}/${encodeURIComponent(decodeURIComponent(url.pathname.slice(1)))}`;
		expectStatus(await client.put(`${own}/copy`, { headers: { 'x-ms-copy-source': source } }), 202);
		assert.equal((await files.get(`${own}/copy`)).text, 'bytes');
	});
	test('from a snapshot of the share', async () => {
		const own = await files.newShare();
		await files.put(`${own}/f`, 'then');
		const sharesnapshot = await files.snapshot(own);
		await files.put(`${own}/f`, 'now');
		expectStatus(await client.put(`${own}/f`, { headers: { 'x-ms-copy-source': files.url(`${own}/f`, { sharesnapshot }) } }), 202);
		assert.equal((await files.get(`${own}/f`)).text, 'then');
	});
	test('refusals', async () => {
		const from = fresh(), to = fresh();
		await files.put(from, 'x');
		expectError(await files.copy(fresh(), to), 404, 'ResourceNotFound');
		expectError(await files.copy(from, `${fresh('none')}/f`), 404, 'ParentNotFound');
		expectError(await files.copy(from, fresh(), { 'x-ms-file-permission-copy-mode': 'override' }), 400, 'MissingRequiredHeader');
		await files.put(to, 'y');
		expectStatus(await files.comp(to, 'properties', { 'x-ms-file-attributes': 'ReadOnly' }), 200);
		expectError(await files.copy(from, to), 409, 'ReadOnlyAttribute');
		expectStatus(await files.copy(from, to, { 'x-ms-file-copy-ignore-readonly': 'true' }), 202);
		const leased = fresh();
		await files.put(leased, 'y');
		const lease = (await files.lease(leased, 'acquire', { 'x-ms-lease-duration': -1 })).headers['x-ms-lease-id'];
		expectError(await files.copy(from, leased), 412, 'LeaseIdMissing');
		expectStatus(await files.copy(from, leased, { 'x-ms-lease-id': lease }), 202);
		expectError(await files.copy(from, fresh(), { 'x-ms-lease-id': lease }), 412, 'LeaseNotPresentWithFileOperation');
		// With a SAS on the destination the source needs its own.
		const sas = fileSas(server.account, server.key, home.slice(1));
		const bySas = (source) => client.put(fresh(), { sas, headers: { 'x-ms-copy-source': source } });
		expectError(await bySas(files.url(from)), 404, 'CannotVerifyCopySource');
		expectStatus(await bySas(files.url(from, {}, sas)), 202);
	});
	// From another share, so that the bytes are copied: 64 pieces, each a commit.
	async function pendingCopy(f, c, bytes = 256 << 20) {
		const [there, here] = [`${await f.newShare()}/source`, `${await f.newShare()}/copy`];
		expectStatus(await f.create(there, bytes), 201);
		const started = f.copy(there, here);
		started.catch(() => {}); // the server may end under it
		for (;;) {
			const r = await f.head(here);
			assert.ok(r.status === 404 || r.headers['x-ms-copy-status'] === 'pending', `never seen pending: ${r.headers['x-ms-copy-status']}`);
			if (r.status === 200) return { here, started, bytes, r };
		}
	}
	const abortOf = (c, path, copyid) => c.put(path, { query: { comp: 'copy', copyid }, headers: { 'x-ms-copy-action': 'abort' } });
	test('while it is pending its file is its own; abort ends it and leaves an empty file', async () => {
		const { here, started, bytes, r } = await pendingCopy(files, client);
		const id = r.headers['x-ms-copy-id'];
		assert.match(r.headers['x-ms-copy-progress'], new RegExp(`^\\d+/${bytes}$`));
		expectError(await files.write(here, 0, 'x'), 409, 'PendingCopyOperation');
		expectError(await files.comp(here, 'metadata', { 'x-ms-meta-a': 'b' }), 409, 'PendingCopyOperation');
		expectError(await files.create(here, 1), 409, 'PendingCopyOperation');
		expectError(await files.rename(here, `${here}2`), 409, 'PendingCopyOperation');
		expectError(await abortOf(client, here, '11111111-2222-3333-4444-555555555555'), 409, 'CopyIdMismatch');
		expectStatus(await abortOf(client, here, id), 204);
		const after = await files.head(here);
		assert.deepEqual([after.headers['x-ms-copy-status'], after.headers['content-length']], ['aborted', '0']);
		assert.equal(expectStatus(await started, 202).headers['x-ms-copy-status'], 'aborted');
		expectError(await abortOf(client, here, id), 409, 'NoPendingCopyOperation');
		expectStatus(await files.create(here, 1), 201);
	});
	test('a copy whose server ended is pending for a while, then failed; nobody is locked out', async () => {
		const own = await startServer();
		try {
			const c = fileClient(own), f = new Files(c);
			const { here, started } = await pendingCopy(f, c);
			await own.kill9();
			await assert.rejects(started);
			await own.start();
			assert.equal((await f.head(here)).headers['x-ms-copy-status'], 'pending');
			expectError(await f.write(here, 0, 'x'), 409, 'PendingCopyOperation');
			await own.setClock(61);
			const r = await f.head(here);
			assert.deepEqual([r.headers['x-ms-copy-status'], /InternalError/.test(r.headers['x-ms-copy-status-description'])], ['failed', true]);
			expectError(await abortOf(c, here, r.headers['x-ms-copy-id']), 409, 'NoPendingCopyOperation');
			expectStatus(await f.write(here, 0, 'x'), 201);
		} finally {
			await own.remove();
		}
	});
	test('abort', async () => {
		const path = fresh(), id = '11111111-2222-3333-4444-555555555555';
		await files.put(path, 'x');
		const abort = (p, copyid, headers = {}) => client.put(p, { query: { comp: 'copy', copyid }, headers: { 'x-ms-copy-action': 'abort', ...headers } });
		expectError(await abort(path, id), 409, 'NoPendingCopyOperation');
		const bad = expectError(await abort(fresh(), 'x'), 400, 'InvalidQueryParameterValue');
		assert.deepEqual([element(bad.text, 'QueryParameterName'), element(bad.text, 'Reason')], ['copyid', 'copyid needs to be valid Guid.']);
		expectError(await abort(path, id, { 'x-ms-lease-id': id }), 412, 'LeaseNotPresentWithFileOperation');
		expectError(await abort(fresh(), id), 404, 'ResourceNotFound');
	});
});

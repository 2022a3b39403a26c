// SPDX-License-Identifier: Apache-2.0
// Every method of the official SDK's File clients that talks to the service is called at least once, here or in the file that is
// named for it. A new version of the SDK with a method that nobody calls fails this test.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { FileSASPermissions, ShareClient, ShareDirectoryClient, ShareFileClient, ShareLeaseClient, ShareServiceClient } from '@azure/storage-file-share';
import { removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { sdkOf } from '../../lib/file.mjs';

const classes = { ShareServiceClient, ShareClient, ShareDirectoryClient, ShareFileClient, ShareLeaseClient };
// Not a request of their own, or made by others that are called.
const internal = ['listSegments', 'listItems', 'iterateFilesAndDirectoriesSegments', 'listFilesAndDirectoriesItems', 'iterateHandleSegments', 'listHandleItems', 'uploadSeekableBlob', 'uploadSeekableInternal'];
// With bearer tokens (test/sdk/file/access), or of browsers.
const elsewhere = ['getUserDelegationKey', 'generateUserDelegationSasUrl', 'generateUserDelegationStringToSign', 'renewLease'];

let server, sdk, work;
const called = new Set();
before(async () => {
	for (const [name, type] of Object.entries(classes))
		for (const method of Object.getOwnPropertyNames(type.prototype)) {
			const found = Object.getOwnPropertyDescriptor(type.prototype, method);
			if (method === 'constructor' || typeof found.value !== 'function') continue;
			const original = found.value;
			type.prototype[method] = function (...args) {
				called.add(`${name}.${method}`);
				return original.apply(this, args);
			};
		}
	server = await startServer({ flags: ['--shareDeleteRetentionDays', '1'] });
	sdk = sdkOf(server);
	work = tempDir('zaffre-surface-');
});
after(async () => {
	await server?.remove();
	removeDir(work);
});

const all = async (iterator) => {
	const items = [];
	for await (const item of iterator) items.push(item);
	return items;
};

test('service and shares', async () => {
	await sdk.setProperties({ cors: [] });
	await sdk.getProperties();
	const name = uniqueName('s');
	const { shareClient: s } = await sdk.createShare(name);
	assert.equal((await s.createIfNotExists()).succeeded, false);
	assert.equal((await all(sdk.listShares({ prefix: name }))).length, 1);
	assert.equal(await s.exists(), true);
	await s.getProperties();
	await s.setMetadata({ a: 'b' });
	await s.setQuota(7);
	await s.setProperties({ quotaInGB: 8 });
	await s.setAccessPolicy([]);
	await s.getAccessPolicy();
	await s.getStatistics();
	const { snapshot } = await s.createSnapshot();
	await s.withSnapshot(snapshot).getProperties();
	const { filePermissionKey } = await s.createPermission('O:SYG:SYD:(A;;FA;;;BA)');
	await s.getPermission(filePermissionKey);
	const { directoryClient } = await s.createDirectory('d');
	assert.equal(directoryClient.name, 'd');
	await s.deleteDirectory('d');
	await s.createFile('f', 1);
	await s.deleteFile('f');
	const lease = s.getShareLeaseClient();
	await lease.acquireLease(15);
	await lease.changeLease('11111111-2222-3333-4444-555555555555');
	await lease.breakLease();
	await lease.releaseLease();
	const expiresOn = new Date(server.now() + 3600_000);
	assert.match(sdk.generateAccountSasUrl(expiresOn), /sig=/);
	assert.ok(sdk.generateSasStringToSign(expiresOn));
	assert.match(s.generateSasUrl({ expiresOn, permissions: 'r' }), /sig=/);
	assert.ok(s.generateSasStringToSign({ expiresOn, permissions: 'r' }));
	await s.delete({ deleteSnapshots: 'include' });
	assert.equal((await s.deleteIfExists()).succeeded, false);
	const [gone] = await all(sdk.listShares({ prefix: name, includeDeleted: true }));
	await sdk.undeleteShare(name, gone.version);
	await sdk.deleteShare(name, { deleteSnapshots: 'include' });
	await s.create();
});

test('directories', async () => {
	const { shareClient: s } = await sdk.createShare(uniqueName('s'));
	const d = s.getDirectoryClient('d');
	await d.create();
	assert.equal((await d.createIfNotExists()).succeeded, false);
	await d.setProperties();
	await d.setMetadata({ a: 'b' });
	await d.getProperties();
	assert.equal(await d.exists(), true);
	await d.createSubdirectory('sub');
	await d.deleteSubdirectory('sub');
	await d.createFile('f', 1);
	assert.equal(d.getFileClient('f').name, 'f');
	assert.equal((await all(d.listFilesAndDirectories())).length, 1);
	await d.deleteFile('f');
	assert.deepEqual(await all(d.listHandles()), []);
	await d.forceCloseAllHandles();
	await d.forceCloseHandle('1');
	await d.rename('e');
	await s.getDirectoryClient('e').delete();
	assert.equal((await d.deleteIfExists()).succeeded, false);
	await s.rootDirectoryClient.getDirectoryClient('x').create();
});

test('files', async () => {
	const { shareClient: s } = await sdk.createShare(uniqueName('s'));
	const f = s.rootDirectoryClient.getFileClient('f'), bytes = Buffer.alloc(5 << 20, 'abc'), local = path.join(work, 'local');
	fs.writeFileSync(local, bytes);
	await f.create(10);
	assert.equal(await f.exists(), true);
	await f.uploadRange('0123456789', 0, 10);
	await f.clearRange(0, 5);
	await f.getRangeList();
	await f.resize(20);
	await f.setHttpHeaders({ fileContentType: 'a/b' });
	await f.setProperties({ fileHttpHeaders: { fileContentType: 'c/d' } });
	await f.setMetadata({ a: 'b' });
	await f.getProperties();
	await f.download();
	const { snapshot } = await s.createSnapshot();
	await f.withShareSnapshot(snapshot).getProperties();
	await f.uploadRange('x', 0, 1);
	await f.getRangeListDiff(snapshot);
	for (const upload of [
		() => f.uploadData(bytes), () => f.uploadFile(local), () => f.uploadStream(Readable.from([bytes]), bytes.length, 1 << 20, 2),
		() => f.uploadResetableStream((offset, count) => fs.createReadStream(local, { start: offset, end: count ? offset + count - 1 : undefined }), bytes.length),
	]) {
		await f.create(1);
		await upload();
		assert.ok((await f.downloadToBuffer()).equals(bytes), upload.toString());
	}
	await f.downloadToFile(path.join(work, 'down'));
	assert.ok(fs.readFileSync(path.join(work, 'down')).equals(bytes));
	const sas = f.generateSasUrl({ expiresOn: new Date(server.now() + 3600_000), permissions: FileSASPermissions.parse('r') });
	assert.ok(f.generateSasStringToSign({ expiresOn: new Date(server.now() + 3600_000), permissions: FileSASPermissions.parse('r') }));
	const g = s.rootDirectoryClient.getFileClient('g');
	await g.create(100);
	await g.uploadRangeFromURL(sas, 0, 0, 100);
	const { copyId } = await g.startCopyFromURL(f.url);
	await rejectsWith(g.abortCopyFromURL(copyId), 409, 'NoPendingCopyOperation');
	assert.deepEqual(await all(f.listHandles()), []);
	await f.forceCloseAllHandles();
	await f.forceCloseHandle('1');
	await f.getShareLeaseClient().acquireLease();
	await f.getShareLeaseClient().breakLease();
	// Of NFS shares, which are not there.
	for (const call of [() => g.createHardLink('/f'), () => g.createSymbolicLink('f'), () => g.getSymbolicLink()]) await rejectsWith(call(), 400, 'UnsupportedQueryParameter');
	await f.rename('h');
	await g.delete();
	assert.equal((await g.deleteIfExists()).succeeded, false);
});

test('nothing was left out', () => {
	const missing = [];
	for (const [name, type] of Object.entries(classes))
		for (const method of Object.getOwnPropertyNames(type.prototype)) {
			if (method === 'constructor' || typeof Object.getOwnPropertyDescriptor(type.prototype, method).value !== 'function') continue;
			if (!internal.includes(method) && !elsewhere.includes(method) && !called.has(`${name}.${method}`)) missing.push(`${name}.${method}`);
		}
	assert.deepEqual(missing, []);
});

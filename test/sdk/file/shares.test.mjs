// SPDX-License-Identifier: Apache-2.0
// Shares: the official SDK for each operation, raw requests where headers and bytes matter.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { element, elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, sdkOf } from '../../lib/file.mjs';

let server, client, files, sdk;
before(async () => {
	server = await startServer({ flags: ['--shareDeleteRetentionDays', '7'] });
	client = fileClient(server);
	files = new Files(client);
	sdk = sdkOf(server);
});
after(() => server?.remove());

const share = (method, path, comp, o) => files.shareComp(method, path, comp, o);

describe('create, read, change, delete', () => {
	test('with the SDK', async () => {
		const s = sdk.getShareClient(uniqueName('s'));
		const created = await s.create({ metadata: { Colour: 'blue' }, quota: 7, accessTier: 'Hot' });
		assert.match(created.etag, /^"0x[0-9A-F]{15}"$/);
		let p = await s.getProperties();
		assert.equal(p.etag, created.etag);
		assert.deepEqual([p.metadata, p.quota, p.accessTier, p.leaseState, p.leaseStatus], [{ colour: 'blue' }, 7, 'Hot', 'available', 'unlocked']);
		await rejectsWith(s.create(), 409, 'ShareAlreadyExists');
		const quota = await s.setProperties({ quotaInGB: 9, accessTier: 'Cool' });
		const meta = await s.setMetadata({ other: '1' });
		assert.equal(new Set([created.etag, quota.etag, meta.etag]).size, 3);
		p = await s.getProperties();
		assert.deepEqual([p.metadata, p.quota, p.accessTier, p.etag], [{ other: '1' }, 9, 'Cool', meta.etag]);
		assert.equal((await s.getStatistics()).shareUsageBytes, 0);
		assert.equal(await s.exists(), true);
		await s.delete();
		assert.equal(await s.exists(), false);
		await rejectsWith(s.delete(), 404, 'ShareNotFound');
		await rejectsWith(s.getProperties(), 404, 'ShareNotFound');
		await rejectsWith(s.setMetadata({}), 404, 'ShareNotFound');
		await rejectsWith(s.createSnapshot(), 404, 'ShareNotFound');
		await rejectsWith(s.getDirectoryClient('d').create(), 404, 'ShareNotFound');
	});
	test('headers of the answers', async () => {
		const path = `/${uniqueName('s')}`;
		const made = expectStatus(await files.share(path.slice(1)), 201);
		assert.equal(made.headers['x-ms-share-quota'], undefined);
		assert.equal(made.headers.server, 'Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0');
		for (const method of ['GET', 'HEAD']) {
			const got = expectStatus(await share(method, path), 200);
			assert.deepEqual(
				['x-ms-share-quota', 'x-ms-has-immutability-policy', 'x-ms-has-legal-hold', 'x-ms-access-tier', 'x-ms-lease-status', 'x-ms-lease-state'].map((h) => got.headers[h]),
				['5120', 'false', 'false', 'TransactionOptimized', 'unlocked', 'available'],
			);
			assert.ok(got.headers['x-ms-access-tier-change-time']);
		}
		const old = expectStatus(await share('GET', path, undefined, { version: '2019-07-07' }), 200);
		assert.deepEqual([old.headers['x-ms-access-tier'], old.headers['x-ms-lease-state'], old.headers['x-ms-share-quota']], [undefined, undefined, '5120']);
		const stats = expectStatus(await share('GET', path, 'stats'), 200);
		assert.equal(stats.text, '\ufeff<?xml version="1.0" encoding="utf-8"?><ShareStats><ShareUsageBytes>0</ShareUsageBytes></ShareStats>');
		assert.deepEqual([stats.headers.etag, stats.headers['last-modified']], [undefined, undefined]);
		assert.match(expectStatus(await share('GET', path, 'stats', { version: '2018-03-28' }), 200).text, /<ShareUsage>0<\/ShareUsage>/);
		const empty = expectStatus(await share('PUT', path, 'properties'), 200);
		assert.notEqual(empty.etag, made.etag, 'set properties with nothing still makes a new ETag');
		assert.equal((await share('GET', path, 'metadata')).etag, empty.etag);
	});
	test('what is refused', async () => {
		for (const quota of ['0', '-1', 'x', '102401']) {
			const r = expectError(await files.share(uniqueName('s'), { 'x-ms-share-quota': quota }), 400, 'InvalidHeaderValue');
			assert.deepEqual([element(r.text, 'HeaderName'), element(r.text, 'HeaderValue')], ['x-ms-share-quota', quota]);
		}
		for (const tier of ['Premium', 'Cold']) expectError(await files.share(uniqueName('s'), { 'x-ms-access-tier': tier }), 400, 'InvalidHeaderValue');
		for (const bad of ['Upper', 'a--b', '-ab', '$root']) expectError(await files.share(bad), 400, 'InvalidResourceName');
		for (const bad of ['ab', 'a'.repeat(64)]) expectError(await files.share(bad), 400, 'OutOfRangeInput');
		expectError(await files.share(uniqueName('s'), { 'x-ms-meta-': 'x' }), 400, 'EmptyMetadataKey');
		expectError(await files.share(uniqueName('s'), { 'x-ms-meta-1a': 'x' }), 400, 'InvalidMetadata');
		expectError(await files.share(uniqueName('s'), { 'x-ms-enabled-protocols': 'NFS' }), 400, 'InvalidHeaderValue');
		const home = await files.newShare();
		const unknown = expectError(await share('GET', home, 'nonsense'), 400, 'InvalidQueryParameterValue');
		assert.equal(element(unknown.text, 'QueryParameterName'), 'comp');
		expectError(await client.get(home, { query: { restype: 'nonsense' } }), 400, 'InvalidQueryParameterValue');
		for (const method of ['GET', 'DELETE']) expectError(await client.request(method, '/'), 400, 'InvalidQueryParameterValue');
	});
	test('a header named x-ms-meta is signed and ignored', async () => {
		const path = `/${uniqueName('s')}`;
		expectStatus(await client.put(path, { query: { restype: 'share' }, headers: { 'x-ms-meta': "{'a': 'b'}", 'x-ms-meta-a': 'b' } }), 201);
		const got = await share('GET', path);
		assert.deepEqual(Object.keys(got.headers).filter((h) => h.startsWith('x-ms-meta')), ['x-ms-meta-a']);
	});
	test('what happens inside leaves the share alone', async () => {
		const home = await files.newShare();
		const before = await share('GET', home);
		await files.put(`${home}/f`, 'x');
		expectStatus(await files.mkdir(`${home}/d`), 201);
		const now = await share('GET', home);
		assert.deepEqual([now.etag, now.headers['last-modified']], [before.etag, before.headers['last-modified']]);
	});
});

test('ACL', async () => {
	const s = sdk.getShareClient(uniqueName('s'));
	await s.create();
	assert.deepEqual((await s.getAccessPolicy()).signedIdentifiers, []);
	const startsOn = new Date('2020-01-15T23:53:47Z'), expiresOn = new Date('2099-01-15T23:53:47Z');
	await s.setAccessPolicy([{ id: 'p', accessPolicy: { startsOn, expiresOn, permissions: 'rcwdl' } }]);
	const [policy] = (await s.getAccessPolicy()).signedIdentifiers;
	assert.deepEqual([policy.id, policy.accessPolicy.permissions, policy.accessPolicy.startsOn, policy.accessPolicy.expiresOn], ['p', 'rcwdl', startsOn, expiresOn]);
	const path = `/${s.name}`;
	const identifiers = (n) => `<SignedIdentifiers>${Array.from({ length: n }, (_, i) => `<SignedIdentifier><Id>x${i}</Id></SignedIdentifier>`).join('')}</SignedIdentifiers>`;
	expectStatus(await share('PUT', path, 'acl', { body: identifiers(1) }), 200);
	assert.match((await share('GET', path, 'acl')).text, /<SignedIdentifiers><SignedIdentifier><Id>x0<\/Id><\/SignedIdentifier><\/SignedIdentifiers>$/);
	expectError(await share('PUT', path, 'acl', { body: identifiers(6) }), 400, 'InvalidXmlDocument');
	expectError(await share('PUT', path, 'acl', { body: '<SignedIdentifiers><SignedIdentifier><Id>x</Id><AccessPolicy><Permission>z</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>' }), 400, 'InvalidXmlNodeValue');
	expectError(await share('GET', path, 'acl', { query: { sharesnapshot: '2020-01-15T23:53:47.0000000Z' } }), 400, 'InvalidQueryParameterValue');
	expectError(await share('GET', `/${uniqueName('gone')}`, 'acl'), 404, 'ShareNotFound');
});

describe('list', () => {
	test('prefix, pages, metadata, in the order of names', async () => {
		const prefix = uniqueName('list');
		for (let i = 0; i < 5; i++) expectStatus(await files.share(`${prefix}${i}`, { 'x-ms-meta-n': i }), 201);
		const seen = [];
		for await (const page of sdk.listShares({ prefix, includeMetadata: true }).byPage({ maxPageSize: 2 }))
			seen.push(page.shareItems.map((s) => [s.name, s.metadata.n]));
		assert.deepEqual(seen, [[[`${prefix}0`, '0'], [`${prefix}1`, '1']], [[`${prefix}2`, '2'], [`${prefix}3`, '3']], [[`${prefix}4`, '4']]]);
		const r = expectStatus(await client.get('/', { query: { comp: 'list', prefix, maxresults: 1, include: '' } }), 200);
		assert.match(r.text, new RegExp(`^\ufeff<\\?xml version="1.0" encoding="utf-8"\\?><EnumerationResults ServiceEndpoint="${server.endpoints.file}/"><Prefix>${prefix}</Prefix><MaxResults>1</MaxResults><Shares><Share><Name>${prefix}0</Name><Properties><Last-Modified>[^<]+</Last-Modified><Etag>"0x[0-9A-F]{15}"</Etag><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><Quota>5120</Quota><AccessTier>TransactionOptimized</AccessTier><AccessTierChangeTime>[^<]+</AccessTierChangeTime><DefaultEncryptionScope>\\$account-encryption-key</DefaultEncryptionScope><DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride></Properties></Share></Shares><NextMarker>/devstoreaccount1/${prefix}1</NextMarker></EnumerationResults>$`));
		const none = expectStatus(await client.get('/', { query: { comp: 'list', prefix: `${prefix}none` } }), 200);
		assert.match(none.text, /<Shares \/><NextMarker \/><\/EnumerationResults>$/);
		expectError(await client.get('/', { query: { comp: 'list', maxresults: '0' } }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await client.get('/', { query: { comp: 'list', include: 'nonsense' } }), 400, 'InvalidQueryParameterValue');
	});
	test('snapshots before their share, deleted before both; pages of every size show the same', async () => {
		const prefix = uniqueName('mix'), a = `/${prefix}a`, b = `/${prefix}b`;
		for (const path of [a, b]) expectStatus(await files.share(path.slice(1)), 201);
		expectStatus(await share('DELETE', a), 202);
		expectStatus(await files.share(a.slice(1)), 201);
		const first = await files.snapshot(a), second = await files.snapshot(a), other = await files.snapshot(b);
		assert.ok(first < second);
		const query = { comp: 'list', prefix, include: 'snapshots,deleted' };
		const show = (text) => [...text.matchAll(/<Share><Name>([^<]*)<\/Name>(?:<Snapshot>([^<]*)<\/Snapshot>)?(<Deleted>true<\/Deleted><Version>[0-9A-F]{16}<\/Version>)?<Properties>/g)].map((m) => `${m[1]} ${m[2] ?? ''}${m[3] ? 'deleted' : ''}`);
		const whole = show(expectStatus(await client.get('/', { query }), 200).text);
		assert.deepEqual(whole, [`${prefix}a deleted`, `${prefix}a ${first}`, `${prefix}a ${second}`, `${prefix}a `, `${prefix}b ${other}`, `${prefix}b `]);
		for (let size = 1; size < 6; size++) {
			const seen = [];
			let marker;
			do {
				const r = expectStatus(await client.get('/', { query: { ...query, maxresults: size, ...(marker ? { marker } : {}) } }), 200);
				const page = show(r.text);
				assert.ok(page.length <= size);
				seen.push(...page);
				marker = element(r.text, 'NextMarker');
			} while (marker);
			assert.deepEqual(seen, whole, `pages of ${size}`);
		}
	});
});

describe('snapshots', () => {
	test('take, read, list, delete', async () => {
		const s = sdk.getShareClient(uniqueName('s'));
		const made = await s.create({ metadata: { of: 'base' } });
		const f = s.getDirectoryClient('').getFileClient('f');
		await f.uploadData(Buffer.from('old'));
		const taken = await s.createSnapshot();
		assert.match(taken.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.0000000Z$/);
		assert.equal(taken.etag, made.etag);
		const again = await s.createSnapshot({ metadata: { of: 'snapshot' } });
		assert.ok(again.snapshot > taken.snapshot);
		await f.uploadData(Buffer.from('newer'));
		await s.getDirectoryClient('later').create();
		const old = s.withSnapshot(taken.snapshot);
		assert.equal((await old.rootDirectoryClient.getFileClient('f').downloadToBuffer()).toString(), 'old');
		assert.equal((await f.downloadToBuffer()).toString(), 'newer');
		await rejectsWith(old.rootDirectoryClient.getDirectoryClient('later').getProperties(), 404, 'ResourceNotFound');
		const names = [];
		for await (const item of old.rootDirectoryClient.listFilesAndDirectories()) names.push(item.name);
		assert.deepEqual(names, ['f']);
		assert.deepEqual((await old.getProperties()).metadata, { of: 'base' });
		assert.deepEqual((await s.withSnapshot(again.snapshot).getProperties()).metadata, { of: 'snapshot' });
		const head = expectStatus(await files.head(`/${s.name}/f`, {}, { sharesnapshot: taken.snapshot }), 200);
		assert.equal(head.headers['x-ms-lease-state'], undefined);
		await rejectsWith(s.delete(), 409, 'ShareHasSnapshots');
		await old.delete();
		await rejectsWith(old.delete(), 404, 'ShareSnapshotNotFound');
		await rejectsWith(old.getProperties(), 404, 'ShareNotFound');
		await rejectsWith(old.rootDirectoryClient.getFileClient('f').getProperties(), 404, 'ShareNotFound');
		await s.delete({ deleteSnapshots: 'include' });
		await rejectsWith(s.getProperties(), 404, 'ShareNotFound');
	});
	test('nothing writes to one', async () => {
		const home = await files.newShare();
		await files.put(`${home}/f`, 'x');
		expectStatus(await files.mkdir(`${home}/d`), 201);
		const sharesnapshot = await files.snapshot(home);
		const q = { query: { sharesnapshot } };
		const writes = [
			files.create(`${home}/g`, 1, {}, q), files.write(`${home}/f`, 0, 'y', {}, q), files.comp(`${home}/f`, 'metadata', {}, undefined, q), files.comp(`${home}/f`, 'properties', {}, undefined, q),
			files.delete(`${home}/f`, {}, { sharesnapshot }), files.mkdir(`${home}/e`, {}, q), files.dir('DELETE', `${home}/d`, undefined, q), files.dir('PUT', `${home}/d`, 'metadata', q),
			share('PUT', home, 'metadata', q), share('PUT', home, 'properties', q), share('PUT', home, 'acl', q),
		];
		for (const r of await Promise.all(writes)) assert.equal(element(expectError(r, 400, 'InvalidQueryParameterValue').text, 'QueryParameterName'), 'sharesnapshot');
		expectError(await files.lease(`${home}/f`, 'acquire', { 'x-ms-lease-duration': -1 }, { sharesnapshot }), 400, 'InvalidQueryParameterValue');
		assert.equal((await files.get(`${home}/f`, {}, { sharesnapshot: sharesnapshot.replace('.0000000', '') })).text, 'x', 'the id without its fraction');
	});
	test('the two hundred and first', async () => {
		const home = await files.newShare();
		for (let i = 0; i < 200; i++) expectStatus(await share('PUT', home, 'snapshot'), 201);
		expectError(await share('PUT', home, 'snapshot'), 409, 'ShareSnapshotCountExceeded');
	});
});

describe('leases', () => {
	test('of a share and of its snapshot', async () => {
		const s = sdk.getShareClient(uniqueName('s'));
		await s.create();
		const { snapshot } = await s.createSnapshot();
		const lease = s.getShareLeaseClient();
		const acquired = await lease.acquireLease(15);
		assert.equal(acquired.leaseId, lease.leaseId);
		assert.deepEqual([(await s.getProperties()).leaseState, (await s.getProperties()).leaseDuration], ['leased', 'fixed']);
		expectStatus(await files.lease(`/${s.name}`, 'renew', { 'x-ms-lease-id': lease.leaseId }, { restype: 'share' }), 200);
		const of = s.withSnapshot(snapshot).getShareLeaseClient();
		await of.acquireLease(-1);
		await rejectsWith(s.withSnapshot(snapshot).getProperties({ leaseAccessConditions: { leaseId: lease.leaseId } }), 412, 'LeaseIdMismatchWithContainerOperation');
		await rejectsWith(s.setMetadata({}), 412, 'LeaseIdMissing');
		await rejectsWith(s.setQuota(5), 412, 'LeaseIdMissing');
		await rejectsWith(s.setMetadata({}, { leaseAccessConditions: { leaseId: of.leaseId } }), 412, 'LeaseIdMismatchWithContainerOperation');
		await s.setMetadata({}, { leaseAccessConditions: { leaseId: lease.leaseId } });
		await s.createSnapshot();
		await s.rootDirectoryClient.getFileClient('f').create(1);
		await rejectsWith(s.delete({ deleteSnapshots: 'include' }), 412, 'LeaseIdMissing');
		await rejectsWith(s.delete({ deleteSnapshots: 'include', leaseAccessConditions: { leaseId: lease.leaseId } }), 409, 'DeleteShareWhenSnapshotLeased');
		const released = expectStatus(await files.lease(`/${s.name}`, 'release', { 'x-ms-lease-id': lease.leaseId }, { restype: 'share' }), 200);
		assert.equal(released.headers['x-ms-lease-time'], '0');
		await rejectsWith(s.getProperties({ leaseAccessConditions: { leaseId: lease.leaseId } }), 412, 'LeaseNotPresentWithContainerOperation');
		await s.delete({ deleteSnapshots: 'include-leased' });
	});
	test('break, and what a broken one answers', async () => {
		const home = await files.newShare(), q = { restype: 'share' };
		expectError(await files.lease(home, 'acquire', { 'x-ms-lease-duration': 70 }, q), 400, 'InvalidHeaderValue');
		expectError(await files.lease(home, 'acquire', { 'x-ms-lease-duration': 15, 'x-ms-proposed-lease-id': 'x' }, q), 400, 'InvalidHeaderValue');
		const broken = expectError(await files.lease(home, 'break', {}, q), 409, 'LeaseNotPresentWithLeaseOperation');
		assert.match(broken.text, /There is currently no lease on the file share\./);
		const id = (await files.lease(home, 'acquire', { 'x-ms-lease-duration': 60 }, q)).headers['x-ms-lease-id'];
		expectError(await files.lease(home, 'acquire', { 'x-ms-lease-duration': 60 }, q), 409, 'LeaseAlreadyPresent');
		assert.equal(expectStatus(await files.lease(home, 'break', { 'x-ms-lease-break-period': 0 }, q), 202).headers['x-ms-lease-time'], '0');
		expectError(await files.lease(home, 'renew', { 'x-ms-lease-id': id }, q), 409, 'LeaseIsBrokenAndCannotBeRenewed');
		expectError(await share('DELETE', home, undefined, { headers: { 'x-ms-lease-id': id } }), 412, 'LeaseLost');
		expectStatus(await share('DELETE', home), 202);
	});
});

test('deleted shares come back', async () => {
	const s = sdk.getShareClient(uniqueName('s'));
	await s.create({ metadata: { kept: 'yes' } });
	await s.rootDirectoryClient.getFileClient('f').uploadData(Buffer.from('kept'));
	const before = await s.getProperties();
	await s.delete();
	let version;
	for await (const item of sdk.listShares({ prefix: s.name, includeDeleted: true })) if (item.deleted) ({ version } = item);
	assert.match(version, /^[0-9A-F]{16}$/);
	await rejectsWith(sdk.undeleteShare(s.name, '01D69C4E05E0F6C1'), 404, 'ShareNotFound');
	expectError(await share('PUT', `/${s.name}`, 'undelete', { headers: { 'x-ms-deleted-share-name': s.name, 'x-ms-deleted-share-version': '' } }), 400, 'MissingRequiredHeader');
	await s.create();
	await rejectsWith(sdk.undeleteShare(s.name, version), 409, 'ShareAlreadyExists');
	await s.delete();
	await sdk.undeleteShare(s.name, version);
	const now = await s.getProperties();
	assert.deepEqual(now.metadata, { kept: 'yes' });
	assert.notEqual(now.etag, before.etag);
	assert.equal((await s.rootDirectoryClient.getFileClient('f').downloadToBuffer()).toString(), 'kept');
	assert.equal(elements((await client.get('/', { query: { comp: 'list', prefix: s.name, include: 'deleted' } })).text, 'Deleted').length, 1);
});

// As recordings of the service have it: 7 of 7 days for 20 minutes, 6 after 31.
test('the days that are left to restore a share', async () => {
	const own = await startServer({ flags: ['--shareDeleteRetentionDays', '7'] });
	try {
		const there = new Files(fileClient(own)), path = await there.newShare();
		expectStatus(await there.shareComp('DELETE', path), 202);
		const left = async () => element((await there.client.get('/', { query: { comp: 'list', include: 'deleted' } })).text, 'RemainingRetentionDays');
		const MINUTE = 60, DAY = 24 * 60 * MINUTE;
		for (const [seconds, wanted] of [[0, '7'], [20 * MINUTE, '7'], [11 * MINUTE, '6'], [DAY - 2 * MINUTE, '6'], [2 * MINUTE, '5'], [5 * DAY, '0']]) {
			await own.advanceClock(seconds);
			assert.equal(await left(), wanted);
		}
	} finally {
		await own.remove();
	}
});

describe('quota', () => {
	const GIB = 1024 ** 3;
	test('is the sum of sizes, exactly', async () => {
		const home = await files.newShare({ 'x-ms-share-quota': 1 });
		const usage = async () => Number(element((await share('GET', home, 'stats')).text, 'ShareUsageBytes'));
		expectStatus(await files.create(`${home}/a`, GIB - 10), 201);
		assert.equal(await usage(), GIB - 10);
		expectError(await files.create(`${home}/b`, 11), 403, 'ShareSizeLimitReached');
		expectStatus(await files.create(`${home}/b`, 10), 201);
		expectError(await files.comp(`${home}/b`, 'properties', { 'x-ms-content-length': 11 }), 403, 'ShareSizeLimitReached');
		expectStatus(await files.create(`${home}/empty`, 0), 201);
		expectStatus(await files.comp(`${home}/a`, 'properties', { 'x-ms-content-length': 5 }), 200);
		assert.equal(await usage(), 15);
		expectStatus(await files.write(`${home}/b`, 0, '0123456789'), 201);
		expectStatus(await files.create(`${home}/b`, 3), 201);
		expectStatus(await files.delete(`${home}/a`), 202);
		assert.equal(await usage(), 3);
		expectStatus(await share('PUT', home, 'properties', { headers: { 'x-ms-share-quota': 2 } }), 200);
		expectStatus(await files.create(`${home}/c`, 2 * GIB - 3), 201);
		expectStatus(await share('PUT', home, 'properties', { headers: { 'x-ms-share-quota': 1 } }), 200);
		expectError(await files.create(`${home}/d`, 1), 403, 'ShareSizeLimitReached');
	});
});

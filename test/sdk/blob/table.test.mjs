// SPDX-License-Identifier: Apache-2.0
// The tables of the concurrency documentation, generated from the running server by raw requests and compared with the documented
// ones operation by operation: does it return an ETag, does it look at conditional headers, does it look at a lease id.
//
// How a cell is measured, each time on a fresh resource:
//   ETag         the success of the plain request carries one
//   conditions   a condition that cannot hold makes it 304 or 412 (containers know times alone, blobs ETags and times)
//   lease        'required': refused on a leased resource without the id; 'optional': done without it but refused with another id;
//                'no': another id changes nothing
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, uuid } from '../../lib/blob.mjs';

// operation: [returns ETag, accepts conditions, lease]. The first block of each kind is the article's own table; its list of
// operations that can use leases is where the last column says required or optional. Below it the operations of the reference.
const CONTAINERS = {
	'Create Container': ['yes', 'no', 'no'],
	'Get Container Properties': ['yes', 'no', 'optional'],
	'Get Container Metadata': ['yes', 'no', 'optional'],
	'Set Container Metadata': ['yes', 'yes', 'optional'],
	'Get Container ACL': ['yes', 'no', 'optional'],
	'Set Container ACL': ['yes', 'yes', 'optional'],
	'Delete Container': ['no', 'yes', 'required'],
	'Lease Container': ['yes', 'yes', 'operand'],
	'List Blobs': ['no', 'no', 'no'],
};
const BLOBS = {
	'Put Blob': ['yes', 'yes', 'required'],
	'Get Blob': ['yes', 'yes', 'optional'],
	'Get Blob Properties': ['yes', 'yes', 'optional'],
	'Set Blob Properties': ['yes', 'yes', 'required'],
	'Get Blob Metadata': ['yes', 'yes', 'optional'],
	'Set Blob Metadata': ['yes', 'yes', 'required'],
	'Lease Blob': ['yes', 'yes', 'operand'],
	'Snapshot Blob': ['yes', 'yes', 'optional'],
	'Copy Blob': ['yes', 'yes', 'required'],
	'Abort Copy Blob': ['no', 'no', 'required'],
	'Delete Blob': ['no', 'yes', 'required'],
	'Put Block': ['no', 'no', 'required'],
	'Put Block List': ['yes', 'yes', 'required'],
	'Get Block List': ['yes', 'no', 'optional'],
	'Put Page': ['yes', 'yes', 'required'],
	'Get Page Ranges': ['yes', 'yes', 'optional'],
};
const MORE = {
	'Put Blob (page)': ['yes', 'yes', 'required'],
	'Put Blob (append)': ['yes', 'yes', 'required'],
	'Put Page (clear)': ['yes', 'yes', 'required'],
	'Put Page From URL': ['yes', 'yes', 'required'],
	'Get Page Ranges (diff)': ['yes', 'yes', 'optional'],
	'Set Blob Properties (resize)': ['yes', 'yes', 'required'],
	'Set Blob Properties (sequence)': ['yes', 'yes', 'required'],
	'Append Block': ['yes', 'yes', 'required'],
	'Append Block From URL': ['yes', 'yes', 'required'],
	'Append Blob Seal': ['yes', 'yes', 'required'],
	'Put Blob From URL': ['yes', 'yes', 'required'],
	'Copy Blob From URL': ['yes', 'yes', 'required'],
	'Put Block From URL': ['no', 'no', 'required'],
	'Set Blob Tier': ['no', 'no', 'optional'],
	'Get Blob Tags': ['no', 'no', 'optional'],
	'Set Blob Tags': ['no', 'no', 'required'],
	'Set Blob Legal Hold': ['no', 'no', 'no'],
	'Delete Blob Immutability Policy': ['no', 'no', 'no'],
	'Undelete Blob': ['no', 'no', 'no'],
};
// x-ms-if-tags is a condition of its own: also where no ETag is looked at.
const IF_TAGS = [
	...Object.keys(BLOBS).filter((name) => !['Put Block', 'Abort Copy Blob'].includes(name)),
	...['Put Blob (page)', 'Put Blob (append)', 'Put Page (clear)', 'Put Page From URL', 'Append Block', 'Append Block From URL', 'Put Blob From URL', 'Copy Blob From URL', 'Set Blob Tier', 'Get Blob Tags', 'Set Blob Tags'],
];

let server, client, b, snapshotOfPages;
const home = uniqueName('table');
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
	expectStatus(await b.put(`/${home}/source`, 'y'.repeat(512)), 201);
});
after(() => server?.remove());

const source = () => b.readable(`/${home}/source`);
const ACL = '<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers></SignedIdentifiers>';
const TAGS = '<?xml version="1.0" encoding="utf-8"?><Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>';

async function freshContainer() {
	const name = uniqueName('c');
	expectStatus(await b.container(name), 201);
	return `/${name}`;
}
const block = () => b.fresh(home).block(), page = () => b.fresh(home).page(), append = () => b.fresh(home).append();
const container = (method, comp, body) => (path, headers) => client.request(method, path, { query: { restype: 'container', comp }, headers, body });
const url = (headers = {}) => ({ 'x-ms-copy-source': source(), ...headers });

// How to make the resource and how to ask, with the headers of the measurement on top.
const HOW = {
	'Create Container': { make: async () => `/${uniqueName('c')}`, ask: (path, headers) => client.put(path, { query: { restype: 'container' }, headers }), absent: true },
	'Get Container Properties': { make: freshContainer, ask: container('GET') },
	'Get Container Metadata': { make: freshContainer, ask: container('GET', 'metadata') },
	'Set Container Metadata': { make: freshContainer, ask: container('PUT', 'metadata') },
	'Get Container ACL': { make: freshContainer, ask: container('GET', 'acl') },
	'Set Container ACL': { make: freshContainer, ask: container('PUT', 'acl', ACL) },
	'Delete Container': { make: freshContainer, ask: container('DELETE') },
	'Lease Container': { make: freshContainer, ask: (path, headers) => b.lease(path, 'acquire', { 'x-ms-lease-duration': 15, ...headers }, { restype: 'container' }) },
	'List Blobs': { make: freshContainer, ask: container('GET', 'list') },

	'Put Blob': { make: block, ask: (path, headers) => b.put(path, 'new', headers) },
	'Get Blob': { make: block, ask: (path, headers) => b.get(path, headers) },
	'Get Blob Properties': { make: block, ask: (path, headers) => b.head(path, headers) },
	'Set Blob Properties': { make: block, ask: (path, headers) => b.comp(path, 'properties', { 'x-ms-blob-content-type': 'a/b', ...headers }) },
	'Get Blob Metadata': { make: block, ask: (path, headers) => b.get(path, headers, { comp: 'metadata' }) },
	'Set Blob Metadata': { make: block, ask: (path, headers) => b.comp(path, 'metadata', { 'x-ms-meta-a': 'b', ...headers }) },
	'Lease Blob': { make: block, ask: (path, headers) => b.lease(path, 'acquire', { 'x-ms-lease-duration': 15, ...headers }) },
	'Snapshot Blob': { make: block, ask: (path, headers) => b.comp(path, 'snapshot', headers) },
	'Copy Blob': { make: block, ask: (path, headers) => b.copy(path, source(), headers) },
	// No copy is pending, so success is 'there is none': conditions and leases are looked at before.
	'Abort Copy Blob': { make: block, ask: (path, headers) => b.comp(path, 'copy', { 'x-ms-copy-action': 'abort', ...headers }, undefined, { copyid: uuid() }), success: 'NoPendingCopyOperation' },
	'Delete Blob': { make: block, ask: (path, headers) => b.delete(path, headers) },
	'Put Block': { make: block, ask: (path, headers) => b.block(path, 'id', 'bytes', headers) },
	'Put Block List': { make: block, ask: (path, headers) => b.blockList(path, [], headers) },
	'Get Block List': { make: block, ask: (path, headers) => b.get(path, headers, { comp: 'blocklist', blocklisttype: 'all' }) },
	'Put Page': { make: page, ask: (path, headers) => b.pages(path, 0, Buffer.alloc(512, 1), headers) },
	'Get Page Ranges': { make: page, ask: (path, headers) => b.get(path, headers, { comp: 'pagelist' }) },

	'Put Blob (page)': { make: page, ask: (path, headers) => b.pageBlob(path, 512, headers) },
	'Put Blob (append)': { make: append, ask: (path, headers) => b.appendBlob(path, headers) },
	'Put Page (clear)': { make: page, ask: (path, headers) => b.clear(path, 0, 512, headers) },
	'Put Page From URL': { make: page, ask: (path, headers) => b.comp(path, 'page', url({ 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511', ...headers })) },
	'Get Page Ranges (diff)': {
		make: async () => {
			const path = await page();
			snapshotOfPages = await b.snapshot(path);
			return path;
		},
		ask: (path, headers) => b.get(path, headers, { comp: 'pagelist', prevsnapshot: snapshotOfPages }),
	},
	'Set Blob Properties (resize)': { make: page, ask: (path, headers) => b.comp(path, 'properties', { 'x-ms-blob-content-length': 512, ...headers }) },
	'Set Blob Properties (sequence)': { make: page, ask: (path, headers) => b.comp(path, 'properties', { 'x-ms-sequence-number-action': 'increment', ...headers }) },
	'Append Block': { make: append, ask: (path, headers) => b.append(path, 'bytes', headers) },
	'Append Block From URL': { make: append, ask: (path, headers) => b.comp(path, 'appendblock', url(headers)) },
	'Append Blob Seal': { make: append, ask: (path, headers) => b.comp(path, 'seal', headers) },
	'Put Blob From URL': { make: block, ask: (path, headers) => client.put(path, { headers: url({ 'x-ms-blob-type': 'BlockBlob', ...headers }) }) },
	'Copy Blob From URL': { make: block, ask: (path, headers) => b.copy(path, source(), { 'x-ms-requires-sync': 'true', ...headers }) },
	'Put Block From URL': { make: block, ask: (path, headers) => b.comp(path, 'block', url(headers), undefined, { blockid: base64('id') }) },
	'Set Blob Tier': { make: block, ask: (path, headers) => b.comp(path, 'tier', { 'x-ms-access-tier': 'Cool', ...headers }) },
	'Get Blob Tags': { make: block, ask: (path, headers) => b.get(path, headers, { comp: 'tags' }) },
	'Set Blob Tags': { make: block, ask: (path, headers) => b.comp(path, 'tags', headers, TAGS) },
	'Set Blob Legal Hold': { make: block, ask: (path, headers) => b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'false', ...headers }) },
	'Delete Blob Immutability Policy': { make: block, ask: (path, headers) => b.delete(path, headers, { comp: 'immutabilityPolicies' }) },
	'Undelete Blob': { make: block, ask: (path, headers) => b.comp(path, 'undelete', headers) },
};

const done = (how, r) => (how.success ? r.code === how.success : r.status >= 200 && r.status < 300);

async function measureEtag(how) {
	const r = await how.ask(await how.make(), {});
	assert.ok(done(how, r), `plain request: ${r.status} ${r.code} ${r.text}`);
	return r.etag === undefined ? 'no' : 'yes';
}

// Each of these fails on a resource made just now. All that are looked at must be looked at alike.
const UNMET = {
	container: [{ 'If-Modified-Since': 'Thu, 01 Jan 2099 00:00:00 GMT' }],
	blob: [{ 'If-Match': '"0x8D0000000000000"' }, { 'If-Modified-Since': 'Thu, 01 Jan 2099 00:00:00 GMT' }, { 'If-Unmodified-Since': 'Sat, 01 Jan 2000 00:00:00 GMT' }],
};
async function measureConditions(how, kind) {
	const seen = new Set();
	for (const headers of UNMET[kind]) {
		const r = await how.ask(await how.make(), headers);
		const refused = r.status === 304 || r.status === 412;
		// Not looked at: done all the same, or refused as a header that has no place here.
		assert.ok(refused || done(how, r) || r.code === 'ConditionHeadersNotSupported', `${JSON.stringify(headers)}: ${r.status} ${r.code}`);
		seen.add(refused ? 'yes' : 'no');
	}
	assert.equal(seen.size, 1, 'some conditions are looked at and some are not');
	return [...seen][0];
}

async function measureLease(name, how, kind) {
	if (how.absent) {
		const r = await how.ask(await how.make(), { 'x-ms-lease-id': uuid() });
		return done(how, r) ? 'no' : 'optional';
	}
	const query = kind === 'container' ? { restype: 'container' } : {};
	const leased = async () => {
		const path = await how.make();
		return { path, id: await b.acquire(path, -1, query) };
	};
	if (name.startsWith('Lease ')) {
		const { path, id } = await leased();
		expectStatus(await b.lease(path, 'renew', { 'x-ms-lease-id': uuid() }, query), 409);
		expectStatus(await b.lease(path, 'renew', { 'x-ms-lease-id': id }, query), 200);
		return 'operand';
	}
	const right = await leased();
	const withId = await how.ask(right.path, { 'x-ms-lease-id': right.id });
	assert.ok(done(how, withId), `with the lease id: ${withId.status} ${withId.code}`);
	const without = await how.ask((await leased()).path, {});
	const wrong = await how.ask((await leased()).path, { 'x-ms-lease-id': uuid() });
	if (!done(how, without)) {
		assert.equal(`${without.status} ${without.code}`, '412 LeaseIdMissing');
		assert.equal(wrong.status, 412);
		return 'required';
	}
	if (done(how, wrong)) return 'no';
	assert.equal(`${wrong.status} ${wrong.code}`, `412 LeaseIdMismatchWith${kind === 'container' ? 'Container' : 'Blob'}Operation`);
	return 'optional';
}

const documented = { container: CONTAINERS, blob: { ...BLOBS, ...MORE } };
test('the tables generated from the server are the documented ones', async (t) => {
	for (const kind of ['container', 'blob'])
		for (const [name, row] of Object.entries(documented[kind]))
			await t.test(name, async () => {
				const how = HOW[name];
				const measured = [await measureEtag(how), await measureConditions(how, kind), await measureLease(name, how, kind)];
				assert.deepEqual(measured, row, 'returns ETag, accepts conditions, lease');
				t.diagnostic(`| ${name} | ${measured.join(' | ')} |`);
			});
});

test('x-ms-if-tags', async (t) => {
	for (const name of IF_TAGS)
		await t.test(name, async () => {
			const how = HOW[name];
			const r = await how.ask(await how.make(), { 'x-ms-if-tags': `"absent" = 'value'` });
			assert.equal(`${r.status} ${r.code}`, '412 ConditionNotMet');
		});
});

// A shared ETag: what changes it and what leaves it alone.
const KEEPS = ['Get Blob', 'Get Blob Properties', 'Get Blob Metadata', 'Lease Blob', 'Snapshot Blob', 'Put Block', 'Get Block List', 'Get Page Ranges', 'Set Blob Tier', 'Get Blob Tags', 'Set Blob Tags', 'Set Blob Legal Hold', 'Put Block From URL', 'Undelete Blob'];
test('which operations change the ETag', async (t) => {
	for (const name of Object.keys({ ...BLOBS, ...MORE }).filter((n) => !['Delete Blob', 'Abort Copy Blob', 'Delete Blob Immutability Policy', 'Get Page Ranges (diff)'].includes(n)))
		await t.test(name, async () => {
			const how = HOW[name];
			const path = await how.make();
			const before = (await b.head(path)).etag;
			const r = await how.ask(path, {});
			assert.ok(done(how, r), `${r.status} ${r.code}`);
			const now = (await b.head(path)).etag;
			if (KEEPS.includes(name)) assert.equal(now, before);
			else {
				assert.notEqual(now, before);
				assert.equal(r.etag, now, 'the answer carries the new one');
			}
		});
	for (const name of ['Set Container Metadata', 'Set Container ACL', 'Get Container Properties', 'Lease Container', 'List Blobs'])
		await t.test(name, async () => {
			const path = await freshContainer();
			const get = async () => (await HOW['Get Container Properties'].ask(path, {})).etag;
			const before = await get();
			await HOW[name].ask(path, {});
			(name.startsWith('Set ') ? assert.notEqual : assert.equal)(await get(), before);
		});
});

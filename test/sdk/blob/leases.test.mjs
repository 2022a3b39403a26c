// SPDX-License-Identifier: Apache-2.0
// The lease state machine as tables: one row, one state, one case, over raw requests. The rows are those of the specification
// ("lease operations by state", "use by state"), for blobs and for containers.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';

const A = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';
const B = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb';
const C = 'cccccccc-cccc-4ccc-8ccc-cccccccccccc';
const STATES = ['available', 'leased', 'breaking', 'broken', 'expired'];

let server, client;
const containerName = uniqueName('leases');
before(async () => {
	server = await startServer();
	client = new Client(server);
	expectStatus(await client.put(`/${containerName}`, { query: { restype: 'container' } }), 201);
});
after(() => server?.remove());

// What is leased: a blob or a container. path and the query its lease calls need.
const kinds = {
	blob: {
		fresh: async () => {
			const path = `/${containerName}/${uniqueName('b')}`;
			expectStatus(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' }), 201);
			return path;
		},
		query: {},
		suffix: 'BlobOperation',
	},
	container: {
		fresh: async () => {
			const path = `/${uniqueName('c')}`;
			expectStatus(await client.put(path, { query: { restype: 'container' } }), 201);
			return path;
		},
		query: { restype: 'container' },
		suffix: 'ContainerOperation',
	},
};

const leaseCall = (kind, path, headers) => client.put(path, { query: { comp: 'lease', ...kinds[kind].query }, headers });
const acquire = (kind, path, id, duration = 30) =>
	leaseCall(kind, path, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': duration, 'x-ms-proposed-lease-id': id });
const breakLease = (kind, path, period) => leaseCall(kind, path, { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': period });
const state = async (kind, path) => {
	const r = expectStatus(await client.head(path, { query: kinds[kind].query }), 200);
	return { state: r.headers['x-ms-lease-state'], status: r.headers['x-ms-lease-status'], duration: r.headers['x-ms-lease-duration'], etag: r.etag };
};

// Brings a fresh resource into a state with A as the id. duration 60 so that remaining times are known.
async function inState(kind, wanted, { infinite = false } = {}) {
	const path = await kinds[kind].fresh();
	if (wanted === 'available') return path;
	expectStatus(await acquire(kind, path, A, infinite ? -1 : 60), 201);
	if (wanted === 'breaking') expectStatus(await breakLease(kind, path, 30), 202);
	if (wanted === 'broken') expectStatus(await breakLease(kind, path, 0), 202);
	if (wanted === 'expired') await server.advanceClock(61);
	assert.equal((await state(kind, path)).state, wanted);
	return path;
}

const ok = (status, then, extra = {}) => ({ status, then, ...extra });
const no = (code, status = 409) => ({ status, code });
const present = no('LeaseAlreadyPresent');
const mismatch = no('LeaseIdMismatchWithLeaseOperation');
const absent = no('LeaseNotPresentWithLeaseOperation');

// action -> expectation in each of STATES. `id`: the lease id the answer must carry; `time`: x-ms-lease-time.
const OPERATIONS = [
	['acquire, no id', { action: 'acquire', duration: 15 }, [ok(201, 'leased'), present, present, ok(201, 'leased'), ok(201, 'leased')]],
	[
		'acquire A',
		{ action: 'acquire', duration: 15, proposed: A },
		[ok(201, 'leased', { id: A }), ok(201, 'leased', { id: A }), no('LeaseIsBreakingAndCannotBeAcquired'), ok(201, 'leased', { id: A }), ok(201, 'leased', { id: A })],
	],
	['acquire B', { action: 'acquire', duration: 15, proposed: B }, [ok(201, 'leased', { id: B }), present, present, ok(201, 'leased', { id: B }), ok(201, 'leased', { id: B })]],
	[
		'renew A',
		{ action: 'renew', id: A },
		[mismatch, ok(200, 'leased', { id: A }), no('LeaseIsBrokenAndCannotBeRenewed'), no('LeaseIsBrokenAndCannotBeRenewed'), ok(200, 'leased', { id: A })],
	],
	['renew B', { action: 'renew', id: B }, [mismatch, mismatch, mismatch, mismatch, mismatch]],
	['change A to B', { action: 'change', id: A, proposed: B }, [absent, ok(200, 'leased', { id: B }), no('LeaseIsBreakingAndCannotBeChanged'), absent, absent]],
	['change B to A', { action: 'change', id: B, proposed: A }, [absent, ok(200, 'leased', { id: A }), mismatch, absent, absent]],
	['change B to C', { action: 'change', id: B, proposed: C }, [absent, mismatch, mismatch, absent, absent]],
	['release A', { action: 'release', id: A }, [mismatch, ok(200, 'available'), ok(200, 'available'), ok(200, 'available'), ok(200, 'available')]],
	['release B', { action: 'release', id: B }, [mismatch, mismatch, mismatch, mismatch, mismatch]],
	['break, period 0', { action: 'break', period: 0 }, [absent, ok(202, 'broken', { time: 0 }), ok(202, 'broken', { time: 0 }), ok(202, 'broken', { time: 0 }), ok(202, 'broken', { time: 0 })]],
	[
		'break, period 10',
		{ action: 'break', period: 10 },
		[absent, ok(202, 'breaking', { time: 10 }), ok(202, 'breaking', { time: 10 }), ok(202, 'broken', { time: 0 }), ok(202, 'broken', { time: 0 })],
	],
	[
		'break, no period',
		{ action: 'break' },
		[absent, ok(202, 'breaking', { time: 60 }), ok(202, 'breaking', { time: 30 }), ok(202, 'broken', { time: 0 }), ok(202, 'broken', { time: 0 })],
	],
];

for (const kind of Object.keys(kinds)) {
	describe(`lease operations by state: ${kind}`, () => {
		for (const [name, call, expectations] of OPERATIONS)
			STATES.forEach((from, i) =>
				test(`${name} when ${from}`, async () => {
					const path = await inState(kind, from);
					const before = await state(kind, path);
					const r = await leaseCall(kind, path, {
						'x-ms-lease-action': call.action,
						'x-ms-lease-id': call.id,
						'x-ms-proposed-lease-id': call.proposed,
						'x-ms-lease-duration': call.duration,
						'x-ms-lease-break-period': call.period,
					});
					const want = expectations[i];
					const now = await state(kind, path);
					assert.equal(now.etag, before.etag, 'a lease call leaves the ETag alone');
					if (want.code) {
						expectError(r, want.status, want.code);
						assert.equal(now.state, before.state, 'a refused call changes nothing');
						return;
					}
					expectStatus(r, want.status);
					assert.equal(now.state, want.then);
					assert.equal(now.status, ['leased', 'breaking'].includes(want.then) ? 'locked' : 'unlocked');
					assert.equal(now.duration, want.then === 'leased' ? 'fixed' : undefined);
					if (['acquire', 'renew', 'change'].includes(call.action)) assert.match(r.headers['x-ms-lease-id'], /^[0-9a-f-]{36}$/);
					if (want.id) assert.equal(r.headers['x-ms-lease-id'], want.id);
					// The clock runs between two calls: a second may have begun.
					if (want.time !== undefined) {
						const time = Number(r.headers['x-ms-lease-time']);
						assert.ok(time === want.time || (want.time > 10 && time === want.time - 1), `lease time ${time}, not ${want.time}`);
					}
				}),
			);
	});
}

describe('lease operations: more rows', () => {
	test('break of an infinite lease without a period is immediate', async () => {
		const path = await inState('blob', 'leased', { infinite: true });
		const r = expectStatus(await breakLease('blob', path), 202);
		assert.equal(r.headers['x-ms-lease-time'], '0');
		assert.equal((await state('blob', path)).state, 'broken');
	});
	test('break of an infinite lease with a period takes that long', async () => {
		const path = await inState('blob', 'leased', { infinite: true });
		assert.equal(expectStatus(await breakLease('blob', path, 60), 202).headers['x-ms-lease-time'], '60');
		await server.advanceClock(61);
		assert.equal((await state('blob', path)).state, 'broken');
	});
	test('a longer period does not prolong a break', async () => {
		const path = await inState('blob', 'breaking');
		const time = Number(expectStatus(await breakLease('blob', path, 60), 202).headers['x-ms-lease-time']);
		assert.ok(time <= 30 && time >= 29);
	});
	test('a break period beyond the lease is cut to what remains of it', async () => {
		const path = await kinds.blob.fresh();
		expectStatus(await acquire('blob', path, A, 15), 201);
		const time = Number(expectStatus(await breakLease('blob', path, 60), 202).headers['x-ms-lease-time']);
		assert.ok(time <= 15 && time >= 14);
	});
	test('renew of an expired lease after a write is refused', async () => {
		const path = await inState('blob', 'expired');
		expectStatus(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'y' }), 201);
		expectError(await leaseCall('blob', path, { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': A }), 409, 'LeaseIdMismatchWithLeaseOperation');
	});
	test('renew of an expired lease after another had it is refused', async () => {
		const path = await inState('blob', 'expired');
		expectStatus(await acquire('blob', path, B, 15), 201);
		await server.advanceClock(16);
		expectError(await leaseCall('blob', path, { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': A }), 409, 'LeaseIdMismatchWithLeaseOperation');
	});
	test('renew keeps the duration it had', async () => {
		const path = await kinds.blob.fresh();
		expectStatus(await acquire('blob', path, A, 20), 201);
		await server.advanceClock(15);
		expectStatus(await leaseCall('blob', path, { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': A }), 200);
		await server.advanceClock(15);
		assert.equal((await state('blob', path)).state, 'leased');
		await server.advanceClock(6);
		assert.equal((await state('blob', path)).state, 'expired');
	});
	test('an id is a GUID in any of its forms and compared by value', async () => {
		for (const form of [A.toUpperCase(), A.replaceAll('-', ''), `{${A}}`, `(${A})`]) {
			const path = await inState('blob', 'leased');
			expectStatus(await leaseCall('blob', path, { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': form }), 200);
		}
	});
	const bad = [
		['a malformed id', { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': 'nonsense' }, 'InvalidHeaderValue'],
		['a malformed proposed id', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': 'x' }, 'InvalidHeaderValue'],
		['a duration of 14', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '14' }, 'InvalidHeaderValue'],
		['a duration of 61', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '61' }, 'InvalidHeaderValue'],
		['a duration of 0', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '0' }, 'InvalidHeaderValue'],
		['no duration', { 'x-ms-lease-action': 'acquire' }, 'MissingRequiredHeader'],
		['a break period of 61', { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '61' }, 'InvalidHeaderValue'],
		['an unknown action', { 'x-ms-lease-action': 'steal' }, 'InvalidHeaderValue'],
		['no action', {}, 'MissingRequiredHeader'],
	];
	for (const kind of Object.keys(kinds))
		for (const [name, headers, code] of bad)
			test(`${kind}: ${name} is 400`, async () => {
				const path = await kinds[kind].fresh();
				expectError(await leaseCall(kind, path, headers), 400, code);
			});
	test('a missing blob is 404', async () => {
		expectError(await acquire('blob', `/${containerName}/nothing-here`, A, 15), 404, 'BlobNotFound');
	});
	test('a missing container is 404', async () => {
		expectError(await acquire('container', '/nothing-here', A, 15), 404, 'ContainerNotFound');
	});
});

// Uses of a blob by state: attempt -> [available, leased, breaking, broken, expired].
const lost = no('LeaseLost', 412);
const missing = no('LeaseIdMissing', 412);
const other = no('LeaseIdMismatchWithBlobOperation', 412);
const noLease = no('LeaseNotPresentWithBlobOperation', 412);
const fine = { fine: true };
const forgets = { fine: true, then: 'available' };
const USES = [
	['write', 'A', A, [noLease, fine, fine, lost, lost]],
	['write', 'B', B, [noLease, other, other, lost, lost]],
	['write', 'no id', undefined, [fine, missing, missing, forgets, forgets]],
	['read', 'A', A, [noLease, fine, fine, lost, lost]],
	['read', 'B', B, [noLease, other, other, lost, lost]],
	['read', 'no id', undefined, [fine, fine, fine, fine, fine]],
];
const CALLS = {
	write: {
		'Put Blob': (path, headers) => client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob', ...headers }, body: 'new' }),
		'Set Blob Metadata': (path, headers) => client.put(path, { query: { comp: 'metadata' }, headers: { 'x-ms-meta-a': 'b', ...headers } }),
		'Set Blob Properties': (path, headers) => client.put(path, { query: { comp: 'properties' }, headers: { 'x-ms-blob-content-type': 'a/b', ...headers } }),
		'Put Block': (path, headers) => client.put(path, { query: { comp: 'block', blockid: 'AAAA' }, headers, body: 'block' }),
		'Put Block List': (path, headers) => client.put(path, { query: { comp: 'blocklist' }, headers, body: '<BlockList/>' }),
		'Set Blob Tags': (path, headers) => client.put(path, { query: { comp: 'tags' }, headers, body: '<Tags><TagSet></TagSet></Tags>' }),
		'Delete Blob': (path, headers) => client.delete(path, { headers }),
	},
	read: {
		'Get Blob': (path, headers) => client.get(path, { headers }),
		'Get Blob Properties': (path, headers) => client.head(path, { headers }),
		'Get Blob Metadata': (path, headers) => client.get(path, { query: { comp: 'metadata' }, headers }),
	},
};

describe('use of a blob by lease state', () => {
	for (const [use, who, id, expectations] of USES)
		for (const [name, call] of Object.entries(CALLS[use]))
			STATES.forEach((from, i) =>
				test(`${name} with ${who} when ${from}`, async () => {
					const path = await inState('blob', from);
					const r = await call(path, { 'x-ms-lease-id': id });
					const want = expectations[i];
					if (!want.fine) {
						expectError(r, want.status, want.code);
						assert.equal((await state('blob', path)).state, from);
						return;
					}
					assert.ok(r.status >= 200 && r.status < 300, `${r.status} ${r.code}`);
					if (name === 'Delete Blob') return;
					assert.equal((await state('blob', path)).state, want.then ?? from);
				}),
			);

	test('Put Block forgets the id of a lease that is over, and changes nothing else', async () => {
		for (const from of ['broken', 'expired']) {
			const path = await inState('blob', from);
			const before = await client.head(path);
			expectStatus(await client.put(path, { query: { comp: 'block', blockid: 'AAAA' }, body: 'block' }), 201);
			expectError(await client.put(path, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'release', 'x-ms-lease-id': A } }), 409, 'LeaseIdMismatchWithLeaseOperation');
			const after = await client.head(path);
			assert.deepEqual([after.etag, after.headers['last-modified']], [before.etag, before.headers['last-modified']]);
		}
	});
	test('the lease stays on the blob over Put Blob with the id', async () => {
		const path = await inState('blob', 'leased');
		expectStatus(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': A }, body: 'n' }), 201);
		assert.equal((await state('blob', path)).state, 'leased');
		expectError(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'n' }), 412, 'LeaseIdMissing');
	});
	test('a lease id on a blob that does not exist is 412', async () => {
		const r = await client.put(`/${containerName}/${uniqueName('b')}`, { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': A }, body: 'n' });
		expectError(r, 412, 'LeaseNotPresentWithBlobOperation');
	});
	test('before 2013-08-15 it is 201, if there is no blob', async () => {
		const path = `/${containerName}/${uniqueName('b')}`, copy = `${path}-copy`;
		const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': A }, old = { version: '2012-02-12' };
		expectStatus(await client.put(path, { ...old, headers, body: 'n' }), 201);
		expectError(await client.put(path, { ...old, headers, body: 'n' }), 412, 'LeaseNotPresentWithBlobOperation');
		expectStatus(await client.put(copy, { ...old, headers: { 'x-ms-copy-source': client.url(path).href, 'x-ms-lease-id': A } }), 202);
		expectError(await client.put(copy, { ...old, headers: { 'x-ms-copy-source': client.url(path).href, 'x-ms-lease-id': A } }), 412, 'LeaseNotPresentWithBlobOperation');
	});
	test('lease before If-None-Match: * (no id)', async () => {
		const path = await inState('blob', 'leased');
		expectError(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*' }, body: 'n' }), 412, 'LeaseIdMissing');
	});
	test('lease before If-None-Match: * (expired id)', async () => {
		const path = await inState('blob', 'expired');
		expectError(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*', 'x-ms-lease-id': A }, body: 'n' }), 412, 'LeaseLost');
	});
	test('the valid id makes If-None-Match: * pass (as observed)', async () => {
		const path = await inState('blob', 'leased');
		expectStatus(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*', 'x-ms-lease-id': A }, body: 'n' }), 201);
	});
	test('a lease goes with its blob', async () => {
		const path = await inState('blob', 'leased');
		expectStatus(await client.delete(path, { headers: { 'x-ms-lease-id': A } }), 202);
		expectStatus(await client.put(path, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'n' }), 201);
		assert.equal((await state('blob', path)).state, 'available');
	});
});

// Containers: only delete is exclusive.
const noContainerLease = no('LeaseNotPresentWithContainerOperation', 412);
const otherContainer = no('LeaseIdMismatchWithContainerOperation', 412);
const CONTAINER_USES = [
	['delete', 'A', A, [noContainerLease, fine, fine, lost, lost]],
	['delete', 'B', B, [noContainerLease, otherContainer, otherContainer, lost, lost]],
	['delete', 'no id', undefined, [fine, missing, missing, fine, fine]],
	['other', 'A', A, [noContainerLease, fine, fine, lost, lost]],
	['other', 'B', B, [noContainerLease, otherContainer, otherContainer, lost, lost]],
	['other', 'no id', undefined, [fine, fine, fine, fine, fine]],
];
const CONTAINER_CALLS = {
	delete: { 'Delete Container': (path, headers) => client.delete(path, { query: { restype: 'container' }, headers }) },
	other: {
		'Get Container Properties': (path, headers) => client.get(path, { query: { restype: 'container' }, headers }),
		'Set Container Metadata': (path, headers) => client.put(path, { query: { restype: 'container', comp: 'metadata' }, headers: { 'x-ms-meta-a': 'b', ...headers } }),
		'Get Container ACL': (path, headers) => client.get(path, { query: { restype: 'container', comp: 'acl' }, headers }),
		'Set Container ACL': (path, headers) => client.put(path, { query: { restype: 'container', comp: 'acl' }, headers }),
	},
};
describe('use of a container by lease state', () => {
	for (const [use, who, id, expectations] of CONTAINER_USES)
		for (const [name, call] of Object.entries(CONTAINER_CALLS[use]))
			STATES.forEach((from, i) =>
				test(`${name} with ${who} when ${from}`, async () => {
					const path = await inState('container', from);
					const r = await call(path, { 'x-ms-lease-id': id });
					const want = expectations[i];
					if (want.fine) assert.ok(r.status >= 200 && r.status < 300, `${r.status} ${r.code}`);
					else expectError(r, want.status, want.code);
				}),
			);
	test('before 2013-08-15 a lease operation changes the ETag', async () => {
		const path = await kinds.container.fresh();
		const etag = async () => expectStatus(await client.head(path, { query: { restype: 'container' } }), 200).etag;
		let last = await etag();
		for (const [version, moves] of [['2013-08-15', false], ['2012-02-12', true]])
			for (const action of ['acquire', 'renew', 'release']) {
				const id = action === 'acquire' ? { 'x-ms-lease-duration': 15, 'x-ms-proposed-lease-id': A } : { 'x-ms-lease-id': A };
				const r = await client.put(path, { version, query: { restype: 'container', comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...id } });
				assert.ok(r.status === 201 || r.status === 200, r.code);
				assert.equal(r.etag !== last, moves, `${version} ${action}`);
				assert.equal(await etag(), r.etag);
				last = r.etag;
			}
	});
	test('leased blobs do not stop Delete Container', async () => {
		const path = await kinds.container.fresh();
		expectStatus(await client.put(`${path}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' }), 201);
		expectStatus(await acquire('blob', `${path}/b`, A, -1), 201);
		expectStatus(await client.delete(path, { query: { restype: 'container' } }), 202);
	});
});

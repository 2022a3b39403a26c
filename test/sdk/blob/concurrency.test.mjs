// SPDX-License-Identifier: Apache-2.0
// The walk-throughs of the concurrency documentation with the official SDK: optimistic, pessimistic, last writer wins.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { rejectsWith, uniqueName } from '../../lib/assert.mjs';

let server, container;

before(async () => {
	server = await startServer();
	const service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	container = service.getContainerClient(uniqueName('walk'));
	await container.create();
});
after(() => server?.remove());

const read = async (blob) => (await blob.downloadToBuffer()).toString();

test('optimistic: a stale ETag gets 412 and changes nothing', async () => {
	const blob = container.getBlockBlobClient('optimistic.txt');
	const created = await blob.upload('Hello World!', 12);
	const original = created.etag;
	assert.match(original, /^"0x[0-9A-F]{15}"$/);
	assert.equal((await blob.getProperties()).etag, original);

	// A third party updates the blob without conditions.
	const third = await container.getBlockBlobClient('optimistic.txt').upload('updated by somebody else', 24);
	assert.notEqual(third.etag, original);

	const error = await rejectsWith(blob.upload('mine', 4, { conditions: { ifMatch: original } }), 412, 'ConditionNotMet');
	assert.equal(error.response.headers.get('x-ms-error-code'), 'ConditionNotMet');
	const now = await blob.getProperties();
	assert.equal(now.etag, third.etag);
	assert.equal(now.contentLength, 24);
	assert.equal(await read(blob), 'updated by somebody else');

	// With what it read again, it wins.
	const won = await blob.upload('mine', 4, { conditions: { ifMatch: third.etag } });
	assert.notEqual(won.etag, third.etag);
	assert.equal(await read(blob), 'mine');
});

test('optimistic: every conditional write refuses the stale ETag', async () => {
	const blob = container.getBlockBlobClient('every.txt');
	const { etag: stale } = await blob.upload('a', 1);
	const { etag } = await blob.upload('b', 1);
	const conditions = { ifMatch: stale };
	await rejectsWith(blob.setMetadata({ a: '1' }, { conditions }), 412, 'ConditionNotMet');
	await rejectsWith(blob.setHTTPHeaders({ blobContentType: 'text/x' }, { conditions }), 412, 'ConditionNotMet');
	await rejectsWith(blob.delete({ conditions }), 412, 'ConditionNotMet');
	await rejectsWith(blob.getBlobLeaseClient().acquireLease(15, { conditions }), 412, 'ConditionNotMet');
	await rejectsWith(blob.getProperties({ conditions }), 412, undefined);
	await rejectsWith(blob.download(0, undefined, { conditions }), 412, 'ConditionNotMet');
	const properties = await blob.getProperties({ conditions: { ifMatch: etag } });
	assert.equal(properties.etag, etag);
	assert.deepEqual(properties.metadata, {});
	assert.equal(properties.leaseState, 'available');
});

test('create only if absent: If-None-Match: *', async () => {
	const blob = container.getBlockBlobClient('once.txt');
	await blob.upload('first', 5, { conditions: { ifNoneMatch: '*' } });
	await rejectsWith(blob.upload('second', 6, { conditions: { ifNoneMatch: '*' } }), 409, 'BlobAlreadyExists');
	assert.equal(await read(blob), 'first');
});

test('pessimistic: a lease of 15 s', async () => {
	const blob = container.getBlockBlobClient('leased.txt');
	const created = await blob.upload('before', 6);
	const lease = blob.getBlobLeaseClient();
	const acquired = await lease.acquireLease(15);
	assert.match(acquired.leaseId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
	assert.equal(acquired.etag, created.etag, 'Lease Blob leaves the ETag alone');
	const properties = await blob.getProperties();
	assert.equal(properties.leaseState, 'leased');
	assert.equal(properties.leaseStatus, 'locked');
	assert.equal(properties.leaseDuration, 'fixed');

	// Without the id: refused. With it: done. Reading needs none.
	await rejectsWith(blob.upload('without', 7), 412, 'LeaseIdMissing');
	await rejectsWith(blob.delete(), 412, 'LeaseIdMissing');
	await rejectsWith(blob.setMetadata({ a: 'b' }), 412, 'LeaseIdMissing');
	const written = await blob.upload('with', 4, { conditions: { leaseId: acquired.leaseId } });
	assert.equal(written._response.status, 201);
	assert.equal(await read(blob), 'with');

	// Another cannot have it.
	await rejectsWith(blob.getBlobLeaseClient().acquireLease(15), 409, 'LeaseAlreadyPresent');
	await rejectsWith(blob.getBlobLeaseClient('11111111-2222-3333-4444-555555555555').renewLease(), 409, 'LeaseIdMismatchWithLeaseOperation');

	// After expiry the old id is worth nothing, and everybody may write again.
	await server.advanceClock(16);
	assert.equal((await blob.getProperties()).leaseState, 'expired');
	await rejectsWith(blob.upload('late', 4, { conditions: { leaseId: acquired.leaseId } }), 412, 'LeaseLost');
	assert.equal(await read(blob), 'with');
	await blob.upload('free', 4);
	assert.equal((await blob.getProperties()).leaseState, 'available');
	await rejectsWith(lease.renewLease(), 409, 'LeaseIdMismatchWithLeaseOperation');
});

test('pessimistic: renew, change, break, release, infinite', async () => {
	const blob = container.getBlockBlobClient('cycle.txt');
	await blob.upload('x', 1);
	const a = '10000000-0000-4000-8000-00000000000a';
	const b = '10000000-0000-4000-8000-00000000000b';
	const lease = blob.getBlobLeaseClient(a);
	await lease.acquireLease(60);
	await server.advanceClock(50);
	await lease.renewLease();
	await server.advanceClock(50);
	assert.equal((await blob.getProperties()).leaseState, 'leased', 'renewal restarts the clock');
	await lease.changeLease(b);
	await rejectsWith(blob.upload('y', 1, { conditions: { leaseId: a } }), 412, 'LeaseIdMismatchWithBlobOperation');
	await blob.upload('y', 1, { conditions: { leaseId: b } });
	await lease.releaseLease();
	assert.equal((await blob.getProperties()).leaseState, 'available');

	await blob.getBlobLeaseClient(a).acquireLease(-1);
	assert.equal((await blob.getProperties()).leaseDuration, 'infinite');
	await server.advanceClock(100);
	assert.equal((await blob.getProperties()).leaseState, 'leased');
	const broken = await blob.getBlobLeaseClient(a).breakLease(20);
	assert.equal(broken.leaseTime, 20);
	assert.equal((await blob.getProperties()).leaseState, 'breaking');
	await rejectsWith(blob.upload('z', 1), 412, 'LeaseIdMissing');
	await blob.upload('z', 1, { conditions: { leaseId: a } });
	await server.advanceClock(21);
	assert.equal((await blob.getProperties()).leaseState, 'broken');
	await rejectsWith(blob.getBlobLeaseClient(a).renewLease(), 409, 'LeaseIsBrokenAndCannotBeRenewed');
	await blob.upload('z', 1);
	assert.equal((await blob.getProperties()).leaseState, 'available');
});

test('container lease: exclusive on delete only', async () => {
	const service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	const c = service.getContainerClient(uniqueName('leased'));
	await c.create();
	const before = (await c.getProperties()).etag;
	const lease = c.getBlobLeaseClient();
	const { leaseId } = await lease.acquireLease(15);
	const properties = await c.getProperties();
	assert.equal(properties.etag, before);
	assert.equal(properties.leaseState, 'leased');
	// Everything else goes on.
	await c.getBlockBlobClient('b').upload('x', 1);
	await c.setMetadata({ a: 'b' });
	await rejectsWith(c.delete(), 412, 'LeaseIdMissing');
	await rejectsWith(c.delete({ conditions: { leaseId: '11111111-2222-3333-4444-555555555555' } }), 412, 'LeaseIdMismatchWithContainerOperation');
	await rejectsWith(c.getBlobLeaseClient().acquireLease(15), 409, 'LeaseAlreadyPresent');
	await server.advanceClock(16);
	await rejectsWith(c.delete({ conditions: { leaseId } }), 412, 'LeaseLost');
	await c.delete();
	await rejectsWith(c.getProperties(), 404, undefined);
});

test('last writer wins without conditions', async () => {
	const blob = container.getBlockBlobClient('last.txt');
	for (const text of ['one', 'two', 'three']) {
		await blob.upload(text, text.length);
		assert.equal(await read(blob), text);
	}
});

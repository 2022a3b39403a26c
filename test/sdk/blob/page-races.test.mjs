// SPDX-License-Identifier: Apache-2.0
// Pages and appended blocks change in place: a reader still sees the record and the bytes of one state.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../lib/server.mjs';
import { uniqueName } from '../../lib/assert.mjs';

const SCALE = Number(process.env.ZAFFRE_TEST_SCALE ?? 1);
const ROUNDS = Math.max(30, Math.floor(300 * SCALE));
let server, container;
before(async () => {
	server = await startServer();
	container = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient(uniqueName('c'));
	await container.create();
});
after(() => server?.remove());

test('readers of a page blob see whole writes, with the ETag they belong to', async () => {
	const blob = container.getPageBlobClient('pages');
	const size = 2 << 20; // crosses chunks of pages
	await blob.create(size);
	const byEtag = new Map();
	const first = await blob.uploadPages(Buffer.alloc(size, 0), 0, size);
	byEtag.set(first.etag, 0);
	let writing = true;
	const seen = [];
	const reader = async () => {
		while (writing) {
			const r = await blob.download();
			const bytes = [];
			for await (const chunk of r.readableStreamBody) bytes.push(chunk);
			const all = Buffer.concat(bytes);
			assert.equal(all.length, size);
			assert.ok(all.equals(Buffer.alloc(size, all[0])), 'bytes of two states');
			seen.push([r.etag, all[0]]);
		}
	};
	const readers = [reader(), reader(), reader()];
	try {
		for (let i = 1; i <= ROUNDS / 3; i++) byEtag.set((await blob.uploadPages(Buffer.alloc(size, i), 0, size)).etag, i);
	} finally {
		writing = false;
		await Promise.all(readers);
	}
	assert.ok(seen.length > 0);
	for (const [etag, byte] of seen) assert.equal(byEtag.get(etag), byte, 'the bytes belong to another ETag');
});

test('readers of an append blob see its length and its bytes together', async () => {
	const blob = container.getAppendBlobClient('appended');
	const lengths = new Map([[(await blob.create()).etag, 0]]);
	let writing = true, reads = 0;
	const reader = async () => {
		while (writing) {
			const r = await blob.download();
			const bytes = [];
			for await (const chunk of r.readableStreamBody ?? []) bytes.push(chunk);
			const all = Buffer.concat(bytes);
			assert.equal(all.length, r.contentLength);
			for (let i = 0; i < all.length; i++) assert.equal(all[i], Math.floor(i / 10) % 251);
			const known = lengths.get(r.etag);
			if (known !== undefined) assert.equal(known, all.length);
			reads++;
		}
	};
	const readers = [reader(), reader(), reader()];
	try {
		for (let i = 0; i < ROUNDS; i++) {
			const r = await blob.appendBlock(Buffer.alloc(10, i % 251), 10);
			lengths.set(r.etag, (i + 1) * 10);
		}
	} finally {
		writing = false;
		await Promise.all(readers);
	}
	assert.ok(reads > 0);
});

// SPDX-License-Identifier: Apache-2.0
// Something to look at: containers, queues and tables as an application would have them, and clients that race over a few of them.
import zlib from 'node:zlib';
import { BlobServiceClient } from '@azure/storage-blob';
import { ShareServiceClient } from '@azure/storage-file-share';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';

// A PNG of 96 by 64 pixels: a few stripes.
function png() {
	const chunk = (type, data) => {
		const body = Buffer.concat([Buffer.from(type), data]), out = Buffer.alloc(8 + body.length);
		out.writeUInt32BE(data.length);
		body.copy(out, 4);
		out.writeUInt32BE(zlib.crc32(body), 4 + body.length);
		return out;
	};
	const head = Buffer.from([0, 0, 0, 96, 0, 0, 0, 64, 8, 2, 0, 0, 0]);
	const rows = Buffer.concat(Array.from({ length: 64 }, (_, y) => Buffer.concat([Buffer.from([0]), ...Array.from({ length: 96 }, (_, x) => Buffer.from([29 + 2 * x, 78 + ((x + y) & 16) * 4, 216 - y]))])));
	return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', head), chunk('IDAT', zlib.deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}
export const PNG = png();

export async function makeWorld(server, { blobs = 40 } = {}) {
	const service = BlobServiceClient.fromConnectionString(server.connectionString);
	const photos = service.getContainerClient('photos');
	await photos.create();
	await service.getContainerClient('backups').create();
	await service.getContainerClient('website').create({ access: 'blob' });
	const put = (name, text, type, metadata) => photos.getBlockBlobClient(name).upload(text, Buffer.byteLength(text), { blobHTTPHeaders: { blobContentType: type }, metadata });
	await put('readme.md', '# Photos\n\nOriginals and thumbnails of the summer.\n', 'text/markdown', { owner: 'ada', project: 'summer' });
	await put('album.json', JSON.stringify({ title: 'Summer', year: 2026, places: ['Lisbon', 'Porto'], cover: 'originals/0001.png' }), 'application/json', { owner: 'ada' });
	await put('logo.png', PNG, 'image/png');
	for (let i = 0; i < blobs; i++) await put(`originals/${String(i).padStart(4, '0')}.png`, PNG, 'image/png', { n: String(i) });
	const notes = photos.getBlockBlobClient('notes.txt');
	for (const text of ['first\nsecond\n', 'first\nsecond, changed\n', 'first\nsecond, changed\nthird\n']) {
		await notes.upload(text, text.length, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
		await notes.createSnapshot();
	}
	await photos.getBlobClient('album.json').getBlobLeaseClient().acquireLease(60);

	const queues = QueueServiceClient.fromConnectionString(server.connectionString);
	const orders = queues.getQueueClient('orders');
	await orders.create();
	await queues.getQueueClient('orders-poison').create();
	const jobs = queues.getQueueClient('jobs');
	await jobs.create();
	for (let i = 1; i <= 8; i++) await orders.sendMessage(Buffer.from(JSON.stringify({ order: 1000 + i, item: 'lens cap', quantity: i })).toString('base64'));
	await orders.sendMessage('plain text, visible in ten minutes', { visibilityTimeout: 600 });
	await orders.receiveMessages({ numberOfMessages: 3, visibilityTimeout: 120 });
	await queues.getQueueClient('orders-poison').sendMessage('{"order": 999, "error": "no such item"}');

	const people = TableClient.fromConnectionString(server.connectionString, 'people', { allowInsecureConnection: true });
	await people.createTable();
	const names = ['Ada', 'Barbara', 'Edsger', 'Grace', 'Ken', 'Margaret', 'Radia', 'Tony'];
	for (let i = 0; i < names.length; i++)
		await people.createEntity({ partitionKey: i < 4 ? 'eu' : 'us', rowKey: String(i).padStart(3, '0'), name: names[i], born: 1900 + i, score: i * 1.5 + 0.25, visits: { type: 'Int64', value: String(2n ** 53n + BigInt(i)) }, active: i % 2 === 0, seen: new Date(Date.UTC(2026, 0, i + 1)) });

	const shares = ShareServiceClient.fromConnectionString(server.connectionString);
	const team = shares.getShareClient('team');
	await team.create();
	const directory = team.getDirectoryClient('reports');
	await directory.create();
	await team.getDirectoryClient('scans').create();
	const report = directory.getFileClient('2026.csv');
	await report.create(64 * 1024);
	await report.uploadRange('month,visits\njanuary,120\n', 0, 25);
	await report.uploadRange('x'.repeat(4096), 32 * 1024, 4096);
	const plan = team.rootDirectoryClient.getFileClient('plan.txt');
	await plan.create(12);
	await plan.uploadRange('Grow slowly.', 0, 12);
	await team.createSnapshot();
	return { service, photos, queues, orders, jobs, people, shares, team };
}

// Writers that race over one blob, one entity and one queue until stop() is called; returns what went wrong beside lost races.
export function startRace(server, world) {
	let running = true;
	const wrong = [];
	const lost = { blob: 0, entity: 0 };
	const loop = async (work) => {
		while (running) {
			try {
				await work();
			} catch (error) {
				wrong.push(error.message);
			}
			await new Promise((resolve) => setTimeout(resolve, 15));
		}
	};
	const counter = world.photos.getBlockBlobClient('counter.txt');
	const blob = async () => {
		const seen = await counter.getProperties().catch(() => null);
		try {
			await counter.upload(String(Date.now()), 13, { conditions: seen ? { ifMatch: seen.etag } : { ifNoneMatch: '*' } });
		} catch (error) {
			if (![409, 412].includes(error.statusCode)) throw error;
			lost.blob++;
		}
	};
	const entity = async () => {
		const seen = await world.people.getEntity('eu', '000');
		try {
			await world.people.updateEntity({ partitionKey: 'eu', rowKey: '000', hits: (seen.hits ?? 0) + 1 }, 'Merge', { etag: seen.etag });
		} catch (error) {
			if (error.statusCode !== 412) throw error;
			lost.entity++;
		}
	};
	const queue = async () => {
		await world.jobs.sendMessage('racing');
		const got = await world.jobs.receiveMessages({ numberOfMessages: 1, visibilityTimeout: 5 });
		for (const one of got.receivedMessageItems)
			if (one.messageText === 'racing') await world.jobs.deleteMessage(one.messageId, one.popReceipt).catch((error) => error.statusCode === 404 || Promise.reject(error));
	};
	const done = Promise.all([loop(blob), loop(blob), loop(entity), loop(entity), loop(queue)]);
	return { lost, wrong, stop: async () => { running = false; await done; return wrong; } };
}

// SPDX-License-Identifier: Apache-2.0
// One file, two doors: what an SMB client's open means to REST, cell by cell as the service documents it, and the
// promises about files marked for deletion. Through every dialect that the raw client speaks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { ACCESS, SHARE, SmbClient, STATUS } from '../lib/smb.mjs';

let server;
let port;
let share;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:doors'] });
	share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('doors');
});
after(async () => {
	await server.stop();
	await server.remove();
});

async function client(dialect = 0x210) {
	const c = await SmbClient.connect(port);
	assert.equal((await c.negotiate({ dialects: [dialect] })).status, 0);
	assert.equal((await c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0);
	return { c, tree: await c.treeConnect('doors') };
}

const file = (name) => share.rootDirectoryClient.getFileClient(name);

async function codeOf(promise) {
	try {
		await promise;
		return 'ok';
	} catch (error) {
		return `${error.statusCode} ${error.code ?? error.details?.errorCode}`;
	}
}

const OPERATIONS = {
	'Create File': (f) => f.create(1024),
	'Get File': async (f) => (await f.download()).readableStreamBody?.resume(),
	'Set Properties': (f) => f.setHttpHeaders({ fileContentType: 'text/plain' }),
	'Set Metadata': (f) => f.setMetadata({ a: 'b' }),
	'Put Range': (f) => f.uploadRange('abcd', 0, 4),
	'List Ranges': (f) => f.getRangeList(),
	'Get Properties': (f) => f.getProperties(),
	'List': (f) => share.rootDirectoryClient.listFilesAndDirectories().next(),
	'Delete File': (f) => f.delete(),
};

// What each share mode of an SMB open stops, as the service documents it. Everything else succeeds.
const STOPPED = [
	[SHARE.NONE, ['Create File', 'Get File', 'Set Properties', 'Set Metadata', 'Put Range', 'List Ranges', 'Delete File']],
	[SHARE.READ, ['Create File', 'Set Properties', 'Set Metadata', 'Put Range', 'Delete File']],
	[SHARE.WRITE, ['Create File', 'Get File', 'List Ranges', 'Delete File']],
	[SHARE.DELETE, ['Create File', 'Get File', 'Set Properties', 'Set Metadata', 'Put Range', 'List Ranges', 'Delete File']],
	[SHARE.READ | SHARE.WRITE, ['Create File', 'Delete File']],
	[SHARE.READ | SHARE.DELETE, ['Create File', 'Set Properties', 'Set Metadata', 'Put Range', 'Delete File']],
	[SHARE.WRITE | SHARE.DELETE, ['Get File', 'List Ranges', 'Delete File']],
	[SHARE.ALL, ['Delete File']],
];

for (const dialect of [0x210, 0x300, 0x302])
	test(`share modes against REST, dialect ${dialect.toString(16)}`, { timeout: 120_000 }, async () => {
		const { c, tree } = await client(dialect);
		for (const [mode, stopped] of STOPPED) {
			const name = `modes-${dialect}-${mode}`;
			await file(name).create(1024);
			const open = await c.create(tree, name, { access: ACCESS.READ, share: mode, disposition: 1 });
			assert.equal(open.status, 0);
			for (const [operation, run] of Object.entries(OPERATIONS))
				assert.equal(await codeOf(run(file(name))), stopped.includes(operation) ? '409 SharingViolation' : 'ok', `${operation}, share mode ${mode}`);
			assert.equal((await c.close(tree, open.id)).status, 0);
			assert.equal(await codeOf(file(name).delete()), 'ok');
		}
		await c.end();
	});

test('share none: REST is refused until the close, then at once let in', async () => {
	const { c, tree } = await client();
	const open = await c.create(tree, 'exclusive', { share: SHARE.NONE, disposition: 2 });
	assert.equal((await c.write(tree, open.id, 0, Buffer.from('from smb'))).status, 0);
	assert.equal(await codeOf(file('exclusive').uploadRange('rest', 0, 4)), '409 SharingViolation');
	await c.close(tree, open.id);
	assert.equal((await file('exclusive').downloadToBuffer()).toString(), 'from smb');
	await file('exclusive').uploadRange('rest', 0, 4);
	const again = await c.create(tree, 'exclusive', { disposition: 1 });
	assert.equal((await c.read(tree, again.id, 0, 100)).data.toString(), 'rest smb');
	await c.end();
});

test('a connection that breaks gives its file free', async () => {
	const { c, tree } = await client();
	assert.equal((await c.create(tree, 'broken', { share: SHARE.NONE, disposition: 2 })).status, 0);
	assert.equal(await codeOf(file('broken').delete()), '409 SharingViolation');
	await c.end();
	for (let i = 0; i < 100 && (await codeOf(file('broken').delete())) !== 'ok'; i++) await new Promise((r) => setTimeout(r, 20));
	assert.equal(await codeOf(file('broken').getProperties()), '404 ResourceNotFound');
});

test('marked for deletion: pending for REST, cleared, gone with the last close', async () => {
	const { c, tree } = await client();
	const names = async () => {
		const all = [];
		for await (const entry of share.rootDirectoryClient.listFilesAndDirectories()) all.push(entry.name);
		return all;
	};
	const first = await c.create(tree, 'pending', { disposition: 2 });
	const second = await c.create(tree, 'pending', { disposition: 1 });
	assert.equal((await c.setDisposition(tree, first.id, true)).status, 0);
	assert.match(await codeOf(file('pending').getProperties()), /^409 (SMBDeletePending|DeletePending)$/);
	assert.match(await codeOf(file('pending').uploadRange('x', 0, 1)), /^409 (SMBDeletePending|DeletePending)$/);
	assert.ok(!(await names()).includes('pending'));
	assert.equal((await c.create(tree, 'pending', { disposition: 1 })).status, STATUS.DELETE_PENDING);
	assert.equal((await c.setDisposition(tree, second.id, false)).status, 0);
	assert.equal(await codeOf(file('pending').getProperties()), 'ok');
	assert.ok((await names()).includes('pending'));
	assert.equal((await c.setDisposition(tree, second.id, true)).status, 0);
	await c.close(tree, first.id);
	assert.match(await codeOf(file('pending').getProperties()), /^409/);
	await c.close(tree, second.id);
	assert.equal(await codeOf(file('pending').getProperties()), '404 ResourceNotFound');
	await c.end();
});

test('delete on close', async () => {
	const { c, tree } = await client();
	const open = await c.create(tree, 'temporary', { disposition: 2, options: 0x1000 });
	assert.equal(await codeOf(file('temporary').getProperties()), 'ok');
	await c.close(tree, open.id);
	assert.equal(await codeOf(file('temporary').getProperties()), '404 ResourceNotFound');
	await c.end();
});

test('byte-range locks stop REST reads and writes of those bytes', async () => {
	const { c, tree } = await client();
	await file('locked').create(1000);
	const open = await c.create(tree, 'locked', { disposition: 1 });
	assert.equal((await c.lock(tree, open.id, [[100, 50, 0x12]])).status, 0);
	assert.equal(await codeOf(file('locked').uploadRange('x'.repeat(10), 145, 10)), '409 FileLockConflict');
	assert.equal(await codeOf(file('locked').uploadRange('x'.repeat(10), 150, 10)), 'ok');
	assert.equal(await codeOf(file('locked').downloadToBuffer(90, 20)), '409 FileLockConflict');
	assert.equal((await c.lock(tree, open.id, [[100, 50, 4]])).status, 0);
	assert.equal(await codeOf(file('locked').downloadToBuffer(90, 20)), 'ok');
	await c.end();
});

test('a batch oplock: REST waits for the acknowledgement and sees what the holder wrote', async () => {
	const { c, tree } = await client();
	await file('cached').create(8);
	const open = await c.create(tree, 'cached', { disposition: 1, oplock: 9 });
	assert.equal(open.oplock, 9);
	let done = false;
	const read = file('cached').downloadToBuffer().then((bytes) => {
		done = true;
		return bytes.toString();
	});
	const broken = await c.nextBreak();
	assert.equal(broken.body[2], 1); /* to level II */
	assert.equal((await c.write(tree, open.id, 0, Buffer.from('flushed!'))).status, 0);
	assert.equal(done, false);
	assert.equal((await c.acknowledgeOplock(tree, open.id, 1)).status, 0);
	assert.equal(await read, 'flushed!');
	await file('cached').uploadRange('rest', 0, 4);
	assert.equal((await c.nextBreak()).body[2], 0);
	await c.end();
});

test('handles are listed and closed by force', async () => {
	const { c, tree } = await client();
	await file('handles').create(8);
	const open = await c.create(tree, 'handles', { disposition: 1, share: SHARE.NONE });
	const listed = [];
	for await (const handle of file('handles').listHandles()) listed.push(handle);
	assert.equal(listed.length, 1);
	assert.equal(listed[0].path, 'handles');
	assert.equal((await file('handles').forceCloseAllHandles()).closedHandlesCount, 1);
	assert.equal((await c.read(tree, open.id, 0, 1)).status, STATUS.FILE_CLOSED);
	assert.equal(await codeOf(file('handles').delete()), 'ok');
	await c.end();
});

test('exactly one of many racing exclusive creates wins, whichever door', { timeout: 60_000 }, async () => {
	const clients = await Promise.all([...Array(6)].map(() => client()));
	for (let round = 0; round < 20; round++) {
		const name = `race-${round}`;
		const answers = await Promise.all(clients.map(({ c, tree }) => c.create(tree, name, { disposition: 2, share: SHARE.NONE })));
		assert.equal(answers.filter((a) => a.status === 0).length, 1);
	}
	await Promise.all(clients.map(({ c }) => c.end()));
});

// SPDX-License-Identifier: Apache-2.0
// One file, two doors: what an SMB client's open means to REST, cell by cell as the service documents it, and the
// promises about files marked for deletion. In every dialect, signed and encrypted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer } from '../lib/server.mjs';
import { ACCESS, CIPHER, connected, SHARE, SIGNING, STATUS } from '../lib/smb.mjs';

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

// Every dialect, and each way of encryption.
const DOORS = {
	'2.1': { dialects: [0x210] },
	'3.0': { dialects: [0x300] },
	'3.0.2': { dialects: [0x302] },
	'3.1.1': { dialects: [0x311] },
	'3.1.1 signed by AES-GMAC': { dialects: [0x311], signing: SIGNING.AES_GMAC },
	'3.0 encrypted': { dialects: [0x300], encrypt: true },
	'3.1.1 encrypted': { dialects: [0x311], encrypt: true, ciphers: [CIPHER.AES_256_GCM] },
};

async function client(door = DOORS['2.1'], to = port) {
	const { c, tree } = await connected(to, 'doors', door);
	assert.equal(Boolean(c.decrypted), Boolean(door.encrypt), 'encrypted as asked');
	return { c, tree };
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

// Lease File is an open that reads, writes and deletes, and shares reading: only an open that shares everything lets it in.
async function leaseIsStopped(name) {
	const lease = file(name).getShareLeaseClient();
	const code = await codeOf(lease.acquireLease(-1));
	if (code === 'ok') await lease.releaseLease();
	return code;
}

for (const [door, how] of Object.entries(DOORS))
	test(`share modes against REST, ${door}`, { timeout: 120_000 }, async () => {
		const { c, tree } = await client(how);
		for (const [mode, stopped] of STOPPED) {
			const name = `modes-${door}-${mode}`;
			await file(name).create(1024);
			const open = await c.create(tree, name, { access: ACCESS.READ, share: mode, disposition: 1 });
			assert.equal(open.status, 0);
			for (const [operation, run] of Object.entries(OPERATIONS))
				assert.equal(await codeOf(run(file(name))), stopped.includes(operation) ? '409 SharingViolation' : 'ok', `${operation}, share mode ${mode}`);
			assert.equal(await leaseIsStopped(name), mode === SHARE.ALL ? 'ok' : '409 SharingViolation', `Lease File, share mode ${mode}`);
			assert.equal((await c.close(tree, open.id)).status, 0);
			assert.equal(await codeOf(file(name).delete()), 'ok');
		}
		await c.end();
	});

for (const [door, how] of Object.entries(DOORS))
	test(`leases of REST and the access of opens, ${door}`, { timeout: 120_000 }, async () => {
		const { c, tree } = await client(how);
		const name = `leased-${door}`;
		const accesses = [[ACCESS.READ_ATTRIBUTES, false], [1, false], [2, true], [ACCESS.DELETE, true], [1 | 2, true], [1 | ACCESS.DELETE, true], [2 | ACCESS.DELETE, true], [1 | 2 | ACCESS.DELETE, true]];
		await file(name).create(1024);
		for (const [access, stops] of accesses) {
			const open = await c.create(tree, name, { access, disposition: 1 });
			assert.equal(open.status, 0);
			assert.equal(await leaseIsStopped(name), stops ? '409 SharingViolation' : 'ok', `an open with access ${access}`);
			await c.close(tree, open.id);
		}
		const lease = file(name).getShareLeaseClient();
		await lease.acquireLease(-1);
		for (const [access, stops] of accesses) {
			const open = await c.create(tree, name, { access, disposition: 1 });
			assert.equal(open.status, stops ? STATUS.SHARING_VIOLATION : 0, `opening with access ${access} while leased`);
			if (!stops) await c.close(tree, open.id);
		}
		await lease.breakLease();
		const open = await c.create(tree, name, { disposition: 1 });
		assert.equal(open.status, 0);
		await c.end();
	});

// What REST does to caches: [state asked, operation, state it is broken to (absent: no break), does REST wait].
const R = 1, H = 2, W = 4;
const READS = ['Get File', 'Get Properties', 'List Ranges', 'Get Metadata'];
const WRITES = ['Put Range', 'Set Properties', 'Set Metadata'];
const BREAKS = [
	...READS.flatMap((operation) => [[R | W | H, operation, R | H, true], [R | H, operation], [R | W, operation, R, true]]),
	...WRITES.flatMap((operation) => [[R | W | H, operation, 0, true], [R | H, operation, 0, false], [R | W, operation, 0, true]]),
	[R | W | H, 'List'], [R | H, 'List'], [R | W, 'List'],
	[R | W | H, 'Delete File', R | W, true], [R | H, 'Delete File', R, true], [R | W, 'Delete File'],
];

async function leased(c, tree, name, state) {
	const key = Buffer.from(name.padEnd(16).slice(-16));
	const data = Buffer.alloc(32);
	key.copy(data);
	data.writeUInt32LE(state, 16);
	const open = await c.create(tree, name, { disposition: 1, oplock: 0xff, contexts: [['RqLs', data]] });
	assert.equal(open.status, 0);
	const granted = open.body.indexOf('RqLs');
	assert.equal(open.body.readUInt32LE(granted + 8 + 16), state, 'the lease asked for is granted');
	return { open, key };
}

async function breakCell(c, tree, name, [state, operation, to, waits]) {
	await file(name).create(1024);
	const { open, key } = await leased(c, tree, name, state);
	let done = false;
	const run = OPERATIONS[operation] ?? ((f) => f.getProperties());
	const answer = codeOf(run(file(name))).then((code) => {
		done = true;
		return code;
	});
	const wanted = operation === 'Delete File' ? '409 SharingViolation' : 'ok'; // it is still open
	if (to === undefined) {
		assert.equal(await answer, wanted);
		assert.equal(c.breaks.length, 0, 'nothing is broken');
	} else {
		const { body } = await c.nextBreak();
		assert.deepEqual(body.subarray(8, 24), key);
		assert.equal(body.readUInt32LE(24), state);
		assert.equal(body.readUInt32LE(28), to);
		assert.equal(body.readUInt32LE(4) & 1, 1, 'an acknowledgement is asked for whenever more than R was held');
		if (waits) {
			assert.equal((await c.echo()).status, 0);
			assert.equal(done, false, 'REST waits');
		} else {
			assert.equal(await answer, wanted); // before anything is acknowledged
		}
		assert.equal((await c.acknowledgeLease(tree, key, to)).status, 0, 'also a late one is taken');
		assert.equal(await answer, wanted);
	}
	assert.equal((await c.close(tree, open.id)).status, 0);
	assert.equal(await codeOf(file(name).delete()), 'ok');
}

for (const [door, how] of Object.entries(DOORS))
	test(`caches against REST, ${door}`, { timeout: 120_000 }, async () => {
		const { c, tree } = await client(how);
		for (const [i, cell] of BREAKS.entries())
			try {
				await breakCell(c, tree, `caches-${door.replaceAll(/[ .]/g, '')}-${i}`, cell);
			} catch (error) {
				error.message = `${cell[1]} against ${cell[0]}: ${error.message}`;
				throw error;
			}
		await c.end();
	});

test('REST deletes a file whose holder only cached its handle, and closes it when asked', async () => {
	const { c, tree } = await client(DOORS['3.1.1']);
	await file('let-go').create(8);
	const { open } = await leased(c, tree, 'let-go', R | W | H);
	const answer = codeOf(file('let-go').delete());
	await c.nextBreak();
	assert.equal((await c.close(tree, open.id)).status, 0);
	assert.equal(await answer, 'ok');
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
	assert.equal(await codeOf(file('pending').getProperties()), '409 SMBDeletePending');
	assert.equal(await codeOf(file('pending').uploadRange('x', 0, 1)), '409 SMBDeletePending');
	assert.ok(!(await names()).includes('pending'));
	assert.equal((await c.create(tree, 'pending', { disposition: 1 })).status, STATUS.DELETE_PENDING);
	assert.equal((await c.setDisposition(tree, second.id, false)).status, 0);
	assert.equal(await codeOf(file('pending').getProperties()), 'ok');
	assert.ok((await names()).includes('pending'));
	assert.equal((await c.setDisposition(tree, second.id, true)).status, 0);
	await c.close(tree, first.id);
	assert.equal(await codeOf(file('pending').getProperties()), '409 SMBDeletePending');
	await c.close(tree, second.id);
	assert.equal(await codeOf(file('pending').getProperties()), '404 ResourceNotFound');
	await c.end();
});

test('marked for deletion: the other name of the code (--deletePendingCode)', async () => {
	const smbPort = await freePort();
	const other = await startServer({ flags: ['--smbPort', String(smbPort), '--create', 'share:doors', '--deletePendingCode', 'DeletePending'] });
	try {
		const doomed = ShareServiceClient.fromConnectionString(other.connectionString).getShareClient('doors').rootDirectoryClient.getFileClient('doomed');
		const { c, tree } = await client(DOORS['3.1.1'], smbPort);
		const open = await c.create(tree, 'doomed', { disposition: 2 });
		assert.equal((await c.setDisposition(tree, open.id, true)).status, 0);
		for (const ask of [() => doomed.getProperties(), () => doomed.download(), () => doomed.uploadRange('x', 0, 1), () => doomed.delete()]) {
			assert.equal(await codeOf(ask()), '409 DeletePending');
		}
		await c.close(tree, open.id);
		assert.equal(await codeOf(doomed.getProperties()), '404 ResourceNotFound');
		await c.end();
	} finally {
		await other.stop();
		await other.remove();
	}
});

test('delete on close', async () => {
	const { c, tree } = await client();
	const open = await c.create(tree, 'temporary', { disposition: 2, options: 0x1000 });
	assert.equal(await codeOf(file('temporary').getProperties()), 'ok');
	await c.close(tree, open.id);
	assert.equal(await codeOf(file('temporary').getProperties()), '404 ResourceNotFound');
	await c.end();
});

test('byte-range locks stop REST reads of those bytes, and every write', async () => {
	const { c, tree } = await client();
	await file('locked').create(1000);
	const open = await c.create(tree, 'locked', { disposition: 1 });
	assert.equal((await c.lock(tree, open.id, [[100, 50, 0x12]])).status, 0);
	assert.equal(await codeOf(file('locked').uploadRange('x'.repeat(10), 145, 10)), '409 FileLockConflict');
	assert.equal(await codeOf(file('locked').uploadRange('x'.repeat(10), 150, 10)), '409 FileLockConflict');
	assert.equal(await codeOf(file('locked').downloadToBuffer(150, 10)), 'ok');
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

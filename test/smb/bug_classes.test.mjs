// SPDX-License-Identifier: Apache-2.0
// The kinds of faults that file servers were found to have, each as a test of its own name; what other servers let pass
// and this one refuses; and a share that goes while its files are open.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { ACCESS, COMMAND, connected, SHARE, SmbClient, STATUS } from '../lib/smb.mjs';

const EAS_NOT_SUPPORTED = 0xc000004f, NO_EAS = 0xc0000052, INVALID_SECURITY = 0xc0000079, DISK_FULL = 0xc000007f;
const ANY_ID = Buffer.alloc(16, 0xff);
const BATCH = 9;
let server, port, shares;

before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:faults'] });
	shares = ShareServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(async () => {
	await server.stop();
	await server.remove();
});

const client = ({ dialects = [0x300], share = 'faults', guid } = {}) => connected(port, share, { dialects, guid });

async function alive() {
	const { c } = await client();
	assert.equal((await c.echo()).status, 0);
	await c.end();
}

async function made(c, tree, name, options) {
	const answer = await c.create(tree, name, options);
	assert.equal(answer.status, 0, `${name}: ${answer.status?.toString(16)}`);
	return answer.id;
}

const refused = (answer, what) => assert.ok(answer.closed || answer.status >= 0xc0000000, `${what}: ${answer.status?.toString(16)}`);

test('compound sizes and chains', { timeout: 60_000 }, async () => {
	const echo = Buffer.from([4, 0, 0, 0]);
	// A chain of signed ECHOs whose parts are cut or lead on wrongly.
	const chain = async (count, bend) => {
		const { c } = await client();
		const parts = Array.from({ length: count }, (_, i) => {
			const part = Buffer.concat([c.header(COMMAND.ECHO, { messageId: c.messageId + BigInt(i), next: i + 1 < count ? 72 : 0 }), echo, Buffer.alloc(i + 1 < count ? 4 : 0)]);
			return part;
		});
		bend(parts);
		parts.forEach((part) => part.length >= 64 && c.sign(part));
		const answers = parts.map((_, i) => c.expect(c.messageId + BigInt(i)));
		c.send(Buffer.concat(parts));
		const results = await Promise.all(answers);
		await c.end();
		return results;
	};
	for (const count of [2, 3, 32]) assert.ok((await chain(count, () => {})).every(({ status }) => status === 0), `${count} parts`);
	for (const next of [1, 8, 64, 71, 73, 144, 0x7ffffff8, 0xfffffff8])
		assert.ok((await chain(2, (parts) => parts[0].writeUInt32LE(next, 20))).some(({ closed }) => closed), `next ${next}`);
	for (const left of [1, 8, 63, 64, 65])
		(await chain(2, (parts) => (parts[1] = parts[1].subarray(0, left)))).slice(1).forEach((answer) => refused(answer, `${left} bytes of the last part`));
	refused((await chain(2000, () => {})).at(-1), 'very many parts');
	await alive();
});

test('transform header minimum', { timeout: 60_000 }, async () => {
	for (const length of [0, 1, 51, 52, 53, 115])
		for (const size of new Set([0, 1, Math.max(0, length - 52), length, 0xffffffff])) {
			const { c } = await client();
			const message = Buffer.alloc(Math.max(4, length));
			message.write('\xfdSMB', 0, 'latin1');
			if (length >= 40) message.writeUInt32LE(size, 36);
			if (length >= 44) message.writeUInt16LE(1, 42);
			if (length >= 52) message.writeBigUInt64LE(c.sessionId, 44);
			c.send(message);
			await c.ended;
		}
	await alive();
});

test('a second NEGOTIATE ends the connection, with what it held', async () => {
	for (const dialects of [[0x210], [0x300], [0x311]]) {
		const { c, tree } = await client({ dialects });
		await made(c, tree, 'negotiated twice', { share: SHARE.NONE });
		c.signKey = null;
		assert.ok((await c.negotiate({ dialects })).closed);
		const other = await client();
		await other.c.close(other.tree, await made(other.c, other.tree, 'negotiated twice', { share: SHARE.NONE }));
		await other.c.end();
	}
});

test('a request that waits, cancelled twice, ends once', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const [holder, waiter] = [await made(c, tree, 'cancelled'), await made(c, tree, 'cancelled')];
	assert.equal((await c.lock(tree, holder, [[0, 10, 2]])).status, 0);
	for (let round = 0; round < 20; round++) {
		const interim = new Promise((resolve) => (c.onInterim = resolve));
		const messageId = c.messageId;
		const waits = c.lock(tree, waiter, [[0, 10, 2]]);
		const { header } = await interim;
		const cancel = () => {
			const part = Buffer.concat([c.header(COMMAND.CANCEL, { flags: 2, messageId }), Buffer.from([4, 0, 0, 0])]);
			part.writeBigUInt64LE(header.asyncId, 32);
			return c.sign(part);
		};
		c.send(cancel());
		c.send(cancel());
		c.send(c.sign(Buffer.concat([c.header(COMMAND.CANCEL, { messageId }), Buffer.from([4, 0, 0, 0])])));
		assert.equal((await waits).status, STATUS.CANCELLED);
		let again = 0;
		c.waiting.set(messageId, () => again++);
		assert.equal((await c.echo()).status, 0);
		assert.equal(again, 0, 'answered twice');
		c.waiting.delete(messageId);
	}
	await c.end();
});

test('a session that goes before it was authenticated', { timeout: 60_000 }, async () => {
	const first = Buffer.alloc(32);
	first.write('NTLMSSP\0\x01', 0, 'latin1');
	first.writeUInt32LE(0x20088205, 12);
	const begin = async () => {
		const c = await SmbClient.connect(port);
		await c.negotiate({ dialects: [0x300] });
		const half = await c.sessionSetup(first, { sessionId: 0n });
		assert.equal(half.status, STATUS.MORE);
		return { c, id: half.header.sessionId };
	};
	const logoff = (c, sessionId) => c.request(COMMAND.LOGOFF, Buffer.from([4, 0, 0, 0]), { sessionId });
	// LOGOFF in the middle, then the end of the login: there is nobody to log in.
	const one = await begin();
	refused(await logoff(one.c, one.id), 'LOGOFF of half a session');
	refused(await one.c.sessionSetup(Buffer.from('garbage'), { sessionId: one.id }), 'garbage as the second step');
	refused(await one.c.sessionSetup(first, { sessionId: one.id }), 'a first step for a session that is gone');
	refused(await logoff(one.c, one.id), 'LOGOFF of a session that is gone');
	assert.equal((await one.c.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY)).status, 0, 'another login on that connection');
	await one.c.end();
	// Its connection breaks; it is named as the former session, and asked for, by others.
	const two = await begin();
	const other = await SmbClient.connect(port);
	await other.negotiate({ dialects: [0x300] });
	refused(await other.sessionSetup(first, { sessionId: two.id, flags: 1 }), 'a channel to half a session');
	await two.c.end();
	assert.equal((await other.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { previous: two.id })).status, 0);
	await other.end();
	// Many of them, without an end.
	for (let i = 0; i < 50; i++) (await begin()).c.end();
	await alive();
});

test('durable handles that are scavenged', { timeout: 120_000 }, async () => {
	const guid = crypto.randomBytes(16);
	const durable = ['DHnQ', Buffer.alloc(16)];
	const leave = async (name) => {
		const { c, tree } = await client({ guid });
		const id = await made(c, tree, name, { oplock: BATCH, contexts: [durable] });
		await c.end();
		return id;
	};
	const reconnect = async (name, id) => {
		const { c, tree } = await client({ guid });
		const answer = await c.create(tree, name, { oplock: BATCH, contexts: [['DHnC', id]] });
		return { c, tree, answer };
	};
	// Whoever came back gives its oplock away when asked.
	const givesAway = (back) => {
		back.c.nextBreak(3000).then(() => back.c.acknowledgeOplock(back.tree, back.answer.id, 0), () => {});
		return back;
	};
	// Nobody came: it is there. Somebody needed the file: it is gone, and stays gone.
	const kept = await reconnect('durable', await leave('durable'));
	assert.equal(kept.answer.status, 0);
	await kept.c.end();
	const id = await leave('durable 2');
	const taker = await client();
	await made(taker.c, taker.tree, 'durable 2', { share: SHARE.NONE });
	for (let i = 0; i < 3; i++) {
		const late = await reconnect('durable 2', id);
		assert.equal(late.answer.status, STATUS.NOT_FOUND);
		await late.c.end();
	}
	await taker.c.end();
	// Both at once: never do both have it.
	for (let round = 0; round < 15; round++) {
		const name = `durable race ${round}`;
		const old = await leave(name);
		const rival = await client();
		const [back, taken] = await Promise.all([reconnect(name, old).then(givesAway), rival.c.create(rival.tree, name, { share: SHARE.NONE, disposition: 1 })]);
		assert.ok(back.answer.status === 0 || back.answer.status === STATUS.NOT_FOUND || back.answer.status === STATUS.SHARING_VIOLATION, back.answer.status?.toString(16));
		assert.ok(taken.status === 0 || taken.status === STATUS.SHARING_VIOLATION, taken.status?.toString(16));
		assert.ok(!(back.answer.status === 0 && taken.status === 0), 'both have it');
		await Promise.all([back.c.end(), rival.c.end()]);
	}
	await alive();
});

test('lengths of FSCTLs', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const id = await made(c, tree, 'fsctl');
	await c.write(tree, id, 0, Buffer.alloc(4096, 7));
	const ioctl = (code, file, input, room) => {
		const body = Buffer.alloc(56);
		body.writeUInt16LE(57, 0);
		body.writeUInt32LE(code, 4);
		file.copy(body, 8);
		body.writeUInt32LE(120, 24);
		body.writeUInt32LE(input.length, 28);
		body.writeUInt32LE(room, 44);
		body.writeUInt32LE(1, 48);
		return c.request(COMMAND.IOCTL, Buffer.concat([body, input, Buffer.alloc(1)]), { tree });
	};
	const key = (await ioctl(0x00140078, id, Buffer.alloc(0), 32)).body.subarray(48, 72);
	for (const room of [0, 1, 31]) refused(await ioctl(0x00140078, id, Buffer.alloc(0), room), `resume key, ${room}`);
	const chunks = (count, said = count) => {
		const input = Buffer.alloc(32 + 24 * count);
		key.copy(input);
		input.writeUInt32LE(said, 24);
		for (let i = 0; i < count; i++) input.writeUInt32LE(16, 32 + 24 * i + 16);
		return input;
	};
	assert.equal((await ioctl(0x001440f2, id, chunks(2), 12)).status, 0);
	for (const said of [3, 256, 257, 0x0aaaaaab, 0x7fffffff, 0xffffffff]) refused(await ioctl(0x001440f2, id, chunks(2, said), 12), `${said} chunks said`);
	for (const length of [0, 1, 23, 24, 31, 33, 55, 79]) refused(await ioctl(0x001440f2, id, chunks(2).subarray(0, length), 12), `copychunk of ${length} bytes`);
	for (const room of [0, 11]) refused(await ioctl(0x001440f2, id, chunks(1), room), `copychunk, ${room}`);
	for (const room of [0, 1, 15]) refused(await ioctl(0x00144064, id, Buffer.alloc(0), room), `snapshots, ${room}`);
	for (const length of [0, 1]) refused(await ioctl(0x0009c040, id, Buffer.alloc(length), 0), `compression of ${length} bytes`);
	for (const room of [0, 1]) refused(await ioctl(0x0009003c, id, Buffer.alloc(0), room), `compression, ${room}`);
	for (const room of [0, 63]) refused(await ioctl(0x000900c0, id, Buffer.alloc(0), room), `object id, ${room}`);
	for (const room of [0, 151, 159]) refused(await ioctl(0x001401fc, ANY_ID, Buffer.alloc(0), room), `interfaces, ${room}`);
	assert.equal((await c.echo()).status, 0);
	await c.end();
	for (const length of [0, 1, 23, 25]) {
		const other = await client();
		const body = Buffer.alloc(56);
		body.writeUInt16LE(57, 0);
		body.writeUInt32LE(0x00140204, 4);
		ANY_ID.copy(body, 8);
		body.writeUInt32LE(120, 24);
		body.writeUInt32LE(length, 28);
		body.writeUInt32LE(24, 44);
		body.writeUInt32LE(1, 48);
		const answer = await other.c.request(COMMAND.IOCTL, Buffer.concat([body, Buffer.alloc(length + 1, 1)]), { tree: other.tree });
		refused(answer, `validate negotiate of ${length} bytes`);
		await other.c.end();
	}
	await alive();
});

test('lengths of extended attributes', async () => {
	const { c, tree } = await client();
	const id = await made(c, tree, 'attributes');
	const ea = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 3, 5, 0]), Buffer.from('KEY\0value')]);
	for (const [next, name, value] of [[0, 3, 5], [1, 3, 5], [0xffffffff, 3, 5], [0, 255, 5], [0, 3, 0xffff], [0, 0, 0]])
		for (const length of [0, 1, 7, 8, ea.length - 1, ea.length]) {
			const bent = Buffer.from(ea);
			bent.writeUInt32LE(next, 0);
			bent[5] = name;
			bent.writeUInt16LE(value, 6);
			const cut = bent.subarray(0, length);
			refused(await c.setInfo(tree, id, 15, cut), `SET_INFO of ${length}`);
			const answer = await c.create(tree, 'attributes 2', { contexts: [['ExtA', cut]] });
			assert.equal(answer.status, EAS_NOT_SUPPORTED);
		}
	const query = Buffer.alloc(40 + ea.length);
	query.writeUInt16LE(41, 0);
	query[2] = 1;
	query[3] = 15;
	query.writeUInt32LE(4096, 4);
	query.writeUInt16LE(104, 8);
	query.writeUInt32LE(ea.length, 12);
	id.copy(query, 24);
	ea.copy(query, 40);
	assert.equal((await c.request(COMMAND.QUERY_INFO, query, { tree })).status, NO_EAS);
	await c.end();
});

test('counts and sizes of ACLs', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	const id = await made(c, tree, 'acl');
	const sid = Buffer.from([1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
	const descriptor = ({ count = 1, aclSize, aceSize = 20, subs = 1, dacl = 20, revision = 2 } = {}) => {
		const ace = Buffer.concat([Buffer.from([0, 0, 0, 0]), Buffer.from([0xff, 1, 0x1f, 0]), sid]);
		ace.writeUInt16LE(aceSize, 2);
		ace[9] = subs;
		const acl = Buffer.alloc(8);
		acl[0] = revision;
		acl.writeUInt16LE(aclSize ?? 8 + ace.length, 2);
		acl.writeUInt16LE(count, 4);
		const head = Buffer.alloc(20);
		head[0] = 1;
		head.writeUInt16LE(0x8004, 2);
		head.writeUInt32LE(dacl, 16);
		return Buffer.concat([head, acl, ace]);
	};
	const set = (data) => {
		const body = Buffer.alloc(32);
		body.writeUInt16LE(33, 0);
		body[2] = 3;
		body.writeUInt32LE(data.length, 4);
		body.writeUInt16LE(96, 8);
		body.writeUInt32LE(4, 12);
		id.copy(body, 16);
		return c.request(COMMAND.SET_INFO, Buffer.concat([body, data]), { tree });
	};
	assert.equal((await set(descriptor())).status, 0);
	const bent = [{ count: 2 }, { count: 1820 }, { count: 0xffff }, { aclSize: 0 }, { aclSize: 7 }, { aclSize: 27 }, { aclSize: 29 }, { aclSize: 0xffff },
		{ aceSize: 0 }, { aceSize: 7 }, { aceSize: 19 }, { aceSize: 21 }, { aceSize: 0xffff }, { subs: 2 }, { subs: 15 }, { subs: 16 }, { subs: 255 },
		{ dacl: 19 }, { dacl: 48 }, { dacl: 47 }, { dacl: 0x7fffffff }, { dacl: 0xffffffff }];
	for (const how of bent) {
		const { status } = await set(descriptor(how));
		assert.ok([STATUS.INVALID_PARAMETER, INVALID_SECURITY].includes(status), `${JSON.stringify(how)}: ${status?.toString(16)}`);
		const created = await c.create(tree, `acl ${JSON.stringify(how).replace(/[^a-z0-9]/gi, '')}`, { contexts: [['SecD', descriptor(how)]] });
		refused(created, `CREATE with ${JSON.stringify(how)}`);
	}
	const whole = descriptor();
	for (let length = 0; length < whole.length; length++) refused(await set(whole.subarray(0, length)), `${length} bytes`);
	await c.end();
	await alive();
});

// Samba 4.17 answers each of these twelve with success.
test('what Samba lets pass is refused', { timeout: 60_000 }, async () => {
	const negotiated = async (bend) => {
		const c = await SmbClient.connect(port);
		const { status } = await c.negotiate({ dialects: [0x311], bend });
		await c.end();
		return status;
	};
	const signing = [8, Buffer.from([1, 0, 1, 0])];
	assert.equal(await negotiated((all) => all), 0);
	assert.equal(await negotiated(([preauth, ...rest]) => [preauth, preauth, ...rest]), STATUS.INVALID_PARAMETER, 'two pre-authentication contexts');
	assert.equal(await negotiated(([preauth, ciphers]) => [preauth, ciphers, ciphers]), STATUS.INVALID_PARAMETER, 'two lists of ciphers');
	assert.equal(await negotiated((all) => [...all, signing, signing]), STATUS.INVALID_PARAMETER, 'two lists of signing algorithms');
	const anonymous = await SmbClient.connect(port);
	await anonymous.negotiate({ dialects: [0x300] });
	assert.equal((await anonymous.login('', '', { proofBytes: 0 })).status, STATUS.LOGON_FAILURE, 'anonymous');
	await anonymous.end();
	const { c, tree } = await client({ dialects: [0x311] });
	const id = await made(c, tree, 'lenient');
	await c.write(tree, id, 0, Buffer.alloc(100));
	const create = async (name, options) => (await c.create(tree, name, options)).status;
	const time = Buffer.alloc(8);
	time.writeBigUInt64LE(132000000000000000n);
	assert.equal(await create('lenient', { access: 0 }), STATUS.ACCESS_DENIED, 'no access asked for');
	assert.equal(await create('lenient', { access: ACCESS.READ, disposition: 1, contexts: [['TWrp', time]] }), STATUS.NOT_FOUND, 'the live file for a snapshot that is none');
	assert.equal(await create('lenient', { attributes: 0x8048 }), STATUS.INVALID_PARAMETER, 'attributes that are none');
	assert.equal(await create('lenient', { share: 0xff }), STATUS.INVALID_PARAMETER, 'share modes that are none');
	assert.equal(await create('COM1'), 0xc0000033, 'the name of a device');
	const write = SmbClient.writeBody(id, 0, Buffer.from('rdma'));
	write.writeUInt32LE(1, 32);
	assert.equal((await c.request(COMMAND.WRITE, write, { tree })).status, STATUS.INVALID_PARAMETER, 'WRITE over a channel that is none');
	const read = Buffer.alloc(49);
	read.writeUInt16LE(49, 0);
	read[2] = 0x50;
	read.writeUInt32LE(10, 4);
	id.copy(read, 16);
	assert.equal((await c.request(COMMAND.READ, read, { tree })).status, 0);
	read.writeUInt32LE(1, 36);
	assert.equal((await c.request(COMMAND.READ, read, { tree })).status, STATUS.INVALID_PARAMETER, 'READ over a channel that is none');
	const position = Buffer.alloc(8);
	position.writeBigInt64LE(-5n);
	assert.equal((await c.setInfo(tree, id, 14, position)).status, STATUS.INVALID_PARAMETER, 'a position before the file');
	await c.end();
	// And NTLMv1, which it refuses as well.
	const old = await SmbClient.connect(port);
	await old.negotiate({ dialects: [0x300] });
	assert.equal((await old.login(WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, { proofBytes: 24 })).status, STATUS.LOGON_FAILURE, 'a proof of 24 bytes');
	await old.end();
});

test('a share that is deleted under open handles', { timeout: 60_000 }, async () => {
	const share = shares.getShareClient('doomed');
	await share.create();
	const { c, tree } = await client({ share: 'doomed' });
	const id = await made(c, tree, 'held', { oplock: BATCH, contexts: [['DHnQ', Buffer.alloc(16)]] });
	assert.equal((await c.write(tree, id, 0, Buffer.from('bytes'))).status, 0);
	await share.delete();
	refused(await c.write(tree, id, 0, Buffer.from('lost')), 'WRITE');
	refused(await c.read(tree, id, 0, 5), 'READ');
	refused(await c.create(tree, 'another'), 'CREATE');
	const again = await client({ share: 'faults' });
	await assert.rejects(again.c.treeConnect('doomed'), /c00000cc/);
	await again.c.end();
	// Its name comes back for another share; who holds the old one does not find itself in it.
	await share.create();
	refused(await c.create(tree, 'held', { disposition: 1 }), 'CREATE in the share that is gone');
	const fresh = await client({ share: 'doomed' });
	assert.equal((await fresh.c.create(fresh.tree, 'held', { disposition: 1 })).status, STATUS.NOT_FOUND);
	await c.close(tree, id);
	assert.equal((await c.echo()).status, 0, 'the session goes on');
	await Promise.all([c.end(), fresh.c.end()]);
	await share.delete();
});

test('a full share, and previous versions, which are read only', { timeout: 60_000 }, async () => {
	const share = shares.getShareClient('small');
	await share.create({ quota: 1 });
	const { c, tree } = await client({ share: 'small' });
	const id = await made(c, tree, 'f');
	const size = Buffer.alloc(8);
	size.writeBigUInt64LE(1n << 30n);
	assert.equal((await c.setInfo(tree, id, 20, size)).status, 0);
	assert.equal((await c.write(tree, id, 1 << 30, Buffer.from('x'))).status, DISK_FULL);
	size.writeBigUInt64LE(5n);
	assert.equal((await c.setInfo(tree, id, 20, size)).status, 0);
	assert.equal((await c.write(tree, id, 0, Buffer.from('first'))).status, 0);
	const { snapshot } = await share.createSnapshot();
	assert.equal((await c.write(tree, id, 0, Buffer.from('later'))).status, 0);
	const time = Buffer.alloc(8);
	time.writeBigUInt64LE((BigInt(Math.floor(Date.parse(snapshot) / 1000)) + 11644473600n) * 10000000n);
	const version = ['TWrp', time];
	const old = await made(c, tree, 'f', { access: ACCESS.READ, disposition: 1, contexts: [version] });
	assert.equal((await c.read(tree, old, 0, 5)).data.toString(), 'first');
	refused(await c.write(tree, old, 0, Buffer.from('y')), 'WRITE');
	refused(await c.setDisposition(tree, old, true), 'deletion');
	for (const how of [{ access: ACCESS.ALL, disposition: 1 }, { access: ACCESS.READ, disposition: 2 }, { access: ACCESS.READ, disposition: 5 }, { access: ACCESS.DELETE, disposition: 1 }])
		refused(await c.create(tree, 'f', { ...how, contexts: [version] }), JSON.stringify(how));
	await c.end();
	await share.delete({ deleteSnapshots: 'include' });
});

// SPDX-License-Identifier: Apache-2.0
// Short (8.3) names: on demand only. Each long name has one beside it that is listed, asked for and opened; it stays over
// a rename, holds in its own directory alone, and a name that is spelled like one does not hide behind it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { freePort, startServer } from '../lib/server.mjs';
import { COMMAND, connected, STATUS } from '../lib/smb.mjs';

const NOT_SUPPORTED = 0xc00000bb;
const OPEN = 1, CREATE = 2, DIRECTORY = 1;
let port, plainPort, servers;

before(async () => {
	[port, plainPort] = [await freePort(), await freePort()];
	servers = await Promise.all([startServer({ flags: ['--smbPort', String(port), '--smbShortNames', '--create', 'share:short'] }),
		startServer({ flags: ['--smbPort', String(plainPort), '--create', 'share:short'] })]);
});
after(async () => {
	for (const server of servers) {
		await server.stop();
		await server.remove();
	}
});

const client = (at) => connected(at, 'short');

async function make(c, tree, name, options = {}) {
	const answer = await c.create(tree, name, { disposition: CREATE, ...options });
	assert.equal(answer.status, 0, name);
	return answer.id;
}

async function alternate(c, tree, id) {
	const body = Buffer.alloc(40);
	body.writeUInt16LE(41, 0);
	body[2] = 1;
	body[3] = 21;
	body.writeUInt32LE(256, 4);
	id.copy(body, 24);
	const answer = await c.request(COMMAND.QUERY_INFO, body, { tree });
	if (answer.status === 0) answer.name = answer.body.toString('utf16le', 12, 12 + answer.body.readUInt32LE(8));
	return answer;
}

// { name: short name } of what matches.
async function list(c, tree, dir, pattern) {
	const { id } = await c.create(tree, dir, { disposition: OPEN, options: DIRECTORY });
	const text = Buffer.from(pattern, 'utf16le');
	const body = Buffer.alloc(32);
	body.writeUInt16LE(33, 0);
	body[2] = 37;
	id.copy(body, 8);
	body.writeUInt16LE(96, 24);
	body.writeUInt16LE(text.length, 26);
	body.writeUInt32LE(65536, 28);
	const answer = await c.request(COMMAND.QUERY_DIRECTORY, Buffer.concat([body, text]), { tree });
	await c.close(tree, id);
	const found = {};
	if (answer.status !== 0) return found;
	const data = answer.body.subarray(8);
	for (let at = 0; ;) {
		const name = data.toString('utf16le', at + 104, at + 104 + data.readUInt32LE(at + 60));
		if (!/^\.\.?$/.test(name)) found[name] = data.toString('utf16le', at + 70, at + 70 + data[at + 68]);
		if (!data.readUInt32LE(at)) return found;
		at += data.readUInt32LE(at);
	}
}

test('a long name has a short one that is listed, asked for and opened', async () => {
	const { c, tree } = await client(port);
	await c.close(tree, await make(c, tree, 'folder with a long name', { options: DIRECTORY }));
	const id = await make(c, tree, 'folder with a long name\\a long name.text');
	await c.write(tree, id, 0, Buffer.from('found'));
	await c.close(tree, await make(c, tree, 'folder with a long name\\short.txt'));
	const { name } = await alternate(c, tree, id);
	assert.match(name, /^[0-9A-Z]{8}\.[0-9A-Z]{3}$/);
	const folder = (await list(c, tree, '', 'folder*'))['folder with a long name'];
	assert.deepEqual(await list(c, tree, folder, '*'), { 'a long name.text': name, 'short.txt': '' });
	assert.deepEqual(Object.keys(await list(c, tree, folder, name)), ['a long name.text']);
	const opened = await c.create(tree, `${folder}\\${name.toLowerCase()}`, { disposition: OPEN });
	assert.equal(opened.status, 0);
	assert.equal((await c.read(tree, opened.id, 0, 5)).data.toString(), 'found');
	// In its own directory alone, and not to make another file of that name.
	assert.equal((await c.create(tree, name, { disposition: OPEN })).status, STATUS.NOT_FOUND);
	assert.equal((await c.create(tree, `${folder}\\${name}`, { disposition: CREATE })).status, 0xc0000035);
	const short = await c.create(tree, `${folder}\\short.txt`, { disposition: OPEN });
	assert.equal((await alternate(c, tree, short.id)).name, 'short.txt');
	await c.end();
});

test('without the setting there are none', async () => {
	const { c, tree } = await client(plainPort);
	const id = await make(c, tree, 'a long name.text');
	assert.equal((await alternate(c, tree, id)).status, NOT_SUPPORTED);
	assert.deepEqual(await list(c, tree, '', '*'), { 'a long name.text': '' });
	await c.end();
});

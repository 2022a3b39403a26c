// SPDX-License-Identifier: Apache-2.0
// A share whose metadata say smbReadOnly=on: SMB clients read it and change nothing, REST clients write it as ever.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { ACCESS, Checks, connected } from '../lib/smb.mjs';

const exec = promisify(execFile);
const READ_AND_EXECUTE = 0x1200a9, MAXIMUM_ALLOWED = 0x2000000;
const DISPOSITION = { SUPERSEDE: 0, OPEN: 1, CREATE: 2, OPEN_IF: 3, OVERWRITE: 4, OVERWRITE_IF: 5 };
const OPTION = { DIRECTORY: 1, DELETE_ON_CLOSE: 0x1000 };
const CHANGES = [['write', 2], ['append', 4], ['write extended attributes', 0x10], ['delete child', 0x40], ['write attributes', 0x100],
	['delete', 0x10000], ['write the access list', 0x40000], ['write the owner', 0x80000], ['generic write', 0x40000000], ['generic all', 0x10000000]];
const TEXT = 'written by REST';
let server, port, dir, share;

before(async () => {
	dir = tempDir();
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port)] });
	share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('frozen');
	await share.create({ metadata: { smbreadonly: 'on' } });
	await share.createDirectory('d');
	await share.getDirectoryClient('d').getFileClient('f').create(TEXT.length);
	await share.getDirectoryClient('d').getFileClient('f').uploadRange(TEXT, 0, TEXT.length);
	fs.writeFileSync(path.join(dir, 'auth'), `username = ${WELL_KNOWN_ACCOUNT}\npassword = ${WELL_KNOWN_KEY}\n`, { mode: 0o600 });
});
after(async () => {
	await server.stop();
	await server.remove();
	removeDir(dir);
});

const client = (how = { dialects: [0x311] }) => connected(port, 'frozen', how);

const maximalAccess = (answer) => answer.body.readUInt32LE(answer.body.indexOf('MxAc') + 8 + 4);

for (const [name, how] of [['2.1', { dialects: [0x210] }], ['3.0', { dialects: [0x300] }], ['3.1.1', { dialects: [0x311] }],
	['3.1.1 encrypted', { dialects: [0x311], encrypt: true }]])
	test(`${name}: what only reads is allowed, and told`, { timeout: 60_000 }, async () => {
		const k = new Checks();
		const { c, tree } = await client(how);
		k.is('the tree says what may be done in it', c.maximalAccess, READ_AND_EXECUTE);
		const mxac = [['MxAc', Buffer.alloc(0)]];
		const open = await c.create(tree, 'd\\f', { access: ACCESS.READ, disposition: DISPOSITION.OPEN, contexts: mxac });
		k.is('open to read', open, 'OK');
		k.is('MxAc says the same', maximalAccess(open), READ_AND_EXECUTE);
		k.is('the bytes', (await c.read(tree, open.id, 0, 100)).data.toString(), TEXT);
		k.is('a shared lock', await c.lock(tree, open.id, [[0, 1, 0x11]]), 'OK');
		k.is('no write', await c.write(tree, open.id, 0, Buffer.from('x')), 'ACCESS_DENIED');
		k.is('no deletion', await c.setDisposition(tree, open.id, true), 'ACCESS_DENIED');
		k.is('no rename', await c.rename(tree, open.id, 'd\\g'), 'ACCESS_DENIED');
		k.is('no times', await c.setInfo(tree, open.id, 4, Buffer.alloc(40, 1)), 'ACCESS_DENIED');
		k.is('no size', await c.setInfo(tree, open.id, 20, Buffer.alloc(8)), 'ACCESS_DENIED');
		const most = await c.create(tree, 'd\\f', { access: MAXIMUM_ALLOWED, disposition: DISPOSITION.OPEN });
		k.is('as much as is allowed', most, 'OK');
		k.is('is to read', (await c.queryInfo(tree, most.id, 1, 8)).data.readUInt32LE(0), READ_AND_EXECUTE);
		k.is('no write through that', await c.write(tree, most.id, 0, Buffer.from('x')), 'ACCESS_DENIED');
		const root = await c.create(tree, '', { access: ACCESS.READ, disposition: DISPOSITION.OPEN, options: OPTION.DIRECTORY });
		k.is('the root opens', root, 'OK');
		k.is('and lists', await c.queryDirectory(tree, root.id, 37), 'OK');
		k.is('open-if of what is there', await c.create(tree, 'd\\f', { access: ACCESS.READ, disposition: DISPOSITION.OPEN_IF }), 'OK');
		k.is('what is not there', await c.create(tree, 'd\\x', { access: ACCESS.READ, disposition: DISPOSITION.OPEN }), 'NOT_FOUND');
		await c.end();
		k.done();
	});

test('what would change it is refused', { timeout: 60_000 }, async () => {
	const k = new Checks();
	const { c, tree } = await client();
	for (const [what, access] of CHANGES)
		for (const name of ['d\\f', 'd'])
			k.is(`${name} opened to ${what}`, await c.create(tree, name, { access, disposition: DISPOSITION.OPEN }), 'ACCESS_DENIED');
	k.is('as much as is allowed, and to write', await c.create(tree, 'd\\f', { access: MAXIMUM_ALLOWED | 2, disposition: DISPOSITION.OPEN }), 'ACCESS_DENIED');
	for (const disposition of ['SUPERSEDE', 'OVERWRITE', 'OVERWRITE_IF'])
		k.is(`${disposition} of a file`, await c.create(tree, 'd\\f', { access: ACCESS.READ, disposition: DISPOSITION[disposition] }), 'ACCESS_DENIED');
	for (const disposition of ['SUPERSEDE', 'CREATE', 'OPEN_IF', 'OVERWRITE_IF'])
		k.is(`${disposition} of a new file`, await c.create(tree, 'd\\new', { access: ACCESS.READ, disposition: DISPOSITION[disposition] }), 'ACCESS_DENIED');
	for (const disposition of ['CREATE', 'OPEN_IF'])
		k.is(`${disposition} of a directory`, await c.create(tree, 'new', { access: ACCESS.READ, disposition: DISPOSITION[disposition], options: OPTION.DIRECTORY }), 'ACCESS_DENIED');
	k.is('delete on close', await c.create(tree, 'd\\f', { access: ACCESS.DELETE | 1, disposition: DISPOSITION.OPEN, options: OPTION.DELETE_ON_CLOSE }), 'ACCESS_DENIED');
	k.is('delete on close of as much as is allowed', await c.create(tree, 'd\\f', { access: MAXIMUM_ALLOWED, disposition: DISPOSITION.OPEN, options: OPTION.DELETE_ON_CLOSE }), 'INVALID_PARAMETER');
	await c.end();
	assert.equal((await share.getDirectoryClient('d').getFileClient('f').downloadToBuffer()).toString(), TEXT);
	k.done();
});

test('the setting counts from the next connection to the share on, and not for REST', { timeout: 60_000 }, async () => {
	const { c, tree } = await client();
	await share.setMetadata({ smbReadOnly: 'off' });
	const writes = { access: ACCESS.WRITE, disposition: DISPOSITION.OPEN };
	assert.equal((await c.create(tree, 'd\\f', writes)).status, 0xc0000022, 'a tree keeps what it was told');
	const again = await c.treeConnect('frozen');
	assert.equal(c.maximalAccess, ACCESS.ALL);
	const open = await c.create(again, 'd\\f', writes);
	assert.equal(open.status, 0);
	await share.setMetadata({ smbReadOnly: 'on' });
	assert.equal((await c.write(again, open.id, 0, Buffer.from('W'))).status, 0, 'so does one that may write');
	assert.equal((await c.close(again, open.id)).status, 0);
	await c.treeConnect('frozen');
	assert.equal(c.maximalAccess, READ_AND_EXECUTE);
	await c.end();
	const file = share.getDirectoryClient('d').getFileClient('f');
	await file.uploadRange('w', 0, 1);
	assert.equal((await file.downloadToBuffer()).toString(), TEXT);
});

test('smbclient reads, and is refused the rest', { timeout: 60_000 }, async () => {
	const smbclient = async (commands) => {
		const args = ['//127.0.0.1/frozen', '-p', String(port), '-A', 'auth', '-s', '/dev/null', '-c', commands];
		return exec('smbclient', args, { cwd: dir, timeout: 60_000 }).then(({ stdout }) => stdout, (error) => error.stdout + error.stderr);
	};
	await smbclient('get d\\f f');
	assert.equal(fs.readFileSync(path.join(dir, 'f'), 'utf8'), TEXT);
	assert.match(await smbclient('ls d\\*'), /\bf\b +A? +15 /);
	for (const command of ['put f d\\f', 'put f new', 'mkdir new', 'del d\\f', 'rename d\\f d\\g', 'rmdir d', 'setmode d\\f +r'])
		assert.match(await smbclient(command), /ACCESS_DENIED/, command);
	const names = [];
	for await (const entry of share.rootDirectoryClient.listFilesAndDirectories()) names.push(entry.name);
	assert.deepEqual(names, ['d']);
});

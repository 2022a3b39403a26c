// SPDX-License-Identifier: Apache-2.0
// Programs that others wrote: smbclient in every dialect, signed and encrypted with every cipher; impacket; rclone. Bytes
// must come back as they went.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';

const exec = promisify(execFile);
let server;
let port;
let dir;

before(async () => {
	dir = tempDir();
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:docs'] });
	fs.writeFileSync(path.join(dir, 'auth'), `username = ${WELL_KNOWN_ACCOUNT}\npassword = ${WELL_KNOWN_KEY}\n`, { mode: 0o600 });
});
after(async () => {
	await server.stop();
	await server.remove();
	removeDir(dir);
});

async function smbclient(commands, ...options) {
	const args = ['//127.0.0.1/docs', '-p', String(port), '-A', 'auth', '-s', '/dev/null', ...options, '-c', commands];
	return (await exec('smbclient', args, { cwd: dir, timeout: 60_000 })).stdout;
}

function file(name, size) {
	const bytes = crypto.randomBytes(size);
	fs.writeFileSync(path.join(dir, name), bytes);
	return bytes;
}

const fetched = (name) => fs.readFileSync(path.join(dir, name));

const VARIANTS = [
	['2.1', ['-m', 'SMB2_10', '--option=client min protocol=SMB2_10']],
	['3.0', ['-m', 'SMB3_00']],
	['3.0.2', ['-m', 'SMB3_02']],
	['3.1.1', []],
	['3.0 encrypted', ['-m', 'SMB3_00', '--client-protection=encrypt']],
	...['aes-128-ccm', 'aes-128-gcm', 'aes-256-ccm', 'aes-256-gcm'].map((c) => [`3.1.1 ${c}`,
		['--client-protection=encrypt', `--option=client smb3 encryption algorithms=${c}`]]),
	...['hmac-sha256', 'aes-128-cmac', 'aes-128-gmac'].map((s) => [`3.1.1 ${s}`,
		['--client-protection=sign', `--option=client smb3 signing algorithms=${s}`]]),
];

for (const [name, options] of VARIANTS)
	test(`smbclient ${name}: put, get, list, rename, delete`, async () => {
		const bytes = file('up', 3 * 1024 * 1024 + 17);
		await smbclient('mkdir d; put up d\\a.bin; get d\\a.bin down', ...options);
		assert.deepEqual(fetched('down'), bytes);
		assert.match(await smbclient('cd d; ls', ...options), /a\.bin\s+A\s+3145745/);
		const gone = await smbclient('cd d; rename a.bin b.bin; ls; del b.bin; cd \\; rmdir d; ls', ...options);
		assert.match(gone, /b\.bin/);
		assert.doesNotMatch(gone.slice(gone.lastIndexOf('blocks')), /\bd\b/);
	});

// What it prints when it fails.
async function refusal(...args) {
	const options = ['-p', String(port), '-s', '/dev/null', '-c', 'ls'];
	try {
		await exec('smbclient', [...args, ...options], { cwd: dir, timeout: 30_000 });
	} catch (error) {
		return `${error.stdout}${error.stderr}`;
	}
	return 'it succeeded';
}

test('smbclient: a wrong key, no user, no share', async () => {
	assert.match(await refusal('//127.0.0.1/docs', '-U', `${WELL_KNOWN_ACCOUNT}%wrong`), /LOGON_FAILURE/);
	assert.match(await refusal('//127.0.0.1/docs', '-U', '%'), /LOGON_FAILURE/);
	assert.match(await refusal('//127.0.0.1/nosuch', '-A', 'auth'), /BAD_NETWORK_NAME/);
});

test('smbclient: allinfo and a directory of many', async () => {
	file('one', 100);
	fs.mkdirSync(path.join(dir, 'many'));
	for (let i = 0; i < 300; i++) fs.writeFileSync(path.join(dir, 'many', `file-${String(i).padStart(4, '0')}.txt`), String(i));
	await smbclient('prompt off; recurse on; mput many; put one');
	const list = await smbclient('ls many\\*');
	assert.equal(list.match(/file-\d{4}\.txt/g).length, 300);
	assert.match(await smbclient('allinfo one'), /stream: \[::\$DATA\], 100 bytes/);
	await smbclient('deltree many; del one');
});

// A server that takes nobody who does not encrypt.
async function strictly(use) {
	const strict = await startServer({ flags: ['--smbPort', '0', '--smbEncryption', 'required', '--create', 'share:docs'] });
	try {
		const found = /over SMB is successfully listening at \S+ port (\d+)/.exec(strict.stdout);
		assert.ok(found, strict.stdout);
		await use(Number(found[1]));
	} finally {
		await strict.stop();
		await strict.remove();
	}
}

async function impacket(at, dialects) {
	const script = `
import io, os
from impacket.smbconnection import SMBConnection, SessionError
from impacket import smb3structs as s
for dialect in (${dialects.map((d) => `s.SMB2_DIALECT_${d}`).join(', ')},):
    c = SMBConnection('127.0.0.1', '127.0.0.1', sess_port=${at}, preferredDialect=dialect)
    c.login('${WELL_KNOWN_ACCOUNT}', '${WELL_KNOWN_KEY}', 'AZURE')
    data = os.urandom(200000)
    c.createDirectory('docs', 'imp')
    c.putFile('docs', 'imp\\\\a.bin', io.BytesIO(data).read)
    out = io.BytesIO()
    c.getFile('docs', 'imp\\\\a.bin', out.write)
    assert out.getvalue() == data
    assert [f.get_longname() for f in c.listPath('docs', 'imp\\\\*')] == ['.', '..', 'a.bin']
    c.rename('docs', 'imp\\\\a.bin', 'imp\\\\b.bin')
    smb = c.getSMBServer()
    tree = c.connectTree('docs')
    # Two spellings of one name: it keeps one open for each name.
    one, two = [c.openFile(tree, name, desiredAccess=0x120089 | 0x120116, shareMode=7) for name in ('imp\\\\b.bin', 'IMP\\\\B.BIN')]
    def lock(file, offset, length, flags):
        packet = smb.SMB_PACKET()
        packet['Command'] = s.SMB2_LOCK
        packet['TreeID'] = tree
        element = s.SMB2_LOCK_ELEMENT()
        element['Offset'], element['Length'], element['Flags'] = offset, length, flags
        body = s.SMB2Lock()
        body['LockCount'], body['FileID'], body['Locks'] = 1, file, element.getData()
        packet['Data'] = body
        return smb.recvSMB(smb.sendSMB(packet))['Status']
    assert lock(one, 100, 10, 0x12) == 0
    assert lock(two, 105, 1, 0x11) == 0xC0000055
    try:
        c.readFile(tree, two, 105, 1)
        raise SystemExit('read what is locked')
    except SessionError as e:
        assert e.getErrorCode() == 0xC0000054, hex(e.getErrorCode())
    assert c.readFile(tree, one, 105, 1) == data[105:106]
    assert lock(one, 100, 10, 4) == 0
    assert c.readFile(tree, two, 105, 1) == data[105:106]
    c.closeFile(tree, one)
    c.closeFile(tree, two)
    c.disconnectTree(tree)
    c.deleteFile('docs', 'imp\\\\b.bin')
    c.deleteDirectory('docs', 'imp')
    c.logoff()
print('fine')
`;
	const { stdout } = await exec('/usr/bin/python3', ['-c', script], { timeout: 60_000 });
	assert.match(stdout, /fine/);
}

test('impacket, signed: 2.1 and 3.0, with locks', () => impacket(port, ['21', '30']));
test('impacket, where encryption is required: 3.0', () => strictly((at) => impacket(at, ['30'])));

async function rclone(at) {
	const env = { ...process.env, RCLONE_CONFIG: '/dev/null' };
	const { stdout: obscured } = await exec('rclone', ['obscure', WELL_KNOWN_KEY], { env });
	const remote = `:smb,host=127.0.0.1,port=${at},user=${WELL_KNOWN_ACCOUNT},pass="${obscured.trim()}":docs/rc`;
	const run = async (...args) => (await exec('rclone', args, { env, timeout: 120_000 })).stdout;
	const from = path.join(dir, `rc-${at}`);
	fs.mkdirSync(from);
	const sizes = [...Array(20).keys()].map((i) => i * 10_000).concat(5_000_017);
	const texts = sizes.map((size, i) => file(path.join(`rc-${at}`, `f${i}`), size));
	await run('copy', from, remote);
	await run('moveto', `${remote}/f3`, `${remote}/moved`);
	const listed = (await run('lsf', remote)).trim().split('\n').sort();
	assert.deepEqual(listed, texts.map((_, i) => (i === 3 ? 'moved' : `f${i}`)).sort());
	const back = path.join(dir, `rc-back-${at}`);
	await run('copy', remote, back);
	texts.forEach((bytes, i) => assert.ok(bytes.equals(fs.readFileSync(path.join(back, i === 3 ? 'moved' : `f${i}`))), `f${i}`));
	await run('deletefile', `${remote}/f0`);
	assert.doesNotMatch(await run('lsf', remote), /^f0$/m);
	await run('purge', remote);
}

test('rclone, signed', () => rclone(port));
test('rclone, where encryption is required', () => strictly(rclone));

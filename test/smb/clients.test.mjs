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

test('impacket: 2.1 and 3.0', async () => {
	const script = `
import io, os, sys
from impacket.smbconnection import SMBConnection
from impacket import smb3structs as s
for dialect in (s.SMB2_DIALECT_21, s.SMB2_DIALECT_30):
    c = SMBConnection('127.0.0.1', '127.0.0.1', sess_port=${port}, preferredDialect=dialect)
    c.login('${WELL_KNOWN_ACCOUNT}', '${WELL_KNOWN_KEY}', 'AZURE')
    data = os.urandom(200000)
    c.createDirectory('docs', 'imp')
    c.putFile('docs', 'imp\\\\a.bin', io.BytesIO(data).read)
    out = io.BytesIO()
    c.getFile('docs', 'imp\\\\a.bin', out.write)
    assert out.getvalue() == data
    assert [f.get_longname() for f in c.listPath('docs', 'imp\\\\*')] == ['.', '..', 'a.bin']
    c.rename('docs', 'imp\\\\a.bin', 'imp\\\\b.bin')
    c.deleteFile('docs', 'imp\\\\b.bin')
    c.deleteDirectory('docs', 'imp')
    c.logoff()
print('fine')
`;
	const { stdout } = await exec('/usr/bin/python3', ['-c', script], { timeout: 60_000 });
	assert.match(stdout, /fine/);
});

test('rclone', async () => {
	const env = { ...process.env, RCLONE_CONFIG: '/dev/null' };
	const { stdout: obscured } = await exec('rclone', ['obscure', WELL_KNOWN_KEY], { env });
	const remote = `:smb,host=127.0.0.1,port=${port},user=${WELL_KNOWN_ACCOUNT},pass="${obscured.trim()}":docs/rc`;
	const from = path.join(dir, 'rc');
	fs.mkdirSync(from);
	for (let i = 0; i < 20; i++) file(path.join('rc', `f${i}`), i * 10_000);
	await exec('rclone', ['copy', from, remote], { env, timeout: 120_000 });
	const back = path.join(dir, 'rc-back');
	await exec('rclone', ['copy', remote, back], { env, timeout: 120_000 });
	for (let i = 0; i < 20; i++) assert.deepEqual(fs.readFileSync(path.join(back, `f${i}`)), fetched(path.join('rc', `f${i}`)));
	await exec('rclone', ['purge', remote], { env, timeout: 60_000 });
});

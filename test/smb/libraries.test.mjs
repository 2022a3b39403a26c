// SPDX-License-Identifier: Apache-2.0
// SMB libraries that others wrote, as programs use them: libsmbclient (through python3-smbc), the npm client, smbprotocol
// from PyPI where that can be had; and a tree of many files with a large one by smbclient. Signed and encrypted; bytes
// must come back as they went. ZAFFRE_TEST_LARGE=1 makes it 10,000 files and 2 GiB.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';

const exec = promisify(execFile);
const LONG = process.env.ZAFFRE_TEST_LARGE === '1';
const FILES = LONG ? 10_000 : 500;
const LARGE_BYTES = (LONG ? 2048 : 64) * 1024 * 1024;
const TIMEOUT = LONG ? 1_800_000 : 120_000;
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

async function python(script, env = {}) {
	const all = { ...process.env, SMB_PORT: String(port), SMB_USER: WELL_KNOWN_ACCOUNT, SMB_KEY: WELL_KNOWN_KEY, HOME: dir, ...env };
	const { stdout } = await exec('/usr/bin/python3', ['-c', script], { timeout: TIMEOUT, env: all, cwd: dir });
	assert.match(stdout, /fine/);
}

const LIBSMBCLIENT = `
import os, smbc
c = smbc.Context(auth_fn=lambda *_: ('AZURE', os.environ['SMB_USER'], os.environ['SMB_KEY']))
c.port = int(os.environ['SMB_PORT'])
root = 'smb://127.0.0.1/docs/lib'
c.mkdir(root, 0o755)
data = os.urandom(3 * 1024 * 1024 + 17)
f = c.open(root + '/a.bin', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
for at in range(0, len(data), 1 << 20):
    f.write(data[at:at + (1 << 20)])
f.close()
assert c.stat(root + '/a.bin')[6] == len(data)
def read(name):
    f, got = c.open(name, os.O_RDONLY), b''
    while True:
        part = f.read(1 << 20)
        if not part:
            break
        got += part
    f.close()
    return got
assert read(root + '/a.bin') == data
c.rename(root + '/a.bin', root + '/b.bin')
assert [e.name for e in c.opendir(root).getdents()] == ['.', '..', 'b.bin']
f = c.open(root + '/b.bin', os.O_RDWR)
f.lseek(1000, 0)
f.write(b'in the middle')
f.close()
assert read(root + '/b.bin') == data[:1000] + b'in the middle' + data[1013:]
c.unlink(root + '/b.bin')
try:
    c.stat(root + '/b.bin')
    raise SystemExit('still there')
except smbc.NoEntryError:
    pass
c.rmdir(root)
print('fine')
`;

for (const protection of ['sign', 'encrypt'])
	test(`libsmbclient, ${protection}`, async () => {
		fs.mkdirSync(path.join(dir, '.smb'), { recursive: true });
		fs.writeFileSync(path.join(dir, '.smb/smb.conf'), `[global]\nclient protection = ${protection}\nclient min protocol = SMB3\n`);
		await python(LIBSMBCLIENT);
	});

const SMBPROTOCOL = `
import os, smbclient, smbclient.path
from smbprotocol.exceptions import SharingViolation
encrypt = os.environ['SMB_ENCRYPT'] == '1'
smbclient.register_session('127.0.0.1', username=os.environ['SMB_USER'], password=os.environ['SMB_KEY'], port=int(os.environ['SMB_PORT']), encrypt=encrypt)
more = {'port': int(os.environ['SMB_PORT'])}
root = r'\\\\127.0.0.1\\docs\\proto'
smbclient.mkdir(root, **more)
data = os.urandom(2 * 1024 * 1024 + 5)
name = root + r'\\a.bin'
with smbclient.open_file(name, mode='wb', **more) as f:
    f.write(data)
with smbclient.open_file(name, mode='rb', **more) as f:
    assert f.read() == data
    try:
        smbclient.open_file(name, mode='wb', share_access='', **more)
        raise SystemExit('opened twice')
    except OSError as e:
        assert '0xc0000043' in str(e).lower(), str(e)
smbclient.rename(name, root + r'\\b.bin', **more)
assert smbclient.listdir(root, **more) == ['b.bin']
assert smbclient.stat(root + r'\\b.bin', **more).st_size == len(data)
smbclient.remove(root + r'\\b.bin', **more)
assert not smbclient.path.exists(root + r'\\b.bin', **more)
smbclient.rmdir(root, **more)
smbclient.reset_connection_cache()
print('fine')
`;

// Where the package is, or why it cannot be had here.
async function smbprotocolInstall() {
	const where = path.join(dir, 'python');
	try {
		await exec('/usr/bin/python3', ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '--target', where, 'smbprotocol'], { timeout: 60_000 });
		return { where };
	} catch (error) {
		return { why: `smbprotocol cannot be installed here: ${String(error.stderr || error.message).trim().split('\n').at(-1)}` };
	}
}

test('smbprotocol, signed and encrypted', { timeout: TIMEOUT }, async (t) => {
	const { where, why } = await smbprotocolInstall();
	if (why) {
		t.skip(why);
		return;
	}
	for (const encrypt of ['0', '1']) await python(SMBPROTOCOL, { PYTHONPATH: where, SMB_ENCRYPT: encrypt });
});

const V9U = `
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import SMB2 from 'v9u-smb2';
const { SMB_PORT, SMB_USER, SMB_KEY } = process.env;
const client = new SMB2({ share: '\\\\\\\\127.0.0.1\\\\docs', port: Number(SMB_PORT), domain: 'AZURE', username: SMB_USER, password: SMB_KEY, autoCloseTimeout: 0 });
const call = (method, ...args) => new Promise((resolve, reject) => client[method](...args, (error, result) => (error ? reject(error) : resolve(result))));
const bytes = crypto.randomBytes(300_000);
await call('mkdir', 'npm');
await call('writeFile', 'npm\\\\a.bin', bytes);
assert.ok(bytes.equals(await call('readFile', 'npm\\\\a.bin')));
assert.deepEqual(await call('readdir', 'npm'), ['a.bin']);
await call('rename', 'npm\\\\a.bin', 'npm\\\\b.bin');
assert.equal(await call('exists', 'npm\\\\a.bin'), false);
assert.equal(await call('exists', 'npm\\\\b.bin'), true);
await call('unlink', 'npm\\\\b.bin');
await call('rmdir', 'npm');
client.disconnect();
console.log('fine');
`;

// In a process of its own: it needs MD4 of OpenSSL's old algorithms. It knows neither signing nor encryption.
test('npm v9u-smb2: put, get, list, rename, delete', async () => {
	const lax = await startServer({ flags: ['--smbPort', '0', '--smbSigning', 'optional', '--create', 'share:docs'] });
	try {
		const found = /over SMB is successfully listening at \S+ port (\d+)/.exec(lax.stdout);
		assert.ok(found, lax.stdout);
		const env = { ...process.env, SMB_PORT: found[1], SMB_USER: WELL_KNOWN_ACCOUNT, SMB_KEY: WELL_KNOWN_KEY };
		const args = ['--openssl-legacy-provider', '--input-type=module', '-e', V9U];
		const { stdout } = await exec(process.execPath, args, { timeout: 60_000, env, cwd: path.join(import.meta.dirname, '..') });
		assert.match(stdout, /fine/);
	} finally {
		await lax.stop();
		await lax.remove();
	}
});

async function smbclient(commands, ...options) {
	const args = ['//127.0.0.1/docs', '-p', String(port), '-A', 'auth', '-s', '/dev/null', ...options, '-c', commands];
	return (await exec('smbclient', args, { cwd: dir, timeout: TIMEOUT, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

async function hashOf(file) {
	const hash = crypto.createHash('sha256');
	for await (const part of fs.createReadStream(file)) hash.update(part);
	return hash.digest('hex');
}

function largeFile(name) {
	const fd = fs.openSync(path.join(dir, name), 'w');
	for (let at = 0; at < LARGE_BYTES; at += 16 * 1024 * 1024) fs.writeSync(fd, crypto.randomBytes(16 * 1024 * 1024));
	fs.closeSync(fd);
}

for (const [name, options] of [['signed', ['--client-protection=sign']], ['encrypted', ['--client-protection=encrypt']]])
	test(`smbclient, ${name}: ${FILES} files and one of ${LARGE_BYTES / 1024 / 1024} MiB`, { timeout: TIMEOUT }, async () => {
		const tree = path.join(dir, 'tree');
		const texts = new Map();
		for (let i = 0; i < FILES; i++) {
			const file = `d${i % 10}/f-${String(i).padStart(5, '0')}`;
			fs.mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
			texts.set(file, crypto.randomBytes(i % 5000));
			fs.writeFileSync(path.join(tree, file), texts.get(file));
		}
		await smbclient('prompt off; recurse on; mput tree', ...options);
		fs.renameSync(tree, path.join(dir, 'sent'));
		await smbclient('prompt off; recurse on; mget tree', ...options);
		for (const [file, bytes] of texts) assert.ok(bytes.equals(fs.readFileSync(path.join(tree, file))), file);
		removeDir(tree);
		removeDir(path.join(dir, 'sent'));
		await smbclient('deltree tree', ...options);
		largeFile('large');
		await smbclient('put large; get large back; del large', ...options);
		assert.equal(await hashOf(path.join(dir, 'back')), await hashOf(path.join(dir, 'large')));
		fs.rmSync(path.join(dir, 'large'));
		fs.rmSync(path.join(dir, 'back'));
	});

// SPDX-License-Identifier: Apache-2.0
// SIGHUP under load: accounts, limits, log files. What was read again counts for the next request; nobody's request is lost; a file that
// does not parse changes nothing.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { askAdmin } from '../../lib/admin.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { freePort, startServer, tempDir, removeDir, WELL_KNOWN_KEY } from '../../lib/server.mjs';

const run = promisify(execFile);
const newKey = () => crypto.randomBytes(64).toString('base64');

async function until(what, seconds, look) {
	const end = Date.now() + seconds * 1000;
	while (Date.now() < end) {
		if (await look()) return;
		await sleep(10);
	}
	assert.fail(`${what}: not within ${seconds} s`);
}

describe('SIGHUP', () => {
	let server, dir, file, config, limits, smbPort;
	const first = newKey(), second = newKey();
	const hup = () => process.kill(server.pid, 'SIGHUP');
	// Written whole and then given its name, as an editor or a deployment does.
	const replace = (target, text) => {
		fs.writeFileSync(`${target}.part`, text, { mode: 0o600 });
		fs.renameSync(`${target}.part`, target);
	};
	const reads = (what) => server.stderr.split(what).length - 1;
	async function reload(what) {
		const before = reads(what);
		hup();
		await until(`"${what}" in the log`, 5, () => reads(what) > before);
	}

	before(async () => {
		dir = tempDir('zaffre-reload-');
		file = path.join(dir, 'zaffre.conf');
		limits = path.join(dir, 'limits');
		smbPort = await freePort();
		fs.writeFileSync(limits, '# none\n');
		replace(file, `accounts = alpha:${first}:${second};beta:${newKey()}\naccountLimits = ${limits}\n`);
		server = await startServer({ flags: ['--config', file, '--smbPort', String(smbPort)], accessLog: path.join(dir, 'access.log') });
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});

	const sdk = (account, key) => new BlobServiceClient(server.endpoints.blob.replace(/\/[^/]+$/, `/${account}`), new StorageSharedKeyCredential(account, key), { retryOptions: { maxTries: 1 } });

	test('a replaced key is refused within a second, under load, and no request is lost', async () => {
		const third = newKey();
		await sdk('alpha', first).createContainer('load');
		// Sixteen clients keep the key that stays; four the one that goes.
		let going = true, done = 0;
		const lost = [];
		const stays = Array.from({ length: 16 }, async (_, i) => {
			const blob = sdk('alpha', second).getContainerClient('load').getBlockBlobClient(`b${i}`);
			for (let n = 0; going; n++) {
				try {
					const body = `${i}-${n}`;
					await blob.upload(body, body.length);
					assert.equal((await blob.downloadToBuffer()).toString(), body);
					done += 2;
				} catch (error) {
					lost.push(error);
				}
			}
		});
		const last = [];
		const goes = Array.from({ length: 4 }, async (_, i) => {
			const client = new Client(server, { account: 'alpha', key: first });
			while (going) {
				const began = Date.now();
				const r = await client.get(`/load`, { query: { restype: 'container' } });
				if (r.status === 200) last[i] = began;
				else assert.equal(r.code, 'AuthenticationFailed');
			}
		});
		await sleep(300);
		replace(file, `accounts = alpha:${third}:${second}\naccountLimits = ${limits}\n`);
		const at = Date.now();
		await reload('accounts were read again from');
		const read = Date.now();
		// More of them under the same load: sets of accounts come and go while requests use them.
		for (let i = 0; i < 20; i++) await reload('accounts were read again from');
		await sleep(200);
		going = false;
		await Promise.all([...stays, ...goes]);
		assert.deepEqual(lost, []);
		assert.ok(done > 100, `${done} requests`);
		assert.ok(read - at < 1000, `read after ${read - at} ms`);
		for (const began of last) assert.ok(began - at < 1000, `the old key was taken ${began - at} ms after the signal`);
		assert.equal((await new Client(server, { account: 'alpha', key: first }).get('/load', { query: { restype: 'container' } })).code, 'AuthenticationFailed');
		assert.equal((await new Client(server, { account: 'alpha', key: third }).get('/load', { query: { restype: 'container' } })).status, 200);
		// beta is gone; its address names nothing any more.
		assert.equal((await new Client(server, { account: 'beta', key: first }).get('/load', { query: { restype: 'container' } })).status, 404);
	});

	test('SMB logins follow', async () => {
		const login = (user, key) => run('smbclient', ['-p', String(smbPort), '-U', `${user}%${key}`, '-L', '127.0.0.1', '-m', 'SMB3'], { timeout: 20_000 }).then(() => true, (e) => {
			assert.match(String(e.stdout) + String(e.stderr), /LOGON_FAILURE/);
			return false;
		});
		const fourth = newKey();
		replace(file, `accounts = alpha:${fourth};gamma:${second}\naccountLimits = ${limits}\n`);
		await reload('accounts were read again from');
		assert.equal(await login('alpha', fourth), true);
		assert.equal(await login('alpha', second), false);
		assert.equal(await login('gamma', second), true);
		fs.writeFileSync(limits, 'gamma shared-key off\n');
		await reload('limits of accounts were read again from');
		assert.equal(await login('gamma', second), false);
		assert.equal((await new Client(server, { account: 'gamma', key: second }).get('/', { query: { comp: 'list' } })).code, 'KeyBasedAuthenticationNotPermitted');
		fs.writeFileSync(limits, '');
		await reload('limits of accounts were read again from');
		assert.equal((await new Client(server, { account: 'gamma', key: second }).get('/', { query: { comp: 'list' } })).status, 200);
	});

	// Whoever may write where the files lie: none of it holds the server, changes a setting, or goes without a word.
	test('anything else in the place of a file leaves everything as it was', async () => {
		const good = fs.readFileSync(file, 'utf8');
		const answers = async () => assert.equal((await new Client(server, { account: 'gamma', key: second }).get('/', { query: { comp: 'list' } })).status, 200);
		const put = {
			'a pipe': (at) => execFileSync('mkfifo', [at]),
			'a link to a pipe': (at) => (execFileSync('mkfifo', [`${at}.pipe`]), fs.symlinkSync(`${at}.pipe`, at)),
			'a link to a device': (at) => fs.symlinkSync('/dev/zero', at),
			'a link to itself': (at) => fs.symlinkSync(at, at),
			'a directory': (at) => fs.mkdirSync(at),
			'nothing': () => {},
			'bytes that are no text': (at) => fs.writeFileSync(at, Buffer.alloc(4096, 0xff)),
			'the first half': (at) => fs.writeFileSync(at, (at === file ? good : 'gamma shared-key off\n').slice(0, at === file ? 14 : 10)),
			'three MiB': (at) => fs.writeFileSync(at, `gamma ${'x'.repeat(3 << 20)}\n`),
		};
		for (const target of [file, limits])
			for (const [what, make] of Object.entries(put)) {
				const kept = fs.readFileSync(target);
				fs.rmSync(target);
				make(target);
				const lines = reads('stay as they were');
				await reload('accounts, limits and roles stay as they were');
				await answers();
				assert.equal(reads('stay as they were'), lines + 1, `${what}: one line`);
				fs.rmSync(target, { recursive: true, force: true });
				fs.rmSync(`${target}.pipe`, { force: true });
				fs.writeFileSync(target, kept, { mode: 0o600 });
			}
		// A link to a file is how deployments put files in place.
		fs.renameSync(limits, `${limits}.target`);
		fs.symlinkSync(`${limits}.target`, limits);
		await reload('limits of accounts were read again from');
		await answers();
		fs.rmSync(limits);
		fs.renameSync(`${limits}.target`, limits);
	});

	test('a file that does not parse leaves everything as it was, and the log says so', async () => {
		const good = fs.readFileSync(file, 'utf8');
		const works = async () => assert.equal((await new Client(server, { account: 'gamma', key: second }).get('/', { query: { comp: 'list' } })).status, 200);
		for (const bad of ['accounts = Not-A-Name:AAAA\n', 'accounts = \n', 'no line at all\n', `accounts = gamma:%%%%\n`, `${good}\naccountLimits = ${dir}/absent\n`]) {
			replace(file, bad === 'accounts = \n' ? 'accounts = ;\n' : bad);
			await reload('accounts, limits and roles stay as they were');
			await works();
		}
		replace(file, good);
		fs.writeFileSync(limits, 'gamma nonsense 5\n');
		await reload('accounts, limits and roles stay as they were');
		assert.match(server.stderr, /accountLimits .*line 1/);
		await works();
		assert.doesNotMatch(server.stderr, new RegExp(second.slice(0, 20).replace(/[+/]/g, '.')), 'no key in the log');
		fs.writeFileSync(limits, '');
		await reload('accounts were read again from');
	});

	test('the access log is opened again: what was moved away keeps its lines, the new file gets the next', async () => {
		const log = path.join(dir, 'access.log');
		const client = new Client(server, { account: 'gamma', key: second });
		const moved = `${log}.1`;
		fs.renameSync(log, moved);
		await reload('the access log was opened again');
		await client.get('/', { query: { comp: 'list', prefix: 'behind' } });
		await until('the line in the new file', 5, () => fs.existsSync(log) && fs.readFileSync(log, 'utf8').includes('prefix=behind'));
		assert.ok(!fs.readFileSync(moved, 'utf8').includes('prefix=behind'));
	});
});

describe('SIGHUP beside --anyAccount', () => {
	test('what is deleted in an account that a reload brought is given back, also after others were asked for', async () => {
		const dir = tempDir('zaffre-reload-');
		const file = path.join(dir, 'zaffre.conf');
		const key = newKey();
		fs.writeFileSync(file, `accounts = alpha:${key}\n`, { mode: 0o600 });
		const server = await startServer({ flags: ['--config', file, '--anyAccount'] });
		const liveBytes = async () => Number(/^zaffre_extent_live_bytes (\d+)$/m.exec((await askAdmin(server, '/metrics', 'GET')).text)[1]);
		try {
			fs.writeFileSync(file, `accounts = alpha:${key};brought:${key}\n`, { mode: 0o600 });
			process.kill(server.pid, 'SIGHUP');
			await until('the accounts were read again', 5, () => server.stderr.includes('accounts were read again from'));
			const brought = new Client(server, { account: 'brought', key });
			expectStatus(await brought.put('/full', { query: { restype: 'container' } }), 201);
			expectStatus(await brought.put('/full/large', { body: Buffer.alloc(1 << 20, 1), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			// Many at a time, each of them new to the server.
			await Promise.all(Array.from({ length: 20 }, async (_, i) => expectStatus(await new Client(server, { account: `asked${i}`, key: WELL_KNOWN_KEY }).put('/mine', { query: { restype: 'container' } }), 201)));
			assert.ok((await liveBytes()) >= 1 << 20);
			expectStatus(await brought.request('DELETE', '/full', { query: { restype: 'container' } }), 202);
			await until('its space is given back', 30, async () => (await liveBytes()) === 0);
		} finally {
			await server.remove();
			removeDir(dir);
		}
	});
});

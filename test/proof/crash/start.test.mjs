// SPDX-License-Identifier: Apache-2.0
// A start or a stop in which one call of the operating system fails (failat.c). The program says what is wrong and not something else:
// a disk that cannot be read for a moment is no damage, no lack of memory, and no reason to fetch a backup or to go on without commits.
// The next start has everything.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bin, removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { buildPreload, canPreload } from '../../lib/native.mjs';

const EIO = 5;
const EAGAIN = 11;
const EMFILE = 24;
const BLOBS = 12;
const CALLS_MAX = 200; // of one kind on one kind of file, in one start
const body = (i) => Buffer.alloc(i % 2 ? 100 : 200_000, `${i},`);
const library = canPreload ? buildPreload('test/proof/crash/failat.c') : undefined;

describe('one call fails', { skip: !library && 'a sanitizer wants to be the first library' }, () => {
	const base = tempDir('zaffre-start-');
	const dir = path.join(base, 'data');
	const hit = path.join(base, 'hit');
	const killed = path.join(base, 'killed'); // with commits in the journal alone
	const stopped = path.join(base, 'stopped');

	const copy = (from) => {
		removeDir(dir);
		assert.equal(spawnSync('cp', ['-r', '--sparse=always', from, dir]).status, 0);
	};
	before(async () => {
		const server = await startServer({ dataDir: dir });
		const client = new Client(server);
		expectStatus(await client.put('/kept', { query: { restype: 'container' } }), 201);
		for (let i = 0; i < BLOBS; i++) {
			if (i === BLOBS / 2) await server.restart();
			expectStatus(await client.put(`/kept/b${i}`, { body: body(i), headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		}
		await server.kill9();
		fs.cpSync(dir, killed, { recursive: true, filter: (name) => !name.endsWith('.sock') }); // sockets cannot be copied
		await server.restart();
		await server.remove();
		fs.cpSync(dir, stopped, { recursive: true });
	});
	after(() => removeDir(base));

	const flags = ['serve', '--location', dir, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0', '--silent'];
	const failing = (call, text, n, errno) => {
		fs.rmSync(hit, { force: true });
		return { ZAFFRE_SANDBOX: 'off', LD_PRELOAD: library, ZAFFRE_FAIL: `${call} ${text} ${n} ${errno}`, ZAFFRE_FAIL_HIT: hit };
	};
	async function everythingIsThere() {
		const server = await startServer({ dataDir: dir });
		const client = new Client(server);
		for (let i = 0; i < BLOBS; i++) assert.ok(expectStatus(await client.get(`/kept/b${i}`), 200).body.equals(body(i)), `b${i}`);
		await server.remove();
	}

	for (const [call, text, says] of [
		['opendir', dir, /cannot read the data directory .*: Input\/output error/],
		['readdir', dir, /cannot read the data directory .*: Input\/output error/],
		['read', '/FORMAT', /cannot read FORMAT in .*: Input\/output error/],
		['fstatat', '0', /cannot read the journal in .*: Input\/output error/],
		['fstatat', '1', /cannot read the journal in .*: Input\/output error/],
		['lseek', '/TAIL', /cannot write TAIL in .*: Input\/output error/],
	])
		test(`${call} of ${text === dir ? 'the directory' : text}`, async () => {
			copy(killed);
			const r = await runProgram(flags, { env: failing(call, text, 1, EIO) });
			assert.equal(r.code, 1, r.stdout + r.stderr);
			assert.match(r.stderr, says);
			await everythingIsThere();
		});

	test('a directory that is made is made durable, or it is not there', async () => {
		const fresh = path.join(base, 'a', 'b');
		const args = flags.map((flag) => (flag === dir ? fresh : flag));
		for (const [n, made] of [
			[1, path.join(base, 'a')],
			[2, fresh],
		]) {
			const r = await runProgram(args, { env: failing('fsync', base, n, EIO) });
			assert.equal(r.code, 1, r.stdout + r.stderr);
			assert.ok(r.stderr.includes(`cannot make the data directory ${made}: Input/output error`), r.stderr);
			assert.ok(!fs.existsSync(made));
		}
	});

	// Every call of a kind in turn, until a start has none left to fail.
	for (const [call, text, from, errno, says] of [
		['pread', '.sst', stopped, EIO, /Input\/output error/],
		['write', '.sst', killed, EIO, /Input\/output error/],
		['fdatasync', '/db/', killed, EIO, /Input\/output error/],
		['open', '.sst', killed, EMFILE, /Too many open files.*ulimit -n/],
		['pthread_create', path.basename(bin), stopped, EAGAIN, /thread/],
	])
		test(`every ${call} of ${text} in a start ${from === killed ? 'after kill -9' : 'after a stop'}`, async () => {
			let refused = 0;
			for (let n = 1; ; n++) {
				assert.ok(n < CALLS_MAX, 'it does not end');
				copy(from);
				const env = failing(call, text, n, errno);
				const server = await startServer({ dataDir: dir, env }).catch((error) => error);
				if (!(server instanceof Error)) {
					await server.remove();
					if (!fs.existsSync(hit)) break;
				} else {
					assert.match(server.message, says);
					assert.doesNotMatch(server.message, /backup|zaffre: out of memory|No such file/);
					refused++;
				}
				if (n % 4 === 1) await everythingIsThere();
			}
			assert.ok(refused > 0, 'nothing failed');
		});

	test('a stop that cannot write tables says so, and loses nothing', async () => {
		copy(stopped);
		const env = failing('fdatasync', '.sst', 1, EIO);
		const server = await startServer({ dataDir: dir, env });
		const client = new Client(server);
		expectStatus(await client.put('/kept/late', { body: 'late', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		await server.stop();
		assert.ok(fs.existsSync(hit));
		assert.match(server.stderr, /bringing the journal into the database failed: .*Input\/output error.*Nothing is lost/);
		await server.restart({ env: {} });
		assert.equal(String(expectStatus(await client.get('/kept/late'), 200).body), 'late');
		await server.remove();
		await everythingIsThere();
	});
});

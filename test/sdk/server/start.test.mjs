// SPDX-License-Identifier: Apache-2.0
// The program itself: help, settings, what it prints, what it refuses and in which words, and that nothing is lost when it does.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { bin, freePort, parseConnectionString, removeDir, root, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';

const dirs = [];
const dir = () => dirs[dirs.push(tempDir()) - 1];
after(() => dirs.forEach(removeDir));
const anyPort = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'];

describe('words', () => {
	test('--help lists every setting of the table', async () => {
		const { code, stdout } = await runProgram(['--help']);
		assert.equal(code, 0);
		for (const flag of ['--location', '--blobHost', '--blobPort', '--queuePort', '--tablePort', '--filePort', '--cert', '--key', '--silent', '--mode', '--config', 'ZAFFRE_ACCOUNTS', '--skipApiVersionCheck'])
			assert.ok(stdout.includes(flag), flag);
		assert.ok(!stdout.includes('clockShiftFile'), 'what is for tests stays out of the help');
	});
	test('--version', async () => {
		const { code, stdout } = await runProgram(['--version']);
		assert.equal(code, 0);
		assert.match(stdout, /^zaffre \d+\.\d+\.\d+\n$/);
	});
	test('docs/compat.md is what `zaffre compat` prints', async () => {
		const { code, stdout } = await runProgram(['compat']);
		assert.equal(code, 0);
		assert.equal(fs.readFileSync(path.join(root, 'docs/compat.md'), 'utf8'), stdout, 'run `make docs`');
	});
	test('docs/concurrency.md names tests that there are', () => {
		const text = fs.readFileSync(path.join(root, 'docs/concurrency.md'), 'utf8').replace(/\s+/g, ' ');
		let named = 0, source = '';
		/* A file, then titles, or parts of them, in backquotes until the next file. */
		for (const [, file, title] of text.matchAll(/\b((?:sdk|http|smb|proof\/crash|proof\/soak)\/[\w/-]+)|`([^`]+)`/g)) {
			if (file) source = fs.readFileSync(path.join(root, 'test', `${file}.test.mjs`), 'utf8');
			else if (source && !/^ZAFFRE|^\*$/.test(title)) {
				assert.ok(source.includes(title), `no test is called "${title}"`);
				named++;
			}
		}
		assert.ok(named > 20, `${named}`);
	});
	test('the systemd unit allows what the program asks of the kernel', () => {
		const unit = fs.readFileSync(path.join(root, 'dist/zaffre.service'), 'utf8');
		const filters = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map((m) => m[1]);
		// Calls of the group @resources; setrlimit is not made where both limits are the same.
		const group = ['setpriority', 'nice', 'ioprio_set', 'sched_setscheduler', 'sched_setattr', 'sched_setaffinity'];
		if (!/^LimitNOFILE=\d+$/m.test(unit)) group.push('setrlimit');
		const refused = filters.findIndex((f) => /^~.*@resources/.test(f));
		const allowed = new Set(filters.slice(refused + 1).filter((f) => !f.startsWith('~')).flatMap((f) => f.split(' ')));
		const sources = fs.readdirSync(path.join(root, 'src'), { recursive: true }).filter((f) => f.endsWith('.c'));
		const text = sources.map((f) => fs.readFileSync(path.join(root, 'src', f), 'utf8')).join('\n');
		const asked = group.filter((name) => new RegExp(`\\b${name}\\(`).test(text));
		assert.ok(asked.length, 'the program no longer asks: neither need the unit');
		assert.deepEqual(asked.filter((name) => refused >= 0 && !allowed.has(name)), []);
	});
	const misspelt = path.join(dir(), 'conf');
	fs.writeFileSync(misspelt, 'blobPrt = 1\n');
	for (const [name, args, words] of [
		['an unknown option', ['serve', '--nonsense'], 'unknown option --nonsense'],
		['an unknown command', ['dance'], 'unknown command dance'],
		['a certificate without its key', ['serve', '--cert', 'x'], '--key is missing'],
		['the well-known key on every address', ['serve', '--blobHost', '0.0.0.0', ...anyPort], '--iKnowThisKeyIsPublic'],
		['production over plain HTTP', ['serve', '--mode', 'production', '--blobHost', '0.0.0.0', ...anyPort], '--allowPlainHttp'],
		['a directory as configuration', ['serve', '--config', '/tmp', ...anyPort], 'cannot read the configuration file /tmp'],
		['a website without a port', ['serve', '--webPort', 'abc', ...anyPort], '--webPort takes a port number'],
		['a website on the port of Blob', ['serve', '--blobPort', '23499', '--webPort', '23499', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'], '--webPort and --blobPort are both 23499'],
		['more loops than there are', ['serve', '--threads', '65', ...anyPort], 'threads must be a number from 0 to 64, not "65"'],
		['a number of loops that is none', ['serve', '--threads', 'x', ...anyPort], 'threads must be a number from 0 to 64, not "x"'],
		['something to make that is not known', ['serve', '--create', 'qeue:abcdef', ...anyPort], 'queue:NAME'],
		['a certificate that is not there', ['serve', '--cert', '/nonexistent', '--key', '/nonexistent', ...anyPort], '/nonexistent: No such file or directory'],
		['a checkpoint that is not there', ['restore', '/nonexistent', '--location', '/nonexistent/new'], 'cannot open the checkpoint /nonexistent: No such file or directory'],
		['a misspelt setting in a file', ['serve', '--config', misspelt, ...anyPort], 'line 1: unknown setting blobPrt; did you mean blobPort?'],
	])
		test(`${name} is refused`, async () => {
			const r = await runProgram([...args, ...(args[0] === 'serve' ? ['--location', dir()] : [])]);
			assert.notEqual(r.code, 0);
			assert.ok(r.stderr.includes(words), r.stderr);
			assert.equal(r.stderr.trim().split('\n').length, 1, `one line: ${r.stderr}`);
		});
});

describe('a start', () => {
	test('prints endpoints, directory and a usable connection string, and exits 0 on SIGTERM and SIGINT', async () => {
		for (const signal of ['SIGTERM', 'SIGINT']) {
			const server = await startServer();
			for (const service of ['Blob', 'Queue', 'Table', 'File']) assert.match(server.stdout, new RegExp(`${service} service is successfully listening at http://127\\.0\\.0\\.1:\\d+\n`));
			assert.ok(server.stdout.includes(`Data directory: ${fs.realpathSync(server.dataDir)}`));
			const parts = parseConnectionString(server.connectionString);
			assert.deepEqual(Object.keys(parts), ['DefaultEndpointsProtocol', 'AccountName', 'AccountKey', 'BlobEndpoint', 'QueueEndpoint', 'TableEndpoint', 'FileEndpoint']);
			process.kill(server.pid, signal);
			assert.deepEqual(await server.exited, { code: 0, signal: null });
			await server.remove();
		}
	});
	test('keeps what was stored', async () => {
		const server = await startServer();
		const client = new Client(server);
		const c = uniqueName('keep');
		expectStatus(await client.put(`/${c}`, { query: { restype: 'container' } }), 201);
		const made = expectStatus(await client.put(`/${c}/b`, { body: 'kept', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		await server.restart();
		const r = expectStatus(await client.get(`/${c}/b`), 200);
		assert.equal(r.text, 'kept');
		assert.equal(r.etag, made.etag);
		await server.remove();
	});
	test('SIGTERM lets every request end whose bytes had come, read or not', async () => {
		const server = await startServer();
		const client = new Client(server);
		expectStatus(await client.put('/drain', { query: { restype: 'container' } }), 201);
		// Stopped, it can neither accept nor read: everything waits in the kernel when the signal comes.
		process.kill(server.pid, 'SIGSTOP');
		const requests = await Promise.all(
			Array.from({ length: 32 }, async (_, i) => {
				const bytes = client.bytes('PUT', `/drain/b${i}`, { body: 'x'.repeat(1000), headers: { 'x-ms-blob-type': 'BlockBlob' } });
				const socket = net.connect(server.ports.blob, '127.0.0.1');
				await new Promise((resolve) => socket.once('connect', resolve));
				const r = { bytes, socket, answer: '', ended: new Promise((resolve) => socket.once('close', resolve)) };
				socket.on('data', (chunk) => (r.answer += chunk));
				socket.on('error', () => {});
				return r;
			}),
		);
		for (const { socket, bytes } of requests) socket.write(bytes.subarray(0, bytes.length - 10));
		process.kill(server.pid, 'SIGTERM');
		process.kill(server.pid, 'SIGCONT');
		// Wait until it no longer accepts, then send what is left.
		for (;;) {
			const refused = await new Promise((resolve) => {
				const probe = net.connect(server.ports.blob, '127.0.0.1');
				probe.once('connect', () => (probe.destroy(), resolve(false)));
				probe.once('error', () => resolve(true));
			});
			if (refused) break;
		}
		for (const { socket, bytes } of requests) socket.write(bytes.subarray(bytes.length - 10));
		await Promise.all(requests.map((r) => r.ended));
		for (const { answer } of requests) assert.match(answer, /^HTTP\/1\.1 201 /);
		assert.deepEqual(await server.exited, { code: 0, signal: null });
		await server.restart();
		for (const i of requests.keys()) assert.equal(expectStatus(await client.get(`/drain/b${i}`), 200).body.length, 1000);
		await server.remove();
	});
	test('Azurite command lines and accounts work', async () => {
		const key = Buffer.from('my own key').toString('base64');
		const server = await startServer({ flags: ['--loose', '--skipApiVersionCheck', '--disableProductStyleUrl'], env: { AZURITE_ACCOUNTS: `first:${key};second:${key}:${Buffer.from('2').toString('base64')}` } });
		assert.equal(server.account, 'first');
		const q = { query: { comp: 'list' } };
		for (const account of ['first', 'second']) expectStatus(await new Client(server, { account, key }).get('/', q), 200);
		expectStatus(await new Client(server, { account: 'second', key: Buffer.from('2').toString('base64') }).get('/', q), 200);
		expectError(await new Client(server, { account: 'first', key: Buffer.from('2').toString('base64') }).get('/', q), 403, 'AuthenticationFailed');
		const gone = await new Client(server, { account: 'devstoreaccount1', key }).get('/', q);
		assert.ok(gone.status >= 400 && gone.status < 500);
		await server.remove();
	});
	test('a configuration file', async () => {
		const file = path.join(dir(), 'zaffre.conf');
		fs.writeFileSync(file, `# accounts of our own\naccounts = filed:${Buffer.from('k').toString('base64')}\nthreads = 1\n`);
		const server = await startServer({ flags: ['--config', file] });
		assert.equal(server.account, 'filed');
		await server.remove();
	});
	test('production mode makes keys of its own and keeps them to itself', async () => {
		const server = await startServer({ flags: ['--mode', 'production'] });
		const file = path.join(server.dataDir, 'accounts');
		assert.equal(fs.statSync(file).mode & 0o777, 0o600);
		const [, account, key1, key2] = /^(\w+):(\S+):(\S+)$/m.exec(fs.readFileSync(file, 'utf8'));
		assert.ok(!server.stdout.includes(key1) && !server.stdout.includes(key2) && !server.stderr.includes(key1));
		for (const key of [key1, key2]) expectStatus(await new Client(server, { account, key }).get('/', { query: { comp: 'list' } }), 200);
		expectStatus(await new Client(server, { account: 'devstoreaccount1', key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==' }).get('/', { query: { comp: 'list' } }), 404);
		await server.remove();
	});
	test('HTTPS with --cert and --key', async () => {
		const d = dir();
		const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${d}/key.pem`, '-out', `${d}/cert.pem`]);
		assert.equal(made.status, 0);
		const server = await startServer({ flags: ['--cert', `${d}/cert.pem`, '--key', `${d}/key.pem`] });
		assert.match(server.endpoints.blob, /^https:/);
		const client = new Client(server);
		expectStatus(await client.put('/tls', { query: { restype: 'container' } }), 201);
		const body = 'x'.repeat(3_000_000);
		expectStatus(await client.put('/tls/b', { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		assert.equal(expectStatus(await client.get('/tls/b'), 200).text, body);
		await server.remove();
	});
	test('--inMemoryPersistence leaves nothing', async () => {
		const tmp = dir();
		const server = await startServer({ flags: ['--inMemoryPersistence'], env: { TMPDIR: tmp } });
		expectStatus(await new Client(server).put('/mem', { query: { restype: 'container' } }), 201);
		assert.match(server.stdout, /^Data: in memory/m);
		assert.deepEqual(fs.readdirSync(tmp), []);
		await server.stop();
		assert.deepEqual(fs.readdirSync(tmp), []);
		await server.remove();
	});
	test('--create makes what is not there', async () => {
		const server = await startServer({ flags: ['--create', 'photos,container:docs, queue:work,table:People,share:files'] });
		const list = async (service, path) => (await new Client(server, { service }).get(path, { query: path === '/' ? { comp: 'list' } : {}, headers: { accept: 'application/json;odata=nometadata' } })).text;
		for (const [service, path, names] of [['blob', '/', ['photos', 'docs']], ['queue', '/', ['work']], ['table', '/Tables', ['People']], ['file', '/', ['files']]])
			for (const name of names) assert.ok((await list(service, path)).includes(name), name);
		expectStatus(await new Client(server).put('/photos/b', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		await server.restart();
		expectStatus(await new Client(server).get('/photos/b'), 200);
		await server.remove();
		const r = await runProgram(['serve', '--location', dir(), ...anyPort, '--create', 'NotAName']);
		assert.notEqual(r.code, 0);
		assert.match(r.stderr, /--create NotAName/);
	});
	test('a configuration as editors and habits write it; one line of the log stays one line', async () => {
		const file = path.join(dir(), 'conf'), log = path.join(dir(), 'debug');
		fs.writeFileSync(file, `\ufeffthreads = '1'\ndebug = ${log}\n`);
		const server = await startServer({ flags: ['--config', file] });
		const forged = '2026-01-01T00:00:00.000Z error: forged';
		expectStatus(await new Client(server).get('/c/b', { query: { zz: `\n${forged}` }, key: Buffer.from('wrong').toString('base64') }), 403);
		await server.stop();
		const lines = fs.readFileSync(log, 'utf8').trim().split('\n');
		assert.ok(lines.some((line) => line.includes('string to sign was') && line.includes(forged)), lines.join('|'));
		assert.ok(lines.every((line) => !line.startsWith(forged)));
		await server.remove();
	});
	test('a store whose last commit lies ahead of the clock is told of', async () => {
		const server = await startServer();
		const client = new Client(server);
		await server.restart();
		assert.doesNotMatch(server.stderr, /ahead of the clock/);
		await server.advanceClock(86400);
		expectStatus(await client.put('/ahead', { query: { restype: 'container' } }), 201);
		await server.advanceClock(-86400);
		await server.restart();
		assert.match(server.stderr, /the last commit was made 86\d{3} s ahead of the clock/);
		await server.remove();
	});
	test('closed standard streams are nobody else’s: what is printed does not go into the store', async () => {
		const location = dir(), port = await freePort();
		const child = spawn('sh', ['-c', 'exec "$0" "$@" <&- >&- 2>&-', bin, 'serve', '--location', location, '--blobPort', String(port), '--queuePort', '0', '--tablePort', '0', '--filePort', '0'], { stdio: 'ignore' });
		const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
		const health = () => fetch(`http://127.0.0.1:${port}/health`).then((r) => r.status, () => 0);
		for (const deadline = Date.now() + 60_000; (await health()) !== 200; ) assert.ok(Date.now() < deadline && child.exitCode === null, 'it serves');
		const streams = [0, 1, 2].map((fd) => fs.readlinkSync(`/proc/${child.pid}/fd/${fd}`));
		child.kill('SIGTERM');
		assert.equal(await ended, 0);
		assert.deepEqual(streams, ['/dev/null', '/dev/null', '/dev/null']);
		assert.match(fs.readFileSync(path.join(location, 'LOCK'), 'utf8'), /^\d* ?\d*\s*$/);
	});
	test('a log that nobody reads holds up neither requests nor the end', async () => {
		const fifo = path.join(dir(), 'fifo');
		assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
		const reader = fs.openSync(fifo, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK); // open, never read
		const server = await startServer({ accessLog: fifo });
		const blob = new Client(server);
		// Far more than a pipe and the server's own memory hold.
		const long = `/${'x'.repeat(800)}`;
		for (let i = 0; i < 60; i++) await Promise.all(Array.from({ length: 32 }, () => blob.get(long, { anonymous: true })));
		const began = Date.now();
		process.kill(server.pid, 'SIGTERM');
		assert.deepEqual(await server.exited, { code: 0, signal: null });
		assert.ok(Date.now() - began < 8000, 'SIGTERM ends it');
		fs.closeSync(reader);
		await server.remove();
	});
	test('the access log is one JSON line a request and holds no secret', async () => {
		const log = path.join(dir(), 'access.log');
		const server = await startServer({ accessLog: log });
		const client = new Client(server);
		expectStatus(await client.put('/logged', { query: { restype: 'container' } }), 201);
		expectError(await client.get('/logged/nothing'), 404, 'BlobNotFound');
		await server.stop();
		const text = fs.readFileSync(log, 'utf8');
		const lines = text.trim().split('\n').map((line) => JSON.parse(line));
		assert.equal(lines.length, 2);
		assert.deepEqual(lines.map((line) => line.status), [201, 404]);
		assert.ok(!text.includes(server.key) && !/SharedKey \w+:/.test(text) && !/sig=[A-Za-z0-9%]{10}/.test(text));
		await server.remove();
	});
});

describe('a start that must fail, and loses nothing', () => {
	async function withData() {
		const server = await startServer();
		const client = new Client(server);
		expectStatus(await client.put('/safe', { query: { restype: 'container' } }), 201);
		expectStatus(await client.put('/safe/b', { body: 'safe', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		return { server, client };
	}
	const stillThere = async (client) => assert.equal(expectStatus(await client.get('/safe/b'), 200).text, 'safe');
	const refused = (r, words) => {
		assert.ok(r.code > 0, `exit code ${r.code} ${r.signal}`);
		assert.ok(words.test(r.stderr), r.stderr);
	};

	test('a second server on the directory', async () => {
		const { server, client } = await withData();
		const r = await runProgram(['serve', '--location', server.dataDir, ...anyPort]);
		refused(r, new RegExp(`in use by another server, process ${server.pid};`));
		await stillThere(client);
		await server.remove();
	});
	for (const service of ['blob', 'queue', 'table'])
		test(`a busy ${service} port`, async () => {
			const port = await freePort();
			const holder = net.createServer();
			await new Promise((resolve) => holder.listen(port, '127.0.0.1', resolve));
			const flags = anyPort.map((x, i) => (anyPort[i - 1] === `--${service}Port` ? String(port) : x));
			refused(await runProgram(['serve', '--location', dir(), ...flags]), new RegExp(`${port}`));
			await new Promise((resolve) => holder.close(resolve));
		});
	test('a port another zaffre has', async () => {
		const { server, client } = await withData();
		const flags = anyPort.map((x, i) => (anyPort[i - 1] === '--blobPort' ? String(server.ports.blob) : x));
		refused(await runProgram(['serve', '--location', dir(), ...flags]), new RegExp(`${server.ports.blob}`));
		await stillThere(client);
		await server.remove();
	});
	test('a directory that cannot be written', { skip: process.getuid() !== 0 && 'needs root to become another user' }, async () => {
		const d = dir();
		fs.chmodSync(d, 0o755);
		// The program must be reachable for that user, wherever the tree lies.
		const program = path.join(dir(), 'zaffre');
		fs.copyFileSync(bin, program);
		fs.chmodSync(path.dirname(program), 0o755);
		fs.chmodSync(program, 0o755);
		const r = await runProgram(['serve', '--location', path.join(d, 'sub'), ...anyPort], { program, uid: 65534, gid: 65534 });
		refused(r, /cannot make the data directory .*Permission denied.*--location.* belongs to user 0, this is user 65534; or run as that one \(in a container: --user 0:0\)/);
		const r2 = await runProgram(['serve', '--location', d, ...anyPort], { program, uid: 65534, gid: 65534 });
		refused(r2, /cannot write to the data directory .*Permission denied.* belongs to user 0, this is user 65534/);
		assert.deepEqual(fs.readdirSync(d), []);
	});
	test('scrub by root leaves the files to whom the directory belongs', { skip: process.getuid() !== 0 && 'needs root to become another user' }, async () => {
		const nobody = 65534, d = path.join(dir(), 'data'), program = path.join(dir(), 'zaffre');
		fs.copyFileSync(bin, program);
		fs.chmodSync(program, 0o755);
		fs.mkdirSync(d);
		fs.chownSync(d, nobody, nobody);
		for (const above of [d, program]) fs.chmodSync(path.dirname(above), 0o755);
		const wrapper = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
		const server = await startServer({ wrapper, program, dataDir: d, flags: ['--mode', 'production', '--create', 'mine'] });
		await server.stop();
		// Above what systemd gives a service of its own nobody but root may look in: root reads it all the same.
		fs.chmodSync(path.dirname(d), 0o700);
		const r = await runProgram(['-c', 'umask 077; exec "$0" scrub --location "$1"', bin, d], { program: 'sh' });
		assert.equal(r.code, 0, r.stderr);
		fs.chmodSync(path.dirname(d), 0o755);
		const strange = fs.readdirSync(d, { recursive: true }).filter((name) => fs.statSync(path.join(d, name)).uid !== nobody);
		assert.deepEqual(strange, []);
		await server.start();
		await server.remove();
	});
	test('a data directory of a newer format', async () => {
		const { server, client } = await withData();
		await server.stop();
		const file = path.join(server.dataDir, 'FORMAT');
		const before = fs.readFileSync(file, 'utf8');
		fs.writeFileSync(file, before.replace(/\d+/, (n) => String(Number(n) + 1)));
		refused(await runProgram(['serve', '--location', server.dataDir, ...anyPort]), /newer/);
		fs.writeFileSync(file, before);
		await server.start();
		await stillThere(client);
		await server.remove();
	});
	test('a data directory that lost parts', async () => {
		const { server, client } = await withData();
		await server.stop();
		for (const [part, text] of [['FORMAT', /FORMAT file is missing; restore/], ['db', /missing, restore the directory from a backup/]]) {
			const [at, aside] = [path.join(server.dataDir, part), path.join(dir(), part)];
			fs.renameSync(at, aside);
			refused(await runProgram(['serve', '--location', server.dataDir, ...anyPort]), text);
			fs.rmSync(at, { recursive: true, force: true });
			fs.renameSync(aside, at);
		}
		await server.start();
		await stillThere(client);
		await server.remove();
	});
	test('a store that was stopped cleanly needs no journal, one that was killed does', async () => {
		const { server, client } = await withData();
		await server.stop();
		fs.rmSync(path.join(server.dataDir, 'journal'), { recursive: true });
		await server.start();
		await stillThere(client);
		await server.kill9();
		fs.rmSync(path.join(server.dataDir, 'journal'), { recursive: true });
		refused(await runProgram(['serve', '--location', server.dataDir, ...anyPort]), /acknowledged and cannot be read; restore the directory from a backup/);
		await server.remove();
	});
	test("somebody else's directory", async () => {
		const d = dir();
		fs.writeFileSync(path.join(d, 'thesis.tex'), 'x');
		refused(await runProgram(['serve', '--location', d, ...anyPort]), /is no data directory of zaffre/);
		assert.equal(fs.readFileSync(path.join(d, 'thesis.tex'), 'utf8'), 'x');
	});
	test('a file instead of a directory', async () => {
		const file = path.join(dir(), 'file');
		fs.writeFileSync(file, '');
		refused(await runProgram(['serve', '--location', file, ...anyPort]), /not a directory/);
	});
});

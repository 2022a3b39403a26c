// SPDX-License-Identifier: Apache-2.0
// The audit log: who did or was refused what, by which key or token, through which door. A line is written before its request is
// answered; a log that cannot be written refuses requests, one that is slow makes them wait, and nothing else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectError, expectStatus } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas, blobSas } from '../../lib/sign.mjs';
import { SmbClient } from '../../lib/smb.mjs';
import { freePort, removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';

const keys = [8, 9].map((n) => Buffer.alloc(64, n).toString('base64'));
const fingerprint = (secret) => crypto.createHash('sha256').update(secret).digest('hex').slice(0, 16);
// The whole lines: the last one may be on its way to the file.
const lines = (file) => fs.readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
const env = { ZAFFRE_ACCOUNTS: `one:${keys.join(':')};two:${keys[0]}` };
const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };

async function eventually(what, holds, seconds = 20) {
	for (const end = Date.now() + seconds * 1000; !(await holds()); await sleep(20)) assert.ok(Date.now() < end, `never came: ${what}`);
}

describe('lines', () => {
	let dir, file, server, smbPort;
	const client = (key = keys[0], account = 'one') => new Client(server, { account, key });
	const of = (id) => lines(file).filter((line) => line.client_id === id);
	before(async () => {
		dir = tempDir();
		file = `${dir}/audit.log`;
		smbPort = await freePort();
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`], { stdio: 'ignore' });
		server = await startServer({ flags: ['--auditLog', file, '--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'basic', '--oauthEveryTokenOwns', '--smbPort', String(smbPort), '--create', 'share:files'], env });
		expectStatus(await client().put('/ccc', { query: { restype: 'container' } }), 201);
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});

	test('a write has a line with key, TLS version, program, object and request id before it is answered; a read has none', async () => {
		for (const [i, key] of keys.entries()) {
			const id = `write-${i}`;
			const put = await client(key).put('/ccc/a name', { body: 'x', headers: { ...blockBlob, 'user-agent': 'the "tester"/1', 'x-ms-client-request-id': id } });
			expectStatus(put, 201);
			const [line, ...more] = of(id);
			assert.equal(more.length, 0);
			assert.equal(line.id, put.headers['x-ms-request-id']);
			assert.match(line.time, /^\d{4}-\d\d-\d\dT/);
			const { door, operation, object, outcome, status, auth, account, key: which, ip, tls, agent } = line;
			assert.deepEqual({ door, operation, object, outcome, status, auth, account, which, ip, tls, agent },
				{ door: 'rest', operation: 'BLOB_PUT', object: 'ccc/a name', outcome: 'done', status: 201, auth: 'key', account: 'one', which: `key${i + 1}`, ip: '127.0.0.1', tls: 'TLSv1.3', agent: 'the "tester"/1' });
		}
		expectStatus(await client().get('/ccc/a name', { headers: { 'x-ms-client-request-id': 'read' } }), 200);
		assert.equal(of('read').length, 0);
	});

	test('a write that fails has its error', async () => {
		expectStatus(await client().put('/none/x', { body: 'x', headers: { ...blockBlob, 'x-ms-client-request-id': 'fails' } }), 404);
		const [{ outcome, status, error }] = of('fails');
		assert.deepEqual({ outcome, status, error }, { outcome: 'failed', status: 404, error: 'ContainerNotFound' });
	});

	test('refusals: of a read with a wrong key, of a token that may not, of nobody', async () => {
		const wrong = Buffer.alloc(64, 1).toString('base64');
		expectStatus(await client(wrong).get('/ccc/a name', { headers: { 'x-ms-client-request-id': 'wrong' } }), 403);
		assert.deepEqual(of('wrong').map(({ outcome, reason, error, key }) => ({ outcome, reason, error, key })), [{ outcome: 'refused', reason: 'the proof is wrong', error: 'AuthenticationFailed', key: undefined }]);
		const sas = blobSas('one', keys[1], 'ccc', 'a name', { sp: 'r' });
		expectStatus(await client().request('DELETE', '/ccc/a name', { sas, headers: { 'x-ms-client-request-id': 'letters' } }), 403);
		const [line] = of('letters');
		assert.equal(line.outcome, 'refused');
		assert.equal(line.auth, 'service-sas');
		assert.equal(line.key, 'key2');
		assert.equal(line.sas, fingerprint(sas.get('sig')));
		expectStatus(await client().get('/ccc/a name', { anonymous: true, headers: { 'x-ms-client-request-id': 'nobody' } }), 401);
		assert.equal(of('nobody')[0].auth, 'anonymous');
	});

	test('a bearer token: subject, program, fingerprint', async () => {
		const now = Math.floor(Date.now() / 1000);
		const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
		const claims = { aud: 'https://storage.azure.com', iss: 'https://sts.windows.net/t/', iat: now, nbf: now, exp: now + 600, oid: 'the-subject', appid: 'the-program', tid: 'the-tenant' };
		const token = `${part({ alg: 'RS256' })}.${part(claims)}.c2ln`;
		expectStatus(await client().put('/ccc/b', { body: 'x', headers: { ...blockBlob, authorization: `Bearer ${token}`, 'x-ms-client-request-id': 'bearer' } }), 201);
		const [{ auth, subject, app, tenant, token: told }] = of('bearer');
		assert.deepEqual({ auth, subject, app, tenant, told }, { auth: 'bearer', subject: 'the-subject', app: 'the-program', tenant: 'the-tenant', told: fingerprint(token) });
	});

	test('each part of a batch has a line', async () => {
		const b = 'batch_x';
		const sub = ['a name', 'b'].map((name, i) => `--${b}\r\nContent-Type: application/http\r\nContent-ID: ${i}\r\n\r\nDELETE /one/ccc/${encodeURIComponent(name)} HTTP/1.1\r\nContent-Length: 0\r\nx-ms-client-request-id: part-${i}\r\n\r\n`);
		const sas = accountSas('one', keys[0], {});
		const answer = await client().post('', { query: { comp: 'batch' }, sas, body: `${sub.join('\r\n')}\r\n--${b}--\r\n`, headers: { 'content-type': `multipart/mixed; boundary=${b}`, 'x-ms-client-request-id': 'whole' } });
		expectStatus(answer, 202);
		assert.equal(of('whole').length, 1);
		assert.equal(lines(file).filter((line) => line.operation === 'BLOB_DELETE').length, 3); // and the one that was refused
	});

	test('logins over SMB, with the key or not', async () => {
		const login = async (key) => {
			const c = await SmbClient.connect(smbPort);
			await c.negotiate();
			const { status } = await c.login('one', key);
			await c.end();
			return status;
		};
		assert.equal(await login(keys[1]), 0);
		assert.notEqual(await login('wrong'), 0);
		const told = lines(file).filter((line) => line.door === 'smb').map(({ operation, outcome, account, key, ip, reason }) => ({ operation, outcome, account, key, ip, reason }));
		assert.deepEqual(told, [
			{ operation: 'Login', outcome: 'done', account: 'one', key: 'key2', ip: '127.0.0.1', reason: undefined },
			{ operation: 'Login', outcome: 'refused', account: 'one', key: undefined, ip: '127.0.0.1', reason: 'the proof is wrong' },
		]);
	});

	test('commands of the admin socket, reloads, start', async () => {
		const list = await runProgram(['account', 'list', '--location', server.dataDir]);
		assert.equal(list.code, 0, list.stderr);
		const command = lines(file).filter((line) => line.door === 'admin').at(-1);
		assert.equal(command.object, '/account/list');
		assert.equal(command.auth, 'socket');
		process.kill(server.pid, 'SIGHUP');
		await eventually('the reload is told', () => lines(file).some((line) => line.operation === 'Reload' && line.outcome === 'done'));
		assert.equal(lines(file)[0].operation, 'Start');
	});

	test('moved away, and opened again by SIGHUP: nothing is missing', async () => {
		const before = lines(file).length;
		fs.renameSync(file, `${file}.1`);
		let ended = false;
		const ids = [];
		const writing = Promise.all([0, 1, 2, 3].map(async (n) => {
			for (let i = 0; !ended; i++) {
				const id = `turn-${n}-${i}`;
				expectStatus(await client().put(`/ccc/turn-${n}`, { body: 'x', headers: { ...blockBlob, 'x-ms-client-request-id': id } }), 201);
				ids.push(id);
			}
		}));
		await eventually('some writes', () => ids.length > 20);
		process.kill(server.pid, 'SIGHUP');
		await eventually('the new file', () => fs.existsSync(file) && lines(file).length > 20);
		ended = true;
		await writing;
		const all = [...lines(`${file}.1`), ...lines(file)];
		assert.ok(all.length > before + ids.length);
		const told = new Set(all.map((line) => line.client_id));
		assert.deepEqual(ids.filter((id) => !told.has(id)), []);
	});

	test('no key, no signature, no token is in it', () => {
		const text = fs.readFileSync(`${file}.1`, 'utf8') + fs.readFileSync(file, 'utf8');
		for (const secret of keys) assert.ok(!text.includes(secret));
		assert.doesNotMatch(text, /c2ln|sig=|SharedKey/);
	});
});

test('with --auditReads reads have lines too', async () => {
	const dir = tempDir();
	const server = await startServer({ flags: ['--auditLog', `${dir}/audit.log`, '--auditReads', '--auditSync', 'always'], env });
	const client = new Client(server, { account: 'one', key: keys[0] });
	expectStatus(await client.get('', { query: { comp: 'list' } }), 200);
	assert.ok(lines(`${dir}/audit.log`).some((line) => line.operation.includes('LIST') && line.outcome === 'done'));
	await server.remove();
	removeDir(dir);
});

test('what was answered is in the log, also after kill -9', async () => {
	const dir = tempDir();
	const file = `${dir}/audit.log`;
	const server = await startServer({ flags: ['--auditLog', file], env });
	const client = new Client(server, { account: 'one', key: keys[0] });
	expectStatus(await client.put('/ccc', { query: { restype: 'container' } }), 201);
	const answered = [];
	const writers = Array.from({ length: 16 }, async (_, n) => {
		for (let i = 0; ; i++) {
			const id = `${n}-${i}`;
			const put = await client.put(`/ccc/${n}`, { body: 'x', headers: { ...blockBlob, 'x-ms-client-request-id': id } }).catch(() => undefined);
			if (!put) return;
			if (put.status === 201) answered.push(id);
		}
	});
	await eventually('writes', () => answered.length > 300);
	await server.kill9();
	await Promise.all(writers);
	const text = fs.readFileSync(file, 'utf8');
	const told = new Set(text.split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line).client_id));
	assert.deepEqual(answered.filter((id) => !told.has(id)), []);
	await server.remove();
	removeDir(dir);
});

test('a log that cannot be written: 503 until it can, and then the lines that waited', async () => {
	const dir = tempDir();
	const [file, name] = [`${dir}/real.log`, `${dir}/audit.log`];
	fs.symlinkSync(file, name);
	const server = await startServer({ flags: ['--auditLog', name, '--sandbox', 'off', '--adminPort', '0'], env });
	const client = new Client(server, { account: 'one', key: keys[0] });
	expectStatus(await client.put('/ccc', { query: { restype: 'container' } }), 201);
	const point = async (target) => {
		fs.unlinkSync(name);
		fs.symlinkSync(target, name);
		const said = server.stderr.length;
		process.kill(server.pid, 'SIGHUP');
		await eventually('the log is opened again', () => server.stderr.slice(said).includes('audit log was opened again'));
	};
	await point('/dev/full');
	// The first finds out; whether it was done is not told.
	const first = await client.put('/ccc/x', { body: 'x', headers: { ...blockBlob, 'x-ms-client-request-id': 'first' } });
	expectError(first, 503, 'ServerBusy');
	assert.equal(first.headers['retry-after'], '1');
	expectError(await client.put('/ccc/y', { body: 'y', headers: blockBlob }), 503, 'ServerBusy');
	expectError(await client.get('/ccc/x'), 503, 'ServerBusy');
	assert.match(server.stderr, /cannot write the audit log: No space left on device; requests are refused/);
	await point(file);
	await eventually('it is written again', () => server.stderr.includes('the audit log is written again'));
	expectStatus(await client.put('/ccc/y', { body: 'y', headers: blockBlob }), 201);
	assert.equal(lines(file).filter((line) => line.client_id === 'first').length, 1, 'the line that could not be written was kept');
	assert.equal(lines(file).filter((line) => line.object === 'ccc/y').length, 1, 'what was refused was not done');
	await server.remove();
	removeDir(dir);
});

test('a log that nobody takes: writes wait, reads and other loops do not, and all are answered in the end', async () => {
	const dir = tempDir();
	const name = `${dir}/audit.fifo`;
	execFileSync('mkfifo', [name]);
	const reader = fs.openSync(name, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
	const server = await startServer({ flags: ['--auditLog', name, '--threads', '1'], env });
	const client = new Client(server, { account: 'one', key: keys[0] });
	expectStatus(await client.put('/ccc', { query: { restype: 'container' } }), 201);
	let answered = 0;
	const agent = 'x'.repeat(400);
	const many = new http.Agent({ maxSockets: 400 });
	const puts = Array.from({ length: 300 }, (_, i) => new Client(server, { account: 'one', key: keys[0], agent: many }).put(`/ccc/${i}`, { body: 'x', headers: { ...blockBlob, 'user-agent': agent, 'x-ms-client-request-id': `p${i}` } }).then((r) => {
		expectStatus(r, 201);
		answered++;
	}));
	const held = Promise.all(puts);
	held.catch(() => {});
	// All of them are done but for their lines, of which a pipe holds 64 KiB.
	await eventually('writes are done', async () => (await client.get(`/ccc/299`)).status === 200);
	await eventually('writes wait', async () => {
		const was = answered;
		await sleep(300);
		return answered === was;
	});
	assert.ok(answered < 300);
	const began = performance.now();
	for (let i = 0; i < 20; i++) expectStatus(await client.get('/ccc/0'), 200);
	assert.ok(performance.now() - began < 2000, 'reads do not wait for the log');
	let text = '';
	const chunk = Buffer.alloc(65536);
	const take = () => {
		try {
			text += chunk.subarray(0, fs.readSync(reader, chunk)).toString();
		} catch (e) {
			if (e.code !== 'EAGAIN') throw e;
		}
	};
	await eventually('all are answered', () => (take(), answered === 300));
	await held;
	take();
	const told = new Set(text.split('\n').filter(Boolean).map((line) => JSON.parse(line).client_id));
	for (let i = 0; i < 300; i++) assert.ok(told.has(`p${i}`), `line of p${i}`);
	const stopping = server.remove();
	const drain = setInterval(take, 20);
	await stopping;
	clearInterval(drain);
	fs.closeSync(reader);
	removeDir(dir);
});

// SPDX-License-Identifier: Apache-2.0
// What a peer without credentials can send without end, and what others notice of it: TLS messages that bring no data,
// records of one byte, silent connections, requests whose sender is gone.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import https from 'node:https';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { buildProgram } from '../lib/native.mjs';
import { removeDir, startServer, tempDir } from '../lib/server.mjs';
import { portOf } from './wire.mjs';

const FLOOD_S = 4;
const FLOODS = 6;

let server, port, dir, flood, agent;
before(async () => {
	dir = tempDir();
	const [cert, key] = [path.join(dir, 'cert.pem'), path.join(dir, 'key.pem')];
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
	server = await startServer({ flags: ['--cert', cert, '--key', key, '--threads', '2'] });
	port = portOf(server.endpoints.blob);
	flood = buildProgram('test/http/tls_flood.c', ['-lssl', '-lcrypto']);
	agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false });
});
after(async () => {
	agent?.destroy();
	await server?.remove();
	removeDir(dir);
});

function startFloods(kind) {
	return Promise.all(
		Array.from({ length: FLOODS }, () => new Promise((resolve, reject) => {
			const child = spawn(flood, [String(port), kind, String(FLOOD_S)], { stdio: ['ignore', 'pipe', 'inherit'] });
			let text = '';
			child.stdout.on('data', (data) => (text += data));
			child.once('error', reject).once('close', () => resolve(text.trim()));
		})),
	);
}

function health() {
	const began = Date.now();
	return new Promise((resolve, reject) => {
		const r = https.get({ host: '127.0.0.1', port, path: '/health', agent, timeout: 30_000 }, (answer) => {
			answer.resume().on('end', () => resolve(Date.now() - began));
		});
		r.on('timeout', () => r.destroy(new Error('no answer in 30 s'))).on('error', reject);
	});
}

// The longest wait of a client that asks all the time, on connections of its own on every loop.
async function slowestWhile(busy) {
	let done = false;
	let slowest = 0;
	busy.finally(() => (done = true));
	const ask = async () => {
		while (!done) slowest = Math.max(slowest, await health());
	};
	await Promise.all([ask(), ask(), ask(), ask()]);
	return slowest;
}

test('key updates without end are cut off, and others are answered meanwhile', async () => {
	const floods = startFloods('keys');
	const slowest = await slowestWhile(floods);
	for (const told of await floods) assert.match(told, / cut$/, told);
	assert.ok(slowest < 1000, `a request took ${slowest} ms`);
});

// The client would go through with it: on a server that allows it (SSL_OP_ALLOW_CLIENT_RENEGOTIATION) it says `renegotiated`.
test('a renegotiation of TLS 1.2 is refused', async () => {
	assert.deepEqual([...new Set(await startFloods('ask'))], ['no_renegotiation']);
});

// Refusing is work, too: who asks again and again, whatever he is told, is cut off.
test('renegotiations without end are cut off, and others are answered meanwhile', async () => {
	const floods = startFloods('renegotiate');
	const slowest = await slowestWhile(floods);
	for (const told of await floods) assert.ok(/^[1-9]\d* cut$/.test(told), told);
	assert.ok(slowest < 1000, `a request took ${slowest} ms`);
});

test('records of one byte do not hold a loop', async () => {
	const floods = startFloods('bytes');
	const slowest = await slowestWhile(floods);
	await floods;
	assert.ok(slowest < 1000, `a request took ${slowest} ms`);
});

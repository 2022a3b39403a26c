// SPDX-License-Identifier: Apache-2.0
// The same connections under TLS: sizes, keep-alive, old versions refused, plain HTTP on the port, broken handshakes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, test } from 'node:test';
import { accountSas } from '../lib/sign.mjs';
import { startServer, tempDir, removeDir } from '../lib/server.mjs';
import { Wire, portOf } from './wire.mjs';

let server, port, dir, agent;

function certify(name) {
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', path.join(dir, 'key.pem'), '-out', path.join(dir, 'cert.pem')], { stdio: 'ignore' });
}
before(async () => {
	dir = tempDir();
	certify('localhost');
	const cert = path.join(dir, 'cert.pem');
	const key = path.join(dir, 'key.pem');
	server = await startServer({ flags: ['--cert', cert, '--key', key] });
	port = portOf(server.endpoints.blob);
	agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
});
after(async () => {
	agent?.destroy();
	await server?.remove();
	removeDir(dir);
});

function request(method, target, { headers = {}, body, spr } = {}) {
	const sas = accountSas(server.account, server.key, spr ? { spr } : {}).toString();
	const url = `https://127.0.0.1:${port}/devstoreaccount1${target}${target.includes('?') ? '&' : '?'}${sas}`;
	return new Promise((resolve, reject) => {
		const r = https.request(url, { method, agent, headers: { 'x-ms-version': '2021-06-08', ...headers } }, (answer) => {
			const chunks = [];
			answer.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks), socket: answer.socket }));
			answer.on('error', reject);
		});
		r.on('error', reject);
		r.end(body);
	});
}

test('bodies of many sizes over one kept connection', async () => {
	assert.equal((await request('PUT', '/secure?restype=container', { headers: { 'content-length': 0 } })).status, 201);
	const sockets = new Set();
	for (const size of [0, 1, 4096, 16_384, 16_385, 40_000, 1_000_000, 9_000_000]) {
		const body = crypto.randomBytes(size);
		const put = await request('PUT', `/secure/b${size}`, { headers: { 'x-ms-blob-type': 'BlockBlob', 'content-length': size }, body });
		assert.equal(put.status, 201);
		const got = await request('GET', `/secure/b${size}`);
		assert.equal(got.status, 200);
		assert.ok(got.body.equals(body), `${size} bytes`);
		sockets.add(put.socket).add(got.socket);
	}
	assert.equal(sockets.size, 1);
});

test('a token for https only is good here', async () => {
	assert.equal((await request('GET', '/secure/b1', { spr: 'https' })).status, 200);
});

for (const version of ['TLSv1.2', 'TLSv1.3']) {
	test(`${version} is spoken`, async () => {
		const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, minVersion: version, maxVersion: version });
		await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
		assert.equal(socket.getProtocol(), version);
		socket.destroy();
	});
}

test('TLS 1.1 is refused', async () => {
	const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
	const outcome = await new Promise((resolve) => socket.once('secureConnect', () => resolve('accepted')).once('error', () => resolve('refused')));
	socket.destroy();
	assert.equal(outcome, 'refused');
});

test('plain HTTP and nonsense on the port are closed, and harm nobody', async () => {
	for (const bytes of ['GET /health HTTP/1.1\r\nHost: h\r\n\r\n', '\x16\x03\x01\xff\xff\x01\x00', '\0'.repeat(100)]) {
		const wire = await Wire.open(port);
		await wire.send(Buffer.from(bytes, 'latin1'));
		if (bytes.startsWith('\x16')) wire.socket.end();
		await wire.peerEnds();
		assert.deepEqual(wire.statuses, []);
		await wire.destroy();
	}
	assert.equal((await request('GET', '/secure/b1')).status, 200);
});

test('peers that break off in the middle of TLS', async () => {
	for (let i = 0; i < 30; i++) {
		const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
		socket.on('error', () => {});
		await new Promise((resolve) => socket.once(i % 3 ? 'secureConnect' : 'connect', resolve));
		if (i % 3 === 1) socket.write(`PUT /devstoreaccount1/secure/gone?${accountSas(server.account, server.key, {})} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(i * 3000)}`);
		socket.destroy();
	}
	assert.equal((await request('GET', '/secure/gone')).status, 404);
});

const nameShown = () =>
	new Promise((resolve, reject) => {
		const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
			resolve(socket.getPeerCertificate().subject.CN);
			socket.destroy();
		}).once('error', reject);
	});

async function hangUp(words) {
	const from = server.stderr.length;
	process.kill(server.pid, 'SIGHUP');
	while (!server.stderr.slice(from).includes(words)) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('SIGHUP reads a renewed certificate; who is connected stays so', { timeout: 60_000 }, async () => {
	const before = await request('GET', '/secure/b1');
	assert.equal(await nameShown(), 'localhost');
	certify('renewed.example');
	assert.equal(await nameShown(), 'localhost', 'nobody asked for it yet');
	await hangUp('the certificate was read again');
	assert.equal(await nameShown(), 'renewed.example');
	assert.equal((await request('GET', '/secure/b1')).socket, before.socket);
});

test('SIGHUP with files that do not fit changes nothing and says so', { timeout: 60_000 }, async () => {
	const shown = await nameShown();
	const key = fs.readFileSync(path.join(dir, 'key.pem'));
	certify('other.example');
	fs.writeFileSync(path.join(dir, 'key.pem'), key);
	await hangUp('the certificate that was in use stays');
	assert.equal(await nameShown(), shown);
	fs.rmSync(path.join(dir, 'cert.pem'));
	await hangUp('the certificate that was in use stays');
	assert.equal(await nameShown(), shown);
});

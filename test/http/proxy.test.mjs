// SPDX-License-Identifier: Apache-2.0
// Behind a balancer: PROXY headers and forwarding headers are believed from the addresses the operator names, and from nobody else; sip,
// spr and the access log then see the client.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { accountSas } from '../lib/sign.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { portOf } from './wire.mjs';

// One request on a connection of its own from a local address; what comes back as text, '' if the server only closed.
function exchange(port, pieces, localAddress = '127.0.0.1') {
	return new Promise((resolve, reject) => {
		let text = '';
		const socket = net.connect({ port, host: '127.0.0.1', localAddress });
		socket.on('data', (bytes) => (text += bytes)).on('error', (e) => (e.code === 'ECONNRESET' || e.code === 'EPIPE' ? resolve(text) : reject(e))).on('close', () => resolve(text));
		(async () => {
			for (const piece of pieces) {
				socket.write(piece);
				await new Promise((next) => setTimeout(next, pieces.length > 1 ? 5 : 0));
			}
		})();
	});
}
const status = (text) => Number(text.slice(9, 12));
const request = (server, { sip, spr, headers = {} } = {}) => {
	const sas = accountSas(server.account, server.key, { sp: 'rl', sip, spr, now: server.now() });
	const lines = Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}\r\n`)).join('');
	return `GET /${server.account}?comp=list&${sas} HTTP/1.1\r\nHost: x\r\nx-ms-version: 2022-11-02\r\n${lines}Connection: close\r\n\r\n`;
};
const line = (from, family = 'TCP4') => `PROXY ${family} ${from} ${family === 'TCP4' ? '198.51.100.1' : '2001:db8::ff'} 5000 443\r\n`;
function binary(from, { command = 1, tls = false, version = 2 } = {}) {
	const extensions = tls ? Buffer.from([0x20, 0, 5, 1, 0, 0, 0, 0]) : Buffer.alloc(0);
	const addresses = Buffer.concat([Buffer.from(from.split('.').map(Number)), Buffer.from([198, 51, 100, 1]), Buffer.from([0x13, 0x88, 1, 0xbb])]);
	const head = Buffer.from([13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10, (version << 4) | command, 0x11, 0, 0]);
	head.writeUInt16BE(addresses.length + extensions.length, 14);
	return Buffer.concat([head, addresses, extensions]);
}

describe('forwarding headers', () => {
	let server, port, dir;
	before(async () => {
		dir = tempDir();
		server = await startServer({ flags: ['--trustedProxies', '127.0.0.1, 10.9.0.0/16'], accessLog: path.join(dir, 'log') });
		port = portOf(server.endpoints.blob);
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
	});
	const ask = async (o, from) => status(await exchange(port, [request(server, o)], from));

	test('sip sees the address a trusted proxy names', async () => {
		assert.equal(await ask({ sip: '192.0.2.7' }), 403);
		for (const value of ['192.0.2.7', '192.0.2.7:5000', 'spoofed, 192.0.2.7', '203.0.113.9, 192.0.2.7, 10.9.1.1'])
			assert.equal(await ask({ sip: '192.0.2.7', headers: { 'X-Forwarded-For': value } }), 200, value);
		await new Promise((r) => setTimeout(r, 200));
		assert.match(fs.readFileSync(path.join(dir, 'log'), 'utf8'), /"ip":"192\.0\.2\.7"/);
	});
	test('what a client wrote itself is not believed', async () => {
		for (const value of ['192.0.2.7, 203.0.113.9', ['192.0.2.7', '203.0.113.9'], '192.0.2.7, nonsense', ''])
			assert.equal(await ask({ sip: '192.0.2.7', headers: { 'X-Forwarded-For': value } }), 403, String(value));
		// Nor anything from an address that is not named.
		assert.equal(await ask({ sip: '192.0.2.7', headers: { 'X-Forwarded-For': '192.0.2.7' } }, '127.0.0.2'), 403);
		assert.equal(await ask({ spr: 'https', headers: { 'X-Forwarded-Proto': 'https' } }, '127.0.0.2'), 403);
	});
	test('spr sees TLS that ended at the proxy', async () => {
		assert.equal(await ask({ spr: 'https' }), 403);
		assert.equal(await ask({ spr: 'https', headers: { 'X-Forwarded-Proto': 'http' } }), 403);
		assert.equal(await ask({ spr: 'https', headers: { 'X-Forwarded-Proto': 'https' } }), 200);
	});
});

describe('PROXY headers', () => {
	let server, port;
	before(async () => {
		server = await startServer({ flags: ['--trustedProxies', '127.0.0.1', '--proxyProtocol'] });
		port = portOf(server.endpoints.blob);
	});
	after(() => server.remove());
	const behind = async (header, o = {}, from) => status(await exchange(port, [Buffer.concat([Buffer.from(header), Buffer.from(request(server, o))])], from));

	test('version 1 and 2 name the client', async () => {
		assert.equal(await behind(line('192.0.2.7'), { sip: '192.0.2.7' }), 200);
		assert.equal(await behind(line('192.0.2.8'), { sip: '192.0.2.7' }), 403);
		assert.equal(await behind(binary('192.0.2.7'), { sip: '192.0.2.7' }), 200);
		assert.equal(await behind(binary('192.0.2.8'), { sip: '192.0.2.7' }), 403);
		assert.equal(await behind(line('2001:db8::1', 'TCP6')), 200);
		assert.equal(await behind('PROXY UNKNOWN\r\n', { sip: '127.0.0.1' }), 200);
		assert.equal(await behind(binary('192.0.2.7', { command: 0 }), { sip: '127.0.0.1' }), 200, 'LOCAL: the balancer itself');
	});
	test('version 2 says whether the client spoke TLS', async () => {
		assert.equal(await behind(binary('192.0.2.7'), { spr: 'https' }), 403);
		assert.equal(await behind(binary('192.0.2.7', { tls: true }), { spr: 'https' }), 200);
	});
	test('header fields are the client\'s own then', async () => {
		assert.equal(await behind(line('192.0.2.8'), { sip: '192.0.2.7', headers: { 'X-Forwarded-For': '192.0.2.7' } }), 403);
	});
	test('a byte at a time', async () => {
		for (const header of [Buffer.from(line('192.0.2.7')), binary('192.0.2.7', { tls: true })]) {
			const bytes = [...header].map((b) => Buffer.from([b]));
			assert.equal(status(await exchange(port, [...bytes, request(server, { sip: '192.0.2.7' })])), 200);
		}
	});
	test('without one, or with what is none, a trusted address is not served; others are, without', async () => {
		for (const bad of ['', 'PROXY TCP4 300.0.2.7 198.51.100.1 1 2\r\n', 'PROXY TCP4 192.0.2.7 198.51.100.1 1 99999\r\n', 'PROXY TCP5 a b 1 2\r\n', 'PROXY TCP4 192.0.2.7 198.51.100.1 1 2\n', `PROXY ${'x'.repeat(200)}\r\n`, binary('192.0.2.7', { version: 1 }), binary('192.0.2.7', { command: 7 })])
			assert.equal(await exchange(port, [Buffer.concat([Buffer.from(bad), Buffer.from(request(server))])]), '', String(bad));
		assert.equal(await behind('', { sip: '127.0.0.2' }, '127.0.0.2'), 200);
		assert.equal(await behind(line('192.0.2.7'), { sip: '192.0.2.7' }, '127.0.0.2'), 400);
		assert.equal(await behind(line('192.0.2.7')), 200);
	});
});

test('settings that make no sense are told', async () => {
	for (const [flags, message] of [[['--proxyProtocol'], /trustedProxies/], [['--trustedProxies', 'balancer'], /addresses are like/]]) {
		const dir = tempDir();
		const r = await runProgram(['--location', dir, ...flags, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0']);
		assert.notEqual(r.code, 0);
		assert.match(r.stderr, message);
		removeDir(dir);
	}
});

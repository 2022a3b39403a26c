// SPDX-License-Identifier: Apache-2.0
// The sandbox around a server that serves: it is on in every thread, everything that may happen later still happens
// (a renewed certificate, a log that was moved away, threads that come with the work), and the service manager hears
// that the server moves. What the filters refuse is test/unit/sandbox; here is what must go on.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { Client } from '../../lib/http.mjs';
import { removeDir, root, scale, startServer, tempDir } from '../../lib/server.mjs';

const sanitized = scale < 1 ? 'a build with sanitizers has no sandbox' : false;

function makeCertificate(dir, name) {
	const [cert, key] = [path.join(dir, 'new-cert.pem'), path.join(dir, 'new-key.pem')];
	execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', key, '-out', cert], { stdio: 'ignore' });
	fs.renameSync(cert, path.join(dir, 'cert.pem'));
	fs.renameSync(key, path.join(dir, 'key.pem'));
}

// Of every thread: { name, seccomp, noNewPrivs }.
const threadsOf = (pid) => fs.readdirSync(`/proc/${pid}/task`).map((task) => {
	const status = fs.readFileSync(`/proc/${pid}/task/${task}/status`, 'latin1');
	const field = (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
	return { name: field('Name'), seccomp: field('Seccomp'), noNewPrivs: field('NoNewPrivs') };
});

const servedName = (port) => new Promise((resolve, reject) => {
	const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
		resolve(socket.getPeerCertificate().subject.CN);
		socket.destroy();
	});
	socket.once('error', reject);
});

async function eventually(what, holds) {
	for (const end = Date.now() + 20_000; !(await holds()); await sleep(20)) assert.ok(Date.now() < end, `never came: ${what}`);
}

describe('a server in its sandbox', { skip: sanitized }, () => {
	let dir, server, client;
	before(async () => {
		dir = tempDir('zaffre-sandbox-');
		makeCertificate(dir, 'first');
		server = await startServer({ flags: ['--cert', path.join(dir, 'cert.pem'), '--key', path.join(dir, 'key.pem')], accessLog: path.join(dir, 'access.log') });
		client = new Client(server);
		assert.equal((await client.put('/c', { query: { restype: 'container' } })).status, 400); // too short a name
		assert.equal((await client.put('/held', { query: { restype: 'container' } })).status, 201);
	});
	after(async () => {
		await server?.remove();
		removeDir(dir);
	});

	test('no thread is outside', async () => {
		const body = Buffer.alloc(20 * 1024 * 1024, 1);
		assert.equal((await client.put('/held/large', { body, headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
		const copy = await client.put('/held/copy', { headers: { 'x-ms-copy-source': client.url('/held/large').href } });
		assert.equal(copy.status, 202, copy.text);
		await eventually('the copy', async () => (await client.head('/held/copy')).headers['x-ms-copy-status'] === 'success');
		assert.ok((await client.get('/held/copy')).body.equals(body));
		const outside = threadsOf(server.pid).filter((thread) => thread.seccomp !== '2' || thread.noNewPrivs !== '1');
		assert.deepEqual(outside, []);
	});

	test('a renewed certificate is read', async () => {
		const port = Number(new URL(server.endpoints.blob).port);
		assert.equal(await servedName(port), 'first');
		makeCertificate(dir, 'second');
		process.kill(server.pid, 'SIGHUP');
		await eventually('the second certificate', async () => (await servedName(port)) === 'second');
	});

	test('a log that was moved away is opened again', async () => {
		const log = path.join(dir, 'access.log');
		fs.renameSync(log, `${log}.1`);
		process.kill(server.pid, 'SIGHUP');
		await eventually('a new log', async () => {
			await client.head('/held/large');
			return fs.existsSync(log) && fs.statSync(log).size > 0;
		});
	});

	test('it flushes, compacts and ends as ever, and says nothing of missing rights', async () => {
		for (let i = 0; i < 40; i++) assert.equal((await client.put(`/held/b${i}`, { body: Buffer.alloc(1024 * 1024, i), headers: { 'x-ms-blob-type': 'BlockBlob' } })).status, 201);
		await server.stop();
		assert.doesNotMatch(server.stderr, /ermission|not permitted|without/);
		await server.restart();
		assert.equal((await client.get('/held/b7')).body[5], 7);
	});
});

test('--sandbox off leaves it out; other words are refused', async () => {
	const server = await startServer({ flags: ['--sandbox', 'off'] });
	assert.ok(threadsOf(server.pid).every((thread) => thread.seccomp === '0'));
	await server.stop();
	await assert.rejects(server.restart({ flags: ['--sandbox', 'perhaps'] }), /sandbox/);
	await server.remove();
});

test('the service manager hears a heartbeat', async (t) => {
	if (spawnSync('python3', ['-c', '']).status !== 0) return t.skip('needs python3: node has no datagram sockets of this kind');
	const dir = tempDir('zaffre-notify-');
	const socket = path.join(dir, 'notify');
	const script = 'import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nprint("bound",flush=True)\nwhile True: print(s.recv(4096).decode(),flush=True)';
	const manager = spawn('python3', ['-c', script, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
	let heard = '';
	manager.stdout.setEncoding('utf8').on('data', (text) => (heard += text));
	try {
		await eventually('the manager', () => heard.includes('bound'));
		const server = await startServer({ env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' } });
		await eventually('READY', () => heard.includes('READY=1'));
		await eventually('ten beats', () => heard.split('WATCHDOG=1').length > 10);
		await server.stop();
		assert.match(heard, /STOPPING=1/);
		await server.remove();
	} finally {
		manager.kill();
		removeDir(dir);
	}
});

test('the unit is as tight as it is said to be', (t) => {
	if (spawnSync('systemd-analyze', ['--version']).status !== 0) return t.skip('needs systemd-analyze');
	const dir = tempDir('zaffre-unit-');
	const unit = path.join(dir, 'zaffre.service');
	const text = fs.readFileSync(path.join(root, 'dist/zaffre.service'), 'utf8');
	fs.writeFileSync(unit, text.replaceAll('@PREFIX@/bin/zaffre', '/bin/true').replaceAll('@SYSCONFDIR@', '/etc'));
	const said = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], { encoding: 'utf8' });
	const level = Number(/Overall exposure level for zaffre.service: ([\d.]+)/.exec(said)?.[1]);
	assert.ok(level <= 1.5, `exposure level ${level}`);
	// A single one that is missing hardly shows in the level.
	const bounds = ['MemoryMax=', 'TasksMax=', 'LimitCORE=0', 'WatchdogSec=', 'PrivateUsers=yes', 'RestartPreventExitStatus=4'];
	const walls = ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'ProtectHome=yes', 'PrivateDevices=yes', 'RestrictNamespaces=yes', 'MemoryDenyWriteExecute=yes', 'CapabilityBoundingSet=\n', 'SystemCallFilter=@system-service'];
	for (const setting of [...bounds, ...walls]) assert.ok(text.includes(`\n${setting}`), setting);
	removeDir(dir);
});

// SPDX-License-Identifier: Apache-2.0
// Slow peers are closed in time, with the limits the server really has (base/limits.h); many idle ones cost little.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { accountSas } from '../lib/sign.mjs';
import { Client } from '../lib/http.mjs';
import { startServer, scale } from '../lib/server.mjs';
import { Wire, portOf } from './wire.mjs';

const HEAD_MS = 15_000;
const BODY_MS = 30_000;
const SLACK_MS = 8_000;

let server, port, sas;
before(async () => {
	server = await startServer();
	port = portOf(server.endpoints.blob);
	sas = accountSas(server.account, server.key, {}).toString();
	assert.equal((await new Client(server).put('/slow', { query: { restype: 'container' } })).status, 201);
});
after(() => server?.remove());

async function closesWithin(wire, least, most, dribble) {
	const start = Date.now();
	const timer = dribble && setInterval(() => wire.socket.write(dribble), 1000);
	await wire.peerEnds(most + 5000);
	clearInterval(timer);
	const took = Date.now() - start;
	await wire.destroy();
	assert.ok(took >= least && took <= most, `closed after ${took} ms, not within ${least}..${most}`);
}

const PUT = () => `PUT /devstoreaccount1/slow/b?${sas} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nx-ms-version: 2021-06-08\r\n`;

describe('slow peers', { concurrency: true }, () => {
	test('a connection that never says a word', async () => {
		await closesWithin(await Wire.open(port), HEAD_MS - 1000, HEAD_MS + SLACK_MS);
	});
	test('a head that stops', async () => {
		const wire = await Wire.open(port);
		await wire.send('GET /health HT');
		await closesWithin(wire, HEAD_MS - 1000, HEAD_MS + SLACK_MS);
	});
	test('a head of one byte a second', async () => {
		const wire = await Wire.open(port);
		await wire.send('GET /health HTTP/1.1\r\nX: ');
		await closesWithin(wire, HEAD_MS - 1000, HEAD_MS + SLACK_MS, 'x');
	});
	test('a body that stops', async () => {
		const wire = await Wire.open(port);
		await wire.send(`${PUT()}Content-Length: 100000\r\n\r\nabc`);
		await closesWithin(wire, BODY_MS - 1000, BODY_MS + SLACK_MS);
	});
	test('a body of one byte a second', async () => {
		const wire = await Wire.open(port);
		await wire.send(`${PUT()}Content-Length: 100000\r\n\r\n`);
		await closesWithin(wire, BODY_MS - 1000, BODY_MS + SLACK_MS, 'x');
	});
	test('a chunked body of one chunk a second', async () => {
		const wire = await Wire.open(port);
		await wire.send(`${PUT()}Transfer-Encoding: chunked\r\n\r\n`);
		await closesWithin(wire, BODY_MS - 1000, BODY_MS + SLACK_MS, '1\r\nx\r\n');
	});
	test('a body slow but steady is taken', async () => {
		const wire = await Wire.open(port);
		await wire.send(`${PUT()}Content-Length: 36000\r\n\r\n`);
		for (let i = 0; i < 36; i++) {
			await wire.send('z'.repeat(1000));
			await new Promise((resolve) => setTimeout(resolve, 1000));
		}
		await wire.until((text) => text.startsWith('HTTP/1.1 201'), '201');
		await wire.destroy();
	});
	test('others are served meanwhile', async () => {
		const start = Date.now();
		while (Date.now() - start < 20_000) {
			const wire = await Wire.open(port);
			const sent = Date.now();
			await wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
			await wire.until((text) => text.includes('{"status":"ok"}'), 'the answer');
			assert.ok(Date.now() - sent < 5000);
			await wire.destroy();
			await new Promise((resolve) => setTimeout(resolve, 500));
		}
	});
});

const residentKiB = (pid) => Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const openFilesLimit = () => Number(/Max open files\s+(\d+)/.exec(fs.readFileSync('/proc/self/limits', 'utf8'))[1]);

test('10,000 idle keep-alive connections cost at most 40 MiB and are still served', async (t) => {
	const count = 10_000;
	if (openFilesLimit() < count + 500) return t.skip(`needs ${count + 500} open files, the limit here is ${openFilesLimit()}`);
	const own = await startServer();
	const wires = [];
	try {
		const ownPort = portOf(own.endpoints.blob);
		const before = residentKiB(own.pid);
		while (wires.length < count) {
			const batch = await Promise.all(Array.from({ length: 200 }, () => Wire.open(ownPort)));
			await Promise.all(batch.map((wire) => wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n')));
			await Promise.all(batch.map((wire) => wire.until((text) => text.includes('{"status":"ok"}'), 'an answer', 60_000)));
			wires.push(...batch);
		}
		const grown = residentKiB(own.pid) - before;
		/* A sanitizer's shadow memory says nothing about ours. */
		if (scale === 1) assert.ok(grown < 40 * 1024, `grew by ${grown} KiB`);
		for (let i = 0; i < count; i += 97) {
			wires[i].received = Buffer.alloc(0);
			await wires[i].send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
			await wires[i].until((text) => text.includes('{"status":"ok"}'), 'an answer');
		}
		t.diagnostic(`${grown} KiB for ${count} connections`);
	} finally {
		await Promise.all(wires.map((wire) => wire.destroy()));
		await own.remove();
	}
});

test('out of descriptors: who has asked before is served, silent ones make room, and it recovers', async (t) => {
	const own = await startServer();
	const wires = [];
	try {
		const ownPort = portOf(own.endpoints.blob);
		const open = () => fs.readdirSync(`/proc/${own.pid}/fd`).length;
		const limit = 2 * (open() + 50); // half of so few are kept for files
		try {
			execFileSync('prlimit', ['--pid', String(own.pid), `--nofile=${limit}:${limit}`], { stdio: 'ignore' });
		} catch (error) {
			return t.skip(`prlimit: ${error.message}`);
		}
		const ask = async (count) => {
			await Promise.all(wires.slice(0, 20).map((wire) => wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n')));
			await Promise.all(wires.slice(0, 20).map((wire) => wire.until((text) => text.split('{"status":"ok"}').length > count, 'an answer')));
		};
		for (let i = 0; i < 20; i++) wires.push(await Wire.open(ownPort));
		await ask(1);
		for (let i = 0; i < 130; i++) wires.push(await Wire.open(ownPort));
		await ask(2);
		const ticks = () => {
			const fields = fs.readFileSync(`/proc/${own.pid}/stat`, 'utf8').split(') ')[1].split(' ');
			return Number(fields[11]) + Number(fields[12]);
		};
		const before = ticks();
		await new Promise((resolve) => setTimeout(resolve, 2000));
		assert.ok(ticks() - before < 60, `${ticks() - before} ticks of 10 ms in 2 s: it spins`);
		await Promise.all(wires.splice(0).map((wire) => wire.destroy()));
		const deadline = Date.now() + 10_000;
		for (;;) {
			const wire = await Wire.open(ownPort);
			wires.push(wire);
			await wire.send('GET /health HTTP/1.1\r\nHost: h\r\n\r\n');
			try {
				await wire.until((text) => text.includes('{"status":"ok"}'), 'an answer', 1000);
				break;
			} catch (error) {
				if (Date.now() > deadline) throw error;
			}
		}
	} finally {
		await Promise.all(wires.map((wire) => wire.destroy()));
		await own.remove();
	}
});

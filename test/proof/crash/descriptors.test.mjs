// SPDX-License-Identifier: Apache-2.0
// Descriptors run out. A server that may have few of them (prlimit) meets more connections than that, while others write enough for the
// engine to need new files: logs, tables, its first segment. Required: no crash, no exit, no answer that is not true; the connections that
// were there go on being served; after the flood is gone new ones are served at once; and everything acknowledged is there, also after
// kill -9. Opens that fail in the engine for other reasons are in faults.test.mjs.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { random } from './random.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ? Math.ceil(process.env.ZAFFRE_CRASH_ROUNDS / 50) : 1);
const SEED = Number(process.env.ZAFFRE_SEED ?? crypto.randomInt(2 ** 31));
const WRITERS = 6;
const SIZES = [200, 6_000, 30_000, 30_000, 90_000]; // mostly rows, so that write buffers are flushed; the last lie in a segment

const FILES_BYTES = 24_000_000; // more than a file of the journal holds: tables are written

// Sockets that say nothing, opened again when they are closed, until end().
class Flood {
	constructor(ports, count) {
		this.sockets = new Set();
		this.closed = 0;
		for (let i = 0; i < count; i++) this.#open(ports[i % ports.length]);
	}
	#open(port) {
		const socket = net.connect({ port, host: '127.0.0.1' });
		this.sockets.add(socket);
		socket.on('error', () => {});
		socket.once('close', () => {
			this.sockets.delete(socket);
			this.closed++;
			if (!this.over) setTimeout(() => this.over || this.#open(port), 20);
		});
	}
	async end() {
		this.over = true;
		await Promise.all([...this.sockets].map((s) => new Promise((resolve) => s.once('close', resolve).destroy())));
	}
}

async function write(server, connection, id, until, next, log) {
	const client = new Client(server);
	for (const need = log.bytes + FILES_BYTES; (Date.now() < until || log.bytes < need) && log.refused < 1000; ) {
		const name = `w${id}-${log.serial++}`;
		const body = Buffer.alloc(SIZES[next(SIZES.length)], `${name};`);
		const r = await connection.exchange(client.bytes('PUT', `/files/${name}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } }), 'PUT');
		if (r.status >= 500) log.refused++;
		else {
			assert.equal(r.status, 201, r.text);
			log.blobs.set(name, body);
			log.bytes += body.length;
		}
		const known = [...log.blobs.keys()][next(log.blobs.size || 1)];
		if (!known) continue;
		const got = await connection.exchange(client.bytes('GET', `/files/${known}`));
		if (got.status >= 500) log.refused++;
		else assert.ok(got.status === 200 && got.body.equals(log.blobs.get(known)), `${known}: ${got.status}`);
	}
}

async function verify(server, log) {
	const client = new Client(server);
	for (const [name, body] of log.blobs) assert.ok(expectStatus(await client.get(`/files/${name}`), 200).body.equals(body), name);
	return log.blobs.size;
}

// Within five seconds; the server may still be busy with closing what it had.
async function served(server) {
	const deadline = Date.now() + 5000;
	for (;;) {
		const fresh = await RawConnection.open(server.ports.blob);
		try {
			assert.equal((await fresh.exchange(new Client(server).bytes('GET', '/files', { query: { restype: 'container' } }))).status, 200);
			return;
		} catch (error) {
			if (Date.now() > deadline) throw new Error(`the flood is gone and it does not serve: ${error.message}`);
			await new Promise((resolve) => setTimeout(resolve, 50));
		} finally {
			await fresh.end();
		}
	}
}

const open = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;

async function flood(t, limit) {
	const next = random(SEED);
	const log = { blobs: new Map(), bytes: 0, refused: 0, serial: 0 };
	// One address may have all connections here: descriptors are to run out, not the share of an address.
	const server = await startServer({ flags: ['--maxConnectionsPerAddress', '60000'], wrapper: ['prlimit', `--nofile=${limit}:${limit}`] });
	const count = { most: 0, files: 0, closed: 0, checked: 0 };
	const crowds = [];
	try {
		expectStatus(await new Client(server).put('/files', { query: { restype: 'container' } }), 201);
		for (let round = 0; round < ROUNDS; round++) {
			const connections = await Promise.all(Array.from({ length: WRITERS }, () => RawConnection.open(server.ports.blob)));
			// Answered once: they are in, whatever comes after them.
			for (const c of connections) assert.equal((await c.exchange(new Client(server).bytes('GET', '/files', { query: { restype: 'container' } }))).status, 200);
			const crowd = new Flood(Object.values(server.ports), 2 * limit);
			crowds.push(crowd);
			const watch = setInterval(() => (count.most = Math.max(count.most, server.running ? open(server.pid) : 0)), 20);
			await Promise.all(connections.map((c, id) => write(server, c, `${round}-${id}`, Date.now() + scaled(1500, 500), next, log)));
			clearInterval(watch);
			assert.ok(server.running, `it ended: ${server.stderr}`);
			await crowd.end();
			count.closed += crowd.closed;
			for (const c of connections) await c.end();
			await served(server);
			count.checked += await verify(server, log);
			await server.kill9();
			await server.start();
			count.checked += await verify(server, log);
		}
		await server.stop();
		t.diagnostic(`limit ${limit}: ${ROUNDS} floods of ${2 * limit} connections (${count.closed} closed), at most ${count.most} descriptors in use, ${log.blobs.size} writes acknowledged and ${log.refused} answers of 5xx meanwhile, ${count.checked} times compared, none lost; seed ${SEED}`);
		// Nothing else closes a silent connection within these seconds.
		assert.ok(count.closed > limit, 'it was never short of descriptors');
	} catch (error) {
		error.message = `seed ${SEED}: ${error.message} ${server.stderr}`;
		throw error;
	} finally {
		for (const crowd of crowds) await crowd.end();
		await server.kill9();
		await server.remove();
	}
}

describe('descriptors', () => {
	for (const limit of [100, 256]) test(`${limit} of them and more connections than that`, (t) => flood(t, limit));
});

// SPDX-License-Identifier: Apache-2.0
// What the server clears up by itself: the losers of a race to create, containers whose days are over, contents that nobody names any more.
// It keeps up with what comes in, and when nothing is left to do it does nothing.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { runProgram, scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { extentsComeTo } from '../../lib/scrub.mjs';
import { Blobs, random } from '../../lib/blob.mjs';
import { accountSas } from '../../lib/sign.mjs';

const HOUR = 3600;
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const times = (count, make) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

// What the directory holds: asked while the server is down.
async function scrub(server) {
	await server.stop();
	const r = await runProgram(['scrub', '--location', server.dataDir]);
	assert.equal(r.code, 0, r.stdout + r.stderr);
	await server.restart();
	const [, partitions, , extents] = /(\d+) partitions, (\d+) rows, (\d+) extents/.exec(r.stdout).map(Number);
	return { partitions, extents };
}
// A few looks, some seconds apart: what takes longer does not keep up.
async function soon(server, what, count) {
	let now;
	for (let look = 0; look < 3; look++) {
		await later(2500);
		now = (await scrub(server))[what];
		if (now === count) return;
	}
	assert.equal(now, count, what);
}
// In clock ticks of 10 ms.
const cpuTicks = (pid) => fs.readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ').slice(11, 13).reduce((sum, n) => sum + Number(n), 0);
// It has some seconds to finish what it has to do.
async function comesToRest(server) {
	let used;
	for (let look = 0; look < 5; look++) {
		const before = cpuTicks(server.pid);
		await later(3000);
		used = cpuTicks(server.pid) - before;
		if (used <= 5) return;
	}
	assert.fail(`idle, and busy for ${used * 10} ms of 3 s`);
}

const CREATORS = 16;
for (const [service, create, won, lost] of [
	['blob', (name, sas) => [`PUT /ACCOUNT/${name}?restype=container&${sas}`, ''], 201, 409],
	['queue', (name, sas) => [`PUT /ACCOUNT/${name}?${sas}`, ''], 201, 204],
	['table', (name, sas) => [`POST /ACCOUNT/Tables?${sas}`, JSON.stringify({ TableName: name })], 201, 409],
])
	test(`${CREATORS} creators of one name at a time: one wins, nothing is left of the others (${service})`, async () => {
		const rounds = scaled(20, 16);
		const server = await startServer();
		const sas = accountSas(server.account, server.key, { now: Date.now() + 24 * HOUR * 1000 }).toString();
		// The account itself is made by its first resource.
		const first = await RawConnection.open(server.ports[service]);
		const request = (name) => {
			const [target, body] = create(name, sas);
			return `${target.replace('ACCOUNT', server.account)} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: 2024-11-04\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
		};
		const made = await first.exchange(Buffer.from(request('first')), 'PUT');
		assert.equal(made.status, won, made.text);
		await first.end();
		const { partitions } = await scrub(server);
		const connections = await times(CREATORS, () => RawConnection.open(server.ports[service]));
		for (let round = 0; round < rounds; round++) {
			const answers = await times(CREATORS, (i) => connections[i].exchange(Buffer.from(request(`name${round}`)), 'PUT'));
			assert.deepEqual(answers.map((r) => r.status).sort(), [...Array(CREATORS - 1).fill(lost), won].sort());
		}
		await times(CREATORS, (i) => connections[i].end());
		await comesToRest(server);
		await soon(server, 'partitions', partitions + rounds);
		await server.remove();
	});

test('a deleted container goes when its days are over, whatever is deleted beside it', async () => {
	const BESIDE = 80;
	const server = await startServer({ flags: ['--containerRetentionDays', '1'] });
	const client = new Client(server), b = new Blobs(client);
	const remove = (name) => client.delete(`/${name}`, { query: { restype: 'container' } });
	expectStatus(await b.container('zz-last'), 201);
	expectStatus(await b.put('/zz-last/blob', random(100_000)), 201);
	expectStatus(await remove('zz-last'), 202);
	await times(BESIDE, async (i) => expectStatus(await b.container(`aa-${i}`), 201));
	await server.advanceClock(20 * HOUR);
	await times(BESIDE, async (i) => expectStatus(await remove(`aa-${i}`), 202));
	assert.equal((await scrub(server)).extents, 1);
	await server.advanceClock(6 * HOUR);
	await extentsComeTo(server, 0);
	// Those beside it are not over.
	const left = expectStatus(await client.get('/', { query: { comp: 'list', include: 'deleted' } }), 200);
	assert.equal([...left.text.matchAll(/<Deleted>true</g)].length, BESIDE);
	await server.remove();
});

test('what is deleted is given back as fast as it comes', async () => {
	const CLIENTS = 8, EACH = scaled(80, 60);
	const server = await startServer();
	const b = new Blobs(new Client(server));
	expectStatus(await b.container('many'), 201);
	await times(CLIENTS, async (i) => {
		for (let k = 0; k < EACH; k++) {
			const path = `/many/${i}-${k}`;
			expectStatus(await b.block(path, 'one', random(40_000)), 201);
			expectStatus(await b.block(path, 'two', random(40_000)), 201);
			expectStatus(await b.blockList(path, ['one']), 201);
			expectStatus(await b.delete(path), 202);
		}
	});
	await soon(server, 'extents', 0);
	await server.remove();
});

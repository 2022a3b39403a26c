// SPDX-License-Identifier: Apache-2.0
// What the server costs when nobody asks anything: memory, and the time from start to the first answer. `make bench` measures; this
// only keeps a mistake from slipping in, so its bound on time is generous.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { bin, scale, startServer } from '../../lib/server.mjs';

const sanitized = /asan|tsan/.test(bin) || scale < 1;

test('idle: at most 40 MiB resident', { skip: sanitized && 'sanitizers have memory of their own' }, async (t) => {
	const server = await startServer();
	await (await fetch(`http://127.0.0.1:${server.ports.blob}/health`)).text();
	const kib = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
	t.diagnostic(`${(kib / 1024).toFixed(1)} MiB`);
	assert.ok(kib <= 40 * 1024, `${kib} KiB`);
	await server.remove();
});

test('start to ready', { skip: sanitized && 'sanitizers are slow to start' }, async (t) => {
	const times = [];
	for (let i = 0; i < 5; i++) {
		const begin = process.hrtime.bigint();
		const server = await startServer();
		times.push(Number(process.hrtime.bigint() - begin) / 1e6);
		await server.remove();
	}
	times.sort((a, b) => a - b);
	t.diagnostic(`${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
	assert.ok(times[0] < 1000, `${times[0]} ms`);
});

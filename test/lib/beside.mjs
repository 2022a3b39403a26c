// SPDX-License-Identifier: Apache-2.0
// Who does the work of long requests, and what another account notices of it: for servers with one event loop.
//
//   const took = await beside(server, [{ port, text, count }], () => other.get('/quiet/b'));
// Each entry is a connection that sends `text` so often. Without a budget the loop does all of the work by itself: which
// thread worked tells that on any machine, how long others waited only on one that has little else to do.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { figuresText, percentiles } from './neighbours.mjs';
import { scale } from './server.mjs';

// Programs under sanitizers are several times slower.
export const patience = scale < 1 ? 10 : 1;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// CPU of the threads whose names begin so.
export const threadSeconds = (server, name) => fs.readdirSync(`/proc/${server.pid}/task`).reduce((sum, task) => {
	const of = (file) => fs.readFileSync(`/proc/${server.pid}/task/${task}/${file}`, 'latin1');
	return of('comm').startsWith(name) ? sum + Number(of('schedstat').split(' ')[0]) / 1e9 : sum;
}, 0);

// Reads and forgets: the client must not be what is slow.
export async function openSink(port) {
	const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
	socket.on('error', () => {}).resume();
	await new Promise((resolve) => socket.once('connect', resolve));
	return socket;
}

export async function inParallel(count, width, work) {
	let next = 0;
	await Promise.all(Array.from({ length: width }, async () => {
		while (next < count) await work(next++);
	}));
}

export async function timesOf(count, ask) {
	const took = [];
	for (let i = 0; i < count; i++) {
		const began = performance.now();
		assert.equal((await ask()).status, 200);
		took.push(performance.now() - began);
	}
	return took.sort((a, b) => a - b);
}

// How long the other's requests took while those of `asked` were answered, and what loop and workers spent meanwhile.
export async function load(server, asked, ask) {
	const now = () => ({ loop: threadSeconds(server, 'loop'), workers: threadSeconds(server, 'worker-long') });
	const before = now();
	let left = asked.length;
	for (const { port, text, count, last = text.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n') } of asked) {
		const sink = await openSink(port);
		sink.once('close', () => left--);
		sink.write(text.repeat(count - 1) + last);
	}
	const took = [];
	let during = 0; // answered before the last of `asked` was
	for (const end = Date.now() + 60_000 * patience; left > 0 || took.length < 80; await sleep(2)) {
		took.push(...(await timesOf(1, ask)));
		if (left > 0) during++;
		assert.ok(Date.now() < end, `${left} connections have not had their answers`);
	}
	const after = now();
	const figures = { ...percentiles(took), during, loop: after.loop - before.loop, workers: after.workers - before.workers };
	if (process.env.ZAFFRE_TEST_FIGURES) console.error(`CPU of the loop ${figures.loop.toFixed(3)} s, of workers ${figures.workers.toFixed(3)} s; ${figuresText(figures)}`);
	return figures;
}

// Long work: the workers did it, or most of it (so many times what the loop did).
export async function beside(server, asked, ask, share = 0.5) {
	const figures = await load(server, asked, ask);
	assert.ok(figures.workers > figures.loop * share, `the loop worked ${figures.loop.toFixed(3)} s, workers only ${figures.workers.toFixed(3)} s`);
	return figures;
}

// SPDX-License-Identifier: Apache-2.0
// A quiet account beside a noisy one: clients that commit large things without a pause, in a thread of their own, and a
// meter that asks for little and notes how long each answer took.
//
//   const noise = await startNoise(server, { account, key, kind: 'lists', clients: 4 });
//   const figures = await measurePuts(new Client(server, { account, key }), '/quiet', { seconds: 5 });
//   const counts = await noise.stop();      { done, refused } of the noisy clients
// Kinds: 'lists' commits block lists of 50,000 entries, 'blobs' puts as many bytes as plain blobs.
import http from 'node:http';
import https from 'node:https';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Client } from './http.mjs';

export const LIST_ENTRIES = 50_000;
const STAGED = 200;
const BLOCK_BYTES = 64;

const blockId = (i) => Buffer.from(`block-${String(i).padStart(10, '0')}`).toString('base64');

function listBody() {
	const entries = Array.from({ length: LIST_ENTRIES }, (_, i) => `<Latest>${blockId(i % STAGED)}</Latest>`);
	return Buffer.from(`<?xml version="1.0"?><BlockList>${entries.join('')}</BlockList>`);
}

async function runNoise({ server, account, key, kind, clients, container }) {
	const options = { keepAlive: true, maxSockets: clients, rejectUnauthorized: false };
	const agent = server.endpoints.blob.startsWith('https:') ? new https.Agent(options) : new http.Agent(options);
	const client = new Client({ ...server, now: () => Date.now() }, { account, key, agent });
	const counts = { done: 0, refused: 0 };
	const body = listBody();
	let stopped = false;
	parentPort.once('message', () => (stopped = true));
	await client.put(`/${container}`, { query: { restype: 'container' } });
	if (kind === 'lists')
		for (let c = 0; c < clients; c++)
			for (let i = 0; i < STAGED; i++) {
				const put = await client.put(`/${container}/noise-${c}`, { query: { comp: 'block', blockid: blockId(i) }, body: Buffer.alloc(BLOCK_BYTES, i) });
				if (put.status !== 201) throw new Error(`Put Block: ${put.status} ${put.text}`);
			}
	const query = kind === 'lists' ? { comp: 'blocklist' } : {};
	const headers = kind === 'lists' ? {} : { 'x-ms-blob-type': 'BlockBlob' };
	const commit = (c) => client.put(`/${container}/noise-${c}`, { query, headers, body });
	for (let c = 0; c < clients; c++) {
		const first = await commit(c);
		if (first.status !== 201) throw new Error(`the first of ${kind}: ${first.status} ${first.text}`);
	}
	parentPort.postMessage({ ready: true });
	await Promise.all(Array.from({ length: clients }, async (_, c) => {
		while (!stopped) {
			const put = await commit(c);
			if (put.status === 201) counts.done++;
			else if (put.status === 503) counts.refused++;
			else throw new Error(`${kind}: ${put.status} ${put.text}`);
		}
	}));
	agent.destroy();
	parentPort.postMessage({ counts });
}

if (!isMainThread && workerData?.noise) await runNoise(workerData.noise);

export async function startNoise(server, { account, key, kind = 'lists', clients = 4, container = 'noise' }) {
	const noise = { server: { endpoints: { ...server.endpoints } }, account, key, kind, clients, container };
	const worker = new Worker(new URL(import.meta.url), { workerData: { noise } });
	let ended;
	const counts = new Promise((resolve, reject) => (ended = { resolve, reject }));
	counts.catch(() => {});
	await new Promise((resolve, reject) => {
		worker.on('message', (m) => (m.ready ? resolve() : ended.resolve(m.counts)));
		worker.on('error', (error) => (reject(error), ended.reject(error)));
	});
	return {
		stop() {
			worker.postMessage('stop');
			return counts;
		},
	};
}

export function percentiles(took) {
	const sorted = [...took].sort((a, b) => a - b);
	const at = (p) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];
	return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted[sorted.length - 1] };
}

export const figuresText = (f) => `${f.count} answers, p50 ${f.p50.toFixed(1)} ms, p90 ${f.p90.toFixed(1)} ms, p99 ${f.p99.toFixed(1)} ms, slowest ${f.max.toFixed(1)} ms`;

// One after the other on one connection, a short pause between them: a client that is no load itself.
export async function measure(seconds, ask, pauseMs = 2) {
	const took = [];
	for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
		const began = performance.now();
		await ask(took.length);
		took.push(performance.now() - began);
		await new Promise((resolve) => setTimeout(resolve, pauseMs));
	}
	return percentiles(took);
}

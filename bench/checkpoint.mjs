// SPDX-License-Identifier: Apache-2.0
// checkpoint.mjs [CHECKPOINTS]: how long PUTs of 4 KiB by 32 writers take while `zaffre checkpoint` runs, beside the
// same time without one, in turns. Lines of JSON in milliseconds; `slowest` has the slowest PUT of each turn.
// ZAFFRE_BIN is the program.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../test/lib/http.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../test/lib/server.mjs';

const turns = Number(process.argv[2] ?? 8);
const WRITERS = 32, TURN_MS = 1500, BODY = Buffer.alloc(4096, 7);
const server = await startServer();
const client = new Client(server), dir = tempDir('zaffre-bench-');
let going = true, puts = [];

async function write(w) {
	for (let i = 0; going; i++) {
		const began = performance.now();
		const r = await client.put(`/ccc/b${w}-${i}`, { body: BODY, headers: { 'x-ms-blob-type': 'BlockBlob' } });
		if (r.status !== 201) throw new Error(`${r.status} ${r.text}`);
		puts.push(performance.now() - began);
	}
}

async function turn(work) {
	await sleep(500);
	puts = [];
	const began = performance.now();
	await work();
	await sleep(Math.max(0, TURN_MS - (performance.now() - began)));
	return puts.toSorted((a, b) => a - b);
}

function report(what, turns) {
	const all = turns.flat().sort((a, b) => a - b);
	const at = (part) => Number(all[Math.min(all.length - 1, Math.floor(all.length * part))].toFixed(1));
	console.log(JSON.stringify({ what, puts: all.length, median: at(0.5), p99: at(0.99), p999: at(0.999), slowest: turns.map((t) => Number(t.at(-1).toFixed(1))) }));
}

await client.put('/ccc', { query: { restype: 'container' } });
const writers = Array.from({ length: WRITERS }, (_, w) => write(w));
await sleep(3000);
const alone = [], beside = [];
for (let i = 0; i < turns; i++) {
	alone.push(await turn(() => {}));
	beside.push(await turn(async () => {
		const r = await runProgram(['checkpoint', path.join(dir, String(i)), '--location', server.dataDir]);
		if (r.code !== 0) throw new Error(r.stderr);
	}));
	fs.rmSync(path.join(dir, String(i)), { recursive: true });
}
going = false;
await Promise.all(writers);
report('without a checkpoint', alone);
report('with one', beside);
console.log(server.stderr.match(/a checkpoint begins.*/g).map((line) => line.replace(/".*/, '')).join('\n'));
await server.remove();
removeDir(dir);
process.exit(0);

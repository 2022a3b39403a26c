// SPDX-License-Identifier: Apache-2.0
// count.mjs ROWS: what it costs to count what accounts hold, where a table has so many entities (a million by default).
// A line of JSON: of the count after a start, and of one that `zaffre stats --count` waits for, how long it took and the CPU
// of its thread, which are also its share of a core meanwhile; and the share of one core over the years, because the next
// one begins a hundred times as long after it. ZAFFRE_BIN is the program.
import { askAdmin } from '../test/lib/admin.mjs';
import { sleep, threadSeconds } from '../test/lib/beside.mjs';
import { startServer } from '../test/lib/server.mjs';
import { filledTable } from '../test/lib/table.mjs';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const server = await startServer({ flags: ['--silent'] });

const progress = async () => JSON.parse((await askAdmin(server, '/count/progress')).text);
async function ended(run) {
	for (;; await sleep(20)) {
		const now = await progress();
		if (now.done >= run) return now;
	}
}
const row = (seconds, cpu) => ({ seconds, cpu: Number(cpu.toFixed(3)), share: Number((cpu / seconds).toFixed(3)), nsAnObject: Math.round((cpu * 1e9) / ROWS) });

await filledTable(server, 'rows', ROWS);
await server.stop();
await server.start(); // the journal is in tables from here on
const first = await ended(1);
const alone = threadSeconds(server, 'count');
const asked = await ended(JSON.parse((await askAdmin(server, '/count/start')).text).run);
const waited = threadSeconds(server, 'count') - alone;
await server.remove();
if (first.objects !== ROWS || asked.objects !== ROWS) throw new Error(`${first.objects} and ${asked.objects} objects were counted, not ${ROWS}`);
console.log(JSON.stringify({ rows: ROWS, byItself: row(first.seconds, alone), asked: row(asked.seconds, waited), overYears: Number((alone / (101 * first.seconds)).toFixed(5)) }));
process.exit(0);

// SPDX-License-Identifier: Apache-2.0
// stored_bytes.mjs ROWS: what a quota of stored bytes costs where a table has so many entities (a million by default): how
// long a start takes without and with one, how long the SIGHUP that brings one, and inserts meanwhile. A line of JSON in
// milliseconds. ZAFFRE_BIN is the program.
import fs from 'node:fs';
import { Client } from '../test/lib/http.mjs';
import { percentiles } from '../test/lib/neighbours.mjs';
import { removeDir, startServer, tempDir } from '../test/lib/server.mjs';
import { filledTable } from '../test/lib/table.mjs';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const QUOTA = 'devstoreaccount1 stored-bytes 100GiB\n';
const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
const dir = tempDir();
const limits = `${dir}/limits`;
fs.writeFileSync(limits, '');
const server = await startServer({ flags: ['--accountLimits', limits, '--silent'] });
const table = new Client(server, { service: 'table' });

async function expect(status, answer) {
	const r = await answer;
	if (r.status !== status) throw new Error(`${r.status} ${r.text}`);
}
async function startWith(text) {
	await server.stop();
	fs.writeFileSync(limits, text);
	const began = performance.now();
	await server.start();
	return performance.now() - began;
}

await filledTable(server, 'rows', ROWS);
await startWith(''); // the journal is in tables from here on
const withQuota = [await startWith(QUOTA)];
const without = await startWith('');
withQuota.push(await startWith(QUOTA));
await startWith('');

fs.writeFileSync(limits, QUOTA);
const said = server.stderr.length;
const began = performance.now();
const took = [];
process.kill(server.pid, 'SIGHUP');
while (!/limits of accounts were read again/.test(server.stderr.slice(said))) {
	const asked = performance.now();
	await expect(201, table.post('/rows', { body: JSON.stringify({ PartitionKey: 'meanwhile', RowKey: String(took.length) }), headers: json }));
	took.push(performance.now() - asked);
}
const reload = performance.now() - began;
await server.remove();
removeDir(dir);
console.log(JSON.stringify({ rows: ROWS, without, withQuota, reload, meanwhile: percentiles(took) }));
process.exit(0);

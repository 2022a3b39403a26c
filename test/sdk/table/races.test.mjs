// SPDX-License-Identifier: Apache-2.0
// Racing writers of entities on real sockets: one winner a round, transfers that keep
// their sum while the server is killed, readers that never see half a transaction.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RawConnection } from '../../lib/http.mjs';
import { scaled, startServer } from '../../lib/server.mjs';
import { keyPath, newTable } from '../../lib/table.mjs';

let server;
before(async () => {
	// ZAFFRE_TEST_MUTANT=n runs these on a server that breaks a promise (store/mutant.h): they must fail then.
	const mutant = process.env.ZAFFRE_TEST_MUTANT;
	server = await startServer({ flags: mutant ? ['--mutant', mutant] : [] });
});
after(() => server.remove());

const connect = (n) => Promise.all(Array.from({ length: n }, () => RawConnection.open(server.ports.table)));
const json = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };

test('64 updaters with If-Match on one entity: exactly one wins each round', async () => {
	const t = await newTable(server);
	let { etag } = await t.insert({ PartitionKey: 'p', RowKey: 'r', winner: -1 });
	const connections = await connect(64);
	for (let round = 0; round < scaled(300, 30); round++) {
		const method = round % 2 ? 'PUT' : 'MERGE';
		const answers = await Promise.all(
			connections.map((c, i) => c.exchange(t.raw.bytes(method, keyPath(t.name, 'p', 'r'), { headers: { ...json, 'if-match': etag }, body: JSON.stringify({ winner: i, round }) }), method)),
		);
		const winners = answers.flatMap((a, i) => (a.status === 204 ? [i] : []));
		assert.equal(winners.length, 1, `round ${round}: ${winners.length} winners`);
		for (const a of answers) if (a.status !== 204) assert.deepEqual([a.status, a.code], [412, 'UpdateConditionNotSatisfied']);
		const now = await t.get('p', 'r');
		assert.equal(now.json.winner, winners[0]);
		assert.equal(now.json.round, round);
		assert.equal(now.etag, answers[winners[0]].etag);
		assert.notEqual(now.etag, etag);
		etag = now.etag;
	}
	await Promise.all(connections.map((c) => c.end()));
});

test('64 inserters of one key, 64 deleters of it: one each', async () => {
	const t = await newTable(server);
	const connections = await connect(64);
	for (let round = 0; round < scaled(100, 10); round++) {
		const insert = t.raw.bytes('POST', `/${t.name}`, { headers: json, body: JSON.stringify({ PartitionKey: 'p', RowKey: 'r' }) });
		const inserted = await Promise.all(connections.map((c) => c.exchange(insert, 'POST')));
		assert.equal(inserted.filter((a) => a.status === 201).length, 1);
		assert.ok(inserted.every((a) => a.status === 201 || a.code === 'EntityAlreadyExists'));
		const remove = t.raw.bytes('DELETE', keyPath(t.name, 'p', 'r'), { headers: { ...json, 'if-match': '*' } });
		const deleted = await Promise.all(connections.map((c) => c.exchange(remove, 'DELETE')));
		assert.equal(deleted.filter((a) => a.status === 204).length, 1);
		assert.ok(deleted.every((a) => a.status === 204 || a.code === 'ResourceNotFound'));
	}
	await Promise.all(connections.map((c) => c.end()));
});

test('a table deleted and made again under inserters: before it, after it, or 404, and nothing comes back', async () => {
	const t = await newTable(server);
	const connections = await connect(16);
	let generation = 0; // odd while the table is being deleted and made again
	let stop = false;
	const kept = [];
	const seen = { inserted: 0, refused: 0 };
	const inserters = connections.map(async (c, i) => {
		for (let n = 0; !stop; n++) {
			const rk = `${i}-${n}`;
			const before = generation;
			const r = await c.exchange(t.raw.bytes('POST', `/${t.name}`, { headers: json, body: JSON.stringify({ PartitionKey: 'p', RowKey: rk, before }) }), 'POST');
			if (r.status === 201) {
				seen.inserted++;
				kept.push([rk, before, generation]);
			} else {
				assert.deepEqual([r.status, r.code], [404, 'TableNotFound']);
				seen.refused++;
			}
		}
	});
	for (let round = 0; round < scaled(30, 8); round++) {
		await new Promise((resolve) => setTimeout(resolve, 30));
		generation++;
		assert.equal((await t.raw.delete(`/Tables('${t.name}')`)).status, 204);
		assert.equal((await t.raw.post('/Tables', { headers: json, body: JSON.stringify({ TableName: t.name }) })).status, 201);
		generation++;
	}
	await new Promise((resolve) => setTimeout(resolve, 50));
	stop = true;
	await Promise.all([...inserters]);
	const { entities } = await t.queryAll({}, { headers: { accept: json.accept } });
	const there = new Set(entities.map((e) => e.RowKey));
	for (const [rk, from, to] of kept) {
		if (from === generation && to === generation) assert.ok(there.has(rk), `${rk} was acknowledged after the last creation and is gone`);
		if (to < generation - 1) assert.ok(!there.has(rk), `${rk} was acknowledged before the last deletion and is back`);
	}
	assert.ok(seen.inserted > 100, JSON.stringify(seen));
	await Promise.all(connections.map((c) => c.end()));
});

function transfer(t, from, to, amount, serial) {
	const part = (rk, etag, entity) =>
		['--changeset_c', 'Content-Type: application/http', 'Content-Transfer-Encoding: binary', '', `PUT /${server.account}${keyPath(t.name, 'bank', rk)} HTTP/1.1`, 'Content-Type: application/json', `If-Match: ${etag}`, '', JSON.stringify(entity)].join('\r\n');
	const body = ['--batch_b', 'Content-Type: multipart/mixed; boundary=changeset_c', '', part(from.RowKey, from.etag, { balance: from.balance - amount, serial }), part(to.RowKey, to.etag, { balance: to.balance + amount, serial }), '--changeset_c--', '--batch_b--', ''].join('\r\n');
	return t.raw.bytes('POST', '/$batch', { headers: { 'content-type': 'multipart/mixed; boundary=batch_b', accept: json.accept }, body });
}

// Accounts of one partition; 32 clients move money by $batch with If-Match on both entities; one reader adds up all the time; the
// server is killed under them. An answer that was lost may or may not have happened; a sum may never change.
test('transfers under kill -9: the sum never changes, no reader sees half a batch', async () => {
	const t = await newTable(server);
	const accounts = 8;
	const total = accounts * 1000;
	for (let i = 0; i < accounts; i++) await t.insert({ PartitionKey: 'bank', RowKey: `a${i}`, balance: 1000 });
	const query = () => t.raw.bytes('GET', `/${t.name}()`, { query: { $filter: "PartitionKey eq 'bank'" }, headers: { accept: 'application/json;odata=minimalmetadata' } });
	const read = async (c) => {
		const r = await c.exchange(query());
		assert.equal(r.status, 200, r.text);
		return JSON.parse(r.text).value.map((e) => ({ ...e, etag: e['odata.etag'] }));
	};
	const sum = (rows) => rows.reduce((s, e) => s + e.balance, 0);
	const seen = { transfers: 0, refused: 0, reads: 0, cut: 0 };
	const acknowledged = new Map(); // serial -> true

	async function phase(stop) {
		const run = async (body) => {
			let c;
			while (!stop.now) {
				try {
					c ??= await RawConnection.open(server.ports.table);
					await body(c);
				} catch (error) {
					if (error instanceof assert.AssertionError) throw error;
					seen.cut++;
					c?.end();
					c = undefined;
					await new Promise((resolve) => setTimeout(resolve, 20));
				}
			}
			await c?.end();
		};
		const client = (id) =>
			run(async (c) => {
				const rows = await read(c);
				assert.equal(rows.length, accounts);
				assert.equal(sum(rows), total, 'a client saw half a batch');
				const from = rows[Math.floor(Math.random() * accounts)];
				const to = rows[Math.floor(Math.random() * accounts)];
				if (from === to) return;
				const serial = `${id}-${Math.random()}`;
				const r = await c.exchange(transfer(t, from, to, 1 + Math.floor(Math.random() * 50), serial), 'POST');
				assert.equal(r.status, 202, r.text);
				const statuses = [...r.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => Number(m[1]));
				if (statuses.length === 2 && statuses.every((s) => s === 204)) {
					seen.transfers++;
					acknowledged.set(serial, [from.RowKey, to.RowKey, [...r.text.matchAll(/ETag: (.*)\r/g)].map((m) => m[1])]);
				} else {
					assert.deepEqual(statuses, [412], r.text);
					seen.refused++;
				}
			});
		const reader = () =>
			run(async (c) => {
				const rows = await read(c);
				assert.equal(sum(rows), total, 'a reader saw half a batch');
				seen.reads++;
			});
		await Promise.all([...Array.from({ length: 32 }, (_, i) => client(i)), reader(), reader()]);
	}

	for (let round = 0; round < scaled(4, 2); round++) {
		const stop = { now: false };
		const clients = phase(stop);
		await new Promise((resolve) => setTimeout(resolve, 1500));
		await server.kill9();
		await server.start();
		await new Promise((resolve) => setTimeout(resolve, 300));
		stop.now = true;
		await clients;
		const c = await RawConnection.open(server.ports.table);
		const rows = await read(c);
		assert.equal(sum(rows), total, 'after the restart');
		// An acknowledged transfer was durable: each entity's ETag is at least as new as the last one acknowledged for it.
		for (const [, [from, to, etags]] of acknowledged) {
			for (const [i, rk] of [from, to].entries()) {
				const now = rows.find((e) => e.RowKey === rk).etag;
				const time = (etag) => decodeURIComponent(/'(.*)Z'/.exec(etag)[1]).padEnd(27, '0');
				assert.ok(time(now) >= time(etags[i]), `${rk} went back behind an acknowledged transfer`);
			}
		}
		await c.end();
	}
	assert.ok(seen.transfers > 100 && seen.refused > 100 && seen.reads > 100, JSON.stringify(seen));
});

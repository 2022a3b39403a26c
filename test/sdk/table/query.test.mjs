// SPDX-License-Identifier: Apache-2.0
// Queries: the $filter grammar, types, paging, key ranges of a SAS, plans in the access log.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { odata } from '@azure/data-tables';
import { expectError, expectStatus } from '../../lib/assert.mjs';
import { scaled, startServer, tempDir, removeDir } from '../../lib/server.mjs';
import { tableSas } from '../../lib/sign.mjs';
import { keyPath, newTable } from '../../lib/table.mjs';

let server;
let logDir;
before(async () => {
	logDir = tempDir();
	server = await startServer({ accessLog: path.join(logDir, 'access.log') });
});
after(async () => {
	await server.remove();
	removeDir(logDir);
});

const none = { headers: { accept: 'application/json;odata=nometadata' } };

// Inserts in transactions of 100 per partition.
async function fill(t, entities) {
	const groups = new Map();
	for (const e of entities) groups.set(e.partitionKey, [...(groups.get(e.partitionKey) ?? []), e]);
	for (const group of groups.values())
		for (let i = 0; i < group.length; i += 100) await t.sdk.submitTransaction(group.slice(i, i + 100).map((e) => ['create', e]));
}

describe('filters', () => {
	let t;
	before(async () => {
		t = await newTable(server);
		await fill(t, [
			{ partitionKey: 'p', rowKey: '1', i: 1, s: 'a', b: true, l: { type: 'Int64', value: '10' }, d: { type: 'Double', value: '0.5' } },
			{ partitionKey: 'p', rowKey: '2', i: 2, s: 'b', b: false, l: { type: 'Int64', value: '20' }, d: { type: 'Double', value: '1.5' } },
			{ partitionKey: 'p', rowKey: '3', i: 3, s: 'ab', when: { type: 'DateTime', value: '2020-01-01T00:00:00Z' } },
			{ partitionKey: 'q', rowKey: '1', s: "it's", g: { type: 'Guid', value: '00000000-0000-0000-0000-00000000000a' }, x: new Uint8Array([1, 2]) },
			{ partitionKey: 'q', rowKey: '2', i: { type: 'Int64', value: '2' }, s: '', when: { type: 'DateTime', value: '2021-01-01T00:00:00.0000001Z' } },
			{ partitionKey: 'r', rowKey: 'ключ', i: { type: 'Double', value: '2' }, s: 'ü' },
		]);
	});
	const cases = {
		// A number without L also compares with Int64 and Double; one with L, or with a point, only with its own type.
		'i eq 2': ['p2', 'q2', 'rключ'],
		'i ne 2': ['p1', 'p3'],
		'i gt 1': ['p2', 'p3', 'q2', 'rключ'],
		'i ge 2': ['p2', 'p3', 'q2', 'rключ'],
		'i lt 3': ['p1', 'p2', 'q2', 'rключ'],
		'i le 1': ['p1'],
		'i eq 2L': ['q2'],
		'i eq 2.0': ['rключ'],
		'2 eq i': ['p2', 'q2', 'rключ'],
		'1 lt i': ['p2', 'p3', 'q2', 'rключ'],
		"s eq 'a'": ['p1'],
		"s gt 'a'": ['p2', 'p3', 'q1', 'rключ'],
		"s ge ''": ['p1', 'p2', 'p3', 'q1', 'q2', 'rключ'],
		"s eq 'it''s'": ['q1'],
		"s eq 'ü'": ['rключ'],
		'b': ['p1'],
		'b eq false': ['p2'],
		'not b': ['p2', 'p3', 'q1', 'q2', 'rключ'],
		'not (b eq true) and b eq false': ['p2'],
		'l gt 10L': ['p2'],
		'l gt 10': ['p2'],
		'd gt 1': ['p2'],
		'd gt 1L': [],
		'i eq 3L': [],
		'd lt 1.0': ['p1'],
		'd gt 1e0': ['p2'],
		"when ge datetime'2020-01-01T00:00:00Z'": ['p3', 'q2'],
		"when gt datetime'2021-01-01T00:00:00Z'": ['q2'],
		"g eq guid'00000000-0000-0000-0000-00000000000A'": ['q1'],
		"x eq X'0102'": ['q1'],
		"x eq binary'0102'": ['q1'],
		"PartitionKey eq 'p' and i gt 1": ['p2', 'p3'],
		"PartitionKey eq 'p' and RowKey eq '2'": ['p2'],
		"PartitionKey gt 'p' and PartitionKey lt 'r'": ['q1', 'q2'],
		"RowKey eq '1'": ['p1', 'q1'],
		"(PartitionKey eq 'p' and RowKey eq '1') or (PartitionKey eq 'q' and RowKey eq '2')": ['p1', 'q2'],
		"RowKey eq 'ключ'": ['rключ'],
		"i eq 1 or s eq 'b' or b": ['p1', 'p2'],
		"Timestamp gt datetime'2020-01-01T00:00:00Z'": ['p1', 'p2', 'p3', 'q1', 'q2', 'rключ'],
		"Timestamp lt datetime'2020-01-01T00:00:00Z'": [],
		'missing eq 1': [],
		'missing ne 1': [],
		"PartitionKey eq 5": [],
	};
	for (const [filter, expected] of Object.entries(cases))
		test(filter, async () => {
			const { entities } = await t.queryAll({ $filter: filter }, none);
			assert.deepEqual(entities.map((e) => e.PartitionKey + e.RowKey), expected);
		});

	test('by the SDK, with its own literals', async () => {
		const ask = async (filter) => {
			const rows = [];
			for await (const e of t.sdk.listEntities({ queryOptions: { filter } })) rows.push(e.partitionKey + e.rowKey);
			return rows;
		};
		assert.deepEqual(await ask(odata`i eq ${2}`), ['p2', 'q2', 'rключ']);
		assert.deepEqual(await ask(odata`l gt ${10n}`), ['p2']);
		assert.deepEqual(await ask(odata`s eq ${"it's"}`), ['q1']);
		assert.deepEqual(await ask(odata`b eq ${true}`), ['p1']);
		assert.deepEqual(await ask(odata`when gt ${new Date('2020-06-01')}`), ['q2']);
	});

	test('syntax errors and bounds', async () => {
		const r = expectError(await t.query({ $filter: 'aaa bbb ccc' }), 400, 'InvalidInput');
		assert.match(r.json['odata.error'].message.value, /^Syntax error at position 7 in 'aaa bbb ccc'\./);
		// Characters are counted, as the service has them, not bytes.
		for (const [text, position] of [['\u00e9a \u00e9b c', 5], ["a eq '\u{1f600}' x", 11]]) {
			const wide = expectError(await t.query({ $filter: text }), 400, 'InvalidInput');
			assert.ok(wide.json['odata.error'].message.value.startsWith(`Syntax error at position ${position} in '${text}'.`), wide.text);
		}
		const clause = (n) => Array.from({ length: n }, (_, i) => `p${i} eq ${i}`).join(' or ');
		const wide = expectError(await t.query({ $filter: 'i eq 5454161346626' }), 400, 'InvalidInput');
		assert.match(wide.json['odata.error'].message.value, /^Unrecognized 'Edm.Int32' literal '5454161346626'/);
		expectStatus(await t.query({ $filter: clause(15) }), 200);
		expectError(await t.query({ $filter: clause(16) }), 400, 'InvalidInput');
		expectError(await t.query({ $filter: `${'('.repeat(5000)}a eq 1${')'.repeat(5000)}` }), 400, 'InvalidInput');
		expectError(await t.query({ $top: 1001 }), 400, 'InvalidInput');
		expectError(await t.query({ $top: 'x' }), 400, 'InvalidInput');
		expectError(await t.query({ NextPartitionKey: 'garbage' }), 400, 'InvalidInput');
		const nothing = await t.query({ $top: 0 });
		assert.deepEqual([nothing.json.value, nothing.headers['x-ms-continuation-nextpartitionkey']], [[], undefined]);
		for (const option of ['$orderby', '$skip', '$inlinecount', '$expand']) expectError(await t.query({ [option]: 'i' }), 501, 'NotImplemented');
		expectStatus(await t.query({ $unknown: 'i', other: '1' }), 200);
	});
});

// Entities and filters from a seeded generator; the model is JavaScript over the same values.
describe('random filters against a plain model', () => {
	let seed = 1234567;
	const random = (n) => {
		seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
		return Math.floor((seed / 2 ** 32) * n);
	};
	const pick = (list) => list[random(list.length)];
	const names = ['a', 'b', 'c'];
	const makeValue = () => {
		const type = pick(['String', 'Int32', 'Int64', 'Double', 'Boolean', 'DateTime', 'Guid', 'Binary']);
		const n = random(4) - 1;
		switch (type) {
			case 'String':
				return { type, value: pick(['', 'a', 'ab', "b'", 'é']) };
			case 'Boolean':
				return { type, value: random(2) === 1 };
			case 'DateTime':
				return { type, value: `2020-01-0${random(3) + 1}T00:00:00Z` };
			case 'Guid':
				return { type, value: `00000000-0000-0000-0000-00000000000${random(3)}` };
			case 'Binary':
				return { type, value: pick(['', '00', '0001', 'ff']) };
			default:
				return { type, value: n };
		}
	};
	const literal = ({ type, value }) => ({
		String: () => `'${value.replaceAll("'", "''")}'`,
		Int32: () => String(value),
		Int64: () => `${value}L`,
		Double: () => value.toFixed(1),
		Boolean: () => String(value),
		DateTime: () => `datetime'${value}'`,
		Guid: () => `guid'${value}'`,
		Binary: () => `X'${value}'`,
	})[type]();
	const toJson = (name, { type, value }) => {
		if (type === 'Double') return { [`${name}@odata.type`]: 'Edm.Double', [name]: value };
		if (type === 'Int64') return { [`${name}@odata.type`]: 'Edm.Int64', [name]: String(value) };
		if (type === 'Binary') return { [`${name}@odata.type`]: 'Edm.Binary', [name]: Buffer.from(value, 'hex').toString('base64') };
		if (type === 'DateTime' || type === 'Guid') return { [`${name}@odata.type`]: `Edm.${type}`, [name]: value };
		return { [name]: value };
	};
	const order = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
	const compare = (stored, wanted, op) => {
		if (!stored || (stored.type !== wanted.type && !(wanted.type === 'Int32' && ['Int64', 'Double'].includes(stored.type)))) return false;
		const c = order(stored.value, wanted.value);
		return { eq: c === 0, ne: c !== 0, gt: c > 0, ge: c >= 0, lt: c < 0, le: c <= 0 }[op];
	};
	// [text, predicate]
	const makeFilter = (depth) => {
		const kind = depth > 0 ? random(5) : 4;
		if (kind <= 1) {
			const [lt, lp] = makeFilter(depth - 1);
			const [rt, rp] = makeFilter(depth - 1);
			return kind === 0 ? [`(${lt}) and (${rt})`, (e) => lp(e) && rp(e)] : [`(${lt}) or (${rt})`, (e) => lp(e) || rp(e)];
		}
		if (kind === 2) {
			const [text, p] = makeFilter(depth - 1);
			return [`not (${text})`, (e) => !p(e)];
		}
		const op = pick(['eq', 'ne', 'gt', 'ge', 'lt', 'le']);
		const name = pick([...names, 'PartitionKey', 'RowKey']);
		const value = name.endsWith('Key') ? { type: 'String', value: pick(['p', 'q', 'r', '1', '10', '2', '']) } : makeValue();
		return [`${name} ${op} ${literal(value)}`, (e) => compare(e[name], value, op)];
	};

	test('the answer is the model\'s, in order, in pages of any size', async () => {
		const t = await newTable(server);
		const model = [];
		for (const pk of ['p', 'pp', 'q', 'r'])
			for (let i = 0; i < 30; i++) {
				const e = { PartitionKey: { type: 'String', value: pk }, RowKey: { type: 'String', value: String(i) } };
				for (const name of names) if (random(4)) e[name] = makeValue();
				model.push(e);
			}
		for (const e of model) {
			const json = Object.assign({}, ...Object.entries(e).map(([name, value]) => toJson(name, value)));
			expectStatus(await t.insert(json), 201);
		}
		model.sort((x, y) => order(x.PartitionKey.value, y.PartitionKey.value) || order(x.RowKey.value, y.RowKey.value));
		let matched = 0;
		for (let round = 0; round < scaled(400, 50); round++) {
			const [$filter, predicate] = makeFilter(3);
			const { entities } = await t.queryAll({ $filter, $top: 1 + random(60) }, none);
			const expected = model.filter(predicate).map((e) => [e.PartitionKey.value, e.RowKey.value]);
			assert.deepEqual(entities.map((e) => [e.PartitionKey, e.RowKey]), expected, $filter);
			matched += expected.length;
		}
		assert.ok(matched > 1000);
	});
});

describe('paging', () => {
	test('through 100,000 entities: each once, in order', async () => {
		const t = await newTable(server);
		const total = scaled(100_000, 10_000);
		const perPartition = total / 10;
		const rk = (i) => String(i).padStart(6, '0');
		// Ten partitions, transactions of 100, a few at a time.
		const jobs = [];
		for (let p = 0; p < 10; p++) for (let i = 0; i < perPartition; i += 100) jobs.push([p, i]);
		await Promise.all(
			Array.from({ length: 8 }, async () => {
				for (let job = jobs.pop(); job; job = jobs.pop()) {
					const [p, at] = job;
					await t.sdk.submitTransaction(Array.from({ length: 100 }, (_, i) => ['create', { partitionKey: `p${p}`, rowKey: rk(at + i), n: at + i }]));
				}
			}),
		);
		const { entities, pages } = await t.queryAll({}, none);
		assert.equal(entities.length, total);
		assert.equal(pages, total / 1000);
		entities.forEach((e, i) => {
			if (e.PartitionKey !== `p${Math.floor(i / perPartition)}` || e.RowKey !== rk(i % perPartition)) assert.fail(`entity ${i} is ${e.PartitionKey} ${e.RowKey}`);
		});
		let count = 0;
		for await (const page of t.sdk.listEntities({ queryOptions: { filter: "PartitionKey eq 'p3'" } }).byPage({ maxPageSize: 700 })) count += page.length;
		assert.equal(count, perPartition);
		// A filter that matches few of many: found across the whole table.
		const rare = await t.queryAll({ $filter: `n eq ${perPartition - 1}` }, none);
		assert.deepEqual(rare.entities.map((e) => e.PartitionKey), Array.from({ length: 10 }, (_, p) => `p${p}`));
		const nothing = await t.queryAll({ $filter: 'n lt 0' }, none);
		assert.equal(nothing.entities.length, 0);
	});

	test('tokens: exact pages have none, deleted entities do not confuse them', async () => {
		const t = await newTable(server);
		await fill(t, Array.from({ length: 6 }, (_, i) => ({ partitionKey: 'p', rowKey: String(i) })));
		const first = await t.query({ $top: 3 }, none);
		assert.ok(first.headers['x-ms-continuation-nextpartitionkey'].startsWith('1!'));
		const next = { NextPartitionKey: first.headers['x-ms-continuation-nextpartitionkey'], NextRowKey: first.headers['x-ms-continuation-nextrowkey'] };
		await t.sdk.deleteEntity('p', '3');
		const second = await t.query({ $top: 3, ...next }, none);
		assert.deepEqual(second.json.value.map((e) => e.RowKey), ['4', '5']);
		assert.equal(second.headers['x-ms-continuation-nextpartitionkey'], undefined);
		assert.equal((await t.query({ $top: 5 }, none)).headers['x-ms-continuation-nextpartitionkey'], undefined);
	});

	test('a page of large entities ends by its bytes', async () => {
		const t = await newTable(server);
		const big = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, 'x'.repeat(30000)]));
		for (let i = 0; i < 30; i++) await t.sdk.createEntity({ partitionKey: 'p', rowKey: String(i).padStart(2, '0'), ...big });
		const { entities, pages } = await t.queryAll({}, none);
		assert.equal(entities.length, 30);
		assert.ok(pages > 1 && pages < 10, `${pages} pages`);
	});
});

describe('key ranges of a SAS', () => {
	test('reads, writes and queries are cut to the range', async () => {
		const t = await newTable(server);
		const all = [];
		for (const pk of ['a', 'b', 'c', 'd', 'e']) for (const rk of ['1', '2', '3']) all.push({ partitionKey: pk, rowKey: rk });
		await fill(t, all);
		const ranges = [
			[{ spk: 'b', epk: 'd' }, (pk) => pk >= 'b' && pk <= 'd'],
			[{ spk: 'b', srk: '2', epk: 'd', erk: '2' }, (pk, rk) => (pk > 'b' || (pk === 'b' && rk >= '2')) && (pk < 'd' || (pk === 'd' && rk <= '2'))],
			[{ spk: 'c' }, (pk) => pk >= 'c'],
			[{ epk: 'b', erk: '1' }, (pk, rk) => pk < 'b' || (pk === 'b' && rk <= '1')],
		];
		for (const [range, inside] of ranges) {
			const sas = tableSas(server.account, server.key, t.name, range);
			for (const $filter of [undefined, "PartitionKey ge 'a'", "RowKey eq '2'", "PartitionKey eq 'b'"]) {
				const { entities } = await t.queryAll({ $filter, $top: 2 }, { ...none, sas });
				const expected = all.filter(({ partitionKey: pk, rowKey: rk }) => inside(pk, rk) && ($filter !== "RowKey eq '2'" || rk === '2') && ($filter !== "PartitionKey eq 'b'" || pk === 'b'));
				assert.deepEqual(entities.map((e) => e.PartitionKey + e.RowKey), expected.map((e) => e.partitionKey + e.rowKey), `${JSON.stringify(range)} ${$filter}`);
			}
			for (const { partitionKey: pk, rowKey: rk } of all) {
				const get = await t.get(pk, rk, { sas });
				const put = await t.put(pk, rk, { v: 1 }, { sas });
				if (inside(pk, rk)) {
					expectStatus(get, 200);
					expectStatus(put, 204);
				} else {
					expectError(get, 404, 'ResourceNotFound');
					expectError(put, 403, 'AuthorizationFailure');
					expectError(await t.delete(pk, rk, { sas, headers: { 'if-match': '*' } }), 403, 'AuthorizationFailure');
					expectError(await t.insert({ PartitionKey: pk, RowKey: rk }, { sas }), 403, 'AuthorizationFailure');
				}
			}
		}
	});

	test('letters: r reads, a inserts, u updates, a and u upsert, d deletes', async () => {
		const t = await newTable(server);
		const tunnel = (method, rk, json, headers) => t.request('POST', keyPath(t.name, 'p', rk), { json, sas, headers: { 'x-http-method': method, ...headers } });
		const calls = [
			['r', () => t.query({}, { sas })],
			['a', () => t.insert({ PartitionKey: 'p', RowKey: `i${Math.random()}` }, { sas })],
			['u', () => t.merge('p', 'u', { v: 1 }, { sas, headers: { 'if-match': '*' } })],
			['au', () => t.put('p', 'au', { v: 1 }, { sas })],
			['d', () => t.delete('p', 'd', { sas, headers: { 'if-match': '*' } })],
			['u', () => tunnel('MERGE', 'u', { v: 1 }, { 'if-match': '*' })],
			['au', () => tunnel('PUT', 'au', { v: 1 })],
			['d', () => tunnel('DELETE', 'e', undefined, { 'if-match': '*' })],
		];
		let sas;
		for (const letters of ['r', 'a', 'u', 'd', 'au', 'raud']) {
			for (const rk of ['u', 'd', 'e']) await t.sdk.upsertEntity({ partitionKey: 'p', rowKey: rk });
			sas = tableSas(server.account, server.key, t.name, { sp: letters });
			for (const [need, call] of calls) {
				const r = await call();
				if ([...need].every((l) => letters.includes(l))) assert.ok(r.status < 300, `${letters} ${need} ${r.text}`);
				else expectError(r, 403, 'AuthorizationPermissionMismatch');
			}
		}
	});
});

test('the access log shows the plan', async () => {
	const t = await newTable(server);
	await fill(t, [{ partitionKey: 'p', rowKey: '1' }, { partitionKey: 'q', rowKey: '1' }]);
	const plans = {
		"PartitionKey eq 'p' and RowKey eq '1'": 'plan=point ',
		"PartitionKey eq 'p'": 'plan=range pk ',
		"PartitionKey ge 'p' and PartitionKey lt 'q'": 'plan=range ',
		"RowKey eq '1'": 'plan=scan ',
	};
	const mark = fs.readFileSync(path.join(logDir, 'access.log'), 'utf8').length;
	for (const $filter of Object.keys(plans)) expectStatus(await t.query({ $filter }), 200);
	await server.stop();
	const lines = fs.readFileSync(path.join(logDir, 'access.log'), 'utf8').slice(mark).trim().split('\n').map((line) => JSON.parse(line));
	const notes = lines.map((line) => line.note).filter((note) => note?.includes('plan='));
	assert.equal(notes.length, 4);
	Object.values(plans).forEach((plan, i) => assert.ok(notes[i].startsWith(plan), notes[i]));
	assert.match(notes[0], /scanned=1 matched=1$/);
	assert.match(notes[2], /scanned=1 matched=1$/);
	assert.match(notes[3], /scanned=2 matched=2$/);
	await server.start();
});

// SPDX-License-Identifier: Apache-2.0
// Tables and entities.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { scaled, startServer } from '../../lib/server.mjs';
import { keyPath, newTable, rawTable, tableClient, tableRejects, tableService, withJson } from '../../lib/table.mjs';

let server;
before(async () => {
	server = await startServer();
});
after(() => server.remove());

async function collect(pages) {
	const all = [];
	for await (const item of pages) all.push(item);
	return all;
}

describe('tables', () => {
	test('create, list, get and delete by the SDK', async () => {
		const service = tableService(server);
		const name = uniqueName('Tab');
		await service.createTable(name);
		assert.ok((await collect(service.listTables())).some((t) => t.name === name));
		const filtered = await collect(service.listTables({ queryOptions: { filter: `TableName eq '${name}'` } }));
		assert.deepEqual(filtered.map((t) => t.name), [name]);
		await service.deleteTable(name);
		assert.ok(!(await collect(service.listTables())).some((t) => t.name === name));
		// The SDK takes a missing table for deleted.
		await service.deleteTable(name);
	});

	test('names: case kept and ignored, bad ones refused', async () => {
		const raw = rawTable(server);
		const create = (name) => raw.post('/Tables', { headers: { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' }, body: JSON.stringify({ TableName: name }) });
		const name = uniqueName('Mixed');
		const upper = name[0].toUpperCase() + name.slice(1);
		expectStatus(await create(upper), 201);
		expectError(await create(upper.toLowerCase()), 409, 'TableAlreadyExists');
		const got = withJson(expectStatus(await raw.get(`/Tables('${upper.toUpperCase()}')`), 200));
		assert.equal(got.json.TableName, upper);
		for (const bad of ['1abc', 'a-b', 'a_b', 'tables', 'Tables', 'naïve']) expectError(await create(bad), 400, 'InvalidResourceName');
		for (const bad of ['ab', 'a'.repeat(64)]) expectError(await create(bad), 400, 'OutOfRangeInput');
		expectError(await raw.delete(`/Tables('${uniqueName('none')}')`), 404, 'ResourceNotFound');
		expectError(await raw.get(`/Tables('${uniqueName('none')}')`), 404, 'ResourceNotFound');
	});

	test('Prefer, Location, Preference-Applied', async () => {
		const raw = rawTable(server);
		const create = (prefer) => raw.post('/Tables', { headers: { 'content-type': 'application/json', accept: 'application/json;odata=fullmetadata', prefer }, body: JSON.stringify({ TableName: uniqueName('p') }) });
		const plain = withJson(expectStatus(await create(undefined), 201));
		assert.match(plain.headers.location, /\/Tables\('p/);
		assert.match(plain.json['odata.metadata'], /\$metadata#Tables\/@Element$/);
		assert.match(plain.json['odata.id'], /Tables\('p/);
		assert.equal(plain.headers['preference-applied'], undefined);
		const none = expectStatus(await create('return-no-content'), 204);
		assert.equal(none.headers['preference-applied'], 'return-no-content');
		assert.equal(none.body.length, 0);
		assert.equal(expectStatus(await create('return-content'), 201).headers['preference-applied'], 'return-content');
	});

	test('paging through tables', async () => {
		const service = tableService(server);
		const prefix = uniqueName('page');
		const names = Array.from({ length: 25 }, (_, i) => `${prefix}x${String.fromCharCode(97 + i)}`);
		for (const name of names) await service.createTable(name);
		const raw = rawTable(server);
		const seen = [];
		let next;
		let pages = 0;
		do {
			const r = withJson(expectStatus(await raw.get('/Tables', { query: { $top: 7, $filter: `TableName ge '${prefix}' and TableName lt '${prefix}y'`, NextTableName: next } }), 200));
			seen.push(...r.json.value.map((t) => t.TableName));
			next = r.headers['x-ms-continuation-nexttablename'];
			pages++;
		} while (next);
		assert.deepEqual(seen, names);
		assert.equal(pages, 4);
		const nothing = withJson(expectStatus(await raw.get('/Tables', { query: { $top: 0 } }), 200));
		assert.deepEqual([nothing.json.value, nothing.headers['x-ms-continuation-nexttablename']], [[], undefined]);
		for (const option of ['$orderby', '$skip', '$inlinecount', '$expand']) expectError(await raw.get('/Tables', { query: { [option]: '1' } }), 501, 'NotImplemented');
		// Further than any name: whoever made it up gets what lies behind.
		const far = Buffer.from(`${prefix}xb${'z'.repeat(6000)}`).toString('base64');
		const behind = withJson(expectStatus(await raw.get('/Tables', { query: { $top: 1, NextTableName: `1!${far.length}!${far.replaceAll('=', '-')}` } }), 200));
		assert.deepEqual(behind.json.value.map((t) => t.TableName), [names[2]]);
	});

	test('one table is found among many', async () => {
		// With their policies more than a request can hold at once.
		const raw = rawTable(server);
		const prefix = uniqueName('many');
		const id = (i) => i + '\u{1f511}'.repeat(63);
		const policies = [1, 2, 3, 4, 5].map((i) => `<SignedIdentifier><Id>${id(i)}</Id><AccessPolicy><Start>2026-01-02T03:04:05.6780000Z</Start><Permission>raud</Permission></AccessPolicy></SignedIdentifier>`).join('');
		let made = 0;
		await Promise.all(Array.from({ length: 16 }, async () => {
			for (let i; (i = made++) < scaled(17_000, 500); ) {
				const headers = { 'content-type': 'application/json', prefer: 'return-no-content' };
				expectStatus(await raw.post('/Tables', { body: `{"TableName":"${prefix}${i}"}`, headers }), 204);
				expectStatus(await raw.put(`/${prefix}${i}`, { query: { comp: 'acl' }, body: `<SignedIdentifiers>${policies}</SignedIdentifiers>` }), 204);
			}
		}));
		const find = async ($filter) => withJson(expectStatus(await raw.get('/Tables', { query: { $filter } }), 200)).json.value.map((t) => t.TableName);
		assert.deepEqual(await find(`TableName eq '${prefix}99'`), [`${prefix}99`]);
		assert.deepEqual(await find(`TableName eq '${prefix}x'`), []);
	});

	test('a deleted table is gone with its entities, and can be made again', async () => {
		const t = await newTable(server);
		await t.sdk.createEntity({ partitionKey: 'a', rowKey: '1' });
		await t.sdk.deleteTable();
		expectError(await t.insert({ PartitionKey: 'a', RowKey: '2' }), 404, 'TableNotFound');
		expectError(await t.get('a', '1'), 404, 'ResourceNotFound');
		expectError(await t.query(), 404, 'TableNotFound');
		await t.sdk.createTable();
		expectError(await t.get('a', '1'), 404, 'ResourceNotFound');
		assert.equal((await t.queryAll()).entities.length, 0);
	});
});

describe('entities', () => {
	test('every operation by the SDK', async () => {
		const t = await newTable(server);
		const c = t.sdk;
		const created = await c.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1, b: 'two' });
		assert.match(created.etag, /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/);
		const got = await c.getEntity('p', 'r');
		assert.equal(got.etag, created.etag);
		assert.equal(got.a, 1);
		assert.equal(got.b, 'two');
		await c.updateEntity({ partitionKey: 'p', rowKey: 'r', c: true }, 'Merge');
		assert.deepEqual({ ...(await c.getEntity('p', 'r')), etag: 0, timestamp: 0, 'odata.metadata': 0 }, { partitionKey: 'p', rowKey: 'r', a: 1, b: 'two', c: true, etag: 0, timestamp: 0, 'odata.metadata': 0 });
		await c.updateEntity({ partitionKey: 'p', rowKey: 'r', d: 4 }, 'Replace');
		const replaced = await c.getEntity('p', 'r');
		assert.equal(replaced.a, undefined);
		assert.equal(replaced.d, 4);
		await c.upsertEntity({ partitionKey: 'p', rowKey: 'r', e: 5 }, 'Merge');
		await c.upsertEntity({ partitionKey: 'p', rowKey: 's', e: 5 }, 'Merge');
		await c.upsertEntity({ partitionKey: 'p', rowKey: 't', e: 6 }, 'Replace');
		assert.equal((await c.getEntity('p', 'r')).d, 4);
		assert.deepEqual((await collect(c.listEntities())).map((e) => e.rowKey), ['r', 's', 't']);
		await c.deleteEntity('p', 'r');
		await tableRejects(c.getEntity('p', 'r'), 404, 'ResourceNotFound');
		await tableRejects(c.deleteEntity('p', 'r'), 404, 'ResourceNotFound');
		await tableRejects(c.createEntity({ partitionKey: 'p', rowKey: 's' }), 409, 'EntityAlreadyExists');
		await tableRejects(tableClient(server, uniqueName('none')).createEntity({ partitionKey: 'p', rowKey: 's' }), 404, 'TableNotFound');
	});

	test('the optimistic walk-through: read, change with If-Match, stale one fails and changes nothing', async () => {
		const t = await newTable(server);
		await t.sdk.createEntity({ partitionKey: 'c', rowKey: 'x', email: 'old' });
		const mine = await t.sdk.getEntity('c', 'x');
		const theirs = await t.sdk.getEntity('c', 'x');
		await t.sdk.updateEntity({ ...theirs, email: 'theirs' }, 'Replace', { etag: theirs.etag });
		await tableRejects(t.sdk.updateEntity({ ...mine, email: 'mine' }, 'Replace', { etag: mine.etag }), 412, 'UpdateConditionNotSatisfied');
		await tableRejects(t.sdk.updateEntity({ ...mine, email: 'mine' }, 'Merge', { etag: mine.etag }), 412, 'UpdateConditionNotSatisfied');
		await tableRejects(t.sdk.deleteEntity('c', 'x', { etag: mine.etag }), 412, 'UpdateConditionNotSatisfied');
		assert.equal((await t.sdk.getEntity('c', 'x')).email, 'theirs');
		await t.sdk.updateEntity({ ...mine, email: 'forced' }, 'Replace', { etag: '*' });
		assert.equal((await t.sdk.getEntity('c', 'x')).email, 'forced');
	});

	// Row by row: operation, If-Match, entity there or not -> status and code.
	const W = `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`;
	const rows = [
		['POST', undefined, false, 201],
		['POST', undefined, true, 409, 'EntityAlreadyExists'],
		['PUT', '*', false, 404, 'ResourceNotFound'],
		['PUT', '*', true, 204],
		['PUT', 'current', true, 204],
		['PUT', W, true, 412, 'UpdateConditionNotSatisfied'],
		['PUT', W, false, 404, 'ResourceNotFound'],
		['PATCH', '*', false, 404, 'ResourceNotFound'],
		['PATCH', '*', true, 204],
		['PATCH', 'current', true, 204],
		['PATCH', W, true, 412, 'UpdateConditionNotSatisfied'],
		['MERGE', 'current', true, 204],
		['MERGE', W, true, 412, 'UpdateConditionNotSatisfied'],
		['PUT', undefined, false, 204],
		['PUT', undefined, true, 204],
		['PATCH', undefined, false, 204],
		['MERGE', undefined, true, 204],
		['DELETE', undefined, true, 400, 'InvalidInput'],
		['DELETE', undefined, false, 400, 'InvalidInput'],
		['DELETE', '*', false, 404, 'ResourceNotFound'],
		['DELETE', '*', true, 204],
		['DELETE', 'current', true, 204],
		['DELETE', W, true, 412, 'UpdateConditionNotSatisfied'],
		['PUT', 'nonsense', true, 400, 'InvalidInput'],
		['PUT', `${W}, ${W}`, true, 400, 'InvalidInput'],
		['DELETE', 'W/"unclosed', true, 400, 'InvalidInput'],
		['DELETE', '"another kind"', true, 412, 'UpdateConditionNotSatisfied'],
	];
	test('If-Match table', async (ctx) => {
		const t = await newTable(server);
		let n = 0;
		for (const [method, ifMatch, exists, status, code] of rows) {
			await ctx.test(`${method} If-Match ${ifMatch} on ${exists ? 'an existing' : 'a missing'} entity: ${status} ${code ?? ''}`, async () => {
				const rk = `row${n++}`;
				const etag = exists ? expectStatus(await t.insert({ PartitionKey: 'p', RowKey: rk, v: 'before' }), 201).etag : undefined;
				const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch === 'current' ? etag : ifMatch };
				const path = method === 'POST' ? `/${t.name}` : keyPath(t.name, 'p', rk);
				const json = method === 'DELETE' ? undefined : { PartitionKey: 'p', RowKey: rk, v: 'after' };
				const r = await t.request(method, path, { json, headers });
				if (code) {
					expectError(r, status, code);
					if (exists) assert.equal((await t.get('p', rk)).etag, etag, 'nothing changed');
				} else {
					expectStatus(r, status);
					if (method === 'DELETE') assert.equal(r.etag, undefined);
					else assert.notEqual(r.etag, etag);
					const now = await t.get('p', rk);
					if (method === 'DELETE') expectError(now, 404, 'ResourceNotFound');
					else assert.equal(now.etag, r.etag);
				}
			});
		}
		const e = await t.insert({ PartitionKey: 'p', RowKey: 'inm' });
		for (const method of ['PUT', 'DELETE'])
			expectError(await t.request(method, keyPath(t.name, 'p', 'inm'), { json: method === 'PUT' ? {} : undefined, headers: { 'if-match': e.etag, 'if-none-match': '*' } }), 400, 'InvalidInput');
	});

	test('X-HTTP-Method', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: 'p', RowKey: 'r', a: 1 });
		const path = keyPath(t.name, 'p', 'r');
		expectStatus(await t.request('POST', path, { json: { b: 2 }, headers: { 'x-http-method': 'MERGE', 'if-match': '*' } }), 204);
		assert.deepEqual([(await t.get('p', 'r')).json.a, (await t.get('p', 'r')).json.b], [1, 2]);
		expectError(await t.request('POST', path, { json: { b: 2 }, headers: { 'x-http-method': 'TRACE' } }), 400, 'XMethodIncorrectValue');
		// It speaks for a POST on an entity only: whatever else stands there, the verb alone is not what was asked for.
		const merge = { json: { c: 3 }, headers: { 'x-http-method': 'MERGE', 'if-match': '*' } };
		for (const method of ['PUT', 'MERGE', 'PATCH', 'DELETE', 'GET']) expectError(await t.request(method, path, { ...merge, json: method === 'DELETE' || method === 'GET' ? undefined : merge.json }), 400, 'XMethodNotUsingPost');
		expectError(await t.query({}, { headers: merge.headers }), 400, 'XMethodNotUsingPost');
		expectError(await t.request('DELETE', `/Tables('${t.name}')`, { headers: merge.headers }), 400, 'XMethodNotUsingPost');
		expectError(await t.insert({ PartitionKey: 'p', RowKey: 'other' }, { headers: { 'x-http-method': 'MERGE' } }), 405, 'MethodNotAllowed');
		expectError(await t.request('POST', '/Tables', { json: { TableName: uniqueName('x') }, headers: { 'x-http-method': 'DELETE' } }), 405, 'MethodNotAllowed');
		assert.deepEqual((await t.queryAll()).entities.map((e) => [e.RowKey, e.a, e.b, e.c]), [['r', 1, 2, undefined]]);
	});

	test('keys: quotes, blanks, unicode, empty; forbidden characters and lengths', async () => {
		const t = await newTable(server);
		for (const [pk, rk] of [["o'hara", "it''s"], ['', ''], ['a b', '+%&='], ['ключ', '鍵🔑'], ['x'.repeat(512), 'y'.repeat(512)], ['€'.repeat(200), '€'.repeat(200)]]) {
			await t.sdk.createEntity({ partitionKey: pk, rowKey: rk, v: 1 });
			const e = await t.sdk.getEntity(pk, rk);
			assert.equal(e.partitionKey, pk);
			assert.equal(e.rowKey, rk);
			await t.sdk.updateEntity({ partitionKey: pk, rowKey: rk, w: 2 }, 'Merge');
			await t.sdk.deleteEntity(pk, rk);
		}
		const long = '€'.repeat(512);
		expectStatus(await t.insert({ PartitionKey: long, RowKey: long, v: 7 }), 201);
		assert.equal((await t.get(long, long)).json.v, 7);
		for (const bad of ['/', '\\', '#', '?', '\u0001', '\u007f', '\u0085', 'a\tb']) {
			expectError(await t.insert({ PartitionKey: bad, RowKey: 'r' }), 400, 'OutOfRangeInput');
			expectError(await t.insert({ PartitionKey: 'p', RowKey: `x${bad}y` }), 400, 'OutOfRangeInput');
		}
		expectError(await t.insert({ PartitionKey: 'p', RowKey: 'y'.repeat(513) }), 400, 'PropertyValueTooLarge');
		expectError(await t.insert({ PartitionKey: 'p' }), 400, 'PropertiesNeedValue');
		expectError(await t.insert({ RowKey: 'p' }), 400, 'PropertiesNeedValue');
		expectError(await t.insert({ PartitionKey: null, RowKey: 'p' }), 400, 'PropertiesNeedValue');
		expectError(await t.request('GET', `/${t.name}(PartitionKey='a')`), 400, 'InvalidInput');
		expectError(await t.get('nobody', 'x'), 404, 'ResourceNotFound');
	});

	test('every type round-trips', async () => {
		const t = await newTable(server);
		const entity = {
			partitionKey: 'types',
			rowKey: 'all',
			str: 'text "quoted" \\ back\nline\t\u0001 ünï 🔑',
			empty: '',
			int: -2147483648,
			int2: 2147483647,
			big: { type: 'Int64', value: '-9223372036854775808' },
			big2: { type: 'Int64', value: '9223372036854775807' },
			dbl: { type: 'Double', value: '1.5' },
			tiny: { type: 'Double', value: '5e-324' },
			huge: { type: 'Double', value: '1.7976931348623157e308' },
			third: { type: 'Double', value: String(1 / 3) },
			nan: { type: 'Double', value: 'NaN' },
			inf: { type: 'Double', value: 'Infinity' },
			ninf: { type: 'Double', value: '-Infinity' },
			yes: true,
			no: false,
			when: new Date('2021-03-04T05:06:07.089Z'),
			ticks: { type: 'DateTime', value: '2021-03-04T05:06:07.1234567Z' },
			oldest: { type: 'DateTime', value: '1601-01-01T00:00:00Z' },
			latest: { type: 'DateTime', value: '9999-12-31T23:59:59.9999999Z' },
			guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
			bin: new Uint8Array([0, 1, 2, 250, 255]),
			nobytes: new Uint8Array([]),
		};
		await t.sdk.createEntity(entity);
		const e = await t.sdk.getEntity('types', 'all', { disableTypeConversion: true });
		const plain = { ...e };
		const expected = {
			str: { value: entity.str, type: 'String' },
			big: { type: 'Int64', value: '-9223372036854775808' },
			ticks: { type: 'DateTime', value: '2021-03-04T05:06:07.1234567Z' },
			oldest: { type: 'DateTime', value: '1601-01-01T00:00:00Z' },
			latest: { type: 'DateTime', value: '9999-12-31T23:59:59.9999999Z' },
			guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
			bin: { type: 'Binary', value: 'AAEC+v8=' },
		};
		for (const [name, value] of Object.entries(expected)) assert.deepEqual(plain[name], value, name);
		const raw = (await t.get('types', 'all')).json;
		assert.equal(raw.int, -2147483648);
		assert.equal(raw.int2, 2147483647);
		assert.equal(raw.tiny, 5e-324);
		assert.equal(raw.huge, 1.7976931348623157e308);
		assert.equal(raw.third, 1 / 3);
		assert.equal(raw.nan, 'NaN');
		assert.equal(raw['nan@odata.type'], 'Edm.Double');
		assert.equal(raw.inf, 'Infinity');
		assert.equal(raw.ninf, '-Infinity');
		assert.equal(raw.yes, true);
		assert.equal(raw.no, false);
		assert.equal(raw.empty, '');
		assert.equal(raw.nobytes, '');
		assert.equal(raw['nobytes@odata.type'], 'Edm.Binary');
		assert.equal(raw.when, '2021-03-04T05:06:07.089Z');
		// A Double is one in the text too: with a point or an exponent.
		const text = (await t.get('types', 'all')).text;
		assert.match(text, /"dbl":1\.5[,}]/);
	});

	test('types as JSON gives them: whole numbers, exponents, annotations before or behind, in quotes or not', async () => {
		const t = await newTable(server);
		const body = `{"PartitionKey":"p","RowKey":"r","i":5,"d":5.0,"e":1e3,"l":"7","l@odata.type":"Edm.Int64","l2@odata.type":"Edm.Int64","l2":8,
			"d2@odata.type":"Edm.Double","d2":5,"s@odata.type":"Edm.String","s":"x","n":null,"b@odata.type":"Edm.Boolean","b":true,
			"i2":"9","i2@odata.type":"Edm.Int32","odata.type":"ignored","Timestamp":"2001-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime",
			"off":"2020-01-01T02:00:00+02:00","off@odata.type":"Edm.DateTime"}`;
		expectStatus(await t.insert(body), 201);
		const r = await t.get('p', 'r');
		assert.equal(r.json.i, 5);
		assert.match(r.text, /"d":5\.0[,}]/);
		assert.match(r.text, /"e":1000\.0[,}]/);
		assert.equal(r.json.l, '7');
		assert.equal(r.json['l@odata.type'], 'Edm.Int64');
		assert.equal(r.json.l2, '8');
		assert.match(r.text, /"d2":5\.0[,}]/);
		assert.equal(r.json.i2, 9);
		assert.equal(r.json.off, '2020-01-01T00:00:00Z');
		assert.ok(!('n' in r.json));
		assert.ok(!r.json.Timestamp.startsWith('2001'));
	});

	test('keys are strings, also those that an insert says to be something else', async () => {
		const t = await newTable(server);
		const typed = (pk, rk) => ({ PartitionKey: '2026-01-01T00:00:00Z', 'PartitionKey@odata.type': pk, RowKey: '12345678-1234-1234-1234-123456789abc', 'RowKey@odata.type': rk });
		for (const [pk, rk] of [['Edm.DateTime', 'Edm.Guid'], ['Edm.String', 'Edm.Guid'], ['Edm.Binary', 'Edm.String'], ['Edm.DateTime', undefined]])
			expectError(await t.insert(typed(pk, rk)), 400, 'InvalidInput');
		expectStatus(await t.insert(typed('Edm.String', undefined)), 201);
		// In an upsert the keys are those of the address; whoever writes them into the body too may say what they like.
		for (const change of [t.put, t.merge]) expectStatus(await change.call(t, '2026-01-01T00:00:00Z', '12345678-1234-1234-1234-123456789abc', typed('Edm.DateTime', 'Edm.Guid')), 204);
	});

	test('values and bodies that are refused', async () => {
		const t = await newTable(server);
		const bad = (text, code, status = 400) => t.insert(`{"PartitionKey":"p","RowKey":"r",${text}}`).then((r) => expectError(r, status, code));
		await bad('"a":1,"a":2', 'DuplicatePropertiesSpecified');
		await bad('"a":5000000000', 'InvalidValueType');
		for (const [text, type] of [['"9223372036854775808"', 'Int64'], ['"5.5"', 'Int64'], ['2147483648', 'Int32'], ['5.5', 'Int32']])
			assert.match((await bad(`"a":${text},"a@odata.type":"Edm.${type}"`, 'InvalidInput')).text, /"value":"An error occurred while processing this request\.\\n/);
		for (const text of ['0x1F', '-0x1p3', '1 ', '-nan', '-inf', '1e999']) await bad(`"a":"${text}","a@odata.type":"Edm.Double"`, 'InvalidValueType');
		await bad('"a":"x","a@odata.type":"Edm.Guid"', 'InvalidValueType');
		await bad('"a":"1600-12-31T23:59:59Z","a@odata.type":"Edm.DateTime"', 'InvalidValueType');
		await bad('"a":"2021-02-30T00:00:00Z","a@odata.type":"Edm.DateTime"', 'InvalidValueType');
		await bad('"a":"***","a@odata.type":"Edm.Binary"', 'InvalidValueType');
		await bad('"a":"1","a@odata.type":"Edm.Decimal"', 'InvalidInput');
		await bad('"a":{"b":1}', 'InvalidInput');
		await bad('"a":[1]', 'InvalidInput');
		await bad('"a":', 'InvalidInput');
		await bad('"a-b":1', 'PropertyNameInvalid');
		await bad('"a@b":1', 'PropertyNameInvalid');
		await bad('"@":1', 'PropertyNameInvalid');
		await bad('"a@odata":1', 'PropertyNameInvalid');
		await bad('"1a":1', 'PropertyNameInvalid');
		await bad('"":1', 'PropertyNameInvalid');
		await bad(`"${'n'.repeat(256)}":1`, 'PropertyNameTooLong');
		await bad(`"a":"${'x'.repeat(32 * 1024 + 1)}"`, 'EntityTooLarge');
		await bad(`"a@odata.type":"Edm.Binary","a":"${Buffer.alloc(64 * 1024 + 1).toString('base64')}"`, 'EntityTooLarge');
		expectError(await t.insert('not json'), 400, 'InvalidInput');
		expectError(await t.insert('[]'), 400, 'InvalidInput');
		expectError(await t.insert('<entry/>', { headers: { 'content-type': 'application/atom+xml' } }), 415, 'AtomFormatNotSupported');
		expectError(await t.query({}, { headers: { accept: 'application/atom+xml,application/xml' } }), 415, 'AtomFormatNotSupported');
		assert.equal((await t.queryAll()).entities.length, 0);
	});

	test('252 properties fit, 253 do not, by insert or by merge', async () => {
		const t = await newTable(server);
		const many = (n, prefix) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`${prefix}${i}`, i]));
		expectStatus(await t.insert({ PartitionKey: 'p', RowKey: 'r', ...many(252, 'a') }), 201);
		expectError(await t.insert({ PartitionKey: 'p', RowKey: 's', ...many(253, 'a') }), 400, 'TooManyProperties');
		expectError(await t.merge('p', 'r', { onemore: 1 }), 400, 'TooManyProperties');
		expectStatus(await t.merge('p', 'r', { a0: 'changed' }), 204);
		assert.equal((await t.get('p', 'r')).json.a0, 'changed');
		expectError(await t.insert({ PartitionKey: 'p', RowKey: 't', ...many(2000, 'a') }), 400, 'TooManyProperties');
	});

	test('an entity of nearly 1 MiB: written, read, queried, merged, replaced by a small one, deleted', async () => {
		const t = await newTable(server);
		const big = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`p${i}`, String.fromCharCode(97 + i).repeat(32 * 1024)]));
		expectStatus(await t.insert({ PartitionKey: 'b', RowKey: '1', ...big }, { headers: { prefer: 'return-no-content' } }), 204);
		expectStatus(await t.insert({ PartitionKey: 'b', RowKey: '2', small: 1 }), 201);
		const wide = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`p${i}`, '€'.repeat(32 * 1024)]));
		expectStatus(await t.insert({ PartitionKey: 'b', RowKey: '3', ...wide }), 201);
		const check = (json, rest) => Object.entries(rest).forEach(([k, v]) => assert.ok(json[k] === v, k));
		check((await t.get('b', '1')).json, big);
		check((await t.get('b', '3')).json, wide);
		const { entities } = await t.queryAll({ $filter: "PartitionKey eq 'b'" });
		assert.deepEqual(entities.map((e) => e.RowKey), ['1', '2', '3']);
		check(entities[0], big);
		check(entities[2], wide);
		assert.deepEqual((await t.queryAll({ $filter: 'small eq 1' })).entities.map((e) => e.RowKey), ['2']);
		expectStatus(await t.merge('b', '1', { p3: 'new' }), 204);
		check((await t.get('b', '1')).json, { ...big, p3: 'new' });
		expectError(await t.merge('b', '1', { q1: 'x'.repeat(32000), q2: 'x'.repeat(32000), q3: 'x'.repeat(32000) }), 400, 'EntityTooLarge');
		expectError(await t.insert({ PartitionKey: 'b', RowKey: '4', ...big, q: 'x'.repeat(32 * 1024) }), 400, 'EntityTooLarge');
		expectStatus(await t.put('b', '1', { tiny: true }), 204);
		assert.deepEqual(Object.keys((await t.get('b', '1')).json).filter((k) => /^p\d/.test(k)), []);
		expectStatus(await t.delete('b', '3', { headers: { 'if-match': '*' } }), 204);
		assert.deepEqual((await t.queryAll()).entities.map((e) => e.RowKey), ['1', '2']);
	});

	test('metadata levels by Accept and $format', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: "p'q", RowKey: 'r s', l: '5', 'l@odata.type': 'Edm.Int64', s: 'x' });
		const get = async (level, how) =>
			expectStatus(await t.get("p'q", 'r s', how === 'format' ? { query: { $format: `application/json;odata=${level}` }, headers: { accept: 'application/json;odata=nometadata' } } : { headers: { accept: `application/json;odata=${level}` } }), 200);
		for (const how of ['accept', 'format']) {
			const none = await get('nometadata', how);
			assert.deepEqual(Object.keys(none.json).sort(), ['PartitionKey', 'RowKey', 'Timestamp', 'l', 's']);
			assert.equal(none.json.l, '5');
			assert.match(none.headers['content-type'], /odata=nometadata/);
			const minimal = await get('minimalmetadata', how);
			assert.deepEqual(Object.keys(minimal.json).sort(), ['PartitionKey', 'RowKey', 'Timestamp', 'l', 'l@odata.type', 'odata.etag', 'odata.metadata', 's']);
			assert.equal(minimal.json['odata.etag'], minimal.etag);
			assert.ok(minimal.json['odata.metadata'].endsWith(`/$metadata#${t.name}/@Element`));
			const full = await get('fullmetadata', how);
			assert.deepEqual(Object.keys(full.json).sort(), ['PartitionKey', 'RowKey', 'Timestamp', 'Timestamp@odata.type', 'l', 'l@odata.type', 'odata.editLink', 'odata.etag', 'odata.id', 'odata.metadata', 'odata.type', 's']);
			assert.equal(full.json['odata.editLink'], `${t.name}(PartitionKey='p''q',RowKey='r%20s')`);
			assert.ok(full.json['odata.id'].endsWith(`/${full.json['odata.editLink']}`));
			assert.equal(full.json['odata.type'], `${server.account}.${t.name}`);
			assert.equal(full.headers['x-content-type-options'], 'nosniff');
			assert.equal(full.headers['cache-control'], 'no-cache');
		}
		const list = await t.query({}, { headers: { accept: 'application/json;odata=fullmetadata' } });
		assert.ok(list.json['odata.metadata'].endsWith(`/$metadata#${t.name}`));
		for (const [$select, told] of [['B,PartitionKey', '&$select=B,PartitionKey'], ['B, missing,B', '&$select=B,missing'], ['*', ''], ['B,*', ''], ['', '']]) {
			const one = await t.get("p'q", 'r s', { query: { $select } });
			assert.ok(one.json['odata.metadata'].endsWith(`/$metadata#${t.name}/@Element${told}`), one.json['odata.metadata']);
			const some = await t.query({ $select });
			assert.ok(some.json['odata.metadata'].endsWith(`/$metadata#${t.name}${told}`), some.json['odata.metadata']);
		}
		assert.equal(list.json.value[0]['odata.editLink'], `${t.name}(PartitionKey='p''q',RowKey='r%20s')`);
	});

	test('insert answers: content or not, Location, DataServiceId, ETag', async () => {
		const t = await newTable(server);
		const plain = expectStatus(await t.insert({ PartitionKey: 'p', RowKey: '1', v: 1 }), 201);
		assert.equal(plain.json.v, 1);
		assert.equal(plain.json['odata.etag'], plain.etag);
		assert.ok(plain.headers.location.endsWith(`/${t.name}(PartitionKey='p',RowKey='1')`));
		const none = expectStatus(await t.insert({ PartitionKey: 'p', RowKey: '2', v: 1 }, { headers: { prefer: 'return-no-content' } }), 204);
		assert.equal(none.headers['preference-applied'], 'return-no-content');
		assert.ok(none.headers.dataserviceid.endsWith(`RowKey='2')`));
		assert.ok(none.etag);
		const asked = expectStatus(await t.insert({ PartitionKey: 'p', RowKey: '3', v: 1 }, { headers: { prefer: 'return-content' } }), 201);
		assert.equal(asked.headers['preference-applied'], 'return-content');
	});

	test('errors are OData JSON with request id and time', async () => {
		const t = await newTable(server);
		const r = expectError(await t.get('no', 'body'), 404, 'ResourceNotFound');
		assert.equal(r.json['odata.error'].message.lang, 'en-US');
		assert.match(r.json['odata.error'].message.value, /^The specified resource does not exist\.\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT.*Z$/);
		assert.equal(r.headers['x-ms-error-code'], undefined);
	});

	test('$select: named properties only, null for those not there', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: 'p', RowKey: 'r', a: 1, b: 2 });
		const one = (await t.get('p', 'r', { query: { $select: 'b,zz' }, headers: { accept: 'application/json;odata=nometadata' } })).json;
		assert.deepEqual(one, { b: 2, zz: null });
		const list = (await t.query({ $select: 'PartitionKey,a' }, { headers: { accept: 'application/json;odata=nometadata' } })).json.value;
		assert.deepEqual(list, [{ PartitionKey: 'p', a: 1 }]);
		const all = (await t.query({ $select: '*' }, { headers: { accept: 'application/json;odata=nometadata' } })).json.value;
		assert.equal(all[0].b, 2);
		const sdk = await collect(t.sdk.listEntities({ queryOptions: { select: ['rowKey', 'a'] } }));
		assert.equal(sdk[0].a, 1);
		assert.equal(sdk[0].b, undefined);
	});
});

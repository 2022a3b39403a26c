// SPDX-License-Identifier: Apache-2.0
// Answers of the Table service that recorded exchanges with the live one and older client libraries show; each case names
// what the service does.
import assert from 'node:assert/strict';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { startServer } from '../../lib/server.mjs';
import { tableSas } from '../../lib/sign.mjs';
import { keyPath, newTable, rawTable, tableClient } from '../../lib/table.mjs';

let server, raw;
before(async () => {
	server = await startServer();
	raw = rawTable(server);
});
after(() => server?.remove());

const JSON_TYPE = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8';
const json = { accept: 'application/json', 'content-type': 'application/json' };

test('Edm.DateTime with 8 or 9 fraction digits is taken, cut to 7', async () => {
	const t = await newTable(server);
	const at = (text) => ({ when: text, 'when@odata.type': 'Edm.DateTime' });
	expectStatus(await t.insert({ PartitionKey: 'p', RowKey: '8', ...at('2021-05-06T07:08:09.12345678Z') }), 201);
	expectStatus(await t.insert({ PartitionKey: 'p', RowKey: '9', ...at('2021-05-06T07:08:09.123456789+01:00') }), 201);
	assert.equal((await t.get('p', '8')).json.when, '2021-05-06T07:08:09.1234567Z');
	assert.equal((await t.get('p', '9')).json.when, '2021-05-06T06:08:09.1234567Z');
	expectError(await t.insert({ PartitionKey: 'p', RowKey: '10', ...at('2021-05-06T07:08:09.1234567890Z') }), 400, 'InvalidValueType');
	assert.equal((await t.query({ $filter: "when eq datetime'2021-05-06T07:08:09.123456789Z'" })).json.value.length, 1);
});

test('a bad table name is 400 for entity operations, ACLs and batches', async () => {
	for (const [name, code] of [['bad-name', 'InvalidResourceName'], ['a1_b', 'InvalidResourceName'], ['1abc', 'InvalidResourceName'], ['ab', 'OutOfRangeInput'], ['a'.repeat(64), 'OutOfRangeInput']]) {
		expectError(await raw.get(`/${name}()`, { headers: json }), 400, code);
		expectError(await raw.get(keyPath(name, 'p', 'r'), { headers: json }), 400, code);
		expectError(await raw.post(`/${name}`, { headers: json, body: '{"PartitionKey":"p","RowKey":"r"}' }), 400, code);
		expectError(await raw.put(keyPath(name, 'p', 'r'), { headers: json, body: '{}' }), 400, code);
		expectError(await raw.delete(keyPath(name, 'p', 'r'), { headers: { ...json, 'if-match': '*' } }), 400, code);
		expectError(await raw.get(`/${name}`, { query: { comp: 'acl' } }), 400, code);
		expectError(await raw.put(`/${name}`, { query: { comp: 'acl' }, body: '<SignedIdentifiers />' }), 400, code);
		const r = await batch([['POST', `/${name}`, json, { PartitionKey: 'p', RowKey: 'r' }]]);
		assert.match(r.text, new RegExp(`HTTP/1.1 400 .*"code":"${code}"`, 's'));
	}
});

test('a table SAS that is refused: OData content type, nosniff, no x-ms-error-code', async () => {
	const t = await newTable(server);
	const sas = tableSas(server.account, server.key, t.name, { sp: 'r' });
	const r = expectError(await t.insert({ PartitionKey: 'p', RowKey: 'r' }, { sas }), 403, 'AuthorizationPermissionMismatch');
	assert.equal(r.headers['content-type'], JSON_TYPE);
	assert.equal(r.headers['x-content-type-options'], 'nosniff');
	assert.equal(r.headers['x-ms-error-code'], undefined);
	const wrongKey = expectError(await t.query({}, { key: Buffer.alloc(64).toString('base64') }), 403, 'AuthenticationFailed');
	assert.equal(wrongKey.headers['x-ms-error-code'], 'AuthenticationFailed');
});

test('errors asked for in XML: m:error and m:code, without a byte order mark', async () => {
	const missing = uniqueName('t');
	for (const r of [
		expectError(await raw.get(`/${missing}`, { query: { comp: 'acl' }, headers: { accept: 'application/xml' } }), 404, 'ResourceNotFound'),
		expectError(await raw.get(`/${missing}()`, { headers: { accept: 'application/atom+xml' } }), 415, 'AtomFormatNotSupported'),
	]) {
		assert.ok(r.text.startsWith('<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>'), r.text);
		assert.match(r.text, /<m:message xml:lang="en-US">[^<]+\nRequestId:[-0-9a-f]{36}\nTime:[^<]+Z<\/m:message><\/m:error>$/);
		assert.match(r.headers['content-type'], /^application\/xml/);
		assert.equal(XMLValidator.validate(r.text), true);
	}
});

test('the ACL of a missing table is ResourceNotFound', async () => {
	const missing = uniqueName('t');
	expectError(await raw.get(`/${missing}`, { query: { comp: 'acl' } }), 404, 'ResourceNotFound');
	expectError(await raw.put(`/${missing}`, { query: { comp: 'acl' }, body: '<SignedIdentifiers />' }), 404, 'ResourceNotFound');
});

function batch(operations, { headers = {}, version, client = raw, sas } = {}) {
	const parts = operations.map(([method, path, own, body]) => {
		const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`).join('');
		const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
		return `--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${method} ${client.endpoint}${path} HTTP/1.1\r\n${lines}\r\n${text}\r\n`;
	});
	const text = `--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n${parts.join('')}--changeset_c--\r\n--batch_b--\r\n`;
	return client.post('/$batch', { body: text, sas, version, headers: { 'content-type': 'multipart/mixed; boundary=batch_b', ...headers } });
}

test('101 operations in a batch are refused as "99:", a batch of one without an index', async () => {
	const t = await newTable(server);
	const add = (rk) => ['POST', `/${t.name}`, json, { PartitionKey: 'p', RowKey: String(rk) }];
	const many = expectStatus(await batch(Array.from({ length: 101 }, (_, i) => add(i))), 202);
	assert.match(many.text, /"value":"99:The batch request operation exceeds the maximum 100 changes per change set\./);
	expectStatus(await batch([add(1)]), 202);
	assert.match((await batch([add(1)])).text, /"value":"The specified entity already exists\./);
	assert.match((await batch([add(2), add(1)])).text, /"value":"1:The specified entity already exists\./);
});

test('Get Entity outside the key range of its SAS is 404', async () => {
	const t = await newTable(server);
	await t.insert({ PartitionKey: 'a', RowKey: '1' });
	const sas = tableSas(server.account, server.key, t.name, { spk: 'b', epk: 'c' });
	expectError(await t.get('a', '1', { sas }), 404, 'ResourceNotFound');
	expectError(await t.put('a', '1', {}, { sas }), 403, 'AuthorizationFailure');
});

test('/table/Tables: 404 TableNotFound, 400 PropertiesNeedValue, 501', async () => {
	const t = await newTable(server);
	expectError(await raw.get(`/${t.name}/Tables`, { headers: json }), 404, 'TableNotFound');
	expectError(await raw.post(`/${t.name}/Tables`, { headers: json, body: JSON.stringify({ TableName: 'x' }) }), 400, 'PropertiesNeedValue');
	expectError(await raw.delete(`/${t.name}/Tables('x')`, { headers: json }), 501, 'NotImplemented');
	expectError(await raw.get(`/${t.name}/other`, { headers: json }), 400, 'InvalidUri');
});

test('Content-Type has no blanks, on answers, errors and parts; DataServiceVersion in parts only; Cache-Control on errors', async () => {
	const t = await newTable(server);
	await t.insert({ PartitionKey: 'p', RowKey: 'r' });
	for (const level of ['nometadata', 'minimalmetadata', 'fullmetadata']) {
		const headers = { accept: `application/json;odata=${level}` };
		for (const r of [await t.query({}, { headers }), await t.get('p', 'r', { headers }), await raw.get('/Tables', { headers }), await raw.get(`/Tables('${t.name}')`, { headers })]) {
			assert.equal(r.headers['content-type'], `application/json;odata=${level};streaming=true;charset=utf-8`);
			assert.equal(r.headers.dataserviceversion, undefined);
		}
	}
	const missing = expectError(await t.get('p', 'none'), 404, 'ResourceNotFound');
	assert.equal(missing.headers['content-type'], JSON_TYPE);
	assert.equal(missing.headers['cache-control'], 'no-cache');
	const parts = await batch([['POST', `/${t.name}`, json, { PartitionKey: 'p', RowKey: 'new' }]]);
	assert.match(parts.text, /\r\nContent-Type: application\/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n/);
	assert.match(parts.text, /\r\nDataServiceVersion: 3\.0;\r\n/);
	assert.equal(parts.headers.dataserviceversion, undefined);
});

test('keys in a PUT or MERGE body are not compared with the address: the address decides', async () => {
	const t = await newTable(server);
	for (const [method, rk] of [['PUT', '1'], ['MERGE', '2'], ['PATCH', '3']]) {
		expectStatus(await t.request(method, keyPath(t.name, 'p', rk), { json: { PartitionKey: 'other', RowKey: 'else', v: 1 } }), 204);
		assert.equal(expectStatus(await t.get('p', rk), 200).json.v, 1);
	}
	assert.deepEqual((await t.queryAll()).entities.map((e) => e.PartitionKey), ['p', 'p', 'p']);
});

test('Query Tables compares names without case', async () => {
	const t = await newTable(server, uniqueName('T').replace(/^t/, 'Mixed'));
	for (const name of [t.name, t.name.toLowerCase(), t.name.toUpperCase()]) {
		const r = expectStatus(await raw.get('/Tables', { query: { $filter: `TableName eq '${name}'` }, headers: json }), 200);
		assert.deepEqual(JSON.parse(r.text).value, [{ TableName: t.name }], name);
	}
	const range = expectStatus(await raw.get('/Tables', { query: { $filter: `TableName ge '${t.name.toUpperCase()}' and TableName le '${t.name.toUpperCase()}z'` }, headers: json }), 200);
	assert.ok(JSON.parse(range.text).value.some((v) => v.TableName === t.name));
});

test('a property over the limit is EntityTooLarge', async () => {
	const t = await newTable(server);
	expectError(await t.insert({ PartitionKey: 'p', RowKey: 'r', a: 'x'.repeat(32 * 1024 + 1) }), 400, 'EntityTooLarge');
});

test('$filter with a bare key is 400 InvalidInput', async () => {
	const t = await newTable(server);
	for (const $filter of ["(PartitionKey ) and (RowKey eq '1')", 'not RowKey', 'Timestamp']) expectError(await t.query({ $filter }), 400, 'InvalidInput');
});

test('$filter takes boolean literals in any case, alone and combined', async () => {
	const t = await newTable(server);
	await t.insert({ PartitionKey: 'p', RowKey: '1', b: true });
	await t.insert({ PartitionKey: 'p', RowKey: '2', b: false });
	for (const [$filter, keys] of [
		['false', []],
		['true', ['1', '2']],
		['TRUE', ['1', '2']],
		["true and RowKey eq '1'", ['1']],
		["false or RowKey eq '2'", ['2']],
		['not false', ['1', '2']],
		["PartitionKey eq 'p' and false", []],
		['b eq True', ['1']],
		['b eq FALSE', ['2']],
		["(true) and (b eq True or False)", ['1']],
	])
		assert.deepEqual((await t.queryAll({ $filter })).entities.map((e) => e.RowKey), keys, $filter);
	for (const $filter of ["'text'", '5', "'a' and true"]) expectError(await t.query({ $filter }), 400, 'InvalidInput');
});

test('a $batch with only a GET works on -secondary, a change set does not', async () => {
	const t = await newTable(server);
	await t.insert({ PartitionKey: 'p', RowKey: 'r', v: 5 });
	const client = new Client(server, { service: 'table', endpoint: `${server.endpoints.table}-secondary` });
	const body = `--batch_b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET ${client.endpoint}${keyPath(t.name, 'p', 'r')} HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--batch_b--\r\n`;
	const r = expectStatus(await client.post('/$batch', { body, headers: { 'content-type': 'multipart/mixed; boundary=batch_b' } }), 202);
	assert.match(r.text, /HTTP\/1\.1 200 OK\r\n/);
	assert.match(r.text, /"v":5/);
	expectError(await batch([['POST', `/${t.name}`, json, { PartitionKey: 'p', RowKey: 'x' }]], { client }), 403, 'InsufficientAccountPermissions');
});

test('a GET in a batch reads what its sender may read, and nothing else', async () => {
	const t = await newTable(server), other = await newTable(server);
	await t.insert({ PartitionKey: 'a', RowKey: '1' });
	await t.insert({ PartitionKey: 'b', RowKey: '1' });
	await other.insert({ PartitionKey: 'a', RowKey: '1' });
	const get = (path, sas) => raw.post('/$batch', { sas, headers: { 'content-type': 'multipart/mixed; boundary=batch_b' }, body: `--batch_b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET ${raw.endpoint}${path} HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--batch_b--\r\n` });
	const range = tableSas(server.account, server.key, t.name, { sp: 'r', spk: 'b', epk: 'b' });
	assert.match((await get(keyPath(t.name, 'b', '1'), range)).text, /HTTP\/1\.1 200 /);
	assert.match((await get(keyPath(t.name, 'a', '1'), range)).text, /HTTP\/1\.1 404 /);
	assert.match((await get(keyPath(other.name, 'a', '1'), range)).text, /HTTP\/1\.1 403 /);
	assert.match((await get(keyPath(t.name, 'b', '1'), tableSas(server.account, server.key, t.name, { sp: 'a' }))).text, /HTTP\/1\.1 403 /);
	assert.match((await get('/Tables', range)).text, /HTTP\/1\.1 400 /);
});

describe('Accept and DataServiceVersion', () => {
	test('what cannot be given is refused', async () => {
		const t = await newTable(server);
		expectError(await t.query({}, { headers: { accept: 'text/plain' } }), 415, 'MediaTypeNotSupported');
		for (const accept of ['*/*', 'application/json', 'text/plain, application/json', '']) expectStatus(await t.query({}, { headers: { accept } }), 200);
	});
	test('versions of OData that there are not are refused', async () => {
		const t = await newTable(server);
		for (const v of ['4.0', '5.0;NetFx', 'x', '0.5']) {
			expectError(await t.query({}, { headers: { dataserviceversion: v } }), 400, 'InvalidInput');
			expectError(await t.query({}, { headers: { maxdataserviceversion: v } }), 400, 'InvalidInput');
		}
		for (const v of ['1.0', '2.0;NetFx', '3.0', '3.0;NetFx']) expectStatus(await t.query({}, { headers: { dataserviceversion: v, maxdataserviceversion: '3.0;NetFx' } }), 200);
		expectError(await t.query({}, { version: '2012-02-12', headers: { accept: 'application/atom+xml', dataserviceversion: '3.0' } }), 400, 'InvalidInput');
	});
});

describe('Atom', () => {
	const ATOM = 'application/atom+xml';
	const parser = new XMLParser({ ignoreAttributes: false, removeNSPrefix: true, parseTagValue: false, trimValues: false, isArray: (name) => name === 'entry' });
	const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
	const entry = (properties) => `<?xml version="1.0" encoding="utf-8" standalone="yes"?><entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom"><title /><updated>2013-01-01T00:00:00Z</updated><author><name /></author><id /><content type="application/xml"><m:properties>${properties}</m:properties></content></entry>`;
	const typed = (name, type, value) => `<d:${name} m:type="Edm.${type}">${value}</d:${name}>`;
	const old = (method, path, o = {}) => raw.request(method, path, { version: '2012-02-12', ...o, headers: { accept: ATOM, 'content-type': o.body === undefined ? undefined : ATOM, ...o.headers } });
	const read = (r) => {
		assert.equal(XMLValidator.validate(r.text), true, r.text);
		return parser.parse(r.text);
	};
	const properties = (e) => e.content.properties;
	const value = (p) => (typeof p === 'object' ? p['#text'] : p);

	for (const version of ['2012-02-12', '2013-08-15', '2014-02-14']) {
		test(`${version}: tables are made, listed, got and deleted`, async () => {
			const name = uniqueName('t');
			const made = expectStatus(await old('POST', '/Tables', { version, body: entry(`<d:TableName>${name}</d:TableName>`) }), 201);
			assert.match(made.headers['content-type'], /^application\/atom\+xml/);
			assert.equal(properties(read(made).entry[0]).TableName, name);
			expectError(await old('POST', '/Tables', { version, body: entry(`<d:TableName>${name}</d:TableName>`) }), 409, 'TableAlreadyExists');
			const list = read(expectStatus(await old('GET', '/Tables', { version, query: { $filter: `TableName eq '${name}'` } }), 200));
			assert.deepEqual(list.feed.entry.map((e) => properties(e).TableName), [name]);
			const one = read(expectStatus(await old('GET', `/Tables('${name}')`, { version }), 200)).entry[0];
			assert.equal(one.id, `${server.endpoints.table}/Tables('${name}')`);
			expectStatus(await old('DELETE', `/Tables('${name}')`, { version }), 204);
			expectError(await old('GET', `/Tables('${name}')`, { version }), 404, 'ResourceNotFound');
		});

		test(`${version}: every type, written and read`, async () => {
			const t = await newTable(server);
			const text = ' <tag> & "quotes" \u00fc\ud83d\ude00 ';
			const body = entry(
				`<d:PartitionKey>p &amp; q</d:PartitionKey><d:RowKey>r</d:RowKey><d:Timestamp m:type="Edm.DateTime">0001-01-01T00:00:00</d:Timestamp>` +
					`<d:s>${escape(text)}</d:s>${typed('i', 'Int32', '-5')}${typed('l', 'Int64', '9007199254740993')}${typed('d', 'Double', '1.5')}${typed('inf', 'Double', 'INF')}` +
					`${typed('b', 'Boolean', 'true')}${typed('when', 'DateTime', '2013-05-06T07:08:09.1Z')}${typed('g', 'Guid', '00000000-0000-0000-0000-00000000000a')}` +
					`${typed('x', 'Binary', 'AQID')}<d:nothing m:null="true" /><d:empty></d:empty>`,
			);
			const made = expectStatus(await old('POST', `/${t.name}`, { version, body }), 201);
			assert.ok(made.etag);
			const path = keyPath(t.name, 'p & q', 'r');
			const got = read(expectStatus(await old('GET', path, { version }), 200)).entry[0];
			for (const e of [read(made).entry[0], got]) {
				const p = properties(e);
				assert.equal(e['@_etag'].replaceAll('&quot;', '"'), made.etag);
				assert.deepEqual([p.PartitionKey, p.RowKey, p.s, value(p.i), value(p.l), value(p.d), value(p.inf), value(p.b), value(p.when), value(p.g), value(p.x), p.empty, p.nothing], ['p & q', 'r', text, '-5', '9007199254740993', '1.5', 'INF', 'true', '2013-05-06T07:08:09.1Z', '00000000-0000-0000-0000-00000000000a', 'AQID', '', undefined]);
				assert.deepEqual([p.i, p.l, p.d, p.b, p.when, p.g, p.x, p.Timestamp].map((v) => v['@_type']), ['Int32', 'Int64', 'Double', 'Boolean', 'DateTime', 'Guid', 'Binary', 'DateTime'].map((n) => `Edm.${n}`));
			}
			// The same entity by a client of today.
			const today = await tableClient(server, t.name).getEntity('p & q', 'r');
			assert.deepEqual([today.s, today.i, today.l, today.d, today.b, today.when.toISOString()], [text, -5, 9007199254740993n, 1.5, true, '2013-05-06T07:08:09.100Z']);
		});

		test(`${version}: update, merge, delete with If-Match; feeds with $select, $top and continuation`, async () => {
			const t = await newTable(server);
			for (let i = 0; i < 5; i++) expectStatus(await old('POST', `/${t.name}`, { version, body: entry(`<d:PartitionKey>p</d:PartitionKey><d:RowKey>${i}</d:RowKey>${typed('n', 'Int32', i)}`) }), 201);
			const path = keyPath(t.name, 'p', '0');
			const put = expectStatus(await old('PUT', path, { version, headers: { 'if-match': '*' }, body: entry(typed('n', 'Int32', 100)) }), 204);
			expectStatus(await old('MERGE', path, { version, headers: { 'if-match': put.etag }, body: entry('<d:more>m</d:more>') }), 204);
			expectError(await old('MERGE', path, { version, headers: { 'if-match': put.etag }, body: entry('<d:more>n</d:more>') }), 412, 'UpdateConditionNotSatisfied');
			const p = properties(read(await old('GET', path, { version })).entry[0]);
			assert.deepEqual([value(p.n), p.more], ['100', 'm']);
			expectStatus(await old('DELETE', keyPath(t.name, 'p', '4'), { version, headers: { 'if-match': '*' } }), 204);
			const keys = [];
			for (let next = {}; next; ) {
				const r = expectStatus(await old('GET', `/${t.name}()`, { version, query: { $top: 2, $select: 'RowKey,n', ...next } }), 200);
				const { feed } = read(r);
				assert.equal(feed.title['#text'], t.name);
				keys.push(...feed.entry.map((e) => properties(e).RowKey));
				for (const e of feed.entry) assert.deepEqual(Object.keys(properties(e)), ['RowKey', 'n']);
				const pk = r.headers['x-ms-continuation-nextpartitionkey'];
				next = pk && { NextPartitionKey: pk, NextRowKey: r.headers['x-ms-continuation-nextrowkey'] };
			}
			assert.deepEqual(keys, ['0', '1', '2', '3']);
			const none = read(expectStatus(await old('GET', `/${t.name}()`, { version, query: { $filter: "PartitionKey eq 'none'" } }), 200));
			assert.equal(none.feed.entry, undefined);
		});

		test(`${version}: batches, whole and refused`, async () => {
			const t = await newTable(server);
			const own = { accept: ATOM, 'content-type': `${ATOM};type=entry` };
			const add = (rk) => ['POST', `/${t.name}`, own, entry(`<d:PartitionKey>p</d:PartitionKey><d:RowKey>${rk}</d:RowKey>`)];
			const done = expectStatus(await batch([add('1'), add('2')], { version, headers: { accept: ATOM } }), 202);
			assert.equal(done.text.match(/HTTP\/1\.1 201 Created/g).length, 2);
			assert.equal(done.text.match(/<entry /g).length, 2);
			const refused = expectStatus(await batch([add('3'), add('1')], { version, headers: { accept: ATOM } }), 202);
			assert.match(refused.text, /HTTP\/1\.1 409 Conflict/);
			assert.match(refused.text, /<m:code>EntityAlreadyExists<\/m:code><m:message xml:lang="en-US">1:The specified entity already exists\./);
			assert.equal((await t.queryAll()).entities.length, 2);
		});
	}

	test('errors are m:error', async () => {
		const t = await newTable(server);
		const r = expectError(await old('GET', keyPath(t.name, 'p', 'none')), 404, 'ResourceNotFound');
		assert.match(r.text, /^<\?xml version="1\.0" encoding="utf-8"\?><m:error /);
	});

	test('bad documents are refused and leave nothing', async () => {
		const t = await newTable(server);
		const bad = async (body, code = 'InvalidInput') => expectError(await old('POST', `/${t.name}`, { body }), 400, code);
		const keys = '<d:PartitionKey>p</d:PartitionKey><d:RowKey>r</d:RowKey>';
		await bad('<entry');
		await bad('');
		await bad('<feed />');
		await bad('<entry xmlns="http://www.w3.org/2005/Atom" />');
		await bad('<!DOCTYPE x [<!ENTITY a "b">]><entry />');
		await bad(entry('<d:PartitionKey>p</d:PartitionKey>'), 'PropertiesNeedValue');
		await bad(entry(`${keys}<d:a>1</d:a><d:a>2</d:a>`), 'DuplicatePropertiesSpecified');
		await bad(entry(`${keys}<d:a><d:b>1</d:b></d:a>`));
		await bad(entry(`${keys}${typed('a', 'Decimal', '1')}`));
		await bad(entry(`${keys}${typed('a', 'Int32', '5.5')}`));
		await bad(entry(`${keys}${typed('a', 'Guid', 'x')}`), 'InvalidValueType');
		await bad(entry(`${keys}${Array.from({ length: 253 }, (_, i) => `<d:p${i}>1</d:p${i}>`).join('')}`), 'TooManyProperties');
		await bad(entry(`${keys}${Array.from({ length: 2000 }, (_, i) => `<d:p${i}>1</d:p${i}>`).join('')}`), 'TooManyProperties');
		assert.equal((await t.queryAll()).entities.length, 0);
	});

	test('every name that a property may have is an XML name; others are PropertyNameInvalid', async () => {
		const t = await newTable(server);
		const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
		const insert = (name) => raw.post(`/${t.name}`, { headers: json, body: JSON.stringify({ PartitionKey: 'p', RowKey: 'r', [name]: 'v' }) });
		for (const bad of ['a\u00d7b', '\u00f7', 'a\u2028', '\u3000', 'a\u00a0b', '\u2200', 'x\u037e', 'a\u2190', '\u0301a', '\u00b7a', 'a\ue000'])
			expectError(await insert(bad), 400, 'PropertyNameInvalid');
		for (const good of ['\u00fcber', 'gr\u00f6\u00dfe_1', '\u540d\u524d', 'a\u00b7b', 'e\u0301', '\u03b1\u03b2', '\ud842\udfb7']) {
			expectStatus(await insert(good), 201);
			const path = keyPath(t.name, 'p', 'r');
			const got = expectStatus(await old('GET', path), 200);
			assert.ok(got.text.includes(`<d:${good}>v</d:${good}>`), got.text);
			expectStatus(await raw.delete(path, { headers: { ...json, 'if-match': '*' } }), 204);
		}
	});

	test('which form a version speaks', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: 'p', RowKey: 'r' });
		const type = async (version, accept) => {
			const r = await raw.get(`/${t.name}()`, { version, headers: { accept } });
			return r.status === 200 ? r.headers['content-type'].split(';')[0] : r.code;
		};
		for (const [version, none, asJson, asAtom] of [
			['2012-02-12', ATOM, 'JsonFormatNotSupported', ATOM],
			['2013-08-15', ATOM, 'application/json', ATOM],
			['2015-07-08', ATOM, 'application/json', ATOM],
			['2015-12-11', 'application/json', 'application/json', 'AtomFormatNotSupported'],
			['2024-11-04', 'application/json', 'application/json', 'AtomFormatNotSupported'],
		])
			assert.deepEqual([await type(version, undefined), await type(version, 'application/json;odata=minimalmetadata'), await type(version, ATOM)], [none, asJson, asAtom], version);
		expectError(await raw.post(`/${t.name}`, { version: '2012-02-12', headers: { accept: ATOM, 'content-type': 'application/json' }, body: '{"PartitionKey":"p","RowKey":"x"}' }), 415, 'JsonFormatNotSupported');
		expectError(await raw.post(`/${t.name}`, { headers: { ...json, 'content-type': ATOM }, body: entry('<d:PartitionKey>p</d:PartitionKey><d:RowKey>x</d:RowKey>') }), 415, 'AtomFormatNotSupported');
	});
});

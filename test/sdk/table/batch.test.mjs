// SPDX-License-Identifier: Apache-2.0
// Entity group transactions.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { send } from '../../lib/http.mjs';
import { startServer } from '../../lib/server.mjs';
import { accountSas, tableSas } from '../../lib/sign.mjs';
import { keyPath, newTable, tableRejects } from '../../lib/table.mjs';

let server;
before(async () => {
	server = await startServer();
});
after(() => server.remove());

// One change set as SDKs write it; operations are [method, path, headers, body]. ids: of the 'part' or the 'request'.
function changeset(operations, { eol = '\r\n', host = '', ids } = {}) {
	const lines = ['--batch_b', 'Content-Type: multipart/mixed; boundary=changeset_c', ''];
	operations.forEach(([method, path, headers = {}, body], i) => {
		lines.push('--changeset_c', 'Content-Type: application/http', 'Content-Transfer-Encoding: binary');
		if (ids === 'part') lines.push(`Content-ID: ${i + 1}`);
		lines.push('', `${method} ${host}${path} HTTP/1.1`);
		if (ids === 'request') lines.push(`Content-ID: ${i + 1}`);
		const all = { accept: 'application/json;odata=minimalmetadata', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers };
		for (const [name, value] of Object.entries(all)) lines.push(`${name}: ${value}`);
		lines.push('', body === undefined ? '' : JSON.stringify(body));
	});
	lines.push('--changeset_c--', '--batch_b--', '');
	return lines.join(eol);
}

async function post(t, body, o = {}) {
	const r = await t.raw.post('/$batch', { body, ...o, headers: { 'content-type': 'multipart/mixed; boundary=batch_b', accept: 'application/json;odata=minimalmetadata', ...o.headers } });
	if (r.status === 202) r.parts = body.includes('boundary=changeset_c') ? changesetAnswers(r) : partsOf(r.text, boundaryOf(r.headers['content-type'], 'batchresponse')).map(answer);
	return r;
}

function boundaryOf(contentType, prefix) {
	const found = /^multipart\/mixed; boundary=(\w+_[-0-9a-f]+)$/.exec(contentType);
	assert.ok(found && found[1].startsWith(`${prefix}_`), contentType);
	return found[1];
}

// The parts of a multipart document, which must have nothing around them.
function partsOf(text, boundary) {
	const [before, ...parts] = text.split(`--${boundary}`);
	assert.equal(before, '', text);
	assert.equal(parts.pop(), '--\r\n', text);
	return parts.map((part) => {
		assert.ok(part.startsWith('\r\n') && part.endsWith('\r\n'), text);
		return headAndBody(part.slice(2, -2));
	});
}

function headAndBody(text) {
	const end = text.indexOf('\r\n\r\n');
	assert.ok(end > 0, text);
	const lines = text.slice(0, end).split('\r\n');
	const line = lines[0].startsWith('HTTP/1.1 ') ? lines.shift() : undefined;
	return { line, headers: Object.fromEntries(lines.map((h) => [h.slice(0, h.indexOf(':')).toLowerCase(), h.slice(h.indexOf(':') + 1).trim()])), text: text.slice(end + 4) };
}

// An embedded answer: status, headers, body.
function answer(part) {
	assert.equal(part.headers['content-type'], 'application/http');
	assert.equal(part.headers['content-transfer-encoding'], 'binary');
	const { line, headers, text } = headAndBody(part.text);
	return { status: Number(line.split(' ')[1]), headers, json: text.trim() ? JSON.parse(text) : undefined };
}

// The answers of a change set stand in a part of their own; that of a single GET does not.
function changesetAnswers(r) {
	const outer = partsOf(r.text, boundaryOf(r.headers['content-type'], 'batchresponse'));
	assert.equal(outer.length, 1, r.text);
	return partsOf(`${outer[0].text}\r\n`, boundaryOf(outer[0].headers['content-type'], 'changesetresponse')).map(answer);
}

// Outer 202, one part with the operation's own status, code and "index:message"; ALONE: of one operation no index.
const ALONE = null;
function expectRefused(r, index, status, code) {
	expectStatus(r, 202);
	assert.equal(r.parts.length, 1, r.text);
	assert.equal(r.parts[0].status, status, r.text);
	assert.equal(r.parts[0].json['odata.error'].code, code);
	const { value } = r.parts[0].json['odata.error'].message;
	if (index === ALONE) assert.doesNotMatch(value, /^\d+:/, r.text);
	else assert.ok(value.startsWith(`${index}:`), r.text);
}

describe('transactions by the SDK', () => {
	test('every kind of operation in one', async () => {
		const t = await newTable(server);
		for (const rowKey of ['upd', 'mrg', 'del', 'uprep', 'upmrg']) await t.sdk.createEntity({ partitionKey: 'p', rowKey, a: 1, b: 1 });
		const result = await t.sdk.submitTransaction([
			['create', { partitionKey: 'p', rowKey: 'new', v: 'x' }],
			['update', { partitionKey: 'p', rowKey: 'upd', c: 2 }, 'Replace'],
			['update', { partitionKey: 'p', rowKey: 'mrg', c: 2 }, 'Merge'],
			['delete', { partitionKey: 'p', rowKey: 'del' }],
			['upsert', { partitionKey: 'p', rowKey: 'uprep', c: 2 }, 'Replace'],
			['upsert', { partitionKey: 'p', rowKey: 'upmrg', c: 2 }, 'Merge'],
			['upsert', { partitionKey: 'p', rowKey: "o'new", c: 2 }, 'Merge'],
		]);
		assert.equal(result.status, 202);
		assert.deepEqual(result.subResponses.map((s) => s.status), [204, 204, 204, 204, 204, 204, 204]);
		assert.equal(result.getResponseForEntity('new').etag, (await t.sdk.getEntity('p', 'new')).etag);
		const { entities } = await t.queryAll({}, { headers: { accept: 'application/json;odata=nometadata' } });
		const seen = Object.fromEntries(entities.map((e) => [e.RowKey, [e.a, e.b, e.c]]));
		assert.deepEqual(seen, { new: [undefined, undefined, undefined], upd: [undefined, undefined, 2], mrg: [1, 1, 2], uprep: [undefined, undefined, 2], upmrg: [1, 1, 2], "o'new": [undefined, undefined, 2] });
	});

	test('a refused operation leaves nothing and is named', async () => {
		const t = await newTable(server);
		await t.sdk.createEntity({ partitionKey: 'p', rowKey: '7' });
		const actions = Array.from({ length: 10 }, (_, i) => ['create', { partitionKey: 'p', rowKey: String(i) }]);
		const error = await tableRejects(t.sdk.submitTransaction(actions), 409, 'EntityAlreadyExists');
		assert.match(error.message, /^7:The specified entity already exists\./);
		assert.deepEqual((await t.queryAll()).entities.map((e) => e.RowKey), ['7']);
	});

	test('100 operations of nearly 4 MiB are one commit; 101 are refused', async () => {
		const t = await newTable(server);
		const actions = Array.from({ length: 100 }, (_, i) => ['create', { partitionKey: 'p', rowKey: String(i).padStart(3, '0'), text: 'x'.repeat(32 * 1024), more: 'y'.repeat(8000) }]);
		await t.sdk.submitTransaction(actions);
		assert.equal((await t.queryAll({ $select: 'RowKey' })).entities.length, 100);
		const many = Array.from({ length: 101 }, (_, i) => ['POST', `/${server.account}/${t.name}`, {}, { PartitionKey: 'q', RowKey: String(i) }]);
		expectRefused(await post(t, changeset(many)), 99, 400, 'InvalidInput');
		expectError(await post(t, changeset([['POST', `/${t.name}`, {}, { PartitionKey: 'p', RowKey: 'x' }]]) + 'x'.repeat(4 * 1024 * 1024)), 413, 'RequestBodyTooLarge');
	});

	test('small merges into large entities: as many as a commit holds, else 413', async () => {
		for (const [kib, fits] of [[100, 55], [200, 27]]) {
			const t = await newTable(server);
			const texts = Object.fromEntries(Array.from({ length: kib / 25 }, (_, i) => [`t${i}`, 'x'.repeat(25 * 1024)]));
			const rowKey = (i) => String(i).padStart(3, '0');
			for (let i = 0; i < 100; i += 20)
				await t.sdk.submitTransaction(Array.from({ length: 20 }, (_, j) => ['create', { partitionKey: 'p', rowKey: rowKey(i + j), ...texts }]));
			const merges = (n) => post(t, changeset(Array.from({ length: n }, (_, i) => ['MERGE', keyPath(t.name, 'p', rowKey(i)), {}, { zz: n }])));
			assert.deepEqual(new Set(expectStatus(await merges(fits), 202).parts.map((p) => p.status)), new Set([204]));
			for (const n of [65, 80, 100]) expectError(await merges(n), 413, 'RequestBodyTooLarge');
			const { entities } = await t.queryAll({ $select: 'zz' });
			assert.deepEqual(entities.map((e) => e.zz), Array.from({ length: 100 }, (_, i) => (i < fits ? fits : null)));
		}
	});
});

describe('transactions on the wire', () => {
	for (const eol of ['\r\n', '\n'])
		for (const [where, ids] of [['absolute', 'part'], ['path', 'request'], ['relative', 'part']])
			test(`${where} URLs, ${eol === '\n' ? 'LF' : 'CRLF'}, Content-ID, answers in order`, async () => {
				const t = await newTable(server);
				const prefix = where === 'absolute' ? server.endpoints.table : where === 'path' ? `/${server.account}` : '';
				const at = (rk) => prefix + keyPath(t.name, 'p', rk);
				await t.insert({ PartitionKey: 'p', RowKey: 'd' });
				const r = expectStatus(
					await post(
						t,
						changeset(
							[
								['POST', `${prefix}/${t.name}`, { Prefer: 'return-no-content' }, { PartitionKey: 'p', RowKey: 'a', v: 1 }],
								['POST', `${prefix}/${t.name}()`, {}, { PartitionKey: 'p', RowKey: 'b', v: 2 }],
								['PUT', at('c'), {}, { v: 3 }],
								['MERGE', at('e'), {}, { v: 3 }],
								['DELETE', at('d'), { 'If-Match': '*' }],
							],
							{ eol, ids },
						),
					),
					202,
				);
				assert.match(r.headers['content-type'], /^multipart\/mixed; boundary=batchresponse_/);
				assert.deepEqual(r.parts.map((p) => p.status), [204, 201, 204, 204, 204]);
				assert.deepEqual(r.parts.map((p) => p.headers['content-id']), ['1', '2', '3', '4', '5']);
				assert.equal(r.parts[1].json.v, 2);
				assert.ok(r.parts[0].headers.location.endsWith(`${t.name}(PartitionKey='p',RowKey='a')`));
				for (const [i, rk] of [[0, 'a'], [1, 'b'], [2, 'c'], [3, 'e']]) assert.equal(r.parts[i].headers.etag, (await t.get('p', rk)).etag);
				assert.equal(r.parts[4].headers.etag, undefined);
				expectError(await t.get('p', 'd'), 404, 'ResourceNotFound');
			});

	test('If-Match inside a change set is judged for each operation', async () => {
		const t = await newTable(server);
		const { etag } = await t.insert({ PartitionKey: 'p', RowKey: 'r', v: 1 });
		const op = (match, v) => ['PUT', keyPath(t.name, 'p', 'r'), { 'If-Match': match }, { v }];
		const other = ['POST', `/${t.name}`, {}, { PartitionKey: 'p', RowKey: 'other' }];
		const first = expectStatus(await post(t, changeset([other, op(etag, 2)])), 202);
		assert.deepEqual(first.parts.map((p) => p.status), [201, 204]);
		const another = ['POST', `/${t.name}`, {}, { PartitionKey: 'p', RowKey: 'another' }];
		expectRefused(await post(t, changeset([another, op(etag, 3)])), 1, 412, 'UpdateConditionNotSatisfied');
		expectError(await t.get('p', 'another'), 404, 'ResourceNotFound');
		assert.equal((await t.get('p', 'r')).json.v, 2);
	});

	test('what a change set may not be', async () => {
		const t = await newTable(server);
		const add = (pk, rk, more = {}) => ['POST', `/${t.name}`, {}, { PartitionKey: pk, RowKey: rk, ...more }];
		expectRefused(await post(t, changeset([add('p', '1'), add('p', '2'), add('p', '1')])), 2, 400, 'InvalidDuplicateRow');
		expectRefused(await post(t, changeset([add('p', '1'), add('q', '1')])), 1, 400, 'CommandsInBatchActOnDifferentPartitions');
		const other = await newTable(server);
		expectRefused(await post(t, changeset([add('p', '1'), ['POST', `/${other.name}`, {}, { PartitionKey: 'p', RowKey: '2' }]])), 1, 400, 'CommandsInBatchActOnDifferentPartitions');
		expectRefused(await post(t, changeset([['POST', `/${uniqueName('none')}`, {}, { PartitionKey: 'p', RowKey: '2' }]])), ALONE, 404, 'TableNotFound');
		expectRefused(await post(t, changeset([add('p', '1'), add('p', '2', { 'bad-name': 1 })])), 1, 400, 'PropertyNameInvalid');
		expectRefused(await post(t, changeset([['DELETE', keyPath(t.name, 'p', 'x'), {}]])), ALONE, 400, 'InvalidInput');
		for (const [method, tunnelled, code] of [['PUT', 'MERGE', 'XMethodNotUsingPost'], ['POST', 'TRACE', 'XMethodIncorrectValue']])
			expectRefused(await post(t, changeset([[method, keyPath(t.name, 'p', 'x'), { 'X-HTTP-Method': tunnelled }, {}]])), ALONE, 400, code);
		expectRefused(await post(t, changeset([['GET', keyPath(t.name, 'p', 'x'), {}]])), ALONE, 400, 'InvalidInput');
		for (const text of ['', 'nonsense', '--batch_b\r\n', changeset([]), changeset([add('p', '1')]).slice(0, -20)]) expectError(await post(t, text), 400, 'InvalidInput');
		expectError(await post(t, changeset([add('p', '1')]), { headers: { 'content-type': 'application/json' } }), 400, 'InvalidInput');
		assert.equal((await t.queryAll()).entities.length, 0);
	});

	test('the first operation that fails is named, also before one that cannot be read', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: 'p', RowKey: 'there' });
		const add = (rk, headers = {}) => ['POST', `/${t.name}`, headers, { PartitionKey: 'p', RowKey: rk }];
		const unreadable = ['DELETE', keyPath(t.name, 'p', 'x'), {}];
		const badKey = add('a/b');
		for (const bad of [unreadable, badKey]) {
			expectRefused(await post(t, changeset([add('there'), bad])), 0, 409, 'EntityAlreadyExists');
			expectRefused(await post(t, changeset([add('1'), ['PUT', keyPath(t.name, 'p', 'none'), { 'If-Match': '*' }, {}], bad])), 1, 404, 'ResourceNotFound');
			expectRefused(await post(t, changeset([add('1'), bad, add('there')])), 1, 400, bad === badKey ? 'OutOfRangeInput' : 'InvalidInput');
		}
		const r = await post(t, changeset([add('1'), add('there', { Prefer: 'return-no-content' }), badKey], { ids: 'request' }));
		expectRefused(r, 1, 409, 'EntityAlreadyExists');
		assert.match(r.parts[0].json['odata.error'].message.value, /^1:The specified entity already exists\./);
		assert.equal(r.parts[0].headers['content-id'], '2');
		assert.equal(r.parts[0].headers['preference-applied'], 'return-no-content');
		const missing = uniqueName('none');
		expectRefused(await post(t, changeset([['POST', `/${missing}`, {}, { PartitionKey: 'p', RowKey: '1' }], ['DELETE', keyPath(missing, 'p', 'x'), {}]])), 0, 404, 'TableNotFound');
		assert.deepEqual((await t.queryAll()).entities.map((e) => e.RowKey), ['there']);
	});

	test('each operation says what it accepts', async () => {
		const t = await newTable(server);
		const add = (rk, accept) => ['POST', `/${t.name}`, { accept }, { PartitionKey: 'p', RowKey: rk, l: '1', 'l@odata.type': 'Edm.Int64' }];
		const levels = ['nometadata', 'fullmetadata', 'minimalmetadata'];
		for (const accept of ['multipart/mixed', 'application/atom+xml', 'application/json;odata=fullmetadata']) {
			const operations = levels.map((level) => add(`${accept.length}${level}`, `application/json;odata=${level}`));
			const { parts } = expectStatus(await post(t, changeset(operations), { headers: { accept } }), 202);
			assert.deepEqual(parts.map((p) => p.status), [201, 201, 201]);
			assert.deepEqual(parts.map((p) => p.headers['content-type']), levels.map((level) => `application/json;odata=${level};streaming=true;charset=utf-8`));
			assert.deepEqual(parts.map((p) => p.json['l@odata.type']), [undefined, 'Edm.Int64', 'Edm.Int64']);
			assert.deepEqual(parts.map((p) => 'odata.editLink' in p.json), [false, true, false]);
		}
		expectRefused(await post(t, changeset([add('x', 'application/json;odata=nometadata'), add('y', 'application/atom+xml')])), 1, 415, 'AtomFormatNotSupported');
	});

	test('one ETag in If-Match', async () => {
		const t = await newTable(server);
		const { etag } = await t.insert({ PartitionKey: 'p', RowKey: 'r' });
		const text = changeset([['PUT', keyPath(t.name, 'p', 'r'), { 'If-Match': etag, 'if-match': '*' }, { v: 1 }]]);
		expectRefused(await post(t, text), ALONE, 400, 'InvalidInput');
		const { url, headers } = t.raw.prepare('DELETE', keyPath(t.name, 'p', 'r'), { sas: tableSas(server.account, server.key, t.name, {}) });
		expectError(await send('DELETE', url, { ...headers, 'if-match': [etag, '*'] }), 400, 'InvalidInput');
		assert.equal((await t.get('p', 'r')).etag, etag);
	});

	test('a single GET in a batch: entity, query, missing', async () => {
		const t = await newTable(server);
		await t.insert({ PartitionKey: 'p', RowKey: 'r', v: 5 });
		await t.insert({ PartitionKey: 'p', RowKey: 's', v: 6 });
		const single = (path) => `--batch_b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET ${server.endpoints.table}${path} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nContent-ID: 7\r\n\r\n\r\n--batch_b--\r\n`;
		const one = expectStatus(await post(t, single(keyPath(t.name, 'p', 'r'))), 202);
		assert.equal(one.parts[0].status, 200);
		assert.equal(one.parts[0].json.v, 5);
		const list = expectStatus(await post(t, single(`/${t.name}()?$filter=v%20gt%205`)), 202);
		assert.deepEqual(list.parts[0].json.value.map((e) => e.RowKey), ['s']);
		for (const r of [one, list]) assert.equal(r.parts[0].headers['content-id'], '7');
		for (const [path, status, code] of [
			[keyPath(t.name, 'p', 'zz'), 404, 'ResourceNotFound'],
			[`/${t.name}()?$filter=v%20gt`, 400, 'InvalidInput'],
			[`/${t.name}()?$top=9999`, 400, 'InvalidInput'],
			[`/${t.name}()?$orderby=v`, 501, 'NotImplemented'],
			[`/${uniqueName('none')}()`, 404, 'TableNotFound'],
		]) {
			const r = await post(t, single(path));
			expectRefused(r, ALONE, status, code);
			assert.equal(r.parts[0].headers['content-id'], '7');
		}
	});
});

describe('transactions under a SAS', () => {
	const operations = (t) => ({
		a: ['POST', `/${t.name}`, {}, { PartitionKey: 'p', RowKey: 'ins' }],
		u: ['PUT', keyPath(t.name, 'p', 'x'), { 'If-Match': '*' }, { v: 1 }],
		'a&u': ['PUT', keyPath(t.name, 'p', 'y'), {}, { v: 1 }],
		d: ['DELETE', keyPath(t.name, 'p', 'z'), { 'If-Match': '*' }],
	});
	const allowed = (letters, need) => need.split('&').every((l) => letters.includes(l));

	test('each operation needs its letters', async () => {
		for (const kind of ['service', 'account'])
			for (const letters of ['r', 'a', 'u', 'd', 'au', 'raud']) {
				const t = await newTable(server);
				for (const rk of ['x', 'z']) await t.insert({ PartitionKey: 'p', RowKey: rk });
				const sas = kind === 'service' ? tableSas(server.account, server.key, t.name, { sp: letters }) : accountSas(server.account, server.key, { sp: letters, ss: 't', srt: 'o' });
				for (const [need, operation] of Object.entries(operations(t))) {
					const r = await post(t, changeset([operation]), { sas });
					if (allowed(letters, need)) assert.ok(expectStatus(r, 202).parts[0].status < 300, `${kind} ${letters} ${need}: ${r.text}`);
					else expectRefused(r, ALONE, 403, 'AuthorizationPermissionMismatch');
				}
			}
	});

	test('a table SAS reaches its table and its key range only', async () => {
		const t = await newTable(server);
		const other = await newTable(server);
		const insert = (table, pk, rk) => post(t, changeset([['POST', `/${table.name}`, {}, { PartitionKey: pk, RowKey: rk }]]), { sas });
		let sas = tableSas(server.account, server.key, t.name, {});
		expectRefused(await insert(other, 'p', '1'), ALONE, 403, 'AuthorizationFailure');
		sas = tableSas(server.account, server.key, t.name, { spk: 'b', srk: 'm', epk: 'd', erk: 'm' });
		for (const [pk, rk, ok] of [['a', 'z', 0], ['b', 'l', 0], ['b', 'm', 1], ['c', 'a', 1], ['d', 'm', 1], ['d', 'n', 0], ['e', 'a', 0]]) {
			const r = await insert(t, pk, rk);
			if (ok) assert.equal(r.parts[0].status, 201);
			else expectRefused(r, ALONE, 403, 'AuthorizationFailure');
		}
	});
});

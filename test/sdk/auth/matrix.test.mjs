// SPDX-License-Identifier: Apache-2.0
// Who may do what, over the wire: every operation of Blob, Table and File against every permission letter, scope and
// credential. The table is written from the documentation, not from the server's own.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { Client, send } from '../../lib/http.mjs';
import { accountSas, blobSas, signatures, tableSas } from '../../lib/sign.mjs';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { fileSas } from '../../lib/file.mjs';

let server, blob, table, file, container, people, share, logs;
let cells = 0;
before(async () => {
	logs = tempDir('zaffre-logs-');
	server = await startServer({ accessLog: path.join(logs, 'access'), flags: ['--debug'] });
	blob = new Client(server, { service: 'blob' });
	table = new Client(server, { service: 'table' });
	file = new Client(server, { service: 'file' });
	container = uniqueName('c');
	share = uniqueName('s');
	people = uniqueName('People');
	expectStatus(await blob.put(`/${container}`, { query: { restype: 'container' } }), 201);
	expectStatus(await file.put(`/${share}`, { query: { restype: 'share' } }), 201);
	expectStatus(await table.post('/Tables', { headers: json, body: JSON.stringify({ TableName: people }) }), 201);
});
after(async () => {
	await server?.remove();
	removeDir(logs);
});

const json = { 'content-type': 'application/json', accept: 'application/json' };
const xml = { 'content-type': 'application/xml' };
// One each of what a service SAS for a container may hold, in the signed order, and what an account SAS may.
const blobLetters = [...'racwdxylti'];
const accountLetters = [...'rwdlacup'];
const tableLetters = [...'raud'];
const shareLetters = [...'rcwdl'];

// name, method, path, rest of the request; sas: letters of a service SAS; account: of an account SAS; type: s, c, o.
// Objects have a new name each time, so that a letter's effect on one cell cannot show in another.
const blobOperations = () => {
	const c = `/${container}`, o = () => `/${container}/${uniqueName('b')}`, gone = `/${uniqueName('gone')}`;
	const lease = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' };
	const breaking = { 'x-ms-lease-action': 'break' };
	const put = { 'x-ms-blob-type': 'BlockBlob' };
	return [
		{ name: 'get', method: 'GET', path: o(), sas: 'r', account: 'r', type: 'o' },
		{ name: 'head', method: 'HEAD', path: o(), sas: 'r', account: 'r', type: 'o' },
		{ name: 'get metadata', method: 'GET', path: o(), query: { comp: 'metadata' }, sas: 'r', account: 'r', type: 'o' },
		{ name: 'get block list', method: 'GET', path: o(), query: { comp: 'blocklist' }, sas: 'r', account: 'r', type: 'o' },
		{ name: 'get page ranges', method: 'GET', path: o(), query: { comp: 'pagelist' }, sas: 'r', account: 'r', type: 'o' },
		{ name: 'put', method: 'PUT', path: o(), headers: put, body: 'x', sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'put page blob', method: 'PUT', path: o(), headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }, sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'put append blob', method: 'PUT', path: o(), headers: { 'x-ms-blob-type': 'AppendBlob' }, sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'put block', method: 'PUT', path: o(), query: { comp: 'block', blockid: 'QUFB' }, body: 'x', sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'put block list', method: 'PUT', path: o(), query: { comp: 'blocklist' }, headers: xml, body: '<BlockList></BlockList>', sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'append', method: 'PUT', path: o(), query: { comp: 'appendblock' }, body: 'x', sas: 'aw', account: 'aw', type: 'o' },
		{ name: 'put page', method: 'PUT', path: o(), query: { comp: 'page' }, headers: { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'set properties', method: 'PUT', path: o(), query: { comp: 'properties' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'set metadata', method: 'PUT', path: o(), query: { comp: 'metadata' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'set tier', method: 'PUT', path: o(), query: { comp: 'tier' }, headers: { 'x-ms-access-tier': 'Cool' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'undelete', method: 'PUT', path: o(), query: { comp: 'undelete' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'snapshot', method: 'PUT', path: o(), query: { comp: 'snapshot' }, sas: 'cw', account: 'cw', type: 'o' },
		{ name: 'lease', method: 'PUT', path: o(), query: { comp: 'lease' }, headers: lease, sas: 'w', account: 'w', type: 'o' },
		{ name: 'break lease', method: 'PUT', path: o(), query: { comp: 'lease' }, headers: breaking, sas: 'wd', account: 'wd', type: 'o' },
		{ name: 'abort copy', method: 'PUT', path: o(), query: { comp: 'copy', copyid: 'x' }, headers: { 'x-ms-copy-action': 'abort' }, sas: 'w', account: 'w', type: 'o' },
		{ name: 'delete', method: 'DELETE', path: o(), sas: 'd', account: 'd', type: 'o' },
		{ name: 'get tags', method: 'GET', path: o(), query: { comp: 'tags' }, sas: 't', account: 't', type: 'o' },
		{ name: 'list blobs', method: 'GET', path: c, query: { restype: 'container', comp: 'list' }, sas: 'l', account: 'l', type: 'c' },
		{ name: 'create container', method: 'PUT', path: `/${uniqueName('new')}`, query: { restype: 'container' }, sas: '', account: 'cw', type: 'c' },
		{ name: 'container properties', method: 'GET', path: c, query: { restype: 'container' }, sas: '', account: 'r', type: 'c' },
		{ name: 'container metadata', method: 'GET', path: c, query: { restype: 'container', comp: 'metadata' }, sas: '', account: 'r', type: 'c' },
		{ name: 'set container metadata', method: 'PUT', path: gone, query: { restype: 'container', comp: 'metadata' }, sas: '', account: 'w', type: 'c' },
		{ name: 'container acl', method: 'GET', path: c, query: { restype: 'container', comp: 'acl' }, sas: '', account: '', type: 'c' },
		{ name: 'set container acl', method: 'PUT', path: gone, query: { restype: 'container', comp: 'acl' }, sas: '', account: '', type: 'c' },
		{ name: 'delete container', method: 'DELETE', path: gone, query: { restype: 'container' }, sas: '', account: 'd', type: 'c' },
		{ name: 'lease container', method: 'PUT', path: gone, query: { restype: 'container', comp: 'lease' }, headers: breaking, sas: '', account: 'wd', type: 'c' },
		{ name: 'list containers', method: 'GET', path: '/', query: { comp: 'list' }, sas: '', account: 'l', type: 's' },
		{ name: 'service properties', method: 'GET', path: '/', query: { restype: 'service', comp: 'properties' }, sas: '', account: 'r', type: 's' },
		{ name: 'set service properties', method: 'PUT', path: '/', query: { restype: 'service', comp: 'properties' }, headers: xml, body: '<x/>', sas: '', account: 'w', type: 's' },
	];
};
const fileOperations = () => {
	const s = `/${share}`, f = () => `/${share}/${uniqueName('f')}`, gone = `/${uniqueName('gone')}`;
	const root = { restype: 'directory' }, of = { restype: 'share' };
	const op = (name, method, path, query, sas, account, type, more = {}) => ({ name, method, path, query, sas, account, type, ...more });
	return [
		op('get', 'GET', f(), {}, 'r', 'r', 'o'),
		op('head', 'HEAD', f(), {}, 'r', 'r', 'o'),
		op('get metadata', 'GET', f(), { comp: 'metadata' }, 'r', 'r', 'o'),
		op('list ranges', 'GET', f(), { comp: 'rangelist' }, 'r', 'r', 'o'),
		op('create', 'PUT', f(), {}, 'cw', 'cw', 'o', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '1' } }),
		op('put range', 'PUT', f(), { comp: 'range' }, 'w', 'w', 'o', { headers: { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-0' } }),
		op('set properties', 'PUT', f(), { comp: 'properties' }, 'w', 'w', 'o'),
		op('set metadata', 'PUT', f(), { comp: 'metadata' }, 'w', 'w', 'o'),
		op('lease', 'PUT', f(), { comp: 'lease' }, 'w', 'w', 'o', { headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } }),
		op('rename', 'PUT', f(), { comp: 'rename' }, 'w', 'w', 'o', { headers: { 'x-ms-file-rename-source': `${server.endpoints.file}${f()}` } }),
		op('abort copy', 'PUT', f(), { comp: 'copy', copyid: 'x' }, 'w', 'w', 'o', { headers: { 'x-ms-copy-action': 'abort' } }),
		op('delete', 'DELETE', f(), {}, 'd', 'd', 'o'),
		op('list handles', 'GET', f(), { comp: 'listhandles' }, 'lr', 'lr', 'o'),
		op('close handles', 'PUT', f(), { comp: 'forceclosehandles' }, 'wd', 'wd', 'o', { headers: { 'x-ms-handle-id': '*' } }),
		op('create directory', 'PUT', f(), root, 'cw', 'cw', 'o'),
		op('directory properties', 'GET', s, root, 'r', 'r', 'o'),
		op('set directory properties', 'PUT', f(), { ...root, comp: 'properties' }, 'w', 'w', 'o'),
		op('set directory metadata', 'PUT', f(), { ...root, comp: 'metadata' }, 'w', 'w', 'o'),
		op('delete directory', 'DELETE', f(), root, 'd', 'd', 'o'),
		op('list files', 'GET', s, { ...root, comp: 'list' }, 'l', 'l', 'c'),
		op('get permission', 'GET', s, { ...of, comp: 'filepermission' }, 'r', 'r', 'c', { headers: { 'x-ms-file-permission-key': '1*1' } }),
		op('create share', 'PUT', `/${uniqueName('new')}`, of, '', 'cw', 'c'),
		op('share properties', 'GET', s, of, '', 'r', 'c'),
		op('share metadata', 'GET', s, { ...of, comp: 'metadata' }, '', 'r', 'c'),
		op('share stats', 'GET', s, { ...of, comp: 'stats' }, '', 'r', 'c'),
		op('set share properties', 'PUT', gone, { ...of, comp: 'properties' }, '', 'w', 'c'),
		op('set share metadata', 'PUT', gone, { ...of, comp: 'metadata' }, '', 'w', 'c'),
		op('snapshot share', 'PUT', gone, { ...of, comp: 'snapshot' }, '', 'cw', 'c'),
		op('share acl', 'GET', s, { ...of, comp: 'acl' }, '', '', 'c'),
		op('set share acl', 'PUT', gone, { ...of, comp: 'acl' }, '', '', 'c'),
		op('lease share', 'PUT', gone, { ...of, comp: 'lease' }, '', 'wd', 'c', { headers: { 'x-ms-lease-action': 'break' } }),
		op('delete share', 'DELETE', gone, of, '', 'd', 'c'),
		op('list shares', 'GET', '/', { comp: 'list' }, '', 'l', 's'),
		op('service properties', 'GET', '/', { restype: 'service', comp: 'properties' }, '', 'r', 's'),
	];
};
const tableOperations = () => {
	const t = `/${people}`, e = () => `/${people}(PartitionKey='p',RowKey='${uniqueName('r')}')`, body = '{}';
	const match = { ...json, 'if-match': '*' };
	return [
		{ name: 'query', method: 'GET', path: `${t}()`, headers: json, sas: 'r', account: 'r', type: 'o' },
		{ name: 'get entity', method: 'GET', path: e(), headers: json, sas: 'r', account: 'r', type: 'o' },
		{ name: 'insert', method: 'POST', path: t, headers: json, body: JSON.stringify({ PartitionKey: 'p', RowKey: uniqueName('r') }), sas: 'a', account: 'a', type: 'o' },
		{ name: 'update', method: 'PUT', path: e(), headers: match, body, sas: 'u', account: 'u', type: 'o' },
		{ name: 'merge', method: 'PATCH', path: e(), headers: match, body, sas: 'u', account: 'u', type: 'o' },
		{ name: 'delete', method: 'DELETE', path: e(), headers: match, sas: 'd', account: 'd', type: 'o' },
		{ name: 'insert or replace', method: 'PUT', path: e(), headers: json, body, sas: '', account: '', both: 'au', type: 'o' },
		{ name: 'insert or merge', method: 'PATCH', path: e(), headers: json, body, sas: '', account: '', both: 'au', type: 'o' },
		{ name: 'query tables', method: 'GET', path: '/Tables', headers: json, sas: '', account: 'l', type: 'c' },
		{ name: 'create table', method: 'POST', path: '/Tables', headers: json, body: JSON.stringify({ TableName: uniqueName('T') }), sas: '', account: 'cw', type: 'c' },
		{ name: 'delete table', method: 'DELETE', path: `/Tables('${uniqueName('T')}')`, headers: json, sas: '', account: 'd', type: 'c' },
		{ name: 'table acl', method: 'GET', path: t, query: { comp: 'acl' }, sas: '', account: '', type: 'c' },
		{ name: 'service properties', method: 'GET', path: '/', query: { restype: 'service', comp: 'properties' }, sas: '', account: 'r', type: 's' },
	];
};

const ask = (client, op, o = {}) => (cells++, client.request(op.method, op.path, { query: op.query, headers: op.headers, body: op.body, ...o }));
// Passed the door: whatever the operation itself then said.
const passed = (r) => r.status !== 401 && r.status !== 403;
const say = (op, what, r) => `${op.name} with ${what}: ${r.status} ${r.code}`;

function check(op, what, r, allowed, code) {
	assert.equal(passed(r), allowed, say(op, what, r));
	if (!allowed && code) assert.equal(r.code, code, say(op, what, r));
}

describe('letters', () => {
	test('account SAS on blobs: each letter alone', async () => {
		for (const sp of accountLetters) {
			const sas = accountSas(server.account, server.key, { sp, ss: 'b' });
			for (const op of blobOperations()) {
				const code = op.account === '' ? 'AuthorizationFailure' : 'AuthorizationPermissionMismatch';
				check(op, `account ${sp}`, await ask(blob, op, { sas }), op.account.includes(sp), code);
			}
		}
	});
	test('container SAS: each letter alone', async () => {
		for (const sp of blobLetters) {
			const sas = blobSas(server.account, server.key, container, undefined, { sp });
			for (const op of blobOperations()) {
				const elsewhere = !op.path.startsWith(`/${container}`);
				const code = elsewhere ? 'AuthenticationFailed' : op.sas === '' ? 'AuthorizationFailure' : 'AuthorizationPermissionMismatch';
				// Permission to delete a version is judged by the operation: there is none here.
				if (op.name === 'delete' && 'xy'.includes(sp)) continue;
				check(op, `container ${sp}`, await ask(blob, op, { sas }), op.sas.includes(sp), code);
			}
		}
	});
	test('blob SAS: each letter alone, on its blob and on another', async () => {
		for (const sp of [...'racwdti']) {
			for (const op of blobOperations()) {
				if (op.type !== 'o') continue;
				const name = op.path.split('/')[2];
				const sas = blobSas(server.account, server.key, container, name, { sp });
				check(op, `blob ${sp}`, await ask(blob, op, { sas }), op.sas.includes(sp), 'AuthorizationPermissionMismatch');
				const other = { ...op, path: `${op.path}x` };
				check(other, `blob ${sp} of another`, await ask(blob, other, { sas }), false, 'AuthenticationFailed');
			}
		}
	});
	test('tables: each letter alone, and both where both are asked for', async () => {
		for (const sp of [...tableLetters, 'au']) {
			const sas = tableSas(server.account, server.key, people, { sp });
			for (const op of tableOperations()) {
				const allowed = [...sp].some((l) => op.sas.includes(l)) || (op.both === sp);
				check(op, `table ${sp}`, await ask(table, op, { sas }), allowed);
			}
		}
		for (const sp of [...accountLetters, 'au']) {
			const sas = accountSas(server.account, server.key, { sp, ss: 't' });
			for (const op of tableOperations()) {
				const allowed = [...sp].some((l) => op.account.includes(l)) || (op.both === sp);
				check(op, `account ${sp}`, await ask(table, op, { sas }), allowed);
			}
		}
	});
});

describe('letters of File', () => {
	test('account SAS: each letter alone', async () => {
		for (const sp of accountLetters) {
			const sas = accountSas(server.account, server.key, { sp, ss: 'f' });
			for (const op of fileOperations()) {
				const code = op.account === '' ? 'AuthorizationFailure' : 'AuthorizationPermissionMismatch';
				check(op, `account ${sp}`, await ask(file, op, { sas }), op.account.includes(sp), code);
			}
		}
	});
	test('share SAS: each letter alone', async () => {
		for (const sp of shareLetters) {
			const sas = fileSas(server.account, server.key, share, undefined, { sp });
			for (const op of fileOperations()) {
				const elsewhere = op.path.split('/')[1] !== share;
				const code = elsewhere ? 'AuthenticationFailed' : op.sas === '' ? 'AuthorizationFailure' : 'AuthorizationPermissionMismatch';
				check(op, `share ${sp}`, await ask(file, op, { sas }), op.sas.includes(sp), code);
			}
		}
	});
	test('file SAS: each letter alone, on its file and on another', async () => {
		for (const sp of [...'rcwd'])
			for (const op of fileOperations()) {
				const name = op.path.split('/')[2];
				if (op.type !== 'o' || !name) continue;
				const sas = fileSas(server.account, server.key, share, name, { sp });
				// The source of a rename is another file: it needs a token of its own, in its URL.
				const source = op.headers?.['x-ms-file-rename-source'];
				if (source) {
					check(op, `file ${sp}, none for the source`, await ask(file, op, { sas }), false);
					const token = fileSas(server.account, server.key, share, source.split('/').at(-1), { sp });
					op.headers['x-ms-file-rename-source'] = `${source}?${token}`;
				}
				check(op, `file ${sp}`, await ask(file, op, { sas }), op.sas.includes(sp), 'AuthorizationPermissionMismatch');
				const other = { ...op, path: `${op.path}x` };
				check(other, `file ${sp} of another`, await ask(file, other, { sas }), false, 'AuthenticationFailed');
			}
	});
});

describe('scopes', () => {
	const everything = 'rwdxylacuptfi';
	test('account SAS: another service, another resource type', async () => {
		for (const [client, operations, ss] of [[blob, blobOperations, 'b'], [table, tableOperations, 't'], [file, fileOperations, 'f']]) {
			for (const other of [...'bqtf'].filter((s) => s !== ss)) {
				const sas = accountSas(server.account, server.key, { sp: everything, ss: other });
				for (const op of operations()) check(op, `ss=${other}`, await ask(client, op, { sas }), false, 'AuthorizationServiceMismatch');
			}
			for (const srt of ['s', 'c', 'o', 'sc', 'co', 'so']) {
				const sas = accountSas(server.account, server.key, { sp: everything, ss, srt });
				for (const op of operations()) {
					if (op.account === '' && !op.both) continue;
					check(op, `srt=${srt}`, await ask(client, op, { sas }), srt.includes(op.type), 'AuthorizationResourceTypeMismatch');
				}
			}
		}
	});
	test('nobody, a wrong key, a wrong account: every operation', async () => {
		const key = crypto.randomBytes(64).toString('base64');
		for (const [client, operations, sas] of [
			[blob, blobOperations, blobSas(server.account, key, container, undefined, { sp: 'racwdl' })],
			[table, tableOperations, tableSas(server.account, key, people)],
			[file, fileOperations, fileSas(server.account, key, share)],
		]) {
			for (const op of operations()) {
				const nobody = await ask(client, op, { anonymous: true });
				// File tells nobody that something is there, in every version.
				assert.equal(nobody.status, client === file ? 404 : 401, say(op, 'nothing', nobody));
				if (client !== file) assert.match(nobody.headers['www-authenticate'] ?? '', /^Bearer authorization_uri=https:/, say(op, 'nothing', nobody));
				check(op, 'a wrong key', await ask(client, op, { key }), false, 'AuthenticationFailed');
				check(op, 'a wrong key, Lite', await ask(client, op, { key, lite: true }), false, 'AuthenticationFailed');
				check(op, 'a wrong key, SAS', await ask(client, op, { sas }), false, 'AuthenticationFailed');
				check(op, 'a wrong key, account SAS', await ask(client, op, { sas: accountSas(server.account, key) }), false, 'AuthenticationFailed');
				check(op, 'the account SAS of another', await ask(client, op, { sas: accountSas('other', server.key) }), false, 'AuthenticationFailed');
				const bearer = { ...op.headers, authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' };
				const r = await ask(client, { ...op, headers: bearer });
				assert.equal(passed(r), false, say(op, 'a token of nobody', r));
			}
		}
	});
	test('the owner passes everywhere, by both schemes', async () => {
		for (const [client, operations] of [[blob, blobOperations], [table, tableOperations], [file, fileOperations]])
			for (const op of operations())
				for (const lite of [false, true]) {
					// What deletes or changes the shared container and table is asked of ones that are not there.
					const r = await ask(client, op, { lite });
					assert.ok(passed(r), say(op, `the key, lite ${lite}`, r));
				}
	});
});

describe('one thing changed', () => {
	test('each parameter of each kind of SAS: gone, doubled, another', async () => {
		const at = `/${container}/${uniqueName('b')}`;
		const account = [server.account, server.key];
		const start = new Date(server.now() - 60_000);
		const tokens = [
			[blob, at, accountSas(...account, { st: start, spr: 'https,http', sip: '127.0.0.1' })],
			[blob, at, blobSas(...account, container, undefined, { sp: 'r', st: start, sip: '127.0.0.1', rsct: 'a/b', rscd: 'x' })],
			[blob, at, blobSas(...account, container, at.split('/')[2], { sp: 'r', st: start, spr: 'https,http', rscc: 'no-cache' })],
			[file, `/${share}/${uniqueName('f')}`, fileSas(...account, share, undefined, { sp: 'r', sip: '127.0.0.1', rsct: 'a/b', rscd: 'x' })],
			[table, `/${people}()`, tableSas(...account, people, { sp: 'r', st: start, spk: 'a', srk: 'b', epk: 'c', erk: 'd' })],
		];
		let cells = 0;
		for (const [client, path, sas] of tokens) {
			const whole = await client.get(path, { sas, headers: json });
			assert.ok(passed(whole), `${sas}: ${whole.status} ${whole.code}`);
			for (const name of new Set(sas.keys())) {
				const value = sas.get(name);
				const variants = [value + '0', value.slice(0, -1), value.replace(/^./, (l) => (l === 'z' ? 'y' : 'z')), ''];
				const changed = variants.map((v) => new URLSearchParams([...sas].map(([n, old]) => [n, n === name ? v : old])));
				changed.push(new URLSearchParams([...sas].filter(([n]) => n !== name)));
				changed.push(new URLSearchParams([...sas, [name, value]]));
				changed.push(new URLSearchParams([...sas, [name.toUpperCase(), variants[0]]]));
				for (const query of changed) {
					const r = await client.get(path, { sas: query, headers: json });
					assert.equal(passed(r), false, `${name} of ${sas}: ${query}: ${r.status}`);
					cells++;
				}
			}
		}
		assert.ok(cells > 200, `${cells}`);
	});
	test('a signed request: header added or changed; path, query, method', async () => {
		const at = `/${container}/${uniqueName('b')}`;
		const { url, headers, body } = blob.prepare('PUT', at, { headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-a': '1', 'content-type': 'text/plain' }, body: 'x' });
		const base = { ...headers };
		const elsewhere = new URL(`${url}x`), asked = new URL(`${url}?timeout=5`);
		const cells = [
			['another path', 'PUT', elsewhere, base],
			['a parameter', 'PUT', asked, base],
			['another method', 'DELETE', url, base],
			['another value', 'PUT', url, { ...base, 'x-ms-meta-a': '2' }],
			['another name', 'PUT', url, { ...base, 'x-ms-meta-a': undefined, 'x-ms-meta-b': '1' }],
			['one more', 'PUT', url, { ...base, 'x-ms-meta-b': '1' }],
			['another type', 'PUT', url, { ...base, 'content-type': 'text/html' }],
			['a condition', 'PUT', url, { ...base, 'if-match': '*' }],
			['a range', 'GET', url, { ...base, range: 'bytes=0-1' }],
			['another date', 'PUT', url, { ...base, 'x-ms-date': new Date(server.now() - 1000).toUTCString() }],
			['another version', 'PUT', url, { ...base, 'x-ms-version': '2023-11-03' }],
		];
		for (const [, method, to, lines] of cells) {
			const sent = Object.fromEntries(Object.entries(lines).filter(([, value]) => value !== undefined));
			expectError(await send(method, to, sent, body), 403, 'AuthenticationFailed');
		}
		expectStatus(await send('PUT', url, base, body), 201);
	});
	test('the date: fifteen minutes, and the detail that says so', async () => {
		const old = new Date(server.now() - 16 * 60_000).toUTCString();
		const r = expectError(await blob.get('/', { query: { comp: 'list' }, date: old }), 403, 'AuthenticationFailed');
		assert.match(r.text, new RegExp(`<AuthenticationErrorDetail>Request date header too old: '${old}'</AuthenticationErrorDetail>`));
		expectStatus(await blob.get('/', { query: { comp: 'list' }, date: new Date(server.now() - 14 * 60_000).toUTCString() }), 200);
		expectError(await blob.get('/', { query: { comp: 'list' }, date: null }), 403, 'AuthenticationFailed');
	});
	test('malformed credentials', async () => {
		for (const authorization of ['SharedKey', 'SharedKey x', 'Basic eDp5', `SharedKey ${server.account}:`, 'SharedKey :x'])
			expectError(await blob.get('/', { query: { comp: 'list' }, headers: { authorization } }), 400, 'InvalidAuthenticationInfo');
	});
});

test('two account keys: both sign, a rotated one no longer', async () => {
	const keys = [0, 1, 2].map(() => crypto.randomBytes(64).toString('base64'));
	const own = await startServer({ env: { ZAFFRE_ACCOUNTS: `rotating:${keys[0]}:${keys[1]}` } });
	try {
		const tries = async () => {
			const answers = [];
			for (const key of keys) {
				const client = new Client(own, { service: 'blob', account: 'rotating', key });
				const shared = await client.get('/', { query: { comp: 'list' } });
				const sas = await client.get('/', { query: { comp: 'list' }, sas: accountSas('rotating', key, { now: own.now() }) });
				assert.equal(shared.status, sas.status);
				answers.push(shared.status);
			}
			return answers;
		};
		assert.deepEqual(await tries(), [200, 200, 403]);
		await own.restart({ env: { ZAFFRE_ACCOUNTS: `rotating:${keys[2]}:${keys[1]}` } });
		assert.deepEqual(await tries(), [403, 200, 200]);
	} finally {
		await own.remove();
	}
});

test('the log tells what a refused request should have signed, without the secrets in it', async () => {
	const own = await startServer({ flags: ['--debug'] });
	try {
		const stranger = new Client(own, { key: crypto.randomBytes(64).toString('base64') });
		const sas = blobSas(own.account, own.key, 'theirs', 'source', { sp: 'r', now: own.now() });
		const headers = {
			'x-ms-copy-source': `${own.endpoints.blob}/theirs/source?${sas}&x=y`,
			'x-ms-copy-source-authorization': 'Bearer tokenOfOthers',
			'x-ms-encryption-key': 'keyOfOthers',
			'x-ms-meta-told': 'yes',
		};
		expectError(await stranger.put('/theirs/copy', { headers }), 403, 'AuthenticationFailed');
		expectError(await stranger.get('/theirs/copy', { query: { sig: 'signatureOfOthers' } }), 403, 'AuthenticationFailed');
		await own.stop();
		assert.match(own.stderr, /&sig=REDACTED&x=y\\nx-ms-copy-source-authorization:REDACTED\\n.*x-ms-encryption-key:REDACTED\\nx-ms-meta-told:yes\\n/);
		assert.match(own.stderr, /\\nsig:REDACTED"/);
		for (const secret of ['OfOthers', sas.get('sig'), encodeURIComponent(sas.get('sig'))]) assert.ok(!own.stderr.includes(secret), `${secret} is in the log`);
	} finally {
		await own.remove();
	}
});

// After all of the above: what was written about it holds no signature, whole or written otherwise, and no key.
test('no secret in any log', async (t) => {
	await server.stop();
	const texts = { access: fs.readFileSync(path.join(logs, 'access'), 'utf8'), debug: server.stderr };
	const bare = new Set([...signatures].map((signature) => signature.replace(/=+$/, '')));
	const length = 43;
	for (const [which, text] of Object.entries(texts)) {
		const plain = text.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
		for (const [run] of plain.matchAll(/[A-Za-z0-9+/]{43,}/g)) for (let at = 0; at + length <= run.length; at++) assert.ok(!bare.has(run.slice(at, at + length)), `a signature in the ${which} log: ${run}`);
		assert.ok(!plain.includes(server.key.slice(0, 40)), `a key in the ${which} log`);
		// The words may stand in a reason ("a bearer token"); what would prove anything may not.
		assert.ok(!/authorization[:"]|sharedkey(lite)? \S+:|bearer [\w-]{20}/i.test(plain), `credentials in the ${which} log`);
	}
	const lines = texts.access.split('\n').length - 1;
	assert.ok(signatures.size > 300 && lines > 1000, `${signatures.size} signatures, ${lines} lines: too few to show anything`);
	t.diagnostic(`${cells} cells of operation and credential, ${signatures.size} signatures made, none in ${lines} lines of the access log or ${texts.debug.length} bytes of debug messages`);
});

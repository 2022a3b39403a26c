// SPDX-License-Identifier: Apache-2.0
// Conditional headers: every operation of the slice, every combination of the four headers, against a model written from the
// specification. Cases are generated; each operation is one test that names every case it finds wrong.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Blobs, uuid } from '../../lib/blob.mjs';
import { accountSas } from '../../lib/sign.mjs';

let server, client;
const container = uniqueName('cond');
before(async () => {
	server = await startServer();
	client = new Client(server);
	expectStatus(await client.put(`/${container}`, { query: { restype: 'container' } }), 201);
});
after(() => server?.remove());

const put = (path, o = {}) => client.put(path, { body: 'content', ...o, headers: { 'x-ms-blob-type': 'BlockBlob', ...o.headers } });

// Each: call(path, headers) and the status of success.
const READS = {
	'Get Blob': { call: (path, headers) => client.get(path, { headers }), success: 200 },
	'Get Blob Properties': { call: (path, headers) => client.head(path, { headers }), success: 200 },
	'Get Blob Metadata': { call: (path, headers) => client.get(path, { headers, query: { comp: 'metadata' } }), success: 200 },
};
const WRITES = {
	'Put Blob': { call: (path, headers) => put(path, { headers }), success: 201, creates: true },
	'Set Blob Metadata': { call: (path, headers) => client.put(path, { headers: { 'x-ms-meta-k': 'v', ...headers }, query: { comp: 'metadata' } }), success: 200 },
	'Set Blob Properties': { call: (path, headers) => client.put(path, { headers: { 'x-ms-blob-content-type': 'a/b', ...headers }, query: { comp: 'properties' } }), success: 200 },
	'Lease Blob': { call: (path, headers) => client.put(path, { headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 15, ...headers }, query: { comp: 'lease' } }), success: 201, keeps: true },
	'Delete Blob': { call: (path, headers) => client.delete(path, { headers }), success: 202 },
};

const OTHER = '"0x8DA0000000000AB"';
// The value of a header given the blob's ETag and Last-Modified (ms). holds: whether the condition is met.
const IF_MATCH = [
	['same', (b) => b.etag, true],
	['same, unquoted', (b) => b.etag.replaceAll('"', ''), true],
	['other', () => OTHER, false],
	['*', () => '*', true],
];
const IF_NONE_MATCH = [
	['same', (b) => b.etag, false],
	['other', () => OTHER, true],
];
const date = (ms) => new Date(ms).toUTCString();
const IF_MODIFIED = [
	['before', (b) => date(b.modified - 60_000), true],
	['equal', (b) => date(b.modified), false],
	['after', (b) => date(b.modified + 60_000), false],
];
const IF_UNMODIFIED = [
	['before', (b) => date(b.modified - 60_000), false],
	['equal', (b) => date(b.modified), true],
	['after', (b) => date(b.modified + 60_000), true],
];
const NONE = [['-', () => undefined, undefined]];

function* combinations() {
	for (const m of [...NONE, ...IF_MATCH])
		for (const n of [...NONE, ...IF_NONE_MATCH])
			for (const mod of [...NONE, ...IF_MODIFIED])
				for (const un of [...NONE, ...IF_UNMODIFIED]) yield { m, n, mod, un };
}

const headersOf = ({ m, n, mod, un }, blob) => ({ 'if-match': m[1](blob), 'if-none-match': n[1](blob), 'if-modified-since': mod[1](blob), 'if-unmodified-since': un[1](blob) });
const nameOf = ({ m, n, mod, un }) => `If-Match ${m[0]}, If-None-Match ${n[0]}, If-Modified-Since ${mod[0]}, If-Unmodified-Since ${un[0]}`;

// 2013-08-15 and later: IfMatch AND IfUnmodifiedSince AND (IfNoneMatch OR IfModifiedSince).
function modelRead({ m, n, mod, un }) {
	if (m[2] === false || un[2] === false) return [412, 'ConditionNotMet'];
	const either = [n[2], mod[2]].filter((holds) => holds !== undefined);
	if (either.length && !either.includes(true)) return [304, 'ConditionNotMet'];
	return undefined;
}

// One header, or one of the two pairs in which the ETag alone counts.
function modelWrite({ m, n, mod, un }) {
	const given = [m, n, mod, un].map((x) => x[2] !== undefined);
	const key = given.map((x) => (x ? '1' : '0')).join('');
	if (!['0000', '1000', '0100', '0010', '0001', '0110', '1001'].includes(key)) return [400, 'MultipleConditionHeadersNotSupported'];
	const decides = given[0] ? m : given[1] ? n : given[2] ? mod : un;
	return decides[2] === false ? [412, 'ConditionNotMet'] : undefined;
}

async function makeBlob() {
	const path = `/${container}/${uniqueName('b')}`;
	const r = expectStatus(await put(path), 201);
	return { path, etag: r.etag, modified: Date.parse(r.headers['last-modified']) };
}

async function checkAll(op, model, fresh) {
	const wrong = [];
	let blob = await makeBlob();
	let cases = 0;
	for (const combination of combinations()) {
		cases++;
		const want = model(combination);
		const r = await op.call(blob.path, headersOf(combination, blob));
		const okay = want ? r.status === want[0] && r.code === want[1] : r.status === op.success;
		if (!okay) wrong.push(`${nameOf(combination)}: expected ${want?.join(' ') ?? op.success}, got ${r.status} ${r.code ?? ''}`);
		if (r.status === 304) assert.equal(r.body.length, 0);
		if (want && !fresh) continue;
		// What was refused changed nothing.
		if (want) {
			const now = await client.head(blob.path);
			if (now.etag !== blob.etag || now.headers['x-ms-lease-state'] !== 'available') wrong.push(`${nameOf(combination)}: refused, and yet something changed`);
		}
		if (fresh && r.status < 300) blob = await makeBlob();
	}
	assert.equal(wrong.length, 0, `${wrong.length} of ${cases} cases:\n${wrong.slice(0, 40).join('\n')}`);
	return cases;
}

describe('reads: 240 combinations each', () => {
	for (const [name, op] of Object.entries(READS)) test(name, () => checkAll(op, modelRead, false));
});
describe('writes: 240 combinations each', () => {
	for (const [name, op] of Object.entries(WRITES)) test(name, () => checkAll(op, modelWrite, true));
});

describe('the edges', () => {
	test('Put Blob, If-None-Match: * on an existing blob is 409', async () => {
		const blob = await makeBlob();
		expectError(await put(blob.path, { headers: { 'if-none-match': '*' } }), 409, 'BlobAlreadyExists');
	});
	for (const name of ['Set Blob Metadata', 'Set Blob Properties', 'Delete Blob'])
		test(`${name}, If-None-Match: * on an existing blob is 412`, async () => {
			const blob = await makeBlob();
			expectError(await WRITES[name].call(blob.path, { 'if-none-match': '*' }), 412, 'ConditionNotMet');
		});
	const MISSING = [
		['Put Blob', { 'if-match': OTHER }, 412, 'ConditionNotMet'],
		['Put Blob', { 'if-match': '*' }, 412, 'ConditionNotMet'],
		['Put Blob', { 'if-none-match': '*' }, 201],
		['Put Blob', { 'if-none-match': OTHER }, 201],
		['Put Blob', { 'if-modified-since': date(Date.now()) }, 201],
		['Put Blob', { 'if-unmodified-since': date(0) }, 201],
		['Get Blob', { 'if-match': OTHER }, 404, 'BlobNotFound'],
		['Get Blob Properties', { 'if-match': '*' }, 404, 'BlobNotFound'],
		['Get Blob', { 'if-none-match': OTHER }, 404, 'BlobNotFound'],
		['Delete Blob', { 'if-match': OTHER }, 404, 'BlobNotFound'],
		['Set Blob Metadata', { 'if-match': OTHER }, 404, 'BlobNotFound'],
		['Set Blob Properties', { 'if-match': OTHER }, 404, 'BlobNotFound'],
		['Lease Blob', { 'if-match': OTHER }, 404, 'BlobNotFound'],
	];
	for (const [name, headers, status, code] of MISSING)
		test(`${name} of a missing blob with ${JSON.stringify(headers)} is ${status}`, async () => {
			const r = await { ...READS, ...WRITES }[name].call(`/${container}/${uniqueName('gone')}`, headers);
			if (code) expectError(r, status, code);
			else expectStatus(r, status);
		});
	test('several ETags on a read: any may match, none may match', async () => {
		const b = await makeBlob();
		expectStatus(await client.get(b.path, { headers: { 'if-match': `${OTHER}, ${b.etag}` } }), 200);
		expectStatus(await client.get(b.path, { headers: { 'if-none-match': `${OTHER}, ${b.etag}` } }), 304);
	});
	for (const count of [1, 16, 17, 64, 65, 200])
		test(`a list of ${count} ETags: all are judged, or the list is refused`, async () => {
			const b = await makeBlob();
			for (const other of [(i) => `"0x8DA00000000${String(i).padStart(4, '0')}"`, (i) => `"foreign-${i}"`]) {
				const list = [...Array.from({ length: count - 1 }, (_, i) => other(i)), b.etag].join(', ');
				assert.equal((await client.get(b.path, { headers: { 'if-match': list } })).status, count <= 64 ? 200 : 400);
				assert.equal((await client.get(b.path, { headers: { 'if-none-match': list } })).status, count <= 64 ? 304 : 400);
				assert.equal((await put(b.path, { headers: { 'if-none-match': list } })).status, count === 1 ? 412 : 400);
			}
		});
	test('several ETags on a write are 400', async () => {
		const b = await makeBlob();
		expectStatus(await put(b.path, { headers: { 'if-match': `${OTHER}, ${b.etag}` } }), 400);
	});
	test('a list that cannot be read is 400 and lets nothing pass', async () => {
		const b = await makeBlob();
		for (const list of [`*, ${OTHER}`, `${OTHER}, *`, `${b.etag},`, `"0x, ${b.etag}`])
			for (const header of ['if-match', 'if-none-match']) {
				expectError(await put(b.path, { headers: { [header]: list } }), 400, 'InvalidHeaderValue');
				expectError(await client.get(b.path, { headers: { [header]: list } }), 400, 'InvalidHeaderValue');
			}
		assert.equal((await client.head(b.path)).etag, b.etag);
	});
	// Shared Key refuses them before anybody reads them; other credentials do not sign headers.
	test('a condition given twice is 400 and lets nothing pass', async () => {
		const sas = accountSas(server.account, server.key, { now: server.now() });
		const raw = await RawConnection.open(server.ports.blob);
		const twice = async (method, b, name, values, o = {}) => {
			const bytes = client.bytes(method, b.path, { sas, ...o, body: o.body ?? (method === 'GET' ? undefined : 'content') }).toString('latin1');
			const end = bytes.indexOf('\r\n\r\n');
			return raw.exchange(Buffer.from(bytes.slice(0, end) + values.map((v) => `\r\n${name}: ${v}`).join('') + bytes.slice(end), 'latin1'), method);
		};
		const b = await makeBlob(), at = date(b.modified), type = { headers: { 'x-ms-blob-type': 'BlockBlob' } };
		for (const [name, values] of [['If-None-Match', [OTHER, '*']], ['if-none-match', [OTHER, b.etag]], ['If-Match', [b.etag, OTHER]], ['If-Unmodified-Since', [at, at]], ['x-ms-lease-id', [uuid(), uuid()]], ['x-ms-if-tags', [`"a" = 'b'`, `"a" = 'c'`]]]) {
			expectError(await twice('PUT', b, name, values, type), 400, 'InvalidHeaderValue');
			expectError(await twice('GET', b, name, values), 400, 'InvalidHeaderValue');
		}
		assert.equal((await client.head(b.path)).etag, b.etag);
		const blobs = new Blobs(client), page = { path: `${b.path}-page` }, append = { path: `${b.path}-append` };
		expectStatus(await blobs.pageBlob(page.path, 512), 201);
		expectStatus(await blobs.put(append.path, '', { 'x-ms-blob-type': 'AppendBlob' }), 201);
		expectError(await twice('PUT', page, 'x-ms-if-sequence-number-eq', [0, 1], { query: { comp: 'page' }, headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' }, body: Buffer.alloc(512) }), 400, 'InvalidHeaderValue');
		for (const name of ['x-ms-blob-condition-appendpos', 'x-ms-blob-condition-maxsize']) expectError(await twice('PUT', append, name, [0, 1], { query: { comp: 'appendblock' } }), 400, 'InvalidHeaderValue');
		await raw.end();
	});
	test('a malformed date is 400', async () => {
		const b = await makeBlob();
		expectError(await client.get(b.path, { headers: { 'if-modified-since': 'yesterday' } }), 400, 'InvalidHeaderValue');
	});
	test('before 2013-08-15 a read takes one header', async () => {
		const b = await makeBlob();
		const r = await client.get(b.path, { version: '2012-02-12', headers: { 'if-match': b.etag, 'if-modified-since': date(0) } });
		expectError(r, 400, 'MultipleConditionHeadersNotSupported');
	});
});

test('what is malformed is told before what is missing', async () => {
	const b = new Blobs(client), at = '/no-such-container/x';
	expectError(await b.comp(at, 'metadata', { 'x-ms-meta-1a': 'x' }), 400, 'InvalidMetadata');
	expectError(await b.lease(at, 'acquire', { 'x-ms-lease-duration': 5 }), 400, 'InvalidHeaderValue');
	expectError(await b.comp(at, 'properties', { 'x-ms-sequence-number-action': 'none' }), 400, 'InvalidHeaderValue');
	expectError(await b.comp(at, 'tier', { 'x-ms-access-tier': 'Tepid' }), 400, 'InvalidHeaderValue');
	expectError(await b.comp(at, 'legalhold', { 'x-ms-legal-hold': 'maybe' }), 400, 'InvalidHeaderValue');
	expectError(await b.list('no-such-container', { maxresults: 'x' }), 400, 'InvalidQueryParameterValue');
	for (const r of [await b.comp(at, 'metadata'), await b.lease(at, 'acquire', { 'x-ms-lease-duration': 15 }), await b.comp(at, 'tier', { 'x-ms-access-tier': 'Cool' }), await b.list('no-such-container')]) expectError(r, 404, 'ContainerNotFound');
});

describe('containers take the times alone', () => {
	const CALLS = {
		'Set Container Metadata': [(path, headers) => client.put(path, { query: { restype: 'container', comp: 'metadata' }, headers }), 200, ['if-modified-since']],
		'Set Container ACL': [(path, headers) => client.put(path, { query: { restype: 'container', comp: 'acl' }, headers }), 200, ['if-modified-since', 'if-unmodified-since']],
		'Lease Container': [
			(path, headers) => client.put(path, { query: { restype: 'container', comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': 15, ...headers } }),
			201,
			['if-modified-since', 'if-unmodified-since'],
		],
		'Delete Container': [(path, headers) => client.delete(path, { query: { restype: 'container' }, headers }), 202, ['if-modified-since', 'if-unmodified-since']],
	};
	for (const [name, [call, success, accepted]] of Object.entries(CALLS))
		for (const header of accepted)
			for (const [when, offset] of [['before', -60_000], ['after', 60_000]])
				test(`${name}, ${header} ${when}`, async () => {
					const path = `/${uniqueName('cc')}`;
					const made = expectStatus(await client.put(path, { query: { restype: 'container' } }), 201);
					const value = date(Date.parse(made.headers['last-modified']) + offset);
					const holds = (header === 'if-modified-since') === (when === 'before');
					const r = await call(path, { [header]: value });
					if (holds) expectStatus(r, success);
					else expectError(r, 412, 'ConditionNotMet');
				});
});

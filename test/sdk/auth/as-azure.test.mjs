// SPDX-License-Identifier: Apache-2.0
// Authorisation as the live service does it, and where it is stricter here; each case names its rule.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { blobSas, hmac, tableSas } from '../../lib/sign.mjs';

let server, blob, dir, container;
const bearerHeaders = {};
before(async () => {
	dir = tempDir();
	const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]);
	assert.equal(made.status, 0, String(made.stderr));
	server = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'basic', '--debug'], accessLog: `${dir}/access.log` });
	blob = new Client(server);
	container = uniqueName('c');
	expectStatus(await blob.put(`/${container}`, { query: { restype: 'container' } }), 201);
	expectStatus(await blob.put(`/${container}/b`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	const now = Math.floor(Date.now() / 1000);
	const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
	const claims = { aud: 'https://storage.azure.com', iss: 'https://sts.windows.net/tenant/', nbf: now - 60, iat: now - 60, exp: now + 3600, oid: 'o', tid: 't' };
	bearerHeaders.authorization = `Bearer ${part({ alg: 'RS256' })}.${part(claims)}.c2ln`;
});
after(async () => {
	await server?.remove();
	removeDir(dir);
});

const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
const keyQuery = { restype: 'service', comp: 'userdelegationkey' };

// A user delegation SAS of 2022-11-02 for a blob, with a key asked for over the wire.
async function delegationSas(keyTimes, { st, se, path = 'b' }) {
	const body = `<KeyInfo>${keyTimes.start ? `<Start>${keyTimes.start}</Start>` : ''}<Expiry>${keyTimes.expiry}</Expiry></KeyInfo>`;
	const r = expectStatus(await blob.post('/', { query: keyQuery, body, headers: bearerHeaders }), 200);
	const field = (name) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(r.text)[1];
	const k = { skoid: field('SignedOid'), sktid: field('SignedTid'), skt: field('SignedStart'), ske: field('SignedExpiry'), sks: field('SignedService'), skv: field('SignedVersion') };
	const sv = '2022-11-02', sp = 'r', sr = 'b';
	const text = [sp, st ?? '', se, `/blob/${server.account}/${container}/${path}`, k.skoid, k.sktid, k.skt, k.ske, k.sks, k.skv, '', '', '', '', '', sv, sr, '', '', '', '', '', '', ''].join('\n');
	const query = new URLSearchParams({ sv, sp, sr, se, ...k, sig: hmac(field('Value'), text) });
	if (st) query.set('st', st);
	return query;
}

describe('user delegation SAS', () => {
	const minute = 60_000;
	test('st before skt and se behind ske: taken while both times hold now', async () => {
		const now = server.now();
		const cells = [
			[{ expiry: iso(now + 60 * minute) }, { st: iso(now - 15 * minute), se: iso(now + 30 * minute) }],
			[{ start: iso(now - minute), expiry: iso(now + 10 * minute) }, { st: iso(now - 15 * minute), se: iso(now + 30 * minute) }],
			[{ start: iso(now - minute), expiry: iso(now + 10 * minute) }, { se: iso(now + 30 * minute) }],
		];
		for (const [key, token] of cells) expectStatus(await blob.get(`/${container}/b`, { sas: await delegationSas(key, token) }), 200);
	});
	test('neither the time of the token nor that of the key may be over or not begun', async () => {
		const now = server.now();
		const cells = [
			[{ start: iso(now - minute), expiry: iso(now + 10 * minute) }, { se: iso(now - minute) }],
			[{ start: iso(now - minute), expiry: iso(now + 10 * minute) }, { st: iso(now + minute), se: iso(now + 30 * minute) }],
			[{ start: iso(now + 5 * minute), expiry: iso(now + 10 * minute) }, { se: iso(now + 30 * minute) }],
		];
		for (const [key, token] of cells) expectError(await blob.get(`/${container}/b`, { sas: await delegationSas(key, token) }), 403, 'AuthenticationFailed');
	});
	test('Get User Delegation Key signed by an account key says what it takes', async () => {
		const body = `<KeyInfo><Expiry>${iso(server.now() + 60_000)}</Expiry></KeyInfo>`;
		const r = expectError(await blob.post('/', { query: keyQuery, body }), 403, 'AuthenticationFailed');
		assert.match(r.text, /<AuthenticationErrorDetail>Only authentication scheme Bearer is supported<\/AuthenticationErrorDetail>/);
	});
});

test('a SAS for one blob, signed for an empty name, does not reach the container', async () => {
	for (const sr of ['b', 'bs', 'bv']) {
		const sas = blobSas(server.account, server.key, container, '', { sr, sp: 'racwdl', snapshot: sr === 'b' ? '' : 'x' });
		if (sr === 'bs') sas.set('snapshot', 'x');
		if (sr === 'bv') sas.set('versionid', 'x');
		expectError(await blob.get(`/${container}`, { query: { restype: 'container', comp: 'list' }, sas }), 403, 'AuthenticationFailed');
	}
});

describe('Shared Key', () => {
	test('a signature for deleting an old version does not delete the current blob', async () => {
		const path = `/${container}/kept`;
		expectStatus(await blob.put(path, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
		const version = '2020-01-01T00:00:00.0000000Z';
		const { headers } = blob.prepare('DELETE', path, { query: { versionid: version } });
		for (const search of [`versionid%3A2020-01-01T00%3A00=00.0000000Z`, `versionid%3A${encodeURIComponent(version)}=`]) {
			const r = await blob.request('DELETE', `${path}?${search}`, { headers });
			assert.equal(r.status, 403, `${search}: ${r.text}`);
		}
		// Names are signed in lower case: only a value that has no capital before its colon can become one.
		const lower = blob.prepare('DELETE', path, { query: { versionid: 'x:y' } });
		expectError(await blob.request('DELETE', `${path}?versionid%3Ax=y`, { headers: lower.headers }), 403, 'AuthenticationFailed');
		const two = blob.prepare('DELETE', path, { query: { a: '1', versionid: version } });
		expectError(await blob.request('DELETE', `${path}?a=1%0Aversionid:${encodeURIComponent(version)}`, { headers: two.headers }), 403, 'AuthenticationFailed');
		expectStatus(await blob.head(path), 200);
	});
	test('a date too far ahead is refused as one too old is', async () => {
		const at = (minutes) => new Date(server.now() + minutes * 60_000).toUTCString();
		for (const minutes of [-20, 20, 600]) {
			const r = expectError(await blob.get(`/${container}/b`, { date: at(minutes) }), 403, 'AuthenticationFailed');
			assert.match(r.text, minutes < 0 ? /too old/ : /too far ahead/);
		}
		for (const minutes of [-10, 10]) expectStatus(await blob.get(`/${container}/b`, { date: at(minutes) }), 200);
	});
});

test('a signature reaches no log, however it is spelled', async () => {
	const secret = 'c2VjcmV0c2lnbmF0dXJl';
	const forms = [`/b%3Fsv=1%26sig=${secret}`, `/b?sig%20=${secret}`, `/b?a=1;sig=${secret}`, `/b?%3Fsig=${secret}`, `/b?SIG=${secret}`, `/b?x=%26sig%3D${secret}`, `/b?%73ig=${secret}`, `/b%253Fsig%253D${secret}`, `/b?&sig=${secret}&sp=r`];
	for (const form of forms) assert.ok((await blob.get(`/${container}${form}`, { anonymous: true })).status >= 400, form);
	for (const form of forms) assert.ok((await blob.get(`/${container}${form}`, { key: Buffer.alloc(32).toString('base64') })).status >= 400, form);
	await server.stop();
	const log = fs.readFileSync(`${dir}/access.log`, 'utf8');
	assert.match(log, /REDACTED/);
	assert.doesNotMatch(log, new RegExp(secret));
	assert.doesNotMatch(server.stderr, new RegExp(secret));
	await server.restart();
});

describe('a service SAS of a version before 2015-04-05 answers 404 where it lacks a right', () => {
	let table, client;
	before(async () => {
		table = uniqueName('t');
		client = new Client(server, { service: 'table' });
		expectStatus(await client.post('/Tables', { body: JSON.stringify({ TableName: table }), headers: json }), 201);
		expectStatus(await client.post(`/${table}`, { body: JSON.stringify({ PartitionKey: 'p', RowKey: 'r' }), headers: json }), 201);
	});
	const json = { accept: 'application/json', 'content-type': 'application/json' };
	// The layout of 2014-02-14: no address, no protocol, no service in the resource.
	function oldSas({ sp, spk = '', srk = '', epk = '', erk = '' }) {
		const sv = '2014-02-14', se = iso(server.now() + 3600_000);
		const sig = hmac(server.key, [sp, '', se, `/${server.account}/${table.toLowerCase()}`, '', sv, spk, srk, epk, erk].join('\n'));
		const query = new URLSearchParams({ sv, tn: table, sp, se, sig });
		for (const [name, value] of Object.entries({ spk, srk, epk, erk })) if (value) query.set(name, value);
		return query;
	}
	const key = (pk, rk) => `/${table}(PartitionKey='${pk}',RowKey='${rk}')`;
	test('plain operations, key ranges, tunnelled MERGE', async () => {
		const noUpdate = oldSas({ sp: 'r' }), range = oldSas({ sp: 'raud', spk: 'a', epk: 'b' });
		expectError(await client.request('PUT', key('p', 'r'), { sas: noUpdate, body: '{}', headers: { ...json, 'if-match': '*' } }), 404, 'ResourceNotFound');
		expectError(await client.request('PUT', key('p', 'r'), { sas: range, body: '{}', headers: { ...json, 'if-match': '*' } }), 404, 'ResourceNotFound');
		expectError(await client.get(key('p', 'r'), { sas: range, headers: json }), 404, 'ResourceNotFound');
		expectError(await client.post(key('p', 'r'), { sas: oldSas({ sp: 'a' }), body: '{}', headers: { ...json, 'x-http-method': 'MERGE', 'if-match': '*' } }), 404, 'ResourceNotFound');
	});
	test('parts of a batch', async () => {
		const part = (path) => `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT ${client.endpoint}${path} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json\r\nIf-Match: *\r\n\r\n{}\r\n--c--\r\n--b--\r\n`;
		for (const sas of [oldSas({ sp: 'r' }), oldSas({ sp: 'raud', spk: 'a', epk: 'b' })]) {
			const r = expectStatus(await client.post('/$batch', { sas, body: part(key('p', 'r')), headers: { 'content-type': 'multipart/mixed; boundary=b' } }), 202);
			assert.match(r.text, /HTTP\/1\.1 404 /);
			assert.match(r.text, /"code":"ResourceNotFound"/);
		}
		const newer = expectStatus(await client.post('/$batch', { sas: tableSas(server.account, server.key, table, { sp: 'r' }), body: part(key('p', 'r')), headers: { 'content-type': 'multipart/mixed; boundary=b' } }), 202);
		assert.match(newer.text, /HTTP\/1\.1 403 /);
	});
});

describe('production keeps its secrets', () => {
	const long = Buffer.alloc(64, 7).toString('base64'), short = Buffer.alloc(31, 7).toString('base64');
	const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0'];
	const refused = async (args, env, pattern) => {
		const data = tempDir();
		const r = await runProgram(['serve', '--mode', 'production', '--location', data, ...ports, ...args], { env, timeoutMs: 20_000 });
		removeDir(data);
		assert.ok(r.code === 1 || r.code === 2, `${r.signal} ${r.stdout} ${r.stderr}`);
		assert.match(r.stderr, pattern);
		assert.ok(!r.stderr.includes(short) && !r.stderr.includes(long), 'a message shows no key');
	};
	test('account keys under 32 bytes', async () => {
		await refused([], { ZAFFRE_ACCOUNTS: `acc:${short}` }, /at least 32 bytes/);
		await refused([], { ZAFFRE_ACCOUNTS: `acc:${long}:${short}` }, /at least 32 bytes, key 2/);
	});
	test('a configuration file with keys that everybody can read', async () => {
		const file = `${dir}/conf`;
		fs.writeFileSync(file, `accounts = acc:${long}\n`);
		fs.chmodSync(file, 0o644);
		await refused(['--config', file], {}, /others can read it/);
		fs.chmodSync(file, 0o640);
		const own = await startServer({ flags: ['--mode', 'production', '--config', file] });
		await own.remove();
	});
	test('a private key that everybody can read', async () => {
		const file = `${dir}/open.pem`;
		fs.copyFileSync(`${dir}/key.pem`, file);
		fs.chmodSync(file, 0o644);
		await refused(['--cert', `${dir}/cert.pem`, '--key', file], {}, /private key .* can be read by others/);
		fs.chmodSync(file, 0o600);
		const own = await startServer({ flags: ['--mode', 'production', '--cert', `${dir}/cert.pem`, '--key', file] });
		await own.remove();
	});
});

test('AZURITE_ACCOUNTS: keys that are no strict Base64 are taken as Node.js reads them, in development mode only', async () => {
	for (const key of ['mykey!!', 'a-_b+/', 'abc', 'YQ==YQ==']) {
		const own = await startServer({ env: { AZURITE_ACCOUNTS: `acc:${key}` } });
		try {
			const client = new Client(own, { account: 'acc', key });
			expectStatus(await client.get('/', { query: { comp: 'list' } }), 200);
		} finally {
			await own.remove();
		}
	}
	const data = tempDir();
	const r = await runProgram(['serve', '--location', data, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0'], { env: { ZAFFRE_ACCOUNTS: 'acc:mykey!!' }, timeoutMs: 20_000 });
	removeDir(data);
	assert.equal(r.code, 1);
	assert.match(r.stderr, /keys in Base64/);
});

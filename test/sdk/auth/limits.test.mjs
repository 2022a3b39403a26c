// SPDX-License-Identifier: Apache-2.0
// What an operator forbids on an account holds whoever asks and whatever they prove.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { accountSas, blobSas, queueSas, tableSas } from '../../lib/sign.mjs';

const key = Buffer.alloc(64, 9).toString('base64');
const accounts = ['open', 'nokey', 'private', 'elsewhere', 'brief'];
const env = { ZAFFRE_ACCOUNTS: accounts.map((name) => `${name}:${key}`).join(';') };
const container = uniqueName('c');
let dir, server;
const client = (account, service = 'blob') => new Client(server, { account, key, service });

before(async () => {
	dir = tempDir();
	// Made while nothing is forbidden yet.
	server = await startServer({ env });
	for (const account of accounts) {
		const c = client(account);
		expectStatus(await c.put(`/${container}`, { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': 'container' } }), 201);
		expectStatus(await c.put(`/${container}/b`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	}
	writeFileSync(
		`${dir}/limits`,
		`# account limit value
*	sas-max-hours	8760

nokey shared-key off
private public-access off
elsewhere addresses 10.0.0.0/8, 192.0.2.1-192.0.2.9,2001:db8::/32
brief sas-max-hours 2
brief addresses 127.0.0.0/8,::1
`,
	);
	await server.restart({ flags: ['--accountLimits', `${dir}/limits`] });
});
after(async () => {
	await server?.remove();
	removeDir(dir);
});

const read = (account, o) => client(account).get(`/${container}/b`, o);
const hours = (n) => new Date(server.now() + n * 3600e3);

test('an account without limits is as before', async () => {
	expectStatus(await read('open'), 200);
	expectStatus(await read('open', { anonymous: true }), 200);
	expectStatus(await read('open', { sas: blobSas('open', key, container, 'b', { se: hours(1000) }) }), 200);
});

test('shared-key off: no key, no SAS that a key signed', async () => {
	expectError(await read('nokey'), 403, 'KeyBasedAuthenticationNotPermitted');
	expectError(await read('nokey', { lite: true }), 403, 'KeyBasedAuthenticationNotPermitted');
	expectError(await read('nokey', { sas: blobSas('nokey', key, container, 'b') }), 403, 'KeyBasedAuthenticationNotPermitted');
	expectError(await read('nokey', { sas: accountSas('nokey', key) }), 403, 'KeyBasedAuthenticationNotPermitted');
	expectError(await client('nokey', 'queue').get('/q/messages', { sas: queueSas('nokey', key, 'q') }), 403, 'KeyBasedAuthenticationNotPermitted');
	expectError(await client('nokey', 'table').get('/t()', { sas: tableSas('nokey', key, 't'), headers: { accept: 'application/json' } }), 403, 'KeyBasedAuthenticationNotPermitted');
	expectStatus(await read('nokey', { anonymous: true }), 200);
});

test('public-access off: nobody is anonymous', async () => {
	expectStatus(await read('private'), 200);
	expectError(await read('private', { anonymous: true }), 409, 'PublicAccessNotPermitted');
	expectError(await client('private').get(`/${container}`, { anonymous: true, query: { restype: 'container', comp: 'list' } }), 409, 'PublicAccessNotPermitted');
});

test('addresses: only those in the list, with whatever credentials', async () => {
	expectError(await read('elsewhere'), 403, 'AuthorizationFailure');
	expectError(await read('elsewhere', { anonymous: true }), 403, 'AuthorizationFailure');
	expectError(await read('elsewhere', { sas: accountSas('elsewhere', key) }), 403, 'AuthorizationFailure');
	expectStatus(await read('brief'), 200);
});

describe('sas-max-hours', () => {
	const cells = [
		['brief', { se: 1.9 }, true],
		['brief', { se: 2.1 }, false],
		['brief', { st: -1.5, se: 0.4 }, true],
		['brief', { st: -1.5, se: 1 }, false],
		['open', { se: 8700 }, true],
		['open', { se: 8800 }, false],
	];
	for (const [account, times, ok] of cells)
		test(`${account} ${JSON.stringify(times)}: ${ok ? 'taken' : 'refused'}`, async () => {
			const o = { se: hours(times.se), st: times.st === undefined ? undefined : hours(times.st) };
			for (const sas of [blobSas(account, key, container, 'b', o), accountSas(account, key, o)]) {
				const r = await read(account, { sas });
				if (ok) expectStatus(r, 200);
				else assert.match(expectError(r, 403, 'AuthenticationFailed').text, /longer than this account allows/);
			}
		});
});

test('a file that is none is told with its line', async () => {
	for (const [text, pattern] of [
		['nobody shared-key off', /line 1: there is no such account/],
		['# x\nopen shared-key', /line 2: a line has three parts/],
		['open shared-key maybe', /line 1: the value is on or off/],
		['open sas-max-hours 0', /line 1: .*hours/],
		['open addresses 10.0.0.0\/33', /line 1: addresses are like/],
		['open addresses nonsense', /line 1: addresses are like/],
		['open speed 5', /line 1: a limit is/],
	]) {
		const data = tempDir();
		writeFileSync(`${dir}/bad`, text);
		const r = await runProgram(['serve', '--location', data, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--accountLimits', `${dir}/bad`], { env, timeoutMs: 20_000 });
		removeDir(data);
		assert.equal(r.code, 1, r.stderr);
		assert.match(r.stderr, pattern);
	}
});

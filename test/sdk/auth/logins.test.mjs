// SPDX-License-Identifier: Apache-2.0
// Logins that fail: counted by address and by account over both front ends, and answered late from the third on. Who has the key is
// answered at once, from the same address too, and no loop waits.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { expectStatus } from '../../lib/assert.mjs';
import { fileSas } from '../../lib/file.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas } from '../../lib/sign.mjs';
import { SmbClient } from '../../lib/smb.mjs';
import { freePort, startServer } from '../../lib/server.mjs';

const key = Buffer.alloc(64, 9).toString('base64');
const wrong = Buffer.alloc(64, 1).toString('base64');
const DELAY_MS = 600;
let server, smbPort, adminPort;
const proxied = (ip) => ({ 'x-forwarded-for': ip });
// Each test guesses at an account of its own.
const accounts = ['one', 'two', 'tokens', 'both', 'flood', 'other'];
const client = (k = key, account = 'one') => new Client(server, { account, key: k, agent: new http.Agent({ maxSockets: 600 }) });

async function timed(promise) {
	const began = performance.now();
	const answer = await promise;
	return { status: answer.status, took: performance.now() - began, answer };
}

// The same where nothing else is under way: `held` is whether the server counted the answer as held back, which a busy machine cannot
// change as it changes times.
async function watched(attempt) {
	const before = await metric('zaffre_failed_logins_slowed_total');
	const result = await timed(attempt());
	const held = (await metric('zaffre_failed_logins_slowed_total')) > before;
	assert.ok(!held || result.took >= DELAY_MS - 5, `held back, and answered after ${result.took} ms`);
	return { ...result, held };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

before(async () => {
	[smbPort, adminPort] = [await freePort(), await freePort()];
	server = await startServer({ flags: ['--loginDelay', String(DELAY_MS), '--trustedProxies', '127.0.0.1', '--threads', '1', '--smbPort', String(smbPort), '--adminPort', String(adminPort)], env: { ZAFFRE_ACCOUNTS: accounts.map((name) => `${name}:${key}`).join(';') } });
	for (const account of accounts) {
		expectStatus(await client(key, account).put('/ccc', { query: { restype: 'container' } }), 201);
		expectStatus(await client(key, account).put('/ccc/b', { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	}
});
after(() => server?.remove());

async function metric(name) {
	const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
	return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)[1]);
}

test('two are answered at once, the next ones late; a right key from the same address does not wait', async () => {
	const headers = proxied('192.0.2.1');
	for (let i = 0; i < 2; i++) {
		const { status, held } = await watched(() => client(wrong).get('/ccc/b', { headers }));
		assert.deepEqual([status, held], [403, false]);
	}
	const slow = Array.from({ length: 50 }, () => timed(client(wrong).get('/ccc/b', { headers })));
	const right = [];
	for (let i = 0; i < 30; i++) {
		const { status, took } = await timed(client().get('/ccc/b', { headers }));
		assert.equal(status, 200);
		right.push(took);
	}
	assert.ok(median(right) < DELAY_MS - 50, `who has the key waited: ${right}`);
	for (const { status, took } of await Promise.all(slow)) {
		assert.equal(status, 403);
		assert.ok(took >= DELAY_MS - 5, `answered after ${took} ms`);
	}
	const elsewhere = await watched(() => client(wrong, 'other').get('/ccc/b', { headers: proxied('192.0.2.2') }));
	assert.equal(elsewhere.held, false, 'another address and account are not slowed');
	assert.match(server.stderr, /rest: logins to one from 192\.0\.2\.1 fail \(3 of that address of late/);
});

test('a signature of a SAS that is wrong counts; tokens that ended, and requests of nobody, do not', async () => {
	const headers = proxied('192.0.2.10');
	const held = [];
	for (let i = 0; i < 4; i++) held.push((await watched(() => client(key, 'tokens').get('/ccc/b', { sas: accountSas('tokens', wrong, {}), headers }))).held);
	assert.deepEqual(held, [false, false, true, true]);
	const other = proxied('192.0.2.11');
	for (let i = 0; i < 6; i++) {
		const ended = accountSas('tokens', key, { se: '2020-01-01T00:00:00Z' });
		const late = await watched(() => client(key, 'tokens').get('/ccc/b', { sas: ended, headers: other }));
		const nobody = await watched(() => client(key, 'tokens').get('/ccc/b', { anonymous: true, headers: other }));
		assert.deepEqual([late.status, late.held, nobody.held], [403, false, false]);
	}
});

test('a wrong signature in the source of a rename counts as one', async () => {
	const headers = proxied('192.0.2.12');
	const files = new Client(server, { account: 'tokens', key, service: 'file', version: '2025-05-05' });
	expectStatus(await files.put('/sss', { query: { restype: 'share' } }), 201);
	expectStatus(await files.put('/sss/f', { headers: { 'x-ms-type': 'file', 'x-ms-content-length': '1' } }), 201);
	const rename = (signed) => files.put('/sss/g', {
		query: { comp: 'rename' },
		sas: fileSas('tokens', key, 'sss', 'g', { sp: 'w' }),
		headers: { ...headers, 'x-ms-file-rename-source': `${server.endpoints.file.replace(/\/[^/]+$/, '/tokens')}/sss/f?${fileSas('tokens', signed, 'sss', 'f', { sp: 'w' })}` },
	});
	const held = [];
	for (let i = 0; i < 4; i++) {
		const tried = await watched(() => rename(wrong));
		assert.equal(tried.status, 403);
		held.push(tried.held);
	}
	assert.deepEqual(held, [false, false, true, true]);
	const right = await watched(() => rename(key));
	assert.deepEqual([right.status, right.held], [200, false]);
});

test('one account, from many addresses', async () => {
	const held = [];
	for (let i = 0; i < 30; i++) {
		const c = new Client(server, { account: 'two', key: wrong });
		held.push((await watched(() => c.get('', { query: { comp: 'list' }, headers: proxied(`198.51.100.${i}`) }))).held);
	}
	assert.ok(!held.slice(0, 15).includes(true), String(held));
	assert.ok(!held.slice(22).includes(false), String(held));
});

test('REST and SMB count together, and the metrics say so', async () => {
	const before = await metric('zaffre_failed_logins_total');
	const smb = async () => {
		const c = await SmbClient.connect(smbPort);
		await c.negotiate();
		const began = performance.now();
		await c.login('both', wrong);
		const ms = performance.now() - began;
		await c.end();
		return ms;
	};
	const headers = proxied('127.0.0.1');
	await timed(client(wrong, 'both').get('/ccc/b', { headers }));
	await timed(client(wrong, 'both').get('/ccc/b', { headers }));
	assert.ok((await smb()) >= DELAY_MS - 5, 'the third is the first over SMB');
	assert.equal(await metric('zaffre_failed_logins_total'), before + 3);
	assert.ok((await metric('zaffre_failed_logins_slowed_total')) > 0);
});

test('answers that wait are bounded: a flood of guesses does not take the memory of others', { timeout: 60_000 }, async () => {
	const headers = proxied('192.0.2.30');
	const began = performance.now();
	const all = await Promise.all(Array.from({ length: 500 }, () => timed(client(wrong, 'flood').get('/ccc/b', { headers })).catch((e) => ({ status: e.code, took: 0 }))));
	const total = performance.now() - began;
	const late = all.filter(({ took }) => took >= DELAY_MS - 5).length;
	assert.ok(all.every(({ status }) => status === 403), JSON.stringify(all.find(({ status }) => status !== 403)));
	assert.ok(all.some(({ answer }) => answer.headers.connection === 'close'), 'past the bound connections end');
	assert.ok(late >= 256, `${late} waited`);
	assert.ok(total < 20_000, `${total} ms`);
	expectStatus(await client().get('/ccc/b', { headers }), 200);
});

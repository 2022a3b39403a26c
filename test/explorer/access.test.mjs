// SPDX-License-Identifier: Apache-2.0
// Who may use the explorer: by raw requests, as a foreign page, a foreign name and a stranger would send them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { explorerOf } from '../lib/browser.mjs';
import { removeDir, startServer, tempDir, WELL_KNOWN_KEY } from '../lib/server.mjs';

function ask(base, path, { method = 'GET', headers = {}, body } = {}) {
	const url = new URL(path, base);
	return new Promise((resolve, reject) => {
		const request = http.request(url, { method, headers: { ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }), ...headers } }, (answer) => {
			const chunks = [];
			answer.on('data', (chunk) => chunks.push(chunk));
			answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString('utf8') }));
		});
		request.on('error', reject);
		request.end(body);
	});
}
const VERSION = { 'x-ms-version': '2025-07-05' };

describe('the explorer in development mode', () => {
	let server, base, session;
	before(async () => {
		server = await startServer({ flags: ['--adminPort', '0'] });
		base = explorerOf(server);
		session = JSON.parse((await ask(base, '/api/session')).text).session;
	});
	after(() => server?.remove());

	test('the page has a strict policy and nothing inline', async () => {
		const page = await ask(base, '/');
		assert.equal(page.status, 200);
		const policy = page.headers['content-security-policy'];
		assert.match(policy, /default-src 'none'/);
		assert.match(policy, /script-src 'self'/);
		assert.match(policy, /frame-ancestors 'none'/);
		assert.doesNotMatch(policy, /unsafe/);
		assert.match(page.text, /<script type="module"[^>]* src="/);
		let size = page.text.length;
		for (const [, address] of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
			assert.match(address, /^\.\//, 'no asset from elsewhere');
			const asset = await ask(base, address);
			assert.equal(asset.status, 200);
			size += asset.text.length;
		}
		// All of it lies in the program, beside 22 KiB of code: it must not grow by more than 2 MiB for it.
		assert.ok(size > 50_000 && size < 512 * 1024, `${size} bytes of page`);
	});

	test('data needs a session, and one that fits', async () => {
		const list = '/api/blob/devstoreaccount1/?comp=list';
		assert.equal((await ask(base, list, { headers: VERSION })).status, 401);
		assert.equal((await ask(base, '/api/overview')).status, 401);
		assert.equal((await ask(base, list, { headers: { ...VERSION, 'x-zaffre-session': session } })).status, 200);
		for (const bad of [session.slice(0, -2) + 'x=', session.replace('*', 'devstoreaccount1'), session.replace(/\.\d/, '.9'), '', '*', '*.1.x', 'x'.repeat(5000)])
			assert.equal((await ask(base, list, { headers: { ...VERSION, 'x-zaffre-session': bad } })).status, 401, bad.slice(0, 40));
	});

	test('a page of another origin gets nothing, whatever it sends', async () => {
		for (const foreign of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
			assert.equal((await ask(base, '/api/session', { headers: foreign })).status, 403);
			const put = await ask(base, '/api/blob/devstoreaccount1/made?restype=container', { method: 'PUT', body: '', headers: { ...VERSION, ...foreign, 'x-zaffre-session': session } });
			assert.equal(put.status, 403);
			assert.equal(put.headers['access-control-allow-origin'], undefined);
			assert.equal((await ask(base, '/readyz', { method: 'POST', body: '', headers: foreign })).status, 403);
		}
		// Nor does it make the server walk its rows; somebody who follows a link gets there.
		for (const path of ['/leases', '/conflicts', '/stats', '/scrub', '/test']) {
			for (const foreign of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' }, { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' }])
				assert.equal((await ask(base, path, { headers: foreign })).status, 403, path);
			assert.equal((await ask(base, path, { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' } })).status, 200, path);
		}
		const same = await ask(base, '/api/session', { headers: { origin: base.slice(0, -1), 'sec-fetch-site': 'same-origin' } });
		assert.equal(same.status, 200);
	});

	test('a name of somebody else that leads here gets no session', async () => {
		for (const host of ['evil.example', `evil.example:${new URL(base).port}`, '127.0.0.1.evil.example', 'localhost.evil.example'])
			assert.equal((await ask(base, '/api/session', { headers: { host } })).status, 401, host);
		assert.equal((await ask(base, '/api/session', { headers: { host: `localhost:${new URL(base).port}` } })).status, 200);
	});

	// A page may let its own name resolve to 127.0.0.1: then its requests are of this origin, for all that a browser knows.
	test('a name of somebody else that leads here learns no names and changes nothing', async () => {
		const host = `evil.example:${new URL(base).port}`;
		const headers = { host, origin: `http://${host}` };
		for (const path of ['/test/reset', '/test/clock?advance=1', '/test/faults?action=busy']) {
			assert.equal((await ask(base, path, { method: 'POST', body: '', headers })).status, 403, path);
			assert.equal((await ask(base, path, { method: 'POST', body: '', headers: { host } })).status, 403, path);
		}
		for (const path of ['/stats', '/conflicts', '/leases', '/test', '/scrub', '/%6ceases', '/x/../leases']) assert.ok((await ask(base, path, { headers: { host } })).status >= 400, path);
		for (const path of ['/metrics', '/healthz', '/readyz', '/']) assert.equal((await ask(base, path, { headers: { host } })).status, 200, path);
		for (const name of ['localhost', '127.0.0.1', '10.1.2.3', '[::1]', 'zaffre.localhost'])
			assert.equal((await ask(base, '/leases', { headers: { host: `${name}:${new URL(base).port}` } })).status, 200, name);
		// Behind a proxy of this machine the page is asked for by the proxy's name: whoever signed in is let through.
		assert.equal((await ask(base, '/conflicts', { headers: { host, 'x-zaffre-session': session } })).status, 200);
		assert.equal((await ask(base, '/conflicts', { headers: { host, 'x-zaffre-session': `${session}x` } })).status, 403);
	});

	test('who guesses at keys here is slowed, as at the other doors', async () => {
		const slow = await startServer({ flags: ['--adminPort', '0', '--loginDelay', '700'] });
		try {
			const door = explorerOf(slow);
			const guess = async (body) => {
				const began = Date.now();
				assert.equal((await ask(door, '/api/session', { method: 'POST', body: JSON.stringify(body) })).status, 403);
				return Date.now() - began;
			};
			const took = [];
			for (let i = 0; i < 4; i++) took.push(await guess(i % 2 ? { token: `guess${i}` } : { account: 'devstoreaccount1', key: Buffer.from(`guess${i}`).toString('base64') }));
			assert.ok(took[0] < 600 && took[3] >= 690, took.join());
		} finally {
			await slow.remove();
		}
	});

	test('a change that a browser asks for needs the session of the page', async () => {
		const port = new URL(base).port;
		const kit = async (headers) => (await ask(base, '/test/clock?advance=3600', { method: 'POST', body: '', headers })).status;
		const moved = async () => JSON.parse((await ask(base, '/test')).text).advancedSeconds;
		assert.equal(await kit({ host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}` }), 401);
		assert.equal(await moved(), 0);
		assert.equal(await kit({ origin: base.slice(0, -1), 'x-zaffre-session': session }), 200, 'the page has a session');
		assert.equal(await kit({}), 200, 'a program is no browser');
		assert.equal(await moved(), 7200);
	});

	test('read-only: by the header of the page, every write is refused, a get of messages too', async () => {
		const headers = { ...VERSION, 'x-zaffre-session': session };
		const write = (path, method, extra = {}) => ask(base, path, { method, body: method === 'GET' ? undefined : '', headers: { ...headers, ...extra } });
		assert.equal((await write('/api/queue/devstoreaccount1/queue1', 'PUT')).status, 201);
		const only = { 'x-zaffre-read-only': '1' };
		assert.equal((await write('/api/queue/devstoreaccount1/queue2', 'PUT', only)).status, 403);
		assert.equal((await write('/api/queue/devstoreaccount1/queue1', 'DELETE', only)).status, 403);
		assert.equal((await write('/api/queue/devstoreaccount1/queue1/messages', 'GET', only)).status, 403);
		assert.equal((await write('/api/queue/devstoreaccount1/queue1/messages?peekonly=true', 'GET', only)).status, 200);
		assert.equal((await write('/api/sign?account=devstoreaccount1', 'POST')).status, 200);
		assert.equal((await write('/api/sign?account=devstoreaccount1', 'POST', only)).status, 403, 'a SAS could write');
		assert.equal((await write('/test/clock?advance=1', 'POST', only)).status, 403);
	});

	test('what is stored is no page of this origin', async () => {
		const headers = { ...VERSION, 'x-zaffre-session': session };
		await ask(base, '/api/blob/devstoreaccount1/html?restype=container', { method: 'PUT', body: '', headers });
		await ask(base, '/api/blob/devstoreaccount1/html/x', { method: 'PUT', body: '<script>1</script>', headers: { ...headers, 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': 'text/html' } });
		const got = await ask(base, '/api/blob/devstoreaccount1/html/x', { headers });
		assert.equal(got.status, 200);
		assert.match(got.headers['content-security-policy'], /sandbox/);
		assert.equal(got.headers['x-content-type-options'], 'nosniff');
		assert.equal((await ask(base, '/api/blob/devstoreaccount1/html/x')).status, 401, 'a link to it is refused');
	});

	test('bad questions are refused and the server lives', async () => {
		const headers = { 'x-zaffre-session': session };
		for (const path of ['/api/nothing', '/api/', '/api/blob', '/api/blob/', '/api/blob/nobody/x', '/api/messages', '/api/messages?account=devstoreaccount1&queue=none', '/api/messages?account=devstoreaccount1&queue=%00', '/api/messages?account=nobody&queue=x', '/api/messages?account=devstoreaccount1&queue=queue1&sequence=-1', '/assets/../etc', '/api/web/devstoreaccount1/x', '/api/admin/x', '/api/overview?%zz'])
			assert.ok((await ask(base, path, { headers: { ...headers, ...VERSION } })).status >= 400, path);
		for (const body of ['', '{', '[]', '{"account":1}', '{"account":"devstoreaccount1","key":"eA=="}', '{"token":""}', 'x'.repeat(100_000)])
			assert.ok((await ask(base, '/api/session', { method: 'POST', body })).status >= 400, body.slice(0, 20));
		assert.equal((await ask(base, '/healthz')).status, 200);
	});

	test('what it asks stands in the access log like everything else', async () => {
		const logged = await startServer({ flags: ['--adminPort', '0'], accessLog: '-' });
		try {
			const there = explorerOf(logged);
			const own = JSON.parse((await ask(there, '/api/session')).text).session;
			await ask(there, '/api/blob/devstoreaccount1/?comp=list', { headers: { ...VERSION, 'x-zaffre-session': own } });
			for (let i = 0; i < 50 && !/LIST_CONTAINERS|CONTAINER_LIST/.test(logged.stdout); i++) await new Promise((resolve) => setTimeout(resolve, 20));
			assert.match(logged.stdout, /"path":"\/devstoreaccount1\/\?comp=list".*"auth":"explorer"/);
			assert.ok(!logged.stdout.includes(own), 'a session is never logged');
		} finally {
			await logged.remove();
		}
	});
});

describe('the explorer in production mode', () => {
	const key1 = Buffer.alloc(64, 1).toString('base64'), key2 = Buffer.alloc(64, 2).toString('base64');
	let server, base;
	before(async () => {
		server = await startServer({
			flags: ['--mode', 'production', '--adminPort', '0', '--adminReadOnly'],
			env: { ZAFFRE_ACCOUNTS: `first:${key1};second:${key2}`, ZAFFRE_ADMIN_TOKEN: 'a token of some length' },
		});
		base = explorerOf(server);
	});
	after(() => server?.remove());
	const login = async (body) => ask(base, '/api/session', { method: 'POST', body: JSON.stringify(body) });

	test('nobody gets in without a key or the token', async () => {
		assert.equal((await ask(base, '/api/session')).status, 401);
		for (const body of [{ account: 'first', key: key2 }, { account: 'first', key: WELL_KNOWN_KEY }, { account: 'nobody', key: key1 }, { token: 'a token' }, { token: '' }, {}])
			assert.equal((await login(body)).status, 403, JSON.stringify(body));
	});

	test('a key opens its account alone, the token all, and no key is shown', async () => {
		const one = JSON.parse((await login({ account: 'first', key: key1 })).text).session;
		const all = JSON.parse((await login({ token: 'a token of some length' })).text).session;
		const list = (account, session) => ask(base, `/api/blob/${account}/?comp=list`, { headers: { ...VERSION, 'x-zaffre-session': session } });
		assert.equal((await list('first', one)).status, 200);
		assert.equal((await list('second', one)).status, 403);
		assert.equal((await list('second', all)).status, 200);
		const overview = (await ask(base, '/api/overview', { headers: { 'x-zaffre-session': one } })).text;
		assert.ok(!overview.includes('second') && !overview.includes(key1));
	});

	test('limits of an account and the end of the certificate are told', async () => {
		const dir = tempDir();
		fs.writeFileSync(path.join(dir, 'limits'), 'first requests-per-second 500\nfirst public-access off\n');
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '10', '-subj', '/CN=localhost', '-keyout', path.join(dir, 'key.pem'), '-out', path.join(dir, 'cert.pem')], { stdio: 'ignore' });
		const other = await startServer({
			flags: ['--mode', 'production', '--adminPort', '0', '--accountLimits', path.join(dir, 'limits'), '--cert', path.join(dir, 'cert.pem'), '--key', path.join(dir, 'key.pem')],
			env: { ZAFFRE_ACCOUNTS: `first:${key1}` },
		});
		try {
			const there = explorerOf(other);
			const session = JSON.parse((await ask(there, '/api/session', { method: 'POST', body: JSON.stringify({ account: 'first', key: key1 }) })).text).session;
			const overview = JSON.parse((await ask(there, '/api/overview', { headers: { 'x-zaffre-session': session } })).text);
			assert.equal(overview.accounts[0].limits.requestsPerSecond, 500);
			assert.equal(overview.accounts[0].limits.publicAccess, false);
			const days = (new Date(overview.certificateEnds) - Date.now()) / 86400e3;
			assert.ok(days > 9 && days < 10.1, `${days}`);
			assert.match(overview.warnings.join(), /certificate ends/);
			// A session of one account neither sees the requests of all nor gives commands.
			assert.equal((await ask(there, '/api/requests', { headers: { 'x-zaffre-session': session } })).status, 403);
			assert.equal((await ask(there, '/api/command?run=/account/list', { method: 'POST', body: '', headers: { 'x-zaffre-session': session } })).status, 403);
			assert.equal((await ask(there, '/api/why', { method: 'POST', body: '{}', headers: { 'x-zaffre-session': session } })).status, 403);
		} finally {
			await other.remove();
			removeDir(dir);
		}
	});

	test('--adminReadOnly: no write and no signature', async () => {
		const headers = { 'x-zaffre-session': JSON.parse((await login({ token: 'a token of some length' })).text).session };
		const put = await ask(base, '/api/blob/first/c?restype=container', { method: 'PUT', body: '', headers: { ...VERSION, ...headers } });
		assert.equal(put.status, 403);
		assert.equal((await ask(base, '/api/sign?account=first', { method: 'POST', body: 'x', headers })).status, 403);
		const command = (run) => ask(base, `/api/command?run=${run}&name=third`, { method: 'POST', body: '', headers });
		assert.equal((await command('/account/add')).status, 403);
		assert.equal((await command('/account/list')).status, 200);
		assert.equal((await ask(base, '/test/reset', { method: 'POST', body: '', headers })).status, 403);
	});
});

test('the port of development mode is taken: the server starts all the same', async () => {
	const blocker = http.createServer().listen(10004, '127.0.0.1');
	await new Promise((resolve) => blocker.once('listening', resolve).once('error', resolve)); // somebody else may have it: as good
	const server = await startServer({ flags: ['--adminPort', ''] });
	try {
		assert.match(server.stdout, /^No explorer: port 10004 is taken/m);
	} finally {
		await server.remove();
		blocker.close();
	}
});

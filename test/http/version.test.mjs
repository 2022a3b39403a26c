// SPDX-License-Identifier: Apache-2.0
// Protocol versions as sent, defaulted and echoed; anonymous answers by version; ids; the Server header.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../lib/http.mjs';
import { startServer } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

let server, blob, queue, table;
before(async () => {
	server = await startServer();
	blob = new Client(server);
	queue = new Client(server, { service: 'queue' });
	table = new Client(server, { service: 'table' });
	assert.equal((await blob.put('/open', { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': 'blob' } })).status, 201);
	assert.equal((await blob.put('/closed', { query: { restype: 'container' } })).status, 201);
	for (const container of ['open', 'closed'])
		assert.equal((await blob.put(`/${container}/b`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'hi' })).status, 201);
});
after(() => server?.remove());

test('a known, an old and a newer version are echoed', async () => {
	for (const version of ['2009-09-19', '2012-02-12', '2019-12-12', '2099-01-01']) {
		const r = await blob.get('/open/b', { version });
		assert.equal(r.status, 200);
		assert.equal(r.headers['x-ms-version'], version);
	}
});

for (const version of ['2009-09-18', 'soon', '2021-6-8', '20210608', '2021-00-10']) {
	test(`version ${version} is refused`, async () => {
		const r = await blob.get('/open/b', { version });
		assert.equal(r.status, 400);
		assert.equal(r.code, 'InvalidHeaderValue');
		assert.match(r.text, new RegExp(`<HeaderName>x-ms-version</HeaderName><HeaderValue>${version}</HeaderValue>`));
	});
}

test('anonymous: open is open, closed is hidden from the old and challenged for the new', async () => {
	const anonymous = { anonymous: true, date: null };
	const open = await blob.get('/open/b', { ...anonymous, version: null });
	assert.equal(open.status, 200);
	assert.equal(open.headers['x-ms-version'], '2009-09-19');
	assert.equal((await blob.get('/open', { ...anonymous, query: { restype: 'container', comp: 'list' }, version: null })).status, 404);
	for (const path of ['/closed/b', '/closed/none', '/nowhere/b']) {
		const old = await blob.get(path, { ...anonymous, version: '2019-07-07' });
		assert.equal(old.status, 404);
		assert.equal(old.code, 'ResourceNotFound');
		const now = await blob.get(path, { ...anonymous, version: '2019-12-12' });
		assert.equal(now.status, 401);
		assert.equal(now.code, 'NoAuthenticationInformation');
		assert.match(now.headers['www-authenticate'], /^Bearer authorization_uri=https:\/\/\S+ resource_id=https:\/\/storage\.azure\.com$/);
	}
	assert.equal((await blob.put('/open/b', { ...anonymous, version: '2021-06-08', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'no' })).status, 401);
	assert.equal((await blob.request('DELETE', '/open/b', { ...anonymous, version: '2021-06-08' })).status, 401);
});

test('queue and table want a version with a signature', async () => {
	for (const client of [queue, table]) {
		const r = await client.get('/', { query: { restype: 'service', comp: 'properties' }, version: null });
		assert.equal(r.status, 400);
		assert.equal(r.code, 'MissingRequiredHeader');
	}
});

// Whatever stood in the request, the error is well-formed XML in UTF-8.
test('errors that show what was sent are documents', async () => {
	const hidden = '\ufffd';
	const strict = (r) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(r.body);
	const latin1 = await blob.get('/open/b', { version: 'caf\xe9' });
	assert.equal(latin1.status, 400);
	assert.match(strict(latin1), new RegExp(`<HeaderValue>caf${hidden}</HeaderValue>`));
	const unsigned = await blob.get('/open/b', { key: Buffer.alloc(64).toString('base64'), headers: { 'x-ms-meta-a': '\xe9' } });
	assert.equal(unsigned.code, 'AuthenticationFailed');
	assert.match(strict(unsigned), new RegExp(`x-ms-meta-a:${hidden}`));
	for (const bad of ['\ufffe', '\uffff', '\u0001']) {
		const r = await queue.get('/', { query: { comp: 'list', maxresults: `1${bad}` } });
		assert.equal(r.status, 400);
		assert.match(strict(r), new RegExp(`<QueryParameterValue>1${hidden}</QueryParameterValue>`));
	}
});

test('a token for another address is told from where it was used', async () => {
	const sas = accountSas(server.account, server.key, { sip: '10.1.2.3' });
	for (const client of [blob, queue, table]) {
		const r = await client.get('/', { query: { restype: 'service', comp: 'properties' }, sas });
		assert.equal(r.status, 403);
		assert.equal(r.code, 'AuthorizationSourceIPMismatch');
		assert.match(r.text, /using this source IP 127\.0\.0\.1\.\n/);
	}
});

test('Server and ids', async () => {
	for (const [client, name] of [[blob, 'Blob'], [queue, 'Queue'], [table, 'Table']]) {
		const r = await client.get('/', { query: { restype: 'service', comp: 'properties' }, headers: { 'x-ms-client-request-id': 'given-1' } });
		assert.equal(r.status, 200);
		assert.equal(r.headers.server, `Windows-Azure-${name}/1.0 Microsoft-HTTPAPI/2.0`);
		assert.match(r.headers['x-ms-request-id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
		assert.equal(r.headers['x-ms-client-request-id'], 'given-1');
		assert.ok(Math.abs(Date.parse(r.headers.date) - Date.now()) < 5000);
	}
});

test('the default version of the account is for requests without one', async () => {
	const body = '<?xml version="1.0"?><StorageServiceProperties><DefaultServiceVersion>2019-02-02</DefaultServiceVersion></StorageServiceProperties>';
	assert.equal((await blob.put('/', { query: { restype: 'service', comp: 'properties' }, body })).status, 202);
	assert.equal((await blob.get('/open/b', { anonymous: true, date: null, version: null })).headers['x-ms-version'], '2019-02-02');
	const signed = await blob.get('/open/b', { version: null });
	assert.equal(signed.status, 200);
	assert.equal(signed.headers['x-ms-version'], '2019-02-02');
	assert.equal((await blob.get('/open/b', { version: '2021-06-08' })).headers['x-ms-version'], '2021-06-08');
});

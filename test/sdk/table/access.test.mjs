// SPDX-License-Identifier: Apache-2.0
// Who may reach a table: Shared Key and Lite, stored policies, account SAS; and the XML operations of the service
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient, generateTableSas } from '@azure/data-tables';
import { element, expectError, expectStatus } from '../../lib/assert.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { startServer } from '../../lib/server.mjs';
import { accountSas, tableSas } from '../../lib/sign.mjs';
import { keyPath, newTable, rawTable, tableRejects, tableService } from '../../lib/table.mjs';

let server;
before(async () => {
	server = await startServer();
});
after(() => server.remove());

const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

test('Shared Key and Shared Key Lite in their Table forms; a wrong key is 403', async () => {
	const t = await newTable(server);
	expectStatus(await t.query({}, { lite: true }), 200);
	expectStatus(await t.insert({ PartitionKey: 'p', RowKey: 'r' }, { lite: true }), 201);
	const wrong = Buffer.alloc(64, 1).toString('base64');
	for (const lite of [false, true]) {
		const r = expectError(await t.query({}, { lite, key: wrong }), 403, 'AuthenticationFailed');
		assert.equal(r.headers['x-ms-error-code'], 'AuthenticationFailed');
		assert.equal(r.json['odata.error'].code, 'AuthenticationFailed');
	}
	assert.ok([401, 403, 404].includes((await t.query({}, { anonymous: true })).status));
});

test('a table SAS made by the SDK', async () => {
	const t = await newTable(server);
	const key = new AzureNamedKeyCredential(server.account, server.key);
	const sas = generateTableSas(t.name, key, { permissions: { query: true, add: true }, expiresOn: new Date(Date.now() + 3600_000) });
	const client = new TableClient(server.endpoints.table, t.name, new AzureSASCredential(sas), insecure);
	await client.createEntity({ partitionKey: 'p', rowKey: 'r', v: 1 });
	assert.equal((await client.getEntity('p', 'r')).v, 1);
	await tableRejects(client.deleteEntity('p', 'r'), 403, 'AuthorizationPermissionMismatch');
	const other = await newTable(server);
	const strayed = new TableClient(server.endpoints.table, other.name, new AzureSASCredential(sas), insecure);
	const error = await strayed.getEntity('p', 'r').then(() => undefined, (e) => e);
	assert.equal(error?.statusCode, 403);
});

test('access policies: set, get, used by a SAS, revoked', async () => {
	const t = await newTable(server);
	await t.sdk.setAccessPolicy([{ id: 'readers', accessPolicy: { start: new Date(Date.now() - 60_000), expiry: new Date(Date.now() + 3600_000), permission: 'r' } }]);
	const got = await t.sdk.getAccessPolicy();
	assert.deepEqual(got.map((p) => [p.id, p.accessPolicy.permission]), [['readers', 'r']]);
	const sas = tableSas(server.account, server.key, t.name, { si: 'readers', sp: '' });
	expectStatus(await t.query({}, { sas }), 200);
	expectError(await t.insert({ PartitionKey: 'p', RowKey: 'r' }, { sas }), 403, 'AuthorizationPermissionMismatch');
	await t.sdk.setAccessPolicy([]);
	expectError(await t.query({}, { sas }), 403, 'AuthenticationFailed');
	const six = Array.from({ length: 6 }, (_, i) => `<SignedIdentifier><Id>p${i}</Id></SignedIdentifier>`).join('');
	expectError(await t.raw.put(`/${t.name}`, { query: { comp: 'acl' }, body: `<?xml version="1.0"?><SignedIdentifiers>${six}</SignedIdentifiers>` }), 400, 'InvalidXmlDocument');
	const letters = `<SignedIdentifier><Id>p</Id><AccessPolicy><Permission>${'r'.repeat(100_000)}</Permission></AccessPolicy></SignedIdentifier>`;
	expectError(await t.raw.put(`/${t.name}`, { query: { comp: 'acl' }, body: `<SignedIdentifiers>${letters}</SignedIdentifiers>` }), 400, 'InvalidXmlNodeValue');
	expectStatus(await t.raw.get(`/${t.name}`, { query: { comp: 'acl' } }), 200);
	for (const method of ['GET', 'PUT'])
		expectError(await t.raw.request(method, `/${t.name}`, { query: { comp: 'acl' }, sas: accountSas(server.account, server.key), body: method === 'PUT' ? '' : undefined }), 403, 'AuthorizationFailure');
});

test('account SAS: tables by c, entities by o', async () => {
	const t = await newTable(server);
	const raw = rawTable(server);
	const ask = (path, o) => raw.get(path, { sas: accountSas(server.account, server.key, o) });
	expectStatus(await ask('/Tables', { ss: 't', srt: 'c', sp: 'l' }), 200);
	expectError(await ask('/Tables', { ss: 't', srt: 'o', sp: 'l' }), 403, 'AuthorizationResourceTypeMismatch');
	expectError(await ask('/Tables', { ss: 'b', srt: 'c', sp: 'l' }), 403, 'AuthorizationServiceMismatch');
	expectError(await ask('/Tables', { ss: 't', srt: 'c', sp: 'r' }), 403, 'AuthorizationPermissionMismatch');
	expectStatus(await ask(`/${t.name}()`, { ss: 't', srt: 'o', sp: 'r' }), 200);
	expectError(await ask(`/${t.name}()`, { ss: 't', srt: 'c', sp: 'r' }), 403, 'AuthorizationResourceTypeMismatch');
});

test('service properties, statistics, CORS', async () => {
	const service = tableService(server);
	await service.setProperties({
		logging: { version: '1.0', read: true, write: true, delete: false, retentionPolicy: { enabled: true, days: 3 } },
		cors: [{ allowedOrigins: 'http://a.example', allowedMethods: 'GET,MERGE', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 77 }],
	});
	const got = await service.getProperties();
	assert.equal(got.logging.retentionPolicy.days, 3);
	assert.equal(got.cors[0].allowedMethods, 'GET,MERGE');
	const raw = rawTable(server);
	const preflight = expectStatus(await raw.request('OPTIONS', '/anything', { anonymous: true, headers: { origin: 'http://a.example', 'access-control-request-method': 'GET' } }), 200);
	assert.equal(preflight.headers['access-control-allow-origin'], 'http://a.example');
	assert.equal(preflight.headers['access-control-max-age'], '77');
	const t = await newTable(server);
	assert.equal((await t.query({}, { headers: { origin: 'http://a.example' } })).headers['access-control-allow-origin'], 'http://a.example');
	assert.equal((await t.query({}, { headers: { origin: 'http://b.example' } })).headers['access-control-allow-origin'], undefined);
	// Statistics are the secondary's.
	const secondary = new Client(server, { service: 'table', endpoint: `${server.endpoints.table}-secondary` });
	const stats = expectStatus(await secondary.get('/', { query: { restype: 'service', comp: 'stats' } }), 200);
	assert.equal(element(stats.text, 'Status'), 'live');
	await service.setProperties({ cors: [] });
});

test('unknown verbs and resources answer as documented', async () => {
	const t = await newTable(server);
	const raw = rawTable(server);
	const answers = { PUT: ['/Tables', `/${t.name}`], POST: [`/Tables('${t.name}')`, keyPath(t.name, 'p', 'r')], DELETE: ['/Tables', `/${t.name}`], MERGE: [`/${t.name}()`], GET: ['/$batch'] };
	for (const [verb, paths] of Object.entries(answers))
		for (const path of paths) {
			const r = expectStatus(await raw.request(verb, path), 405);
			assert.deepEqual([r.code, r.headers['x-ms-error-code']], ['MethodNotAllowed', undefined], `${verb} ${path}`);
		}
	expectError(await raw.delete(`/${t.name}`, { query: { comp: 'acl' } }), 405, 'UnsupportedHttpVerb');
	expectError(await raw.request('BREW', '/Tables'), 400, 'InvalidHttpVerb');
	assert.ok([400, 404, 405].includes((await raw.get(`/${t.name}/x/y`)).status));
	expectError(await t.query({}, { version: '2099-99-99' }), 400, 'InvalidHeaderValue');
	expectStatus(await t.query({}, { version: '2013-08-15' }), 200);
	expectError(await t.query({}, { version: '2012-02-12' }), 415, 'JsonFormatNotSupported');
});

test('links need the name of the host: without one nothing is answered that has any', async () => {
	const t = await newTable(server);
	const sas = accountSas(server.account, server.key);
	const ask = async (method, path, headers, body = '') => {
		const connection = await RawConnection.open(server.ports.table);
		const head = [`${method} ${path}?${sas} HTTP/1.0`, 'x-ms-version: 2021-12-02', 'Content-Type: application/json', `Content-Length: ${body.length}`, ...headers];
		const r = await connection.exchange(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`), method);
		await connection.end();
		return r;
	};
	const root = `/${server.account}`, entity = JSON.stringify({ PartitionKey: 'p', RowKey: 'r' });
	for (const [method, path, body] of [['GET', '/Tables'], ['GET', `/${t.name}()`], ['POST', `/${t.name}`, entity], ['POST', '/Tables', '{"TableName":"unnamed"}']])
		expectError(await ask(method, root + path, [], body), 400, 'HostInformationNotPresent');
	const r = expectStatus(await ask('POST', `${root}/${t.name}`, ['Host: named.example'], entity), 201);
	assert.equal(r.headers.location, `http://named.example${root}/${t.name}(PartitionKey='p',RowKey='r')`);
	// An address in the request line is one too.
	expectStatus(await ask('GET', `http://named.example${root}/Tables`, []), 200);
});

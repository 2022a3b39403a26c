// SPDX-License-Identifier: Apache-2.0
// Who may do what in the Queue service, stored policies, service properties, CORS and stats.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { QueueClient, QueueServiceClient, AnonymousCredential } from '@azure/storage-queue';
import { startServer } from '../../lib/server.mjs';
import { Client, send } from '../../lib/http.mjs';
import { accountSas, queueSas } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';

let server, raw, service, blob, table;
before(async () => {
	server = await startServer();
	raw = new Client(server, { service: 'queue' });
	blob = new Client(server, { service: 'blob' });
	table = new Client(server, { service: 'table' });
	service = QueueServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(() => server?.remove());

const message = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
async function newQueue() {
	const queue = service.getQueueClient(uniqueName('q'));
	await queue.create();
	return queue;
}

// Every operation, with the letters of a service SAS and of an account SAS that allow it ('' = none does), and the resource type.
const operations = (queue) => [
	{ name: 'put', method: 'POST', path: `/${queue}/messages`, body: message, service: 'a', account: 'a', type: 'o' },
	{ name: 'peek', method: 'GET', path: `/${queue}/messages`, query: { peekonly: 'true' }, service: 'r', account: 'r', type: 'o' },
	{ name: 'get', method: 'GET', path: `/${queue}/messages`, service: 'p', account: 'p', type: 'o' },
	{ name: 'update', method: 'PUT', path: `/${queue}/messages/x`, query: { popreceipt: 'A'.repeat(36), visibilitytimeout: '1' }, service: 'u', account: 'u', type: 'o', ok: 404 },
	{ name: 'delete message', method: 'DELETE', path: `/${queue}/messages/x`, query: { popreceipt: 'A'.repeat(36) }, service: 'p', account: 'p', type: 'o', ok: 404 },
	{ name: 'clear', method: 'DELETE', path: `/${queue}/messages`, service: '', account: 'd', type: 'o' },
	{ name: 'get metadata', method: 'GET', path: `/${queue}`, query: { comp: 'metadata' }, service: 'r', account: 'r', type: 'c' },
	{ name: 'set metadata', method: 'PUT', path: `/${queue}`, query: { comp: 'metadata' }, service: '', account: 'w', type: 'c' },
	{ name: 'get acl', method: 'GET', path: `/${queue}`, query: { comp: 'acl' }, service: '', account: '', type: 'c' },
	{ name: 'set acl', method: 'PUT', path: `/${queue}`, query: { comp: 'acl' }, service: '', account: '', type: 'c' },
	{ name: 'create', method: 'PUT', path: `/${queue}`, service: '', account: 'cw', type: 'c' },
	{ name: 'list', method: 'GET', path: '/', query: { comp: 'list' }, service: '', account: 'l', type: 's' },
	{ name: 'get properties', method: 'GET', path: '/', query: { restype: 'service', comp: 'properties' }, service: '', account: 'r', type: 's' },
];
const allowed = (r, op) => (op.ok ? r.status === op.ok : r.status < 300);

describe('signatures', () => {
	test('service SAS: each letter alone opens what it should and nothing else', async () => {
		const queue = (await newQueue()).name;
		for (const sp of ['r', 'a', 'u', 'p']) {
			const sas = queueSas(server.account, server.key, queue, { sp });
			for (const op of operations(queue)) {
				const r = await raw.request(op.method, op.path, { query: op.query, body: op.body, sas });
				if (op.service.includes(sp)) assert.ok(allowed(r, op), `${sp} ${op.name}: ${r.status} ${r.code}`);
				else assert.equal(r.status, 403, `${sp} ${op.name}: ${r.status} ${r.code}`);
			}
		}
	});
	test('service SAS: another queue, expired, not yet, changed', async () => {
		const queue = (await newQueue()).name, other = (await newQueue()).name;
		const sas = (o) => queueSas(server.account, server.key, queue, o);
		expectError(await raw.get(`/${other}/messages`, { sas: sas() }), 403, 'AuthenticationFailed');
		expectError(await raw.get(`/${queue}/messages`, { sas: sas({ se: new Date(Date.now() - 1000) }) }), 403, 'AuthenticationFailed');
		expectError(await raw.get(`/${queue}/messages`, { sas: sas({ st: new Date(Date.now() + 600_000) }) }), 403, 'AuthenticationFailed');
		const changed = sas({ sp: 'r' });
		changed.set('sp', 'rp');
		expectError(await raw.get(`/${queue}/messages`, { sas: changed }), 403, 'AuthenticationFailed');
		expectError(await raw.get(`/${queue}/messages`, { anonymous: true }), 401, 'NoAuthenticationInformation');
	});
	test('account SAS: letters, services and resource types', async () => {
		const queue = (await newQueue()).name;
		for (const sp of ['r', 'w', 'd', 'l', 'a', 'c', 'u', 'p']) {
			const sas = accountSas(server.account, server.key, { sp });
			for (const op of operations(queue)) {
				const r = await raw.request(op.method, op.path, { query: op.query, body: op.body, sas });
				if (op.account.includes(sp)) assert.ok(allowed(r, op), `${sp} ${op.name}: ${r.status} ${r.code}`);
				else assert.equal(r.status, 403, `${sp} ${op.name}: ${r.status} ${r.code}`);
			}
		}
		for (const op of operations(queue).filter((o) => o.account)) {
			for (const srt of ['s', 'c', 'o']) {
				const r = await raw.request(op.method, op.path, { query: op.query, body: op.body, sas: accountSas(server.account, server.key, { srt }) });
				if (srt === op.type) assert.ok(allowed(r, op), `${srt} ${op.name}: ${r.status} ${r.code}`);
				else expectError(r, 403, 'AuthorizationResourceTypeMismatch');
			}
			expectError(await raw.request(op.method, op.path, { query: op.query, body: op.body, sas: accountSas(server.account, server.key, { ss: 'b' }) }), 403, 'AuthorizationServiceMismatch');
		}
	});
	test('stored policies: used, narrowed, revoked; the SDK makes the token', async () => {
		const queue = await newQueue();
		const expiresOn = new Date(Date.now() + 3600_000);
		await queue.setAccessPolicy([{ id: 'readers', accessPolicy: { expiresOn, permissions: 'r' } }, { id: 'open', accessPolicy: {} }]);
		const read = new QueueClient(await queue.generateSasUrl({ identifier: 'readers' }), new AnonymousCredential(), { retryOptions: { maxTries: 1 } });
		assert.equal((await read.peekMessages()).peekedMessageItems.length, 0);
		await rejectsWith(read.sendMessage('x'), 403);
		const open = queueSas(server.account, server.key, queue.name, { si: 'open', sp: 'a', se: expiresOn });
		expectStatus(await raw.post(`/${queue.name}/messages`, { sas: open, body: message }), 201);
		await queue.setAccessPolicy([{ id: 'readers', accessPolicy: { expiresOn, permissions: 'a' } }]);
		await rejectsWith(read.peekMessages(), 403);
		await read.sendMessage('x');
		expectError(await raw.post(`/${queue.name}/messages`, { sas: open, body: message }), 403, 'AuthenticationFailed');
		await queue.setAccessPolicy([]);
		await rejectsWith(read.sendMessage('x'), 403);
	});
});

describe('access policies', () => {
	test('come back as the service writes them', async () => {
		const queue = await newQueue();
		const startsOn = new Date('2026-01-02T03:04:05Z'), expiresOn = new Date('2027-01-02T03:04:05.678Z');
		const set = await queue.setAccessPolicy([
			{ id: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=', accessPolicy: { startsOn, expiresOn, permissions: 'raup' } },
			{ id: 'only id', accessPolicy: {} },
		]);
		assert.equal(set._response.status, 204);
		const { signedIdentifiers } = await queue.getAccessPolicy();
		assert.equal(signedIdentifiers.length, 2);
		assert.deepEqual(signedIdentifiers[0].accessPolicy, { startsOn, expiresOn, permissions: 'raup' });
		assert.equal(signedIdentifiers[1].id, 'only id');
		const r = await raw.get(`/${queue.name}`, { query: { comp: 'acl' } });
		assert.equal(element(r.text, 'Start'), '2026-01-02T03:04:05.0000000Z');
		assert.equal(element(r.text, 'Expiry'), '2027-01-02T03:04:05.6780000Z');
		await queue.setAccessPolicy();
		assert.match((await raw.get(`/${queue.name}`, { query: { comp: 'acl' } })).text, /<SignedIdentifiers \/>$/);
	});
	test('refused', async () => {
		const queue = await newQueue();
		const put = (body) => raw.put(`/${queue.name}`, { query: { comp: 'acl' }, body });
		const one = (id, policy = '') => `<SignedIdentifier><Id>${id}</Id><AccessPolicy>${policy}</AccessPolicy></SignedIdentifier>`;
		const list = (...items) => `<SignedIdentifiers>${items.join('')}</SignedIdentifiers>`;
		for (const bad of [list(...[1, 2, 3, 4, 5, 6].map((i) => one(`p${i}`))), list(one('')), list(one('x'.repeat(65))), list(one('a'), one('a')), list(one('<x/>')), list(one('a</Id><Id>b')), list(one('a', '<Permission><r/></Permission>')), list('<Other/>'), '<Other/>', '<SignedIdentifiers>'])
			expectError(await put(bad), 400, 'InvalidXmlDocument');
		for (const bad of ['<Start>tomorrow</Start>', '<Expiry>2026-13-01</Expiry>', '<Permission>z</Permission>', `<Permission>${'r'.repeat(100_000)}</Permission>`]) expectError(await put(list(one('a', bad))), 400, 'InvalidXmlNodeValue');
		expectStatus(await put(list(...[1, 2, 3, 4, 5].map((i) => one(`p${i}`)))), 204);
		assert.equal(elements((await raw.get(`/${queue.name}`, { query: { comp: 'acl' } })).text, 'Id').length, 5);
		expectError(await raw.get(`/${uniqueName('q')}`, { query: { comp: 'acl' } }), 404, 'QueueNotFound');
		expectError(await raw.put(`/${uniqueName('q')}`, { query: { comp: 'acl' } }), 404, 'QueueNotFound');
	});
});

const properties = { restype: 'service', comp: 'properties' };
const setProperties = (client, xml) => client.put('/', { query: properties, body: `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${xml}</StorageServiceProperties>` });

describe('service properties', () => {
	test('through the SDK', async () => {
		const wanted = {
			queueAnalyticsLogging: { version: '1.0', deleteProperty: true, read: true, write: false, retentionPolicy: { enabled: true, days: 5 } },
			hourMetrics: { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 3 } },
			minuteMetrics: { version: '1.0', enabled: false, retentionPolicy: { enabled: false } },
			cors: [{ allowedOrigins: 'example.com', allowedMethods: 'DELETE,GET', allowedHeaders: 'x-ms-meta-*', exposedHeaders: '*', maxAgeInSeconds: 8888 }],
		};
		assert.equal((await service.setProperties(wanted))._response.status, 202);
		const got = await service.getProperties();
		assert.deepEqual(got.queueAnalyticsLogging, wanted.queueAnalyticsLogging);
		assert.deepEqual(got.hourMetrics, wanted.hourMetrics);
		assert.equal(got.minuteMetrics.enabled, false);
		assert.deepEqual(got.cors, wanted.cors);
	});
	test('what is left out stays; an empty Cors removes the rules; services are apart', async () => {
		for (const client of [raw, blob, table]) {
			const logging = '<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>';
			const cors = '<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>';
			expectStatus(await setProperties(client, logging + cors), 202);
			expectStatus(await setProperties(client, '<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>365</Days></RetentionPolicy></MinuteMetrics>'), 202);
			let text = expectStatus(await client.get('/', { query: properties }), 200).text;
			assert.match(text, /<Logging><Version>1.0<\/Version><Read>false<\/Read><Write>true<\/Write><Delete>true<\/Delete>/);
			assert.match(text, /<MinuteMetrics><Version>1.0<\/Version><Enabled>true<\/Enabled><IncludeAPIs>false<\/IncludeAPIs><RetentionPolicy><Enabled>true<\/Enabled><Days>365</);
			assert.match(text, /<AllowedOrigins>\*<\/AllowedOrigins>/);
			expectStatus(await setProperties(client, '<Cors />'), 202);
			text = (await client.get('/', { query: properties })).text;
			assert.match(text, /<Cors \/>/);
			assert.match(text, /<Write>true<\/Write>/);
		}
		expectStatus(await setProperties(blob, '<DefaultServiceVersion>2021-02-12</DefaultServiceVersion><DeleteRetentionPolicy><Enabled>true</Enabled><Days>9</Days></DeleteRetentionPolicy><StaticWebsite><Enabled>true</Enabled><IndexDocument>index.html</IndexDocument><ErrorDocument404Path>404.html</ErrorDocument404Path></StaticWebsite>'), 202);
		const text = (await blob.get('/', { query: properties })).text;
		assert.match(text, /<DefaultServiceVersion>2021-02-12<\/DefaultServiceVersion><DeleteRetentionPolicy><Enabled>true<\/Enabled><Days>9<\/Days>/);
		assert.match(text, /<StaticWebsite><Enabled>true<\/Enabled><IndexDocument>index.html<\/IndexDocument><ErrorDocument404Path>404.html</);
		expectStatus(await setProperties(blob, '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled></StaticWebsite>'), 202);
	});
	test('refused', async () => {
		const rule = (o = {}) => {
			const c = { AllowedOrigins: '*', AllowedMethods: 'GET', AllowedHeaders: '', ExposedHeaders: '', MaxAgeInSeconds: '1', ...o };
			return `<CorsRule>${Object.entries(c).filter(([, v]) => v !== undefined).map(([n, v]) => `<${n}>${v}</${n}>`).join('')}</CorsRule>`;
		};
		const metrics = (days) => `<HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled><Days>${days}</Days></RetentionPolicy></HourMetrics>`;
		for (const bad of [rule().repeat(6), rule({ AllowedOrigins: undefined }), rule({ MaxAgeInSeconds: undefined }), rule({ AllowedHeaders: '<x/>' }), rule({ AllowedOrigins: '*</AllowedOrigins><AllowedOrigins>http://a' }), rule({ AllowedOrigins: Array.from({ length: 64 }, (_, i) => `http://a-longer-host-name-${i}.example.com`).join(',') })]) expectError(await setProperties(raw, `<Cors>${bad}</Cors>`), 400, 'InvalidXmlDocument');
		for (const bad of [rule({ AllowedMethods: 'GET,FETCH' }), rule({ AllowedMethods: '' }), rule({ AllowedOrigins: '' }), rule({ AllowedOrigins: Array.from({ length: 65 }, (_, i) => `http://h${i}`).join(',') }), rule({ MaxAgeInSeconds: '-1' }), rule({ AllowedHeaders: 'a*,b*,c*' }), rule({ AllowedHeaders: 'x'.repeat(257) }), rule({ ExposedHeaders: Array.from({ length: 65 }, (_, i) => `h${i}`).join(',') })])
			expectError(await setProperties(raw, `<Cors>${bad}</Cors>`), 400, 'InvalidXmlNodeValue');
		expectError(await setProperties(raw, metrics(366)), 400, 'InvalidXmlDocument');
		for (const days of [0, 'x', '']) expectError(await setProperties(raw, metrics(days)), 400, 'InvalidXmlNodeValue');
		expectError(await setProperties(raw, '<Nonsense />'), 400, 'InvalidXmlDocument');
		expectError(await setProperties(raw, '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>'), 400, 'InvalidXmlDocument');
		expectError(await setProperties(raw, '<Logging><Version>1.0</Version></Logging>'), 400, 'InvalidXmlDocument');
		expectError(await raw.put('/', { query: properties, body: '<StorageServiceProperties><Cors></StorageServiceProperties>' }), 400, 'InvalidXmlDocument');
	});
	test('stats: of the secondary endpoint only', async () => {
		expectError(await raw.get('/', { query: { restype: 'service', comp: 'stats' } }), 400, 'InvalidQueryParameterValue');
		for (const [client, name] of [[raw, 'queue'], [blob, 'blob'], [table, 'table']]) {
			const endpoint = server.endpoints[name].replace(/\/([^/]+)$/, '/$1-secondary');
			const secondary = new Client(server, { service: name, endpoint });
			const r = expectStatus(await secondary.get('/', { query: { restype: 'service', comp: 'stats' }, account: client.account }), 200);
			assert.equal(element(r.text, 'Status'), 'live');
			assert.ok(Math.abs(Date.parse(element(r.text, 'LastSyncTime')) - Date.now()) < 60_000);
		}
	});
});

describe('the secondary endpoint', () => {
	test('shows what there is and changes nothing', async () => {
		const secondary = (name) => new Client(server, { service: name, endpoint: server.endpoints[name].replace(/\/([^/]+)$/, '/$1-secondary') });
		const [q, b, t] = ['queue', 'blob', 'table'].map(secondary);
		const name = uniqueName('second');
		expectStatus(await raw.put(`/${name}`), 201);
		expectStatus(await raw.post(`/${name}/messages`, { body: '<QueueMessage><MessageText>m</MessageText></QueueMessage>' }), 201);
		expectStatus(await q.get(`/${name}/messages`, { query: { peekonly: 'true' } }), 200);
		expectStatus(await b.get('/', { query: { comp: 'list' } }), 200);
		for (const refused of [
			q.get(`/${name}/messages`),
			q.post(`/${name}/messages`, { body: '<QueueMessage><MessageText>m</MessageText></QueueMessage>' }),
			q.delete(`/${name}`),
			b.put(`/${name}`, { query: { restype: 'container' } }),
			b.put(`/${name}/b`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }),
			t.post('/Tables', { body: JSON.stringify({ TableName: 'second' }), headers: { 'content-type': 'application/json' } }),
		])
			expectError(await refused, 403, 'InsufficientAccountPermissions');
		assert.equal((await raw.get(`/${name}/messages`)).text.split('<MessageText>').length, 2);
	});
});

describe('CORS', () => {
	const rules = (...list) => `<Cors>${list.map((c) => `<CorsRule><AllowedOrigins>${c.origins}</AllowedOrigins><AllowedMethods>${c.methods}</AllowedMethods><AllowedHeaders>${c.headers ?? ''}</AllowedHeaders><ExposedHeaders>${c.exposed ?? ''}</ExposedHeaders><MaxAgeInSeconds>${c.age ?? 60}</MaxAgeInSeconds></CorsRule>`).join('')}</Cors>`;
	const preflight = (client, headers, path = '/anything') => send('OPTIONS', new URL(client.endpoint + path), headers);
	after(async () => {
		for (const client of [raw, blob, table]) await setProperties(client, '<Cors />');
	});
	test('preflight, on every service', async () => {
		for (const client of [raw, blob, table]) {
			expectStatus(await setProperties(client, '<Cors />'), 202);
			const asks = { Origin: 'http://www.contoso.com', 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'x-ms-meta-a,content-type' };
			expectError(await preflight(client, asks), 403, 'CorsPreflightFailure');
			expectStatus(await setProperties(client, rules({ origins: 'http://www.contoso.com, http://www.fabrikam.com', methods: 'PUT,GET', headers: 'x-ms-meta-*,Content-Type', age: 5 }, { origins: '*', methods: 'POST', headers: '*' }, { origins: 'https://*.sub.org', methods: 'DELETE' })), 202);
			let r = expectStatus(await preflight(client, asks), 200);
			assert.equal(r.headers['access-control-allow-origin'], 'http://www.contoso.com');
			assert.equal(r.headers['access-control-allow-methods'], 'PUT');
			assert.equal(r.headers['access-control-allow-headers'], 'x-ms-meta-a,content-type');
			assert.equal(r.headers['access-control-max-age'], '5');
			assert.equal(r.headers['access-control-allow-credentials'], 'true');
			r = expectStatus(await preflight(client, { Origin: 'http://else.com', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'anything' }), 200);
			assert.equal(r.headers['access-control-allow-origin'], '*');
			assert.equal(r.headers['access-control-allow-credentials'], undefined);
			expectStatus(await preflight(client, { Origin: 'https://a.sub.org', 'Access-Control-Request-Method': 'DELETE' }), 200);
			for (const refused of [{ ...asks, Origin: 'http://WWW.contoso.com' }, { ...asks, 'Access-Control-Request-Method': 'DELETE' }, { ...asks, 'Access-Control-Request-Headers': 'x-ms-other' }, { Origin: 'https://sub.org', 'Access-Control-Request-Method': 'DELETE' }])
				expectError(await preflight(client, refused), 403, 'CorsPreflightFailure');
			for (const missing of ['Origin', 'Access-Control-Request-Method']) {
				const { [missing]: _, ...rest } = asks;
				expectError(await preflight(client, rest), 400, 'InvalidHeaderValue');
			}
		}
	});
	test('the first rule with origin and method decides', async () => {
		expectStatus(await setProperties(raw, rules({ origins: 'http://a.com', methods: 'PUT', headers: 'x-one' }, { origins: 'http://a.com', methods: 'PUT', headers: '*' })), 202);
		expectError(await preflight(raw, { Origin: 'http://a.com', 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'x-two' }), 403, 'CorsPreflightFailure');
	});
	test('actual requests', async () => {
		const queue = (await newQueue()).name;
		const get = (headers, path = `/${queue}/messages`) => raw.get(path, { headers });
		expectStatus(await setProperties(raw, '<Cors />'), 202);
		let r = await get({ Origin: 'http://a.com' });
		assert.equal(r.headers['access-control-allow-origin'], undefined);
		assert.equal(r.headers.vary, undefined);
		expectStatus(await setProperties(raw, rules({ origins: 'http://a.com', methods: 'GET', exposed: 'x-ms-*,Content-Type' })), 202);
		r = expectStatus(await get({ Origin: 'http://a.com' }), 200);
		assert.equal(r.headers['access-control-allow-origin'], 'http://a.com');
		assert.equal(r.headers['access-control-allow-credentials'], 'true');
		assert.equal(r.headers.vary, 'Origin');
		const exposed = r.headers['access-control-expose-headers'].split(',');
		assert.ok(exposed.includes('x-ms-request-id') && exposed.includes('x-ms-version') && exposed.includes('Content-Type'));
		assert.ok(!exposed.includes('Cache-Control'));
		r = expectStatus(await get({ Origin: 'http://b.com' }), 200);
		assert.equal(r.headers['access-control-allow-origin'], undefined);
		assert.equal(r.headers.vary, 'Origin');
		r = expectStatus(await get({}), 200);
		assert.equal(r.headers.vary, 'Origin');
		r = await raw.post(`/${queue}/messages`, { headers: { Origin: 'http://a.com' }, body: message });
		assert.equal(r.headers['access-control-allow-origin'], undefined);
		// An error is an answer too.
		r = expectError(await get({ Origin: 'http://a.com' }, '/no-such-queue/messages'), 404, 'QueueNotFound');
		assert.equal(r.headers['access-control-allow-origin'], 'http://a.com');
		expectStatus(await setProperties(raw, rules({ origins: '*', methods: 'GET', exposed: '*' })), 202);
		for (const headers of [{ Origin: 'http://b.com' }, {}]) {
			r = expectStatus(await get(headers), 200);
			assert.equal(r.headers['access-control-allow-origin'], '*');
			assert.equal(r.headers['access-control-allow-credentials'], undefined);
			assert.equal(r.headers.vary, undefined);
			assert.ok(r.headers['access-control-expose-headers'].split(',').includes('Cache-Control'));
		}
	});
	test('rules survive a restart, and removing them counts at once', async () => {
		expectStatus(await setProperties(raw, rules({ origins: '*', methods: 'GET' })), 202);
		await server.restart();
		let r = await raw.get('/', { query: { comp: 'list' }, headers: { Origin: 'http://z.com' } });
		assert.equal(r.headers['access-control-allow-origin'], '*');
		expectStatus(await setProperties(raw, '<Cors />'), 202);
		r = await raw.get('/', { query: { comp: 'list' }, headers: { Origin: 'http://z.com' } });
		assert.equal(r.headers['access-control-allow-origin'], undefined);
	});
});

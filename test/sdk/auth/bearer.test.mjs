// SPDX-License-Identifier: Apache-2.0
// Bearer tokens over the wire, over HTTPS only: --oauth basic believes the claims of a well-formed token, --oauth full
// asks for the signature of a configured key.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';

let server, plain, dir, container;
const clients = {};
before(async () => {
	dir = tempDir();
	const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]);
	assert.equal(made.status, 0, String(made.stderr));
	server = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'basic'] });
	plain = await startServer();
	for (const service of ['blob', 'queue', 'table']) clients[service] = new Client(server, { service });
	container = uniqueName('c');
	expectStatus(await clients.blob.put(`/${container}`, { query: { restype: 'container' } }), 201);
});
after(async () => {
	await server?.remove();
	await plain?.remove();
	removeDir(dir);
});

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
function token(claims = {}, header = { alg: 'RS256', typ: 'JWT' }, signature = 'c2lnbmVk') {
	const now = Math.floor(server.now() / 1000);
	const all = { aud: 'https://storage.azure.com', iss: 'https://sts.windows.net/tenant/', nbf: now - 60, iat: now - 60, exp: now + 600, oid: 'o', tid: 't', ...claims };
	return `${part(header)}.${part(all)}.${signature}`;
}
const bearer = (text, more = {}) => ({ headers: { authorization: `Bearer ${text}`, ...more } });

describe('accepted', () => {
	test('blob, queue and table', async () => {
		expectStatus(await clients.blob.get('/', { query: { comp: 'list' }, ...bearer(token()) }), 200);
		expectStatus(await clients.queue.get('/', { query: { comp: 'list' }, ...bearer(token()) }), 200);
		expectStatus(await clients.table.get('/Tables', bearer(token(), { accept: 'application/json' })), 200);
	});
	test('write and read a blob', async () => {
		const path = `/${container}/${uniqueName('b')}`;
		expectStatus(await clients.blob.put(path, { body: 'x', ...bearer(token(), { 'x-ms-blob-type': 'BlockBlob' }) }), 201);
		assert.equal(expectStatus(await clients.blob.get(path, bearer(token())), 200).text, 'x');
	});
	test('the audience of the account, a list of audiences, a slash', async () => {
		for (const aud of [`https://${server.account}.blob.core.windows.net`, ['https://x', 'https://storage.azure.com/'], 'https://storage.azure.com/'])
			expectStatus(await clients.blob.get('/', { query: { comp: 'list' }, ...bearer(token({ aud })) }), 200);
	});
});

describe('refused', () => {
	const list = { query: { comp: 'list' } };
	test('401 InvalidAuthenticationInfo with the challenge and a detail', async () => {
		const now = Math.floor(server.now() / 1000);
		const cells = [
			token({ exp: now - 1 }),
			token({ nbf: now + 3600 }),
			token({ exp: undefined }),
			token({ iss: 'https://evil.example/' }),
			token({ aud: 'https://evil.example/' }),
			token({ aud: 'https://another.blob.core.windows.net' }),
			token({}, { alg: 'none' }),
			token({}, { alg: 'none' }, ''),
			token({}, undefined, ''),
			'x.y.z',
			'x',
			`${token()}.x`,
		];
		for (const text of cells) {
			const r = expectError(await clients.blob.get('/', { ...list, ...bearer(text) }), 401, 'InvalidAuthenticationInfo');
			assert.match(r.headers['www-authenticate'], /^Bearer authorization_uri=https:\/\/\S+\/oauth2\/authorize resource_id=https:\/\/storage\.azure\.com$/);
			assert.match(r.text, /<AuthenticationErrorDetail>[^<]+<\/AuthenticationErrorDetail>/);
		}
	});
	test('a token ends while the server runs', async () => {
		const text = token();
		expectStatus(await clients.blob.get('/', { ...list, ...bearer(text) }), 200);
		await server.advanceClock(601);
		expectError(await clients.blob.get('/', { ...list, ...bearer(text) }), 401, 'InvalidAuthenticationInfo');
	});
	test('what a token may not do', async () => {
		expectError(await clients.blob.get(`/${container}`, { query: { restype: 'container', comp: 'acl' }, ...bearer(token()) }), 403, 'AuthorizationFailure');
		const queue = `/${uniqueName('q')}`, acl = { query: { comp: 'acl' } };
		expectStatus(await clients.queue.put(queue), 201);
		for (const version of ['2017-11-09', '2025-05-05']) {
			expectError(await clients.queue.get(queue, { ...acl, version, ...bearer(token()) }), 403, 'AuthorizationFailure');
			expectError(await clients.queue.put(queue, { ...acl, version, ...bearer(token()) }), 403, 'AuthorizationFailure');
		}
		expectStatus(await clients.queue.get(queue, { ...acl, version: '2025-07-05', ...bearer(token()) }), 200);
		expectStatus(await clients.queue.put(queue, { ...acl, version: '2025-07-05', ...bearer(token()) }), 204);
	});
	test('an old version, a server that takes none', async () => {
		expectError(await clients.blob.get('/', { ...list, ...bearer(token()), version: '2017-04-17' }), 403, 'AuthenticationFailed');
		const other = new Client(plain, { service: 'blob' });
		expectError(await other.get('/', { ...list, ...bearer(token()) }), 401, 'InvalidAuthenticationInfo');
	});
});

describe('full: the signature by a configured key set', () => {
	let proved, blob, made;
	const issuer = 'https://login.example/tenant/';
	const audience = 'https://storage.example';
	before(async () => {
		made = generateKeyPairSync('rsa', { modulusLength: 2048 });
		const jwk = { ...made.publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' };
		writeFileSync(`${dir}/jwks.json`, JSON.stringify({ keys: [jwk] }));
		writeFileSync(`${dir}/roles`, 'oid:o * Storage Blob Data Owner\noid:o * Storage Queue Data Contributor\n');
		proved = await startServer({
			flags: ['--oauthRoles', `${dir}/roles`, '--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'full', '--oauthKeys', `${dir}/jwks.json`, '--oauthIssuer', issuer, '--oauthAudience', audience],
		});
		blob = new Client(proved, { service: 'blob' });
	});
	after(() => proved?.remove());
	function signed(claims = {}, { key = made.privateKey, kid = 'k1' } = {}) {
		const now = Math.floor(proved.now() / 1000);
		const all = { aud: audience, iss: issuer, nbf: now - 60, iat: now - 60, exp: now + 600, oid: 'o', tid: 't', ...claims };
		const text = `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part(all)}`;
		return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
	}
	const list = (text) => blob.get('/', { query: { comp: 'list' }, ...bearer(text) });
	test('a token of that key is accepted', async () => {
		expectStatus(await list(signed()), 200);
	});
	test('another key, another issuer, another audience, changed claims: 401', async () => {
		const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
		const [head, , signature] = signed().split('.');
		const forged = `${head}.${signed({ oid: 'somebody' }).split('.')[1]}.${signature}`;
		for (const text of [signed({}, { key: other }), signed({}, { kid: 'k2' }), signed({ iss: 'https://evil.example/' }), signed({ aud: 'https://storage.azure.com' }), forged, token()])
			expectError(await list(text), 401, 'InvalidAuthenticationInfo');
	});
	test('a user delegation key and what it signs', async () => {
		const { BlobServiceClient, BlobSASPermissions, generateBlobSASQueryParameters } = await import('@azure/storage-blob');
		process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
		const service = new BlobServiceClient(proved.endpoints.blob, { getToken: async () => ({ token: signed(), expiresOnTimestamp: Date.now() + 600e3 }) });
		const inside = service.getContainerClient(uniqueName('c'));
		await inside.create();
		await inside.getBlockBlobClient('b').upload('bytes', 5);
		const key = await service.getUserDelegationKey(new Date(proved.now() - 60e3), new Date(proved.now() + 3600e3));
		const sas = generateBlobSASQueryParameters(
			{ containerName: inside.containerName, blobName: 'b', permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(proved.now() + 600e3) },
			key,
			proved.account,
		).toString();
		const path = `/${inside.containerName}/b`;
		assert.equal(expectStatus(await blob.get(path, { sas: new URLSearchParams(sas) }), 200).text, 'bytes');
		expectStatus(await blob.delete(path, { sas: new URLSearchParams(sas) }), 403);
	});
	test('a token bound to a user of a tenant is of no use to one of another tenant', async () => {
		const { BlobServiceClient, ContainerSASPermissions, generateBlobSASQueryParameters } = await import('@azure/storage-blob');
		const { QueueServiceClient, QueueSASPermissions, generateQueueSASQueryParameters } = await import('@azure/storage-queue');
		process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
		const credential = { getToken: async () => ({ token: signed(), expiresOnTimestamp: Date.now() + 600e3 }) };
		const period = { startsOn: new Date(proved.now() - 60e3), expiresOn: new Date(proved.now() + 3600e3), delegatedUserTenantId: 'theirs' };
		const times = { expiresOn: new Date(proved.now() + 600e3), delegatedUserObjectId: 'friend' };
		const container = uniqueName('c'), queue = uniqueName('q');
		const blobs = new BlobServiceClient(proved.endpoints.blob, credential);
		const queues = new QueueServiceClient(proved.endpoints.queue, credential);
		await blobs.getContainerClient(container).create();
		await queues.createQueue(queue);
		const blobKey = await blobs.getUserDelegationKey(period);
		const queueKey = await queues.getUserDelegationKey(period);
		const tokens = [
			[blob, `/${container}`, { restype: 'container', comp: 'list' }, generateBlobSASQueryParameters({ containerName: container, permissions: ContainerSASPermissions.parse('l'), version: '2025-07-05', ...times }, blobKey, proved.account)],
			[new Client(proved, { service: 'queue' }), `/${queue}/messages`, { peekonly: 'true' }, generateQueueSASQueryParameters({ queueName: queue, permissions: QueueSASPermissions.parse('r'), ...times }, queueKey, proved.account)],
		];
		for (const [client, path, query, made] of tokens) {
			const sas = new URLSearchParams(made.toString());
			assert.equal(sas.get('skdutid'), 'theirs');
			expectStatus(await client.get(path, { query, sas, ...bearer(signed({ oid: 'friend', tid: 'theirs' })) }), 200);
			for (const claims of [{ oid: 'friend', tid: 'another' }, { oid: 'stranger', tid: 'theirs' }])
				expectError(await client.get(path, { query, sas, ...bearer(signed(claims)) }), 403, 'AuthenticationFailed');
			expectError(await client.get(path, { query, sas }), 403, 'AuthenticationFailed');
		}
	});
	test('queues have such keys since 2026-02-06', async () => {
		const body = `<KeyInfo><Expiry>${new Date(proved.now() + 3600e3).toISOString()}</Expiry></KeyInfo>`;
		const queue = new Client(proved, { service: 'queue' });
		const ask = (version) => queue.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, body, version, ...bearer(signed()) });
		expectStatus(await ask('2026-02-06'), 200);
		expectError(await ask('2025-11-05'), 400, 'InvalidQueryParameterValue');
	});
	test('a tenant that can be none is refused', async () => {
		const body = (tenant) => `<KeyInfo><Expiry>${new Date(proved.now() + 3600e3).toISOString()}</Expiry><DelegatedUserTid>${tenant}</DelegatedUserTid></KeyInfo>`;
		const ask = (tenant) => blob.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, body: body(tenant), ...bearer(signed()) });
		for (const tenant of ['a b', 'x'.repeat(65), 'é']) expectError(await ask(tenant), 400, 'InvalidXmlNodeValue');
		assert.ok(!expectStatus(await ask(''), 200).text.includes('SignedDelegatedUserTid'));
	});
});

// SPDX-License-Identifier: Apache-2.0
// Credentials of the File service: SAS made by the official SDK, stored policies, bearer tokens with their intent, anonymous
// requests; service properties, CORS.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { AccountSASPermissions, FileSASPermissions, generateFileSASQueryParameters, ShareClient, ShareFileClient, ShareSASPermissions, ShareServiceClient } from '@azure/storage-file-share';
import { removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { element, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { FILE_VERSION, Files, fileClient, fileSas, sdkOf } from '../../lib/file.mjs';
import { Client } from '../../lib/http.mjs';

let server, client, files, sdk, home, share;
before(async () => {
	server = await startServer();
	client = fileClient(server);
	files = new Files(client);
	sdk = sdkOf(server);
	home = await files.newShare();
	share = sdk.getShareClient(home.slice(1));
	await files.put(`${home}/f`, 'x');
});
after(() => server?.remove());
const later = () => new Date(server.now() + 3600_000);
const once = { retryOptions: { maxTries: 1 } };

describe('SAS of the SDK', () => {
	test('account, share, file', async () => {
		const account = sdk.generateAccountSasUrl(later(), AccountSASPermissions.parse('rwl'), 'sco');
		const names = [];
		for await (const item of new ShareServiceClient(account, undefined, once).listShares({ prefix: home.slice(1) })) names.push(item.name);
		assert.deepEqual(names, [home.slice(1)]);
		const shareUrl = await share.generateSasUrl({ expiresOn: later(), permissions: ShareSASPermissions.parse('rcwdl') });
		const byShare = new ShareClient(shareUrl, undefined, once);
		await byShare.getDirectoryClient('d').create();
		await byShare.getDirectoryClient('d').getFileClient('g').uploadData(Buffer.from('by share'));
		assert.equal((await byShare.getDirectoryClient('d').getFileClient('g').downloadToBuffer()).toString(), 'by share');
		await rejectsWith(byShare.getProperties(), 403, 'AuthorizationFailure');
		const fileUrl = await share.getDirectoryClient('d').getFileClient('g').generateSasUrl({ expiresOn: later(), permissions: FileSASPermissions.parse('r'), contentType: 'text/x-own' });
		const byFile = new ShareFileClient(fileUrl, undefined, once);
		assert.equal((await byFile.getProperties()).contentType, 'text/x-own');
		await rejectsWith(byFile.delete(), 403, 'AuthorizationPermissionMismatch');
	});
	test('create without write does not replace', async () => {
		const sas = fileSas(server.account, server.key, home.slice(1), undefined, { sp: 'c' });
		const path = `${home}/${uniqueName('f')}`;
		expectStatus(await files.create(path, 1, {}, { sas }), 201);
		expectError(await files.create(path, 1, {}, { sas }), 409, 'ResourceAlreadyExists');
	});
	test('stored policies', async () => {
		const own = await files.newShare(), name = own.slice(1);
		await files.put(`${own}/f`, 'x');
		const set = (permission) => files.shareComp('PUT', own, 'acl', { body: `<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Expiry>${later().toISOString()}</Expiry><Permission>${permission}</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>` });
		const sas = fileSas(server.account, server.key, name, undefined, { si: 'p' });
		expectError(await client.get(`${own}/f`, { sas }), 403, 'AuthenticationFailed');
		expectStatus(await set('r'), 200);
		expectStatus(await client.get(`${own}/f`, { sas }), 200);
		expectError(await client.delete(`${own}/f`, { sas }), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await set('d'), 200);
		expectError(await client.get(`${own}/f`, { sas }), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await client.delete(`${own}/f`, { sas }), 202);
	});
	test('permissions by SAS need w and d', async () => {
		const body = JSON.stringify({ permission: 'O:SYG:SYD:(A;;FA;;;BA)' });
		const by = (sp) => files.shareComp('PUT', home, 'filepermission', { body, sas: fileSas(server.account, server.key, home.slice(1), undefined, { sp }) });
		for (const sp of ['w', 'd', 'rcl']) expectError(await by(sp), 403, 'AuthorizationPermissionMismatch');
		expectStatus(await by('wd'), 201);
	});
});

test('nobody learns that something is there', async () => {
	for (const version of ['2019-02-02', '2021-06-08', FILE_VERSION])
		for (const [method, path, query] of [['GET', home, { restype: 'share' }], ['PUT', '/anonymous', { restype: 'share' }], ['GET', `${home}/f`, {}], ['PUT', `${home}/d2`, { restype: 'directory' }]])
			expectError(await client.request(method, path, { query, version, anonymous: true }), 404, 'ResourceNotFound');
});

describe('service properties', () => {
	const xml = (inside) => `<StorageServiceProperties>${inside}</StorageServiceProperties>`;
	const put = (body) => client.put('/', { query: { restype: 'service', comp: 'properties' }, body });
	const get = (o) => client.get('/', { query: { restype: 'service', comp: 'properties' }, ...o });
	test('everything off, by version', async () => {
		const metrics = (name) => `<${name}><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></${name}>`;
		const begin = `\ufeff<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${metrics('HourMetrics')}${metrics('MinuteMetrics')}<Cors />`;
		assert.equal(expectStatus(await get(), 200).text, `${begin}<ProtocolSettings><SMB><Multichannel><Enabled>false</Enabled></Multichannel></SMB></ProtocolSettings></StorageServiceProperties>`);
		assert.equal(expectStatus(await get({ version: '2019-12-12' }), 200).text, `${begin}</StorageServiceProperties>`);
	});
	test('set with the SDK, CORS, what is refused', async () => {
		const rule = { allowedOrigins: 'http://one.example', allowedMethods: 'GET,PUT', allowedHeaders: 'x-ms-meta-*', exposedHeaders: '*', maxAgeInSeconds: 200 };
		await sdk.setProperties({ cors: [rule], hourMetrics: { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 3 } }, protocol: { smb: { multichannel: { enabled: false } } } });
		const p = await sdk.getProperties();
		assert.deepEqual([p.cors, p.hourMetrics.retentionPolicy.days, p.protocol.smb.multichannel.enabled], [[rule], 3, false]);
		const preflight = await client.request('OPTIONS', `${home}/f`, { anonymous: true, headers: { origin: 'http://one.example', 'access-control-request-method': 'PUT' } });
		assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin'], preflight.headers['access-control-max-age']], [200, 'http://one.example', '200']);
		assert.equal((await files.get(`${home}/f`, { origin: 'http://one.example' })).headers['access-control-allow-origin'], 'http://one.example');
		const six = '<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>'.repeat(6);
		expectError(await put(xml(`<Cors>${six}</Cors>`)), 400, 'InvalidXmlDocument');
		const bad = expectError(await put(xml('<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>NONSENSE</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors>')), 400, 'InvalidXmlNodeValue');
		assert.equal(element(bad.text, 'XmlNodeName'), 'AllowedMethods');
		expectStatus(await put(xml('<Cors /><ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></ShareDeleteRetentionPolicy>')), 202);
	});
});

describe('bearer tokens', () => {
	let dir, secure, tokens;
	before(async () => {
		dir = tempDir();
		const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]);
		assert.equal(made.status, 0, String(made.stderr));
		secure = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'basic'] });
		tokens = new Client(secure, { service: 'file', version: '2026-04-06' });
	});
	after(async () => {
		await secure?.remove();
		removeDir(dir);
	});
	const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
	const authorization = () => {
		const now = Math.floor(secure.now() / 1000);
		return `Bearer ${part({ alg: 'RS256', typ: 'JWT' })}.${part({ aud: 'https://storage.azure.com', iss: 'https://sts.windows.net/t/', nbf: now - 60, iat: now - 60, exp: now + 600, oid: 'o', tid: 't' })}.c2lnbmVk`;
	};
	const intent = { 'x-ms-file-request-intent': 'backup' };
	test('with the intent all is allowed, without it nothing of a share', async () => {
		const by = (headers) => new Files({ request: (m, p, o = {}) => tokens.request(m, p, { ...o, headers: { authorization: authorization(), ...headers, ...o.headers } }), put: (p, o = {}) => tokens.put(p, { ...o, headers: { authorization: authorization(), ...headers, ...o.headers } }), get: (p, o = {}) => tokens.get(p, { ...o, headers: { authorization: authorization(), ...headers, ...o.headers } }) });
		const owner = by(intent), other = by({});
		expectStatus(await owner.share('tokens'), 201);
		await owner.put('/tokens/f', 'x');
		assert.equal((await owner.get('/tokens/f')).text, 'x');
		expectStatus(await owner.list('/tokens'), 200);
		const missing = expectError(await other.get('/tokens/f'), 400, 'MissingRequiredHeader');
		assert.equal(element(missing.text, 'HeaderName'), 'x-ms-file-request-intent');
		expectError(await other.create('/tokens/g', 1), 400, 'MissingRequiredHeader');
		expectError(await by({ 'x-ms-file-request-intent': 'nonsense' }).get('/tokens/f'), 400, 'InvalidHeaderValue');
	});
	test('user delegation key', async () => {
		const ask = (o) => tokens.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, body: `<KeyInfo><Start>${new Date(secure.now()).toISOString()}</Start><Expiry>${new Date(secure.now() + 3600_000).toISOString()}</Expiry></KeyInfo>`, ...o });
		const r = expectStatus(await ask({ headers: { authorization: authorization() } }), 200);
		assert.equal(element(r.text, 'SignedService'), 'f');
		assert.ok(element(r.text, 'Value'));
		expectError(await ask({}), 403, 'AuthenticationFailed');
		// A SAS that the SDK makes with it: for the file, for the letters, and for nobody else's key.
		const by = (path, o) => tokens.request(o.method ?? 'GET', path, o);
		const owner = { headers: { authorization: authorization(), ...intent } };
		expectStatus(await by('/delegated', { ...owner, method: 'PUT', query: { restype: 'share' } }), 201);
		expectStatus(await by('/delegated/f', { method: 'PUT', headers: { ...owner.headers, 'x-ms-type': 'file', 'x-ms-content-length': '3' } }), 201);
		const key = Object.fromEntries(['SignedOid', 'SignedTid', 'SignedService', 'SignedVersion', 'Value'].map((n) => [n.replace('Oid', 'ObjectId').replace('Tid', 'TenantId').replace(/^./, (c) => c.toLowerCase()), element(r.text, n)]));
		key.signedStartsOn = new Date(element(r.text, 'SignedStart'));
		key.signedExpiresOn = new Date(element(r.text, 'SignedExpiry'));
		const sasOf = (k) => new URLSearchParams(generateFileSASQueryParameters({ shareName: 'delegated', filePath: 'f', permissions: FileSASPermissions.parse('r'), expiresOn: new Date(secure.now() + 600_000) }, k, secure.account).toString());
		expectStatus(await by('/delegated/f', { sas: sasOf(key) }), 200);
		expectError(await by('/delegated/f', { method: 'DELETE', sas: sasOf(key) }), 403, 'AuthorizationPermissionMismatch');
		expectError(await by('/delegated/g', { sas: sasOf(key) }), 403, 'AuthenticationFailed');
		expectError(await by('/delegated/f', { sas: sasOf({ ...key, value: Buffer.alloc(32).toString('base64') }) }), 403, 'AuthenticationFailed');
	});
});

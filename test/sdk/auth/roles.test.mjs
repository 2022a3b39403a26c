// SPDX-License-Identifier: Apache-2.0
// What a bearer token may do is what a file of roles gives its owner, and nothing else.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { removeDir, runProgram, startServer, tempDir } from '../../lib/server.mjs';

const issuer = 'https://login.example/tenant/';
const OWNER = 'aaaaaaaa-0000-0000-0000-000000000001', READER = 'aaaaaaaa-0000-0000-0000-000000000002', ONE = 'aaaaaaaa-0000-0000-0000-000000000003';
let dir, server, keys;
const clients = {};
const container = uniqueName('c'), other = uniqueName('c'), queue = uniqueName('q'), table = uniqueName('t');

before(async () => {
	dir = tempDir();
	const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]);
	assert.equal(made.status, 0, String(made.stderr));
	keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
	writeFileSync(`${dir}/jwks.json`, JSON.stringify({ keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] }));
	writeFileSync(
		`${dir}/roles`,
		`# who where role

oid:${OWNER}	devstoreaccount1	Storage Blob Data Owner
oid:${READER.toUpperCase()} * storage blob data reader
oid:${ONE} devstoreaccount1/${container} Storage Blob Data Contributor
group:writers devstoreaccount1 Storage Blob Data Contributor
group:delegators devstoreaccount1 Storage Blob Delegator
app-role:Sender * Storage Queue Data Message Sender
app-role:Processor * Storage Queue Data Message Processor
group:queuers * Storage Queue Data Contributor
group:tablers devstoreaccount1 Storage Table Data Contributor
group:onetable devstoreaccount1/${table} Storage Table Data Contributor
group:admins devstoreaccount1 Storage Account Contributor
issuer:${issuer},group:same devstoreaccount1 Storage Table Data Reader
issuer:https://elsewhere/,group:foreign devstoreaccount1 Storage Blob Data Owner
oid:x otheraccount Storage Blob Data Owner
`,
	);
	server = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'full', '--oauthKeys', `${dir}/jwks.json`, '--oauthIssuer', issuer, '--oauthRoles', `${dir}/roles`] });
	for (const service of ['blob', 'queue', 'table']) clients[service] = new Client(server, { service });
	for (const name of [container, other]) {
		expectStatus(await clients.blob.put(`/${name}`, { query: { restype: 'container' } }), 201);
		expectStatus(await clients.blob.put(`/${name}/b`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
	}
	expectStatus(await clients.queue.put(`/${queue}`), 201);
	expectStatus(await clients.table.post('/Tables', { headers: json, body: JSON.stringify({ TableName: table }) }), 201);
});
after(async () => {
	await server?.remove();
	removeDir(dir);
});

const json = { accept: 'application/json', 'content-type': 'application/json' };
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
function bearer(service, claims, headers = {}) {
	const now = Math.floor(server.now() / 1000);
	const all = { aud: `https://${server.account}.${service}.core.windows.net`, iss: issuer, nbf: now - 60, iat: now - 60, exp: now + 600, tid: 't', ...claims };
	const text = `${part({ alg: 'RS256', kid: 'k1' })}.${part(all)}`;
	return { headers: { authorization: `Bearer ${text}.${createSign('RSA-SHA256').update(text).sign(keys.privateKey).toString('base64url')}`, ...headers } };
}
const refused = (r) => expectError(r, 403, 'AuthorizationPermissionMismatch');

const blob = {
	list: (who) => clients.blob.get('/', { query: { comp: 'list' }, ...bearer('blob', who) }),
	listBlobs: (who, name = container) => clients.blob.get(`/${name}`, { query: { restype: 'container', comp: 'list' }, ...bearer('blob', who) }),
	read: (who, name = container) => clients.blob.get(`/${name}/b`, bearer('blob', who)),
	write: (who, name = container) => clients.blob.put(`/${name}/b`, { body: 'x', ...bearer('blob', who, { 'x-ms-blob-type': 'BlockBlob' }) }),
	remove: (who, name = container) => clients.blob.delete(`/${name}/none`, bearer('blob', who)),
	tags: (who, name = container) => clients.blob.get(`/${name}/b`, { query: { comp: 'tags' }, ...bearer('blob', who) }),
	create: (who) => clients.blob.put(`/${uniqueName('c')}`, { query: { restype: 'container' }, ...bearer('blob', who) }),
	properties: (who) => clients.blob.get('/', { query: { restype: 'service', comp: 'properties' }, ...bearer('blob', who) }),
	key: (who) => clients.blob.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, body: `<KeyInfo><Expiry>${new Date(server.now() + 3600e3).toISOString()}</Expiry></KeyInfo>`, ...bearer('blob', who) }),
};

describe('blobs', () => {
	test('nobody has a right that no rule gives', async () => {
		for (const who of [{ oid: 'nobody' }, {}, { groups: ['nobodies'] }, { oid: 'x' }, { groups: 'writers' }, { groups: ['foreign'] }, { roles: ['writers'] }])
			for (const ask of Object.values(blob)) refused(await ask(who));
	});
	test('reader, contributor, owner', async () => {
		const allowed = { list: 200, listBlobs: 200, read: 200 };
		const cells = [
			[{ oid: READER }, { ...allowed, key: 200 }],
			[{ groups: ['x', 'writers'] }, { ...allowed, write: 201, remove: 404, create: 201, key: 200 }],
			[{ oid: OWNER }, { ...allowed, write: 201, remove: 404, create: 201, tags: 200, key: 200 }],
			[{ groups: ['delegators'] }, { key: 200 }],
			[{ groups: ['admins'] }, { list: 200, properties: 200 }],
			[{ groups: ['delegators', 'admins'] }, { key: 200, list: 200, properties: 200 }],
		];
		for (const [who, may] of cells)
			for (const [name, ask] of Object.entries(blob)) {
				const r = await ask(who);
				if (may[name]) assert.equal(r.status, may[name], `${JSON.stringify(who)} ${name}: ${r.status} ${r.text}`);
				else refused(r);
			}
	});
	test('a rule for one container ends there', async () => {
		const who = { oid: ONE };
		expectStatus(await blob.read(who), 200);
		expectStatus(await blob.write(who), 201);
		expectStatus(await blob.listBlobs(who), 200);
		refused(await blob.read(who, other));
		refused(await blob.write(who, other));
		refused(await blob.listBlobs(who, other));
		refused(await blob.list(who));
		refused(await blob.create(who));
	});
	test('the audience must name the account', async () => {
		expectStatus(await blob.read({ oid: OWNER }), 200);
		for (const aud of ['https://storage.azure.com', 'https://storage.azure.com/', 'https://another.blob.core.windows.net', `https://${server.account}.queue.core.windows.net`, 'e406a681-f3d4-42a8-90b6-c2b029497af1'])
			expectError(await blob.read({ oid: OWNER, aud }), 401, 'InvalidAuthenticationInfo');
	});
	test('a user delegation SAS gives no more than its maker has', async () => {
		const { ContainerSASPermissions, generateBlobSASQueryParameters, BlobServiceClient } = await import('@azure/storage-blob');
		process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
		const sasOf = async (who, name) => {
			const { headers } = bearer('blob', who);
			const service = new BlobServiceClient(server.endpoints.blob, { getToken: async () => ({ token: headers.authorization.slice(7), expiresOnTimestamp: Date.now() + 600e3 }) });
			const key = await service.getUserDelegationKey(new Date(server.now() - 60e3), new Date(server.now() + 3600e3));
			const o = { containerName: name, permissions: ContainerSASPermissions.parse('racwdl'), expiresOn: new Date(server.now() + 600e3) };
			return new URLSearchParams(generateBlobSASQueryParameters(o, key, server.account).toString());
		};
		const put = (name, sas) => clients.blob.put(`/${name}/b`, { body: 'x', sas, headers: { 'x-ms-blob-type': 'BlockBlob' } });
		const reader = await sasOf({ oid: READER }, container);
		expectStatus(await clients.blob.get(`/${container}/b`, { sas: reader }), 200);
		refused(await put(container, reader));
		const one = await sasOf({ oid: ONE }, container);
		expectStatus(await put(container, one), 201);
		const beyond = await sasOf({ oid: ONE }, other);
		refused(await put(other, beyond));
		refused(await clients.blob.get(`/${other}/b`, { sas: beyond }));
		const byGroup = await sasOf({ oid: 'somebody', groups: ['writers'] }, container);
		refused(await clients.blob.get(`/${container}/b`, { sas: byGroup }));
	});
});

test('queues: sender, processor, contributor', async () => {
	const message = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
	const ask = {
		put: (who) => clients.queue.post(`/${queue}/messages`, { body: message, ...bearer('queue', who) }),
		peek: (who) => clients.queue.get(`/${queue}/messages`, { query: { peekonly: 'true' }, ...bearer('queue', who) }),
		get: (who) => clients.queue.get(`/${queue}/messages`, bearer('queue', who)),
		clear: (who) => clients.queue.delete(`/${queue}/messages`, bearer('queue', who)),
		metadata: (who) => clients.queue.get(`/${queue}`, { query: { comp: 'metadata' }, ...bearer('queue', who) }),
		list: (who) => clients.queue.get('/', { query: { comp: 'list' }, ...bearer('queue', who) }),
	};
	for (const [who, may] of [
		[{ roles: ['Sender'] }, { put: 201 }],
		[{ roles: ['Processor'] }, { peek: 200, get: 200 }],
		[{ groups: ['queuers'] }, { put: 201, peek: 200, get: 200, clear: 204, metadata: 200, list: 200 }],
		[{ oid: OWNER }, {}],
	])
		for (const [name, run] of Object.entries(ask)) {
			const r = await run(who);
			if (may[name]) assert.equal(r.status, may[name], `${JSON.stringify(who)} ${name}: ${r.status} ${r.text}`);
			else refused(r);
		}
});

test('tables: reader, contributor, one table; parts of a batch are asked for themselves', async () => {
	const another = uniqueName('t');
	expectStatus(await clients.table.post('/Tables', { headers: json, body: JSON.stringify({ TableName: another }) }), 201);
	const insert = (who, name = table) => clients.table.post(`/${name}`, { body: JSON.stringify({ PartitionKey: 'p', RowKey: uniqueName('r') }), ...bearer('table', who, json) });
	const query = (who, name = table) => clients.table.get(`/${name}()`, bearer('table', who, json));
	const batch = (who, name = table) => clients.table.post('/$batch', { body: `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${clients.table.endpoint}/${name} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n\r\n${JSON.stringify({ PartitionKey: 'p', RowKey: uniqueName('r') })}\r\n--c--\r\n--b--\r\n`, ...bearer('table', who, { 'content-type': 'multipart/mixed; boundary=b' }) });
	const same = { groups: ['same'] }, all = { groups: ['tablers'] }, one = { groups: ['onetable'] };
	expectStatus(await query(same), 200);
	refused(await insert(same));
	assert.match((await batch(same)).text, /HTTP\/1\.1 403 /);
	for (const name of [table, another]) {
		expectStatus(await insert(all, name), 201);
		assert.match((await batch(all, name)).text, /HTTP\/1\.1 201 /);
	}
	expectStatus(await insert(one), 201);
	assert.match((await batch(one)).text, /HTTP\/1\.1 201 /);
	refused(await insert(one, another));
	refused(await query(one, another));
	assert.match((await batch(one, another)).text, /HTTP\/1\.1 403 /);
	refused(await batch({ oid: 'nobody' }));
});

test('settings: full needs roles, rules that are none are named, every token owns in development only', async () => {
	const full = ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'full', '--oauthKeys', `${dir}/jwks.json`, '--oauthIssuer', issuer];
	const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0'];
	const fails = async (args, pattern) => {
		const data = tempDir();
		const r = await runProgram(['serve', '--location', data, ...ports, ...full, ...args], { timeoutMs: 20_000 });
		removeDir(data);
		assert.ok(r.code === 1 || r.code === 2, `${r.code} ${r.signal} ${r.stderr}`);
		assert.match(r.stderr, pattern);
	};
	await fails([], /--oauthRoles FILE/);
	await fails(['--oauthEveryTokenOwns', '--mode', 'production'], /development mode only/);
	await fails(['--oauthRoles', `${dir}/missing`], /--oauthRoles .*No such file/);
	for (const [text, pattern] of [
		['oid:a acc Storage Blob Data God', /line 1: .*none of the roles/],
		['# x\n\noid:a acc', /line 3: .*three parts/],
		['everybody acc Storage Blob Data Reader', /line 1: who is/],
		['oid: acc Storage Blob Data Reader', /line 1: who is/],
		['oid:a acc/ Storage Blob Data Reader', /line 1: where is/],
		['oid:a */c Storage Blob Data Reader', /line 1: where is/],
	]) {
		writeFileSync(`${dir}/bad`, text);
		await fails(['--oauthRoles', `${dir}/bad`], pattern);
	}
	const old = await startServer({ flags: [...full, '--oauthEveryTokenOwns'] });
	try {
		expectStatus(await new Client(old).get('/', { query: { comp: 'list' }, ...bearer('blob', { oid: 'nobody' }) }), 200);
	} finally {
		await old.remove();
	}
});

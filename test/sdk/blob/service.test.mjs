// SPDX-License-Identifier: Apache-2.0
// The account's side of the Blob service: properties, CORS, account information, batches, tiers, $root and $web, what is not built.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { freePort, startServer } from '../../lib/server.mjs';
import { Client, send } from '../../lib/http.mjs';
import { accountSas, blobSas, sharedKey } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';
import { Blobs, random } from '../../lib/blob.mjs';

let server, client, b, service, container, webPort;
const home = uniqueName('service');
before(async () => {
	webPort = await freePort();
	server = await startServer({ flags: ['--webPort', String(webPort)] });
	client = new Client(server);
	b = new Blobs(client);
	service = BlobServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
	container = service.getContainerClient(home);
	await container.create();
});
after(() => server?.remove());
const fresh = () => `/${home}/${uniqueName('s')}`;
const PROPERTIES = { restype: 'service', comp: 'properties' };

describe('service properties', () => {
	const setXml = (inner) => client.put('/', { query: PROPERTIES, body: `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${inner}</StorageServiceProperties>` });
	test('round trip with the official SDK', async () => {
		const retention = { enabled: true, days: 3 };
		const wanted = {
			blobAnalyticsLogging: { version: '1.0', deleteProperty: true, read: true, write: false, retentionPolicy: retention },
			hourMetrics: { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy: retention },
			minuteMetrics: { version: '1.0', enabled: true, includeAPIs: false, retentionPolicy: { enabled: false } },
			cors: [{ allowedOrigins: 'https://a.example,https://b.example', allowedMethods: 'GET,PUT', allowedHeaders: 'x-ms-meta-*', exposedHeaders: 'x-ms-*', maxAgeInSeconds: 77 }],
			defaultServiceVersion: '2021-12-02',
			deleteRetentionPolicy: { enabled: true, days: 9 },
			staticWebsite: { enabled: true, indexDocument: 'index.html', errorDocument404Path: 'error/404.html' },
		};
		await service.setProperties(wanted);
		const got = await service.getProperties();
		for (const [name, value] of Object.entries(wanted)) {
			const kept = JSON.parse(JSON.stringify(got[name]));
			for (const [field, inner] of Object.entries(value)) assert.deepEqual(kept[field], inner, `${name}.${field}`);
		}
	});
	test('what is left out stays, an empty Cors deletes the rules', async () => {
		expectStatus(await setXml('<DeleteRetentionPolicy><Enabled>true</Enabled><Days>5</Days></DeleteRetentionPolicy><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders></ExposedHeaders><AllowedHeaders></AllowedHeaders></CorsRule></Cors>'), 202);
		expectStatus(await setXml('<Cors />'), 202);
		const xml = expectStatus(await client.get('/', { query: PROPERTIES }), 200).text;
		assert.equal(elements(xml, 'AllowedOrigins').length, 0);
		assert.match(xml, /<DeleteRetentionPolicy>.*<Days>5<\/Days>/s);
		expectStatus(await setXml('<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>'), 202);
	});
	test('refusals', async () => {
		for (const bad of [
			'<DeleteRetentionPolicy><Enabled>true</Enabled><Days>0</Days></DeleteRetentionPolicy>',
			'<DeleteRetentionPolicy><Enabled>true</Enabled><Days>366</Days></DeleteRetentionPolicy>',
			'<DeleteRetentionPolicy><Enabled>maybe</Enabled></DeleteRetentionPolicy>',
			`<Cors>${'<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders></ExposedHeaders><AllowedHeaders></AllowedHeaders></CorsRule>'.repeat(6)}</Cors>`,
			'<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>PAINT</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders></ExposedHeaders><AllowedHeaders></AllowedHeaders></CorsRule></Cors>',
			'<DefaultServiceVersion>yesterday</DefaultServiceVersion>',
		])
			expectStatus(await setXml(bad), 400);
		for (const bad of ['abcd-ef-gh', '2021-99-99', '2021-00-01', '2008-10-26', '2021-6-8', ''])
			assert.equal(element(expectError(await setXml(`<DefaultServiceVersion>${bad}</DefaultServiceVersion>`), 400, 'InvalidXmlNodeValue').text, 'XmlNodeName'), 'DefaultServiceVersion');
		expectError(await client.put('/', { query: PROPERTIES, body: 'no xml' }), 400, 'InvalidXmlDocument');
		expectStatus(await client.get('/', { query: PROPERTIES, sas: blobSas(server.account, server.key, home) }), 403);
		expectStatus(await client.get('/', { query: PROPERTIES, sas: accountSas(server.account, server.key, { sp: 'r', srt: 's' }) }), 200);
		expectStatus(await client.put('/', { query: PROPERTIES, body: '<StorageServiceProperties/>', sas: accountSas(server.account, server.key, { sp: 'r', srt: 's' }) }), 403);
	});
	test('stats are the secondary endpoint’s', async () => expectError(await client.get('/', { query: { restype: 'service', comp: 'stats' } }), 400, 'InvalidQueryParameterValue'));
	test('CORS: preflight and real requests', async () => {
		expectStatus(await setXml('<Cors><CorsRule><AllowedOrigins>https://a.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><MaxAgeInSeconds>99</MaxAgeInSeconds><ExposedHeaders>x-ms-meta-*</ExposedHeaders><AllowedHeaders>x-ms-*</AllowedHeaders></CorsRule></Cors>'), 202);
		const path = fresh();
		expectStatus(await b.put(path, 'x', { 'x-ms-meta-a': 'b' }), 201);
		const preflight = (headers) => client.request('OPTIONS', path, { anonymous: true, headers });
		const ok = expectStatus(await preflight({ origin: 'https://a.example', 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-ms-blob-type' }), 200);
		assert.equal(ok.headers['access-control-allow-origin'], 'https://a.example');
		assert.equal(ok.headers['access-control-max-age'], '99');
		expectStatus(await preflight({ origin: 'https://evil.example', 'access-control-request-method': 'PUT' }), 403);
		expectStatus(await preflight({ origin: 'https://a.example', 'access-control-request-method': 'DELETE' }), 403);
		expectStatus(await preflight({ origin: 'https://a.example', 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' }), 403);
		expectStatus(await preflight({ origin: 'https://a.example' }), 400);
		const real = expectStatus(await b.get(path, { origin: 'https://a.example' }), 200);
		assert.equal(real.headers['access-control-allow-origin'], 'https://a.example');
		assert.match(real.headers['access-control-expose-headers'], /x-ms-meta-a/);
		assert.equal((await b.get(path, { origin: 'https://evil.example' })).headers['access-control-allow-origin'], undefined);
		expectStatus(await setXml('<Cors/>'), 202);
	});
});

test('account information, at every level', async () => {
	const info = await service.getAccountInfo();
	assert.equal(info.accountKind, 'StorageV2');
	assert.ok(info.skuName);
	for (const path of ['/', `/${home}`, '/nothing-here/x'])
		for (const method of ['GET', 'HEAD']) {
			const r = expectStatus(await client.request(method, path, { query: { restype: 'account', comp: 'properties' } }), 200);
			assert.ok(r.headers['x-ms-sku-name'] && r.headers['x-ms-account-kind']);
			assert.equal(r.headers['x-ms-is-hns-enabled'], 'false');
		}
});

describe('batches', () => {
	// One subrequest, signed by itself.
	const part = (method, path, { query = {}, headers = {}, sas, key = server.key } = {}) => {
		const url = client.url(path, query, sas);
		const all = { 'x-ms-date': new Date(server.now()).toUTCString(), 'content-length': '0', ...headers };
		if (!sas && key) all.authorization = sharedKey(method, url, all, server.account, key);
		return `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${Object.entries(all).map(([n, v]) => `${n}: ${v}`).join('\r\n')}\r\n\r\n`;
	};
	const submit = (parts, { at = '/', query = {}, boundary = 'batch_b' } = {}) => {
		const body = parts.map((p, i) => `--${boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: ${i}\r\n\r\n${p}\r\n`).join('') + `--${boundary}--\r\n`;
		return client.post(at, { query: { ...(at === '/' ? {} : { restype: 'container' }), comp: 'batch', ...query }, headers: { 'content-type': `multipart/mixed; boundary=${boundary}` }, body });
	};
	const answers = (r) => [...r.text.matchAll(/application\/http\r\n(?:Content-ID: (\d+)\r\n)?\r\nHTTP\/1\.1 (\d+)[^\r]*\r\n([\s\S]*?)(?=\r\n--)/g)].map((m) => ({ id: Number(m[1]), status: Number(m[2]), code: /x-ms-error-code: (\S+)/i.exec(m[3])?.[1] }));

	test('with the official SDK: delete and set tier', async () => {
		const blobs = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
			const blob = container.getBlockBlobClient(`batch-${i}`);
			await blob.upload('x', 1);
			return blob;
		}));
		const batch = service.getBlobBatchClient();
		const tiered = await batch.setBlobsAccessTier(blobs, 'Cool');
		assert.equal(tiered.subResponsesSucceededCount, 20);
		assert.equal((await blobs[7].getProperties()).accessTier, 'Cool');
		await blobs[3].delete();
		const deleted = await batch.deleteBlobs(blobs);
		assert.deepEqual([deleted.subResponsesSucceededCount, deleted.subResponsesFailedCount], [19, 1]);
		assert.equal(deleted.subResponses[3].status, 404);
		assert.equal(deleted.subResponses[3].errorCode, 'BlobNotFound');
	});
	test('each is authorised by itself', async () => {
		const paths = [fresh(), fresh(), fresh(), fresh()];
		for (const path of paths) expectStatus(await b.put(path, 'x'), 201);
		const sas = (path, sp) => blobSas(server.account, server.key, home, path.split('/')[2], { sp });
		const r = expectStatus(await submit([
			part('DELETE', paths[0]),
			part('DELETE', paths[1], { sas: sas(paths[1], 'd') }),
			part('DELETE', paths[2], { sas: sas(paths[2], 'r') }),
			part('DELETE', paths[3], { key: Buffer.from('wrong key').toString('base64') }),
		]), 202);
		const got = answers(r);
		assert.deepEqual(got.map((x) => x.status), [202, 202, 403, 403], r.text);
		for (const path of paths.slice(0, 2)) expectStatus(await b.head(path), 404);
		for (const path of paths.slice(2)) expectStatus(await b.head(path), 200);
	});
	// So does azure-storage-blob for Python: it writes /container/blob, and signs that, whatever the endpoint.
	test('parts that leave out the account are of the one that is asked', async () => {
		const bare = (method, path, { query = {}, headers = {}, sas } = {}) => {
			const url = new URL(`${path}?${sas ?? new URLSearchParams(query)}`, server.endpoints.blob);
			const all = { 'x-ms-date': new Date(server.now()).toUTCString(), 'content-length': '0', ...headers };
			if (!sas) all.authorization = sharedKey(method, url, all, server.account, server.key);
			return `${method} ${path}?${url.search.slice(1)} HTTP/1.1\r\n${Object.entries(all).map(([n, v]) => `${n}: ${v}`).join('\r\n')}\r\n\r\n`;
		};
		for (const at of ['/', `/${home}`]) {
			const paths = [fresh(), `${fresh()}/deep%20%25`, fresh()];
			for (const path of paths) expectStatus(await b.put(path, 'x'), 201);
			const cool = bare('PUT', paths[0], { query: { comp: 'tier' }, headers: { 'x-ms-access-tier': 'Cool' } });
			assert.deepEqual(answers(expectStatus(await submit([cool], { at }), 202)).map((x) => x.status), [200]);
			assert.equal((await b.head(paths[0])).headers['x-ms-access-tier'], 'Cool');
			const sas = blobSas(server.account, server.key, home, paths[2].split('/')[2], { sp: 'd' });
			const r = expectStatus(await submit([bare('DELETE', paths[0]), bare('DELETE', paths[1]), bare('DELETE', paths[2], { sas }), bare('DELETE', fresh()), bare('DELETE', fresh(), { sas })], { at }), 202);
			assert.deepEqual(answers(r).map((x) => x.status), [202, 202, 202, 404, 403], r.text);
			for (const path of paths) expectStatus(await b.head(path), 404);
		}
		const refused = expectStatus(await submit([bare('DELETE', `/${uniqueName('elsewhere')}/x`)], { at: `/${home}` }), 202);
		assert.deepEqual(answers(refused).map((x) => `${x.status} ${x.code}`), ['400 InvalidInput']);
	});
	test('256 and no more; none is none', async () => {
		const parts = Array.from({ length: 256 }, () => part('DELETE', fresh()));
		const r = expectStatus(await submit(parts), 202);
		assert.equal(answers(r).length, 256);
		assert.ok(answers(r).every((x) => x.status === 404));
		const many = answers(expectStatus(await submit([...parts, part('DELETE', fresh())]), 202));
		assert.deepEqual(many.map((x) => `${x.status} ${x.code}`), ['400 ExceedsMaxBatchRequestCount']);
		expectStatus(await submit([]), 400);
		expectStatus(await client.post('/', { query: { comp: 'batch' }, headers: { 'content-type': 'text/plain' }, body: 'x' }), 400);
	});
	test('other operations are refused each', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const got = answers(expectStatus(await submit([part('GET', path), part('DELETE', path)]), 202));
		assert.ok(got[0].status >= 400, `${got[0].status}`);
		assert.equal(got[1].status, 202);
	});
	test('of a container', async () => {
		const inside = fresh();
		expectStatus(await b.put(inside, 'x'), 201);
		const other = uniqueName('o');
		expectStatus(await b.container(other), 201);
		expectStatus(await b.put(`/${other}/x`, 'x'), 201);
		const refused = answers(expectStatus(await submit([part('DELETE', inside), part('DELETE', `/${other}/x`)], { at: `/${home}` }), 202));
		assert.deepEqual(refused.map((x) => `${x.status} ${x.code}`), ['400 InvalidInput']);
		expectStatus(await b.head(inside), 200);
		assert.deepEqual(answers(expectStatus(await submit([part('DELETE', inside)], { at: `/${home}` }), 202)).map((x) => x.status), [202]);
		expectError(await submit([part('DELETE', inside)], { at: '/no-such-container' }), 404, 'ContainerNotFound');
	});
	test('conditions and leases inside', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const id = await b.acquire(path);
		const first = answers(expectStatus(await submit([part('DELETE', path), part('DELETE', path, { headers: { 'if-match': '"0x8D0000000000000"', 'x-ms-lease-id': id } })]), 202));
		assert.deepEqual(first.map((x) => `${x.status} ${x.code}`), ['412 LeaseIdMissing', '412 ConditionNotMet']);
		assert.equal(answers(await submit([part('DELETE', path, { headers: { 'x-ms-lease-id': id } })]))[0].status, 202);
	});
});

describe('tiers', () => {
	const tier = (path, name, headers = {}, query = {}) => b.comp(path, 'tier', { 'x-ms-access-tier': name, ...headers }, undefined, query);
	test('hot, cool, cold; inferred; at the write', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		let p = await b.head(path);
		assert.deepEqual([p.headers['x-ms-access-tier'], p.headers['x-ms-access-tier-inferred']], ['Hot', 'true']);
		for (const name of ['Cool', 'Cold', 'Hot']) {
			expectStatus(await tier(path, name), 200);
			p = await b.head(path);
			assert.deepEqual([p.headers['x-ms-access-tier'], p.headers['x-ms-access-tier-inferred']], [name, undefined]);
			assert.ok(p.headers['x-ms-access-tier-change-time']);
		}
		const other = fresh();
		expectStatus(await b.put(other, 'x', { 'x-ms-access-tier': 'Cool' }), 201);
		assert.equal((await b.head(other)).headers['x-ms-access-tier'], 'Cool');
	});
	test('the archive and the way back', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'frozen'), 201);
		expectStatus(await tier(path, 'Archive'), 200);
		expectError(await b.get(path), 409, 'BlobArchived');
		expectStatus(await b.head(path), 200);
		expectError(await b.blockList(path, []), 409, 'BlobArchived');
		expectStatus(await tier(path, 'Hot', { 'x-ms-rehydrate-priority': 'High' }), 202);
		assert.equal((await b.head(path)).headers['x-ms-archive-status'], 'rehydrate-pending-to-hot');
		const inList = async () => {
			const { text } = expectStatus(await b.list(path.split('/')[1], { prefix: path.split('/')[2] }), 200);
			return [...elements(text, 'AccessTier'), ...elements(text, 'ArchiveStatus')];
		};
		assert.deepEqual(await inList(), ['Archive', 'rehydrate-pending-to-hot']);
		const r = await b.get(path);
		assert.ok(['BlobArchived', 'BlobBeingRehydrated'].includes(r.code) && r.status === 409, `${r.status} ${r.code}`);
		expectStatus(await tier(path, 'Hot'), 202);
		expectError(await tier(path, 'Cool'), 409, 'BlobBeingRehydrated');
		await server.advanceClock(60);
		assert.equal(expectStatus(await b.get(path), 200).text, 'frozen');
		const p = await b.head(path);
		assert.deepEqual([p.headers['x-ms-access-tier'], p.headers['x-ms-archive-status']], ['Hot', undefined]);
		assert.deepEqual(await inList(), ['Hot']);
		await server.setClock(0);
	});
	test('of a snapshot', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const snapshot = await b.snapshot(path);
		expectStatus(await tier(path, 'Cool', {}, { snapshot }), 200);
		assert.equal((await b.head(path, {}, { snapshot })).headers['x-ms-access-tier'], 'Cool');
		assert.equal((await b.head(path)).headers['x-ms-access-tier'], 'Hot');
	});
	test('a delete that asks when the tier changed', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const day = 86400_000, at = (ms) => new Date(server.now() + ms).toUTCString();
		const since = (ms) => ({ 'x-ms-access-tier-if-modified-since': at(ms) });
		const notSince = (ms) => ({ 'x-ms-access-tier-if-unmodified-since': at(ms) });
		expectError(await b.delete(path, since(-day)), 412, 'ConditionNotMet'); // nobody ever set it
		expectStatus(await tier(path, 'Cool'), 200);
		expectError(await b.delete(path, since(day)), 412, 'ConditionNotMet');
		expectError(await b.delete(path, notSince(-day)), 412, 'ConditionNotMet');
		expectError(await b.delete(path, { ...since(-day), ...notSince(-day) }), 412, 'ConditionNotMet');
		for (const name of Object.keys({ ...since(0), ...notSince(0) })) expectError(await b.delete(path, { [name]: 'then' }), 400, 'InvalidHeaderValue');
		const snapshot = await b.snapshot(path);
		expectStatus(await tier(path, 'Hot', {}, { snapshot }), 200);
		expectError(await b.delete(path, notSince(-day), { snapshot }), 412, 'ConditionNotMet');
		expectStatus(await b.delete(path, since(-day), { snapshot }), 202);
		expectStatus(await b.delete(path, { ...since(-day), ...notSince(day) }), 202);
	});
	test('refusals', async () => {
		const path = fresh(), page = fresh(), append = fresh();
		expectError(await tier(path, 'Hot'), 404, 'BlobNotFound');
		expectStatus(await b.put(path, 'x'), 201);
		expectStatus(await b.pageBlob(page, 512), 201);
		expectStatus(await b.appendBlob(append), 201);
		expectStatus(await tier(path, 'Lukewarm'), 400);
		expectError(await b.comp(path, 'tier'), 400, 'MissingRequiredHeader');
		expectError(await tier(path, 'Archive', { 'x-ms-rehydrate-priority': 'Now' }), 400, 'InvalidHeaderValue');
		for (const other of [page, append]) expectError(await tier(other, 'Cool'), 400, 'AccessTierNotSupportedForBlobType');
		expectError(await tier(path, 'P10'), 400, 'AccessTierNotSupportedForBlobType');
	});
	test('given with the write: those the type has', async () => {
		const none = 'AccessTierNotSupportedForBlobType';
		const block = fresh(), page = fresh(), append = fresh(), to = fresh();
		const cool = { 'x-ms-access-tier': 'Cool' }, archive = { 'x-ms-access-tier': 'Archive' }, premium = { 'x-ms-access-tier': 'P10' };
		for (const headers of [cool, archive, premium]) expectError(await b.appendBlob(append, headers), 400, none);
		for (const headers of [cool, archive]) expectError(await b.pageBlob(page, 512, headers), 400, none);
		expectError(await b.put(block, 'x', premium), 400, none);
		expectError(await b.blockList(block, [], premium), 400, none);
		for (const path of [append, page, block]) expectError(await b.head(path), 404, 'BlobNotFound');
		expectStatus(await b.appendBlob(append), 201);
		expectStatus(await b.pageBlob(page, 512, premium), 201);
		expectStatus(await b.put(block, 'x', cool), 201);
		for (const [from, headers] of [[append, archive], [append, premium], [page, archive], [block, premium]]) {
			expectError(await b.copy(to, b.url(from), headers), 400, from === block ? 'InvalidHeaderValue' : none);
			expectError(await b.head(to), 404, 'BlobNotFound');
		}
		expectError(await b.copy(to, b.readable(block), { 'x-ms-requires-sync': 'true', ...premium }), 400, 'InvalidHeaderValue');
		expectError(await b.copy(to, b.readable(append), { 'x-ms-blob-type': 'BlockBlob', ...premium }), 400, 'InvalidHeaderValue');
		expectStatus(await b.copy(to, b.url(block), archive), 202);
		expectStatus(await b.copy(fresh(), b.url(page), premium), 202);
	});
});

describe('special containers', () => {
	test('$root: blobs without a container in the path', async () => {
		expectStatus(await client.put('/$root', { query: { restype: 'container' } }), 201);
		expectStatus(await b.put('/$root/in-root', 'x'), 201);
		assert.equal(expectStatus(await b.get('/in-root'), 200).text, 'x');
		expectStatus(await b.put('/also', 'y'), 201);
		assert.equal((await b.get('/$root/also')).text, 'y');
		expectStatus(await b.put('/$root/with/slash', 'x'), 400);
		const list = expectStatus(await b.list('$root'), 200);
		assert.deepEqual(elements(list.text, 'Name'), ['also', 'in-root']);
		expectStatus(await b.delete('/also'), 202);
	});
	test('$web: the static website', async () => {
		await service.setProperties({ staticWebsite: { enabled: true, indexDocument: 'index.html', errorDocument404Path: '404.html' } });
		const web = service.getContainerClient('$web');
		assert.ok(await web.exists(), 'it is made with the website');
		await web.getBlockBlobClient('index.html').upload('<h1>home</h1>', 13, { blobHTTPHeaders: { blobContentType: 'text/html' } });
		await web.getBlockBlobClient('sub/index.html').upload('sub', 3);
		await web.getBlockBlobClient('404.html').upload('gone', 4);
		const get = (path, method = 'GET', headers = {}) => send(method, new URL(`http://127.0.0.1:${webPort}${path}`), headers);
		const homePage = expectStatus(await get('/'), 200);
		assert.deepEqual([homePage.text, homePage.headers['content-type']], ['<h1>home</h1>', 'text/html']);
		const known = { 'if-none-match': homePage.etag, 'if-modified-since': homePage.headers['last-modified'] };
		for (const method of ['GET', 'HEAD']) {
			const r = expectStatus(await get('/', method, known), 304);
			assert.deepEqual([r.text, r.etag], ['', homePage.etag]);
		}
		assert.equal(expectStatus(await get('/sub/', 'GET', { 'if-none-match': homePage.etag }), 200).text, 'sub');
		expectStatus(await get('/sub/', 'GET', { 'if-match': homePage.etag }), 412);
		const errorPage = await web.getBlockBlobClient('404.html').getProperties();
		assert.equal(expectStatus(await get('/nothing', 'GET', { 'if-none-match': errorPage.etag }), 404).text, 'gone');
		assert.equal(expectStatus(await get('/sub/'), 200).text, 'sub');
		assert.equal(expectStatus(await get('/index.html'), 200).text, '<h1>home</h1>');
		const missing = await get('/nothing');
		assert.deepEqual([missing.status, missing.text], [404, 'gone']);
		expectStatus(await get('/', 'HEAD'), 200);
		assert.ok((await get('/', 'DELETE')).status >= 400);
		assert.ok((await get('/', 'PUT')).status >= 400);
		await service.setProperties({ staticWebsite: { enabled: false } });
		expectStatus(await get('/'), 404);
	});
	test('$web: parts of a page, and what was said about its content', async () => {
		await service.setProperties({ staticWebsite: { enabled: true, errorDocument404Path: 'lost.html' } });
		await service.getContainerClient('$web').createIfNotExists();
		const said = { 'content-language': 'de', 'content-disposition': 'inline', 'cache-control': 'no-store', 'content-encoding': 'br', 'content-type': 'video/mp4' };
		const headers = Object.fromEntries(Object.entries(said).map(([name, value]) => [`x-ms-blob-${name}`, value]));
		expectStatus(await b.put('/$web/film.mp4', '0123456789', headers), 201);
		expectStatus(await b.put('/$web/lost.html', 'nothing here'), 201);
		const get = (path, headers = {}, method = 'GET') => send(method, new URL(`http://127.0.0.1:${webPort}${path}`), headers);
		const whole = expectStatus(await get('/film.mp4'), 200);
		for (const [name, value] of Object.entries({ ...said, 'accept-ranges': 'bytes' })) assert.equal(whole.headers[name], value, name);
		for (const [range, text, shown] of [['bytes=0-', '0123456789', '0-9/10'], ['bytes=2-4', '234', '2-4/10'], ['bytes=8-99', '89', '8-9/10']]) {
			const part = expectStatus(await get('/film.mp4', { range }), 206);
			assert.deepEqual([part.text, part.headers['content-range'], part.headers['content-length']], [text, `bytes ${shown}`, String(text.length)]);
			assert.equal(expectStatus(await get('/film.mp4', { range, 'if-range': '"another"' }), 200).text, '0123456789');
			assert.equal(expectStatus(await get('/film.mp4', { range }, 'HEAD'), 200).headers['content-length'], '10');
			assert.equal(expectStatus(await get('/gone.mp4', { range }), 404).text, 'nothing here');
		}
		assert.equal(expectStatus(await get('/film.mp4', { range: 'bytes=10-' }), 416).headers['content-range'], 'bytes */10');
		expectStatus(await get('/film.mp4', { range: 'bytes=10-', 'if-none-match': whole.etag }), 304);
	});
	test('health is an account’s name as good as any other', async () => {
		const at = (port, path, host) => send('GET', new URL(`http://127.0.0.1:${port}${path}`), { host });
		const port = new URL(server.endpoints.blob).port, ours = `${server.account}.localhost`;
		const own = expectStatus(await at(port, '/health', 'localhost'), 200);
		assert.equal(own.text, '{"status":"ok"}\n');
		await service.getContainerClient('$root').createIfNotExists({ access: 'blob' });
		await service.getContainerClient('$root').setAccessPolicy('blob');
		expectError(await at(port, '/health', ours), 404, 'BlobNotFound');
		expectStatus(await b.put('/$root/health', 'fit'), 201);
		assert.equal(expectStatus(await at(port, '/health', ours), 200).text, 'fit');
		await service.setProperties({ staticWebsite: { enabled: true } });
		expectStatus(await b.put('/$web/health', 'a page'), 201);
		assert.equal(expectStatus(await at(webPort, '/health', 'localhost'), 200).text, 'a page');
	});
	test('$web: a CORS rule of Blob holds from the next request on, as it does for the service itself', async () => {
		const staticWebsite = { enabled: true, indexDocument: 'index.html' };
		const rule = { allowedOrigins: 'https://a.example', allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 1 };
		const allowed = async () => (await send('GET', new URL(`http://127.0.0.1:${webPort}/index.html`), { origin: 'https://a.example' })).headers['access-control-allow-origin'];
		await service.getContainerClient('$web').createIfNotExists();
		for (const cors of [[], [rule], [], [rule], []]) {
			await service.setProperties({ staticWebsite, cors });
			assert.equal(await allowed(), cors.length ? 'https://a.example' : undefined);
			assert.equal(await allowed(), cors.length ? 'https://a.example' : undefined);
		}
	});
});

describe('not built, and says so', () => {
	test('Query, Rename Container, Set Blob Expiry', async () => {
		const path = fresh();
		expectStatus(await b.put(path, 'a,b\n'), 201);
		const query = await client.post(path, { query: { comp: 'query' }, body: '<QueryRequest/>' });
		assert.ok(query.status >= 400 && query.status !== 500 && query.code, `${query.status} ${query.code}`);
		const rename = await client.put(`/${uniqueName('n')}`, { query: { restype: 'container', comp: 'rename' }, headers: { 'x-ms-source-container-name': home } });
		assert.ok(rename.status >= 400 && rename.code, `${rename.status}`);
		expectError(await b.comp(path, 'expiry', { 'x-ms-expiry-option': 'NeverExpire' }), 400, 'HierarchicalNamespaceNotEnabled');
	});
	test('what Data Lake clients ask is refused, never taken for something else', async () => {
		const dir = fresh(), inside = `${dir}/file`;
		for (const path of [dir, inside]) expectStatus(await b.put(path, 'x'), 201);
		for (const [method, path, query, named] of [
			['DELETE', dir, { recursive: 'true' }, 'recursive'],
			['DELETE', dir, { recursive: 'false' }, 'recursive'],
			['HEAD', dir, { action: 'getAccessControl' }, 'action'],
			['HEAD', dir, { action: 'getStatus' }, 'action'],
			['PUT', fresh(), { resource: 'file' }, 'resource'],
			['PUT', fresh(), { resource: 'directory' }, 'resource'],
			['PUT', `/${uniqueName('fs')}`, { resource: 'filesystem' }, 'resource'],
			['GET', `/${home}`, { resource: 'filesystem', recursive: 'true' }, 'resource'],
			['HEAD', `/${home}`, { resource: 'filesystem' }, 'resource'],
			['DELETE', `/${home}`, { resource: 'filesystem' }, 'resource'],
		]) {
			const r = expectStatus(await client.request(method, path, { query }), 400);
			assert.equal(r.headers['x-ms-error-code'], 'UnsupportedQueryParameter', `${method} ${JSON.stringify(query)}`);
			if (method !== 'HEAD') assert.equal(element(r.text, 'QueryParameterName'), named);
		}
		for (const path of [dir, inside]) assert.equal((await b.get(path)).text, 'x');
		// A parameter of somebody's own does not keep a blob from being read.
		for (const query of [{ action: 'download' }, { resource: 'logo' }, { recursive: 'true' }]) expectStatus(await client.get(dir, { query }), 200);
	});
	test('structured bodies', async () => {
		const framed = { 'x-ms-structured-body': 'XSM/1.0; properties=crc64', 'x-ms-structured-content-length': 1 };
		const block = fresh(), page = fresh(), append = fresh();
		expectStatus(await b.put(block, 'x'), 201);
		expectStatus(await b.pageBlob(page, 512), 201);
		expectStatus(await b.appendBlob(append), 201);
		expectError(await b.put(block, 'framed', framed), 400, 'UnsupportedHeader');
		expectError(await b.block(block, 'id', 'framed', framed), 400, 'UnsupportedHeader');
		expectError(await b.blockList(block, [], framed), 400, 'UnsupportedHeader');
		expectError(await b.pages(page, 0, Buffer.alloc(512), framed), 400, 'UnsupportedHeader');
		expectError(await b.append(append, 'framed', framed), 400, 'UnsupportedHeader');
		expectError(await b.get(block, { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }), 400, 'UnsupportedHeader');
		assert.equal((await b.get(block)).text, 'x');
		assert.equal((await b.get(append)).text, '');
	});
});

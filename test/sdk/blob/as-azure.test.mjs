// SPDX-License-Identifier: Apache-2.0
// Answers of the Blob service as they were recorded from the real one, where they are not what one would guess. Each case names
// what it is about; the order follows how much a difference would hurt.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { removeDir, startServer, tempDir } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { blobSas, hmac } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, md5, uniqueName } from '../../lib/assert.mjs';
import { Blobs, base64, crc64, random, uuid } from '../../lib/blob.mjs';

const home = uniqueName('azure'), away = uniqueName('away'), open = uniqueName('open');
let server, client, b; // no versions
let vserver, vclient, v; // with versions
before(async () => {
	server = await startServer();
	client = new Client(server);
	b = new Blobs(client);
	vserver = await startServer({ flags: ['--blobVersioning'] });
	vclient = new Client(vserver);
	v = new Blobs(vclient);
	for (const x of [b, v]) for (const name of [home, away]) expectStatus(await x.container(name), 201);
	expectStatus(await b.container(open, { 'x-ms-blob-public-access': 'blob' }), 201);
});
after(async () => {
	await server?.remove();
	await vserver?.remove();
});
const fresh = (where = home) => `/${where}/${uniqueName('a')}`;
const SYNC = { 'x-ms-requires-sync': 'true' };
const FROM_URL = { 'x-ms-blob-type': 'BlockBlob' };
const items = (xml) => [...xml.matchAll(/<Blob>(.*?)<\/Blob>/gs)].map((m) => m[1]);
async function made(x = b, bytes = 'source', where = home, headers = {}) {
	const path = fresh(where);
	expectStatus(await x.put(path, bytes, headers), 201);
	return path;
}
const properties = (c, inner) => c.put('/', { query: { restype: 'service', comp: 'properties' }, body: `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${inner}</StorageServiceProperties>` });
const softDelete = (c, on) => properties(c, `<DeleteRetentionPolicy><Enabled>${on}</Enabled>${on ? '<Days>7</Days>' : ''}</DeleteRetentionPolicy>`);

describe('data at stake', () => {
	test('a user delegation SAS may begin before its key and end after it', async (t) => {
		const dir = tempDir();
		const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`]);
		assert.equal(made.status, 0, String(made.stderr));
		const s = await startServer({ flags: ['--cert', `${dir}/cert.pem`, '--key', `${dir}/key.pem`, '--oauth', 'basic'] });
		t.after(async () => {
			await s.remove();
			removeDir(dir);
		});
		const c = new Client(s);
		const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
		const now = Math.floor(s.now() / 1000);
		const token = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ aud: 'https://storage.azure.com', iss: 'https://sts.windows.net/tenant/', nbf: now - 60, iat: now - 60, exp: now + 600, oid: uuid(), tid: uuid() })}.c2lnbmVk`;
		const iso = (seconds) => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
		expectStatus(await new Blobs(c).container(home), 201);
		expectStatus(await new Blobs(c).put(`/${home}/b`, 'text'), 201);
		const key = expectStatus(
			await c.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, headers: { authorization: `Bearer ${token}` }, body: `<KeyInfo><Start>${iso(now)}</Start><Expiry>${iso(now + 1800)}</Expiry></KeyInfo>` }),
			200,
		).text;
		const k = Object.fromEntries(['SignedOid', 'SignedTid', 'SignedStart', 'SignedExpiry', 'SignedService', 'SignedVersion', 'Value'].map((n) => [n, element(key, n)]));
		const sas = (st, se) => {
			const sv = '2022-11-02';
			const fields = ['r', st, se, `/blob/${s.account}/${home}/b`, k.SignedOid, k.SignedTid, k.SignedStart, k.SignedExpiry, k.SignedService, k.SignedVersion, '', '', '', '', '', sv, 'b', '', '', '', '', '', '', ''];
			const q = { sv, sr: 'b', sp: 'r', st, se, skoid: k.SignedOid, sktid: k.SignedTid, skt: k.SignedStart, ske: k.SignedExpiry, sks: k.SignedService, skv: k.SignedVersion, sig: hmac(k.Value, fields.join('\n')) };
			return new URLSearchParams(q);
		};
		const get = (st, se) => c.get(`/${home}/b`, { sas: sas(iso(st), iso(se)) });
		assert.equal(expectStatus(await get(now - 900, now + 600), 200).text, 'text');
		assert.equal(expectStatus(await get(now, now + 7200), 200).text, 'text');
		expectError(await get(now + 600, now + 1200), 403, 'AuthenticationFailed');
		await s.advanceClock(1900); // the key is over, the SAS is not
		expectError(await get(now, now + 7200), 403, 'AuthenticationFailed');
	});

	describe('a private source is not opened by the right to write the destination', () => {
		const page = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' };
		const forms = {
			'Copy Blob From URL': (source, headers) => b.copy(fresh(), source, { ...SYNC, ...headers }),
			'Put Blob From URL': (source, headers) => b.copy(fresh(), source, { ...FROM_URL, ...headers }),
			'Put Block From URL': (source, headers) => b.comp(fresh(), 'block', { 'x-ms-copy-source': source, ...headers }, undefined, { blockid: base64('a') }),
			'Put Page From URL': async (source, headers) => {
				const path = fresh();
				expectStatus(await b.pageBlob(path, 1024), 201);
				return b.comp(path, 'page', { 'x-ms-copy-source': source, ...page, ...headers });
			},
			'Append Block From URL': async (source, headers) => {
				const path = fresh();
				expectStatus(await b.appendBlob(path), 201);
				return b.comp(path, 'appendblock', { 'x-ms-copy-source': source, ...headers });
			},
		};
		for (const [name, run] of Object.entries(forms))
			test(name, async () => {
				const from = await made(b, random(512)), pub = await made(b, random(512), open);
				expectError(await run(b.url(from)), 401, 'CannotVerifyCopySource');
				assert.equal((await run(b.url(from))).headers['x-ms-copy-source-error-code'], undefined);
				expectError(await run(b.url(from), { 'x-ms-copy-source-authorization': 'Bearer nonsense' }), 400, 'CannotVerifyCopySource');
				const ok = name === 'Copy Blob From URL' ? 202 : 201;
				expectStatus(await run(b.url(pub)), ok);
				const sas = blobSas(client.account, client.key, home, from.split('/')[2], { sp: 'r', now: server.now() });
				expectStatus(await run(b.url(from, {}, sas)), ok);
				const newer = new Blobs(new Client(server, { version: '2025-11-05' }));
				const r = expectError(await newer.copy(fresh(), b.url(from), { ...SYNC }), 401, 'CannotVerifyCopySource');
				assert.deepEqual([r.headers['x-ms-copy-source-status-code'], r.headers['x-ms-copy-source-error-code']], ['401', 'NoAuthenticationInformation']);
			});
		test('Copy Blob, asynchronous, within the account goes without', async () => {
			expectStatus(await b.copy(fresh(), b.url(await made())), 202);
			expectStatus(await b.copy(fresh(away), b.url(await made())), 202);
		});
	});

	test('Delete Blob of a base with snapshots, with versioning too: 409 SnapshotsPresent', async () => {
		for (const x of [b, v]) {
			const path = await made(x);
			await x.snapshot(path);
			expectError(await x.delete(path), 409, 'SnapshotsPresent');
			expectStatus(await x.delete(path, { 'x-ms-delete-snapshots': 'include' }), 202);
			expectError(await x.get(path), 404, 'BlobNotFound');
		}
	});
	test('Put Blob verifies x-ms-blob-content-md5', async () => {
		const path = fresh();
		expectError(await b.put(path, 'text', { 'x-ms-blob-content-md5': md5('other') }), 400, 'Md5Mismatch');
		expectError(await b.get(path), 404, 'BlobNotFound');
		expectStatus(await b.put(path, 'text', { 'x-ms-blob-content-md5': md5('text') }), 201);
		const large = random(300_000);
		expectError(await b.put(fresh(), large, { 'x-ms-blob-content-md5': md5('other') }), 400, 'Md5Mismatch');
		expectStatus(await b.put(fresh(), large, { 'x-ms-blob-content-md5': md5(large) }), 201);
	});
	test('Put Blob with both MD5 headers: the x-ms one decides; no 16 bytes is InvalidMd5', async () => {
		expectStatus(await b.put(fresh(), 'text', { 'content-md5': md5('other'), 'x-ms-blob-content-md5': md5('text') }), 201);
		expectError(await b.put(fresh(), 'text', { 'content-md5': md5('text'), 'x-ms-blob-content-md5': md5('other') }), 400, 'Md5Mismatch');
		expectError(await b.put(fresh(), 'text', { 'x-ms-blob-content-md5': base64('short') }), 400, 'InvalidMd5');
	});
	test('a backslash in a blob name becomes a slash', async () => {
		const name = uniqueName('dir');
		expectStatus(await b.put(`/${home}/${name}%5Cfile`, 'x'), 201);
		assert.deepEqual(elements((await b.list(home, { prefix: name })).text, 'Name'), [`${name}/file`]);
		assert.equal(expectStatus(await b.get(`/${home}/${name}/file`), 200).text, 'x');
		expectStatus(await b.delete(`/${home}/${name}%5cfile`), 202);
	});
});

describe('another answer', () => {
	test('versioned account, Snapshot Blob makes a new current version, one millisecond after the snapshot', async () => {
		const path = fresh();
		const first = expectStatus(await v.put(path, 'one'), 201).headers['x-ms-version-id'];
		const r = expectStatus(await v.comp(path, 'snapshot'), 201);
		const id = r.headers['x-ms-version-id'], at = r.headers['x-ms-snapshot'];
		const ticks = (text) => BigInt(Date.parse(text.slice(0, 19) + 'Z')) * 10000n + BigInt(text.slice(20, 27));
		assert.equal(ticks(id) - ticks(at), 10000n);
		const now = expectStatus(await v.head(path), 200);
		assert.equal(now.headers['x-ms-version-id'], id);
		assert.equal(now.headers.etag, r.headers.etag);
		assert.equal(expectStatus(await v.get(path, {}, { versionid: first }), 200).text, 'one');
		assert.equal(expectStatus(await v.get(path, {}, { versionid: id }), 200).text, 'one');
		assert.equal(expectStatus(await v.get(path, {}, { snapshot: at }), 200).text, 'one');
		// At once after it: ids go on growing.
		const next = expectStatus(await v.put(path, 'two'), 201).headers['x-ms-version-id'];
		assert.ok(next > id, `${next} after ${id}`);
		assert.equal(expectStatus(await v.get(path, {}, { versionid: id }), 200).text, 'one');
		const all = items((await v.list(home, { prefix: path.split('/')[2], include: 'versions,snapshots' })).text);
		assert.equal(all.length, 4);
	});
	test('versioned account, plain List Blobs shows VersionId and IsCurrentVersion', async () => {
		const path = await made(v);
		const id = (await v.head(path)).headers['x-ms-version-id'];
		const [item] = items((await v.list(home, { prefix: path.split('/')[2] })).text);
		assert.equal(element(item, 'VersionId'), id);
		assert.equal(element(item, 'IsCurrentVersion'), 'true');
	});
	test('GET and HEAD with versionid have no lease headers', async () => {
		const path = await made(v);
		const versionid = (await v.head(path)).headers['x-ms-version-id'];
		for (const r of [await v.head(path, {}, { versionid }), await v.get(path, {}, { versionid })]) {
			expectStatus(r, 200);
			assert.deepEqual([r.headers['x-ms-lease-state'], r.headers['x-ms-lease-status'], r.headers['x-ms-is-current-version']], [undefined, undefined, 'true']);
		}
		assert.equal((await v.head(path)).headers['x-ms-lease-state'], 'available');
	});

	describe('a blob that has only uncommitted blocks', () => {
		const staged = async () => {
			const path = fresh();
			expectStatus(await b.block(path, 'a', 'bytes'), 201);
			return path;
		};
		test('can be leased, and the lease guards it', async () => {
			const path = await staged();
			const id = await b.acquire(path, 60);
			expectError(await b.lease(path, 'acquire', { 'x-ms-lease-duration': 15 }), 409, 'LeaseAlreadyPresent');
			expectError(await b.block(path, 'b', 'more'), 412, 'LeaseIdMissing');
			expectError(await b.blockList(path, ['a']), 412, 'LeaseIdMissing');
			expectError(await b.put(path, 'x'), 412, 'LeaseIdMissing');
			expectError(await b.delete(path), 412, 'LeaseIdMissing');
			const lease = { 'x-ms-lease-id': id };
			expectStatus(await b.block(path, 'b', 'more', lease), 201);
			expectStatus(await b.lease(path, 'renew', lease), 200);
			expectError(await b.head(path), 404, 'BlobNotFound');
			expectStatus(await b.blockList(path, ['a', 'b'], lease), 201);
			assert.equal((await b.head(path)).headers['x-ms-lease-state'], 'leased');
			expectError(await b.delete(path), 412, 'LeaseIdMissing');
			expectStatus(await b.lease(path, 'release', lease), 200);
			assert.equal((await b.get(path)).text, 'bytesmore');
		});
		test('Get Block List with a lease id: 412 LeaseNotPresentWithBlobOperation', async () => {
			const path = await staged();
			expectError(await b.get(path, { 'x-ms-lease-id': uuid() }, { comp: 'blocklist', blocklisttype: 'all' }), 412, 'LeaseNotPresentWithBlobOperation');
			const id = await b.acquire(path);
			expectStatus(await b.get(path, { 'x-ms-lease-id': id }, { comp: 'blocklist', blocklisttype: 'all' }), 200);
		});
		test('DELETE 202, and the blocks are gone', async () => {
			const path = await staged();
			expectStatus(await b.delete(path), 202);
			expectError(await b.get(path, {}, { comp: 'blocklist', blocklisttype: 'all' }), 404, 'BlobNotFound');
			expectError(await b.delete(path), 404, 'BlobNotFound');
		});
		test('Put Block List with an unmet If-Modified-Since: 412; If-None-Match: * still creates', async () => {
			const path = await staged();
			const later = new Date(server.now() + 3600_000).toUTCString();
			expectError(await b.blockList(path, ['a'], { 'if-modified-since': later }), 412, 'ConditionNotMet');
			expectStatus(await b.blockList(path, ['a'], { 'if-none-match': '*' }), 201);
		});
		test('the list shows tier, lease and encryption, and no dates', async () => {
			const path = await staged();
			const [item] = items((await b.list(home, { prefix: path.split('/')[2], include: 'uncommittedblobs' })).text);
			assert.deepEqual(
				['AccessTier', 'LeaseStatus', 'LeaseState', 'ServerEncrypted', 'Content-Length', 'BlobType'].map((n) => element(item, n)),
				['Hot', 'unlocked', 'available', 'true', '0', 'BlockBlob'],
			);
			for (const name of ['Creation-Time', 'Last-Modified', 'Etag']) assert.equal(element(item, name), undefined, name);
		});
		test('two racing acquires: exactly one wins', async () => {
			const path = await staged();
			const all = await Promise.all(Array.from({ length: 16 }, () => b.lease(path, 'acquire', { 'x-ms-lease-duration': -1 })));
			assert.equal(all.filter((r) => r.status === 201).length, 1);
			assert.equal(all.filter((r) => r.code === 'LeaseAlreadyPresent').length, 15);
		});
	});

	test('page range diff: the last page has an empty NextMarker', async () => {
		const path = fresh();
		expectStatus(await b.pageBlob(path, 8192), 201);
		const snapshot = await b.snapshot(path);
		for (const at of [0, 2048, 6144]) expectStatus(await b.pages(path, at, Buffer.alloc(512, 'x')), 201);
		const page = async (marker) => (await b.get(path, {}, { comp: 'pagelist', prevsnapshot: snapshot, maxresults: 2, marker })).text;
		const first = await page();
		assert.ok(element(first, 'NextMarker'));
		assert.match(await page(element(first, 'NextMarker')), /<NextMarker \/>/);
	});
	test('page range diff: pages that were written and then cleared are ClearRange', async () => {
		const path = fresh(), PAGES = 40, FIRST = 2048 - 20; // over the border of two chunks
		expectStatus(await b.pageBlob(path, 4 * 1024 * 1024), 201);
		// Of each page: what is in it, 0 = nothing; and in which epoch it was cleared last.
		const now = Array.from({ length: PAGES }, () => ({ value: 0, cleared: -1 }));
		const snapshots = [], expected = (before, after, epoch) => {
			const list = [];
			for (let i = 0; i < PAGES; i++) {
				const differs = before[i].value !== after[i].value || (!after[i].value && after[i].cleared >= epoch);
				if (!differs) continue;
				const kind = after[i].value ? 'PageRange' : 'ClearRange', last = list.at(-1);
				if (last?.kind === kind && last.end === i) last.end++;
				else list.push({ kind, first: i, end: i + 1 });
			}
			return list;
		};
		const told = async (query) => {
			const xml = (await b.get(path, {}, { comp: 'pagelist', ...query })).text;
			return [...xml.matchAll(/<(PageRange|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End>/g)].map((m) => ({ kind: m[1], first: Number(m[2]) / 512 - FIRST, end: (Number(m[3]) + 1) / 512 - FIRST }));
		};
		const pick = (n) => Math.floor(Math.random() * n);
		let value = 0;
		for (let epoch = 0; epoch < 4; epoch++) {
			for (let step = 0; step < 14; step++) {
				const first = pick(PAGES), count = 1 + pick(Math.min(9, PAGES - first)), at = (FIRST + first) * 512;
				const write = Math.random() < 0.55;
				expectStatus(write ? await b.pages(path, at, Buffer.alloc(count * 512, ++value)) : await b.clear(path, at, count * 512), 201);
				for (let i = first; i < first + count; i++) {
					if (!write && now[i].value) now[i].cleared = epoch;
					now[i].value = write ? value : 0;
				}
			}
			snapshots.push({ id: await b.snapshot(path), pages: now.map((x) => ({ ...x })), epoch: epoch + 1 });
		}
		// Since a snapshot: in the epochs behind it.
		for (const [i, before] of snapshots.entries()) {
			assert.deepEqual(await told({ prevsnapshot: before.id }), expected(before.pages, now, before.epoch), `since ${i}`);
			for (const after of snapshots.slice(i + 1)) assert.deepEqual(await told({ prevsnapshot: before.id, snapshot: after.id }), expected(before.pages, after.pages, before.epoch), `from ${i}`);
		}
	});
	test('incremental copy destination: may be tagged and leased, no version headers', async () => {
		const path = fresh(), to = fresh(away);
		for (const x of [b, v]) {
			expectStatus(await x.pageBlob(path, 1024), 201);
			expectStatus(await x.pages(path, 0, Buffer.alloc(512, 'i')), 201);
			const snapshot = await x.snapshot(path);
			const r = expectStatus(await x.client.put(to, { query: { comp: 'incrementalcopy' }, headers: { 'x-ms-copy-source': x.url(path, { snapshot }) } }), 202);
			assert.equal(r.headers['x-ms-version-id'], undefined);
			for (let i = 0; (await x.head(to)).headers['x-ms-copy-status'] === 'pending'; i++) assert.ok(i < 3000);
			assert.equal((await x.head(to)).headers['x-ms-version-id'], undefined);
			const tags = '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>';
			expectStatus(await x.comp(to, 'tags', {}, tags), 204);
			assert.deepEqual(elements((await x.get(to, {}, { comp: 'tags' })).text, 'Key'), ['k']);
			const id = await x.acquire(to);
			expectStatus(await x.lease(to, 'release', { 'x-ms-lease-id': id }), 200);
		}
	});
	test('a blob name with U+FFFF', async () => {
		const name = `${uniqueName('n')}%EF%BF%BF`;
		expectStatus(await b.put(`/${home}/${name}`, 'x'), 201);
		assert.equal((await b.get(`/${home}/${name}`)).text, 'x');
		expectStatus(await b.list(home, { prefix: name.slice(0, -9) }), 200);
	});
	test('List Containers: include in any case', async () => {
		for (const include of ['Deleted', 'METADATA,deleted']) expectStatus(await client.get('/', { query: { comp: 'list', include } }), 200);
	});
	test('empty conditional headers count as absent', async () => {
		const path = await made();
		const raw = (head) => {
			const bytes = client.bytes('PUT', path, { query: { comp: 'metadata' }, headers: head });
			return bytes;
		};
		const connection = await RawConnection.open(new URL(server.endpoints.blob).port);
		for (const name of ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']) expectStatus(await connection.exchange(raw({ [name]: '' }), 'PUT'), 200);
		for (const name of ['x-ms-source-if-match', 'x-ms-source-if-none-match', 'x-ms-source-if-modified-since', 'x-ms-source-if-unmodified-since'])
			expectStatus(await connection.exchange(client.bytes('PUT', fresh(), { headers: { 'x-ms-copy-source': b.url(path), [name]: '' } }), 'PUT'), 202);
		await connection.end();
	});
	test('blob batch of 257 parts, or of another container: 202 with one error part', async () => {
		const batch = (where, parts) => {
			const body = parts.map((p, i) => `--batch_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: ${i}\r\n\r\n${p}\r\n`).join('') + '--batch_x--\r\n';
			const query = where ? { restype: 'container', comp: 'batch' } : { comp: 'batch' };
			return client.post(where ? `/${where}` : '/', { query, headers: { 'content-type': 'multipart/mixed; boundary=batch_x' }, body });
		};
		const del = (path) => {
			const { url, headers } = client.prepare('DELETE', path, {});
			return `DELETE ${url.pathname} HTTP/1.1\r\n${Object.entries(headers).map(([n, x]) => `${n}: ${x}\r\n`).join('')}`;
		};
		const many = expectStatus(await batch(undefined, Array.from({ length: 257 }, (_, i) => del(`/${home}/n${i}`))), 202);
		assert.equal(many.text.split('HTTP/1.1 ').length - 1, 1);
		assert.match(many.text, /HTTP\/1\.1 400 .*\r\n[^]*ExceedsMaxBatchRequestCount/);
		const keep = await made();
		const other = expectStatus(await batch(away, [del(keep)]), 202);
		assert.match(other.text, /HTTP\/1\.1 400 .*\r\n[^]*InvalidInput/);
		expectStatus(await b.head(keep), 200);
	});
	test('Set Blob Properties takes any Base64 as content MD5 and keeps it as it is', async () => {
		const path = await made();
		for (const value of [base64('short'), base64('much longer than sixteen bytes'), md5('other')]) {
			expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-md5': value }), 200);
			assert.equal((await b.head(path)).headers['content-md5'], value);
			assert.equal(element(items((await b.list(home, { prefix: path.split('/')[2] })).text)[0], 'Content-MD5'), value);
		}
		expectError(await b.comp(path, 'properties', { 'x-ms-blob-content-md5': 'no base64!' }), 400, 'InvalidHeaderValue');
	});
	test('Copy Blob: unmet source tags ConditionNotMet, a missing source BlobNotFound', async () => {
		const path = await made();
		expectError(await b.copy(fresh(), b.url(path), { 'x-ms-source-if-tags': `"k" = 'v'` }), 412, 'ConditionNotMet');
		expectError(await b.copy(fresh(), b.url(path), { 'x-ms-source-if-match': '"0x1"' }), 412, 'SourceConditionNotMet');
		expectError(await b.copy(fresh(), b.url(fresh())), 404, 'BlobNotFound');
	});
	test('an archived snapshot or version is not rehydrated: 409', async () => {
		const path = await made(v, 'x', home, { 'x-ms-access-tier': 'Archive' });
		const versionid = (await v.head(path)).headers['x-ms-version-id'];
		expectStatus(await v.put(fresh(), 'y'), 201);
		expectStatus(await v.comp(path, 'metadata', { 'x-ms-meta-a': 'b' }), 409); // archived: nothing changes it
		const snap = await made(v, 'x');
		const snapshot = await v.snapshot(snap);
		expectStatus(await v.comp(snap, 'tier', { 'x-ms-access-tier': 'Archive' }, undefined, { snapshot }), 200);
		assert.equal((await v.comp(snap, 'tier', { 'x-ms-access-tier': 'Hot' }, undefined, { snapshot })).status, 409);
		expectStatus(await v.comp(path, 'tier', { 'x-ms-access-tier': 'Hot' }), 202);
		assert.ok(versionid);
	});
	test('Restore Container without name or version: MissingRequiredHeader', async () => {
		const query = { restype: 'container', comp: 'undelete' };
		expectError(await client.put(`/${uniqueName('c')}`, { query, headers: { 'x-ms-deleted-container-version': '01D60F8BB59A4652' } }), 400, 'MissingRequiredHeader');
		expectError(await client.put(`/${uniqueName('c')}`, { query, headers: { 'x-ms-deleted-container-name': 'abc' } }), 400, 'MissingRequiredHeader');
	});
});

describe('details', () => {
	test('Put Blob From URL answers Content-MD5 only if a source MD5 was given', async () => {
		const path = await made(b, 'source', open);
		assert.equal(expectStatus(await b.copy(fresh(), b.url(path), FROM_URL), 201).headers['content-md5'], undefined);
		const r = expectStatus(await b.copy(fresh(), b.url(path), { ...FROM_URL, 'x-ms-source-content-md5': md5('source') }), 201);
		assert.equal(r.headers['content-md5'], md5('source'));
	});
	test('Copy Blob From URL answers x-ms-content-crc64 for any length, and says that it is encrypted', async () => {
		for (const bytes of ['', 'source', random(300_000)]) {
			const path = await made(b, bytes, open);
			const r = expectStatus(await b.copy(fresh(open), b.url(path), SYNC), 202);
			assert.equal(r.headers['x-ms-content-crc64'], crc64(bytes), `${bytes.length} bytes`);
			assert.equal(r.headers['x-ms-request-server-encrypted'], 'true');
		}
	});
	test('Put Block List with Content-MD5 answers no CRC64', async () => {
		const path = fresh(), body = `<BlockList><Latest>${base64('a')}</Latest></BlockList>`;
		expectStatus(await b.block(path, 'a', 'bytes'), 201);
		const r = expectStatus(await b.comp(path, 'blocklist', { 'content-md5': md5(body) }, body), 201);
		assert.deepEqual([r.headers['content-md5'], r.headers['x-ms-content-crc64']], [md5(body), undefined]);
		assert.ok(expectStatus(await b.comp(path, 'blocklist', {}, body), 201).headers['x-ms-content-crc64']);
	});
	test('retention of 366 days: InvalidXmlDocument with a reason', async () => {
		const r = expectError(await properties(client, '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>366</Days></DeleteRetentionPolicy>'), 400, 'InvalidXmlDocument');
		assert.ok(element(r.text, 'Reason'));
	});
	test('Find Blobs by Tags echoes MaxResults and Marker', async () => {
		const path = fresh();
		for (const i of [1, 2]) expectStatus(await b.put(`${path}${i}`, 'x', { 'x-ms-tags': 'find=me' }), 201);
		const find = (query) => client.get('/', { query: { comp: 'blobs', where: `"find" = 'me'`, ...query } });
		const one = expectStatus(await find({ maxresults: 1 }), 200);
		assert.equal(element(one.text, 'MaxResults'), '1');
		const marker = element(one.text, 'NextMarker');
		assert.equal(element(expectStatus(await find({ maxresults: 1, marker }), 200).text, 'Marker'), marker);
	});
	test('x-ms-is-soft-deleted on the 404 of what is kept', async () => {
		expectStatus(await softDelete(vclient, true), 202);
		const path = await made(v, 'one');
		const versionid = (await v.head(path)).headers['x-ms-version-id'];
		expectStatus(await v.put(path, 'two'), 201);
		expectStatus(await v.delete(path, {}, { versionid }), 202);
		assert.equal(expectError(await v.head(path, {}, { versionid }), 404, 'BlobNotFound').headers['x-ms-is-soft-deleted'], 'true');
		assert.equal(expectError(await v.get(fresh()), 404, 'BlobNotFound').headers['x-ms-is-soft-deleted'], undefined);
		expectStatus(await softDelete(vclient, false), 202);
	});
	test('Set Blob Properties without a type leaves none', async () => {
		const path = await made(b, 'x', home, { 'x-ms-blob-content-type': 'text/plain' });
		expectStatus(await b.comp(path, 'properties', { 'x-ms-blob-content-language': 'de' }), 200);
		assert.equal((await b.head(path)).headers['content-type'], undefined);
	});
	test('a copied empty append blob has no Content-MD5', async () => {
		const path = fresh(), to = fresh();
		expectStatus(await b.appendBlob(path), 201);
		expectStatus(await b.copy(to, b.url(path)), 202);
		assert.equal((await b.head(to)).headers['content-md5'], undefined);
	});
	test('an empty AccessPolicy is left out', async () => {
		const name = uniqueName('acl');
		expectStatus(await b.container(name), 201);
		const query = { restype: 'container', comp: 'acl' };
		expectStatus(await client.put(`/${name}`, { query, body: '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy /></SignedIdentifier></SignedIdentifiers>' }), 200);
		assert.doesNotMatch((await client.get(`/${name}`, { query })).text, /AccessPolicy/);
	});
	test('AllowPermanentDelete is shown while soft delete is off', async () => {
		expectStatus(await softDelete(client, false), 202);
		const r = expectStatus(await client.get('/', { query: { restype: 'service', comp: 'properties' } }), 200);
		assert.match(r.text, /<DeleteRetentionPolicy><Enabled>false<\/Enabled><AllowPermanentDelete>false<\/AllowPermanentDelete><\/DeleteRetentionPolicy>/);
	});
	test('InvalidHeaderValue: an unaligned page clear, an empty append, sequence number -1', async () => {
		const page = fresh(), append = fresh();
		expectStatus(await b.pageBlob(page, 1024), 201);
		expectStatus(await b.appendBlob(append), 201);
		expectError(await b.clear(page, 0, 100), 400, 'InvalidHeaderValue');
		expectError(await b.append(append, ''), 400, 'InvalidHeaderValue');
		expectError(await b.pages(page, 0, Buffer.alloc(512), { 'x-ms-if-sequence-number-eq': -1 }), 400, 'InvalidHeaderValue');
	});
	test('a nonsense list marker: 400 OutOfRangeInput', async () => {
		expectError(await b.list(home, { marker: 'garbage' }), 400, 'OutOfRangeInput');
		expectError(await client.get('/', { query: { comp: 'list', marker: 'garbage' } }), 400, 'OutOfRangeInput');
	});
	test('versionid together with x-ms-delete-snapshots: the version goes, and nothing else', async () => {
		for (const option of ['include', 'only']) {
			const path = await made(v, 'one'), first = (await v.head(path)).headers['x-ms-version-id'];
			expectStatus(await v.put(path, 'two'), 201);
			const snapshot = await v.snapshot(path);
			expectStatus(await v.delete(path, { 'x-ms-delete-snapshots': option }, { versionid: first }), 202);
			expectError(await v.get(path, {}, { versionid: first }), 404, 'BlobNotFound');
			assert.equal((await v.get(path, {}, { snapshot })).text, 'two');
			assert.equal((await v.get(path)).text, 'two');
			expectError(await v.delete(path, { 'x-ms-delete-snapshots': 'some' }, { versionid: first }), 400, 'InvalidHeaderValue');
			expectError(await v.delete(path, { 'x-ms-delete-snapshots': option }, { snapshot }), 400, 'InvalidHeaderValue');
		}
	});
	test('x-ms-legal-hold: false is told once somebody said so', async () => {
		const path = await made(), told = async () => [(await b.head(path)).headers['x-ms-legal-hold'], (await b.get(path)).headers['x-ms-legal-hold']];
		assert.deepEqual(await told(), [undefined, undefined]);
		expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'true' }), 200);
		assert.deepEqual(await told(), ['true', 'true']);
		const off = expectStatus(await b.comp(path, 'legalhold', { 'x-ms-legal-hold': 'false' }), 200);
		assert.equal(off.headers['x-ms-legal-hold'], 'false');
		assert.deepEqual(await told(), ['false', 'false']);
		const born = await made(b, 'x', home, { 'x-ms-legal-hold': 'false' });
		assert.equal((await b.head(born)).headers['x-ms-legal-hold'], 'false');
	});
	test('Transfer-Encoding is in Access-Control-Expose-Headers', async (t) => {
		const rule = '<CorsRule><AllowedOrigins>http://a.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule>';
		expectStatus(await properties(client, `<Cors>${rule}</Cors>`), 202);
		t.after(() => properties(client, '<Cors />'));
		const path = await made(), origin = { origin: 'http://a.example' };
		for (const r of [await b.get(path, origin), await b.put(path, 'x', origin), await b.get(fresh(), origin)])
			assert.match(r.headers['access-control-expose-headers'], /Content-Length,Date,Transfer-Encoding$/, String(r.status));
	});
	test('a restored container has a new ETag', async (t) => {
		const name = uniqueName('back'), s = await startServer({ flags: ['--containerRetentionDays', '7'] });
		t.after(() => s.remove());
		const c = new Client(s), query = { restype: 'container' };
		const etag = expectStatus(await new Blobs(c).container(name), 201).etag;
		expectStatus(await c.delete(`/${name}`, { query }), 202);
		const version = element((await c.get('/', { query: { comp: 'list', include: 'deleted', prefix: name } })).text, 'Version');
		assert.ok(version, 'the container was not kept');
		const headers = { 'x-ms-deleted-container-name': name, 'x-ms-deleted-container-version': version };
		expectStatus(await c.put(`/${name}`, { query: { ...query, comp: 'undelete' }, headers }), 201);
		assert.notEqual((await c.head(`/${name}`, { query })).etag, etag);
	});
	test('x-ms-client-request-id is not echoed before 2019-02-02', async () => {
		const ask = (version) => client.get('/', { query: { comp: 'list' }, version, headers: { 'x-ms-client-request-id': 'mine' } });
		assert.equal((await ask('2018-11-09')).headers['x-ms-client-request-id'], undefined);
		assert.equal((await ask('2019-02-02')).headers['x-ms-client-request-id'], 'mine');
	});
	test('clearing pages says nothing of encryption', async () => {
		const path = fresh();
		expectStatus(await b.pageBlob(path, 1024), 201);
		assert.equal(expectStatus(await b.clear(path, 0, 512), 201).headers['x-ms-request-server-encrypted'], undefined);
	});
});

describe('older clients', () => {
	describe('conditional headers on containers, as the concurrency document says', () => {
		const query = { restype: 'container' };
		const writes = {
			'Set Container Metadata': (name, headers) => client.put(`/${name}`, { query: { ...query, comp: 'metadata' }, headers: { 'x-ms-meta-a': uniqueName('m'), ...headers } }),
			'Set Container ACL': (name, headers) => client.put(`/${name}`, { query: { ...query, comp: 'acl' }, headers }),
			'Lease Container': (name, headers) => client.put(`/${name}`, { query: { ...query, comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', ...headers } }),
			'Delete Container': (name, headers) => client.delete(`/${name}`, { query, headers }),
		};
		for (const [title, write] of Object.entries(writes))
			test(title, async () => {
				const name = uniqueName('cond');
				const etag = expectStatus(await b.container(name), 201).etag;
				for (const headers of [{ 'if-match': '"0x8D000000000000"' }, { 'if-none-match': etag }, { 'if-none-match': '*' }]) {
					expectError(await write(name, headers), 412, 'ConditionNotMet');
					const now = expectStatus(await client.head(`/${name}`, { query }), 200);
					assert.deepEqual([now.etag, now.headers['x-ms-meta-a'], now.headers['x-ms-lease-state']], [etag, undefined, 'available']);
				}
				assert.ok((await write(name, { 'if-match': etag })).status < 300);
			});
		test('of racing Set Container Metadata with one If-Match exactly one wins', async () => {
			const name = uniqueName('cond');
			const etag = expectStatus(await b.container(name), 201).etag;
			const all = await Promise.all(Array.from({ length: 16 }, () => writes['Set Container Metadata'](name, { 'if-match': etag })));
			assert.deepEqual([all.filter((r) => r.status === 200).length, all.filter((r) => r.code === 'ConditionNotMet').length], [1, 15]);
		});
	});
	test('a 204 carries Content-Length: 0', async () => {
		const path = await made();
		const tags = '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>';
		assert.equal(expectStatus(await b.comp(path, 'tags', {}, tags), 204).headers['content-length'], '0');
	});
	test('Put Page and Clear Pages keep the stored Content-MD5', async () => {
		const path = fresh();
		expectStatus(await b.pageBlob(path, 1024, { 'x-ms-blob-content-md5': md5('said') }), 201);
		expectStatus(await b.pages(path, 0, Buffer.alloc(512, 'x')), 201);
		expectStatus(await b.clear(path, 0, 512), 201);
		assert.equal((await b.head(path)).headers['content-md5'], md5('said'));
	});
	test('CORS: more than 64 origins InvalidXmlNodeValue; TRACE and CONNECT are methods', async () => {
		const cors = (origins, methods) =>
			properties(client, `<Cors><CorsRule><AllowedOrigins>${origins}</AllowedOrigins><AllowedMethods>${methods}</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors>`);
		const origins = (n) => Array.from({ length: n }, (_, i) => `http://o${i}`).join(',');
		expectStatus(await cors(origins(64), 'GET'), 202);
		expectError(await cors(origins(65), 'GET'), 400, 'InvalidXmlNodeValue');
		expectStatus(await cors('*', 'TRACE,CONNECT'), 202);
		expectError(await cors('*', 'BREW'), 400, 'InvalidXmlNodeValue');
		expectStatus(await properties(client, '<Cors />'), 202);
	});
	test('before 2019-02-02 Put Block, Put Block List and Put Page answer the MD5 of what came', async () => {
		const old = new Blobs(new Client(server, { version: '2018-11-09' })), path = fresh(), page = fresh();
		const list = `<BlockList><Latest>${base64('a')}</Latest></BlockList>`, bytes = Buffer.alloc(512, 'x');
		assert.equal(expectStatus(await old.block(path, 'a', 'bytes'), 201).headers['content-md5'], md5('bytes'));
		assert.equal(expectStatus(await old.comp(path, 'blocklist', {}, list), 201).headers['content-md5'], md5(list));
		expectStatus(await old.pageBlob(page, 1024), 201);
		const r = expectStatus(await old.pages(page, 0, bytes), 201);
		assert.deepEqual([r.headers['content-md5'], r.headers['x-ms-content-crc64']], [md5(bytes), undefined]);
	});
	test('versions 2009-09-19 and 2011-08-18: ETags without quotes before 2011-08-18', async () => {
		for (const version of ['2009-09-19', '2011-08-18']) {
			const old = new Blobs(new Client(server, { version })), path = fresh();
			const r = expectStatus(await old.put(path, 'x'), 201);
			const quoted = version === '2011-08-18';
			assert.match(r.etag, quoted ? /^"0x[0-9A-F]+"$/ : /^0x[0-9A-F]+$/);
			assert.equal(r.headers['x-ms-version'], version);
			assert.equal((await old.get(path)).etag, r.etag);
			expectStatus(await old.comp(path, 'metadata', { 'if-match': r.etag, 'x-ms-meta-a': 'b' }), 200);
			expectError(await old.comp(path, 'metadata', { 'if-match': r.etag, 'x-ms-meta-a': 'c' }), 412, 'ConditionNotMet');
		}
	});
	test('headers and elements younger than the version are left out', async () => {
		const path = await made();
		const young = ['x-ms-server-encrypted', 'x-ms-access-tier', 'x-ms-access-tier-inferred', 'x-ms-creation-time', 'x-ms-lease-state', 'accept-ranges'];
		const since = { '2009-09-19': [], '2011-08-18': ['accept-ranges'], '2012-02-12': ['x-ms-lease-state', 'accept-ranges'], '2015-12-11': ['x-ms-lease-state', 'accept-ranges', 'x-ms-server-encrypted'] };
		for (const [version, shown] of Object.entries(since)) {
			const r = expectStatus(await client.head(path, { version }), 200);
			assert.deepEqual(young.filter((name) => r.headers[name] !== undefined).sort(), [...shown].sort(), version);
			const [item] = items((await client.get(`/${home}`, { version, query: { restype: 'container', comp: 'list', prefix: path.split('/')[2] } })).text);
			for (const [name, from] of [['Creation-Time', '2017-11-09'], ['AccessTier', '2017-04-17'], ['ServerEncrypted', '2015-12-11'], ['LeaseState', '2012-02-12']])
				assert.equal(element(item, name) !== undefined, version >= from, `${name} in ${version}`);
			const put = expectStatus(await client.put(fresh(), { version, body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 201);
			assert.equal(put.headers['x-ms-content-crc64'], undefined, version);
			assert.equal(put.headers['x-ms-request-server-encrypted'], version >= '2015-12-11' ? 'true' : undefined, version);
		}
	});
	test('a copy source of the form /account/container/blob in the versions that had it', async () => {
		const path = await made();
		const old = new Blobs(new Client(server, { version: '2011-08-18' })), to = fresh();
		expectStatus(await old.copy(to, `/${client.account}${path}`), 201);
		assert.equal((await b.get(to)).text, 'source');
		expectError(await b.copy(fresh(), `/${client.account}${path}`), 400, 'InvalidHeaderValue');
	});
});

describe('what other servers are tested for', () => {
	test('tag expressions: long keys, values tags cannot have, more than ten conditions: 400', async () => {
		const find = (where) => client.get('/', { query: { comp: 'blobs', where } });
		expectError(await find(`"${'k'.repeat(129)}" = 'v'`), 400, 'InvalidQueryParameterValue');
		expectError(await find(`"k" = 'v!'`), 400, 'InvalidQueryParameterValue');
		expectError(await find(Array.from({ length: 11 }, (_, i) => `"k${i}" = 'v'`).join(' AND ')), 400, 'InvalidQueryParameterValue');
		expectStatus(await find(Array.from({ length: 10 }, (_, i) => `"k${i}" = 'v'`).join(' AND ')), 200);
	});
	test('Get User Delegation Key signed by an account key names the scheme', async () => {
		const r = await client.post('/', { query: { restype: 'service', comp: 'userdelegationkey' }, body: '<KeyInfo><Expiry>2030-01-01T00:00:00Z</Expiry></KeyInfo>' });
		assert.equal(r.status, 403);
		assert.equal(element(r.text, 'AuthenticationErrorDetail'), 'Only authentication scheme Bearer is supported');
	});
	test('x-ms-copy-source is echoed escaped, with its SAS fields but the signature', async () => {
		const name = `${uniqueName('with')} blank`, path = `/${home}/${encodeURIComponent(name)}`, to = fresh();
		expectStatus(await b.put(path, 'x'), 201);
		const sas = blobSas(client.account, client.key, home, name, { sp: 'r', now: server.now() });
		expectStatus(await b.copy(to, b.url(path, {}, sas)), 202);
		const shown = (await b.head(to)).headers['x-ms-copy-source'];
		assert.ok(shown.startsWith(b.url(path)), shown);
		const fields = new URL(shown).searchParams;
		assert.equal(fields.get('sp'), 'r');
		assert.equal(fields.get('sig'), null);
	});
	test('a block blob copied with a page tier: InvalidHeaderValue', async () => {
		expectError(await b.copy(fresh(), b.url(await made()), { 'x-ms-access-tier': 'P10' }), 400, 'InvalidHeaderValue');
	});
	test('copy from Archive with an access tier works', async () => {
		const path = await made(b, 'cold bytes', home, { 'x-ms-access-tier': 'Archive' }), to = fresh();
		expectError(await b.copy(fresh(), b.url(path)), 409, 'BlobArchived');
		expectStatus(await b.copy(to, b.url(path), { 'x-ms-access-tier': 'Hot' }), 202);
		await server.advanceClock(60);
		assert.equal((await b.get(to)).text, 'cold bytes');
		expectError(await b.get(path), 409, 'BlobArchived');
	});
});

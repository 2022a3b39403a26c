// SPDX-License-Identifier: Apache-2.0
// Racing clients of the File service, each on a connection of its own: creates of one name, renames of one source, rename against
// create, delete and list, range writes against reads, quota, leases; and all of it under kill -9.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { RawConnection } from '../../lib/http.mjs';
import { element, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, range } from '../../lib/file.mjs';

const CLIENTS = 8;
let server, client, files, home, connections;
before(async () => {
	server = await startServer();
	client = fileClient(server);
	files = new Files(client);
	home = await files.newShare();
});
after(() => server?.remove());
// Opened for each test: one that uses few of them, and takes long, would find the others closed for being idle.
beforeEach(async () => {
	connections = await Promise.all(Array.from({ length: CLIENTS }, () => RawConnection.open(server.ports.file)));
});
afterEach(async () => {
	for (const c of connections) await c.end();
});

// All at once, each on its own connection.
const race = (requests) => Promise.all(requests.map(([method, path, o], i) => connections[i % CLIENTS].exchange(client.bytes(method, path, o), method)));
const create = (path, size, headers = {}) => ['PUT', path, { headers: { 'x-ms-type': 'file', 'x-ms-content-length': size, ...headers } }];
const mkdir = (path) => ['PUT', path, { query: { restype: 'directory' } }];
const rename = (from, to, headers = {}) => ['PUT', to, { query: { comp: 'rename' }, headers: { 'x-ms-file-rename-source': files.url(from), ...headers } }];
const write = (path, first, body) => ['PUT', path, { query: { comp: 'range' }, headers: { 'x-ms-write': 'update', 'x-ms-range': range(first, body.length) }, body }];
const statuses = (answers) => answers.map((r) => r.status).sort();
const fresh = (prefix = 'f') => `${home}/${uniqueName(prefix)}`;

describe('one winner', () => {
	test('creates of one directory', async () => {
		for (let round = 0; round < scaled(300, 20); round++) {
			const path = fresh('d');
			const answers = await race(Array.from({ length: CLIENTS }, () => mkdir(path)));
			assert.deepEqual(statuses(answers), [201, ...Array(CLIENTS - 1).fill(409)]);
			assert.ok(answers.every((r) => r.status === 201 || r.code === 'ResourceAlreadyExists'));
		}
	});
	test('creates of one file in different case are one file', async () => {
		for (let round = 0; round < scaled(200, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			const answers = await race(Array.from({ length: CLIENTS }, (_, i) => create(`${d}/${i % 2 ? 'NAME' : 'name'}`, i)));
			assert.deepEqual(statuses(answers), Array(CLIENTS).fill(201));
			assert.equal(new Set(answers.map((r) => r.headers['x-ms-file-id'])).size, 1, 'one id');
			assert.equal((await files.names(d)).length, 1);
			assert.equal(new Set(answers.map((r) => r.etag)).size, CLIENTS, 'every write has an ETag of its own');
		}
	});
	test('renames of one source', async () => {
		for (let round = 0; round < scaled(300, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			await files.put(`${d}/source`, 'x');
			const answers = await race(Array.from({ length: CLIENTS }, (_, i) => rename(`${d}/source`, `${d}/to${i}`)));
			assert.deepEqual(statuses(answers), [200, ...Array(CLIENTS - 1).fill(404)]);
			assert.deepEqual(await files.names(d), [`to${answers.findIndex((r) => r.status === 200)}`]);
		}
	});
	test('renames onto one name', async () => {
		for (let round = 0; round < scaled(200, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			for (let i = 0; i < CLIENTS; i++) expectStatus(await files.create(`${d}/s${i}`, i), 201);
			const answers = await race(Array.from({ length: CLIENTS }, (_, i) => rename(`${d}/s${i}`, `${d}/target`)));
			assert.deepEqual(statuses(answers), [200, ...Array(CLIENTS - 1).fill(409)]);
			assert.equal((await files.names(d)).length, CLIENTS);
			assert.equal((await files.head(`${d}/target`)).headers['content-length'], String(answers.findIndex((r) => r.status === 200)));
		}
	});
	test('acquires of one lease', async () => {
		for (let round = 0; round < scaled(200, 20); round++) {
			const path = fresh();
			expectStatus(await files.create(path, 1), 201);
			const answers = await race(Array.from({ length: CLIENTS }, () => ['PUT', path, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } }]));
			assert.deepEqual(statuses(answers), [201, ...Array(CLIENTS - 1).fill(409)]);
		}
	});
	test('a directory is deleted or something is made in it, never both', async () => {
		for (let round = 0; round < scaled(300, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			const [deleted, made] = await race([['DELETE', d, { query: { restype: 'directory' } }], create(`${d}/f`, 1)]);
			assert.ok((deleted.status === 202 && made.status === 404 && made.code === 'ParentNotFound') || (deleted.status === 409 && made.status === 201), `${deleted.status} ${made.status}`);
		}
	});
});

describe('rename', () => {
	test('a reader sees the old or the new name, a list one of them, never both or neither', async () => {
		const d = fresh('d');
		expectStatus(await files.mkdir(d), 201);
		await files.put(`${d}/a`, 'bytes');
		let at = 'a', done = false;
		const mover = (async () => {
			for (let i = 0; i < scaled(400, 30); i++) {
				const to = at === 'a' ? 'b' : 'a';
				const r = await connections[0].exchange(client.bytes(...rename(`${d}/${at}`, `${d}/${to}`)), 'PUT');
				assert.equal(r.status, 200, r.text);
				at = to;
			}
			done = true;
		})();
		const lister = (async () => {
			while (!done) {
				const r = await connections[1].exchange(client.bytes('GET', d, { query: { restype: 'directory', comp: 'list' } }));
				assert.match(r.text, /^[^]*<Entries><File><Name>[ab]<\/Name>(?:(?!<Name>)[^])*<\/Entries>/, 'exactly one name');
			}
		})();
		const reader = (async () => {
			while (!done) {
				const r = await connections[2].exchange(client.bytes('GET', `${d}/a`));
				assert.ok((r.status === 200 && r.text === 'bytes') || r.status === 404, `${r.status} ${r.text}`);
			}
		})();
		await Promise.all([mover, lister, reader]);
	});
	test('of a directory, against creates below it: every file is somewhere', async () => {
		for (let round = 0; round < scaled(100, 10); round++) {
			const d = fresh('d'), e = fresh('e');
			expectStatus(await files.mkdir(d), 201);
			const answers = await race([rename(d, e), ...Array.from({ length: CLIENTS - 1 }, (_, i) => create(`${d}/f${i}`, 1))].map((r, i) => (i ? r : ['PUT', e, { ...r[2], query: { restype: 'directory', comp: 'rename' } }])));
			assert.equal(answers[0].status, 200);
			const made = answers.slice(1).map((r, i) => (r.status === 201 ? `f${i}` : undefined)).filter(Boolean);
			assert.deepEqual(await files.names(e), made);
			assert.equal((await files.dir('GET', d)).status, 404);
		}
	});
	test('two directories into each other: never a circle', async () => {
		for (let round = 0; round < scaled(100, 10); round++) {
			const a = fresh('a'), b = fresh('b');
			for (const path of [a, b]) expectStatus(await files.mkdir(path), 201);
			const into = (from, to) => ['PUT', `${to}/x`, { query: { restype: 'directory', comp: 'rename' }, headers: { 'x-ms-file-rename-source': files.url(from) } }];
			const answers = await race([into(a, b), into(b, a)]);
			assert.equal(answers.filter((r) => r.status === 200).length, 1, answers.map((r) => `${r.status} ${r.code}`).join());
		}
	});
});

describe('the same names at once', () => {
	test('rename against create of its target: never both files, never a lost one', async () => {
		const seen = { moved: 0, refused: 0 };
		for (let round = 0; round < scaled(400, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			expectStatus(await files.create(`${d}/source`, 1), 201);
			const requests = [rename(`${d}/source`, `${d}/target`), create(`${d}/target`, 2)];
			const [moved, made] = round % 2 ? await race(requests) : (await race(requests.reverse())).reverse();
			assert.equal(made.status, 201);
			assert.ok(moved.status === 200 || (moved.status === 409 && moved.code === 'ResourceAlreadyExists'), `${moved.status} ${moved.code}`);
			// Whoever came second found the other's file: Create replaces it, the rename refuses.
			assert.deepEqual(await files.names(d), moved.status === 200 ? ['target'] : ['source', 'target']);
			assert.equal((await files.head(`${d}/target`)).headers['content-length'], '2');
			assert.equal(moved.headers['x-ms-file-id'] === made.headers['x-ms-file-id'], moved.status === 200);
			seen[moved.status === 200 ? 'moved' : 'refused']++;
		}
		assert.ok(seen.moved && seen.refused, JSON.stringify(seen));
	});
	test('rename, delete and write of one file: what succeeded is one order of them', async () => {
		for (let round = 0; round < scaled(400, 20); round++) {
			const d = fresh('d');
			expectStatus(await files.mkdir(d), 201);
			await files.put(`${d}/f`, 'old');
			const [moved, gone, wrote] = await race([rename(`${d}/f`, `${d}/g`), ['DELETE', `${d}/f`, {}], write(`${d}/f`, 0, Buffer.from('new'))]);
			const names = await files.names(d);
			assert.ok((moved.status === 200 && gone.status === 404) || (moved.status === 404 && gone.status === 202), `${moved.status} ${gone.status}`);
			assert.deepEqual(names, moved.status === 200 ? ['g'] : []);
			assert.ok(wrote.status === 201 || wrote.status === 404, `${wrote.status} ${wrote.code}`);
			if (names.length) assert.equal((await files.get(`${d}/g`)).text, wrote.status === 201 ? 'new' : 'old');
		}
	});
	test('creates and deletes against lists: a name is there once or not at all, with the size of one create', async () => {
		const d = fresh('d');
		expectStatus(await files.mkdir(d), 201);
		let done = false, lists = 0, seen = 0;
		const writers = Array.from({ length: 4 }, async (_, w) => {
			for (let i = 0; i < scaled(300, 20); i++) {
				const path = `${d}/n${i % 3}`;
				const [method, where, o] = (i + w) % 4 ? create(path, 1000 + w) : ['DELETE', path, {}];
				const r = await connections[w].exchange(client.bytes(method, where, o), method);
				assert.ok([201, 202, 404].includes(r.status), r.text);
			}
		});
		const listers = Array.from({ length: 3 }, async (_, i) => {
			for (; !done; lists++) {
				const r = await connections[4 + i].exchange(client.bytes('GET', d, { query: { restype: 'directory', comp: 'list' } }));
				assert.equal(r.status, 200);
				const entries = [...r.text.matchAll(/<File><Name>(n\d)<\/Name><FileId>\d+<\/FileId><Properties><Content-Length>(\d+)</g)];
				assert.equal(entries.length, r.text.split('<File>').length - 1, 'every entry was looked at');
				seen += entries.length;
				assert.equal(new Set(entries.map((m) => m[1])).size, entries.length);
				assert.ok(entries.every((m) => Number(m[2]) >= 1000 && Number(m[2]) < 1004), r.text);
			}
		});
		await Promise.all(writers);
		done = true;
		await Promise.all(listers);
		assert.ok(lists > 3 && seen > 3);
	});
	test('after a lease was acknowledged no write without it succeeds', async () => {
		for (let round = 0; round < scaled(200, 15); round++) {
			const path = fresh();
			expectStatus(await files.create(path, 4), 201);
			let leased = 0, id;
			const acquire = (async () => {
				const r = await connections[0].exchange(client.bytes('PUT', path, { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' } }), 'PUT');
				expectStatus(r, 201);
				id = r.headers['x-ms-lease-id'];
				leased = performance.now();
			})();
			const writers = Array.from({ length: 4 }, async (_, w) => {
				for (let i = 0; i < 4; i++) {
					const began = performance.now();
					const r = await connections[1 + w].exchange(client.bytes(...write(path, 0, Buffer.from('data'))), 'PUT');
					assert.ok(r.status === 201 || (r.status === 412 && r.code === 'LeaseIdMissing'), `${r.status} ${r.code}`);
					assert.ok(!(r.status === 201 && leased && began > leased), 'a write that began after the lease was there');
				}
			});
			await Promise.all([acquire, ...writers]);
			expectStatus(await files.write(path, 0, 'mine', { 'x-ms-lease-id': id }), 201);
		}
	});
});

describe('bytes', () => {
	test('writes that overlap: where they do, all bytes are of the later one', async () => {
		const path = fresh();
		expectStatus(await files.create(path, 9000), 201);
		for (let round = 0; round < scaled(300, 20); round++) {
			const [a, b] = [1 + (round % 100), 101 + (round % 100)];
			// Odd offsets and lengths: neither pages of 512 nor the pieces that are kept.
			const answers = await race([write(path, 0, Buffer.alloc(6001, a)), write(path, 2999, Buffer.alloc(6001, b))]);
			assert.deepEqual(statuses(answers), [201, 201]);
			const { body } = await files.get(path), later = answers[0].etag > answers[1].etag ? a : b;
			assert.ok(body.subarray(0, 2999).every((byte) => byte === a) && body.subarray(6001).every((byte) => byte === b), 'what only one of them wrote');
			assert.ok(body.subarray(2999, 6001).every((byte) => byte === later), 'what both wrote');
		}
	});
	test('a read sees whole writes only', async () => {
		const path = fresh(), size = 96 * 1024;
		expectStatus(await files.create(path, size), 201);
		let done = false;
		const wrote = new Map(), read = [];
		const writers = Array.from({ length: 3 }, async (_, w) => {
			for (let i = 0; i < scaled(100, 10); i++) {
				const value = 1 + ((3 * i + w) % 250);
				const r = await connections[w].exchange(client.bytes(...write(path, 0, Buffer.alloc(size, value))), 'PUT');
				assert.equal(r.status, 201, r.text);
				wrote.set(r.etag, value);
			}
		});
		const readers = Array.from({ length: 3 }, async (_, i) => {
			while (!done) {
				const r = await connections[3 + i].exchange(client.bytes('GET', path));
				assert.equal(r.status, 200);
				assert.ok(r.body.every((byte) => byte === r.body[0]), 'one write or another, not both');
				read.push([r.etag, r.body[0]]);
			}
		});
		await Promise.all(writers);
		done = true;
		await Promise.all(readers);
		// The bytes are those that the ETag beside them was given for.
		const known = read.filter(([etag]) => wrote.has(etag));
		assert.ok(known.length > 0);
		for (const [etag, value] of known) assert.equal(value, wrote.get(etag));
	});
	test('writers of neighbouring ranges do not disturb each other', async () => {
		const path = fresh(), each = 1000;
		expectStatus(await files.create(path, CLIENTS * each), 201);
		for (let round = 0; round < scaled(30, 5); round++) {
			const answers = await race(Array.from({ length: CLIENTS }, (_, i) => write(path, i * each, Buffer.alloc(each, 1 + ((round + i) % 250)))));
			assert.deepEqual(statuses(answers), Array(CLIENTS).fill(201));
			const { body } = await files.get(path);
			for (let i = 0; i < CLIENTS; i++) assert.ok(body.subarray(i * each, (i + 1) * each).every((byte) => byte === 1 + ((round + i) % 250)));
		}
	});
	test('quota: together never more than it', async () => {
		for (let round = 0; round < scaled(30, 3); round++) {
			const own = await files.newShare({ 'x-ms-share-quota': 1 }), size = Math.floor(1024 ** 3 / 5) + 1;
			const answers = await race(Array.from({ length: CLIENTS }, (_, i) => create(`${own}/f${i}`, size)));
			assert.deepEqual(statuses(answers), [...Array(4).fill(201), ...Array(CLIENTS - 4).fill(403)]);
			assert.equal(Number(element((await files.shareComp('GET', own, 'stats')).text, 'ShareUsageBytes')), 4 * size);
		}
	});
});

test('under kill -9: what was acknowledged is there, and names are whole', { timeout: 300_000 }, async () => {
	const own = await startServer();
	try {
		const c = fileClient(own), f = new Files(c), share = await f.newShare();
		const wrote = new Map();
		for (let crash = 0; crash < scaled(3, 1); crash++) {
			const workers = Array.from({ length: 6 }, async (_, w) => {
				const name = `${share}/w${w}`;
				try {
					if (!wrote.has(w)) {
						expectStatus(await f.create(`${name}-0`, 8), 201);
						wrote.set(w, { at: 0, value: 0n });
					}
					for (;;) {
						const state = wrote.get(w), next = Buffer.alloc(8);
						next.writeBigUInt64LE(state.value + 1n);
						state.tried = { at: state.at, value: state.value + 1n };
						expectStatus(await f.write(`${name}-${state.at}`, 0, next), 201);
						state.value += 1n;
						state.tried = { at: 1 - state.at, value: state.value };
						expectStatus(await f.rename(`${name}-${state.at}`, `${name}-${1 - state.at}`), 200);
						state.at = 1 - state.at;
						state.tried = undefined;
					}
				} catch (error) {
					if (error.name === 'AssertionError') throw error;
				}
			});
			await new Promise((resolve) => setTimeout(resolve, 700));
			await own.kill9();
			await Promise.all(workers);
			await own.start();
			for (const [w, state] of wrote) {
				const found = [];
				for (const at of [0, 1]) {
					const r = await f.get(`${share}/w${w}-${at}`);
					if (r.status === 200) found.push({ at, value: r.body.readBigUInt64LE() });
				}
				assert.equal(found.length, 1, `worker ${w}: one name`);
				const [now] = found, { tried } = state;
				const same = (a, b) => a.at === b.at && a.value === b.value;
				assert.ok(same(now, state) || (tried && same(now, tried)), `worker ${w}: ${JSON.stringify({ now: String(now.value), at: now.at })}`);
				Object.assign(state, now, { tried: undefined });
			}
		}
	} finally {
		await own.remove();
	}
});

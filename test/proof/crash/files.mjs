// SPDX-License-Identifier: Apache-2.0
// Clients of the File service for tests that end the server or its disk under them: each has files of its own, creates them with their
// bytes, writes over all of them, moves them between two directories and deletes them. What may be there afterwards is the last
// acknowledged state or one of those asked for later, whole, in one directory and not in both, and with the use of the share right.
import assert from 'node:assert/strict';
import { RawConnection } from '../../lib/http.mjs';
import { element, expectStatus } from '../../lib/assert.mjs';
import { Files, fileClient, range } from '../../lib/file.mjs';

const SIZES = [40, 500, 4000, 32_768, 32_769, 100_000, 700_000];
const FILES_PER_CLIENT = 5;
const GONE = { n: 0, gone: true };
const clientOf = (server) => fileClient(server, { version: '2026-02-06' }); // Create File carries the bytes
const payload = (key, n, size) => Buffer.alloc(size, `${key}:${n};`);

export async function prepareFiles(server, share) {
	const files = new Files(clientOf(server));
	expectStatus(await files.share(share, { 'x-ms-share-quota': 100 }), 201);
	for (const dir of ['a', 'b']) expectStatus(await files.mkdir(`/${share}/${dir}`), 201);
}

// The request that brings a file from one state to the next, and that state.
function step(files, share, key, s, next) {
	const at = s.acked, n = ++s.n, dice = next(8);
	const where = (v) => `/${share}/${v.dir}/${key}`;
	if (at.gone || dice < 3) {
		const to = { n, size: SIZES[next(SIZES.length)], dir: at.dir ?? (next(2) ? 'a' : 'b') };
		return [to, 'PUT', where(to), { headers: { 'x-ms-type': 'file', 'x-ms-content-length': to.size }, body: payload(key, n, to.size) }];
	}
	if (dice < 5) {
		const to = { ...at, n };
		return [to, 'PUT', where(at), { query: { comp: 'range' }, headers: { 'x-ms-write': 'update', 'x-ms-range': range(0, at.size) }, body: payload(key, n, at.size) }];
	}
	if (dice < 7) {
		const to = { ...at, dir: at.dir === 'a' ? 'b' : 'a' };
		return [to, 'PUT', where(to), { query: { comp: 'rename' }, headers: { 'x-ms-file-rename-source': files.url(where(at)) } }];
	}
	return [GONE, 'DELETE', where(at), {}];
}

// One client, until its connection dies. heard(status) says whether the answer counts.
export async function writeFiles(server, share, id, state, next, heard = () => true) {
	const client = clientOf(server), files = new Files(client);
	const connection = await RawConnection.open(server.ports.file);
	try {
		for (;;) {
			const key = `c${id}-f${next(FILES_PER_CLIENT)}`;
			const s = (state[key] ??= { n: 0, acked: GONE, maybe: [] });
			const [to, method, where, o] = step(files, share, key, s, next);
			s.maybe.push(to);
			const r = await connection.exchange(client.bytes(method, where, o), method);
			if (!heard(r.status)) break;
			assert.ok(r.status < 300, `${method} ${where}: ${r.status} ${r.text}`);
			s.acked = to;
			s.maybe = [];
		}
	} catch (error) {
		if (error.code === 'ERR_ASSERTION') throw error;
	} finally {
		await connection.end();
	}
}

const show = (v) => (v.gone ? 'gone' : `${v.dir} version ${v.n} of ${v.size} bytes`);

// What is missing or wrong, as lines; what is there becomes what is known.
export async function lossesOfFiles(server, share, state) {
	const files = new Files(clientOf(server)), lost = [], listed = new Map();
	let used = 0;
	for (const dir of ['a', 'b']) {
		const r = await files.list(`/${share}/${dir}`);
		if (r.status !== 200) return [`the list of ${dir}: ${r.status} ${r.code}`];
		for (const name of await files.names(`/${share}/${dir}`)) listed.set(name, (listed.get(name) ?? '') + dir);
	}
	for (const [key, s] of Object.entries(state)) {
		const candidates = [s.acked, ...s.maybe];
		const seen = [];
		for (const dir of ['a', 'b']) {
			const r = await files.get(`/${share}/${dir}/${key}`);
			if (r.status === 404) continue;
			if (r.status !== 200) lost.push(`${key}: ${r.status}`);
			const n = Number(/^[^:]*:(\d+);/.exec(r.text)?.[1]);
			if (!r.body.equals(payload(key, n, r.body.length))) lost.push(`${key} in ${dir}: version ${n} is not whole`);
			used += r.body.length;
			seen.push({ n, size: r.body.length, dir });
		}
		const found = seen.length > 1 ? undefined : candidates.find((v) => (seen.length ? !v.gone && v.n === seen[0].n && v.size === seen[0].size && v.dir === seen[0].dir : v.gone));
		if (!found) lost.push(`${key}: there is ${seen.map(show).join(' and ') || 'nothing'}; acknowledged: ${show(s.acked)}, unanswered: ${s.maybe.map(show).join(', ')}`);
		else s.acked = found;
		if ((listed.get(key) ?? '') !== seen.map((v) => v.dir).join('')) lost.push(`${key}: listed in '${listed.get(key) ?? ''}'`);
		s.maybe = [];
	}
	const stats = await files.shareComp('GET', `/${share}`, 'stats');
	if (stats.status !== 200 || Number(element(stats.text, 'ShareUsageBytes')) !== used) lost.push(`the share's use is not ${used}: ${stats.text}`);
	return lost;
}

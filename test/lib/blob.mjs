// SPDX-License-Identifier: Apache-2.0
// Short forms of the blob operations for tests that make many of them, and the service's CRC64, written apart from the server's.
import crypto from 'node:crypto';
import { expectStatus, uniqueName } from './assert.mjs';
import { accountSas } from './sign.mjs';

// CRC-64/NVME (reflected, all ones in and out), as eight bytes little-endian in Base64.
const POLYNOMIAL = 0x9a6c9329ac4bc9b5n;
const table = Array.from({ length: 256 }, (_, i) => {
	let v = BigInt(i);
	for (let bit = 0; bit < 8; bit++) v = v & 1n ? (v >> 1n) ^ POLYNOMIAL : v >> 1n;
	return v;
});
export function crc64Value(bytes) {
	let crc = 0xffffffffffffffffn;
	for (const byte of Buffer.from(bytes)) crc = table[Number((crc ^ BigInt(byte)) & 0xffn)] ^ (crc >> 8n);
	return crc ^ 0xffffffffffffffffn;
}
export function crc64(bytes) {
	const out = Buffer.alloc(8);
	out.writeBigUInt64LE(crc64Value(bytes));
	return out.toString('base64');
}

export const base64 = (text) => Buffer.from(text).toString('base64');
export const random = (size) => crypto.randomBytes(size);
export const uuid = () => crypto.randomUUID();
export const range = (first, count) => `bytes=${first}-${first + count - 1}`;

export class Blobs {
	constructor(client) {
		this.client = client;
	}
	container(name, headers = {}) {
		return this.client.put(`/${name}`, { query: { restype: 'container' }, headers });
	}
	put(path, body = 'x', headers = {}, o = {}) {
		return this.client.put(path, { ...o, body, headers: { 'x-ms-blob-type': 'BlockBlob', ...headers } });
	}
	get(path, headers = {}, query = {}) {
		return this.client.get(path, { headers, query });
	}
	head(path, headers = {}, query = {}) {
		return this.client.head(path, { headers, query });
	}
	delete(path, headers = {}, query = {}) {
		return this.client.delete(path, { headers, query });
	}
	comp(path, comp, headers = {}, body = undefined, query = {}) {
		return this.client.put(path, { query: { comp, ...query }, headers, body });
	}
	block(path, id, body, headers = {}) {
		return this.comp(path, 'block', headers, body, { blockid: base64(id) });
	}
	// ids: 'name' (latest), or ['Committed', 'name'].
	blockList(path, ids, headers = {}) {
		const items = ids.map((id) => (Array.isArray(id) ? `<${id[0]}>${base64(id[1])}</${id[0]}>` : `<Latest>${base64(id)}</Latest>`));
		return this.comp(path, 'blocklist', headers, `<?xml version="1.0" encoding="utf-8"?><BlockList>${items.join('')}</BlockList>`);
	}
	async blocks(path, type = 'all', query = {}) {
		const r = expectStatus(await this.client.get(path, { query: { comp: 'blocklist', blocklisttype: type, ...query } }), 200);
		const part = (name) => {
			const inner = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(r.text)?.[1] ?? '';
			return [...inner.matchAll(/<Name>([^<]*)<\/Name><Size>(\d+)<\/Size>/g)].map((m) => [Buffer.from(m[1], 'base64').toString(), Number(m[2])]);
		};
		return { committed: part('CommittedBlocks'), uncommitted: part('UncommittedBlocks'), answer: r };
	}
	// A blob of each type under a name of its own in container `home`: its path.
	fresh(home) {
		const made = async (make) => {
			const path = `/${home}/${uniqueName('b')}`;
			expectStatus(await make(path), 201);
			return path;
		};
		return {
			made,
			block: () => made((path) => this.put(path, 'old')),
			page: () => made((path) => this.pageBlob(path, 1024)),
			append: () => made((path) => this.appendBlob(path)),
		};
	}
	pageBlob(path, length, headers = {}) {
		return this.put(path, '', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': length, ...headers });
	}
	pages(path, first, body, headers = {}) {
		return this.comp(path, 'page', { 'x-ms-page-write': 'update', 'x-ms-range': range(first, body.length), ...headers }, body);
	}
	clear(path, first, count, headers = {}) {
		return this.comp(path, 'page', { 'x-ms-page-write': 'clear', 'x-ms-range': range(first, count), ...headers });
	}
	// [[first, last], ...]; what a difference cleared comes as [first, last, 'clear'].
	async ranges(path, query = {}, headers = {}) {
		const r = expectStatus(await this.client.get(path, { query: { comp: 'pagelist', ...query }, headers }), 200);
		return [...r.text.matchAll(/<(PageRange|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End>/g)].map((m) =>
			m[1] === 'ClearRange' ? [Number(m[2]), Number(m[3]), 'clear'] : [Number(m[2]), Number(m[3])],
		);
	}
	appendBlob(path, headers = {}) {
		return this.put(path, '', { 'x-ms-blob-type': 'AppendBlob', ...headers });
	}
	append(path, body, headers = {}) {
		return this.comp(path, 'appendblock', headers, body);
	}
	lease(path, action, headers = {}, query = {}) {
		return this.comp(path, 'lease', { 'x-ms-lease-action': action, ...headers }, undefined, query);
	}
	async acquire(path, duration = -1, query = {}) {
		const r = expectStatus(await this.lease(path, 'acquire', { 'x-ms-lease-duration': duration }, query), 201);
		return r.headers['x-ms-lease-id'];
	}
	async snapshot(path, headers = {}) {
		const r = expectStatus(await this.comp(path, 'snapshot', headers), 201);
		return r.headers['x-ms-snapshot'];
	}
	copy(path, source, headers = {}) {
		return this.client.put(path, { headers: { 'x-ms-copy-source': source, ...headers } });
	}
	url(path, query = {}, sas) {
		return this.client.url(path, query, sas).href;
	}
	// With a SAS that reads it and its tags: what brings bytes from a private source before it answers needs one.
	readable(path, query = {}) {
		const { account, key, server } = this.client;
		return this.url(path, query, accountSas(account, key, { ss: 'b', srt: 'o', sp: 'rt', now: server.now() }));
	}
	list(container, query = {}) {
		return this.client.get(`/${container}`, { query: { restype: 'container', comp: 'list', ...query } });
	}
}

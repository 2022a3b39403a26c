// SPDX-License-Identifier: Apache-2.0
// Short forms of the File operations for tests that make many of them, and SAS of shares and files, written apart from the server's own.
import { ShareServiceClient } from '@azure/storage-file-share';
import { Client } from './http.mjs';
import { hmac } from './sign.mjs';
import { expectStatus, uniqueName } from './assert.mjs';

export const FILE_VERSION = '2025-05-05';
export const range = (first, count) => `bytes=${first}-${first + count - 1}`;

// The official SDK without retries: a test wants to see the first answer.
export const sdkOf = (server) => ShareServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
export const fileClient = (server, o = {}) => new Client(server, { service: 'file', version: FILE_VERSION, ...o });

// Service SAS of a share (file undefined) or of one file. Fields as the documentation lists them; sr is not signed.
export function fileSas(account, key, share, file, o = {}) {
	const { sp = o.si ? '' : file === undefined ? 'rcwdl' : 'rcwd', st = '', se, si = '', sip = '', spr = '', sv = '2022-11-02', now = Date.now() } = o;
	const { rscc = '', rscd = '', rsce = '', rscl = '', rsct = '' } = o;
	const expiry = se === undefined && si ? '' : se ?? new Date(now + 3600_000).toISOString().replace(/\.\d+Z$/, 'Z');
	const resource = `/file/${account}/${share}${file === undefined ? '' : `/${file}`}`;
	const sig = hmac(key, [sp, st, expiry, resource, si, sip, spr, sv, rscc, rscd, rsce, rscl, rsct].join('\n'));
	const query = new URLSearchParams();
	const fields = { sv, sr: file === undefined ? 's' : 'f', sp, st, se: expiry, si, sip, spr, rscc, rscd, rsce, rscl, rsct, sig };
	for (const [name, value] of Object.entries(fields)) if (value !== '') query.set(name, value);
	return query;
}

export class Files {
	constructor(client) {
		this.client = client;
	}
	async newShare(headers = {}) {
		const name = uniqueName('s');
		expectStatus(await this.share(name, headers), 201);
		return `/${name}`;
	}
	share(name, headers = {}) {
		return this.client.put(`/${name}`, { query: { restype: 'share' }, headers });
	}
	shareComp(method, share, comp, o = {}) {
		return this.client.request(method, share, { ...o, query: { restype: 'share', ...(comp ? { comp } : {}), ...o.query } });
	}
	mkdir(path, headers = {}, o = {}) {
		return this.client.put(path, { ...o, query: { restype: 'directory', ...o.query }, headers });
	}
	dir(method, path, comp, o = {}) {
		return this.client.request(method, path, { ...o, query: { restype: 'directory', ...(comp ? { comp } : {}), ...o.query } });
	}
	rmdir(path, headers = {}) {
		return this.dir('DELETE', path, undefined, { headers });
	}
	create(path, size, headers = {}, o = {}) {
		return this.client.put(path, { ...o, headers: { 'x-ms-type': 'file', 'x-ms-content-length': size, ...headers } });
	}
	comp(path, comp, headers = {}, body = undefined, o = {}) {
		return this.client.put(path, { ...o, query: { comp, ...o.query }, headers, body });
	}
	write(path, first, body, headers = {}, o = {}) {
		return this.comp(path, 'range', { 'x-ms-write': 'update', 'x-ms-range': range(first, Buffer.byteLength(body)), ...headers }, body, o);
	}
	clear(path, first, count, headers = {}) {
		return this.comp(path, 'range', { 'x-ms-write': 'clear', 'x-ms-range': range(first, count), ...headers });
	}
	// A file with these bytes.
	async put(path, body, headers = {}) {
		const bytes = Buffer.from(body);
		const made = expectStatus(await this.create(path, bytes.length, headers), 201);
		if (bytes.length) expectStatus(await this.write(path, 0, bytes), 201);
		return made;
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
	lease(path, action, headers = {}, query = {}) {
		return this.client.put(path, { query: { comp: 'lease', ...query }, headers: { 'x-ms-lease-action': action, ...headers } });
	}
	// Both names with their share: '/share/dir/file'.
	rename(from, to, headers = {}, o = {}) {
		return this.client.put(to, { query: { comp: 'rename', ...(o.directory ? { restype: 'directory' } : {}) }, headers: { 'x-ms-file-rename-source': this.url(from), ...headers } });
	}
	copy(from, to, headers = {}) {
		return this.client.put(to, { headers: { 'x-ms-copy-source': this.url(from), ...headers } });
	}
	url(path, query = {}, sas = undefined) {
		return this.client.url(path, query, sas).href;
	}
	async snapshot(share, headers = {}) {
		return expectStatus(await this.shareComp('PUT', share, 'snapshot', { headers }), 201).headers['x-ms-snapshot'];
	}
	// [[first, last], ...]; what a difference cleared comes as [first, last, 'clear'].
	async ranges(path, query = {}, headers = {}) {
		const r = expectStatus(await this.client.get(path, { query: { comp: 'rangelist', ...query }, headers }), 200);
		return [...r.text.matchAll(/<(Range|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End>/g)].map((m) =>
			m[1] === 'ClearRange' ? [Number(m[2]), Number(m[3]), 'clear'] : [Number(m[2]), Number(m[3])],
		);
	}
	list(path, query = {}, o = {}) {
		return this.dir('GET', path, 'list', { ...o, query });
	}
	// Names in the order of the answer, directories with a slash behind; over all pages.
	async names(path, query = {}) {
		const names = [];
		let marker;
		do {
			const r = expectStatus(await this.list(path, { ...query, ...(marker ? { marker } : {}) }), 200);
			for (const m of r.text.matchAll(/<(File|Directory)><Name>([^<]*)<\/Name>/g)) names.push(m[1] === 'File' ? m[2] : `${m[2]}/`);
			marker = /<NextMarker>([^<]*)<\/NextMarker>/.exec(r.text)?.[1];
		} while (marker);
		return names;
	}
}

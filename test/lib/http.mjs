// SPDX-License-Identifier: Apache-2.0
// Raw requests, signed or not.
//
//   const blob = new Client(server, { service: 'blob' });
//   const r = await blob.put('/container/name', { headers: {...}, body: 'bytes', query: { comp: 'lease' } });
//   r.status, r.headers (lower case), r.body (Buffer), r.text, r.code (Azure's error code or undefined), r.etag
// Options of a request: query, headers, body, version (null = none), anonymous, sas (URLSearchParams), lite, date.
//
// RawConnection is one keep-alive socket for races and abuse: what is written is what goes over the wire.
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { sharedKey } from './sign.mjs';

export const DEFAULT_VERSION = '2024-11-04';

export class Client {
	constructor(server, { service = 'blob', account, key, version = DEFAULT_VERSION, agent, endpoint } = {}) {
		this.server = server;
		this.service = service;
		this.account = account ?? server.account;
		this.key = key ?? server.key;
		this.version = version;
		this.fixedEndpoint = endpoint;
		this.agents = agent ? { 'http:': agent, 'https:': agent } : agents;
	}

	get endpoint() {
		return this.fixedEndpoint ?? this.server.endpoints[this.service].replace(/\/[^/]+$/, `/${this.account}`);
	}

	url(path, query = {}, sas) {
		const url = new URL(this.endpoint + path);
		for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
		if (sas) for (const [name, value] of sas) url.searchParams.append(name, value);
		url.search = url.search.replaceAll('+', '%20'); // forms write a blank so, URIs do not
		return url;
	}

	// The headers as they would be sent, with Authorization.
	prepare(method, path, o = {}) {
		const url = this.url(path, o.query, o.sas);
		const headers = {};
		const version = o.version === undefined ? this.version : o.version;
		if (version !== null) headers['x-ms-version'] = version;
		const body = o.body === undefined ? undefined : Buffer.from(o.body);
		if (o.date !== null) headers['x-ms-date'] = o.date ?? new Date(this.server.now()).toUTCString();
		if (body !== undefined || method === 'PUT' || method === 'POST') headers['content-length'] = String(body?.length ?? 0);
		for (const [name, value] of Object.entries(o.headers ?? {})) if (value !== undefined) headers[name.toLowerCase()] = String(value);
		if (!o.anonymous && !o.sas && headers.authorization === undefined)
			headers.authorization = sharedKey(method, url, headers, this.account, o.key ?? this.key, { lite: o.lite, table: this.service === 'table' });
		return { url, headers, body };
	}

	request(method, path, o = {}) {
		const { url, headers, body } = this.prepare(method, path, o);
		return send(method, url, headers, body, o.agent ?? this.agents[url.protocol], o);
	}

	get(path, o) {
		return this.request('GET', path, o);
	}
	head(path, o) {
		return this.request('HEAD', path, o);
	}
	put(path, o) {
		return this.request('PUT', path, o);
	}
	post(path, o) {
		return this.request('POST', path, o);
	}
	delete(path, o) {
		return this.request('DELETE', path, o);
	}

	// The bytes of a whole request, for RawConnection.
	bytes(method, path, o = {}) {
		const { url, headers, body } = this.prepare(method, path, o);
		const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
		for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
		return Buffer.concat([Buffer.from(lines.join('\r\n') + '\r\n\r\n', 'latin1'), body ?? Buffer.alloc(0)]);
	}
}

const agents = {
	'http:': new http.Agent({ keepAlive: true, maxSockets: 64 }),
	'https:': new https.Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false }),
};

export function send(method, url, headers, body, agent, { timeoutMs = 60_000 } = {}) {
	return new Promise((resolve, reject) => {
		const module = url.protocol === 'https:' ? https : http;
		const request = module.request(url, { method, headers, agent: agent ?? agents[url.protocol] }, (response) => {
			const chunks = [];
			response.on('data', (chunk) => chunks.push(chunk));
			response.on('error', reject);
			response.on('end', () => resolve(wrap(response.statusCode, response.headers, Buffer.concat(chunks), response.rawHeaders)));
		});
		request.setTimeout(timeoutMs, () => request.destroy(new Error(`no answer in ${timeoutMs} ms: ${method} ${url.pathname}`)));
		request.on('error', reject);
		request.end(body);
	});
}

function wrap(status, headers, body, rawHeaders) {
	return {
		status,
		headers,
		rawHeaders,
		body,
		get text() {
			return body.toString('utf8');
		},
		get etag() {
			return headers.etag;
		},
		get code() {
			return headers['x-ms-error-code'] ?? /<(?:m:c|C)ode>([^<]*)</.exec(this.text)?.[1] ?? /"code":"([^"]*)"/.exec(this.text)?.[1];
		},
	};
}

// One connection. exchange(bytes, method) resolves with the answer; answers come in the order of the requests.
export class RawConnection {
	#socket;
	#buffer = Buffer.alloc(0);
	#waiting = [];
	#error;

	static open(port, host = '127.0.0.1') {
		return new Promise((resolve, reject) => {
			const socket = net.connect({ port, host, noDelay: true });
			socket.once('error', reject);
			socket.once('connect', () => {
				socket.off('error', reject);
				resolve(new RawConnection(socket));
			});
		});
	}

	constructor(socket) {
		this.#socket = socket;
		this.closed = new Promise((resolve) => socket.once('close', resolve));
		socket.on('data', (chunk) => {
			this.#buffer = this.#buffer.length ? Buffer.concat([this.#buffer, chunk]) : chunk;
			this.#drain();
		});
		socket.on('error', (error) => this.#fail(error));
		socket.on('close', () => this.#fail(new Error('connection closed')));
	}

	get socket() {
		return this.#socket;
	}

	#fail(error) {
		this.#error ??= error;
		for (const { reject } of this.#waiting.splice(0)) reject(this.#error);
	}

	write(bytes) {
		this.#socket.write(bytes);
	}

	exchange(bytes, method = 'GET') {
		this.#socket.write(bytes);
		return this.answer(method);
	}

	answer(method = 'GET') {
		if (this.#error) return Promise.reject(this.#error);
		return new Promise((resolve, reject) => {
			this.#waiting.push({ resolve, reject, method });
			this.#drain();
		});
	}

	#drain() {
		while (this.#waiting.length) {
			const parsed = parseAnswer(this.#buffer, this.#waiting[0].method);
			if (!parsed) return;
			this.#buffer = this.#buffer.subarray(parsed.used);
			this.#waiting.shift().resolve(parsed.answer);
		}
	}

	end() {
		this.#socket.destroy();
		return this.closed;
	}
}

function parseAnswer(buffer, method) {
	const end = buffer.indexOf('\r\n\r\n');
	if (end < 0) return undefined;
	const lines = buffer.toString('latin1', 0, end).split('\r\n');
	const status = Number(lines[0].split(' ')[1]);
	const headers = {};
	for (const line of lines.slice(1)) {
		const at = line.indexOf(':');
		headers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim();
	}
	let at = end + 4;
	if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return { used: at, answer: wrap(status, headers, Buffer.alloc(0)) };
	if (/chunked/i.test(headers['transfer-encoding'] ?? '')) {
		const chunks = [];
		for (;;) {
			const line = buffer.indexOf('\r\n', at);
			if (line < 0) return undefined;
			const size = parseInt(buffer.toString('latin1', at, line), 16);
			at = line + 2;
			if (buffer.length < at + size + 2) return undefined;
			chunks.push(buffer.subarray(at, at + size));
			at += size + 2;
			if (size === 0) return { used: at, answer: wrap(status, headers, Buffer.concat(chunks)) };
		}
	}
	const length = Number(headers['content-length'] ?? 0);
	if (buffer.length < at + length) return undefined;
	return { used: at + length, answer: wrap(status, headers, Buffer.from(buffer.subarray(at, at + length))) };
}

// SPDX-License-Identifier: Apache-2.0
// What the table tests share: SDK clients of a test server, raw requests, a table of one's own.
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables';
import assert from 'node:assert/strict';
import { uniqueName } from './assert.mjs';
import { inParallel } from './beside.mjs';
import { Client } from './http.mjs';

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

export function tableService(server) {
	return new TableServiceClient(server.endpoints.table, new AzureNamedKeyCredential(server.account, server.key), options);
}

export function tableClient(server, name) {
	return new TableClient(server.endpoints.table, name, new AzureNamedKeyCredential(server.account, server.key), options);
}

export function rawTable(server) {
	return new Client(server, { service: 'table' });
}

// A new table: { name, sdk, raw, path(keys), insert(entity), ... }; JSON answers come parsed in `json`.
export async function newTable(server, name = uniqueName('t')) {
	const sdk = tableClient(server, name);
	await sdk.createTable();
	return new Table(server, name, sdk);
}

// A refusal through the SDK, which keeps the code of an OData error in its details.
export async function tableRejects(promise, status, code) {
	const error = await promise.then(() => undefined, (e) => e);
	assert.ok(error, `${status} ${code} expected, but it succeeded`);
	assert.deepEqual([error.statusCode, error.details?.odataError?.code ?? error.code], [status, code], error.message);
	return error;
}

export const quote = (text) => encodeURIComponent(text.replaceAll("'", "''")).replaceAll("'", '%27');
export const keyPath = (table, pk, rk) => `/${table}(PartitionKey='${quote(pk)}',RowKey='${quote(rk)}')`;

export function withJson(answer) {
	if (/json/.test(answer.headers['content-type'] ?? '') && answer.body.length) answer.json = JSON.parse(answer.text);
	return answer;
}

// A new table of `rows` entities, in batches of 100, 16 at once.
export async function filledTable(server, name, rows) {
	const A_BATCH = 100;
	const table = await newTable(server, name);
	await inParallel(rows / A_BATCH, 16, async (n) => {
		const part = (i) => `--c${n}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${table.raw.endpoint}/${name} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\n\r\n${JSON.stringify({ PartitionKey: `p${n}`, RowKey: String(i), text: 'x'.repeat(100) })}\r\n`;
		const parts = Array.from({ length: A_BATCH }, (_, i) => part(i)).join('');
		const body = `--b${n}\r\nContent-Type: multipart/mixed; boundary=c${n}\r\n\r\n${parts}--c${n}--\r\n--b${n}--\r\n`;
		const r = await table.raw.post('/$batch', { body, headers: { 'content-type': `multipart/mixed; boundary=b${n}` } });
		assert.equal(r.status, 202, r.text);
	});
	return table;
}

class Table {
	constructor(server, name, sdk) {
		this.server = server;
		this.name = name;
		this.sdk = sdk;
		this.raw = rawTable(server);
	}

	async request(method, path, { json, headers, ...rest } = {}) {
		const all = { accept: 'application/json;odata=minimalmetadata', ...headers };
		const o = { ...rest, headers: all };
		if (json !== undefined) {
			o.body = typeof json === 'string' ? json : JSON.stringify(json);
			all['content-type'] ??= 'application/json';
		}
		return withJson(await this.raw.request(method, path, o));
	}

	insert(json, o = {}) {
		return this.request('POST', `/${this.name}`, { json, ...o });
	}
	get(pk, rk, o = {}) {
		return this.request('GET', keyPath(this.name, pk, rk), o);
	}
	put(pk, rk, json, o = {}) {
		return this.request('PUT', keyPath(this.name, pk, rk), { json, ...o });
	}
	merge(pk, rk, json, o = {}) {
		return this.request('PATCH', keyPath(this.name, pk, rk), { json, ...o });
	}
	delete(pk, rk, o = {}) {
		return this.request('DELETE', keyPath(this.name, pk, rk), o);
	}
	query(query = {}, o = {}) {
		return this.request('GET', `/${this.name}()`, { query, ...o });
	}

	// Follows continuations to the end; { entities, pages }.
	async queryAll(query = {}, o = {}) {
		const entities = [];
		let pages = 0;
		for (let next = {}; next; ) {
			const r = await this.query({ ...query, ...next }, o);
			if (r.status !== 200) throw new Error(`query: ${r.status} ${r.text.slice(0, 500)}`);
			entities.push(...r.json.value);
			pages++;
			const pk = r.headers['x-ms-continuation-nextpartitionkey'];
			next = pk === undefined ? undefined : { NextPartitionKey: pk, NextRowKey: r.headers['x-ms-continuation-nextrowkey'] };
		}
		return { entities, pages };
	}
}

// SPDX-License-Identifier: Apache-2.0
// Takes what a workspace of Azurite holds over into a running server: containers and blobs, queues and messages, tables and entities,
// through the services' own operations. Azurite must not run meanwhile. Left out and counted: snapshots, uncommitted blocks, leases.
//
//   npx zaffre import-azurite DIR [CONNECTION_STRING]
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const VERSION = '2023-11-03';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const DEVELOPMENT = `AccountName=devstoreaccount1;AccountKey=${KEY};BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;`;
const PUT_MAX = 64 * 1024 * 1024;

class Target {
	constructor(connectionString) {
		const fields = Object.fromEntries(connectionString.split(';').filter(Boolean).map((part) => part.split(/=(.*)/s).slice(0, 2)));
		this.account = fields.AccountName;
		this.key = Buffer.from(fields.AccountKey, 'base64');
		this.endpoint = { blob: fields.BlobEndpoint, queue: fields.QueueEndpoint, table: fields.TableEndpoint };
	}

	#sign(method, service, url, headers) {
		const resource = `/${this.account}${url.pathname}`;
		let text;
		if (service === 'table') text = `${headers['x-ms-date']}\n${resource}`;
		else {
			const own = Object.keys(headers).filter((name) => name.startsWith('x-ms-')).sort().map((name) => `${name}:${headers[name]}\n`).join('');
			const query = [...url.searchParams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `\n${name}:${value}`).join('');
			const length = headers['content-length'] === '0' ? '' : headers['content-length'] ?? '';
			text = `${method}\n\n\n${length}\n${headers['content-md5'] ?? ''}\n${headers['content-type'] ?? ''}\n\n\n\n\n\n\n${own}${resource}${query}`;
		}
		const mac = crypto.createHmac('sha256', this.key).update(text, 'utf8').digest('base64');
		return `${service === 'table' ? 'SharedKeyLite' : 'SharedKey'} ${this.account}:${mac}`;
	}

	async send(method, service, where, { query = {}, headers = {}, body = '', allow = [] } = {}) {
		const url = new URL(this.endpoint[service] + where.split('/').map(encodeURIComponent).join('/').replaceAll("'", '%27'));
		for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
		url.search = url.search.replaceAll('+', '%20');
		const bytes = Buffer.from(body);
		const all = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': VERSION, 'content-length': String(bytes.length), ...headers };
		for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name];
		all.authorization = this.#sign(method, service, url, all);
		const answer = await fetch(url, { method, headers: all, body: bytes.length ? bytes : undefined });
		if (!answer.ok && !allow.includes(answer.status)) throw new Error(`${method} ${url.pathname}: ${answer.status} ${answer.headers.get('x-zaffre-hint') ?? (await answer.text())}`);
		return answer;
	}
}

const load = (dir, name) => {
	const file = path.join(dir, name);
	if (!fs.existsSync(file)) return [];
	return JSON.parse(fs.readFileSync(file, 'utf8')).collections;
};
const rows = (collections, name) => collections.find((c) => c.name === name)?.data ?? [];

// Where the bytes of a chunk are: in a file of the storage folder, named as the list of extents says.
function reader(dir, folder, list) {
	const files = new Map(rows(load(dir, list), '$EXTENTS_COLLECTION$').map((x) => [x.id, x.path ?? x.id]));
	return (chunk) => {
		if (!chunk || chunk.count === 0) return Buffer.alloc(0);
		const bytes = Buffer.alloc(chunk.count);
		const fd = fs.openSync(path.join(dir, folder, path.basename(files.get(chunk.id) ?? chunk.id)));
		const got = fs.readSync(fd, bytes, 0, chunk.count, chunk.offset);
		fs.closeSync(fd);
		if (got !== chunk.count) throw new Error(`extent ${chunk.id} is shorter than the workspace says`);
		return bytes;
	};
}

const metadata = (pairs) => Object.fromEntries(Object.entries(pairs ?? {}).map(([name, value]) => [`x-ms-meta-${name.toLowerCase()}`, value]));
function blobHeaders(blob) {
	const p = blob.properties ?? {};
	return { ...metadata(blob.metadata), 'x-ms-blob-content-type': p.contentType || undefined, 'x-ms-blob-content-encoding': p.contentEncoding || undefined,
		'x-ms-blob-content-language': p.contentLanguage || undefined, 'x-ms-blob-cache-control': p.cacheControl || undefined, 'x-ms-blob-content-disposition': p.contentDisposition || undefined };
}

async function putBlob(target, where, blob, read) {
	const type = blob.properties.blobType;
	const headers = { 'x-ms-blob-type': type, ...blobHeaders(blob) };
	if (type === 'PageBlob') {
		await target.send('PUT', 'blob', where, { headers: { ...headers, 'x-ms-blob-content-length': String(blob.properties.contentLength) } });
		for (const range of blob.pageRangesInOrder ?? []) {
			const bytes = read(range.persistency);
			for (let at = 0; at < bytes.length; at += 4 * 1024 * 1024) {
				const part = bytes.subarray(at, at + 4 * 1024 * 1024);
				await target.send('PUT', 'blob', where, { query: { comp: 'page' }, body: part, headers: { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=${range.start + at}-${range.start + at + part.length - 1}` } });
			}
		}
		return;
	}
	const chunks = blob.committedBlocksInOrder?.length ? blob.committedBlocksInOrder.map((b) => b.persistency) : [blob.persistency];
	if (type === 'AppendBlob') {
		await target.send('PUT', 'blob', where, { headers });
		for (const chunk of chunks) if (chunk?.count) await target.send('PUT', 'blob', where, { query: { comp: 'appendblock' }, body: read(chunk) });
		return;
	}
	if (chunks.reduce((sum, c) => sum + (c?.count ?? 0), 0) <= PUT_MAX) {
		await target.send('PUT', 'blob', where, { headers, body: Buffer.concat(chunks.map(read)) });
		return;
	}
	const ids = chunks.map((_, i) => Buffer.from(String(i).padStart(8, '0')).toString('base64'));
	for (const [i, chunk] of chunks.entries()) await target.send('PUT', 'blob', where, { query: { comp: 'block', blockid: ids[i] }, body: read(chunk) });
	delete headers['x-ms-blob-type'];
	await target.send('PUT', 'blob', where, { query: { comp: 'blocklist' }, headers, body: `<BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>` });
}

async function importBlobs(dir, target, count) {
	const db = load(dir, '__azurite_db_blob__.json');
	const read = reader(dir, '__blobstorage__', '__azurite_db_blob_extent__.json');
	for (const c of rows(db, '$CONTAINERS_COLLECTION$').filter((x) => x.accountName === target.account)) {
		const access = c.properties?.publicAccess ?? c.publicAccess;
		await target.send('PUT', 'blob', `/${c.name}`, { query: { restype: 'container' }, headers: { ...metadata(c.metadata), 'x-ms-blob-public-access': access || undefined }, allow: [409] });
		count.containers++;
	}
	for (const blob of rows(db, '$BLOBS_COLLECTION$').filter((x) => x.accountName === target.account)) {
		if (blob.snapshot || blob.isCommitted === false) {
			count.left++;
			continue;
		}
		await putBlob(target, `/${blob.containerName}/${blob.name}`, blob, read);
		count.blobs++;
	}
}

async function importQueues(dir, target, count) {
	const db = load(dir, '__azurite_db_queue__.json');
	const read = reader(dir, '__queuestorage__', '__azurite_db_queue_extent__.json');
	for (const q of rows(db, '$QUEUES_COLLECTION$').filter((x) => x.accountName === target.account)) {
		await target.send('PUT', 'queue', `/${q.name}`, { headers: metadata(q.metadata), allow: [409] });
		count.queues++;
	}
	const messages = rows(db, '$MESSAGES_COLLECTION$').filter((x) => x.accountName === target.account);
	for (const m of messages.sort((a, b) => new Date(a.insertionTime) - new Date(b.insertionTime))) {
		const left = Math.floor((new Date(m.expirationTime) - Date.now()) / 1000);
		const hidden = Math.max(0, Math.ceil((new Date(m.timeNextVisible) - Date.now()) / 1000));
		if (left <= 0) {
			count.left++;
			continue;
		}
		const text = read(m.persistency).toString('utf8').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
		const life = left > 100 * 365 * 86400 ? -1 : left;
		await target.send('POST', 'queue', `/${m.queueName}/messages`, { query: { messagettl: life, visibilitytimeout: Math.min(hidden, 604800) }, body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>` });
		count.messages++;
	}
}

async function importTables(dir, target, count) {
	const db = load(dir, '__azurite_db_table__.json');
	const headers = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata', prefer: 'return-no-content', dataserviceversion: '3.0;NetFx' };
	for (const t of rows(db, '$TABLES_COLLECTION$').filter((x) => x.account === target.account)) {
		await target.send('POST', 'table', '/Tables', { headers, body: JSON.stringify({ TableName: t.table }), allow: [409] });
		count.tables++;
		for (const e of rows(db, `${t.account}$${t.table}`)) {
			const { Timestamp, 'Timestamp@odata.type': type, ...properties } = e.properties ?? {};
			// A GUID is kept as the Base64 of its text.
			for (const name of Object.keys(properties))
				if (properties[`${name}@odata.type`] === 'Edm.Guid' && !/^[0-9a-f]{8}-/i.test(properties[name])) properties[name] = Buffer.from(properties[name], 'base64').toString('utf8');
			await target.send('POST', 'table', `/${t.table}`, { headers, body: JSON.stringify({ ...properties, PartitionKey: e.PartitionKey, RowKey: e.RowKey }) });
			count.entities++;
		}
	}
}

/** Returns how many of each were taken over; `left` counts snapshots, uncommitted blobs and expired messages. */
export async function importAzurite(dir, connectionString = process.env.AZURE_STORAGE_CONNECTION_STRING ?? DEVELOPMENT) {
	if (!fs.existsSync(path.join(dir, '__azurite_db_blob__.json')) && !fs.existsSync(path.join(dir, '__azurite_db_table__.json')) && !fs.existsSync(path.join(dir, '__azurite_db_queue__.json')))
		throw new Error(`${dir} is no workspace of Azurite: it has no __azurite_db_*__.json`);
	const target = new Target(connectionString);
	const count = { containers: 0, blobs: 0, queues: 0, messages: 0, tables: 0, entities: 0, left: 0 };
	await importBlobs(dir, target, count);
	await importQueues(dir, target, count);
	await importTables(dir, target, count);
	return count;
}

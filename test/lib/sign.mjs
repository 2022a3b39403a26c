// SPDX-License-Identifier: Apache-2.0
// Shared Key, Shared Key Lite and SAS, written from the documentation and apart from the server's own code, so that a mistake
// on one side shows.
import crypto from 'node:crypto';

// Every signature made here, so that a test can look for them where none may be.
export const signatures = new Set();
export function hmac(key, text) {
	const signature = crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');
	signatures.add(signature);
	return signature;
}

const lower = (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));

function canonicalHeaders(headers) {
	return Object.keys(headers)
		.filter((name) => name.startsWith('x-ms-'))
		.sort()
		.map((name) => `${name}:${headers[name].trim().replace(/\s+/g, ' ')}\n`)
		.join('');
}

function canonicalQuery(searchParams) {
	const byName = new Map();
	for (const [name, value] of searchParams) {
		const key = name.toLowerCase();
		byName.set(key, [...(byName.get(key) ?? []), value]);
	}
	return [...byName.keys()]
		.sort()
		.map((name) => `\n${name}:${byName.get(name).sort().join(',')}`)
		.join('');
}

// url: a URL whose path is as it goes over the wire.
export function stringToSign(method, url, given, account, { lite = false, table = false } = {}) {
	const headers = lower(given);
	const resource = `/${account}${url.pathname}`;
	const comp = url.searchParams.get('comp');
	const resourceLite = resource + (comp === null ? '' : `?comp=${comp}`);
	const dateOrMs = headers['x-ms-date'] ?? headers.date ?? '';
	if (table && lite) return `${dateOrMs}\n${resourceLite}`;
	if (table) return [method, headers['content-md5'] ?? '', headers['content-type'] ?? '', dateOrMs, resourceLite].join('\n');
	const date = headers['x-ms-date'] === undefined ? headers.date ?? '' : '';
	if (lite) return [method, headers['content-md5'] ?? '', headers['content-type'] ?? '', date, canonicalHeaders(headers) + resourceLite].join('\n');
	let length = headers['content-length'] ?? '';
	if (length === '0' && (headers['x-ms-version'] ?? '9') >= '2015-02-21') length = '';
	return [
		method,
		headers['content-encoding'] ?? '',
		headers['content-language'] ?? '',
		length,
		headers['content-md5'] ?? '',
		headers['content-type'] ?? '',
		date,
		headers['if-modified-since'] ?? '',
		headers['if-match'] ?? '',
		headers['if-none-match'] ?? '',
		headers['if-unmodified-since'] ?? '',
		headers.range ?? '',
		canonicalHeaders(headers) + resource + canonicalQuery(url.searchParams),
	].join('\n');
}

export function sharedKey(method, url, headers, account, key, options = {}) {
	const scheme = options.lite ? 'SharedKeyLite' : 'SharedKey';
	return `${scheme} ${account}:${hmac(key, stringToSign(method, url, headers, account, options))}`;
}

const time = (value) => (value === undefined ? '' : value instanceof Date ? value.toISOString().replace(/\.\d+Z$/, 'Z') : value);
const hourFrom = (now) => new Date(now + 3600_000);

function toQuery(fields) {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== '') query.set(name, value);
	return query;
}

// Account SAS; defaults allow everything for an hour. Returns URLSearchParams.
export function accountSas(account, key, { sp = 'rwdxylacuptfi', ss = 'bqtf', srt = 'sco', st, se, sip = '', spr = '', sv = '2022-11-02', ses = '', now = Date.now() } = {}) {
	const start = time(st);
	const expiry = time(se ?? hourFrom(now));
	const fields = [account, sp, ss, srt, start, expiry, sip, spr, sv];
	if (sv >= '2020-12-06') fields.push(ses);
	const sig = hmac(key, fields.join('\n') + '\n');
	return toQuery({ sv, ss, srt, sp, st: start, se: expiry, sip, spr, ses, sig });
}

// Service SAS for blobs (from 2020-12-06 on): sr 'c' or 'b' (or 'bs', 'bv' with `snapshot`).
export function blobSas(account, key, container, blob, o = {}) {
	const { sr = blob === undefined ? 'c' : 'b', sp = o.si ? '' : 'racwdl', st, se, si = '', sip = '', spr = '', sv = '2022-11-02', snapshot = '', ses = '', now = Date.now() } = o;
	const { rscc = '', rscd = '', rsce = '', rscl = '', rsct = '' } = o;
	const start = time(st);
	const expiry = se === undefined && si ? '' : time(se ?? hourFrom(now));
	const resource = `/blob/${account}/${container}${sr === 'c' ? '' : `/${blob}`}`;
	const sig = hmac(key, [sp, start, expiry, resource, si, sip, spr, sv, sr, snapshot, ses, rscc, rscd, rsce, rscl, rsct].join('\n'));
	return toQuery({ sv, sr, sp, st: start, se: expiry, si, sip, spr, ses, rscc, rscd, rsce, rscl, rsct, sig });
}

export function queueSas(account, key, queue, { sp = 'raup', st, se, si = '', sip = '', spr = '', sv = '2022-11-02', now = Date.now() } = {}) {
	const start = time(st);
	const expiry = se === undefined && si ? '' : time(se ?? hourFrom(now));
	const sig = hmac(key, [sp, start, expiry, `/queue/${account}/${queue}`, si, sip, spr, sv].join('\n'));
	return toQuery({ sv, sp, st: start, se: expiry, si, sip, spr, sig });
}

export function tableSas(account, key, table, o = {}) {
	const { sp = 'raud', st, se, si = '', sip = '', spr = '', sv = '2022-11-02', spk = '', srk = '', epk = '', erk = '', now = Date.now() } = o;
	const start = time(st);
	const expiry = se === undefined && si ? '' : time(se ?? hourFrom(now));
	const resource = `/table/${account}/${table.toLowerCase()}`;
	const sig = hmac(key, [sp, start, expiry, resource, si, sip, spr, sv, spk, srk, epk, erk].join('\n'));
	return toQuery({ sv, tn: table, sp, st: start, se: expiry, si, sip, spr, spk, srk, epk, erk, sig });
}

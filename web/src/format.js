// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and times for people; texts for machines (CSV, Base64).

// For names that others choose: it has no "constructor" of its own, and "__proto__" is a name like any other.
export const byName = () => Object.create(null);

export function bytes(n) {
	n = Number(n);
	if (!Number.isFinite(n)) return '';
	for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
		if (n < 1024) return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`;
		n /= 1024;
	}
	return `${n.toFixed(1)} TiB`;
}
export const count = (n) => Number(n).toLocaleString('en-US');

export function duration(ms) {
	const s = Math.abs(ms) / 1000;
	if (s < 1) return `${Math.round(Math.abs(ms))} ms`;
	if (s < 90) return `${Math.round(s)} s`;
	if (s < 5400) return `${Math.round(s / 60)} min`;
	if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
	return `${Math.round(s / 86400)} days`;
}
export function ago(time, now = Date.now()) {
	const at = new Date(time).getTime();
	if (!Number.isFinite(at)) return '';
	if (at > Date.UTC(9999, 0)) return 'never';
	if (Math.abs(now - at) < 1000) return 'now';
	return at <= now ? `${duration(now - at)} ago` : `in ${duration(at - now)}`;
}
export function when(time) {
	const at = new Date(time);
	if (!Number.isFinite(at.getTime())) return time ?? '';
	return at.toISOString().replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

export function fromBase64(value) {
	const raw = atob(value);
	return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}
export function toBase64(value) {
	let raw = '';
	for (const byte of new TextEncoder().encode(value)) raw += String.fromCharCode(byte);
	return btoa(raw);
}
// The text inside Base64, if that is what it is; else null.
export function decoded(value) {
	if (value.length < 4 || value.length % 4 || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return null;
	try {
		const out = new TextDecoder('utf-8', { fatal: true }).decode(fromBase64(value));
		return /^[\t\n\r\x20-\u{10ffff}]*$/u.test(out) ? out : null;
	} catch {
		return null;
	}
}
// A path as people name it; one that is no proper encoding stays as it was sent.
export function plainPath(value) {
	try {
		return decodeURIComponent(value);
	} catch {
		return value;
	}
}
export function pretty(value) {
	try {
		const parsed = JSON.parse(value);
		return typeof parsed === 'object' && parsed ? JSON.stringify(parsed, null, 2) : null;
	} catch {
		return null;
	}
}

// JSON with each number as { digits: 'as it was written' }: 2.0 is no 2 to whoever has types, and 2^53 + 1 has no number here.
export const parseDigits = (value) => JSON.parse(value.replace(/"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g, (part) => (part[0] === '"' ? part : `{"digits":"${part}"}`)));

// What is not there (null) is nothing between two commas; an empty text is "".
export function csvRow(values) {
	return values.map((v) => (v === null ? '' : v === '' || /[",\r\n]/.test(v) || /^\s|\s$/.test(v) ? `"${v.replaceAll('"', '""')}"` : v)).join(',') + '\r\n';
}
export function csvParse(value) {
	const rows = [];
	let row = [], field = null, quoted = false;
	for (let i = 0; i < value.length; i++) {
		const c = value[i];
		if (quoted) {
			if (c === '"' && value[i + 1] === '"') { field += '"'; i++; }
			else if (c === '"') quoted = false;
			else field += c;
		} else if (c === '"' && field === null) { quoted = true; field = ''; }
		else if (c === ',') { row.push(field); field = null; }
		else if (c === '\n' || c === '\r') {
			if (c === '\r' && value[i + 1] === '\n') i++;
			row.push(field); rows.push(row); row = []; field = null;
		} else field = (field ?? '') + c;
	}
	if (field !== null || row.length) { row.push(field); rows.push(row); }
	return rows.filter((r) => r.length > 1 || r[0] !== null);
}

// Lines that two texts have in common, and those that one has alone: [{ kind: ' ' | '-' | '+', line }].
export function diffLines(before, after) {
	const a = before.split('\n').slice(0, 2000), b = after.split('\n').slice(0, 2000);
	const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
	for (let i = a.length - 1; i >= 0; i--)
		for (let k = b.length - 1; k >= 0; k--) table[i][k] = a[i] === b[k] ? table[i + 1][k + 1] + 1 : Math.max(table[i + 1][k], table[i][k + 1]);
	const out = [];
	let i = 0, k = 0;
	while (i < a.length || k < b.length) {
		if (i < a.length && k < b.length && a[i] === b[k]) { out.push({ kind: ' ', line: a[i] }); i++; k++; }
		else if (k >= b.length || (i < a.length && table[i + 1][k] >= table[i][k + 1])) out.push({ kind: '-', line: a[i++] });
		else out.push({ kind: '+', line: b[k++] });
	}
	return out;
}

export function save(name, content, type = 'application/octet-stream') {
	const url = URL.createObjectURL(new Blob([content], { type }));
	const link = Object.assign(document.createElement('a'), { href: url, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// SPDX-License-Identifier: Apache-2.0
// What /metrics says, sampled while the page is open: rates, percentiles and group sizes of the last fifteen minutes.

const EVERY_MS = 2000;
const KEEP = (15 * 60 * 1000) / EVERY_MS;
export const series = { time: [], rate: [], errors: [], conflicts: [], p50: [], p95: [], p99: [], commits: [], group: [], written: [] };
export const current = {};
const listeners = new Set();
let last = null;

function parse(text) {
	const sums = { requests: 0, errors: 0, conflicts: 0, groups: 0, transactions: 0, written: 0, connections: 0, buckets: new Map(), operations: new Map() };
	for (const line of text.split('\n')) {
		if (!line || line[0] === '#') continue;
		const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
		const n = Number(value);
		// What this page and other operators ask is not the load.
		if (/service="Admin"/.test(labels)) continue;
		if (name === 'zaffre_requests_total') {
			sums.requests += n;
			if (/status="[45]xx"/.test(labels)) sums.errors += n;
			const operation = /operation="([^"]+)"/.exec(labels)[1];
			sums.operations.set(operation, (sums.operations.get(operation) ?? 0) + n);
		} else if (name === 'zaffre_errors_total' && /status="(409|412)"/.test(labels)) sums.conflicts += n;
		else if (name === 'zaffre_request_seconds_bucket') {
			const le = /le="([^"]+)"/.exec(labels)[1];
			sums.buckets.set(le, (sums.buckets.get(le) ?? 0) + n);
		} else if (name === 'zaffre_commit_groups_total') sums.groups = n;
		else if (name === 'zaffre_commit_transactions_total') sums.transactions = n;
		else if (name === 'zaffre_disk_written_bytes_total') sums.written = n;
		else if (name === 'zaffre_connections') sums.connections = n;
	}
	return sums;
}

// Linear inside the bucket that the rank falls into.
function percentile(now, before, rank) {
	const bounds = [...now.keys()].filter((le) => le !== '+Inf').map(Number).sort((a, b) => a - b);
	const at = (le) => (now.get(le) ?? 0) - (before.get(le) ?? 0);
	const all = at('+Inf');
	if (!all) return null;
	let low = 0, under = 0;
	for (const bound of bounds) {
		const count = at([...now.keys()].find((le) => Number(le) === bound));
		if (count >= rank * all) return 1000 * (low + ((bound - low) * (rank * all - under)) / Math.max(1, count - under));
		low = bound;
		under = count;
	}
	return 1000 * low;
}

async function sample() {
	try {
		const answer = await fetch('/metrics');
		const now = parse(await answer.text());
		now.at = performance.now();
		if (last) {
			const seconds = (now.at - last.at) / 1000;
			const per = (name) => Math.max(0, (now[name] - last[name]) / seconds);
			const groups = now.groups - last.groups;
			const point = {
				time: Date.now() / 1000, rate: per('requests'), errors: per('errors'), conflicts: per('conflicts'),
				p50: percentile(now.buckets, last.buckets, 0.5), p95: percentile(now.buckets, last.buckets, 0.95), p99: percentile(now.buckets, last.buckets, 0.99),
				commits: per('transactions'), group: groups > 0 ? (now.transactions - last.transactions) / groups : null, written: per('written') / 1024 / 1024,
			};
			for (const [name, list] of Object.entries(series)) {
				list.push(point[name]);
				if (list.length > KEEP) list.shift();
			}
			Object.assign(current, point, { connections: now.connections });
			for (const listener of listeners) listener();
		}
		last = now;
	} catch {
		last = null; // the server is away: a gap
	}
}

export function startSampling() {
	sample();
	setInterval(sample, EVERY_MS);
}
export function onSample(listener) {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

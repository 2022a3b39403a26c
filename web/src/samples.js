// SPDX-License-Identifier: Apache-2.0
// The last fifteen minutes as the server keeps them (/api/history): rates, percentiles, commits. They are there when the page is opened;
// what is new is fetched every two seconds.
import { ask } from './api.js';

const EVERY_MS = 2000;
const KEEP_S = 15 * 60;
export const series = { time: [], rate: [], errors: [], conflicts: [], p50: [], p95: [], p99: [], commits: [], group: [], sync: [], written: [] };
export const current = {};
const listeners = new Set();
let next = 0;

// Linear inside the bucket that the rank falls into. Milliseconds; null if nothing happened.
export function percentile(bounds, counts, rank) {
	const all = counts.reduce((sum, n) => sum + n, 0);
	if (!all) return null;
	let under = 0;
	for (let i = 0; i < bounds.length; i++) {
		if (under + counts[i] >= rank * all) {
			const low = i ? bounds[i - 1] : 0;
			return (low + ((bounds[i] - low) * (rank * all - under)) / counts[i]) / 1000;
		}
		under += counts[i];
	}
	return bounds.at(-1) / 1000; // longer than the last bound: that at least
}

// One sample of the server (struct sample) as a point of every line. `now`: the server's clock and ours at one moment.
export function pointOf(sample, bounds, now) {
	const [at, span, requests, errors, conflicts, groups, transactions, syncUs, writtenKib, connections, ...counts] = sample;
	const per = (n) => (1000 * n) / Math.max(1, span);
	return {
		time: (now.here - (now.there - at)) / 1000,
		rate: per(requests), errors: per(errors), conflicts: per(conflicts),
		p50: percentile(bounds, counts, 0.5), p95: percentile(bounds, counts, 0.95), p99: percentile(bounds, counts, 0.99),
		commits: per(transactions), group: groups ? transactions / groups : null, sync: groups ? syncUs / groups / 1000 : null,
		written: per(writtenKib) / 1024, connections,
	};
}

async function sample() {
	try {
		const answer = await ask(`/api/history?since=${next}`);
		// A server that was started anew counts from the beginning: what it sends is all it has.
		const anew = answer.next < next;
		next = answer.next;
		const now = { here: Date.now(), there: answer.now };
		const points = answer.samples.map((one) => pointOf(one, answer.bounds, now));
		if (!points.length) return;
		for (const [name, list] of Object.entries(series)) {
			if (anew) list.push(null);
			list.push(...points.map((point) => point[name]));
		}
		if (anew) series.time[series.time.length - points.length - 1] = points[0].time - EVERY_MS / 1000; // a gap
		const old = series.time.findIndex((time) => time > points.at(-1).time - KEEP_S);
		if (old > 0) for (const list of Object.values(series)) list.splice(0, old);
		Object.assign(current, points.at(-1));
		for (const listener of listeners) listener();
	} catch {
		// The server is away: a gap, and asked again.
	}
}

let timer = null;
// When somebody is signed in; again does nothing.
export function startSampling() {
	if (timer) return;
	timer = setInterval(sample, EVERY_MS);
	sample();
}
export function onSample(listener) {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

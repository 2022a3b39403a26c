// SPDX-License-Identifier: Apache-2.0
// The test kit of a server in development mode, over its admin listener (docs/testing.md).
export class TestKit {
	constructor(adminUrl) {
		this.url = String(adminUrl).replace(/\/$/, '');
	}

	async #ask(method, path, params = {}) {
		const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined));
		const response = await fetch(`${this.url}${path}${query.size ? `?${query}` : ''}`, { method });
		const text = await response.text();
		if (!response.ok) throw Object.assign(new Error(`${method} ${path}: ${response.status} ${text}`), { status: response.status });
		return JSON.parse(text);
	}

	// { now, advancedSeconds, faults, states }
	state() {
		return this.#ask('GET', '/test');
	}
	// Leases, message visibility and life, SAS and retention follow; dates of requests stay on the wall clock.
	advance(seconds) {
		return this.#ask('POST', '/test/clock', { advance: seconds });
	}
	setClock(time) {
		return this.#ask('POST', '/test/clock', { set: new Date(time).toISOString() });
	}
	// Everything gone: of all accounts, or of one.
	reset(account) {
		return this.#ask('POST', '/test/reset', { account });
	}
	// Named states: for a server that runs in memory.
	save(name) {
		return this.#ask('POST', '/test/save', { name });
	}
	restore(name) {
		return this.#ask('POST', '/test/restore', { name });
	}
	// { action: 'busy' | 'error' | 'delay' | 'reset' | 'truncate', operation: 'BLOB_PUT', rate: 0.5, count: 3, delayMs, retryAfter }
	fault(rule) {
		return this.#ask('POST', '/test/faults', rule);
	}
	clearFaults() {
		return this.#ask('DELETE', '/test/faults');
	}
	// Who holds which lease until when; who lost which race.
	leases() {
		return this.#ask('GET', '/leases');
	}
	conflicts() {
		return this.#ask('GET', '/conflicts');
	}
}

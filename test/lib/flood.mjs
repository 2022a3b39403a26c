// SPDX-License-Identifier: Apache-2.0
// Very many requests, and what the server holds in memory meanwhile.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { RawConnection } from './http.mjs';
import { scale } from './server.mjs';

const CONNECTIONS = 32, MIB = 1024 * 1024;

// Over a few connections, `depth` of them on the way on each. `make` gives method, path and options of the i-th.
export async function flood(port, client, count, make, want, depth = 16) {
	const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawConnection.open(port)));
	let next = 0;
	const one = async (connection) => {
		while (next < count) {
			const i = next++;
			const [method, path, o] = make(i);
			const r = await connection.exchange(client.bytes(method, path, o), method);
			if (r.status !== want) assert.fail(`${method} ${path}: ${r.status} ${r.code} ${r.text.slice(0, 300)}`);
		}
	};
	await Promise.all(connections.flatMap((c) => Array.from({ length: depth }, () => one(c))));
	await Promise.all(connections.map((c) => c.end()));
}

// What the server has held at most since it was started, as the kernel says. Sanitizers keep freed memory for a while and count their
// own: they are not held to the limit.
export function bounded(t, server, what, limit) {
	const most = Number(/^VmHWM:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) * 1024;
	t.diagnostic(`${what}: at most ${(most / MIB).toFixed(0)} MiB resident`);
	if (scale === 1) assert.ok(most < limit, `${what}: ${(most / MIB).toFixed(0)} MiB resident`);
}

// SPDX-License-Identifier: Apache-2.0
// What `zaffre scrub` says of a server's directory while the server is down.
import assert from 'node:assert/strict';
import { runProgram } from './server.mjs';

// Extents, each time one is named, and no damage.
export async function scrubExtents(server) {
	await server.stop();
	const r = await runProgram(['scrub', '--location', server.dataDir]);
	assert.equal(r.code, 0, r.stdout + r.stderr);
	await server.restart();
	return Number(/(\d+) extents/.exec(r.stdout)[1]);
}
// The background gives back bit by bit; its first round comes a second after a start.
export async function extentsComeTo(server, count) {
	let now;
	for (let i = 0; i < 20; i++) {
		now = await scrubExtents(server);
		if (now === count) return;
		await new Promise((resolve) => setTimeout(resolve, 2500));
	}
	assert.equal(now, count, 'extents are left');
}

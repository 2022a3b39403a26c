// SPDX-License-Identifier: Apache-2.0
// Where SMB listens: on a port of its own unless told otherwise. A port that somebody asked for must be had; one that
// nobody asked for is done without, so that a second server on the machine starts as well.
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';

import { startServer } from '../lib/server.mjs';

const DEFAULT_PORT = 10445;
const LISTENING = /^Zaffre File service over SMB is successfully listening at 127\.0\.0\.1 port (\d+)$/m;

// Holds the port, unless another process has it: taken it is in either case.
async function hold(port) {
	const listener = net.createServer();
	await new Promise((resolve) => listener.once('error', resolve).listen(port, '127.0.0.1', resolve));
	return { port: listener.address()?.port ?? port, end: () => new Promise((resolve) => (listener.listening ? listener.close(resolve) : resolve())) };
}

async function started(flags, look) {
	const server = await startServer({ flags });
	try {
		await look(server);
	} finally {
		await server.stop();
		await server.remove();
	}
}

test('the port that nobody asked for is taken: a warning, and everything else is served', async () => {
	const holder = await hold(DEFAULT_PORT);
	await started(['--smbPort', ''], (server) => {
		assert.doesNotMatch(server.stdout, LISTENING);
		assert.match(server.stderr, /10445.*SMB is not served/s);
	});
	await holder.end();
});

test('a port that was asked for and is taken: the server does not start', async () => {
	const holder = await hold(0);
	await assert.rejects(started(['--smbPort', String(holder.port)], () => {}), new RegExp(`${holder.port}`));
	await holder.end();
});

test('any free port is printed, and off is off', async () => {
	await started(['--smbPort', '0'], async (server) => {
		const [, port] = LISTENING.exec(server.stdout);
		await new Promise((resolve, reject) => net.connect(Number(port), '127.0.0.1', resolve).once('error', reject).unref());
	});
	await started(['--smbPort', 'off'], (server) => assert.doesNotMatch(server.stdout, LISTENING));
	await assert.rejects(started(['--smbPort', 'no'], () => {}), /--smbPort takes a port number or off/);
});

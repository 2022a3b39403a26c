// SPDX-License-Identifier: Apache-2.0
// An SMB client that watches a directory learns what REST clients do in it, in the order in which they did it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';

import { ShareServiceClient } from '@azure/storage-file-share';

import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';

const have = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
const skip = !(have('smbclient') && have('stdbuf')) && 'smbclient is not installed (tools/packages.txt)';
const [ADDED, REMOVED, MODIFIED, OLD_NAME, NEW_NAME] = ['0001', '0002', '0003', '0004', '0005'];

let server, port, share;
before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port), '--create', 'share:watched'] });
	share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('watched');
});
after(() => server?.remove());

// smbclient's own watch of a directory: `lines` gets what it prints. It says nothing when it begins, so the first change is made again
// and again until it is told.
async function watch(dir, poke) {
	const child = spawn('stdbuf', ['-oL', 'smbclient', '//127.0.0.1/watched', WELL_KNOWN_KEY, '-p', String(port), '-U', WELL_KNOWN_ACCOUNT, '-c', `notify ${dir}`], { stdio: ['ignore', 'pipe', 'pipe'] });
	const w = { lines: [], child, errors: '' };
	let rest = '';
	child.stderr.on('data', (data) => (w.errors += data));
	child.stdout.on('data', (data) => {
		const parts = (rest + data).split('\n');
		rest = parts.pop();
		w.lines.push(...parts.map((l) => l.trim().replaceAll('\\', '/')));
	});
	const ended = new Promise((resolve) => child.once('close', resolve));
	w.stop = async () => {
		child.kill('SIGKILL');
		await ended;
	};
	for (let i = 0; !w.lines.length; i++) {
		assert.ok(i < 200, `the watch did not begin: ${w.errors}`);
		await poke(i);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	return w;
}

async function until(w, wanted) {
	const end = Date.now() + 10_000;
	const at = () => wanted.reduce((from, line) => (from < 0 ? from : w.lines.indexOf(line, from) < 0 ? -1 : w.lines.indexOf(line, from) + 1), 0);
	while (at() < 0) {
		assert.ok(Date.now() < end, `not told in this order: ${wanted.join(', ')}; told: ${w.lines.join(', ')}; ${w.errors}`);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

test('creates, writes, renames and deletes through REST', { skip }, async () => {
	const dir = share.getDirectoryClient('d'), other = share.getDirectoryClient('other');
	await dir.create();
	await other.create();
	const w = await watch('d', (i) => dir.getFileClient(`poke${i}`).create(0));
	try {
		const f = dir.getFileClient('file');
		await f.create(10);
		await f.uploadRange('abcd', 0, 4);
		await f.setMetadata({ a: 'b' });
		await f.rename('d/new');
		const renamed = dir.getFileClient('new');
		await until(w, [`${ADDED} file`, `${MODIFIED} file`, `${OLD_NAME} file`, `${NEW_NAME} new`]);
		await renamed.resize(5);
		await until(w, [`${NEW_NAME} new`, `${MODIFIED} new`]);
		// Into the directory and out of it.
		await renamed.rename('other/gone');
		await until(w, [`${REMOVED} new`]);
		await other.getFileClient('gone').rename('d/back');
		await until(w, [`${REMOVED} new`, `${ADDED} back`]);
		await dir.getDirectoryClient('sub').create();
		await dir.getDirectoryClient('sub').delete();
		await dir.getFileClient('copy').startCopyFromURL(dir.getFileClient('back').url);
		await dir.getFileClient('back').delete();
		await until(w, [`${ADDED} sub`, `${REMOVED} sub`, `${ADDED} copy`, `${REMOVED} back`]);
		assert.ok(!w.lines.some((line) => line.includes('gone')), 'what lies elsewhere is not told');
	} finally {
		await w.stop();
	}
});

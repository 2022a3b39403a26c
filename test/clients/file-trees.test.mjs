// SPDX-License-Identifier: Apache-2.0
// A tree of 10,000 files and one file of 2 GiB through azcopy: up, between shares, down, byte for byte.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ShareServiceClient } from '@azure/storage-file-share';
import { removeDir, root, runProgram, scale, scaled, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

const azcopyBin = path.join(root, 'test/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64');
const skip = (!fs.existsSync(azcopyBin) && 'azcopy is not installed (test/package.json)') || (scale < 1 && 'takes minutes: only at full scale (ZAFFRE_TEST_SCALE)');
const FILES = scaled(10_000, 200), LARGE = 2 * 1024 ** 3;

let server, work, sdk;
before(async () => {
	work = tempDir('zaffre-file-trees-');
	server = await startServer();
	sdk = ShareServiceClient.fromConnectionString(server.connectionString);
});
after(async () => {
	await server?.remove();
	removeDir(work);
});

const at = (where) => `${server.endpoints.file}/${where}?${accountSas(server.account, server.key)}`;
async function azcopy(...args) {
	const env = { AZCOPY_LOG_LOCATION: path.join(work, 'azlog'), AZCOPY_JOB_PLAN_LOCATION: path.join(work, 'azplan'), HOME: work };
	const r = await runProgram([...args, '--recursive', '--output-level=essential'], { program: azcopyBin, env, cwd: work, timeoutMs: 1_800_000 });
	assert.equal(r.code, 0, `azcopy ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
}
// sha256 of every file below, by its name.
function sums(dir, below = '') {
	const found = new Map();
	for (const entry of fs.readdirSync(path.join(dir, below), { withFileTypes: true })) {
		const name = path.join(below, entry.name);
		if (entry.isDirectory()) for (const [k, v] of sums(dir, name)) found.set(k, v);
		else found.set(name, hash(path.join(dir, name)));
	}
	return found;
}
function hash(file) {
	const sum = crypto.createHash('sha256'), buffer = Buffer.allocUnsafe(16 << 20), fd = fs.openSync(file, 'r');
	for (let n; (n = fs.readSync(fd, buffer)) > 0;) sum.update(buffer.subarray(0, n));
	fs.closeSync(fd);
	return sum.digest('hex');
}

test(`a tree of ${FILES} files up, across and down`, { skip, timeout: 1_800_000 }, async () => {
	const source = path.join(work, 'source');
	for (let i = 0; i < FILES; i++) {
		const dir = path.join(source, `d${i % 100}`, `e${i % 7}`);
		fs.mkdirSync(dir, { recursive: true });
		fs.writeFileSync(path.join(dir, `file ${i}.bin`), crypto.randomBytes(i % 50 === 0 ? 70_000 : i % 3000));
	}
	for (const share of ['tree', 'tree2']) await sdk.createShare(share);
	await azcopy('copy', `${source}/*`, at('tree'), '--from-to=LocalFile');
	await azcopy('copy', at('tree').replace('?', '/*?'), at('tree2'), '--from-to=FileFile');
	await azcopy('copy', at('tree2').replace('?', '/*?'), path.join(work, 'down'), '--from-to=FileLocal');
	assert.deepEqual(sums(path.join(work, 'down')), sums(source));
});

test('a file of 2 GiB up, across and down', { skip, timeout: 1_800_000 }, async () => {
	const source = path.join(work, 'large'), piece = crypto.randomBytes(64 << 20);
	const fd = fs.openSync(source, 'w');
	for (let i = 0; i < LARGE / piece.length; i++) {
		piece.writeUInt32LE(i, 0);
		fs.writeSync(fd, piece);
	}
	fs.closeSync(fd);
	for (const share of ['large', 'large2']) await sdk.createShare(share);
	await azcopy('copy', source, at('large/file'), '--from-to=LocalFile');
	await azcopy('copy', at('large/file'), at('large2/file'), '--from-to=FileFile');
	await azcopy('copy', at('large2/file'), path.join(work, 'large-down'), '--from-to=FileLocal');
	assert.equal(hash(path.join(work, 'large-down')), hash(source));
});

// SPDX-License-Identifier: Apache-2.0
// A tree of files and one large file through azcopy: up, between shares, to blobs and back, down, byte for byte. 500 files and 64 MiB;
// ZAFFRE_TEST_LARGE=1 is the long form: 10,000 files and 2 GiB.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { ShareServiceClient } from '@azure/storage-file-share';
import { removeDir, root, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

const azcopyBin = path.join(root, 'test/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64');
const skip = !fs.existsSync(azcopyBin) && 'azcopy is not installed (test/package.json)';
const LONG = process.env.ZAFFRE_TEST_LARGE === '1';
const FILES = LONG ? 10_000 : 500, LARGE = (LONG ? 2048 : 64) * 1024 * 1024;

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

const at = (where, service = 'file') => `${server.endpoints[service]}/${where}?${accountSas(server.account, server.key)}`;
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
	// azcopy tells source and destination apart by their paths: share and container have different names.
	await BlobServiceClient.fromConnectionString(server.connectionString).createContainer('treeblobs');
	await azcopy('copy', at('tree').replace('?', '/*?'), at('treeblobs', 'blob'), '--from-to=FileBlob');
	await sdk.createShare('tree3');
	await azcopy('copy', at('treeblobs', 'blob').replace('?', '/*?'), at('tree3'), '--from-to=BlobFile');
	await azcopy('copy', at('tree3').replace('?', '/*?'), path.join(work, 'down3'), '--from-to=FileLocal');
	assert.deepEqual(sums(path.join(work, 'down3')), sums(source));
});

test(`a file of ${LARGE / 2 ** 20} MiB up, across and down`, { skip, timeout: 1_800_000 }, async () => {
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
	fs.rmSync(path.join(work, 'large-down'));
});

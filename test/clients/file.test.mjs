// SPDX-License-Identifier: Apache-2.0
// The File service with az, azcopy and the Python SDK: each verb they have, and trees up, across and down byte for byte.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ShareServiceClient } from '@azure/storage-file-share';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, root, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

const have = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
const havePython = spawnSync('/usr/bin/python3', ['-c', 'import azure.storage.fileshare']).status === 0;
const azcopyBin = path.join(root, 'test/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64');
const FILES = { 'empty.bin': 0, 'small.txt': 11, 'with space.bin': 40_000, 'sub/ünïcode.bin': 300_000, 'sub/deep/large.bin': 9_500_000 };
const names = Object.keys(FILES).sort();

let server, sdk, work, source;
before(async () => {
	work = tempDir('zaffre-file-clients-');
	source = path.join(work, 'source');
	for (const [name, size] of Object.entries(FILES)) {
		fs.mkdirSync(path.dirname(path.join(source, name)), { recursive: true });
		fs.writeFileSync(path.join(source, name), crypto.randomBytes(size));
	}
	server = await startServer({ flags: ['--shareDeleteRetentionDays', '1'] });
	sdk = ShareServiceClient.fromConnectionString(server.connectionString);
});
after(async () => {
	await server?.remove();
	removeDir(work);
});

async function run(program, args, env = {}) {
	const r = await runProgram(args, { program, env, cwd: work, timeoutMs: 600_000 });
	assert.equal(r.code, 0, `${program} ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
	return r.stdout;
}
function sameTree(dir) {
	for (const name of names) assert.ok(fs.readFileSync(path.join(dir, name)).equals(fs.readFileSync(path.join(source, name))), name);
}

test('Python SDK: every operation', { skip: !havePython && 'python3-azure-storage is not installed (tools/packages.txt)' }, async () => {
	const out = await run('/usr/bin/python3', [path.join(root, 'test/clients/file.py')], { AZURE_STORAGE_CONNECTION_STRING: server.connectionString });
	assert.equal(out.trim(), 'done');
});

describe('azcopy', { skip: !fs.existsSync(azcopyBin) && 'azcopy is not installed (test/package.json)' }, () => {
	const env = () => ({ AZCOPY_LOG_LOCATION: path.join(work, 'azlog'), AZCOPY_JOB_PLAN_LOCATION: path.join(work, 'azplan'), HOME: work });
	const at = (service, where) => `${server.endpoints[service]}/${where}?${accountSas(server.account, server.key)}`;
	const azcopy = (...args) => run(azcopyBin, [...args, '--output-level=essential'], env());
	test('up, between shares, to blobs and back, down, sync, list, remove', async () => {
		for (const name of ['azcopy', 'azcopy2']) await sdk.createShare(name);
		await azcopy('copy', `${source}/*`, at('file', 'azcopy/tree'), '--recursive', '--from-to=LocalFile', '--put-md5');
		await azcopy('copy', at('file', 'azcopy/tree'), at('file', 'azcopy2'), '--recursive', '--from-to=FileFile');
		await azcopy('copy', at('file', 'azcopy2/tree/*'), path.join(work, 'down'), '--recursive', '--from-to=FileLocal', '--check-md5=FailIfDifferentOrMissing');
		sameTree(path.join(work, 'down'));
		await azcopy('sync', source, at('file', 'azcopy2/synced'), '--from-to=LocalFile');
		await azcopy('sync', at('file', 'azcopy2/synced'), path.join(work, 'synced'), '--from-to=FileLocal');
		sameTree(path.join(work, 'synced'));
		const listed = await azcopy('list', at('file', 'azcopy2/tree'), '--location=File');
		for (const name of names) assert.ok(listed.includes(name), `${name} in ${listed}`);
		await azcopy('remove', at('file', 'azcopy2/tree'), '--recursive', '--from-to=FileTrash');
		const left = [];
		for await (const item of sdk.getShareClient('azcopy2').rootDirectoryClient.listFilesAndDirectories()) left.push(item.name);
		assert.deepEqual(left, ['synced']);
	});
	test('shares to containers and back', async () => {
		await sdk.createShare('azcopyfromblob');
		const blobs = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('azcopyblobs');
		await blobs.create();
		await azcopy('copy', at('file', 'azcopy/tree'), at('blob', 'azcopyblobs'), '--recursive', '--from-to=FileBlob');
		for (const name of names) assert.ok((await blobs.getBlobClient(`tree/${name}`).downloadToBuffer()).equals(fs.readFileSync(path.join(source, name))), name);
		await azcopy('copy', at('blob', 'azcopyblobs/tree'), at('file', 'azcopyfromblob'), '--recursive', '--from-to=BlobFile');
		await azcopy('copy', at('file', 'azcopyfromblob/tree/*'), path.join(work, 'fromblob'), '--recursive', '--from-to=FileLocal');
		sameTree(path.join(work, 'fromblob'));
	});
});

describe('az storage share, directory and file', { skip: !have('az') && 'az is not installed (tools/packages.txt)' }, () => {
	const home = tempDir('zaffre-az-');
	after(() => removeDir(home));
	async function az(...args) {
		const all = ['storage', ...args, '--connection-string', server.connectionString, '-o', 'json'];
		const out = await run('az', all, { AZURE_CONFIG_DIR: home, AZURE_CORE_COLLECT_TELEMETRY: 'false', AZURE_CORE_NO_COLOR: 'true' });
		return out.trim() ? JSON.parse(out) : undefined;
	}
	test('shares', async () => {
		assert.equal((await az('share', 'create', '-n', 'azshare', '--quota', '5', '--metadata', 'a=b')).created, true);
		assert.equal((await az('share', 'exists', '-n', 'azshare')).exists, true);
		assert.equal((await az('share', 'show', '-n', 'azshare')).properties.quota, 5);
		await az('share', 'update', '-n', 'azshare', '--quota', '6');
		await az('share', 'metadata', 'update', '-n', 'azshare', '--metadata', 'c=d');
		assert.deepEqual(await az('share', 'metadata', 'show', '-n', 'azshare'), { c: 'd' });
		await az('share', 'policy', 'create', '-s', 'azshare', '-n', 'p', '--permissions', 'rl', '--expiry', '2099-01-01T00:00Z');
		assert.ok((await az('share', 'policy', 'list', '-s', 'azshare')).p);
		assert.ok((await az('share', 'list', '--prefix', 'azsh')).some((s) => s.name === 'azshare'));
		// az rounds up to whole gigabytes by itself, and calls nothing one.
		assert.equal(await az('share', 'stats', '-n', 'azshare'), '1');
		assert.ok((await az('share', 'snapshot', '-n', 'azshare')).snapshot);
		assert.deepEqual((await az('share', 'list-handle', '-n', 'azshare')).items ?? [], []);
	});
	test('directories and files', async () => {
		const s = ['-s', 'azshare'];
		assert.equal((await az('directory', 'create', ...s, '-n', 'd')).created, true);
		assert.equal((await az('directory', 'exists', ...s, '-n', 'd')).exists, true);
		assert.equal((await az('directory', 'show', ...s, '-n', 'd')).name, 'd');
		await az('directory', 'metadata', 'update', ...s, '-n', 'd', '--metadata', 'a=b');
		await az('file', 'upload', ...s, '--source', path.join(source, 'sub/deep/large.bin'), '-p', 'd/large.bin', '--validate-content');
		await az('file', 'download', ...s, '-p', 'd/large.bin', '--dest', path.join(work, 'az-large.bin'));
		assert.ok(fs.readFileSync(path.join(work, 'az-large.bin')).equals(fs.readFileSync(path.join(source, 'sub/deep/large.bin'))));
		await az('file', 'upload', ...s, '--source', path.join(source, 'empty.bin'), '-p', 'd/empty.bin');
		await az('file', 'download', ...s, '-p', 'd/empty.bin', '--dest', path.join(work, 'az-empty.bin'));
		assert.equal(fs.statSync(path.join(work, 'az-empty.bin')).size, 0);
		assert.equal((await az('file', 'show', ...s, '-p', 'd/large.bin')).properties.contentLength, FILES['sub/deep/large.bin']);
		assert.equal((await az('file', 'exists', ...s, '-p', 'd/none')).exists, false);
		await az('file', 'resize', ...s, '-p', 'd/large.bin', '--size', '100');
		await az('file', 'update', ...s, '-p', 'd/large.bin', '--content-type', 'text/plain');
		await az('file', 'metadata', 'update', ...s, '-p', 'd/large.bin', '--metadata', 'x=y');
		assert.deepEqual(await az('file', 'metadata', 'show', ...s, '-p', 'd/large.bin'), { x: 'y' });
		await az('file', 'copy', 'start', '-s', 'azshare', '-p', 'd/copy.bin', '--source-share', 'azshare', '--source-path', 'd/large.bin');
		assert.deepEqual((await az('file', 'list', ...s, '-p', 'd')).map((f) => f.name).sort(), ['copy.bin', 'empty.bin', 'large.bin']);
		await az('directory', 'create', ...s, '-n', 'batch');
		await az('file', 'upload-batch', '-d', 'azshare/batch', '-s', source);
		fs.mkdirSync(path.join(work, 'az-batch'));
		await az('file', 'download-batch', '-s', 'azshare/batch', '-d', path.join(work, 'az-batch'));
		sameTree(path.join(work, 'az-batch'));
		await az('file', 'delete', ...s, '-p', 'd/copy.bin');
		await az('file', 'delete-batch', '-s', 'azshare', '--pattern', 'd/*');
		await az('directory', 'delete', ...s, '-n', 'd');
		assert.equal((await az('directory', 'exists', ...s, '-n', 'd')).exists, false);
		assert.equal((await az('share', 'delete', '-n', 'azshare', '--delete-snapshots', 'include')).deleted, true);
	});
});

// SPDX-License-Identifier: Apache-2.0
// az, azcopy, rclone and the JS SDK through one server: each uploads, lists, downloads and deletes, and reads what the others wrote.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, root, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

const have = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
const azcopyBin = path.join(root, 'test/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64');
const container = 'clients';
// Names and sizes that have tripped clients before: an empty file, one past the small-payload limit, one of several blocks, a
// name with a space, one with letters beyond ASCII, a folder.
const FILES = { 'empty.bin': 0, 'small.txt': 11, 'with space.bin': 40_000, 'sub/ünïcode.bin': 300_000, 'sub/large.bin': 9_500_000 };

let server, sdk, work, source;
before(async () => {
	work = tempDir('zaffre-clients-');
	source = path.join(work, 'source');
	for (const [name, size] of Object.entries(FILES)) {
		fs.mkdirSync(path.dirname(path.join(source, name)), { recursive: true });
		fs.writeFileSync(path.join(source, name), crypto.randomBytes(size));
	}
	server = await startServer();
	sdk = BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient(container);
	await sdk.create();
});
after(async () => {
	await server?.remove();
	removeDir(work);
});

const names = Object.keys(FILES).sort();
const original = (name) => fs.readFileSync(path.join(source, name));
async function stored(prefix) {
	const found = [];
	for await (const item of sdk.listBlobsFlat({ prefix })) found.push(item.name);
	return found.sort();
}
async function same(prefix) {
	assert.deepEqual(await stored(prefix), names.map((n) => prefix + n).sort());
	for (const name of names) assert.ok((await sdk.getBlockBlobClient(prefix + name).downloadToBuffer()).equals(original(name)), name);
}
function sameTree(dir) {
	for (const name of names) assert.ok(fs.readFileSync(path.join(dir, name)).equals(original(name)), name);
}
async function run(program, args, env = {}) {
	const r = await runProgram(args, { program, env, cwd: work, timeoutMs: 300_000 });
	assert.equal(r.code, 0, `${program} ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
	return r.stdout;
}

test('JS SDK', async () => {
	for (const name of names) await sdk.getBlockBlobClient(`js/${name}`).uploadFile(path.join(source, name), { blockSize: 1024 * 1024, concurrency: 4 });
	await same('js/');
	const dir = path.join(work, 'js');
	for (const name of names) {
		fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
		await sdk.getBlockBlobClient(`js/${name}`).downloadToFile(path.join(dir, name));
	}
	sameTree(dir);
	for (const name of names) await sdk.deleteBlob(`js/${name}`);
	assert.deepEqual(await stored('js/'), []);
});

describe('rclone', { skip: !have('rclone') && 'rclone is not installed (tools/packages.txt)' }, () => {
	test('copy, lsf, check, copy back, delete', async () => {
		const remote = `:azureblob,use_emulator=true,endpoint='${server.endpoints.blob}':${container}/rclone`;
		const env = { RCLONE_CONFIG: '/dev/null', HOME: work };
		await run('rclone', ['copy', source, remote], env);
		await same('rclone/');
		const listed = (await run('rclone', ['lsf', '-R', '--files-only', remote], env)).trim().split('\n').sort();
		assert.deepEqual(listed, names);
		await run('rclone', ['check', source, remote], env);
		const dir = path.join(work, 'rclone');
		await run('rclone', ['copy', remote, dir], env);
		sameTree(dir);
		await run('rclone', ['delete', remote], env);
		assert.deepEqual(await stored('rclone/'), []);
	});
});

describe('azcopy', { skip: !fs.existsSync(azcopyBin) && 'azcopy is not installed (npm ci in test/)' }, () => {
	test('copy up, list, copy down, remove', async () => {
		fs.chmodSync(azcopyBin, 0o755);
		const env = { AZCOPY_LOG_LOCATION: path.join(work, 'azlog'), AZCOPY_JOB_PLAN_LOCATION: path.join(work, 'azplan'), AZCOPY_AUTO_LOGIN_TYPE: '', HOME: work, AZCOPY_DISABLE_SYSLOG: 'true' };
		const url = (at) => `${server.endpoints.blob}/${container}${at}?${accountSas(server.account, server.key, { sp: 'rwdxylactfi', ss: 'b' })}`;
		await run(azcopyBin, ['copy', `${source}/*`, url('/azcopy'), '--recursive', '--from-to=LocalBlob', '--output-level=quiet'], env);
		await same('azcopy/');
		const listed = await run(azcopyBin, ['list', url('/azcopy'), '--location=Blob'], env);
		for (const name of names) assert.ok(listed.includes(path.basename(name)), listed);
		const dir = path.join(work, 'azcopy');
		fs.mkdirSync(dir);
		await run(azcopyBin, ['copy', url('/azcopy/*'), dir, '--recursive', '--from-to=BlobLocal', '--output-level=quiet'], env);
		sameTree(dir);
		await run(azcopyBin, ['remove', url('/azcopy'), '--recursive', '--from-to=BlobTrash', '--output-level=quiet'], env);
		assert.deepEqual(await stored('azcopy/'), []);
	});
});

describe('az', { skip: !have('az') && 'azure-cli is not installed (tools/packages.txt)' }, () => {
	test('upload, list, show, download, lease, delete', async () => {
		const env = { AZURE_STORAGE_CONNECTION_STRING: server.connectionString, AZURE_CONFIG_DIR: path.join(work, 'azconfig'), AZURE_CORE_COLLECT_TELEMETRY: 'false', HOME: work, PYTHONWARNINGS: 'ignore' };
		const az = async (...args) => run('az', ['storage', ...args, '--only-show-errors', '-o', 'json'], env);
		await az('blob', 'upload-batch', '-d', `${container}`, '--destination-path', 'az', '-s', source);
		await same('az/');
		const listed = JSON.parse(await az('blob', 'list', '-c', container, '--prefix', 'az/')).map((item) => item.name);
		assert.deepEqual(listed.sort(), names.map((n) => `az/${n}`).sort());
		const shown = JSON.parse(await az('blob', 'show', '-c', container, '-n', 'az/small.txt'));
		assert.equal(shown.properties.contentLength, 11);
		const lease = JSON.parse(await az('blob', 'lease', 'acquire', '-c', container, '-b', 'az/small.txt', '--lease-duration', '15'));
		await az('blob', 'lease', 'release', '-c', container, '-b', 'az/small.txt', '--lease-id', lease);
		const dir = path.join(work, 'az-down');
		fs.mkdirSync(dir);
		const copied = JSON.parse(await az('blob', 'copy', 'start', '-c', container, '-b', 'copied.txt', '--source-container', container, '--source-blob', 'az/small.txt'));
		assert.equal(copied.copy_status, 'success');
		await az('blob', 'download-batch', '-s', container, '-d', dir, '--pattern', 'az/*');
		sameTree(path.join(dir, 'az'));
		await az('blob', 'delete-batch', '-s', container, '--pattern', 'az/*');
		assert.deepEqual(await stored('az/'), []);
	});
});

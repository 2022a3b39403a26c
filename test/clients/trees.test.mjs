// SPDX-License-Identifier: Apache-2.0
// A tree of many small files and one large file: azcopy takes it up, from container to container on the server, and down again;
// rclone checks it; az does what people do with az. ZAFFRE_TEST_LARGE=1 is the long form: 10,000 files and 2 GiB.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, root, runProgram, startServer, tempDir } from '../lib/server.mjs';
import { accountSas } from '../lib/sign.mjs';

const LONG = process.env.ZAFFRE_TEST_LARGE === '1';
const FILES = LONG ? 10_000 : 500;
const LARGE_BYTES = (LONG ? 2048 : 64) * 1024 * 1024;
const have = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
const azcopyBin = path.join(root, 'test/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64');

let server, service, work, source;
before(async () => {
	work = tempDir('zaffre-trees-');
	source = path.join(work, 'source');
	for (let i = 0; i < FILES; i++) {
		const dir = path.join(source, `dir ${i % 17}`, String(i % 5));
		if (i < 100) fs.mkdirSync(dir, { recursive: true });
		fs.writeFileSync(path.join(dir, `file-${i}.bin`), crypto.randomBytes((i * 37) % 9000));
	}
	const fd = fs.openSync(path.join(source, 'large.bin'), 'w');
	for (let at = 0; at < LARGE_BYTES; at += 16 * 1024 * 1024) fs.writeSync(fd, crypto.randomBytes(16 * 1024 * 1024));
	fs.closeSync(fd);
	server = await startServer();
	service = BlobServiceClient.fromConnectionString(server.connectionString);
	for (const name of ['tree-one', 'tree-two']) await service.getContainerClient(name).create();
});
after(async () => {
	await server?.remove();
	removeDir(work);
});

async function run(program, args, env = {}) {
	const r = await runProgram(args, { program, env, cwd: work, timeoutMs: LONG ? 1_800_000 : 300_000 });
	assert.equal(r.code, 0, `${program} ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
	return r.stdout;
}
function sameTree(a, b) {
	const r = spawnSync('diff', ['-rq', a, b]);
	assert.equal(r.status, 0, String(r.stdout).slice(0, 2000));
}

describe('azcopy and rclone', { skip: !fs.existsSync(azcopyBin) && 'azcopy is not installed (npm ci in test/)' }, () => {
	const sas = () => accountSas(server.account, server.key, { sp: 'rwdxylactfi', ss: 'b' });
	const url = (at) => `${server.endpoints.blob}/${at}?${sas()}`;
	const azcopy = (...args) =>
		run(azcopyBin, [...args, '--output-level=quiet', '--log-level=ERROR'], {
			AZCOPY_LOG_LOCATION: path.join(work, 'azlog'),
			AZCOPY_JOB_PLAN_LOCATION: path.join(work, 'azplan'),
			AZCOPY_AUTO_LOGIN_TYPE: '',
			HOME: work,
			AZCOPY_DISABLE_SYSLOG: 'true',
			AZCOPY_CONCURRENCY_VALUE: '16',
		});
	test('up', async () => {
		await azcopy('copy', `${source}/*`, url('tree-one'), '--recursive', '--from-to=LocalBlob', '--put-md5');
		let count = 0;
		for await (const item of service.getContainerClient('tree-one').listBlobsFlat()) count += item.properties.contentLength >= 0;
		assert.equal(count, FILES + 1);
	});
	test('from container to container on the server', async () => {
		await azcopy('copy', url('tree-one'), url('tree-two'), '--recursive', '--from-to=BlobBlob', '--as-subdir=false');
	});
	test('down, byte for byte', async () => {
		const dir = path.join(work, 'down');
		fs.mkdirSync(dir);
		await azcopy('copy', url('tree-two').replace('tree-two?', 'tree-two/*?'), dir, '--recursive', '--from-to=BlobLocal', '--check-md5=FailIfDifferent');
		sameTree(source, dir);
		removeDir(dir);
	});
	test('rclone check agrees', { skip: !have('rclone') && 'rclone is not installed (tools/packages.txt)' }, async () => {
		for (const name of ['tree-one', 'tree-two'])
			await run('rclone', ['check', '--download', source, `:azureblob,use_emulator=true,endpoint='${server.endpoints.blob}':${name}`], { RCLONE_CONFIG: '/dev/null', HOME: work });
	});
	test('sync deletes what is gone', async () => {
		fs.rmSync(path.join(source, 'large.bin'));
		fs.writeFileSync(path.join(source, 'new.txt'), 'new');
		await azcopy('sync', source, url('tree-two'), '--delete-destination=true', '--from-to=LocalBlob');
		const two = service.getContainerClient('tree-two');
		assert.equal(await two.getBlobClient('large.bin').exists(), false);
		assert.equal((await two.getBlobClient('new.txt').downloadToBuffer()).toString(), 'new');
	});
});

describe('az storage blob', { skip: !have('az') && 'azure-cli is not installed (tools/packages.txt)' }, () => {
	const az = async (...args) => {
		const text = await run('az', ['storage', ...args, '--only-show-errors', '-o', 'json'], {
			AZURE_STORAGE_CONNECTION_STRING: server.connectionString,
			AZURE_CONFIG_DIR: path.join(work, 'azconfig'),
			AZURE_CORE_COLLECT_TELEMETRY: 'false',
			HOME: work,
			PYTHONWARNINGS: 'ignore',
		});
		return text.trim() ? JSON.parse(text) : undefined;
	};
	// az takes seconds to start: what it wrote is looked at with the SDK.
	test('batch upload, snapshot, copy, soft delete and undelete, tier', async () => {
		const small = path.join(work, 'small');
		const container = service.getContainerClient('az-tree');
		const text = async (name) => (await container.getBlobClient(name).downloadToBuffer()).toString();
		await container.create();
		fs.mkdirSync(small);
		for (const name of ['a.txt', 'b.txt']) fs.writeFileSync(path.join(small, name), name);
		assert.equal((await az('blob', 'upload-batch', '-d', 'az-tree', '-s', small)).length, 2);
		const { snapshot } = await az('blob', 'snapshot', '-c', 'az-tree', '-n', 'a.txt');
		await container.getBlockBlobClient('a.txt').upload('changed', 7);
		assert.equal((await container.getBlobClient('a.txt').withSnapshot(snapshot).downloadToBuffer()).toString(), 'a.txt');
		const started = await az('blob', 'copy', 'start', '--destination-container', 'az-tree', '--destination-blob', 'copy.txt', '--source-uri', `${container.url}/a.txt`);
		assert.equal(started.copy_status, 'success');
		assert.equal(await text('copy.txt'), 'changed');
		await az('blob', 'service-properties', 'delete-policy', 'update', '--enable', 'true', '--days-retained', '3');
		await az('blob', 'delete', '-c', 'az-tree', '-n', 'b.txt');
		assert.equal(await container.getBlobClient('b.txt').exists(), false);
		await az('blob', 'undelete', '-c', 'az-tree', '-n', 'b.txt');
		assert.equal(await text('b.txt'), 'b.txt');
		await az('blob', 'set-tier', '-c', 'az-tree', '-n', 'b.txt', '--tier', 'Cool');
		assert.equal((await container.getBlobClient('b.txt').getProperties()).accessTier, 'Cool');
	});
});

// SPDX-License-Identifier: Apache-2.0
// Programs nobody here wrote, on a fresh server: each ends with status 0, none is answered 5xx, and the store is clean behind them.
// One that is not installed is skipped; `make clients` installs those that Debian has.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startForPrograms, without } from '../lib/programs.mjs';

const isRoot = process.getuid() === 0;

function makeTree(dir) {
	fs.mkdirSync(path.join(dir, 'sub'), { recursive: true });
	for (const [name, size] of Object.entries({ 'empty': 0, 'small.txt': 11, 'sub/large.bin': 6_000_000 })) fs.writeFileSync(path.join(dir, name), crypto.randomBytes(size));
}

describe('programs', () => {
	let ground, server, work, source;
	before(async () => {
		ground = await startForPrograms();
		({ server, work } = ground);
		source = path.join(work, 'source');
		makeTree(source);
	});
	after(() => ground.end());
	const run = (program, args, env) => ground.run(program, args, { env });
	const container = async (name) => BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient(name).createIfNotExists();
	const sameAs = (dir) => assert.equal(spawnSync('diff', ['-r', source, dir], { encoding: 'utf8' }).stdout, '');

	test('duplicity: full and incremental backup, verify, restore', { skip: without('duplicity') }, async () => {
		await container('duplicity');
		const env = { AZURE_CONNECTION_STRING: server.connectionString, PASSPHRASE: 'x' };
		const common = ['--no-encryption', '--archive-dir', path.join(work, 'cache')];
		await run('duplicity', ['full', ...common, source, 'azure://duplicity'], env);
		fs.writeFileSync(path.join(source, 'sub/new'), crypto.randomBytes(100_000));
		await run('duplicity', ['incremental', ...common, source, 'azure://duplicity'], env);
		await run('duplicity', ['verify', '--compare-data', ...common, 'azure://duplicity', source], env);
		await run('duplicity', ['restore', ...common, 'azure://duplicity', path.join(work, 'restored')], env);
		sameAs(path.join(work, 'restored'));
	});

	test('GDAL: a layer written to and read from /vsiaz/', { skip: without('ogr2ogr') }, async () => {
		await container('gis');
		const env = { AZURE_STORAGE_CONNECTION_STRING: server.connectionString };
		fs.writeFileSync(path.join(work, 'points.csv'), 'name,x,y\nada,1.5,2.5\nbob,3,4\n');
		await run('ogr2ogr', ['-f', 'GeoJSON', '/vsiaz/gis/points.geojson', 'points.csv', '-oo', 'X_POSSIBLE_NAMES=x', '-oo', 'Y_POSSIBLE_NAMES=y'], env);
		const info = await run('ogrinfo', ['-al', '/vsiaz/gis/points.geojson'], env);
		assert.match(info, /Feature Count: 2/);
		assert.match(info, /POINT \(1\.5 2\.5\)/);
	});

	test('rclone: copy, check, bisync, purge', { skip: without('rclone') }, async () => {
		await container('rclone');
		const remote = `:azureblob,use_emulator=true,endpoint='${server.endpoints.blob}':rclone`;
		await run('rclone', ['copy', source, `${remote}/tree`]);
		await run('rclone', ['check', '--download', source, `${remote}/tree`]);
		await run('rclone', ['bisync', '--resync', source, `${remote}/tree`, '--workdir', path.join(work, 'bisync')]);
		await run('rclone', ['copy', `${remote}/tree`, path.join(work, 'rcloned')]);
		sameAs(path.join(work, 'rcloned'));
		await run('rclone', ['purge', `${remote}/tree`]);
	});

	test('rclone: a FUSE mount, written and read as files', { skip: without('rclone') || without('fusermount3') || (fs.existsSync('/dev/fuse') ? false : 'no /dev/fuse') }, async () => {
		await container('mounted');
		const source = path.join(work, 'to-mount'), point = path.join(work, 'mount');
		makeTree(source);
		fs.mkdirSync(point);
		const remote = `:azureblob,use_emulator=true,endpoint='${server.endpoints.blob}':mounted`;
		const mount = spawn('rclone', ['mount', remote, point, '--vfs-cache-mode', 'writes', '--vfs-write-back', '0s', '--cache-dir', path.join(work, 'vfs')], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: work } });
		let text = '';
		mount.stderr.on('data', (piece) => (text += piece));
		const gone = new Promise((resolve) => mount.once('exit', resolve));
		const isMounted = () => fs.readFileSync('/proc/mounts', 'utf8').includes(` ${point} `);
		try {
			for (const end = Date.now() + 20_000; !isMounted(); await new Promise((resolve) => setTimeout(resolve, 50))) assert.ok(Date.now() < end && mount.exitCode === null, `not mounted: ${text}`);
			// The processes that touch the mount are others than this one, which would wait for itself.
			await run('cp', ['-r', source, path.join(point, 'tree')]);
			await run('diff', ['-r', source, path.join(point, 'tree')]);
			await run('mv', [path.join(point, 'tree/small.txt'), path.join(point, 'tree/moved.txt')]);
			await run('rm', [path.join(point, 'tree/sub/large.bin')]);
			assert.match(await run('ls', [path.join(point, 'tree')]), /^empty\nmoved\.txt\nsub\n$/);
		} finally {
			if (isMounted()) await run('fusermount3', ['-u', point]);
			else mount.kill('SIGTERM');
			await gone;
		}
		const names = [];
		for await (const blob of BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('mounted').listBlobsFlat()) names.push(blob.name);
		assert.deepEqual(names, ['tree/empty', 'tree/moved.txt']);
	});
});

// This restic knows an emulator at 127.0.0.1:10000 and no other address: server and program share a network of their own.
describe('restic', { skip: without('restic') || without('ip') || (isRoot ? false : 'a network of its own needs root') }, () => {
	test('init, backup, check with all data, prune, restore', async () => {
		const ground = await startForPrograms({ wrapper: ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'], ports: { blob: 10000 } });
		const source = path.join(ground.work, 'source');
		makeTree(source);
		const env = { AZURE_ACCOUNT_NAME: ground.server.account, AZURE_ACCOUNT_KEY: ground.server.key, RESTIC_PASSWORD: 'x', RESTIC_REPOSITORY: 'azure:restic:/repository', RESTIC_CACHE_DIR: path.join(ground.work, 'cache') };
		const restic = (...args) => ground.run('nsenter', ['--net', '--target', String(ground.server.pid), 'restic', ...args], { env });
		await restic('init');
		await restic('backup', source);
		fs.writeFileSync(path.join(source, 'sub/new'), crypto.randomBytes(2_000_000));
		await restic('backup', source);
		assert.equal(JSON.parse(await restic('snapshots', '--json')).length, 2);
		await restic('forget', '--keep-last', '1', '--prune');
		assert.match(await restic('check', '--read-data'), /no errors were found/);
		await restic('restore', 'latest', '--target', path.join(ground.work, 'restored'));
		assert.equal(spawnSync('diff', ['-r', source, path.join(ground.work, 'restored', source)], { encoding: 'utf8' }).stdout, '');
		await ground.end();
	});
});

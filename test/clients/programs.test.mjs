// SPDX-License-Identifier: Apache-2.0
// Programs nobody here wrote, on a fresh server: each ends with status 0, none is answered 5xx, and the store is clean behind them.
// One that is not installed is skipped; `make clients` installs those that Debian has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, runProgram, startServer, tempDir } from '../lib/server.mjs';

const without = (command) => (spawnSync('sh', ['-c', `command -v ${command}`]).status === 0 ? false : `${command} is not installed (make clients)`);

describe('programs', () => {
	let server, work, source, log;
	before(async () => {
		work = tempDir('zaffre-programs-');
		source = path.join(work, 'source');
		fs.mkdirSync(path.join(source, 'sub'), { recursive: true });
		for (const [name, size] of Object.entries({ 'empty': 0, 'small.txt': 11, 'sub/large.bin': 6_000_000 })) fs.writeFileSync(path.join(source, name), crypto.randomBytes(size));
		log = path.join(work, 'access.log');
		server = await startServer({ accessLog: log });
	});
	after(async () => {
		await server.stop();
		const lines = fs.readFileSync(log, 'utf8').trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
		const failed = lines.filter((l) => l.status >= 500);
		const scrub = await runProgram(['scrub', '--location', server.dataDir]);
		await server.remove();
		removeDir(work);
		assert.ok(lines.length > 0, 'somebody asked something');
		assert.deepEqual(failed, []);
		assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr);
	});
	const run = async (program, args, env = {}) => {
		const r = await runProgram(args, { program, env: { HOME: work, ...env }, cwd: work, timeoutMs: 120_000 });
		assert.equal(r.code, 0, `${program} ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
		return r.stdout;
	};
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
});

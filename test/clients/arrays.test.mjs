// SPDX-License-Identifier: Apache-2.0
// zarr, LanceDB and OpenDAL (arrays.py) on a fresh server. They come from PyPI into build/clients when `make clients` runs; where that
// cannot be reached they are skipped with the reason.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, root } from '../lib/server.mjs';
import { startForPrograms } from '../lib/programs.mjs';

const PATIENCE_MS = 8 * 60_000;
const dir = path.join(root, 'build/clients/python');
const list = path.join(root, 'test/clients/requirements.txt');
const stamp = path.join(dir, 'requirements.txt');
const isInstalled = () => fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === fs.readFileSync(list, 'utf8');

// Installs what requirements.txt names; returns why that did not work, or false.
function install() {
	if (isInstalled()) return false;
	if (process.env.ZAFFRE_CLIENTS !== '1') return 'they come from PyPI: make clients';
	removeDir(dir);
	fs.mkdirSync(path.dirname(dir), { recursive: true });
	for (const [program, ...args] of [['/usr/bin/python3', '-m', 'venv', dir], [path.join(dir, 'bin/pip'), 'install', '--quiet', '-r', list]]) {
		const r = spawnSync(program, args, { encoding: 'utf8', timeout: PATIENCE_MS });
		if (r.status !== 0) return `not to be had here: ${(r.stderr ?? String(r.error)).trim().split('\n').at(-1)}`;
	}
	fs.copyFileSync(list, stamp);
	return false;
}

describe('programs of data people', { skip: install() }, () => {
	let ground;
	before(async () => (ground = await startForPrograms()));
	after(() => ground.end());
	for (const name of ['zarr', 'lancedb', 'opendal'])
		test(name, async () => {
			const { server } = ground;
			await BlobServiceClient.fromConnectionString(server.connectionString).createContainer(name);
			await ground.run(path.join(dir, 'bin/python'), [path.join(root, 'test/clients/arrays.py'), name], { env: { ENDPOINT: server.endpoints.blob, ACCOUNT: server.account, KEY: server.key, CONNECTION: server.connectionString } });
		});
});

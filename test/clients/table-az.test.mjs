// SPDX-License-Identifier: Apache-2.0
// az storage table and az storage entity, each verb once.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { removeDir, runProgram, startServer, tempDir } from '../lib/server.mjs';

const have = spawnSync('sh', ['-c', 'command -v az']).status === 0;

describe('az storage table and entity', { skip: !have && 'az is not installed (tools/packages.txt)' }, () => {
	let server;
	let home;
	before(async () => {
		server = await startServer();
		home = tempDir('zaffre-az-');
	});
	after(async () => {
		await server?.remove();
		removeDir(home);
	});
	async function az(...args) {
		const all = ['storage', ...args, '--connection-string', server.connectionString, '-o', 'json'];
		const r = await runProgram(all, { program: 'az', timeoutMs: 120_000, env: { AZURE_CONFIG_DIR: home, AZURE_CORE_COLLECT_TELEMETRY: 'false' } });
		assert.equal(r.code, 0, `az ${args.join(' ')}\n${r.stdout}\n${r.stderr}`);
		return r.stdout.trim() ? JSON.parse(r.stdout) : undefined;
	}
	const entity = (verb, ...rest) => az('entity', verb, '-t', 'aztable', ...rest);

	test('tables and entities', async () => {
		assert.equal((await az('table', 'create', '-n', 'aztable')).created, true);
		assert.equal((await az('table', 'exists', '-n', 'aztable')).exists, true);
		assert.deepEqual((await az('table', 'list')).map((t) => t.name), ['aztable']);
		const typed = ['Age=25', 'Age@odata.type=Edm.Int32', 'Big=5000000000', 'Big@odata.type=Edm.Int64', 'Flag=true', 'Flag@odata.type=Edm.Boolean', 'D=1.5', 'D@odata.type=Edm.Double', 'When=2021-01-01T00:00:00Z', 'When@odata.type=Edm.DateTime'];
		await entity('insert', '-e', 'PartitionKey=p', 'RowKey=r', 'Name=x', ...typed);
		const shown = await entity('show', '--partition-key', 'p', '--row-key', 'r');
		assert.deepEqual([shown.Age, shown.Big.value, shown.Flag, shown.D, shown.Name], [25, 5000000000, true, 1.5, 'x']);
		assert.match(shown.When, /^2021-01-01T00:00:00/);
		await entity('merge', '-e', 'PartitionKey=p', 'RowKey=r', 'Name=y');
		assert.deepEqual((await entity('query', '--filter', "Name eq 'y' and Age eq 25")).items.map((e) => e.RowKey), ['r']);
		await entity('replace', '-e', 'PartitionKey=p', 'RowKey=r', 'Only=1');
		assert.equal((await entity('show', '--partition-key', 'p', '--row-key', 'r')).Name, undefined);
		await entity('delete', '--partition-key', 'p', '--row-key', 'r');
		assert.deepEqual((await entity('query')).items, []);
		assert.equal((await az('table', 'delete', '-n', 'aztable')).deleted, true);
	});
});

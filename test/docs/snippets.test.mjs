// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/getting-started.md run as they stand, one after another, against an empty server.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { removeDir, root, startServer, tempDir } from '../lib/server.mjs';
import { classpath, prepare, wanted } from '../lib/sdks.mjs';

const text = fs.readFileSync(path.join(root, 'docs/getting-started.md'), 'utf8');
const snippets = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));
const whyNot = {
	python: () => !python && 'python3-azure-storage is not installed',
	go: () => (wanted ? prepare('Go').why : 'its modules come from the Go proxy: make sdks'),
	java: () => (wanted ? prepare('Java').why : 'its libraries come from Maven Central: make sdks'),
};
// A program that go can build lies in a folder with a module.
function goFolder(file) {
	const dir = `${file}.d`;
	fs.mkdirSync(dir);
	for (const name of ['go.mod', 'go.sum']) fs.copyFileSync(path.join(root, 'test/sdks/go', name), path.join(dir, name));
	fs.copyFileSync(file, path.join(dir, 'main.go'));
	return dir;
}
const python = spawnSync('/usr/bin/python3', ['-c', 'import azure.storage.blob']).status === 0;

describe('getting started', () => {
	let server, dir, folder;
	before(async () => {
		server = await startServer({ flags: ['--inMemoryPersistence'] });
		dir = tempDir();
		folder = fs.mkdtempSync(path.join(root, 'test/docs/.snippets-')); // where imports find the SDKs
	});
	after(async () => {
		await server.remove();
		removeDir(dir);
		removeDir(folder);
	});
	test('there are snippets', () => assert.deepEqual([...new Set(snippets.map((s) => s.language))].sort(), ['go', 'java', 'js', 'python', 'sh']));
	for (const [i, { language, code }] of snippets.entries())
		test(`snippet ${i + 1}, ${language}`, { skip: whyNot[language]?.() || false }, async () => {
			const file = path.join(folder, `${i}.${{ js: 'mjs', python: 'py' }[language] ?? language}`);
			fs.writeFileSync(file, code);
			const commands = {
				js: () => [process.execPath, file],
				python: () => ['/usr/bin/python3', file],
				sh: () => ['bash', '-e', file],
				go: () => ['go', '-C', goFolder(file), 'run', '.'],
				java: () => ['java', '-cp', fs.readFileSync(classpath, 'utf8').trim(), file],
			};
			const [command, ...args] = commands[language]();
			const { stdout } = await promisify(execFile)(command, args, { cwd: dir, env: { ...process.env, AZURE_STORAGE_CONNECTION_STRING: server.connectionString } });
			assert.ok(stdout.length > 0);
			if (code.includes('// fulfilled,rejected')) assert.match(stdout, /^fulfilled,rejected$/m);
		});
});

// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/getting-started.md run as they stand, one after another, against an empty server; those of docs/testing.md, too.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { bin, removeDir, root, startServer, tempDir } from '../lib/server.mjs';
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

// Indented lines behind a sentence of docs/testing.md, up to the next one.
describe('testing with it', () => {
	const page = fs.readFileSync(path.join(root, 'docs/testing.md'), 'utf8');
	const behind = (sentence) => {
		const at = page.indexOf(sentence);
		assert.ok(at >= 0, sentence);
		return /(?:^ {4}.*\n|^\n)+/m.exec(page.slice(page.indexOf('\n\n', at)))[0].replace(/^ {4}/gm, '').trim();
	};
	let dir, server, admin;
	const state = async () => (await fetch(`${admin}/test`)).json();
	before(async () => {
		dir = tempDir();
		fs.mkdirSync(path.join(dir, 'bin'));
		fs.symlinkSync(bin, path.join(dir, 'bin/zaffre'));
		// The shell must be gone when the server is: it becomes it.
		server = spawn('sh', ['-c', `exec ${behind('## A server for a test run')}`], { cwd: dir, stdio: 'ignore', env: { ...process.env, PATH: `${dir}/bin:${process.env.PATH}` } });
		const ready = path.join(dir, 'ready.json');
		for (const end = Date.now() + 60_000; !fs.existsSync(ready); await sleep(20)) assert.ok(Date.now() < end && server.exitCode === null, 'no ready.json');
		admin = JSON.parse(fs.readFileSync(ready, 'utf8')).endpoints.admin;
	});
	after(() => {
		server.kill('SIGKILL');
		removeDir(dir);
	});
	const run = (command, file, env = {}) => promisify(execFile)(command, [file], { cwd: dir, timeout: 60_000, env: { ...process.env, ...env } });

	test('the npm package starts a server, and its test kit does what the page says', async () => {
		fs.mkdirSync(path.join(dir, 'node_modules'));
		fs.symlinkSync(path.join(root, 'dist/npm'), path.join(dir, 'node_modules/zaffre'));
		const file = path.join(dir, 'kit.mjs');
		fs.writeFileSync(file, `${behind('JavaScript the npm package does all of it:')}\nconst kit = server.test;\n${behind('In JavaScript (`server.test`')}\nconsole.log(JSON.stringify(await kit.state()));\nawait server.stop();\n`);
		const { advancedSeconds, faults, states } = JSON.parse((await run(process.execPath, file, { ZAFFRE_BIN: bin })).stdout);
		assert.ok(advancedSeconds >= 61 && faults.length === 0 && states.includes('seeded'), JSON.stringify({ advancedSeconds, faults, states }));
	});
	test('the lines of Python', async () => {
		const file = path.join(dir, 'kit.py');
		const code = behind('In Python:');
		fs.writeFileSync(file, `ADMIN = "${admin}"\n${code.replace('kit("faults", method="DELETE")', 'print(json.dumps(kit("faults", action="delay", delayMs=1, count=1)))\nkit("faults", method="DELETE")')}\n`);
		const before = await state();
		const { faults } = JSON.parse((await run('/usr/bin/python3', file)).stdout);
		assert.deepEqual(faults.map((f) => f.action), ['busy', 'delay']);
		const now = await state();
		assert.ok(now.advancedSeconds >= before.advancedSeconds + 61, JSON.stringify(now));
		assert.deepEqual(now.faults, []);
	});
});

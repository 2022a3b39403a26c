// SPDX-License-Identifier: Apache-2.0
// What people get: the static program in an empty root, the OCI image as an ordinary user on a volume, the Debian package, the npm package.
// The slow half (a second build elsewhere, a fresh Debian root) runs with ZAFFRE_TEST_LONG=1, which `make package-test` sets.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { removeDir, root, tempDir } from '../lib/server.mjs';
import { BlobServiceClient } from '@azure/storage-blob';

const sanitized = /asan|tsan/.test(process.env.ZAFFRE_BIN ?? '');
const long = process.env.ZAFFRE_TEST_LONG === '1';
const isRoot = process.getuid() === 0;
const skip = sanitized ? 'the packages are the same, whatever program is tested' : false;
const skipLong = skip || (long ? false : 'takes minutes: make package-test');
const make = (...targets) => execFileSync('make', ['--no-print-directory', ...targets], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, MAKEFLAGS: '' } });
const sha256 = (file) => crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
const folders = [];
const folder = () => (folders.push(tempDir()), folders.at(-1));
after(() => folders.forEach(removeDir));

const anyPort = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0', '--silent'];
// Starts a command that serves, has one blob written and read, and stops it by SIGTERM.
async function serveOnce(command, args, options = {}) {
	const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
	let text = '';
	const connection = await new Promise((resolve, reject) => {
		child.stdout.on('data', (piece) => {
			text += piece;
			const found = /AZURE_STORAGE_CONNECTION_STRING='([^']*)'/.exec(text);
			if (found) resolve(found[1].replaceAll('0.0.0.0', '127.0.0.1'));
		});
		child.stderr.on('data', (piece) => (text += piece));
		child.once('error', reject);
		child.once('exit', (code) => reject(new Error(`ended with ${code}: ${text}`)));
	});
	const container = BlobServiceClient.fromConnectionString(connection).getContainerClient('packages');
	await container.createIfNotExists();
	await container.uploadBlockBlob('hello', 'Hello', 5);
	assert.equal((await container.getBlobClient('hello').downloadToBuffer()).toString(), 'Hello');
	const gone = new Promise((resolve) => child.removeAllListeners('exit').once('exit', resolve));
	child.kill('SIGTERM');
	assert.equal(await gone, 0, text);
}

describe('packages', { skip }, () => {
	const program = path.join(root, 'build/static/zaffre');
	before(() => make('static'));

	test('the static program needs no library, names no path of its build, and serves in an empty root', { skip: isRoot ? false : 'chroot needs root' }, async () => {
		assert.match(spawnSync('ldd', [program], { encoding: 'utf8' }).stderr, /not a dynamic executable/);
		assert.ok(!fs.readFileSync(program).includes(root), 'the path of the build is in the program');
		const empty = folder();
		fs.copyFileSync(program, path.join(empty, 'zaffre'));
		fs.chmodSync(path.join(empty, 'zaffre'), 0o755);
		await serveOnce('chroot', [empty, '/zaffre', '--location', '/data', ...anyPort]);
	});

	test('the OCI image has the same digest twice, is understood by skopeo, and runs as an ordinary user on a volume', { skip: isRoot ? false : 'chroot needs root' }, async () => {
		make('oci');
		const first = fs.readFileSync(path.join(root, 'build/oci/index.json'), 'utf8');
		make('oci');
		assert.equal(fs.readFileSync(path.join(root, 'build/oci/index.json'), 'utf8'), first);
		const image = JSON.parse(execFileSync('skopeo', ['inspect', '--config', `oci:${path.join(root, 'build/oci')}`], { encoding: 'utf8' }));
		const inspect = JSON.parse(execFileSync('skopeo', ['inspect', `oci:${path.join(root, 'build/oci')}`], { encoding: 'utf8' }));
		const unpacked = folder();
		for (const layer of inspect.Layers) execFileSync('tar', ['-xpf', path.join(root, 'build/oci/blobs/sha256', layer.split(':')[1]), '-C', unpacked]);
		fs.chmodSync(unpacked, 0o755);
		const [uid, gid] = image.config.User.split(':');
		const env = Object.fromEntries(image.config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
		await serveOnce('/usr/sbin/chroot', [`--userspec=${uid}:${gid}`, unpacked, ...image.config.Entrypoint, ...image.config.Cmd, ...anyPort], { env });
		assert.ok(fs.existsSync(path.join(unpacked, 'data/FORMAT')), 'the data is on the volume');
	});

	test('the npm package starts and stops a server, and npx runs the program', async () => {
		make('npm-package');
		const project = folder();
		const tgz = fs.readdirSync(path.join(root, 'build/npm')).find((name) => name.endsWith('.tgz'));
		fs.writeFileSync(path.join(project, 'package.json'), '{"type":"module"}');
		execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--offline', path.join(root, 'build/npm', tgz)], { cwd: project });
		fs.writeFileSync(
			path.join(project, 'use.mjs'),
			"import { start } from 'zaffre';\nconst s = await start();\nconst r = await fetch(s.endpoints.blob + '?comp=list');\nconsole.log(r.status, s.connectionString.includes(s.endpoints.blob));\nawait s.stop();\nconsole.log((await import('node:fs')).existsSync(s.location));\n",
		);
		assert.equal(execFileSync('node', ['use.mjs'], { cwd: project, encoding: 'utf8' }), '404 true\nfalse\n');
		assert.match(execFileSync('npx', ['--no-install', 'zaffre', '--version'], { cwd: project, encoding: 'utf8' }), /^zaffre \d/);
	});

	test('the step of the GitHub Action starts a server that the steps after it find', async () => {
		make('npm-package');
		const tgz = fs.readdirSync(path.join(root, 'build/npm')).find((name) => name.endsWith('.tgz'));
		const lines = fs.readFileSync(path.join(root, 'dist/github/action.yml'), 'utf8').split('\n');
		const begin = lines.findIndex((line) => /^\s+run: \|$/.test(line));
		const step = lines.slice(begin + 1).filter((line) => line.trim()).map((line) => line.replace(/^ {8}/, '')).join('\n');
		const temp = folder(), variables = path.join(temp, 'env');
		fs.writeFileSync(variables, '');
		const take = (PACKAGE) =>
			spawnSync('bash', ['-eo', 'pipefail', '-c', step], { cwd: path.join(root, 'build/npm'), encoding: 'utf8', env: { ...process.env, RUNNER_TEMP: temp, GITHUB_ENV: variables, PACKAGE, ARGUMENTS: anyPort.join(' ') } });
		const absent = take('./absent.tgz');
		assert.ok(absent.status !== 0 && /absent\.tgz/.test(absent.stderr), `a package that is not there: ${absent.status} ${absent.stderr}`);
		const r = take(`./${tgz}`); // a name within the working directory
		assert.equal(r.status, 0, r.stdout + r.stderr);
		const found = Object.fromEntries(fs.readFileSync(variables, 'utf8').trim().split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
		try {
			const container = BlobServiceClient.fromConnectionString(found.AZURE_STORAGE_CONNECTION_STRING).getContainerClient('action');
			await container.create();
			assert.equal((await fetch(`${found.ZAFFRE_ADMIN}/healthz`)).status, 200);
		} finally {
			process.kill(JSON.parse(fs.readFileSync(path.join(temp, 'zaffre-ready.json'), 'utf8')).pid, 'SIGTERM');
		}
	});

	test('the Debian package is the same bytes twice and has what it should', () => {
		make('deb');
		const deb = path.join(root, 'build/deb', fs.readdirSync(path.join(root, 'build/deb')).find((name) => name.endsWith('.deb')));
		const first = sha256(deb);
		make('deb');
		assert.equal(sha256(deb), first);
		const list = execFileSync('dpkg-deb', ['-c', deb], { encoding: 'utf8' });
		for (const [mode, file] of [['-rwxr-xr-x', './usr/bin/zaffre'], ['-rw-------', './etc/zaffre/zaffre.conf'], ['-rw-r--r--', './lib/systemd/system/zaffre.service']])
			assert.match(list, new RegExp(`^${mode} root/root .*${file.replaceAll('.', '\\.')}$`, 'm'));
	});

	test('two builds from two places are the same bytes', { skip: skipLong }, () => {
		const other = path.join(folder(), 'a rather longer path', 'elsewhere');
		fs.mkdirSync(other, { recursive: true });
		// The files of this tree as they are, committed or not: that is what the first program was built from.
		execFileSync('bash', ['-c', 'set -o pipefail; git ls-files -z | tar --null -T - -c | tar -x -C "$1"', 'copy', other], { cwd: root });
		const again = spawnSync('make', ['--no-print-directory', 'static'], { cwd: other, encoding: 'utf8', env: { ...process.env, MAKEFLAGS: '' } });
		assert.equal(again.status, 0, again.stdout + again.stderr);
		assert.equal(sha256(path.join(other, 'build/static/zaffre')), sha256(program));
	});

	test('the Debian package installs, serves, upgrades with its data and purges in a fresh Debian root', { skip: skipLong || (isRoot ? false : 'debootstrap needs root') }, async () => {
		make('deb');
		const debian = path.join(folder(), 'root');
		execFileSync('debootstrap', ['--variant=minbase', 'bookworm', debian], { stdio: ['ignore', 'ignore', 'pipe'] });
		const deb = fs.readdirSync(path.join(root, 'build/deb')).find((name) => name.endsWith('.deb'));
		fs.copyFileSync(path.join(root, 'build/deb', deb), path.join(debian, 'zaffre.deb'));
		const inside = (...command) => execFileSync('chroot', [debian, ...command], { encoding: 'utf8' });
		const serve = () => serveOnce('chroot', [debian, '/usr/bin/zaffre', '--location', '/var/lib/zaffre', ...anyPort]);
		inside('dpkg', '-i', '/zaffre.deb');
		await serve();
		inside('dpkg', '-i', '/zaffre.deb'); // an upgrade to itself
		await serve();
		inside('dpkg', '--remove', 'zaffre');
		assert.ok(fs.existsSync(path.join(debian, 'var/lib/zaffre/FORMAT')), 'removal keeps the data');
		inside('dpkg', '--purge', 'zaffre');
		assert.ok(!fs.existsSync(path.join(debian, 'var/lib/zaffre')), 'purge deletes it');
	});
});

// SPDX-License-Identifier: Apache-2.0
// The image of `make oci` in Debian's podman: as an ordinary user on a volume, by the command lines that other programs give it, on a directory
// of the host, with a compose file. Each container has a network of its own, so that ports are those of the documents.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeDir, root, tempDir } from '../lib/server.mjs';

const has = (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
const skip = process.env.ZAFFRE_TEST_LONG !== '1' ? 'takes minutes: make package-test' : process.getuid() !== 0 ? 'needs root' : ['podman', 'runc'].every(has) ? false : 'podman or runc is not installed (make package-test)';

describe('the image in a container', { skip }, () => {
	let dir;
	let global, env; // options and environment of every podman
	const podman = (args, options = {}) => spawnSync('podman', [...global, ...args], { encoding: 'utf8', timeout: 120_000, env, ...options });
	const must = (args, options) => {
		const r = podman(args, options);
		assert.equal(r.status, 0, `podman ${args.join(' ')}: ${r.stderr}`);
		return r.stdout.trim();
	};
	before(() => {
		dir = tempDir('zaffre-podman-');
		global = ['--root', `${dir}/root`, '--runroot', `${dir}/run`, '--storage-driver', 'vfs', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none'];
		env = { ...process.env, CONTAINERS_CONF: `${dir}/containers.conf` };
		execFileSync('make', ['--no-print-directory', 'oci'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, MAKEFLAGS: '' } });
		// Where this machine may not raise limits, containers have its own.
		fs.writeFileSync(`${dir}/runtime`, '#!/bin/sh\nlast= file=\nfor word in "$@"; do\n\tcase $last in --bundle) file=$word/config.json ;; --process) file=$word ;; esac\n\tlast=$word\ndone\n[ -z "$file" ] || sed -i \'s/"rlimits":\\[[^]]*\\]/"rlimits":[]/\' "$file"\nexec runc "$@"\n', { mode: 0o755 });
		fs.writeFileSync(`${dir}/containers.conf`, `[containers]\ncgroupns = "host"\n[engine]\nruntime = "ours"\n[engine.runtimes]\nours = ["${dir}/runtime"]\n`);
		must(['pull', '-q', `oci:${root}/build/oci`]);
		must(['tag', must(['images', '-q']).split('\n')[0], 'localhost/zaffre:latest']);
	});
	after(() => {
		if (!dir) return;
		podman(['rm', '-f', '-a', '-t', '2']);
		removeDir(dir);
	});

	const says = async (name, want) => {
		for (const end = Date.now() + 60_000; ; await sleep(100)) {
			const { stdout, stderr } = podman(['logs', name]);
			if (want.test(stdout + stderr)) return stdout + stderr;
			assert.ok(Date.now() < end && must(['inspect', '-f', '{{.State.Running}}', name]) === 'true', stdout + stderr);
		}
	};
	// A program of ours in the container's network, because the image has none.
	const inside = (name, script) => {
		const r = spawnSync('nsenter', ['-n', '-t', must(['inspect', '-f', '{{.State.Pid}}', name]), process.execPath, '--input-type=module', '-e', script], { cwd: path.join(root, 'test'), encoding: 'utf8', timeout: 60_000 });
		assert.equal(r.status, 0, r.stderr);
		return r.stdout.trim();
	};
	const sdk = "import { BlobServiceClient } from '@azure/storage-blob'; const box = BlobServiceClient.fromConnectionString('UseDevelopmentStorage=true').getContainerClient('box');";
	const put = `${sdk} await box.createIfNotExists(); await box.uploadBlockBlob('hello', 'Hello', 5);`;
	const get = `${sdk} console.log((await box.getBlobClient('hello').downloadToBuffer()).toString());`;
	const stop = (name) => {
		must(['stop', '-t', '20', name]);
		assert.equal(must(['inspect', '-f', '{{.State.ExitCode}}', name]), '0');
		must(['rm', name]);
	};

	test('serves as an ordinary user on a volume, is healthy, ends by SIGTERM, and the next container has the data', async () => {
		for (const round of [1, 2]) {
			must(['run', '-d', '--name', 'plain', '--network', 'none', '-v', 'kept:/data', 'localhost/zaffre:latest']);
			await says('plain', /AZURE_STORAGE_CONNECTION_STRING=/);
			assert.equal(must(['exec', 'plain', '/zaffre', 'health']), 'ready');
			const status = fs.readFileSync(`/proc/${must(['inspect', '-f', '{{.State.Pid}}', 'plain'])}/status`, 'utf8');
			assert.match(status, /^Uid:\t65532\t65532\t65532\t65532$/m);
			if (round === 1) inside('plain', put);
			assert.equal(inside('plain', get), 'Hello');
			stop('plain');
		}
	});

	// What these projects give their containers: [entrypoint, command].
	const hosts = ['--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0'];
	const ports = ['--blobHost', '0.0.0.0', '--blobPort', '10000', '--queueHost', '0.0.0.0', '--queuePort', '10001', '--tableHost', '0.0.0.0', '--tablePort', '10002'];
	const literal = {
		'Aspire': [null, ['azurite', '-l', '/data', ...hosts, '--skipApiVersionCheck']],
		'Testcontainers for Node.js': ['azurite', [...ports, '--inMemoryPersistence', '--extentMemoryLimit', '64', '--skipApiVersionCheck']],
		'Testcontainers for Go': ['azurite', hosts],
		'Testcontainers for Java': [null, ['azurite', ...hosts]],
		'Testcontainers for .NET': ['azurite', [...hosts, '--inMemoryPersistence', '--extentMemoryLimit', '64']],
		'whoever wants Blob alone': [null, ['azurite-blob', '--blobHost', '0.0.0.0']],
	};
	for (const [who, [entrypoint, command]] of Object.entries(literal))
		test(`starts as ${who} starts it`, async () => {
			must(['run', '-d', '--name', 'literal', '--network', 'none', ...(entrypoint ? ['--entrypoint', `["${entrypoint}"]`] : []), 'localhost/zaffre:latest', ...command]);
			const names = command[0] === 'azurite-blob' ? ['Blob'] : ['Blob', 'Queue', 'Table'];
			for (const name of names) await says('literal', new RegExp(`^Azurite ${name} service (is successfully listening at|successfully listens on) http`, 'm'));
			inside('literal', put);
			assert.equal(inside('literal', get), 'Hello');
			stop('literal');
		});

	test('a directory of the host that belongs to somebody else: told whom to run as, and as that one it works', async () => {
		const bind = path.join(dir, 'bind');
		fs.mkdirSync(bind);
		fs.chownSync(bind, 1000, 1000);
		const refused = podman(['run', '--rm', '--network', 'none', '-v', `${bind}:/data`, 'localhost/zaffre:latest']);
		assert.equal(refused.status, 1);
		assert.match(refused.stderr, /cannot write to the data directory \/data: Permission denied.*belongs to user 1000, this is user 65532.*--user 1000:1000/);
		must(['run', '-d', '--name', 'bound', '--user', '1000:1000', '--network', 'none', '-v', `${bind}:/data`, 'localhost/zaffre:latest']);
		await says('bound', /AZURE_STORAGE_CONNECTION_STRING=/);
		inside('bound', put);
		stop('bound');
		assert.equal(fs.statSync(path.join(bind, 'FORMAT')).uid, 1000);
	});

	test('a certificate and a key that only root can read, as Testcontainers copies them: told, and as root it works', async () => {
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`], { stdio: 'ignore' });
		fs.chmodSync(`${dir}/key.pem`, 0o600);
		fs.chmodSync(`${dir}/cert.pem`, 0o644);
		const args = ['--network', 'none', '-v', `${dir}/key.pem:/azurite-key.pem`, '-v', `${dir}/cert.pem:/azurite-cert.pem`, '--entrypoint', '["azurite"]', 'localhost/zaffre:latest', ...ports, '--cert', '/azurite-cert.pem', '--key', '/azurite-key.pem'];
		const refused = podman(['run', '--rm', ...args]);
		assert.equal(refused.status, 1);
		assert.match(refused.stderr, /cannot use the key \/azurite-key\.pem: Permission denied/);
		must(['run', '-d', '--name', 'tls', '--user', '0', ...args]);
		await says('tls', /^Azurite Table service is successfully listening at https:/m);
		stop('tls');
	});

	test('Testcontainers for Node.js itself', async (t) => {
		const tc = path.join(dir, 'tc');
		fs.mkdirSync(tc);
		fs.writeFileSync(path.join(tc, 'package.json'), '{"private":true,"type":"module"}');
		const npm = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '@testcontainers/azurite@11', '@azure/storage-blob@12'], { cwd: tc, encoding: 'utf8', timeout: 300_000 });
		if (npm.status !== 0) return t.skip('@testcontainers/azurite cannot be had from the registry');
		fs.writeFileSync(path.join(tc, 'run.js'), `import { AzuriteContainer } from '@testcontainers/azurite';
import { BlobServiceClient } from '@azure/storage-blob';
const container = await new AzuriteContainer('localhost/zaffre:latest').start();
const box = BlobServiceClient.fromConnectionString(container.getConnectionString()).getContainerClient('box');
await box.create();
await box.uploadBlockBlob('hello', 'Hello', 5);
console.log((await box.getBlobClient('hello').downloadToBuffer()).toString());
await container.stop();
`);
		const socket = path.join(dir, 'socket');
		const service = spawn('podman', [...global, 'system', 'service', '--time=0', `unix://${socket}`], { stdio: 'ignore', env });
		try {
			for (const end = Date.now() + 30_000; !fs.existsSync(socket); await sleep(50)) assert.ok(Date.now() < end, 'podman makes no socket');
			const r = await promisify(execFile)(process.execPath, ['run.js'], { cwd: tc, timeout: 120_000, env: { ...process.env, DOCKER_HOST: `unix://${socket}`, TESTCONTAINERS_RYUK_DISABLED: 'true' } });
			assert.equal(r.stdout.trim(), 'Hello');
		} finally {
			service.kill('SIGTERM');
		}
	});

	test('the compose file of the recipes', { skip: has('podman-compose') ? false : 'podman-compose is not installed' }, async (t) => {
		const text = fs.readFileSync(path.join(root, 'docs/recipes.md'), 'utf8');
		const recipe = /^ {4}services:\n(?: {4}.*\n|\n)+/m.exec(text.slice(text.indexOf('## docker compose')))[0].replace(/^ {4}/gm, '').trimEnd();
		// Ports of the host are not what is tested, and may be taken.
		const file = path.join(dir, 'compose.yml');
		fs.writeFileSync(file, `${recipe.replace(/^ *ports:.*\n/m, '').replace('image: zaffre:latest', 'image: localhost/zaffre:latest')}\n`);
		fs.writeFileSync(`${dir}/podman`, `#!/bin/sh\nexec podman ${global.join(' ')} "$@"\n`, { mode: 0o755 });
		const compose = (...words) => spawnSync('podman-compose', ['--podman-path', `${dir}/podman`, '-p', 'zaffretest', '-f', file, ...words], { encoding: 'utf8', timeout: 120_000, env });
		const up = compose('up', '-d');
		const name = podman(['ps', '--format', '{{.Names}}']).stdout.trim().split('\n').find((n) => /storage/.test(n));
		if (!name && /netavark|iptables|nftables|bridge|network/i.test(up.stderr)) return t.skip(`this machine makes no networks for containers: ${up.stderr.slice(-200)}`);
		assert.ok(name, up.stdout + up.stderr);
		await says(name, /^Azurite Table service is successfully listening at http:\/\/0\.0\.0\.0:10002$/m);
		inside(name, put);
		assert.equal(inside(name, get), 'Hello');
		compose('down');
	});
});

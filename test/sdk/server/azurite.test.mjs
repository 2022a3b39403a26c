// SPDX-License-Identifier: Apache-2.0
// In Azurite's place: its program names, its banner word for word (as azurite 3.37 prints it), its flags, the command lines that frameworks
// use; an Azurite workspace is recognised; misspelt flags are answered with the right ones.
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { BlobServiceClient } from '@azure/storage-blob';
import { bin, freePort, listeningPorts, removeDir, runProgram, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';

const folders = [];
const dir = () => (folders.push(tempDir()), folders.at(-1));
after(() => folders.forEach(removeDir));

// Runs a program until the line it must print is there, then `use`, then SIGTERM; returns all it printed.
async function run(program, args, wait, use = () => {}, options = {}) {
	const env = { ...process.env };
	for (const name of Object.keys(env)) if (/^(ZAFFRE|AZURITE)_/.test(name)) delete env[name];
	const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: options.cwd ?? dir(), env: { ...env, ...options.env } });
	let text = '';
	const gone = new Promise((resolve) => child.once('close', resolve));
	try {
		await new Promise((resolve, reject) => {
			const look = (piece) => wait.test((text += piece)) && resolve();
			child.stdout.on('data', look);
			child.stderr.on('data', look);
			gone.then((code) => reject(new Error(`ended with ${code}: ${text}`)));
		});
		await use(child.pid);
	} finally {
		child.kill('SIGTERM');
		await gone;
	}
	return text;
}

async function ports() {
	return { blob: await freePort(), queue: await freePort(), table: await freePort() };
}
const portFlags = (p) => ['--blobPort', String(p.blob), '--queuePort', String(p.queue), '--tablePort', String(p.table)];
const blobWorks = async (port) => {
	const service = BlobServiceClient.fromConnectionString(`DefaultEndpointsProtocol=http;AccountName=${WELL_KNOWN_ACCOUNT};AccountKey=${WELL_KNOWN_KEY};BlobEndpoint=http://127.0.0.1:${port}/${WELL_KNOWN_ACCOUNT};`);
	await service.getContainerClient('azurite').createIfNotExists();
	await service.getContainerClient('azurite').getBlockBlobClient('b').upload('x', 1);
};
// As an installed link has it.
function link(name) {
	const folder = dir();
	fs.symlinkSync(bin, path.join(folder, name));
	return path.join(folder, name);
}

describe('in Azurite\'s place', () => {
	for (const [how, program, first] of [['first word', () => bin, ['azurite']], ['program name', () => link('azurite'), []]])
		test(`azurite as ${how}: banner and end word for word, three ports and no other`, async () => {
			const p = await ports();
			const text = await run(program(), [...first, ...portFlags(p), '-s', '-L'], /Table service is successfully listening/, async (pid) => {
				await blobWorks(p.blob);
				assert.deepEqual(listeningPorts(pid), Object.values(p).sort((a, b) => a - b));
			});
			const lines = [];
			for (const [name, port] of [['Blob', p.blob], ['Queue', p.queue], ['Table', p.table]])
				lines.push(`Azurite ${name} service is starting at http://127.0.0.1:${port}`, `Azurite ${name} service is successfully listening at http://127.0.0.1:${port}`);
			for (const end of ['is closing...', 'successfully closed']) for (const name of ['Blob', 'Queue', 'Table']) lines.push(`Azurite ${name} service ${end}`);
			assert.equal(text, `${lines.join('\n')}\n`);
		});

	for (const [name, title, service, started] of [
		['azurite-blob', 'Blob', 'blob', (port) => `successfully listens on http://127.0.0.1:${port}`],
		['azurite-queue', 'Queue', 'queue', (port) => `successfully listens on http://127.0.0.1:${port}`],
		['azurite-table', 'Table', 'table', (port) => `successfully started on 127.0.0.1:${port}`],
	])
		for (const [how, program, first] of [['program name', () => link(name), []], ['first word', () => bin, [name]]])
			test(`${name} as ${how}: only its port, its own words`, async () => {
				const p = await ports();
				const text = await run(program(), [...first, `--${service}Port`, String(p[service]), '--silent'], /success/, async (pid) => {
					assert.deepEqual(listeningPorts(pid), [p[service]]);
					assert.equal((await fetch(`http://127.0.0.1:${p[service]}/health`)).status, 200);
				});
				assert.equal(text, [`is starting on 127.0.0.1:${p[service]}`, started(p[service]), 'is closing...', 'successfully closed'].map((line) => `Azurite ${title} service ${line}\n`).join(''));
			});

	test('every flag of Azurite 3.37 is understood', async () => {
		const folder = dir();
		const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(folder, name));
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
		const p = await ports();
		const flags = ['blob', 'queue', 'table'].flatMap((s) => [`--${s}Host`, '127.0.0.1', `--${s}KeepAliveTimeout`, '5']);
		flags.push('--cert', cert, '--key', key, '--oauth', 'basic', '--debug', path.join(folder, 'debug.log'), '--location', path.join(folder, 'data'), '--silent', '--loose');
		flags.push('--disableProductStyleUrl', '--disableTelemetry', '--extentMemoryLimit', '100', '--inMemoryPersistence', '--skipApiVersionCheck');
		const text = await run(bin, ['azurite', ...portFlags(p), ...flags], /Table service is successfully listening/);
		assert.match(text, new RegExp(`^Azurite Blob service is successfully listening at https://127\\.0\\.0\\.1:${p.blob}$`, 'm'));
	});

	test('asked for its version it answers with the number of Azurite alone, and with the truth beside it; asked for help, with the flags', async () => {
		for (const [program, args] of [[bin, ['azurite']], [link('azurite'), []], [link('azurite-blob'), []]]) {
			for (const word of ['--version', '-v', 'version']) {
				const r = spawnSync(program, [...args, word], { encoding: 'utf8' });
				assert.deepEqual([r.status, r.stdout], [0, '3.37.0\n'], `${program} ${word}`);
				assert.match(r.stderr, /^zaffre \d+\.\d+\.\d+ in the place of Azurite 3\.37\.0\n$/);
			}
			for (const word of ['--help', '-h', 'help']) {
				const r = spawnSync(program, [...args, word], { encoding: 'utf8' });
				assert.deepEqual([r.status, r.stderr], [0, ''], `${program} ${word}`);
				for (const flag of ['-l, --location DIR', '--blobPort PORT', '-d, --debug [FILE]', '--oauth LEVEL', ' --skipApiVersionCheck']) assert.ok(r.stdout.includes(flag), `${program} ${word}: ${flag}`);
			}
		}
		assert.match((await runProgram(['version'])).stdout, /^zaffre \d/);
	});

	test('letters in one word, as Azurite takes them: -sLd FILE', async () => {
		const p = await ports(), cwd = dir();
		await run(bin, ['azurite', '-sLd', 'debug.log', ...portFlags(p)], /Table service is successfully listening/, () => blobWorks(p.blob), { cwd });
		assert.ok(fs.existsSync(path.join(cwd, 'debug.log')));
		await run(bin, ['azurite', '-sL', '-l=there', ...portFlags(p)], /Table service is successfully listening/, () => {}, { cwd });
		assert.ok(fs.existsSync(path.join(cwd, 'there/FORMAT')));
		for (const word of ['-ls', '-sx', '-']) assert.equal((await runProgram(['azurite', word])).code, 2, word); // a value in the middle, no such letter, none
	});

	test('AZURITE_DB is not silently passed over', async () => {
		const p = await ports();
		const text = await run(bin, ['azurite', '-s', ...portFlags(p)], /Table service is successfully listening/, () => {}, { env: { AZURITE_DB: 'mysql://root:secret@127.0.0.1/db' } });
		assert.match(text, /AZURITE_DB is not used/);
		assert.ok(!text.includes('secret'), 'its password is not shown');
	});

	test('the default directory is ./zaffre-data, and -d writes there', async () => {
		const cwd = dir();
		const p = await ports();
		await run(bin, ['azurite', ...portFlags(p), '-d', path.join(cwd, 'debug.log')], /Table service is successfully listening/, () => blobWorks(p.blob), { cwd });
		assert.ok(fs.existsSync(path.join(cwd, 'zaffre-data/FORMAT')));
		assert.ok(fs.existsSync(path.join(cwd, 'debug.log')));
	});

	// Ports are the test's; everything else is as these programs write it.
	const literal = {
		'Aspire': (data) => ['azurite', '-l', data, '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0', '--skipApiVersionCheck'],
		'Testcontainers for Node.js': () => ['azurite', '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0', '--skipApiVersionCheck', '--inMemoryPersistence'],
		'Testcontainers for Go': () => ['azurite', '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0', '--inMemoryPersistence'],
		'Testcontainers for Java': () => ['azurite', '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0'],
		'Testcontainers for .NET': () => ['azurite', '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0', '--skipApiVersionCheck', '--disableTelemetry'],
		'a compose file': (data) => ['azurite', '--location', data, '--debug', `${data}.log`, '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0', '--loose', '--disableProductStyleUrl'],
		'the image by default': (data) => ['azurite', '-l', data, '--blobHost', '0.0.0.0', '--queueHost', '0.0.0.0', '--tableHost', '0.0.0.0'],
	};
	for (const [who, flags] of Object.entries(literal))
		test(`the command line of ${who} starts, in a container`, async () => {
			const p = await ports();
			const args = [...flags(path.join(dir(), 'data')), ...portFlags(p)];
			const text = await run(bin, args, /Azurite Table service is successfully listening at http:\/\/0\.0\.0\.0:/, () => blobWorks(p.blob), { env: { ZAFFRE_I_KNOW_THIS_KEY_IS_PUBLIC: 'true' } });
			for (const name of ['Blob', 'Queue', 'Table']) assert.match(text, new RegExp(`^Azurite ${name} service is successfully listening`, 'm'));
		});

	test('outside of a container the public key stays on this machine', async () => {
		const r = await runProgram(['azurite', '--blobHost', '0.0.0.0', '--blobPort', '0', '--queuePort', '0', '--tablePort', '0'], { cwd: dir() });
		assert.equal(r.code, 1);
		assert.match(r.stderr, /well-known key is public/);
	});

	test('a workspace of Azurite is recognised, and nothing in it changes', async () => {
		const location = dir();
		fs.writeFileSync(path.join(location, '__azurite_db_blob__.json'), '{}');
		const r = await runProgram(['azurite', '--location', location, '--blobPort', '0']);
		assert.equal(r.code, 1);
		assert.match(r.stderr, /is a workspace of Azurite.*import-azurite/);
		assert.deepEqual(fs.readdirSync(location), ['__azurite_db_blob__.json']);
	});

	test('PFX is answered with the openssl command', async () => {
		for (const flags of [['--cert', 'my.pfx', '--key', 'x'], ['--pwd', 'secret']]) {
			const r = await runProgram(['azurite', ...flags], { cwd: dir() });
			assert.equal(r.code, 2);
			assert.match(r.stderr, /openssl pkcs12 -in (my|FILE)\.pfx -nodes -nokeys -out cert\.pem/);
			assert.ok(!r.stderr.includes('secret'));
		}
	});

	test('--disableProductStyleUrl: the host names no account', async () => {
		for (const [flags, status] of [[[], 200], [['--disableProductStyleUrl'], 404]]) {
			const server = await startServer({ flags });
			const url = new URL(server.endpoints.blob);
			const client = new Client(server, { endpoint: `http://${WELL_KNOWN_ACCOUNT}.localhost:${url.port}` });
			const { headers } = client.prepare('GET', '/', { query: { comp: 'list' } });
			const answer = await new Promise((resolve, reject) => {
				const ask = http.request({ host: '127.0.0.1', port: url.port, path: '/?comp=list', headers: { ...headers, host: `${WELL_KNOWN_ACCOUNT}.localhost` } }, resolve);
				ask.on('error', reject).end();
			});
			answer.resume();
			assert.equal(answer.statusCode, status);
			await server.remove();
		}
	});

	test('on a terminal the log is for people, in a pipe it is JSON', { skip: fs.existsSync('/usr/bin/script') ? false : 'no script(1)' }, async () => {
		const cwd = dir();
		const port = await freePort();
		const flags = ['--services', 'blob', '--blobPort', String(port), '--adminPort', 'off', '--inMemoryPersistence'];
		const use = async () => {
			await blobWorks(port);
			await fetch(`http://127.0.0.1:${port}/nobody/x%1b[31m`);
			await new Promise((resolve) => setTimeout(resolve, 200));
		};
		const piped = await run(bin, flags, /AZURE_STORAGE/, use, { cwd });
		for (const line of piped.split('\n').filter((l) => l.startsWith('{'))) JSON.parse(line);
		assert.match(piped, /^\{"time":/m);
		const pid = path.join(cwd, 'pid');
		const people = await run('/usr/bin/script', ['-qfec', `echo $$ > ${pid}; exec ${bin} ${flags.join(' ')}`, '/dev/null'], /AZURE_STORAGE/, async () => {
			await use();
			process.kill(Number(fs.readFileSync(pid, 'utf8')), 'SIGTERM');
		}, { cwd });
		assert.match(people, /^\d\d:\d\d:\d\d\.\d+ +\x1b\[32m201\x1b\[0m +\d+\.\d ms {2}BLOB_PUT +PUT \/devstoreaccount1\/azurite\/b/m);
		assert.match(people, /404.*\/nobody\/x.*ResourceNotFound[\s\S]*No account nobody/);
		assert.ok(!people.includes('/nobody/x\x1b'), 'what a client sends is no command to the terminal');
	});

	test('--services and --publicHost', async () => {
		const ready = path.join(dir(), 'ready.json');
		const text = await run(bin, ['--services', 'queue, blob', '--blobPort', '0', '--queuePort', '0', '--adminPort', '0', '--silent', '--publicHost', 'storage.test', '--readyFile', ready], /AZURE_STORAGE/);
		assert.match(text, /BlobEndpoint=http:\/\/storage\.test:\d+\/devstoreaccount1;QueueEndpoint=http:\/\/storage\.test:\d+\/devstoreaccount1;'/);
		assert.ok(!/Zaffre (Table|File) service/.test(text), text);
		assert.deepEqual(Object.keys(JSON.parse(fs.readFileSync(ready, 'utf8')).endpoints), ['blob', 'queue', 'admin']);
		const r = await runProgram(['--services', 'blobs']);
		assert.deepEqual([r.code, /--services is a list of blob/.test(r.stderr)], [2, true]);
	});

	test('misspelt flags and commands are answered with the right ones', async () => {
		for (const [args, meant] of [[['--blobport', '1'], '--blobPort'], [['--locaton', 'x'], '--location'], [['-silent'], '--silent'], [['--inMemory-Persistence'], '--inMemoryPersistence'], [['--blob-host=1'], '--blobHost'], [['--verison'], '--version'], [['--port', '1'], '--blobPort'],
			[['--dir=x'], '--location'], [['scrubb'], 'scrub'], [['silent'], '--silent'], [['account', 'lst'], 'list'], [['--xyzzy'], undefined]]) {
			const r = await runProgram(args);
			assert.equal(r.code, 2, args.join(' '));
			if (meant) assert.match(r.stderr, new RegExp(`did you mean ${meant}\\?`), args.join(' '));
			else assert.ok(!/did you mean/.test(r.stderr));
		}
		for (const [args, answer] of [[['--location', 'x', 'scrub'], /unexpected word scrub: a command comes before all options/], [['account', 'add'], /a word is missing: zaffre account add NAME/]]) {
			const r = await runProgram(args);
			assert.equal(r.code, 2, args.join(' '));
			assert.match(r.stderr, answer);
		}
	});
});

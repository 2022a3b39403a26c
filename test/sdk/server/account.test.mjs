// SPDX-License-Identifier: Apache-2.0
// `zaffre account`: accounts of a running server, through its admin socket, used by the SDK at once; what is refused and what stays.
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { removeDir, runProgram, startServer, tempDir, freePort } from '../../lib/server.mjs';

const keyOf = (text, number) => text.match(new RegExp(`^key${number}: (\\S+)$`, 'm'))?.[1];

for (const mode of ['development', 'production'])
	describe(`zaffre account, ${mode} mode`, () => {
		let server, adminPort, before1;
		const flags = () => ['--mode', mode, '--adminPort', String(adminPort), '--accountName', 'first'];
		const account = (...words) => runProgram(['account', ...words, '--location', server.dataDir]);
		const sdk = (name, key) => new BlobServiceClient(server.endpoints.blob.replace(/\/[^/]+$/, `/${name}`), new StorageSharedKeyCredential(name, key), { retryOptions: { maxTries: 1 } });
		const works = (name, key) => sdk(name, key).getProperties().then(() => true, (e) => (assert.match(String(e.statusCode), /403|404/), false));
		before(async () => {
			adminPort = await freePort();
			server = await startServer({ flags: flags() });
			before1 = mode === 'production' ? 'first' : 'devstoreaccount1';
		});
		after(() => server.remove());

		test('add shows two keys once, and both open the account at once', async () => {
			const r = await account('add', 'shop');
			assert.equal(r.code, 0, r.stderr);
			const [key1, key2] = [keyOf(r.stdout, 1), keyOf(r.stdout, 2)];
			assert.equal(Buffer.from(key1, 'base64').length, 64);
			assert.notEqual(key1, key2);
			await sdk('shop', key1).createContainer('goods');
			assert.equal(await works('shop', key2), true);
			for (const words of [['show', 'shop'], ['list']]) {
				const shown = await account(...words);
				assert.equal(shown.code, 0);
				assert.match(shown.stdout, /^shop {2}key1 [0-9a-f]{12} {2}key2 [0-9a-f]{12}$/m);
				assert.ok(!shown.stdout.includes(key1) && !shown.stdout.includes(key2));
			}
			const file = path.join(server.dataDir, 'accounts');
			assert.equal(fs.statSync(file).mode & 0o777, 0o600);
			assert.ok(!server.stderr.includes(key1));
		});

		test('rotate replaces one key; the other goes on', async () => {
			await account('add', 'rotor');
			const first = await account('rotate', 'rotor', 'key1');
			const second = await account('rotate', 'rotor', 'key2');
			const [key1, key2] = [keyOf(first.stdout, 1), keyOf(second.stdout, 2)];
			assert.equal(await works('rotor', key1), true);
			assert.equal(await works('rotor', key2), true);
			const third = await account('rotate', 'rotor', 'key1');
			assert.equal(await works('rotor', key1), false);
			assert.equal(await works('rotor', keyOf(third.stdout, 1)), true);
			assert.equal(await works('rotor', key2), true);
		});

		test('what is there survives a restart; remove ends it, and its data comes back with the name', async () => {
			const made = await account('add', 'lasting');
			await sdk('lasting', keyOf(made.stdout, 1)).createContainer('kept');
			await server.restart();
			assert.equal(await works('lasting', keyOf(made.stdout, 2)), true);
			assert.equal((await account('remove', 'lasting')).code, 0);
			assert.equal(await works('lasting', keyOf(made.stdout, 1)), false);
			assert.doesNotMatch((await account('list')).stdout, /lasting/);
			const again = await account('add', 'lasting');
			assert.equal(await works('lasting', keyOf(made.stdout, 1)), false);
			assert.equal(await sdk('lasting', keyOf(again.stdout, 1)).getContainerClient('kept').exists(), true);
		});

		test('changes race: sixteen at once, each account is there with its own keys', async () => {
			const made = await Promise.all(Array.from({ length: 16 }, (_, i) => account('add', `racer${i}`)));
			for (const [i, r] of made.entries()) assert.equal(await works(`racer${i}`, keyOf(r.stdout, 1)), true, r.stderr);
			const twice = await Promise.all([account('add', 'twin'), account('add', 'twin')]);
			assert.deepEqual(twice.map((r) => r.code).sort(), [0, 1]);
		});

		test('refusals say what is wrong and change nothing', async () => {
			const file = path.join(server.dataDir, 'accounts');
			const text = fs.readFileSync(file, 'utf8');
			for (const [words, message] of [
				[['add', 'UPPER'], /3 to 24 lower-case/],
				[['add', 'x:y'], /3 to 24/],
				[['add', 'shop'], /already/],
				[['rotate', 'nobody', 'key1'], /no such account/],
				[['rotate', 'shop', 'key3'], /key1 or key2/],
				[['remove', 'nobody'], /no such account/],
				...(mode === 'development' ? [[['remove', before1], /well-known/]] : []),
			]) {
				const r = await account(...words);
				assert.equal(r.code, 1, words.join(' '));
				assert.match(r.stderr, message);
			}
			for (const words of [[], ['dance'], ['add'], ['add', '--location']]) assert.equal((await runProgram(['account', ...words])).code, 2);
			assert.equal(fs.readFileSync(file, 'utf8'), text);
			// Comments of the operator stay.
			fs.writeFileSync(file, `# mine\n${text}`, { mode: 0o600 });
			assert.equal((await account('add', 'later')).code, 0);
			assert.match(fs.readFileSync(file, 'utf8'), /^# mine$/m);
		});

		test('a file that the server would not take is not left behind', async () => {
			const file = path.join(server.dataDir, 'accounts');
			const good = fs.readFileSync(file, 'utf8');
			fs.writeFileSync(file, good + 'BROKEN\n', { mode: 0o600 });
			const r = await account('add', 'never');
			assert.equal(r.code, 1);
			assert.equal(fs.readFileSync(file, 'utf8'), good + 'BROKEN\n');
			fs.writeFileSync(file, good, { mode: 0o600 });
			assert.equal((await account('list')).code, 0);
		});

		test('commands are not taken from the network, and the socket is the owner\'s alone', async () => {
			const status = await new Promise((resolve, reject) => http.request({ port: adminPort, method: 'POST', path: '/account/add?name=thief' }, (r) => (r.resume(), resolve(r.statusCode))).on('error', reject).end());
			assert.equal(status, 403);
			const st = fs.statSync(path.join(server.dataDir, 'admin.sock'));
			assert.ok(st.isSocket());
			assert.equal(st.mode & 0o077, 0);
			assert.doesNotMatch((await account('list')).stdout, /thief/);
		});
	});

test('a server that is not there, and one whose accounts stand elsewhere', async () => {
	const dir = tempDir();
	const r = await runProgram(['account', 'list', '--location', dir]);
	assert.equal(r.code, 1);
	assert.match(r.stderr, /no server runs on/);
	removeDir(dir);
	const server = await startServer({ env: { ZAFFRE_ACCOUNTS: `envy:${Buffer.alloc(64, 7).toString('base64')}` } });
	try {
		const refused = await runProgram(['account', 'add', 'more', '--location', server.dataDir]);
		assert.match(refused.stderr, /environment or in the configuration file/);
		assert.match((await runProgram(['account', 'list', '--location', server.dataDir])).stdout, /^envy {2}key1 /);
		await server.kill9();
		await server.restart(); // what the killed one left at the socket's place does no harm
		assert.equal((await runProgram(['account', 'list', '--location', server.dataDir])).code, 0);
	} finally {
		await server.remove();
	}
});

test('a data directory whose name is longer than the address of a socket', async () => {
	const dir = tempDir();
	const deep = path.join(dir, 'd'.repeat(120), 'e'.repeat(60));
	const server = await startServer({ dataDir: deep });
	try {
		const r = await runProgram(['account', 'list', '--location', deep]);
		assert.equal(r.code, 0, r.stderr);
	} finally {
		await server.remove();
		removeDir(dir);
	}
});

// SPDX-License-Identifier: Apache-2.0
// The static program for arm64 under qemu-user, beside the official SDK: `make arm64-test` (the C tests of that build run there, too).
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { ShareServiceClient } from '@azure/storage-file-share';
import { removeDir, root, runProgram, startServer, tempDir } from '../lib/server.mjs';

const program = path.join(root, 'build/arm64/zaffre');

describe('arm64', { skip: process.env.ZAFFRE_ARM64 === '1' ? false : 'needs a cross compiler and qemu: make arm64-test' }, () => {
	test('the program is one file for aarch64', () => {
		assert.match(execFileSync('file', ['-b', program], { encoding: 'utf8' }), /ARM aarch64.*statically linked/);
	});
	test('it is packed as image and Debian package for arm64', () => {
		const out = tempDir();
		execFileSync(path.join(root, 'tools/package-oci'), [program, path.join(out, 'oci')]);
		assert.equal(JSON.parse(execFileSync('skopeo', ['inspect', `oci:${path.join(out, 'oci')}`], { encoding: 'utf8' })).Architecture, 'arm64');
		const deb = execFileSync(path.join(root, 'tools/package-deb'), [program, out], { encoding: 'utf8' }).trim();
		assert.equal(execFileSync('dpkg-deb', ['-f', deb, 'Architecture'], { encoding: 'utf8' }).trim(), 'arm64');
		removeDir(out);
	});
	test('it serves all four services, keeps what it acknowledged over kill -9, and the store is clean', async () => {
		const server = await startServer({ wrapper: ['qemu-aarch64-static'], program });
		const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) & 255));
		const container = () => BlobServiceClient.fromConnectionString(server.connectionString).getContainerClient('arm');
		await container().create();
		await container().getBlockBlobClient('b').uploadData(bytes);
		const { etag } = await container().getBlockBlobClient('race').upload('0', 1);
		const outcomes = await Promise.allSettled(['1', '2', '3'].map((t) => container().getBlockBlobClient('race').upload(t, 1, { conditions: { ifMatch: etag } })));
		assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 1);
		const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient('arm');
		await queue.create();
		await queue.sendMessage('work');
		const table = () => TableClient.fromConnectionString(server.connectionString, 'Arm', { allowInsecureConnection: true });
		await table().createTable();
		await table().createEntity({ partitionKey: 'p', rowKey: 'r', n: 7 });
		const share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('arm');
		await share.create();
		await share.rootDirectoryClient.getFileClient('f').uploadData(bytes);
		await server.kill9();
		await server.restart();
		assert.ok((await container().getBlockBlobClient('b').downloadToBuffer()).equals(bytes));
		assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, 'work');
		assert.equal((await table().getEntity('p', 'r')).n, 7);
		assert.ok((await share.rootDirectoryClient.getFileClient('f').downloadToBuffer()).equals(bytes));
		await server.stop();
		// What it wrote is read by this machine's own program, too: one format for both.
		for (const [command, args] of [['qemu-aarch64-static', [program, 'scrub', '--location', server.dataDir]], [undefined, ['scrub', '--location', server.dataDir]]]) {
			const r = await runProgram(args, command ? { program: command } : {});
			assert.equal(r.code, 0, r.stdout + r.stderr);
		}
		await server.remove();
	});
});

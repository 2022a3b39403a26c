// SPDX-License-Identifier: Apache-2.0
// A file system of its own, in a loop-mounted file, for tests that cut the power. Needs root and loop devices.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { removeDir, tempDir } from '../../lib/server.mjs';
import { buildProgram } from '../../lib/native.mjs';

function run(program, ...args) {
	const r = spawnSync(program, args, { encoding: 'utf8' });
	if (r.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${r.stderr ?? r.error}`);
	return r.stdout.trim();
}

// A file system in a file. cutter() is the power cut; mount() brings it back.
export class Disk {
	constructor(kind) {
		this.kind = kind;
		this.base = tempDir(`zaffre-power-${kind}-`);
		this.image = path.join(this.base, 'image');
		this.dir = path.join(this.base, 'mounted');
		fs.mkdirSync(this.dir);
		fs.closeSync(fs.openSync(this.image, 'w'));
		fs.truncateSync(this.image, 1536 * 1024 * 1024);
		run(`mkfs.${kind}`, '-q', this.image);
		this.mount();
	}
	mount() {
		run('mount', '-o', 'loop', this.image, this.dir);
		this.mounted = true;
	}
	unmount() {
		if (this.mounted) run('umount', this.dir);
		this.mounted = false;
	}
	remove() {
		this.unmount();
		removeDir(this.base);
	}
	// Ready to cut the power at once: the function that does it, and returns when it is done.
	cutter() {
		const cutter = spawn(Disk.shutdown, [this.dir], { stdio: ['pipe', 'ignore', 'pipe'] });
		const done = new Promise((resolve) => cutter.once('close', resolve));
		return async () => {
			cutter.stdin.end('x');
			assert.equal(await done, 0, 'the file system does not shut down');
		};
	}
	// Why there can be no such disk here; undefined: there can.
	static reason() {
		if (process.getuid() !== 0) return 'not root';
		if (!fs.existsSync('/dev/loop-control')) return 'no loop devices';
		try {
			Disk.shutdown = buildProgram('test/proof/crash/shutdown.c');
			new Disk('ext4').remove();
		} catch (error) {
			return error.message;
		}
	}
}

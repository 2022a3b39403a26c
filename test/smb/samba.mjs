// SPDX-License-Identifier: Apache-2.0
// Samba's smbd on a port of its own, shaped like the File service: no streams, no extended attributes, one channel a
// session, the user an administrator. Samba can only be run so by root.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import net from 'node:net';

import { freePort, removeDir, tempDir } from '../lib/server.mjs';

const PASSWORD = 'torture-password';
const PROGRAMS = { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } };
const GLOBAL = ['server role = standalone server', 'bind interfaces only = yes', 'interfaces = 127.0.0.1', 'disable netbios = yes',
	'disable spoolss = yes', 'load printers = no', 'server min protocol = SMB2_10', 'server multi channel support = no',
	'passdb backend = tdbsam', 'kernel change notify = no'];
const SHARE = ['read only = no', 'vfs objects = acl_xattr', 'ea support = no', 'store dos attributes = yes', 'kernel oplocks = no',
	'kernel share modes = no', 'posix locking = no', 'durable handles = yes', 'strict sync = no'];

export function sambaMissing() {
	if (process.getuid() !== 0) return 'smbd can only be run by root';
	return spawnSync('smbd', ['--version'], PROGRAMS).error ? 'smbd is not installed (packages samba and samba-vfs-modules)' : null;
}

async function answers(port, child) {
	for (let i = 0; i < 200; i++) {
		if (child.exitCode !== null) break;
		const ok = await new Promise((resolve) => {
			const socket = net.connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
			socket.once('connect', () => socket.destroy());
		});
		if (ok) return;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	throw new Error('smbd does not answer');
}

// { port, user, password, stop() }
export async function startSamba(shares) {
	const missing = sambaMissing();
	if (missing) throw new Error(missing);
	const dir = tempDir('zaffre-samba-');
	const port = await freePort();
	const folders = { 'private dir': 'private', 'lock directory': 'lock', 'state directory': 'state', 'cache directory': 'cache',
		'pid directory': 'pid', 'ncalrpc dir': 'ncalrpc' };
	for (const name of Object.values(folders)) fs.mkdirSync(path.join(dir, name));
	const lines = ['[global]', `smb ports = ${port}`, `log file = ${dir}/log`, ...GLOBAL];
	for (const [setting, name] of Object.entries(folders)) lines.push(`${setting} = ${dir}/${name}`);
	for (const share of shares) {
		fs.mkdirSync(path.join(dir, `share-${share}`));
		lines.push(`[${share}]`, `path = ${dir}/share-${share}`, ...SHARE);
	}
	const config = path.join(dir, 'smb.conf');
	fs.writeFileSync(config, `${lines.join('\n')}\n`);
	const added = spawnSync('smbpasswd', ['-c', config, '-s', '-a', 'root'], { ...PROGRAMS, input: `${PASSWORD}\n${PASSWORD}\n`, encoding: 'utf8' });
	if (added.status !== 0) throw new Error(`smbpasswd: ${added.stderr ?? added.error}`);
	const child = spawn('smbd', ['-F', '-s', config], { ...PROGRAMS, stdio: 'ignore' });
	const end = () => {
		try {
			process.kill(-child.pid, 'SIGKILL'); // it makes a group of its own, with a process for each connection
		} catch {} // it ended before
	};
	process.once('exit', end);
	const ended = new Promise((resolve) => child.once('exit', resolve));
	await answers(port, child);
	return { port, user: 'root', password: PASSWORD, stop: async () => {
		end();
		await ended;
		removeDir(dir);
	} };
}

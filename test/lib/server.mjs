// SPDX-License-Identifier: Apache-2.0
// Starts the server under test and takes it down again.
//
//   const server = await startServer({ flags: [], env: {}, dataDir, keepPorts: true });
//   server.endpoints.blob, .queue, .table, .file    base URLs with the account, e.g. http://127.0.0.1:34567/devstoreaccount1
//   server.connectionString, .account, .key, .pid, .dataDir, .stdout, .stderr
//   await server.advanceClock(seconds)       moves the server's clock; server.now() is its time in ms
//   await server.stop()                      SIGTERM; must exit 0 and say nothing a sanitizer would say
//   await server.kill9()                     SIGKILL
//   await server.restart({ flags })          after stop or kill9 (or instead of): same directory, same ports
//   await server.remove()                    stop if running, delete the temporary directory
// ZAFFRE_BIN chooses the program. Ports are this process's own and kept over restarts.
import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const bin = path.resolve(root, process.env.ZAFFRE_BIN ?? 'build/release/zaffre');
// The release has no mutants (store/mutant.h); startServer({ program: mutantBin }) starts one that has.
export const mutantBin = path.resolve(root, process.env.ZAFFRE_MUTANT_BIN ?? bin);
export const WELL_KNOWN_ACCOUNT = 'devstoreaccount1';
export const WELL_KNOWN_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
// Sanitizer builds are several times slower; tests that count rounds scale by this.
export const scale = Number(process.env.ZAFFRE_TEST_SCALE ?? 1);
export const scaled = (n, least = 1) => Math.max(least, Math.round(n * scale));

const START_MS = 60_000;
const STOP_MS = 60_000;
const SANITIZER = /(AddressSanitizer|ThreadSanitizer|LeakSanitizer|MemorySanitizer|runtime error:|Assertion .* failed)/;
const children = new Set();
process.on('exit', () => {
	for (const child of children) child.kill('SIGKILL');
});

export function tempDir(prefix = 'zaffre-test-') {
	return fs.mkdtempSync(path.join(process.env.ZAFFRE_TEST_TMP ?? os.tmpdir(), prefix));
}

export function removeDir(dir) {
	fs.rmSync(dir, { recursive: true, force: true });
}

// A port that nobody else takes until this process ends, also while no server listens on it. It lies below the ports that the system
// gives to outgoing connections, which could take it between two starts; the UDP port of the same number marks it as taken among tests.
const FIRST_PORT = 11_000, PORT_COUNT = 21_000, PORT_TRIES = 200;
export async function freePort(host = '127.0.0.1') {
	for (let i = 0; i < PORT_TRIES; i++) {
		const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
		const mark = dgram.createSocket('udp4');
		const marked = await new Promise((resolve) => {
			mark.once('error', () => resolve(false));
			mark.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
		});
		mark.unref();
		if (marked && (await canListen(port, host))) return port;
		mark.close();
	}
	throw new Error(`no free port in ${PORT_TRIES} tries`);
}

async function canListen(port, host) {
	const listener = net.createServer();
	const can = await new Promise((resolve) => listener.once('error', () => resolve(false)).listen(port, host, () => resolve(true)));
	if (can) await new Promise((resolve) => listener.close(resolve));
	return can;
}

// The TCP ports that a process listens on, in order: of the process itself, whatever else runs on this machine.
export function listeningPorts(pid) {
	const inodes = new Set();
	for (const fd of fs.readdirSync(`/proc/${pid}/fd`)) {
		try {
			inodes.add(/^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]);
		} catch (error) {
			if (error.code !== 'ENOENT') throw error; // closed meanwhile
		}
	}
	const LISTEN = '0A';
	const rows = ['tcp', 'tcp6'].flatMap((table) => fs.readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1));
	const ports = rows.map((row) => row.trim().split(/\s+/)).filter((row) => row[3] === LISTEN && inodes.has(row[9])).map((row) => parseInt(row[1].split(':')[1], 16));
	return [...new Set(ports)].sort((a, b) => a - b);
}

// Runs the program to its end: { code, signal, stdout, stderr }. For tests of what is refused.
export function runProgram(args, { env = {}, timeoutMs = START_MS, program = bin, input, cwd, uid, gid } = {}) {
	return new Promise((resolve, reject) => {
		const child = spawn(program, args, { env: { ...baseEnv(), ...env }, cwd, uid, gid, stdio: ['pipe', 'pipe', 'pipe'] });
		children.add(child);
		const out = { stdout: '', stderr: '' };
		child.stdout.setEncoding('utf8').on('data', (text) => (out.stdout += text));
		child.stderr.setEncoding('utf8').on('data', (text) => (out.stderr += text));
		child.stdin.on('error', () => {});
		child.stdin.end(input);
		const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
		child.once('error', (error) => {
			clearTimeout(timer);
			children.delete(child);
			reject(error);
		});
		child.once('close', (code, signal) => {
			clearTimeout(timer);
			children.delete(child);
			resolve({ code, signal, ...out });
		});
	});
}

function baseEnv() {
	const env = { ...process.env };
	for (const name of Object.keys(env)) if (/^(ZAFFRE|AZURITE|AZURE_STORAGE)_/.test(name)) delete env[name];
	return env;
}

export function parseConnectionString(text) {
	const parts = {};
	for (const pair of text.split(';').filter(Boolean)) {
		const at = pair.indexOf('=');
		parts[pair.slice(0, at)] = pair.slice(at + 1);
	}
	return parts;
}

class Server {
	#options;
	#child;
	#exit;
	#shift = 0n;
	#ownsDir;

	constructor(options) {
		this.#options = options;
		this.#ownsDir = !options.dataDir;
		this.dataDir = options.dataDir ?? tempDir();
		// Outside the data directory: that one must be empty or the server's own.
		this.clockFile = path.join(tempDir('zaffre-clock-'), 'shift');
		fs.writeFileSync(this.clockFile, Buffer.alloc(8));
		this.stdout = '';
		this.stderr = '';
		this.ports = { blob: 0, queue: 0, table: 0, file: 0, ...options.ports };
	}

	get pid() {
		return this.#child?.pid;
	}

	get running() {
		return this.#child !== undefined;
	}

	now() {
		return Date.now() + Number(this.#shift) * 1000;
	}

	async start(extra = {}) {
		const o = { ...this.#options, ...extra };
		const flags = ['serve', '--location', this.dataDir];
		for (const service of ['blob', 'queue', 'table', 'file']) {
			this.ports[service] ||= await freePort();
			flags.push(`--${service}Port`, String(this.ports[service]));
		}
		if (o.accessLog) flags.push('--accessLog', o.accessLog);
		else flags.push('--silent');
		if (!(o.flags ?? []).includes('production')) flags.push('--clockShiftFile', this.clockFile);
		// Servers of tests run side by side: only who asks for the admin listener gets one.
		if (!(o.flags ?? []).includes('--adminPort')) flags.push('--adminPort', 'off');
		if (!(o.flags ?? []).includes('--smbPort')) flags.push('--smbPort', 'off');
		flags.push(...(o.flags ?? []));
		const [program, ...before] = [...(o.wrapper ?? []), o.program ?? bin];
		const child = spawn(program, [...before, ...flags], {
			env: { ...baseEnv(), ...(o.env ?? {}) },
			cwd: o.cwd,
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		children.add(child);
		this.#child = child;
		this.stdout = '';
		this.stderr = '';
		this.#exit = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
		this.#exit.then(() => {
			children.delete(child);
			if (this.#child === child) this.#child = undefined;
		});
		child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
		await new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`no endpoints after ${START_MS} ms: ${this.stderr}`)), START_MS);
			child.once('error', reject);
			child.stdout.setEncoding('utf8').on('data', (text) => {
				this.stdout += text;
				if (/^AZURE_STORAGE_CONNECTION_STRING=.*\n/m.test(this.stdout)) {
					clearTimeout(timer);
					resolve();
				}
			});
			this.#exit.then(({ code, signal }) => {
				clearTimeout(timer);
				reject(Object.assign(new Error(`server ended at start (${code ?? signal}): ${this.stderr}`), { code, stderr: this.stderr }));
			});
		});
		this.#readEndpoints();
		this.#hold(false);
		return this;
	}

	// A server that a failed test left behind must not keep the test process waiting: it counts only while somebody awaits it.
	#hold(held) {
		const child = this.#child;
		for (const handle of child ? [child, child.stdout, child.stderr] : []) held ? handle.ref() : handle.unref();
	}

	// Resolves with { code, signal } when the process ended by itself.
	get exited() {
		this.#hold(true);
		return this.#exit;
	}

	#readEndpoints() {
		const line = this.stdout.match(/^AZURE_STORAGE_CONNECTION_STRING='(.*)'$/m)[1];
		const parts = parseConnectionString(line);
		this.connectionString = line;
		this.account = parts.AccountName;
		this.key = parts.AccountKey;
		this.endpoints = { blob: parts.BlobEndpoint, queue: parts.QueueEndpoint, table: parts.TableEndpoint, file: parts.FileEndpoint };
		for (const service of ['blob', 'queue', 'table', 'file']) {
			const url = new URL(this.endpoints[service]);
			this.ports[service] = Number(url.port);
			this.host = url.hostname;
		}
	}

	// Sets how far ahead of the machine's clock the server's is.
	async setClock(seconds) {
		this.#shift = BigInt(seconds);
		const bytes = Buffer.alloc(8);
		bytes.writeBigInt64LE(this.#shift);
		// In place: the server has this file mapped.
		const fd = fs.openSync(this.clockFile, 'r+');
		fs.writeSync(fd, bytes, 0, 8, 0);
		fs.closeSync(fd);
	}

	async advanceClock(seconds) {
		await this.setClock(this.#shift + BigInt(seconds));
	}

	async stop({ expectCode = 0 } = {}) {
		if (!this.#child) return { code: null };
		this.#hold(true);
		this.#child.kill('SIGTERM');
		const timer = setTimeout(() => this.#child?.kill('SIGABRT'), STOP_MS);
		const result = await this.#exit;
		clearTimeout(timer);
		if (SANITIZER.test(this.stderr)) throw new Error(`the server reported:\n${this.stderr}`);
		if (result.code !== expectCode)
			throw new Error(`server ended with ${result.code ?? result.signal}, not ${expectCode}: ${this.stderr}`);
		return result;
	}

	async kill9() {
		if (!this.#child) return;
		this.#hold(true);
		this.#child.kill('SIGKILL');
		await this.#exit;
	}

	async restart(extra = {}) {
		if (this.#child) await this.stop();
		return this.start(extra);
	}

	async remove() {
		if (process.env.ZAFFRE_TEST_VERBOSE) process.stdout.write(this.stderr.replace(/^/gm, '# server: ') + '\n');
		try {
			await this.stop();
		} finally {
			if (this.#ownsDir) removeDir(this.dataDir);
			removeDir(path.dirname(this.clockFile));
		}
	}
}

export async function startServer(options = {}) {
	const server = new Server(options);
	try {
		return await server.start();
	} catch (error) {
		await server.kill9();
		if (!options.dataDir) removeDir(server.dataDir);
		removeDir(path.dirname(server.clockFile));
		throw error;
	}
}

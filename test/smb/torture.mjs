// SPDX-License-Identifier: Apache-2.0
// Runs suites of Samba's smbtorture against the server under test and compares with must-pass.txt.
//
//   node test/smb/torture.mjs [--encrypt] [--dialect SMB3_00] [--beside-samba] [--lanes N] [--timeout S] [--program FILE]
//                             [--out DIR] [suite ...]
//
// Prints a line per suite, then each subtest that did not pass with its reason. Exit status 1 if a subtest that must pass
// did not. A suite that hangs or dies is finished subtest by subtest, so one fault does not hide the rest. The suites
// mostly wait for timers, so several run at once (lanes), each on a share of its own.
//
// --beside-samba runs the same against Samba's smbd, shaped like the service (no streams, no extended attributes, the user
// an administrator), and counts what passes there alone; in a variant that, not must-pass.txt, decides the exit status.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';
import { startSamba } from './samba.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
export const ALL_SUITES = `connect tcon session-id create mkdir openattr winattr read rw lock sharemode deny delete-on-close-perms
	rename dir fileid charset getinfo setinfo timestamps timestamp_resolution dosmode compound compound_find compound_async
	credits oplock lease durable-open durable-open-disconnect durable-v2-open durable-v2-delay notify session replay ioctl
	acls maximum_allowed sdread secleak streams ea session-require-signing create_no_streams`.split(/\s+/);
// They wait for timers the longest.
const SLOW_SUITES = 'lease oplock replay notify durable-v2-delay session timestamps dir'.split(' ');
// What the service does not have, so that Samba passes it alone.
const NOT_OURS = [
	{ of: /^smb2\.ioctl\.sparse_/, because: 'sparse files' },
	{ of: /^smb2\.create\.quota-fake-file$/, because: 'streams (the quota file is one)' },
	{ of: /^smb2\.timestamps\.delayed-/, because: 'the write time of old Windows, which moved two seconds late' },
];
// What ends within seconds: for every run of the tests.
export const QUICK_SUITES = `connect tcon session-id create mkdir openattr winattr read rw lock sharemode deny
	delete-on-close-perms rename dir fileid charset getinfo compound compound_find compound_async credits durable-open
	durable-open-disconnect durable-v2-open ioctl sdread session timestamps secleak acls session-require-signing
	create_no_streams`.split(/\s+/);

export function mustPass() {
	const lines = fs.readFileSync(path.join(here, 'must-pass.txt'), 'utf8').split('\n');
	return new Set(lines.filter((line) => line && !line.startsWith('#')));
}

function run(command, args, { cwd, timeoutMs }) {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
		let output = '';
		child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
		child.stderr.setEncoding('utf8').on('data', (text) => (output += text));
		let late = false;
		const timer = setTimeout(() => {
			late = true;
			child.kill('SIGKILL');
		}, timeoutMs);
		child.once('error', reject);
		child.once('close', (code) => {
			clearTimeout(timer);
			resolve({ code, late, output });
		});
	});
}

// Of smbtorture's subunit output: [{ name, result, reason }]. A test that began and never ended is "hung".
export function parseResults(output) {
	const results = [];
	let current = null;
	const lines = output.split('\n');
	for (let i = 0; i < lines.length; i++) {
		const began = /^test: (.*?)\s*$/.exec(lines[i]);
		if (began) {
			current = began[1];
			continue;
		}
		const ended = /^(success|failure|error|skip|xfail): (.*?)(?: \[(.*))?$/.exec(lines[i]);
		if (!ended) continue;
		const reason = ended[3] === undefined ? '' : ended[3].replace(/\]$/, '') || (lines[i + 1] ?? '');
		results.push({ name: ended[2].trim(), result: ended[1] === 'success' ? 'pass' : ended[1], reason: reason.trim().slice(0, 160) });
		current = null;
	}
	if (current) results.push({ name: current, result: 'hung', reason: 'no result: timeout, or the connection was lost' });
	return results;
}

export class Torture {
	constructor({ port, share, dir, user = WELL_KNOWN_ACCOUNT, password = WELL_KNOWN_KEY, extra = [], timeoutS = 240 }) {
		Object.assign(this, { port, share, dir, extra, timeoutS });
		const file = (name, text, mode) => fs.writeFileSync(path.join(dir, name), text, { mode });
		file('auth', `username = ${user}\npassword = ${password}\n`, 0o600);
		const state = ['lock directory', 'state directory', 'cache directory', 'private dir', 'pid directory'];
		file('client.conf', ['[global]', 'client min protocol = SMB2_10', 'client max protocol = SMB3_11', 'client use kerberos = off',
			...state.map((name) => `${name} = ${dir}`)].join('\n') + '\n');
	}

	async #run(test, seconds) {
		const args = [`//127.0.0.1/${this.share}`, '-p', String(this.port), '-A', 'auth', '-s', 'client.conf', `--basedir=${this.dir}`,
			...this.extra, '--fullname', '--format=subunit', test];
		return run('smbtorture', args, { cwd: this.dir, timeoutMs: seconds * 1000 });
	}

	async #subtests(suite) {
		const { output } = await run('smbtorture', ['--list'], { cwd: this.dir, timeoutMs: 60_000 });
		const names = output.split('\n').map((line) => line.trim()).filter((line) => line.startsWith(`${suite}.`));
		return names.map((name) => name.replace(/\.([^.]+)\.\1$/, '.$1'));
	}

	// [{ suite, name, result, reason }]
	async suite(short) {
		const suite = short.startsWith('smb2.') ? short : `smb2.${short}`;
		const whole = await this.#run(suite, this.timeoutS);
		this.lastOutput = whole.output;
		const results = parseResults(whole.output);
		const died = whole.late || whole.code === null || results.some((r) => r.result === 'hung');
		if (died) {
			const known = new Set(results.map((r) => r.name));
			for (const name of await this.#subtests(suite)) {
				if (known.has(name)) continue;
				const one = parseResults((await this.#run(name, Math.min(60, this.timeoutS))).output);
				results.push(...(one.length ? one : [{ name, result: 'hung', reason: 'no output' }]));
			}
		}
		if (results.length === 0) results.push({ name: suite, result: 'error', reason: whole.output.trim().split('\n').pop() ?? '' });
		return results.map((r) => ({ suite, ...r }));
	}
}

// Runs the suites in lanes, each on the share of its lane; the slow ones begin first.
export async function runSuites(suites, { server, shares, extra, timeoutS, out, done = () => {} }) {
	const waiting = [...SLOW_SUITES.filter((suite) => suites.includes(suite)), ...suites.filter((suite) => !SLOW_SUITES.includes(suite))];
	const all = [];
	await Promise.all(shares.map(async (share) => {
		const dir = tempDir('zaffre-torture-');
		const torture = new Torture({ ...server, share, dir, extra, timeoutS });
		for (let suite = waiting.shift(); suite; suite = waiting.shift()) {
			const began = Date.now();
			const results = await torture.suite(suite);
			if (out) {
				fs.mkdirSync(out, { recursive: true });
				fs.writeFileSync(path.join(out, `${suite}.log`), torture.lastOutput);
			}
			all.push(...results);
			done(suite, results, (Date.now() - began) / 1000);
		}
		removeDir(dir);
	}));
	return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parseArguments(argv) {
	const options = { extra: [], suites: [], timeoutS: 240, lanes: 6 };
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--encrypt') options.extra.push('--client-protection=encrypt');
		else if (argv[i] === '--dialect') options.extra.push('-m', argv[++i]);
		else if (argv[i] === '--beside-samba') options.besideSamba = true;
		else if (argv[i] === '--lanes') options.lanes = Number(argv[++i]);
		else if (argv[i] === '--timeout') options.timeoutS = Number(argv[++i]);
		else if (argv[i] === '--program') options.program = argv[++i];
		else if (argv[i] === '--out') options.out = argv[++i];
		else options.suites.push(argv[i]);
	}
	if (options.suites.length === 0) options.suites = ALL_SUITES;
	return options;
}

const passing = (results) => new Set(results.filter((r) => r.result === 'pass').map((r) => r.name));

function sayResults(who, results) {
	const must = mustPass();
	const passed = passing(results);
	const ran = new Set(results.map((r) => r.suite));
	const expected = [...must].filter((name) => [...ran].some((suite) => name === suite || name.startsWith(`${suite}.`)));
	const broken = expected.filter((name) => !passed.has(name));
	console.log(`\n${who}: TOTAL pass ${passed.size} of ${results.length}; must pass ${expected.length - broken.length} of ${expected.length}`);
	for (const r of results) if (r.result !== 'pass') console.log(`${must.has(r.name) ? 'MUST' : '    '} ${r.result.padEnd(8)} ${r.name}  ${r.reason}`);
	return broken;
}

// What passes on Samba alone and has no reason to.
function compare(ours, sambas) {
	const mine = passing(ours);
	const theirs = passing(sambas);
	const only = sambas.filter((r) => r.result === 'pass' && !mine.has(r.name));
	const unexplained = only.filter((r) => !NOT_OURS.some(({ of }) => of.test(r.name)));
	console.log(`\nSamba alone passes ${only.length}, ours alone ${[...mine].filter((name) => !theirs.has(name)).length}, both ${[...mine].filter((name) => theirs.has(name)).length}`);
	for (const { of, because } of NOT_OURS) {
		const names = only.filter((r) => of.test(r.name)).map((r) => r.name);
		if (names.length) console.log(`     ${because}: ${names.join(' ')}`);
	}
	for (const r of unexplained) console.log(`DIFF ${r.name}  ours: ${ours.find((o) => o.name === r.name)?.reason ?? 'not run'}`);
	return unexplained;
}

// The one subtest that asks for short (8.3) names, which the service has not and the server on demand only.
export async function shortNames({ program, extra = [] } = {}) {
	const port = await freePort();
	const dir = tempDir('zaffre-torture-');
	const server = await startServer({ program, flags: ['--smbPort', String(port), '--smbShortNames', '--create', 'share:torture'] });
	const results = await new Torture({ port, share: 'torture', dir, extra }).suite('dir.one');
	await server.stop();
	await server.remove();
	removeDir(dir);
	return results.map((r) => ({ ...r, name: `${r.name}, --smbShortNames` }));
}

async function main() {
	const options = parseArguments(process.argv.slice(2));
	const shares = Array.from({ length: Math.min(options.lanes, options.suites.length) }, (_, i) => `torture${i}`);
	const run = (who, server, out) => runSuites(options.suites, { ...options, server, shares, out, done: (suite, results, seconds) => {
		const count = (kind) => results.filter((r) => r.result === kind).length;
		console.log(`${who.padEnd(7)}${suite.padEnd(26)} pass ${count('pass')}  fail ${count('failure')}  error ${count('error')}  skip ${count('skip')}  `
			+ `hung ${count('hung')}  ${seconds.toFixed(0)} s`);
	} });
	const port = await freePort();
	const server = await startServer({ program: options.program, flags: ['--smbPort', String(port), '--create', shares.map((share) => `share:${share}`).join()] });
	const samba = options.besideSamba ? await startSamba(shares) : null;
	const [ours, sambas] = await Promise.all([run('ours', { port }, options.out && path.join(options.out, 'ours')),
		samba ? run('samba', samba, options.out && path.join(options.out, 'samba')) : []]);
	if (options.suites.includes('dir')) ours.push(...await shortNames(options));
	if (samba) sayResults('samba', sambas);
	const broken = sayResults('ours', ours);
	const unexplained = samba ? compare(ours, sambas) : [];
	await server.stop();
	await server.remove();
	await samba?.stop();
	process.exitCode = (samba ? unexplained.length : broken.length) ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

// SPDX-License-Identifier: Apache-2.0
// Runs ctest and every test/**/*.test.mjs, counts single cases of both, prints failures whole and skips with their reason. A program
// that dies or hangs counts as failed. The last line is the summary.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const build = process.argv[2];
const only = process.env.ZAFFRE_TESTS ? new RegExp(process.env.ZAFFRE_TESTS) : undefined;
const FILE_MS = 15 * 60_000;
const parallel = Number(process.env.ZAFFRE_TEST_JOBS ?? 2);
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const skips = [];
const started = Date.now();

function run(command, args, timeoutMs) {
	return new Promise((resolve) => {
		const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
		const chunks = [];
		let timedOut = false;
		child.stdout.on('data', (chunk) => chunks.push(chunk));
		child.stderr.on('data', (chunk) => chunks.push(chunk));
		const timer = setTimeout(() => {
			timedOut = true;
			child.kill('SIGKILL');
		}, timeoutMs);
		child.on('error', (error) => chunks.push(Buffer.from(String(error))));
		child.on('close', (code, signal) => {
			clearTimeout(timer);
			resolve({ code, signal, timedOut, text: Buffer.concat(chunks).toString('utf8') });
		});
	});
}

function report(name, counts, seconds) {
	for (const key of Object.keys(total)) total[key] += counts[key];
	const mark = counts.failed ? 'FAIL' : 'ok  ';
	console.log(`${mark} ${name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped (${seconds.toFixed(1)} s)`);
}

// ctest -V prefixes each line of a program's output with its number.
async function runC() {
	const args = ['--test-dir', build, '-V', '-j', '1', '--timeout', '600'];
	if (only) args.push('-R', only.source);
	const { text, timedOut } = await run('ctest', args, 30 * 60_000);
	const outputs = new Map();
	for (const [, number, line] of text.matchAll(/^(\d+): (.*)$/gm)) outputs.set(number, [...(outputs.get(number) ?? []), line]);
	let seen = 0;
	for (const [, number, name, verdict, seconds] of text.matchAll(/^\s*\d+\/\d+ Test\s+#(\d+): (\S+) \.*\s*(.*?)\s+([\d.]+) sec$/gm)) {
		seen++;
		const lines = outputs.get(number) ?? [];
		const whole = lines.join('\n');
		const sum = (regex) => [...whole.matchAll(regex)].reduce((n, m) => n + Number(m[1]), 0);
		// cmocka's own counts where it speaks; any other program is one case.
		let passed = sum(/^\[ {2}PASSED {2}\] (\d+) test\(s\)/gm);
		const skipped = sum(/^\[ {2}SKIPPED \] (\d+) test\(s\)/gm);
		let failed = sum(/^\[ {2}FAILED {2}\] (\d+) test\(s\)/gm);
		const ok = /Passed/.test(verdict);
		const wholeSkip = /Skipped/.test(verdict);
		if (!ok && !wholeSkip && failed === 0) failed = 1;
		if (ok && passed + skipped + failed === 0) passed = 1;
		// A case says why right before it is skipped; cmocka names it again at the end.
		const reasons = new Map();
		for (const [, reason, which] of whole.matchAll(/^(?:reason: (.*)\n)?\[ {2}SKIPPED \] (?!\d+ test)(.*)$/gm)) reasons.set(which, reason ?? reasons.get(which) ?? 'no reason given');
		for (const [which, reason] of reasons) skips.push(`${name} ${which}: ${reason}`);
		if (wholeSkip) skips.push(`${name}: ${lines.at(-1) ?? ''}`);
		if (failed) failures.push(`=== ${name} (${verdict})\n${lines.slice(-120).join('\n')}`);
		report(name, { passed, failed, skipped: skipped + (wholeSkip ? 1 : 0) }, Number(seconds));
	}
	if (timedOut || (seen === 0 && !only)) {
		failures.push(`=== ctest\n${text.slice(-4000)}`);
		report('ctest', { passed: 0, failed: 1, skipped: 0 }, 0);
	}
}

function find(dir) {
	return fs.readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
		if (entry.name === 'node_modules') return [];
		const full = path.join(dir, entry.name);
		return entry.isDirectory() ? find(full) : entry.name.endsWith('.test.mjs') ? [full] : [];
	});
}

async function runNode(file) {
	const begin = Date.now();
	const { code, signal, timedOut, text } = await run(process.execPath, ['--test', '--test-reporter=tap', file], FILE_MS);
	const number = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
	let passed = number('pass');
	let failed = number('fail') + (number('cancelled') || 0);
	let skipped = number('skipped') + (number('todo') || 0);
	if (Number.isNaN(passed + failed + skipped)) [passed, failed, skipped] = [0, 1, 0];
	if (code !== 0 && failed === 0) failed = 1;
	const skipLines = [...text.matchAll(/^\s*ok \d+ - (.*?) # SKIP ?(.*)$/gm)];
	for (const [, name, reason] of skipLines) skips.push(`${file}: ${name}: ${reason || 'no reason given'}`);
	// A suite that is skipped whole is not counted by node, and its tests are never seen. A file without any test, which node counts as
	// one that passed and has the file's name, is a mistake.
	if (passed === 1 && text.split('\n').some((line) => line.startsWith('ok 1 - ') && line.endsWith(path.basename(file)))) passed = 0;
	if (passed + failed + skipped === 0) [skipped, failed] = [skipLines.length, skipLines.length ? 0 : 1];
	if (failed) {
		// Passing cases say nothing of interest in a report of failures.
		const lines = text.split('\n').filter((line) => !/^\s*(ok \d+|# Subtest|---|\.\.\.|duration_ms|type: )/.test(line));
		failures.push(`=== ${file} (${timedOut ? `stopped after ${FILE_MS / 1000} s` : code ?? signal})\n${lines.join('\n').slice(0, 20_000)}`);
	}
	report(file, { passed, failed, skipped }, (Date.now() - begin) / 1000);
}

// The C tests compute, the others mostly wait for a server or a client: side by side they leave no core idle.
const files = find('test').filter((file) => !only || only.test(file)).sort();
const nodes = async () => {
	for (let file; (file = files.shift()); ) await runNode(file);
};
await Promise.all([runC(), ...Array.from({ length: parallel }, nodes)]);
if (failures.length) console.log(`\n${failures.join('\n\n')}\n`);
if (skips.length) console.log(`\nSkipped:\n${[...new Set(skips)].map((line) => `  ${line}`).join('\n')}`);
console.log(`\n${((Date.now() - started) / 1000).toFixed(0)} s`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed || total.passed === 0 ? 1 : 0;

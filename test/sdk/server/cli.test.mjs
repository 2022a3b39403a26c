// SPDX-License-Identifier: Apache-2.0
// What the program says of itself: help for each command, the manual page, completion, the list of exit codes. All of it comes from the
// same tables, and the documents say the same.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { bin, removeDir, root, runProgram, tempDir } from '../../lib/server.mjs';

const say = async (...words) => {
	const r = await runProgram(words);
	assert.equal(r.code, 0, `${words.join(' ')}: ${r.stderr}`);
	return r.stdout;
};
const commandsOf = (help) => [...new Set([...help.matchAll(/^ {2}zaffre ([a-z-]+)/gm)].map((m) => m[1]))];
const flagsOf = (help) => [...new Set([...help.matchAll(/^ {2}(?:-\w, +)?--(\w+)/gm)].map((m) => m[1]))];

test('each command has a page of help, by `help COMMAND` and by --help', async () => {
	const commands = commandsOf(await say('help'));
	for (const name of ['serve', 'scrub', 'stats', 'checkpoint', 'restore', 'account', 'leases', 'conflicts', 'health', 'man', 'completion']) assert.ok(commands.includes(name), name);
	for (const name of commands) {
		const text = await say('help', name);
		assert.match(text, new RegExp(`^  zaffre ${name}`), name);
		assert.match(text, /Exit status:\n {2}0 /, name);
		if (name !== 'azurite') assert.equal(await say(name, '--help'), text, name);
	}
	const r = await runProgram(['help', 'scrubb']);
	assert.equal(r.code, 2);
	assert.match(r.stderr, /did you mean scrub\?/);
});

test('a line of help fits a terminal, and descriptions stand in their column', async () => {
	const lines = (await say('help')).split('\n');
	for (const line of lines.filter((l) => l.startsWith(' ') && !l.startsWith('  zaffre') && !/^ {2}\d/.test(l) && !l.includes(' --skipApiVersionCheck'))) assert.ok(line.length <= 110, line);
	assert.deepEqual(lines.slice(lines.findIndex((l) => l.includes('--maxConnectionsPerAddress'))).slice(0, 2), ['  --maxConnectionsPerAddress N', `${' '.repeat(29)}of them from one address, 0 = half [0]`]);
});

test('the manual page has every command and every flag, and no mistake that a formatter sees', async (t) => {
	const help = await say('help');
	const manual = await say('man');
	const plain = manual.replaceAll('\\-', '-');
	assert.ok(flagsOf(help).length > 40, `${flagsOf(help).length} flags`);
	for (const flag of flagsOf(help)) assert.match(plain, new RegExp(`^\\.B .*--${flag}\\b`, 'm'), flag);
	for (const name of commandsOf(help)) assert.match(plain, new RegExp(`^\\.B ${name}$`, 'm'), name);
	if (spawnSync('groff', ['--version']).status !== 0) return t.diagnostic('groff is not installed: not formatted');
	const r = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z'], { input: manual, encoding: 'utf8' });
	assert.deepEqual([r.status, r.stderr], [0, '']);
});

test('completion: bash offers commands and flags, and what it prints is shell', async () => {
	const dir = tempDir();
	try {
		fs.writeFileSync(path.join(dir, 'complete'), `${await say('completion', 'bash')}
ask() { COMP_WORDS=(zaffre "$@"); COMP_CWORD=$#; COMPREPLY=(); _zaffre; echo "\${COMPREPLY[*]}"; }
ask scr
ask serve --blobP
ask scrub --ra
ask stats --wat
ask stats --cou
ask help scr
ask account r
ask --location "" | wc -w
`);
		const r = spawnSync('bash', [path.join(dir, 'complete')], { encoding: 'utf8', env: { ...process.env, PATH: `${path.dirname(bin)}:${process.env.PATH}` } });
		assert.equal(r.stderr, '');
		assert.deepEqual(r.stdout.trim().split('\n'), ['scrub', '--blobPort', '--rate', '--watch', '--count', 'scrub', 'rotate remove', '0']);
		const fish = await say('completion', 'fish');
		for (const line of [/^complete -c zaffre -l blobPort -r$/m, /^complete -c zaffre -l cancel$/m, /seen_subcommand_from account' -a 'add rotate show list remove'$/m]) assert.match(fish, line);
		assert.match(await say('completion', 'zsh'), /bashcompinit/);
		assert.equal((await runProgram(['completion', 'tcsh'])).code, 2);
	} finally {
		removeDir(dir);
	}
});

test('docs/operations.md has the exit codes that the program lists', async () => {
	const listed = [...(await say('help')).split('Exit status:\n')[1].matchAll(/^ {2}(\d+) {2}(.*)$/gm)].map((m) => `| ${m[1]} | ${m[2]} |`);
	assert.ok(listed.length >= 4);
	const docs = fs.readFileSync(path.join(root, 'docs/operations.md'), 'utf8');
	for (const line of listed) assert.ok(docs.includes(line), line);
});

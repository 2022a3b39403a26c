// SPDX-License-Identifier: Apache-2.0
// The official SDKs of other languages, from PyPI, the Go proxy and Maven Central, kept in build/sdks. Only `make sdks` fetches them.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { removeDir, root } from './server.mjs';

export const wanted = process.env.ZAFFRE_SDKS === '1';
const work = path.join(root, 'build/sdks');
const here = (...parts) => path.join(root, 'test/sdks', ...parts);
const DOWNLOAD_MS = 8 * 60_000;

// Runs a step of the preparation; throws what it said.
function step(command, args, options = {}) {
	const r = spawnSync(command, args, { encoding: 'utf8', timeout: DOWNLOAD_MS, maxBuffer: 1 << 26, ...options });
	if (r.error) throw r.error;
	if (r.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${(r.stderr || r.stdout).trim().split('\n').slice(-3).join(' ')}`);
	return r.stdout;
}

// Where the list of Java's libraries is once they are there.
export const classpath = path.join(work, 'java/classpath');

// Each fetches what it needs and returns the command that runs its suite, or throws why it cannot.
export const languages = {
	Python: () => {
		const dir = path.join(work, 'python'), stamp = path.join(dir, 'requirements.txt'), list = fs.readFileSync(here('python/requirements.txt'), 'utf8');
		if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== list) {
			removeDir(dir);
			step('/usr/bin/python3', ['-m', 'venv', dir]);
			step(path.join(dir, 'bin/pip'), ['install', '--quiet', '-r', here('python/requirements.txt')]);
			fs.writeFileSync(stamp, list);
		}
		return [path.join(dir, 'bin/python'), here('python/suite.py')];
	},
	Go: () => {
		const program = path.join(work, 'go-suite');
		fs.mkdirSync(work, { recursive: true });
		step('go', ['build', '-o', program, '.'], { cwd: here('go') });
		return [program];
	},
	Java: () => {
		const dir = path.join(work, 'java');
		fs.mkdirSync(path.join(dir, 'classes'), { recursive: true });
		if (!fs.existsSync(classpath) || fs.statSync(classpath).mtimeMs < fs.statSync(here('java/pom.xml')).mtimeMs)
			step('mvn', ['-q', '-B', '-f', here('java/pom.xml'), 'dependency:build-classpath', `-Dmdep.outputFile=${classpath}`]);
		const libraries = fs.readFileSync(classpath, 'utf8').trim();
		const sources = fs.readdirSync(here('java/src/main/java')).map((name) => here('java/src/main/java', name));
		step('javac', ['-nowarn', '-d', path.join(dir, 'classes'), '-cp', libraries, ...sources]);
		return ['java', '-cp', `${path.join(dir, 'classes')}:${libraries}`, 'Suite'];
	},
};

// Prepares a language: { command }, or { why } it cannot be had here. A suite that does not compile is a failure, and thrown.
export function prepare(language) {
	try {
		return { command: languages[language]() };
	} catch (error) {
		if (/error: |\.go:\d+:\d+:/.test(error.message) && !/module|dial|lookup|requires go|resolve/.test(error.message)) throw error;
		return { why: `not to be had here: ${error.message.slice(0, 300)}` };
	}
}

#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// npx zaffre [ARGUMENTS]: the program itself, with its own arguments, signals and exit status.
// npx zaffre import-azurite DIR [CONNECTION_STRING]: import.js.
import { spawn } from 'node:child_process';
import { program } from './index.js';

if (process.argv[2] === 'import-azurite') {
	const { importAzurite } = await import('./import.js');
	try {
		const count = await importAzurite(process.argv[3] ?? '.', process.argv[4]);
		console.log(Object.entries(count).map(([what, n]) => `${n} ${what}`).join(', '));
	} catch (error) {
		console.error(`zaffre: ${error.message}`);
		process.exitCode = 1;
	}
} else {
	run();
}

function run() {
	const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
	child.on('error', (error) => {
		console.error(`zaffre: ${error.message}`);
		process.exitCode = 1;
	});
	child.on('exit', (code, signal) => {
		process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
	});
}

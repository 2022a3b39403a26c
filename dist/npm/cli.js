#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// npx zaffre [ARGUMENTS]: the program itself, with its own arguments, signals and exit status.
import { spawn } from 'node:child_process';
import { program } from './index.js';

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
	console.error(`zaffre: ${error.message}`);
	process.exitCode = 1;
});
child.on('exit', (code, signal) => {
	process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});

// SPDX-License-Identifier: Apache-2.0
// Starts the program for a test and stops it again.
//
//   const server = await start();            // free ports, everything in memory
//   server.connectionString, server.endpoints.blob, server.account, server.key
//   await server.test.advance(61);           // the test kit (kit.js)
//   await server.stop();
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestKit } from './kit.js';

export { TestKit };

const here = path.dirname(fileURLToPath(import.meta.url));

/** The program for this machine; says what is missing if there is none. */
export function program() {
	if (process.env.ZAFFRE_BIN) return process.env.ZAFFRE_BIN;
	const file = path.join(here, 'bin', `zaffre-linux-${process.arch}`);
	if (!fs.existsSync(file)) throw new Error(`zaffre: this package has no program for ${process.platform} on ${process.arch}; set ZAFFRE_BIN to one`);
	return file;
}

function field(connectionString, name) {
	return connectionString.split(';').find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** options: { location, args: [...], timeoutMs }. Without a location the data is in memory alone. */
export async function start({ location, args = [], timeoutMs = 15_000 } = {}) {
	const where = location ? ['--location', location] : ['--inMemoryPersistence'];
	const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0'];
	const child = spawn(program(), ['serve', ...where, ...ports, '--adminPort', '0', '--silent', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
	const stopWithUs = () => child.kill('SIGKILL');
	process.once('exit', stopWithUs);
	let text = '', errors = '';
	const connectionString = await new Promise((resolve, reject) => {
		const fail = (why) => {
			child.kill('SIGKILL');
			reject(new Error(`zaffre did not start: ${why}\n${errors || text}`));
		};
		const timer = setTimeout(() => fail(`not ready after ${timeoutMs} ms`), timeoutMs);
		child.stderr.on('data', (piece) => (errors += piece));
		child.stdout.on('data', (piece) => {
			text += piece;
			const found = /AZURE_STORAGE_CONNECTION_STRING='([^']*)'/.exec(text);
			if (found) {
				clearTimeout(timer);
				resolve(found[1]);
			}
		});
		child.once('error', (error) => fail(error.message));
		child.once('exit', (code, signal) => fail(`it ended with ${code ?? signal}`));
	});
	const admin = /^Explorer, metrics and health at (\S+)/m.exec(text)?.[1];
	const endpoints = Object.fromEntries(['Blob', 'Queue', 'Table', 'File'].map((s) => [s.toLowerCase(), field(connectionString, `${s}Endpoint`)]).filter(([, url]) => url));
	return {
		connectionString,
		endpoints,
		account: field(connectionString, 'AccountName'),
		key: field(connectionString, 'AccountKey'),
		location,
		admin,
		test: new TestKit(admin),
		pid: child.pid,
		async stop() {
			process.removeListener('exit', stopWithUs);
			if (child.exitCode === null && child.signalCode === null) {
				const gone = new Promise((resolve) => child.once('exit', resolve));
				child.kill('SIGTERM');
				await gone;
			}
		},
	};
}

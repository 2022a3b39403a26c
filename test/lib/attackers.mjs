// SPDX-License-Identifier: Apache-2.0
// Everything at once, without a pause, in a thread of its own: floods of TLS messages, silent connections, readers that do
// not read, scans whose sender is gone, uploads that announce much and send little.
//
//   const siege = startAttackers({ ports: { blob, table }, flood, paths: { list, scan, upload } });
//   const counts = await siege.stop();       how often each was done
// `paths` are paths with a SAS, of the account that attacks; `flood` is the program of test/http/tls_flood.c.
import { spawn } from 'node:child_process';
import net from 'node:net';
import tls from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const VERSION = 'x-ms-version: 2021-06-08\r\n';

class Siege {
	counts = { floods: 0, idle: 0, lazy: 0, scans: 0, uploads: 0 };
	stopped = false;
	sockets = new Set();
	children = new Set();

	open(port, connect) {
		return new Promise((resolve) => {
			const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => resolve(socket));
			this.sockets.add(socket);
			socket.on('error', () => resolve(undefined)).on('close', () => (this.sockets.delete(socket), resolve(undefined)));
		});
	}

	async floods({ ports, flood }) {
		while (!this.stopped)
			await new Promise((resolve) => {
				const child = spawn(flood, [String(ports.blob), 'keys', '2'], { stdio: 'ignore' });
				this.children.add(child);
				child.once('close', () => (this.children.delete(child), this.counts.floods++, resolve()));
			});
	}

	// Connected, and then silent: not even the first byte of a handshake.
	async idle({ ports }) {
		while (!this.stopped) {
			if (await this.open(ports.blob, net.connect)) this.counts.idle++;
			await sleep(10);
		}
	}

	// Asks for a long list and reads nothing of it.
	async lazy({ ports, paths }) {
		while (!this.stopped) {
			const socket = await this.open(ports.blob, tls.connect);
			if (socket) {
				socket.pause();
				socket.write(`GET ${paths.list} HTTP/1.1\r\nHost: h\r\n${VERSION}\r\n`);
				this.counts.lazy++;
			}
			await sleep(100);
		}
	}

	// Asks for much work, and is gone before the answer.
	async scans({ ports, paths }) {
		while (!this.stopped) {
			const socket = await this.open(ports.table, tls.connect);
			if (socket) {
				socket.write(`GET ${paths.scan} HTTP/1.1\r\nHost: h\r\nAccept: application/json;odata=nometadata\r\n${VERSION}\r\n`, () => socket.destroy());
				this.counts.scans++;
			}
			await sleep(5);
		}
	}

	async uploads({ ports, paths }) {
		while (!this.stopped) {
			const socket = await this.open(ports.blob, tls.connect);
			if (socket) {
				const path = paths.upload.replace('NAME', `u${this.counts.uploads++}`);
				socket.write(`PUT ${path} HTTP/1.1\r\nHost: h\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: ${100 * 1024 * 1024}\r\n${VERSION}\r\n`);
				socket.write(Buffer.alloc(100 * 1024));
			}
			await sleep(50);
		}
	}

	async run(o) {
		await Promise.all([this.floods(o), this.floods(o), this.floods(o), this.idle(o), this.lazy(o), this.scans(o), this.uploads(o)]);
	}

	end() {
		this.stopped = true;
		for (const child of this.children) child.kill();
		for (const socket of this.sockets) socket.destroy();
	}
}

if (!isMainThread && workerData?.attackers) {
	const siege = new Siege();
	parentPort.once('message', () => siege.end());
	await siege.run(workerData.attackers);
	for (const socket of siege.sockets) socket.destroy();
	parentPort.postMessage(siege.counts);
}

export function startAttackers(options) {
	const worker = new Worker(new URL(import.meta.url), { workerData: { attackers: options } });
	const counts = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
	counts.catch(() => {});
	return {
		stop() {
			worker.postMessage('stop');
			return counts;
		},
	};
}

// SPDX-License-Identifier: Apache-2.0
// One socket, bytes as they are: what is sent, what came back until the peer closed.
import net from 'node:net';

export class Wire {
	received = Buffer.alloc(0);
	#wake = () => {};

	static async open(port, options = {}) {
		const wire = new Wire();
		wire.socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true, ...options });
		wire.closed = new Promise((resolve) => wire.socket.once('close', resolve));
		wire.ended = new Promise((resolve) => wire.socket.once('end', () => resolve('end')).once('close', () => resolve('close')));
		wire.socket.on('error', (error) => (wire.error = error));
		wire.socket.on('data', (chunk) => {
			wire.received = Buffer.concat([wire.received, chunk]);
			wire.#wake();
		});
		wire.socket.on('close', () => wire.#wake());
		await new Promise((resolve, reject) => wire.socket.once('connect', resolve).once('error', reject));
		return wire;
	}

	send(bytes) {
		return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
	}

	// Resolves when `done(text)` holds, rejects when it cannot any more.
	async until(done, what = 'the awaited bytes', timeoutMs = 20_000) {
		const deadline = Date.now() + timeoutMs;
		while (!done(this.received.toString('latin1'))) {
			if (this.socket.destroyed) throw new Error(`closed before ${what}: ${this.received.toString('latin1').slice(0, 400)}`);
			if (Date.now() > deadline) throw new Error(`no ${what} in time: ${this.received.toString('latin1').slice(0, 400)}`);
			await new Promise((resolve) => {
				const timer = setTimeout(resolve, 200);
				this.#wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		}
	}

	// The peer's end, or an error if it does not come.
	async peerEnds(timeoutMs = 20_000) {
		let timer;
		const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('the peer did not close')), timeoutMs)));
		try {
			return await Promise.race([this.ended, late]);
		} finally {
			clearTimeout(timer);
		}
	}

	get text() {
		return this.received.toString('latin1');
	}

	get statuses() {
		return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((m) => Number(m[1]));
	}

	destroy() {
		this.socket.destroy();
		return this.closed;
	}
}

export const portOf = (endpoint) => Number(new URL(endpoint).port);

// SPDX-License-Identifier: Apache-2.0
// 64 racing consumers on one queue: no message lost, none visible to two at once, none deleted by a stale receipt, while they
// delete, update, forget and come late at random and the server is killed in between.
//
// Every observation is judged as it arrives, by what must hold whatever the order of commits within the calls' intervals:
//   hidden    a get that began at b with timeout t hides the message until b + t at least: no answer before that may show it
//   counted   the dequeue count is one more than at the get before; answers lost by a kill may have counted unseen
//   stale     a delete or update by a receipt is refused if a later get or update was answered before it was sent
//   current   a delete by the newest receipt succeeds while its message is surely still hidden
//   gone      after a delete was answered 204 nobody sees the message
//   not lost  in the end everything that was put and acknowledged has been deleted, and the queue is empty
// ZAFFRE_QUEUE_MESSAGES sets the number of messages of the long run (100000 for the full proof); SEED repeats one.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { QueueClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client, RawConnection } from '../../lib/http.mjs';
import { accountSas } from '../../lib/sign.mjs';
import { element, expectStatus, uniqueName } from '../../lib/assert.mjs';

const CONSUMERS = 64;
const PRODUCERS = 8;
const LONG = Number(process.env.ZAFFRE_QUEUE_MESSAGES ?? scaled(8000, 500));
const seed = Number(process.env.SEED ?? Date.now() % 1e9);

function generator(start) {
	let s = start >>> 0;
	return (below) => {
		s = (s + 0x6d2b79f5) >>> 0;
		let t = Math.imul(s ^ (s >>> 15), s | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) % below;
	};
}

let server, raw;
before(async () => {
	server = await startServer();
	raw = new Client(server, { service: 'queue' });
});
after(() => server?.remove());

// One consumer's way to the server. Each call resolves, or rejects if the answer was lost.
class RawDoor {
	constructor(queue) {
		this.base = `/${server.account}/${queue}/messages`;
		this.sas = accountSas(server.account, server.key, { now: server.now() + 86400_000 }).toString();
	}
	async call(method, path, query, body = '') {
		const connection = (this.connection ??= await RawConnection.open(server.ports.queue));
		try {
			return await connection.exchange(`${method} ${this.base}${path}?${query}&${this.sas} HTTP/1.1\r\nHost: h\r\nx-ms-version: 2024-11-04\r\nContent-Length: ${body.length}\r\n\r\n${body}`, method);
		} catch (error) {
			this.connection = undefined;
			connection.end();
			throw error;
		}
	}
	async put(text) {
		expectStatus(await this.call('POST', '', 'messagettl=-1', `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`), 201);
	}
	async get(want, timeout) {
		const r = expectStatus(await this.call('GET', '', `numofmessages=${want}&visibilitytimeout=${timeout}`), 200);
		return r.text.split('<QueueMessage>').slice(1).map((m) => ({ id: element(m, 'MessageId'), receipt: element(m, 'PopReceipt'), count: Number(element(m, 'DequeueCount')), text: element(m, 'MessageText') }));
	}
	async delete(m, receipt) {
		return (await this.call('DELETE', `/${m.id}`, `popreceipt=${encodeURIComponent(receipt)}`)).status;
	}
	async update(m, receipt, timeout, text) {
		const r = await this.call('PUT', `/${m.id}`, `popreceipt=${encodeURIComponent(receipt)}&visibilitytimeout=${timeout}`, `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`);
		return { status: r.status, receipt: r.headers['x-ms-popreceipt'] };
	}
	close() {
		return this.connection?.end();
	}
}

class SdkDoor {
	constructor(queue) {
		this.queue = new QueueClient(`${server.endpoints.queue}/${queue}`, new StorageSharedKeyCredential(server.account, server.key), { retryOptions: { maxTries: 1 } });
	}
	async put(text) {
		await this.queue.sendMessage(text, { messageTimeToLive: -1 });
	}
	async get(want, timeout) {
		const r = await this.queue.receiveMessages({ numberOfMessages: want, visibilityTimeout: timeout });
		return r.receivedMessageItems.map((m) => ({ id: m.messageId, receipt: m.popReceipt, count: m.dequeueCount, text: m.messageText }));
	}
	async delete(m, receipt) {
		try {
			return (await this.queue.deleteMessage(m.id, receipt))._response.status;
		} catch (error) {
			if (error.statusCode) return error.statusCode;
			throw error;
		}
	}
	async update(m, receipt, timeout, text) {
		try {
			const r = await this.queue.updateMessage(m.id, receipt, text, timeout);
			return { status: r._response.status, receipt: r.popReceipt };
		} catch (error) {
			if (error.statusCode) return { status: error.statusCode };
			throw error;
		}
	}
	close() {}
}

// What is known of every message. Times are the server's, which is the clock of the same machine plus what the test added.
class Book {
	messages = new Map(); // by number
	lostGets = 0;
	deleted = 0;
	problems = [];
	entry(text) {
		const n = Number(/^m(\d+)/.exec(text)[1]);
		if (!this.messages.has(n)) this.messages.set(n, { n, state: 'unknown', hiddenUntil: 0, count: 0, change: 0, gone: false, maybeGone: false });
		return this.messages.get(n);
	}
	wrong(what, e) {
		this.problems.push(`${what}: ${JSON.stringify(e)}`);
	}
	got(m, began, answered, timeout) {
		const e = this.entry(m.text);
		if (e.gone && began > e.gone) this.wrong('seen after its delete', e);
		if (answered < e.hiddenUntil) this.wrong('visible to two at once', { ...e, began, answered });
		if (m.count <= e.count || m.count > e.count + 1 + this.lostGets) this.wrong(`dequeue count ${m.count}`, e);
		e.id ??= m.id;
		if (e.id !== m.id) this.wrong('another id', e);
		e.count = m.count;
		e.hiddenUntil = began + timeout * 1000;
		e.change++;
		return { ...m, entry: e, change: e.change, began };
	}
}

async function run({ Door, total, kills }) {
	const name = uniqueName('race');
	expectStatus(await raw.put(`/${name}`), 201);
	const random = generator(seed);
	const book = new Book();
	let produced = 0;
	let acknowledged = 0;
	let stop = false;
	let finishing = false; // nobody forgets a message any more, or the end would wait for it
	let halted = false; // the clock is about to move: who is under way then would know neither time
	let underWay = 0;

	const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
	// Undefined if the answer was lost; the connection is opened again until the server is back.
	async function attempt(action) {
		try {
			return await action();
		} catch (error) {
			if (error.code === 'ERR_ASSERTION' || error.statusCode) throw error;
			if (kills === 0) throw error;
			await pause(20);
			return undefined;
		}
	}

	async function produce() {
		const door = new Door(name);
		// Who is on the way counts, so that not more are put than wanted; a lost answer gives the place back.
		while (acknowledged < total) {
			acknowledged++;
			const n = produced++;
			const e = book.entry(`m${n}`);
			if (await attempt(async () => (await door.put(`m${n}`), true))) e.state = 'put';
			else acknowledged--;
		}
		await door.close();
	}

	async function useReceipt(door, m) {
		const e = m.entry;
		const kind = finishing ? 19 : random(20);
		if (kind === 0) return; // the consumer dies: somebody else gets it
		if (kind === 1) await pause(random(1500)); // comes late, perhaps too late
		let receipt = m.receipt;
		let change = m.change;
		if (kind >= 2 && kind <= 5) {
			const timeout = [1, 2, 30][random(3)];
			const began = server.now();
			const surelyMine = e.hiddenUntil > began + 500 && e.change === change;
			const u = await attempt(() => door.update(m, receipt, timeout, `m${e.n} updated`));
			if (u === undefined) {
				e.maybeChanged = true;
				e.hiddenUntil = 0;
				return;
			}
			if (u.status === 204) {
				if (e.change !== change) {
					if (e.answered < began) book.wrong('updated by a stale receipt', e);
					return;
				}
				const old = receipt;
				receipt = u.receipt;
				change = ++e.change;
				e.hiddenUntil = began + timeout * 1000;
				e.answered = server.now();
				if (random(2)) {
					const status = await attempt(() => door.delete(m, old));
					if (status !== undefined && status !== 404) book.wrong(`the receipt before the update answered ${status}`, e);
				}
			} else if (u.status !== 404) {
				book.wrong(`update answered ${u.status}`, e);
			} else {
				if (surelyMine && e.change === change && e.hiddenUntil > server.now() && !e.maybeChanged) book.wrong('a good receipt was refused by update', e);
				return;
			}
		}
		const began = server.now();
		const stale = e.change !== change && e.answered < began;
		const surelyMine = e.change === change && e.hiddenUntil > began + 500 && !e.maybeChanged;
		const status = await attempt(() => door.delete(m, receipt));
		if (status === undefined) {
			e.maybeGone = true;
		} else if (status === 204) {
			if (stale) book.wrong('deleted by a stale receipt', e);
			if (e.gone) book.wrong('deleted twice', e);
			e.gone = server.now();
			book.deleted++;
		} else if (status !== 404) {
			book.wrong(`delete answered ${status}`, e);
		} else if (surelyMine && e.change === change && e.hiddenUntil > server.now()) {
			book.wrong('a good receipt was refused', e);
		}
	}

	async function consume() {
		const door = new Door(name);
		while (!stop) {
			if (halted) {
				await pause(5);
				continue;
			}
			underWay++;
			const want = random(3) ? 1 : 1 + random(4);
			const timeout = finishing ? 1 : [1, 2, 30][random(3)];
			const began = server.now();
			const messages = await attempt(() => door.get(want, timeout));
			if (messages === undefined) {
				book.lostGets += 1;
				underWay--;
				continue;
			}
			const answered = server.now();
			const held = messages.map((m) => {
				const h = book.got(m, began, answered, timeout);
				h.entry.answered = answered;
				return h;
			});
			for (const h of held) await useReceipt(door, h);
			underWay--;
			if (messages.length === 0) await pause(20 + random(50));
		}
		await door.close();
	}

	async function killer() {
		for (let i = 0; i < kills; i++) {
			const before = book.deleted;
			while (book.deleted < before + total / (kills + 2) && book.deleted < (total * 3) / 4) await pause(10);
			await server.kill9();
			await server.restart();
		}
	}

	const consumers = Array.from({ length: CONSUMERS }, () => consume());
	const producing = Promise.all(Array.from({ length: PRODUCERS }, produce));
	const watch = Promise.all([...consumers]).catch((error) => {
		stop = true;
		throw error;
	});
	try {
		await Promise.race([Promise.all([producing, killer()]), watch]);
		// Whatever is still hidden comes back within 30 s of the server's clock.
		const deadline = Date.now() + 120_000;
		while (book.deleted < acknowledged * 0.9 && !stop) await pause(20);
		finishing = halted = true;
		while (underWay && !stop) await pause(5);
		await server.advanceClock(31);
		halted = false;
		for (;;) {
			const r = expectStatus(await raw.get(`/${name}`, { query: { comp: 'metadata' } }), 200);
			if (r.headers['x-ms-approximate-messages-count'] === '0' || book.problems.length > 20) break;
			assert.ok(Date.now() < deadline, `${r.headers['x-ms-approximate-messages-count']} messages do not come back`);
			await pause(200);
		}
	} finally {
		stop = true; // also when the server did not come back: consumers must not go on for ever
	}
	await watch;
	assert.deepEqual(book.problems.slice(0, 5), [], `seed ${seed}: ${book.problems.length} problems`);
	for (const e of book.messages.values()) {
		if (e.state === 'put' && !e.gone && !e.maybeGone) assert.fail(`seed ${seed}: lost ${JSON.stringify(e)}`);
	}
	const repeated = [...book.messages.values()].filter((e) => e.count > 1).length;
	assert.equal(acknowledged, total);
	assert.ok(repeated > total / 100, 'the run had hardly any message that came back');
	expectStatus(await raw.delete(`/${name}`), 204);
	return { acknowledged, repeated };
}

describe('64 racing consumers', () => {
	test('raw sockets', { timeout: 900_000 }, async (t) => {
		const { repeated } = await run({ Door: RawDoor, total: scaled(3000, 800), kills: 0 });
		t.diagnostic(`seed ${seed}, ${repeated} messages came back at least once`);
	});
	test('raw sockets, and kill -9 of the server in between', { timeout: 1_800_000 }, async (t) => {
		const { acknowledged, repeated } = await run({ Door: RawDoor, total: LONG, kills: LONG >= 50_000 ? 10 : 4 });
		t.diagnostic(`seed ${seed}, ${acknowledged} acknowledged, ${repeated} came back at least once`);
	});
	test('the JS SDK', { timeout: 900_000 }, async (t) => {
		const { repeated } = await run({ Door: SdkDoor, total: scaled(1500, 600), kills: 0 });
		t.diagnostic(`seed ${seed}, ${repeated} messages came back at least once`);
	});
	test('the JS SDK, and kill -9 of the server in between', { timeout: 900_000 }, async (t) => {
		const { acknowledged } = await run({ Door: SdkDoor, total: scaled(1500, 600), kills: 2 });
		t.diagnostic(`seed ${seed}, ${acknowledged} acknowledged`);
	});
});

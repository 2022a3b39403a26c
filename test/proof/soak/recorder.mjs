// SPDX-License-Identifier: Apache-2.0
// Clients that write down what they asked, when, and what they were told, in the form of test/proof/sim/linear.h.
//
//   const recorder = new Recorder(server, next);
//   await recorder.run(clients, untilMs)   8 clients or so; ends early for a client whose server goes away (call again after a start)
//   recorder.retire()                      new keys from here on: a key is kept small enough for the search
//   recorder.lines                         the history
//   recorder.jump(seconds)                 moves the server's clock, both ways
// Blobs with conditions and leases without end, their snapshots, blobs with leases that end, files that are created with their bytes,
// written over, moved onto each other, listed and deleted, entities, batches of two rows that must always show one value, queues, and
// lists that must show what was written before they began.
//
// Between which times of the server's clock did an operation run? The server never goes back behind a time it has made durable, so not
// before the clock at the call nor before any acknowledged write that returned before it; and not after the furthest the clock has been.
import assert from 'node:assert/strict';
import { Client, RawConnection } from '../../lib/http.mjs';
import { fileClient, range } from '../../lib/file.mjs';

const json = { accept: 'application/json;odata=nometadata', 'content-type': 'application/json' };
const KEYS = { blob: 2, file: 2, lease: 2, entity: 2, batch: 1, queue: 1 };
const SIZES = [20, 300, 5_000, 40_000];
const MESSAGES_MAX = 55; // per queue: the model's bound is 63
const now = () => process.hrtime.bigint();
const SLACK_MS = 20; // Date.now() is in whole milliseconds, and a clock that stands still moves on by a tick a write
const LEASE_STATES = ['available', 'leased', 'breaking', 'broken', 'expired'];
const etagMs = (etag) => Number((BigInt(etag.replaceAll('"', '')) - 621355968000000000n) / 10_000n);
const plain = (etag) => etag.replace(/[^0-9A-Za-z]/g, '');

export class Recorder {
	constructor(server, next, { queues = true } = {}) {
		this.server = server;
		this.withQueues = queues;
		this.next = next;
		this.clients = { blob: new Client(server), table: new Client(server, { service: 'table' }), queue: new Client(server, { service: 'queue' }), file: fileClient(server, { version: '2026-02-06' }) };
		this.lines = [];
		this.operations = this.unknown = this.listed = this.snapshots = this.moves = 0;
		this.shifts = [0];
		this.floorMs = 0; // some acknowledged write's time is not before this
		this.ceilingMs = 0; // the clock was never past this before the last jump
		this.leaseStates = Object.fromEntries(LEASE_STATES.map((state) => [state, 0]));
		this.epoch = 0;
		this.serial = 0;
		this.clientNext = 0;
		this.keys = new Map();
	}

	async prepare() {
		for (const [service, where, o] of [
			['blob', '/soak', { query: { restype: 'container' } }],
			['blob', '/list', { query: { restype: 'container' } }],
			['file', '/soak', { query: { restype: 'share' } }],
		])
			assert.equal((await this.clients[service].put(where, o)).status, 201);
		assert.equal((await this.clients.table.post('/Tables', { headers: json, body: '{"TableName":"soak"}' })).status, 201);
		await this.#queues();
	}

	async #queues() {
		for (let i = 0; i < KEYS.queue; i++) assert.equal((await this.clients.queue.put(`/soak${i}-${this.epoch}`)).status, 201);
	}

	jump(seconds) {
		const shift = this.shifts.at(-1);
		this.ceilingMs = Math.max(this.ceilingMs, Date.now() + 1 + shift * 1000 + SLACK_MS);
		this.shifts.push(shift + seconds);
		return this.server.setClock(shift + seconds); // in effect before this returns, and not before the lines above
	}

	#windowBegin() {
		return { floorMs: this.floorMs, wallMs: Date.now(), shift: this.shifts.length - 1 };
	}

	#windowEnd(w) {
		const shifts = this.shifts.slice(w.shift);
		const lo = Math.max(w.floorMs, w.wallMs + Math.min(...shifts) * 1000 - SLACK_MS);
		return { lo, hi: Math.max(lo, this.ceilingMs, Date.now() + 1 + Math.max(...shifts) * 1000 + SLACK_MS) };
	}

	async retire() {
		this.epoch++;
		this.keys.clear();
		await this.#queues();
	}

	// What this process knows of a key: the last ETags and lease ids seen, to ask with.
	#known(key) {
		if (!this.keys.has(key)) this.keys.set(key, { etags: [], leases: [], messages: [], sent: 0 });
		return this.keys.get(key);
	}

	// Asks and writes down. judge(answer) gives the result, or undefined if the outcome is open.
	async #ask(client, service, op, key, args, method, where, options, judge) {
		client.connections[service] ??= await RawConnection.open(this.server.ports[service]);
		const bytes = this.clients[service].bytes(method, where, options);
		const begin = this.#windowBegin();
		const call = now();
		let result, back;
		try {
			const r = await client.connections[service].exchange(bytes, method);
			back = now();
			if (r.status === 503) return undefined; // did not happen
			if (method !== 'GET' && r.status < 300) this.floorMs = Math.max(this.floorMs, this.#windowEnd(begin).lo);
			result = r.status >= 500 ? undefined : judge(r);
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error;
			await client.connections[service].end();
			client.connections[service] = undefined;
			client.gone = true;
		}
		this.operations++;
		if (result === undefined) this.unknown++;
		const window = this.#windowEnd(begin);
		if (key.startsWith('lease:')) args = [args, `at=${window.lo}..${window.hi}`].filter(Boolean).join();
		this.lines.push(`${client.id} ${op} ${key} ${args || '-'} ${call} ${result === undefined ? '- unknown' : `${back} ${result}`}`);
		return result;
	}

	async #blob(client) {
		const { next } = this;
		const name = `b${next(KEYS.blob)}-${this.epoch}`;
		const key = `blob:${name}`;
		const known = this.#known(key);
		const where = `/soak/${name}`;
		const etag = next(3) === 0 && known.etags.length ? known.etags[next(known.etags.length)] : undefined;
		const lease = known.leases.length && next(2) ? known.leases[next(known.leases.length)] : undefined;
		const guard = { 'if-match': etag, 'x-ms-lease-id': lease };
		const args = [etag && `if=${plain(etag)}`, lease && `lease=${lease}`].filter(Boolean);
		const refusal = (r) => {
			assert.ok([404, 409, 412].includes(r.status), `${r.status} ${r.text}`);
			return String(r.status);
		};
		const dice = next(10);
		if (dice < 4) {
			const value = `v${this.serial++}`;
			// Not with a lease: a valid lease id lets If-None-Match: * pass, which is no matter of order.
			const none = !etag && !lease && next(4) === 0;
			if (none) args.push('none=*');
			const body = Buffer.alloc(SIZES[next(SIZES.length)], `${value};`);
			const headers = { 'x-ms-blob-type': 'BlockBlob', ...guard, 'if-none-match': none ? '*' : undefined };
			return this.#ask(client, 'blob', 'put', key, [`v=${value}`, ...args].join(), 'PUT', where, { body, headers }, (r) => {
				if (r.status !== 201) return refusal(r);
				known.etags = [...known.etags.slice(-2), r.etag];
				return `ok,${plain(r.etag)}`;
			});
		}
		if (dice < 7)
			return this.#ask(client, 'blob', 'get', key, '', 'GET', where, {}, (r) => {
				if (r.status === 404) return '404';
				assert.equal(r.status, 200, r.text);
				const value = /^v\d+/.exec(r.text)[0];
				assert.ok(r.body.equals(Buffer.alloc(r.body.length, `${value};`)), `${key}: a mixture of values`);
				known.etags = [...known.etags.slice(-2), r.etag];
				return `ok,${value},${plain(r.etag)}`;
			});
		if (dice === 7)
			return this.#ask(client, 'blob', 'del', key, args.join(), 'DELETE', where, { headers: { ...guard, 'x-ms-delete-snapshots': 'include' } }, (r) => {
				if (r.status === 202 && lease) known.leases = known.leases.filter((id) => id !== lease);
				return r.status === 202 ? 'ok' : refusal(r);
			});
		const release = known.leases.length > 0 && next(3) > 0;
		const id = release ? known.leases[next(known.leases.length)] : crypto.randomUUID();
		const headers = release ? { 'x-ms-lease-action': 'release', 'x-ms-lease-id': id } : { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': id };
		if (!release) known.leases = [...known.leases.slice(-3), id];
		return this.#ask(client, 'blob', release ? 'release' : 'acquire', key, `id=${id}`, 'PUT', where, { query: { comp: 'lease' }, headers }, (r) => {
			if (release && r.status === 200) known.leases = known.leases.filter((other) => other !== id);
			return r.status === 200 || r.status === 201 ? 'ok' : refusal(r);
		});
	}

	// Two names of a share between which a file moves; its bytes are always one value and, for a name pair, of one size, so that a range
	// write covers all of them. Lists of both names belong to the history, too.
	async #file(client) {
		const { next } = this;
		const pair = next(KEYS.file);
		const key = `file:f${pair}-${this.epoch}`;
		const name = next(2);
		const where = (n) => `/soak/f${pair}-${this.epoch}-${n}`;
		const size = [300, 40_000][pair % 2];
		const value = `v${this.serial++}`;
		const body = Buffer.alloc(size, `${value};`);
		const wrote = (ok) => (r) => {
			if (r.status === ok) return r.etag ? `ok,${plain(r.etag)}` : 'ok';
			assert.ok([404, 409].includes(r.status), `${r.status} ${r.text}`);
			return String(r.status);
		};
		const ask = (...rest) => this.#ask(client, 'file', ...rest);
		const dice = next(12);
		if (dice < 2) return ask('put', key, `n=#${name},v=${value}`, 'PUT', where(name), { body, headers: { 'x-ms-type': 'file', 'x-ms-content-length': size } }, wrote(201));
		if (dice < 4)
			return ask('over', key, `n=#${name},v=${value}`, 'PUT', where(name), { query: { comp: 'range' }, body, headers: { 'x-ms-write': 'update', 'x-ms-range': range(0, size) } }, wrote(201));
		if (dice < 7)
			return ask('get', key, `n=#${name}`, 'GET', where(name), {}, (r) => {
				if (r.status === 404) return '404';
				assert.equal(r.status, 200, r.text);
				const seen = /^v\d+/.exec(r.text)[0];
				assert.ok(r.body.equals(Buffer.alloc(size, `${seen};`)), `${key}: a mixture of values`);
				return `ok,${seen},${plain(r.etag)}`;
			});
		if (dice === 7) return ask('del', key, `n=#${name}`, 'DELETE', where(name), {}, (r) => (r.status === 202 ? 'ok' : wrote(0)(r)));
		if (dice === 8)
			return ask('list', key, '', 'GET', '/soak', { query: { restype: 'directory', comp: 'list', prefix: `f${pair}-${this.epoch}-` } }, (r) => {
				assert.equal(r.status, 200, r.text);
				const names = [...r.text.matchAll(/<Name>[^<]*-(\d)<\/Name>/g)].map((m) => Number(m[1]));
				return `ok,${names.reduce((bits, n) => bits | (1 << n), 0)}`;
			});
		const replace = next(2) === 1;
		this.moves++;
		const headers = { 'x-ms-file-rename-source': this.clients.file.url(where(name)).href, 'x-ms-file-rename-replace-if-exists': replace ? 'true' : undefined };
		return ask('move', key, replace ? `n=#${name},r=#1` : `n=#${name}`, 'PUT', where(1 - name), { query: { comp: 'rename' }, headers }, wrote(200));
	}

	// A snapshot shows what the blob was at one instant while it was made: for the history a read. And it stays so.
	async #snapshot(client) {
		const { next } = this;
		const name = `b${next(KEYS.blob)}-${this.epoch}`;
		const key = `blob:${name}`;
		const known = this.#known(key);
		const exchange = async (method, query) => {
			client.connections.blob ??= await RawConnection.open(this.server.ports.blob);
			return client.connections.blob.exchange(this.clients.blob.bytes(method, `/soak/${name}`, { query }), method);
		};
		const read = async (snapshot) => {
			const r = await exchange('GET', { snapshot });
			if (r.status >= 500 || r.status === 404) return undefined; // deleted with its blob
			assert.equal(r.status, 200, r.text);
			const value = /^v\d+/.exec(r.text)[0];
			assert.ok(r.body.equals(Buffer.alloc(r.body.length, `${value};`)), `${key}, snapshot ${snapshot}: a mixture of values`);
			return { value, etag: r.etag };
		};
		try {
			const old = known.snapshots?.[next(known.snapshots.length)];
			if (old && next(2)) {
				const again = await read(old.id);
				if (again) assert.deepEqual(again, old.shows, `${key}: snapshot ${old.id} is no longer what it was`);
				if (again) this.snapshots++;
				return;
			}
			const call = now();
			const made = await exchange('PUT', { comp: 'snapshot' });
			const back = now();
			if (made.status !== 201) return;
			const id = made.headers['x-ms-snapshot'];
			const shows = await read(id);
			if (!shows) return;
			known.snapshots = [...(known.snapshots ?? []).slice(-3), { id, shows }];
			this.operations++;
			this.snapshots++;
			this.lines.push(`${client.id} get ${key} - ${call} ${back} ok,${shows.value},${plain(shows.etag)}`);
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error;
			await client.connections.blob?.end();
			client.connections.blob = undefined;
			client.gone = true;
		}
	}

	// Leases of 15 to 60 seconds, on a clock that jumps over them.
	async #lease(client) {
		const { next } = this;
		const name = `l${next(KEYS.lease)}-${this.epoch}`;
		const key = `lease:${name}`;
		const known = this.#known(key);
		const where = `/soak/${name}`;
		const id = known.leases.length ? known.leases[next(known.leases.length)] : crypto.randomUUID();
		const ask = (op, args, method, options, judge) =>
			this.#ask(client, 'blob', op, key, args, method, where, options, (r) => {
				if (r.status < 300) return judge(r);
				assert.ok([404, 409, 412].includes(r.status), `${r.status} ${r.text}`);
				return String(r.status);
			});
		const dice = next(20);
		if (dice < 7) {
			const value = `v${this.serial++}`;
			const lease = known.leases.length && next(2) ? id : undefined;
			const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': lease };
			const begin = this.#windowBegin();
			return ask('put', lease ? `v=${value},lease=${lease}` : `v=${value}`, 'PUT', { body: value, headers }, (r) => {
				const [at, { lo, hi }] = [etagMs(r.etag), this.#windowEnd(begin)];
				assert.ok(at >= lo && at <= hi, `${key} was written at ${at}, outside ${lo}..${hi}`);
				this.floorMs = Math.max(this.floorMs, at);
				return 'ok';
			});
		}
		if (dice < 11)
			return ask('get', '', 'GET', {}, (r) => {
				const state = r.headers['x-ms-lease-state'];
				this.leaseStates[state]++;
				return `ok,${r.text},#${LEASE_STATES.indexOf(state)}`;
			});
		if (dice === 11 && next(3) === 0) {
			const lease = next(2) ? id : undefined;
			return ask('del', lease ? `lease=${lease}` : '', 'DELETE', { headers: { 'x-ms-lease-id': lease } }, () => 'ok');
		}
		const remember = (other) => (known.leases = [...known.leases.slice(-3), other]);
		const act = (action, args, headers, judge = () => 'ok') => ask(action, args, 'PUT', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': action, ...headers } }, judge);
		if (dice < 15) {
			const other = next(4) ? crypto.randomUUID() : id;
			const seconds = next(24) ? 15 + next(46) : -1;
			remember(other);
			return act('acquire', `id=${other},d=#${seconds}`, { 'x-ms-lease-duration': seconds, 'x-ms-proposed-lease-id': other });
		}
		if (dice < 17) return act('renew', `id=${id}`, { 'x-ms-lease-id': id });
		if (dice === 17) {
			const to = crypto.randomUUID();
			remember(to);
			return act('change', `id=${id},to=${to}`, { 'x-ms-lease-id': id, 'x-ms-proposed-lease-id': to });
		}
		if (dice === 18 && next(4) === 0) return act('release', `id=${id}`, { 'x-ms-lease-id': id });
		if (next(12)) return this.#list(client); // released and broken seldom, so that some leases run out
		const period = next(4) ? next(61) : undefined;
		return act('break', period === undefined ? '' : `p=#${period}`, { 'x-ms-lease-break-period': period }, (r) => `ok,#${r.headers['x-ms-lease-time']}`);
	}

	async #entity(client) {
		const { next } = this;
		const row = `e${next(KEYS.entity)}-${this.epoch}`;
		const key = `entity:${row}`;
		const known = this.#known(key);
		const where = `/soak(PartitionKey='p',RowKey='${row}')`;
		const value = `v${this.serial++}`;
		const body = JSON.stringify({ PartitionKey: 'p', RowKey: row, v: value });
		const etag = known.etags.length && next(2) ? known.etags[next(known.etags.length)] : undefined;
		const keep = (r) => {
			known.etags = [...known.etags.slice(-2), r.etag];
			return plain(r.etag);
		};
		const outcome = (r, ok) => {
			if (r.status === ok) return `ok,${keep(r)}`;
			assert.ok([404, 409, 412].includes(r.status), `${r.status} ${r.text}`);
			return String(r.status);
		};
		const ask = (...rest) => this.#ask(client, 'table', ...rest);
		const guarded = { headers: { ...json, 'if-match': etag ?? '*' }, body };
		const guard = etag ? `if=${plain(etag)}` : 'any=*';
		switch (next(6)) {
			case 0:
				return ask('put', key, `v=${value}`, 'PUT', where, { headers: json, body }, (r) => outcome(r, 204));
			case 1:
				return ask('insert', key, `v=${value}`, 'POST', '/soak', { headers: { ...json, prefer: 'return-no-content' }, body }, (r) => outcome(r, 204));
			case 2:
				return ask('update', key, `v=${value},${guard}`, 'PUT', where, guarded, (r) => outcome(r, 204));
			case 3:
				return ask('del', key, guard, 'DELETE', where, { headers: { ...json, 'if-match': etag ?? '*' } }, (r) => (r.status === 204 ? 'ok' : outcome(r, 0)));
			default:
				return ask('get', key, '', 'GET', where, { headers: json }, (r) => (r.status === 404 ? '404' : `ok,${JSON.parse(r.text).v},${keep(r)}`));
		}
	}

	// Two rows that one batch writes with one value: any read of both must show one value.
	async #batch(client) {
		const { next } = this;
		const pk = `q${next(KEYS.batch)}-${this.epoch}`;
		const key = `entity:batch-${pk}`;
		if (next(2)) {
			const query = { $filter: `PartitionKey eq '${pk}'` };
			return this.#ask(client, 'table', 'get', key, '', 'GET', '/soak()', { headers: { ...json, accept: 'application/json;odata=fullmetadata' }, query }, (r) => {
				assert.equal(r.status, 200, r.text);
				const rows = JSON.parse(r.text).value;
				if (rows.length === 0) return '404';
				assert.equal(rows.length, 2, `${pk}: half a batch`);
				assert.equal(rows[0].v, rows[1].v, `${pk}: two values`);
				return `ok,${rows[0].v},${rows[0].v}`;
			});
		}
		const value = `v${this.serial++}`;
		const parts = ['a', 'b'].map(
			(row) =>
				`--change\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT ${this.server.endpoints.table}/soak(PartitionKey='${pk}',RowKey='${row}') HTTP/1.1\r\n` +
				`Content-Type: application/json\r\nAccept: application/json;odata=nometadata\r\n\r\n${JSON.stringify({ v: value })}\r\n`,
		);
		const body = `--batch\r\nContent-Type: multipart/mixed; boundary=change\r\n\r\n${parts.join('')}--change--\r\n--batch--\r\n`;
		// The value stands for the ETag: it is as unique.
		return this.#ask(client, 'table', 'put', key, `v=${value}`, 'POST', '/$batch', { headers: { 'content-type': 'multipart/mixed; boundary=batch' }, body }, (r) => {
			assert.equal(r.status, 202, r.text);
			assert.equal(r.text.match(/HTTP\/1\.1 204/g)?.length, 2, r.text);
			return `ok,${value}`;
		});
	}

	async #queue(client) {
		const { next } = this;
		const name = `soak${next(KEYS.queue)}-${this.epoch}`;
		const key = `queue:${name}`;
		const known = this.#known(key);
		const ask = (...rest) => this.#ask(client, 'queue', ...rest);
		const dice = next(6);
		if (dice < 2 && known.sent < MESSAGES_MAX) {
			const id = `m${known.sent++}`;
			return ask('put', key, `m=${id}`, 'POST', `/${name}/messages`, { body: `<QueueMessage><MessageText>${id}</MessageText></QueueMessage>` }, (r) => {
				assert.equal(r.status, 201, r.text);
				return 'ok';
			});
		}
		if (dice < 4) {
			const peek = next(2) === 0;
			return ask(peek ? 'peek' : 'get', key, '', 'GET', `/${name}/messages`, { query: peek ? { peekonly: 'true' } : { visibilitytimeout: '604800' } }, (r) => {
				assert.equal(r.status, 200, r.text);
				const id = /<MessageText>([^<]*)</.exec(r.text)?.[1];
				if (id && !peek) known.messages.push({ id, message: /<MessageId>([^<]*)</.exec(r.text)[1], receipt: /<PopReceipt>([^<]*)</.exec(r.text)[1] });
				return id ? `ok,${id}` : 'ok';
			});
		}
		const victim = known.messages[next(known.messages.length || 1)];
		if (!victim) return this.#list(client);
		return ask('del', key, `m=${victim.id}`, 'DELETE', `/${name}/messages/${victim.message}`, { query: { popreceipt: victim.receipt } }, (r) => {
			assert.ok(r.status === 204 || r.status === 404, r.text);
			return r.status === 204 ? 'ok' : '404';
		});
	}

	// A list that begins after a write was acknowledged shows it.
	async #list(client) {
		const name = `c${client.id}-${this.serial++}`;
		client.connections.blob ??= await RawConnection.open(this.server.ports.blob);
		try {
			const put = await client.connections.blob.exchange(this.clients.blob.bytes('PUT', `/list/${name}`, { body: 'x', headers: { 'x-ms-blob-type': 'BlockBlob' } }), 'PUT');
			if (put.status !== 201) return;
			const list = await client.connections.blob.exchange(this.clients.blob.bytes('GET', '/list', { query: { restype: 'container', comp: 'list', prefix: name } }));
			if (list.status >= 500) return;
			assert.ok(list.text.includes(`<Name>${name}</Name>`), `${name} was acknowledged and is not listed`);
			this.listed++;
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error;
			await client.connections.blob.end();
			client.connections.blob = undefined;
			client.gone = true;
		}
	}

	async #client(id, untilMs) {
		const client = { id, connections: {}, gone: false };
		const kinds = [this.#blob, this.#blob, this.#blob, this.#snapshot, this.#lease, this.#lease, this.#lease, this.#entity, this.#entity, this.#batch, this.#list, this.#file, this.#file, this.#file];
		if (this.withQueues) kinds.push(this.#queue, this.#queue);
		try {
			while (!client.gone && Date.now() < untilMs) await kinds[this.next(kinds.length)].call(this, client);
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error; // else it could not even connect
		} finally {
			for (const connection of Object.values(client.connections)) await connection?.end();
		}
	}

	// Numbers of clients go on, so that an unanswered call of one is never followed by another of the same.
	run(clients, untilMs) {
		return Promise.all(Array.from({ length: clients }, () => this.#client(this.clientNext++, untilMs)));
	}
}

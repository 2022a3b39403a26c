// SPDX-License-Identifier: Apache-2.0
// docs/three-machines.md, tried: two "machines" (network and mount namespaces) and one disk (a loop device). A serves from it under
// acknowledged writers and dies: its process is killed, or its disk and network are cut off; the disk is handed over, B mounts it,
// starts, takes the address over, and the clients go on. Nothing acknowledged is lost, leases hold, and B does not start while A still
// has the directory. Needs root, namespaces and loop devices. ZAFFRE_CRASH_ROUNDS makes it long.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, removeDir, runProgram, scaled, startServer, tempDir } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { expectStatus } from '../../lib/assert.mjs';
import { buildProgram } from '../../lib/native.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? scaled(4, 2));
const WRITERS = 8;
const SIZES = [40, 4000, 40_000, 200_000];
const PORTS = { blob: 10000, queue: 10001, table: 10002, file: 10003 };
const blobs = { 'x-ms-blob-type': 'BlockBlob' };

function run(program, ...args) {
	const r = spawnSync(program, args, { encoding: 'utf8' });
	if (r.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${r.stderr || r.error}`);
	return r.stdout.trim();
}

// A gratuitous ARP reply, three times.
const ANNOUNCE = `
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
mac, ip = s.getsockname()[4], socket.inet_aton(sys.argv[1])
for _ in range(3):
    s.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + b"\\x00\\x01\\x08\\x00\\x06\\x04\\x00\\x02" + mac + ip + mac + ip)
    time.sleep(0.02)
`;

// A network for this process: 10.X.Y.0/24 by its number, so that two runs at once do not meet.
const net = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`;
const ADDRESS = `${net}.10`; // the one that moves
const bridge = `zf${process.pid}`.slice(0, 12);

// Namespaces that live as long as a process that only waits.
class Machine {
	constructor(name, number, mountPoint) {
		this.name = name;
		this.mountPoint = mountPoint;
		this.link = `${bridge}${name}`;
		this.holder = spawn('unshare', ['--mount', '--net', 'sleep', '600'], { stdio: 'ignore' });
		this.number = number;
	}
	async connect() {
		// unshare has its namespaces when it has become what it runs.
		for (let i = 0; i < 500 && fs.readFileSync(`/proc/${this.holder.pid}/comm`, 'utf8').trim() !== 'sleep'; i++) await sleep(10);
		run('ip', 'link', 'add', this.link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(this.holder.pid));
		run('ip', 'link', 'set', this.link, 'master', bridge, 'up');
		this.run('ip', 'link', 'set', 'lo', 'up');
		this.run('ip', 'addr', 'add', `${net}.${this.number}/24`, 'dev', 'eth0');
		this.run('ip', 'link', 'set', 'eth0', 'up');
	}
	get wrapper() {
		return ['nsenter', '-t', String(this.holder.pid), '--mount', '--net', '--'];
	}
	run(...args) {
		const [program, ...before] = this.wrapper;
		return run(program, ...before, ...args);
	}
	mount(device) {
		this.run('mount', device, this.mountPoint);
	}
	unmount() {
		this.run('umount', this.mountPoint);
	}
	// Who takes an address says so to the network, as cluster managers do.
	takeAddress() {
		this.run('ip', 'addr', 'add', `${ADDRESS}/24`, 'dev', 'eth0');
		this.run('python3', '-c', ANNOUNCE, ADDRESS);
	}
	// Out of the network, as fencing leaves it.
	fence() {
		run('ip', 'link', 'set', this.link, 'down');
		this.run('ip', 'addr', 'del', `${ADDRESS}/24`, 'dev', 'eth0');
	}
	unfence() {
		run('ip', 'link', 'set', this.link, 'up');
	}
	serve() {
		return startServer({ dataDir: path.join(this.mountPoint, 'data'), wrapper: this.wrapper, ports: PORTS, flags: ['--blobHost', '0.0.0.0'], env: { ZAFFRE_I_KNOW_THIS_KEY_IS_PUBLIC: 'true' } });
	}
	end() {
		this.holder.kill('SIGKILL');
		spawnSync('ip', ['link', 'del', this.link]);
	}
}

let reason, shutdown;
before(() => {
	if (process.getuid() !== 0) reason = 'not root';
	else if (!fs.existsSync('/dev/loop-control')) reason = 'no loop devices';
	else
		try {
			run('python3', '--version');
			shutdown = buildProgram('test/proof/crash/shutdown.c');
			run('ip', 'link', 'add', bridge, 'type', 'bridge');
			run('ip', 'addr', 'add', `${net}.1/24`, 'dev', bridge);
			run('ip', 'link', 'set', bridge, 'up');
			run('unshare', '--mount', '--net', 'true');
		} catch (error) {
			reason = error.message;
		}
});
after(() => {
	spawnSync('ip', ['link', 'del', bridge]);
});

const payload = (key, n, size) => Buffer.alloc(size, `${key}:${n};`);

// A client that goes on through failovers, as SDKs do: what is not answered is asked again.
async function write(client, id, log) {
	// The time counts for connecting, too: a packet to the machine that is gone is answered by nobody.
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1, timeout: 500 });
	let unanswered = 0; // what was not answered may still be done: its key is not written again
	for (let turn = 0; log.going; turn++) {
		const key = `w${id}-${turn % 5}-${unanswered}`;
		const s = (log.blobs[key] ??= { n: 0, size: 0, acked: 0, sizes: {} });
		const n = ++s.n;
		s.sizes[n] = SIZES[(turn + id) % SIZES.length];
		try {
			const r = await client.put(`/fail/${key}`, { body: payload(key, n, s.sizes[n]), headers: { ...blobs, 'x-ms-meta-n': n }, agent, timeoutMs: 500 });
			if (r.status === 201) {
				s.acked = n;
				log.acknowledged++;
				log.heard?.();
			} else {
				log.last = `${r.status} ${r.text}`;
				assert.ok(r.status >= 500, log.last);
				unanswered++;
				await sleep(20);
			}
		} catch (error) {
			log.last = error.message;
			if (error.code === 'ERR_ASSERTION') log.wrong.push(error.message);
			unanswered++;
			await sleep(20);
		}
	}
	agent.destroy();
}

async function losses(client, log) {
	const lost = [...log.wrong];
	for (const [key, s] of Object.entries(log.blobs)) {
		const acked = s.acked; // writers go on meanwhile
		if (!acked) continue;
		const r = await client.get(`/fail/${key}`);
		const n = Number(r.headers['x-ms-meta-n']);
		if (r.status !== 200 || n < acked || n > s.n) lost.push(`${key}: ${r.status}, version ${n}; ${acked} was acknowledged, ${s.n} asked for`);
		else if (!r.body.equals(payload(key, n, s.sizes[n]))) lost.push(`${key}: version ${n} is not whole`);
	}
	return lost;
}

describe('failover', () => {
	test('the disk goes from one machine to the other, and nothing acknowledged is lost', async (t) => {
		if (reason) return t.skip(reason);
		const base = tempDir('zaffre-failover-');
		const image = path.join(base, 'image'), mountPoint = path.join(base, 'disk');
		fs.mkdirSync(mountPoint);
		fs.closeSync(fs.openSync(image, 'w'));
		fs.truncateSync(image, 1 << 30);
		run('mkfs.ext4', '-q', image);
		const device = run('losetup', '--find', '--show', image);
		const machines = [new Machine('a', 2, mountPoint), new Machine('b', 3, mountPoint)];
		const log = { blobs: {}, acknowledged: 0, wrong: [], going: true };
		const client = new Client({ account: WELL_KNOWN_ACCOUNT, key: WELL_KNOWN_KEY, now: () => Date.now() }, {
			endpoint: `http://${ADDRESS}:${PORTS.blob}/${WELL_KNOWN_ACCOUNT}`,
			agent: new http.Agent({ keepAlive: false }), // a connection that was kept would be one to the machine that is gone
		});
		let server, writers = [];
		const times = [];
		try {
			for (const m of machines) await m.connect();
			machines[0].mount(device);
			server = await machines[0].serve();
			machines[0].takeAddress();
			expectStatus(await client.put('/fail', { query: { restype: 'container' } }), 201);
			expectStatus(await client.put('/fail/leased', { body: 'x', headers: blobs }), 201);
			const lease = expectStatus(await client.put('/fail/leased', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1 } }), 201).headers['x-ms-lease-id'];
			writers = Array.from({ length: WRITERS }, (_, id) => write(client, id, log));
			for (let round = 0; round < ROUNDS; round++) {
				const [from, to] = round % 2 ? [machines[1], machines[0]] : machines;
				const cut = round % 4 >= 2;
				await sleep(500);
				// Where the disk can be seen from both, the lock of the first keeps the second out.
				if (round === 0) {
					to.mount(device);
					const [program, ...words] = to.wrapper;
					const second = await runProgram([...words, process.env.ZAFFRE_BIN ?? 'build/release/zaffre', '--location', path.join(mountPoint, 'data'), '--silent'], { program });
					assert.equal(second.code, 1);
					assert.match(second.stderr, /is in use by another server, process \d+/);
					to.unmount();
				}
				const acknowledged = log.acknowledged;
				assert.ok(acknowledged > 0);
				// Right after an acknowledgement: the worst moment for one that was given too early.
				const cutter = cut && spawn(shutdown, [`/proc/${from.holder.pid}/root${mountPoint}`], { stdio: ['pipe', 'ignore', 'inherit'] });
				const cutDone = cut && new Promise((resolve) => cutter.once('close', resolve));
				await new Promise((resolve) => (log.heard = resolve));
				log.heard = undefined;
				const began = performance.now();
				if (cut) {
					from.fence(); // nobody hears what is said from here on
					cutter.stdin.end('x');
					assert.equal(await cutDone, 0, 'the file system does not shut down');
					await server.kill9();
				} else {
					await server.kill9();
					from.fence();
				}
				const fenced = performance.now();
				from.unmount();
				to.mount(device); // replays the journal of the file system
				const mounted = performance.now();
				server = await to.serve();
				const started = performance.now();
				to.takeAddress();
				const before = log.acknowledged;
				while (log.acknowledged === before && performance.now() - started < 30_000) await sleep(2);
				const again = performance.now();
				assert.ok(log.acknowledged > before, `clients do not go on: ${log.last}\n${spawnSync('ip', ['neigh', 'show', 'dev', bridge], { encoding: 'utf8' }).stdout}\n${server.stderr}`);
				times.push(again - began);
				const ms = (x) => `${x.toFixed(0)} ms`;
				t.diagnostic(`${cut ? 'disk and network cut off' : 'kill -9'}, ${from.name} to ${to.name}: ${ms(again - began)} without an answer (end and fencing ${ms(fenced - began)}, mount ${ms(mounted - fenced)}, start ${ms(started - mounted)}, address and clients ${ms(again - started)}); ${acknowledged} writes were acknowledged before`);
				assert.deepEqual(await losses(client, log), []);
				assert.equal((await client.put('/fail/leased', { body: 'y', headers: blobs })).code, 'LeaseIdMissing');
				expectStatus(await client.put('/fail/leased', { query: { comp: 'lease' }, headers: { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': lease } }), 200);
				from.unfence();
			}
			log.going = false;
			await Promise.all(writers);
			assert.deepEqual(await losses(client, log), []);
			await server.stop();
			const [machine] = ROUNDS % 2 ? [machines[1]] : machines;
			const [program, ...words] = machine.wrapper;
			const scrub = await runProgram([...words, process.env.ZAFFRE_BIN ?? 'build/release/zaffre', 'scrub', '--location', path.join(mountPoint, 'data')], { program });
			assert.equal(scrub.code, 0, scrub.stdout + scrub.stderr);
			t.diagnostic(`${times.length} failovers, longest ${Math.max(...times).toFixed(0)} ms, ${log.acknowledged} acknowledged writes`);
		} finally {
			log.going = false;
			await Promise.all(writers);
			await server?.kill9();
			for (const m of machines) m.end();
			// The namespaces and with them the mounts go when their last process did.
			for (let i = 0; i < 100 && spawnSync('losetup', ['-d', device]).status !== 0; i++) await sleep(50);
			removeDir(base);
		}
	});
});

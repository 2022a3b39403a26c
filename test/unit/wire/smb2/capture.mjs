// SPDX-License-Identifier: Apache-2.0
// Takes golden.txt anew: real clients against this server and against Samba's smbd, through a proxy that keeps every
// message; tshark, whose decoder has nothing of ours, says what their fields are. See README.md.
//
//   node test/unit/wire/smb2/capture.mjs [--program FILE]     as root (smbd), with tshark, smbprotocol and rclone installed
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

import { freePort, removeDir, startServer, tempDir, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../../../lib/server.mjs';
import { COMMAND } from '../../../lib/smb.mjs';
import { startSamba } from '../../../smb/samba.mjs';

const here = import.meta.dirname;
const SHARE = 'golden';
const LONGEST_BYTES = 700; // of a message that is kept
const PACKET_BYTES = 60_000; // of a message that tshark is shown
const SEEDS_MAX = 12; // of a kind
const NAMES = ['negotiate', 'session_setup', 'empty', 'tree_connect', 'empty', 'create', 'close', 'flush', 'read', 'write', 'lock', 'ioctl',
	'empty', 'empty', 'query_directory', 'change_notify', 'query_info', 'set_info', 'oplock_break'];
const ANSWERS = { flush: 'empty', lock: 'empty', query_directory: 'output', change_notify: 'output', query_info: 'output' };
const STATUS_MORE = 0xc0000016;
const NOT_ANSWERED_HERE = /AAPL|@GMT/; // what Samba alone answers

// ---- the proxy ----

async function record(target, { client, server, messages }) {
	const listener = net.createServer((inner) => {
		const outer = net.connect(target.port, '127.0.0.1');
		const connection = `${client} ${messages.length}`;
		for (const [from, to, answers] of [[inner, outer, false], [outer, inner, true]]) {
			let input = Buffer.alloc(0);
			from.on('data', (data) => {
				input = Buffer.concat([input, data]);
				while (input.length >= 4 && input.length >= 4 + input.readUInt32BE(0)) {
					messages.push({ client, server, connection, answers, bytes: Buffer.from(input.subarray(4, 4 + input.readUInt32BE(0))) });
					input = input.subarray(4 + input.readUInt32BE(0));
				}
				to.write(data);
			});
			from.on('close', () => to.destroy());
			from.on('error', () => to.destroy());
		}
	});
	await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
	return { port: listener.address().port, end: () => listener.close() };
}

// Not waited for synchronously: the proxy is in this process.
function run(command, args, { input, ...options } = {}) {
	return new Promise((resolve) => {
		const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 120_000, ...options });
		let output = '';
		child.stdout.on('data', (text) => (output += text));
		child.stderr.on('data', (text) => (output += text));
		child.stdin.end(input ?? '');
		child.on('error', (error) => resolve({ code: -1, output: String(error) }));
		child.on('close', (code) => resolve({ code, output }));
	});
}

// ---- the clients ----

const TORTURE = ['oplock.exclusive2', 'oplock.batch1', 'lease.upgrade2', 'lease.breaking3', 'lease.v2_breaking3', 'durable-open.open-oplock', 'durable-open.reopen2',
	'durable-v2-open.reopen1', 'durable-v2-open.reopen2-lease', 'lock.lock', 'lock.rw-shared', 'notify.valid-req', 'notify.tree', 'notify.dir', 'ioctl.shadow_copy',
	'ioctl.req_resume_key', 'ioctl.copy_chunk_simple', 'getinfo.qfile_buffercheck', 'getinfo.qfs_buffercheck', 'getinfo.qsec_buffercheck', 'getinfo.complex',
	'dir.find', 'dir.one', 'create.blob', 'create.open', 'create.acldir', 'setinfo', 'rename.simple', 'read.eof', 'winattr', 'compound_find.compound_find_related',
	'session.reconnect1', 'connect'];
const IMPACKET = `
import os, sys
from impacket.smbconnection import SMBConnection
from impacket.smb3structs import *
for dialect in (SMB2_DIALECT_21, SMB2_DIALECT_30):
    c = SMBConnection('127.0.0.1', '127.0.0.1', sess_port=int(os.environ['SMB_PORT']), preferredDialect=dialect)
    c.login(os.environ['SMB_USER'], os.environ['SMB_KEY'])
    s = os.environ['SMB_SHARE']
    c.createDirectory(s, 'imp')
    t = c.connectTree(s)
    f = c.createFile(t, 'imp/a.txt')
    c.writeFile(t, f, b'impacket')
    c.readFile(t, f, 0, 8)
    smb = c.getSMBServer()
    smb.flush(t, f)
    smb.queryInfo(t, f)
    c.closeFile(t, f)
    c.listPath(s, 'imp/*')
    c.rename(s, 'imp/a.txt', 'imp/b.txt')
    c.deleteFile(s, 'imp/b.txt')
    c.deleteDirectory(s, 'imp')
    smb.echo()
    c.disconnectTree(t)
    c.logoff()
`;
const SMBPROTOCOL = `
import os, smbclient
more = {'port': int(os.environ['SMB_PORT'])}
smbclient.register_session('127.0.0.1', username=os.environ['SMB_USER'], password=os.environ['SMB_KEY'], **more)
root = '\\\\\\\\127.0.0.1\\\\' + os.environ['SMB_SHARE'] + '\\\\proto'
smbclient.mkdir(root, **more)
with smbclient.open_file(root + '\\\\a.txt', mode='wb', **more) as f:
    f.write(b'smbprotocol')
with smbclient.open_file(root + '\\\\a.txt', mode='rb', **more) as f:
    f.read()
smbclient.stat(root + '\\\\a.txt', **more)
smbclient.utime(root + '\\\\a.txt', (1600000000, 1600000001), **more)
smbclient.rename(root + '\\\\a.txt', root + '\\\\b.txt', **more)
list(smbclient.scandir(root, **more))
smbclient.stat_volume(root, **more)
smbclient.remove(root + '\\\\b.txt', **more)
smbclient.rmdir(root, **more)
smbclient.reset_connection_cache()
`;

function clients({ user, password }, dir) {
	const secret = path.join(dir, 'auth');
	fs.writeFileSync(secret, `username = ${user}\npassword = ${password}\n`, { mode: 0o600 });
	fs.writeFileSync(path.join(dir, 'up.txt'), 'smbclient');
	const env = (port) => ({ ...process.env, SMB_PORT: String(port), SMB_USER: user, SMB_KEY: password, SMB_SHARE: SHARE, HOME: dir });
	const python = (script) => (port) => run('/usr/bin/python3', ['-c', script], { env: env(port) });
	const smbclient = (...options) => (port) => run('smbclient', [`//127.0.0.1/${SHARE}`, '-p', String(port), '-A', secret, '-s', '/dev/null',
		'--client-protection=sign', ...options, '-c', `mkdir d; put ${dir}/up.txt d\\up.txt; get d\\up.txt ${dir}/down; ls d\\*; allinfo d\\up.txt; setmode d\\up.txt +h;
		rename d\\up.txt d\\u2; scopy d\\u2 d\\u3; du; volume; del d\\u2; del d\\u3; rmdir d; echo 1 x`], { cwd: dir });
	const rclone = (port) => run('sh', ['-c', `P=$(rclone obscure -) && export P && rclone copyto ${dir}/up.txt ":smb,host=127.0.0.1,port=${port},user=${user},pass=\${P}:${SHARE}/r/up.txt" &&
		rclone lsl ":smb,host=127.0.0.1,port=${port},user=${user},pass=\${P}:${SHARE}/r" && rclone cat ":smb,host=127.0.0.1,port=${port},user=${user},pass=\${P}:${SHARE}/r/up.txt" &&
		rclone about ":smb,host=127.0.0.1,port=${port},user=${user},pass=\${P}:${SHARE}" ; rclone purge ":smb,host=127.0.0.1,port=${port},user=${user},pass=\${P}:${SHARE}/r"`], { input: password, env: env(port) });
	const torture = async (port) => {
		const outputs = [];
		for (const test of TORTURE)
			outputs.push(await run('smbtorture', [`//127.0.0.1/${SHARE}`, '-p', String(port), '-A', secret, '-s', '/dev/null', '--client-protection=sign', `--basedir=${dir}`, `smb2.${test}`], { cwd: dir }));
		return { code: 0, output: `${outputs.filter(({ code }) => code === 0).length} of ${outputs.length} passed` };
	};
	return { smbclient: smbclient(), 'smbclient-2.1': smbclient('-m', 'SMB2_10', '--option=client min protocol=SMB2_10'),
		'smbclient-3.0': smbclient('-m', 'SMB3_00'), 'smbclient-smb1': smbclient('--option=client min protocol=NT1'),
		'smbclient-encrypted': smbclient('--client-protection=encrypt'), impacket: python(IMPACKET), smbprotocol: python(SMBPROTOCOL), rclone, smbtorture: torture };
}

// ---- what tshark says ----

// One TCP packet a message, so that packets and messages have the same numbers.
function writePcap(file, messages) {
	const parts = [Buffer.from('d4c3b2a102000400000000000000000000000400' + '65000000', 'hex')];
	const sequence = new Map();
	const ports = new Map();
	for (const m of messages) {
		if (!ports.has(m.connection)) ports.set(m.connection, 20_000 + ports.size);
		const client = ports.get(m.connection);
		const [key, other] = [`${m.connection} ${m.answers}`, `${m.connection} ${!m.answers}`];
		const packet = Buffer.alloc(44 + m.bytes.length);
		packet[0] = 0x45;
		packet.writeUInt16BE(packet.length, 2);
		packet[8] = 64;
		packet[9] = 6;
		packet.writeUInt32BE(m.answers ? 0x7f000002 : 0x7f000001, 12);
		packet.writeUInt32BE(m.answers ? 0x7f000001 : 0x7f000002, 16);
		packet.writeUInt16BE(m.answers ? 445 : client, 20);
		packet.writeUInt16BE(m.answers ? client : 445, 22);
		packet.writeUInt32BE(sequence.get(key) ?? 1, 24);
		packet.writeUInt32BE(sequence.get(other) ?? 1, 28);
		packet[32] = 0x50;
		packet[33] = 0x18;
		packet.writeUInt16BE(65535, 34);
		packet.writeUInt32BE(m.bytes.length, 40);
		m.bytes.copy(packet, 44);
		sequence.set(key, (sequence.get(key) ?? 1) + 4 + m.bytes.length);
		const head = Buffer.alloc(16);
		head.writeUInt32LE(packet.length, 8);
		head.writeUInt32LE(packet.length, 12);
		parts.push(head, packet);
	}
	fs.writeFileSync(file, Buffer.concat(parts));
}

// The names in the tables of test/lib/smb2: [[pdu, [name, ...]], ...].
function fieldsOf() {
	const source = fs.readFileSync(path.join(here, '../../../lib/smb2/requests.c'), 'utf8');
	return new Map([...source.matchAll(/pdu_field (\w+)_fields\[\] = \{(.*?)\};/gs)].map(([, pdu, list]) => [pdu, [...list.matchAll(/FIELD\("([\w.]+)"/g)].map((f) => f[1])]));
}

function sharkSays(file, names) {
	const args = ['-r', file, '-T', 'fields', '-E', 'separator=/t', '-E', 'occurrence=f', ...names.flatMap((name) => ['-e', name])];
	return execFileSync('tshark', args, { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] }).toString().split('\n').map((line) => line.split('\t'));
}

// ---- what is kept ----

const CONTEXTS = ['RqLs', 'DHnQ', 'DHnC', 'DH2Q', 'DH2C', 'MxAc', 'QFid', 'AlSi', 'TWrp', 'SecD', 'ExtA'];
const contextsOf = (bytes) => CONTEXTS.filter((name) => bytes.includes(name)).join('+');

// What a message is an example of; undefined: of nothing here.
function kindOf(m) {
	if (m.bytes.toString('latin1', 0, 4) === '\xffSMB') return m.answers ? undefined : { pdu: 'smb1_negotiate', kind: m.client };
	if (m.bytes.toString('latin1', 0, 4) === '\xfdSMB') return { pdu: 'transform', kind: m.answers };
	if (m.bytes.toString('latin1', 0, 4) !== '\xfeSMB' || m.bytes.length > LONGEST_BYTES || m.bytes.readUInt32LE(20)) return undefined; // chains are tested elsewhere
	const command = m.bytes.readUInt16LE(12);
	const pdu = NAMES[command];
	if (!m.answers) {
		const more = command === COMMAND.CREATE ? `${contextsOf(m.bytes)} ${m.bytes.readUInt32LE(116)}` : [COMMAND.QUERY_INFO, COMMAND.SET_INFO].includes(command) ? `${m.bytes[66]} ${m.bytes[67]}`
			: command === COMMAND.IOCTL ? m.bytes.readUInt32LE(68).toString(16) : command === COMMAND.OPLOCK_BREAK ? m.bytes[64] : command;
		return { pdu, kind: `${m.client} ${more}` };
	}
	const status = m.bytes.readUInt32LE(8);
	if (m.bytes.readBigUInt64LE(24) === 0xffffffffffffffffn) return { pdu: m.bytes[64] === 24 ? 'oplock_notice' : 'lease_notice', kind: `${m.server}` };
	if (m.bytes[64] === 9 && status >>> 30 === 3 && status !== STATUS_MORE) return { pdu: 'error_answer', kind: `${m.server} ${m.bytes.length}` };
	if (status && status !== STATUS_MORE) return undefined;
	if (command === COMMAND.OPLOCK_BREAK) return { pdu, kind: `${m.server} answer ${m.bytes[64]}` };
	if (command === COMMAND.SESSION_SETUP || command === COMMAND.NEGOTIATE) return { pdu: `${pdu}_answer`, kind: `${m.server} ${status} ${command ? '' : m.bytes.readUInt16LE(68)}` };
	if (command === COMMAND.CREATE) return NOT_ANSWERED_HERE.test(m.bytes.toString('latin1')) ? undefined : { pdu: 'create_answer', kind: `${m.server} ${contextsOf(m.bytes)}` };
	if (command === COMMAND.IOCTL) return { pdu: 'ioctl_answer', kind: `${m.server} ${m.bytes.readUInt32LE(68)}` };
	return { pdu: `${ANSWERS[pdu] ?? pdu}_answer`, kind: `${m.server} ${command}` };
}

// The data of an answer by the class that was asked for: { pdu, kind, bytes }.
function* insideOf(messages) {
	const asked = new Map();
	for (const m of messages) {
		if (m.bytes.toString('latin1', 0, 4) !== '\xfeSMB') continue;
		for (let at = 0, next = 1; next; at += next) {
			const part = m.bytes.subarray(at);
			next = part.readUInt32LE(20);
			const key = `${m.connection} ${part.readBigUInt64LE(24)}`;
			const command = part.readUInt16LE(12);
			if (!m.answers) {
				asked.set(key, { command, type: part[66], infoClass: part[67], find: part[66] });
				continue;
			}
			const q = asked.get(key);
			if (!q || part.readUInt32LE(8)) continue;
			const data = part.length > 72 ? part.subarray(72, 72 + part.readUInt32LE(68)) : Buffer.alloc(0);
			if (command === COMMAND.QUERY_INFO && q.type <= 2)
				yield { ...m, pdu: q.type === 1 ? 'file_info' : 'fs_info', kind: `${m.server} ${q.type} ${q.infoClass}`, bytes: Buffer.concat([Buffer.from([q.infoClass]), data]) };
			if (command === COMMAND.QUERY_DIRECTORY) yield { ...m, pdu: 'entries', kind: `${m.server} ${q.find}`, bytes: Buffer.concat([Buffer.from([q.find]), data]) };
			if (command === COMMAND.CHANGE_NOTIFY) yield { ...m, pdu: 'changes', kind: m.server, bytes: data };
		}
	}
}

// The contexts of a request, and what SET_INFO sets: { pdu, kind, bytes }.
function* partsOf(messages) {
	for (const m of messages) {
		if (m.answers || m.bytes.toString('latin1', 0, 4) !== '\xfeSMB') continue;
		const command = m.bytes.readUInt16LE(12);
		const give = (pdu, from, length) => ({ ...m, pdu, kind: `${m.client} ${length}`, bytes: m.bytes.subarray(from, from + length) });
		if (command === COMMAND.NEGOTIATE && m.bytes.readUInt32LE(92)) {
			for (let i = 0, at = m.bytes.readUInt32LE(92); i < m.bytes.readUInt16LE(96); i++) {
				const name = { 1: 'preauth', 2: 'encryption', 8: 'signing' }[m.bytes.readUInt16LE(at)];
				const length = m.bytes.readUInt16LE(at + 2);
				if (name) yield give(`context_${name}`, at + 8, length);
				at = Math.ceil((at + 8 + length) / 8) * 8;
			}
		} else if (command === COMMAND.CREATE && m.bytes.readUInt32LE(116)) {
			for (let at = m.bytes.readUInt32LE(112), next = 1; next; at += next) {
				next = m.bytes.readUInt32LE(at);
				const name = m.bytes.toString('latin1', at + m.bytes.readUInt16LE(at + 4), at + m.bytes.readUInt16LE(at + 4) + 4);
				if (CONTEXTS.includes(name)) yield give(`context_${name}`, at + m.bytes.readUInt16LE(at + 10), m.bytes.readUInt32LE(at + 12));
			}
		} else if (command === COMMAND.SET_INFO && m.bytes[66] === 1) {
			const name = { 4: 'set_basic', 10: 'set_rename' }[m.bytes[67]];
			if (name) yield give(name, m.bytes.readUInt16LE(72), m.bytes.readUInt32LE(68));
		}
	}
}

function write(file, kept) {
	const lines = ['# Taken by capture.mjs: message CLIENT SERVER NAME; its bytes; what tshark says of it.'];
	for (const { client, server, pdu, bytes, fields = [] } of kept) {
		lines.push(`message ${client} ${server} ${pdu}`);
		for (let at = 0; at < bytes.length; at += 60) lines.push(`bytes ${bytes.toString('hex', at, at + 60)}`);
		for (const [name, value] of fields) lines.push(`field ${name} ${value}`);
	}
	fs.writeFileSync(file, `${lines.join('\n')}\n`);
}

// Each message is where the fuzzing of its kind begins.
function seed(kept) {
	const corpus = path.join(here, '../../../proof/fuzz/corpus');
	const counts = new Map();
	for (const { client, pdu, bytes } of kept) {
		const dir = path.join(corpus, `smb2_${pdu}`);
		const count = (counts.get(pdu) ?? 0) + 1;
		counts.set(pdu, count);
		fs.mkdirSync(dir, { recursive: true });
		if (count <= SEEDS_MAX) fs.writeFileSync(path.join(dir, `${client}-${count}`), bytes);
	}
}

function choose(messages, tables, said, names) {
	const seen = new Set();
	const kept = [];
	const take = (m, { pdu, kind }, row) => {
		if (m.bytes.length > LONGEST_BYTES || seen.has(`${pdu} ${kind}`)) return;
		seen.add(`${pdu} ${kind}`);
		const fields = (tables.get(pdu) ?? []).map((name) => [name, row?.[names.indexOf(name)]]).filter(([, value]) => value);
		kept.push({ ...m, pdu, fields });
	};
	messages.forEach((m, i) => {
		const what = kindOf(m);
		if (!what) return;
		take(m, what, m.answers ? undefined : said[i]);
		if (!m.answers && NAMES.includes(what.pdu)) take(m, { pdu: 'header', kind: what.pdu }, said[i]);
	});
	for (const part of [...insideOf(messages), ...partsOf(messages)]) take(part, part);
	return kept.sort((a, b) => (a.pdu < b.pdu ? -1 : a.pdu > b.pdu ? 1 : 0));
}

async function main() {
	const dir = tempDir();
	const program = process.argv[2] === '--program' ? process.argv[3] : undefined;
	const port = await freePort();
	const ours = await startServer({ program, flags: ['--smbPort', String(port), '--create', `share:${SHARE}`] });
	const samba = await startSamba([SHARE]);
	const messages = [];
	for (const [server, target] of [['zaffre', { port, user: WELL_KNOWN_ACCOUNT, password: WELL_KNOWN_KEY }], ['samba', samba]])
		for (const [client, start] of Object.entries(clients(target, dir))) {
			const proxy = await record(target, { client, server, messages });
			const before = messages.length;
			const { code, output } = await start(proxy.port);
			proxy.end();
			console.log(`${client} against ${server}: ${messages.length - before} messages, status ${code}: ${output.trim().split('\n').at(-1)}`);
		}
	await samba.stop();
	await ours.stop();
	await ours.remove();
	const shown = messages.filter((m) => m.bytes.length <= PACKET_BYTES);
	const tables = fieldsOf();
	const names = [...new Set([...tables.values()].flat())];
	writePcap(path.join(dir, 'golden.pcap'), shown);
	const kept = choose(shown, tables, sharkSays(path.join(dir, 'golden.pcap'), names), names);
	write(path.join(here, 'golden.txt'), kept);
	seed(kept);
	console.log(`${kept.length} of ${messages.length} messages kept`);
	removeDir(dir);
}

await main();

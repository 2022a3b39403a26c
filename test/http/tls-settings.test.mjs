// SPDX-License-Identifier: Apache-2.0
// TLS as the operator sets it: oldest version, ciphers, several certificates by name, certificates of clients.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { removeDir, runProgram, scale, startServer, tempDir } from '../lib/server.mjs';
import { portOf } from './wire.mjs';

let dir;
const at = (name) => path.join(dir, name);
const openssl = (...words) => execFileSync('openssl', words, { stdio: 'ignore' });
// A certificate for a name, its own authority's or signed by `by`.
function certify(file, name, by, { days = 2, extensions } = {}) {
	const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at(`${file}.key`), '-subj', `/CN=${name}`];
	if (!by) return openssl('req', '-x509', '-days', '2', ...key, '-addext', `subjectAltName=DNS:${name}`, '-out', at(`${file}.pem`));
	openssl('req', '-new', ...key, '-out', at(`${file}.csr`));
	const more = extensions ? ['-extfile', at(`${file}.ext`)] : [];
	if (extensions) fs.writeFileSync(at(`${file}.ext`), `${extensions}\n`);
	openssl('x509', '-req', '-days', String(days), ...more, '-in', at(`${file}.csr`), '-CA', at(`${by}.pem`), '-CAkey', at(`${by}.key`), '-CAcreateserial', '-out', at(`${file}.pem`));
}
const own = () => ['--cert', at('first.pem'), '--key', at('first.key')];
// What a handshake came to: protocol, cipher, the certificate's name; or the error.
function shake(port, options = {}) {
	return new Promise((resolve) => {
		const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
			const found = { protocol: socket.getProtocol(), cipher: socket.getCipher().name, name: socket.getPeerCertificate().subject.CN };
			// TLS 1.3 tells about a missing certificate only behind the handshake.
			socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
			socket.once('data', () => (resolve(found), socket.destroy()));
		});
		socket.on('error', (error) => resolve({ error: error.code ?? error.message }));
		socket.on('close', () => resolve({ error: 'closed' }));
	});
}

describe('TLS settings', () => {
	before(() => {
		dir = tempDir();
		certify('first', 'first.test');
		certify('second', 'second.test');
		certify('wild', '*.wild.test');
		certify('ca', 'authority');
		certify('client', 'client', 'ca');
		certify('stranger', 'stranger');
	});
	after(() => removeDir(dir));
	async function served(flags, run) {
		const server = await startServer({ flags: [...own(), ...flags] });
		try {
			await run(portOf(server.endpoints.blob), server);
		} finally {
			await server.remove();
		}
	}

	test('the oldest version', async () => {
		await served([], async (port) => assert.equal((await shake(port, { maxVersion: 'TLSv1.2' })).protocol, 'TLSv1.2'));
		await served(['--tlsMinVersion', '1.3'], async (port) => {
			assert.ok((await shake(port, { maxVersion: 'TLSv1.2' })).error);
			assert.equal((await shake(port)).protocol, 'TLSv1.3');
		});
	});
	test('ciphers: those named, of the versions they are of', async () => {
		await served(['--tlsCiphers', 'TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES256-GCM-SHA384'], async (port) => {
			assert.equal((await shake(port)).cipher, 'TLS_AES_256_GCM_SHA384');
			assert.equal((await shake(port, { maxVersion: 'TLSv1.2' })).cipher, 'ECDHE-ECDSA-AES256-GCM-SHA384');
			assert.ok((await shake(port, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).error);
		});
		await served(['--tlsCiphers', 'TLS_CHACHA20_POLY1305_SHA256'], async (port) => {
			assert.equal((await shake(port)).cipher, 'TLS_CHACHA20_POLY1305_SHA256');
			assert.ok((await shake(port, { maxVersion: 'TLSv1.2' })).error);
		});
	});
	test('several certificates, by the name a client asks for, and after SIGHUP the renewed one', async () => {
		await served(['--moreCerts', `${at('second.pem')}:${at('second.key')},${at('wild.pem')}:${at('wild.key')}`], async (port, server) => {
			const name = async (servername) => (await shake(port, servername ? { servername } : {})).name;
			assert.equal(await name('first.test'), 'first.test');
			assert.equal(await name('second.test'), 'second.test');
			assert.equal(await name('any.wild.test'), '*.wild.test');
			assert.equal(await name('unknown.test'), 'first.test');
			assert.equal(await name(), 'first.test');
			fs.copyFileSync(at('second.pem'), at('kept.pem'));
			fs.copyFileSync(at('second.key'), at('kept.key'));
			certify('second', 'renewed.test');
			process.kill(server.pid, 'SIGHUP');
			for (const end = Date.now() + 5000; (await name('renewed.test')) !== 'renewed.test'; ) assert.ok(Date.now() < end, 'read again');
			assert.equal(await name('second.test'), 'first.test');
			fs.writeFileSync(at('second.key'), 'no key');
			process.kill(server.pid, 'SIGHUP');
			for (const end = Date.now() + 5000; !/certificate that was in use stays/.test(server.stderr); ) {
				assert.ok(Date.now() < end, 'told');
				await new Promise((r) => setTimeout(r, 20));
			}
			assert.equal(await name('renewed.test'), 'renewed.test');
			fs.copyFileSync(at('kept.pem'), at('second.pem'));
			fs.copyFileSync(at('kept.key'), at('second.key'));
		});
	});
	test('certificates of clients: none and a stranger\'s are refused, also in sessions taken up again', async () => {
		await served(['--clientCa', at('ca.pem')], async (port, server) => {
			for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
				assert.ok((await shake(port, { maxVersion })).error);
				assert.ok((await shake(port, { maxVersion, cert: fs.readFileSync(at('stranger.pem')), key: fs.readFileSync(at('stranger.key')) })).error);
				assert.equal((await shake(port, { maxVersion, cert: fs.readFileSync(at('client.pem')), key: fs.readFileSync(at('client.key')) })).protocol, maxVersion);
			}
			const agent = new https.Agent({ keepAlive: false, rejectUnauthorized: false, cert: fs.readFileSync(at('client.pem')), key: fs.readFileSync(at('client.key')) });
			const answer = await new Promise((resolve, reject) => https.get(`${server.endpoints.blob.replace(/\/[^/]+$/, '')}/health`, { agent }, (r) => (r.resume(), resolve(r.statusCode))).on('error', reject));
			assert.equal(answer, 200);
			// Twice more: by sessions of before.
			for (let i = 0; i < 2; i++) assert.equal(await new Promise((resolve, reject) => https.get(`${server.endpoints.blob.replace(/\/[^/]+$/, '')}/health`, { agent }, (r) => (r.resume(), resolve(r.statusCode))).on('error', reject)), 200);
		});
	});
	test('certificates of clients that are not good for it, and chains that are far too long', { timeout: 60_000 }, async () => {
		certify('expired', 'expired', 'ca', { days: 0 });
		certify('for-servers', 'for-servers', 'ca', { extensions: 'extendedKeyUsage=serverAuth' });
		certify('for-clients', 'for-clients', 'ca', { extensions: 'extendedKeyUsage=clientAuth' });
		certify('no-authority', 'no-authority', 'ca', { extensions: 'basicConstraints=critical,CA:FALSE' });
		certify('below', 'below', 'no-authority');
		await new Promise((r) => setTimeout(r, 1100)); // days: 0 ends within the second
		const pem = (...names) => names.map((name) => fs.readFileSync(at(`${name}.pem`), 'latin1')).join('');
		await served(['--clientCa', at('ca.pem')], async (port, server) => {
			const good = { cert: pem('for-clients'), key: fs.readFileSync(at('for-clients.key')) };
			for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
				for (const name of ['expired', 'for-servers', 'stranger'])
					assert.ok((await shake(port, { maxVersion, cert: pem(name), key: fs.readFileSync(at(`${name}.key`)) })).error, `${name} by ${maxVersion}`);
				assert.ok((await shake(port, { maxVersion, cert: pem('below', 'no-authority'), key: fs.readFileSync(at('below.key')) })).error, `one that no authority signed, by ${maxVersion}`);
				const before = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))[1]);
				const long = { maxVersion, secureContext: tls.createSecureContext({ maxVersion, key: good.key, cert: pem('for-clients', ...Array(400).fill('ca')) }) };
				for (const answer of await Promise.all(Array.from({ length: 20 }, () => shake(port, long)))) assert.ok(answer.error, `a chain of 400 by ${maxVersion}`);
				const after = Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'latin1'))[1]);
				if (scale === 1) assert.ok(after < before + 32 * 1024, `${before} KiB before, ${after} after`);
				assert.equal((await shake(port, { maxVersion, ...good })).protocol, maxVersion);
			}
		});
	});
	test('what cannot be prevents the start and says why', async () => {
		for (const [flags, message] of [
			[['--tlsMinVersion', '1.1'], /1\.2 or 1\.3/],
			[['--tlsCiphers', 'NONE-SUCH'], /no cipher/],
			[['--clientCa', at('absent')], /authorities/],
			[['--moreCerts', at('second.pem')], /CERT:KEY/],
			[['--moreCerts', `${at('second.pem')}:${at('first.key')}`], /second\.pem|first\.key/],
		]) {
			const data = tempDir();
			const r = await runProgram(['--location', data, ...own(), ...flags, '--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0']);
			assert.notEqual(r.code, 0, flags.join(' '));
			assert.match(r.stderr, message);
			removeDir(data);
		}
	});
});

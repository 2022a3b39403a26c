// SPDX-License-Identifier: Apache-2.0
// Backups of a PostgreSQL by the programs people use for it, pgBackRest and barman-cloud: base backup, archived log, restore, and the rows are
// there. Nobody here wrote them: they end with status 0, none is answered 5xx, and the store is clean behind them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort, parseConnectionString, root, runProgram } from '../lib/server.mjs';
import { startForPrograms, without } from '../lib/programs.mjs';

const versions = fs.existsSync('/usr/lib/postgresql') ? fs.readdirSync('/usr/lib/postgresql').sort() : [];
const bin = versions.length ? `/usr/lib/postgresql/${versions.at(-1)}/bin` : undefined;
const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
const skip = process.env.ZAFFRE_CLIENTS !== '1' ? 'takes a minute: make clients' : !bin ? 'postgresql is not installed (make clients)' : process.getuid() !== 0 ? 'becoming the user postgres needs root' : false;

// One PostgreSQL for all tests here; each configures its own archiving.
describe('databases', { skip }, () => {
	let ground, port, data, secure, user;
	const as = () => ({ uid: user.uid, gid: user.gid });
	const postgres = (program, args, env = {}) => ground.run(path.join(bin, program), args, { ...as(), env });
	const sql = (text) => postgres('psql', ['-h', ground.work, '-p', String(port), '-U', 'postgres', '-At', '-v', 'ON_ERROR_STOP=1', '-c', text]);
	const start = (dir) => postgres('pg_ctl', ['start', '-w', '-s', '-D', dir, '-l', path.join(ground.work, 'postgres.log'), '-o', `-p ${port} -k ${ground.work} -c listen_addresses=`]);
	const stop = (dir) => runProgram(['stop', '-w', '-m', 'fast', '-D', dir], { program: path.join(bin, 'pg_ctl'), ...as() });
	const configure = (lines) => fs.appendFileSync(path.join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
	before(async () => {
		user = { uid: id('-u'), gid: id('-g') };
		const folder = fs.mkdtempSync('/tmp/zaffre-tls-');
		const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(folder, name));
		// pgBackRest speaks HTTPS only, and wants a DNS name in the certificate.
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
		ground = await startForPrograms({ flags: ['--cert', cert, '--key', key] });
		secure = { folder, cert };
		fs.chmodSync(folder, 0o755);
		fs.chownSync(ground.work, user.uid, user.gid);
		port = await freePort();
		data = path.join(ground.work, 'data');
		await postgres('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync']);
		configure(['wal_level = replica', 'archive_mode = on', "archive_command = 'true'", 'max_wal_senders = 4', 'fsync = off']);
		await start(data);
		await sql('CREATE TABLE t AS SELECT i, md5(i::text) AS m FROM generate_series(1, 20000) AS i');
	});
	after(async () => {
		await stop(data);
		fs.rmSync(secure.folder, { recursive: true });
		await ground.end();
	});
	const archiveBy = async (command) => {
		configure([`archive_command = '${command}'`]);
		await sql('SELECT pg_reload_conf()');
	};
	const state = () => sql("SELECT count(*), md5(string_agg(m, '' ORDER BY i)) FROM t");
	// Starts what was restored in place of the first and compares; then the first again.
	const compare = async (dir, want) => {
		await stop(data);
		await start(dir);
		// It answers as soon as it is consistent; the rest of the log is still being read then.
		for (const end = Date.now() + 60_000; (await sql('SELECT pg_is_in_recovery()')).trim() === 't'; await new Promise((resolve) => setTimeout(resolve, 100))) assert.ok(Date.now() < end, 'recovery does not end');
		assert.equal(await state(), want);
		await stop(dir);
		await start(data);
	};
	const makeContainer = (name) => {
		// By the SDK over HTTPS with the certificate that was made for this run.
		const script = `const { BlobServiceClient } = await import('@azure/storage-blob'); await BlobServiceClient.fromConnectionString(process.env.C).createContainer('${name}');`;
		execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: { ...process.env, NODE_EXTRA_CA_CERTS: secure.cert, C: ground.server.connectionString }, cwd: path.join(root, 'test') });
	};

	test('pgBackRest: full and incremental backup, archived log, check, restore', { skip: without('pgbackrest') }, async () => {
		makeContainer('pgbackrest');
		const file = path.join(ground.work, 'pgbackrest.conf');
		const url = new URL(ground.server.endpoints.blob);
		fs.writeFileSync(file, ['[global]', 'repo1-type=azure', 'repo1-path=/repo', `repo1-azure-account=${ground.server.account}`, `repo1-azure-key=${ground.server.key}`, 'repo1-azure-container=pgbackrest',
			'repo1-azure-uri-style=path', 'repo1-azure-endpoint=localhost', 'repo1-storage-host=localhost', `repo1-storage-port=${url.port}`, `repo1-storage-ca-file=${secure.cert}`, 'start-fast=y', `log-path=${ground.work}`, `lock-path=${ground.work}/lock`,
			`spool-path=${ground.work}/spool`, '[main]', `pg1-path=${data}`, `pg1-port=${port}`, `pg1-socket-path=${ground.work}`, 'pg1-user=postgres', ''].join('\n'));
		const backrest = (...args) => ground.run('pgbackrest', ['--config', file, '--stanza', 'main', ...args], as());
		await archiveBy(`pgbackrest --config=${file} --stanza=main archive-push %p`);
		await backrest('stanza-create');
		await backrest('check');
		await backrest('--type=full', 'backup');
		await sql("INSERT INTO t SELECT i, md5('second' || i) FROM generate_series(20001, 30000) AS i");
		await backrest('--type=incr', 'backup');
		await sql("INSERT INTO t SELECT i, md5('in the log' || i) FROM generate_series(30001, 31000) AS i");
		await sql('SELECT pg_switch_wal()');
		await backrest('check'); // the log up to here is in the archive
		assert.equal(JSON.parse(await backrest('info', '--output=json'))[0].backup.length, 2);
		const want = await state(), restored = path.join(ground.work, 'restored-pgbackrest');
		fs.mkdirSync(restored, { mode: 0o700 });
		fs.chownSync(restored, user.uid, user.gid);
		await backrest(`--pg1-path=${restored}`, '--archive-mode=off', 'restore');
		await compare(restored, want);
	});

	test('barman-cloud: backup, archived log, list, restore', { skip: without('barman-cloud-backup') }, async () => {
		makeContainer('barman');
		const { AccountName } = parseConnectionString(ground.server.connectionString);
		const url = `${new URL(ground.server.endpoints.blob).origin}/${AccountName}/barman/backups`;
		const cloud = ['--cloud-provider', 'azure-blob-storage'];
		const env = { AZURE_STORAGE_CONNECTION_STRING: ground.server.connectionString, REQUESTS_CA_BUNDLE: secure.cert, SSL_CERT_FILE: secure.cert };
		const barman = (program, ...args) => ground.run(program, [...cloud, ...args], { ...as(), env });
		const script = path.join(ground.work, 'archive.sh');
		fs.writeFileSync(script, `#!/bin/sh\n${Object.entries(env).map(([k, v]) => `export ${k}='${v}'`).join('\n')}\nexec barman-cloud-wal-archive ${cloud.join(' ')} '${url}' main "$1"\n`, { mode: 0o755 });
		await archiveBy(`${script} %p`);
		await barman('barman-cloud-backup', '-h', ground.work, '-p', String(port), '-U', 'postgres', '--immediate-checkpoint', url, 'main');
		await sql("INSERT INTO t SELECT i, md5('later' || i) FROM generate_series(40001, 41000) AS i");
		const wal = (await sql('SELECT pg_walfile_name(pg_switch_wal())')).trim();
		for (const end = Date.now() + 30_000; (await sql('SELECT last_archived_wal FROM pg_stat_archiver')).trim() < wal; await new Promise((resolve) => setTimeout(resolve, 100))) assert.ok(Date.now() < end, 'the log is not archived');
		const list = JSON.parse(await barman('barman-cloud-backup-list', '--format', 'json', url, 'main'));
		assert.equal(list.backups_list.length, 1);
		const want = await state(), restored = path.join(ground.work, 'restored-barman');
		await barman('barman-cloud-restore', url, 'main', list.backups_list[0].backup_id, restored);
		fs.chmodSync(restored, 0o700);
		const fetchLog = path.join(ground.work, 'fetch.sh');
		fs.writeFileSync(fetchLog, fs.readFileSync(script, 'utf8').replace(/exec .*/, `exec barman-cloud-wal-restore ${cloud.join(' ')} '${url}' main "$1" "$2"`), { mode: 0o755 });
		fs.appendFileSync(path.join(restored, 'postgresql.conf'), `restore_command = '${fetchLog} %f %p'\narchive_mode = off\n`);
		fs.writeFileSync(path.join(restored, 'recovery.signal'), '');
		fs.chownSync(path.join(restored, 'recovery.signal'), user.uid, user.gid);
		await compare(restored, want);
	});
});

// SPDX-License-Identifier: Apache-2.0
// A data directory with a share, as an earlier build left it (golden-*.tar.gz: some of it in tables, the rest in the journal of a killed
// server; in the first every run is a row, in the second inodes of small files name their only one), is opened and shows everything it
// was filled with; scrub finds it clean, and it can be changed. A program that needs other bytes on disk must still read these. ZAFFRE_GOLDEN_MAKE=FILE node --test ... makes one anew, for a new format beside the old one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { removeDir, root, runProgram, startServer, tempDir } from '../../lib/server.mjs';
import { element, expectError, expectStatus } from '../../lib/assert.mjs';
import { Files, fileClient } from '../../lib/file.mjs';

const SDDL = 'O:SYG:SYD:(A;;FA;;;SY)(A;;FR;;;BU)';
const LEASE = '11111111-2222-3333-4444-555555555555';
const SIZES = { 'Inline.txt': 300, 'row.bin': 6000, 'extent.bin': 90_000, 'empty': 0 };
const bytes = (name, size) => Buffer.alloc(size, `${name};`);
// Bytes that lie in rows, in extents and in both, cut and cleared, in a file with holes.
const PIECES = [
	[0, 100, 'a'], [50, 5000, 'b'], [100_000, 200_000, 'c'], [150_001, 333, 'd'], [250_000, 40_000, 'e'], [777_777, 1, 'f'], [500, 700, undefined], [200_100, 90, undefined],
];
function pieces() {
	const all = Buffer.alloc(1_000_000);
	for (const [at, length, letter] of PIECES) all.fill(letter ?? 0, at, at + length);
	return all;
}

async function fill(files) {
	expectStatus(await files.share('golden', { 'x-ms-share-quota': 7, 'x-ms-meta-kept': 'yes' }), 201);
	expectStatus(await files.mkdir('/golden/Dir', { 'x-ms-file-permission': SDDL, 'x-ms-meta-d': '1' }), 201);
	expectStatus(await files.mkdir('/golden/Dir/sub'), 201);
	for (const [name, size] of Object.entries(SIZES)) await files.put(`/golden/Dir/${name}`, bytes(name, size), { 'x-ms-meta-name': name, 'x-ms-content-type': 'text/x-golden' });
	expectStatus(await files.create('/golden/pieces', 1_000_000, { 'x-ms-file-attributes': 'Archive|Hidden', 'x-ms-file-creation-time': '2001-02-03T04:05:06.0000000Z' }), 201);
	for (const [at, length, letter] of PIECES) expectStatus(letter ? await files.write('/golden/pieces', at, Buffer.alloc(length, letter)) : await files.clear('/golden/pieces', at, length), 201);
	expectStatus(await files.copy('/golden/pieces', '/golden/copied'), 202);
	expectStatus(await files.put('/golden/leased', 'leased'), 201);
	expectStatus(await files.lease('/golden/leased', 'acquire', { 'x-ms-lease-duration': -1, 'x-ms-proposed-lease-id': LEASE }), 201);
	expectStatus(await files.put('/golden/before', 'as it was'), 201);
	await files.snapshot('/golden', { 'x-ms-meta-shot': 'one' });
	expectStatus(await files.write('/golden/before', 0, 'CHANGED'), 201);
	expectStatus(await files.write('/golden/pieces', 100_500, Buffer.alloc(1000, 'z')), 201);
	expectStatus(await files.delete('/golden/Dir/empty'), 202);
	expectStatus(await files.rename('/golden/Dir/sub', '/golden/moved', {}, { directory: true }), 200);
}
// What only the journal has.
async function fillMore(files) {
	await files.put('/golden/moved/late', bytes('late', 40_000));
	expectStatus(await files.rename('/golden/Dir/row.bin', '/golden/moved/Row.bin'), 200);
	expectStatus(await files.comp('/golden/moved/late', 'metadata', { 'x-ms-meta-late': 'yes' }), 200);
}

async function check(files) {
	const share = expectStatus(await files.shareComp('GET', '/golden'), 200).headers;
	assert.deepEqual([share['x-ms-share-quota'], share['x-ms-meta-kept']], ['7', 'yes']);
	assert.deepEqual(await files.names('/golden'), ['before', 'copied', 'Dir/', 'leased', 'moved/', 'pieces']);
	assert.deepEqual(await files.names('/golden/Dir'), ['extent.bin', 'Inline.txt']);
	assert.deepEqual(await files.names('/golden/moved'), ['late', 'Row.bin']);
	const now = pieces();
	now.fill('z', 100_500, 101_500);
	const at = { '/Dir/Inline.txt': bytes('Inline.txt', 300), '/dir/EXTENT.BIN': bytes('extent.bin', 90_000), '/moved/row.bin': bytes('row.bin', 6000), '/moved/late': bytes('late', 40_000), '/pieces': now, '/copied': pieces(), '/before': Buffer.from('CHANGEDas') };
	for (const [name, wanted] of Object.entries(at)) {
		const r = expectStatus(await files.get(`/golden${name}`), 200);
		assert.ok(r.body.equals(wanted), name);
	}
	const inline = await files.head('/golden/Dir/Inline.txt'), dir = await files.dir('HEAD', '/golden/Dir'), file = await files.head('/golden/pieces');
	assert.deepEqual([inline.headers['x-ms-meta-name'], inline.headers['content-type'], dir.headers['x-ms-meta-d']], ['Inline.txt', 'text/x-golden', '1']);
	assert.deepEqual([file.headers['x-ms-file-attributes'], file.headers['x-ms-file-creation-time']], ['Hidden | Archive', '2001-02-03T04:05:06.0000000Z']);
	const permission = await files.shareComp('GET', '/golden', 'filepermission', { headers: { 'x-ms-file-permission-key': dir.headers['x-ms-file-permission-key'] } });
	assert.equal(JSON.parse(expectStatus(permission, 200).text).permission, `${SDDL}S:NO_ACCESS_CONTROL`);
	expectError(await files.write('/golden/leased', 0, 'x'), 412, 'LeaseIdMissing');
	expectStatus(await files.write('/golden/leased', 0, 'x', { 'x-ms-lease-id': LEASE }), 201);
	assert.equal(Number(element((await files.shareComp('GET', '/golden', 'stats')).text, 'ShareUsageBytes')), 300 + 6000 + 90_000 + 40_000 + 2 * 1_000_000 + 6 + 9);
}

async function checkSnapshot(files) {
	const list = expectStatus(await files.client.get('/', { query: { comp: 'list', include: 'snapshots,metadata' } }), 200).text;
	const sharesnapshot = element(list, 'Snapshot');
	assert.match(list, /<shot>one<\/shot>/);
	const past = (name) => files.get(`/golden${name}`, {}, { sharesnapshot });
	assert.equal((await past('/before')).text, 'as it was');
	assert.ok((await past('/pieces')).body.equals(pieces()));
	assert.equal((await past('/Dir/empty')).status, 200);
	assert.ok((await past('/Dir/row.bin')).body.equals(bytes('row.bin', 6000)));
	assert.deepEqual(await files.names('/golden/Dir', { sharesnapshot }), ['empty', 'extent.bin', 'Inline.txt', 'row.bin', 'sub/']);
	assert.deepEqual(await files.ranges('/golden/pieces', { prevsharesnapshot: sharesnapshot }), [[100_352, 101_887]]);
}

const tar = (...args) => {
	const r = spawnSync('tar', args, { encoding: 'utf8' });
	assert.equal(r.status, 0, r.stderr);
};

async function make() {
	const server = await startServer(), files = new Files(fileClient(server));
	try {
		await fill(files);
		await server.stop();
		await server.start();
		await fillMore(files);
		await server.kill9();
		tar('-C', server.dataDir, '--sparse', '--sort=name', '--owner=0', '--group=0', '--exclude=LOCK', '--exclude=LOG*', '-czf', path.resolve(process.env.ZAFFRE_GOLDEN_MAKE), '.');
	} finally {
		await server.remove();
	}
}
if (process.env.ZAFFRE_GOLDEN_MAKE) test('make a new one', make);

for (const number of [1, 2]) test(`share ${number} of an earlier build is read whole, is clean, and can be changed`, async () => {
	const dataDir = tempDir('zaffre-golden-');
	tar('-C', dataDir, '-xzf', path.join(root, `test/sdk/file/golden-${number}.tar.gz`));
	const server = await startServer({ dataDir });
	try {
		const files = new Files(fileClient(server));
		await check(files);
		await checkSnapshot(files);
		await files.put('/golden/new', 'written now');
		await server.stop();
		const r = await runProgram(['scrub', '--location', dataDir]);
		assert.equal(r.code, 0, r.stdout + r.stderr);
		await server.start();
		assert.equal((await files.get('/golden/new')).text, 'written now');
		await checkSnapshot(files);
	} finally {
		await server.kill9();
		removeDir(dataDir);
	}
});

// SPDX-License-Identifier: Apache-2.0
// List Directories and Files: order, pages, includes, encoded names, bodies byte by byte.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { scaled, startServer } from '../../lib/server.mjs';
import { element, expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Files, fileClient, sdkOf } from '../../lib/file.mjs';

let server, client, files, sdk, home;
before(async () => {
	server = await startServer();
	client = fileClient(server);
	files = new Files(client);
	sdk = sdkOf(server);
	home = await files.newShare();
});
after(() => server?.remove());
const newDir = async () => {
	const path = `${home}/${uniqueName('d')}`;
	expectStatus(await files.mkdir(path), 201);
	return path;
};
const head = '\ufeff<?xml version="1.0" encoding="utf-8"?>';

test('the body, by version and includes', async () => {
	const own = await files.newShare();
	const dir = expectStatus(await files.mkdir(`${own}/dir1`), 201), file = await files.put(`${own}/filea1`, 'abcd');
	await files.put(`${own}/filea2`, 'x');
	const endpoint = `${server.endpoints.file}/`, name = own.slice(1);
	const page = expectStatus(await files.list(own, { maxresults: 2 }, { version: '2021-06-08' }), 200);
	assert.equal(page.text, `${head}<EnumerationResults ServiceEndpoint="${endpoint}" ShareName="${name}" DirectoryPath=""><MaxResults>2</MaxResults><DirectoryId>0</DirectoryId><Entries><Directory><Name>dir1</Name><FileId>${dir.headers['x-ms-file-id']}</FileId><Properties /></Directory><File><Name>filea1</Name><FileId>${file.headers['x-ms-file-id']}</FileId><Properties><Content-Length>4</Content-Length></Properties></File></Entries><NextMarker>1!8!ZmlsZWEy</NextMarker></EnumerationResults>`);
	const next = expectStatus(await files.list(own, { maxresults: 2, marker: '1!8!ZmlsZWEy' }, { version: '2021-06-08' }), 200);
	assert.match(next.text, /<Marker>1!8!ZmlsZWEy<\/Marker><MaxResults>2<\/MaxResults><DirectoryId>0<\/DirectoryId><Entries><File><Name>filea2<\/Name>.*<\/Entries><NextMarker \/><\/EnumerationResults>$/);
	const old = expectStatus(await files.list(own, {}, { version: '2020-02-10' }), 200);
	assert.equal(old.text, `${head}<EnumerationResults ServiceEndpoint="${endpoint}" ShareName="${name}" DirectoryPath=""><Entries><Directory><Name>dir1</Name><Properties /></Directory><File><Name>filea1</Name><Properties><Content-Length>4</Content-Length></Properties></File><File><Name>filea2</Name><Properties><Content-Length>1</Content-Length></Properties></File></Entries><NextMarker /></EnumerationResults>`);
	const info = await files.list(own, {}, { version: '2020-04-08', headers: { 'x-ms-file-extended-info': 'true' } });
	assert.match(info.text, /<Directory><Name>dir1<\/Name><FileId>/);
	const now = await files.head(`${own}/filea1`);
	for (const include of ['Timestamps,ETag,Attributes,PermissionKey', 'permissionkey,attributes,etag,timestamps']) {
		const all = expectStatus(await files.list(own, { include, prefix: 'FILEA1' }), 200);
		const t = (h) => now.headers[`x-ms-file-${h}-time`];
		assert.ok(all.text.includes(`<File><Name>filea1</Name><FileId>${now.headers['x-ms-file-id']}</FileId><Properties><Content-Length>4</Content-Length><CreationTime>${t('creation')}</CreationTime><LastAccessTime>${t('last-write')}</LastAccessTime><LastWriteTime>${t('last-write')}</LastWriteTime><ChangeTime>${t('change')}</ChangeTime><Last-Modified>${now.headers['last-modified']}</Last-Modified><Etag>${now.etag}</Etag></Properties><Attributes>Archive</Attributes><PermissionKey>${now.headers['x-ms-file-permission-key']}</PermissionKey></File></Entries>`), all.text);
	}
});

test('files and directories in one order, without case; pages of every size show the same', async () => {
	const d = await newDir();
	const names = ['dirA/', 'dirB/', 'file0', 'File1', 'file2', 'ListX', 'zeta', 'Ärger', 'öl'];
	for (const name of [...names].reverse())
		if (name.endsWith('/')) expectStatus(await files.mkdir(`${d}/${name.slice(0, -1)}`), 201);
		else await files.put(`${d}/${encodeURIComponent(name)}`, 'x');
	assert.deepEqual(await files.names(d), names);
	for (let maxresults = 1; maxresults < names.length; maxresults++) assert.deepEqual(await files.names(d, { maxresults }), names, `pages of ${maxresults}`);
	assert.deepEqual(await files.names(d, { prefix: 'fi' }), ['file0', 'File1', 'file2']);
	assert.deepEqual(await files.names(d, { prefix: '' }), names);
	const seen = [];
	for await (const item of sdk.getShareClient(home.slice(1)).getDirectoryClient(d.split('/').pop()).listFilesAndDirectories()) seen.push(item.kind === 'directory' ? `${item.name}/` : item.name);
	assert.deepEqual(seen.sort(), [...names].sort());
});

test('a page begins at its marker, or behind it if that is gone', async () => {
	const d = await newDir();
	for (const name of ['a', 'b', 'c', 'd']) await files.put(`${d}/${name}`, 'x');
	const marker = element((await files.list(d, { maxresults: 1 })).text, 'NextMarker');
	expectStatus(await files.delete(`${d}/b`), 202);
	assert.match((await files.list(d, { marker, maxresults: 1 })).text, /<Name>c<\/Name>/);
	for (const bad of ['x', '1!9!ZmlsZWEy', '2!8!ZmlsZWEy', '1!4!====']) expectError(await files.list(d, { marker: bad }), 400, 'InvalidQueryParameterValue');
	for (const maxresults of [0, -1]) {
		const r = expectError(await files.list(d, { maxresults }), 400, 'OutOfRangeQueryParameterValue');
		assert.deepEqual(['QueryParameterName', 'QueryParameterValue', 'MinimumAllowed', 'MaximumAllowed'].map((n) => element(r.text, n)), ['maxresults', String(maxresults), '1', '2147483647']);
	}
	expectError(await files.list(`${d}/none`), 404, 'ResourceNotFound');
	expectError(await files.list(d, { include: 'nonsense' }), 400, 'InvalidQueryParameterValue');
});

test('names that XML cannot hold', async () => {
	const own = await files.newShare(), odd = '\uffff';
	expectStatus(await files.mkdir(`${own}/${encodeURIComponent(`${odd}directory`)}`), 201);
	await files.put(`${own}/${encodeURIComponent(`${odd}directory`)}/${encodeURIComponent(`${odd}file`)}`, 'x');
	const r = expectStatus(await files.list(`${own}/${encodeURIComponent(`${odd}directory`)}`, { prefix: odd }), 200);
	assert.match(r.text, /ShareName="[^"]*" Encoded="true" DirectoryPath="%EF%BF%BFdirectory"><Prefix Encoded="true">%EF%BF%BF<\/Prefix><DirectoryId>\d+<\/DirectoryId><Entries><File><Name Encoded="true">%EF%BF%BFfile<\/Name>/);
	const seen = [];
	for await (const item of sdk.getShareClient(own.slice(1)).rootDirectoryClient.listFilesAndDirectories()) seen.push(item.name);
	assert.deepEqual(seen, [`${odd}directory`]);
	const shot = await files.snapshot(own);
	assert.ok((await files.list(own, { sharesnapshot: shot })).text.includes(` ShareSnapshot="${shot}" DirectoryPath=""`));
});

test('more than one page of 5,000', async () => {
	const d = await newDir(), count = scaled(5200, 300);
	const make = async (from) => {
		for (let i = from; i < count; i += 16) expectStatus(await files.create(`${d}/f${String(i).padStart(6, '0')}`, 0), 201);
	};
	await Promise.all(Array.from({ length: 16 }, (_, i) => make(i)));
	const names = await files.names(d);
	assert.deepEqual(names, Array.from({ length: count }, (_, i) => `f${String(i).padStart(6, '0')}`));
});

test('a tree 250 deep', async () => {
	const own = await files.newShare();
	let path = own;
	for (let i = 0; i < 249; i++) expectStatus(await files.mkdir((path += '/d')), 201);
	await files.put(`${path}/f`, 'deep');
	assert.equal((await files.get(`${path}/f`)).text, 'deep');
	expectError(await files.create(`${path}/d/f`, 1), 400, 'InvalidFileOrDirectoryPathName');
	expectStatus(await files.mkdir(`${own}/e`), 201);
	expectStatus(await files.rename(`${own}/d/d`, `${own}/e/d`, {}, { directory: true }), 200);
	assert.equal((await files.get(`${path.replace('/d/d', '/e/d')}/f`)).text, 'deep');
	assert.deepEqual(await files.names(`${own}/d`), []);
	// From the bottom up, for nothing goes that has something in it.
	path = path.replace('/d/d', '/e/d');
	expectError(await files.rmdir(`${own}/e`), 409, 'DirectoryNotEmpty');
	expectStatus(await files.delete(`${path}/f`), 202);
	for (; path !== own; path = path.slice(0, path.lastIndexOf('/'))) expectStatus(await files.rmdir(path), 202);
	assert.deepEqual(await files.names(own), ['d/']);
});

test('no rename brings what hangs below a directory under more than 250 levels or 2,048 characters', async () => {
	const own = await files.newShare(), chain = (name, count) => `/${name}`.repeat(count);
	const grow = async (name, count) => {
		for (let i = 1; i <= count; i++) expectStatus(await files.mkdir(own + chain(name, i)), 201);
	};
	const move = (from, to) => files.rename(own + from, own + to, {}, { directory: true });
	await grow('a', 150);
	await grow('b', 99);
	await files.put(`${own}${chain('b', 99)}/f`, 'deep'); // 100 levels from b on
	expectError(await move('/b', `${chain('a', 150)}/b/b`), 404, 'ParentNotFound');
	expectStatus(await files.mkdir(`${own}${chain('a', 150)}/c`), 201);
	expectError(await move('/b', `${chain('a', 150)}/c/b`), 400, 'InvalidFileOrDirectoryPathName');
	assert.equal((await files.get(`${own}${chain('b', 99)}/f`)).text, 'deep');
	expectStatus(await move('/b', `${chain('a', 150)}/b`), 200);
	assert.equal((await files.get(`${own}${chain('a', 150)}${chain('b', 99)}/f`)).text, 'deep');
	// Neither can its ancestors be moved down any more, nor anything below itself.
	expectStatus(await files.mkdir(`${own}/top`), 201);
	expectError(await move('/a', '/top/a'), 400, 'InvalidFileOrDirectoryPathName');
	expectError(await move('/a', `${chain('a', 150)}/b/a`), 400, 'InvalidInput');
	expectStatus(await move('/a', '/top2'), 200);
	const wide = 'w'.repeat(240);
	await grow(wide, 8); // 1,927 characters
	expectStatus(await move(`/${wide}`, `/top/${wide}`), 200); // 1,931
	expectStatus(await move('/top', `/${'t'.repeat(120)}`), 200); // 2,048
	expectError(await move(`/${'t'.repeat(120)}`, `/${'t'.repeat(121)}`), 400, 'InvalidFileOrDirectoryPathName');
	assert.equal((await files.names(`${own}/${'t'.repeat(120)}${chain(wide, 7)}`)).length, 1);
});

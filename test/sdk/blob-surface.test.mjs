// SPDX-License-Identifier: Apache-2.0
// Headers and parameters that an operation of the Blob service declares, one by one: a good value does what it says and is shown
// by later reads, another one is refused by its name. Never is one passed over in silence.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startServer } from '../lib/server.mjs';
import { Client } from '../lib/http.mjs';
import { element, expectError, expectStatus, uniqueName } from '../lib/assert.mjs';
import { Blobs } from '../lib/blob.mjs';

const home = uniqueName('surface');
let server, client, b;
before(async () => {
	server = await startServer();
	client = new Client(server, { version: '2025-01-05' });
	b = new Blobs(client);
	expectStatus(await b.container(home), 201);
	expectStatus(await b.put(`/${home}/source`, 'y'.repeat(512)), 201);
});
after(() => server?.remove());

const source = () => b.url(`/${home}/source`);
async function fresh(make) {
	const path = `/${home}/${uniqueName('b')}`;
	expectStatus(await make(path), 201);
	return path;
}
const block = () => fresh((path) => b.put(path, 'old'));
const page = () => fresh((path) => b.pageBlob(path, 1024));
const append = () => fresh((path) => b.appendBlob(path));

// Refused, and the body says which header it was.
function expectHeaderError(r, code, name) {
	expectError(r, 400, code);
	assert.equal(element(r.text, 'HeaderName'), name, r.text);
}

test('customer keys and encryption scopes are refused by Set Blob Properties, too', async () => {
	const path = await page();
	for (const name of ['x-ms-encryption-key', 'x-ms-encryption-scope'])
		expectHeaderError(await b.comp(path, 'properties', { 'x-ms-blob-content-length': 512, [name]: 'some' }), 'UnsupportedHeader', name);
	assert.equal((await b.head(path)).headers['content-length'], '1024');
});

// SPDX-License-Identifier: Apache-2.0
// Answers of the Queue service that recorded exchanges with the live one show; each case names what the service does.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectError, expectStatus, uniqueName } from '../../lib/assert.mjs';
import { Client } from '../../lib/http.mjs';
import { startServer } from '../../lib/server.mjs';

let server, queue, name;
before(async () => {
	server = await startServer();
	queue = new Client(server, { service: 'queue' });
	name = uniqueName('q');
	expectStatus(await queue.put(`/${name}`), 201);
});
after(() => server?.remove());

const message = (text) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
const receipt = Buffer.alloc(27).toString('base64');

test('a malformed message id is 404 MessageNotFound, with any receipt', async () => {
	for (const id of ['nonsense', '1', '%20', '00000000-0000-0000-0000-00000000000g'])
		for (const popreceipt of [receipt, 'AAAA', '!']) {
			expectError(await queue.delete(`/${name}/messages/${id}`, { query: { popreceipt } }), 404, 'MessageNotFound');
			expectError(await queue.put(`/${name}/messages/${id}`, { query: { popreceipt, visibilitytimeout: 0 }, body: message('x') }), 404, 'MessageNotFound');
		}
	const id = '00000000-0000-0000-0000-000000000000';
	expectError(await queue.delete(`/${name}/messages/${id}`, { query: { popreceipt: '!' } }), 400, 'InvalidQueryParameterValue');
	expectError(await queue.delete(`/${name}/messages/${id}`, { query: { popreceipt: receipt } }), 404, 'MessageNotFound');
});

test('bad message XML is 400, also where the queue is missing', async () => {
	const missing = `/${uniqueName('q')}/messages`;
	expectError(await queue.post(missing, { body: '<QueueMessage><MessageText>' }), 400, 'InvalidXmlDocument');
	expectError(await queue.post(missing, { body: '<Other/>' }), 400, 'MissingRequiredXmlNode');
	expectError(await queue.post(missing, { body: message('x') }), 404, 'QueueNotFound');
	const id = '00000000-0000-0000-0000-000000000000', query = { popreceipt: receipt, visibilitytimeout: 0 };
	expectError(await queue.put(`${missing}/${id}`, { query, body: '<QueueMessage>' }), 400, 'InvalidXmlDocument');
	expectError(await queue.put(`${missing}/${id}`, { query, body: message('x') }), 404, 'QueueNotFound');
});

test('an empty StorageServiceProperties is 400 for Queue', async () => {
	const query = { restype: 'service', comp: 'properties' };
	expectError(await queue.put('/', { query, body: '<?xml version="1.0"?><StorageServiceProperties />' }), 400, 'InvalidXmlDocument');
	const blob = new Client(server, { service: 'blob' });
	expectStatus(await blob.put('/', { query, body: '<?xml version="1.0"?><StorageServiceProperties />' }), 202);
});

test('a missing queue is told as such by every message operation', async () => {
	const missing = `/${uniqueName('q')}/messages`, id = '00000000-0000-0000-0000-000000000000';
	expectError(await queue.get(missing), 404, 'QueueNotFound');
	expectError(await queue.get(missing, { query: { peekonly: 'true' } }), 404, 'QueueNotFound');
	expectError(await queue.delete(missing), 404, 'QueueNotFound');
	expectError(await queue.delete(`${missing}/${id}`, { query: { popreceipt: receipt } }), 404, 'QueueNotFound');
});

test('service answers carry Cache-Control: no-cache', async () => {
	const r = expectStatus(await queue.get('/', { query: { comp: 'list' } }), 200);
	assert.equal(r.headers['cache-control'], 'no-cache');
	for (const comp of ['properties', 'stats']) {
		const client = comp === 'stats' ? new Client(server, { service: 'queue', endpoint: `${server.endpoints.queue}-secondary` }) : queue;
		const s = expectStatus(await client.get('/', { query: { restype: 'service', comp } }), 200);
		assert.equal(s.headers['cache-control'], 'no-cache', comp);
	}
});

test('an empty AccessPolicy is left out', async () => {
	const body = '<SignedIdentifiers><SignedIdentifier><Id>empty</Id><AccessPolicy /></SignedIdentifier><SignedIdentifier><Id>r</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
	expectStatus(await queue.put(`/${name}`, { query: { comp: 'acl' }, body }), 204);
	const r = expectStatus(await queue.get(`/${name}`, { query: { comp: 'acl' } }), 200);
	assert.match(r.text, /<SignedIdentifier><Id>empty<\/Id><\/SignedIdentifier><SignedIdentifier><Id>r<\/Id><AccessPolicy><Permission>r<\/Permission><\/AccessPolicy><\/SignedIdentifier>/);
});

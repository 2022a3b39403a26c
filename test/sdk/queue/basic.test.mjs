// SPDX-License-Identifier: Apache-2.0
// Queues and messages with the official SDK, raw where the bytes matter.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { QueueServiceClient } from '@azure/storage-queue';
import { scaled, startServer } from '../../lib/server.mjs';
import { Client } from '../../lib/http.mjs';
import { accountSas } from '../../lib/sign.mjs';
import { element, elements, expectError, expectStatus, rejectsWith, uniqueName } from '../../lib/assert.mjs';

let server, raw, service;
before(async () => {
	server = await startServer();
	raw = new Client(server, { service: 'queue' });
	service = QueueServiceClient.fromConnectionString(server.connectionString, { retryOptions: { maxTries: 1 } });
});
after(() => server?.remove());

async function newQueue(metadata) {
	const queue = service.getQueueClient(uniqueName('q'));
	await queue.create({ metadata });
	return queue;
}
const count = async (queue) => (await queue.getProperties()).approximateMessagesCount;
const body = (text) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;

describe('queues', () => {
	test('create, again, with other metadata, delete', async () => {
		const queue = service.getQueueClient(uniqueName('q'));
		assert.equal((await queue.create({ metadata: { Colour: 'blue' } }))._response.status, 201);
		assert.equal((await queue.create({ metadata: { colour: 'blue' } }))._response.status, 204);
		await rejectsWith(queue.create({ metadata: { colour: 'red' } }), 409, 'QueueAlreadyExists');
		await rejectsWith(queue.create(), 409, 'QueueAlreadyExists');
		assert.equal((await queue.delete())._response.status, 204);
		await rejectsWith(queue.delete(), 404, 'QueueNotFound');
		await rejectsWith(queue.getProperties(), 404, 'QueueNotFound');
		await rejectsWith(queue.sendMessage('x'), 404, 'QueueNotFound');
		await rejectsWith(queue.receiveMessages(), 404, 'QueueNotFound');
		await rejectsWith(queue.peekMessages(), 404, 'QueueNotFound');
		await rejectsWith(queue.clearMessages(), 404, 'QueueNotFound');
	});
	test('a new queue of an old name is empty', async () => {
		const queue = await newQueue();
		await queue.sendMessage('old');
		await queue.delete();
		await queue.create();
		assert.equal(await count(queue), 0);
		assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
		await queue.delete();
	});
	test('metadata', async () => {
		const queue = await newQueue({ a: '1' });
		assert.deepEqual((await queue.getProperties()).metadata, { a: '1' });
		assert.equal((await queue.setMetadata({ b: '2', C: 'x y' }))._response.status, 204);
		assert.deepEqual((await queue.getProperties()).metadata, { b: '2', c: 'x y' });
		await queue.setMetadata();
		assert.deepEqual((await queue.getProperties()).metadata, {});
		const head = await raw.head(`/${queue.name}`, { query: { comp: 'metadata' } });
		expectStatus(head, 200);
		assert.equal(head.headers['x-ms-approximate-messages-count'], '0');
		expectError(await raw.put(`/${queue.name}`, { query: { comp: 'metadata' }, headers: { 'x-ms-meta-a-b': 'x' } }), 400, 'InvalidMetadata');
		expectError(await raw.put(`/${queue.name}`, { query: { comp: 'metadata' }, headers: { 'x-ms-meta-': 'x' } }), 400, 'EmptyMetadataKey');
		// Bytes that are no UTF-8, and characters that no list could show.
		const latin1 = (value) => Buffer.from(value).toString('latin1');
		const put = (value) => raw.put(`/${queue.name}`, { query: { comp: 'metadata' }, headers: { 'x-ms-meta-a': value }, sas: accountSas(server.account, server.key) });
		for (const bad of ['caf\xe9', latin1('a\uffff')]) expectError(await put(bad), 400, 'InvalidMetadata');
		expectStatus(await put(latin1('café')), 204);
		assert.equal((await raw.get(`/${queue.name}`, { query: { comp: 'metadata' } })).headers['x-ms-meta-a'], latin1('café'));
		expectError(await raw.put(`/${uniqueName('q')}`, { query: { comp: 'metadata' } }), 404, 'QueueNotFound');
	});
	test('names', async () => {
		for (const bad of ['ab', 'a'.repeat(64)]) expectError(await raw.put(`/${bad}`), 400, 'OutOfRangeInput');
		for (const bad of ['Upper', 'a--b', '-ab', 'ab-', 'a_b', '$root']) expectError(await raw.put(`/${bad}`), 400, 'InvalidResourceName');
		expectStatus(await raw.put(`/${'a'.repeat(63)}`), 201);
	});
	test('list: prefix, pages, metadata', async () => {
		const prefix = uniqueName('list');
		const names = Array.from({ length: 12 }, (_, i) => `${prefix}-${String(i).padStart(2, '0')}`);
		for (const name of names) await service.createQueue(name, { metadata: { n: name } });
		const found = [];
		let pages = 0;
		for await (const page of service.listQueues({ prefix, includeMetadata: true }).byPage({ maxPageSize: 5 })) {
			pages++;
			for (const item of page.queueItems ?? []) {
				assert.deepEqual(item.metadata, { n: item.name });
				found.push(item.name);
			}
		}
		assert.deepEqual(found, names);
		assert.equal(pages, 3);
		const page = expectStatus(await raw.get('/', { query: { comp: 'list', prefix, maxresults: '5' } }), 200);
		assert.equal(element(page.text, 'NextMarker'), `/${server.account}/${names[5]}`);
		assert.equal(elements(page.text, 'Name').length, 5);
		assert.equal(page.headers['content-type'], 'application/xml');
		const last = await raw.get('/', { query: { comp: 'list', prefix, marker: `/${server.account}/${names[5]}` } });
		assert.deepEqual(elements(last.text, 'Name'), names.slice(5));
		assert.match(last.text, /<NextMarker \/>/);
		assert.doesNotMatch(last.text, /<Metadata/);
		expectError(await raw.get('/', { query: { comp: 'list', maxresults: '0' } }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await raw.get('/', { query: { comp: 'list', maxresults: 'x' } }), 400, 'InvalidQueryParameterValue');
	});
	test('list: a prefix and a marker longer than any name', async () => {
		const name = uniqueName('mm');
		await service.createQueue(name);
		const list = async (query) => elements(expectStatus(await raw.get('/', { query: { comp: 'list', ...query } }), 200).text, 'Name');
		assert.deepEqual(await list({ prefix: 'm'.repeat(5000) }), []);
		assert.deepEqual(await list({ prefix: name, marker: 'a'.repeat(5000) }), [name]);
		assert.deepEqual(await list({ prefix: name, marker: name + 'z'.repeat(5000) }), []);
	});
	test('list: as much metadata as there can be takes more pages', async () => {
		const prefix = uniqueName('much');
		const names = Array.from({ length: scaled(4600, 600) }, (_, i) => `${prefix}-${String(i).padStart(4, '0')}`);
		const headers = { 'x-ms-meta-a': 'v'.repeat(8000) };
		const left = [...names];
		await Promise.all(Array.from({ length: 8 }, async () => {
			for (let name; (name = left.pop()); ) expectStatus(await raw.put(`/${name}`, { headers }), 201);
		}));
		const found = [];
		let pages = 0;
		for (let marker = ''; marker !== undefined; pages++) {
			const page = expectStatus(await raw.get('/', { query: { comp: 'list', prefix, include: 'metadata', marker } }), 200);
			found.push(...elements(page.text, 'Name'));
			marker = element(page.text, 'NextMarker');
		}
		assert.deepEqual(found, names);
		assert.ok(pages > 1);
	});
});

describe('messages', () => {
	test('put answers id, receipt and times; the receipt works at once', async () => {
		const queue = await newQueue();
		const sent = await queue.sendMessage('hello');
		assert.equal(sent._response.status, 201);
		assert.match(sent.messageId, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
		assert.equal(sent.expiresOn - sent.insertedOn, 7 * 86400_000);
		assert.deepEqual(sent.nextVisibleOn, sent.insertedOn);
		const updated = await queue.updateMessage(sent.messageId, sent.popReceipt, 'changed', 0);
		assert.notEqual(updated.popReceipt, sent.popReceipt);
		await rejectsWith(queue.deleteMessage(sent.messageId, sent.popReceipt), 404, 'MessageNotFound');
		assert.equal((await queue.peekMessages()).peekedMessageItems[0].messageText, 'changed');
		await queue.deleteMessage(sent.messageId, updated.popReceipt);
		assert.equal(await count(queue), 0);
	});
	test('an old version answers a put without a body', async () => {
		const queue = await newQueue();
		const r = expectStatus(await raw.post(`/${queue.name}/messages`, { body: body('x'), version: '2015-12-11' }), 201);
		assert.equal(r.text, '');
	});
	test('get: order, count, receipts, times; peek changes nothing', async () => {
		const queue = await newQueue();
		for (let i = 0; i < 40; i++) await queue.sendMessage(`m${i}`);
		assert.equal(await count(queue), 40);
		const peeked = (await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems;
		assert.deepEqual(peeked.map((m) => m.messageText), Array.from({ length: 32 }, (_, i) => `m${i}`));
		assert.ok(peeked.every((m) => m.dequeueCount === 0 && m.popReceipt === undefined && m.nextVisibleOn === undefined));
		const first = (await queue.receiveMessages()).receivedMessageItems;
		assert.equal(first.length, 1);
		assert.equal(first[0].messageText, 'm0');
		assert.equal(first[0].dequeueCount, 1);
		assert.ok(Math.abs(first[0].nextVisibleOn - server.now() - 30_000) < 5_000);
		const rest = (await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 60 })).receivedMessageItems;
		assert.equal(rest.length, 32);
		assert.equal(new Set(rest.map((m) => m.popReceipt)).size, 32);
		assert.equal((await queue.receiveMessages({ numberOfMessages: 32 })).receivedMessageItems.length, 7);
		assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
		assert.equal(await count(queue), 40);
		for (const m of rest) await queue.deleteMessage(m.messageId, m.popReceipt);
		assert.equal(await count(queue), 8);
	});
	test('a dead consumer: the message comes back with one more dequeue', async () => {
		const queue = await newQueue();
		await queue.sendMessage('job');
		for (let i = 1; i <= 4; i++) {
			const { receivedMessageItems: got } = await queue.receiveMessages({ visibilityTimeout: 20 });
			assert.equal(got.length, 1);
			assert.equal(got[0].dequeueCount, i);
			await server.advanceClock(18);
			assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
			assert.equal((await queue.peekMessages()).peekedMessageItems.length, 0);
			await server.advanceClock(3);
			assert.equal((await queue.peekMessages()).peekedMessageItems.length, 1);
		}
	});
	test('a receipt outlives its visibility, until somebody else gets the message', async () => {
		const queue = await newQueue();
		await queue.sendMessage('job');
		let [m] = (await queue.receiveMessages({ visibilityTimeout: 5 })).receivedMessageItems;
		await server.advanceClock(60);
		const [second] = (await queue.receiveMessages({ visibilityTimeout: 5 })).receivedMessageItems;
		await rejectsWith(queue.deleteMessage(m.messageId, m.popReceipt), 404, 'MessageNotFound');
		await rejectsWith(queue.updateMessage(m.messageId, m.popReceipt, 'x', 1), 404, 'MessageNotFound');
		await server.advanceClock(60);
		await queue.deleteMessage(second.messageId, second.popReceipt);
		assert.equal(await count(queue), 0);
	});
	test('update extends, shortens, replaces', async () => {
		const queue = await newQueue();
		await queue.sendMessage('one');
		const [m] = (await queue.receiveMessages({ visibilityTimeout: 10 })).receivedMessageItems;
		const u = await queue.updateMessage(m.messageId, m.popReceipt, undefined, 100);
		assert.equal(u._response.status, 204);
		assert.ok(Math.abs(u.nextVisibleOn - server.now() - 100_000) < 5_000);
		await server.advanceClock(50);
		assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
		const v = await queue.updateMessage(m.messageId, u.popReceipt, 'two', 0);
		const [again] = (await queue.receiveMessages()).receivedMessageItems;
		assert.equal(again.messageText, 'two');
		assert.equal(again.dequeueCount, 2);
		await rejectsWith(queue.updateMessage(m.messageId, v.popReceipt, 'x', 0), 404, 'MessageNotFound');
		const short = await queue.sendMessage('brief', { messageTimeToLive: 30 });
		const r = await raw.put(`/${queue.name}/messages/${short.messageId}`, { query: { popreceipt: short.popReceipt, visibilitytimeout: '40' } });
		expectError(r, 400, 'OutOfRangeQueryParameterValue');
		assert.match(r.text, /<QueryParameterName>visibilitytimeout<.*<MaximumAllowed>(29|30)</);
	});
	test('delay and time to live', async () => {
		const queue = await newQueue();
		const later = await queue.sendMessage('later', { visibilityTimeout: 30, messageTimeToLive: 60 });
		assert.equal(later.nextVisibleOn - later.insertedOn, 30_000);
		assert.equal(later.expiresOn - later.insertedOn, 60_000);
		const never = await queue.sendMessage('never', { messageTimeToLive: -1 });
		assert.equal(never.expiresOn.toUTCString(), 'Fri, 31 Dec 9999 23:59:59 GMT');
		assert.deepEqual((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.map((m) => m.messageText), ['never']);
		await server.advanceClock(35);
		assert.equal((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.length, 2);
		await server.advanceClock(30);
		assert.deepEqual((await queue.peekMessages({ numberOfMessages: 5 })).peekedMessageItems.map((m) => m.messageText), ['never']);
		await rejectsWith(queue.deleteMessage(later.messageId, later.popReceipt), 404, 'MessageNotFound');
	});
	test('expired messages leave the count without being asked for', async () => {
		const queue = await newQueue();
		for (let i = 0; i < 50; i++) await queue.sendMessage('x', { messageTimeToLive: i % 2 ? 20 : 1000 });
		await server.advanceClock(60);
		const until = Date.now() + 20_000;
		let left;
		do left = await count(queue);
		while (left !== 25 && Date.now() < until && (await new Promise((resolve) => setTimeout(resolve, 100)), true));
		assert.equal(left, 25);
		assert.equal((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.length, 25);
	});
	test('a message behind thousands of expired ones is found at once', async () => {
		for (const read of ['peekMessages', 'receiveMessages']) {
			const queue = await newQueue();
			let left = scaled(5000, 2500);
			const put = async () => {
				while (left-- > 0) expectStatus(await raw.post(`/${queue.name}/messages`, { query: { messagettl: '100', visibilitytimeout: left % 2 }, body: body('old') }), 201);
			};
			await Promise.all(Array.from({ length: 32 }, put));
			await queue.sendMessage('live');
			await server.advanceClock(101);
			const found = await queue[read]({ numberOfMessages: 1 });
			assert.deepEqual((found.peekedMessageItems ?? found.receivedMessageItems).map((m) => m.messageText), ['live']);
		}
	});
	test('clear', async () => {
		const queue = await newQueue();
		const sent = [];
		for (let i = 0; i < 20; i++) sent.push(await queue.sendMessage('x'.repeat(i % 2 ? 10 : 10_000)));
		const [m] = (await queue.receiveMessages()).receivedMessageItems;
		assert.equal((await queue.clearMessages())._response.status, 204);
		assert.equal(await count(queue), 0);
		assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
		await rejectsWith(queue.deleteMessage(m.messageId, m.popReceipt), 404, 'MessageNotFound');
		await rejectsWith(queue.deleteMessage(sent[5].messageId, sent[5].popReceipt), 404, 'MessageNotFound');
		await queue.sendMessage('after');
		assert.equal((await queue.receiveMessages()).receivedMessageItems[0].messageText, 'after');
	});
	test('bodies come back as they went in', async () => {
		const queue = await newQueue();
		const texts = ['', ' ', '  leading and trailing  ', 'a&b<c>d"e\'f', ']]>', 'tab\tbed', 'Füße, 漢字, 😀', Buffer.from([0, 1, 2, 255, 254]).toString('base64'), '{"json": [1, 2]}', '<b>not markup</b>', 'x'.repeat(65536), 'é'.repeat(32768)];
		for (const text of texts) {
			await queue.sendMessage(text);
			const [m] = (await queue.receiveMessages()).receivedMessageItems;
			assert.equal(m.messageText ?? '', text);
			await queue.deleteMessage(m.messageId, m.popReceipt);
		}
		// The SDK takes line feeds out of what it sends; raw they stay, and a carriage return stays if it was escaped.
		expectStatus(await raw.post(`/${queue.name}/messages`, { body: body('a\nb&#13;c\r\nd') }), 201);
		assert.match((await raw.get(`/${queue.name}/messages`)).text, /<MessageText>a\nb&#xD;c\nd<\/MessageText>/);
		await rejectsWith(queue.sendMessage('x'.repeat(65537)), 413, 'RequestBodyTooLarge');
		const r = await raw.post(`/${queue.name}/messages`, { body: body('x'.repeat(65537)) });
		assert.match(expectError(r, 413, 'RequestBodyTooLarge').text, /<MaxLimit>65536<\/MaxLimit>/);
		// It is the text that counts, not what escapes make of it.
		expectStatus(await raw.post(`/${queue.name}/messages`, { body: body('&amp;'.repeat(65536)) }), 201);
		for (const text of ['&amp;'.repeat(65537), 'x'.repeat(1_000_000)]) assert.match(expectError(await raw.post(`/${queue.name}/messages`, { body: body(text) }), 413, 'RequestBodyTooLarge').text, /<MaxLimit>65536<\/MaxLimit>/);
	});
	test('forms of the XML that clients write', async () => {
		const queue = await newQueue();
		const path = `/${queue.name}/messages`;
		const forms = ['<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>T</MessageText></QueueMessage>', '\ufeff<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<QueueMessage>\r\n  <MessageText>T</MessageText>\r\n</QueueMessage>\r\n', "<?xml version='1.0'?><QueueMessage><MessageText>&#84;</MessageText></QueueMessage>", '<QueueMessage><MessageText><![CDATA[T]]></MessageText></QueueMessage>'];
		for (const form of forms) {
			expectStatus(await raw.post(path, { body: form }), 201);
			const [m] = (await queue.receiveMessages()).receivedMessageItems;
			assert.equal(m.messageText, 'T');
		}
		for (const bad of ['', 'x', '<QueueMessage>', '<QueueMessage><MessageText>a</MessageText>', '<!DOCTYPE x><QueueMessage><MessageText>a</MessageText></QueueMessage>', '<QueueMessage><MessageText>a\u0001</MessageText></QueueMessage>', '<QueueMessage><MessageText>&undefined;</MessageText></QueueMessage>'])
			expectError(await raw.post(path, { body: bad }), 400, 'InvalidXmlDocument');
		// Markup that was not escaped is no text: refused, and an update leaves what was there.
		const kept = await queue.sendMessage('kept');
		for (const bad of ['<order id="1"/>', '<b>bold</b>', '\n<a><b/></a>\n', 'a<b/>c', '1</MessageText><MessageText>2']) {
			expectError(await raw.post(path, { body: body(bad) }), 400, 'InvalidXmlDocument');
			expectError(await raw.put(`${path}/${kept.messageId}`, { query: { popreceipt: kept.popReceipt, visibilitytimeout: '0' }, body: body(bad) }), 400, 'InvalidXmlDocument');
		}
		assert.deepEqual((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.map((m) => m.messageText), ['kept']);
		expectError(await raw.post(path, { body: '<Other><MessageText>a</MessageText></Other>' }), 400, 'MissingRequiredXmlNode');
		expectError(await raw.post(path, { body: '<QueueMessage></QueueMessage>' }), 400, 'MissingRequiredXmlNode');
	});
});

describe('refusals', () => {
	test('parameters out of range, with the range', async () => {
		const queue = await newQueue();
		const path = `/${queue.name}/messages`;
		const cases = [
			['GET', { numofmessages: '0' }, 1, 32],
			['GET', { numofmessages: '33' }, 1, 32],
			['GET', { numofmessages: '-1' }, 1, 32],
			['GET', { visibilitytimeout: '0' }, 1, 604800],
			['GET', { visibilitytimeout: '604801' }, 1, 604800],
			['GET', { peekonly: 'true', numofmessages: '33' }, 1, 32],
			['POST', { visibilitytimeout: '604801' }, 0, 604800],
			['POST', { visibilitytimeout: '-1' }, 0, 604800],
		];
		for (const [method, query, min, max] of cases) {
			const r = expectError(await raw.request(method, path, { query, body: method === 'POST' ? body('x') : undefined }), 400, 'OutOfRangeQueryParameterValue');
			const [name, value] = Object.entries(query).at(-1);
			assert.equal(element(r.text, 'QueryParameterName'), name);
			assert.equal(element(r.text, 'QueryParameterValue'), value);
			assert.equal(element(r.text, 'MinimumAllowed'), String(min));
			assert.equal(element(r.text, 'MaximumAllowed'), String(max));
		}
		for (const [method, query] of [['GET', { numofmessages: 'x' }], ['GET', { visibilitytimeout: '1.5' }], ['POST', { messagettl: 'x' }], ['POST', { messagettl: '10', visibilitytimeout: '10' }], ['POST', { visibilitytimeout: '604800' }]])
			expectError(await raw.request(method, path, { query, body: method === 'POST' ? body('x') : undefined }), 400, 'InvalidQueryParameterValue');
		for (const peekonly of ['foo', '1', ''])
			assert.equal(element(expectError(await raw.get(path, { query: { peekonly } }), 400, 'InvalidQueryParameterValue').text, 'QueryParameterName'), 'peekonly');
		expectStatus(await raw.get(path, { query: { peekonly: 'False' } }), 200);
		for (const messagettl of ['0', '-2']) expectError(await raw.post(path, { query: { messagettl }, body: body('x') }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await raw.post(path, { query: { messagettl: '604801' }, body: body('x'), version: '2016-05-31' }), 400, 'OutOfRangeQueryParameterValue');
		expectError(await raw.post(path, { query: { messagettl: '-1' }, body: body('x'), version: '2016-05-31' }), 400, 'OutOfRangeQueryParameterValue');
		expectStatus(await raw.post(path, { query: { messagettl: '604801' }, body: body('x') }), 201);
		assert.equal(await count(queue), 1);
	});
	test('receipts: malformed 400, foreign 404', async () => {
		const queue = await newQueue();
		const sent = await queue.sendMessage('x');
		const path = `/${queue.name}/messages/${sent.messageId}`;
		for (const popreceipt of ['invalid', 'AAAA', '', '****', 'AgAAAAMAAAAAAAAA====']) {
			for (const method of ['DELETE', 'PUT']) {
				const r = expectError(await raw.request(method, path, { query: { popreceipt, visibilitytimeout: '1' } }), 400, 'InvalidQueryParameterValue');
				assert.equal(element(r.text, 'QueryParameterName'), 'popreceipt');
			}
		}
		const foreign = Buffer.concat([Buffer.from([2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]), Buffer.alloc(8, 7)]).toString('base64');
		expectError(await raw.delete(path, { query: { popreceipt: foreign } }), 404, 'MessageNotFound');
		const other = await queue.sendMessage('y');
		expectError(await raw.delete(path, { query: { popreceipt: other.popReceipt } }), 404, 'MessageNotFound');
		expectError(await raw.delete(`/${queue.name}/messages/${sent.messageId.replace(/^./, (c) => (c === '0' ? '1' : '0'))}`, { query: { popreceipt: sent.popReceipt } }), 404, 'MessageNotFound');
		expectError(await raw.delete(`/${queue.name}/messages/not-an-id`, { query: { popreceipt: sent.popReceipt } }), 404, 'MessageNotFound');
		expectError(await raw.delete(path), 400, 'MissingRequiredQueryParameter');
		// The id is missing: that is no Clear Messages.
		for (const lost of [`/${queue.name}/messages`, `/${queue.name}/messages/`]) {
			const r = expectError(await raw.delete(lost, { query: { popreceipt: sent.popReceipt } }), 400, 'UnsupportedQueryParameter');
			assert.equal(element(r.text, 'QueryParameterName'), 'popreceipt');
		}
		assert.equal(await count(queue), 2);
		expectError(await raw.put(path, { query: { popreceipt: sent.popReceipt } }), 400, 'MissingRequiredQueryParameter');
		const elsewhere = await newQueue();
		expectError(await raw.delete(`/${elsewhere.name}/messages/${sent.messageId}`, { query: { popreceipt: sent.popReceipt } }), 404, 'MessageNotFound');
		await queue.deleteMessage(sent.messageId, sent.popReceipt);
	});
	test('methods and paths that do not exist', async () => {
		const queue = await newQueue();
		assert.ok((await raw.post(`/${queue.name}`)).status >= 400);
		assert.ok((await raw.put(`/${queue.name}/messages`)).status >= 400);
		assert.ok((await raw.get(`/${queue.name}/other`)).status >= 400);
	});
});

describe('survives', () => {
	test('a restart: order, receipts, counts and positions', async () => {
		const queue = await newQueue();
		for (let i = 0; i < 30; i++) await queue.sendMessage(`m${i}`);
		const held = (await queue.receiveMessages({ numberOfMessages: 10, visibilityTimeout: 100 })).receivedMessageItems;
		for (const m of held.slice(0, 5)) await queue.deleteMessage(m.messageId, m.popReceipt);
		await server.kill9();
		await server.restart();
		assert.equal(await count(queue), 25);
		assert.equal((await queue.receiveMessages({ visibilityTimeout: 10 })).receivedMessageItems[0].messageText, 'm10');
		await queue.deleteMessage(held[5].messageId, held[5].popReceipt);
		await rejectsWith(queue.deleteMessage(held[0].messageId, held[0].popReceipt), 404, 'MessageNotFound');
		await server.advanceClock(101);
		const back = [];
		for (;;) {
			const { receivedMessageItems: got } = await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 1000 });
			if (got.length === 0) break;
			back.push(...got);
		}
		assert.equal(back.length, 24);
		assert.deepEqual(back.filter((m) => m.dequeueCount === 2).map((m) => m.messageText).sort(), ['m10', 'm6', 'm7', 'm8', 'm9']);
	});
});

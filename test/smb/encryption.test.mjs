// SPDX-License-Identifier: Apache-2.0
// An account whose File service demands encryption (Set File Service Properties) is served over SMB to clients that encrypt, and to
// nobody else; other accounts and requests over REST are as before.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { ShareServiceClient, StorageSharedKeyCredential } from '@azure/storage-file-share';

import { SmbClient, STATUS } from '../lib/smb.mjs';
import { freePort, startServer, WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY } from '../lib/server.mjs';

const OTHER = { name: 'otheraccount', key: Buffer.alloc(64, 7).toString('base64') };

let server, port, service;
before(async () => {
	port = await freePort();
	server = await startServer({ flags: ['--smbPort', String(port)], env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};${OTHER.name}:${OTHER.key}` } });
	service = ShareServiceClient.fromConnectionString(server.connectionString);
	await service.createShare('docs');
	await new ShareServiceClient(server.endpoints.file.replace(WELL_KNOWN_ACCOUNT, OTHER.name), new StorageSharedKeyCredential(OTHER.name, OTHER.key)).createShare('docs');
});
after(() => server?.remove());

// What a client with these dialects gets: the status of its login, and of a tree connect if it may go on.
async function login(dialects, { account = WELL_KNOWN_ACCOUNT, key = WELL_KNOWN_KEY, encrypt = false } = {}) {
	const c = await SmbClient.connect(port);
	try {
		await c.negotiate({ dialects });
		const { status } = await c.login(account, key, { encrypt });
		if (status === 0) await c.treeConnect('docs');
		return status;
	} finally {
		c.end();
	}
}

const require = (required) => service.setProperties({ protocol: { smb: { encryptionInTransit: { required } } } });

test('without the setting every client may come', async () => {
	assert.equal((await service.getProperties()).protocol.smb.encryptionInTransit, undefined);
	assert.equal(await login([0x210]), STATUS.OK);
	assert.equal(await login([0x311], { encrypt: true }), STATUS.OK);
});

test('with it a client that cannot encrypt is refused at login, one that does is served', async () => {
	await require(true);
	const { protocol } = await service.getProperties();
	assert.deepEqual([protocol.smb.encryptionInTransit.required, protocol.smb.multichannel.enabled, protocol.nfs], [true, false, undefined]);
	assert.equal(await login([0x210]), STATUS.ACCESS_DENIED);
	assert.equal(await login([0x300], { encrypt: true }), STATUS.OK);
	assert.equal(await login([0x311], { encrypt: true }), STATUS.OK);
	await assert.rejects(login([0x311]), 'a plain request on a session that must encrypt ends the connection');
	await service.getShareClient('docs').getProperties();
});

test('another account is not concerned', async () => {
	assert.equal(await login([0x210], { account: OTHER.name, key: OTHER.key }), STATUS.OK);
});

test('other properties leave it as it is, a restart keeps it, and it can be taken back', async () => {
	await service.setProperties({ cors: [] });
	await server.restart();
	assert.equal(await login([0x210]), STATUS.ACCESS_DENIED);
	await require(false);
	assert.equal(await login([0x210]), STATUS.OK);
});

// SPDX-License-Identifier: Apache-2.0
// Blobs in a real browser, while clients race: folders that are dropped, uploads that are cancelled, tags, tier, what was before, copies.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { removeDir, startServer, tempDir } from '../lib/server.mjs';
import { ACCOUNT, FILES, agree, explorerTests, rows, told } from './stage.mjs';

// What a hand does that drags files or folders of this machine over the list and lets go.
async function drop(page, files) {
	const session = await page.context().newCDPSession(page);
	const box = await page.locator('.drop').boundingBox();
	const at = { x: box.x + box.width / 2, y: box.y + 100, data: { items: [], files, dragOperationsMask: 1 } };
	for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, ...at });
}

explorerTests('explorer, blobs', (stage) => {
	const blob = (name, container = 'photos') => stage.world.service.getContainerClient(container).getBlockBlobClient(name);
	const put = (name, text, options) => blob(name).upload(text, Buffer.byteLength(text), options);

	test('a folder that is dropped arrives with what is below it, as blobs and as files', async () => {
		const dir = tempDir();
		try {
			fs.mkdirSync(path.join(dir, 'trip/deep'), { recursive: true });
			fs.writeFileSync(path.join(dir, 'trip/one.txt'), 'one');
			fs.writeFileSync(path.join(dir, 'trip/deep/two.txt'), 'two');
			fs.writeFileSync(path.join(dir, 'three.txt'), 'three');
			const dropped = [path.join(dir, 'trip'), path.join(dir, 'three.txt')];
			const page = await stage.open(`#/blobs/${ACCOUNT}/backups`);
			await page.getByText('Drop files to upload them.').waitFor();
			await drop(page, dropped);
			await page.getByText('▸ trip/').waitFor();
			const names = [];
			for await (const one of stage.world.service.getContainerClient('backups').listBlobsFlat()) names.push(one.name);
			assert.deepEqual(names, ['three.txt', 'trip/deep/two.txt', 'trip/one.txt']);
			assert.equal((await blob('trip/deep/two.txt', 'backups').downloadToBuffer()).toString(), 'two');
			await page.goto(page.url().replace(/#.*/, `#/files/${ACCOUNT}/team?dir=scans`));
			await page.getByText('Nothing here.').waitFor();
			await drop(page, dropped);
			await page.getByText('▸ trip/').waitFor();
			const there = await stage.world.team.getDirectoryClient('scans/trip/deep').getFileClient('two.txt').downloadToBuffer();
			assert.equal(there.toString(), 'two');
			await stage.done(page);
		} finally {
			removeDir(dir);
		}
	});

	test('an upload shows how far it is, and one that is cancelled leaves nothing', async () => {
		const page = await stage.open(`#/blobs/${ACCOUNT}/website`);
		let release;
		const held = new Promise((resolve) => (release = resolve));
		await page.route(/comp=block&/, async (route) => {
			if (decodeURIComponent(route.request().url()).includes(btoa('00000002'))) await held;
			await route.continue().catch(() => {});
		});
		await page.setInputFiles(FILES, { name: 'long.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(9 * 1024 * 1024, 'x') });
		await page.locator('.uploads', { hasText: '8.0 MiB of 9.0 MiB' }).waitFor();
		await page.getByRole('button', { name: 'Cancel' }).click();
		await page.locator('.uploads', { hasText: 'cancelled' }).waitFor();
		release();
		assert.equal(await blob('long.bin', 'website').exists(), false);
		await stage.done(page);
	});

	test('JSON is laid out, tags and the tier are set, and who was second sees both sides', async () => {
		await put('edited.json', '{"b":[1,{"c":null}]}', { blobHTTPHeaders: { blobContentType: 'application/json' }, tags: { stage: 'raw' } });
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos?blob=edited.json`);
		await page.locator('pre.content').waitFor();
		assert.equal(await page.locator('pre.content').innerText(), JSON.stringify({ b: [1, { c: null }] }, null, 2));
		await page.getByRole('tab', { name: 'Tags' }).click();
		await page.getByLabel('value').fill('mine');
		await page.getByRole('button', { name: 'Save tags' }).click();
		await told(page, 'Saved');
		assert.deepEqual((await blob('edited.json').getTags()).tags, { stage: 'mine' });
		await page.getByLabel('value').fill('mine again');
		await blob('edited.json').setTags({ stage: 'theirs', by: 'somebody' });
		await page.getByRole('button', { name: 'Save tags' }).click();
		assert.match(await page.locator('dialog tr.differs', { hasText: 'stage' }).innerText(), /theirs[^]*mine again/);
		assert.deepEqual((await blob('edited.json').getTags()).tags, { stage: 'theirs', by: 'somebody' }, 'nothing was overwritten');
		const written = page.waitForResponse((answer) => /comp=tags/.test(answer.url()) && answer.request().method() === 'PUT' && answer.status() === 204);
		await page.getByRole('button', { name: 'Overwrite with mine' }).click();
		assert.equal((await written).request().headers()['x-ms-if-tags'], `"stage" = 'theirs' AND "by" = 'somebody'`);
		assert.deepEqual((await blob('edited.json').getTags()).tags, { stage: 'mine again' });

		await page.getByRole('tab', { name: 'Metadata' }).click();
		await page.getByRole('button', { name: 'Add one' }).click();
		await page.getByLabel('name').fill('colour');
		await page.getByLabel('value').fill('blue');
		await blob('edited.json').setMetadata({ colour: 'red' });
		await page.getByRole('button', { name: 'Save metadata' }).click();
		assert.match(await page.locator('dialog tr.differs', { hasText: 'colour' }).innerText(), /red[^]*blue/);
		await page.getByRole('button', { name: 'Keep theirs' }).click();
		await page.locator('dialog').waitFor({ state: 'detached' });
		assert.deepEqual((await blob('edited.json').getProperties()).metadata, { colour: 'red' });

		await page.getByRole('tab', { name: 'Properties' }).click();
		await page.getByLabel('Tier').selectOption('Cool');
		await told(page, 'Tier set');
		assert.equal((await blob('edited.json').getProperties()).accessTier, 'Cool');
		await stage.done(page);
	});

	test('history: a snapshot is made and compared; a deleted blob is listed by its versions and comes back', async () => {
		await put('past.txt', 'same\nolder\n');
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos?blob=past.txt&tab=history`);
		await page.getByRole('button', { name: 'Make a snapshot' }).click();
		await told(page, 'Snapshot made');
		await page.locator('.history li', { hasText: 'snapshot' }).waitFor();
		await put('past.txt', 'same\nnew\n');
		await page.locator('.history li', { hasText: 'snapshot' }).getByRole('button', { name: 'Compare' }).click();
		const diff = page.locator('dialog .diff');
		assert.equal(await diff.locator('.removed').innerText(), '- older');
		assert.equal(await diff.locator('.added').innerText(), '+ new');
		await page.locator('dialog').getByRole('button', { name: 'Close' }).click();
		// What is shown is not what is stored: it is not deleted unseen.
		const looked = page.waitForResponse((answer) => answer.request().method() === 'HEAD' && /past\.txt/.test(answer.url()));
		await page.locator('.panel').getByRole('button', { name: 'Delete' }).click();
		await agree(page);
		await page.locator('.toast.bad', { hasText: 'ConditionNotMet' }).waitFor();
		await looked;
		await page.locator('.history li.current', { hasText: '9 B' }).waitFor();
		await page.locator('.panel').getByRole('button', { name: 'Delete' }).click();
		await agree(page);
		await rows(page).filter({ hasText: 'past.txt' }).waitFor({ state: 'detached' });
		await page.getByLabel('deleted').check();
		await rows(page).filter({ hasText: /past\.txt.*versions stay/s }).click();
		await page.locator('.history li', { hasText: 'version' }).first().getByRole('button', { name: 'Promote' }).click();
		await told(page, 'That is the blob now');
		assert.equal((await blob('past.txt').downloadToBuffer()).toString(), 'same\nnew\n');
		await stage.done(page);
	});

	test('a deleted blob that is kept for some days is undeleted with its snapshots', async () => {
		const own = await startServer({ flags: ['--adminPort', '0'] });
		try {
			const service = BlobServiceClient.fromConnectionString(own.connectionString);
			await service.setProperties({ deleteRetentionPolicy: { enabled: true, days: 3 } });
			const container = service.getContainerClient('kept');
			await container.create();
			const one = container.getBlockBlobClient('one.txt');
			await one.upload('first', 5);
			await one.createSnapshot();
			await one.delete({ deleteSnapshots: 'include' });
			const page = await stage.browser.open(own, `#/blobs/${ACCOUNT}/kept`);
			await page.getByText('No blobs here.').waitFor();
			await page.getByLabel('deleted').check();
			await rows(page).filter({ hasText: /one\.txt.*deleted/s }).first().click();
			await page.locator('.history li.deleted').nth(1).waitFor(); // the blob and its snapshot
			await page.getByRole('button', { name: 'Undelete' }).click();
			await told(page, 'Restored');
			assert.equal((await one.downloadToBuffer()).toString(), 'first');
			await page.getByRole('tab', { name: 'History' }).click();
			await page.locator('.history li', { hasText: 'snapshot' }).getByRole('button', { name: 'Promote' }).waitFor();
			await stage.done(page);
		} finally {
			await own.remove();
		}
	});

	test('a copy shows how far it is, and it is whole', async () => {
		await put('original.txt', 'what is copied');
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos?blob=original.txt`);
		// The server shares bytes and is done at once. So it is told here that the copy goes on, and once how far.
		let release, asked = 0;
		const held = new Promise((resolve) => (release = resolve));
		await page.route(/photos\/copied(%2F|\/)here\.txt/, async (route) => {
			const answer = await route.fetch();
			const headers = answer.headers();
			if (route.request().method() === 'PUT') headers['x-ms-copy-status'] = 'pending';
			else if (asked++ === 0) Object.assign(headers, { 'x-ms-copy-status': 'pending', 'x-ms-copy-progress': '3/8' });
			else await held;
			await route.fulfill({ response: answer, headers });
		});
		await page.getByRole('button', { name: 'Copy to …' }).click();
		await page.getByLabel('container/name').fill('photos/copied/here.txt');
		await page.locator('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
		assert.deepEqual(await page.locator('dialog progress').evaluate((bar) => [bar.value, bar.max]), [3, 8]);
		release();
		await told(page, 'Copied to photos/copied/here.txt');
		assert.equal((await blob('copied/here.txt').downloadToBuffer()).toString(), 'what is copied');
		await stage.done(page);
	});

	test('a copy and a promoted version overwrite nothing that somebody else wrote', async () => {
		await put('from.txt', 'what is copied');
		await put('to.txt', 'theirs');
		const page = await stage.open(`#/blobs/${ACCOUNT}/photos?blob=from.txt`);
		await page.getByRole('button', { name: 'Copy to …' }).click();
		await page.getByLabel('container/name').fill('photos/to.txt');
		await page.getByRole('button', { name: 'Copy', exact: true }).click();
		await page.locator('dialog .problem', { hasText: 'photos/to.txt is there already' }).waitFor();
		assert.equal((await blob('to.txt').downloadToBuffer()).toString(), 'theirs');
		await page.locator('dialog').getByRole('button', { name: 'Overwrite' }).click();
		await told(page, 'Copied to photos/to.txt');
		assert.equal((await blob('to.txt').downloadToBuffer()).toString(), 'what is copied');

		await put('from.txt', 'second');
		await page.goto(page.url().replace(/#.*/, `#/blobs/${ACCOUNT}/photos?blob=from.txt&tab=history`));
		await page.locator('.history li.current', { hasText: '6 B' }).waitFor();
		await put('from.txt', 'third and newest');
		await page.locator('.history li', { hasText: 'version' }).first().getByRole('button', { name: 'Promote' }).click();
		await page.locator('.toast.bad', { hasText: 'ConditionNotMet' }).waitFor();
		assert.equal((await blob('from.txt').downloadToBuffer()).toString(), 'third and newest');
		await page.locator('.history li.current', { hasText: '16 B' }).waitFor(); // and now it is seen
		await stage.done(page);
	});

	test('a large blob is downloaded by a SAS; read-only through the page', async () => {
		const size = 64 * 1024 * 1024 + 1;
		await stage.world.service.getContainerClient('backups').getBlockBlobClient('huge.bin').uploadData(Buffer.alloc(size));
		const page = await stage.open(`#/blobs/${ACCOUNT}/backups?blob=huge.bin`);
		const saved = async () => {
			const download = page.waitForEvent('download');
			await page.getByRole('button', { name: 'Download' }).click();
			assert.equal((await download).suggestedFilename(), 'huge.bin');
			assert.equal(fs.statSync(await (await download).path()).size, size);
			return (await download).url();
		};
		assert.match(await saved(), /^http.*&sig=/);
		await page.getByText('read-only').click();
		assert.match(await saved(), /^blob:/);
		await stage.done(page);
	});

	test('a folder that is picked arrives; those that wait are shown and can be cancelled together', async () => {
		const dir = tempDir();
		try {
			fs.mkdirSync(path.join(dir, 'picked/deep'), { recursive: true });
			for (let i = 0; i < 9; i++) fs.writeFileSync(path.join(dir, `picked/deep/${i}.txt`), `number ${i}`);
			const page = await stage.open(`#/blobs/${ACCOUNT}/website?prefix=folder/`);
			await page.getByText('No blobs here.').waitFor();
			let release;
			const held = new Promise((resolve) => (release = resolve));
			let sent = 0;
			await page.route(/picked/, async (route) => {
				if (route.request().method() === 'PUT' && sent++ === 2) await held;
				await route.continue().catch(() => {});
			});
			await page.setInputFiles('input[data-folder]', path.join(dir, 'picked'));
			await page.locator('.uploads footer', { hasText: '7 to go' }).waitFor();
			assert.equal(await page.locator('.uploads > div', { hasText: 'waits' }).count(), 5, 'six are shown');
			await page.getByRole('button', { name: 'Cancel all' }).click();
			await page.locator('.uploads footer', { hasText: '0 to go, 7 not done' }).waitFor();
			release();
			const names = [];
			for await (const one of stage.world.service.getContainerClient('website').listBlobsFlat()) names.push(one.name);
			assert.equal(names.length, 2);
			for (const name of names) assert.match(name, /^folder\/picked\/deep\/\d\.txt$/);
			await page.getByRole('button', { name: 'Dismiss all' }).click();
			await page.locator('.uploads').waitFor({ state: 'detached' });
			// Why one cannot be written is told as it is.
			const [name] = names;
			await stage.world.service.getContainerClient('website').getBlobClient(name).getBlobLeaseClient().acquireLease(-1);
			await page.goto(page.url().replace(/#.*/, `#/blobs/${ACCOUNT}/website?prefix=${encodeURIComponent(path.dirname(name))}/`));
			await rows(page).filter({ hasText: path.basename(name) }).waitFor();
			await page.setInputFiles(FILES, { name: path.basename(name), mimeType: 'text/plain', buffer: Buffer.from('mine') });
			await page.locator('.uploads', { hasText: 'LeaseIdMissing' }).waitFor();
			assert.equal(await page.getByRole('button', { name: 'Overwrite' }).count(), 0, 'that would not help');
			await stage.done(page);
		} finally {
			removeDir(dir);
		}
	});
});

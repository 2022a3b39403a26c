// SPDX-License-Identifier: Apache-2.0
// What holds for every view, while clients race: 1,024 pixels, light and dark, a reload of its address; and the sign-in of production
// mode, with what is wrong.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { before, test } from 'node:test';
import { OTHER_NAME, explorerOf } from '../lib/browser.mjs';
import { removeDir, startServer, tempDir } from '../lib/server.mjs';
import { ACCOUNT, copy, explorerTests, rows } from './stage.mjs';

const VIEWS = [
	['#/home', 'Home', '.figures'],
	[`#/blobs/${ACCOUNT}`, 'Containers', 'tbody tr[tabindex]'],
	[`#/blobs/${ACCOUNT}/photos?blob=notes.txt&tab=history`, 'photos', '.history li'],
	[`#/queues/${ACCOUNT}`, 'Queues', 'tbody tr[tabindex]'],
	[`#/queues/${ACCOUNT}/orders`, 'Queues / orders', '.timeline'],
	[`#/tables/${ACCOUNT}/people?filter=PartitionKey%20eq%20'eu'`, 'Tables / people', '.plan'],
	[`#/files/${ACCOUNT}/team?dir=reports&file=2026.csv`, 'team', '.panel'],
	[`#/files/${ACCOUNT}/team?tab=handles`, 'team', '.rows'],
	[`#/live/${ACCOUNT}`, 'Live', '.chart canvas'],
	[`#/live/${ACCOUNT}?tab=leases`, 'Live', 'tbody tr[tabindex]'],
	[`#/live/${ACCOUNT}?tab=conflicts`, 'Live', 'tbody tr[tabindex]'],
	[`#/access/${ACCOUNT}`, 'Access', '.choices'],
	[`#/access/${ACCOUNT}?tab=why`, 'Access', 'textarea'],
	['#/testkit', 'Test kit', 'input[type=range]'],
	['#/operate', 'Operate', '.card'],
];

// The contrast of every text that can be seen with what is behind it, by the formula of WCAG 2; those below `least`.
function weakTexts(least) {
	const channel = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const numbers = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
	const behind = (node) => {
		for (let at = node; at; at = at.parentElement) {
			const colour = numbers(getComputedStyle(at).backgroundColor);
			if (colour.length === 3 || colour[3] === 1) return colour;
		}
		return [255, 255, 255];
	};
	const weak = new Set();
	for (const node of document.querySelectorAll('#app *')) {
		const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
		if (!own || !node.checkVisibility() || node.closest(':disabled, svg')) continue;
		const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < least) weak.add(`${node.tagName}.${node.className} ${ratio.toFixed(2)}: ${node.textContent.trim().slice(0, 30)}`);
	}
	return [...weak];
}

explorerTests('explorer, every view', (stage) => {
	before(() => stage.world.photos.getBlobClient('readme.md').getBlobLeaseClient().acquireLease(-1)); // one that does not end while we look

	for (const colorScheme of ['light', 'dark'])
		test(`${colorScheme}, at 1,024 pixels: nothing sticks out, every text can be read, its address opens it`, async () => {
			for (const [hash, title, ready] of VIEWS) {
				const page = await stage.open(hash, { viewport: { width: 1024, height: 700 }, colorScheme });
				await page.locator('main h1', { hasText: title }).waitFor();
				await page.locator(ready).first().waitFor({ timeout: 15_000 });
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `${hash}: ${wide} pixels too wide`);
				assert.deepEqual(await page.evaluate(weakTexts, 4.5), [], hash);
				assert.equal(await page.locator('.problem').count(), 0, hash);
				await stage.done(page);
			}
		});

	test('by another name than localhost, without HTTPS: one signs in, goes from account to account, changes, copies, and signs out', async () => {
		const own = await startServer({
			flags: ['--mode', 'production', '--adminPort', '0'],
			env: { ZAFFRE_ACCOUNTS: `first:${Buffer.alloc(64, 1).toString('base64')};second:${Buffer.alloc(64, 2).toString('base64')}`, ZAFFRE_ADMIN_TOKEN: 'a token of some length' },
		});
		try {
			const page = await stage.browser.open(own, '#/home');
			await page.goto(explorerOf(own).replace('127.0.0.1', OTHER_NAME));
			assert.equal(await page.evaluate(() => isSecureContext), false);
			await page.getByLabel('or admin token').fill('a token of some length');
			await page.getByRole('button', { name: 'Sign in' }).click();
			await page.getByText('nothing is wrong').waitFor();
			await copy(page, page.getByRole('button', { name: 'Copy', exact: true }).first());
			await page.getByLabel('Account', { exact: true }).selectOption('second');
			await page.getByText('No containers yet.').waitFor();
			await page.getByRole('button', { name: 'New container' }).click();
			await page.getByLabel('Name', { exact: true }).fill('made-here');
			await page.keyboard.press('Enter');
			await rows(page).filter({ hasText: 'made-here' }).waitFor();
			assert.equal(await page.title(), 'second · Blobs · Zaffre');
			await page.getByLabel('Account', { exact: true }).selectOption('first');
			await page.getByText('No containers yet.').waitFor();
			await page.getByRole('button', { name: 'sign out' }).click();
			await page.getByRole('button', { name: 'Sign in' }).waitFor();
			await page.reload();
			await page.getByRole('button', { name: 'Sign in' }).waitFor();
			page.problems = page.problems.filter((one) => !/^The Cross-Origin-Opener-Policy header has been ignored/.test(one)); // as said: no HTTPS
			await stage.done(page);
		} finally {
			await own.remove();
		}
	});

	test('an address holds what is open: tab, entity, filter, deleted ones; one that makes no sense opens the nearest view', async () => {
		const page = await stage.open('#/home');
		const to = async (hash) => {
			await page.goto(page.url().replace(/#.*/, hash));
			await page.reload();
			await page.locator('main h1').first().waitFor();
		};
		const chosen = async () => (await page.locator('[role=tab][aria-selected=true]').allInnerTexts()).join();
		await to(`#/files/${ACCOUNT}/team?dir=reports&file=2026.csv`);
		await page.getByRole('tab', { name: 'Ranges' }).click();
		await page.reload();
		await page.getByText('2 ranges with data').waitFor();
		await to(`#/tables/${ACCOUNT}/people?filter=PartitionKey%20eq%20'us'`);
		await rows(page).filter({ hasText: '006' }).click();
		await page.reload();
		await page.locator('.panel').waitFor();
		assert.equal(await page.getByLabel('value of name').inputValue(), 'Radia');
		assert.equal(await rows(page).count(), 4, 'its filter holds, too');
		await to(`#/live/${ACCOUNT}`);
		await page.locator('[data-filter]').fill('blob_put');
		await page.getByLabel('status').selectOption('conflict');
		await page.getByText('Charts of the last').click();
		await page.locator('.chart').first().waitFor({ state: 'detached' });
		await page.reload();
		await page.locator('[data-filter]').waitFor();
		assert.deepEqual([await page.locator('[data-filter]').inputValue(), await page.getByLabel('status').inputValue(), await page.locator('.chart').count()], ['blob_put', 'conflict', 0]);
		await page.getByText('Charts of the last').click();
		await page.locator('.chart canvas').first().waitFor();
		await to(`#/blobs/${ACCOUNT}/photos`);
		await page.getByLabel('show deleted').check();
		await page.getByRole('link', { name: '▸ originals/' }).click();
		await page.getByText('0000.png').waitFor();
		assert.ok(await page.getByLabel('show deleted').isChecked());
		for (const [hash, tab] of [[`#/live/${ACCOUNT}?tab=x`, 'Requests'], [`#/live/${ACCOUNT}?tab=constructor`, 'Requests'], [`#/access/${ACCOUNT}?tab=`, 'Build a SAS'], [`#/files/${ACCOUNT}/team?tab=%00`, 'Files'], [`#/blobs/${ACCOUNT}/photos?blob=notes.txt&tab=__proto__`, 'Preview']]) {
			await to(hash);
			await page.getByRole('tab', { name: tab }).waitFor();
			assert.equal(await chosen(), tab, hash);
		}
		for (const hash of ['#/constructor', '#/%', '#//', '#/blobs/%E0%A4%A', `#/blobs/${ACCOUNT}/__proto__?prefix=%ff&blob=%`, `#/blobs/${ACCOUNT}/..%2F..?blob=..%2Fx`, `#/queues/${ACCOUNT}/none?message=constructor`, `#/tables/${ACCOUNT}/people?entity=__proto__`, `#/files/${ACCOUNT}/team?dir=..%2F..&file=%00`, `#/live/nobody?filter=%5B(&status=x`, '#/home?constructor=1&__proto__=2']) await to(hash);
		await stage.done(page);
	});

	test('damage that a scrub found is told in every view', async () => {
		const page = await stage.open(`#/queues/${ACCOUNT}`);
		await page.route(/run=%2Fscrub%2Fprogress/, (route) => route.fulfill({ json: { status: 200, text: '{"state":"done","percent":100,"damaged":2}' } }));
		await page.reload();
		await page.locator('.problem', { hasText: 'The last scrub found damage: 2 in all.' }).waitFor();
		await stage.done(page);
	});

	test('the switch of light and dark is kept', async () => {
		const page = await stage.open('#/home', { colorScheme: 'light' });
		const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		await page.getByRole('button', { name: 'auto' }).waitFor();
		const light = await back();
		await page.getByRole('button', { name: 'auto' }).click();
		await page.getByRole('button', { name: 'light' }).click();
		await page.getByRole('button', { name: 'dark' }).waitFor();
		const dark = await back();
		assert.notEqual(dark, light);
		await page.reload();
		await page.getByRole('button', { name: 'dark' }).waitFor();
		assert.equal(await back(), dark);
		await stage.done(page);
	});

	test('production: a key opens its account, the token all; what is wrong and the end of the certificate are shown', async () => {
		const dir = tempDir(), key = Buffer.alloc(64, 1).toString('base64');
		const [certificate, certificateKey] = ['cert.pem', 'key.pem'].map((name) => path.join(dir, name));
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '10', '-subj', '/CN=localhost', '-keyout', certificateKey, '-out', certificate], { stdio: 'ignore' });
		const own = await startServer({
			flags: ['--mode', 'production', '--adminPort', '0', '--cert', certificate, '--key', certificateKey],
			env: { ZAFFRE_ACCOUNTS: `first:${key};second:${Buffer.alloc(64, 2).toString('base64')}`, ZAFFRE_ADMIN_TOKEN: 'a token of some length' },
		});
		try {
			const page = await stage.browser.open(own, '#/home');
			await page.getByLabel('Account').fill('first');
			await page.getByLabel('Key').fill(Buffer.alloc(64, 3).toString('base64'));
			await page.getByRole('button', { name: 'Sign in' }).click();
			await page.locator('.login .problem').waitFor();
			await page.getByLabel('Key').fill(key);
			await page.getByRole('button', { name: 'Sign in' }).click();
			await page.locator('main .problem', { hasText: 'certificate ends' }).waitFor();
			await page.getByText('Keys are not shown in production mode.').waitFor();
			assert.ok(!(await page.content()).includes(key));
			assert.equal(await page.getByText('nothing is wrong').count(), 0);
			for (const hidden of ['Operate', 'Test kit']) assert.equal(await page.getByRole('link', { name: hidden }).count(), 0, hidden);
			await stage.done(page);
			const other = await stage.browser.open(own, '#/operate');
			await other.getByLabel('or admin token').fill('a token of some length');
			await other.getByRole('button', { name: 'Sign in' }).click();
			await rows(other).filter({ hasText: 'second' }).waitFor();
			await other.locator('.pairs', { hasText: 'Certificate' }).getByText(/^ends 2.* \(in 10 days\)$/).waitFor();
			await stage.done(other);
		} finally {
			await own.remove();
			removeDir(dir);
		}
	});
});

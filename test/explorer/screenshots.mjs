// SPDX-License-Identifier: Apache-2.0
// screenshots.mjs [DIR]: every view of the explorer with something in it, as docs/explorer.md shows them (default: docs/explorer). Small
// files: a palette of few colours is not made here, the page has few to begin with.
import fs from 'node:fs';
import path from 'node:path';
import { explorerOf, openBrowser } from '../lib/browser.mjs';
import { root, startServer } from '../lib/server.mjs';
import { makeWorld, startRace } from './world.mjs';

const dir = process.argv[2] ?? path.join(root, 'docs/explorer');
const only = process.argv[3];
const a = 'devstoreaccount1';
const SHOTS = [
	['home', '#/home', {}],
	['blobs', `#/blobs/${a}/photos?blob=album.json`, { ready: 'pre.content' }],
	['blob-history', `#/blobs/${a}/photos?blob=notes.txt`, { ready: '.tabs', click: 'History', dark: true }],
	['queues', `#/queues/${a}/orders`, { ready: '.timeline' }],
	['tables', `#/tables/${a}/people?filter=PartitionKey%20eq%20'eu'`, { ready: 'td.number', open: 1 }],
	['files', `#/files/${a}/team?dir=reports&file=2026.csv`, { ready: '.tabs', click: 'Ranges' }],
	['live', `#/live/${a}?tab=requests`, { ready: 'tbody tr[tabindex]', wait: 9000 }],
	['leases', `#/live/${a}?tab=leases`, { ready: 'tbody tr[tabindex]', wait: 500, dark: true }],
	['access', `#/access/${a}`, { fill: ['resource', 'photos'], press: 'Sign' }],
	['why', `#/access/${a}?tab=why`, { fill: ['request', (s) => `GET ${s.endpoints.blob}/photos?restype=container&comp=list&sv=2022-11-02&sr=c&sp=rl&se=2026-01-01T00%3A00%3A00Z&sig=AAAA`], press: 'Why?' }],
	['testkit', '#/testkit', { ready: 'input[type=range]', press: '+ 1 h' }],
	['operate', '#/operate', { ready: '.card', press: ['Make a checkpoint', 'Scrub'], wait: 4000, dark: true }],
	['limits', '#/operate', { press: ['Limits'] }],
];

// By the command that the page sends.
async function limit(server, name, value) {
	const origin = explorerOf(server);
	const { session } = await (await fetch(`${origin}api/session`)).json();
	const to = new URLSearchParams({ run: '/limits/set', target: a, limit: name, value });
	const answer = await (await fetch(`${origin}api/command?${to}`, { method: 'POST', headers: { 'x-zaffre-session': session } })).json();
	if (answer.status !== 200) throw new Error(answer.text);
}

fs.mkdirSync(dir, { recursive: true });
const server = await startServer({ flags: ['--adminPort', '0'] });
const browser = await openBrowser();
try {
	const world = await makeWorld(server);
	const race = startRace(server, world);
	await world.team.rootDirectoryClient.getFileClient('plan.txt').getShareLeaseClient().acquireLease(-1);
	await world.team.getShareLeaseClient().acquireLease(60);
	await limit(server, 'requests-per-second', '2000');
	await limit(server, 'sas-max-hours', '48');
	for (const [name, hash, how] of SHOTS) {
		if (only && !only.split(',').includes(name)) continue;
		const page = await browser.open(server, hash, { colorScheme: how.dark ? 'dark' : 'light', viewport: { width: 1180, height: 740 } });
		await page.waitForSelector(how.ready ?? 'h1');
		if (how.click) await page.getByRole('tab', { name: how.click }).click();
		if (how.open !== undefined) await page.locator('tbody tr[tabindex]').nth(how.open).click();
		if (how.fill) await page.getByLabel(how.fill[0]).fill(typeof how.fill[1] === 'function' ? how.fill[1](server) : how.fill[1]);
		for (const button of [how.press ?? []].flat()) await page.getByRole('button', { name: button, exact: true }).click();
		await page.waitForTimeout(how.wait ?? 700);
		await page.screenshot({ path: path.join(dir, `${name}.png`) });
		if (page.problems.length) console.log(name, page.problems);
		await page.context().close();
	}
	console.log(await race.stop());
} finally {
	await browser.close();
	await server.remove();
}

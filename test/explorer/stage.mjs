// SPDX-License-Identifier: Apache-2.0
// What the tests of the explorer share: a server with something in it, clients that race over it, and a browser.
//
//   explorerTests('name', (stage) => { test('...', async () => { const page = await stage.open('#/home'); ... await stage.done(page); }) });
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { browserMissing, openBrowser } from '../lib/browser.mjs';
import { startServer } from '../lib/server.mjs';
import { makeWorld, startRace } from './world.mjs';

export const ACCOUNT = 'devstoreaccount1';
export const rows = (page) => page.locator('tbody tr[tabindex]');
// Waits until the page told this, in a toast and in these words. A text anywhere in the page is no sign that something was done: the
// footer with the buttons "Save" and "Delete" is found by the text "Saved".
export const told = (page, words) => page.locator('.toasts').getByText(words, { exact: true }).last().waitFor();

// Presses a button that copies, and waits until it says so. That is there for a moment only: it is watched for from before the click.
export const copy = (page, button) => Promise.all([page.getByRole('button', { name: 'Copied' }).waitFor(), button.click()]);

// Presses a button of the question that is open, and waits until it is gone.
export async function agree(page, button = 'Delete') {
	await page.locator('dialog').getByRole('button', { name: button, exact: true }).click();
	await page.locator('dialog').waitFor({ state: 'detached' });
}
export const FILES = 'input[data-files]'; // of the button "Upload"

export function explorerTests(name, tests) {
	describe(name, { skip: browserMissing() }, () => {
		const stage = {};
		before(async () => {
			stage.server = await startServer({ flags: ['--adminPort', '0', '--blobVersioning', '--smbPort', '0'] });
			stage.world = await makeWorld(stage.server, { blobs: 5 });
			stage.race = startRace(stage.server, stage.world);
			stage.browser = await openBrowser();
			stage.open = (...where) => stage.browser.open(stage.server, ...where);
		});
		after(async () => {
			await stage.browser?.close();
			const wrong = await stage.race?.stop();
			await stage.server?.remove();
			assert.deepEqual(wrong, []);
		});
		// A browser that complained about something is a failure.
		stage.done = async (page) => {
			assert.deepEqual(page.problems, []);
			await page.context().close();
		};
		tests(stage);
	});
}

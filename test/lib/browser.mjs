// SPDX-License-Identifier: Apache-2.0
// A browser for tests of the explorer: Debian's Chromium, driven by Playwright, without a window.
//
//   const missing = browserMissing();          a reason to skip, or false
//   const browser = await openBrowser();       browser.page(server, '#/blobs/...') opens a page of that server's explorer
// Every page collects what a browser would complain about (page.problems): errors of scripts, refused resources, dialogs.
// ZAFFRE_BROWSER_SLOWER=20 makes pages so many times slower, as a loaded machine would: what waits for the wrong thing fails then.
import fs from 'node:fs';
import { createRequire } from 'node:module';

const PROGRAM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => fs.existsSync(path));
const SLOWER = Number(process.env.ZAFFRE_BROWSER_SLOWER ?? 1);

// A name for this machine that is neither loopback nor HTTPS to the browser: some of what it has for pages is not there then.
export const OTHER_NAME = 'explorer.test';

export function browserMissing() {
	if (!PROGRAM) return 'chromium is not installed (tools/packages.txt)';
	try {
		createRequire(import.meta.url).resolve('playwright-core');
		return false;
	} catch {
		return 'playwright-core is not installed (tools/npm-ci test)';
	}
}

export async function openBrowser() {
	const { chromium } = await import('playwright-core');
	const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', `--host-resolver-rules=MAP ${OTHER_NAME} 127.0.0.1`] });
	const open = async (server, hash = '', options = {}) => {
		const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
		const page = await context.newPage();
		page.problems = [];
		page.on('pageerror', (error) => page.problems.push(`script: ${error.message}`));
		page.on('console', (message) => message.type() === 'error' && !/status of 4\d\d/.test(message.text()) && page.problems.push(message.text()));
		page.on('dialog', (dialog) => { // the page asks by itself; one of the browser is what markup would open
			page.problems.push(`dialog: ${dialog.message()}`);
			dialog.dismiss();
		});
		if (SLOWER > 1) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
		await page.goto(explorerOf(server) + hash);
		return page;
	};
	return { open, close: () => browser.close(), raw: browser };
}

export function explorerOf(server) {
	const line = /^Explorer, metrics and health at (\S+)$/m.exec(server.stdout);
	if (!line) throw new Error(`no explorer in: ${server.stdout}`);
	return line[1] + '/';
}

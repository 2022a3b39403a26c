// SPDX-License-Identifier: Apache-2.0
// What the documents say is so: quoted code is in the tree, links lead somewhere, files that are named exist.
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../lib/server.mjs';

const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...fs.readdirSync(path.join(root, 'docs')).filter((f) => f.endsWith('.md')).map((f) => `docs/${f}`)];

describe('documents', () => {
	test('docs/adding-an-operation.md quotes code as it is', () => {
		let source = '', count = 0;
		for (const [, file, code] of read('docs/adding-an-operation.md').matchAll(/^From `([^`]+)`:$|^```c\n([\s\S]*?)^```$/gm)) {
			if (file) source = read(file);
			else {
				assert.ok(source.includes(code.trimEnd()), `this is not in the tree any more:\n${code}`);
				count++;
			}
		}
		assert.ok(count >= 4, `${count} pieces`);
	});
	test('links between documents lead somewhere', () => {
		let count = 0;
		for (const page of pages)
			for (const [, target] of read(page).matchAll(/\]\(([^)#:]+)\)/g)) {
				assert.ok(fs.existsSync(path.join(root, path.dirname(page), target)), `${page}: ${target}`);
				count++;
			}
		assert.ok(count > 5, `${count} links`);
	});
	test('files of the tree that documents name are there', () => {
		let count = 0;
		for (const page of pages)
			for (const [, file] of read(page).matchAll(/(?<![\w/.-])((?:src|test|tools|docs|bench|dist)\/[\w./-]*\w\.(?:c|h|def|mjs|md|sh|txt))\b/g)) {
				assert.ok(fs.existsSync(path.join(root, file)), `${page} names ${file}`);
				count++;
			}
		assert.ok(count > 20, `${count} files`);
	});
	test('files below src that documents name without it are there', () => {
		const rooms = fs.readdirSync(path.join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
		const named = new RegExp(`(?<![\\w/.-])((?:${rooms.join('|')})/[\\w./-]*\\w\\.(?:c|h|def))\\b`, 'g');
		let count = 0;
		for (const page of pages)
			for (const [, file] of read(page).matchAll(named)) {
				assert.ok(fs.existsSync(path.join(root, 'src', file)), `${page} names ${file}`);
				count++;
			}
		assert.ok(count > 20, `${count} files`);
	});
	test('tests that docs/concurrency.md names by their title are there', () => {
		const sources = (folder) => fs.readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
			.filter((entry) => entry.isFile() && /\.(mjs|c)$/.test(entry.name) && !(entry.parentPath ?? entry.path).includes('node_modules'))
			.map((entry) => fs.readFileSync(path.join(entry.parentPath ?? entry.path, entry.name), 'utf8'));
		const all = sources('test').join('\n');
		let count = 0;
		for (const row of read('docs/concurrency.md').split('\n').filter((line) => line.startsWith('| ')))
			for (const [, title] of row.split('|').at(-2).matchAll(/`([^`]+)`/g)) {
				assert.ok(all.includes(title), `no test has the title "${title}"`);
				count++;
			}
		assert.ok(count > 40, `${count} titles`);
	});
});

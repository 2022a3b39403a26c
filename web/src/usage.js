// SPDX-License-Identifier: Apache-2.0
// What an account holds, by the lists that every client has: a first look at a few pages, and a count of everything for who asks for it.
// Both give { containers, blobs, blobBytes, queues, tables, shares, fileBytes, more }; `more` names the figures that are not whole.
import { children, query, request, seg, text, xml } from './api.js';

const PAGE = 1000;
const FIRST_CONTAINERS = 10;

// The pages of a list, as long as somebody wants them: { items, next }.
async function* pages(service, account, path, parameters, item, signal) {
	let marker = '';
	do {
		const page = (await xml(service, account, `${path}?${query({ comp: 'list', maxresults: PAGE, ...parameters, marker })}`, { signal })).documentElement;
		marker = text(page, 'NextMarker');
		yield { items: children(page.getElementsByTagName(`${item}s`)[0], item), next: marker };
	} while (marker);
}

async function* tablePages(account, signal) {
	let next = '';
	do {
		const answer = await request('table', account, `/Tables?${query({ $top: PAGE, NextTableName: next })}`, { headers: { Accept: 'application/json;odata=nometadata' }, signal });
		next = answer.headers.get('x-ms-continuation-NextTableName');
		yield { items: (await answer.json()).value, next };
	} while (next);
}

// One page of blobs into the figures.
function addBlobs(found, items) {
	found.blobs += items.length;
	for (const one of items) found.blobBytes += Number(text(one, 'Content-Length'));
}
const blobPages = (account, container, signal) => pages('blob', account, `/${seg(container)}`, { restype: 'container' }, 'Blob', signal);
async function addShare(found, account, share, signal) {
	const stats = await xml('file', account, `/${seg(share)}?restype=share&comp=stats`, { signal });
	found.fileBytes += Number(text(stats, 'ShareUsageBytes'));
}
const nothing = () => ({ containers: 0, blobs: 0, blobBytes: 0, queues: 0, tables: 0, shares: 0, fileBytes: 0 });
const first = async (list) => (await list.next()).value;
// A container or share that was deleted since its list was read holds nothing.
const unlessGone = async (work) => {
	try {
		await work();
	} catch (error) {
		if (error.status !== 404 && error.status !== 409) throw error;
	}
};

// A first look and a count under way: each figure is at least the larger one, those of `done` are whole.
export function atLeast(seen, found, done) {
	const figures = Object.entries(found).map(([name, n]) => [name, done.has(name) ? n : Math.max(n, seen[name])]);
	return { ...Object.fromEntries(figures), more: new Set([...seen.more].filter((name) => !done.has(name))) };
}

export async function lookAt(account, { files }) {
	const found = nothing(), more = new Set();
	const mark = (page, ...names) => page.next && names.forEach((name) => more.add(name));
	const containers = await first(pages('blob', account, '/', {}, 'Container'));
	found.containers = containers.items.length;
	mark(containers, 'containers', 'blobs', 'blobBytes');
	if (found.containers > FIRST_CONTAINERS) mark({ next: true }, 'blobs', 'blobBytes');
	for (const one of containers.items.slice(0, FIRST_CONTAINERS)) {
		await unlessGone(async () => {
			const page = await first(blobPages(account, text(one, 'Name')));
			addBlobs(found, page.items);
			mark(page, 'blobs', 'blobBytes');
		});
	}
	const queues = await first(pages('queue', account, '/', {}, 'Queue'));
	found.queues = queues.items.length;
	mark(queues, 'queues');
	const tables = await first(tablePages(account));
	found.tables = tables.items.length;
	mark(tables, 'tables');
	if (!files) return { ...found, more };
	const shares = await first(pages('file', account, '/', {}, 'Share'));
	found.shares = shares.items.length;
	mark(shares, 'shares', 'fileBytes');
	if (found.shares > FIRST_CONTAINERS) mark({ next: true }, 'fileBytes');
	for (const one of shares.items.slice(0, FIRST_CONTAINERS)) await unlessGone(() => addShare(found, account, text(one, 'Name')));
	return { ...found, more };
}

// Every page of every list. onProgress(figures so far, what is being counted, which figures are whole) after each page; `signal` ends it.
export async function countAll(account, { files, signal, onProgress }) {
	const found = nothing(), done = new Set();
	const tell = (at) => onProgress({ ...found }, at, new Set(done));
	const count = async (name, list, each = () => {}) => {
		for await (const page of list) {
			found[name] += page.items.length;
			tell(name);
			for (const one of page.items) await unlessGone(() => each(text(one, 'Name')));
		}
		done.add(name);
	};
	const blobsOf = async (container) => {
		for await (const page of blobPages(account, container, signal)) {
			addBlobs(found, page.items);
			tell(container);
		}
	};
	await count('queues', pages('queue', account, '/', {}, 'Queue', signal));
	for await (const page of tablePages(account, signal)) found.tables += page.items.length;
	done.add('tables');
	if (files) await count('shares', pages('file', account, '/', {}, 'Share', signal), (share) => addShare(found, account, share, signal));
	done.add('fileBytes');
	await count('containers', pages('blob', account, '/', {}, 'Container', signal), blobsOf);
	return { ...found, more: new Set() };
}

// SPDX-License-Identifier: Apache-2.0
// Uploads: small files in one request, large ones block by block, three at a time, with progress and an end at any moment. Nothing is
// overwritten unless somebody said so: the first try carries If-None-Match: *.
import { request, seg } from './api.js';

const BLOCK = 4 * 1024 * 1024;
const AT_ONCE = 3;

async function putBlocks(account, path, file, headers, signal, onProgress) {
	const ids = [];
	let sent = 0;
	const count = Math.ceil(file.size / BLOCK);
	const names = Array.from({ length: count }, (_, i) => btoa(String(i).padStart(8, '0')));
	let next = 0;
	const worker = async () => {
		while (next < count) {
			const i = next++;
			const piece = file.slice(i * BLOCK, Math.min(file.size, (i + 1) * BLOCK));
			await request('blob', account, `${path}?comp=block&blockid=${encodeURIComponent(names[i])}`, { method: 'PUT', body: piece, signal });
			ids[i] = names[i];
			sent += piece.size;
			onProgress(sent);
		}
	};
	await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, worker));
	const list = `<?xml version="1.0" encoding="utf-8"?><BlockList>${names.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`;
	return request('blob', account, `${path}?comp=blocklist`, { method: 'PUT', body: list, headers: { ...headers, 'Content-Type': 'application/xml' }, signal });
}

export async function uploadFile(account, container, name, file, { overwrite, signal, onProgress }) {
	const path = `/${seg(container)}/${seg(name)}`;
	const headers = { 'x-ms-blob-content-type': file.type || 'application/octet-stream' };
	if (!overwrite) headers['If-None-Match'] = '*';
	if (file.size > BLOCK) return putBlocks(account, path, file, headers, signal, onProgress);
	const answer = await request('blob', account, path, { method: 'PUT', body: file, headers: { ...headers, 'x-ms-blob-type': 'BlockBlob', 'Content-Type': 'application/octet-stream' }, signal });
	onProgress(file.size);
	return answer;
}

// Files of a drop, folders walked: [{ path, file }].
export async function filesOf(transfer) {
	const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
	if (!entries.length) return [...transfer.files].map((file) => ({ path: file.name, file }));
	const found = [];
	const walk = async (entry, prefix) => {
		if (entry.isFile) found.push({ path: prefix + entry.name, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) });
		else {
			const reader = entry.createReader();
			for (;;) {
				const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
				if (!batch.length) break;
				for (const one of batch) await walk(one, `${prefix}${entry.name}/`);
			}
		}
	};
	for (const entry of entries) await walk(entry, '');
	return found;
}

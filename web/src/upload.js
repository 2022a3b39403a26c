// SPDX-License-Identifier: Apache-2.0
// Uploads of blobs and of files: small blobs in one request, the rest piece by piece, three at a time, with progress and an end at any
// moment. Nothing is overwritten unless somebody said so: the first try of a blob carries If-None-Match: *.
import { ServiceError, request, seg } from './api.js';

const BLOCK = 4 * 1024 * 1024;
const AT_ONCE = 3;

// The pieces of a file, AT_ONCE at a time: send(piece, at, i).
async function inPieces(file, onProgress, send) {
	const count = Math.ceil(file.size / BLOCK);
	let sent = 0, next = 0;
	const worker = async () => {
		while (next < count) {
			const i = next++;
			const piece = file.slice(i * BLOCK, Math.min(file.size, (i + 1) * BLOCK));
			await send(piece, i * BLOCK, i);
			sent += piece.size;
			onProgress(sent);
		}
	};
	await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, worker));
	return count;
}

async function putBlocks(account, path, file, headers, signal, onProgress) {
	const id = (i) => btoa(String(i).padStart(8, '0'));
	const count = await inPieces(file, onProgress, (piece, _, i) => request('blob', account, `${path}?comp=block&blockid=${encodeURIComponent(id(i))}`, { method: 'PUT', body: piece, signal }));
	const list = `<?xml version="1.0" encoding="utf-8"?><BlockList>${Array.from({ length: count }, (_, i) => `<Latest>${id(i)}</Latest>`).join('')}</BlockList>`;
	return request('blob', account, `${path}?comp=blocklist`, { method: 'PUT', body: list, headers: { ...headers, 'Content-Type': 'application/xml' }, signal });
}

export async function uploadBlob(account, container, name, file, { overwrite, signal, onProgress }) {
	const path = `/${seg(container)}/${seg(name)}`;
	const headers = { 'x-ms-blob-content-type': file.type || 'application/octet-stream' };
	if (!overwrite) headers['If-None-Match'] = '*';
	if (file.size > BLOCK) return putBlocks(account, path, file, headers, signal, onProgress);
	const answer = await request('blob', account, path, { method: 'PUT', body: file, headers: { ...headers, 'x-ms-blob-type': 'BlockBlob', 'Content-Type': 'application/octet-stream' }, signal });
	onProgress(file.size);
	return answer;
}

// ---- files of a share ----

export const NEW_FILE = { 'x-ms-file-permission': 'inherit', 'x-ms-file-attributes': 'None', 'x-ms-file-creation-time': 'now', 'x-ms-file-last-write-time': 'now' };
// Directories are segments of the path here: '/' cannot be part of a name.
export const filePath = (share, path) => `/${seg(share)}${path ? '/' + path.split('/').map(seg).join('/') : ''}`;

// The directories on the way that came with a dropped folder; those that are there stay.
async function makeDirectories(account, share, base, path) {
	const parts = path.split('/').slice(0, -1);
	for (let i = 1; i <= parts.length; i++)
		await request('file', account, `${filePath(share, base + parts.slice(0, i).join('/'))}?restype=directory`, { method: 'PUT', headers: NEW_FILE, accept: [409] });
}

// Create File replaces what is there and knows no condition, so it is asked first. One that is cancelled does not stay half written.
export async function uploadShareFile(account, share, base, path, file, { overwrite, signal, onProgress }) {
	const to = filePath(share, base + path);
	const there = await request('file', account, to, { method: 'HEAD', accept: [404], signal });
	if (there.ok && !overwrite) throw new ServiceError(409, 'ResourceAlreadyExists', 'There is a file of that name.');
	await makeDirectories(account, share, base, path);
	await request('file', account, to, { method: 'PUT', signal, headers: { ...NEW_FILE, 'x-ms-type': 'file', 'x-ms-content-length': String(file.size), 'x-ms-content-type': file.type || 'application/octet-stream' } });
	try {
		await inPieces(file, onProgress, (piece, at) => request('file', account, `${to}?comp=range`, { method: 'PUT', body: piece, signal, headers: { 'x-ms-write': 'update', 'x-ms-range': `bytes=${at}-${at + piece.size - 1}` } }));
	} catch (error) {
		if (error.name === 'AbortError') await request('file', account, to, { method: 'DELETE' }).catch(() => {});
		throw error;
	}
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

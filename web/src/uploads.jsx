// SPDX-License-Identifier: Apache-2.0
// Uploads that are under way: how far each is, an end at any moment, and the question whether to overwrite. `put` sends one file
// (upload.js).
import { useState } from 'preact/hooks';
import { isReadOnly } from './api.js';
import { bytes } from './format.js';
import { Act } from './ui.jsx';

const SHOWN_WHEN_DONE_MS = 2500;

// put(path, file, { overwrite, signal, onProgress }); what is there already and must not be is refused with 409 or 412.
export function useUploads(put, onDone) {
	const [list, set] = useState([]);
	const change = (path, part) => set((all) => all.map((one) => (one.path === path ? { ...one, ...part } : one)));
	const one = async ({ path, file }, overwrite = false) => {
		const stop = new AbortController();
		set((all) => [...all.filter((other) => other.path !== path), { path, file, size: file.size, sent: 0, stop }]);
		try {
			await put(path, file, { overwrite, signal: stop.signal, onProgress: (sent) => change(path, { sent }) });
			change(path, { done: true });
			setTimeout(() => set((all) => all.filter((other) => other.path !== path || !other.done)), SHOWN_WHEN_DONE_MS);
		} catch (error) {
			const exists = error.status === 409 || error.status === 412;
			change(path, { error: error.name === 'AbortError' ? 'cancelled' : exists ? 'is there already' : error.message, exists });
		}
	};
	const start = async (files) => {
		for (const file of files) await one(file);
		onDone();
	};
	return {
		list, start,
		overwrite: async (item) => { await one(item, true); onDone(); },
		dismiss: (item) => set((all) => all.filter((other) => other !== item)),
	};
}

export function Uploads({ uploads }) {
	if (!uploads.list.length) return null;
	return (
		<div class="uploads card">
			{uploads.list.map((one) => (
				<div key={one.path}>
					<span class="name" title={one.path}>{one.path}</span>
					<progress max={one.size || 1} value={one.done ? one.size || 1 : one.sent} />
					<span class="quiet">{one.error ?? (one.done ? 'done' : `${bytes(one.sent)} of ${bytes(one.size)}`)}</span>
					<span>
						{one.exists && <Act kind="small" onClick={() => uploads.overwrite(one)}>Overwrite</Act>}
						{!one.done && !one.error && <button type="button" class="small" onClick={() => one.stop.abort()}>Cancel</button>}
						{one.error && <button type="button" class="plain" aria-label="dismiss" onClick={() => uploads.dismiss(one)}>✕</button>}
					</span>
				</div>
			))}
		</div>
	);
}

// Where files can be dropped; without `uploads`, where they cannot.
export function DropZone({ uploads, filesOf, children }) {
	const [over, setOver] = useState(false);
	if (!uploads || isReadOnly()) return <div>{children}</div>;
	return (
		<div
			class={over ? 'drop over' : 'drop'}
			onDragOver={(e) => { e.preventDefault(); setOver(true); }}
			onDragLeave={(e) => e.currentTarget === e.target && setOver(false)}
			onDrop={async (e) => { e.preventDefault(); setOver(false); uploads.start(await filesOf(e.dataTransfer)); }}
		>
			{children}
		</div>
	);
}

// SPDX-License-Identifier: Apache-2.0
// Uploads that are under way: how far each is, an end at any moment, and the question whether to overwrite. `put` sends one file
// (upload.js).
import { useRef, useState } from 'preact/hooks';
import { isReadOnly } from './api.js';
import { bytes, count } from './format.js';
import { Act } from './ui.jsx';

const SHOWN_WHEN_DONE_MS = 2500;

const EXISTS = ['BlobAlreadyExists', 'ResourceAlreadyExists'];

// put(path, file, { overwrite, signal, onProgress }); what is there already and must not be is refused with one of EXISTS. One file
// after the other; those that wait are shown, too.
export function useUploads(put, onDone) {
	const [list, set] = useState([]);
	const change = (path, part) => set((all) => all.map((one) => (one.path === path ? { ...one, ...part } : one)));
	const add = (files) => {
		const fresh = files.map(({ path, file }) => ({ path, file, size: file.size, sent: 0, stop: new AbortController() }));
		set((all) => [...all.filter((other) => !fresh.some((one) => one.path === other.path)), ...fresh]);
		return fresh;
	};
	const one = async ({ path, file, stop }, overwrite = false) => {
		try {
			stop.signal.throwIfAborted();
			change(path, { started: true });
			await put(path, file, { overwrite, signal: stop.signal, onProgress: (sent) => change(path, { sent }) });
			change(path, { done: true });
			setTimeout(() => set((all) => all.filter((other) => other.path !== path || !other.done)), SHOWN_WHEN_DONE_MS);
		} catch (error) {
			const exists = EXISTS.includes(error.code);
			change(path, { error: error.name === 'AbortError' ? 'cancelled' : exists ? 'is there already' : `${error.code ? `${error.code}: ` : ''}${error.message}`, exists });
		}
	};
	return {
		list,
		start: async (files) => {
			for (const item of add(files)) await one(item);
			onDone();
		},
		overwrite: async (item) => { await one(add([item])[0], true); onDone(); },
		cancelAll: () => list.forEach((item) => !item.done && !item.error && item.stop.abort()),
		dismiss: (item) => set((all) => all.filter((other) => other !== item)),
		dismissAll: () => set((all) => all.filter((other) => !other.error)),
	};
}

const SHOWN = 6;
const stateOf = (one) => one.error ?? (one.done ? 'done' : one.started ? `${bytes(one.sent)} of ${bytes(one.size)}` : 'waits');

// Those that run or went wrong first; of the rest how many there are.
export function Uploads({ uploads }) {
	if (!uploads.list.length) return null;
	const open = uploads.list.filter((one) => !one.done && !one.error), failed = uploads.list.filter((one) => one.error);
	const rank = (one) => (one.done ? 2 : one.started || one.error ? 0 : 1);
	const shown = [...uploads.list].sort((a, b) => rank(a) - rank(b)).slice(0, SHOWN);
	return (
		<div class="uploads card" role="status">
			{shown.map((one) => (
				<div key={one.path}>
					<span class="name" title={one.path}>{one.path}</span>
					<progress max={one.size || 1} value={one.done ? one.size || 1 : one.sent} aria-label={one.path} />
					<span class={one.error ? 'wrong' : 'quiet'} title={stateOf(one)}>{stateOf(one)}</span>
					<span>
						{one.exists && <Act kind="small" onClick={() => uploads.overwrite(one)}>Overwrite</Act>}
						{!one.done && !one.error && <button type="button" class="small" onClick={() => one.stop.abort()}>Cancel</button>}
						{one.error && <button type="button" class="plain" aria-label="dismiss" onClick={() => uploads.dismiss(one)}>✕</button>}
					</span>
				</div>
			))}
			{uploads.list.length > 1 && (
				<footer>
					<span class="quiet">{count(open.length)} to go{failed.length > 0 && `, ${count(failed.length)} not done`}</span>
					{open.length > 1 && <button type="button" class="small" onClick={uploads.cancelAll}>Cancel all</button>}
					{failed.length > 1 && <button type="button" class="small" onClick={uploads.dismissAll}>Dismiss all</button>}
				</footer>
			)}
		</div>
	);
}

// Two buttons: some files, or a folder with everything below it.
export function UploadButtons({ uploads }) {
	const files = useRef(), folder = useRef();
	const picked = (event) => {
		uploads.start([...event.currentTarget.files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
		event.currentTarget.value = '';
	};
	return (
		<>
			<Act onClick={() => folder.current.click()}>Upload folder</Act>
			<Act kind="primary" onClick={() => files.current.click()}>Upload</Act>
			<input ref={files} type="file" multiple hidden data-files onChange={picked} />
			<input ref={folder} type="file" webkitdirectory hidden data-folder onChange={picked} />
		</>
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

// SPDX-License-Identifier: Apache-2.0
// The few parts that every view is made of. Texts are always children, never markup: what is stored here is shown, not run.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isReadOnly } from './api.js';

let pushToast = () => {};
export function toast(message, kind = 'good') {
	pushToast({ message, kind, id: Math.random() });
}
export function Toasts() {
	const [list, set] = useState([]);
	pushToast = (one) => {
		set((all) => [...all.slice(-3), one]);
		setTimeout(() => set((all) => all.filter((other) => other.id !== one.id)), one.kind === 'bad' ? 9000 : 3500);
	};
	return (
		<div class="toasts" role="status" aria-live="polite">
			{list.map((one) => <div key={one.id} class={`toast ${one.kind}`}>{one.message}</div>)}
		</div>
	);
}
// Runs what a button does and tells what came of it.
export async function attempt(action, done) {
	try {
		const result = await action();
		if (done) toast(done);
		return result;
	} catch (error) {
		if (error.name !== 'AbortError') toast(error.code ? `${error.code}: ${error.message}` : String(error.message ?? error), 'bad');
		return undefined;
	}
}

// Loads again when what it depends on changes; an older answer never overwrites a newer one.
export function useLoad(load, deps) {
	const [state, set] = useState({ loading: true });
	const turn = useRef(0);
	const reload = useCallback(async () => {
		const mine = ++turn.current;
		set((old) => ({ ...old, loading: true }));
		try {
			const value = await load();
			if (mine === turn.current) set({ value, loading: false });
		} catch (error) {
			if (mine === turn.current && error.name !== 'AbortError') set({ error, loading: false });
		}
	}, deps);
	useEffect(() => {
		reload();
		return () => turn.current++;
	}, [reload]);
	return { ...state, reload };
}

// For what may wait for somebody else: after a while it says for whom (`children`).
export function Waiting({ children }) {
	const [late, setLate] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setLate(true), 1500);
		return () => clearTimeout(timer);
	}, []);
	return <p class="quiet">Loading …{late && <> {children}</>}</p>;
}

export function Problem({ error }) {
	if (!error) return null;
	return (
		<div class="problem" role="alert">
			<b>{error.code || 'Problem'}</b> {error.message}
		</div>
	);
}

// A button that changes something: off in read-only mode.
export function Act({ onClick, children, kind = '', disabled, title, type = 'button' }) {
	const off = isReadOnly();
	return (
		<button type={type} class={kind} disabled={disabled || off} title={off ? 'read-only' : title} onClick={onClick}>
			{children}
		</button>
	);
}

// The clipboard is there on loopback and over HTTPS alone; elsewhere the old way, which needs a selection.
async function toClipboard(value) {
	if (navigator.clipboard) return navigator.clipboard.writeText(value);
	const area = Object.assign(document.createElement('textarea'), { value });
	(document.querySelector('dialog[open]') ?? document.body).append(area);
	area.select();
	const done = document.execCommand('copy');
	area.remove();
	if (!done) throw new Error('This browser does not let the page copy.');
}

// `value`: a text, or a function that makes one when somebody wants it.
export function Copy({ value, label = 'Copy' }) {
	const [done, set] = useState(false);
	const copy = async () => {
		const copied = await attempt(async () => {
			await toClipboard(typeof value === 'function' ? await value() : value);
			return true;
		});
		if (!copied) return;
		set(true);
		setTimeout(() => set(false), 1200);
	};
	return <button type="button" class="small" onClick={copy}>{done ? 'Copied' : label}</button>;
}

export function Dialog({ title, onClose, children, wide }) {
	const ref = useRef();
	useEffect(() => {
		ref.current.showModal();
	}, []);
	return (
		<dialog ref={ref} class={wide ? 'wide' : ''} onClose={onClose} onCancel={onClose}>
			<header>
				<h2>{title}</h2>
				<button type="button" class="plain" aria-label="Close" onClick={onClose}>✕</button>
			</header>
			{children}
		</dialog>
	);
}

// What is there to choose from may be another than a link says: then the first.
export const tabOf = (tabs, wanted) => (tabs.some(([id]) => id === wanted) ? wanted : tabs[0][0]);
// One stop of the tab key; arrows go from one to the next.
export function Tabs({ tabs, value, onChange }) {
	const move = (event) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!step) return;
		const next = (tabs.findIndex(([id]) => id === value) + step + tabs.length) % tabs.length;
		event.preventDefault();
		event.currentTarget.children[next].focus();
		onChange(tabs[next][0]);
	};
	return (
		<div class="tabs" role="tablist" onKeyDown={move}>
			{tabs.map(([id, label]) => (
				<button key={id} type="button" role="tab" aria-selected={id === value} tabIndex={id === value ? 0 : -1} onClick={() => onChange(id)}>{label}</button>
			))}
		</div>
	);
}

export function Pairs({ pairs }) {
	return (
		<dl class="pairs">
			{pairs.filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => (
				<div key={name}><dt>{name}</dt><dd>{value}</dd></div>
			))}
		</dl>
	);
}

// A column of numbers has a '#' before its name; one that gives way to an open panel in a narrow window a '~'.
const MARKS = { '#': 'number', '~': 'type' };
// Rows that the keyboard walks: arrows or j and k, Enter opens.
export function Rows({ head, rows, empty = 'Nothing here.', selected, onOpen, render, id, cls = '' }) {
	const body = useRef();
	// For measurements: when the first rows were in the page.
	useEffect(() => {
		if (rows.length && !performance.getEntriesByName('first rows').length) performance.mark('first rows');
	}, [rows.length > 0]);
	const move = (event) => {
		const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
		if (!step || event.target.tagName !== 'TR') return;
		event.preventDefault();
		const all = [...body.current.querySelectorAll('tr[tabindex]')];
		all[all.indexOf(document.activeElement) + step]?.focus();
	};
	return (
		<div class={`scroll ${cls}`}>
			<table class="rows">
				<thead><tr>{head.map((name, i) => (MARKS[name[0]] ? <th key={i} class={MARKS[name[0]]}>{name.slice(1)}</th> : <th key={i}>{name}</th>))}</tr></thead>
				<tbody ref={body} onKeyDown={move}>
					{rows.length === 0 && <tr class="empty"><td colSpan={head.length}>{empty}</td></tr>}
					{rows.map((row, i) => (
						<tr
							key={id(row, i)}
							tabIndex={0}
							class={selected === id(row, i) ? 'selected' : ''}
							onClick={(event) => !event.target.closest('button, a, input') && onOpen?.(row)}
							onKeyDown={(event) => event.key === 'Enter' && event.target.tagName === 'TR' && onOpen?.(row)}
						>
							{render(row)}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

// A list that continues where its service says: pages forward and back, never more than one in memory.
export function usePages(load, deps) {
	const [markers, setMarkers] = useState(['']);
	const key = JSON.stringify(deps);
	const last = useRef(key);
	let current = markers;
	if (last.current !== key) {
		last.current = key;
		current = [''];
		setMarkers(current);
	}
	const marker = current[current.length - 1];
	const state = useLoad(() => load(marker), [key, marker]);
	return {
		...state,
		page: current.length,
		next: state.value?.next ? () => setMarkers([...current, state.value.next]) : null,
		back: current.length > 1 ? () => setMarkers(current.slice(0, -1)) : null,
	};
}
export function Pager({ pages, shown }) {
	return (
		<div class="pager">
			<button type="button" disabled={!pages.back} onClick={pages.back}>← Back</button>
			<span>Page {pages.page}{shown !== undefined && `, ${shown} shown`}{pages.loading && ' …'}</span>
			<button type="button" disabled={!pages.next} onClick={pages.next}>More →</button>
		</div>
	);
}

// Names and values that can be changed.
export function PairEditor({ pairs, onChange }) {
	const change = (i, at, value) => onChange(pairs.map((pair, k) => (k === i ? pair.map((old, n) => (n === at ? value : old)) : pair)));
	return (
		<div class="editor">
			{pairs.map((pair, i) => (
				<div key={i}>
					<input aria-label="name" value={pair[0]} onInput={(e) => change(i, 0, e.currentTarget.value)} placeholder="name" />
					<input aria-label="value" value={pair[1]} onInput={(e) => change(i, 1, e.currentTarget.value)} placeholder="value" />
					<button type="button" class="plain" aria-label="remove" onClick={() => onChange(pairs.filter((_, k) => k !== i))}>✕</button>
				</div>
			))}
			<button type="button" class="small" onClick={() => onChange([...pairs, ['', '']])}>Add one</button>
		</div>
	);
}

// Somebody else was first: both sides, and the choice.
export function Conflict({ mine, theirs, onKeep, onOverwrite }) {
	const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].sort();
	const of = (side, name) => (Object.hasOwn(side, name) ? side[name] : undefined);
	return (
		<Dialog title="Somebody else changed it first" onClose={onKeep} wide>
			<p>Your change was made on an older state and was refused (412, the condition was not met). Nothing is lost: choose.</p>
			<table class="rows conflict">
				<thead><tr><th></th><th>theirs, stored now</th><th>yours</th></tr></thead>
				<tbody>
					{names.map((name) => (
						<tr key={name} class={of(mine, name) !== of(theirs, name) ? 'differs' : ''}>
							<td>{name}</td><td><code>{of(theirs, name) ?? '—'}</code></td><td><code>{of(mine, name) ?? '—'}</code></td>
						</tr>
					))}
				</tbody>
			</table>
			<footer>
				<button type="button" onClick={onKeep}>Keep theirs</button>
				<Act kind="danger" onClick={onOverwrite}>Overwrite with mine</Act>
			</footer>
		</Dialog>
	);
}

// ---- questions that come before something is done ----

let pushQuestion = () => {};
// Shows the one question that is open. It is answered by a button, by Enter, or by Escape, which is a no.
export function Questions() {
	const [open, set] = useState(null);
	pushQuestion = set;
	if (!open) return null;
	const answer = (value) => { set(null); open.resolve(value); };
	const submit = (event) => {
		event.preventDefault();
		const given = new FormData(event.currentTarget).get('answer');
		answer(open.label ? given.trim() || null : true);
	};
	return (
		<Dialog title={open.title} onClose={() => answer(null)}>
			<form onSubmit={submit}>
				{open.text && <p>{open.text}</p>}
				{open.label && <label>{open.label} <input name="answer" autofocus required autocomplete="off" spellcheck={false} pattern={open.pattern} title={open.hint} /></label>}
				{open.hint && <p class="quiet">{open.hint}</p>}
				<footer>
					<button type="button" onClick={() => answer(null)}>Cancel</button>
					<button type="submit" class={open.kind ?? 'primary'} autofocus={!open.label}>{open.action}</button>
				</footer>
			</form>
		</Dialog>
	);
}
const ask = (question) => new Promise((resolve) => pushQuestion({ ...question, resolve }));
// Does somebody really want this? `action` is what the button says.
export const confirmed = async (title, { text, action = 'Delete', kind = 'danger' } = {}) => Boolean(await ask({ title, text, action, kind }));
// What names of containers, queues and shares are like, and how to say it.
export const RESOURCE_NAME = { pattern: '[a-z0-9](-?[a-z0-9]){2,62}', hint: '3 to 63 lower-case letters, digits and single hyphens; a letter or digit first and last.' };
// A name, or null. `pattern` and `hint`: what names are like.
export const named = (title, { label = 'Name', action = 'Create', ...more } = {}) => ask({ title, label, action, ...more });

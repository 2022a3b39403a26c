// SPDX-License-Identifier: Apache-2.0
// The frame around the views: who is signed in, where one is, the keyboard, light and dark.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ask, isReadOnly, isSignedIn, login, logout, setReadOnly, whenLoginNeeded } from './api.js';
import { commandJson } from './commands.js';
import { count, duration } from './format.js';
import { go, link, useRoute } from './router.js';
import { Dialog, Problem, Questions, Toasts } from './ui.jsx';
import { startSampling } from './samples.js';
import { views } from './views/index.js';

function Login({ onDone }) {
	const [error, setError] = useState();
	const submit = async (event) => {
		event.preventDefault();
		const form = new FormData(event.currentTarget);
		try {
			await login(form.get('token') ? { token: form.get('token') } : { account: form.get('account'), key: form.get('key') });
			onDone();
		} catch (problem) {
			setError(problem);
		}
	};
	return (
		<main class="login">
			<form class="card" onSubmit={submit}>
				<h1>Zaffre explorer</h1>
				<p>Sign in with an account and one of its keys, or with the admin token of this server.</p>
				<label>Account <input name="account" autocomplete="username" /></label>
				<label>Key <input name="key" type="password" autocomplete="current-password" /></label>
				<label>or admin token <input name="token" type="password" autocomplete="off" /></label>
				<Problem error={error} />
				<button type="submit" class="primary">Sign in</button>
			</form>
		</main>
	);
}

const KEYS = [
	['g, then a letter', 'go to the view with that letter underlined'],
	['/', 'to the filter of this view'],
	['j, k or arrows, Enter', 'walk the rows, open one'],
	['r', 'load again'],
	['← →', 'from tab to tab'],
	['Esc', 'close what is open'],
	['?', 'this list'],
];

function useKeyboard(overview, setHelp) {
	useEffect(() => {
		let waiting = false;
		const pressed = (event) => {
			if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select, dialog')) return;
			if (waiting) {
				waiting = false;
				const view = views.find((one) => one.key === event.key && one.shown(overview));
				if (view) go(view.id);
				return;
			}
			if (event.key === 'g') {
				waiting = true;
				setTimeout(() => (waiting = false), 1500);
			} else if (event.key === '/') {
				const filter = document.querySelector('[data-filter]');
				if (filter) {
					event.preventDefault();
					filter.focus();
				}
			} else if (event.key === '?') setHelp(true);
			else if (event.key === 'r') document.querySelector('[data-reload]')?.click();
			else if (event.key === 'Escape') document.querySelector('[data-close]')?.click();
		};
		addEventListener('keydown', pressed);
		return () => removeEventListener('keydown', pressed);
	}, [overview]);
}

function Theme() {
	const [theme, set] = useState(localStorage.getItem('zaffre.theme') ?? 'auto');
	useEffect(() => {
		document.documentElement.dataset.theme = theme;
		localStorage.setItem('zaffre.theme', theme);
	}, [theme]);
	const next = { auto: 'light', light: 'dark', dark: 'auto' };
	return <button type="button" class="plain" title="light, dark, or as the system has it" onClick={() => set(next[theme])}>{{ auto: '◐ auto', light: '☀ light', dark: '☾ dark' }[theme]}</button>;
}

// What is wrong beside what the overview says: what somebody switched on for a test and may have forgotten, and what a scrub found.
async function moreWarnings(overview) {
	const found = [];
	if (overview.mode === 'development') {
		const kit = await ask('/test');
		if (kit.faults.length) found.push(`Requests fail on purpose: ${kit.faults.length === 1 ? 'a rule' : `${kit.faults.length} rules`} of the test kit.`);
		if (kit.advancedSeconds) found.push(`The clock of this server runs ${duration(kit.advancedSeconds * 1000)} ahead of the machine (test kit).`);
	}
	if (overview.scope === '*') {
		const scrub = await commandJson('/scrub/progress');
		if (scrub.damaged) found.push(`The last scrub found damage: ${count(scrub.damaged)} in all. Operate has what it found.`);
	}
	return found;
}

function App() {
	const route = useRoute();
	const [overview, setOverview] = useState();
	const [error, setError] = useState();
	const [needsLogin, setNeedsLogin] = useState(false);
	const [help, setHelp] = useState(false);
	const [readOnly, setLocalReadOnly] = useState(isReadOnly());
	whenLoginNeeded(() => setNeedsLogin(true));
	const load = async () => {
		try {
			const found = await ask('/api/overview');
			setOverview((old) => ({ ...found, warnings: [...found.warnings, ...(old?.more ?? [])], more: old?.more }));
			setError(undefined);
			setNeedsLogin(false);
			startSampling();
			const more = await moreWarnings(found).catch(() => []);
			setOverview({ ...found, warnings: [...found.warnings, ...more], more });
		} catch (problem) {
			setError(problem);
		}
	};
	useEffect(() => {
		load();
		const timer = setInterval(load, 15_000);
		return () => clearInterval(timer);
	}, []);
	useKeyboard(overview, setHelp);
	if (needsLogin) return <Login onDone={load} />;
	if (!overview) return <main class="login">{error ? <Problem error={error} /> : <p class="quiet">Loading …</p>}</main>;
	if (overview.readOnly && !isReadOnly()) setReadOnly(true);
	const view = views.find((one) => one.id === route.view && one.shown(overview)) ?? views[0];
	const account = overview.accounts.find((one) => one.name === route.parts[0])?.name ?? overview.accounts[0].name;
	document.title = [route.parts[1] ?? (overview.accounts.length > 1 && view.byAccount ? account : ''), view.title, 'Zaffre'].filter(Boolean).join(' · ');
	return (
		<div class="frame">
			<nav>
				<a class="brand" href="#/home"><img src="./icon.svg" alt="" width="26" height="26" /> Zaffre</a>
				{views.filter((one) => one.shown(overview)).map((one) => (
					<a key={one.id} href={link(one.id, one.byAccount ? [account] : [])} aria-current={one === view ? 'page' : undefined}>
						<span class="glyph" aria-hidden="true">{one.glyph}</span>
						<span>{mark(one.title, one.key)}</span>
					</a>
				))}
				{overview.accounts.length > 1 && (
					<label class="account">Account
						<select aria-label="Account" value={account} onChange={(event) => go(view.byAccount ? view.id : 'blobs', [event.currentTarget.value])}>{overview.accounts.map((one) => <option key={one.name}>{one.name}</option>)}</select>
					</label>
				)}
				<div class="foot">
					<label class="switch">
						<input
							type="checkbox"
							checked={readOnly || overview.readOnly}
							disabled={overview.readOnly}
							onChange={(event) => {
								setReadOnly(event.currentTarget.checked);
								setLocalReadOnly(event.currentTarget.checked);
							}}
						/>
						read-only
					</label>
					<Theme />
					<button type="button" class="plain" onClick={() => setHelp(true)}>⌨ keys</button>
					{isSignedIn() && <button type="button" class="plain" onClick={() => { logout(); location.reload(); }}>⏻ sign out</button>}
					<span class="quiet">{overview.version} · {overview.mode}</span>
				</div>
			</nav>
			<main key={readOnly}>
				{error && <Problem error={error} />}
				{overview.warnings.map((warning) => <div key={warning} class="problem" role="alert">{warning}</div>)}
				<view.view key={view.id + account} route={route} account={account} overview={overview} reloadOverview={load} />
			</main>
			{help && (
				<Dialog title="Keys" onClose={() => setHelp(false)}>
					<dl class="pairs">{KEYS.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}</dl>
				</Dialog>
			)}
			<Questions />
			<Toasts />
		</div>
	);
}

function mark(title, key) {
	const at = title.toLowerCase().indexOf(key);
	return at < 0 ? title : <>{title.slice(0, at)}<u>{title[at]}</u>{title.slice(at + 1)}</>;
}

render(<App />, document.getElementById('app'));

// SPDX-License-Identifier: Apache-2.0
// The test kit of development mode: time runs ahead, requests fail on purpose, everything goes, states come back.
import { useState } from 'preact/hooks';
import { ask, isReadOnly, query } from '../api.js';
import { duration, when } from '../format.js';
import { Act, Pairs, Problem, Rows, attempt, confirmed, useLoad } from '../ui.jsx';

const STEPS = [['15 s', 15], ['1 min', 60], ['10 min', 600], ['1 h', 3600], ['1 day', 86400], ['1 week', 7 * 86400]];
const ACTIONS = [['busy', '503 with Retry-After'], ['error', '500'], ['delay', 'a late answer'], ['reset', 'done, then the connection is reset'], ['truncate', 'done, and half an answer']];
// The slider is logarithmic: a second at one end, a month at the other.
const seconds = (position) => Math.round(Math.exp((position / 100) * Math.log(30 * 86400)));

function Clock({ state, run }) {
	const [position, set] = useState(30);
	return (
		<section class="card">
			<h2>Clock</h2>
			<Pairs pairs={[['Server time', when(state.now)], ['Ahead of the machine', state.advancedSeconds ? duration(state.advancedSeconds * 1000) : 'not at all']]} />
			<div class="buttons">{STEPS.map(([label, n]) => <Act key={n} onClick={() => run('clock', { advance: n }, `${label} later`)}>+ {label}</Act>)}</div>
			<label>
				<input type="range" min="0" max="100" value={position} onInput={(e) => set(Number(e.currentTarget.value))} aria-label="how far" />
				<Act kind="primary" onClick={() => run('clock', { advance: seconds(position) }, 'Moved')}>+ {duration(seconds(position) * 1000)}</Act>
			</label>
			<p class="quiet">Leases, visibility, time to live, SAS and retention follow it; the age of a request's own date does not. Time runs forward only.</p>
		</section>
	);
}

function Faults({ state, run }) {
	const [rule, set] = useState({ action: 'busy', operation: '', rate: '1', count: '', delayMs: '', retryAfter: '' });
	const field = (name, label, extra = {}) => <label>{label} <input value={rule[name]} onInput={(e) => set({ ...rule, [name]: e.currentTarget.value })} {...extra} /></label>;
	return (
		<section class="card">
			<h2>Faults</h2>
			<Rows
				cls="short"
				head={['What', 'Operation', '#Rate', '#Left', '#Hits']}
				rows={state.faults}
				empty="No rules: everything works."
				id={(_, i) => i}
				render={(one) => <><td><span class="tag bad">{one.action}</span>{one.delayMs > 0 && ` ${one.delayMs} ms`}</td><td>{one.operation || 'every one'}</td><td class="number">{one.rate}</td><td class="number">{one.left ?? 'for ever'}</td><td class="number">{one.hits}</td></>}
			/>
			<div class="formrow">
				<label>What <select value={rule.action} onChange={(e) => set({ ...rule, action: e.currentTarget.value })}>{ACTIONS.map(([id, label]) => <option key={id} value={id}>{label}</option>)}</select></label>
				{field('operation', 'Operation', { placeholder: 'every one, or BLOB_PUT, QUEUE_*' })}
				{field('rate', 'Rate 0 to 1', { type: 'number', min: 0, max: 1, step: 0.05 })}
				{field('count', 'Times', { type: 'number', min: 1, placeholder: 'for ever' })}
				{field('delayMs', 'Delay, ms', { type: 'number', min: 0 })}
			</div>
			<footer>
				<Act kind="primary" onClick={() => run('faults', Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== '')), 'Added')}>Add rule</Act>
				<Act onClick={() => run('faults', {}, 'All rules are gone', 'DELETE')}>Remove all</Act>
			</footer>
		</section>
	);
}

export function TestKit({ overview, reloadOverview }) {
	const loaded = useLoad(() => ask('/test'), []);
	const [name, setName] = useState('');
	const run = async (what, parameters, done, method = 'POST') => {
		if (isReadOnly()) return;
		if (await attempt(() => ask(`/test/${what}?${query(parameters)}`, { method }), done)) {
			loaded.reload();
			reloadOverview(); // which says that something is switched on
		}
	};
	const state = loaded.value;
	return (
		<>
			<header class="bar"><h1>Test kit</h1><button type="button" data-reload onClick={loaded.reload}>Reload</button></header>
			<Problem error={loaded.error} />
			{state && (
				<>
					<div class="grid two">
						<Clock state={state} run={run} />
						<section class="card">
							<h2>Data</h2>
							<p>Everything of an account goes at once; the account stays.</p>
							<div class="buttons">
								{overview.accounts.map((one) => <Act key={one.name} kind="danger" onClick={async () => (await confirmed(`Empty ${one.name}?`, { text: 'Its containers, queues, tables and shares go with everything in them.', action: 'Empty it' })) && run('reset', { account: one.name }, `${one.name} is empty`)}>Reset {one.name}</Act>)}
							</div>
							<h3>Named states</h3>
							{state.states ? (
								<>
									<div class="buttons">{state.states.map((one) => <Act key={one} onClick={async () => (await confirmed(`Go back to ${one}?`, { text: 'What changed since is lost.', action: 'Go back' })) && run('restore', { name: one }, `As it was at ${one}`)}>Restore {one}</Act>)}{!state.states.length && <span class="quiet">None saved.</span>}</div>
									<label><input value={name} onInput={(e) => setName(e.currentTarget.value)} placeholder="name" aria-label="name of the state" /> <Act disabled={!name} onClick={() => run('save', { name }, 'Saved')}>Save this state</Act></label>
								</>
							) : <p class="quiet">States are saved by a server that was started with <code>--inMemoryPersistence</code>.</p>}
						</section>
					</div>
					<Faults state={state} run={run} />
				</>
			)}
		</>
	);
}

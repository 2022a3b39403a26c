// SPDX-License-Identifier: Apache-2.0
// What happens right now: requests as they come, who holds which lease, who lost which race, and charts of the last fifteen minutes.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask } from '../api.js';
import { Chart } from '../chart.jsx';
import { curlOf } from '../curl.js';
import { ago, count, plainPath } from '../format.js';
import { go, link } from '../router.js';
import { current, onSample } from '../samples.js';
import { Copy, Pairs, Problem, Rows, Tabs, tabOf, useLoad } from '../ui.jsx';
import { endpointOf } from './home.jsx';
import { LeaseList } from './leases.jsx';

const KEEP = 400;

// The newest ones, and as many that the filter wants: a rare one does not go with a flood of others.
function newest(all, matches) {
	let those = KEEP, others = KEEP;
	return all.filter((one) => (matches(one) ? those-- > 0 : others-- > 0));
}

function useRequests(paused, matches) {
	const wanted = useRef();
	wanted.current = matches;
	const [list, set] = useState([]);
	const [error, setError] = useState();
	const since = useRef(0);
	useEffect(() => {
		if (paused) return undefined;
		let stopped = false;
		const poll = async () => {
			try {
				const answer = await ask(`/api/requests?since=${since.current}`);
				since.current = answer.next;
				const fresh = answer.requests.filter((one) => one.auth !== 'explorer' && one.service !== 'admin').reverse();
				if (!stopped && fresh.length) set((old) => newest([...fresh, ...old], wanted.current));
				setError(undefined);
			} catch (problem) {
				setError(problem);
			}
			if (!stopped) setTimeout(poll, 1000);
		};
		poll();
		return () => (stopped = true);
	}, [paused]);
	return { list, error };
}

const tone = (status) => (status >= 500 ? 'bad' : status === 409 || status === 412 ? 'warn' : status >= 400 ? 'bad' : 'good');

function Requests({ overview, account, params }) {
	const [paused, setPaused] = useState(false);
	const [filter, setFilter] = useState(params.filter ?? '');
	const [status, setStatus] = useState(params.status ?? '');
	// A link to what is shown, without a step back for every letter.
	useEffect(() => history.replaceState(null, '', link('live', [account], { tab: 'requests', filter, status })), [filter, status]);
	const [one, setOne] = useState(null); // that is looked at: it stays when the list has gone on
	const matches = useMemo(() => {
		const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
		return (one) => {
			const text = `${one.op} ${one.status} ${one.account} ${one.error ?? ''} ${one.path} ${plainPath(one.path)} ${one.client_id ?? ''}`.toLowerCase();
			return words.every((word) => text.includes(word)) && (!status || (status === 'conflict' ? [409, 412].includes(one.status) : String(one.status)[0] === status));
		};
	}, [filter, status]);
	const { list, error } = useRequests(paused, matches);
	const shown = useMemo(() => list.filter(matches), [list, matches]);
	return (
		<>
			<div class="bar">
				<div class="filter"><input data-filter placeholder="operation, status, account, path …" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} /></div>
				<select aria-label="status" value={status} onChange={(e) => setStatus(e.currentTarget.value)}>
					<option value="">every status</option><option value="2">2xx</option><option value="4">4xx</option><option value="5">5xx</option><option value="conflict">409 and 412</option>
				</select>
				<button type="button" onClick={() => setPaused(!paused)}>{paused ? 'Go on' : 'Pause'}</button>
			</div>
			<Problem error={error} />
			<div class="split">
				<div>
					<Rows
						cls="short"
						head={['Time', 'Operation', 'Status', 'Path', '#µs']}
						rows={shown.slice(0, 200)}
						empty={list.length ? 'Nothing that fits the filter, so far.' : 'Nothing yet. Requests of this page are left out.'}
						id={(item) => item.id}
						selected={one?.id}
						onOpen={setOne}
						render={(item) => (
							<>
								<td>{item.time.slice(11, 23)}</td>
								<td>{item.op}</td>
								<td class="status" title={item.error}><span class={`tag ${tone(item.status)}`}>{item.status} {item.error}</span></td>
								<td class="main" title={item.path}><code>{plainPath(item.path)}</code></td>
								<td class="number">{count(item.us)}</td>
							</>
						)}
					/>
				</div>
				{one && (
					<aside class="panel">
						<header><h2>{one.op}</h2><Copy value={() => curlOf(one, endpointOf(overview, one.service), new Date(overview.now).getTime())} label="Copy as curl" /><button type="button" class="plain" data-close aria-label="Close" onClick={() => setOne(null)}>✕</button></header>
						<Pairs
							pairs={[
								['Status', <span class={`tag ${tone(one.status)}`}>{one.status} {one.error}</span>],
								['Reason', one.reason], ['Time', one.time], ['Took', `${count(one.us)} µs`], ['Account', one.account], ['By', one.auth], ['From', one.ip],
								['Request id', <code>{one.id}</code>], ['Client id', one.client_id && <code>{one.client_id}</code>], ['Plan', one.note],
								['Bytes', `${count(one.in)} in, ${count(one.out)} out`], ['Path', <code>{one.method} {one.path}</code>],
							]}
						/>
						<h3>Headers</h3>
						<Pairs pairs={Object.entries(one.headers ?? {}).map(([name, value]) => [name, <code>{value}</code>])} />
					</aside>
				)}
			</div>
		</>
	);
}

function Leases({ overview, account }) {
	const others = overview.accounts.filter((one) => one.name !== account);
	return (
		<>
			<LeaseList account={account} />
			<p class="quiet">Account {account}{others.length > 0 && <>; others: {others.map((one) => <a key={one.name} href={link('live', [one.name], { tab: 'leases' })}>{one.name} </a>)}</>}</p>
		</>
	);
}

function Conflicts() {
	const loaded = useLoad(() => ask('/conflicts'), []);
	useEffect(() => {
		const timer = setInterval(loaded.reload, 2000);
		return () => clearInterval(timer);
	}, [loaded.reload]);
	const groups = useMemo(() => {
		const found = new Map();
		for (const one of loaded.value ?? []) {
			const key = `${one.account}/${one.object}\n${one.error}`;
			const group = found.get(key) ?? { key, ...one, times: 0, clients: new Set() };
			group.times++;
			if (one.client_request_id) group.clients.add(one.client_request_id);
			found.set(key, group);
		}
		return [...found.values()].sort((a, b) => b.times - a.times);
	}, [loaded.value]);
	return (
		<>
			<Problem error={loaded.error} />
			<Rows
				cls="short"
				head={['Object', 'Kind', '#Lost', 'Operation', 'Last', 'By']}
				rows={groups}
				empty={loaded.loading ? 'Loading …' : 'Nobody lost a race yet.'}
				id={(one) => one.key}
				render={(one) => (
					<>
						<td class="main" title={plainPath(one.object)}>{one.account}{plainPath(one.object)}</td>
						<td><span class="tag warn">{one.status} {one.error}</span></td>
						<td class="number">{one.times}</td>
						<td>{one.operation}</td>
						<td>{ago(one.time)}</td>
						<td><code title={[...one.clients].slice(0, 20).join('\n')}>{[...one.clients][0]?.slice(0, 8)}{one.clients.size > 1 && ` +${one.clients.size - 1}`}</code></td>
					</>
				)}
			/>
			<p class="quiet">The newest refusals by 409 and 412, grouped by object and kind: optimistic writers that were second, and who met a lease.</p>
		</>
	);
}

function Figures() {
	const [, redraw] = useState(0);
	useEffect(() => onSample(() => redraw((n) => n + 1)), []);
	const now = current;
	const figure = (value, digits = 0) => (value === null || value === undefined ? '–' : value.toFixed(digits));
	return (
		<div class="figures large">
			<span><b>{figure(now?.rate)}</b> requests/s</span>
			<span><b>{figure(now?.p50, 2)}</b> ms p50</span>
			<span><b>{figure(now?.p99, 2)}</b> ms p99</span>
			<span><b>{figure(now?.commits)}</b> commits/s</span>
			<span><b>{figure(now?.sync, 2)}</b> ms a sync</span>
			<span><b>{figure(now?.group, 1)}</b> in a group</span>
			<span><b>{figure(now?.conflicts, 1)}</b> conflicts/s</span>
			<span><b>{figure(now?.connections)}</b> connections</span>
		</div>
	);
}

const TABS = [['requests', 'Requests'], ['leases', 'Leases'], ['conflicts', 'Conflicts']];

// In a low window they leave little room for the rows below: who folds them finds them folded next time.
function Charts() {
	const [open, setOpen] = useState(localStorage.getItem('zaffre.charts') !== 'folded');
	const toggled = (event) => {
		setOpen(event.currentTarget.open);
		localStorage.setItem('zaffre.charts', event.currentTarget.open ? 'open' : 'folded');
	};
	return (
		<details class="fold" open={open} onToggle={toggled}>
			<summary>Charts of the last fifteen minutes</summary>
			{open && (
				<div class="charts">
					<Chart title="Requests a second" lines={[['rate', 'all', '--accent', '--accent-soft'], ['errors', 'errors', '--bad'], ['conflicts', 'conflicts', '--warn']]} />
					<Chart title="Latency, ms" lines={[['p50', 'p50', '--good'], ['p95', 'p95', '--accent'], ['p99', 'p99', '--bad']]} />
					<Chart title="Commits a second" lines={[['commits', 'transactions', '--accent', '--accent-soft']]} />
					<Chart title="Transactions a sync" lines={[['group', 'group size', '--good']]} />
					<Chart title="Time of a sync, ms" lines={[['sync', 'sync', '--warn']]} />
					<Chart title="Written a second, MiB" lines={[['written', 'written', '--accent', '--accent-soft']]} />
				</div>
			)}
		</details>
	);
}

export function Live({ route, account, overview }) {
	const tab = tabOf(TABS, route.params.tab);
	return (
		<>
			<header class="bar"><h1>Live</h1><Figures /></header>
			<Charts />
			<Tabs tabs={TABS} value={tab} onChange={(id) => go('live', [account], { tab: id })} />
			{tab === 'requests' && <Requests key={JSON.stringify([route.params.filter, route.params.status])} overview={overview} account={account} params={route.params} />}
			{tab === 'leases' && <Leases overview={overview} account={account} />}
			{tab === 'conflicts' && <Conflicts />}
		</>
	);
}

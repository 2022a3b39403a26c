// SPDX-License-Identifier: Apache-2.0
// What an operator does with a running server: its accounts with keys and limits, checkpoints, scrub, by the commands that the unix
// socket takes, too.
import { useState } from 'preact/hooks';
import { ask } from '../api.js';
import { command } from '../commands.js';
import { ago, bytes, count, duration, when } from '../format.js';
import { Act, Copy, Dialog, Pairs, Problem, Rows, attempt, confirmed, named, useLoad } from '../ui.jsx';
import { Checkpoints, Scrub } from './jobs.jsx';
import { LimitsDialog } from './limits.jsx';

// What an account forbids, in words.
function limits(l) {
	if (!l) return <span class="quiet">none</span>;
	const rate = (value, what) => value > 0 && `${what} a second`;
	return [
		!l.sharedKey && 'no shared key', !l.publicAccess && 'no public access', l.addressRanges && `${l.addressRanges} address ranges`, l.sasMaxHours && `SAS of ${l.sasMaxHours} h at most`,
		rate(l.requestsPerSecond, `${count(l.requestsPerSecond ?? 0)} requests`), rate(l.ingressPerSecond, `${bytes(l.ingressPerSecond ?? 0)} in`), rate(l.egressPerSecond, `${bytes(l.egressPerSecond ?? 0)} out`),
		l.containersWithQuota && `${l.containersWithQuota} containers with a quota`,
	].filter(Boolean).join(', ') || 'none';
}

// Text of a command as it came: keys are shown once, here.
function Answer({ answer, onClose }) {
	return (
		<Dialog title={answer.status < 300 ? 'Done' : 'Refused'} onClose={onClose}>
			<pre class="content">{answer.text}</pre>
			<footer><Copy value={answer.text} /><button type="button" onClick={onClose}>Close</button></footer>
		</Dialog>
	);
}

export function Operate({ overview, reloadOverview }) {
	const [answer, setAnswer] = useState(null);
	const [limited, setLimited] = useState(null);
	const list = useLoad(() => command('/account/list'), []);
	const stats = useLoad(() => ask('/stats'), []);
	const run = async (path, parameters) => {
		const got = await attempt(() => command(path, parameters));
		if (got) {
			setAnswer(got);
			list.reload();
			reloadOverview();
		}
	};
	const lines = (list.value?.status === 200 ? list.value.text : '').split('\n').filter(Boolean);
	return (
		<>
			<header class="bar"><h1>Operate</h1><button type="button" data-reload onClick={() => { list.reload(); stats.reload(); }}>Reload</button></header>
			<section class="card">
				<header>
					<h2>Accounts</h2>
					<Act kind="primary" onClick={async () => { const name = await named('New account', { pattern: '[a-z0-9]{3,24}', hint: '3 to 24 lower-case letters and digits.' }); if (name) run('/account/add', { name }); }}>Add account</Act>
				</header>
				<Problem error={list.error} />
				{list.value && list.value.status !== 200 && <p class="quiet">{list.value.text}</p>}
				<Rows
					cls="short"
					head={['Account', 'Keys', 'Limits', '']}
					rows={overview.accounts}
					id={(one) => one.name}
					render={(one) => (
						<>
							<td><b>{one.name}</b></td>
							<td class="wrap quiet">{lines.find((line) => line.split(/\s/)[0] === one.name)?.slice(one.name.length)}</td>
							<td class="wrap">{limits(one.limits)}</td>
							<td class="actions">
								<button type="button" class="small" onClick={() => setLimited(one.name)}>Limits</button>{' '}
								<Act kind="small" onClick={async () => (await confirmed(`Make a new key 1 for ${one.name}?`, { text: 'Whoever uses the old one is refused at once.', action: 'Make a new key' })) && run('/account/rotate', { name: one.name, key: 'key1' })} title="a new key 1">Rotate key 1</Act>{' '}
								<Act kind="small" onClick={async () => (await confirmed(`Make a new key 2 for ${one.name}?`, { text: 'Whoever uses the old one is refused at once.', action: 'Make a new key' })) && run('/account/rotate', { name: one.name, key: 'key2' })}>Rotate key 2</Act>{' '}
								<Act kind="small" onClick={async () => (await confirmed(`Remove the account ${one.name}?`, { text: 'Its data stays on disk and is not reachable.', action: 'Remove it' })) && run('/account/remove', { name: one.name })}>Remove</Act>
							</td>
						</>
					)}
				/>
				<p class="quiet">New keys are shown once, when they are made.</p>
			</section>
			<div class="grid two">
				<section class="card">
					<h2>Disk</h2>
					<Pairs pairs={[...(overview.diskTotal ? [['Directory', <code>{overview.directory}</code>], ['Free', `${bytes(overview.diskFree)} of ${bytes(overview.diskTotal)}`], ['In segment files', bytes(overview.liveBytes)]] : [['Directory', 'none: everything is in memory']]), ['Certificate', overview.certificateEnds ? `ends ${when(overview.certificateEnds)} (${ago(overview.certificateEnds)})` : 'none: plain HTTP'], ['To be used again', overview.diskTotal && stats.value ? bytes(stats.value.extent_free_bytes) : null]]} />
				</section>
				<section class="card">
					<h2>Process</h2>
					<Pairs pairs={[['Version', overview.version], ['Mode', overview.mode], ['Running for', duration(overview.upSeconds * 1000)], ...[['Requests', 'requests'], ['Connections', 'connections'], ['Commit groups', 'commit_groups'], ['Transactions', 'transactions']].map(([words, name]) => [words, stats.value && count(stats.value[name])])]} />
				</section>
			</div>
			{overview.diskTotal > 0 && (
				<div class="grid two">
					<Checkpoints overview={overview} />
					<Scrub />
				</div>
			)}
			{limited && <LimitsDialog account={limited} onClose={() => { setLimited(null); reloadOverview(); }} />}
			{answer && <Answer answer={answer} onClose={() => setAnswer(null)} />}
		</>
	);
}

// SPDX-License-Identifier: Apache-2.0
// What the server does beside requests when somebody asks for it, with progress and an end at any moment: checkpoints in its own
// directory, and a scrub that reads every row and byte while it serves.
import { useEffect, useState } from 'preact/hooks';
import { commandJson } from '../commands.js';
import { ago, bytes, count, duration, when } from '../format.js';
import { Act, Copy, Pairs, Problem, Rows, attempt, confirmed, useLoad } from '../ui.jsx';

const TONES = { running: '', done: 'good', cancelled: 'warn', failed: 'bad' };

// The state of a job, asked again every second while it runs.
function useJob(path) {
	const loaded = useLoad(() => commandJson(`/${path}/progress`), [path]);
	const running = loaded.value?.state === 'running';
	useEffect(() => {
		const timer = setInterval(loaded.reload, running ? 700 : 10_000);
		return () => clearInterval(timer);
	}, [running, loaded.reload]);
	const run = async (what, parameters, done) => {
		if (await attempt(() => commandJson(`/${path}/${what}`, parameters), done)) loaded.reload();
	};
	return { ...loaded, running, run };
}

function Progress({ job, title, children }) {
	const state = job.value;
	if (!state || state.state === 'none') return null;
	return (
		<div class="job" data-state={state.state}>
			<div class="line"><span class={`tag first ${TONES[state.state]}`}>{state.state}</span> {title} <b class="percent">{state.percent} %</b></div>
			<progress max="100" value={state.percent} />
			<div class="quiet">{children}</div>
			{state.reason && <Problem error={{ code: 'Reason', message: state.reason }} />}
		</div>
	);
}

const nameNow = () => new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');

export function Checkpoints({ overview }) {
	const job = useJob('checkpoint');
	const [name, setName] = useState(nameNow);
	const state = job.value;
	const list = useLoad(async () => (await commandJson('/checkpoint/list')).checkpoints.sort((a, b) => b.seconds - a.seconds || (a.name < b.name ? 1 : -1)), [state?.state, state?.name]);
	const start = async () => {
		await job.run('start', { name, previous: list.value?.[0]?.name }, `Checkpoint ${name} began`);
		setName(nameNow());
	};
	const folder = `${overview.directory}/checkpoints`;
	const elsewhere = `zaffre checkpoint /backup/monday --location ${overview.directory}\nzaffre checkpoint /backup/tuesday /backup/monday --location ${overview.directory}\nzaffre restore /backup/tuesday --location /another/directory`;
	return (
		<section class="card">
			<h2>Checkpoints</h2>
			<p class="quiet">One moment of the store while it is being written to, in <code>{folder}</code>. Each shares what did not change with the one before. They guard against mistakes, not against a broken disk: copy one away, or make it elsewhere with the commands below.</p>
			<Problem error={job.error ?? list.error} />
			<div class="inline">
				<input aria-label="name of the checkpoint" value={name} onInput={(e) => setName(e.currentTarget.value)} disabled={job.running} />
				<Act kind="primary" disabled={job.running || !name} onClick={start}>Make a checkpoint</Act>
				{job.running && <Act onClick={() => job.run('cancel')}>Cancel</Act>}
			</div>
			<Progress job={job} title={state?.name}>{bytes(state?.copiedBytes)} copied, {bytes(state?.sharedBytes)} shared, {duration((state?.seconds ?? 0) * 1000)}</Progress>
			<Rows
				cls="short"
				head={['Checkpoint', 'Made', '']}
				rows={list.value ?? []}
				empty={list.value ? 'None yet.' : 'Loading …'}
				id={(one) => one.name}
				render={(one) => (
					<>
						<td class="main" title={one.name}><code>{one.name}</code></td>
						<td title={when(one.seconds * 1000)}>{ago(one.seconds * 1000)}</td>
						<td class="actions">
							<Copy label="Copy restore" value={`zaffre restore ${folder}/${one.name} --location /another/directory`} />{' '}
							<Act kind="small" onClick={async () => { if (await confirmed(`Remove the checkpoint ${one.name}?`, { action: 'Remove it' })) job.run('remove', { name: one.name }, 'Removed').then(list.reload); }}>Remove</Act>
						</td>
					</>
				)}
			/>
			<div class="snippet"><pre>{elsewhere}</pre><Copy value={elsewhere} /></div>
		</section>
	);
}

export function Scrub() {
	const job = useJob('scrub');
	const [rate, setRate] = useState('64');
	const state = job.value;
	return (
		<section class="card">
			<h2>Scrub</h2>
			<p class="quiet">Reads every row and every byte of a moment of the store while it serves, and compares checksums and what rows say of each other. At most so many MB a second (0: as fast as it can).</p>
			<Problem error={job.error} />
			<div class="inline">
				<label>MB a second <input type="number" min="0" value={rate} onInput={(e) => setRate(e.currentTarget.value)} disabled={job.running} /></label>
				<Act kind="primary" disabled={job.running} onClick={() => job.run('start', { rate: Number(rate) }, 'The scrub began')}>Scrub</Act>
				{job.running && <Act onClick={() => job.run('cancel')}>Cancel</Act>}
			</div>
			<Progress job={job} title={state?.damaged ? `${count(state.damaged)} damaged` : state?.state === 'done' ? 'nothing damaged' : ''}>
				{count(state?.rows ?? 0)} rows, {count(state?.extents ?? 0)} extents with {bytes(state?.bytes ?? 0)}, {duration((state?.seconds ?? 0) * 1000)}{job.running && state.secondsLeft > 0 && `, about ${duration(state.secondsLeft * 1000)} left`}
			</Progress>
			{state?.findings?.length > 0 && <pre class="content">{state.findings.join('\n')}</pre>}
			{state?.ended && <Pairs pairs={[['Began', when(state.started)], ['Ended', `${when(state.ended)}${state.spaceChecked ? ', space compared, too' : ''}`]]} />}
		</section>
	);
}

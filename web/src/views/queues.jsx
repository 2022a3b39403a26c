// SPDX-License-Identifier: Apache-2.0
// Queues and all of their messages, the hidden ones too: looking changes no count. What changes a message goes by the receipt of the
// state that is shown, so whoever got it meanwhile wins, and we are told.
import { useEffect, useState } from 'preact/hooks';
import { ask, escapeXml, query, request, seg, text, xml } from '../api.js';
import { ago, count, decoded, duration, pretty, toBase64, when } from '../format.js';
import { go } from '../router.js';
import { Act, Copy, Dialog, Pager, Pairs, Problem, RESOURCE_NAME, Rows, attempt, confirmed, named, toast, useLoad, usePages } from '../ui.jsx';

const OFTEN = 5; // receipts after which the usual consumers give a message up

const body = (value) => `<QueueMessage><MessageText>${escapeXml(value)}</MessageText></QueueMessage>`;

async function listQueues(account, prefix, marker) {
	const page = await xml('queue', account, `/?${query({ comp: 'list', prefix, marker, maxresults: 50 })}`);
	const queues = await Promise.all(
		[...page.getElementsByTagName('Queue')].map(async (one) => {
			const name = text(one, 'Name');
			try {
				const head = await request('queue', account, `/${seg(name)}?comp=metadata`);
				return { name, count: Number(head.headers.get('x-ms-approximate-messages-count')) };
			} catch {
				return { name, count: 0 };
			}
		}),
	);
	return { rows: queues, next: text(page.documentElement, 'NextMarker') };
}

function QueueList({ account }) {
	const [prefix, setPrefix] = useState('');
	const pages = usePages((marker) => listQueues(account, prefix, marker), [account, prefix]);
	const create = async () => {
		const name = await named('New queue', RESOURCE_NAME);
		if (name && (await attempt(() => request('queue', account, `/${seg(name)}`, { method: 'PUT' }), `Queue ${name} is there`))) pages.reload();
	};
	return (
		<>
			<header class="bar">
				<h1>Queues</h1>
				<input data-filter placeholder="Begins with …" value={prefix} onInput={(e) => setPrefix(e.currentTarget.value)} />
				<button type="button" data-reload onClick={pages.reload}>Reload</button>
				<Act kind="primary" onClick={create}>New queue</Act>
			</header>
			<Problem error={pages.error} />
			<Rows
				head={['Name', '#Messages', '']}
				rows={pages.value?.rows ?? []}
				empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : prefix ? `No queue begins with ${prefix}.` : 'No queues yet. Make one with "New queue", or with a client (Home has its connection string).'}
				id={(one) => one.name}
				onOpen={(one) => go('queues', [account, one.name])}
				render={(one) => (
					<>
						<td class="main" title={one.name}><a href={`#/queues/${account}/${seg(one.name)}`}>{one.name}</a>{/poison/.test(one.name) && <span class="tag warn">poison</span>}</td>
						<td class="number">{count(one.count)}</td>
						<td class="actions">
							<Act
								kind="small"
								onClick={async () => {
									if ((await confirmed(`Delete the queue ${one.name}?`, { text: 'Its messages go with it.' })) && (await attempt(() => request('queue', account, `/${seg(one.name)}`, { method: 'DELETE' }), 'Deleted'))) pages.reload();
								}}
							>
								Delete
							</Act>
						</td>
					</>
				)}
			/>
			<Pager pages={pages} shown={pages.value?.rows.length} />
		</>
	);
}

function shownText(value) {
	const inside = decoded(value);
	const json = pretty(inside ?? value);
	return { inside, json, best: json ?? inside ?? value };
}

// The way of a message: [what, when, how it is drawn]. A receipt ends the time in which it was visible, so what is next stands behind
// it; one that nobody received yet has become visible, or will.
function stations(message, at) {
	const time = (value) => new Date(value).getTime();
	const { received, wasVisible, nextVisible } = message, hidden = time(nextVisible) > at;
	return [
		['inserted', time(message.inserted), 'born'],
		...(received ? [['visible', time(wasVisible), 'seen'], ['received', time(received), 'taken']] : []),
		[hidden ? 'next visible' : message.dequeueCount ? 'visible again' : 'visible', time(nextVisible), hidden ? 'waits' : 'seen'],
	];
}

// How they are told: in the table by a picture, beside the open message by words, too.
function Timeline({ message, now, width = 200 }) {
	const at = new Date(now).getTime(), all = stations(message, at), from = all[0][1], next = all.at(-1)[1];
	const until = Math.min(new Date(message.expires).getTime(), Math.max(at, next) + 7 * 86400e3);
	// Logarithmic: seconds matter at the beginning of a life of a week.
	const scale = (time) => Math.log1p(Math.max(0, time - from) / 1000) / Math.log1p(Math.max(1, until - from) / 1000);
	const x = (time) => 6 + (width - 12) * Math.min(1, scale(time));
	const told = (what, time) => `${what} ${when(time)} (${ago(time, at)})`;
	const taken = message.received && new Date(message.received).getTime();
	const first = message.received ? all[1][1] : next;
	return (
		<svg class="timeline" width={width} height="18" role="img" aria-label={[...all.map(([what, time]) => `${what} ${when(time)}`), `expires ${when(message.expires)}`].join(', ')}>
			<line x1={x(from)} y1="9" x2={x(until)} y2="9" class="life" />
			<line x1={x(from)} y1="9" x2={x(first)} y2="9" class="hidden" />
			{taken && <line x1={x(taken)} y1="9" x2={x(next)} y2="9" class="hidden" />}
			{all.map(([what, time, kind]) => kind === 'taken'
				? <path d={`M${x(time) - 4} 0h8l-4 7z`} class={kind}><title>{told(what, time)}</title></path>
				: <circle cx={x(time)} cy="9" r={kind === 'born' ? 3 : 3.5} class={kind}><title>{told(what, time)}</title></circle>)}
			<line x1={x(at)} y1="2" x2={x(at)} y2="16" class="now"><title>now</title></line>
			<rect x={x(until) - 2} y="5" width="4" height="8" class="end"><title>{told('expires', message.expires)}</title></rect>
		</svg>
	);
}

const Legend = () => (
	<p class="legend quiet">
		<span><i class="born" />inserted</span><span><i />visible</span><span><i class="taken" />received</span><span><i class="line" />hidden</span><span><i class="waits" />next visible</span><span><i class="now" />now</span><span><i class="end" />expires</span>
	</p>
);

// The same in words. What an older program did not keep is said to be so.
function timePairs(message, now) {
	const told = (time) => (ago(time, now) === 'never' ? 'never' : `${when(time)} (${ago(time, now)})`);
	const { received, wasVisible, dequeueCount } = message;
	const hidden = new Date(message.nextVisible).getTime() > new Date(now).getTime();
	const waited = received && duration(new Date(received) - new Date(wasVisible));
	const last = received ? `${dequeueCount > 1 ? 'last ' : ''}${told(received)}, after ${waited}` : 'when is not known';
	const taken = ['Received', dequeueCount ? `${dequeueCount === 1 ? 'once' : `${count(dequeueCount)} times`}: ${last}` : 'never'];
	const next = [hidden ? 'Next visible' : dequeueCount ? 'Visible again' : 'Visible', told(message.nextVisible)];
	return [
		['Inserted', told(message.inserted)],
		...(received ? [['Visible', told(wasVisible)]] : []),
		...(dequeueCount ? [taken, next] : [next, taken]),
		['Expires', told(message.expires)],
	];
}

function Message({ account, queue, message, now, onClose, onChange }) {
	const shown = shownText(message.text);
	const [edit, setEdit] = useState(shown.inside ?? message.text);
	const [encode, setEncode] = useState(shown.inside !== null);
	const [hide, setHide] = useState(0);
	const to = `/${seg(queue)}/messages/${seg(message.id)}?${query({ popreceipt: message.popReceipt })}`;
	const act = async (action, done) => {
		if (await attempt(action, done)) onChange();
	};
	return (
		<aside class="panel">
			<header>
				<h2>Message</h2>
				<button type="button" class="plain" data-close aria-label="Close" onClick={onClose}>✕</button>
			</header>
			<Pairs
				pairs={[
					['Id', <code>{message.id}</code>],
					...timePairs(message, now),
				]}
			/>
			<Timeline message={message} now={now} width={340} />
			<Legend />
			<h3>Text {shown.inside !== null && <span class="tag">Base64</span>} {shown.json && <span class="tag">JSON</span>} <Copy value={shown.best} /></h3>
			<pre class="content">{shown.best}</pre>
			<h3>Update</h3>
			<textarea rows="4" value={edit} onInput={(e) => setEdit(e.currentTarget.value)} aria-label="New text" />
			<label class="check"><input type="checkbox" checked={encode} onChange={(e) => setEncode(e.currentTarget.checked)} /> send as Base64</label>
			<label class="field">hide for <input type="number" min="0" max="604800" value={hide} onInput={(e) => setHide(e.currentTarget.value)} /> s</label>
			<footer>
				<Act onClick={() => act(() => request('queue', account, `${to}&visibilitytimeout=${Number(hide)}`, { method: 'PUT', body: body(encode ? toBase64(edit) : edit) }), 'Updated')}>Update</Act>
				<Act kind="danger" onClick={() => act(() => request('queue', account, to, { method: 'DELETE' }), 'Deleted')}>Delete</Act>
			</footer>
			<p class="quiet">Both go by the receipt of the state that is shown: who got the message since wins, and a consumer that holds it loses its own receipt.</p>
		</aside>
	);
}

function AddMessage({ account, queue, onClose, onDone }) {
	const [value, set] = useState('');
	const [delay, setDelay] = useState(0);
	const [ttl, setTtl] = useState(604800);
	const [encode, setEncode] = useState(false);
	const add = async () => {
		const path = `/${seg(queue)}/messages?${query({ visibilitytimeout: Number(delay), messagettl: Number(ttl) })}`;
		if (await attempt(() => request('queue', account, path, { method: 'POST', body: body(encode ? toBase64(value) : value) }), 'Added')) onDone();
	};
	return (
		<Dialog title={`Add to ${queue}`} onClose={onClose}>
			<textarea rows="6" autofocus value={value} onInput={(e) => set(e.currentTarget.value)} aria-label="Text" />
			<label class="check"><input type="checkbox" checked={encode} onChange={(e) => setEncode(e.currentTarget.checked)} /> as Base64</label>
			<label class="field">visible after <input type="number" min="0" max="604800" value={delay} onInput={(e) => setDelay(e.currentTarget.value)} /> s</label>
			<label class="field">lives <input type="number" min="-1" value={ttl} onInput={(e) => setTtl(e.currentTarget.value)} /> s (-1: for ever)</label>
			<footer><button type="button" onClick={onClose}>Cancel</button><Act kind="primary" onClick={add}>Add</Act></footer>
		</Dialog>
	);
}

// From one queue to another, message by message as a consumer would: got, put, deleted. A crash between leaves it twice, never lost.
// Both queues must be there before the first message is taken: what is taken and cannot be put stays hidden for a minute.
async function moveAll(account, from, to, onProgress) {
	let moved = 0;
	await request('queue', account, `/${seg(to)}?comp=metadata`);
	for (;;) {
		const page = await xml('queue', account, `/${seg(from)}/messages?numofmessages=32&visibilitytimeout=60`);
		const messages = [...page.getElementsByTagName('QueueMessage')];
		if (!messages.length) return moved;
		for (const one of messages) {
			await request('queue', account, `/${seg(to)}/messages`, { method: 'POST', body: body(text(one, 'MessageText')) });
			await request('queue', account, `/${seg(from)}/messages/${text(one, 'MessageId')}?${query({ popreceipt: text(one, 'PopReceipt') })}`, { method: 'DELETE' });
			onProgress(++moved);
		}
	}
}

function Queue({ account, queue, open }) {
	const setOpen = (id) => go('queues', [account, queue], { message: id });
	const [adding, setAdding] = useState(false);
	const [moving, setMoving] = useState(null);
	const [follow, setFollow] = useState(false);
	const pages = usePages(async (marker) => {
		const page = await ask(`/api/messages?${query({ account, queue, ...(marker ? JSON.parse(marker) : {}) })}`);
		return { ...page, next: page.next && JSON.stringify(page.next) };
	}, [account, queue]);
	const total = useLoad(async () => (await request('queue', account, `/${seg(queue)}?comp=metadata`)).headers.get('x-ms-approximate-messages-count'), [account, queue]);
	const reload = () => {
		setOpen(null);
		pages.reload();
		total.reload();
	};
	// Looking touches nothing, so it may be done every two seconds.
	useEffect(() => {
		const timer = follow && setInterval(() => { pages.reload(); total.reload(); }, 2000);
		return () => clearInterval(timer);
	}, [follow, pages.reload, total.reload]);
	const now = pages.value ? new Date(pages.value.now).getTime() : Date.now();
	const rows = pages.value?.messages ?? [];
	const message = rows.find((one) => one.id === open);
	const target = queue.replace(/-?poison$/, '');
	return (
		<>
			<header class="bar">
				<h1><a href={`#/queues/${account}`}>Queues</a> / {queue}</h1>
				<span class="quiet">{total.value !== undefined && `about ${count(total.value)} ${total.value === '1' ? 'message' : 'messages'}`}</span>
				<label class="check"><input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} /> follow</label>
				<button type="button" data-reload onClick={reload}>Reload</button>
				<Act kind="primary" onClick={() => setAdding(true)}>Add message</Act>
				{target !== queue && (
					<Act onClick={async () => {
						if (!(await confirmed(`Move every visible message of ${queue} to ${target}?`, { action: 'Move them', kind: 'primary' }))) return;
						const moved = await attempt(() => moveAll(account, queue, target, setMoving));
						if (moved !== undefined) toast(`${moved} moved to ${target}`);
						setMoving(null);
						reload();
					}} disabled={moving !== null}>{moving === null ? `Move to ${target}` : `${count(moving)} moved …`}</Act>
				)}
				<Act kind="danger" onClick={async () => {
					if ((await confirmed(`Clear ${queue}?`, { text: 'Every message goes, those too that consumers work on.', action: 'Clear it' })) && (await attempt(() => request('queue', account, `/${seg(queue)}/messages`, { method: 'DELETE' }), 'Cleared'))) reload();
				}}>Clear</Act>
			</header>
			<Problem error={pages.error} />
			{open && pages.value && !message && <p class="quiet">Message <code>{open}</code> is not on this page: it is on a later one, or gone.</p>}
			<div class="split">
				<div>
					<Rows
						head={['Text', 'State', '#Received', ...(message ? [] : ['On its way'])]}
						rows={rows}
						empty={pages.loading ? 'Loading …' : 'No messages.'}
						id={(one) => one.id}
						selected={open}
						onOpen={(one) => setOpen(one.id)}
						render={(one) => {
							const hidden = new Date(one.nextVisible).getTime() > now;
							return (
								<>
									<td class="main"><code>{(decoded(one.text) ?? one.text).slice(0, 160)}</code></td>
									<td>{hidden ? <span class="tag first warn">hidden, {ago(one.nextVisible, now)}</span> : <span class="tag first good">visible</span>}</td>
									<td class="number">{one.dequeueCount >= OFTEN ? <span class="tag warn" title="Received often and never deleted: does its consumer fail?">{count(one.dequeueCount)}</span> : one.dequeueCount}</td>
									{!message && <td><Timeline message={one} now={now} /></td>}
								</>
							);
						}}
					/>
					<Pager pages={pages} shown={rows.length} />
					{rows.length > 0 && !message && <Legend />}
				</div>
				{message && <Message key={message.id + message.popReceipt} account={account} queue={queue} message={message} now={now} onClose={() => setOpen(null)} onChange={reload} />}
			</div>
			{adding && <AddMessage account={account} queue={queue} onClose={() => setAdding(false)} onDone={() => { setAdding(false); reload(); }} />}
		</>
	);
}

export function Queues({ route, account }) {
	const queue = route.parts[1];
	return queue ? <Queue key={queue} account={account} queue={queue} open={route.params.message ?? null} /> : <QueueList account={account} />;
}

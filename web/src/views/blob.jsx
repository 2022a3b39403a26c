// SPDX-License-Identifier: Apache-2.0
// One blob: preview, properties, metadata, tags, lease, and its past on a timeline. Edits carry the ETag they were made on.
import { useEffect, useState } from 'preact/hooks';
import { ServiceError, children, escapeXml, isReadOnly, metadataHeaders, metadataOf, query, request, seg, text, xml } from '../api.js';
import { ago, bytes, diffLines, save, when } from '../format.js';
import { PREVIEW_BYTES, Preview, asText } from '../preview.jsx';
import { link } from '../router.js';
import { blobSas, isoSeconds } from '../sas.js';
import { Act, Conflict, Copy, Dialog, PairEditor, Pairs, Problem, Tabs, attempt, confirmed, tabOf, toast, useLoad } from '../ui.jsx';
import { blobOf } from './blobs.jsx';
import { endpointOf } from './home.jsx';

const HEADERS = { 'x-ms-blob-content-type': 'content-type', 'x-ms-blob-content-encoding': 'content-encoding', 'x-ms-blob-content-language': 'content-language', 'x-ms-blob-cache-control': 'cache-control', 'x-ms-blob-content-disposition': 'content-disposition' };
const stateQuery = (state) => (state?.version ? `?versionid=${encodeURIComponent(state.version)}` : state?.snapshot ? `?snapshot=${encodeURIComponent(state.snapshot)}` : '');

async function readBytes(account, path, state, most) {
	const answer = await request('blob', account, path + stateQuery(state), { headers: { 'x-ms-range': `bytes=0-${most - 1}` }, accept: [416] });
	return answer.status === 416 ? new Uint8Array() : new Uint8Array(await answer.arrayBuffer());
}
function Properties({ account, path, props, onChange }) {
	const [edit, setEdit] = useState(Object.entries(HEADERS).map(([header, from]) => [header, props.get(from) ?? '']));
	const [conflict, setConflict] = useState(null);
	const tier = props.get('x-ms-access-tier');
	const shown = (pairs) => Object.fromEntries(pairs.filter(([, value]) => value).map(([header, value]) => [HEADERS[header], value]));
	const save = async (etag) => {
		try {
			await request('blob', account, `${path}?comp=properties`, { method: 'PUT', headers: { ...Object.fromEntries(edit.filter(([, value]) => value)), 'If-Match': etag } });
			toast('Saved');
			onChange();
		} catch (error) {
			if (error.status !== 412) return toast(`${error.code}: ${error.message}`, 'bad');
			await attempt(async () => {
				const now = (await request('blob', account, path, { method: 'HEAD' })).headers;
				setConflict({ theirs: shown(Object.entries(HEADERS).map(([header, from]) => [header, now.get(from)])), etag: now.get('etag') });
			});
		}
	};
	return (
		<>
			<Pairs
				pairs={[
					['Size', `${bytes(props.get('content-length'))} (${props.get('content-length')} bytes)`],
					['Kind', props.get('x-ms-blob-type')],
					['ETag', <code>{props.get('etag')}</code>],
					['Changed', `${when(props.get('last-modified'))} (${ago(props.get('last-modified'))})`],
					['Created', when(props.get('x-ms-creation-time'))],
					['Content MD5', props.get('content-md5') && <code>{props.get('content-md5')}</code>],
					['Version', props.get('x-ms-version-id') && <code>{props.get('x-ms-version-id')}</code>],
					['Copied from', props.get('x-ms-copy-source') && <code>{props.get('x-ms-copy-source')}</code>],
					['Copy', props.get('x-ms-copy-status') && `${props.get('x-ms-copy-status')} ${props.get('x-ms-copy-progress') ?? ''}`],
				]}
			/>
			{tier && (
				<label class="field">
					Tier{' '}
					<select value={tier} onChange={async (e) => { if (await attempt(() => request('blob', account, `${path}?comp=tier`, { method: 'PUT', headers: { 'x-ms-access-tier': e.currentTarget.value } }), 'Tier set')) onChange(); }}>
						{['Hot', 'Cool', 'Cold', 'Archive'].map((one) => <option key={one}>{one}</option>)}
					</select>
				</label>
			)}
			<h3>Headers</h3>
			<div class="editor">
				{edit.map(([header, value], i) => (
					<div key={header}>
						<span class="label">{HEADERS[header]}</span>
						<input aria-label={HEADERS[header]} value={value} onInput={(e) => setEdit(edit.map((pair, k) => (k === i ? [header, e.currentTarget.value] : pair)))} />
					</div>
				))}
			</div>
			<footer><Act kind="primary" onClick={() => save(props.get('etag'))}>Save headers</Act></footer>
			{conflict && (
				<Conflict mine={shown(edit)} theirs={conflict.theirs} onKeep={() => { setConflict(null); onChange(); }} onOverwrite={() => { const { etag } = conflict; setConflict(null); save(etag); }} />
			)}
		</>
	);
}

// Metadata by If-Match: who was first wins, and the other one sees both sides.
function Metadata({ account, path, props, onChange }) {
	const [pairs, setPairs] = useState(Object.entries(metadataOf(props)));
	const [conflict, setConflict] = useState(null);
	const mine = () => Object.fromEntries(pairs.filter(([name]) => name));
	const save = async (etag) => {
		try {
			await request('blob', account, `${path}?comp=metadata`, { method: 'PUT', headers: { ...metadataHeaders(mine()), 'If-Match': etag } });
			toast('Saved');
			onChange();
		} catch (error) {
			if (error.status !== 412) return toast(`${error.code}: ${error.message}`, 'bad');
			await attempt(async () => {
				const now = await request('blob', account, path, { method: 'HEAD' });
				setConflict({ theirs: metadataOf(now.headers), etag: now.headers.get('etag') });
			});
		}
	};
	return (
		<>
			<PairEditor pairs={pairs} onChange={setPairs} />
			<footer><Act kind="primary" onClick={() => save(props.get('etag'))}>Save metadata</Act></footer>
			{conflict && (
				<Conflict mine={mine()} theirs={conflict.theirs} onKeep={() => { setConflict(null); onChange(); }} onOverwrite={() => { const { etag } = conflict; setConflict(null); save(etag); }} />
			)}
		</>
	);
}

async function readTags(account, path) {
	return [...(await xml('blob', account, `${path}?comp=tags`)).getElementsByTagName('Tag')].map((one) => [text(one, 'Key'), text(one, 'Value')]);
}
const same = (a, b) => JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());

// Tags are not part of the ETag. A change holds to the tags it was made on: they are read again, and what is stored must still have
// them (x-ms-if-tags) at the moment of the write.
async function writeTags(account, path, base, pairs) {
	if (!same(await readTags(account, path), base)) throw new ServiceError(412, 'ConditionNotMet', 'The tags were changed meanwhile.');
	const body = `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${pairs.map(([name, value]) => `<Tag><Key>${escapeXml(name)}</Key><Value>${escapeXml(value)}</Value></Tag>`).join('')}</TagSet></Tags>`;
	const condition = base.map(([name, value]) => `"${name}" = '${value}'`).join(' AND ');
	await request('blob', account, `${path}?comp=tags`, { method: 'PUT', body, headers: { 'Content-Type': 'application/xml', ...(condition && { 'x-ms-if-tags': condition }) } });
}

function Tags({ account, path }) {
	const loaded = useLoad(() => readTags(account, path), [path]);
	const [pairs, setPairs] = useState(null);
	const [conflict, setConflict] = useState(null);
	if (loaded.error) return <Problem error={loaded.error} />;
	if (!loaded.value) return <p class="quiet">Loading …</p>;
	const shown = pairs ?? loaded.value;
	const mine = shown.filter(([name]) => name);
	const again = () => { setPairs(null); loaded.reload(); };
	const save = async (base) => {
		try {
			await writeTags(account, path, base, mine);
			toast('Saved');
			again();
		} catch (error) {
			if (error.status !== 412) return toast(`${error.code}: ${error.message}`, 'bad');
			await attempt(async () => setConflict(await readTags(account, path)));
		}
	};
	return (
		<>
			<PairEditor pairs={shown} onChange={setPairs} />
			<footer><Act kind="primary" onClick={() => save(loaded.value)}>Save tags</Act></footer>
			{conflict && (
				<Conflict mine={Object.fromEntries(mine)} theirs={Object.fromEntries(conflict)} onKeep={() => { setConflict(null); again(); }} onOverwrite={() => { setConflict(null); save(conflict); }} />
			)}
		</>
	);
}

// `leases`: where all of them are listed, with their holders.
export function Lease({ leases, act, state, status, duration, onChange }) {
	const [id, setId] = useState(sessionStorage.getItem('zaffre.lease') ?? '');
	const [seconds, setSeconds] = useState('60');
	const run = async (action, headers, done) => {
		const answer = await attempt(() => act({ 'x-ms-lease-action': action, ...headers }), done);
		const got = answer?.headers.get('x-ms-lease-id');
		if (got) {
			setId(got);
			sessionStorage.setItem('zaffre.lease', got);
		}
		if (answer) onChange();
	};
	return (
		<>
			<Pairs pairs={[['State', <span class={`tag first ${state === 'leased' ? 'warn' : ''}`}>{state}</span>], ['Status', status], ['Duration', duration]]} />
			{['leased', 'breaking'].includes(state) && <p class="quiet">Who holds it, and for how long: <a href={leases}>Leases</a>.</p>}
			<label class="field">Acquire for <select value={seconds} onChange={(e) => setSeconds(e.currentTarget.value)}>{['15', '30', '60', '-1'].map((one) => <option key={one} value={one}>{one === '-1' ? 'ever' : `${one} s`}</option>)}</select></label>
			<label class="field">Lease id <input value={id} onInput={(e) => setId(e.currentTarget.value)} placeholder="to renew or release: of whoever holds it" /></label>
			<footer>
				<Act kind="primary" onClick={() => run('acquire', { 'x-ms-lease-duration': seconds }, 'Acquired')}>Acquire</Act>
				<Act disabled={!id} onClick={() => run('renew', { 'x-ms-lease-id': id }, 'Renewed')}>Renew</Act>
				<Act disabled={!id} onClick={() => run('release', { 'x-ms-lease-id': id }, 'Released')}>Release</Act>
				<Act kind="danger" onClick={() => run('break', { 'x-ms-lease-break-period': '0' }, 'Broken')}>Break</Act>
			</footer>
		</>
	);
}

const isPresent = (one) => !one.snapshot && (!one.version || one.current);
async function history(account, container, name) {
	const found = [];
	let marker = '';
	do {
		const page = await xml('blob', account, `/${seg(container)}?${query({ restype: 'container', comp: 'list', prefix: name, include: 'snapshots,versions,deleted', maxresults: 500, marker })}`);
		const list = children(page.getElementsByTagName('Blobs')[0], 'Blob').map(blobOf);
		found.push(...list.filter((one) => one.name === name));
		marker = list.some((one) => one.name !== name) ? '' : text(page.documentElement, 'NextMarker');
	} while (marker && found.length < 1000);
	// The present state first, then the newest.
	const at = (one) => (isPresent(one) ? '~' : '') + (one.version || one.snapshot || new Date(one.modified).toISOString());
	return found.sort((a, b) => (at(a) < at(b) ? 1 : -1));
}

function Diff({ account, path, state, onClose }) {
	const loaded = useLoad(async () => {
		const [old, now] = await Promise.all([readBytes(account, path, state, PREVIEW_BYTES), readBytes(account, path, null, PREVIEW_BYTES)]);
		return [asText(old), asText(now)];
	}, []);
	const [old, now] = loaded.value ?? [];
	return (
		<Dialog title={`${state.snapshot ? 'Snapshot' : 'Version'} of ${when(state.version || state.snapshot)}, and now`} onClose={onClose} wide>
			<Problem error={loaded.error} />
			{loaded.value && old !== null && old === now && <p class="quiet">The same text.</p>}
			{loaded.value && (old === null || now === null ? <p>Not text: nothing to compare by lines.</p> : (
				<pre class="content diff">{diffLines(old, now).map((part, i) => <div key={i} class={{ '+': 'added', '-': 'removed', ' ': '' }[part.kind]}>{part.kind} {part.line}</div>)}</pre>
			))}
		</Dialog>
	);
}

function History({ account, container, name, path, overview, onChange }) {
	const loaded = useLoad(() => history(account, container, name), [path]);
	const [diff, setDiff] = useState(null);
	const source = (state) => `${endpointOf(overview, 'blob')}/${account}/${seg(container)}/${seg(name)}${stateQuery(state)}`;
	const done = () => { loaded.reload(); onChange(); };
	// It takes the place of what is shown as the present state, or of nothing; what somebody else wrote meanwhile stays.
	const present = (loaded.value ?? []).find((one) => isPresent(one) && !one.deleted);
	const condition = present ? { 'If-Match': present.etag.startsWith('"') ? present.etag : `"${present.etag}"` } : { 'If-None-Match': '*' };
	const promote = async (state) => {
		await attempt(() => request('blob', account, path, { method: 'PUT', headers: { 'x-ms-copy-source': source(state), ...condition } }), 'That is the blob now');
		done();
	};
	const snapshot = async () => { if (await attempt(() => request('blob', account, `${path}?comp=snapshot`, { method: 'PUT' }), 'Snapshot made')) done(); };
	const undelete = async () => { if (await attempt(() => request('blob', account, `${path}?comp=undelete`, { method: 'PUT' }), 'Restored')) done(); };
	return (
		<>
			<footer>
				<Act onClick={snapshot}>Make a snapshot</Act>
				{loaded.value?.some((one) => one.deleted) && <Act onClick={undelete}>Undelete</Act>}
			</footer>
			<Problem error={loaded.error} />
			{!loaded.value && !loaded.error && <p class="quiet">Loading …</p>}
			<ol class="history">
				{(loaded.value ?? []).map((one, i) => {
					const base = isPresent(one);
					return (
						<li key={i} class={one.deleted ? 'deleted' : base ? 'current' : ''}>
							<b>{base ? (one.deleted ? 'deleted' : 'now') : one.snapshot ? 'snapshot' : 'version'}</b> <span title={one.modified}>{ago(one.modified)}</span> · {bytes(one.size)}
							<div class="quiet"><code>{one.version || one.snapshot}</code></div>
							{!base && !one.deleted && (
								<div class="buttons">
									<button type="button" class="small" onClick={() => setDiff(one)}>Compare</button>
									<Act kind="small" onClick={() => promote(one)}>Promote</Act>
									<Download account={account} container={container} name={name} size={one.size} overview={overview} state={one} small />
								</div>
							)}
						</li>
					);
				})}
			</ol>
			{diff && <Diff account={account} path={path} state={diff} onClose={() => setDiff(null)} />}
		</>
	);
}

const IN_MEMORY_BYTES = 64 * 1024 * 1024;
// A small one through the page, so that what goes wrong is told here. A large one by a SAS of an hour at the Blob endpoint: the browser
// saves it as it comes. Where nothing is signed (read-only) it goes through the page whatever its size.
export function Download({ account, container, name, size, overview, state, small }) {
	const file = name.slice(name.lastIndexOf('/') + 1) || 'blob';
	const path = `${seg(container)}/${name.split('/').map(seg).join('/')}${stateQuery(state)}`;
	const throughPage = async () => save(file, await (await request('blob', account, `/${seg(container)}/${seg(name)}${stateQuery(state)}`)).blob());
	const bySas = async () => {
		const sas = await blobSas({
			account, container, blob: name, resource: state?.version ? 'bv' : state?.snapshot ? 'bs' : 'b', time: state?.version || state?.snapshot, permissions: 'r',
			expiry: isoSeconds(new Date(overview.now).getTime() + 3600e3), disposition: `attachment; filename="${file.replace(/[^\x20-\x7e]|["\\]/g, '_')}"`,
		});
		location.href = `${endpointOf(overview, 'blob')}/${account}/${path}${path.includes('?') ? '&' : '?'}${sas}`;
	};
	const start = () => attempt(() => (size <= IN_MEMORY_BYTES || isReadOnly() ? throughPage() : bySas()));
	return <button type="button" class={small ? 'small' : ''} onClick={start}>Download</button>;
}

// Nothing that is there is overwritten unless somebody says so, and a copy under way can be given up.
function CopyTo({ account, container, name, overview, onClose, onDone }) {
	const [to, setTo] = useState(`${container}/${name}-copy`);
	const [progress, setProgress] = useState(null);
	const [error, setError] = useState(null);
	const at = to.indexOf('/');
	const path = `/${seg(to.slice(0, at))}/${seg(to.slice(at + 1))}`;
	const run = async (overwrite) => {
		const source = `${endpointOf(overview, 'blob')}/${account}/${seg(container)}/${seg(name)}`;
		let answer = await request('blob', account, path, { method: 'PUT', headers: { 'x-ms-copy-source': source, ...(!overwrite && { 'If-None-Match': '*' }) } });
		const id = answer.headers.get('x-ms-copy-id');
		while (answer.headers.get('x-ms-copy-status') === 'pending') {
			setProgress({ id, text: answer.headers.get('x-ms-copy-progress') ?? '' });
			await new Promise((resolve) => setTimeout(resolve, 300));
			answer = await request('blob', account, path, { method: 'HEAD' });
		}
		const status = answer.headers.get('x-ms-copy-status');
		if (status !== 'success') throw new ServiceError(0, status, answer.headers.get('x-ms-copy-status-description') ?? '');
	};
	const start = async (overwrite) => {
		setError(null);
		try {
			await run(overwrite);
			toast(`Copied to ${to}`);
			onDone();
		} catch (problem) {
			setError(problem);
			setProgress(null);
		}
	};
	const giveUp = () => attempt(() => request('blob', account, `${path}?${query({ comp: 'copy', copyid: progress.id })}`, { method: 'PUT', headers: { 'x-ms-copy-action': 'abort' } }));
	const [have, all] = (progress?.text ?? '').split('/').map(Number);
	const exists = error?.status === 409 && error.code === 'BlobAlreadyExists';
	return (
		<Dialog title={`Copy ${name}`} onClose={onClose}>
			<form onSubmit={(e) => { e.preventDefault(); start(exists); }}>
				<label>To container/name <input autofocus value={to} disabled={progress} onInput={(e) => { setTo(e.currentTarget.value); setError(null); }} /></label>
				{exists ? <div class="problem" role="alert">{to} is there already.</div> : <Problem error={error} />}
				{progress && <p class="quiet">{all > 0 ? <><progress max={all} value={have} /> {bytes(have)} of {bytes(all)}</> : 'Copying …'}</p>}
				<footer>
					{progress ? <Act onClick={giveUp}>Give up</Act> : <button type="button" onClick={onClose}>Cancel</button>}
					<Act type="submit" kind={exists ? 'danger' : 'primary'} disabled={progress || at < 1 || at === to.length - 1}>{exists ? 'Overwrite' : 'Copy'}</Act>
				</footer>
			</form>
		</Dialog>
	);
}

const TABS = [['preview', 'Preview'], ['properties', 'Properties'], ['metadata', 'Metadata'], ['tags', 'Tags'], ['lease', 'Lease'], ['history', 'History']];

export function BlobPanel({ account, container, name, overview, tab: wanted, onTab, onClose, onChange, onGone }) {
	const path = `/${seg(container)}/${seg(name)}`;
	const tab = tabOf(TABS, wanted);
	const [copying, setCopying] = useState(false);
	const loaded = useLoad(async () => (await request('blob', account, path, { method: 'HEAD' })).headers, [path]);
	const props = loaded.value;
	const changed = () => { loaded.reload(); onChange(); };
	const remove = async () => {
		if (!(await confirmed(`Delete ${name}?`, { text: 'Its snapshots go with it.' }))) return;
		const headers = { 'If-Match': props.get('etag'), 'x-ms-delete-snapshots': 'include' };
		if (await attempt(() => request('blob', account, path, { method: 'DELETE', headers }))) { onGone(); onClose(); }
		else changed(); // what somebody else made of it meanwhile is shown before it can be deleted
	};
	const gone = loaded.error?.status === 404;
	return (
		<aside class="panel">
			<header>
				<h2>{name.slice(name.lastIndexOf('/') + 1) || name}</h2>
				<button type="button" class="plain" data-close aria-label="Close" onClick={onClose}>✕</button>
			</header>
			<div class="quiet path"><code>{container}/{name}</code> <Copy label="Copy URL" value={`${endpointOf(overview, 'blob')}/${account}/${container}/${name.split('/').map(seg).join('/')}`} /></div>
			{gone ? <History account={account} container={container} name={name} path={path} overview={overview} onChange={changed} /> : <Problem error={loaded.error} />}
			{!props && !loaded.error && <p class="quiet">Loading …</p>}
			{props && (
				<>
					<footer>
						<Download account={account} container={container} name={name} size={Number(props.get('content-length'))} overview={overview} />
						<Act onClick={() => setCopying(true)}>Copy to …</Act>
						<Act kind="danger" onClick={remove}>Delete</Act>
					</footer>
					<Tabs tabs={TABS} value={tab} onChange={onTab} />
					<div class="tabbody" key={props.get('etag') + (props.get('x-ms-lease-state') ?? '')}>
						{tab === 'preview' && <Preview type={props.get('content-type') ?? ''} size={Number(props.get('content-length'))} read={(most) => readBytes(account, path, null, most)} />}
						{tab === 'properties' && <Properties account={account} path={path} props={props} onChange={changed} />}
						{tab === 'metadata' && <Metadata account={account} path={path} props={props} onChange={changed} />}
						{tab === 'tags' && <Tags account={account} path={path} />}
						{tab === 'lease' && (
							<Lease
								leases={link('live', [account], { tab: 'leases' })}
								state={props.get('x-ms-lease-state')} status={props.get('x-ms-lease-status')} duration={props.get('x-ms-lease-duration')} onChange={changed}
								act={(headers) => request('blob', account, `${path}?comp=lease`, { method: 'PUT', headers })}
							/>
						)}
						{tab === 'history' && <History account={account} container={container} name={name} path={path} overview={overview} onChange={changed} />}
					</div>
				</>
			)}
			{copying && <CopyTo account={account} container={container} name={name} overview={overview} onClose={() => setCopying(false)} onDone={() => { setCopying(false); onChange(); }} />}
		</aside>
	);
}

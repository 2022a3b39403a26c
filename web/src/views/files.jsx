// SPDX-License-Identifier: Apache-2.0
// Shares, their directories and files, snapshots, and who has what open over SMB.
import { useState } from 'preact/hooks';
import { children, metadataOf, query, request, seg, text, xml } from '../api.js';
import { ago, bytes, count, save, when } from '../format.js';
import { Preview } from '../preview.jsx';
import { go, link } from '../router.js';
import { Act, Pager, Pairs, Problem, Rows, RESOURCE_NAME, Tabs, Waiting, attempt, confirmed, named, tabOf, useLoad, usePages } from '../ui.jsx';
import { NEW_FILE, filePath, filesOf, uploadShareFile } from '../upload.js';
import { DropZone, UploadButtons, Uploads, useUploads } from '../uploads.jsx';
import { Lease } from './blob.jsx';
import { LeaseList } from './leases.jsx';

function ShareList({ account }) {
	const [prefix, setPrefix] = useState('');
	const pages = usePages(async (marker) => {
		const page = await xml('file', account, `/?${query({ comp: 'list', prefix, marker, maxresults: 100, include: 'snapshots,deleted' })}`);
		const rows = [...page.getElementsByTagName('Share')].map((one) => ({ name: text(one, 'Name'), snapshot: text(one, 'Snapshot'), deleted: text(one, 'Deleted') === 'true', version: text(one, 'Version'), quota: text(one, 'Quota'), modified: text(one, 'Last-Modified'), lease: text(one, 'LeaseState') }));
		return { rows, next: text(page.documentElement, 'NextMarker') };
	}, [account, prefix]);
	const act = async (action, done) => { if (await attempt(action, done)) pages.reload(); };
	const create = async () => {
		const name = await named('New share', RESOURCE_NAME);
		if (name) act(() => request('file', account, `/${seg(name)}?restype=share`, { method: 'PUT' }), `Share ${name} is there`);
	};
	return (
		<>
			<header class="bar">
				<h1>Shares</h1>
				<input data-filter placeholder="Begins with …" value={prefix} onInput={(e) => setPrefix(e.currentTarget.value)} />
				<button type="button" data-reload onClick={pages.reload}>Reload</button>
				<Act kind="primary" onClick={create}>New share</Act>
			</header>
			<Problem error={pages.error} />
			<Rows
				head={['Name', '#Quota', 'Changed', '', '']}
				rows={pages.value?.rows ?? []}
				empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : prefix ? `No share begins with ${prefix}.` : 'No shares yet. Make one with "New share"; REST clients and SMB clients see the same files in it.'}
				id={(one) => one.name + one.snapshot + one.version}
				onOpen={(one) => !one.deleted && go('files', [account, one.name], { snapshot: one.snapshot })}
				render={(one) => (
					<>
						<td>{one.deleted ? <s>{one.name}</s> : <a href={link('files', [account, one.name], { snapshot: one.snapshot })}>{one.name}</a>}{one.snapshot && <span class="tag">snapshot {when(one.snapshot)}</span>}</td>
						<td class="number">{one.quota} GiB</td>
						<td title={one.modified}>{ago(one.modified)}</td>
						<td>{one.lease && one.lease !== 'available' && <span class="tag warn">{one.lease}</span>}{one.deleted && <span class="tag bad">deleted</span>}</td>
						<td class="actions">
							{!one.snapshot && !one.deleted && <><Act kind="small" onClick={() => act(() => request('file', account, `/${seg(one.name)}?restype=share&comp=snapshot`, { method: 'PUT' }), 'Snapshot made')}>Snapshot</Act>{' '}</>}
							{one.deleted ? (
								<Act kind="small" onClick={() => act(() => request('file', account, `/${seg(one.name)}?restype=share&comp=undelete`, { method: 'PUT', headers: { 'x-ms-deleted-share-name': one.name, 'x-ms-deleted-share-version': one.version } }), 'Restored')}>Restore</Act>
							) : (
								<Act kind="small" onClick={async () => (await confirmed(`Delete ${one.snapshot ? 'this snapshot of' : 'the share'} ${one.name}?`, { text: one.snapshot ? '' : 'Its directories, files and snapshots go with it.' })) && act(() => request('file', account, `/${seg(one.name)}?${query({ restype: 'share', sharesnapshot: one.snapshot })}`, { method: 'DELETE', headers: one.snapshot ? {} : { 'x-ms-delete-snapshots': 'include' } }), 'Deleted')}>Delete</Act>
							)}
						</td>
					</>
				)}
			/>
			<Pager pages={pages} shown={pages.value?.rows.length} />
		</>
	);
}

const FILE_TABS = [['preview', 'Preview'], ['properties', 'Properties'], ['ranges', 'Ranges'], ['lease', 'Lease']];

function FilePanel({ account, share, path, snapshot, show, onShow, onClose, onChange }) {
	const to = filePath(share, path) + (snapshot ? `?sharesnapshot=${encodeURIComponent(snapshot)}` : '');
	const and = (more) => `${to}${to.includes('?') ? '&' : '?'}${more}`;
	const tab = tabOf(FILE_TABS, show);
	const loaded = useLoad(async () => (await request('file', account, to, { method: 'HEAD' })).headers, [to]);
	const props = loaded.value;
	const size = Number(props?.get('content-length') ?? 0);
	const read = async (most) => {
		const answer = await request('file', account, to, { headers: { 'x-ms-range': `bytes=0-${most - 1}` }, accept: [416] });
		return answer.status === 416 ? new Uint8Array() : new Uint8Array(await answer.arrayBuffer());
	};
	const ranges = useLoad(async () => (tab === 'ranges' ? [...(await xml('file', account, and('comp=rangelist'))).getElementsByTagName('Range')].map((one) => [Number(text(one, 'Start')), Number(text(one, 'End'))]) : []), [to, tab]);
	const download = () => attempt(async () => save(path.slice(path.lastIndexOf('/') + 1), await (await request('file', account, to)).blob()));
	const remove = async () => { if ((await confirmed(`Delete ${path}?`)) && (await attempt(() => request('file', account, to, { method: 'DELETE' }), 'Deleted'))) { onChange(); onClose(); } };
	return (
		<aside class="panel">
			<header><h2>{path.slice(path.lastIndexOf('/') + 1)}</h2><button type="button" class="plain" data-close aria-label="Close" onClick={onClose}>✕</button></header>
			<Problem error={loaded.error} />
			{!props && !loaded.error && <Waiting>If a client has it open over SMB and may hold changes of it back, it is asked for them first: see <a href={link('files', [account, share], { tab: 'handles' })}>Open handles</a>.</Waiting>}
			{props && (
				<>
					<footer><button type="button" onClick={download}>Download</button>{!snapshot && <Act kind="danger" onClick={remove}>Delete</Act>}</footer>
					<Tabs tabs={FILE_TABS} value={tab} onChange={onShow} />
					{tab === 'preview' && <Preview key={props.get('etag')} type={props.get('content-type') ?? ''} name={path} size={size} read={read} />}
					{tab === 'properties' && (
						<Pairs pairs={[
							['Size', `${bytes(size)} (${count(size)} bytes)`], ['Type', props.get('content-type')], ['ETag', <code>{props.get('etag')}</code>], ['Written', when(props.get('x-ms-file-last-write-time'))], ['Created', when(props.get('x-ms-file-creation-time'))], ['Attributes', props.get('x-ms-file-attributes')], ['File id', props.get('x-ms-file-id')],
							...Object.entries(metadataOf(props)).map(([name, value]) => [`metadata ${name}`, value]),
						]} />
					)}
					{tab === 'ranges' && (
						<>
							<svg class="ranges" width="100%" height="16" viewBox={`0 0 ${Math.max(1, size)} 16`} preserveAspectRatio="none"><rect width={Math.max(1, size)} height="16" class="hole" />{(ranges.value ?? []).map(([from, until]) => <rect key={from} x={from} width={until - from + 1} height="16" class="data" />)}</svg>
							<Problem error={ranges.error} />
							{ranges.value && !ranges.loading && <p class="quiet">{ranges.value.length ? `${count(ranges.value.length)} ${ranges.value.length === 1 ? 'range' : 'ranges'} with data, ${bytes(ranges.value.reduce((sum, [from, until]) => sum + until - from + 1, 0))} of ${bytes(size)}${ranges.value.length > 200 ? '; the first 200' : ''}` : 'No range has data: the whole file reads as zeros.'}</p>}
							<Pairs pairs={(ranges.value ?? []).slice(0, 200).map(([from, until]) => [bytes(until - from + 1), <code>{from}–{until}</code>])} />
						</>
					)}
					{tab === 'lease' && <Lease leases={link('files', [account, share], { tab: 'leases' })} state={props.get('x-ms-lease-state')} status={props.get('x-ms-lease-status')} duration={props.get('x-ms-lease-duration')} onChange={loaded.reload} act={(headers) => request('file', account, and('comp=lease'), { method: 'PUT', headers })} />}
				</>
			)}
		</aside>
	);
}

// Opens of SMB clients below a directory; REST opens and closes within one request, so it never stands here.
function Handles({ account, share }) {
	const loaded = usePages(async (marker) => {
		const page = await xml('file', account, `/${seg(share)}/?${query({ comp: 'listhandles', maxresults: 100, marker })}`, { headers: { 'x-ms-recursive': 'true' } });
		const rows = [...page.getElementsByTagName('Handle')].map((one) => ({
			id: text(one, 'HandleId'), path: text(one, 'Path'), session: text(one, 'SessionId'), ip: text(one, 'ClientIp'), opened: text(one, 'OpenTime'), rights: [...one.getElementsByTagName('AccessRight')].map((right) => right.textContent).join(', '),
			share: text(one, 'ShareMode'), oplock: text(one, 'Oplock'), locks: text(one, 'Locks'), pending: text(one, 'DeletePending'),
		}));
		return { rows, next: text(page.documentElement, 'NextMarker') };
	}, [account, share]);
	const close = async (one) => {
		const path = one.path ? filePath(share, one.path) : `/${seg(share)}/`;
		if (await attempt(() => request('file', account, `${path}?comp=forceclosehandles`, { method: 'PUT', headers: { 'x-ms-handle-id': one.id } }), 'Closed')) loaded.reload();
	};
	return (
		<>
			<Problem error={loaded.error} />
			<Rows
				head={['Path', 'May', 'Lets others', 'Oplock', '#Locks', 'From', 'Open', '']}
				rows={loaded.value?.rows ?? []}
				empty={loaded.loading ? 'Loading …' : 'Nobody has anything open.'}
				id={(one) => one.id}
				render={(one) => (
					<>
						<td class="main" title={one.path}>{one.path || '/'}{one.pending === 'true' && <span class="tag bad">pending delete</span>}</td>
						<td>{one.rights}</td><td>{one.share}</td><td>{one.oplock}</td><td class="number">{one.locks}</td><td>{one.ip}</td><td>{ago(one.opened)}</td>
						<td class="actions"><Act kind="small" onClick={() => close(one)}>Close</Act></td>
					</>
				)}
			/>
			{(loaded.next || loaded.back) && <Pager pages={loaded} shown={loaded.value?.rows.length} />}
			<p class="quiet">What is open over SMB, with what it may do and what it lets others do (r read, w write, d delete). A REST request opens and closes a file within itself, so it stands here for no longer than it runs; leases that REST clients hold are in the next tab.</p>
		</>
	);
}

// The lease of the share itself, and those of files in it.
function ShareLeases({ account, share, snapshot }) {
	const to = `/${seg(share)}?${query({ restype: 'share', sharesnapshot: snapshot })}`;
	const loaded = useLoad(async () => (await request('file', account, to, { method: 'HEAD' })).headers, [to]);
	const props = loaded.value;
	return (
		<>
			<Problem error={loaded.error} />
			{!snapshot && <LeaseList account={account} share={share} />}
			{props && (
				<section class="card narrow" key={props.get('x-ms-lease-state')}>
					<h2>The share {share}</h2>
					<Lease leases={link('live', [account], { tab: 'leases' })} state={props.get('x-ms-lease-state')} status={props.get('x-ms-lease-status')} duration={props.get('x-ms-lease-duration')} onChange={loaded.reload} act={(headers) => request('file', account, `${to}&comp=lease`, { method: 'PUT', headers })} />
				</section>
			)}
		</>
	);
}

const SHARE_TABS = [['files', 'Files'], ['handles', 'Open handles'], ['leases', 'Leases']];

function Share({ account, share, params }) {
	const dir = params.dir ?? '';
	const snapshot = params.snapshot ?? '';
	const tab = tabOf(SHARE_TABS, params.tab);
	const [turn, setTurn] = useState(0);
	const pages = usePages(async (marker) => {
		const path = filePath(share, dir) + (dir ? '' : '/');
		const page = await xml('file', account, `${path}?${query({ restype: 'directory', comp: 'list', marker, maxresults: 100, sharesnapshot: snapshot, include: 'timestamps' })}`);
		const list = page.getElementsByTagName('Entries')[0];
		return { rows: [...children(list, 'Directory').map((one) => ({ dir: true, name: text(one, 'Name'), modified: text(one, 'LastWriteTime') })), ...children(list, 'File').map((one) => ({ name: text(one, 'Name'), size: Number(text(one, 'Content-Length')), modified: text(one, 'LastWriteTime') }))], next: text(page.documentElement, 'NextMarker') };
	}, [account, share, dir, snapshot]);
	const to = (change) => go('files', [account, share], { dir, snapshot, tab: tab === 'files' ? '' : tab, ...change });
	const inside = (name) => (dir ? `${dir}/${name}` : name);
	const parts = dir.split('/').filter(Boolean);
	const newDirectory = async () => {
		const name = await named('New directory');
		if (name && (await attempt(() => request('file', account, `${filePath(share, inside(name))}?restype=directory`, { method: 'PUT', headers: NEW_FILE }), 'Made'))) pages.reload();
	};
	const uploads = useUploads((path, file, how) => uploadShareFile(account, share, dir ? `${dir}/` : '', path, file, how), pages.reload);
	return (
		<DropZone uploads={snapshot ? null : uploads} filesOf={filesOf}>
			<header class="bar">
				<h1 class="crumbs"><a href={link('files', [account])}>Shares</a> / <a href={link('files', [account, share], { snapshot })}>{share}</a>{parts.map((part, i) => <span key={i}> / <a href={link('files', [account, share], { snapshot, dir: parts.slice(0, i + 1).join('/') })}>{part}</a></span>)}{snapshot && <span class="tag">snapshot {when(snapshot)}</span>}</h1>
				<button type="button" data-reload onClick={() => { pages.reload(); setTurn(turn + 1); }}>Reload</button>
				{!snapshot && <><Act onClick={newDirectory}>New directory</Act><UploadButtons uploads={uploads} /></>}
			</header>
			<Uploads uploads={uploads} />
			<Tabs tabs={SHARE_TABS} value={tab} onChange={(id) => to({ tab: id === 'files' ? '' : id })} />
			{tab === 'handles' && <Handles key={turn} account={account} share={share} />}
			{tab === 'leases' && <ShareLeases account={account} share={share} snapshot={snapshot} />}
			{tab === 'files' && (
				<>
					<Problem error={pages.error} />
					<div class="split">
						<div>
							<Rows
								head={['Name', '#Size', 'Written', '']}
								rows={pages.value?.rows ?? []}
								empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : 'Nothing here. Drop files or folders to upload them.'}
								id={(one) => one.name}
								selected={params.file}
								onOpen={(one) => (one.dir ? to({ dir: inside(one.name), file: '' }) : to({ file: one.name }))}
								render={(one) => (
									<>
										<td class="main" title={one.name}>{one.dir ? <a class="folder" href={link('files', [account, share], { snapshot, dir: inside(one.name) })}>▸ {one.name}/</a> : one.name}</td>
										<td class="number">{one.dir ? '' : bytes(one.size)}</td>
										<td title={one.modified}>{ago(one.modified)}</td>
										<td class="actions">{one.dir && !snapshot && <Act kind="small" onClick={async () => { if ((await confirmed(`Delete the directory ${one.name}?`, { text: 'It must be empty.' })) && (await attempt(() => request('file', account, `${filePath(share, inside(one.name))}?restype=directory`, { method: 'DELETE' }), 'Deleted'))) pages.reload(); }}>Delete</Act>}</td>
									</>
								)}
							/>
							<Pager pages={pages} shown={pages.value?.rows.length} />
						</div>
						{params.file && <FilePanel key={inside(params.file)} account={account} share={share} path={inside(params.file)} snapshot={snapshot} show={params.show} onShow={(show) => to({ file: params.file, show })} onClose={() => to({ file: '' })} onChange={pages.reload} />}
					</div>
				</>
			)}
		</DropZone>
	);
}

export function Files({ route, account }) {
	const share = route.parts[1];
	return share ? <Share key={share + (route.params.dir ?? '') + (route.params.snapshot ?? '')} account={account} share={share} params={route.params} /> : <ShareList account={account} />;
}

// SPDX-License-Identifier: Apache-2.0
// Containers and blobs as folders, a page at a time. A blob opens beside the list (views/blob.jsx).
import { useState } from 'preact/hooks';
import { children, query, request, seg, text, xml } from '../api.js';
import { ago, bytes } from '../format.js';
import { go, link } from '../router.js';
import { Act, Pager, Problem, RESOURCE_NAME, Rows, attempt, confirmed, named, toast, usePages } from '../ui.jsx';
import { filesOf, uploadBlob } from '../upload.js';
import { DropZone, UploadButtons, Uploads, useUploads } from '../uploads.jsx';
import { BlobPanel } from './blob.jsx';

const PAGE = 100;

function ContainerList({ account }) {
	const [prefix, setPrefix] = useState('');
	const [deleted, setDeleted] = useState(false);
	const pages = usePages(async (marker) => {
		const page = await xml('blob', account, `/?${query({ comp: 'list', prefix, marker, maxresults: PAGE, include: deleted ? 'metadata,deleted' : 'metadata' })}`);
		const rows = [...page.getElementsByTagName('Container')].map((one) => ({
			name: text(one, 'Name'),
			modified: text(one, 'Last-Modified'),
			access: text(one, 'PublicAccess'),
			lease: text(one, 'LeaseState'),
			deleted: text(one, 'Deleted') === 'true',
			version: text(one, 'Version'),
		}));
		return { rows, next: text(page.documentElement, 'NextMarker') };
	}, [account, prefix, deleted]);
	const create = async () => {
		const name = await named('New container', { ...RESOURCE_NAME, pattern: `\\$root|\\$web|${RESOURCE_NAME.pattern}` });
		if (name && (await attempt(() => request('blob', account, `/${seg(name)}?restype=container`, { method: 'PUT' }), `Container ${name} is there`))) pages.reload();
	};
	const remove = async (one) => {
		if ((await confirmed(`Delete the container ${one.name}?`, { text: 'Its blobs go with it.' })) && (await attempt(() => request('blob', account, `/${seg(one.name)}?restype=container`, { method: 'DELETE' }), 'Deleted'))) pages.reload();
	};
	const restore = async (one) => {
		const headers = { 'x-ms-deleted-container-name': one.name, 'x-ms-deleted-container-version': one.version };
		if (await attempt(() => request('blob', account, `/${seg(one.name)}?restype=container&comp=undelete`, { method: 'PUT', headers }), 'Restored')) pages.reload();
	};
	return (
		<>
			<header class="bar">
				<h1>Containers</h1>
				<input data-filter placeholder="Begins with …" value={prefix} onInput={(e) => setPrefix(e.currentTarget.value)} />
				<label class="check"><input type="checkbox" checked={deleted} onChange={(e) => setDeleted(e.currentTarget.checked)} /> show deleted</label>
				<button type="button" data-reload onClick={pages.reload}>Reload</button>
				<Act kind="primary" onClick={create}>New container</Act>
			</header>
			<Problem error={pages.error} />
			<Rows
				head={['Name', 'Changed', 'Public', 'Lease', '']}
				rows={pages.value?.rows ?? []}
				empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : prefix ? `No container begins with ${prefix}.` : 'No containers yet. Blobs live in containers: make one with "New container", or with a client (Home has its connection string).'}
				id={(one) => one.name + one.version}
				onOpen={(one) => !one.deleted && go('blobs', [account, one.name])}
				render={(one) => (
					<>
						<td class="main" title={one.name}>{one.deleted ? <s>{one.name}</s> : <a href={link('blobs', [account, one.name])}>{one.name}</a>}</td>
						<td title={one.modified}>{ago(one.modified)}</td>
						<td>{one.access && <span class="tag warn">{one.access}</span>}</td>
						<td>{one.lease && one.lease !== 'available' && <span class="tag">{one.lease}</span>}</td>
						<td class="actions">
							{one.deleted ? <Act kind="small" onClick={() => restore(one)}>Restore</Act> : <Act kind="small" onClick={() => remove(one)}>Delete</Act>}
						</td>
					</>
				)}
			/>
			<Pager pages={pages} shown={pages.value?.rows.length} />
		</>
	);
}

export function blobOf(one) {
	return {
		name: text(one, 'Name'),
		snapshot: text(one, 'Snapshot'),
		version: text(one, 'VersionId'),
		current: text(one, 'IsCurrentVersion') === 'true',
		deleted: text(one, 'Deleted') === 'true',
		versionsOnly: text(one, 'HasVersionsOnly') === 'true', // the blob was deleted, versions of it stay
		size: Number(text(one, 'Content-Length')),
		type: text(one, 'Content-Type'),
		kind: text(one, 'BlobType'),
		tier: text(one, 'AccessTier'),
		modified: text(one, 'Last-Modified'),
		deletedAt: text(one, 'DeletedTime'),
		lease: text(one, 'LeaseState'),
		etag: text(one, 'Etag'),
	};
}

async function listBlobs({ account, container, prefix, marker, flat, include, max = PAGE }) {
	const page = await xml('blob', account, `/${seg(container)}?${query({ restype: 'container', comp: 'list', prefix, marker, delimiter: flat ? '' : '/', maxresults: max, include })}`);
	const list = page.getElementsByTagName('Blobs')[0];
	return {
		folders: children(list, 'BlobPrefix').map((one) => text(one, 'Name')),
		blobs: children(list, 'Blob').map(blobOf),
		next: text(page.documentElement, 'NextMarker'),
	};
}

function Crumbs({ account, container, prefix }) {
	const parts = prefix.split('/').slice(0, -1);
	return (
		<h1 class="crumbs">
			<a href={link('blobs', [account])}>Containers</a> / <a href={link('blobs', [account, container])}>{container}</a>
			{parts.map((part, i) => <span key={i}> / <a href={link('blobs', [account, container], { prefix: parts.slice(0, i + 1).join('/') + '/' })}>{part || '∅'}</a></span>)}
		</h1>
	);
}

function Container({ account, container, params, overview }) {
	const prefix = params.prefix ?? '';
	const [draft, setDraft] = useState(prefix);
	const deleted = params.deleted === '1';
	const pages = usePages((marker) => listBlobs({ account, container, prefix, marker, include: deleted ? 'deleted,deletedwithversions' : '' }), [account, container, prefix, deleted]);
	const open = params.blob;
	const here = { prefix, deleted: params.deleted };
	const to = (change) => go('blobs', [account, container], { ...here, ...change });
	const rows = [...(pages.value?.folders ?? []).map((name) => ({ folder: true, name })), ...(pages.value?.blobs ?? [])];
	const base = prefix.slice(0, prefix.lastIndexOf('/') + 1);
	const uploads = useUploads((path, file, how) => uploadBlob(account, container, base + path, file, how), pages.reload);
	return (
		<DropZone uploads={uploads} filesOf={filesOf}>
			<header class="bar">
				<Crumbs account={account} container={container} prefix={base} />
				<form class="filter" onSubmit={(e) => { e.preventDefault(); to({ prefix: draft }); }}>
					<input data-filter placeholder="Jump to a prefix" value={draft} onInput={(e) => setDraft(e.currentTarget.value)} />
				</form>
				<label class="check"><input type="checkbox" checked={deleted} onChange={(e) => to({ blob: open, tab: params.tab, deleted: e.currentTarget.checked ? '1' : '' })} /> show deleted</label>
				<button type="button" data-reload onClick={pages.reload}>Reload</button>
				<UploadButtons uploads={uploads} />
			</header>
			<Problem error={pages.error} />
			<Uploads uploads={uploads} />
			<div class="split">
				<div>
					<Rows
						head={['Name', '#Size', '~Type', 'Changed', '']}
						rows={rows}
						empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : 'No blobs here. Drop files to upload them.'}
						id={(one) => one.name + (one.deleted ? one.deletedAt : '') + (one.folder ? '/' : '')}
						selected={open}
						onOpen={(one) => (one.folder ? to({ prefix: one.name }) : to({ blob: one.name }))}
						render={(one) => one.folder ? (
							<>
								<td colSpan={5}><a class="folder" href={link('blobs', [account, container], { ...here, prefix: one.name })}>▸ {one.name.slice(base.length)}</a></td>
							</>
						) : (
							<>
								<td class="main" title={one.name}>{one.deleted || one.versionsOnly ? <s>{one.name.slice(base.length)}</s> : one.name.slice(base.length)}</td>
								<td class="number">{one.versionsOnly ? '' : bytes(one.size)}</td>
								<td class="type" title={one.type}>{one.type}</td>
								<td title={one.modified}>{ago(one.modified)}</td>
								<td>
									{one.deleted && <span class="tag bad">deleted</span>}
									{one.versionsOnly && <span class="tag bad">deleted, versions stay</span>}
									{one.lease && !['available', 'expired'].includes(one.lease) && <span class="tag warn">{one.lease}</span>}
									{one.kind !== 'BlockBlob' && <span class="tag">{one.kind.replace('Blob', '')}</span>}
									{one.tier && one.tier !== 'Hot' && <span class="tag">{one.tier}</span>}
								</td>
							</>
						)}
					/>
					<Pager pages={pages} shown={rows.length} />
				</div>
				{open && <BlobPanel key={open} account={account} container={container} name={open} overview={overview} tab={params.tab} onTab={(tab) => to({ blob: open, tab })} onClose={() => to({})} onChange={() => { pages.reload(); }} onGone={() => { toast('Deleted'); pages.reload(); }} />}
			</div>
		</DropZone>
	);
}

export function Blobs({ route, account, overview }) {
	const container = route.parts[1];
	return container ? <Container key={container + (route.params.prefix ?? '')} account={account} container={container} params={route.params} overview={overview} /> : <ContainerList account={account} />;
}

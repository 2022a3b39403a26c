// SPDX-License-Identifier: Apache-2.0
// Who holds which lease until when, of an account or of one share, to break or to release. The list walks: what it did not look at yet
// is a button away.
import { useEffect, useState } from 'preact/hooks';
import { ask, query, request, seg } from '../api.js';
import { ago, count } from '../format.js';
import { go } from '../router.js';
import { Act, Copy, Problem, Rows, attempt, useLoad } from '../ui.jsx';

const EVERY_MS = 3000;
const segments = (path) => path.split('/').map(seg).join('/');
// The service and the path of the lease operation of each kind.
const TARGETS = {
	blob: (one) => ['blob', `/${seg(one.container)}/${seg(one.name)}?comp=lease`],
	container: (one) => ['blob', `/${seg(one.container)}?restype=container&comp=lease`],
	share: (one) => ['file', `/${seg(one.container)}?restype=share&comp=lease`],
	file: (one) => ['file', `/${seg(one.container)}/${segments(one.name)}?comp=lease`],
};

function open(account, one) {
	const at = (one.name ?? '').lastIndexOf('/');
	if (one.kind === 'blob') go('blobs', [account, one.container], { blob: one.name, prefix: one.name.slice(0, at + 1) });
	else if (one.kind === 'file') go('files', [account, one.container], { dir: one.name.slice(0, Math.max(0, at)), file: one.name.slice(at + 1) });
	else go(one.kind === 'share' ? 'files' : 'blobs', [account, one.container]);
}

// `share`: of that share alone.
export function LeaseList({ account, share }) {
	const start = share ? { shares: 1, container: share } : {};
	const [from, setFrom] = useState(start);
	const loaded = useLoad(() => ask(`/api/leases?${query({ account, ...from })}`), [account, JSON.stringify(from)]);
	useEffect(() => {
		const timer = setInterval(loaded.reload, EVERY_MS);
		return () => clearInterval(timer);
	}, [loaded.reload]);
	const act = async (one, headers, done) => {
		const [service, path] = TARGETS[one.kind](one);
		if (await attempt(() => request(service, account, path, { method: 'PUT', headers }), done)) loaded.reload();
	};
	// A lease of a file has no period to break in.
	const breaking = (one) => ({ 'x-ms-lease-action': 'break', ...(one.kind === 'file' ? {} : { 'x-ms-lease-break-period': '0' }) });
	const value = loaded.value;
	const now = value ? new Date(value.now).getTime() : Date.now();
	const next = value?.next && !(share && value.next.container !== share) ? value.next : null;
	const begun = JSON.stringify(from) !== JSON.stringify(start);
	return (
		<>
			<Problem error={loaded.error} />
			<Rows
				cls="short"
				head={['Object', 'State', '#Time left', 'Lease id', 'Held by', '']}
				rows={(value?.leases ?? []).filter((one) => !share || one.container === share)}
				empty={value ? `No leases among the ${count(value.walked)} objects looked at.` : 'Loading …'}
				id={(one) => `${one.kind}/${one.container}/${one.name}`}
				onOpen={(one) => open(account, one)}
				render={(one) => (
					<>
						<td class="text" title={one.name}><span class="tag first">{one.kind}</span> {one.container}{one.name && `/${one.name}`}</td>
						<td><span class="tag first warn">{one.state}</span></td>
						<td class="number">{one.until ? ago(one.until, now).replace('in ', '') : 'for ever'}</td>
						<td><code title={one.lease_id}>{one.lease_id.slice(0, 8)}…</code> <Copy value={one.lease_id} /></td>
						<td class="holder quiet" title={[one.client_request_id, one.user_agent].filter(Boolean).join('\n')}>{[one.ip, one.user_agent?.split(' ')[0]].filter(Boolean).join(' · ')}</td>
						<td class="actions">
							<Act kind="small" onClick={() => act(one, breaking(one), 'Broken')}>Break</Act>{' '}
							<Act kind="small" onClick={() => act(one, { 'x-ms-lease-action': 'release', 'x-ms-lease-id': one.lease_id }, 'Released')}>Release</Act>
						</td>
					</>
				)}
			/>
			{(next || begun) && (
				<div class="pager">
					<button type="button" disabled={!begun} onClick={() => setFrom(start)}>From the beginning</button>
					<button type="button" disabled={!next} onClick={() => setFrom(next)}>Look further →</button>
				</div>
			)}
		</>
	);
}

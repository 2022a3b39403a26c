// SPDX-License-Identifier: Apache-2.0
// What an account forbids and how much it may use: one row a limit, as the file of limits has them (docs/authorization.md).
import { useState } from 'preact/hooks';
import { commandJson } from '../commands.js';
import { Act, Dialog, Problem, useLoad } from '../ui.jsx';

const LIMITS = [
	['requests-per-second', 'requests a second', '500'],
	['ingress-per-second', 'bytes in a second', '10MiB'],
	['egress-per-second', 'bytes out a second', '10MiB'],
	['shared-key', 'Shared Key and what it signed', 'off'],
	['public-access', 'anonymous reads', 'off'],
	['addresses', 'addresses of clients', '10.0.0.0/8,192.0.2.1-192.0.2.9'],
	['sas-max-hours', 'hours that a SAS may last', '24'],
];
const exampleOf = (limit) => LIMITS.find(([name]) => name === limit)?.[2] ?? '';

export function LimitsDialog({ account, onClose }) {
	const loaded = useLoad(() => commandJson('/limits/show'), []);
	const [fresh, setFresh] = useState({ target: account, limit: LIMITS[0][0], value: '' });
	const [error, setError] = useState();
	const fixed = loaded.value?.fixed;
	const set = async (one, value) => {
		setError(undefined);
		try {
			await commandJson('/limits/set', { target: one.target, limit: one.limit, value });
			await loaded.reload();
			return true;
		} catch (problem) {
			setError(problem);
			return false;
		}
	};
	const rows = (loaded.value?.limits ?? []).filter((one) => one.target === '*' || one.target === account || one.target.startsWith(`${account}/`));
	return (
		<Dialog title={`Limits of ${account}`} onClose={onClose} wide>
			<p class="quiet">Rates can be about one container, queue, table or share: <code>{account}/photos</code>. <code>*</code> is every account; what is said of one replaces it. Requests past a rate get 503 with Retry-After.</p>
			{fixed && <div class="problem" role="alert">{fixed}</div>}
			<Problem error={loaded.error ?? error} />
			<table class="rows limits">
				<thead><tr><th>About</th><th>Limit</th><th>Value</th><th></th></tr></thead>
				<tbody>
					{rows.length === 0 && <tr class="empty"><td colSpan="4">{loaded.value ? 'No limits.' : 'Loading …'}</td></tr>}
					{rows.map((one) => (
						<tr key={`${one.target} ${one.limit}`}>
							<td><code>{one.target}</code></td>
							<td>{one.limit}</td>
							<td><input key={one.value} aria-label={`${one.limit} of ${one.target}`} defaultValue={one.value} disabled={fixed} onChange={(e) => set(one, e.currentTarget.value)} /></td>
							<td class="actions"><Act kind="small" disabled={fixed} onClick={() => set(one, '')}>Remove</Act></td>
						</tr>
					))}
					{!fixed && (
						<tr>
							<td><input aria-label="about" value={fresh.target} onInput={(e) => setFresh({ ...fresh, target: e.currentTarget.value })} /></td>
							<td><select aria-label="limit" value={fresh.limit} onChange={(e) => setFresh({ ...fresh, limit: e.currentTarget.value })}>{LIMITS.map(([name, words]) => <option key={name} value={name} title={words}>{name}</option>)}</select></td>
							<td><input aria-label="value of the limit" value={fresh.value} placeholder={exampleOf(fresh.limit)} onInput={(e) => setFresh({ ...fresh, value: e.currentTarget.value })} /></td>
							<td class="actions"><Act kind="small" disabled={!fresh.value} onClick={async () => { if (await set(fresh, fresh.value)) setFresh({ ...fresh, value: '' }); }}>Add limit</Act></td>
						</tr>
					)}
				</tbody>
			</table>
			<footer><button type="button" onClick={onClose}>Close</button></footer>
		</Dialog>
	);
}

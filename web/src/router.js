// SPDX-License-Identifier: Apache-2.0
// Deep links live behind the '#': #/blobs/account/container?prefix=a%2F. Nothing of them reaches the server.
import { useEffect, useState } from 'preact/hooks';

export function parse(hash) {
	const [path, search = ''] = hash.replace(/^#\/?/, '').split('?');
	const parts = path.split('/').filter(Boolean).map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});
	return { view: parts[0] ?? 'home', parts: parts.slice(1), params: Object.fromEntries(new URLSearchParams(search)) };
}
export function link(view, parts = [], params = {}) {
	const search = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== '')).toString();
	return '#/' + [view, ...parts].map(encodeURIComponent).join('/') + (search ? '?' + search : '');
}
export const go = (...to) => (location.hash = link(...to));

export function useRoute() {
	const [route, set] = useState(() => parse(location.hash));
	useEffect(() => {
		const changed = () => set(parse(location.hash));
		addEventListener('hashchange', changed);
		return () => removeEventListener('hashchange', changed);
	}, []);
	return route;
}

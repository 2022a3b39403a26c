// SPDX-License-Identifier: Apache-2.0
// A request that was seen, as a line for a shell that sends it again: who it was from is replaced by a SAS of an hour, what its body was
// is not known here.
import { isReadOnly } from './api.js';
import { accountSas, isoSeconds } from './sas.js';

const LETTERS = { blob: 'b', queue: 'q', table: 't', file: 'f' };
// What belongs to one connection or one signature, or what curl sets by itself.
const LEFT_OUT = /^(host|connection|content-length|user-agent|accept-encoding|date|x-ms-date|expect|transfer-encoding|traceparent|x-ms-client-request-id)$/i;
const OF_A_SAS = new Set(['sv', 'ss', 'srt', 'sp', 'st', 'se', 'sip', 'spr', 'sig', 'sr', 'si', 'sdd', 'ses', 'skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'saoid', 'suoid', 'scid', 'tn', 'spk', 'srk', 'epk', 'erk']);

const quoted = (value) => `'${value.replaceAll("'", "'\\''")}'`;

function withoutSas(path) {
	const at = path.indexOf('?');
	if (at < 0) return path;
	const all = path.slice(at + 1).split('&'), name = (one) => one.split('=')[0];
	const kept = all.some((one) => name(one) === 'sig') ? all.filter((one) => !OF_A_SAS.has(name(one))) : all;
	return path.slice(0, at) + (kept.length ? `?${kept.join('&')}` : '');
}

// `one`: a request of /api/requests; `endpoint`: of its service.
export async function curlOf(one, endpoint, now) {
	const notes = [], path = withoutSas(one.path);
	let url = endpoint + path;
	if (one.auth !== 'anonymous' && one.account && LETTERS[one.service] && !isReadOnly()) {
		const sas = await accountSas({ account: one.account, services: LETTERS[one.service], types: 'sco', permissions: 'rwdxylacuptfi', expiry: isoSeconds(now + 3600e3) });
		url += (path.includes('?') ? '&' : '?') + sas;
	} else if (one.auth !== 'anonymous') notes.push('# add a SAS, or an Authorization header');
	const headers = Object.entries(one.headers ?? {}).filter(([name]) => !LEFT_OUT.test(name));
	const length = Number(one.headers?.[Object.keys(one.headers).find((name) => /^content-length$/i.test(name))] ?? 0);
	const parts = [one.method === 'HEAD' ? 'curl -g --path-as-is -I' : `curl -g --path-as-is -X ${one.method}`];
	parts.push(`  ${quoted(url)}`, ...headers.map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`));
	if (length > 0) {
		parts.push('  --data-binary @body');
		notes.push(`# the body, ${length} bytes, is not kept: put it into the file "body" before`);
	} else if (['PUT', 'POST', 'MERGE', 'PATCH'].includes(one.method)) {
		if (!headers.some(([name]) => /^content-type$/i.test(name))) parts.push("  -H 'Content-Type:'");
		parts.push("  --data-binary ''");
	}
	return [...notes, parts.join(' \\\n')].join('\n');
}

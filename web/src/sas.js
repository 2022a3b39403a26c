// SPDX-License-Identifier: Apache-2.0
// Shared access signatures: the string to sign is made here, the signature by the admin listener, which has the key.
import { sign } from './api.js';

export const SAS_VERSION = '2022-11-02';
export const isoSeconds = (ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

// A service SAS of Blob. `fields`: account, container, blob, resource (b, c, bs, bv), time (of a snapshot or version), permissions, start,
// expiry, protocol, ip, identifier, disposition, type.
export function blobStringToSign(f) {
	const resource = `/blob/${f.account}/${f.container}${f.blob ? `/${f.blob}` : ''}`;
	return [
		f.permissions ?? '', f.start ?? '', f.expiry ?? '', resource, f.identifier ?? '', f.ip ?? '', f.protocol ?? '', SAS_VERSION,
		f.resource, f.time ?? '', '', '', f.disposition ?? '', '', '', f.type ?? '',
	].join('\n');
}
export async function blobSas(f) {
	const signature = await sign(f.account, blobStringToSign(f));
	const parameters = { sv: SAS_VERSION, st: f.start, se: f.expiry, sr: f.resource, sp: f.permissions, sip: f.ip, spr: f.protocol, si: f.identifier, rscd: f.disposition, rsct: f.type, sig: signature };
	return toQuery(parameters);
}
export const toQuery = (parameters) =>
	Object.entries(parameters).filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

// An account SAS: permissions in the order that the service wants, services and types by their letters.
export function accountStringToSign(f) {
	return [f.account, f.permissions, f.services, f.types, f.start ?? '', f.expiry, f.ip ?? '', f.protocol ?? '', SAS_VERSION, '', ''].join('\n');
}
export const accountParameters = (f) => ({ sv: SAS_VERSION, ss: f.services, srt: f.types, sp: f.permissions, st: f.start, se: f.expiry, sip: f.ip, spr: f.protocol });
export const accountSas = async (f) => toQuery({ ...accountParameters(f), sig: await sign(f.account, accountStringToSign(f)) });

// SPDX-License-Identifier: Apache-2.0
// Everything that goes over the wire. Data is reached by the operations of the services alone, below /api/<service>/<account>; the admin
// listener proves who asks by the session of this page, sent in a header of its own.
import { byName } from './format.js';

const VERSION = '2025-07-05';
let session = null;
let onLogin = () => {};
let readOnly = localStorage.getItem('zaffre.readOnly') === '1';

export class ServiceError extends Error {
	constructor(status, code, message, headers) {
		super(message || code || `status ${status}`);
		this.status = status;
		this.code = code;
		this.headers = headers;
	}
}

// crypto.randomUUID is there on loopback and over HTTPS alone.
export function uuid() {
	const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const isReadOnly = () => readOnly;
export function setReadOnly(on) {
	readOnly = on;
	localStorage.setItem('zaffre.readOnly', on ? '1' : '0');
}
export const whenLoginNeeded = (callback) => (onLogin = callback);

async function takeSession() {
	const kept = sessionStorage.getItem('zaffre.session');
	if (!session && kept) return (session = kept);
	const answer = await fetch('/api/session');
	if (!answer.ok) throw await errorOf(answer);
	session = (await answer.json()).session;
	return session;
}

export async function login(credentials) {
	const answer = await fetch('/api/session', { method: 'POST', body: JSON.stringify(credentials) });
	if (!answer.ok) throw await errorOf(answer);
	session = (await answer.json()).session;
	sessionStorage.setItem('zaffre.session', session);
}

export function logout() {
	session = null;
	sessionStorage.removeItem('zaffre.session');
}
// Somebody signed in, so there is something to sign out of.
export const isSignedIn = () => sessionStorage.getItem('zaffre.session') !== null;

async function errorOf(answer) {
	const text = await answer.text();
	let code = answer.headers.get('x-ms-error-code') ?? '';
	let message = '';
	if (text.startsWith('{')) {
		try {
			const error = JSON.parse(text)['odata.error'] ?? JSON.parse(text).error;
			code ||= error?.code ?? '';
			message = error?.message?.value ?? error?.message ?? '';
		} catch {
			// Not JSON after all.
		}
	} else if (text) {
		message = parseXml(text).querySelector('Message')?.textContent ?? '';
	}
	return new ServiceError(answer.status, code, message.split('\nRequestId')[0], answer.headers);
}

async function send(url, options, again = true) {
	if (!session) {
		try {
			await takeSession();
		} catch (error) {
			if (error.status === 401) onLogin();
			throw error;
		}
	}
	const headers = { 'x-zaffre-session': session, ...options.headers };
	if (readOnly) headers['x-zaffre-read-only'] = '1';
	const answer = await fetch(url, { ...options, headers });
	if (answer.status === 401 && again) {
		logout();
		return send(url, options, false);
	}
	if (answer.status === 401) onLogin();
	if (!answer.ok && !(options.accept ?? []).includes(answer.status)) throw await errorOf(answer);
	return answer;
}

// An answer of the admin listener as JSON.
export async function ask(path, options = {}) {
	return (await send(path, options)).json();
}

// An operation of a service. `path` begins with '/', already encoded.
export function request(service, account, path, options = {}) {
	const headers = { 'x-ms-version': VERSION, 'x-ms-client-request-id': `explorer-${uuid()}`, ...options.headers };
	if (service === 'table') {
		headers['x-ms-version'] = '2019-02-02';
		headers.DataServiceVersion = '3.0;NetFx';
	}
	return send(`/api/${service}/${account}${path}`, { ...options, headers });
}

// The whole name as one segment: a browser would resolve the dots of a/../b.
export const seg = encodeURIComponent;
export const query = (parameters) =>
	Object.entries(parameters)
		.filter(([, value]) => value !== undefined && value !== null && value !== '')
		.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
		.join('&');

export function parseXml(text) {
	return new DOMParser().parseFromString(text.replace(/^\ufeff/, ''), 'application/xml');
}
export async function xml(service, account, path, options) {
	return parseXml(await (await request(service, account, path, options)).text());
}
export const text = (node, name) => node?.getElementsByTagName(name)[0]?.textContent ?? '';
export const children = (node, name) => [...(node?.children ?? [])].filter((child) => child.tagName === name);

export function metadataOf(headers) {
	const found = byName();
	headers.forEach((value, name) => {
		if (name.startsWith('x-ms-meta-')) found[name.slice('x-ms-meta-'.length)] = value;
	});
	return found;
}
export const metadataHeaders = (metadata) => Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));

// A SAS for one blob, signed by the admin listener: how the browser downloads what should not pass through this page's memory.
export async function sign(account, stringToSign) {
	return (await ask(`/api/sign?${query({ account })}`, { method: 'POST', body: stringToSign })).signature;
}

export const escapeXml = (value) => value.replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);

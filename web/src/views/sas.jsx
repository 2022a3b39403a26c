// SPDX-License-Identifier: Apache-2.0
// A SAS is built and explained; and a request that was refused is explained: the string that the server signed, and the reason.
import { useState } from 'preact/hooks';
import { ask, sign } from '../api.js';
import { diffLines } from '../format.js';
import { SAS_VERSION, accountParameters, accountStringToSign, blobStringToSign, isoSeconds, toQuery } from '../sas.js';
import { go } from '../router.js';
import { Act, Copy, Pairs, Problem, Tabs, attempt, tabOf } from '../ui.jsx';
import { endpointOf } from './home.jsx';

const PERMISSIONS = {
	account: [['r', 'read'], ['w', 'write'], ['d', 'delete'], ['l', 'list'], ['a', 'add'], ['c', 'create'], ['u', 'update'], ['p', 'process messages'], ['t', 'tags'], ['f', 'filter by tags'], ['x', 'delete versions'], ['i', 'immutability']],
	blob: [['r', 'read'], ['a', 'append'], ['c', 'create'], ['w', 'write'], ['d', 'delete'], ['x', 'delete versions'], ['l', 'list'], ['t', 'tags'], ['i', 'immutability']],
	queue: [['r', 'peek'], ['a', 'add'], ['u', 'update'], ['p', 'get and delete']],
	table: [['r', 'query'], ['a', 'add'], ['u', 'update'], ['d', 'delete']],
	file: [['r', 'read'], ['c', 'create'], ['w', 'write'], ['d', 'delete'], ['l', 'list']],
};
const ORDER = { account: 'rwdxylacuptfi', blob: 'racwdxltmeopyfi', queue: 'raup', table: 'raud', file: 'rcwdl' };
const SERVICES = { b: 'blobs', q: 'queues', t: 'tables', f: 'files' };
const LIVES = [['1 hour', 1], ['1 day', 24], ['1 week', 7 * 24], ['1 year', 365 * 24]];
const TYPES = { s: 'the service', c: 'containers, queues, tables and shares', o: 'blobs, messages, entities and files' };

function build(form) {
	const p = [...ORDER[form.kind]].filter((letter) => form.permissions.includes(letter)).join('');
	const { account, start, expiry, ip, protocol, name, object } = form;
	if (form.kind === 'account') {
		const fields = { account, permissions: p, services: form.services, types: form.types, start, expiry, ip, protocol };
		return { string: accountStringToSign(fields), parameters: accountParameters(fields) };
	}
	if (form.kind === 'blob') {
		const resource = object ? 'b' : 'c';
		return { string: blobStringToSign({ account, container: name, blob: object, resource, permissions: p, start, expiry, ip, protocol }), parameters: { sv: SAS_VERSION, sr: resource, sp: p, st: start, se: expiry, sip: ip, spr: protocol } };
	}
	if (form.kind === 'queue') return { string: [p, start, expiry, `/queue/${account}/${name}`, '', ip, protocol, SAS_VERSION].join('\n'), parameters: { sv: SAS_VERSION, sp: p, st: start, se: expiry, sip: ip, spr: protocol } };
	if (form.kind === 'table')
		return { string: [p, start, expiry, `/table/${account}/${name.toLowerCase()}`, '', ip, protocol, SAS_VERSION, '', '', '', ''].join('\n'), parameters: { sv: SAS_VERSION, tn: name, sp: p, st: start, se: expiry, sip: ip, spr: protocol } };
	const resource = object ? 'f' : 's';
	return {
		string: [p, start, expiry, `/file/${account}/${name}${object ? `/${object}` : ''}`, '', ip, protocol, SAS_VERSION, '', '', '', '', ''].join('\n'),
		parameters: { sv: SAS_VERSION, sr: resource, sp: p, st: start, se: expiry, sip: ip, spr: protocol },
	};
}

// In words: what whoever has it may do, to what, from when until when.
function explain(form, now) {
	const may = PERMISSIONS[form.kind].filter(([letter]) => form.permissions.includes(letter)).map(([, word]) => word);
	const where = form.kind === 'account'
		? `${[...form.services].map((one) => SERVICES[one]).join(', ') || 'nothing'} of ${form.account}: ${[...form.types].map((one) => TYPES[one]).join('; ') || 'nothing'}`
		: form.object ? `${form.name}/${form.object}` : `${{ blob: 'every blob of the container', queue: 'the queue', table: 'the table', file: 'everything in the share' }[form.kind]} ${form.name || '…'}`;
	const hours = (new Date(form.expiry) - Math.max(now, new Date(form.start || now))) / 3600e3;
	const notes = [];
	if (hours > 24 * 7) notes.push('It lives for more than a week: whoever finds it later can still use it.');
	if (hours <= 0) notes.push('It has ended already.');
	if (form.start && new Date(form.start) > now) notes.push('It is not good yet.');
	if (form.permissions.includes('d') && form.permissions.includes('w')) notes.push('It can overwrite and delete.');
	if (form.protocol !== 'https') notes.push('It may travel over plain HTTP, readable on the way.');
	notes.push(form.ip ? `From ${form.ip} alone.` : 'From every address.');
	const until = form.expiry ? `until ${form.expiry}` : 'for as long as its stored policy says';
	const end = form.policy ? `It goes by the stored policy ${form.policy}: change that one, and it is taken back.` : 'It cannot be taken back but by changing the key of the account.';
	return [`Whoever has it may ${may.join(', ') || (form.policy ? 'do what its policy says' : 'do nothing')} on ${where}, ${form.start ? `from ${form.start} ` : ''}${until}.`, ...notes, end];
}

// What a token cannot be without.
function missing(form) {
	if (form.kind !== 'account' && !form.name) return `Name the ${{ blob: 'container', queue: 'queue', table: 'table', file: 'share' }[form.kind]}.`;
	if (form.kind === 'account' && (!form.services || !form.types)) return 'Choose a service and a kind of resource.';
	if (!form.permissions) return 'Choose what it may do.';
	return Number.isNaN(Date.parse(form.expiry)) || (form.start && Number.isNaN(Date.parse(form.start))) ? 'Times look like 2026-01-31T00:00:00Z.' : '';
}

function Builder({ account, overview }) {
	const now = new Date(overview.now).getTime();
	const [form, set] = useState({ account, kind: 'blob', permissions: 'rl', services: 'b', types: 'sco', name: '', object: '', start: '', expiry: isoSeconds(now + 24 * 3600e3), ip: '', protocol: '' });
	const [made, setMade] = useState(null);
	const change = (part) => { set({ ...form, ...part }); setMade(null); };
	const toggle = (field, letter) => change({ [field]: form[field].includes(letter) ? form[field].replace(letter, '') : form[field] + letter });
	const { string, parameters } = build(form);
	const incomplete = missing(form);
	const service = form.kind === 'account' ? { b: 'blob', q: 'queue', t: 'table', f: 'file' }[form.services[0] ?? 'b'] : form.kind;
	const make = () => attempt(async () => {
		const token = toQuery({ ...parameters, sig: await sign(account, string) });
		const path = form.kind === 'account' ? '' : `/${form.name}${form.object ? `/${form.object.split('/').map(encodeURIComponent).join('/')}` : ''}`;
		setMade({ token, url: `${endpointOf(overview, service)}/${account}${path}?${token}` });
	});
	const field = (label, name, extra = {}) => <label>{label} <input value={form[name]} onInput={(e) => change({ [name]: e.currentTarget.value })} {...extra} /></label>;
	return (
		<div class="grid two">
			<section class="card form">
				<label>Kind <select value={form.kind} onChange={(e) => change({ kind: e.currentTarget.value, permissions: 'r' })}><option value="account">account</option><option value="blob">container or blob</option><option value="queue">queue</option><option value="table">table</option><option value="file">share or file</option></select></label>
				{form.kind === 'account' ? (
					<>
						<div class="choices">{Object.entries(SERVICES).map(([letter, word]) => <label key={letter} class="check"><input type="checkbox" checked={form.services.includes(letter)} onChange={() => toggle('services', letter)} /> {word}</label>)}</div>
						<div class="choices">{[['s', 'service'], ['c', 'containers'], ['o', 'objects']].map(([letter, word]) => <label key={letter} class="check"><input type="checkbox" checked={form.types.includes(letter)} onChange={() => toggle('types', letter)} /> {word}</label>)}</div>
					</>
				) : field({ blob: 'Container', queue: 'Queue', table: 'Table', file: 'Share' }[form.kind], 'name', { 'aria-label': 'resource' })}
				{form.kind === 'blob' && field('Blob (empty: all of the container)', 'object')}
				{form.kind === 'file' && field('File (empty: all of the share)', 'object')}
				<h3>May</h3>
				<div class="choices">{PERMISSIONS[form.kind].map(([letter, word]) => <label key={letter} class="check"><input type="checkbox" checked={form.permissions.includes(letter)} onChange={() => toggle('permissions', letter)} /> {word}</label>)}</div>
				<h3>When and from where</h3>
				{field('From (empty: at once)', 'start', { placeholder: '2026-01-31T00:00:00Z' })}
				{field('Until', 'expiry')}
				<div class="buttons">{LIVES.map(([words, hours]) => <button key={words} type="button" class="small" onClick={() => change({ expiry: isoSeconds((Date.parse(form.start) || now) + hours * 3600e3) })}>{words}</button>)}</div>
				{field('Addresses (empty: all)', 'ip', { placeholder: '10.0.0.1-10.0.0.9' })}
				<label>Protocol <select value={form.protocol} onChange={(e) => change({ protocol: e.currentTarget.value })}><option value="">HTTP and HTTPS</option><option value="https">HTTPS alone</option></select></label>
				<footer><Act kind="primary" disabled={incomplete} title={incomplete} onClick={make}>Sign</Act>{incomplete && <span class="quiet">{incomplete}</span>}</footer>
			</section>
			<section class="card">
				<h2>What it may do</h2>
				<ul class="explain">{explain(form, now).map((line) => <li key={line}>{line}</li>)}</ul>
				{made && (
					<>
						<h3>URL <Copy value={made.url} /></h3><pre class="content" data-made>{made.url}</pre>
						<h3>Token <Copy value={made.token} /></h3><pre class="content">{made.token}</pre>
					</>
				)}
				<h3>String to sign</h3>
				<pre class="content">{string}</pre>
			</section>
		</div>
	);
}

// "GET http://..." with header lines, a URL alone, or a curl command.
export function readPasted(value, overview) {
	let text = value.trim();
	const headers = {};
	let method = 'GET', url;
	if (/^curl\b/.test(text)) {
		text = text.replace(/\\\n/g, ' ');
		method = /(?:-X|--request)\s+'?(\w+)/.exec(text)?.[1] ?? (/-I\b|--head\b/.test(text) ? 'HEAD' : 'GET');
		for (const [, single, double] of text.matchAll(/(?:-H|--header)\s+(?:'([^']*)'|"([^"]*)")/g)) addHeader(headers, single ?? double);
		url = /(https?:\/\/[^\s'"]+)/.exec(text)?.[1];
	} else {
		const [first, ...rest] = text.split(/\r?\n/);
		const words = first.trim().split(/\s+/);
		if (/^[A-Z]+$/.test(words[0]) && words[1]) [method, url] = words;
		else url = words[0];
		rest.forEach((line) => addHeader(headers, line));
	}
	if (!url) throw new Error('There is no address in it: begin with http://…, with GET /account/…, or paste a curl command.');
	if (url.startsWith('/')) url = `http://${Object.entries(headers).find(([name]) => /^host$/i.test(name))?.[1] ?? '127.0.0.1'}${url}`;
	const parsed = new URL(url);
	headers.Host ??= parsed.host;
	const port = Number(parsed.port) || (parsed.protocol === 'https:' ? 443 : 80);
	const service = overview.endpoints.find((one) => one.port === port)?.service ?? /\.(blob|queue|table|file)\./.exec(parsed.host)?.[1] ?? 'blob';
	return { method, target: url.slice(url.indexOf('/', 8)) || '/', service, headers };
}
function addHeader(headers, line) {
	const at = line.indexOf(':');
	if (at > 0) headers[line.slice(0, at).trim()] = line.slice(at + 1).trim();
}

// The SAS of a request as the form that would have made it; null without one.
export function readSas({ target, service }) {
	const at = target.indexOf('?');
	const given = new URLSearchParams(at < 0 ? '' : target.slice(at + 1).replaceAll('+', '%2B'));
	if (!given.has('sig')) return null;
	const [account = '', name = '', ...rest] = target.slice(1, at).split('/').map((part) => decodeURIComponent(part));
	const whole = ['c', 's', null].includes(given.get('sr'));
	return {
		account, kind: given.has('ss') ? 'account' : service, permissions: given.get('sp') ?? '', services: given.get('ss') ?? '', types: given.get('srt') ?? '', policy: given.get('si') ?? '',
		name: given.get('tn') ?? name, object: whole ? '' : rest.join('/'), start: given.get('st') ?? '', expiry: given.get('se') ?? '', ip: given.get('sip') ?? '', protocol: given.get('spr') ?? '',
	};
}

function Why({ overview }) {
	const [value, set] = useState('');
	const [theirs, setTheirs] = useState('');
	const [answer, setAnswer] = useState(null);
	const [error, setError] = useState(null);
	const [sas, setSas] = useState(null);
	const find = async () => {
		setError(null);
		setAnswer(null);
		try {
			const pasted = readPasted(value, overview);
			setSas(readSas(pasted));
			setAnswer(await ask('/api/why', { method: 'POST', body: JSON.stringify(pasted) }));
		} catch (problem) {
			setError(problem);
		}
	};
	return (
		<div class="grid two">
			<section class="card form">
				<p class="quiet">A URL with its SAS, a request (<code>GET /account/…</code> and header lines), or a curl command. It is judged as if it came now, and not carried out.</p>
				<textarea rows="9" value={value} onInput={(e) => set(e.currentTarget.value)} aria-label="request" placeholder={`GET ${endpointOf(overview, 'blob')}/devstoreaccount1/photos?restype=container&comp=list&sv=…&sig=…`} />
				<label>The string that you signed, to compare <textarea rows="4" value={theirs} onInput={(e) => setTheirs(e.currentTarget.value)} aria-label="your string to sign" /></label>
				<footer><button type="button" class="primary" disabled={!value.trim()} onClick={find}>Why?</button></footer>
			</section>
			<section class="card">
				<h2>Answer</h2>
				<Problem error={error} />
				{!answer && !error && <p class="quiet">The status that it would get and the reason, in the server's own words; what its SAS allows; and the string that the server signed, to compare with yours line by line.</p>}
				{answer && (
					<>
						<p>{answer.allowed ? <span class="tag good">would be allowed</span> : <span class="tag bad">{answer.status} {answer.code}</span>}</p>
						<Pairs pairs={[['Operation', answer.operation || 'none fits'], ['Account', answer.account], ['Message', answer.message], ['Reason', answer.AuthenticationErrorDetail], ['What would help', answer.hint]]} />
						{sas && <><h3>The SAS in it</h3><ul class="explain" data-explained>{explain(sas, new Date(overview.now).getTime()).map((line) => <li key={line}>{line}</li>)}</ul></>}
						{answer.stringToSign && (
							<>
								<h3>The string that the server signed <Copy value={answer.stringToSign} /></h3>
								<pre class="content" data-string>{theirs ? diffLines(theirs, answer.stringToSign).map((part, i) => <div key={i} class={`diffline ${{ '+': 'added', '-': 'removed', ' ': '' }[part.kind]}`}>{part.kind} {part.line}</div>) : answer.stringToSign}</pre>
							</>
						)}
					</>
				)}
			</section>
		</div>
	);
}

const TABS = [['build', 'Build a SAS'], ['why', 'Why was this refused?']];

export function Sas({ route, account, overview }) {
	const tab = tabOf(TABS, route.params.tab);
	return (
		<>
			<h1>Access</h1>
			<Tabs tabs={TABS} value={tab} onChange={(id) => go('access', [account], { tab: id })} />
			{tab === 'build' ? <Builder account={account} overview={overview} /> : <Why overview={overview} />}
		</>
	);
}

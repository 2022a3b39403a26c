// SPDX-License-Identifier: Apache-2.0
// Tables: a grid with types, a filter that says how it was answered, and edits that hold to the ETag they were made on.
import { useMemo, useState } from 'preact/hooks';
import { ServiceError, isReadOnly, query, request, seg, uuid } from '../api.js';
import { byName, count, csvParse, csvRow, parseDigits, save } from '../format.js';
import { go, link } from '../router.js';
import { Act, Conflict, Dialog, Pager, Problem, Rows, attempt, confirmed, named, toast, usePages } from '../ui.jsx';

const FULL = 'application/json;odata=fullmetadata';
const TYPES = ['Edm.String', 'Edm.Int32', 'Edm.Int64', 'Edm.Double', 'Edm.Boolean', 'Edm.DateTime', 'Edm.Guid', 'Edm.Binary'];
const SYSTEM = ['PartitionKey', 'RowKey', 'Timestamp'];
const BATCH = 100;

const quote = (value) => value.replaceAll("'", "''");
const entityPath = (table, e) => `/${seg(table)}(PartitionKey='${seg(quote(e.PartitionKey.value))}',RowKey='${seg(quote(e.RowKey.value))}')`;

// { name: { type, value } }: values as texts, so that no number loses a digit. From what parseDigits made; without a type a number is
// what the service takes it for: with a point or an exponent it is a Double.
export function readEntity(json) {
	const entity = byName();
	for (const [name, value] of Object.entries(json)) {
		if (name.startsWith('odata.') || name.includes('@odata') || value === null) continue;
		const digits = value.digits;
		if (typeof value === 'object' && digits === undefined) throw new Error(`${name} is a list or an object; a property is a text, a number, true or false.`);
		const type = json[`${name}@odata.type`] ?? (typeof value === 'boolean' ? 'Edm.Boolean' : digits === undefined ? 'Edm.String' : /[.eE]/.test(digits) ? 'Edm.Double' : 'Edm.Int32');
		entity[name] = { type, value: digits ?? String(value) };
	}
	return { entity, etag: json['odata.etag'] };
}
export function writeEntity(entity) {
	const json = byName();
	for (const [name, { type, value }] of Object.entries(entity)) {
		if (name === 'Timestamp') continue;
		if (type === 'Edm.Boolean') json[name] = value === 'true';
		else if (type === 'Edm.Int32') json[name] = Number(value);
		else if (type === 'Edm.Double') {
			json[name] = Number.isFinite(Number(value)) && value.trim() !== '' ? Number(value) : value;
			json[`${name}@odata.type`] = type;
		} else {
			json[name] = value;
			if (type !== 'Edm.String') json[`${name}@odata.type`] = type;
		}
	}
	return json;
}
const flat = (entity) => Object.fromEntries(Object.entries(entity).filter(([name]) => name !== 'Timestamp').map(([name, { type, value }]) => [name, `${value}  (${type.slice(4)})`]));

function TableList({ account }) {
	const [prefix, setPrefix] = useState('');
	const pages = usePages(async (marker) => {
		const filter = prefix ? `TableName ge '${quote(prefix)}' and TableName lt '${quote(prefix)}{'` : '';
		const answer = await request('table', account, `/Tables?${query({ $filter: filter, $top: 50, NextTableName: marker })}`, { headers: { Accept: 'application/json;odata=nometadata' } });
		return { rows: (await answer.json()).value, next: answer.headers.get('x-ms-continuation-NextTableName') };
	}, [account, prefix]);
	const create = async () => {
		const name = await named('New table', { pattern: '[A-Za-z][A-Za-z0-9]{2,62}', hint: '3 to 63 letters and digits; a letter first.' });
		const options = { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: FULL, Prefer: 'return-no-content' }, body: JSON.stringify({ TableName: name }) };
		if (name && (await attempt(() => request('table', account, '/Tables', options), `Table ${name} is there`))) pages.reload();
	};
	return (
		<>
			<header class="bar">
				<h1>Tables</h1>
				<input data-filter placeholder="Begins with …" value={prefix} onInput={(e) => setPrefix(e.currentTarget.value)} />
				<button type="button" data-reload onClick={pages.reload}>Reload</button>
				<Act kind="primary" onClick={create}>New table</Act>
			</header>
			<Problem error={pages.error} />
			<Rows
				head={['Name', '']}
				rows={pages.value?.rows ?? []}
				empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : prefix ? `No table begins with ${prefix}.` : 'No tables yet. Make one with "New table", or with a client (Home has its connection string).'}
				id={(one) => one.TableName}
				onOpen={(one) => go('tables', [account, one.TableName])}
				render={(one) => (
					<>
						<td><a href={link('tables', [account, one.TableName])}>{one.TableName}</a></td>
						<td class="actions">
							<Act kind="small" onClick={async () => {
								if ((await confirmed(`Delete the table ${one.TableName}?`, { text: 'Its entities go with it.' })) && (await attempt(() => request('table', account, `/Tables('${seg(one.TableName)}')`, { method: 'DELETE' }), 'Deleted'))) pages.reload();
							}}>Delete</Act>
						</td>
					</>
				)}
			/>
			<Pager pages={pages} shown={pages.value?.rows.length} />
		</>
	);
}

function EntityPanel({ account, table, row, onClose, onChange }) {
	const isNew = !row;
	const start = row?.entity ?? { PartitionKey: { type: 'Edm.String', value: '' }, RowKey: { type: 'Edm.String', value: '' } };
	const [fields, setFields] = useState(Object.entries(start).filter(([name]) => name !== 'Timestamp').map(([name, field]) => ({ name, ...field })));
	const [etag, setEtag] = useState(row?.etag);
	const [conflict, setConflict] = useState(null);
	const mine = () => Object.fromEntries(fields.filter((f) => f.name).map(({ name, type, value }) => [name, { type, value }]));
	const change = (i, part) => setFields(fields.map((field, k) => (k === i ? { ...field, ...part } : field)));
	const headers = { 'Content-Type': 'application/json', Accept: FULL };

	const read = async () => readEntity(parseDigits(await (await request('table', account, entityPath(table, start), { headers: { Accept: FULL } })).text()));
	const put = async (match) => {
		const entity = mine();
		if (isNew) return request('table', account, `/${seg(table)}`, { method: 'POST', headers: { ...headers, Prefer: 'return-no-content' }, body: JSON.stringify(writeEntity(entity)) });
		return request('table', account, entityPath(table, start), { method: 'PUT', headers: { ...headers, 'If-Match': match }, body: JSON.stringify(writeEntity(entity)) });
	};
	const write = async (match) => {
		try {
			await put(match);
			toast(isNew ? 'Added' : 'Saved');
			onChange();
		} catch (error) {
			if (error.status !== 412) return toast(`${error.code}: ${error.message}`, 'bad');
			await attempt(async () => setConflict(await read()));
		}
	};
	const remove = async () => {
		if (!(await confirmed('Delete this entity?'))) return;
		try {
			await request('table', account, entityPath(table, start), { method: 'DELETE', headers: { Accept: FULL, 'If-Match': etag } });
			toast('Deleted');
			onChange();
		} catch (error) {
			if (error.status === 412) await attempt(async () => setConflict(await read()));
			else toast(`${error.code}: ${error.message}`, 'bad');
		}
	};
	return (
		<aside class="panel">
			<header>
				<h2>{isNew ? 'New entity' : 'Entity'}</h2>
				<button type="button" class="plain" data-close aria-label="Close" onClick={onClose}>✕</button>
			</header>
			<div class="editor typed">
				{fields.map((field, i) => {
					const key = SYSTEM.includes(field.name) && i < 2;
					return (
						<div key={i}>
							<input aria-label="name" value={field.name} disabled={key} onInput={(e) => change(i, { name: e.currentTarget.value })} placeholder="name" />
							<select aria-label="type" value={field.type} disabled={key} onChange={(e) => change(i, { type: e.currentTarget.value })}>
								{TYPES.map((type) => <option key={type} value={type}>{type.slice(4)}</option>)}
							</select>
							<input aria-label={`value of ${field.name}`} title={field.value.length > 14 ? field.value : undefined} value={field.value} disabled={key && !isNew} onInput={(e) => change(i, { value: e.currentTarget.value })} placeholder="value" />
							<button type="button" class="plain" aria-label="remove" disabled={key} onClick={() => setFields(fields.filter((_, k) => k !== i))}>✕</button>
						</div>
					);
				})}
				<button type="button" class="small" onClick={() => setFields([...fields, { name: '', type: 'Edm.String', value: '' }])}>Add property</button>
			</div>
			{!isNew && <p class="quiet">ETag <code>{etag}</code><br />Saving sends it as If-Match: who was first wins.</p>}
			<footer>
				<Act kind="primary" onClick={() => write(etag)}>{isNew ? 'Add' : 'Save'}</Act>
				{!isNew && <Act kind="danger" onClick={remove}>Delete</Act>}
			</footer>
			{conflict && (
				<Conflict
					mine={flat(mine())}
					theirs={flat(conflict.entity)}
					onKeep={() => { setConflict(null); onChange(); }}
					onOverwrite={() => { setEtag(conflict.etag); setConflict(null); write(conflict.etag); }}
				/>
			)}
		</aside>
	);
}

// "plan=range ranges=1 scanned=120 matched=7", as the server notes it in its access log.
const PLANS = { point: 'one row by its two keys: as quick as it gets', range: 'rows next to each other by their keys', scan: 'every row of the table: name a PartitionKey to look at fewer' };
function Plan({ note }) {
	if (!note) return null;
	const plan = Object.fromEntries(note.split(' ').map((part) => part.split('=')));
	const kind = plan.plan ?? '';
	const good = /point/.test(kind) ? 'good' : /scan|all|table/.test(kind) ? 'warn' : '';
	return (
		<span class="plan">
			<span class={`tag first ${good}`} title={PLANS[kind]}>{kind}</span> {plan.scanned !== undefined && <>{plan.scanned} rows looked at, {plan.matched} matched, {plan.ranges} {plan.ranges === '1' ? 'range' : 'ranges'}</>}{kind === 'scan' && <span class="quiet"> · name a PartitionKey to look at fewer</span>}
		</span>
	);
}

// All pages, as long as somebody wants them: exported piece by piece.
async function* allEntities(account, table, filter) {
	let next = {};
	for (;;) {
		const answer = await request('table', account, `/${seg(table)}()?${query({ $filter: filter, ...next })}`, { headers: { Accept: FULL } });
		yield parseDigits(await answer.text()).value.map(readEntity);
		const pk = answer.headers.get('x-ms-continuation-NextPartitionKey');
		if (!pk) return;
		next = { NextPartitionKey: pk, NextRowKey: answer.headers.get('x-ms-continuation-NextRowKey') ?? '' };
	}
}
async function exportAll(account, table, filter, form, onProgress) {
	const pieces = [];
	let n = 0;
	const rows = [];
	for await (const page of allEntities(account, table, filter)) {
		for (const { entity } of page) {
			n++;
			if (form === 'json') pieces.push(JSON.stringify(writeEntity(entity)) + '\n');
			else rows.push(entity);
		}
		onProgress(n);
	}
	if (form === 'csv') {
		// A column for each type that a name has: what is read again is what was written.
		const titleOf = ([name, { type }]) => (type === 'Edm.String' ? name : `${name}@${type.slice(4)}`);
		const fields = rows.map((entity) => new Map(Object.entries(entity).filter(([name]) => name !== 'Timestamp').map((field) => [titleOf(field), field[1].value])));
		const titles = [...new Set(fields.flatMap((entity) => [...entity.keys()]))];
		pieces.push(csvRow(titles), ...fields.map((entity) => csvRow(titles.map((title) => entity.get(title) ?? null))));
	}
	save(`${table}.${form === 'json' ? 'jsonl' : 'csv'}`, pieces.join(''), form === 'json' ? 'application/jsonl' : 'text/csv');
	return n;
}

function readImport(value) {
	const trimmed = value.trim();
	const json = (list) => list.map((one) => writeEntity(readEntity(one).entity));
	if (trimmed.startsWith('[')) return json(parseDigits(trimmed));
	if (trimmed.startsWith('{')) return json(trimmed.split('\n').filter((line) => line.trim()).map(parseDigits));
	const [head, ...rows] = csvParse(value);
	return rows.map((row) => {
		const entity = byName();
		head.forEach((title, i) => {
			if (row[i] === undefined || row[i] === null) return;
			const [name, type] = title.split('@');
			entity[name] = { type: `Edm.${type ?? 'String'}`, value: row[i] };
		});
		return writeEntity(entity);
	});
}

// One partition at a time in batches of a hundred: what one batch says is all or nothing.
async function inBatches(account, table, operations, onProgress = () => {}) {
	const partitions = Map.groupBy(operations, ({ entity }) => entity.PartitionKey);
	let done = 0;
	for (const list of partitions.values())
		for (let at = 0; at < list.length; at += BATCH) {
			await sendBatch(account, table, list.slice(at, at + BATCH));
			done += Math.min(BATCH, list.length - at);
			onProgress(done);
		}
	return done;
}
const importAll = (account, table, value, onProgress) => inBatches(account, table, readImport(value).map((entity) => ({ method: 'PUT', entity })), onProgress);

// All or nothing: [{ method, entity as JSON, etag }] of one partition. A DELETE needs the ETag of what was shown.
async function sendBatch(account, table, operations) {
	const batch = `batch_${uuid()}`, set = `changeset_${uuid()}`;
	let body = `--${batch}\r\nContent-Type: multipart/mixed; boundary=${set}\r\n\r\n`;
	for (const { method, entity, etag } of operations) {
		const path = entityPath(table, { PartitionKey: { value: entity.PartitionKey }, RowKey: { value: entity.RowKey } });
		body += `--${set}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n`;
		body += `${method} ${location.origin}/${account}${path} HTTP/1.1\r\n${etag ? `If-Match: ${etag}\r\n` : ''}Content-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0;\r\n\r\n${method === 'PUT' ? JSON.stringify(entity) : ''}\r\n`;
	}
	body += `--${set}--\r\n--${batch}--\r\n`;
	const answer = await request('table', account, '/$batch', { method: 'POST', headers: { 'Content-Type': `multipart/mixed; boundary=${batch}`, Accept: 'application/json' }, body });
	const text = await answer.text();
	const refused = /HTTP\/1\.1 ([45]\d\d)/.exec(text);
	if (refused) throw new ServiceError(Number(refused[1]), 'batch refused', /"value":"([^"\\]*)/.exec(text)?.[1] ?? '');
}

function Import({ account, table, onClose, onDone }) {
	const [value, set] = useState('');
	const [done, setDone] = useState(null);
	return (
		<Dialog title={`Import into ${table}`} onClose={onClose}>
			<p class="quiet">CSV (first line names; <code>Name@Int64</code> gives a type), JSON lines, or a JSON array. An entity that is there already is replaced.</p>
			<input type="file" accept=".csv,.json,.jsonl" onChange={async (e) => set(await e.currentTarget.files[0].text())} />
			<textarea rows="8" value={value} onInput={(e) => set(e.currentTarget.value)} aria-label="Rows" />
			<footer>
				{done !== null && <span class="quiet">{count(done)} imported</span>}
				<button type="button" onClick={onClose}>Cancel</button>
				<Act disabled={!value.trim()} kind="primary" onClick={async () => {
					const n = await attempt(() => importAll(account, table, value, setDone));
					if (n !== undefined) { toast(`${n} imported`); onDone(); }
				}}>Import</Act>
			</footer>
		</Dialog>
	);
}

function Table({ account, table, params }) {
	const [draft, setDraft] = useState(params.filter ?? '');
	// A link to an entity names its two keys.
	const id = ({ entity }) => `${entity.PartitionKey.value}\n${entity.RowKey.value}`;
	const open = params.entity ?? null;
	const setOpen = (entity) => go('tables', [account, table], { filter: params.filter, entity });
	const [importing, setImporting] = useState(false);
	const [picked, setPicked] = useState(new Set());
	const [exported, setExported] = useState(null);
	const filter = params.filter ?? '';
	const pages = usePages(async (marker) => {
		const next = marker ? JSON.parse(marker) : {};
		const answer = await request('table', account, `/${seg(table)}()?${query({ $filter: filter, $top: 100, ...next })}`, { headers: { Accept: FULL } });
		const rows = parseDigits(await answer.text()).value.map(readEntity);
		const pk = answer.headers.get('x-ms-continuation-NextPartitionKey');
		return {
			rows,
			note: answer.headers.get('x-zaffre-note'),
			next: pk && JSON.stringify({ NextPartitionKey: pk, NextRowKey: answer.headers.get('x-ms-continuation-NextRowKey') ?? '' }),
		};
	}, [account, table, filter]);
	const rows = pages.value?.rows ?? [];
	const columns = useMemo(() => {
		const names = [...new Set(rows.flatMap(({ entity }) => Object.keys(entity)))].filter((name) => !SYSTEM.includes(name));
		return ['PartitionKey', 'RowKey', ...names.slice(0, 40), 'Timestamp'];
	}, [rows]);
	const row = rows.find((one) => id(one) === open);
	const reload = () => { setOpen(null); setPicked(new Set()); pages.reload(); };
	const pick = (key) => setPicked((old) => new Set(old.has(key) ? [...old].filter((other) => other !== key) : [...old, key]));
	const removePicked = async () => {
		const operations = rows.filter((one) => picked.has(id(one))).map(({ entity, etag }) => ({ method: 'DELETE', etag, entity: { PartitionKey: entity.PartitionKey.value, RowKey: entity.RowKey.value } }));
		if (!(await confirmed(`Delete ${operations.length} entities?`, { text: 'Those of one partition go together or not at all.' }))) return;
		const n = await attempt(() => inBatches(account, table, operations));
		if (n !== undefined) toast(`${n} deleted`);
		reload();
	};
	const exportAs = async (form) => {
		setExported(0);
		const n = await attempt(() => exportAll(account, table, filter, form, setExported));
		setExported(null);
		if (n !== undefined) toast(`${count(n)} exported`);
	};
	return (
		<>
			<header class="bar">
				<h1><a href={link('tables', [account])}>Tables</a> / {table}</h1>
				<form class="filter" onSubmit={(e) => { e.preventDefault(); go('tables', [account, table], { filter: draft }); }}>
					<input data-filter placeholder="Filter: PartitionKey eq 'a' and Price gt 10" value={draft} onInput={(e) => setDraft(e.currentTarget.value)} />
					<button type="submit">Filter</button>
				</form>
				<button type="button" data-reload onClick={reload}>Reload</button>
				<Act kind="primary" onClick={() => setOpen('new')}>New entity</Act>
			</header>
			<Problem error={pages.error} />
			<div class="planline">
				<Plan note={pages.value?.note} />
				<span class="tools">
					{picked.size > 0 && <Act kind="small danger" onClick={removePicked}>Delete {picked.size}</Act>}
					<Act kind="small" onClick={() => setImporting(true)}>Import …</Act>
					{exported !== null && <span class="quiet">{count(exported)} read</span>}
					<button type="button" class="small" disabled={exported !== null} title={filter ? 'what the filter lets through' : 'the whole table'} onClick={() => exportAs('csv')}>Export CSV</button>
					<button type="button" class="small" disabled={exported !== null} title={filter ? 'what the filter lets through' : 'the whole table'} onClick={() => exportAs('json')}>Export JSON</button>
				</span>
			</div>
			<div class="split">
				<div>
					<Rows
						cls="wide"
						head={['', ...columns]}
						rows={rows}
						empty={pages.loading ? 'Loading …' : pages.error ? 'Nothing to show.' : filter ? 'No entity passes the filter.' : 'No entities yet. Make one with "New entity", or import CSV or JSON.'}
						id={id}
						selected={open}
						onOpen={(one) => setOpen(id(one))}
						render={(one) => [<td key="" class="pick"><input type="checkbox" aria-label="pick" checked={picked.has(id(one))} onChange={() => pick(id(one))} /></td>, ...columns.map((name) => {
							const field = one.entity[name];
							return (
								<td key={name} class={field && /Int|Double/.test(field.type) ? 'number' : 'text'} title={field?.value.length > 40 ? field.value.slice(0, 2000) : undefined}>
									{field && <>{field.value.slice(0, 80)}{field.value.length > 80 && '…'}{field.type !== 'Edm.String' && name !== 'Timestamp' && <small>{field.type.slice(4)}</small>}</>}
								</td>
							);
						})]}
					/>
					<Pager pages={pages} shown={rows.length} />
				</div>
				{(row || open === 'new') && <EntityPanel key={open + (row?.etag ?? '')} account={account} table={table} row={row} onClose={() => setOpen(null)} onChange={reload} />}
			</div>
			{importing && <Import account={account} table={table} onClose={() => setImporting(false)} onDone={() => { setImporting(false); reload(); }} />}
			{isReadOnly() && <p class="quiet">Read-only.</p>}
		</>
	);
}

export function Tables({ route, account }) {
	const table = route.parts[1];
	return table ? <Table key={table + (route.params.filter ?? '')} account={account} table={table} params={route.params} /> : <TableList account={account} />;
}

// SPDX-License-Identifier: Apache-2.0
// What this server is and how to connect: endpoints, connection strings for every language and tool, what each account holds.
import { useState } from 'preact/hooks';
import { children, query, seg, text, xml, request } from '../api.js';
import { bytes, count, duration } from '../format.js';
import { link } from '../router.js';
import { Copy, Pairs, Tabs, useLoad } from '../ui.jsx';

// The address that this browser would use: 0.0.0.0 is nobody's name.
export function endpointOf(overview, service) {
	const found = overview.endpoints.find((one) => one.service === service && one.port);
	if (!found) return null;
	const host = ['0.0.0.0', '::'].includes(found.host) ? location.hostname : found.host;
	return `${service === 'smb' ? 'smb' : found.secure ? 'https' : 'http'}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${found.port}`;
}

export function connectionString(overview, account) {
	const key = account.key ?? '<key>';
	const secure = overview.endpoints.some((one) => one.secure);
	const parts = ['blob', 'queue', 'table', 'file']
		.map((service) => [service, endpointOf(overview, service)])
		.filter(([, url]) => url)
		.map(([service, url]) => `${service[0].toUpperCase()}${service.slice(1)}Endpoint=${url}/${account.name};`);
	return `DefaultEndpointsProtocol=${secure ? 'https' : 'http'};AccountName=${account.name};AccountKey=${key};${parts.join('')}`;
}

// The lines that open a share; Windows knows port 445 alone.
function smbLines(overview, account) {
	const { hostname, port } = new URL(endpointOf(overview, 'smb').replace('smb:', 'http:'));
	const number = port || 80, key = account.key ?? '<key>';
	return [
		'# the share is one of your own; the user is the account, the password its key',
		`smbclient -p ${number} -U '${account.name}%${key}' //${hostname}/SHARE`,
		'',
		'# Linux',
		`mount -t cifs //${hostname}/SHARE /mnt -o vers=3.1.1,port=${number},username=${account.name},password='${key}'`,
		'',
		'# Windows, which asks at port 445 alone (--smbPort 445)',
		`net use Z: \\\\${hostname}\\SHARE /user:${account.name} ${key}`,
	].join('\n');
}

function snippets(overview, account) {
	const string = connectionString(overview, account);
	const blob = `${endpointOf(overview, 'blob')}/${account.name}`;
	const key = account.key ?? '<key>';
	return [
		['string', 'Connection string', string],
		['shell', 'Shell', `export AZURE_STORAGE_CONNECTION_STRING='${string}'`],
		['js', 'JavaScript', `import { BlobServiceClient } from '@azure/storage-blob';\nconst service = BlobServiceClient.fromConnectionString(\n\t'${string}');`],
		['python', 'Python', `from azure.storage.blob import BlobServiceClient\nservice = BlobServiceClient.from_connection_string(\n    "${string}")`],
		['net', '.NET', `var service = new BlobServiceClient(\n    "${string}");`],
		['java', 'Java', `BlobServiceClient service = new BlobServiceClientBuilder()\n    .connectionString("${string}")\n    .buildClient();`],
		['go', 'Go', `client, err := azblob.NewClientFromConnectionString(\n\t"${string}", nil)`],
		['compose', 'compose', `services:\n  app:\n    environment:\n      AZURE_STORAGE_CONNECTION_STRING: "${string.replaceAll('127.0.0.1', 'zaffre')}"`],
		['az', 'az', `export AZURE_STORAGE_CONNECTION_STRING='${string}'\naz storage container list -o table`],
		['azcopy', 'azcopy', `# a SAS from the SAS view, or:\nSAS=$(az storage container generate-sas -n photos --permissions racwdl --expiry 2030-01-01 -o tsv)\nazcopy copy 'dir/*' "${blob}/photos?$SAS" --from-to=LocalBlob`],
		['rclone', 'rclone', `rclone lsd ":azureblob,account=${account.name},key='${key}',endpoint='${blob}':"`],
		...(endpointOf(overview, 'smb') ? [['smb', 'SMB', smbLines(overview, account)]] : []),
	];
}

// What an account holds, by the lists that everybody has: as far as a few pages go, and then it says "more than".
async function usage(account) {
	const containers = await xml('blob', account, '/?comp=list&maxresults=100');
	const names = [...containers.getElementsByTagName('Container')].map((one) => text(one, 'Name'));
	let blobs = 0, total = 0, more = Boolean(text(containers, 'NextMarker'));
	for (const name of names.slice(0, 10)) {
		const page = await xml('blob', account, `/${seg(name)}?${query({ restype: 'container', comp: 'list', maxresults: 1000 })}`);
		for (const one of page.getElementsByTagName('Content-Length')) {
			blobs++;
			total += Number(one.textContent);
		}
		more ||= Boolean(text(page, 'NextMarker'));
	}
	const queues = await xml('queue', account, '/?comp=list&maxresults=100');
	const tables = await (await request('table', account, '/Tables?$top=100', { headers: { Accept: 'application/json;odata=nometadata' } })).json();
	let shares = 0;
	try {
		shares = children((await xml('file', account, '/?comp=list&maxresults=100')).documentElement.getElementsByTagName('Shares')[0], 'Share').length;
	} catch {
		shares = '–';
	}
	return { containers: names.length, blobs, total, more: more || names.length > 10, queues: queues.getElementsByTagName('Queue').length, tables: tables.value.length, shares };
}

const plural = (n, word) => (n === 1 ? word : `${word}s`);

function Account({ overview, account }) {
	const [tab, setTab] = useState('string');
	const used = useLoad(() => usage(account.name), [account.name]);
	const all = snippets(overview, account);
	const value = all.find(([id]) => id === tab)[2];
	const u = used.value;
	return (
		<section class="card">
			<header>
				<h2>{account.name}</h2>
				{u && (
					<div class="figures">
						<a href={link('blobs', [account.name])}><b>{u.containers}</b> {plural(u.containers, 'container')}</a>
						<a href={link('blobs', [account.name])}><b>{u.more ? '> ' : ''}{count(u.blobs)}</b> {plural(u.blobs, 'blob')}</a>
						<a href={link('blobs', [account.name])}><b>{u.more ? '> ' : ''}{bytes(u.total)}</b></a>
						<a href={link('queues', [account.name])}><b>{u.queues}</b> {plural(u.queues, 'queue')}</a>
						<a href={link('tables', [account.name])}><b>{u.tables}</b> {plural(u.tables, 'table')}</a>
						<a href={link('files', [account.name])}><b>{u.shares}</b> {plural(u.shares, 'share')}</a>
					</div>
				)}
			</header>
			<Tabs tabs={all} value={tab} onChange={setTab} />
			<div class="snippet">
				<pre>{value}</pre>
				<Copy value={value} />
			</div>
			{!account.key && <p class="quiet">Keys are not shown in production mode.</p>}
		</section>
	);
}

export function Home({ overview }) {
	const percent = overview.diskTotal ? Math.round((100 * overview.diskFree) / overview.diskTotal) : null;
	return (
		<>
			<h1>Home</h1>
			<div class="grid two">
				<section class="card">
					<h2>Endpoints</h2>
					<Pairs
						pairs={[...overview.endpoints]
							.filter((one) => one.port)
							.map((one) => [
								{ blob: 'Blob', queue: 'Queue', table: 'Table', file: 'File', smb: 'File over SMB', web: 'Static website', admin: 'Explorer, metrics' }[one.service] ?? one.service,
								<><code>{endpointOf(overview, one.service)}</code> <Copy value={endpointOf(overview, one.service)} /></>,
							])}
					/>
				</section>
				<section class="card">
					<h2>Server</h2>
					<Pairs
						pairs={[
							['Version', `${overview.version}, ${overview.mode} mode`],
							['Directory', <code>{overview.directory}</code>],
							['Free disk', percent !== null && <><meter min="0" max="100" low="10" value={percent} /> {bytes(overview.diskFree)} of {bytes(overview.diskTotal)}</>],
							['In segment files', bytes(overview.liveBytes)],
							['Running for', duration(overview.upSeconds * 1000)],
							['Blob versioning', overview.versioning ? 'on' : 'off (--blobVersioning)'],
							['State', overview.warnings.length ? overview.warnings.join(' ') : <span class="good">nothing is wrong</span>],
						]}
					/>
				</section>
			</div>
			{overview.accounts.map((account) => <Account key={account.name} overview={overview} account={account} />)}
		</>
	);
}

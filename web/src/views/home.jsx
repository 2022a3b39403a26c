// SPDX-License-Identifier: Apache-2.0
// What this server is and how to connect: endpoints, connection strings for every language and tool, what each account holds.
import { useEffect, useState } from 'preact/hooks';
import { bytes, count, duration } from '../format.js';
import { link } from '../router.js';
import { Copy, Pairs, Problem, Tabs, attempt, useLoad } from '../ui.jsx';
import { atLeast, countAll, lookAt } from '../usage.js';

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

// Beside an application: the image that `make oci` makes, reached by its name and at the ports that this server has. The public key of
// development mode needs a flag where others can reach it.
function compose(overview, string) {
	const found = overview.endpoints.filter((one) => ['blob', 'queue', 'table', 'file'].includes(one.service) && one.port);
	const command = [
		...(overview.mode === 'development' ? ['--iKnowThisKeyIsPublic'] : ['--mode production']), '--location /data',
		...found.map(({ service, port }) => `--${service}Host 0.0.0.0 --${service}Port ${port}`),
	].join(' ');
	return [
		'services:',
		'  zaffre:',
		'    image: zaffre:latest',
		`    command: ${command}`,
		`    ports: [${found.map(({ port }) => `"127.0.0.1:${port}:${port}"`).join(', ')}]`,
		'    volumes: ["zaffre:/data"]',
		'  app:',
		'    environment:',
		`      AZURE_STORAGE_CONNECTION_STRING: "${string.replaceAll(/127\.0\.0\.1|localhost/g, 'zaffre')}"`,
		'volumes:',
		'  zaffre:',
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
		['compose', 'compose', compose(overview, string)],
		['az', 'az', `export AZURE_STORAGE_CONNECTION_STRING='${string}'\naz storage container list -o table`],
		['azcopy', 'azcopy', `# a SAS from the view Access, or from az:\nSAS=$(az storage container generate-sas -n photos --permissions racwdl --expiry 2030-01-01 -o tsv)\nazcopy copy 'dir/*' "${blob}/photos?$SAS" --from-to=LocalBlob`],
		['rclone', 'rclone', `rclone lsd ":azureblob,account=${account.name},key='${key}',endpoint='${blob}':"`],
		...(endpointOf(overview, 'smb') ? [['smb', 'SMB', smbLines(overview, account)]] : []),
	];
}

// Figures that are not whole have a '>' before them; "Count all" walks every list, and only when somebody asks for it: that can be
// thousands of requests. It ends with the view.
function Holdings({ account, files }) {
	const seen = useLoad(() => lookAt(account, { files }), [account]);
	const [counted, setCounted] = useState(null);
	const [running, setRunning] = useState(null);
	useEffect(() => () => running?.stop.abort(), [running?.stop]);
	const start = async () => {
		const stop = new AbortController();
		setRunning({ stop, at: '' });
		const onProgress = (found, at, done) => { setCounted(atLeast(seen.value, found, done)); setRunning((old) => old && { ...old, at }); };
		const whole = await attempt(() => countAll(account, { files, signal: stop.signal, onProgress }));
		if (whole) setCounted(whole);
		setRunning(null);
	};
	const u = counted ?? seen.value;
	if (!u) return <Problem error={seen.error} />;
	const about = (name) => (u.more.has(name) ? '> ' : '');
	const amount = (name, say) => (u.more.has(name) && !u[name] ? '?' : about(name) + say(u[name])); // nothing seen so far is no figure
	const figure = (view, name, word) => <a href={link(view, [account])}><b>{amount(name, count)}</b> {u[name] === 1 ? word : `${word}s`}</a>;
	return (
		<div class="figures">
			{figure('blobs', 'containers', 'container')}
			{figure('blobs', 'blobs', 'blob')}
			<a href={link('blobs', [account])}><b>{amount('blobBytes', bytes)}</b> in blobs</a>
			{figure('queues', 'queues', 'queue')}
			{figure('tables', 'tables', 'table')}
			{files && figure('files', 'shares', 'share')}
			{files && <a href={link('files', [account])}><b>{amount('fileBytes', bytes)}</b> in files</a>}
			{running && <span class="counting"><span class="name">counting {running.at} …</span> <button type="button" class="small" onClick={() => running.stop.abort()}>Stop</button></span>}
			{!running && u.more.size > 0 && <button type="button" class="small" title="goes through every list; that can take a while" onClick={start}>Count all</button>}
		</div>
	);
}

function Account({ overview, account }) {
	const [tab, setTab] = useState('string');
	const all = snippets(overview, account);
	const value = all.find(([id]) => id === tab)[2];
	return (
		<section class="card">
			<header>
				<h2>{account.name}</h2>
				<Holdings account={account.name} files={Boolean(endpointOf(overview, 'file'))} />
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
								{ blob: 'Blob', queue: 'Queue', table: 'Table', file: 'File', smb: 'File over SMB', web: 'Static website', admin: 'Explorer' }[one.service] ?? one.service,
								<span class="copied"><code>{endpointOf(overview, one.service)}</code> <Copy value={endpointOf(overview, one.service)} /></span>,
							])}
					/>
				</section>
				<section class="card">
					<h2>Server</h2>
					<Pairs
						pairs={[
							['Version', `${overview.version}, ${overview.mode} mode`],
							['Directory', overview.diskTotal ? <code>{overview.directory}</code> : 'none: everything is in memory, and gone when it ends'],
							['Free disk', percent !== null ? <><meter min="0" max="100" low="10" value={percent} /> {bytes(overview.diskFree)} of {bytes(overview.diskTotal)}</> : null],
							['In segment files', overview.diskTotal ? bytes(overview.liveBytes) : null],
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

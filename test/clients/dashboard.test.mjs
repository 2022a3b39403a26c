// SPDX-License-Identifier: Apache-2.0
// docs/grafana.json against a real Prometheus that scrapes a server under load: every query of the dashboard is taken and returns data.
// Skipped where Prometheus is not installed (`make clients` installs it).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableClient } from '@azure/data-tables';
import { ShareServiceClient } from '@azure/storage-file-share';
import { freePort, removeDir, root, startServer, tempDir } from '../lib/server.mjs';
import { Client } from '../lib/http.mjs';
import { expectStatus } from '../lib/assert.mjs';

const skip = spawnSync('sh', ['-c', 'command -v prometheus']).status === 0 ? false : 'prometheus is not installed (make clients)';

test('every query of the dashboard returns data from a server under load', { skip }, async (t) => {
	const dir = tempDir('zaffre-dashboard-');
	const [adminPort, port] = [await freePort(), await freePort()];
	const server = await startServer({ flags: ['--adminPort', String(adminPort)] });
	fs.writeFileSync(path.join(dir, 'prometheus.yml'), `global: { scrape_interval: 1s }\nscrape_configs:\n  - job_name: zaffre\n    static_configs: [{ targets: ['127.0.0.1:${adminPort}'] }]\n`);
	const prometheus = spawn('prometheus', [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`, `--web.listen-address=127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	prometheus.stderr.setEncoding('utf8').on('data', (text) => (said += text));
	const ended = new Promise((resolve) => prometheus.once('close', resolve));
	const ask = async (expr) => (await (await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`)).json());
	let going = true;
	const client = new Client(server);
	expectStatus(await client.put('/dash', { query: { restype: 'container' } }), 201);
	// Something of every service.
	const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient('dash');
	const table = TableClient.fromConnectionString(server.connectionString, 'dash', { allowInsecureConnection: true });
	const share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('dash');
	await Promise.all([queue.create(), table.createTable(), share.create()]);
	const load = (async () => {
		for (let n = 0; going; n++) {
			await queue.sendMessage(String(n));
			await table.upsertEntity({ partitionKey: 'p', rowKey: String(n % 9), n });
			await share.rootDirectoryClient.getFileClient(`f${n % 9}`).uploadData(Buffer.alloc(2000, n));
			expectStatus(await client.put(`/dash/b${n % 9}`, { headers: { 'x-ms-blob-type': 'BlockBlob' }, body: Buffer.alloc(n % 3 ? 500 : 100_000, n) }), 201);
			expectStatus(await client.get(`/dash/b${n % 9}`), 200);
			expectStatus(await client.put('/dash', { query: { restype: 'container' } }), 409);
			// What the server cannot do is asked for as well, so that there is a 5xx to be seen.
			if (n % 20 === 0) await fetch(`http://127.0.0.1:${adminPort}/test/faults?action=error&operation=BLOB_GET&count=1`, { method: 'POST' }).then(() => client.get('/dash/b1'));
			await sleep(5);
		}
	})();
	try {
		// Rates need some scrapes, one a second: each query is asked until it has a number, for a minute in all.
		const end = Date.now() + 60_000;
		const numbers = (answer) => (answer.data?.result ?? []).map((r) => Number(r.value[1]));
		const askSoon = async (expr) => {
			for (;;) {
				const answer = await ask(expr).catch((error) => ({ error: String(error) }));
				if (Date.now() >= end || numbers(answer).some((v) => !Number.isNaN(v))) return answer;
				await sleep(250);
			}
		};
		const dashboard = JSON.parse(fs.readFileSync(path.join(root, 'docs/grafana.json'), 'utf8'));
		let asked = 0;
		for (const panel of dashboard.panels)
			for (const target of panel.targets) {
				const expr = target.expr.replaceAll('$__rate_interval', '10s').replaceAll('$instance', '.*');
				const answer = await askSoon(expr);
				assert.equal(answer.status, 'success', `${panel.title}: ${expr}: ${answer.error}`);
				const values = numbers(answer);
				assert.ok(values.length > 0, `${panel.title}: no data: ${expr}`);
				assert.ok(values.some((v) => !Number.isNaN(v)), `${panel.title}: ${values}: ${expr}`);
				asked++;
			}
		// Each service is seen in what tells them apart.
		const services = async (expr) => (await ask(expr)).data.result.map((r) => r.metric.service).sort();
		for (const expr of ['sum by (service) (rate(zaffre_requests_total[10s])) > 0', 'sum by (service) (zaffre_stored_objects) > 0']) {
			let seen = [];
			while (Date.now() < end + 90_000 && !['Blob', 'File', 'Queue', 'Table'].every((name) => seen.includes(name))) {
				await sleep(250);
				seen = await services(expr);
			}
			for (const name of ['Blob', 'File', 'Queue', 'Table']) assert.ok(seen.includes(name), `${expr}: ${seen}`);
		}
		// And the variables: what the dashboard offers to choose from.
		assert.ok((await ask('zaffre_build_info')).data.result.length === 1);
		t.diagnostic(`${asked} queries of ${dashboard.panels.length} panels`);
		assert.ok(asked > 25);
	} catch (error) {
		error.message += `\n${said.slice(-500)}`;
		throw error;
	} finally {
		going = false;
		await load.catch(() => {});
		prometheus.kill('SIGTERM');
		await ended;
		await server.remove();
		removeDir(dir);
	}
});

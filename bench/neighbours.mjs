// SPDX-License-Identifier: Apache-2.0
// neighbours.mjs SECONDS: how long a PUT of 4 KiB takes while four clients of another account commit block lists of
// 50,000 blocks; a line of JSON in milliseconds. ZAFFRE_BIN is the program.
import { Client } from '../test/lib/http.mjs';
import { measure, startNoise } from '../test/lib/neighbours.mjs';
import { WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY, startServer } from '../test/lib/server.mjs';

const key = Buffer.from('the quiet account of this server, 32+').toString('base64');
const server = await startServer({ env: { ZAFFRE_ACCOUNTS: `${WELL_KNOWN_ACCOUNT}:${WELL_KNOWN_KEY};quiet:${key}` } });
const quiet = new Client(server, { account: 'quiet', key });
await quiet.put('/quiet', { query: { restype: 'container' } });
const body = Buffer.alloc(4096, 7);
const noise = await startNoise(server, { account: WELL_KNOWN_ACCOUNT, key: WELL_KNOWN_KEY, kind: 'lists' });
const figures = await measure(Number(process.argv[2] ?? 5), async (i) => {
	const put = await quiet.put(`/quiet/b${i}`, { body, headers: { 'x-ms-blob-type': 'BlockBlob' } });
	if (put.status !== 201) throw new Error(`${put.status} ${put.text}`);
});
const { done } = await noise.stop();
await server.remove();
console.log(JSON.stringify({ ...figures, lists: done }));
process.exit(0);

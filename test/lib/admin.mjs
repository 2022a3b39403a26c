// SPDX-License-Identifier: Apache-2.0
// Asks a server through its admin socket: { status, text }.
import http from 'node:http';
import path from 'node:path';

export function askAdmin(server, target, method = 'POST') {
	return new Promise((resolve, reject) => {
		const request = http.request({ socketPath: path.join(server.dataDir, 'admin.sock'), path: target, method, agent: false }, (response) => {
			let text = '';
			response.setEncoding('utf8').on('data', (part) => (text += part));
			response.once('end', () => resolve({ status: response.statusCode, text }));
			response.once('error', reject);
		});
		request.once('error', reject);
		request.end();
	});
}

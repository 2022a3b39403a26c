// SPDX-License-Identifier: Apache-2.0
// What tests say about answers.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';

const brief = (r) => `${r.status} ${r.code ?? ''} ${r.text?.slice(0, 400) ?? ''}`;

export function expectStatus(r, status) {
	assert.equal(r.status, status, `status ${status} expected, got ${brief(r)}`);
	return r;
}

// A refusal: status and Azure's code.
export function expectError(r, status, code) {
	assert.equal(r.status, status, `${status} ${code} expected, got ${brief(r)}`);
	assert.equal(r.code, code, `${status} ${code} expected, got ${brief(r)}`);
	return r;
}

// A refusal through the official SDKs.
export async function rejectsWith(promise, status, code) {
	try {
		await promise;
	} catch (error) {
		assert.equal(error.statusCode, status, `${status} ${code} expected, got ${error.statusCode} ${error.code}: ${error.message}`);
		if (code !== undefined) assert.equal(error.code ?? error.details?.errorCode, code, error.message);
		return error;
	}
	assert.fail(`${status} ${code} expected, but it succeeded`);
}

let serial = 0;
// A name no other test uses: letters and digits only, fit for containers, queues and tables.
export function uniqueName(prefix = 'n') {
	return `${prefix}${process.pid.toString(36)}${(serial++).toString(36)}${crypto.randomBytes(3).toString('hex')}`.toLowerCase();
}

export const md5 = (bytes) => crypto.createHash('md5').update(bytes).digest('base64');
export const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');

// Text of every <name> element, in order.
export function elements(xml, name) {
	return [...xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`, 'g'))].map((m) => m[1]);
}
export const element = (xml, name) => elements(xml, name)[0];

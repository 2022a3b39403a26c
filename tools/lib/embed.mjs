// SPDX-License-Identifier: Apache-2.0
// embed.mjs DIR OUT.c: the files below DIR as one C file (src/rest/admin/explorer/assets.h), in the order of their names.
import fs from 'node:fs';
import path from 'node:path';

const [dir, out] = process.argv.slice(2);
const TYPES = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
	'.svg': 'image/svg+xml',
};
const LINE_BYTES = 4096;

function literal(bytes) {
	let text = '';
	for (const byte of bytes) {
		if (byte === 0x22 || byte === 0x5c) text += '\\' + String.fromCharCode(byte);
		else if (byte >= 0x20 && byte < 0x7f && byte !== 0x3f) text += String.fromCharCode(byte);
		else text += '\\' + byte.toString(8).padStart(3, '0'); // '?' too: no trigraphs
	}
	return `"${text}"`;
}

const files = fs
	.readdirSync(dir, { recursive: true })
	.map(String)
	.filter((name) => fs.statSync(path.join(dir, name)).isFile())
	.sort();
let c = '/* SPDX-License-Identifier: Apache-2.0\n * Written by tools/build-web from web/: the files of the explorer. */\n#include "rest/admin/explorer/assets.h"\n\n';
const rows = [];
files.forEach((name, i) => {
	const bytes = fs.readFileSync(path.join(dir, name));
	const type = TYPES[path.extname(name)];
	if (!type) throw new Error(`embed: no content type for ${name}`);
	c += `static const char file${i}[] =\n`;
	for (let at = 0; at < bytes.length; at += LINE_BYTES) c += `\t${literal(bytes.subarray(at, at + LINE_BYTES))}\n`;
	c += ';\n';
	rows.push(`\t{ "/${name}", "${type}", file${i}, sizeof file${i} - 1 },\n`);
});
c += `\nconst struct explorer_asset explorer_assets[] = {\n${rows.join('')}};\nconst size_t explorer_asset_count = ${files.length};\n`;
fs.writeFileSync(out, c);

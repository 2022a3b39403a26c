// SPDX-License-Identifier: Apache-2.0
// Reads C sources that clang-format laid out (braces of a function in column 0, tabs) well enough to count and to check them:
// lines, comments, functions with their length, nesting, parameters and asserts.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** Files that git knows and that match one of the patterns, for example 'src/*.c'. */
export function gitFiles(...patterns) {
	return execFileSync('git', ['ls-files', '-z', '--', ...patterns], { encoding: 'utf8' }).split('\0').filter((f) => f && fs.existsSync(f));
}

/** The text with comments, strings and characters replaced by spaces; line breaks stay. */
export function withoutComments(text) {
	return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, (m) =>
		m.startsWith('/') ? m.replace(/[^\n]/g, ' ') : m[0] + ' '.repeat(m.length - 2) + m[0],
	);
}

export function commentLines(text) {
	let count = 0;
	for (const [comment] of text.matchAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g)) count += comment.split('\n').length;
	return count;
}

function parameterCount(signature) {
	const inside = signature.slice(signature.indexOf('(') + 1, signature.lastIndexOf(')')).trim();
	if (inside === '' || inside === 'void') return 0;
	let depth = 0, count = 1;
	for (const c of inside) {
		if (c === '(') depth++;
		else if (c === ')') depth--;
		else if (c === ',' && depth === 0) count++;
	}
	return count;
}

/** Every function definition: {name, exported, line, lines, nesting, parameters, asserts}. */
export function functions(text) {
	const lines = withoutComments(text).split('\n');
	const found = [];
	for (let i = 1; i < lines.length; i++) {
		if (lines[i] !== '{') continue;
		let first = i - 1;
		while (first > 0 && /^\s/.test(lines[first])) first--;
		const signature = lines.slice(first, i).join(' ');
		const name = /([A-Za-z_]\w*)\s*\(/.exec(signature)?.[1];
		let end = i + 1;
		while (end < lines.length && lines[end] !== '}') end++;
		if (!name || !signature.includes(')') || /^(struct|enum|union)\b[^(]*$/.test(signature)) continue;
		const body = lines.slice(i + 1, end);
		// A `case` label stands at the level of its switch, so tabs are the nesting of statements.
		const nesting = Math.max(1, ...body.filter((l) => /^\t+(?:if|for|while|switch|do|else|\} else)\b/.test(l)).map((l) => /^\t+/.exec(l)[0].length + 1));
		found.push({
			name,
			exported: !/\bstatic\b/.test(signature),
			line: first + 1,
			lines: end - i - 1,
			nesting: nesting - 1,
			parameters: parameterCount(signature),
			asserts: body.filter((l) => /\b(assert|static_assert|CHECK|[a-z_]*_check_magic)\s*\(/.test(l)).length,
		});
		i = end;
	}
	return found;
}

/** Width of a line on the screen: tabs go to the next multiple of eight, everything else is one column a character. */
export function columns(line) {
	let width = 0;
	for (const c of line) width = c === '\t' ? width + 8 - (width % 8) : width + 1;
	return width;
}

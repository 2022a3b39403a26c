// SPDX-License-Identifier: Apache-2.0
// Histories (test/proof/sim/linear.h) judged by the checker of test/proof/sim, which is built here.
//
//   const { ok, violation, text, file } = judge(lines, name)   file: the history, kept after a violation
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { removeDir, root, tempDir } from '../../lib/server.mjs';

const tools = tempDir('zaffre-soak-');
process.on('exit', () => removeDir(tools));
let checker;

function buildChecker() {
	const sim = path.join(root, 'test/proof/sim');
	const base = path.join(root, 'src/base');
	const own = fs.readdirSync(sim).filter((f) => /^(check|linear|wgl|model\w*)\.c$/.test(f)).map((f) => path.join(sim, f));
	const sources = own.concat(fs.readdirSync(base).filter((f) => f.endsWith('.c')).map((f) => path.join(base, f)));
	const where = path.join(tools, 'linear_check');
	const args = ['-O2', '-std=gnu11', '-D_GNU_SOURCE', '-include', path.join(base, 'banned.h'), '-I', path.join(root, 'src'), '-I', sim, '-o', where, ...sources, '-lm', '-pthread'];
	const r = spawnSync(process.env.CC ?? 'cc', args, { encoding: 'utf8' });
	assert.equal(r.status, 0, r.stderr);
	return where;
}

export function judge(lines, name) {
	checker ??= buildChecker();
	const file = path.join(os.tmpdir(), `zaffre-history-${name}-${process.pid}.txt`);
	fs.writeFileSync(file, lines.join('\n') + '\n');
	const r = spawnSync(checker, [file], { encoding: 'utf8', maxBuffer: 2 ** 28, timeout: 300_000 });
	assert.ok(r.status === 0 || r.status === 1 || r.status === 3, `the checker ended with ${r.status}: ${r.stderr}`);
	if (r.status !== 1) fs.rmSync(file);
	return { ok: r.status === 0, violation: r.status === 1, text: r.stdout.slice(0, 4000), file };
}

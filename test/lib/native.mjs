// SPDX-License-Identifier: Apache-2.0
// Helpers in C that tests build on the fly with the compiler of the build: buildProgram('test/proof/crash/shutdown.c') and
// buildPreload('test/proof/crash/nosync.c') return the path of a program or of a library for LD_PRELOAD.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { removeDir, root, scale, tempDir } from './server.mjs';

let dir;
function build(source, flags, suffix) {
	if (!dir) {
		dir = tempDir('zaffre-native-');
		process.on('exit', () => removeDir(dir));
	}
	const out = path.join(dir, path.basename(source, '.c') + suffix);
	const r = spawnSync(process.env.CC ?? 'cc', ['-O1', '-Wall', '-Wextra', '-o', out, path.join(root, source), ...flags], { encoding: 'utf8' });
	if (r.status !== 0) throw new Error(`cannot build ${source}: ${r.stderr ?? r.error}`);
	return out;
}

export const buildProgram = (source, flags = []) => build(source, flags, '');
export const buildPreload = (source) => build(source, ['-shared', '-fPIC', '-ldl', '-pthread'], '.so');
// A sanitizer's runtime wants to be the first library and replaces the same functions: no preloading there.
export const canPreload = scale === 1;

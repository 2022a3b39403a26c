// SPDX-License-Identifier: Apache-2.0
// How the explorer's page is built: one script and one style sheet, nothing inlined (the policy of the page allows no inline script), the
// same bytes wherever it is built.
import { defineConfig } from 'vite';

export default defineConfig({
	base: './',
	esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
	build: { target: 'es2022', modulePreload: false, assetsInlineLimit: 0, reportCompressedSize: false },
	server: { proxy: { '/api': 'http://127.0.0.1:10004', '/metrics': 'http://127.0.0.1:10004' } },
});

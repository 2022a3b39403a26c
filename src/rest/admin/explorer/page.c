/* SPDX-License-Identifier: Apache-2.0
 * The files of the page, as tools/build-web put them into the program. Its policy lets it load nothing from elsewhere,
 * run no script but its own file, and be shown in no frame. */
#include "rest/admin/explorer/assets.h"
#include "rest/admin/explorer/explorer.h"

#define PAGE_POLICY                                                                                                    \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "    \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define PAGE_ABSENT                                                                                                    \
	"<!doctype html><meta charset=utf-8><title>Zaffre</title><h1>No explorer in this build</h1>"                   \
	"<p>It is made by npm, which was not there when this program was built: install nodejs and npm, "              \
	"and build again.</p><p>Here are <a href=/metrics>/metrics</a>, <a href=/stats>/stats</a>, "                   \
	"<a href=/conflicts>/conflicts</a>, <a href=/healthz>/healthz</a>.</p>"

static const struct explorer_asset *asset_find(struct slice path)
{
	for (size_t i = 0; i < explorer_asset_count; i++)
		if (slice_eq(path, slice_str(explorer_assets[i].path)))
			return &explorer_assets[i];
	return NULL;
}

bool explorer_has_page(struct slice path)
{
	return slice_eq(path, SLICE("/")) || asset_find(path);
}

static enum err page_parse(struct request *r)
{
	struct slice path = slice_eq(r->head->path, SLICE("/")) ? SLICE("/index.html") : r->head->path;
	r->call = (void *)asset_find(path);
	return ERR_OK;
}

static enum err page_format(struct request *r)
{
	const struct explorer_asset *a = r->call;
	r->response.status = 200;
	/* Names of files carry a hash of their bytes; the page that names them is asked for again each time. */
	bool lasting = a && slice_has_prefix(slice_str(a->path), SLICE("/assets/"));
	response_header(r, "Content-Type", a ? slice_str(a->content_type) : SLICE("text/html; charset=utf-8"));
	response_header(r, "Cache-Control", lasting ? SLICE("max-age=31536000, immutable") : SLICE("no-cache"));
	response_header(r, "Content-Security-Policy", SLICE(PAGE_POLICY));
	response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
	response_header(r, "Referrer-Policy", SLICE("no-referrer"));
	response_header(r, "Cross-Origin-Opener-Policy", SLICE("same-origin"));
	response_header(r, "Cross-Origin-Resource-Policy", SLICE("same-origin"));
	r->response.body_slice = a ? slice_make(a->bytes, a->length_bytes) : SLICE(PAGE_ABSENT);
	return ERR_OK;
}

const struct handler handler_explorer_page = { .parse = page_parse, .format = page_format };

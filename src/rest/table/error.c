/* SPDX-License-Identifier: Apache-2.0
 * Errors of Table: OData JSON, but XML for the operations that are XML (properties, stats, ACLs). */
#include "rest/table/error.h"

#include "wire/json.h"

static void put_odata(struct request *r, enum err e)
{
	struct buf *b = &r->response.body;
	BUF_PUT(b, "{\"odata.error\":{\"code\":\"");
	buf_put(b, slice_str(err_info(e)->code));
	BUF_PUT(b, "\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
	error_put_message(b, r, e, "\\n", json_put_text);
	BUF_PUT(b, "\"}}}");
}

/* The front of the service answers these before OData is reached. */
static void put_access(struct request *r, enum err e)
{
	put_odata(r, e);
	response_header(r, "Content-Type", SLICE("application/json"));
}

static void put_plain(struct request *r, enum err e)
{
	put_odata(r, e);
	response_header(r, "Content-Type",
			SLICE("application/json; odata=minimalmetadata; streaming=true; charset=utf-8"));
	response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
}

const struct error_form *table_error_form(const struct request *r, enum err e)
{
	static const struct error_form access = { .code_header = true, .put_body = put_access },
				       plain = { .code_header = false, .put_body = put_plain };
	struct slice comp = request_param(r, "comp");
	if (slice_eq_nocase(comp, SLICE("properties")) || slice_eq_nocase(comp, SLICE("stats")) ||
	    slice_eq_nocase(comp, SLICE("acl")))
		return &error_form_xml;
	return error_is_access(e) ? &access : &plain;
}

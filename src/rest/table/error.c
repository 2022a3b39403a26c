/* SPDX-License-Identifier: Apache-2.0
 * Errors of Table: OData JSON, or OData XML where XML is asked for or is all there is (properties, stats, ACLs,
 * versions of the time of Atom). */
#include "rest/table/error.h"

#include "rest/table/format.h"
#include "wire/json.h"
#include "wire/xml.h"

#define METADATA "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"

void rest_table_error_put_json(struct buf *b, struct slice code, struct slice message)
{
	BUF_PUT(b, "{\"odata.error\":{\"code\":\"");
	buf_put(b, code);
	BUF_PUT(b, "\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
	json_put_text(b, message);
	BUF_PUT(b, "\"}}}");
}

void rest_table_error_put_xml(struct buf *b, struct slice code, struct slice message)
{
	xml_begin_plain(b);
	BUF_PUT(b, "<m:error xmlns:m=\"" METADATA "\"><m:code>");
	buf_put(b, code);
	BUF_PUT(b, "</m:code><m:message xml:lang=\"en-US\">");
	xml_put_text(b, message);
	BUF_PUT(b, "</m:message></m:error>");
}

static void put_body(struct request *r, enum err e, void (*put)(struct buf *, struct slice, struct slice))
{
	struct buf message;
	buf_init(&message, LIMIT_HEAD_BYTES);
	error_put_message(&message, r, e, "\n", buf_put);
	put(&r->response.body, slice_str(err_info(e)->code), buf_slice(&message));
	buf_fini(&message);
}

/* The front of the service answers these before OData is reached. */
static void put_access(struct request *r, enum err e)
{
	put_body(r, e, rest_table_error_put_json);
	response_header(r, "Content-Type", SLICE("application/json"));
}

static void put_common_headers(struct request *r)
{
	response_header(r, "Cache-Control", SLICE("no-cache"));
	response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
}

static void put_json(struct request *r, enum err e)
{
	put_body(r, e, rest_table_error_put_json);
	response_header(r, "Content-Type", rest_table_content_type(r->version, ODATA_MINIMAL, false));
	put_common_headers(r);
}

static void put_xml(struct request *r, enum err e)
{
	put_body(r, e, rest_table_error_put_xml);
	response_header(r, "Content-Type", SLICE("application/xml;charset=utf-8"));
	put_common_headers(r);
}

const struct error_form *rest_table_error_form(const struct request *r, enum err e)
{
	static const struct error_form access = { .code_header = true, .put_body = put_access },
				       json = { .code_header = false, .put_body = put_json },
				       xml = { .code_header = false, .put_body = put_xml };
	if (rest_table_errors_are_xml(r))
		return &xml;
	/* What a SAS may not do is told by the service itself. */
	bool sas = slice_is_set(request_param(r, "sig"));
	return error_is_access(e) && !sas ? &access : &json;
}

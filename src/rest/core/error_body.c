/* SPDX-License-Identifier: Apache-2.0
 * Errors as the services write them: XML with a byte order mark for Blob, Queue, File and the XML operations of Table,
 * OData JSON for the rest of Table. A HEAD and a 304 carry the code in a header only. What a handler put into the
 * answer is dropped, except the headers of a 304 (ETag and the like). */
#include "rest/core/exchange_int.h"
#include "rest/core/op.h"
#include "wire/date.h"
#include "wire/json.h"
#include "wire/xml.h"

#define AUTHORITY "https://login.microsoftonline.com/common/oauth2/authorize"

static void put_message(struct buf *b, const struct request *r, const struct err_info *info, const char *line_break,
			void (*put)(struct buf *, struct slice))
{
	char id[UUID_TEXT_BYTES];
	put(b, slice_is_set(r->fault.message) ? r->fault.message : slice_str(info->text));
	uuid_format(&r->request_id, id);
	buf_put(b, slice_str(line_break));
	BUF_PUT(b, "RequestId:");
	buf_put(b, slice_make(id, sizeof id));
	buf_put(b, slice_str(line_break));
	BUF_PUT(b, "Time:");
	date_put_iso(b, r->arrival_ticks);
}

static void error_xml(struct request *r, const struct err_info *info)
{
	struct buf *b = &r->response.body;
	xml_begin(b);
	xml_open(b, "Error");
	xml_put(b, "Code", slice_str(info->code));
	xml_open(b, "Message");
	put_message(b, r, info, "\n", xml_put_text);
	xml_close(b, "Message");
	for (size_t i = 0; i < r->fault.count; i++)
		xml_put(b, r->fault.detail[i].name, r->fault.detail[i].value);
	xml_close(b, "Error");
	response_header(r, "Content-Type", SLICE("application/xml"));
}

static void error_odata(struct request *r, const struct err_info *info)
{
	struct buf *b = &r->response.body;
	BUF_PUT(b, "{\"odata.error\":{\"code\":\"");
	buf_put(b, slice_str(info->code));
	BUF_PUT(b, "\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
	put_message(b, r, info, "\\n", json_put_text);
	BUF_PUT(b, "\"}}}");
}

/* Authentication and authorisation, which the front of the service answers before OData is reached. */
static bool is_access_error(enum err e)
{
	switch (e) {
	case ERR_AUTHENTICATION_FAILED:
	case ERR_AUTHORIZATION_FAILURE:
	case ERR_AUTHORIZATION_PERMISSION_MISMATCH:
	case ERR_AUTHORIZATION_PROTOCOL_MISMATCH:
	case ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH:
	case ERR_AUTHORIZATION_SERVICE_MISMATCH:
	case ERR_AUTHORIZATION_SOURCE_IP_MISMATCH:
	case ERR_INVALID_AUTHENTICATION_INFO:
	case ERR_INVALID_BEARER_TOKEN:
	case ERR_NO_AUTHENTICATION_INFORMATION:
		return true;
	default:
		return false;
	}
}

static bool wants_odata(const struct request *r)
{
	if (r->service != SERVICE_TABLE)
		return false;
	struct slice comp = query_get(&r->query, SLICE("comp"));
	return !(slice_eq_nocase(comp, SLICE("properties")) || slice_eq_nocase(comp, SLICE("stats")) ||
		 slice_eq_nocase(comp, SLICE("acl")));
}

static void put_challenge(struct request *r, enum err e)
{
	if (e != ERR_NO_AUTHENTICATION_INFORMATION && e != ERR_INVALID_BEARER_TOKEN)
		return;
	response_header(r, "WWW-Authenticate",
			SLICE("Bearer authorization_uri=" AUTHORITY " resource_id=https://storage.azure.com"));
}

void error_format(struct exchange *ex)
{
	struct request *r = &ex->req;
	const struct err_info *info = err_info(ex->error);
	bool odata = wants_odata(r), access = is_access_error(ex->error);
	if (info->http_status == 304) {
		buf_clear(&r->response.body);
		r->response.body_slice = SLICE_NONE;
		r->response.runs = NULL;
		r->response.set_length = false;
	} else {
		response_reset(&r->response);
	}
	r->response.status = info->http_status;
	if (!odata || access)
		response_header(r, "x-ms-error-code", slice_str(info->code));
	put_challenge(r, ex->error);
	if (r->fault.has_length)
		buf_printf(&r->response.headers, "Content-Range: bytes */%llu\r\n",
			   (unsigned long long)r->fault.length_bytes);
	if (info->http_status == 304 || r->head->method == HTTP_HEAD)
		return;
	if (!odata) {
		error_xml(r, info);
		return;
	}
	error_odata(r, info);
	if (access) {
		response_header(r, "Content-Type", SLICE("application/json"));
	} else {
		response_header(r, "Content-Type",
				SLICE("application/json; odata=minimalmetadata; streaming=true; charset=utf-8"));
		response_header(r, "X-Content-Type-Options", SLICE("nosniff"));
	}
}

/* SPDX-License-Identifier: Apache-2.0
 * Errors as the services write them: XML with a byte order mark, unless the service has another form. A HEAD and a 304
 * carry the code in a header only. What a handler put into the answer is dropped, except the headers of a 304 (ETag and
 * the like). */
#include "rest/core/conn/exchange_int.h"
#include "rest/core/kit/hint.h"
#include "rest/core/service.h"
#include "wire/date.h"
#include "wire/xml.h"

#define RETRY_AFTER_S "1"
#define AUTHORITY     "https://login.microsoftonline.com/common/oauth2/authorize"

void error_put_message(struct buf *b, const struct request *r, enum err e, const char *line_break,
		       void (*put)(struct buf *, struct slice))
{
	char id[UUID_TEXT_BYTES];
	put(b, slice_is_set(r->fault.message) ? r->fault.message : slice_str(err_info(e)->text));
	uuid_format(&r->request_id, id);
	buf_put(b, slice_str(line_break));
	BUF_PUT(b, "RequestId:");
	buf_put(b, slice_make(id, sizeof id));
	buf_put(b, slice_str(line_break));
	BUF_PUT(b, "Time:");
	date_put_iso(b, r->arrival_ticks);
}

static void put_xml(struct request *r, enum err e)
{
	struct buf *b = &r->response.body;
	xml_begin(b);
	xml_open(b, "Error");
	xml_put(b, "Code", slice_str(err_info(e)->code));
	xml_open(b, "Message");
	error_put_message(b, r, e, "\n", xml_put_text);
	xml_close(b, "Message");
	for (size_t i = 0; i < r->fault.count; i++)
		xml_put(b, r->fault.detail[i].name, r->fault.detail[i].value);
	xml_close(b, "Error");
	response_header(r, "Content-Type", SLICE("application/xml"));
}

const struct error_form error_form_xml = { .code_header = true, .put_body = put_xml };

bool error_is_access(enum err e)
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

static void put_challenge(struct request *r, enum err e)
{
	if (e != ERR_NO_AUTHENTICATION_INFORMATION && e != ERR_INVALID_BEARER_TOKEN)
		return;
	response_header(r, "WWW-Authenticate",
			SLICE("Bearer authorization_uri=" AUTHORITY " resource_id=https://storage.azure.com"));
}

static const struct error_form *form_of(const struct request *r, enum err e)
{
	const struct rest_service *s = rest_service_of(r);
	return s->error_form ? s->error_form(r, e) : &error_form_xml;
}

void error_format(struct exchange *ex)
{
	struct request *r = &ex->req;
	const struct err_info *info = err_info(ex->error);
	const struct error_form *form = form_of(r, ex->error);
	ex->encoder = NULL;
	if (info->http_status == 304) {
		buf_clear(&r->response.body);
		r->response.body_slice = SLICE_NONE;
		r->response.spans = NULL;
		r->response.set_length = false;
	} else {
		response_reset(&r->response);
	}
	r->response.status = info->http_status;
	if (form->code_header)
		response_header(r, "x-ms-error-code", slice_str(info->code));
	put_challenge(r, ex->error);
	for (size_t i = 0; i < r->fault.header_count; i++)
		response_header(r, r->fault.header[i].name, r->fault.header[i].value);
	if (info->http_status == 503 && r->fault.retry_after_s)
		response_header_u64(r, "Retry-After", r->fault.retry_after_s);
	else if (info->http_status == 503)
		response_header(r, "Retry-After", SLICE(RETRY_AFTER_S));
	hint_put(ex);
	if (r->fault.has_length)
		buf_printf(&r->response.headers, "Content-Range: bytes */%llu\r\n",
			   (unsigned long long)r->fault.length_bytes);
	if (info->http_status != 304 && r->head->method != HTTP_HEAD)
		form->put_body(r, ex->error);
}

/* SPDX-License-Identifier: Apache-2.0
 * Set and Get Service Properties, and Service Stats, of every service that has them. See service_handlers.h. */
#include "rest/common/service_handlers.h"

#include "rest/common/cors.h"
#include "rest/common/fault_xml.h"
#include "rest/common/service_properties.h"
#include "rest/core/server.h"
#include "rest/core/service.h"
#include "svc/account/resource.h"

enum {
	RETENTION_DAYS_MAX = 365,
	CORS_LITERALS_MAX = 64, /* header names in one list */
	CORS_PREFIXES_MAX = 2,	/* of them ending with an asterisk */
	CORS_ORIGINS_MAX = 64,
	CORS_ENTRY_MAX = 256,	 /* characters of a header name or an origin */
	WEBSITE_PATH_MAX = 1024, /* as a blob's name */
};

#define VERSION_ENCRYPTION_IN_TRANSIT VERSION(2026, 2, 6)

/* ---- reading ---- */

/* A required leaf without the blanks around its text. */
static enum err read_text(struct request *r, const struct xml_node *n, const char *name, struct slice *ret)
{
	struct slice s;
	*ret = SLICE_NONE;
	TRY(rest_fault_xml_child_text(r, n, name, &s));
	if (!slice_is_set(s))
		return rest_fault_xml_reason(r, "A required element is missing");
	*ret = slice_trim(s);
	return ERR_OK;
}

static enum err read_bool(struct request *r, const struct xml_node *n, const char *name, bool *ret)
{
	struct slice s;
	TRY(read_text(r, n, name, &s));
	if (!slice_eq_nocase(s, SLICE("true")) && !slice_eq_nocase(s, SLICE("false")))
		return rest_fault_xml_node(r, name, s);
	*ret = slice_eq_nocase(s, SLICE("true"));
	return ERR_OK;
}

static enum err read_retention(struct request *r, const struct xml_node *n, struct retention_policy *ret)
{
	uint64_t days = 0;
	if (!n)
		return rest_fault_xml_reason(r, "RetentionPolicy is missing");
	*ret = (struct retention_policy){ .enabled = false };
	TRY(read_bool(r, n, "Enabled", &ret->enabled));
	if (ret->enabled) {
		struct slice s;
		TRY(read_text(r, n, "Days", &s));
		if (!slice_to_u64(s, &days) || days < 1)
			return rest_fault_xml_node(r, "Days", s);
		if (days > RETENTION_DAYS_MAX)
			return rest_fault_xml_reason(r, "Days is greater than 365");
	}
	ret->days = (uint32_t)days;
	if (xml_child(n, "AllowPermanentDelete"))
		TRY(read_bool(r, n, "AllowPermanentDelete", &ret->allow_permanent_delete));
	return ERR_OK;
}

static enum err read_version(struct request *r, const struct xml_node *n, struct slice *ret)
{
	struct slice s;
	TRY(read_text(r, n, "Version", &s));
	if (!slice_eq(s, SLICE("1.0")) && !slice_eq(s, SLICE("2.0")))
		return rest_fault_xml_node(r, "Version", s);
	*ret = s;
	return ERR_OK;
}

static enum err read_logging(struct request *r, const struct xml_node *n, struct service_logging *ret)
{
	TRY(read_version(r, n, &ret->version));
	TRY(read_bool(r, n, "Delete", &ret->del));
	TRY(read_bool(r, n, "Read", &ret->read));
	TRY(read_bool(r, n, "Write", &ret->write));
	return read_retention(r, xml_child(n, "RetentionPolicy"), &ret->retention);
}

static enum err read_metrics(struct request *r, const struct xml_node *n, struct service_metrics *ret)
{
	TRY(read_version(r, n, &ret->version));
	TRY(read_bool(r, n, "Enabled", &ret->enabled));
	ret->include_apis = false;
	if (ret->enabled || xml_child(n, "IncludeAPIs"))
		TRY(read_bool(r, n, "IncludeAPIs", &ret->include_apis));
	if (!ret->enabled)
		ret->include_apis = false;
	return read_retention(r, xml_child(n, "RetentionPolicy"), &ret->retention);
}

/* A list of header names: bounded numbers of names and of prefixes. */
static enum err check_header_list(struct request *r, const char *node, struct slice list)
{
	size_t literals = 0, prefixes = 0;
	for (struct slice rest = list; slice_is_set(rest) && rest.len;) {
		struct slice entry = slice_trim(slice_cut(&rest, ','));
		size_t star = slice_find_byte(entry, '*');
		if (entry.len > CORS_ENTRY_MAX || (star < entry.len && star + 1 != entry.len))
			return rest_fault_xml_node(r, node, list);
		if (slice_eq(entry, SLICE("*")))
			continue;
		prefixes += star < entry.len;
		literals += star == entry.len;
	}
	return literals > CORS_LITERALS_MAX || prefixes > CORS_PREFIXES_MAX ? rest_fault_xml_node(r, node, list)
									    : ERR_OK;
}

static enum err check_methods(struct request *r, struct slice list)
{
	static const char *known[] = { "DELETE", "GET",	    "HEAD", "MERGE", "PATCH",
				       "POST",	 "OPTIONS", "PUT",  "TRACE", "CONNECT" };
	struct slice rest = list;
	do {
		struct slice entry = slice_trim(slice_cut(&rest, ','));
		bool found = false;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			found = found || slice_eq(entry, slice_str(known[i]));
		if (!found)
			return rest_fault_xml_node(r, "AllowedMethods", list);
	} while (slice_is_set(rest));
	return ERR_OK;
}

static enum err check_origins(struct request *r, struct slice list)
{
	struct slice rest = list;
	size_t count = 0;
	do {
		struct slice entry = slice_trim(slice_cut(&rest, ','));
		if (++count > CORS_ORIGINS_MAX || entry.len == 0 || entry.len > CORS_ENTRY_MAX)
			return rest_fault_xml_node(r, "AllowedOrigins", list);
	} while (slice_is_set(rest));
	return ERR_OK;
}

static enum err read_cors_rule(struct request *r, const struct xml_node *n, struct cors_rule *ret)
{
	struct slice age;
	uint64_t seconds;
	TRY(read_text(r, n, "AllowedOrigins", &ret->origins));
	TRY(read_text(r, n, "AllowedMethods", &ret->methods));
	TRY(read_text(r, n, "AllowedHeaders", &ret->allowed_headers));
	TRY(read_text(r, n, "ExposedHeaders", &ret->exposed_headers));
	TRY(read_text(r, n, "MaxAgeInSeconds", &age));
	if (!slice_to_u64(age, &seconds) || seconds > INT32_MAX)
		return rest_fault_xml_node(r, "MaxAgeInSeconds", age);
	ret->max_age_s = (uint32_t)seconds;
	TRY(check_origins(r, ret->origins));
	TRY(check_methods(r, ret->methods));
	TRY(check_header_list(r, "AllowedHeaders", ret->allowed_headers));
	return check_header_list(r, "ExposedHeaders", ret->exposed_headers);
}

static enum err read_cors(struct request *r, const struct xml_node *n, struct service_properties *ret)
{
	size_t bytes = 0;
	ret->cors_count = 0;
	for (const struct xml_node *rule = n->child; rule; rule = rule->next) {
		if (!xml_is(rule, "CorsRule"))
			return rest_fault_xml_reason(r, "Unexpected element in Cors");
		if (ret->cors_count == CORS_RULES_MAX)
			return rest_fault_xml_reason(r, ""); /* the service says no more either */
		struct cors_rule *c = &ret->cors[ret->cors_count];
		TRY(read_cors_rule(r, rule, c));
		bytes += c->origins.len + c->methods.len + c->allowed_headers.len + c->exposed_headers.len;
		ret->cors_count++;
	}
	return bytes > CORS_RULES_BYTES_MAX ? rest_fault_xml_reason(r, "The CORS rules exceed 2 KiB") : ERR_OK;
}

static enum err read_website_path(struct request *r, const struct xml_node *n, const char *name, struct slice *ret)
{
	struct slice s;
	TRY(rest_fault_xml_child_text(r, n, name, &s));
	*ret = s.len ? s : SLICE_NONE;
	return s.len > WEBSITE_PATH_MAX ? rest_fault_xml_node(r, name, s) : ERR_OK;
}

static enum err read_website(struct request *r, const struct xml_node *n, struct static_website *ret)
{
	TRY(read_bool(r, n, "Enabled", &ret->enabled));
	TRY(read_website_path(r, n, "IndexDocument", &ret->index_document));
	TRY(read_website_path(r, n, "DefaultIndexDocumentPath", &ret->default_index_path));
	TRY(read_website_path(r, n, "ErrorDocument404Path", &ret->error_document));
	if (ret->index_document.len && ret->default_index_path.len)
		return rest_fault_xml_reason(r, "IndexDocument and DefaultIndexDocumentPath exclude each other");
	return ERR_OK;
}

static enum err read_default_version(struct request *r, const struct xml_node *n, struct slice *ret)
{
	struct slice s = slice_trim(xml_text(n));
	uint32_t version;
	/* The first version there was may be named, though a request cannot ask for it here. */
	if (!request_version_parse(s, &version) || version < VERSION(2008, 10, 27))
		return rest_fault_xml_node(r, "DefaultServiceVersion", s);
	*ret = s;
	return ERR_OK;
}

/* <EncryptionInTransit><Required>, if it is there. */
static enum err read_encryption(struct request *r, const struct xml_node *protocol, bool *ret_set, bool *ret)
{
	const struct xml_node *n = protocol ? xml_child(protocol, "EncryptionInTransit") : NULL;
	if (!n)
		return ERR_OK;
	TRY(read_bool(r, n, "Required", ret));
	*ret_set = true;
	return ERR_OK;
}

/* Several channels of one session are not served, so the setting of them stays off whatever is asked. */
static enum err read_protocols(struct request *r, const struct xml_node *n, struct service_properties_set *c)
{
	if (r->version < VERSION_ENCRYPTION_IN_TRANSIT)
		return ERR_OK;
	struct protocol_settings *p = &c->wanted.protocol;
	TRY(read_encryption(r, xml_child(n, "SMB"), &c->smb_encryption, &p->smb_encryption));
	return read_encryption(r, xml_child(n, "NFS"), &c->nfs_encryption, &p->nfs_encryption);
}

static bool has(const struct request *r, enum service_property what)
{
	return (rest_service_of(r)->properties & what) != 0;
}

static enum err read_part(struct request *r, const struct xml_node *n, struct service_properties_set *c)
{
	struct service_properties *p = &c->wanted;
	if (xml_is(n, "Logging")) {
		c->logging = true;
		return read_logging(r, n, &p->logging);
	}
	/* "Metrics" is what versions before 2013-08-15 call the hourly ones. */
	if (xml_is(n, "HourMetrics") || xml_is(n, "Metrics")) {
		c->hour = true;
		return read_metrics(r, n, &p->hour);
	}
	if (xml_is(n, "MinuteMetrics")) {
		c->minute = true;
		return read_metrics(r, n, &p->minute);
	}
	if (xml_is(n, "Cors")) {
		c->cors = true;
		return read_cors(r, n, p);
	}
	if (has(r, PROPERTY_DEFAULT_VERSION) && xml_is(n, "DefaultServiceVersion")) {
		c->default_version = true;
		return read_default_version(r, n, &p->default_version);
	}
	if (has(r, PROPERTY_DELETE_RETENTION) && xml_is(n, "DeleteRetentionPolicy")) {
		c->delete_retention = true;
		return read_retention(r, n, &p->delete_retention);
	}
	if (has(r, PROPERTY_WEBSITE) && xml_is(n, "StaticWebsite")) {
		c->website = true;
		return read_website(r, n, &p->website);
	}
	if (has(r, PROPERTY_PROTOCOL_SETTINGS) && xml_is(n, "ProtocolSettings"))
		return read_protocols(r, n, c);
	/* File: the retention of shares is a setting of the server. */
	if (has(r, PROPERTY_PROTOCOL_SETTINGS) && xml_is(n, "ShareDeleteRetentionPolicy"))
		return ERR_OK;
	return rest_fault_xml_reason(r, "Unexpected element in StorageServiceProperties");
}

/* ---- set ---- */

/* Behind the commit and before the answer: the next request sees the new rules. */
static enum err forget_cors(struct request *r)
{
	cors_forget(r);
	return ERR_OK;
}

enum err rest_service_parse_set(struct request *r)
{
	struct service_properties_set *c = ARENA_NEW(r->arena, struct service_properties_set);
	if (!c)
		return ERR_NO_MEMORY;
	c->service = service_facts(r->service)->letter;
	r->call = c;
	return ERR_OK;
}

static enum err is_there(struct resource_create *c, const struct resource *existing)
{
	(void)c, (void)existing;
	return ERR_OK;
}

/* A website that is switched on has its container, as at the service. */
static enum err queue_web(struct request *r, struct service_properties_set *c, struct slice account)
{
	c->web = (struct resource_create){
		.resource = { .kind = RESOURCE_CONTAINER, .name = SLICE("$web"), .generation = rng_u64(r->rng) },
		.on_exists = is_there
	};
	struct slice inside =
		resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, c->web.resource.generation);
	if (!slice_is_set(inside))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_create_reserve);
	request_step_write(r, inside, resource_create_open);
	request_step_write(r, account, resource_create_publish);
	return ERR_OK;
}

static enum err queue_set(struct request *r, struct service_properties_set *c)
{
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	if (c->website && c->wanted.website.enabled)
		TRY(queue_web(r, c, account));
	request_step_write(r, account, account_service_properties_apply_set);
	request_step_call(r, forget_cors);
	return ERR_OK;
}

enum err rest_service_parse_set_body(struct request *r)
{
	struct service_properties_set *c = r->call;
	struct xml_node *root;
	TRY(rest_fault_xml_parse(r, &root));
	if (!xml_is(root, "StorageServiceProperties"))
		return rest_fault_xml_reason(r, "Unexpected root element");
	if (has(r, PROPERTY_SOME) && !root->child) /* the others take it and change nothing */
		return rest_fault_xml_reason(r, "StorageServiceProperties has no element");
	for (const struct xml_node *n = root->child; n; n = n->next)
		TRY(read_part(r, n, c));
	return queue_set(r, c);
}

enum err rest_service_format_set(struct request *r)
{
	r->response.status = 202;
	return ERR_OK;
}

/* ---- get ---- */

enum err rest_service_parse_get(struct request *r)
{
	struct service_properties *p = ARENA_NEW(r->arena, struct service_properties);
	if (!p)
		return ERR_NO_MEMORY;
	r->call = p;
	return service_properties_load(r, p);
}

static void put_headers(struct request *r)
{
	response_header(r, "Content-Type", SLICE("application/xml"));
	if (has(r, PROPERTY_NO_CACHE))
		response_header(r, "Cache-Control", SLICE("no-cache"));
}

static void write_retention(struct buf *b, const char *name, const struct retention_policy *p, bool blob)
{
	xml_open(b, name);
	xml_put_bool(b, "Enabled", p->enabled);
	if (p->enabled)
		xml_put_u64(b, "Days", p->days);
	if (blob)
		xml_put_bool(b, "AllowPermanentDelete", p->allow_permanent_delete);
	xml_close(b, name);
}

static void write_metrics(struct buf *b, const char *name, const struct service_metrics *m)
{
	xml_open(b, name);
	xml_put(b, "Version", m->version);
	xml_put_bool(b, "Enabled", m->enabled);
	if (m->enabled)
		xml_put_bool(b, "IncludeAPIs", m->include_apis);
	write_retention(b, "RetentionPolicy", &m->retention, false);
	xml_close(b, name);
}

static void write_cors(struct buf *b, const struct service_properties *p)
{
	if (p->cors_count == 0) {
		BUF_PUT(b, "<Cors />");
		return;
	}
	xml_open(b, "Cors");
	for (size_t i = 0; i < p->cors_count; i++) {
		xml_open(b, "CorsRule");
		xml_put(b, "AllowedMethods", p->cors[i].methods);
		xml_put(b, "AllowedOrigins", p->cors[i].origins);
		xml_put(b, "AllowedHeaders", p->cors[i].allowed_headers);
		xml_put(b, "ExposedHeaders", p->cors[i].exposed_headers);
		xml_put_u64(b, "MaxAgeInSeconds", p->cors[i].max_age_s);
		xml_close(b, "CorsRule");
	}
	xml_close(b, "Cors");
}

static void write_website(struct buf *b, const struct static_website *w)
{
	xml_open(b, "StaticWebsite");
	xml_put_bool(b, "Enabled", w->enabled);
	if (slice_is_set(w->index_document))
		xml_put(b, "IndexDocument", w->index_document);
	if (slice_is_set(w->default_index_path))
		xml_put(b, "DefaultIndexDocumentPath", w->default_index_path);
	if (slice_is_set(w->error_document))
		xml_put(b, "ErrorDocument404Path", w->error_document);
	xml_close(b, "StaticWebsite");
}

static void write_encryption(struct buf *b, bool required)
{
	if (!required)
		return;
	xml_open(b, "EncryptionInTransit");
	xml_put_bool(b, "Required", true);
	xml_close(b, "EncryptionInTransit");
}

static void write_protocols(struct buf *b, uint32_t version, const struct protocol_settings *p)
{
	bool shows = version >= VERSION_ENCRYPTION_IN_TRANSIT;
	xml_open(b, "ProtocolSettings");
	xml_open(b, "SMB");
	BUF_PUT(b, "<Multichannel><Enabled>false</Enabled></Multichannel>");
	write_encryption(b, shows && p->smb_encryption);
	xml_close(b, "SMB");
	if (shows && p->nfs_encryption) {
		xml_open(b, "NFS");
		write_encryption(b, true);
		xml_close(b, "NFS");
	}
	xml_close(b, "ProtocolSettings");
}

static void write_logging(struct buf *b, const struct service_logging *l)
{
	xml_open(b, "Logging");
	xml_put(b, "Version", l->version);
	xml_put_bool(b, "Read", l->read);
	xml_put_bool(b, "Write", l->write);
	xml_put_bool(b, "Delete", l->del);
	write_retention(b, "RetentionPolicy", &l->retention, false);
	xml_close(b, "Logging");
}

enum err rest_service_format_get(struct request *r)
{
	const struct service_properties *p = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	put_headers(r);
	xml_begin(b);
	xml_open(b, "StorageServiceProperties");
	if (has(r, PROPERTY_LOGGING))
		write_logging(b, &p->logging);
	if (r->version < VERSION(2013, 8, 15)) {
		write_metrics(b, "Metrics", &p->hour);
	} else {
		write_metrics(b, "HourMetrics", &p->hour);
		write_metrics(b, "MinuteMetrics", &p->minute);
		write_cors(b, p);
	}
	if (has(r, PROPERTY_DEFAULT_VERSION) && slice_is_set(p->default_version))
		xml_put(b, "DefaultServiceVersion", p->default_version);
	if (has(r, PROPERTY_DELETE_RETENTION) && r->version >= VERSION(2017, 7, 29))
		write_retention(b, "DeleteRetentionPolicy", &p->delete_retention, true);
	if (has(r, PROPERTY_WEBSITE) && r->version >= VERSION(2018, 3, 28))
		write_website(b, &p->website);
	if (has(r, PROPERTY_PROTOCOL_SETTINGS) && r->version >= VERSION(2020, 2, 10))
		write_protocols(b, r->version, &p->protocol);
	xml_close(b, "StorageServiceProperties");
	return ERR_OK;
}

/* ---- stats ---- */

/* Replication is asked of the secondary endpoint; here it is the same store, so always in step. */
enum err rest_service_parse_stats(struct request *r)
{
	if (!r->secondary)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "comp", request_param(r, "comp"), "");
	return ERR_OK;
}

enum err rest_service_format_stats(struct request *r)
{
	struct buf *b = &r->response.body;
	r->response.status = 200;
	put_headers(r);
	xml_begin(b);
	xml_open(b, "StorageServiceStats");
	xml_open(b, "GeoReplication");
	xml_put(b, "Status", SLICE("live"));
	xml_put_rfc1123(b, "LastSyncTime", r->arrival_ticks);
	xml_close(b, "GeoReplication");
	xml_close(b, "StorageServiceStats");
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Invariant: one pass over the head collects what is signed (struct signed_parts); strings are built from that alone,
 * so every variant sees the same headers and a repeated header is found in one place. */
#include "auth/sharedkey.h"

#include "auth/smb/mac.h"
#include "auth/text.h"
#include "base/sys/clock.h"
#include "base/wide.h"
#include "wire/date.h"

#define DATE_MAX_AGE_TICKS    (15 * 60 * TICKS_PER_SECOND)
#define DATE_MAX_AHEAD_TICKS  (15 * 60 * TICKS_PER_SECOND) /* a date far ahead would keep a captured request usable */
#define VERSION_EMPTY_LENGTH  20150221u			   /* a Content-Length of 0 is signed as nothing */
#define VERSION_EMPTY_HEADERS 20160531u			   /* headers without a value are signed */

enum standard_header {
	H_CONTENT_ENCODING,
	H_CONTENT_LANGUAGE,
	H_CONTENT_LENGTH,
	H_CONTENT_MD5,
	H_CONTENT_TYPE,
	H_DATE,
	H_IF_MODIFIED_SINCE,
	H_IF_MATCH,
	H_IF_NONE_MATCH,
	H_IF_UNMODIFIED_SINCE,
	H_RANGE,
	H_COUNT
};

struct signed_parts {
	struct slice standard[H_COUNT];
	struct http_header *ms;		   /* x-ms-*, names in lower case, sorted by byte; in the arena */
	struct http_header *ms_by_culture; /* the same in that order; NULL if it is no other */
	size_t ms_count;
	struct slice ms_date;
	bool has_ms_date;
	bool has_runs; /* a value changes when folded */
	bool repeated;
};

static int standard_find(struct slice name)
{
	static const struct {
		struct slice name;
		enum standard_header at;
	} table[] = {
		{ { "content-encoding", 16 }, H_CONTENT_ENCODING },
		{ { "content-language", 16 }, H_CONTENT_LANGUAGE },
		{ { "content-length", 14 }, H_CONTENT_LENGTH },
		{ { "content-md5", 11 }, H_CONTENT_MD5 },
		{ { "content-type", 12 }, H_CONTENT_TYPE },
		{ { "date", 4 }, H_DATE },
		{ { "if-modified-since", 17 }, H_IF_MODIFIED_SINCE },
		{ { "if-match", 8 }, H_IF_MATCH },
		{ { "if-none-match", 13 }, H_IF_NONE_MATCH },
		{ { "if-unmodified-since", 19 }, H_IF_UNMODIFIED_SINCE },
		{ { "range", 5 }, H_RANGE },
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (table[i].name.len == name.len && slice_eq_nocase(table[i].name, name))
			return (int)table[i].at;
	return -1;
}

/* First-level rank in the service's order; 0 = ignored there. Only characters legal in a header name matter. */
static unsigned culture_rank(char c)
{
	static const char before_digits[] = "!#$%&*.^_`|~+";
	enum { DIGITS = sizeof before_digits, LETTERS = DIGITS + 10 };
	if (c >= 'a' && c <= 'z')
		return LETTERS + (unsigned)(c - 'a');
	if (c >= '0' && c <= '9')
		return DIGITS + (unsigned)(c - '0');
	const char *at = c ? strchr(before_digits, c) : NULL;
	return at ? (unsigned)(at - before_digits) + 1 : 0;
}

static int culture_mark(char c)
{
	return c == '\'' ? 1 : c == '-' ? 2 : 0;
}

int sharedkey_culture_cmp(struct slice a, struct slice b)
{
	size_t i = 0, j = 0;
	for (;;) {
		while (i < a.len && culture_rank(a.ptr[i]) == 0)
			i++;
		while (j < b.len && culture_rank(b.ptr[j]) == 0)
			j++;
		if (i == a.len || j == b.len)
			break;
		unsigned x = culture_rank(a.ptr[i++]), y = culture_rank(b.ptr[j++]);
		if (x != y)
			return x < y ? -1 : 1;
	}
	if (i < a.len || j < b.len)
		return i == a.len ? -1 : 1;
	/* Equal but for the marks: at the first place where they differ, the string without one comes first. */
	size_t common = a.len < b.len ? a.len : b.len;
	for (size_t k = 0; k < common; k++) {
		int x = culture_mark(a.ptr[k]), y = culture_mark(b.ptr[k]);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return a.len < b.len ? -1 : a.len > b.len ? 1 : 0;
}

static int by_bytes(const void *a, const void *b)
{
	return slice_cmp(((const struct http_header *)a)->name, ((const struct http_header *)b)->name);
}

static int by_culture(const void *a, const void *b)
{
	return sharedkey_culture_cmp(((const struct http_header *)a)->name, ((const struct http_header *)b)->name);
}

enum { INSERT_MAX = 32 };

/* By insertion: a request has few of these headers, mostly sent in order already. A head full of them in the wrong
 * order must not cost the square of their number before anybody knows who sent it. */
static void ms_sort(struct http_header *ms, size_t count, int (*cmp)(const void *, const void *))
{
	if (count > INSERT_MAX) {
		qsort(ms, count, sizeof *ms, cmp);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		struct http_header h = ms[i];
		size_t j = i;
		for (; j > 0 && cmp(&ms[j - 1], &h) > 0; j--)
			ms[j] = ms[j - 1];
		ms[j] = h;
	}
}

static enum err ms_order(struct signed_parts *p, struct arena *arena)
{
	bool differs = false;
	ms_sort(p->ms, p->ms_count, by_bytes);
	for (size_t i = 1; i < p->ms_count; i++) {
		p->repeated |= slice_eq(p->ms[i - 1].name, p->ms[i].name);
		differs |= by_culture(&p->ms[i - 1], &p->ms[i]) > 0;
	}
	if (!differs)
		return ERR_OK;
	p->ms_by_culture = arena_alloc(arena, p->ms_count * sizeof *p->ms);
	if (!p->ms_by_culture)
		return ERR_NO_MEMORY;
	memcpy(p->ms_by_culture, p->ms, p->ms_count * sizeof *p->ms);
	ms_sort(p->ms_by_culture, p->ms_count, by_culture);
	return ERR_OK;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool value_has_runs(struct slice v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] == '\t' || (v.ptr[i] == ' ' && i + 1 < v.len && is_blank(v.ptr[i + 1])))
			return true;
	return false;
}

static void put_folded(struct text *t, struct slice v)
{
	bool quoted = false;
	for (size_t i = 0; i < v.len; i++) {
		char c = v.ptr[i];
		if (c == '"')
			quoted = !quoted;
		if (quoted || !is_blank(c)) {
			text_byte(t, c);
			continue;
		}
		text_byte(t, ' ');
		while (i + 1 < v.len && is_blank(v.ptr[i + 1]))
			i++;
	}
}

static enum err parts_collect(const struct http_head *head, struct arena *arena, struct signed_parts *p)
{
	size_t name_bytes = 0;
	memset(p, 0, sizeof *p);
	p->ms = arena_alloc(arena, head->header_count * sizeof *p->ms);
	if (!p->ms)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < head->header_count; i++) {
		struct http_header h = head->headers[i];
		if (h.name.len > 5 && slice_has_prefix_nocase(h.name, SLICE("x-ms-"))) {
			p->ms[p->ms_count++] = h;
			name_bytes += h.name.len;
			continue;
		}
		int at = standard_find(h.name);
		if (at < 0)
			continue;
		p->repeated |= slice_is_set(p->standard[at]);
		p->standard[at] = slice_make(h.value.ptr ? h.value.ptr : "", h.value.len);
	}
	char *names = arena_alloc(arena, name_bytes);
	if (!names)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < p->ms_count; i++) {
		struct http_header *h = &p->ms[i];
		for (size_t k = 0; k < h->name.len; k++)
			names[k] = text_lower_byte(h->name.ptr[k]);
		h->name.ptr = names;
		names += h->name.len;
		p->has_runs |= value_has_runs(h->value);
		if (slice_eq(h->name, SLICE("x-ms-date"))) {
			p->has_ms_date = true;
			p->ms_date = h->value;
		}
	}
	return ms_order(p, arena);
}

static void put_ms_headers(struct text *t, const struct auth_request *r, const struct signed_parts *p, unsigned variant)
{
	bool other = (variant & SHAREDKEY_CULTURE_ORDER) && p->ms_by_culture;
	const struct http_header *ms = other ? p->ms_by_culture : p->ms;
	for (size_t i = 0; i < p->ms_count; i++) {
		if (ms[i].value.len == 0 && r->version < VERSION_EMPTY_HEADERS)
			continue;
		text_put(t, ms[i].name);
		text_byte(t, ':');
		if (p->has_runs && !(variant & SHAREDKEY_UNFOLDED))
			put_folded(t, ms[i].value);
		else
			text_put(t, ms[i].value);
		text_byte(t, '\n');
	}
}

static const char secondary_suffix[] = "-secondary";
enum { SECONDARY_BYTES = sizeof secondary_suffix - 1 };

/* The path begins with "/<account>-secondary". */
static bool path_is_secondary(const struct auth_request *r)
{
	struct slice in_path = r->account_in_path, path = r->head->path;
	return r->path_style && in_path.len > SECONDARY_BYTES &&
	       memcmp(in_path.ptr + in_path.len - SECONDARY_BYTES, secondary_suffix, SECONDARY_BYTES) == 0 &&
	       path.len > in_path.len && slice_has_prefix(slice_from(path, 1), in_path);
}

static void put_path(struct text *t, const struct auth_request *r, unsigned variant)
{
	struct slice path = r->head->path;
	text_byte(t, '/');
	text_put(t, r->account->name);
	if (path.len == 0) {
		text_byte(t, '/');
	} else if ((variant & SHAREDKEY_SECONDARY_REMOVED) && path_is_secondary(r)) {
		text_put(t, slice_first(path, 1 + r->account_in_path.len - SECONDARY_BYTES));
		text_put(t, slice_from(path, 1 + r->account_in_path.len));
	} else {
		text_put(t, path);
	}
}

struct lower_param {
	struct slice name, value;
};

static int param_cmp(const struct lower_param *a, const struct lower_param *b)
{
	int by_name = slice_cmp(a->name, b->name);
	return by_name ? by_name : slice_cmp(a->value, b->value);
}

static enum err put_query(struct text *t, const struct query *q, struct arena *arena)
{
	if (q->count == 0)
		return ERR_OK;
	struct lower_param *sorted = arena_alloc(arena, q->count * sizeof *sorted);
	if (!sorted)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < q->count; i++) {
		struct slice name = q->params[i].name;
		char *lower = arena_alloc(arena, name.len);
		if (!lower)
			return ERR_NO_MEMORY;
		for (size_t k = 0; k < name.len; k++)
			lower[k] = text_lower_byte(name.ptr[k]);
		struct lower_param add = { slice_make(lower, name.len), q->params[i].value };
		size_t j = i;
		for (; j > 0 && param_cmp(&sorted[j - 1], &add) > 0; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = add;
	}
	for (size_t i = 0; i < q->count; i++) {
		if (i > 0 && slice_eq(sorted[i - 1].name, sorted[i].name)) {
			text_byte(t, ',');
		} else {
			text_byte(t, '\n');
			text_put(t, sorted[i].name);
			text_byte(t, ':');
		}
		text_put(t, sorted[i].value);
	}
	return ERR_OK;
}

static void put_resource_lite(struct text *t, const struct auth_request *r, unsigned variant)
{
	put_path(t, r, variant);
	struct slice comp = query_get(r->query, SLICE("comp"));
	if (slice_is_set(comp)) {
		text_put(t, SLICE("?comp="));
		text_put(t, comp);
	}
}

static enum err build_full(struct text *t, const struct auth_request *r, const struct signed_parts *p, unsigned variant,
			   struct arena *arena)
{
	struct slice length = p->standard[H_CONTENT_LENGTH];
	if (r->version >= VERSION_EMPTY_LENGTH && slice_eq(length, SLICE("0")))
		length = SLICE_NONE;
	text_line(t, r->head->method_text);
	text_line(t, p->standard[H_CONTENT_ENCODING]);
	text_line(t, p->standard[H_CONTENT_LANGUAGE]);
	text_line(t, length);
	text_line(t, p->standard[H_CONTENT_MD5]);
	text_line(t, p->standard[H_CONTENT_TYPE]);
	text_line(t, p->has_ms_date ? SLICE_NONE : p->standard[H_DATE]);
	text_line(t, p->standard[H_IF_MODIFIED_SINCE]);
	text_line(t, p->standard[H_IF_MATCH]);
	text_line(t, p->standard[H_IF_NONE_MATCH]);
	text_line(t, p->standard[H_IF_UNMODIFIED_SINCE]);
	text_line(t, p->standard[H_RANGE]);
	put_ms_headers(t, r, p, variant);
	put_path(t, r, variant);
	return put_query(t, r->query, arena);
}

static enum err build(const struct auth_request *r, const struct signed_parts *p, enum sharedkey_scheme scheme,
		      unsigned variant, struct arena *arena, struct slice *ret)
{
	struct text t;
	text_init(&t, arena);
	if (r->service == SERVICE_TABLE) {
		if (scheme == SHAREDKEY_FULL) {
			text_line(&t, r->head->method_text);
			text_line(&t, p->standard[H_CONTENT_MD5]);
			text_line(&t, p->standard[H_CONTENT_TYPE]);
		}
		text_line(&t, p->has_ms_date ? p->ms_date : p->standard[H_DATE]);
		put_resource_lite(&t, r, variant);
	} else if (scheme == SHAREDKEY_LITE) {
		text_line(&t, r->head->method_text);
		text_line(&t, p->standard[H_CONTENT_MD5]);
		text_line(&t, p->standard[H_CONTENT_TYPE]);
		text_line(&t, p->has_ms_date ? SLICE_NONE : p->standard[H_DATE]);
		put_ms_headers(&t, r, p, variant);
		put_resource_lite(&t, r, variant);
	} else {
		TRY(build_full(&t, r, p, variant, arena));
	}
	return text_take(&t, ret);
}

enum err sharedkey_string(const struct auth_request *r, enum sharedkey_scheme scheme, unsigned variant,
			  struct arena *arena, struct slice *ret)
{
	struct signed_parts p;
	TRY(parts_collect(r->head, arena, &p));
	if (p.repeated)
		return ERR_INVALID_HEADER_VALUE;
	return build(r, &p, scheme, variant, arena, ret);
}

enum err sharedkey_sign(const struct auth_request *r, enum sharedkey_scheme scheme, struct arena *arena,
			struct slice *ret)
{
	struct slice text;
	unsigned char mac[MAC_BYTES];
	char encoded[MAC_TEXT_BYTES];
	TRY(sharedkey_string(r, scheme, 0, arena, &text));
	if (!auth_account_mac_sign(r->account, 0, text, mac))
		return ERR_NOT_FOUND;
	mac_encode(mac, encoded);
	struct slice value =
		arena_printf(arena, "%s %.*s:%.*s", scheme == SHAREDKEY_LITE ? "SharedKeyLite" : "SharedKey",
			     SLICE_FMT(r->account->name), MAC_TEXT_BYTES, encoded);
	if (!slice_is_set(value))
		return ERR_NO_MEMORY;
	*ret = value;
	return ERR_OK;
}

static enum err date_check(const struct auth_request *r, const struct signed_parts *p, struct arena *arena,
			   struct auth_failure *failure)
{
	/* An empty x-ms-date still hides Date, as it does in the string to sign. */
	struct slice date = p->has_ms_date ? p->ms_date : p->standard[H_DATE];
	uint64_t ticks;
	if (date.len == 0) {
		failure->detail = SLICE("Either the x-ms-date or the Date header must be given.");
		return ERR_AUTHENTICATION_FAILED;
	}
	if (!date_parse_rfc1123(date, &ticks)) {
		failure->detail = SLICE("The request's date header is not a valid RFC 1123 time.");
		return ERR_AUTHENTICATION_FAILED;
	}
	uint64_t now = auth_client_ticks(r);
	if (ticks < now && now - ticks > DATE_MAX_AGE_TICKS) {
		failure->detail = arena_printf(arena, "Request date header too old: '%.*s'", SLICE_FMT(date));
		return ERR_AUTHENTICATION_FAILED;
	}
	if (ticks > now && ticks - now > DATE_MAX_AHEAD_TICKS) {
		failure->detail = arena_printf(arena, "Request date header too far ahead: '%.*s'", SLICE_FMT(date));
		return ERR_AUTHENTICATION_FAILED;
	}
	return ERR_OK;
}

/* Could the lines of these parameters be those of others? A name with ':' ("versionid:x" with an empty value) and a
 * line feed before a ':' in a value (timeout "5\nversionid:x") sign like a parameter that is not there. */
static bool query_is_ambiguous(const struct query *q)
{
	for (size_t i = 0; i < q->count; i++) {
		struct slice name = q->params[i].name, rest = q->params[i].value;
		if (slice_find_byte(name, ':') < name.len || wide_find(name, wide_is_control) < name.len)
			return true;
		slice_cut(&rest, '\n');
		if (slice_is_set(rest) && slice_find_byte(rest, ':') < rest.len)
			return true;
	}
	return false;
}

/* Where parameters are not signed at all (Lite, Table), there is nothing to be taken for something else. */
static enum err refuse_ambiguous(const struct auth_request *r, enum sharedkey_scheme scheme,
				 struct auth_failure *failure)
{
	if (scheme != SHAREDKEY_FULL || r->service == SERVICE_TABLE || !query_is_ambiguous(r->query))
		return ERR_OK;
	failure->detail = SLICE("A query parameter's name or value could be taken for another parameter.");
	return ERR_AUTHENTICATION_FAILED;
}

static enum err mismatch(struct slice signature, struct slice text, struct arena *arena, struct auth_failure *failure)
{
	failure->wrong_proof = true;
	failure->string_to_sign = text;
	failure->detail = arena_printf(arena,
				       "The MAC signature found in the HTTP request '%.*s' is not the same as any "
				       "computed signature. Server used following string to sign: '%.*s'.",
				       SLICE_FMT(signature), SLICE_FMT(text));
	return ERR_AUTHENTICATION_FAILED;
}

enum err sharedkey_verify(const struct auth_request *r, enum sharedkey_scheme scheme, struct slice credentials,
			  struct arena *arena, struct auth_failure *failure, unsigned *ret_key)
{
	struct slice signature = credentials;
	struct slice account = slice_cut(&signature, ':');
	if (account.len == 0 || signature.len == 0)
		return ERR_INVALID_AUTHENTICATION_INFO;
	if (!slice_eq(account, r->account->name))
		return ERR_AUTHENTICATION_FAILED;

	struct signed_parts p;
	TRY(parts_collect(r->head, arena, &p));
	if (p.repeated)
		return ERR_INVALID_HEADER_VALUE;
	TRY(date_check(r, &p, arena, failure));
	bool with_headers = r->service != SERVICE_TABLE;
	unsigned useful = (with_headers && p.ms_by_culture ? SHAREDKEY_CULTURE_ORDER : 0u) |
			  (with_headers && p.has_runs ? SHAREDKEY_UNFOLDED : 0u) |
			  (path_is_secondary(r) ? SHAREDKEY_SECONDARY_REMOVED : 0u);
	struct slice first = SLICE_NONE;
	for (unsigned variant = 0; variant < SHAREDKEY_VARIANTS; variant++) {
		struct slice text;
		if (variant & ~useful)
			continue;
		TRY(build(r, &p, scheme, variant, arena, &text));
		unsigned key = auth_account_mac_matches(r->account, text, signature);
		if (key) {
			*ret_key = key;
			return refuse_ambiguous(r, scheme, failure);
		}
		if (variant == 0)
			first = text;
	}
	return mismatch(signature, first, arena, failure);
}

/* SPDX-License-Identifier: Apache-2.0
 * The limits of accounts (auth/limits.h) of a running server: shown, and one of them changed. They stand in the file
 * `limits` of the data directory, unless --accountLimits names another, which is its owner's to change. The file
 * changes first, whole and synced; then the server reads it as SIGHUP does, and what it refuses is taken back. */
#include "server/admin/admin.h"

#include "base/limits.h"
#include "server/access/admission.h"
#include "server/access/reload.h"
#include "server/house.h"
#include "wire/json.h"

static int refuse(struct buf *out, int status, const char *what)
{
	buf_printf(out, "%s\n", what);
	return status;
}

/* May they be changed by us? NULL: yes. */
static const char *unchangeable(const struct house *h)
{
	if (h->config->accountLimits[0])
		return "limits stand in the file that --accountLimits names: change them there, then SIGHUP";
	if (h->config->inMemoryPersistence)
		return "this server keeps nothing on disk: give it limits by --accountLimits FILE";
	return NULL;
}

static struct slice word(struct slice *line)
{
	size_t n = 0;
	*line = slice_trim(*line);
	while (n < line->len && line->ptr[n] != ' ' && line->ptr[n] != '\t')
		n++;
	struct slice w = slice_first(*line, n);
	*line = slice_trim(slice_from(*line, n));
	return w;
}

static bool is_limit(struct slice line)
{
	line = slice_trim(line);
	return line.len > 0 && line.ptr[0] != '#';
}

/* The line of that target and limit is left out or replaced; everything else, comments too, stays as it was. */
static void edit(struct slice text, struct slice target, struct slice limit, struct slice value, struct buf *out)
{
	while (slice_is_set(text) && text.len) {
		struct slice line = slice_cut(&text, '\n'), rest = line;
		if (is_limit(line) && slice_eq(word(&rest), target) && slice_eq(word(&rest), limit))
			continue;
		buf_put(out, line);
		BUF_PUT(out, "\n");
	}
	if (value.len)
		buf_printf(out, "%.*s %.*s %.*s\n", SLICE_FMT(target), SLICE_FMT(limit), SLICE_FMT(value));
}

/* A word has no blanks, and nothing can begin another line or a comment. */
static bool is_plain(struct slice s, bool blanks)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < ' ' || (!blanks && s.ptr[i] == ' '))
			return false;
	return s.len == 0 || s.ptr[0] != '#';
}

static int change(struct house *h, struct slice target, struct slice limit, struct slice value, struct buf *out)
{
	struct buf old, text, error;
	int status = 200;
	buf_init(&old, MIB);
	buf_init(&text, MIB);
	buf_init(&error, 64 * KIB);
	if (!admission_limits_text(h->config, h->data.path, &old, &error))
		status = 500;
	edit(buf_slice(&old), target, limit, value, &text);
	if (status == 200 && !buf_ok(&text)) {
		BUF_PUT(&error, "there is no room for more limits");
		status = 409;
	}
	if (status == 200 && !datadir_replace_file(h->data.path, LIMITS_FILE, buf_slice(&text), &error))
		status = 500;
	else if (status == 200 && !reload_admission(h, &error))
		status = datadir_replace_file(h->data.path, LIMITS_FILE, buf_slice(&old), &error) ? 409 : 500;
	if (status != 200)
		buf_printf(out, "%.*s; limits stay as they were\n", SLICE_FMT(buf_slice(&error)));
	buf_fini(&old);
	buf_fini(&text);
	buf_fini(&error);
	return status;
}

/* target: account, account/container, or '*'; an empty value takes the limit away. */
int admin_limits_set(struct house *h, const struct query *q, struct buf *out)
{
	struct slice target = query_get(q, SLICE("target")), limit = query_get(q, SLICE("limit"));
	struct slice value = slice_trim(query_get(q, SLICE("value")));
	const char *no = unchangeable(h);
	if (no)
		return refuse(out, 409, no);
	if (!slice_is_set(target) || !target.len || !slice_is_set(limit) || !limit.len || !is_plain(target, false) ||
	    !is_plain(limit, false) || !is_plain(value, true))
		return refuse(out, 400, "say which: target, limit and value");
	pthread_mutex_lock(&h->account_lock);
	int status = change(h, target, limit, value, out);
	pthread_mutex_unlock(&h->account_lock);
	return status == 200 ? admin_limits_show(h, q, out) : status;
}

static void put_field(struct buf *out, const char *before, struct slice text)
{
	buf_put(out, slice_str(before));
	json_put_text(out, text);
	BUF_PUT(out, "\"");
}

int admin_limits_show(struct house *h, const struct query *q, struct buf *out)
{
	struct buf text;
	buf_init(&text, MIB);
	if (!admission_limits_text(h->config, h->data.path, &text, out)) {
		buf_fini(&text);
		return 500;
	}
	const char *no = unchangeable(h);
	struct slice rest = buf_slice(&text);
	bool any = false;
	put_field(out, "{\"fixed\":\"", slice_str(no ? no : ""));
	BUF_PUT(out, ",\"limits\":[");
	while (slice_is_set(rest) && rest.len) {
		struct slice line = slice_cut(&rest, '\n');
		if (!is_limit(line))
			continue;
		put_field(out, any ? ",\n{\"target\":\"" : "\n{\"target\":\"", word(&line));
		put_field(out, ",\"limit\":\"", word(&line));
		put_field(out, ",\"value\":\"", line);
		BUF_PUT(out, "}");
		any = true;
	}
	BUF_PUT(out, "]}\n");
	buf_fini(&text);
	return 200;
}

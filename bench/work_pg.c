/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL doing what the table works do: prepared statements, one row per entity, a version for the ETag.
 * --container is a connection string. libpq is driven without blocking from the same loop. */
#include "load.h"

#include <libpq-fe.h>

enum { OWN_ROWS = 64, PARAMETERS = 8 };

struct statement {
	const char *name;
	const char *values[PARAMETERS];
	int count;
};

static void pg_must(PGconn *pg, PGresult *r, const char *what)
{
	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		die("%s: %s", what, PQerrorMessage(pg));
	PQclear(r);
}

static void pg_open(struct conn *c)
{
	static const struct {
		const char *name, *text;
		int count;
	} statements[] = {
		{ "insert",
		  "INSERT INTO entity (pk, rk, version, name, count, ratio, done, due) VALUES ($1, $2, 1, $3, $4::int, "
		  "$5::float8, $6::boolean, $7::timestamptz)",
		  7 },
		{ "get", "SELECT pk, rk, version, name, count, ratio, done, due FROM entity WHERE pk = $1 AND rk = $2",
		  2 },
		{ "upsert",
		  "INSERT INTO entity (pk, rk, version, name, count, ratio, done, due) VALUES ($1, $2, 1, $3, $4::int, "
		  "$5::float8, $6::boolean, $7::timestamptz) "
		  "ON CONFLICT (pk, rk) DO UPDATE SET version = 1",
		  7 },
		{ "update",
		  "UPDATE entity SET version = version + 1, name = $3, count = $4::int, ratio = $5::float8, done = "
		  "$6::boolean, due = $7::timestamptz "
		  "WHERE pk = $1 AND rk = $2 AND version = $8::bigint",
		  8 },
	};
	PGconn *pg = PQconnectdb(opt.container);
	if (PQstatus(pg) != CONNECTION_OK)
		die("%s", PQerrorMessage(pg));
	for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
		pg_must(pg, PQprepare(pg, statements[i].name, statements[i].text, statements[i].count, NULL),
			statements[i].name);
	PQsetnonblocking(pg, 1);
	c->link = pg;
	c->fd = PQsocket(pg);
}

static void pg_submit(struct conn *c)
{
	struct statement s;
	memcpy(&s, c->head.ptr, sizeof s);
	if (!PQsendQueryPrepared(c->link, s.name, s.count, s.values, NULL, NULL, 0) || PQflush(c->link) < 0)
		die("%s: %s", opt.work, PQerrorMessage(c->link));
}

static bool pg_ready(struct conn *c, struct reply *ret)
{
	if (PQflush(c->link) < 0 || !PQconsumeInput(c->link))
		die("%s: %s", opt.work, PQerrorMessage(c->link));
	if (PQisBusy(c->link))
		return false;
	PGresult *r = PQgetResult(c->link);
	if (!r)
		return false;
	ExecStatusType status = PQresultStatus(r);
	*ret = (struct reply){ .status = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 200 : 500 };
	const char *affected = PQcmdTuples(r);
	if (strcmp(affected, "1") != 0)
		ret->status = 404;
	if (ret->status != 200)
		fprintf(stderr, "%s", PQresultErrorMessage(r));
	PQclear(r);
	/* The end of the command came in the same read; it must be taken before the next one is sent. */
	while ((r = PQgetResult(c->link)) != NULL)
		PQclear(r);
	return true;
}

const struct protocol protocol_pg = { pg_open, pg_submit, pg_ready };

/* The parameters live in the note until the statement is sent. */
static void row_request(struct conn *c, const char *name, uint64_t key, bool whole, uint64_t version)
{
	struct statement s = { .name = name, .count = 2 };
	char text[129];
	uint64_t at = rng_below(&c->rng, 65536);
	for (int i = 0; i < 128; i++)
		text[i] = (char)('a' + (unsigned char)noise[at + (unsigned)i] % 26);
	text[128] = 0;
	buf_clear(&c->note);
	buf_printf(&c->note, "p%02u%c%08llu%c", (unsigned)(key % 16), 0, (unsigned long long)key, 0);
	if (whole) {
		buf_printf(&c->note, "%s%c%llu%c%.6f%c%s%c2024-05-06T07:08:09.123456Z%c%llu%c", text, 0,
			   (unsigned long long)key % 100000, 0, (double)(key % 1000) / 7.0 + 0.25, 0,
			   key % 2 ? "true" : "false", 0, 0, (unsigned long long)version, 0);
		s.count = version > 0 ? 8 : 7;
	}
	const char *value = c->note.ptr;
	for (int i = 0; i < s.count; i++, value += strlen(value) + 1)
		s.values[i] = value;
	buf_put(&c->head, slice_make(&s, sizeof s));
}

static void pinsert_request(struct conn *c)
{
	row_request(c, "insert", next_key(), true, 0);
}

static void pget_request(struct conn *c)
{
	row_request(c, "get", rng_below(&c->rng, opt.keys), false, 0);
}

static void pupdate_request(struct conn *c)
{
	if (!c->etags && !(c->etags = calloc(OWN_ROWS, sizeof *c->etags)))
		die("out of memory");
	c->key = (c->key + 1) % OWN_ROWS;
	uint64_t version = (uint64_t)(uintptr_t)c->etags[c->key];
	row_request(c, version ? "update" : "upsert", opt.base + c->index * OWN_ROWS + c->key, true, version);
}

static enum answer pdone(struct conn *c, const struct reply *r)
{
	return r->status == 200 ? ANSWER_DONE : ANSWER_BAD;
}

static enum answer pupdate_answer(struct conn *c, const struct reply *r)
{
	uintptr_t version = (uintptr_t)c->etags[c->key];
	if (r->status != 200)
		return ANSWER_BAD;
	c->etags[c->key] = (char *)(version + 1);
	return version ? ANSWER_DONE : ANSWER_UNCOUNTED;
}

const struct work works_pg[] = {
	{ "pinsert", "PostgreSQL: insert", &protocol_pg, 0, 0, 1, false, pinsert_request, pdone },
	{ "pget", "PostgreSQL: select by key", &protocol_pg, 0, 0, 10000, false, pget_request, pdone },
	{ "pupdate", "PostgreSQL: update where the version is still the one read", &protocol_pg, 0, 0, 1, false,
	  pupdate_request, pupdate_answer },
	{ 0 },
};

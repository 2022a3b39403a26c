/* SPDX-License-Identifier: Apache-2.0
 * Entities in JSON and in Atom: what was read is written at each level of metadata, and with types in it reads back
 * as the same record; the bytes themselves are also taken for a record. */
#include "rest/table/entity_atom.h"

#include "fuzz.h"

static void check_again(struct arena *arena, const struct entity_body *body)
{
	struct entity_writer w = {
		.root = SLICE("http://h/"), .account = SLICE("acc"), .table = SLICE("t"), .select_all = true
	};
	struct entity e = { body->partition_key, body->row_key, UINT64_C(638000000000000001), body->properties };
	struct entity_body again;
	struct buf b;
	buf_init(&b, 8 << 20);
	if (!slice_is_set(e.partition_key))
		e.partition_key = SLICE("p");
	if (!slice_is_set(e.row_key))
		e.row_key = SLICE("r");
	for (int level = ODATA_NONE; level <= ODATA_FULL; level++) {
		w.level = (enum odata_level)level;
		buf_clear(&b);
		rest_entity_json_write(&b, &w, &e, level != ODATA_NONE);
		CHECK(buf_ok(&b));
		CHECK(rest_entity_body_parse(buf_slice(&b), arena, &again) == ERR_OK);
		CHECK(slice_eq(again.partition_key, e.partition_key) && slice_eq(again.row_key, e.row_key));
		if (level != ODATA_NONE)
			CHECK(slice_eq(again.properties, e.properties));
	}
	buf_fini(&b);
}

static void check_atom_again(struct arena *arena, const struct entity_body *body)
{
	struct entity_writer w = { .level = ODATA_ATOM,
				   .root = SLICE("http://h/"),
				   .account = SLICE("acc"),
				   .table = SLICE("t"),
				   .updated = SLICE("2013-01-01T00:00:00Z"),
				   .select_all = true };
	struct entity e = { body->partition_key, body->row_key, UINT64_C(638000000000000001), body->properties };
	struct entity_body again;
	struct buf b;
	buf_init(&b, 8 << 20);
	if (!slice_is_set(e.partition_key))
		e.partition_key = SLICE("p");
	if (!slice_is_set(e.row_key))
		e.row_key = SLICE("r");
	rest_entity_atom_write(&b, &w, &e, true);
	CHECK(buf_ok(&b));
	CHECK(rest_entity_atom_parse(buf_slice(&b), arena, &again) == ERR_OK);
	CHECK(slice_eq(again.partition_key, e.partition_key) && slice_eq(again.row_key, e.row_key));
	CHECK(slice_eq(again.properties, e.properties));
	buf_fini(&b);
}

static void check_record(struct slice s)
{
	struct property_cursor c = property_cursor_make(s);
	struct property p;
	struct buf b;
	buf_init(&b, 8 << 20);
	size_t used = 0;
	while (property_next(&c, &p)) {
		used += p.encoded.len;
		buf_clear(&b);
		property_encode(&b, p.name, &p.value);
		struct property_cursor d = property_cursor_make(buf_slice(&b));
		struct property q;
		CHECK(property_next(&d, &q) && slice_eq(p.name, q.name) && p.value.type == q.value.type);
	}
	CHECK(c.failed || used == s.len);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = fuzz_copy(slice_make(data, size));
	struct entity_body body;
	struct arena arena;
	arena_init(&arena, 32 << 20);
	if (rest_entity_body_parse(s, &arena, &body) == ERR_OK)
		check_again(&arena, &body);
	if (rest_entity_atom_parse(s, &arena, &body) == ERR_OK)
		check_atom_again(&arena, &body);
	check_record(s);
	uint64_t ticks = rest_entity_etag_parse(s);
	if (ticks) {
		char etag[ENTITY_ETAG_MAX];
		CHECK(slice_eq(s, slice_make(etag, rest_entity_etag_format(ticks, etag))));
	}
	arena_fini(&arena);
	fuzz_free(s);
	return 0;
}

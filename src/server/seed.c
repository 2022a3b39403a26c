/* SPDX-License-Identifier: Apache-2.0
 * --create: what is to exist before the first request. */
#include "server/seed.h"

#include "base/limits.h"
#include "base/sys/rng.h"
#include "svc/account/names.h"
#include "svc/account/resource.h"
#include "svc/file/share.h"

static enum err share_make(struct store *store, struct slice account, struct slice name, struct arena *arena)
{
	struct rng rng;
	struct share_create create;
	rng_init_system(&rng);
	share_create_init(&create, name, rng_u64(&rng) | 1);
	create.settings.quota_gib = SHARE_QUOTA_DEFAULT_GIB;
	struct slice outer = resource_account_partition(arena, account);
	struct slice inner =
		resource_generation_partition(arena, account, RESOURCE_SHARE, create.base.resource.generation);
	if (!slice_is_set(outer) || !slice_is_set(inner))
		return ERR_NO_MEMORY;
	enum err err = store_write_wait(store, outer, share_create_reserve, &create, arena);
	if (err != ERR_OK)
		return err == ERR_SHARE_ALREADY_EXISTS ? ERR_OK : err;
	TRY(store_write_wait(store, inner, share_create_open, &create, arena));
	return store_write_wait(store, outer, share_create_publish, &create, arena);
}

static enum err resource_make(struct store *store, struct slice account, char kind, struct slice name,
			      struct arena *arena)
{
	struct rng rng;
	rng_init_system(&rng);
	struct resource_create create = {
		.resource = { .kind = kind, .name = name, .generation = rng_u64(&rng) | 1 },
		.exists_error = ERR_RESOURCE_ALREADY_EXISTS,
	};
	struct slice outer = resource_account_partition(arena, account);
	struct slice inner = resource_generation_partition(arena, account, kind, create.resource.generation);
	if (!slice_is_set(outer) || !slice_is_set(inner))
		return ERR_NO_MEMORY;
	enum err err = store_write_wait(store, outer, resource_create_reserve, &create, arena);
	if (err != ERR_OK)
		return err == ERR_RESOURCE_ALREADY_EXISTS ? ERR_OK : err;
	TRY(store_write_wait(store, inner, resource_create_open, &create, arena));
	return store_write_wait(store, outer, resource_create_publish, &create, arena);
}

bool seed_create(struct store *store, struct slice account, struct slice list, struct buf *error)
{
	while (slice_is_set(list)) {
		struct slice item = slice_trim(slice_cut(&list, ',')), name = item;
		char kind = RESOURCE_CONTAINER;
		if (item.len == 0)
			continue;
		if (slice_has_prefix(item, SLICE("queue:")))
			kind = RESOURCE_QUEUE;
		else if (slice_has_prefix(item, SLICE("table:")))
			kind = RESOURCE_TABLE;
		else if (slice_has_prefix(item, SLICE("share:")))
			kind = RESOURCE_SHARE;
		bool named = slice_find_byte(item, ':') != item.len;
		if (named && kind == RESOURCE_CONTAINER && !slice_has_prefix(item, SLICE("container:"))) {
			buf_printf(error,
				   "--create %.*s: what is made is container:NAME (or NAME), queue:NAME, table:NAME "
				   "or share:NAME",
				   SLICE_FMT(item));
			return false;
		}
		if (named)
			slice_cut(&name, ':');
		enum err err = kind == RESOURCE_TABLE ? name_check_table(name)
						      : name_check_container(name, kind == RESOURCE_CONTAINER);
		if (err != ERR_OK) {
			buf_printf(error, "--create %.*s: %s", SLICE_FMT(item), err_info(err)->text);
			return false;
		}
		struct arena arena;
		arena_init(&arena, MIB);
		err = kind == RESOURCE_SHARE ? share_make(store, account, name, &arena)
					     : resource_make(store, account, kind, name, &arena);
		arena_fini(&arena);
		if (err != ERR_OK) {
			buf_printf(error, "--create %.*s failed: %s", SLICE_FMT(item), err_name(err));
			return false;
		}
	}
	return true;
}

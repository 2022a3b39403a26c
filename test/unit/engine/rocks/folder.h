/* SPDX-License-Identifier: Apache-2.0
 * A folder of its own for the store of a test. */
#ifndef TEST_ROCKS_FOLDER_H
#define TEST_ROCKS_FOLDER_H

#include "engine/rocks/rocks.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char dir[64];

static inline int folder_make(const char *name)
{
	snprintf(dir, sizeof dir, "/tmp/zaffre-%s-XXXXXX", name);
	return mkdtemp(dir) ? 0 : -1;
}

static inline int folder_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static inline int folder_remove(void)
{
	return nftw(dir, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Fails the test if the store does not open. */
static inline struct engine *folder_open(void)
{
	struct engine *e = NULL;
	struct buf message;
	buf_init(&message, 4096);
	if (engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true }, &e, &message) != ERR_OK)
		fail_msg("%.*s", (int)message.len, message.ptr);
	buf_fini(&message);
	return e;
}

/* One commit that does nothing else. */
static inline void folder_change_extent(struct engine *e, enum write_kind kind, struct extent_ref extent)
{
	struct engine_group *g;
	struct write w = { .kind = kind, .extent = extent };
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
}

#endif

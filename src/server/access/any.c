/* SPDX-License-Identifier: Apache-2.0
 * A table that only grows: who finds an account in it needs no lock, because its row is written before the count says
 * so. */
#include "server/access/any.h"

#include <pthread.h>
#include <stdlib.h>

#include "server/access/admission.h"
#include "server/accounts.h"
#include "wire/base64.h"

struct any_accounts {
	pthread_mutex_t lock; /* of who makes one */
	void (*made)(void *);
	void *made_arg;
	struct arena arena; /* names and the key */
	struct slice key;
	atomic_size_t count;
	struct auth_account account[ANY_ACCOUNTS_MAX];
};

struct any_accounts *any_new(void (*made)(void *arg), void *arg)
{
	struct any_accounts *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	arena_init(&a->arena, 1024 * 1024);
	a->made = made;
	a->made_arg = arg;
	if (base64_decode(SLICE(ACCOUNT_WELL_KNOWN_KEY), &a->arena, &a->key) == ERR_OK)
		return a;
	any_free(a);
	return NULL;
}

void any_free(struct any_accounts *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < atomic_load(&a->count); i++)
		auth_account_release(&a->account[i]);
	arena_fini(&a->arena);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static const struct auth_account *any_find(void *arg, struct slice name)
{
	struct any_accounts *a = arg;
	size_t count = atomic_load_explicit(&a->count, memory_order_acquire);
	for (size_t i = 0; i < count; i++)
		if (slice_eq(a->account[i].name, name))
			return &a->account[i];
	return NULL;
}

static bool any_name_is_good(struct slice name)
{
	if (name.len < 3 || name.len > 24 || slice_eq(name, SLICE("health"))) /* that is the server's own path */
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9')))
			return false;
	return true;
}

static const struct auth_account *any_make(void *arg, struct slice name)
{
	struct any_accounts *a = arg;
	if (!any_name_is_good(name))
		return NULL;
	pthread_mutex_lock(&a->lock);
	const struct auth_account *found = any_find(a, name);
	size_t count = atomic_load(&a->count);
	struct slice copy = !found && count < ANY_ACCOUNTS_MAX ? arena_dup(&a->arena, name) : SLICE_NONE;
	if (slice_is_set(copy)) {
		a->account[count] = (struct auth_account){ .name = copy,
							   .key = { a->key },
							   .slot = (unsigned)(ACCOUNT_SLOTS_MAX + count) };
		auth_account_prepare(&a->account[count]);
		atomic_store_explicit(&a->count, count + 1, memory_order_release);
		found = &a->account[count];
	}
	pthread_mutex_unlock(&a->lock);
	if (slice_is_set(copy))
		a->made(a->made_arg);
	return found;
}

static size_t any_count(void *arg)
{
	struct any_accounts *a = arg;
	return atomic_load_explicit(&a->count, memory_order_acquire);
}

static const struct auth_account *any_at(void *arg, size_t i)
{
	struct any_accounts *a = arg;
	return &a->account[i];
}

void any_give(struct any_accounts *a, struct rest_access *access)
{
	access->any_find = any_find;
	access->any_make = any_make;
	access->any_count = any_count;
	access->any_at = any_at;
	access->any_arg = a;
}

size_t any_names(struct any_accounts *a, struct slice *ret, size_t room)
{
	size_t count = a ? any_count(a) : 0;
	for (size_t i = 0; i < count && i < room; i++)
		ret[i] = a->account[i].name;
	return count < room ? count : room;
}

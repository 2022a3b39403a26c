/* SPDX-License-Identifier: Apache-2.0
 * Sets of accounts, exchanged while requests run. Each loop points at the set for requests to come and counts those
 * under way for itself, on its own thread: a request costs two additions and no shared cache line. The count of a set
 * that is not the loop's any more comes to 0 once, and then the loop lets go of it; the last loop frees it. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "rest/core/conn/exchange_int.h"

void access_init(struct rest_access *a)
{
	atomic_store(&a->users, 1);
	for (size_t i = 0; i < a->account_count; i++)
		auth_account_prepare(&a->accounts[i]);
}

void access_release(struct rest_access *a)
{
	if (atomic_fetch_sub(&a->users, 1) != 1)
		return;
	for (size_t i = 0; i < a->account_count; i++)
		auth_account_release(&a->accounts[i]);
	if (a->release)
		a->release(a);
}

enum err access_use_new(struct rest_access *a, struct access_use **ret)
{
	struct access_use *use = calloc(1, sizeof *use);
	if (!use)
		return ERR_NO_MEMORY;
	use->access = a;
	atomic_fetch_add(&a->users, 1);
	*ret = use;
	return ERR_OK;
}

void access_use_free(struct access_use *use)
{
	if (!use)
		return;
	access_release(use->access);
	free(use);
}

void access_take(struct exchange *ex)
{
	struct access_use *use = ex->req.parent ? exchange_of(ex->req.parent)->access_use : ex->rl->access_use;
	use->live++;
	ex->access_use = use;
	ex->req.access = use->access;
}

void access_drop(struct exchange *ex)
{
	struct access_use *use = ex->access_use;
	if (!use)
		return;
	ex->access_use = NULL;
	ex->req.access = NULL;
	if (--use->live == 0 && use != ex->rl->access_use)
		access_use_free(use);
}

const struct auth_account *rest_access_account(const struct rest_access *a, struct slice name)
{
	for (size_t i = 0; i < a->account_count; i++)
		if (slice_eq(a->accounts[i].name, name))
			return &a->accounts[i];
	return a->any_find ? a->any_find(a->any_arg, name) : NULL;
}

size_t rest_access_count(const struct rest_access *a)
{
	return a->account_count + (a->any_count ? a->any_count(a->any_arg) : 0);
}

const struct auth_account *rest_access_at(const struct rest_access *a, size_t i)
{
	return i < a->account_count ? &a->accounts[i] : a->any_at(a->any_arg, i - a->account_count);
}

struct access_switch {
	struct io_task task;
	struct rest_loop *rl;
	struct access_use *use;
	sem_t *done;
};

static void switch_run(struct io_task *t)
{
	struct access_switch *w = io_container_of(t, struct access_switch, task);
	struct access_use *old = w->rl->access_use;
	w->rl->access_use = w->use;
	if (old->live == 0)
		access_use_free(old);
	sem_post(w->done);
}

enum err rest_server_set_access(struct rest_server *s, struct rest_access *access)
{
	MAGIC_CHECK(s, REST_SERVER_MAGIC);
	struct access_switch *w = calloc(s->loop_count, sizeof *w);
	enum err e = w ? ERR_OK : ERR_NO_MEMORY;
	sem_t done;
	access_init(access);
	for (size_t i = 0; i < s->loop_count && e == ERR_OK; i++)
		e = access_use_new(access, &w[i].use);
	if (e == ERR_OK) {
		sem_init(&done, 0, 0);
		for (size_t i = 0; i < s->loop_count; i++) {
			w[i].task.run = switch_run;
			w[i].rl = s->loops[i];
			w[i].done = &done;
			io_loop_post(s->loops[i]->loop, &w[i].task);
		}
		for (size_t i = 0; i < s->loop_count; i++)
			while (sem_wait(&done) != 0 && errno == EINTR)
				;
		sem_destroy(&done);
	} else {
		for (size_t i = 0; w && i < s->loop_count; i++)
			access_use_free(w[i].use);
	}
	access_release(access); /* the loops have it now */
	free(w);
	return e;
}

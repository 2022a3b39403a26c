/* SPDX-License-Identifier: Apache-2.0
 * Requests away from their loop: what waits for the disk runs on a worker and goes on where it came from. While it is
 * away its arena, its answer and its call are the worker's; everything else stays the loop's.
 *
 * A loop that waited for the disk would serve nobody meanwhile. But a request that overtakes another on its own open
 * could find it changed: a client may send CLOSE before its WRITE is answered, and both were done in their order before
 * there were workers. So who ends or changes what an open stands for waits until that open's writes have queued their
 * commits; from there on the committer keeps the order. */
#include "base/hash.h"
#include "smb/opens.h"

#include <assert.h>

static void away_end(struct smb_request *r)
{
	struct smb_loop *sl = r->conn->sl;
	sl->work_count--;
	r->committing = false;
	r->then(r, r->result);
	smb_loop_check_drained(sl);
}

static void work_done(struct io_work *w)
{
	away_end(io_container_of(w, struct smb_request, work));
}

static void work_run(struct io_work *w)
{
	struct smb_request *r = io_container_of(w, struct smb_request, work);
	r->result = r->run(r);
}

void smb_work(struct smb_request *r, smb_run_fn *run, smb_then_fn *then)
{
	struct smb_loop *sl = r->conn->sl;
	r->run = run;
	r->then = then;
	r->committing = true;
	r->work = (struct io_work){ .home = sl->loop, .run = work_run, .done = work_done };
	sl->work_count++;
	if (io_pool_submit(sl->server->workers, &r->work) == ERR_OK)
		return;
	r->result = run(r); /* all are busy: then whoever sends so much waits here */
	away_end(r);
}

void smb_work_long(struct smb_request *r, smb_run_fn *run, smb_then_fn *then)
{
	struct smb_loop *sl = r->conn->sl;
	unsigned owner = (unsigned)base_hash_bytes(0, r->session->account->name);
	r->run = run;
	r->then = then;
	r->committing = true;
	r->work = (struct io_work){
		.home = sl->loop, .run = work_run, .done = work_done, .is_long = true, .owner = owner
	};
	sl->work_count++;
	enum err e = io_pool_submit(sl->server->workers, &r->work);
	if (e == ERR_OK)
		return; /* the request is the worker's */
	r->result = e;
	away_end(r);
}

void smb_work_weigh(struct smb_request *r, size_t bytes)
{
	r->chain->weight_bytes += bytes;
	r->conn->under_way_bytes += bytes;
	smb_conn_count(r->conn);
}

/* ---- the order of an open's requests ---- */

void smb_write_begin(struct smb_request *r)
{
	assert(r->open);
	r->open->writes_away++;
}

void smb_write_queued(struct smb_open *o)
{
	assert(o->writes_away > 0);
	if (--o->writes_away > 0)
		return;
	/* Each may begin to write or wait anew; then the rest waits on. */
	while (o->after_writes && o->writes_away == 0) {
		struct smb_request *r = o->after_writes;
		o->after_writes = r->next_after;
		r->next_after = NULL;
		r->again(r);
	}
}

bool smb_after_writes(struct smb_request *r, smb_handler *again)
{
	struct smb_open *o = r->open;
	struct smb_request **at = &o->after_writes;
	if (o->writes_away == 0)
		return false;
	while (*at)
		at = &(*at)->next_after;
	*at = r;
	r->again = again;
	r->open = NULL; /* it is looked up again; the writes keep it meanwhile */
	smb_open_unref(o);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * All messages of a queue, visible or not, for who looks and changes nothing: first the ready lane in order, then the
 * timed lane by the time of becoming visible (rows.h). */
#include "svc/queue/rows.h"

/* Adds the rows of one page; expired messages are gone for everybody, swept or not. */
static enum err add_rows(struct txn *txn, const struct queue_head *head, const struct rows *rows, struct queue_get *g)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct message m;
		TRY(message_decode(&rows->row[i], &m));
		if (m.timed) {
			g->next.visible_ticks = m.visible;
			g->next.visible_sequence = m.sequence + 1;
		} else {
			g->next.sequence = m.sequence + 1;
		}
		if (message_expired(&m, txn_now(txn)))
			continue;
		struct queue_message *shown = &g->message[g->found++];
		message_show(&m, head->epoch, shown);
		TRY(message_text(txn, head->epoch, &m, &shown->text));
	}
	return ERR_OK;
}

static enum err list_lane(struct txn *txn, const struct queue_head *head, bool timed, struct queue_get *g, size_t room,
			  bool *ret_end)
{
	struct row_key from, until;
	if (timed) {
		queue_row_key_timed(&from, head->epoch, g->next.visible_ticks, g->next.visible_sequence);
		queue_row_key_timed(&until, head->epoch, UINT64_MAX, UINT64_MAX);
	} else {
		queue_row_key_ready(&from, head->epoch, g->next.sequence);
		queue_row_key_ready(&until, head->epoch, head->next_sequence);
	}
	struct scan_spec spec = { .from = row_key_slice(&from), .until = row_key_slice(&until), .limit_rows = room };
	struct rows rows;
	TRY(txn_scan(txn, &spec, &rows));
	*ret_end = rows.count < room && !rows.more;
	return add_rows(txn, head, &rows, g);
}

enum err queue_apply_list(struct txn *txn, void *call)
{
	struct queue_get *g = call;
	struct queue_head head;
	bool end;
	g->found = 0;
	g->again = true;
	g->next = g->from;
	TRY(head_load(txn, &head));
	/* Nothing lies before these. */
	if (g->next.sequence < head.ready_head)
		g->next.sequence = head.ready_head;
	if (g->next.visible_ticks < head.due) {
		g->next.visible_ticks = head.due;
		g->next.visible_sequence = 0;
	}
	TRY(list_lane(txn, &head, false, g, g->want, &end));
	if (!end || g->found == g->want)
		return ERR_OK;
	TRY(list_lane(txn, &head, true, g, g->want - g->found, &end));
	g->again = !end;
	return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Torn and reordered writes.
 *   torn write DIR MARKS COUNT           commits COUNT transactions (rows and extents), marking each in MARKS when it
 * is told
 *   torn later DIR MARKS COUNT           the same, but most of those without extents may be synced later than they are
 * told: they are marked with the next strict one, or when a job that asks for a sync is told
 *   torn same LOG DIR SCRATCH            does a full replay of LOG equal DIR? (the check of the recorder)
 *   torn crash LOG SCRATCH STATES SEED   builds STATES crash states and opens each: nothing told is lost, nothing is
 * half
 *   torn lies LOG SCRATCH STATES SEED    the same on a disk whose syncs lie: ends with 0 if a loss was seen
 * `write` and `later` run under record.c. A crash state is a moment in the log, plus a choice: of the writes not
 * followed by a sync of their file any subset is there, each maybe torn between sectors of 512 bytes; of the changes
 * of names not followed by a sync of their directory any prefix. */
#include "record.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILL_MAX = 40000, KEYS = 23, SECTOR = 512, TOGETHER = 4, FILES_MAX = 512 };
#define PARTITION                                                                                                      \
	SLICE("torn\x01"                                                                                               \
	      "cx")

static void die(const char *what, const char *more)
{
	fprintf(stderr, "torn: %s %s\n", what, more);
	exit(2);
}

/* ---- the rows: key k{n % KEYS}, value {u64 n, fill, extents}; the bytes of an extent follow from n. And n once more
 * in a row that lies in another family of the database, which is written to tables at another time. ---- */

static size_t fill_bytes(uint64_t n)
{
	return n % 5 == 0 ? FILL_MAX : n % 50;
}
/* Then nothing has extents, and much is synced later. */
static bool is_quiet(uint64_t n)
{
	return n / 100 % 2;
}
static size_t extent_bytes(uint64_t n)
{
	return n % 3 || is_quiet(n) ? 0 : n % 2 ? 40000 : 150000;
}
static void pattern(uint64_t n, unsigned char *out, size_t len)
{
	uint64_t x = n * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < len; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		out[i] = (unsigned char)x;
	}
}
static struct slice key_of(uint64_t n, char out[16])
{
	return slice_make(out, (size_t)snprintf(out, 16, "k%02u", (unsigned)(n % KEYS)));
}
static struct slice twin_of(uint64_t n, char out[16])
{
	return slice_make(out, (size_t)snprintf(out, 16, "%c%02u", KEY_TAG_CONTENT, (unsigned)(n % KEYS)));
}

struct put {
	struct store_job job;
	struct arena arena;
	uint64_t n;
	struct payload payload;
	bool has_payload, answered;
	enum err result;
};

static enum err put_apply(struct txn *txn, void *call)
{
	struct put *p = call;
	char name[16];
	unsigned char fill[FILL_MAX];
	struct slice key = key_of(p->n, name), old;
	struct buf b;
	enum err err = txn_get(txn, key, &old);
	if (err == ERR_OK) {
		struct cursor c = cursor_make(old);
		cursor_u64(&c);
		cursor_str(&c);
		for (uint32_t left = cursor_u32(&c); left && !c.failed; left--) {
			struct extent_ref ref = extent_ref_decode(&c);
			TRY(txn_retire(txn, &ref));
		}
	} else if (err != ERR_NOT_FOUND) {
		return err;
	}
	buf_init(&b, LIMIT_VALUE_BYTES);
	pattern(p->n, fill, fill_bytes(p->n));
	bytes_put_u64(&b, p->n);
	bytes_put_str(&b, slice_make((char *)fill, fill_bytes(p->n)));
	bytes_put_u32(&b, (uint32_t)(p->has_payload ? p->payload.extent_count : 0));
	for (size_t i = 0; p->has_payload && i < p->payload.extent_count; i++) {
		extent_ref_encode(&b, &p->payload.extents[i]);
		TRY(txn_publish(txn, &p->payload.extents[i]));
	}
	err = buf_ok(&b) ? txn_put(txn, key, buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	TRY(err);
	return txn_put(txn, twin_of(p->n, name), slice_make((char *)&p->n, sizeof p->n));
}

static int marks_fd = -1;
static bool syncs_later;
static uint64_t marked; /* all up to this one */

static void mark_until(uint64_t n)
{
	while (marked < n) {
		marked++;
		if (write(marks_fd, &marked, sizeof marked) != (ssize_t)sizeof marked)
			die("cannot mark", "");
	}
}

/* Durable, and with it all that was done before it. */
static void put_done(struct store_job *job, enum err result)
{
	struct put *p = job->owner;
	p->result = result;
	p->answered = true;
	if (result == ERR_OK && !job->sync_later)
		mark_until(p->n);
}

static struct store *store_at(const char *dir, bool create, struct clock *clock, enum err *ret)
{
	struct engine *engine;
	struct store *store = NULL;
	struct buf message;
	struct rocks_options rocks = { .dir = dir, .create = create, .sync_later = syncs_later };
	struct store_options options = { .clock = clock, .manual = true, .sync_later = syncs_later };
	buf_init(&message, 64 * KIB);
	clock_init_wall(clock, NULL);
	*ret = engine_rocks_open(&rocks, &engine, &message);
	if (*ret == ERR_OK)
		*ret = store_open(engine, &options, &store);
	else
		fprintf(stderr, "torn: %.*s\n", SLICE_FMT(buf_slice(&message)));
	buf_fini(&message);
	return store;
}

enum { FLUSH_EVERY = 37 };

/* A job that only asks for a sync. */
static void flush(struct store *store, uint64_t n)
{
	struct put p = { .n = n };
	arena_init(&p.arena, MIB);
	p.job = (struct store_job){ .partition = PARTITION,
				    .apply = store_apply_nothing,
				    .arena = &p.arena,
				    .done = put_done,
				    .owner = &p,
				    .sync = true };
	store_write(store, &p.job);
	while (!p.answered)
		store_step(store);
	if (p.result != ERR_OK)
		die("refused", err_name(p.result));
	arena_fini(&p.arena);
}

static int write_main(const char *dir, const char *marks, uint64_t count)
{
	static struct put puts[TOGETHER];
	static unsigned char bytes[150000];
	struct clock clock;
	enum err err;
	bool more;
	marks_fd = open(marks, O_WRONLY | O_CREAT, 0600);
	uint64_t n = 1;
	for (int session = 0; session < 3; session++) {
		struct store *store = store_at(dir, true, &clock, &err);
		if (!store)
			die("cannot open", dir);
		struct engine *engine = store_engine(store);
		/* The last session is the longest: files of the journal are used again in it. */
		for (uint64_t end = session == 2 ? count : count * (uint64_t)(session + 1) / 8; n <= end;) {
			size_t together = 1 + n % TOGETHER;
			for (size_t i = 0; i < together; i++, n++) {
				struct put *p = &puts[i];
				*p = (struct put){ .n = n };
				arena_init(&p->arena, LIMIT_REQUEST_ARENA_BYTES);
				p->has_payload = extent_bytes(n) > 0;
				if (p->has_payload) {
					struct payload_writer *w;
					pattern(n, bytes, extent_bytes(n));
					if (payload_writer_new(store, extent_bytes(n), &w) != ERR_OK)
						die("no writer", "");
					payload_writer_only_extents(w);
					if (payload_append(w, slice_make((char *)bytes, extent_bytes(n))) != ERR_OK ||
					    payload_finish(w, &p->payload) != ERR_OK)
						die("no extent", "");
				}
				p->job = (struct store_job){ .partition = PARTITION,
							     .apply = put_apply,
							     .call = p,
							     .arena = &p->arena,
							     .done = put_done,
							     .owner = p,
							     .sync_later = syncs_later && !p->has_payload &&
									   n % (is_quiet(n) ? 50 : 7) };
				store_write(store, &p->job);
			}
			for (size_t i = 0; i < together; i++) {
				while (!puts[i].answered)
					store_step(store);
				if (puts[i].result != ERR_OK)
					die("refused", err_name(puts[i].result));
				if (puts[i].has_payload)
					payload_fini(&puts[i].payload);
				arena_fini(&puts[i].arena);
			}
			if (syncs_later && n % FLUSH_EVERY < TOGETHER)
				flush(store, n - 1);
			if (n % 7 == 0 && engine->ops->reclaim(engine, &more) != ERR_OK)
				die("reclaim", "");
		}
		store_close(store);
	}
	return 0;
}

/* ---- the log ---- */

struct event {
	struct record r;
	char *path, *path2;
	unsigned char *data;
	bool durable; /* at the moment at hand */
};
static struct event *events;
static size_t event_count;
static bool syncs_lie;

static void log_read(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		die("cannot open", path);
	unsigned char *all = malloc((size_t)st.st_size + 1), *at = all;
	for (size_t have = 0; have < (size_t)st.st_size;) {
		ssize_t n = read(fd, all + have, (size_t)st.st_size - have);
		if (n <= 0)
			die("cannot read", path);
		have += (size_t)n;
	}
	close(fd);
	while (at < all + st.st_size) {
		events = realloc(events, (event_count + 1) * sizeof *events);
		struct event *e = &events[event_count++];
		*e = (struct event){ .durable = false };
		memcpy(&e->r, at, sizeof e->r);
		at += sizeof e->r;
		if (e->r.path_length)
			e->path = strndup((char *)at, e->r.path_length);
		at += e->r.path_length;
		if (e->r.path2_length)
			e->path2 = strndup((char *)at, e->r.path2_length);
		at += e->r.path2_length;
		bool bytes = e->r.kind == RECORD_WRITE || e->r.kind == RECORD_MARK;
		e->data = bytes ? at : NULL;
		at += bytes ? e->r.length : 0;
	}
}

static bool is_name_change(const struct event *e)
{
	return e->r.kind == RECORD_CREATE || e->r.kind == RECORD_RENAME || e->r.kind == RECORD_UNLINK ||
	       e->r.kind == RECORD_MKDIR;
}

static bool in_directory(const char *path, const char *dir)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	return strcmp(dir, ".") == 0 ? len == 0 : strlen(dir) == len && strncmp(path, dir, len) == 0;
}

/* Which events before `moment` are durable: what a sync covers. Names: the whole journal up to that change. */
static void durable_mark(size_t moment)
{
	size_t names_until = 0;
	for (size_t i = 0; i < moment; i++)
		events[i].durable = false;
	for (size_t i = 0; i < moment; i++) {
		const struct event *s = &events[i];
		if (s->r.kind == RECORD_SYNC && !syncs_lie)
			for (size_t k = 0; k < i; k++)
				if (!is_name_change(&events[k]) && events[k].r.ino == s->r.ino)
					events[k].durable = true;
		if (s->r.kind == RECORD_SYNC_DIR)
			for (size_t k = names_until; k < i; k++)
				if (is_name_change(&events[k]) &&
				    (in_directory(events[k].path, s->path) ||
				     (events[k].path2 && in_directory(events[k].path2, s->path))))
					names_until = k + 1;
	}
	for (size_t k = 0; k < names_until; k++)
		if (is_name_change(&events[k]))
			events[k].durable = true;
}

/* ---- building a directory ---- */

static uint64_t seed_state;
static uint64_t dice(uint64_t bound)
{
	seed_state ^= seed_state << 13, seed_state ^= seed_state >> 7, seed_state ^= seed_state << 17;
	return seed_state % bound;
}

struct file {
	uint64_t ino;
	int fd;
	char name[64]; /* where its bytes are gathered */
	char *path;    /* its name at the end; NULL = none */
};
static struct file files[FILES_MAX];
static size_t file_count;

static struct file *file_of(uint64_t ino)
{
	for (size_t i = file_count; i-- > 0;)
		if (files[i].ino == ino)
			return &files[i];
	return NULL;
}

static struct file *file_new(int dir, uint64_t ino)
{
	if (file_count == FILES_MAX)
		die("too many files", "");
	struct file *f = &files[file_count];
	*f = (struct file){ .ino = ino };
	snprintf(f->name, sizeof f->name, "ino-%zu", file_count++);
	f->fd = openat(dir, f->name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (f->fd < 0)
		die("cannot make", f->name);
	return f;
}

static void write_at(int fd, const unsigned char *p, size_t len, uint64_t at)
{
	if (len && pwrite(fd, p, len, (off_t)at) != (ssize_t)len)
		die("cannot write", "");
}

/* Some of its sectors, by the grid of the file. */
static void write_torn(int fd, const struct event *e)
{
	uint64_t at = e->r.offset, end = at + e->r.length;
	bool prefix = dice(2);
	uint64_t cut = at + dice(e->r.length + 1);
	while (at < end) {
		uint64_t next = (at / SECTOR + 1) * SECTOR;
		if (next > end)
			next = end;
		if (prefix ? at < cut : dice(2))
			write_at(fd, e->data + (at - e->r.offset), next - at, at);
		at = next;
	}
}

static void content_apply(const struct event *e, bool torn)
{
	struct file *f = file_of(e->r.ino);
	struct stat st;
	if (!f)
		return;
	switch (e->r.kind) {
	case RECORD_WRITE:
		if (torn)
			write_torn(f->fd, e);
		else
			write_at(f->fd, e->data, e->r.length, e->r.offset);
		break;
	case RECORD_TRUNCATE:
		if (ftruncate(f->fd, (off_t)e->r.offset) != 0)
			die("cannot truncate", "");
		break;
	case RECORD_GROW:
		if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size < e->r.offset &&
		    ftruncate(f->fd, (off_t)e->r.offset) != 0)
			die("cannot grow", "");
		break;
	default:
		break;
	}
}

static void name_apply(const struct event *e, const char *dir)
{
	char full[4096];
	struct file *gone = NULL, *moved = NULL;
	for (size_t i = 0; i < file_count; i++) {
		const char *target = e->r.kind == RECORD_RENAME ? e->path2 : e->path;
		if (files[i].path && strcmp(files[i].path, target) == 0)
			gone = &files[i];
		if (e->r.kind == RECORD_RENAME && files[i].path && strcmp(files[i].path, e->path) == 0)
			moved = &files[i];
	}
	if (e->r.kind == RECORD_MKDIR) {
		snprintf(full, sizeof full, "%s/%s", dir, e->path);
		if (mkdir(full, 0700) != 0)
			die("cannot mkdir", full);
		return;
	}
	if (gone)
		gone->path = NULL;
	if (e->r.kind == RECORD_RENAME && moved)
		moved->path = e->path2;
	if (e->r.kind == RECORD_CREATE)
		file_of(e->r.ino)->path = e->path;
}

/* Files come into being in the order of the log, also those whose name is lost: an inode may be used again. */
static void state_build(const char *dir, size_t moment, bool full)
{
	mkdir(dir, 0700);
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	size_t names = 0, open_names = 0;
	file_count = 0;
	if (!full)
		durable_mark(moment);
	for (size_t i = 0; i < moment; i++)
		open_names += is_name_change(&events[i]) && !events[i].durable;
	size_t names_kept = full ? SIZE_MAX : dice(2) ? open_names : dice(open_names + 1);
	unsigned mood = (unsigned)dice(4); /* all, none, or some of what is open */
	for (size_t i = 0; i < moment; i++) {
		const struct event *e = &events[i];
		if (e->r.kind == RECORD_CREATE)
			file_new(dir_fd, e->r.ino);
		if (is_name_change(e)) {
			if (full || e->durable || names++ < names_kept)
				name_apply(e, dir);
			continue;
		}
		bool keep = full || e->durable || mood == 0 || (mood > 1 && dice(2));
		if (keep)
			content_apply(e, !full && !e->durable && mood > 1 && dice(2));
	}
	for (size_t i = 0; i < file_count; i++) {
		char to[4096];
		close(files[i].fd);
		if (files[i].path) {
			snprintf(to, sizeof to, "%s/%s", dir, files[i].path);
			if (renameat(dir_fd, files[i].name, AT_FDCWD, to) != 0)
				die("cannot place", to);
		} else {
			unlinkat(dir_fd, files[i].name, 0);
		}
	}
	close(dir_fd);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void state_remove(const char *dir)
{
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- judging ---- */

struct look {
	struct store *store;
	uint64_t n; /* 0 = not there */
	uint64_t key;
	const char *wrong;
};

static enum err look_apply(struct txn *txn, void *call)
{
	struct look *l = call;
	static unsigned char want[150000], have[150000];
	char name[16];
	struct slice value;
	uint64_t twin = 0;
	enum err err = txn_get(txn, twin_of(l->key, name), &value);
	if (err == ERR_OK && value.len == sizeof twin)
		memcpy(&twin, value.ptr, sizeof twin);
	if (err == ERR_OK || err == ERR_NOT_FOUND)
		err = txn_get(txn, key_of(l->key, name), &value);
	l->n = 0;
	if (err == ERR_NOT_FOUND)
		l->wrong = twin ? "half of it" : NULL;
	if (err == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(err);
	struct cursor c = cursor_make(value);
	l->n = cursor_u64(&c);
	if (l->n != twin)
		l->wrong = "half of it";
	struct slice fill = cursor_str(&c);
	pattern(l->n, want, fill_bytes(l->n));
	if (!slice_eq(fill, slice_make((char *)want, fill_bytes(l->n))))
		l->wrong = "another value";
	size_t at = 0;
	pattern(l->n, want, extent_bytes(l->n));
	for (uint32_t left = cursor_u32(&c); left && !c.failed; left--) {
		struct extent_ref ref = extent_ref_decode(&c);
		err = at + ref.length_bytes <= sizeof have ? extent_read(l->store, &ref, 0, ref.length_bytes, have + at)
							   : ERR_CORRUPT;
		if (err != ERR_OK)
			l->wrong = "an extent that cannot be read";
		at += ref.length_bytes;
	}
	if (!l->wrong && (at != extent_bytes(l->n) || memcmp(want, have, at) != 0))
		l->wrong = "other bytes in its extent";
	return ERR_OK;
}

/* 0 = all is well. */
static int state_judge(const char *dir, size_t moment)
{
	uint64_t told[KEYS] = { 0 };
	struct clock clock;
	enum err err;
	int bad = 0;
	bool any = false;
	for (size_t i = 0; i < moment; i++)
		if (events[i].r.kind == RECORD_MARK) {
			uint64_t n;
			memcpy(&n, events[i].data, sizeof n);
			any = true;
			if (n > told[n % KEYS])
				told[n % KEYS] = n;
		}
	struct store *store = store_at(dir, true, &clock, &err);
	if (!store) {
		printf("does not open: %s%s\n", err_name(err), any ? "" : " (nothing was told yet)");
		return 1;
	}
	uint64_t found[KEYS], newest = 0;
	for (uint64_t k = 0; k < KEYS; k++) {
		struct look look = { .store = store, .key = k };
		struct arena arena;
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		err = store_read(store, PARTITION, look_apply, &look, &arena);
		if (err != ERR_OK || look.wrong || look.n < told[k]) {
			printf("key %u: told %llu, found %llu %s %s\n", (unsigned)k, (unsigned long long)told[k],
			       (unsigned long long)look.n, err == ERR_OK ? "" : err_name(err),
			       look.wrong ? look.wrong : "");
			bad = 1;
		}
		found[k] = look.n;
		newest = look.n > newest ? look.n : newest;
		arena_fini(&arena);
	}
	/* They were done in order: what is there is all of them up to one. */
	for (uint64_t k = 0; k < KEYS; k++) {
		uint64_t want = newest < k ? 0 : newest - (newest - k) % KEYS;
		if (found[k] != want) {
			printf("key %u: %llu is there, %llu is not\n", (unsigned)k, (unsigned long long)newest,
			       (unsigned long long)want);
			bad = 1;
		}
	}
	store_close(store);
	return bad;
}

static int crash_main(const char *scratch, size_t states, uint64_t seed)
{
	size_t bad = 0, unsynced = 0;
	for (size_t i = 0; i < states && bad < 5; i++) {
		char dir[4096];
		seed_state = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		dice(2), dice(2);
		size_t moment = 1 + dice(event_count);
		snprintf(dir, sizeof dir, "%s/state", scratch);
		state_remove(dir);
		state_build(dir, moment, false);
		for (size_t k = 0; k < moment; k++)
			unsynced += events[k].r.kind == RECORD_WRITE && !events[k].durable;
		if (state_judge(dir, moment)) {
			printf("state %llu, after %zu of %zu events\n", (unsigned long long)(seed + i), moment,
			       event_count);
			bad++;
		}
	}
	printf("%zu crash states of %zu events, %.1f unsynced writes each: %zu bad\n", states, event_count,
	       (double)unsynced / (double)(states ? states : 1), bad);
	return (bad > 0) != syncs_lie;
}

static int same_main(const char *dir, const char *scratch)
{
	char command[9000];
	snprintf(command, sizeof command, "%s/full", scratch);
	state_build(command, event_count, true);
	snprintf(command, sizeof command, "diff -r -x TAIL -x LOCK -x 'LOG*' '%s' '%s/full'", dir, scratch);
	return system(command) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	syncs_later = argc == 5 && strcmp(argv[1], "later") == 0;
	if (argc == 5 && (syncs_later || strcmp(argv[1], "write") == 0))
		return write_main(argv[2], argv[3], strtoull(argv[4], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "same") == 0) {
		log_read(argv[2]);
		return same_main(argv[3], argv[4]);
	}
	syncs_lie = strcmp(argc > 1 ? argv[1] : "", "lies") == 0;
	if (argc == 6 && (syncs_lie || strcmp(argv[1], "crash") == 0)) {
		log_read(argv[2]);
		return crash_main(argv[3], strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
	}
	die("write|later DIR MARKS COUNT | same LOG DIR SCRATCH | crash LOG SCRATCH STATES SEED", "");
	return 2;
}

/* SPDX-License-Identifier: Apache-2.0
 * A slab is a mapping of a few buffers of one class: a page for what comes before the aligned byte, then the rest. The
 * first such rest begins a huge page. The page's first word says which slab it belongs to. */
#include "base/sys/slabs.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLABS_POISON
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SLABS_POISON
#endif
#if defined(SLABS_POISON)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len)   ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

enum { PAGE_BYTES = 4096, HUGE_BYTES = 2 * 1024 * 1024 };

static const struct class
{
	size_t bytes; /* behind the page */
	unsigned count;
} classes[SLABS_CLASSES] = { { 256 * 1024, 16 }, { 1024 * 1024, 4 }, { 4 * 1024 * 1024, 1 }, { SLABS_MOST_BYTES, 1 } };

struct slab {
	struct slab *next, **link;
	char *mapping, *first; /* the first page of the first buffer */
	size_t mapping_bytes;
	unsigned class;
	uint32_t free; /* a bit for each buffer */
	bool used;     /* since the last trim */
};

static size_t stride(unsigned class)
{
	return PAGE_BYTES + classes[class].bytes;
}

static size_t slab_bytes(const struct slab *s)
{
	return stride(s->class) * classes[s->class].count;
}

static uint32_t all_free(unsigned class)
{
	return (UINT32_C(1) << classes[class].count) - 1;
}

static struct slab *slab_new(struct slabs *p, unsigned class)
{
	struct slab *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->class = class;
	s->mapping_bytes = slab_bytes(s) + HUGE_BYTES;
	s->mapping = mmap(NULL, s->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->mapping == MAP_FAILED) {
		free(s);
		return NULL;
	}
	uintptr_t at = (uintptr_t)s->mapping + PAGE_BYTES, aligned = (at + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	s->first = s->mapping + (aligned - at);
	/* Only what is whole: a huge page for the rest would be more memory than buffers. */
	size_t huge = (slab_bytes(s) - PAGE_BYTES) / HUGE_BYTES * HUGE_BYTES;
	if (huge)
		(void)!madvise(s->first + PAGE_BYTES, huge, MADV_HUGEPAGE); /* without it, it is slower */
	s->free = all_free(class);
	s->next = p->slab[class];
	s->link = &p->slab[class];
	if (s->next)
		s->next->link = &s->next;
	p->slab[class] = s;
	p->bytes += slab_bytes(s);
	p->free_bytes += slab_bytes(s);
	return s;
}

static void slab_free(struct slabs *p, struct slab *s)
{
	assert(s->free == all_free(s->class));
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	p->bytes -= slab_bytes(s);
	p->free_bytes -= slab_bytes(s);
	ASAN_UNPOISON_MEMORY_REGION(s->mapping, s->mapping_bytes);
	munmap(s->mapping, s->mapping_bytes);
	free(s);
}

void *slabs_take(struct slabs *p, size_t len, size_t ahead)
{
	unsigned class = 0;
	if (len < SLABS_LEAST_BYTES)
		return malloc(len);
	assert(ahead <= SLABS_AHEAD_MOST_BYTES && len - ahead <= SLABS_MOST_BYTES);
	while (classes[class].bytes < len - ahead)
		class ++;
	struct slab *s = p->slab[class];
	while (s && !s->free)
		s = s->next;
	if (!s)
		s = slab_new(p, class);
	if (!s)
		return NULL;
	if (s->free == all_free(class))
		p->free_bytes -= slab_bytes(s);
	unsigned i = (unsigned)__builtin_ctz(s->free);
	s->free &= ~(UINT32_C(1) << i);
	s->used = true;
	char *page = s->first + i * stride(class);
	ASAN_UNPOISON_MEMORY_REGION(page, sizeof s);
	*(struct slab **)(void *)page = s;
	ASAN_POISON_MEMORY_REGION(page, stride(class));
	ASAN_UNPOISON_MEMORY_REGION(page + PAGE_BYTES - ahead, len);
	return page + PAGE_BYTES - ahead;
}

void slabs_give(struct slabs *p, void *memory, size_t len)
{
	if (!memory || len < SLABS_LEAST_BYTES) {
		free(memory);
		return;
	}
	/* What comes before the aligned byte is less than a page; without it the page is the one before. */
	char *page = (char *)memory - 1 - ((uintptr_t)memory - 1) % PAGE_BYTES;
	ASAN_UNPOISON_MEMORY_REGION(page, sizeof(struct slab *));
	struct slab *s = *(struct slab **)(void *)page;
	size_t i = (size_t)(page - s->first) / stride(s->class);
	assert(s->first + i * stride(s->class) == page && !(s->free >> i & 1));
	ASAN_POISON_MEMORY_REGION(page, stride(s->class));
	s->free |= UINT32_C(1) << i;
	if (s->free != all_free(s->class))
		return;
	p->free_bytes += slab_bytes(s);
	if (p->free_bytes > SLABS_KEPT_BYTES)
		slab_free(p, s);
}

static void trim(struct slabs *p, bool all)
{
	for (unsigned class = 0; class < SLABS_CLASSES; class ++)
		for (struct slab *s = p->slab[class], *next; s; s = next) {
			next = s->next;
			if (s->free == all_free(class) && (all || !s->used))
				slab_free(p, s);
			else
				s->used = s->free != all_free(class);
		}
}

void slabs_trim(struct slabs *p)
{
	trim(p, false);
}

void slabs_fini(struct slabs *p)
{
	trim(p, true);
	assert(p->bytes == 0);
}

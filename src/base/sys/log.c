/* SPDX-License-Identifier: Apache-2.0
 * One line a message to standard error, whole lines only, whatever thread writes. */
#include "base/sys/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_int threshold = LOG_INFO; /* raised while threads run */

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	char line[1024];
	if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed))
		return;
	struct timespec t;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &t);
	gmtime_r(&t.tv_sec, &tm);
	int n = snprintf(line, sizeof line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s: ", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, t.tv_nsec / 1000000,
			 names[level]);
	va_list ap;
	va_start(ap, format);
	int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
	va_end(ap);
	size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);
	if (len > sizeof line - 2)
		len = sizeof line - 2;
	/* What a client sent must not look like a line of ours. */
	for (size_t i = (size_t)n; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len] = '\n';
	/* One write per line keeps lines whole; there is nobody to tell if it fails. */
	if (write(STDERR_FILENO, line, len + 1) < 0)
		return;
}

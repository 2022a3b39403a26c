/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum log_level threshold = LOG_INFO;

void log_set_level(enum log_level level)
{
	threshold = level;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	char line[1024];
	if (level > threshold)
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
	line[len] = '\n';
	/* One write per line keeps lines whole; there is nobody to tell if it fails. */
	if (write(STDERR_FILENO, line, len + 1) < 0)
		return;
}

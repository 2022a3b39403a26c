/* SPDX-License-Identifier: Apache-2.0
 * Messages for the operator, on stderr, one line each: what happened and what to do. Library rooms below rest and
 * server log only what nobody above could report (a failed sync, damage found in the background). Never a key, a
 * signature or a body. Any thread. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level);
void log_write(enum log_level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The audit log of a running server. See audit.h. */
#include "server/access/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/sys/log.h"
#include "io/audit.h"
#include "server/house.h"
#include "wire/date.h"
#include "wire/json.h"

static int file_open(const struct house *h, struct buf *error)
{
	int fd = open(h->config->auditLog, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		buf_printf(error, "cannot open the audit log %s: %s", h->config->auditLog, strerror(errno));
	return fd;
}

bool house_audit_open(struct house *h, struct buf *error)
{
	if (!h->config->auditLog[0])
		return true;
	int fd = file_open(h, error);
	if (fd < 0)
		return false;
	if (io_audit_new(fd, strcmp(h->config->auditSync, "always") == 0, &h->audit) != ERR_OK) {
		BUF_PUT(error, "no memory or thread for the audit log");
		return false;
	}
	house_audit_event(h, "Start", NULL);
	return true;
}

void house_audit_close(struct house *h)
{
	if (!h->audit)
		return;
	house_audit_event(h, "Stop", NULL);
	io_audit_free(h->audit);
	h->audit = NULL;
}

bool house_audit_reopen(struct house *h, struct buf *error)
{
	int fd = file_open(h, error);
	if (fd < 0)
		return false;
	io_audit_reopen(h->audit, fd);
	return true;
}

void house_audit_event(struct house *h, const char *operation, const char *reason)
{
	struct buf b;
	char time[DATE_ISO_BYTES];
	if (!h->audit)
		return;
	buf_init(&b, 64 * 1024);
	date_format_iso(clock_now(&h->clock), time);
	buf_printf(&b, "{\"time\":\"%.*s\",\"door\":\"server\",\"operation\":\"%s\",\"outcome\":\"%s\"",
		   (int)sizeof time, time, operation, reason ? "failed" : "done");
	if (reason) {
		BUF_PUT(&b, ",\"reason\":\"");
		json_put_text(&b, slice_str(reason));
		BUF_PUT(&b, "\"");
	}
	BUF_PUT(&b, "}\n");
	if (!buf_ok(&b) || io_audit_put_wait(h->audit, buf_slice(&b)) != ERR_OK)
		log_error("%s is not in the audit log yet", operation);
	buf_fini(&b);
}

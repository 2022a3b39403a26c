/* SPDX-License-Identifier: Apache-2.0
 * How a server says that it is ready: lines on standard output for people and for programs that know Azurite's, and a
 * file for those that would rather read JSON. */
#include "server/house.h"

#include "base/limits.h"
#include "base/sys/log.h"
#include "smb/server.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* The address a client on this machine uses. */
void house_put_endpoint(struct buf *out, const struct house *h, size_t i)
{
	const char *host = h->listeners[i].host;
	if (h->config->publicHost[0] && (int)h->listeners[i].service < CONFIG_SERVICES)
		host = h->config->publicHost;
	else if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	bool v6 = strchr(host, ':') != NULL;
	buf_printf(out, "%s://%s%s%s:%u", h->listeners[i].tls ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "",
		   rest_server_port(h->server, i));
}

static void connection_string_put(struct buf *out, const struct house *h)
{
	struct slice account = h->admission->accounts.account[0].name;
	/* Production keys do not go where logs are kept. */
	buf_printf(out, "DefaultEndpointsProtocol=%s;AccountName=%.*s;AccountKey=%s;",
		   h->config->secure ? "https" : "http", SLICE_FMT(account),
		   h->config->production ? "<your key>" : h->admission->accounts.key_text[0]);
	for (size_t i = 0; i < h->listener_count; i++) {
		if ((int)h->listeners[i].service >= CONFIG_SERVICES)
			continue;
		buf_printf(out, "%sEndpoint=", service_facts(h->listeners[i].service)->title);
		house_put_endpoint(out, h, i);
		buf_printf(out, "/%.*s;", SLICE_FMT(account));
	}
}

/* --readyFile: written whole, then given its name, so that whoever finds it can read it. */
bool house_write_ready_file(const struct house *h, struct buf *error)
{
	const char *path = h->config->readyFile;
	static char bytes[32 * KIB];
	char temporary[PATH_MAX];
	struct buf out = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	if (!path[0])
		return true;
	buf_printf(&out, "{\"pid\":%ld,\"version\":\"%s\",\"location\":\"", (long)getpid(), ZAFFRE_VERSION);
	json_put_text(&out, slice_str(h->data.path));
	BUF_PUT(&out, "\",\"connectionString\":\"");
	connection_string_put(&out, h);
	BUF_PUT(&out, "\",\"endpoints\":{");
	for (size_t i = 0; i < h->listener_count && !h->listeners[i].path; i++) { /* the socket is the last */
		if (rest_server_port(h->server, i) == 0)
			continue;
		struct slice name = slice_from(service_facts(h->listeners[i].service)->sas_prefix, 1);
		buf_printf(&out, "%s\"%.*s\":\"", i ? "," : "", SLICE_FMT(name));
		house_put_endpoint(&out, h, i);
		BUF_PUT(&out, "\"");
	}
	BUF_PUT(&out, "}}\n");
	int n = snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
	int fd = n > 0 && (size_t)n < sizeof temporary ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
						       : -1;
	bool ok = fd >= 0 && buf_ok(&out) && write(fd, out.ptr, out.len) == (ssize_t)out.len;
	if (fd >= 0)
		close(fd);
	ok = ok && rename(temporary, path) == 0;
	if (!ok)
		buf_printf(error, "--readyFile %s: %s", path, strerror(errno));
	return ok;
}

/* Word for word, because programs wait for these lines. One service alone says it in other words than all three, and
 * Table in others again. */
static void azurite_put(struct buf *out, const struct house *h, size_t i)
{
	const char *title = service_facts(h->listeners[i].service)->title, *host = h->listeners[i].host;
	const char *scheme = h->listeners[i].tls ? "https" : "http";
	unsigned asked = h->listeners[i].port, port = rest_server_port(h->server, i);
	if (h->config->persona == PERSONA_AZURITE) {
		buf_printf(out, "Azurite %s service is starting at %s://%s:%u\n", title, scheme, host, asked);
		buf_printf(out, "Azurite %s service is successfully listening at %s://%s:%u\n", title, scheme, host,
			   port);
		return;
	}
	buf_printf(out, "Azurite %s service is starting on %s:%u\n", title, host, asked);
	if (h->config->persona == PERSONA_AZURITE_TABLE)
		buf_printf(out, "Azurite %s service successfully started on %s:%u\n", title, host, port);
	else
		buf_printf(out, "Azurite %s service successfully listens on %s://%s:%u\n", title, scheme, host, port);
}

static void print_out(const struct buf *out)
{
	/* Whoever started us may have closed the pipe; that is no reason not to serve. */
	if (fwrite(out->ptr, 1, out->len, stdout) != out->len || fflush(stdout) != 0)
		log_warn("cannot print the endpoints: %s", strerror(errno));
}

void house_print_ending(const struct house *h, bool ended)
{
	char bytes[4 * KIB];
	struct buf out = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	if (h->config->persona == PERSONA_ZAFFRE)
		return;
	for (size_t i = 0; i < h->listener_count; i++)
		if ((int)h->listeners[i].service < CONFIG_SERVICES)
			buf_printf(&out, "Azurite %s service %s\n", service_facts(h->listeners[i].service)->title,
				   ended ? "successfully closed" : "is closing...");
	print_out(&out);
}

void house_print_ready(const struct house *h)
{
	/* No allocation: whoever started us waits for these lines. */
	static char bytes[32 * KIB];
	struct buf out = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	if (h->config->persona != PERSONA_ZAFFRE) {
		for (size_t i = 0; i < h->listener_count; i++)
			if ((int)h->listeners[i].service < CONFIG_SERVICES)
				azurite_put(&out, h, i);
		print_out(&out);
		if (getenv("AZURITE_DB")) /* who set it looks for the data there; its password stays unsaid */
			log_warn("AZURITE_DB is not used: no database is needed, the data lie in %s", h->data.path);
		return;
	}
	buf_printf(&out, "Zaffre %s, %s mode\n", ZAFFRE_VERSION, h->config->mode);
	for (size_t i = 0; i < h->listener_count && !h->listeners[i].path; i++) {
		enum service service = h->listeners[i].service;
		if (rest_server_port(h->server, i) == 0) {
			buf_printf(&out, "No explorer: port %u is taken (--adminPort chooses another)\n",
				   h->listeners[i].port);
			continue;
		}
		if (service == SERVICE_WEB)
			BUF_PUT(&out, "Static website at ");
		else if (service == SERVICE_ADMIN)
			BUF_PUT(&out, "Explorer, metrics and health at ");
		else
			buf_printf(&out, "Zaffre %s service is successfully listening at ",
				   service_facts(service)->title);
		house_put_endpoint(&out, h, i);
		BUF_PUT(&out, "\n");
	}
	if (h->smb)
		buf_printf(&out, "Zaffre File service over SMB is successfully listening at %s port %u\n",
			   h->config->smbHost, smb_server_port(h->smb));
	if (h->config->inMemoryPersistence)
		BUF_PUT(&out, "Data: in memory, gone when this process ends\n");
	else
		buf_printf(&out, "Data directory: %s\n", h->data.path);
	if (h->admission->accounts.file)
		buf_printf(&out, "Keys: %s\n", h->admission->accounts.file);
	BUF_PUT(&out, "AZURE_STORAGE_CONNECTION_STRING='");
	connection_string_put(&out, h);
	BUF_PUT(&out, "'\n");
	print_out(&out);
}

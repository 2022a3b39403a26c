/* SPDX-License-Identifier: Apache-2.0
 * `zaffre account add|rotate|show|list|remove`: the words of the command line become a command for the server. */
#include "server/admin/admin.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "server/serve.h"

extern char **environ;

static const struct {
	const char *verb;
	int words; /* behind the verb */
	const char *usage;
} verbs[] = {
	{ "add", 1, "zaffre account add NAME [OPTIONS]: a new account with two random keys, shown once" },
	{ "rotate", 2, "zaffre account rotate NAME key1|key2 [OPTIONS]: that key becomes a new one, shown once" },
	{ "show", 1, "zaffre account show NAME [OPTIONS]: endpoints, and fingerprints of its keys" },
	{ "list", 0, "zaffre account list [OPTIONS]: every account, with fingerprints of its keys" },
	{ "remove", 1, "zaffre account remove NAME [OPTIONS]: it is refused from now on; its data stays" },
};

/* `word` is no verb: says so, with the one that was most likely meant. NULL: there was none. */
static int usage(const char *word)
{
	const char *list[sizeof verbs / sizeof *verbs + 1] = { NULL };
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		list[i] = verbs[i].verb;
	const char *near = word ? config_word_near(word, list) : NULL;
	if (word)
		fprintf(stderr, "zaffre: unknown word %.40s behind account%s%s%s\n", word,
			near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		fprintf(stderr, "%s\n", verbs[i].usage);
	fprintf(stderr, "OPTIONS are those of the server: --location DIR, or --config FILE\n");
	return EXIT_USAGE;
}

static int incomplete(const char *verb)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verb, verbs[i].verb) == 0)
			fprintf(stderr, "zaffre: a word is missing: %s\n", verbs[i].usage);
	return EXIT_USAGE;
}

static int ask_and_print(const struct config *c, struct slice target)
{
	struct buf out;
	buf_init(&out, MIB);
	int status = admin_ask(c, "POST", target, &out);
	bool ok = status >= 200 && status < 300;
	if (ok)
		fwrite(out.ptr, 1, out.len, stdout);
	else if (status)
		fprintf(stderr, "zaffre: %.*s", SLICE_FMT(buf_slice(&out)));
	if (out.ptr)
		explicit_bzero(out.ptr, out.cap);
	buf_fini(&out);
	return ok ? 0 : 1;
}

int admin_account_main(int argc, char **argv)
{
	struct config config;
	struct buf text;
	int words = -1, status = EXIT_USAGE;
	for (size_t i = 0; argc > 0 && i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(argv[0], verbs[i].verb) == 0)
			words = verbs[i].words;
	if (words < 0)
		return usage(argc > 0 ? argv[0] : NULL);
	for (int i = 1; i <= words; i++)
		if (i >= argc || argv[i][0] == '-')
			return incomplete(argv[0]);
	buf_init(&text, 64 * KIB);
	if (config_parse(&config, argc - 1 - words, argv + 1 + words, environ, &text)) {
		buf_printf(&text, "/account/%s", argv[0]);
		if (words > 0) {
			BUF_PUT(&text, "?name=");
			uri_encode(&text, slice_str(argv[1]), "");
		}
		if (words > 1) {
			BUF_PUT(&text, "&key=");
			uri_encode(&text, slice_str(argv[2]), "");
		}
		status = ask_and_print(&config, buf_slice(&text));
	} else {
		say_error(buf_slice(&text));
	}
	config_fini(&config);
	buf_fini(&text);
	return status;
}

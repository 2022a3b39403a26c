/* SPDX-License-Identifier: Apache-2.0
 * One table of commands and one of exit codes; everything else is layout. */
#include "server/cli/help.h"
#include "server/config.h"

static const struct {
	const char *name, *arguments, *brief, *more;
} commands[] = {
	{ "serve", "[OPTIONS]", "serve; ready when the endpoints are printed, or --readyFile is there",
	  "The default. SIGTERM lets requests end and stops; SIGHUP reads accounts, certificates, limits and roles "
	  "again." },
	{ "azurite", "[OPTIONS]", "serve as Azurite does: its banner, Blob, Queue and Table",
	  "Also azurite-blob, azurite-queue and azurite-table, each one service; and all four as names of the "
	  "program." },
	{ "health", "[OPTIONS]", "exit status 0 if a server with these options takes requests",
	  "Asks /readyz: at --adminPort if it is given, else through the admin socket of --location if that is given. "
	  "Without either it asks whether the first of the --services answers at its port." },
	{ "account", "add|rotate|show|list|remove [NAME]", "accounts of a running server",
	  "Speaks to the server through its admin socket (--location or --adminSocket names it). Keys are shown "
	  "once." },
	{ "stats", "[--count] [--json] [--watch [SECONDS]]",
	  "requests, times, commits, memory, disk and what accounts hold, of a running server",
	  "Through its admin socket. --count first counts what accounts hold, --watch shows it again every two "
	  "seconds, or so many." },
	{ "leases", "[OPTIONS]", "who holds which lease until when, of a running server", "Through its admin socket." },
	{ "conflicts", "[OPTIONS]", "the newest lost races of a running server", "Through its admin socket." },
	{ "checkpoint", "DIR [PREVIOUS]", "one moment of a running server's data, in the new directory DIR",
	  "With PREVIOUS, an older checkpoint, only what changed is copied." },
	{ "restore", "CHECKPOINT --location DIR", "a data directory out of a checkpoint", "" },
	{ "scrub", "[--rate MB] [--cancel] --location DIR", "read everything in a data directory, name what is damaged",
	  "Of a running server through its admin socket, in the background and with at most --rate MB a second (64; 0: "
	  "as fast as it can); SIGINT or `zaffre scrub --cancel` ends it. Else it reads the directory itself.\n"
	  "Exit status 0: clean; 1: damage found, and named; 2: not everything could be looked at." },
	{ "import-azurite", "DIR [CONNECTION_STRING]", "take over what a workspace of Azurite holds",
	  "Into a running server: the one that CONNECTION_STRING or AZURE_STORAGE_CONNECTION_STRING names, else the "
	  "development server on its usual ports. Azurite must be stopped. What is there already is left alone, so an "
	  "import that stopped can be run again.\n"
	  "Exit status 0: all was taken over; 1: not all, and said what; 2: the command line is wrong." },
	{ "compat", "", "the table of operations (docs/compat.md)", "" },
	{ "help", "[COMMAND]", "this list, or about one command", "" },
	{ "version", "", "the version, as --version", "" },
	{ "man", "", "the manual page: zaffre man | man -l -", "" },
	{ "completion", "bash|zsh|fish", "completion for a shell: source <(zaffre completion bash)", "" },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const struct {
	int status;
	const char *meaning;
} statuses[] = {
	{ 0, "ended as asked; scrub: clean; health: takes requests" },
	{ 1, "it could not start, and said why; scrub: damage found; health: does not take requests; import-azurite: "
	     "not all was taken over" },
	{ 2, "the command line or the configuration is wrong; scrub: not everything could be looked at" },
	{ 4, "the disk refused a sync: nothing more was acknowledged. Check the disk, then start again" },
};

enum { HELP_COLUMNS = 110 }; /* a line of help is no longer; what terminals of today show */

/* Two columns: `left`, and `text` broken at blanks. A `left` that is longer than its column has a line of its own. */
static void put_row(struct buf *out, const char *left, int column, const char *text)
{
	buf_printf(out, "  %-*s", column, left);
	int at = 2 + column;
	if ((int)strlen(left) > column) {
		BUF_PUT(out, "\n");
		at = 0;
	}
	for (const char *p = text; *p;) {
		int len = (int)strcspn(p, " ");
		if (at + 1 + len > HELP_COLUMNS) {
			BUF_PUT(out, "\n");
			at = 0;
		}
		if (at == 0) {
			buf_printf(out, "%*s", 2 + column, "");
			at = 2 + column;
		}
		buf_printf(out, " %.*s", len, p);
		at += 1 + len;
		p += len;
		p += *p == ' ';
	}
	BUF_PUT(out, "\n");
}

static void put_settings(struct buf *out)
{
	struct config_flag f;
	for (size_t i = 0; config_flag_get(i, &f); i++) {
		if (f.heading) {
			buf_printf(out, "\n%s:\n", f.help);
			continue;
		}
		char left[64], letter[8] = "", text[640];
		if (f.letter)
			snprintf(letter, sizeof letter, "-%c, ", f.letter);
		if (f.secret)
			snprintf(left, sizeof left, "%s", f.environment);
		else
			snprintf(left, sizeof left, "%s--%s%s%s", letter, f.flag, f.argument[0] ? " " : "", f.argument);
		bool fallback = f.fallback[0] != 0;
		snprintf(text, sizeof text, "%s%s%s%s", f.help, fallback ? " [" : "", f.fallback, fallback ? "]" : "");
		put_row(out, left, 26, text);
	}
	BUF_PUT(out, "\nMost can stand in the configuration file as `name = value` or in the environment "
		     "(ZAFFRE_BLOB_PORT, ...).\n"
		     "Accepted for Azurite's sake, without effect:\n   ");
	const char *flag;
	for (size_t i = 0; (flag = config_ignored_flag(i)); i++)
		buf_printf(out, " --%s", flag);
	BUF_PUT(out, "\n");
}

static void put_statuses(struct buf *out)
{
	BUF_PUT(out, "\nExit status:\n");
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		buf_printf(out, "  %d  %s\n", statuses[i].status, statuses[i].meaning);
}

static void put_command(struct buf *out, size_t i)
{
	char left[64];
	snprintf(left, sizeof left, "zaffre %s %s", commands[i].name, commands[i].arguments);
	put_row(out, left, 32, commands[i].brief);
}

void help_put_unknown(struct buf *out, const char *command)
{
	const char *list[COMMAND_COUNT + 1] = { NULL };
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		list[i] = commands[i].name;
	const char *near = config_word_near(command, list), *flag = near ? NULL : config_flag_near(command);
	buf_printf(out, "unknown command %s", command);
	if (near || flag)
		buf_printf(out, "; did you mean %s%s?", flag ? "--" : "", flag ? flag : near);
	BUF_PUT(out, " (zaffre help lists them)");
}

bool help_put(struct buf *out, const char *command)
{
	for (size_t i = 0; command && i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].name, command) != 0)
			continue;
		put_command(out, i);
		if (commands[i].more[0])
			buf_printf(out, "\n%s\n", commands[i].more);
		if (strcmp(command, "serve") == 0 || strcmp(command, "azurite") == 0)
			put_settings(out);
		put_statuses(out);
		return true;
	}
	if (command) {
		help_put_unknown(out, command);
		return false;
	}
	BUF_PUT(out, "Zaffre speaks the wire protocols of Azure Storage: Blob, Queue, Table and File over REST, File "
		     "over SMB.\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		put_command(out, i);
	put_settings(out);
	put_statuses(out);
	return true;
}

/* ---- the manual ---- */

/* A backslash and a dash are roff's own; a dot at the beginning of a line is a request. */
static void put_roff(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\\')
			BUF_PUT(out, "\\e");
		else if (*p == '-')
			BUF_PUT(out, "\\-");
		else if (*p == '.' && p == text)
			BUF_PUT(out, "\\&.");
		else
			buf_put_byte(out, *p);
	}
	BUF_PUT(out, "\n");
}

static void put_roff_flag(struct buf *out, const struct config_flag *f)
{
	BUF_PUT(out, ".TP\n.B ");
	if (f->letter)
		buf_printf(out, "\\-%c, ", f->letter);
	buf_printf(out, f->secret ? "%s" : "\\-\\-%s", f->secret ? f->environment : f->flag);
	if (f->argument[0])
		buf_printf(out, " \\fI%s\\fR", f->argument);
	BUF_PUT(out, "\n");
	put_roff(out, f->help);
	if (f->fallback[0]) {
		BUF_PUT(out, "Default: ");
		put_roff(out, f->fallback);
	}
	if (f->environment[0] && !f->secret) {
		BUF_PUT(out, "Environment: ");
		put_roff(out, f->environment);
	}
}

void help_put_manual(struct buf *out)
{
	struct config_flag f;
	buf_printf(out, ".TH ZAFFRE 1 \"\" \"zaffre %s\"\n.SH NAME\nzaffre \\- serve Azure Storage's wire protocols\n",
		   ZAFFRE_VERSION);
	BUF_PUT(out, ".SH SYNOPSIS\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		buf_printf(out, ".B zaffre %s\n", commands[i].name);
		put_roff(out, commands[i].arguments[0] ? commands[i].arguments : " ");
		BUF_PUT(out, ".br\n");
	}
	BUF_PUT(out, ".SH COMMANDS\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		buf_printf(out, ".TP\n.B %s\n", commands[i].name);
		put_roff(out, commands[i].brief);
		if (commands[i].more[0])
			put_roff(out, commands[i].more);
	}
	BUF_PUT(out, ".SH OPTIONS\nEach can stand in the configuration file as `name = value`, and in the environment "
		     "by the name given. A flag goes before the environment, that before the file.\n");
	for (size_t i = 0; config_flag_get(i, &f); i++) {
		if (f.heading)
			buf_printf(out, ".SS %s\n", f.help);
		else
			put_roff_flag(out, &f);
	}
	BUF_PUT(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		buf_printf(out, ".TP\n.B %d\n", statuses[i].status);
		put_roff(out, statuses[i].meaning);
	}
}

/* ---- completion ---- */

/* The flags of commands alone, as their arguments name them. */
static void put_own_flags(struct buf *out, const char *before, const char *after)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		for (const char *p = commands[i].arguments; (p = strstr(p, "[--")); p++)
			buf_printf(out, "%s%.*s%s", before, (int)strcspn(p + 3, " ]"), p + 3, after);
}

static void put_command_names(struct buf *out)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		buf_printf(out, "%s ", commands[i].name);
}

/* The words a command begins with, if it takes one of several: a|b|c. 0: it does not. */
static int alternatives_length(size_t i)
{
	int len = (int)strcspn(commands[i].arguments, " ");
	return memchr(commands[i].arguments, '|', (size_t)len) ? len : 0;
}

static void put_alternatives(struct buf *out, size_t i)
{
	for (int k = 0; k < alternatives_length(i); k++)
		buf_put_byte(out, commands[i].arguments[k] == '|' ? ' ' : commands[i].arguments[k]);
}

static void put_fish(struct buf *out)
{
	struct config_flag f;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		buf_printf(out, "complete -c zaffre -f -n __fish_use_subcommand -a %s -d \"%s\"\n", commands[i].name,
			   commands[i].brief);
		if (!alternatives_length(i))
			continue;
		buf_printf(out, "complete -c zaffre -f -n '__fish_seen_subcommand_from %s' -a '", commands[i].name);
		put_alternatives(out, i);
		BUF_PUT(out, "'\n");
	}
	put_own_flags(out, "complete -c zaffre -l ", "\n");
	for (size_t i = 0; config_flag_get(i, &f); i++)
		if (!f.heading && !f.secret)
			buf_printf(out, "complete -c zaffre -l %s%s\n", f.flag, f.argument[0] ? " -r" : "");
}

/* What the word before says of the next one: a value (of which the shell knows files), or one of a few words. */
static void put_bash_cases(struct buf *out)
{
	struct config_flag f;
	BUF_PUT(out, "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n  --rate");
	for (size_t i = 0; config_flag_get(i, &f); i++)
		if (!f.heading && !f.secret && f.argument[0] && f.argument[0] != '[')
			buf_printf(out, "|--%s", f.flag);
	BUF_PUT(out, ") return ;;\n  help) words='");
	put_command_names(out);
	BUF_PUT(out, "' ;;\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (alternatives_length(i)) {
			buf_printf(out, "  %s) words='", commands[i].name);
			put_alternatives(out, i);
			BUF_PUT(out, "' ;;\n");
		}
	BUF_PUT(out, "  *) case \"$word\" in -*|\"\") ;; *) [ \"$COMP_CWORD\" -gt 1 ] && return ;; esac ;;\n  esac\n");
}

static void put_bash(struct buf *out)
{
	struct config_flag f;
	BUF_PUT(out, "_zaffre() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" words='");
	put_own_flags(out, "--", " ");
	put_command_names(out);
	for (size_t i = 0; config_flag_get(i, &f); i++)
		if (!f.heading && !f.secret)
			buf_printf(out, "--%s ", f.flag);
	BUF_PUT(out, "'\n");
	put_bash_cases(out);
	BUF_PUT(out, "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _zaffre zaffre\n");
}

bool help_put_completion(struct buf *out, const char *shell)
{
	bool zsh = strcmp(shell, "zsh") == 0;
	if (strcmp(shell, "fish") == 0) {
		put_fish(out);
		return true;
	}
	if (!zsh && strcmp(shell, "bash") != 0)
		return false;
	if (zsh)
		BUF_PUT(out, "autoload -U +X bashcompinit && bashcompinit\n");
	put_bash(out);
	return true;
}

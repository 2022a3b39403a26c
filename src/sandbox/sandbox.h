/* SPDX-License-Identifier: Apache-2.0
 * Files and system calls that the process may use from now on. There is no way back, and no thread is left out. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

enum sandbox_use {
	SANDBOX_READ,  /* files below it */
	SANDBOX_WRITE, /* and files made, replaced and removed there */
	SANDBOX_OWN,   /* and directories and sockets as well */
};

struct sandbox_path {
	const char *path; /* one that does not exist is left out */
	enum sandbox_use use;
};

/* Sanitizers read files and make system calls that no server does: there is no sandbox under them. */
#ifdef ZAFFRE_SANITIZED
#define SANDBOX_SANITIZED true
#else
#define SANDBOX_SANITIZED false
#endif

enum sandbox_result {
	SANDBOX_ON,
	SANDBOX_MISSING, /* the kernel, its settings or this build have none */
	SANDBOX_FAILED,	 /* errno says why; nothing is restricted */
};

/* Nothing but these. For the calling thread and all that it starts later: call it before there are others. */
enum sandbox_result sandbox_files(const struct sandbox_path *paths, size_t count);
/* Nothing but what a server that has started needs: threads, sockets that it accepts, its files. For all threads. No
 * program is started, no connection made, no socket bound, no other process looked into, no memory made executable. */
enum sandbox_result sandbox_calls(void);
/* No core dumps, no debugger and no reading of /proc/PID/mem by the same user. */
void sandbox_hide_memory(void);

#endif

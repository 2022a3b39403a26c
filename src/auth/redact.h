/* SPDX-License-Identifier: Apache-2.0
 * Keeps signatures out of logs. A signature in an address lets whoever reads it in, so what is written of addresses and
 * of strings to sign goes through here. */
#ifndef AUTH_REDACT_H
#define AUTH_REDACT_H

#include "base/buf.h"

/* Is this the name of a parameter or header whose value lets others in? Blanks, punctuation and percent-encoding around
 * the name do not hide it: "sig", "?sig", "sig%20", "%73ig". */
bool redact_is_secret_name(struct slice name);

/* Takes the next piece of *text that may be written. *ret_hidden: a signature's value stood behind it and was skipped
 * ("sig" as a word of its own, then '=' or ':', however often percent-encoded; its value ends before '&', ';' or a
 * blank). Ends with *text empty. */
struct slice redact_next(struct slice *text, bool *ret_hidden);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Cross-origin rules of a service: the preflight handler, and headers of actual answers. */
#ifndef REST_CORS_H
#define REST_CORS_H

#include "rest/common/service_properties.h"

/* Adds the CORS headers of an actual answer to r->response.headers. Called by the driver for every answer, so it costs
 * one load of a remembered word while the service has no rules. */
void cors_decorate(struct request *);
/* The rules of the request's service may have changed: what is remembered about them counts no more. */
void cors_forget(struct request *);

/* Pure, for tests: does the origin or method stand in the list, do the header names? */
enum cors_origin { CORS_ORIGIN_NO, CORS_ORIGIN_EXACT, CORS_ORIGIN_ANY };
enum cors_origin cors_match_origin(struct slice list, struct slice origin);
bool cors_match_method(struct slice list, struct slice method);
/* Every name of `requested` is covered by a literal, a prefix or the asterisk of `allowed`. */
bool cors_match_headers(struct slice allowed, struct slice requested);
/* The first rule that fits origin and method; NULL if none does. */
const struct cors_rule *cors_find_rule(const struct service_properties *, struct slice origin, struct slice method,
				       enum cors_origin *ret_match);

/* The properties of all accounts may be others now. */
void cors_forget_all(struct rest_server *);

#endif

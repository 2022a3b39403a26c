/* SPDX-License-Identifier: Apache-2.0
 * How a service answers over REST: the one struct through which rest/core reaches it. Each folder rest/<name> defines
 * `const struct rest_service rest_service_<name>`; rest/services puts them in a table that the configuration names.
 * All functions run on the loop thread of the request unless said otherwise; those marked "optional" may be NULL. */
#ifndef REST_SERVICE_H
#define REST_SERVICE_H

#include "rest/core/op.h"
#include "rest/core/request.h"
#include "store/meter.h"

struct error_form {
	bool code_header;			      /* x-ms-error-code is there */
	void (*put_body)(struct request *, enum err); /* body and its Content-Type */
};

/* What the document of a service's properties may have beside metrics and CORS. */
enum service_property {
	PROPERTY_LOGGING = 1 << 0,
	PROPERTY_DEFAULT_VERSION = 1 << 1,
	PROPERTY_DELETE_RETENTION = 1 << 2,
	PROPERTY_WEBSITE = 1 << 3,
	PROPERTY_PROTOCOL_SETTINGS = 1 << 4, /* and ShareDeleteRetentionPolicy */
	PROPERTY_SOME = 1 << 5,		     /* a document without any element is refused */
	PROPERTY_NO_CACHE = 1 << 6,	     /* the answer says so */
};

struct rest_service {
	const struct op *ops; /* its ops.def, in order */
	size_t op_count;
	/* Optional: before anything else; may hand the request to another service (request_hand_over). */
	enum err (*redirect)(struct request *);
	/* Optional: sets account, container, object, level and version all by itself. For what is no storage API. */
	enum err (*find_address)(struct request *);
	/* Optional: the account of a request whose address names none; NULL if there is none. Its path is then all of
	 * the resource's. */
	const struct auth_account *(*find_account)(struct request *);
	/* The path behind the account, without its leading '/', not empty: sets level, container, object. */
	enum err (*split_path)(struct request *, struct slice path);
	/* Optional: the version the account has chosen for requests that name none (version_set). */
	enum err (*find_default_version)(struct request *);
	/* A stored access policy of the addressed container; ERR_NOT_FOUND if there is none of that id. */
	enum err (*find_policy)(struct request *, struct slice id, struct auth_policy *ret);
	/* Optional: what of the addressed container anybody may read: ANON_NEVER, ANON_BLOB or ANON_CONTAINER. NULL:
	 * nothing. ERR_NOT_FOUND if there is no such container. */
	enum err (*find_public_access)(struct request *, enum anon *ret);
	/* Optional: refuses what the table of operations cannot tell from something else. Before parse. */
	enum err (*check_request)(struct request *);
	/* Optional: adds headers to every finished answer (CORS). */
	void (*decorate)(struct request *);
	/* Optional: how this error is written. NULL: error_form_xml. */
	const struct error_form *(*error_form)(const struct request *, enum err);
	meter_weigh_fn *weigh;	   /* what a row of its containers weighs in a quota; optional */
	unsigned properties;	   /* enum service_property */
	enum err not_built_error;  /* instead of what op_not_built_error finds; ERR_OK: none */
	enum err anonymous_error;  /* who comes without credentials, in every version; ERR_OK: as services.def says */
	enum err wrong_verb_error; /* of a request without comp; ERR_OK: UnsupportedHttpVerb */
	/* Optional: state that lasts as long as the server (server->service_state). stop accepts NULL; it runs after
	 * the last request and before the workers end. */
	enum err (*start)(struct rest_server *, void **ret_state);
	void (*stop)(void *state);
};

const struct rest_service *rest_service_of(const struct request *);

/* For split_path and find_address. */
/* Percent-decoded into the arena; ERR_INVALID_URI if it is malformed. */
enum err address_decode(struct request *, struct slice text, struct slice *ret) MUST_CHECK;
/* The account that the first label of the Host names; NULL if none. Sets r->secondary. */
const struct auth_account *address_account_of_host(struct request *);
/* The account of that name, or of the name without "-secondary" (then *ret_secondary is set); NULL if none. */
const struct auth_account *address_account(const struct request *, struct slice name, bool *ret_secondary);
/* For find_default_version. */
void address_set_version(struct request *, uint32_t version, struct slice text);

/* For error_form. */
extern const struct error_form error_form_xml;
/* Authentication and authorisation: answered before the service proper is reached. */
bool error_is_access(enum err);
/* The text of an error with request id and time behind it, each text through `put`. */
void error_put_message(struct buf *, const struct request *, enum err, const char *line_break,
		       void (*put)(struct buf *, struct slice));

#endif

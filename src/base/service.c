/* SPDX-License-Identifier: Apache-2.0
 * The table of services: services.def with the texts that follow from a name written out. */
#include "base/service.h"

#include <assert.h>

static const struct service_facts facts[] = {
#define SERVICE(id_, name_, title_, letter_, host_, kind_, properties_, permissions_, late_, version_, challenge_,     \
		delegation_, structured_)                                                                              \
	[SERVICE_##id_] = { .title = title_,                                                                           \
			    .letter = letter_,                                                                         \
			    .sas_prefix = { "/" host_, sizeof "/" host_ - 1 },                                         \
			    .host_part = "." host_ ".",                                                                \
			    .server = "Windows-Azure-" title_ "/1.0 Microsoft-HTTPAPI/2.0",                            \
			    .resource_kind = kind_,                                                                    \
			    .properties = SERVICE_##properties_,                                                       \
			    .permissions = permissions_,                                                               \
			    .permissions_late = late_,                                                                 \
			    .default_version = version_,                                                               \
			    .challenge_since = challenge_,                                                             \
			    .delegation_since = delegation_,                                                           \
			    .structured_since = structured_ },
#include "base/services.def"
#undef SERVICE
};

const struct service_facts *service_facts(enum service s)
{
	assert((unsigned)s < SERVICE_COUNT);
	return &facts[s];
}

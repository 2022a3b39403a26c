/* SPDX-License-Identifier: Apache-2.0
 * The files of web/dist inside the program: a C file that tools/build-web writes when the program is built. Without npm
 * there are none, and the page says so. */
#ifndef REST_ADMIN_ASSETS_H
#define REST_ADMIN_ASSETS_H

#include <stddef.h>

struct explorer_asset {
	const char *path; /* "/index.html" */
	const char *content_type;
	const char *bytes;
	size_t length_bytes;
};

extern const struct explorer_asset explorer_assets[];
extern const size_t explorer_asset_count;

#endif

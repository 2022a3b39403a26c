/* SPDX-License-Identifier: Apache-2.0
 * The record of service properties: what is read and written again reads the same. Bits that mean nothing may go. */
#include "rest/common/service_properties.h"

#include "fuzz.h"
#include "rest/common/cors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice record = fuzz_copy(slice_make(data, size));
	struct service_properties p, q;
	if (account_service_properties_decode(record, &p) == ERR_OK) {
		struct buf one, two;
		enum cors_origin match;
		buf_init(&one, 1 << 24);
		buf_init(&two, 1 << 24);
		account_service_properties_encode(&one, &p);
		CHECK(buf_ok(&one) && one.len == record.len);
		CHECK(account_service_properties_decode(buf_slice(&one), &q) == ERR_OK);
		account_service_properties_encode(&two, &q);
		CHECK(slice_eq(buf_slice(&one), buf_slice(&two)));
		const struct cors_rule *rule = cors_find_rule(&p, SLICE("http://a.b.c"), SLICE("GET"), &match);
		if (rule)
			CHECK(rule >= p.cors && rule < p.cors + p.cors_count);
		buf_fini(&one);
		buf_fini(&two);
	}
	fuzz_free(record);
	return 0;
}

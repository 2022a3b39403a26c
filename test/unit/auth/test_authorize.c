/* SPDX-License-Identifier: Apache-2.0
 * Permission letters, scopes and resource types against the demands of operations. */
#include "fixture.h"

static const char letters[] = "racwdxyltfmeopiu";

/* By its definition, apart from the code under test: any of "ab", all of "a&b", at least one for "*". */
static bool expected(const char *demand, const char *held)
{
	if (strcmp(demand, "*") == 0)
		return held[0] != 0;
	bool all = strchr(demand, '&') != NULL;
	size_t met = 0, wanted = 0;
	for (const char *c = demand; *c; c++) {
		if (*c == '&')
			continue;
		wanted++;
		met += strchr(held, *c) != NULL;
	}
	return all ? met == wanted : met > 0;
}

static void letters_by_demand(void **state)
{
	static const char *demands[] = {
		"r", "w", "cw", "wd", "dxy", "a&u", "*", "t", "aw", "l", "i", "au", "wc", "f"
	};
	struct auth_request r = { .service = SERVICE_BLOB, .container = SLICE("c"), .object = SLICE("o") };
	for (size_t d = 0; d < sizeof demands / sizeof demands[0]; d++) {
		for (unsigned set = 0; set < 1u << 16; set += 7) {
			char held[20];
			size_t n = 0;
			for (unsigned bit = 0; bit < 16; bit++)
				if (set & 1u << bit)
					held[n++] = letters[bit];
			held[n] = 0;
			struct auth_identity id = { .kind = AUTH_SERVICE_SAS,
						    .permissions = slice_str(held),
						    .resource = 'c',
						    .scope_container = SLICE("c"),
						    .scope_object = SLICE(""),
						    .sas_version = 20211202 };
			struct auth_demand demand = { .sas = demands[d],
						      .account_sas = demands[d],
						      .resource_type = 'o' };
			enum err want = expected(demands[d], held) ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
			assert_int_equal(auth_authorize(&r, &id, &demand), want);
			id.kind = AUTH_DELEGATION_SAS;
			assert_int_equal(auth_authorize(&r, &id, &demand), want);
			id.kind = AUTH_ACCOUNT_SAS;
			id.services = SLICE("b");
			id.resource_types = SLICE("o");
			assert_int_equal(auth_authorize(&r, &id, &demand), want);
			for (const char *c = letters; *c; c++)
				assert_int_equal(auth_allows(&id, *c), strchr(held, *c) != NULL);
		}
	}
}

static void account_sas_scopes(void **state)
{
	static const char services[] = "bqtf", types[] = "sco";
	struct auth_demand demand = { .sas = "", .account_sas = "r" };
	for (unsigned ss = 1; ss < 16; ss++) {
		for (unsigned srt = 1; srt < 8; srt++) {
			char s[8], t[8];
			size_t n = 0, m = 0;
			for (unsigned i = 0; i < 4; i++)
				if (ss & 1u << i)
					s[n++] = services[i];
			for (unsigned i = 0; i < 3; i++)
				if (srt & 1u << i)
					t[m++] = types[i];
			struct auth_identity id = { .kind = AUTH_ACCOUNT_SAS,
						    .permissions = SLICE("r"),
						    .services = slice_make(s, n),
						    .resource_types = slice_make(t, m),
						    .sas_version = 20211202 };
			for (unsigned service = 0; service < 4; service++) {
				for (unsigned type = 0; type < 3; type++) {
					struct auth_request r = { .service = (enum service)service };
					demand.resource_type = types[type];
					enum err want = !(ss & 1u << service) ? ERR_AUTHORIZATION_SERVICE_MISMATCH
							: !(srt & 1u << type) ? ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH
									      : ERR_OK;
					assert_int_equal(auth_authorize(&r, &id, &demand), want);
				}
			}
		}
	}
	struct auth_identity id = { .kind = AUTH_ACCOUNT_SAS,
				    .permissions = SLICE("rwdxylacuptfi"),
				    .services = SLICE("bqtf"),
				    .resource_types = SLICE("sco"),
				    .sas_version = 20211202 };
	struct auth_request r = { .service = SERVICE_BLOB };
	demand = (struct auth_demand){ .sas = "", .account_sas = "", .resource_type = 'c' }; /* an ACL */
	assert_int_equal(auth_authorize(&r, &id, &demand), ERR_AUTHORIZATION_FAILURE);
}

static void service_sas_scopes(void **state)
{
	static const struct {
		enum service service;
		char resource;
		const char *scope_container, *scope_object, *container, *object;
		bool at_container;
		const char *sas;
		uint32_t version;
		enum err want;
	} rows[] = {
		{ SERVICE_BLOB, 'b', "c", "o", "c", "o", false, "r", 20211202, ERR_OK },
		{ SERVICE_BLOB, 'b', "c", "o", "c", "o2", false, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_BLOB, 'b', "c", "o", "c2", "o", false, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_BLOB, 'b', "c", "o", "c", "", true, "l", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_BLOB, 'c', "c", "", "c", "", true, "l", 20211202, ERR_OK },
		{ SERVICE_BLOB, 'c', "c", "", "c", "any", false, "r", 20211202, ERR_OK },
		{ SERVICE_BLOB, 'c', "c", "", "d", "any", false, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_BLOB, 'c', "c", "", "", "", false, "*", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_BLOB, 'c', "c", "", "c", "", true, "", 20211202,
		  ERR_AUTHORIZATION_FAILURE }, /* container operation */
		{ SERVICE_BLOB, 'c', "c", "", "c", "o", false, "w", 20211202, ERR_AUTHORIZATION_PERMISSION_MISMATCH },
		{ SERVICE_BLOB, 'c', "c", "", "c", "o", false, "w", 20150405, ERR_AUTHORIZATION_PERMISSION_MISMATCH },
		{ SERVICE_BLOB, 'c', "c", "", "c", "o", false, "w", 20150221, ERR_RESOURCE_NOT_FOUND },
		{ SERVICE_BLOB, 'c', "c", "", "c", "", true, "", 20140214, ERR_RESOURCE_NOT_FOUND },
		{ SERVICE_QUEUE, 'q', "q", "", "q", "id", false, "r", 20211202, ERR_OK },
		{ SERVICE_QUEUE, 'q', "q", "", "q2", "id", false, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_TABLE, 't', "people", "", "People", "", true, "r", 20211202, ERR_OK },
		{ SERVICE_TABLE, 't', "people", "", "", "", false, "*", 20211202, ERR_OK }, /* the outside of a batch */
		{ SERVICE_TABLE, 't', "people", "", "Other", "", true, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
		{ SERVICE_TABLE, 't', "people", "", "", "", true, "", 20211202,
		  ERR_AUTHORIZATION_FAILURE }, /* Query Tables */
		{ SERVICE_FILE, 'f', "s", "d/f", "s", "d/f", false, "r", 20211202, ERR_OK },
		{ SERVICE_FILE, 'f', "s", "d/f", "s", "d/g", false, "r", 20211202, ERR_AUTHORIZATION_FAILURE },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_request r = { .service = rows[i].service,
					  .container = slice_str(rows[i].container),
					  .object = slice_str(rows[i].object) };
		struct auth_identity id = { .kind = AUTH_SERVICE_SAS,
					    .permissions = SLICE("rl"),
					    .resource = rows[i].resource,
					    .scope_container = slice_str(rows[i].scope_container),
					    .scope_object = slice_str(rows[i].scope_object),
					    .sas_version = rows[i].version };
		struct auth_demand demand = { .sas = rows[i].sas,
					      .account_sas = "",
					      .resource_type = 'o',
					      .at_container = rows[i].at_container };
		enum err e = auth_authorize(&r, &id, &demand);
		if (e != rows[i].want)
			fail_msg("row %zu: %s", i, err_name(e));
	}
}

static void other_identities(void **state)
{
	struct auth_request r = { .service = SERVICE_BLOB, .container = SLICE("c") };
	static const struct {
		enum auth_kind kind;
		bool no_bearer, bearer_only;
		enum err want;
	} rows[] = {
		{ AUTH_ANONYMOUS, false, false, ERR_NO_AUTHENTICATION_INFORMATION },
		{ AUTH_ANONYMOUS, false, true, ERR_NO_AUTHENTICATION_INFORMATION },
		{ AUTH_SHARED_KEY, false, false, ERR_OK },
		{ AUTH_SHARED_KEY, true, false, ERR_OK },
		{ AUTH_SHARED_KEY, false, true, ERR_AUTHENTICATION_FAILED },
		{ AUTH_BEARER, false, false, ERR_OK },
		{ AUTH_BEARER, true, false, ERR_AUTHORIZATION_FAILURE },
		{ AUTH_BEARER, false, true, ERR_OK },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_identity id = { .kind = rows[i].kind };
		struct auth_demand demand = { .sas = "",
					      .account_sas = "",
					      .resource_type = 's',
					      .no_bearer = rows[i].no_bearer,
					      .bearer_only = rows[i].bearer_only };
		assert_int_equal(auth_authorize(&r, &id, &demand), rows[i].want);
		assert_int_equal(auth_allows(&id, 'w'), rows[i].kind != AUTH_ANONYMOUS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_by_demand),
		cmocka_unit_test(account_sas_scopes),
		cmocka_unit_test(service_sas_scopes),
		cmocka_unit_test(other_identities),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 * The words of SDDL. Tables end with a NULL word; where one value has several words, the first is the one written. */
#include "base/bytes.h"
#include "wire/sddl/sddl_int.h"

const struct sddl_word sddl_ace_types[] = { { "A", 0 },	 { "D", 1 },  { "AU", 2 },    { "AL", 3 }, { "OA", 5 },
					    { "OD", 6 }, { "OU", 7 }, { "ML", 0x11 }, { NULL, 0 } };

const struct sddl_word sddl_ace_flags[] = { { "OI", 0x01 }, { "CI", 0x02 }, { "NP", 0x04 }, { "IO", 0x08 },
					    { "ID", 0x10 }, { "SA", 0x40 }, { "FA", 0x80 }, { NULL, 0 } };

/* By ascending bit, which is the order they are written in. */
const struct sddl_word sddl_rights[] = {
	{ "CC", 0x1 },	      { "DC", 0x2 },	    { "LC", 0x4 },     { "SW", 0x8 },	     { "RP", 0x10 },
	{ "WP", 0x20 },	      { "DT", 0x40 },	    { "LO", 0x80 },    { "CR", 0x100 },	     { "SD", 0x10000 },
	{ "RC", 0x20000 },    { "WD", 0x40000 },    { "WO", 0x80000 }, { "GA", 0x10000000 }, { "GX", 0x20000000 },
	{ "GW", 0x40000000 }, { "GR", 0x80000000 }, { NULL, 0 },
};

/* Words for a whole mask; several bits each. The last ones are rights of mandatory labels. */
const struct sddl_word sddl_whole_rights[] = { { "FA", 0x1f01ff }, { "FR", 0x120089 }, { "FW", 0x120116 },
					       { "FX", 0x1200a0 }, { "KA", 0xf003f },  { "KR", 0x20019 },
					       { "KW", 0x20006 },  { "NW", 0x1 },      { "NR", 0x2 },
					       { "NX", 0x4 },	   { NULL, 0 } };

bool sddl_type_has_guids(unsigned type)
{
	return type >= 5 && type <= 7;
}

/* S-1-<authority>-<first>[-<second>]; the second is absent if it is NO_SUB. */
#define NO_SUB UINT32_MAX
static const struct {
	char alias[3];
	unsigned char authority;
	uint32_t first, second;
} sids[] = {
	{ "WD", 1, 0, NO_SUB },	     { "CO", 3, 0, NO_SUB },	 { "CG", 3, 1, NO_SUB },
	{ "OW", 3, 4, NO_SUB },	     { "NU", 5, 2, NO_SUB },	 { "IU", 5, 4, NO_SUB },
	{ "SU", 5, 6, NO_SUB },	     { "AN", 5, 7, NO_SUB },	 { "ED", 5, 9, NO_SUB },
	{ "PS", 5, 10, NO_SUB },     { "AU", 5, 11, NO_SUB },	 { "RC", 5, 12, NO_SUB },
	{ "SY", 5, 18, NO_SUB },     { "LS", 5, 19, NO_SUB },	 { "NS", 5, 20, NO_SUB },
	{ "WR", 5, 33, NO_SUB },     { "BA", 5, 32, 544 },	 { "BU", 5, 32, 545 },
	{ "BG", 5, 32, 546 },	     { "PU", 5, 32, 547 },	 { "AO", 5, 32, 548 },
	{ "SO", 5, 32, 549 },	     { "PO", 5, 32, 550 },	 { "BO", 5, 32, 551 },
	{ "RE", 5, 32, 552 },	     { "RU", 5, 32, 554 },	 { "RD", 5, 32, 555 },
	{ "NO", 5, 32, 556 },	     { "MU", 5, 32, 558 },	 { "LU", 5, 32, 559 },
	{ "IS", 5, 32, 568 },	     { "CY", 5, 32, 569 },	 { "ER", 5, 32, 573 },
	{ "CD", 5, 32, 574 },	     { "RA", 5, 32, 575 },	 { "ES", 5, 32, 576 },
	{ "MS", 5, 32, 577 },	     { "HA", 5, 32, 578 },	 { "AA", 5, 32, 579 },
	{ "RM", 5, 32, 580 },	     { "AC", 15, 2, 1 },	 { "LW", 16, 4096, NO_SUB },
	{ "ME", 16, 8192, NO_SUB },  { "MP", 16, 8448, NO_SUB }, { "HI", 16, 12288, NO_SUB },
	{ "SI", 16, 16384, NO_SUB },
};

static size_t sid_of(size_t i, unsigned char out[16])
{
	bool two = sids[i].second != NO_SUB;
	memset(out, 0, 8);
	out[0] = 1;
	out[1] = two ? 2 : 1;
	out[7] = sids[i].authority;
	bytes_store(out + 8, sids[i].first, 4);
	if (two)
		bytes_store(out + 12, sids[i].second, 4);
	return two ? 16 : 12;
}

const char *sddl_sid_alias(struct slice sid)
{
	unsigned char one[16];
	for (size_t i = 0; i < sizeof sids / sizeof *sids; i++) {
		size_t n = sid_of(i, one);
		if (slice_eq(sid, slice_make(one, n)))
			return sids[i].alias;
	}
	return NULL;
}

bool sddl_alias_sid(struct slice alias, struct buf *out)
{
	unsigned char one[16];
	for (size_t i = 0; i < sizeof sids / sizeof *sids; i++)
		if (slice_eq_nocase(alias, slice_make(sids[i].alias, 2))) {
			size_t n = sid_of(i, one);
			buf_put(out, slice_make(one, n));
			return true;
		}
	return false;
}

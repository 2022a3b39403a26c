/* SPDX-License-Identifier: Apache-2.0
 * Structured messages, XSM/1.0 with CRC-64: a body cut into segments, each with its checksum, and one of the whole.
 * Little-endian:
 *   message   version u8 = 1, length u64 (of all of it), flags u16 (1 = checksums), segment count u16,
 *             segments, crc64 u64 of all data
 *   segment   number u16 (from 1), length u64, data, crc64 u64 of its data
 * Without the flag there are no checksums. Decoder and encoder are plain values that keep no bytes of the data. */
#ifndef WIRE_STRUCTURED_H
#define WIRE_STRUCTURED_H

#include "base/buf.h"
#include "base/slice.h"

enum {
	STRUCTURED_HEAD_BYTES = 13,
	STRUCTURED_SEGMENT_HEAD_BYTES = 10,
	STRUCTURED_CRC_BYTES = 8,
	STRUCTURED_SEGMENT_BYTES = 4 * 1024 * 1024, /* what we write */
};
#define STRUCTURED_HEADER_VALUE "XSM/1.0; properties=crc64"

/* The value of x-ms-structured-body is one that is known here. */
bool structured_header_ok(struct slice value);

enum structured_result {
	STRUCTURED_MORE, /* all of the input was used */
	STRUCTURED_DATA, /* there is data; call again for what follows */
	STRUCTURED_DONE, /* the message ended; what is left in the input is not part of it */
	STRUCTURED_BAD,	 /* not such a message */
	STRUCTURED_CRC,	 /* a checksum does not fit its data */
};

struct structured_decoder {
	int state;
	bool checksums;
	uint64_t left_bytes;	    /* of the message, as its head says */
	uint64_t segment_left;	    /* data of the segment at hand */
	uint64_t data_bytes;	    /* so far */
	unsigned segments, segment; /* how many, and which */
	uint64_t crc, segment_crc;
	unsigned char field[STRUCTURED_HEAD_BYTES]; /* a head or checksum that came in parts */
	size_t field_bytes;
};
void structured_decoder_init(struct structured_decoder *);
/* Consumes from *input; *ret_data is the next run of data in it. BAD and CRC are final. */
enum structured_result structured_decode(struct structured_decoder *, struct slice *input, struct slice *ret_data);

/* How long the message of so much data is. */
uint64_t structured_framed_bytes(uint64_t data_bytes);

struct structured_encoder {
	uint64_t data_bytes, done_bytes;
	uint64_t crc, segment_crc;
};
void structured_encoder_init(struct structured_encoder *, uint64_t data_bytes);
/* What stands before the next data byte (heads) goes to dst; how many bytes of data may follow until structured_after.
 * */
enum { STRUCTURED_BEFORE_MAX = STRUCTURED_HEAD_BYTES + STRUCTURED_SEGMENT_HEAD_BYTES };
size_t structured_before(const struct structured_encoder *, unsigned char dst[STRUCTURED_BEFORE_MAX],
			 uint64_t *ret_data_bytes);
/* These are the next data bytes, no more than structured_before said; what stands behind them goes to dst. */
enum { STRUCTURED_AFTER_MAX = 2 * STRUCTURED_CRC_BYTES };
size_t structured_after(struct structured_encoder *, struct slice data, unsigned char dst[STRUCTURED_AFTER_MAX]);
/* All at once. */
void structured_encode(struct buf *, struct slice data);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The bounds that more than one file knows, each with its reason. Nothing in the program grows without a bound: others
 * stand where they are used. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* HTTP */
#define LIMIT_HEAD_BYTES	   (64 * 1024) /* request line and headers: SAS URLs and 8 KiB of metadata fit */
#define LIMIT_HEADER_COUNT	   1024	       /* 8 KiB of metadata in pairs of eight bytes, and the others */
#define LIMIT_TARGET_BYTES	   (32 * 1024) /* percent-encoded 1024-character names and a long SAS */
#define LIMIT_QUERY_PARAMS	   64	       /* a user delegation SAS has some twenty */
#define LIMIT_SIGNED_NAMES	   64	       /* in srh or srq of a SAS: each is looked for among all there are */
#define LIMIT_ETAGS		   64	       /* in one If-Match or If-None-Match */
#define LIMIT_CHUNK_LINE_BYTES	   1024	       /* size line with extensions, and trailers */
#define LIMIT_HEAD_MS		   15000       /* a slow header is closed after this */
#define LIMIT_BODY_IDLE_MS	   30000       /* no body byte for this long closes the connection */
#define LIMIT_BODY_MIN_BYTES_PER_S 256	       /* slower than this over a window is an attack, not a network */
#define LIMIT_IDLE_MS		   120000      /* keep-alive without a request */
#define LIMIT_WRITE_IDLE_MS	   30000       /* a peer that does not read */
#define LIMIT_DRAIN_MS		   10000       /* SIGTERM: in-flight requests may end within this */
#define LIMIT_REQUEST_ARENA_BYTES  (32 * 1024 * 1024) /* largest XML answer and body of one request */
#define LIMIT_WORK_QUEUE	   4096	   /* pieces of blocking work that wait for a worker; more answer ServerBusy */
#define LIMIT_WORK_QUEUE_OWNER	   1024	   /* of them long ones of one account: the others have room */
#define LIMIT_WORK_WAIT_MS	   30000   /* long work that waited so long for a worker answers ServerBusy */
#define LIMIT_LOOP_READ_NS	   2000000 /* a read on an event loop; a longer one begins again on a worker */
#define LIMIT_LOOP_PARSE_BYTES	   (64 * 1024) /* of a document on an event loop; a longer one is parsed by a worker */
#define LIMIT_CONNECTIONS	   60000 /* at once; a descriptor and about 200 bytes each when idle, more with TLS */
#define LIMIT_DRAIN_BODY_BYTES                                                                                         \
	(64 * 1024)			/* rest of a refused body that is read and thrown away to keep the connection */
#define LIMIT_LOOPS		64	/* event loops; one per core up to here */
#define LIMIT_REQUESTS_PER_TURN 16	/* pipelined requests answered before other connections get their turn */
#define LIMIT_READS_PER_TURN	128	/* however little each brings: 1 MiB of TLS records is 64 */
#define LIMIT_TURN_NS		2000000 /* of a connection's requests or answer before others get their turn */
#define LIMIT_STREAM_TURN_BYTES (1024 * 1024) /* of a body or a streamed answer before others get their turn */
#define LIMIT_STREAM_BODY_BYTES (5000 * MIB)  /* largest body of any operation (Put Blob); parse lowers it */
#define LIMIT_ACCOUNT_UPLOADS	4096	      /* bodies of one account on their way at once; more answer ServerBusy */
#define LIMIT_LINGER_MS		2000	      /* after the last answer: time for the peer to read it before the close */
#define LIMIT_LINGER_BYTES	(4 * 1024 * 1024) /* and what it may still send meanwhile */
#define LIMIT_LOOP_BUFFERS	128 /* of 1 MiB per loop for bodies on their way; beyond, 64 KiB or none */
#define LIMIT_SMALL_BODY_BYTES	(8 * 1024 * 1024) /* largest body kept in memory (block list of 50,000 ids) */

/* Codecs */
#define LIMIT_XML_DEPTH	  16   /* the deepest document of the service has six levels */
#define LIMIT_JSON_DEPTH  8    /* tokens and key sets; entities are flat */
#define LIMIT_JSON_VALUES 4096 /* 255 properties with their types fit many times */
#define LIMIT_BATCH_PARTS 256  /* of a blob batch; a table transaction has at most 100 */
#define LIMIT_BATCH_BYTES (4 * 1024 * 1024)

/* Store: the contract of the poorest engine */
#define LIMIT_KEY_BYTES	     4096
#define LIMIT_VALUE_BYTES    (128 * 1024)      /* 64 KiB of record and an inline payload */
#define LIMIT_COMMIT_BYTES   (6 * 1024 * 1024) /* a block list of 50,000 entries; a table batch is 4 MiB */
#define LIMIT_COMMIT_WRITES  8192 /* the first page written after a snapshot: 2,048 extents counted, at both ends */
#define LIMIT_SWEEP_WRITES   2048 /* of one round of a background sweep, so that others' commits need not wait long */
#define LIMIT_COMMIT_EXTENTS 4096 /* published and retired; a Put Blob of 5,000 MiB over one as large is 2,500 */
#define LIMIT_SCAN_ROWS	     1024
#define LIMIT_SCAN_BYTES     (4 * 1024 * 1024)
#define LIMIT_WRITE_QUEUE    65536 /* waiting transactions; more answer ServerBusy */
#define LIMIT_GROUP_TXNS     512   /* transactions in one sync, so that one group stays short */
#define LIMIT_GROUP_BYTES    (32 * 1024 * 1024)
#define LIMIT_UNSYNCED_MS    1000 /* what may be synced later waits no longer: as much as a power cut can take */
#define LIMIT_APPLY_RETRIES  16	  /* optimistic engines: then ServerBusy */
#define LIMIT_EXTENT_BYTES   (4 * 1024 * 1024) /* one extent; longer payloads are several */
#define PAYLOAD_INLINE_BYTES (32 * 1024)       /* at most this in the record, docs/decisions/ has the measurement */

/* Table */
#define LIMIT_TABLE_QUERY_MS   5000 /* a page's search, as documented: then what was found and where to go on */
#define LIMIT_TABLE_LOOP_MS    4    /* of it on an event loop; a longer one moves to a worker */
#define LIMIT_TABLE_PAGE_BYTES (4 * 1024 * 1024) /* a page's body is full past this: entities can have 1 MiB */
#define LIMIT_TABLE_BODY_BYTES (4 * 1024 * 1024) /* an entity or a batch, as documented */

/* Queue */
#define LIMIT_QUEUE_DROP_ROWS  128   /* expired messages a get removes in a round: at most three writes each */
#define LIMIT_QUEUE_SKIP_ROWS  2048  /* expired messages a peek steps over in a round */
#define LIMIT_QUEUE_SEARCH_MS  30000 /* of all rounds, the documented time of an operation: then OperationTimedOut */
#define LIMIT_QUEUE_SWEEP_ROWS 256   /* of each kind in one background round, so that requests hardly wait for it */
#define LIMIT_QUEUE_CLEAN_ROWS 768   /* rows of a cleared queue removed in a round, within LIMIT_COMMIT_WRITES */

#endif

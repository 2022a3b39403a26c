// SPDX-License-Identifier: Apache-2.0
// The cases that the suite of every language has: everyday operations of the four services, and the walk-throughs of managing concurrency
// (optimistic, pessimistic, last writer wins), each with clients that race.
export const CASES = [
	'blob everyday', // create, upload, ranges, blocks, append, pages, tags, snapshots, copies, lists, deletes
	'blob optimistic', // If-Match, If-None-Match, dates: 412, 409, 304
	'blob pessimistic', // leases: writes without, with another, with an ended one; change, break, release
	'blob last writer wins', // racing uploads leave one of them, whole
	'blob race', // a counter by If-Match, one creator, one lease holder
	'container optimistic',
	'container pessimistic', // a lease guards the deletion only
	'container last writer wins',
	'shared access signature',
	'table everyday', // types, merge, replace, queries, pages, transactions
	'table optimistic', // a stale ETag: 412
	'table any ETag', // If-Match: * and upserts
	'table race', // a counter by ETag
	'queue everyday',
	'queue visibility', // invisible, visible again, stale pop receipts
	'queue race', // every message to one receiver
	'queue last writer wins',
	'file everyday', // shares, directories, ranges, snapshots, copies, renames
	'file last writer wins',
	'file lease',
	'file race', // creations and renames of one name
];

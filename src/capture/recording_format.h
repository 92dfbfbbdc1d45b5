/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording file, as docs/formats/recording.md describes it: a header, then chunks. A chunk is
 * the records of one interval; it can be checked and skipped without being unpacked.
 */
#ifndef DWELL_CAPTURE_RECORDING_FORMAT_H
#define DWELL_CAPTURE_RECORDING_FORMAT_H

#include <linux/types.h>
#include <stddef.h>
#include <zlib.h>

#define RECORDING_MAGIC	 "DWELLREC"
#define RECORDING_MAJOR	 2 /* another one is another format */
#define RECORDING_OLDEST 1 /* that is read: recording_layout.h */
#define RECORDING_MINOR	 1 /* a higher one has records an older dwell passes over */
#define RECORDING_ORDER	 0x01020304U

struct recording_header {
	char magic[8];
	__u16 major, minor;
	__u32 byte_order;  /* RECORDING_ORDER as the writing machine stores it */
	__u64 realtime_ns; /* begun */
	__u32 crc;	   /* of the bytes before it */
	/* version of the dwell that wrote it: 0, 1, 0 in the last three; all 0: not known */
	__u8 written_by[4];
};

#define CHUNK_MAGIC 0x48435744U /* "DWCH" */
#define CHUNK_KEY   1U		/* refers to no earlier chunk */

struct chunk_header {
	__u32 magic;
	__u32 flags;
	__u32 stored_bytes; /* the zstd frame that follows */
	__u32 raw_bytes;    /* what it unpacks to */
	__u64 time_ns;	    /* CLOCK_MONOTONIC at the end of its interval */
	__u64 realtime_ns;
	__u32 stored_crc; /* of the zstd frame */
	__u32 crc;	  /* of the bytes before it */
};

static inline __u32 recording_crc(const void *bytes, size_t length)
{
	return (__u32)crc32_z(crc32_z(0, NULL, 0), bytes, length);
}

/* Records of one snapshot of that many threads, with room to spare. */
#define CHUNK_MAX_BYTES (1U << 30)

_Static_assert(sizeof(struct recording_header) == 32, "stored verbatim");
_Static_assert(sizeof(struct chunk_header) == 40, "stored verbatim");

#endif

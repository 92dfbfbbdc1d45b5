/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing set of records of one kind, found by (tid, start time). */
#ifndef DWELL_MODEL_RECORDS_H
#define DWELL_MODEL_RECORDS_H

#include "bpf/wire.h"
#include "base/identities.h"

/* All zeros is an empty set. */
struct records {
	struct identities identities;
	struct wire_thread *items; /* in order of arrival */
	size_t count;
	size_t room;
};

/* Copies the record in; one with the same identity is replaced. 0 or -ENOMEM. */
int records_add(struct records *records, const struct wire_thread *thread) must_check;

/*
 * Copies the record in without looking for its like: for a plain list, which may also be shortened
 * from outside. A list is never searched by records_find(). 0 or -ENOMEM.
 */
int records_append(struct records *records, const struct wire_thread *thread) must_check;

/* NULL if there is none. Valid until the next records_add(). */
const struct wire_thread *records_find(const struct records *records, uint32_t tid,
				       uint64_t start_ns);

/* The same, as identities_find_near(). */
const struct wire_thread *records_find_near(const struct records *records, size_t *guess,
					    uint32_t tid, uint64_t start_ns);

/* By the accounting's beginning, under any thread id: looks at every record. */
const struct wire_thread *records_find_origin(const struct records *records, uint32_t pid,
					      uint64_t origin_ns);

void records_clear(struct records *records); /* keeps the memory */
void records_release(struct records *records);

/* The same for delay accounting, one record a thread. */
struct delay_records {
	struct identities identities;
	struct wire_delays *items;
	size_t room;
};

int delay_records_add(struct delay_records *records, const struct wire_delays *delays) must_check;
const struct wire_delays *delay_records_find(const struct delay_records *records, uint32_t tid,
					     uint64_t start_ns);
void delay_records_clear(struct delay_records *records);
void delay_records_release(struct delay_records *records);

#endif

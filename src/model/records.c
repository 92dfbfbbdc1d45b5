// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/records.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int records_append(struct records *records, const struct wire_thread *thread)
{
	int result =
		array_reserve(&records->items, &records->room, records->count + 1, sizeof(*thread));

	if (result == 0)
		records->items[records->count++] = *thread;
	return result;
}

int records_add(struct records *records, const struct wire_thread *thread)
{
	size_t index = identities_add(&records->identities, thread->tid, thread->start_ns);

	if (index == IDENTITY_NONE ||
	    array_reserve(&records->items, &records->room, index + 1, sizeof(*thread)) < 0)
		return -ENOMEM;
	records->items[index] = *thread;
	records->count = records->identities.count;
	return 0;
}

const struct wire_thread *records_find(const struct records *records, uint32_t tid,
				       uint64_t start_ns)
{
	size_t index = identities_find(&records->identities, tid, start_ns);

	return index == IDENTITY_NONE ? NULL : &records->items[index];
}

const struct wire_thread *records_find_near(const struct records *records, size_t *guess,
					    uint32_t tid, uint64_t start_ns)
{
	size_t index = identities_find_near(&records->identities, guess, tid, start_ns);

	return index == IDENTITY_NONE ? NULL : &records->items[index];
}

const struct wire_thread *records_find_origin(const struct records *records, uint32_t pid,
					      uint64_t origin_ns)
{
	for (size_t i = 0; i < records->count; i++)
		if (records->items[i].pid == pid && records->items[i].origin_ns == origin_ns)
			return &records->items[i];
	return NULL;
}

void records_clear(struct records *records)
{
	identities_clear(&records->identities);
	records->count = 0;
}

void records_release(struct records *records)
{
	identities_release(&records->identities);
	free(records->items);
	*records = (struct records){0};
}

int delay_records_add(struct delay_records *records, const struct wire_delays *delays)
{
	size_t index = identities_add(&records->identities, delays->tid, delays->start_ns);

	if (index == IDENTITY_NONE ||
	    array_reserve(&records->items, &records->room, index + 1, sizeof(*delays)) < 0)
		return -ENOMEM;
	records->items[index] = *delays;
	return 0;
}

const struct wire_delays *delay_records_find(const struct delay_records *records, uint32_t tid,
					     uint64_t start_ns)
{
	size_t index = identities_find(&records->identities, tid, start_ns);

	return index == IDENTITY_NONE ? NULL : &records->items[index];
}

void delay_records_clear(struct delay_records *records)
{
	identities_clear(&records->identities);
}

void delay_records_release(struct delay_records *records)
{
	identities_release(&records->identities);
	free(records->items);
	*records = (struct delay_records){0};
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/kept_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "bpf/config.h"

#define GONE_MIN 1024 /* not worth a walk */

static int keep(struct kept_threads *kept, const struct wire_thread *thread)
{
	size_t index = identities_find_near(&kept->identities, &kept->guess, thread->tid,
					    thread->start_ns);

	if (index == IDENTITY_NONE)
		index = identities_add(&kept->identities, thread->tid, thread->start_ns);
	if (index == IDENTITY_NONE ||
	    array_reserve(&kept->items, &kept->room, index + 1, sizeof(*thread)) < 0)
		return -ENOMEM;
	kept->items[index] = *thread;
	return 0;
}

/* It went on with what it did. */
static int go_on(struct kept_threads *kept, const struct thread_unchanged *unchanged,
		 const struct wire_header **record)
{
	size_t index = identities_find_near(&kept->identities, &kept->guess, unchanged->tid,
					    unchanged->start_ns);
	struct wire_thread *thread;

	if (index == IDENTITY_NONE)
		return -EBADMSG;
	thread = &kept->items[index];
	if (thread->site.state >= WIRE_STATES)
		return -EBADMSG;
	thread->totals.ns[thread->site.state] += unchanged->header.time_ns - thread->end_ns;
	thread->end_ns = thread->header.time_ns = unchanged->header.time_ns;
	*record = &thread->header;
	return 0;
}

int kept_threads_take(struct kept_threads *kept, const struct wire_header **record)
{
	if ((*record)->kind != WIRE_THREAD && (*record)->kind != THREAD_UNCHANGED)
		return 0;
	kept->met++;
	return (*record)->kind == WIRE_THREAD ? keep(kept, (const void *)*record)
					      : go_on(kept, (const void *)*record, record);
}

int kept_threads_walked(struct kept_threads *kept)
{
	size_t count = kept->identities.count, met = kept->met;
	uint64_t last_ns = 0;

	kept->guess = kept->met = 0;
	if (count < 2 * met + GONE_MIN)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (kept->items[i].end_ns > last_ns)
			last_ns = kept->items[i].end_ns;
	identities_clear(&kept->identities);
	for (size_t i = 0; i < count; i++) {
		const struct wire_thread *thread = &kept->items[i];
		size_t index;

		if (thread->end_ns != last_ns)
			continue;
		index = identities_add(&kept->identities, thread->tid, thread->start_ns);
		if (index == IDENTITY_NONE)
			return -ENOMEM;
		kept->items[index] = *thread;
	}
	return 0;
}

void kept_threads_release(struct kept_threads *kept)
{
	identities_release(&kept->identities);
	free(kept->items);
	*kept = (struct kept_threads){0};
}

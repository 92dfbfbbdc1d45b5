// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/process_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define THREADS_MAX 4096 /* one that uses much does so from early on */

void process_cpu_add(struct process_cpu *cpu, const struct row *row)
{
	uint64_t ns = row->states_ns[STATE_USER] + row->states_ns[STATE_KERNEL];
	size_t index = identities_find(&cpu->keys, row->tid, row->start_ns);

	cpu->all_ns += ns;
	if (index == IDENTITY_NONE) {
		if (!ns || cpu->keys.count == THREADS_MAX ||
		    array_reserve(&cpu->items, &cpu->room, cpu->keys.count + 1,
				  sizeof(*cpu->items)) < 0)
			return;
		index = identities_add(&cpu->keys, row->tid, row->start_ns);
		if (index == IDENTITY_NONE)
			return;
		cpu->items[index].ns = 0;
	}
	cpu->items[index].ns += ns;
	memcpy(cpu->items[index].comm, row->comm, sizeof(row->comm));
}

void process_cpu_release(struct process_cpu *cpu)
{
	identities_release(&cpu->keys);
	free(cpu->items);
	*cpu = (struct process_cpu){.all_ns = 0};
}

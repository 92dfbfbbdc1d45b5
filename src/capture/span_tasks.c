// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_tasks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "capture/span_probes.h"
#include "dwell.skel.h"

/* What a site's CPUs have counted; *ret_longest_ns in the epoch. */
static struct span_site sum_site(const struct span_site *values, int cpus, uint32_t epoch,
				 uint64_t *ret_longest_ns)
{
	struct span_site sum = {0};

	*ret_longest_ns = 0;
	for (int i = 0; i < cpus; i++) {
		sum.polls += values[i].polls;
		sum.busy_ns += values[i].busy_ns;
		sum.stalls += values[i].stalls;
		if (values[i].epochs[epoch & 1] == epoch &&
		    values[i].longest_ns[epoch & 1] > *ret_longest_ns)
			*ret_longest_ns = values[i].longest_ns[epoch & 1];
	}
	return sum;
}

/* The sum of the type with that frame. NULL: no memory. */
static struct wire_polls *sum_of(struct span_tasks *tasks, uint32_t type)
{
	size_t known = tasks->rows.count, index;

	if (array_reserve(&tasks->sums, &tasks->sum_room, known + 1, sizeof(*tasks->sums)) < 0 ||
	    array_reserve(&tasks->sent_polls, &tasks->sent_room, known + 1,
			  sizeof(*tasks->sent_polls)) < 0)
		return NULL;
	index = identities_add(&tasks->rows, type, 0);
	if (index == IDENTITY_NONE)
		return NULL;
	if (index == known) {
		tasks->sums[index] = (struct wire_polls){.type = type};
		tasks->sent_polls[index] = 0;
	}
	return &tasks->sums[index];
}

/* The frame of what the probe's function polls, when it has been polled at all. */
static int type_of(struct span_tasks *tasks, const struct span_options *options, uint32_t number,
		   struct span_stacks *stacks, uint64_t time_ns, struct record_sink sink)
{
	const struct span_probe *probe = number ? &options->probes[number - 1] : NULL;
	const char *name = !probe ? NULL : probe->type ? probe->type : probe->place;

	if (!name || tasks->types[number])
		return 0;
	return span_stacks_name(stacks, name, probe->type, time_ns, &tasks->types[number], sink);
}

/* Reads what the sites have, and adds it up by type. */
static int add_up(struct span_tasks *tasks, struct dwell_bpf *bpf,
		  const struct span_options *options, struct span_stacks *stacks, uint64_t time_ns,
		  uint32_t epoch, struct record_sink sink)
{
	int fd = bpf_map__fd(bpf->maps.span_sites), cpus = libbpf_num_possible_cpus();
	cleanup_free struct span_site *values =
		calloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*values));
	uint32_t count = span_probes_sites(options);
	int result = values ? 0 : -ENOMEM;

	for (uint32_t number = 0; result >= 0 && number < count; number++) {
		uint64_t longest_ns;
		struct span_site site;
		struct wire_polls *sum;

		if (bpf_map_lookup_elem(fd, &number, values) < 0)
			continue;
		site = sum_site(values, cpus, epoch, &longest_ns);
		if (!site.polls)
			continue;
		result = type_of(tasks, options, number, stacks, time_ns, sink);
		sum = sum_of(tasks, tasks->types[number]);
		if (result < 0 || !sum)
			return result < 0 ? result : -ENOMEM;
		sum->polls += site.polls;
		sum->busy_ns += site.busy_ns;
		sum->stalls += site.stalls;
		if (longest_ns > sum->longest_ns)
			sum->longest_ns = longest_ns;
	}
	return result;
}

int span_tasks_tell(struct span_tasks *tasks, struct dwell_bpf *bpf,
		    const struct span_options *options, struct span_stacks *stacks,
		    uint64_t time_ns, struct record_sink sink)
{
	uint32_t epoch = tasks->epoch++;
	int result;

	if (!tasks->types)
		tasks->types = calloc(SPAN_SITES_MAX, sizeof(*tasks->types));
	if (!tasks->types || !sum_of(tasks, 0))
		return -ENOMEM;
	/* what ends from now on is of the next one */
	__atomic_store_n(&bpf->bss->span_epoch, tasks->epoch, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < tasks->rows.count; i++)
		tasks->sums[i] = (struct wire_polls){.type = tasks->sums[i].type};
	result = add_up(tasks, bpf, options, stacks, time_ns, epoch, sink);
	for (size_t i = 0; result >= 0 && i < tasks->rows.count; i++) {
		struct wire_polls *sum = &tasks->sums[i];

		if (sum->polls == tasks->sent_polls[i] && sum->type)
			continue;
		tasks->sent_polls[i] = sum->polls;
		sum->header = (struct wire_header){
			.size = sizeof(*sum), .kind = WIRE_POLLS, .time_ns = time_ns};
		result = sink_send(sink, &sum->header);
	}
	return result;
}

void span_tasks_release(struct span_tasks *tasks)
{
	free(tasks->types);
	identities_release(&tasks->rows);
	free(tasks->sums);
	free(tasks->sent_polls);
	*tasks = (struct span_tasks){0};
}

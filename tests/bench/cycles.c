// SPDX-License-Identifier: GPL-2.0-or-later
/* `cycles PID N`: attaches to all functions that `dwell blocked` probes in a Tokio program and
 * detaches, N times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/duration.h"
#include "capture/span_probes.h"
#include "dwell.skel.h"
#include "runtime/runtime.h"

static int ignore(void *data, const struct wire_header *record)
{
	(void)data;
	if (record->kind == WIRE_MISSING)
		fprintf(stderr, "cycles: %s\n", ((const struct wire_missing *)record)->why);
	return 0;
}

static int fail(const char *what, int result)
{
	fprintf(stderr, "cycles: %s: %d\n", what, result);
	return 1;
}

static int plan_probes(struct span_options *options, struct runtime_plan *plan)
{
	struct error error;

	if (runtime_plan_make(plan, &runtime_tokio, options->pid, NULL, &error) < 0)
		return fail(error.text, 0);
	options->probes = calloc(plan->count, sizeof(*options->probes));
	for (size_t i = 0; i < plan->count; i++)
		options->probes[i] = (struct span_probe){
			.path = plan->probes[i].path,
			.offset = plan->probes[i].offset,
			.kind = plan->probes[i].polls == POLLS_TASKS ? SPAN_POLL : SPAN_POOL,
		};
	options->probe_count = plan->count;
	return 0;
}

int main(int argc, char **argv)
{
	struct span_options options = {
		.threshold_ns = 5 * NS_PER_MS, .frequency = 99, .ring_bytes = 1U << 20};
	struct record_sink sink = {ignore, NULL};
	struct runtime_plan plan = {0};
	unsigned long cycles = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct dwell_bpf *bpf = dwell_bpf__open();
	uint64_t begun_ns;
	int result;

	if (!cycles || !bpf)
		return fail("usage: cycles PID N", 0);
	options.pid = (uint32_t)strtoul(argv[1], NULL, 10);
	if (plan_probes(&options, &plan))
		return 1;
	span_probes_configure(bpf, &options);
	result = dwell_bpf__load(bpf);
	if (result < 0)
		return fail("load", result);
	begun_ns = clock_monotonic_ns();
	for (unsigned long i = 0; i < cycles; i++) {
		struct span_probes probes;

		result = span_probes_attach_polls(&probes, bpf, &options, sink);
		if (result < 0 || probes.attached != options.probe_count)
			return fail("attach", result);
		span_probes_detach(&probes);
	}
	printf("%lu cycles, %.1f ms each\n", cycles,
	       (double)(clock_monotonic_ns() - begun_ns) / (double)cycles / NS_PER_MS);
	free(options.probes);
	runtime_plan_release(&plan);
	dwell_bpf__destroy(bpf);
	return 0;
}

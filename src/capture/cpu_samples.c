// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/cpu_samples.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"

/* At once: each interrupts its CPU. */
#define VARY_AT_ONCE 16

void cpu_samples_release(struct cpu_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		bpf_link__destroy(samples->items[i].link);
	free(samples->items);
	*samples = (struct cpu_samples){0};
}

int cpu_samples_attach(struct cpu_samples *samples, struct bpf_program *program,
		       unsigned int frequency, struct record_sink sink)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_S / frequency,
	};
	char why[160];

	*samples = (struct cpu_samples){.period_ns = attributes.sample_period};
	for (int cpu = 0; cpu < get_nprocs_conf(); cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
		struct bpf_link *link;

		if (fd < 0 && errno == ENODEV)
			continue; /* not online */
		if (fd < 0) {
			snprintf(why, sizeof(why), "no samples: perf_event_open: %s",
				 strerror(errno));
			/* of some CPUs only they would mislead */
			cpu_samples_release(samples);
			return sink_missing(sink, "samples", why);
		}
		if (array_reserve(&samples->items, &samples->room, samples->count + 1,
				  sizeof(*samples->items)) < 0) {
			close(fd);
			return -ENOMEM;
		}
		link = bpf_program__attach_perf_event(program, fd);
		if (!link) {
			close(fd);
			cpu_samples_release(samples);
			return sink_missing(sink, "samples", "cannot attach to samples");
		}
		samples->items[samples->count++] = (struct cpu_sample){link, fd};
	}
	return 0;
}

/* From 4/5 to 6/5 of the period. */
static uint64_t varied_ns(uint64_t period_ns)
{
	return period_ns * 4 / 5 + (uint64_t)(drand48() * (double)period_ns * 2 / 5);
}

void cpu_samples_vary(struct cpu_samples *samples)
{
	for (size_t i = 0; i < samples->count && i < VARY_AT_ONCE; i++) {
		uint64_t period_ns = varied_ns(samples->period_ns);

		(void)ioctl(samples->items[samples->next].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
		samples->next = (samples->next + 1) % samples->count;
	}
}

void cpu_samples_set_period(const struct cpu_samples *samples, uint64_t period_ns)
{
	for (size_t i = 0; i < samples->count; i++)
		(void)ioctl(samples->items[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

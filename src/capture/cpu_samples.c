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
#include "base/clock.h"
#include "base/cpu_changes.h"
#include "base/duration.h"

/* At once: each interrupts its CPU. */
#define VARY_AT_ONCE 16

/* Periods between two changes, of which each cuts one short: or few would ever end. */
#define VARY_AFTER 8

static void release_items(struct cpu_sample *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bpf_link__destroy(items[i].link);
	free(items);
}

void cpu_samples_release(struct cpu_samples *samples)
{
	release_items(samples->items, samples->count);
	*samples = (struct cpu_samples){0};
}

static void set_period(const struct cpu_samples *samples, uint64_t period_ns)
{
	for (size_t i = 0; i < samples->count; i++)
		(void)ioctl(samples->items[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

/* 0, also where the CPU is not online, -errno, and what the kernel refused. */
static int add_cpu(struct cpu_samples *samples, int cpu, const char **ret_refused)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = samples->now_ns,
	};
	struct cpu_sample sample = {.since_ns = clock_monotonic_ns()};

	*ret_refused = "perf_event_open";
	sample.fd =
		(int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (sample.fd < 0)
		return errno == ENODEV ? 0 : -errno;
	if (array_reserve(&samples->items, &samples->room, samples->count + 1,
			  sizeof(*samples->items)) < 0) {
		close(sample.fd);
		*ret_refused = NULL;
		return -ENOMEM;
	}
	*ret_refused = "attaching to a perf event";
	sample.link = bpf_program__attach_perf_event(samples->program, sample.fd);
	if (!sample.link) {
		int code = errno;

		close(sample.fd);
		return -code;
	}
	samples->items[samples->count++] = sample;
	return 0;
}

/* On all CPUs or, as some would mislead, on none: -errno, and what the kernel refused, if it did.
 */
static int add_cpus(struct cpu_samples *samples, const char **ret_refused)
{
	int result = 0;

	cpu_changes_begin(&samples->changes);
	for (int cpu = 0; result == 0 && cpu < get_nprocs_conf(); cpu++)
		result = add_cpu(samples, cpu, ret_refused);
	return result;
}

int cpu_samples_attach(struct cpu_samples *samples, struct bpf_program *program,
		       unsigned int frequency, struct record_sink sink)
{
	const char *refused;
	char why[160];
	int result;

	*samples = (struct cpu_samples){.program = program, .period_ns = NS_PER_S / frequency};
	samples->now_ns = samples->period_ns;
	result = add_cpus(samples, &refused);
	if (result == 0)
		return 0;
	cpu_samples_release(samples);
	if (!refused)
		return result;
	snprintf(why, sizeof(why), "no samples: %s: %s", refused, strerror(-result));
	return sink_missing(sink, "samples", why);
}

void cpu_samples_follow(struct cpu_samples *samples)
{
	struct cpu_samples old = *samples,
			   fresh = {.program = samples->program, .now_ns = samples->now_ns};
	const char *refused;

	if (!samples->count || !cpu_changes_came(&samples->changes))
		return;
	if (add_cpus(&fresh, &refused) < 0) {
		release_items(fresh.items, fresh.count);
		/* the next look sees them again */
		samples->changes.online[0] = '\0';
		return;
	}
	pthread_mutex_lock(&samples->mutex);
	samples->items = fresh.items;
	samples->count = fresh.count;
	samples->room = fresh.room;
	samples->next = 0;
	set_period(samples, samples->now_ns);
	pthread_mutex_unlock(&samples->mutex);
	release_items(old.items, old.count);
}

/* At from 4/5 to 6/5 of the rate. */
uint64_t cpu_samples_varied_ns(uint64_t period_ns, uint64_t window_ns, double drawn)
{
	double period = (double)period_ns, lost = period / 2 / (double)window_ns;

	return (uint64_t)(period / ((1 + lost) * (0.8 + 0.4 * drawn)));
}

static void vary(const struct cpu_samples *samples, struct cpu_sample *sample, uint64_t now_ns)
{
	uint64_t window_ns = now_ns - sample->since_ns, period_ns;

	if (window_ns < VARY_AFTER * samples->period_ns)
		return;
	period_ns = cpu_samples_varied_ns(samples->period_ns, window_ns, drand48());
	(void)ioctl(sample->fd, PERF_EVENT_IOC_PERIOD, &period_ns);
	sample->since_ns = now_ns;
}

void cpu_samples_vary(struct cpu_samples *samples)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < samples->count && i < VARY_AT_ONCE; i++) {
		vary(samples, &samples->items[samples->next], now_ns);
		samples->next = (samples->next + 1) % samples->count;
	}
}

void cpu_samples_set_period(struct cpu_samples *samples, uint64_t period_ns)
{
	pthread_mutex_lock(&samples->mutex);
	samples->now_ns = period_ns;
	set_period(samples, period_ns);
	pthread_mutex_unlock(&samples->mutex);
}

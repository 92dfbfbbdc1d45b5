/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Now, in nanoseconds. CLOCK_MONOTONIC is also what the BPF programs' bpf_ktime_get_ns() reads. */
#ifndef DWELL_BASE_CLOCK_H
#define DWELL_BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_usec * 1000;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* Or less, if a signal comes. */
static inline void clock_sleep_ms(unsigned int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}

/* How long the machine has been suspended since boot: CLOCK_BOOTTIME less CLOCK_MONOTONIC. */
static inline uint64_t clock_suspended_ns(void)
{
	/* in this order: between the two readings only the difference grows, and never wraps */
	uint64_t monotonic_ns = clock_monotonic_ns();
	uint64_t ns = clock_ns(CLOCK_BOOTTIME) - monotonic_ns;

	/* the time between the readings is no suspension */
	return ns < 1000000000ULL / 100 ? 0 : ns;
}

#endif

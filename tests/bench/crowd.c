// SPDX-License-Identifier: GPL-2.0-or-later
/* `bench-crowd THREADS PERIOD_MS`: threads that compute for a moment once in each period. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define STEPS	    20000

static struct timespec period;

static void *live(void *data)
{
	volatile uint64_t sum = 0;
	struct timespec first = {.tv_nsec = rand_r(&(unsigned int){(unsigned int)(uintptr_t)data}) %
					    1000000000};

	/* not all at the same moment */
	nanosleep(&first, NULL);
	for (;;) {
		for (unsigned int i = 0; i < STEPS; i++)
			sum += i;
		nanosleep(&period, NULL);
	}
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1, period_ms = argc > 2 ? atol(argv[2]) : 1000;
	pthread_attr_t attributes;
	pthread_t thread;

	period.tv_sec = period_ms / 1000;
	period.tv_nsec = period_ms % 1000 * 1000000;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (long i = 1; i < count; i++)
		if (pthread_create(&thread, &attributes, live,
				   (void *)(uintptr_t)(getpid() * 1000 + i))) {
			perror("bench-crowd");
			return 1;
		}
	live(NULL);
}

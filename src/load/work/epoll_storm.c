// SPDX-License-Identifier: GPL-2.0-or-later
/* Producers write to an eventfd in bursts, and consumers wait for it, each with an epoll. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "load/work_type.h"

#define CONSUMER_UNITS 256

struct epoll_storm {
	uint64_t producers;
	uint64_t consumers;
	uint64_t burst;
	uint64_t pause;
};

static const struct param params[] = {
	PARAM(struct epoll_storm, producers, COUNT, "1", 1, 4096, "workers that write"),
	PARAM(struct epoll_storm, consumers, COUNT, "2", 1, 4096, "workers that wait and read"),
	PARAM(struct epoll_storm, burst, COUNT, "32", 1, 0, "writes without a pause"),
	PARAM(struct epoll_storm, pause, DURATION, "100us", 0, 0, "sleep before each burst"),
	{.name = NULL},
};

/* The first write of a burst is the one that wakes. */
struct shared {
	uint64_t stamp_ns;
};

struct consumer {
	int epoll_fd;
};

static unsigned int team_size(const void *params_)
{
	const struct epoll_storm *epoll_storm = params_;

	return (unsigned int)(epoll_storm->producers + epoll_storm->consumers);
}

static bool produces(const struct epoll_storm *epoll_storm, unsigned int position)
{
	return position < epoll_storm->producers;
}

static uint64_t units(const void *params_, unsigned int position)
{
	const struct epoll_storm *epoll_storm = params_;

	return produces(epoll_storm, position) ? epoll_storm->burst : CONSUMER_UNITS;
}

static int begin(struct worker *worker)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct consumer *consumer;

	if (produces(worker->params, worker->position))
		return 0;
	consumer = malloc(sizeof(*consumer));
	if (!consumer) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	consumer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	worker->state = consumer;
	if (consumer->epoll_fd < 0 ||
	    epoll_ctl(consumer->epoll_fd, EPOLL_CTL_ADD, worker->event_fd, &event) < 0) {
		worker_fail(worker, "epoll: %s", strerror(errno));
		return -EIO;
	}
	return 0;
}

static void produce(struct worker *worker)
{
	const struct epoll_storm *epoll_storm = worker->params;
	struct shared *shared = worker->shared;
	const uint64_t one = 1;

	if (epoll_storm->pause && !worker_rest(worker, epoll_storm->pause))
		return;
	worker_stamp(&shared->stamp_ns);
	for (uint64_t i = 0; i < epoll_storm->burst && !worker_stopping(); i++) {
		if (write(worker->event_fd, &one, sizeof(one)) != sizeof(one)) {
			worker_fail(worker, "eventfd: %s", strerror(errno));
			return;
		}
		worker->work_units++;
	}
}

/* True: there was something, at *ret_now_ns. */
static bool await_event(struct worker *worker, uint64_t *ret_now_ns)
{
	const struct consumer *consumer = worker->state;
	const struct shared *shared = worker->shared;
	uint64_t began_ns = clock_monotonic_ns();
	struct epoll_event event;
	int ready;

	do {
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		ready = epoll_wait(consumer->epoll_fd, &event, 1, (int)(WORKER_WAIT_NS / 1000000));
		if (ready < 0 && errno != EINTR) {
			worker_fail(worker, "epoll_wait: %s", strerror(errno));
			return false;
		}
	} while (ready <= 0);
	*ret_now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, *ret_now_ns - began_ns);
	worker_woken(worker, __atomic_load_n(&shared->stamp_ns, __ATOMIC_RELAXED), began_ns,
		     *ret_now_ns);
	return true;
}

static void consume(struct worker *worker)
{
	uint64_t now_ns, events;
	ssize_t got;

	/* several are woken for what one of them reads */
	do {
		if (!await_event(worker, &now_ns))
			return;
		got = read(worker->event_fd, &events, sizeof(events));
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got < 0) {
		worker_fail(worker, "eventfd: %s", strerror(errno));
		return;
	}
	worker_look(worker, now_ns);
	worker_spin(worker, CONSUMER_UNITS);
}

static void iterate(struct worker *worker)
{
	if (produces(worker->params, worker->position))
		produce(worker);
	else
		consume(worker);
}

static void end(struct worker *worker)
{
	struct consumer *consumer = worker->state;

	if (consumer && consumer->epoll_fd >= 0)
		close(consumer->epoll_fd);
	free(consumer);
}

const struct work_type work_epoll_storm = {
	.name = "epoll-storm",
	.summary = "bursts of events for several who wait with epoll",
	.params = params,
	.params_bytes = sizeof(struct epoll_storm),
	.flags = WORK_EVENTFD | WORK_WAITS,
	.team_size = team_size,
	.shared = sizeof(struct shared),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};

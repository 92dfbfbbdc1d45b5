// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What schbench does (Chris Mason, https://github.com/masoncl/schbench; its README has the method):
 * workers ask their messenger for work and sleep until it wakes them. Each request is a sleep, and
 * then matrices, multiplied under a spinlock of the CPU, which makes it costly for all to take a
 * worker off its CPU. With a rate, the messengers queue requests instead, a second's worth at once.
 *
 * The first members of a team are its messengers; the others belong to them in turn. All of a team
 * share the locks.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/machine_time.h"
#include "load/work/matrices.h"
#include "load/work/usable_cpus.h"
#include "load/work_type.h"

#define QUEUED_MAX     128 /* requests of a worker; more are dropped */
#define FULL_NS	       100000ULL
#define SECOND_NS      1000000000ULL
#define FIRST_AUTO_RPS 10

struct schbench {
	uint64_t message_threads;
	uint64_t threads;
	uint64_t footprint;
	uint64_t operations;
	uint64_t sleep;
	uint64_t locking;
	uint64_t rps;
	double auto_rps;
};

static const char *const answers[] = {"no", "yes", NULL};

static const struct param params[] = {
	PARAM(struct schbench, message_threads, COUNT, "1", 1, 256, "messengers of each team"),
	PARAM(struct schbench, threads, COUNT, "0", 0, 4096,
	      "workers of each messenger; 0: as many as there are CPUs for each of them"),
	PARAM(struct schbench, footprint, SIZE, "256K", MATRICES_MIN_BYTES, 1ULL << 34,
	      "memory of the three matrices of each worker"),
	PARAM(struct schbench, operations, COUNT, "5", 0, 0, "multiplications of each request"),
	PARAM(struct schbench, sleep, DURATION, "100us", 0, 0, "of each request, before them"),
	{.name = "locking",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct schbench, locking),
	 .initial = "yes",
	 .choices = answers,
	 .help = "it multiplies under a spinlock of its CPU"},
	PARAM(struct schbench, rps, COUNT, "0", 0, 100000000,
	      "requests a second of each team; 0: as many as its workers ask for"),
	PARAM(struct schbench, auto_rps, SHARE, "0", 0, 0,
	      "grows the rate until the machine's CPUs are so busy; 0: no"),
	{.name = NULL},
};

/* What one waits for, and when that was sent. */
struct post {
	_Alignas(64) uint32_t there; /* 0: who waits for it has to be woken */
	uint64_t stamp_ns;
};

struct member {
	struct post post;
	uint32_t queued; /* of a worker: requests that it has not taken yet */
	uint32_t next;	 /* of a worker in a list, of a messenger its first: position; 0: none */
};

struct spinlock {
	_Alignas(64) uint32_t held;
};

/* Behind the members are the locks, by CPU. */
struct bench {
	_Alignas(64) uint64_t rps; /* as it is now */
	struct member members[];
};

struct state {
	struct matrices *matrices;
	uint32_t taken;	 /* requests that it has not done yet */
	uint32_t turn;	 /* messenger: whose request is next */
	uint64_t due_ns; /* messenger: when the next second begins */
	struct machine_time before;
	uint64_t before_ns; /* 0: there was none */
};

static uint64_t threads_of(const struct schbench *schbench)
{
	uint64_t cpus = usable_cpus(), each = schbench->message_threads;

	return schbench->threads ? schbench->threads : (cpus + each - 1) / each;
}

static unsigned int team_size(const void *params_)
{
	const struct schbench *schbench = params_;

	return (unsigned int)(schbench->message_threads * (1 + threads_of(schbench)));
}

static unsigned int messengers(const void *params_)
{
	return (unsigned int)((const struct schbench *)params_)->message_threads;
}

/* As they were first counted, which reads files: the memory of a team must not be another one. */
static unsigned int lock_count(void)
{
	static long cpus;

	if (cpus <= 0)
		cpus = sysconf(_SC_NPROCESSORS_CONF);
	return cpus > 0 ? (unsigned int)cpus : 1;
}

static size_t shared_bytes(const void *params_)
{
	return sizeof(struct bench) + team_size(params_) * sizeof(struct member) +
	       lock_count() * sizeof(struct spinlock);
}

static bool by_rate(const struct schbench *schbench)
{
	return schbench->rps || schbench->auto_rps > 0;
}

static bool is_messenger(const struct worker *worker)
{
	return worker->position < messengers(worker->params);
}

static struct member *member_of(const struct worker *worker, unsigned int position)
{
	struct bench *bench = worker->shared;

	return &bench->members[position];
}

static struct member *messenger_of(const struct worker *worker)
{
	return member_of(worker, worker->position % messengers(worker->params));
}

static int begin(struct worker *worker)
{
	const struct schbench *schbench = worker->params;
	struct state *state = calloc(1, sizeof(*state));
	struct bench *bench = worker->shared;

	worker->state = state;
	if (!state) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	if (!worker->position)
		__atomic_store_n(&bench->rps, schbench->rps ? schbench->rps : FIRST_AUTO_RPS,
				 __ATOMIC_RELAXED);
	if (is_messenger(worker))
		return 0;
	state->matrices = matrices_make(worker, schbench->footprint);
	return state->matrices ? 0 : -ENOMEM;
}

static void send(struct post *post, uint64_t stamp_ns)
{
	__atomic_store_n(&post->stamp_ns, stamp_ns, __ATOMIC_RELAXED);
	if (!__atomic_exchange_n(&post->there, 1, __ATOMIC_SEQ_CST))
		worker_futex_wake(&post->there, 1);
}

/* False: stopped. */
static bool await_post(struct worker *worker, const struct post *post, bool *ret_blocked)
{
	uint64_t began_ns = clock_monotonic_ns();

	*ret_blocked = false;
	while (!__atomic_load_n(&post->there, __ATOMIC_ACQUIRE)) {
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		*ret_blocked |= worker_futex_wait(&post->there, 0);
	}
	return true;
}

/* Wakes all who have asked, last come first: one stamp for all, as they have waited long enough. */
static void answer(struct worker *worker)
{
	struct member *self = member_of(worker, worker->position);
	uint32_t position;
	uint64_t now_ns;
	bool blocked;

	__atomic_store_n(&self->post.there, 0, __ATOMIC_SEQ_CST);
	position = __atomic_exchange_n(&self->next, 0, __ATOMIC_SEQ_CST);
	now_ns = clock_monotonic_ns();
	while (position) {
		struct member *asker = member_of(worker, position);

		/* once woken, it may come into the next list */
		position = asker->next;
		send(&asker->post, now_ns);
		worker->work_units++;
	}
	now_ns = clock_monotonic_ns();
	if (!await_post(worker, &self->post, &blocked))
		return;
	/* it has nothing to do until it is asked: no gap */
	worker_gave_up(worker, now_ns);
	worker_look(worker, clock_monotonic_ns());
}

/* False: it has more than it will ever do. */
static bool queue_request(struct worker *worker, struct member *member)
{
	if (__atomic_load_n(&member->queued, __ATOMIC_SEQ_CST) > QUEUED_MAX)
		return false;
	__atomic_add_fetch(&member->queued, 1, __ATOMIC_SEQ_CST);
	send(&member->post, clock_monotonic_ns());
	worker->work_units++;
	return true;
}

/*
 * Its growth, from one second to the next: in whole steps where it is far from the aim, in small
 * ones where it is near.
 */
static double growth(double aim, double busy)
{
	double step = busy > 0 ? aim / busy : 3;

	if (step > 1)
		return step > 3	    ? 3
		       : step < 1.2 ? 1 + (step - 1) / 8
		       : step < 1.5 ? 1 + (step - 1) / 4
				    : step;
	return step < 0.3   ? 0.3
	       : step > 0.9 ? step + (1 - step) / 8
	       : step > 0.8 ? step + (1 - step) / 4
			    : step;
}

/* By how busy all CPUs of the machine were since the last time. */
static void adapt_rate(struct worker *worker)
{
	const struct schbench *schbench = worker->params;
	struct bench *bench = worker->shared;
	struct state *state = worker->state;
	struct machine_time now, passed;
	uint64_t now_ns = clock_monotonic_ns();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (machine_time_read(&now, MACHINE_TIME) < 0) {
		worker_note(worker, "cannot read " MACHINE_TIME ": its rate stays as it is");
		return;
	}
	if (state->before_ns && machine_time_since(&passed, &state->before, &now)) {
		double busy =
			(double)passed.busy_ns / (double)(now_ns - state->before_ns) / (double)cpus;
		double rps = (double)bench->rps * growth(schbench->auto_rps, busy);

		/* up, so that small ones grow at all; at least one, to come back from */
		__atomic_store_n(&bench->rps,
				 busy < schbench->auto_rps ? (uint64_t)rps + 1
				 : rps >= 1		   ? (uint64_t)rps
							   : 1,
				 __ATOMIC_RELAXED);
	}
	state->before = now;
	state->before_ns = now_ns;
}

/* A second's requests, one worker after the other, and then it sleeps until the next second. */
static void queue_second(struct worker *worker)
{
	const struct schbench *schbench = worker->params;
	const struct bench *bench = worker->shared;
	struct state *state = worker->state;
	uint64_t teams = schbench->message_threads, now_ns = clock_monotonic_ns();
	uint64_t members = worker->team_size / teams - 1, count;

	if (schbench->auto_rps > 0 && !worker->position)
		adapt_rate(worker);
	count = (__atomic_load_n(&bench->rps, __ATOMIC_RELAXED) + teams - 1) / teams;
	/* who is late by a second has lost it */
	state->due_ns = (state->due_ns + SECOND_NS > now_ns ? state->due_ns : now_ns) + SECOND_NS;
	for (uint64_t i = 0; i < count && !worker_stopping(); i++) {
		uint64_t nth = state->turn++ % members;

		if (!queue_request(worker, member_of(worker, (unsigned int)(worker->position +
									    (nth + 1) * teams))))
			worker_rest(worker, FULL_NS);
	}
	now_ns = clock_monotonic_ns();
	if (now_ns < state->due_ns)
		worker_rest(worker, state->due_ns - now_ns);
}

static void ask(struct worker *worker)
{
	struct member *self = member_of(worker, worker->position);
	struct member *messenger = messenger_of(worker);
	uint32_t first = __atomic_load_n(&messenger->next, __ATOMIC_RELAXED);

	do
		self->next = first;
	while (!__atomic_compare_exchange_n(&messenger->next, &first, worker->position, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	send(&messenger->post, 0);
}

/*
 * False: stopped. The wait is schbench's latency of a wakeup, from the stamp on, and also of one
 * that came before it slept; the other stream has, as in all types, only those who did.
 */
static bool await_answer(struct worker *worker, const struct post *post)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns, stamp_ns;
	bool blocked;

	if (!await_post(worker, post, &blocked))
		return false;
	now_ns = clock_monotonic_ns();
	stamp_ns = __atomic_load_n(&post->stamp_ns, __ATOMIC_RELAXED);
	worker_sample(worker, SAMPLES_RESUME, stamp_ns < now_ns ? now_ns - stamp_ns : 0);
	if (blocked)
		worker_woken(worker, stamp_ns, began_ns, now_ns);
	worker_look(worker, now_ns);
	return true;
}

/* The next request; False: stopped. */
static bool await_request(struct worker *worker)
{
	struct member *self = member_of(worker, worker->position);
	struct state *state = worker->state;

	while (!state->taken) {
		__atomic_store_n(&self->post.there, 0, __ATOMIC_SEQ_CST);
		if (by_rate(worker->params))
			state->taken = __atomic_exchange_n(&self->queued, 0, __ATOMIC_SEQ_CST);
		else
			ask(worker);
		if (state->taken)
			break;
		if (!await_answer(worker, &self->post))
			return false;
		state->taken = !by_rate(worker->params);
	}
	state->taken--;
	return true;
}

/* That of the CPU where it runs, and still does so when it has it. NULL: stopped. */
static struct spinlock *lock_cpu(const struct worker *worker)
{
	struct spinlock *locks = (struct spinlock *)member_of(worker, worker->team_size);

	for (;;) {
		unsigned int cpu = (unsigned int)sched_getcpu();
		struct spinlock *lock = &locks[cpu % lock_count()];

		while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
			if (worker_stopping())
				return NULL;
		if ((unsigned int)sched_getcpu() == cpu)
			return lock;
		__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
	}
}

/* False: stopped. */
static bool multiply(struct worker *worker)
{
	const struct schbench *schbench = worker->params;
	struct state *state = worker->state;
	struct spinlock *lock = NULL;
	uint64_t done = 0;

	if (schbench->locking) {
		lock = lock_cpu(worker);
		if (!lock)
			return false;
	}
	while (done < schbench->operations && matrices_multiply(state->matrices))
		done++;
	if (lock)
		__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
	worker->work_units += done;
	return done == schbench->operations;
}

static void iterate(struct worker *worker)
{
	const struct schbench *schbench = worker->params;
	uint64_t began_ns, now_ns;

	if (is_messenger(worker)) {
		if (by_rate(schbench))
			queue_second(worker);
		else
			answer(worker);
		return;
	}
	if (!await_request(worker))
		return;
	began_ns = clock_monotonic_ns();
	if (schbench->sleep && !worker_rest(worker, schbench->sleep))
		return;
	if (!multiply(worker))
		return;
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_COST, now_ns - began_ns);
	worker_look(worker, now_ns);
}

static void end(struct worker *worker)
{
	struct state *state = worker->state;

	if (state)
		matrices_free(state->matrices);
	free(state);
}

const struct work_type work_schbench = {
	.name = "schbench",
	.summary = "messengers and workers that serve requests, as schbench does",
	.params = params,
	.params_bytes = sizeof(struct schbench),
	.flags = WORK_MESSENGER | WORK_WAITS,
	.team_size = team_size,
	.messengers = messengers,
	.shared_bytes = shared_bytes,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};

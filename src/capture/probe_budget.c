// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* pipe2 */
#include "capture/probe_budget.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/await.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/priority.h"
#include "capture/probe_cost.h"
#include "capture/span_probes.h"
#include "capture/stack_watch.h"
#include "dwell.skel.h"

#define TICK_NS	  (100 * NS_PER_MS)
#define WINDOW_NS (20 * NS_PER_MS)

/* Looks in a row with the probes too dear, or cheap enough again. */
#define LOOKS_TO_CHANGE 3

/* Below this part of the budget all polls are probed again. */
#define CHEAP_AGAIN 0.7

/*
 * Of the budget, what the probes may cost by their measure: in a program with caches of its own to
 * fill they cost half as much again, and the hooks of the scheduler and samples cost, too.
 */
#define PROBES_SHARE 0.4

/* A target that uses less than so much of a CPU may lose as much as if it did. */
#define CPU_SHARE_MIN 0.5

/* What is not used adds up to so much of the budget. */
#define SAVED_NS (500 * NS_PER_MS)

/*
 * At a time: the probes of beginnings and of returns are two links, and each costs its target until
 * its own closing has begun.
 */
#define CLOSERS 4

/* A run that is not over by then is forgotten. */
#define RUN_MAX_NS (2 * NS_PER_S)
#define RUNS_MAX   64

struct probe_budget {
	struct span_probes *probes;
	double share;	  /* of the target's CPU time, for the probes */
	uint64_t poll_ns; /* the cost of one; 0: not measured */
	pthread_t thread, closers[CLOSERS];
	size_t closer_count;
	int stop_fd, close_fds[2];
	struct ring_buffer *alarms;
	clockid_t cpu_clock;
	pthread_mutex_t mutex; /* of `use` */
	struct probe_use use;
	/* all else is the thread's */
	bool attached, sampling;
	unsigned int changing; /* looks in a row that speak for the other mode */
	uint64_t looked_ns, polls, cpu_ns;
	double saved_ns; /* of what the probes may cost, not used so far; below 0: overdrawn */
	uint64_t window_ns, window_until_ns; /* the next one begins, or the present one ends */
	uint64_t window_polls, window_cpu_ns, window_at_ns; /* at its beginning */
	double dearness; /* what probing all would cost, as a share of CPU time; a moving mean */
	struct run {
		uint32_t tid; /* 0: free */
		uint64_t until_ns;
		struct stack_watch watch;
	} runs[RUNS_MAX];
};

static struct span_poll_counts read_counts(const struct probe_budget *budget)
{
	int cpus = libbpf_num_possible_cpus();
	cleanup_free struct span_poll_counts *values =
		calloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*values));
	struct span_poll_counts sum = {0};
	__u32 key = 0;

	if (!values || bpf_map_lookup_elem(bpf_map__fd(budget->probes->bpf->maps.span_polls), &key,
					   values) < 0)
		return (struct span_poll_counts){.polls = budget->polls};
	for (int i = 0; i < cpus; i++) {
		sum.polls += values[i].polls;
		for (int j = 0; j < 2; j++) {
			sum.timed[j] += values[i].timed[j];
			sum.timed_ns[j] += values[i].timed_ns[j];
		}
	}
	return sum;
}

/* What a look at the counts says of the time since the one before. */
struct look {
	uint64_t polls, cpu_ns, wall_ns;
};

/* Of what the share is. */
static double base_of(const struct look *look)
{
	return fmax((double)look->cpu_ns, CPU_SHARE_MIN * (double)look->wall_ns);
}

static struct look look(struct probe_budget *budget, uint64_t now_ns)
{
	uint64_t polls = read_counts(budget).polls, cpu_ns = clock_ns(budget->cpu_clock);
	struct look look = {polls - budget->polls,
			    cpu_ns > budget->cpu_ns ? cpu_ns - budget->cpu_ns : 0,
			    now_ns - budget->looked_ns};
	double cost_ns = (double)look.polls * (double)budget->poll_ns;
	double most_ns = budget->share * (double)SAVED_NS;

	budget->saved_ns =
		fmin(budget->saved_ns + budget->share * base_of(&look) - cost_ns, most_ns);
	pthread_mutex_lock(&budget->mutex);
	budget->use.observed_ns += now_ns - budget->looked_ns;
	if (budget->attached)
		budget->use.probed_ns += now_ns - budget->looked_ns;
	budget->use.polls += look.polls;
	budget->use.cpu_ns += look.cpu_ns;
	budget->use.cost_ns = budget->use.polls * budget->poll_ns;
	pthread_mutex_unlock(&budget->mutex);
	budget->looked_ns = now_ns;
	budget->polls = polls;
	budget->cpu_ns = cpu_ns;
	return look;
}

/* The share of the CPU time without the probes that they would add if they were attached. */
static double dearness_of(const struct probe_budget *budget, const struct look *seen)
{
	double cost_ns = (double)seen->polls * (double)budget->poll_ns;
	double rest_ns = base_of(seen) - cost_ns;

	return rest_ns > cost_ns / 100 ? cost_ns / rest_ns : cost_ns > 0 ? 100 : 0;
}

/* Hooks must see the change before the probes come, and before they go: span_refresh(). */
static void announce(const struct probe_budget *budget, bool probed, uint64_t now_ns)
{
	struct dwell_bpf *bpf = budget->probes->bpf;

	__atomic_store_n(probed ? &bpf->bss->span_probed_ns : &bpf->bss->span_unprobed_ns, now_ns,
			 __ATOMIC_SEQ_CST);
	if (!probed)
		__atomic_store_n(&bpf->bss->span_unprobed, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&bpf->bss->span_generation, 1, __ATOMIC_SEQ_CST);
	if (probed)
		__atomic_store_n(&bpf->bss->span_unprobed, 0, __ATOMIC_SEQ_CST);
}

static void attach(struct probe_budget *budget)
{
	if (budget->attached || span_probes_polls_on(budget->probes) < 0)
		return;
	look(budget, clock_monotonic_ns());
	budget->attached = true;
	announce(budget, true, clock_monotonic_ns());
}

/* Closing waits for a grace period: the thread must not. */
static void detach(struct probe_budget *budget)
{
	int fd;

	if (!budget->attached)
		return;
	look(budget, clock_monotonic_ns());
	announce(budget, false, clock_monotonic_ns());
	budget->attached = false;
	while ((fd = span_probes_polls_next(budget->probes)) >= 0)
		if (write(budget->close_fds[1], &fd, sizeof(fd)) != sizeof(fd))
			close(fd);
}

static void *closer_thread(void *data)
{
	struct probe_budget *budget = data;
	int fd;

	/* until it runs, the probes cost */
	(void)priority_hurry();
	while (read(budget->close_fds[0], &fd, sizeof(fd)) == sizeof(fd))
		close(fd);
	return NULL;
}

/* From half to one and a half of the mean, so that nothing periodic is met always or never. */
static uint64_t at_random(double mean_ns)
{
	return (uint64_t)(mean_ns * (0.5 + (double)rand() / RAND_MAX));
}

static void plan_window(struct probe_budget *budget, uint64_t now_ns)
{
	double times = budget->dearness > budget->share ? budget->dearness / budget->share : 1;

	budget->window_until_ns = 0;
	budget->window_ns = now_ns + at_random((double)WINDOW_NS * (times < 50 ? times : 50));
}

_Static_assert(SPAN_SLOTS == STACK_WATCH_WORDS, "all are watched");

static void end_run(struct probe_budget *budget, struct run *run)
{
	if (!run->tid)
		return;
	bpf_map_delete_elem(bpf_map__fd(budget->probes->bpf->maps.span_watched), &run->tid);
	stack_watch_close(&run->watch);
	run->tid = 0;
}

static void end_runs(struct probe_budget *budget, uint64_t until_ns)
{
	for (size_t i = 0; i < RUNS_MAX; i++)
		if (budget->runs[i].until_ns <= until_ns)
			end_run(budget, &budget->runs[i]);
}

static void begin_run(struct probe_budget *budget, struct run *run, const struct span_alarm *alarm)
{
	struct dwell_bpf *bpf = budget->probes->bpf;
	uint64_t now_ns;

	end_run(budget, run);
	if (stack_watch_open(&run->watch, bpf_program__fd(bpf->progs.on_poll_again), alarm->tid,
			     (const uint64_t *)alarm->slots) < 0)
		return;
	now_ns = clock_monotonic_ns();
	run->tid = alarm->tid;
	run->until_ns = now_ns + RUN_MAX_NS;
	bpf_map_update_elem(bpf_map__fd(bpf->maps.span_watched), &run->tid, &now_ns, BPF_ANY);
}

static void set_sampling(struct probe_budget *budget, bool sampling, uint64_t now_ns)
{
	budget->sampling = sampling;
	budget->changing = 0;
	cpu_samples_set_period(&budget->probes->samples,
			       sampling ? NS_PER_MS : budget->probes->samples.period_ns);
	if (!sampling) {
		end_runs(budget, UINT64_MAX);
		attach(budget);
		return;
	}
	detach(budget);
	/* what it cost to find out is past */
	budget->saved_ns = 0;
	plan_window(budget, now_ns);
}

/* Of all polls. */
static void judge_all(struct probe_budget *budget, const struct look *seen, uint64_t now_ns)
{
	budget->dearness = dearness_of(budget, seen);
	budget->changing = budget->dearness > budget->share ? budget->changing + 1 : 0;
	if (budget->changing >= LOOKS_TO_CHANGE)
		set_sampling(budget, true, now_ns);
}

static void begin_window(struct probe_budget *budget, uint64_t now_ns)
{
	if (budget->saved_ns < budget->share * (double)SAVED_NS / 2) {
		plan_window(budget, now_ns);
		return;
	}
	attach(budget);
	look(budget, clock_monotonic_ns());
	budget->window_polls = budget->polls;
	budget->window_cpu_ns = budget->cpu_ns;
	budget->window_at_ns = budget->looked_ns;
	budget->window_until_ns = budget->looked_ns + WINDOW_NS;
}

static void end_window(struct probe_budget *budget, uint64_t now_ns)
{
	struct look seen = {budget->polls - budget->window_polls,
			    budget->cpu_ns - budget->window_cpu_ns, now_ns - budget->window_at_ns};

	budget->dearness += (dearness_of(budget, &seen) - budget->dearness) / 4;
	budget->changing =
		budget->dearness < CHEAP_AGAIN * budget->share ? budget->changing + 1 : 0;
	if (budget->changing >= LOOKS_TO_CHANGE) {
		set_sampling(budget, false, now_ns);
		return;
	}
	plan_window(budget, now_ns);
	detach(budget);
}

static int take_alarm(void *data, void *record, size_t size)
{
	struct probe_budget *budget = data;
	const struct span_alarm *alarm = record;
	struct run *room = NULL;

	if (size < sizeof(*alarm) || !budget->sampling)
		return 0;
	for (size_t i = 0; i < RUNS_MAX; i++) {
		struct run *run = &budget->runs[i];

		if (run->tid == alarm->tid || (!run->tid && !room))
			room = run;
		if (run->tid == alarm->tid)
			break;
	}
	if (!room)
		return 0;
	if (alarm->what == SPAN_ALARM_RUN)
		begin_run(budget, room, alarm);
	else if (room->tid == alarm->tid)
		end_run(budget, room);
	return 0;
}

/* While the probes are on for a part of the time. */
static void sample(struct probe_budget *budget, uint64_t now_ns)
{
	end_runs(budget, now_ns);
	/* as much as the budget has is overdrawn: nothing is worth more */
	if (budget->window_until_ns && budget->saved_ns < -budget->share * (double)SAVED_NS)
		budget->window_until_ns = now_ns;
	if (budget->window_until_ns && now_ns >= budget->window_until_ns)
		end_window(budget, now_ns);
	if (budget->sampling && !budget->window_until_ns && now_ns >= budget->window_ns)
		begin_window(budget, now_ns);
}

static uint64_t next_ns(const struct probe_budget *budget)
{
	uint64_t next_ns = budget->looked_ns + TICK_NS;

	if (!budget->sampling)
		return next_ns;
	/* what it costs is looked at often */
	if (budget->attached)
		next_ns = budget->looked_ns + WINDOW_NS / 4;
	if (budget->window_until_ns && budget->window_until_ns < next_ns)
		next_ns = budget->window_until_ns;
	if (!budget->window_until_ns && budget->window_ns < next_ns)
		next_ns = budget->window_ns;
	return next_ns;
}

static bool is_to_end(const struct probe_budget *budget, uint64_t until_ns)
{
	struct pollfd fds[2] = {{.fd = budget->stop_fd, .events = POLLIN},
				{.fd = ring_buffer__epoll_fd(budget->alarms), .events = POLLIN}};

	return await_ready(fds, ARRAY_SIZE(fds), until_ns) < 0 || fds[0].revents;
}

static void *budget_thread(void *data)
{
	struct probe_budget *budget = data;
	const struct span_poll_counts counts = read_counts(budget);
	int kept_ready = stack_watch_ready();

	/* a stall does not wait for a CPU */
	(void)priority_hurry();
	budget->poll_ns = probe_cost(budget->probes->bpf, &counts, budget->probes->are_stepped);
	budget->looked_ns = clock_monotonic_ns();
	budget->polls = read_counts(budget).polls;
	budget->cpu_ns = clock_ns(budget->cpu_clock);
	while (!is_to_end(budget, next_ns(budget))) {
		uint64_t now_ns = clock_monotonic_ns();
		struct look seen;

		ring_buffer__consume(budget->alarms);
		if (!budget->sampling && now_ns < budget->looked_ns + TICK_NS)
			continue;
		seen = look(budget, now_ns);
		if (budget->sampling)
			sample(budget, now_ns);
		else
			judge_all(budget, &seen, now_ns);
	}
	if (kept_ready >= 0)
		close(kept_ready);
	return NULL;
}

/* Signals are for the main thread, which waits for them. */
static int start_threads(struct probe_budget *budget)
{
	sigset_t all, before;
	int result = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; !result && i < CLOSERS; i++) {
		result = pthread_create(&budget->closers[i], NULL, closer_thread, budget);
		budget->closer_count += !result;
	}
	if (!result)
		result = pthread_create(&budget->thread, NULL, budget_thread, budget);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

static void release(struct probe_budget *budget)
{
	if (budget->close_fds[1] >= 0)
		close(budget->close_fds[1]);
	for (size_t i = 0; i < budget->closer_count; i++)
		pthread_join(budget->closers[i], NULL);
	if (budget->close_fds[0] >= 0)
		close(budget->close_fds[0]);
	if (budget->stop_fd >= 0)
		close(budget->stop_fd);
	end_runs(budget, UINT64_MAX);
	ring_buffer__free(budget->alarms);
	free(budget);
}

struct probe_budget *probe_budget_start(struct span_probes *probes, double share)
{
	struct probe_budget *budget = calloc(1, sizeof(*budget));

	if (!budget)
		return NULL;
	budget->probes = probes;
	budget->share = share < 1 ? share * PROBES_SHARE : HUGE_VAL;
	budget->attached = true;
	budget->close_fds[0] = budget->close_fds[1] = -1;
	pthread_mutex_init(&budget->mutex, NULL);
	budget->stop_fd = eventfd(0, EFD_CLOEXEC);
	budget->alarms = ring_buffer__new(bpf_map__fd(probes->bpf->maps.span_alarms), take_alarm,
					  budget, NULL);
	if (budget->stop_fd < 0 || !budget->alarms || pipe2(budget->close_fds, O_CLOEXEC) < 0 ||
	    clock_getcpuclockid((pid_t)probes->options->pid, &budget->cpu_clock) ||
	    start_threads(budget)) {
		release(budget);
		return NULL;
	}
	return budget;
}

struct probe_use probe_budget_use(struct probe_budget *budget)
{
	struct probe_use use = {0};

	if (!budget)
		return use;
	pthread_mutex_lock(&budget->mutex);
	use = budget->use;
	pthread_mutex_unlock(&budget->mutex);
	return use;
}

void probe_budget_stop(struct probe_budget *budget)
{
	const uint64_t one = 1;

	if (!budget)
		return;
	if (write(budget->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(budget->thread, NULL);
	release(budget);
}

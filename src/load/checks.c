// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/checks.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/similar.h"
#include "load/taken.h"

/* A machine that does nothing else uses less than that for itself. */
#define TAKEN_LEAST    0.05
#define TAKEN_LEAST_NS 200e6 /* and the kernel counts it in ticks */

/* Others are not blamed for a gap of more than so many times the limit. */
#define GAP_EXCESS_MOST 10

#define WHY_BYTES	96

/* A worker that has not done anything for less than that may have been about to. */
#define IDLE_LEAST_NS 100000000ULL

enum check {
	CHECK_COMPLETED,
	CHECK_WORKED,
	CHECK_RUN,
	CHECK_NOT_STARVED,
	CHECK_SETTINGS,
	CHECK_MAX_GAP,
	CHECK_MAX_SPREAD,
	CHECK_ISOLATION,
	CHECK_WAKE_P99,
	CHECK_WAKE_CV,
	CHECK_MIN_ITERATION_RATE,
	CHECK_MAX_MIGRATION_RATIO,
	CHECK_THROUGHPUT_CV,
	CHECK_MIN_WORK_RATE,
	CHECK_NUMA_LOCALITY,
};

#define AT(member) offsetof(struct spec_checks, member)

const struct check_info check_info[] = {
	[CHECK_COMPLETED] = {"completed", CHECK_FLAG, 0, NULL},
	[CHECK_WORKED] = {"worked", CHECK_FLAG, 0, NULL},
	[CHECK_RUN] = {"run", CHECK_FLAG, 0, NULL},
	[CHECK_NOT_STARVED] = {"not-starved", CHECK_FLAG, AT(not_starved),
			       "every worker did some work"},
	[CHECK_SETTINGS] = {"settings", CHECK_FLAG, AT(settings),
			    "no policy, nice value, affinity or memory policy was refused"},
	[CHECK_MAX_GAP] = {"max-gap", CHECK_DURATION, AT(max_gap_ns),
			   "longest time in which a worker made no progress"},
	[CHECK_MAX_SPREAD] = {"max-spread", CHECK_SHARE, AT(max_spread),
			      "between the off-CPU shares of the workers of a group"},
	[CHECK_ISOLATION] = {"isolation", CHECK_FLAG, AT(isolation),
			     "workers ran on CPUs of their cpuset only"},
	[CHECK_WAKE_P99] = {"wake-p99", CHECK_DURATION, AT(wake_p99_ns),
			    "99th percentile of wakeups of a group: wake to run, or of the waits"},
	[CHECK_WAKE_CV] = {"wake-cv", CHECK_NUMBER, AT(wake_cv),
			   "coefficient of variation of the same"},
	[CHECK_MIN_ITERATION_RATE] = {"min-iteration-rate", CHECK_NUMBER, AT(min_iteration_rate),
				      "iterations per second of each worker"},
	[CHECK_MAX_MIGRATION_RATIO] = {"max-migration-ratio", CHECK_NUMBER, AT(max_migration_ratio),
				       "migrations per iteration of each worker"},
	[CHECK_THROUGHPUT_CV] = {"throughput-cv", CHECK_NUMBER, AT(throughput_cv),
				 "coefficient of variation of the workers' units per CPU second"},
	[CHECK_MIN_WORK_RATE] = {"min-work-rate", CHECK_NUMBER, AT(min_work_rate),
				 "work units per CPU second of each worker"},
	[CHECK_NUMA_LOCALITY] = {"numa-locality", CHECK_SHARE, AT(numa_locality),
				 "share of the pages on the nodes of the workers' CPUs"},
	{NULL, CHECK_FLAG, 0, NULL},
};

static int parse_flag(const char *name, const char *text, bool *flag, struct error *error)
{
	*flag = !strcasecmp(text, "true") || !strcasecmp(text, "yes");
	if (*flag || !strcasecmp(text, "false") || !strcasecmp(text, "no"))
		return 0;
	return error_set(error, EINVAL, "%s: '%s' is neither true nor false", name, text);
}

static int parse_number(const struct check_info *check, const char *text, double *number,
			struct error *error)
{
	uint64_t ns;
	char *end;
	int result;

	/* what --check NAME alone comes to, and is for flags */
	if (!strcasecmp(text, "true"))
		return error_set(error, EINVAL, "%s needs a limit: %s", check->key,
				 check->kind == CHECK_DURATION ? "a time, as 200us"
				 : check->kind == CHECK_SHARE  ? "a share, as 15%"
							       : "a number");
	if (check->kind == CHECK_DURATION) {
		result = duration_parse(text, &ns, error);
		if (result < 0)
			return error_wrap(error, result, "%s", check->key);
		*number = (double)ns;
		return 0;
	}
	*number = strtod(text, &end);
	if (end != text && *end == '%' && check->kind == CHECK_SHARE) {
		*number /= 100;
		end++;
	}
	if (end == text || *end || !(*number >= 0) || !(*number < 1e18) ||
	    (check->kind == CHECK_SHARE && *number > 1))
		return error_set(error, EINVAL, "%s: '%s' is not a %s", check->key, text,
				 check->kind == CHECK_SHARE ? "share: use 0 to 1, or a percentage"
							    : "number");
	return 0;
}

int spec_parse_check(struct spec_checks *checks, const char *name, const char *text,
		     struct error *error)
{
	struct similar similar = {.wanted = name};

	for (const struct check_info *check = check_info; check->key; check++) {
		void *at = (char *)checks + check->offset;

		if (!check->help)
			continue;
		if (similar_same(check->key, name))
			return check->kind == CHECK_FLAG ? parse_flag(check->key, text, at, error)
							 : parse_number(check, text, at, error);
		similar_try(&similar, check->key);
	}
	return similar_error(error, EINVAL, &similar, "; `dwell load --list checks` shows them all",
			     "unknown check '%s'", name);
}

void check_format(char *into, size_t room, enum check_kind kind, double value)
{
	if (isnan(value))
		snprintf(into, room, "-");
	else if (kind == CHECK_DURATION)
		duration_format(into, room, (uint64_t)value);
	else if (kind == CHECK_SHARE)
		snprintf(into, room, "%.1f%%", 100 * value);
	else
		snprintf(into, room, "%.4g", value);
}

/* What a check is applied to, and where its check_results go. */
struct judging {
	const struct run *run;
	const struct run_group *worker_group;
	const struct summary *summary;
	const struct pressure *pressure;
	struct taken taken; /* from this group */
	struct check_results *check_results;
	int result;
};

__attribute__((format(printf, 7, 8))) static void find(struct judging *judging, enum check check,
						       enum verdict verdict, uint32_t tid,
						       double value, double limit,
						       const char *format, ...)
{
	struct check_results *check_results = judging->check_results;
	struct check_result *check_result;
	va_list args;

	if (array_reserve(&check_results->items, &check_results->room, check_results->count + 1,
			  sizeof(*check_results->items)) < 0) {
		judging->result = -ENOMEM;
		return;
	}
	check_result = &check_results->items[check_results->count++];
	*check_result = (struct check_result){
		.check = &check_info[check],
		.verdict = verdict,
		.worker_group = judging->worker_group,
		.tid = tid,
		.value = value,
		.limit = limit,
	};
	va_start(args, format);
	vsnprintf(check_result->text, sizeof(check_result->text), format, args);
	va_end(args);
	if (verdict > check_results->verdict)
		check_results->verdict = verdict;
}

/*
 * Whether a figure may have missed its limit because of time that was taken from the workers: one
 * that did not run meanwhile. What is missed by more than that can have done remains a failure.
 */
static bool may_be_by(const struct judging *judging, double taken, double taken_ns,
		      enum check check, double value, double limit)
{
	double elapsed_ns = (double)judging->pressure->elapsed_ns;

	if (taken < TAKEN_LEAST || taken_ns < TAKEN_LEAST_NS)
		return false;
	switch (check) {
	case CHECK_COMPLETED:
	case CHECK_NOT_STARVED:
		/* half of a CPU, all the time */
		return taken_ns >= elapsed_ns / 2;
	case CHECK_MAX_GAP:
		return value - limit <= fmin(taken_ns, GAP_EXCESS_MOST * limit);
	case CHECK_MAX_SPREAD:
		return value - limit <= taken;
	case CHECK_WAKE_P99:
		/* it does not delay more of the wakeups than there is of the time */
		return (double)judging->summary->samples[summary_wakes(judging->summary)].p50 <=
		       limit;
	case CHECK_WAKE_CV:
		return true;
	case CHECK_MIN_ITERATION_RATE:
		return value >= limit * (1 - taken);
	default:
		return false;
	}
}

static bool may_lack_cpus(enum check check, double value, double limit)
{
	switch (check) {
	case CHECK_MAX_GAP:
	case CHECK_WAKE_P99:
		return value - limit <= GAP_EXCESS_MOST * limit;
	/* figures of CPU time too: an emulated CPU counts what it lacked as its own */
	case CHECK_COMPLETED:
	case CHECK_WORKED:
	case CHECK_NOT_STARVED:
	case CHECK_MAX_SPREAD:
	case CHECK_WAKE_CV:
	case CHECK_MIN_ITERATION_RATE:
	case CHECK_THROUGHPUT_CV:
	case CHECK_MIN_WORK_RATE:
		return true;
	default:
		return false;
	}
}

bool check_may_lack_cpus(const char *name, double value, double limit)
{
	for (int i = 0; check_info[i].key; i++)
		if (!strcmp(check_info[i].key, name))
			return may_lack_cpus((enum check)i, value, limit);
	return false;
}

/*
 * For how long a limit of CPU time that is around dwell and all its workers, as a container's, held
 * a worker up. The kernel adds up all CPUs that had something to run; so many workers can be held
 * up at a time, and no more.
 */
static double held_ns(const struct judging *judging)
{
	unsigned int cpus = cpus_count(&judging->run->topology->usable);
	unsigned int at_once = judging->run->workers < cpus ? judging->run->workers : cpus;
	double ns = (double)judging->pressure->throttled_ns / (at_once ? at_once : 1);

	return fmin(ns, (double)judging->pressure->elapsed_ns);
}

/* Says so, and returns the verdict of what failed. */
static enum verdict fail_unless_others(const struct judging *judging, enum check check,
				       double value, double limit, char *why, size_t room)
{
	double held = held_ns(judging);

	*why = '\0';
	if (judging->pressure->elapsed_ns &&
	    may_be_by(judging, held / (double)judging->pressure->elapsed_ns, held, check, value,
		      limit)) {
		char text[16];

		duration_format(text, sizeof(text), (uint64_t)held);
		snprintf(why, room, "; but a CPU limit around dwell (cpu.max) held it up for %s",
			 text);
		return VERDICT_INCONCLUSIVE;
	}
	if (!may_be_by(judging, judging->taken.share, judging->taken.ns, check, value, limit))
		return VERDICT_FAIL;
	snprintf(why, room, "; but others had %.0f %% of %s CPUs' time", 100 * judging->taken.share,
		 judging->taken.of_own ? "its" : "the");
	return VERDICT_INCONCLUSIVE;
}

/* "FIGURE, limit LIMIT" in the unit of the check. */
static void find_value(struct judging *judging, enum check check, enum verdict verdict,
		       uint32_t tid, double value, double limit, const char *what)
{
	char shown[32], most[32], why[WHY_BYTES] = "";

	if (verdict == VERDICT_FAIL)
		verdict = fail_unless_others(judging, check, value, limit, why, sizeof(why));
	check_format(shown, sizeof(shown), check_info[check].kind, value);
	check_format(most, sizeof(most), check_info[check].kind, limit);
	find(judging, check, verdict, tid, value, limit, "%s%s%s, limit %s%s", what,
	     *what ? " " : "", shown, most, why);
}

/* How long the workers were to work, as far as they were let. */
static uint64_t worked_ns(const struct run *run)
{
	uint64_t ns = run->stopped_ns - run->started_ns;

	return run->hold_ns < ns ? run->hold_ns : ns;
}

/* Whether one that did nothing may have been about to, in the time that it had. */
static bool had_little_time(const struct judging *judging, const struct worker_report *report)
{
	return worked_ns(judging->run) < IDLE_LEAST_NS || report_free_ns(report) < IDLE_LEAST_NS;
}

/*
 * A figure of each worker against a limit: reports those that fail one by one, and if none does,
 * the worst. Figures of nothing (NAN) make the group inconclusive.
 */
static void judge_workers(struct judging *judging, enum check check, double limit, bool at_least,
			  double (*value_of)(const struct worker_report *report))
{
	double worst = NAN;
	unsigned int failed = 0, unknown = 0;

	if (isnan(limit))
		return;
	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&judging->worker_group->worker_group.workers[i]);
		double value = report ? value_of(report) : NAN;

		if (!report)
			continue;
		if (isnan(value) ||
		    (at_least && !(value > 0) && had_little_time(judging, report))) {
			unknown++;
			continue;
		}
		if (isnan(worst) || (at_least ? value < worst : value > worst))
			worst = value;
		if (at_least ? value >= limit : value <= limit)
			continue;
		failed++;
		find_value(judging, check, VERDICT_FAIL, report->tid, value, limit, "");
	}
	if (unknown && judging->worker_group->group.work->type->flags & WORK_BYPASS)
		find(judging, check, VERDICT_SKIP, 0, NAN, limit, "%s does not report it",
		     judging->worker_group->group.work->type->name);
	else if (unknown)
		find(judging, check, VERDICT_INCONCLUSIVE, 0, NAN, limit,
		     "%u worker%s did too little to judge", unknown, unknown == 1 ? "" : "s");
	if (!failed && !isnan(worst))
		find_value(judging, check, VERDICT_PASS, 0, worst, limit, "worst");
}

static double gap_of(const struct worker_report *report)
{
	return report->looks ? (double)report->max_gap_ns : NAN;
}

static double migration_ratio_of(const struct worker_report *report)
{
	return report->looks && report->iterations
		       ? (double)report->migration_count / (double)report->iterations
		       : NAN;
}

static void exit_text(char *into, size_t room, const struct group_worker *worker)
{
	switch (worker->exit) {
	case EXIT_SIGNALED:
		snprintf(into, room, "was killed by signal %d (%s)", worker->exit_code,
			 strsignal(worker->exit_code));
		break;
	case EXIT_TIMED_OUT:
		snprintf(into, room, "%s, and was killed",
			 worker->lacks_cpu ? "got no CPU to report" : "did not report in time");
		break;
	case EXIT_WAIT_FAILED:
		snprintf(into, room, "was lost: %s", strerror(worker->exit_code));
		break;
	default:
		snprintf(into, room, "ended without a report, with status %d", worker->exit_code);
		break;
	}
}

/* A type with 0 units to spin still makes progress. */
static bool counts_nothing(const struct run_group *worker_group, unsigned int number)
{
	const struct spec_work *work = worker_group->group.work;
	uint64_t units;

	return work_units(work->type, work->params, number % worker_group->group.team_size,
			  &units) &&
	       !units;
}

static bool did_nothing(const struct run_group *worker_group, unsigned int number,
			const struct worker_report *report)
{
	return !report->work_units &&
	       !(counts_nothing(worker_group, number) && report->iterations > 1);
}

/* Without a CPU it could not report, whether it was killed then or ended just before. */
static bool lacked_cpu(const struct group_worker *worker)
{
	return worker->lacks_cpu && (worker->exit == EXIT_TIMED_OUT || worker->exit == EXIT_EXITED);
}

static void judge_completed(struct judging *judging)
{
	unsigned int idle = 0;
	char idlers[48] = "";

	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct group_worker *worker = &judging->worker_group->worker_group.workers[i];
		const struct worker_report *report = worker_group_report(worker);
		char text[96];

		idle += report && did_nothing(judging->worker_group, i, report);
		if (!report) {
			char why[WHY_BYTES] = "";
			enum verdict verdict =
				lacked_cpu(worker) ? fail_unless_others(judging, CHECK_COMPLETED,
									NAN, NAN, why, sizeof(why))
						   : VERDICT_FAIL;

			exit_text(text, sizeof(text), worker);
			find(judging, CHECK_COMPLETED, verdict,
			     shared_slot(&judging->worker_group->worker_group.shared, i)->tid, NAN,
			     NAN, "%s%s", text, why);
		} else if (*report->work_error) {
			find(judging, CHECK_WORKED, VERDICT_FAIL, report->tid, NAN, NAN, "%s",
			     report->work_error);
		} else if (report->program_ended && report->program_status) {
			find(judging, CHECK_WORKED, VERDICT_FAIL, report->tid, NAN, NAN,
			     "its program ended with %s %d",
			     report->program_status & 0x7f ? "signal" : "status",
			     report->program_status & 0x7f ? report->program_status & 0x7f
							   : report->program_status >> 8);
		}
	}
	if (judging->summary->completed != judging->summary->workers)
		return;
	if (idle)
		snprintf(idlers, sizeof(idlers), ", %u of them without any work", idle);
	find(judging, CHECK_COMPLETED, VERDICT_PASS, 0, NAN, NAN, "%u worker%s reported%s",
	     judging->summary->completed, judging->summary->completed == 1 ? "" : "s", idlers);
}

static void judge_starved(struct judging *judging)
{
	unsigned int starved = 0;
	char why[WHY_BYTES];
	enum verdict verdict;

	if (!judging->run->spec->checks.not_starved)
		return;
	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&judging->worker_group->worker_group.workers[i]);

		if (!report || !did_nothing(judging->worker_group, i, report))
			continue;
		starved++;
		if (had_little_time(judging, report)) {
			bool is_short = worked_ns(judging->run) < report_free_ns(report);

			duration_format(why, sizeof(why),
					is_short ? worked_ns(judging->run)
						 : report_free_ns(report));
			find(judging, CHECK_NOT_STARVED, VERDICT_INCONCLUSIVE, report->tid, 0, NAN,
			     "no work units, in %s%s", is_short ? "a run of " : "its ", why);
			continue;
		}
		verdict = fail_unless_others(judging, CHECK_NOT_STARVED, 0, NAN, why, sizeof(why));
		find(judging, CHECK_NOT_STARVED, verdict, report->tid, 0, NAN,
		     "starved: no work units%s", why);
	}
	if (!starved && judging->summary->completed)
		find(judging, CHECK_NOT_STARVED, VERDICT_PASS, 0, NAN, NAN, "all workers worked");
}

/* A setting that was refused is a note otherwise: the worker works all the same. */
static void judge_settings(struct judging *judging)
{
	unsigned int refused = 0;

	if (!judging->run->spec->checks.settings)
		return;
	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&judging->worker_group->worker_group.workers[i]);
		const char *const errors[] = {report ? report->affinity_error : "",
					      report ? report->policy_error : "",
					      report ? report->memory_policy_error : "",
					      report ? report->nice_error : ""};

		for (size_t k = 0; k < ARRAY_SIZE(errors); k++) {
			if (!*errors[k])
				continue;
			refused++;
			find(judging, CHECK_SETTINGS, VERDICT_FAIL, report->tid, NAN, NAN, "%s",
			     errors[k]);
		}
	}
	if (!refused && judging->summary->completed)
		find(judging, CHECK_SETTINGS, VERDICT_PASS, 0, NAN, NAN,
		     "all workers are as they were to be");
}

/* A group that did nothing at all shows nothing, whatever its other figures are. */
static void judge_idle(struct judging *judging)
{
	const struct summary *summary = judging->summary;
	uint64_t least_ns = summary->completed * IDLE_LEAST_NS;
	uint64_t free_ns = 0, wall_ns = 0;
	char why[WHY_BYTES];
	enum verdict verdict;

	if (!summary->completed || summary->work_units || summary->iterations ||
	    judging->worker_group->group.work->type->flags & WORK_BYPASS)
		return;
	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&judging->worker_group->worker_group.workers[i]);

		if (report)
			free_ns += report_free_ns(report);
		if (report)
			wall_ns += report->wall_time_ns;
	}
	if (wall_ns < least_ns)
		find(judging, CHECK_WORKED, VERDICT_INCONCLUSIVE, 0, NAN, NAN,
		     "none of the workers came to the end of an iteration, in too little time to "
		     "judge");
	/* an op of the spec froze it before it could have done anything, or it was too short */
	if (free_ns < least_ns)
		return;
	verdict = fail_unless_others(judging, CHECK_NOT_STARVED, 0, NAN, why, sizeof(why));
	find(judging, CHECK_WORKED, verdict, 0, NAN, NAN,
	     "none of the workers came to the end of an iteration%s", why);
}

static void judge_spread(struct judging *judging)
{
	const struct summary *summary = judging->summary;
	double limit = judging->run->spec->checks.max_spread;
	double spread = summary->off_cpu_most - summary->off_cpu_least;

	if (isnan(limit))
		return;
	if (judging->worker_group->group.count < 2)
		find(judging, CHECK_MAX_SPREAD, VERDICT_SKIP, 0, NAN, limit, "a single worker");
	else if (summary->timed < 2)
		find(judging, CHECK_MAX_SPREAD, VERDICT_INCONCLUSIVE, 0, NAN, limit,
		     "fewer than two workers can be compared");
	else
		find_value(judging, CHECK_MAX_SPREAD, spread > limit ? VERDICT_FAIL : VERDICT_PASS,
			   0, spread, limit, "");
}

static void judge_isolation(struct judging *judging)
{
	unsigned int strayed = 0;
	char used[48], allowed[48];

	if (!judging->run->spec->checks.isolation)
		return;
	cpus_format(allowed, sizeof(allowed), &judging->worker_group->allowed);
	for (unsigned int i = 0; i < judging->worker_group->worker_group.forked; i++) {
		const struct worker_report *report =
			worker_group_report(&judging->worker_group->worker_group.workers[i]);

		if (!report || cpus_contain(&judging->worker_group->allowed, &report->cpus_used))
			continue;
		strayed++;
		cpus_format(used, sizeof(used), &report->cpus_used);
		find(judging, CHECK_ISOLATION, VERDICT_FAIL, report->tid, NAN, NAN,
		     "ran on CPUs %s, of which %s are allowed", used, allowed);
	}
	if (!strayed && judging->summary->completed)
		find(judging, CHECK_ISOLATION, VERDICT_PASS, 0, NAN, NAN, "all within CPUs %s",
		     allowed);
}

static void judge_wakes(struct judging *judging, enum check check, double limit)
{
	enum report_samples stream = summary_wakes(judging->summary);
	const struct sample_summary *wakes = &judging->summary->samples[stream];
	double value = check == CHECK_WAKE_P99 ? (double)wakes->p99 : wakes->cv;

	if (isnan(limit))
		return;
	/* of one that waits, none may be what a scheduler does that lets nothing wake up */
	if (!wakes->total && !(judging->worker_group->group.work->type->flags & WORK_WAITS))
		find(judging, check, VERDICT_SKIP, 0, NAN, limit, "%s has no waits to measure",
		     judging->worker_group->group.work->type->name);
	else if (wakes->total < CHECK_SAMPLES_MIN)
		find(judging, check, VERDICT_INCONCLUSIVE, 0, value, limit,
		     "%llu samples are too few", (unsigned long long)wakes->total);
	else
		find_value(judging, check, value > limit ? VERDICT_FAIL : VERDICT_PASS, 0, value,
			   limit, stream == SAMPLES_WAKE_TO_RUN ? "wake to run" : "wait");
}

static void judge_throughput(struct judging *judging)
{
	double limit = judging->run->spec->checks.throughput_cv;
	double cv = judging->summary->throughput_cv;

	if (isnan(limit))
		return;
	if (judging->worker_group->group.count < 2)
		find(judging, CHECK_THROUGHPUT_CV, VERDICT_SKIP, 0, NAN, limit, "a single worker");
	else if (isnan(cv))
		find(judging, CHECK_THROUGHPUT_CV, VERDICT_INCONCLUSIVE, 0, NAN, limit,
		     "the workers did too little to judge");
	else
		find_value(judging, CHECK_THROUGHPUT_CV, cv > limit ? VERDICT_FAIL : VERDICT_PASS,
			   0, cv, limit, "");
}

static void judge_locality(struct judging *judging)
{
	double limit = judging->run->spec->checks.numa_locality, share;
	uint64_t all = summary_pages(judging->summary);

	if (isnan(limit))
		return;
	if (!all) {
		find(judging, CHECK_NUMA_LOCALITY, VERDICT_INCONCLUSIVE, 0, NAN, limit,
		     "no pages are known: the kernel has no numa_maps");
		return;
	}
	share = (double)summary_local_pages(judging->worker_group, &judging->run->topology->nodes) /
		(double)all;
	find_value(judging, CHECK_NUMA_LOCALITY, share < limit ? VERDICT_FAIL : VERDICT_PASS, 0,
		   share, limit, "");
}

static void judge_run(struct judging *judging)
{
	if (judging->run->end == RUN_SCHEDULER_DIED)
		find(judging, CHECK_RUN, VERDICT_FAIL, 0, NAN, NAN, "the scheduler died: %s",
		     judging->run->scheduler.reason);
	if (judging->run->end == RUN_INTERRUPTED)
		find(judging, CHECK_RUN, VERDICT_INCONCLUSIVE, 0, NAN, NAN,
		     "interrupted before its end");
}

int checks_judge(const struct run *run, const struct summary *summaries,
		 const struct pressure *pressure, struct check_results *check_results)
{
	const struct spec_checks *checks = &run->spec->checks;
	struct judging judging = {.run = run, .pressure = pressure, .check_results = check_results};

	judge_run(&judging);
	for (size_t i = 0; i < run->worker_group_count; i++) {
		judging.worker_group = run->worker_groups[i];
		judging.summary = &summaries[i];
		judging.taken = taken_from(run, judging.worker_group, pressure);
		judge_completed(&judging);
		judge_starved(&judging);
		judge_idle(&judging);
		judge_settings(&judging);
		judge_workers(&judging, CHECK_MAX_GAP, checks->max_gap_ns, false, gap_of);
		judge_spread(&judging);
		judge_isolation(&judging);
		judge_wakes(&judging, CHECK_WAKE_P99, checks->wake_p99_ns);
		judge_wakes(&judging, CHECK_WAKE_CV, checks->wake_cv);
		judge_workers(&judging, CHECK_MIN_ITERATION_RATE, checks->min_iteration_rate, true,
			      report_iteration_rate);
		judge_workers(&judging, CHECK_MAX_MIGRATION_RATIO, checks->max_migration_ratio,
			      false, migration_ratio_of);
		judge_throughput(&judging);
		judge_workers(&judging, CHECK_MIN_WORK_RATE, checks->min_work_rate, true,
			      report_work_rate);
		judge_locality(&judging);
	}
	return judging.result;
}

void check_results_release(struct check_results *check_results)
{
	free(check_results->items);
	*check_results = (struct check_results){.items = NULL};
}

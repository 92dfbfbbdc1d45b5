// SPDX-License-Identifier: GPL-2.0-or-later
/* docs/formats/json.md is the contract. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "model/state.h"
#include "version.h"
#include "view/load.h"
#include "view/view.h"

static const char *const stream_keys[SAMPLES_STREAMS] = {
	[SAMPLES_RESUME] = "resume_latencies_ns",
	[SAMPLES_WAKE_TO_RUN] = "wake_to_run_ns",
	[SAMPLES_COST] = "iteration_costs_ns",
};

static const char *const total_keys[SAMPLES_STREAMS] = {
	[SAMPLES_RESUME] = "wake_sample_total",
	[SAMPLES_WAKE_TO_RUN] = "wake_to_run_total",
	[SAMPLES_COST] = "iteration_cost_sample_total",
};

static const char *const summary_keys[SAMPLES_STREAMS] = {
	[SAMPLES_RESUME] = "resume",
	[SAMPLES_WAKE_TO_RUN] = "wake_to_run",
	[SAMPLES_COST] = "iteration_cost",
};

static void add_cpus(struct json *json, const char *key, const struct cpus *cpus)
{
	json_array_begin(json, key);
	for (unsigned int cpu = cpus_next(cpus, 0); cpu < CPUS_MAX; cpu = cpus_next(cpus, cpu + 1))
		json_add_u64(json, NULL, cpu);
	json_array_end(json);
}

static void add_nodes(struct json *json, const char *key, const uint64_t pages[REPORT_NODES],
		      bool measured)
{
	char node[8];

	if (!measured) {
		json_add_null(json, key);
		return;
	}
	json_object_begin(json, key);
	for (unsigned int i = 0; i < REPORT_NODES; i++) {
		snprintf(node, sizeof(node), "%u", i);
		if (pages[i])
			json_add_u64(json, node, pages[i]);
	}
	json_object_end(json);
}

static void add_exit(struct json *json, const struct crew_worker *worker)
{
	if (worker->exit == EXIT_REPORTED) {
		json_add_null(json, "exit_info");
		return;
	}
	json_object_begin(json, "exit_info");
	switch (worker->exit) {
	case EXIT_SIGNALED:
		json_add_string(json, "kind", "signaled");
		json_add_i64(json, "signal", worker->exit_code);
		break;
	case EXIT_TIMED_OUT:
		json_add_string(json, "kind", "timed_out");
		break;
	case EXIT_WAIT_FAILED:
		json_add_string(json, "kind", "wait_failed");
		json_add_string(json, "error", strerror(worker->exit_code));
		break;
	default:
		json_add_string(json, "kind", "exited");
		json_add_i64(json, "code", worker->exit_code);
		break;
	}
	json_object_end(json);
}

static void add_schedstat(struct json *json, const struct worker_report *report)
{
	static const char *const keys[] = {"schedstat_cpu_time_ns", "schedstat_run_delay_ns",
					   "schedstat_run_count"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_add_known(json, keys[i], report->schedstat[i], report->schedstat_measured);
}

static void add_migrations(struct json *json, const struct crew_worker *worker)
{
	const struct report_migration *migrations = crew_migrations(worker);

	json_array_begin(json, "migrations");
	for (uint32_t i = 0; i < crew_report(worker)->migrations_kept; i++) {
		json_object_begin(json, NULL);
		json_add_u64(json, "at_ns", migrations[i].at_ns);
		json_add_u64(json, "from_cpu", migrations[i].from_cpu);
		json_add_u64(json, "to_cpu", migrations[i].to_cpu);
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_percentiles(struct json *json, const char *key,
			    const struct sample_summary *summary)
{
	if (!summary->count) {
		json_add_null(json, key);
		return;
	}
	json_object_begin(json, key);
	json_add_u64(json, "total", summary->total);
	json_add_u64(json, "kept", summary->count);
	json_add_u64(json, "min_ns", summary->min);
	json_add_u64(json, "p50_ns", summary->p50);
	json_add_u64(json, "p90_ns", summary->p90);
	json_add_u64(json, "p99_ns", summary->p99);
	json_add_u64(json, "p99_9_ns", summary->p999);
	json_add_u64(json, "max_ns", summary->max);
	json_add_double(json, "mean_ns", summary->mean);
	json_add_double(json, "cv", summary->cv);
	json_object_end(json);
}

static void add_samples(struct json *json, const struct run_crew *crew, unsigned int number,
			bool all)
{
	const struct worker_report *report = crew_report(&crew->crew.workers[number]);

	for (int stream = 0; stream < SAMPLES_STREAMS; stream++) {
		const uint64_t *values =
			arena_samples(&crew->crew.arena, number, (enum report_samples)stream);
		struct sample_set set = {.values = values,
					 .count = reservoir_kept(report->sample_totals[stream]),
					 .total = report->sample_totals[stream]};
		struct sample_summary summary;

		json_add_u64(json, total_keys[stream], set.total);
		if (samples_summarize(&set, 1, &summary) >= 0)
			add_percentiles(json, summary_keys[stream], &summary);
		if (!all)
			continue;
		json_array_begin(json, stream_keys[stream]);
		for (uint64_t i = 0; i < set.count; i++)
			json_add_u64(json, NULL, values[i]);
		json_array_end(json);
	}
}

static void add_program(struct json *json, const struct worker_report *report)
{
	if (report->program_status < 0)
		return;
	json_object_begin(json, "program");
	json_add_bool(json, "ended_by_itself", report->program_ended);
	if (report->program_status & 0x7f)
		json_add_i64(json, "signal", report->program_status & 0x7f);
	else
		json_add_i64(json, "code", report->program_status >> 8);
	json_add_u64(json, "user_ns", report->program_user_ns);
	json_add_u64(json, "system_ns", report->program_system_ns);
	json_add_u64(json, "max_rss_bytes", report->program_rss_bytes);
	json_object_end(json);
}

static void add_report(struct json *json, const struct run_crew *crew, unsigned int number,
		       bool samples)
{
	const struct crew_worker *worker = &crew->crew.workers[number];
	const struct worker_report *report = crew_report(worker);

	json_add_u64(json, "work_units", report->work_units);
	json_add_u64(json, "iterations", report->iterations);
	json_add_u64(json, "cpu_time_ns", report->cpu_time_ns);
	json_add_u64(json, "wall_time_ns", report->wall_time_ns);
	json_add_u64(json, "off_cpu_ns", report_off_cpu_ns(report));
	json_add_u64(json, "paused_ns", report->paused_ns);
	add_cpus(json, "cpus_used", &report->cpus_used);
	json_add_known(json, "migration_count", report->migration_count, report->looks > 0);
	add_migrations(json, worker);
	json_add_known(json, "max_gap_ms", report->max_gap_ns / 1000000, report->looks > 0);
	json_add_known(json, "max_gap_cpu", report->max_gap_cpu, report->looks > 0);
	json_add_known(json, "max_gap_at_ms", report->max_gap_at_ns / 1000000, report->looks > 0);
	add_schedstat(json, report);
	add_nodes(json, "numa_pages", report->numa_pages, report->numa_measured);
	json_add_known(json, "vmstat_numa_pages_migrated", crew->crew.numa_migrated,
		       crew->crew.numa_migrated_measured);
	add_samples(json, crew, number, samples);
	add_program(json, report);
	json_add_u64(json, "scheduler_alarms", report->alarms);
	json_add_text(json, "affinity_error", report->affinity_error);
	json_add_text(json, "policy_error", report->policy_error);
	json_add_text(json, "memory_policy_error", report->memory_policy_error);
	json_add_text(json, "nice_error", report->nice_error);
	json_add_text(json, "note", report->note);
	json_add_text(json, "work_error", report->work_error);
}

static void add_observed(struct json *json, const struct observed *observed, uint32_t states)
{
	if (!observed->measured) {
		json_add_null(json, "observed");
		return;
	}
	json_object_begin(json, "observed");
	json_add_u64(json, "observed_ns", observed->observed_ns);
	json_object_begin(json, "states_ns");
	for (int i = 0; i < STATES; i++)
		json_add_known(json, state_info[i].key, observed->states_ns[i], states & 1U << i);
	json_object_end(json);
	json_object_end(json);
}

static void write_worker(struct output *out, const struct outcome *outcome,
			 const struct run_crew *crew, unsigned int number, bool samples)
{
	const struct crew_worker *worker = &crew->crew.workers[number];
	const struct worker_slot *slot = arena_slot(&crew->crew.arena, number);
	const struct worker_report *report = crew_report(worker);
	unsigned int position = number % crew->group.team_size;
	struct json json = {.out = out};

	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "worker");
	json_add_u64(&json, "version", 1);
	json_add_text(&json, "cgroup", crew->cgroup);
	json_add_u64(&json, "group_idx", crew->group.group_idx);
	json_add_string(&json, "work", crew->group.work->type->name);
	json_add_u64(&json, "index", crew->first_index + number);
	json_add_u64(&json, "position", position);
	json_add_bool(&json, "is_messenger",
		      crew->group.work->type->flags & WORK_MESSENGER && !position);
	json_add_u64(&json, "tid", report ? report->tid : slot->tid);
	json_add_bool(&json, "completed", report != NULL);
	add_exit(&json, worker);
	if (report)
		add_report(&json, crew, number, samples);
	if (outcome->observed)
		add_observed(&json, &outcome->observed[crew->first_index + number],
			     outcome->observed_states);
	json_object_end(&json);
	output_char(out, '\n');
}

static void add_params(struct json *json, const struct spec_work *work)
{
	struct output text;

	json_object_begin(json, "params");
	for (const struct param *param = work->type->params; param && param->name; param++) {
		if (output_init(&text, -1) < 0)
			break;
		param_write(&text, param, work->params);
		output_char(&text, '\0');
		json_add_string(json, param->name, text.buffer);
		output_release(&text);
	}
	json_object_end(json);
}

static void add_figures(struct json *json, const struct summary *summary)
{
	json_add_u64(json, "work_units", summary->work_units);
	json_add_u64(json, "iterations", summary->iterations);
	json_add_double(json, "iterations_per_second", summary->iteration_rate);
	json_add_double(json, "slowest_worker", summary->slowest);
	json_add_double(json, "fastest_worker", summary->fastest);
	json_add_u64(json, "cpu_time_ns", summary->cpu_ns);
	json_add_u64(json, "wall_time_ns", summary->wall_ns);
	json_add_u64(json, "off_cpu_ns", summary->off_cpu_ns);
	json_add_double(json, "off_cpu_spread", summary->off_cpu_most - summary->off_cpu_least);
	json_add_known(json, "run_delay_ns", summary->run_delay_ns, summary->schedstats > 0);
	json_add_known(json, "run_count", summary->run_count, summary->schedstats > 0);
	add_cpus(json, "cpus_used", &summary->cpus_used);
	json_add_known(json, "migration_count", summary->migrations, summary->looked > 0);
	json_add_known(json, "max_gap_ms", summary->max_gap_ns / 1000000, summary->looked > 0);
	json_add_known(json, "max_gap_tid", summary->max_gap_tid, summary->looked > 0);
	json_add_double(json, "throughput_cv", summary->throughput_cv);
	for (int stream = 0; stream < SAMPLES_STREAMS; stream++)
		add_percentiles(json, summary_keys[stream], &summary->samples[stream]);
	add_nodes(json, "numa_pages", summary->numa_pages, summary->numas > 0);
}

static void add_group(struct json *json, const struct run *run, const struct run_crew *crew,
		      const struct summary *summary)
{
	const struct spec_work *work = crew->group.work;
	unsigned int period =
		work_checkpoint_period(work->type, work->params, crew->group.team_size > 1);
	char policy[64];

	spec_format_policy(policy, sizeof(policy), &work->policy);
	json_object_begin(json, NULL);
	json_add_text(json, "cgroup", crew->cgroup);
	json_add_u64(json, "group_idx", crew->group.group_idx);
	json_add_string(json, "work", work->type->name);
	add_params(json, work);
	json_add_string(json, "mode", work->threads ? "thread" : "fork");
	json_add_string(json, "policy", policy);
	add_cpus(json, "cpus_allowed", &crew->allowed);
	json_add_known(json, "checkpoint_iterations", period, period > 0);
	json_add_u64(json, "workers", summary->workers);
	json_add_u64(json, "completed", summary->completed);
	add_figures(json, summary);
	json_add_known(json, "numa_local_pages",
		       summary_local_pages(summary, crew, &run->topology->nodes),
		       summary->numas > 0);
	json_object_end(json);
}

static void add_machine(struct json *json, const struct machine *machine)
{
	json_object_begin(json, "machine");
	json_add_string(json, "kernel", machine->kernel);
	json_add_string(json, "kernel_version", machine->version);
	json_add_string(json, "architecture", machine->architecture);
	json_add_text(json, "cpu_model", machine->cpu_model);
	json_add_u64(json, "cpus", machine->cpus);
	json_add_u64(json, "cores", machine->cores);
	json_add_u64(json, "llcs", machine->llcs);
	json_add_u64(json, "nodes", machine->nodes);
	json_add_u64(json, "memory_bytes", machine->memory_bytes);
	json_add_text(json, "governor", machine->governor);
	json_add_text(json, "sched_ext", machine->scheduler);
	json_object_end(json);
}

static const char *const scheduler_states[] = {
	[SCHEDULER_ALIVE] = "alive",
	[SCHEDULER_STOPPED] = "stopped",
	[SCHEDULER_DIED] = "died",
};

static void add_scheduler(struct json *json, const struct run *run)
{
	const struct scheduler *scheduler = &run->scheduler;

	if (scheduler->state == SCHEDULER_NONE) {
		json_add_null(json, "scheduler");
		return;
	}
	json_object_begin(json, "scheduler");
	json_add_text(json, "name", scheduler->name);
	json_add_text(json, "command", scheduler->command ? scheduler->command : "");
	json_add_string(json, "state", scheduler_states[scheduler->state]);
	if (scheduler->ended_ns > run->started_ns)
		json_add_u64(json, "ended_at_ns", scheduler->ended_ns - run->started_ns);
	else
		json_add_null(json, "ended_at_ns");
	json_add_text(json, "reason", scheduler->reason);
	json_object_end(json);
}

static void add_checks(struct json *json, const struct findings *findings)
{
	json_array_begin(json, "checks");
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];

		json_object_begin(json, NULL);
		json_add_string(json, "check", finding->check->key);
		json_add_string(json, "verdict", verdict_names[finding->verdict]);
		if (finding->crew) {
			json_add_text(json, "cgroup", finding->crew->cgroup);
			json_add_u64(json, "group_idx", finding->crew->group.group_idx);
			json_add_string(json, "work", finding->crew->group.work->type->name);
		}
		if (finding->tid)
			json_add_u64(json, "tid", finding->tid);
		json_add_double(json, "figure", finding->figure);
		json_add_double(json, "limit", finding->limit);
		json_add_string(json, "text", finding->text);
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_events(struct json *json, const struct run *run)
{
	json_array_begin(json, "events");
	for (size_t i = 0; i < run->event_count; i++) {
		json_object_begin(json, NULL);
		json_add_u64(json, "at_ns", run->events[i].at_ns);
		json_add_string(json, "event", run->events[i].text);
		json_object_end(json);
	}
	json_array_end(json);
}

static const char *const end_names[] = {
	[RUN_COMPLETE] = "complete",
	[RUN_INTERRUPTED] = "interrupted",
	[RUN_SCHEDULER_DIED] = "scheduler-died",
};

static void write_run(struct output *out, const struct outcome *outcome)
{
	const struct run *run = outcome->run;
	struct json json = {.out = out};
	char time[VIEW_TIME_BYTES];

	view_format_time(time, run->started_realtime_ns);
	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "load");
	json_add_u64(&json, "version", 1);
	json_add_string(&json, "name", run->spec->name);
	json_add_string(&json, "dwell", DWELL_VERSION);
	json_add_u64(&json, "seed", run->spec->seed);
	json_add_string(&json, "started", time);
	json_add_u64(&json, "planned_ns", run->hold_ns);
	json_add_u64(&json, "elapsed_ns", run->stopped_ns - run->started_ns);
	json_add_u64(&json, "start_ns", run->start_ns);
	json_add_u64(&json, "stop_ns", run->stop_ns);
	json_add_string(&json, "end", end_names[run->end]);
	add_machine(&json, &outcome->machine);
	json_array_begin(&json, "groups");
	for (size_t i = 0; i < run->crew_count; i++)
		add_group(&json, run, run->crews[i], &outcome->summaries[i]);
	json_array_end(&json);
	add_events(&json, run);
	add_scheduler(&json, run);
	json_add_u64(&json, "scheduler_alarms", run->alarms);
	json_add_known(&json, "machine_stolen_ns", outcome->machine_time.stolen_ns,
		       outcome->machine_measured);
	json_add_known(&json, "machine_busy_ns", outcome->machine_time.busy_ns,
		       outcome->machine_measured);
	if (outcome->observed)
		json_add_u64(&json, "observed_lost", outcome->observed_lost);
	add_checks(&json, &outcome->findings);
	json_add_string(&json, "verdict", verdict_names[outcome->findings.verdict]);
	json_object_end(&json);
	output_char(out, '\n');
}

void load_json(struct output *out, const struct outcome *outcome, bool samples)
{
	for (size_t i = 0; i < outcome->run->crew_count; i++) {
		const struct run_crew *crew = outcome->run->crews[i];

		for (unsigned int k = 0; k < crew->crew.forked; k++)
			write_worker(out, outcome, crew, k, samples);
	}
	write_run(out, outcome);
}

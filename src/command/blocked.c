// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell blocked`: what blocks the workers of an async runtime. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/duration.h"
#include "base/file.h"
#include "base/identities.h"
#include "base/print.h"
#include "base/text.h"
#include "capture/thread_names.h"
#include "command/blocked_options.h"
#include "command/blocked_tui.h"
#include "command/command.h"
#include "command/replay.h"
#include "command/watch.h"
#include "tui/terminal.h"
#include "view/blocked_words.h"

#define DEFAULT_ROWS 20

struct blocked {
	struct blocked_options options;
	struct stalls *stalls;
	const struct about *about; /* NULL: no interval yet */
	struct blocked_tui tui;	   /* open if that is the format */
	bool quit;		   /* by a key */
	struct child child;	   /* the command, until it is watched */
	struct identities told;	   /* workers, with -v */
	struct output output;
	struct file_draft export_file; /* takes its name when it is complete */
	struct output export_output;
	struct blocked_export export;
};

static int keep_export(struct blocked *blocked, struct error *error)
{
	const char *path = blocked->options.export;
	int result;

	if (output_flush(&blocked->export_output) < 0)
		return error_set(error, blocked->export_output.error, "cannot write to %s: %s",
				 path, strerror(blocked->export_output.error));
	result = file_draft_keep(&blocked->export_file);
	return result < 0
		       ? error_set(error, -result, "cannot write %s: %s", path, strerror(-result))
		       : 0;
}

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct blocked *blocked = data;
	struct stall stall;
	int result = stalls_feed(blocked->stalls, record, &stall);

	if (result < 0)
		return error_set(error, -result, "cannot take a record: %s", strerror(-result));
	if (result == 1 && blocked->export_file.fd >= 0 &&
	    blocked->export.ops->stall(&blocked->export, &stall) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (result == 1 && blocked->options.output.screen)
		blocked_tui_stall(&blocked->tui, &stall);
	if (result == 1 && blocked->options.output.format == &format_json) {
		blocked_json_stall(&blocked->output, blocked->stalls, &stall);
		return command_write(&blocked->output, error);
	}
	return 0;
}

/* Which workers there are, as they are found, and how. */
static int tell_workers(struct blocked *blocked)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(blocked->stalls, &count);

	for (size_t i = 0; i < count; i++) {
		const struct wire_worker *last = &workers[i].last;
		size_t known = blocked->told.count;
		char comm[32], name[sizeof(last->comm) + 1] = {0};
		size_t index;

		if (last->kind == WIRE_SPAN_POOL)
			continue;
		index = identities_add(&blocked->told, last->tid, last->start_ns);
		if (index == IDENTITY_NONE)
			return -ENOMEM;
		if (index < known)
			continue;
		memcpy(name, last->comm, sizeof(last->comm));
		text_printable(comm, sizeof(comm), name, 16);
		print_text(stderr, "dwell blocked: worker %u %s, by %s\n", last->tid, comm,
			   blocked_found_by(last->found_by));
	}
	return 0;
}

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct blocked *blocked = data;

	blocked->about = interval->about;
	stalls_add_interval(blocked->stalls, interval);
	if (blocked->options.verbose && !blocked->options.output.screen &&
	    tell_workers(blocked) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return blocked->options.output.screen ? blocked_tui_interval(&blocked->tui, interval, error)
					      : 0;
}

/* The runtime's probes as the source takes them. The strings stay the plan's. */
static int set_probes(struct span_options *spans, const struct runtime_plan *plan)
{
	static const enum span_kind kinds[] = {[POLLS_TASKS] = SPAN_POLL,
					       [POLLS_POOL_CLOSURES] = SPAN_POOL,
					       [POLLS_WORKERS] = SPAN_LIFE};
	const struct runtime_marks *marks = &plan->runtime->marks;

	spans->runtime = plan->runtime->name;
	spans->turns = plan->turns;
	spans->marks = (struct span_marks){.poll = marks->poll,
					   .harness = marks->harness,
					   .worker = marks->worker,
					   .single = marks->single,
					   .pool = marks->pool,
					   .root = marks->root,
					   .names = {marks->names[0], marks->names[1]}};
	spans->probes = calloc(plan->count ? plan->count : 1, sizeof(*spans->probes));
	if (!spans->probes)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++)
		spans->probes[i] = (struct span_probe){
			.path = plan->probes[i].path,
			.offset = plan->probes[i].offset,
			.kind = kinds[plan->probes[i].polls],
			.type = plan->probes[i].type,
		};
	spans->probe_count = plan->count;
	return 0;
}

static int write_summary(struct blocked *blocked, const struct blocked_summary *summary,
			 struct error *error)
{
	const struct result_options *options = &blocked->options.output;
	struct emit emit;
	int result = emit_begin(&emit, options->format, &blocked_schema, ~0U, options->fields,
				&blocked->output, error);

	if (result >= 0 && blocked_emit(&emit, summary) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	emit_end(&emit);
	return result;
}

/* While what the session says of itself is still there. */
static int tell(struct blocked *blocked, struct error *error)
{
	struct blocked_summary summary = {
		.stalls = blocked->stalls,
		.about = blocked->about,
		.top = blocked->options.top,
	};
	const struct format *format = blocked->options.output.format;
	int result = 0;

	if (blocked->export_file.fd >= 0) {
		blocked->export.ops->end(&blocked->export, &summary);
		result = keep_export(blocked, error);
	}
	if (result < 0 || blocked->options.output.screen)
		return result;
	if (!format || format == &format_table)
		summary.top = summary.top ? summary.top : DEFAULT_ROWS;
	if (!format)
		blocked_table(&blocked->output, &summary);
	else if (write_summary(blocked, &summary, error) < 0)
		return -1;
	return command_write(&blocked->output, error);
}

static int watch_workers(struct blocked *blocked, struct error *error)
{
	const struct span_options *spans = &blocked->options.spans;
	struct watch watch = WATCH_NONE;
	struct recorder *recorder = NULL;
	int result = 0;

	watch.options = &blocked->options.watch;
	watch.audience = (struct audience){
		.data = blocked, .interval = take_interval, .record = take_record};
	watch.spans = spans;
	watch.child = blocked->child;
	blocked->child = (struct child)CHILD_NONE;
	if (blocked->options.record)
		result = recorder_open(&recorder, blocked->options.record, blocked->options.force,
				       error);
	watch.recorder = recorder;
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0 && blocked->options.verbose && !blocked->options.output.screen)
		print_text(stderr, "dwell blocked: watching %s %u\n", spans->process, spans->pid);
	if (result >= 0 && blocked->options.output.screen)
		result = blocked_tui_begin(&blocked->tui, &watch.loop, error);
	if (result >= 0)
		result = watch_run(&watch, error);
	blocked->quit = blocked->tui.tui.quit;
	blocked_tui_close(&blocked->tui);
	if (result >= 0 && blocked->options.output.screen && !blocked->quit &&
	    !targets_alive(&blocked->options.watch.targets))
		print_text(stdout, "dwell blocked: %s %u has ended\n", spans->process, spans->pid);
	if (result >= 0)
		result = tell(blocked, error);
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}

/* What was just started has no threads yet. */
static int check_prefix(const struct span_options *spans, bool is_new, struct error *error)
{
	char names[160];
	size_t matching;

	if (!*spans->prefix || is_new ||
	    !thread_names(spans->pid, spans->prefix, &matching, names, sizeof(names)) || matching)
		return 0;
	return error_set(error, ENOENT,
			 "--workers: no thread of process %u is named %s…: there are %s",
			 spans->pid, spans->prefix, names);
}

/* At the end, if no worker was found. */
static int check_found(const struct blocked *blocked, struct error *error)
{
	const struct span_options *spans = &blocked->options.spans;
	char names[160];
	size_t count, matching;
	const struct stall_worker *workers = stalls_workers(blocked->stalls, &count);

	for (size_t i = 0; i < count; i++)
		if (workers[i].last.kind != WIRE_SPAN_POOL)
			return 0;
	if (!thread_names(spans->pid, "", &matching, names, sizeof(names)))
		return 0; /* it has ended: there is nothing to try again with */
	return error_set(error, ENOENT,
			 "no worker found: no thread polled a task or waited for events: there are "
			 "%s (--workers PREFIX says which are workers)",
			 names);
}

/* It exists, with its files mapped, but has not run an instruction: nothing of it is missed. */
static int start_command(struct blocked *blocked, struct error *error)
{
	struct watch_options *watch = &blocked->options.watch;
	int result = child_prepare_program(&blocked->child, watch->command, error);

	return result < 0
		       ? result
		       : targets_add_process(&watch->targets, (uint32_t)blocked->child.pid, error);
}

static int run_live(struct blocked *blocked, struct error *error)
{
	struct span_options *spans = &blocked->options.spans;
	const struct runtime_ops *runtime =
		blocked->options.no_uprobes ? &runtime_loop : blocked->options.runtime;
	struct runtime_plan plan = {0};
	int result = 0;

	if (blocked->options.watch.command)
		result = start_command(blocked, error);
	if (result < 0)
		return result;
	spans->pid = blocked->options.watch.targets.items[0].id;
	spans->symbols = blocked->options.symbols;
	target_process_name(spans->pid, spans->process);
	result = check_prefix(spans, blocked->options.watch.command, error);
	if (result >= 0)
		result = runtime_plan_make(&plan, runtime, spans->pid, blocked->options.symbols,
					   error);
	if (result >= 0 && blocked->options.verbose && !blocked->options.output.screen)
		print_text(stderr, "dwell blocked: runtime %s: %s\n", plan.runtime->name, plan.why);
	if (result >= 0 && set_probes(spans, &plan) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = watch_workers(blocked, error);
	if (result >= 0 && !blocked->quit)
		result = check_found(blocked, error);
	free(spans->probes);
	runtime_plan_release(&plan);
	return result;
}

static int run_recording(struct blocked *blocked, struct error *error)
{
	struct replay replay = {
		.audience = {.data = blocked, .interval = take_interval, .record = take_record}};
	int damaged = 0, result = replay_open(&replay, blocked->options.from, error);

	if (result >= 0) {
		result = replay_run(&replay, error);
		damaged = result == -EBADMSG ? result : 0;
	}
	if (result >= 0 && !stalls_runtime(blocked->stalls)->pid)
		result = error_set(error, EINVAL,
				   "%s is a recording of `dwell record`: see it "
				   "with dwell top --from",
				   blocked->options.from);
	if (result >= 0 || damaged) {
		struct error why = *error;

		result = tell(blocked, error);
		if (result >= 0 && blocked->options.output.screen)
			result = blocked_tui_show(&blocked->tui, damaged ? why.text : NULL, error);
		if (result >= 0 && damaged)
			*error = why;
	}
	blocked_tui_close(&blocked->tui);
	replay_release(&replay);
	return result < 0 ? result : damaged;
}

static int open_export(struct blocked *blocked, struct error *error)
{
	const struct blocked_options *options = &blocked->options;
	int result;

	blocked->export_file = FILE_DRAFT_NONE;
	if (!options->export)
		return 0;
	result = file_draft_open(&blocked->export_file, AT_FDCWD, options->export, 0666,
				 options->force);
	if (result == -EEXIST)
		return error_set(error, EEXIST, "%s exists: --force replaces it", options->export);
	if (result < 0)
		return error_set(error, -result, "cannot create %s: %s", options->export,
				 strerror(-result));
	if (output_init(&blocked->export_output, blocked->export_file.fd) < 0)
		return error_set(error, ENOMEM, "out of memory");
	blocked->export = (struct blocked_export){.ops = options->export_format,
						  .out = &blocked->export_output,
						  .stalls = blocked->stalls};
	blocked->export.ops->begin(&blocked->export);
	return 0;
}

static int run(struct blocked *blocked, struct error *error)
{
	struct blocked_screen_options screen = {.window_ns = blocked->options.window_ns,
						.replay = blocked->options.from};
	int result = 0;

	/* a reader that went away is an error to report, not a signal to die of */
	signal(SIGPIPE, SIG_IGN);
	blocked->stalls = stalls_new(blocked->options.window_ns);
	if (!blocked->stalls || output_init(&blocked->output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (!blocked->options.output.given)
		blocked->options.output.screen =
			!blocked->options.headless && !blocked->options.watch.duration_ns &&
			!blocked->options.watch.command && terminal_usable();
	screen.stalls = blocked->stalls;
	if (blocked->options.output.screen)
		result = blocked_tui_open(&blocked->tui, &screen, error);
	if (result >= 0)
		result = open_export(blocked, error);
	if (result < 0)
		return result;
	return blocked->options.from ? run_recording(blocked, error) : run_live(blocked, error);
}

static void release(struct blocked *blocked)
{
	if (blocked->export_file.fd >= 0) {
		output_release(&blocked->export_output);
		blocked_export_release(&blocked->export);
		file_draft_close(&blocked->export_file);
	}
	blocked_tui_close(&blocked->tui);
	output_release(&blocked->output);
	child_release(&blocked->child);
	identities_release(&blocked->told);
	stalls_free(blocked->stalls);
	targets_release(&blocked->options.watch.targets);
}

/* Whether the limits were kept; reports if not. Workers that have not come back count too. */
static bool check(const struct blocked *blocked)
{
	const struct blocked_options *options = &blocked->options;
	struct stall_counts counts = stalls_counts_of_all(blocked->stalls);
	uint64_t blamed = stall_counts_blamed(&counts), longest_ns = counts.max_blamed_ns;
	size_t count;
	const struct stall_worker *workers = stalls_workers(blocked->stalls, &count);
	char longest[16], limit[16];
	bool kept = true;

	for (size_t i = 0; i < count; i++) {
		struct stall_open open;

		if (!stalls_open(blocked->stalls, &workers[i], &open) || open.in_place)
			continue;
		blamed++;
		if (open.duration_ns > longest_ns)
			longest_ns = open.duration_ns;
	}
	if (options->max_stalls_given && blamed > options->max_stalls) {
		print_text(stderr, "dwell blocked: %llu stalls: more than %llu\n",
			   (unsigned long long)blamed, (unsigned long long)options->max_stalls);
		kept = false;
	}
	if (options->max_stall_ns && longest_ns > options->max_stall_ns) {
		duration_format(longest, sizeof(longest), longest_ns);
		duration_format(limit, sizeof(limit), options->max_stall_ns);
		print_text(stderr, "dwell blocked: a stall of %s: more than %s\n", longest, limit);
		kept = false;
	}
	return kept;
}

static int blocked_run(int argc, char **argv)
{
	struct blocked blocked = {.export_file = FILE_DRAFT_NONE, .child = CHILD_NONE};
	struct error error = {""};
	int result, code;

	blocked_options_init(&blocked.options);
	code = parsing_run(&blocked_argp, "dwell blocked", argc, argv, &blocked.options,
			   &blocked.options.parsing);
	if (code != EXIT_DONE)
		return code;
	result = run(&blocked, &error);
	if (result < 0)
		code = command_fail("blocked", EXIT_NOT_RUN, &error);
	else if (!check(&blocked))
		code = EXIT_CHECK_FAILED;
	release(&blocked);
	return code;
}

const struct command command_blocked = {
	.name = "blocked",
	.summary = "what blocks an async runtime's workers",
	.argp = &blocked_argp,
	.outputs = {"record", "export"},
	.run = blocked_run,
};

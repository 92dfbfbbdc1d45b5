// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "base/wait_status.h"
#include "command/blocked_program.h"
#include "command/debug_files.h"
#include "session/runtime_spans.h"
#include "session/watch.h"

int blocked_take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct blocked *blocked = data;
	struct stall stall;
	int result = stalls_feed(blocked->stalls, record, &stall);

	if (result < 0)
		return error_set(error, -result, "cannot take a record: %s", strerror(-result));
	if (result == 1 && blocked->options.output.screen)
		blocked_tui_stall(&blocked->tui, &stall);
	return result == 1 ? blocked_output_stall(&blocked->output, blocked->stalls, &stall, error)
			   : 0;
}

int blocked_take_interval(void *data, struct interval *interval, struct error *error)
{
	struct blocked *blocked = data;

	blocked->session = interval->session;
	blocked->polls_elsewhere = session_misses(interval->session, "polls");
	blocked_note_end(blocked, interval);
	blocked_note_exec(blocked);
	stalls_add_interval(blocked->stalls, interval);
	if (starvation_add(&blocked->starvation, blocked->stalls, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return blocked->options.output.screen
		       ? blocked_tui_interval(&blocked->tui, interval, error)
		       : blocked_output_interval(&blocked->output, blocked->stalls, error);
}

int blocked_end_output(struct blocked *blocked, struct error *error)
{
	struct blocked_summary summary = {.stalls = blocked->stalls,
					  .starvation = &blocked->starvation,
					  .session = blocked->session};

	starvation_end(&blocked->starvation);
	return blocked_output_end(&blocked->output, &summary, error);
}

/* Scripts start their load from here on; a person sees that it is not stuck. */
static void say_ready(struct blocked *blocked)
{
	static const char ready[] = "ready\n";
	const struct blocked_options *options = &blocked->options;
	bool is_terminal = isatty(STDERR_FILENO);

	if ((options->verbose || options->headless || is_terminal) && !options->output.screen)
		print_text(stderr, "dwell blocked: watching %s %u%s\n", options->spans.process,
			   options->spans.pid, is_terminal ? "; Ctrl-C ends it" : "");
	if (options->ready_fd < 0)
		return;
	/* who does not read it does not wait for it */
	(void)!write(options->ready_fd, ready, sizeof(ready) - 1);
	close(options->ready_fd);
}

/* The process has ended, or the time is over: what there is stays on the screen. */
static int stay(struct blocked *blocked, struct watch *watch, struct error *error)
{
	const struct span_options *spans = &blocked->options.spans;
	char status[WAIT_STATUS_BYTES], remark[BLOCKED_EXECUTED_BYTES];

	wait_status_format(status, blocked->wait_status);
	if (blocked->has_executed)
		blocked_executed_text(remark, spans);
	else
		snprintf(remark, sizeof(remark), "%s %u has ended%s%s", spans->process, spans->pid,
			 blocked->has_ended ? ": " : "", blocked->has_ended ? status : "");
	/* no more stacks are asked for */
	watch_close_source(watch);
	return blocked_tui_stay(&blocked->tui,
				targets_alive(&blocked->options.watch.targets) &&
						!blocked->has_executed
					? "this was all that was asked for"
					: remark,
				error);
}

static int watch_workers(struct blocked *blocked, struct error *error)
{
	const struct span_options *spans = &blocked->options.spans;
	struct watch watch = WATCH_NONE;
	struct recorder *recorder = NULL;
	int result = 0;

	watch.options = &blocked->options.watch;
	watch.audience = (struct audience){
		.data = blocked, .interval = blocked_take_interval, .record = blocked_take_record};
	watch.spans = spans;
	watch.child = blocked->child;
	blocked->program = blocked_program_of(spans->pid);
	blocked->watch = &watch;
	blocked->child = (struct child)CHILD_NONE;
	if (blocked->options.record)
		result = recorder_open(&recorder, blocked->options.record, blocked->options.force,
				       error);
	watch.recorder = recorder;
	/* before what takes a second, and more on a busy machine */
	if (result >= 0 && blocked->options.output.screen)
		result = blocked_tui_await(&blocked->tui, error);
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0)
		say_ready(blocked);
	if (result >= 0 && blocked->options.output.screen)
		result = blocked_tui_begin(&blocked->tui, &watch.loop, error);
	if (result >= 0)
		result = watch_run(&watch, error);
	if (result >= 0 && blocked->has_executed && !blocked->options.output.screen) {
		char text[BLOCKED_EXECUTED_BYTES];

		blocked_executed_text(text, spans);
		print_text(stderr, "dwell blocked: %s\n", text);
	}
	if (result >= 0 && !blocked->has_executed && !blocked->options.output.screen)
		watch_report_end(&watch, "blocked");
	if (result >= 0 && blocked->options.output.screen && !blocked->tui.tui.quit &&
	    !watch.signalled)
		result = stay(blocked, &watch, error);
	blocked->quit = blocked->tui.tui.quit;
	blocked_tui_close(&blocked->tui);
	if (result >= 0)
		result = blocked_end_output(blocked, error);
	blocked->watch = NULL;
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}

/* It exists, with its files mapped, but has not run an instruction: nothing of it is missed. */
static int start_command(struct blocked *blocked, struct error *error)
{
	struct watch_options *watch = &blocked->options.watch;
	int result;

	blocked->child.prints_to_stderr = watch->command_to_stderr;
	result = child_prepare_program(&blocked->child, watch->command, error);
	if (result >= 0)
		result = child_pass_wrappers(&blocked->child, error);
	return result < 0
		       ? result
		       : targets_add_process(&watch->targets, (uint32_t)blocked->child.pid, error);
}

int blocked_run_live(struct blocked *blocked, struct error *error)
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
	spans->stacks.symbols = blocked->options.symbols;
	command_fetch_debug_files("blocked", &blocked->options.watch.targets, &spans->stacks);
	target_process_name(spans->pid, spans->process);
	result = runtime_spans_make(spans, &plan, runtime, blocked->options.watch.command, error);
	if (result >= 0 && blocked->options.verbose && !blocked->options.output.screen)
		print_text(stderr, "dwell blocked: runtime %s: %s\n", plan.runtime->name, plan.why);
	if (result >= 0)
		result = watch_workers(blocked, error);
	if (result >= 0 && !blocked->quit)
		result = runtime_spans_check(spans, blocked->stalls, blocked->polls_elsewhere,
					     error);
	runtime_spans_release(spans, &plan);
	return result;
}

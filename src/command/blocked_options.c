// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_options.h"

#include "command/blocked_options_parts.h"

static const char text[] =
	"Shows what blocks the workers of an async runtime, or of an event loop: which function, "
	"why, for how long, and how often. Attaches to a running process; nothing is rebuilt."
	"\v"
	"Examples:\n"
	"  dwell blocked orders-api                    watch its workers\n"
	"  dwell blocked orders-api -d 30s             what held a worker\n"
	"  dwell blocked -p 1234 --threshold 1ms\n"
	"  dwell blocked -- ./orders-api --port 80     from its first instruction on\n"
	"  dwell blocked -p 1234 -d 10s --format json  a line a stall\n"
	"  dwell blocked -p 1234 --max-stall 50ms      exit 3 if one is longer\n";

static const struct command_option blocked_option_table[] = {
	OPTION_GROUP(1, "What to look into:"),
	TAKEN_MEMBER("pid", 'p', "PID", struct blocked_options, watch.targets, blocked_take_process,
		     "a process"),
	TAKEN_MEMBER("name", 'n', "NAME", struct blocked_options, watch.targets, blocked_take_name,
		     "the process of this name, or of a pattern: 'orders*'; one alone: of a server "
		     "with workers that it has forked choose one by -p"),
	TAKEN_OPTION("runtime", 0, "RUNTIME", blocked_take_runtime, RUNTIME_CHOICES " (auto)"),
	TEXT_OPTION("target", 0, "FILE", struct blocked_options, symbols,
		    "the program with its symbols, if it runs stripped"),
	TAKEN_OPTION("workers", 0, "PREFIX", blocked_take_workers,
		     "treat threads whose names start with PREFIX as workers (auto-detect)"),
	FLAG_OPTION("no-uprobes", 0, struct blocked_options, no_uprobes,
		    "no probes on the runtime's functions"),
	OPTION_GROUP(2, "What to report:"),
	TAKEN_OPTION("threshold", 0, "TIME", blocked_take_threshold,
		     "report polls and turns longer than this (5ms)"),
	TIME_OPTION("duration", 'd', struct blocked_options, watch.duration_ns, "stop after TIME"),
	TAKEN_OPTION("window", 0, "TIME", blocked_take_window,
		     "rolling window: keep only the last TIME"),
	TAKEN_OPTION("freq", 0, "HZ", blocked_take_frequency,
		     "samples a second of what runs, at least (99); short thresholds need more"),
	TAKEN_OPTION("budget", 0, "PERCENT", blocked_take_budget,
		     "what dwell may cost the target, of its CPU time (5); above it polls are "
		     "probed for a part of the time; 100: always"),
	TAKEN_OPTION("ring", 0, "SIZE", blocked_take_ring,
		     "ring buffer, a power of two (16M); stalls that overflow it are dropped and "
		     "counted"),
	TAKEN_MEMBER("unwind", 0, "HOW", struct blocked_options, spans.stacks, parsing_unwind,
		     "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)"),
	TAKEN_MEMBER("own", 0, "PREFIX", struct blocked_options, spans.stacks, parsing_own,
		     "your code: functions, source or mapped files that begin so; may be repeated"),
	FLAG_OPTION("blame", 0, struct blocked_options, watch.blame,
		    "also because of whom the workers waited for a CPU"),
	TAKEN_OPTION("by", 0, "WHAT", blocked_take_by,
		     "rows of table, csv and jsonl: a row per hotspot, or per type of task "
		     "(hotspot)"),
	SCREEN_OPTIONS(struct blocked_options, " (tui on a terminal, else table)",
		       " (20 on the page)"),
	FLAG_OPTION("headless", 0, struct blocked_options, headless,
		    "no screen: a summary at the end"),
	TAKEN_OPTION("ready-fd", 0, "N", blocked_take_ready_fd,
		     "write `ready` to this descriptor when all is attached, and close it"),
	FLAG_OPTION("verbose", 'v', struct blocked_options, verbose,
		    "also report how dwell found runtime and workers"),
	OPTION_GROUP(3, "Files:"),
	TEXT_OPTION("record", 0, "FILE", struct blocked_options, record,
		    "keep all of it for --from"),
	TEXT_OPTION("from", 0, "FILE", struct blocked_options, from,
		    "from a recording, in place of a process"),
	TEXT_OPTION("export", 0, "FILE", struct blocked_options, export,
		    "write the stalls for another program"),
	TAKEN_OPTION("export-format", 0, "FORMAT", blocked_take_export_format,
		     "chrome (a trace), folded (stacks) or json; by FILE's name: .folded is "
		     "folded, .json, .trace, .chrome and none are chrome"),
	FLAG_OPTION("force", 0, struct blocked_options, force, "replace existing files"),
	OPTION_GROUP(4, "As a check:"),
	TAKEN_OPTION("max-stalls", 0, "N", blocked_take_max_stalls,
		     "exit with status 3 if there were more"),
	TIME_OPTION("max-stall", 0, struct blocked_options, max_stall_ns,
		    "exit with status 3 if one was longer"),
	END_OF_OPTIONS,
};

const struct command_line blocked_line = {
	.options = blocked_option_table,
	.arguments = "[NAME | -- COMMAND [ARGUMENT...]]",
	.text = text,
	.argument_member = offsetof(struct blocked_options, watch),
	.take_argument = watch_take_argument,
	.end = blocked_options_end,
};

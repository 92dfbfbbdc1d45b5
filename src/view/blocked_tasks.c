// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/blocked.h"
#include "view/blocked_words.h"

#define TASK_COLUMNS 64

void blocked_task_name(char into[BLOCKED_NAME_BYTES], const struct stalls *stalls,
		       const struct task *task)
{
	const struct frame *type = stalls_frame(stalls, task->type);

	if (type)
		blocked_name(into, type);
	else
		snprintf(into, BLOCKED_NAME_BYTES, "(all other types)");
}

struct task_words blocked_task_words(const struct stalls *stalls, const struct task *task)
{
	bool sampled = stalls_tasks_are_sampled(stalls);
	const char *about = sampled ? "~" : "", *least = sampled ? ">=" : "";
	struct task_words words;
	char text[16];

	snprintf(words.polls, sizeof(words.polls), "%s%llu", about,
		 (unsigned long long)task->polls);
	duration_format(text, sizeof(text), task->busy_ns);
	snprintf(words.busy, sizeof(words.busy), "%s%s", about, text);
	duration_format(text, sizeof(text), task->busy_ns / task->polls);
	snprintf(words.mean, sizeof(words.mean), "%s%s", about, text);
	duration_format(text, sizeof(text), task->longest_ns);
	snprintf(words.longest, sizeof(words.longest), "%s%s", least, text);
	snprintf(words.stalls, sizeof(words.stalls), "%s%llu", least,
		 (unsigned long long)task->stalls);
	return words;
}

static void write_task(struct output *out, const struct stalls *stalls, const struct task *task)
{
	struct task_words words = blocked_task_words(stalls, task);
	char name[BLOCKED_NAME_BYTES];

	blocked_task_name(name, stalls, task);
	blocked_write_name(out, name, TASK_COLUMNS);
	output_format(out, " %12s %9s %9s %9s %8s\n", words.polls, words.busy, words.mean,
		      words.longest, words.stalls);
}

void blocked_write_tasks(struct output *out, const struct blocked_summary *summary)
{
	size_t count, top;
	const struct task *tasks = stalls_tasks(summary->stalls, &count);

	if (!stalls_has_tasks(summary->stalls)) {
		if (stalls_runtime(summary->stalls)->probes)
			output_string(out, "\nTASKS: not recorded\n");
		return;
	}
	if (!count)
		return;
	output_char(out, '\n');
	text_padded(out, "TASKS", TASK_COLUMNS);
	output_string(out, "        POLLS      BUSY      MEAN       MAX   STALLS\n");
	top = summary->top && summary->top < count ? summary->top : count;
	for (size_t i = 0; i < top; i++)
		write_task(out, summary->stalls, &tasks[i]);
	if (top < count)
		output_format(out, "and %zu more types\n", count - top);
}

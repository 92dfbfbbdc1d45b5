// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/report.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/text.h"
#include "base/window.h"
#include "model/blame.h"

#define LEVELS	8
#define BARS_AT 12 /* columns, behind the name of a state */
/* A state of which there was never more is left out: a thread for a hundredth of the time. */
#define LEAST_THREADS 0.01

/* From nothing to the most: an eighth of a character each, or ink. */
static const char *const blocks[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ink[LEVELS + 1] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

/* Any time at all shows. */
static int level_of(double threads, double most)
{
	return threads > 0 ? 1 + (int)floor((LEVELS - 1) * threads / most) : 0;
}

static void write_state(struct output *out, const struct course *course, enum state state)
{
	const char *const *signs = strcmp(nl_langinfo(CODESET), "UTF-8") ? ink : blocks;
	unsigned int peak = course_peak(course, state);
	double most = course_threads(course, state, peak);
	time_t seconds = (time_t)(course->start_realtime_ns[peak] / NS_PER_S);
	char when[16], words[96];
	size_t columns = window_columns(out->fd);
	struct tm tm;

	if (most < LEAST_THREADS)
		return;
	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	output_format(out, "  %-9s ", state_info[state].key);
	for (unsigned int i = 0; i < course->periods.count; i++)
		output_string(out, signs[level_of(course_threads(course, state, i), most)]);
	snprintf(words, sizeof(words), "%.2f threads on average, most at %s: %.2f",
		 course_mean(course, state), when, most);
	if (columns && BARS_AT + course->periods.count + 2 + strlen(words) > columns)
		output_format(out, "\n%*s", BARS_AT, "");
	else
		output_string(out, "  ");
	output_string(out, words);
	output_char(out, '\n');
}

void report_course(struct output *out, const struct summary *summary)
{
	const struct course *course = &summary->course;
	char length[16];

	if (course->periods.count < 2)
		return;
	duration_format(length, sizeof(length),
			batches_duration_ns(&course->periods) / course->periods.count);
	output_char(out, '\n');
	text_line(out, 0, "Over time (%u periods of %s, each row up to its own maximum)",
		  course->periods.count, length);
	for (int state = 0; state < STATES; state++)
		if (state == STATE_USER || state == STATE_KERNEL ||
		    state_is_lost((enum state)state))
			write_state(out, course, (enum state)state);
}

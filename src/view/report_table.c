// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "base/window.h"
#include "view/blame.h"
#include "view/findings.h"
#include "view/view.h"

/* "12.00s", or "12.00s, 8.20s of it readable,", or "8.20s measured of 12.00s". */
static void describe_length(char *into, size_t room, const struct summary *summary)
{
	const struct interval *whole = &summary->whole;
	char length[16], readable[16];

	duration_format(length, sizeof(length), whole->end_ns - whole->start_ns);
	duration_format(readable, sizeof(readable), summary->measured_ns);
	if (!strcmp(length, readable))
		snprintf(into, room, "%s", length);
	else if (summary->damage)
		snprintf(into, room, "%s, %s of it readable,", length, readable);
	else
		snprintf(into, room, "%s measured of %s", readable, length);
}

void report_machine(struct output *out, const struct summary *summary, uint64_t bytes)
{
	const struct interval *whole = &summary->whole;
	const struct wire_session *session = &whole->session->wire;
	char when[32], length[64], memory[16], size[16], host[128], kernel[128];
	time_t seconds = (time_t)(whole->start_realtime_ns / NS_PER_S);
	unsigned long long threads = 0;
	struct tm tm;

	for (size_t i = 0; i < whole->row_count; i++)
		threads += whole->rows[i].threads;
	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	describe_length(length, sizeof(length), summary);
	size_format(memory, sizeof(memory), session->memory_bytes);
	size_format(size, sizeof(size), bytes);
	text_printable(host, sizeof(host), session->host, 64);
	text_printable(kernel, sizeof(kernel), session->kernel, 64);
	text_line(out, 0, "%s  %s, %u CPUs, %s, Linux %s", host, session->machine, session->cpus,
		  memory, kernel);
	text_line(out, 0, "%s  %s in %llu interval%s, %llu thread%s in all, %s", when, length,
		  (unsigned long long)summary->intervals, text_plural(summary->intervals), threads,
		  text_plural(threads), size);
	if (summary->damage)
		text_line(out, 0, "not all of the recording could be read: %s", summary->damage);
	if (summary->folded_threads)
		text_line(out, 0,
			  "%llu of the threads had ended and done less than the others: they are "
			  "summed up by process name and cgroup, without PID and TID",
			  (unsigned long long)summary->folded_threads);
	for (size_t i = 0; i < whole->session->missing_count; i++)
		text_line(out, 0, "not measured: %s: %s", whole->session->missing[i].source,
			  whole->session->missing[i].why);
}

#define STATE_AT 31 /* columns, behind the share of a state */

void report_states(struct output *out, const struct summary *summary)
{
	const struct interval *whole = &summary->whole;
	uint64_t total[STATES] = {0}, observed = 0;
	bool shown[STATES] = {false};
	char length[16];

	for (size_t i = 0; i < whole->row_count; i++) {
		observed += whole->rows[i].observed_ns;
		for (int j = 0; j < STATES; j++)
			total[j] += whole->rows[i].states_ns[j];
	}
	output_string(out, "\nAll threads, in percent of their time\n");
	for (int i = 0; i < STATES; i++) {
		int largest = -1;

		for (int j = 0; j < STATES; j++)
			if (!shown[j] && (largest < 0 || total[j] > total[largest]))
				largest = j;
		shown[largest] = true;
		if (!total[largest])
			continue;
		duration_format(length, sizeof(length), total[largest]);
		output_format(out, "  %-9s %8s  %5.1f %%  ", state_info[largest].key, length,
			      observed ? 100.0 * (double)total[largest] / (double)observed : 0.0);
		text_line(out, STATE_AT, "%s", state_info[largest].help);
	}
}

void report_findings(struct output *out, const struct findings *findings,
		     const struct session_info *session)
{
	if (findings->count)
		output_string(out, "\nWhat stands out\n");
	findings_write(out, findings, session, window_columns(out->fd));
}

#define WORST_AT 14 /* columns, behind the time of day */

/* In a terminal that has not the room on a line of its own. */
static void write_most(struct output *out, const struct blame *most,
		       const struct session_info *session)
{
	char time[16], victim[192], because[256], text[512];
	size_t columns = window_columns(out->fd);

	duration_format(time, sizeof(time), most->total_ns);
	blame_party_name(victim, sizeof(victim), &most->victim, session);
	blame_describe(because, sizeof(because), most, session);
	snprintf(text, sizeof(text), "%s %s: %s, %s", time, state_info[most->state].key, victim,
		 because);
	if (!columns) {
		output_string(out, "; most, ");
		output_string(out, text);
		return;
	}
	output_format(out, "\n%*s", WORST_AT, "");
	text_wrapped(out, text, WORST_AT, columns);
}

static void write_worst(struct output *out, const struct summary *summary)
{
	const struct session_info *session = summary->whole.session;

	if (!summary->worst_count)
		return;
	output_string(out, "\nWhen was it worst\n");
	for (size_t i = 0; i < summary->worst_count; i++) {
		const struct worst_interval *one = &summary->worst[i];
		time_t seconds = (time_t)(one->start_realtime_ns / NS_PER_S);
		char when[24], lost[16], length[16];
		struct tm tm;

		localtime_r(&seconds, &tm);
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
		snprintf(when + strlen(when), sizeof(when) - strlen(when), ".%03u",
			 (unsigned int)(one->start_realtime_ns / NS_PER_MS % 1000));
		duration_format(lost, sizeof(lost), one->lost_ns);
		duration_format(length, sizeof(length), one->duration_ns);
		output_format(out, "  %s  %8s lost in %s", when, lost, length);
		if (one->most.total_ns)
			write_most(out, &one->most, session);
		output_char(out, '\n');
	}
}

/* By process, as the sums are. */
static int write_blame(struct output *out, const struct summary *summary, size_t top)
{
	const struct session_info *session = summary->whole.session;
	struct view view = {
		.out = out,
		.by = BY_PROCESS,
		.order = {.top = top},
		.blame = BLAME_SUFFERED,
	};
	char folded[16];

	if (!session_has_blame(session)) {
		/* of other sources what is missing has said so already */
		if (session->wire.source == WIRE_SOURCE_BPF)
			output_string(out, "\nWho cost whom: not recorded\n");
		return 0;
	}
	view.columns = window_columns(out->fd);
	output_string(out, "\nWho cost whom\n");
	if (page_blame(&view, &summary->whole) < 0)
		return -ENOMEM;
	if (!summary->blame.folded_ns)
		return 0;
	duration_format(folded, sizeof(folded), summary->blame.folded_ns);
	output_format(out, "%s in shares too many and too small to be kept are not in this table\n",
		      folded);
	return 0;
}

int report_blame(struct output *out, const struct summary *summary, size_t top)
{
	int result = write_blame(out, summary, top);

	if (result >= 0)
		write_worst(out, summary);
	return result;
}

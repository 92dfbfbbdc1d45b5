// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "view/blocked_words.h"
#include "view/profile.h"

#define FUNCTION_COLUMNS 36
#define PLACE_COLUMNS	 16
#define PATHS		 3
#define PATH_FRAMES	 12

static void format_ns(char into[16], double ns)
{
	duration_format(into, 16, ns > 0 ? (uint64_t)(ns + 0.5) : 0);
}

static void write_head(struct output *out, const struct profile_result *result)
{
	const struct wire_profile *quality = profile_quality(result->profile);
	uint64_t stacks = profile_stack_count(result->profile);
	size_t threads = profile_thread_count(result->profile);
	char length[16];

	duration_format(length, sizeof(length), result->duration_ns);
	output_format(out, "dwell profile  %s  %zu thread%s  self %.1f%%\n", length, threads,
		      text_plural(threads),
		      100.0 * (double)result->self_cpu_ns / (double)(result->duration_ns + 1));
	output_format(out, "%llu stack%s", (unsigned long long)stacks, text_plural(stacks));
	if (stacks)
		output_format(out, ", %.1f %% complete",
			      100 * profile_complete_share(result->profile));
	if (quality->frames)
		output_format(out, ", %.0f %% of addresses named",
			      100.0 * (double)quality->frames_named / (double)quality->frames);
	output_format(out, "  lost %llu\n", (unsigned long long)quality->lost);
}

static void write_states(struct output *out, const struct profile_result *result)
{
	const struct profile_state *states = profile_states(result->profile);
	char total[16], missing[16];

	output_string(out, "\nSTATE        TIME  SHARE  STACKS\n");
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];
		const struct profile_state *of = &states[state];
		bool is_shown = result->states & 1U << state;

		if (!of->total_ns || !session_shows(result->session, state))
			continue;
		duration_format(total, sizeof(total), of->total_ns);
		output_format(out, "%-9s %7s", state_info[state].key, total);
		if (!is_shown) {
			output_string(out, "      -       -  without stacks\n");
			continue;
		}
		output_format(out, " %5.1f%% %7llu",
			      100.0 * (double)of->total_ns / (double)(result->total_ns + 1),
			      (unsigned long long)of->count);
		if (of->sampled_ns < of->total_ns) {
			duration_format(missing, sizeof(missing), of->total_ns - of->sampled_ns);
			output_format(out, "  %s not sampled", missing);
		}
		output_char(out, '\n');
	}
}

/* V8 has the place in the name: `JS:*load /srv/app/index.js:12:3`. */
static void split_script(char *name, char place[BLOCKED_PLACE_BYTES])
{
	char *path = strncmp(name, "JS:", 3) ? NULL : strchr(name, ' '), *base, *column;

	if (!path || *place)
		return;
	base = strrchr(path, '/');
	snprintf(place, BLOCKED_PLACE_BYTES, "%.100s", base ? base + 1 : path + 1);
	column = strrchr(place, ':');
	if (column && strchr(place, ':') != column)
		*column = '\0';
	*path = '\0';
}

static void write_spot_name(struct output *out, const struct profile_result *result,
			    const struct profile_spot *spot)
{
	const struct frame *frame = stacks_frame(profile_stacks(result->profile), spot->frame);
	char name[BLOCKED_NAME_BYTES] = "(no stack)", place[BLOCKED_PLACE_BYTES] = "";

	if (result->by == PROFILE_BY_STATE)
		*name = '\0';
	if (spot->thread)
		profile_thread_name(&result->threads[spot->thread - 1], name);
	if (frame) {
		snprintf(name, sizeof(name), "%s", profile_frame_name(frame));
		blocked_cut_parameters(name);
		blocked_place(place, frame);
		split_script(name, place);
	}
	if (frame && result->by == PROFILE_BY_FILE) {
		snprintf(name, sizeof(name), "%.250s", *frame->file ? frame->file : frame->module);
		*place = '\0';
	} else if (frame && result->by == PROFILE_BY_FUNCTION && *place && strchr(place, ':')) {
		/* the line is that of one of its stacks */
		*strrchr(place, ':') = '\0';
	}
	blocked_write_name(out, name, FUNCTION_COLUMNS);
	output_char(out, ' ');
	blocked_write_name(out, place, PLACE_COLUMNS);
}

static void write_spots(struct output *out, const struct profile_result *result)
{
	size_t top =
		result->top && result->top < result->spot_count ? result->top : result->spot_count;
	char self[16], error[16], total[16];

	if (!result->spot_count) {
		output_string(out, "\nNo stack was taken in these states.\n");
		return;
	}
	output_string(out, "\n   SELF      ±  SHARE   TOTAL  STATE    ");
	text_padded(out, profile_grouping_headings[result->by], FUNCTION_COLUMNS + 1);
	text_padded(out,
		    result->by == PROFILE_BY_FUNCTION || result->by == PROFILE_BY_LINE ? "FILE"
										       : "",
		    PLACE_COLUMNS);
	output_string(out, "  THR\n");
	for (size_t i = 0; i < top; i++) {
		const struct profile_spot *spot = &result->spots[i];

		if (spot->self.ns < 0.5 && i) /* it only calls others */
			break;
		format_ns(self, spot->self.ns);
		format_ns(error, estimate_error(&spot->self));
		format_ns(total, spot->total.ns);
		output_format(out, "%7s %6s %5.1f%% %7s  %-8s ", self, error,
			      100.0 * spot->self.ns / (double)(result->total_ns + 1), total,
			      state_info[spot->state].key);
		write_spot_name(out, result, spot);
		output_format(out, " %4u\n", spot->threads);
	}
}

static void write_path(struct output *out, const struct profile_result *result,
		       const struct profile_path *path)
{
	const struct stacks *stacks = profile_stacks(result->profile);
	char time[16], of[PROFILE_THREAD_BYTES], shown_of[4 * PROFILE_THREAD_BYTES],
		name[BLOCKED_NAME_BYTES], shown[BLOCKED_NAME_BYTES];
	char place[BLOCKED_PLACE_BYTES], shown_place[BLOCKED_PLACE_BYTES];
	uint32_t ids[PROFILE_FRAMES_MAX];
	size_t count = profile_frames(result, path, ids);

	format_ns(time, path->time.ns);
	profile_thread_name(&result->threads[path->thread], of);
	text_printable(shown_of, sizeof(shown_of), of, sizeof(of));
	output_format(out, "%7s  %s  %s\n", time, state_info[path->state].key, shown_of);
	for (size_t i = 0; i < count && i < PATH_FRAMES; i++) {
		snprintf(name, sizeof(name), "%s",
			 profile_frame_name(stacks_frame(stacks, ids[i])));
		blocked_cut_parameters(name);
		blocked_place(place, stacks_frame(stacks, ids[i]));
		split_script(name, place);
		text_printable(shown, sizeof(shown), name, 100);
		text_printable(shown_place, sizeof(shown_place), place, 60);
		output_format(out, "         %s%s%s\n", shown, *place ? "  " : "", shown_place);
	}
	if (count > PATH_FRAMES)
		output_format(out, "         … %zu more\n", count - PATH_FRAMES);
}

static void write_paths(struct output *out, const struct profile_result *result)
{
	size_t written = 0;

	for (size_t i = 0; i < result->path_count && written < PATHS; i++) {
		const struct profile_path *path = &result->paths[i];

		if (!(result->states & 1U << path->state) || !path->stack)
			continue;
		output_string(out, written++ ? "" : "\nHEAVIEST PATHS\n");
		write_path(out, result, path);
	}
}

#define HINT_SHARE 0.05 /* of the time on a CPU, or of all */

static void write_hint(struct output *out, const struct profile_result *result)
{
	const struct profile_state *states = profile_states(result->profile);
	const struct stacks *stacks = profile_stacks(result->profile);
	double computing_ns = 0, nameless_ns = 0;

	for (size_t i = 0; i < result->path_count; i++) {
		const struct profile_path *path = &result->paths[i];
		const struct frame *frame =
			stacks_frame(stacks, profile_own_frame(stacks, path->stack, path->state));

		if (!(result->states & 1U << path->state))
			continue;
		/* on a CPU what it calls has a name, by whatever code */
		if (path->state == STATE_USER) {
			if (frame && frame_is_made_at_run_time(frame))
				computing_ns += path->time.ns;
		} else if (stacks_lacks_names(stacks, path->stack)) {
			nameless_ns += path->time.ns;
		}
	}
	nameless_ns += computing_ns;
	if (computing_ns > HINT_SHARE * (double)states[STATE_USER].total_ns ||
	    nameless_ns > HINT_SHARE * (double)result->total_ns)
		text_line(out, 0, "%s", MADE_AT_RUN_TIME_HINT);
}

/* Of what is not measured, what says something of stacks. */
static void write_missing(struct output *out, const struct session_info *session)
{
	static const char *const sources[] = {"samples", "stacks", "symbols", "names", "python"};

	for (size_t i = 0; i < session->missing_count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(sources); j++)
			if (!strcmp(session->missing[i].source, sources[j]))
				output_format(out, "not measured: %s: %s\n",
					      session->missing[i].source, session->missing[i].why);
}

void profile_table(struct output *out, const struct profile_result *result)
{
	write_head(out, result);
	write_missing(out, result->session);
	write_hint(out, result);
	write_states(out, result);
	write_spots(out, result);
	write_paths(out, result);
}

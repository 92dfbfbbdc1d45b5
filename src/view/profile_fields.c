// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell profile` says. docs/formats/json.md is the contract. */
#include <errno.h>
#include <math.h>

#include "model/reason.h"
#include "view/blocked_words.h"
#include "view/frames.h"
#include "view/profile.h"
#include "view/view.h"

int profile_result_make(struct profile_result *result)
{
	const struct profile_state *states = profile_states(result->profile);

	result->total_ns = 0;
	for (int state = 0; state < STATES; state++)
		if (result->states & 1U << state)
			result->total_ns += states[state].total_ns;
	result->paths = profile_paths(result->profile, &result->path_count);
	result->threads = profile_threads(result->profile, &result->thread_count);
	return profile_spots(result->profile, result->by,
			     (struct profile_choice){.states = result->states}, &result->spots,
			     &result->spot_count);
}

static const struct profile_result *result_of(const struct item *item)
{
	return item->row;
}

/* Whole nanoseconds. */
static uint64_t rounded(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static uint64_t error_ns(const struct estimate *estimate)
{
	return rounded(estimate_error(estimate));
}

/* A state: the context is the whole, the row one of its struct profile_state. */

static enum state state_number(const struct item *item)
{
	const struct profile_result *result = item->context;

	return (enum state)((const struct profile_state *)item->row -
			    profile_states(result->profile));
}

VALUE_GETTER(get_state_name, value_string, state_info[state_number(item)].key)
VALUE_GETTER(get_state_sampled, value_bool,
	     ((const struct profile_result *)item->context)->states & 1U << state_number(item))

FIELD_GETTER(get_unseen_factor)
{
	const struct profile_state *state = item->row;

	(void)field;
	value_real(value, state->unseen_ns > 0 ? state->scaled_ns / state->unseen_ns : NAN);
}

static const struct field state_fields[] = {
	STRING_FIELD("state", get_state_name, "which"),
	NUMBER_MEMBER(struct profile_state, total_ns, "total_ns",
		      "of all threads, by the accounts"),
	BOOL_FIELD("wanted", get_state_sampled, "stacks were asked for"),
	NUMBER_MEMBER(struct profile_state, sampled_ns, "sampled_ns",
		      "of it, what stacks stand for, thread by thread"),
	NUMBER_MEMBER(struct profile_state, count, "stacks", "how many"),
	REAL_FIELD("unseen_factor", get_unseen_factor,
		   "what stacks stand for and did not see was scaled by it"),
};

static const struct schema state_schema = {.name = "profile_state",
					   .help = "time of all threads in a state",
					   SCHEMA_FIELDS(state_fields)};

/* Rows of the table: a function, file or line in a state. The context is the whole. */

static const struct profile_spot *spot_of(const struct item *item)
{
	return item->row;
}

static struct item frame_of(const struct item *item)
{
	const struct profile_result *result = item->context;

	return (struct item){stacks_frame(profile_stacks(result->profile), spot_of(item)->frame),
			     NULL};
}

FIELD_GETTER(get_function)
{
	const struct frame *frame = frame_of(item).row;

	(void)field;
	/* in full: a closure's row is not its function's */
	value_text(value, frame ? profile_frame_name(frame) : NULL);
}

FIELD_GETTER(get_file)
{
	struct item frame = frame_of(item);

	frame_get_file(field, &frame, value);
}

FIELD_GETTER(get_line)
{
	struct item frame = frame_of(item);

	frame_get_line(field, &frame, value);
}

FIELD_GETTER(get_module)
{
	const struct frame *frame = frame_of(item).row;

	value_text(value, frame ? frame->module : NULL);
}

static const struct profile_thread *spot_thread(const struct item *item)
{
	const struct profile_result *result = item->context;

	return spot_of(item)->thread ? &result->threads[spot_of(item)->thread - 1] : NULL;
}

VALUE_GETTER(get_spot_tid, value_known, spot_thread(item) ? spot_thread(item)->tid : 0,
	     spot_thread(item) && spot_thread(item)->tid)
VALUE_GETTER(get_spot_comm, value_text, spot_thread(item) ? spot_thread(item)->comm : NULL)
VALUE_GETTER(get_state, value_string, state_info[spot_of(item)->state].key)
VALUE_GETTER(get_self, value_number, rounded(spot_of(item)->self.ns))
VALUE_GETTER(get_self_error, value_number, error_ns(&spot_of(item)->self))
VALUE_GETTER(get_total, value_number, rounded(spot_of(item)->total.ns))
VALUE_GETTER(get_total_error, value_number, error_ns(&spot_of(item)->total))

static const struct field spot_fields[] = {
	STRING_FIELD("state", get_state, "what the threads were in", .header = "STATE"),
	STRING_FIELD("function", get_function, "its name; null: no stack is known",
		     .header = "FUNCTION", .width = 44),
	STRING_FIELD("file", get_file, "source file, where it is known"),
	INTEGER_FIELD("line", get_line, "line in it"),
	STRING_FIELD("module", get_module, "file of the program or library"),
	INTEGER_FIELD("tid", get_spot_tid, "thread id, by thread"),
	STRING_FIELD("comm", get_spot_comm, "thread name, by thread"),
	INTEGER_FIELD("self_ns", get_self, "time that is named by it", .header = "SELF"),
	INTEGER_FIELD("self_error_ns", get_self_error, "standard error of that"),
	INTEGER_FIELD("total_ns", get_total, "time in it and in what it called", .header = "TOTAL"),
	INTEGER_FIELD("total_error_ns", get_total_error, "standard error of that"),
	NUMBER_MEMBER(struct profile_spot, count, "stacks", "that it is on", .header = "STACKS"),
	NUMBER_MEMBER(struct profile_spot, threads, "threads", "that were there",
		      .header = "THREADS"),
};

static const struct schema spot_schema = {.name = "profile_function",
					  .help = "time in a state by function, file or line",
					  SCHEMA_FIELDS(spot_fields)};

/* Threads: a row may be several. */

static const struct profile_thread *thread_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_thread_pid, value_known, thread_of(item)->pid, thread_of(item)->pid)
VALUE_GETTER(get_thread_tid, value_known, thread_of(item)->tid, thread_of(item)->tid)

FIELD_GETTER(get_thread_state)
{
	const struct profile_thread *thread = item->row;
	const struct profile_result *result = item->context;

	value_known(value, thread->states_ns[field->argument],
		    session_measures(result->session, wire_of_state((enum state)field->argument)));
}

#define THREAD_STATE_FIELD(name_, number, key_, header_, help_)                                    \
	INTEGER_FIELD(key_, get_thread_state, help_, .group = "states_ns",                         \
		      .argument = STATE_##name_),

static const struct field thread_fields[] = {
	INTEGER_FIELD("pid", get_thread_pid, "process id; null: of several"),
	INTEGER_FIELD("tid", get_thread_tid, "thread id; null: of several"),
	ARRAY_MEMBER(struct profile_thread, comm, "comm", "thread name"),
	ARRAY_MEMBER(struct profile_thread, process, "process", "process name"),
	NUMBER_MEMBER(struct profile_thread, threads, "threads", "that it is the sum of"),
	ON_CPU_STATES(THREAD_STATE_FIELD) WIRE_WAITS(THREAD_STATE_FIELD) /* thirteen */
};

static const struct schema thread_schema_ = {.name = "profile_thread",
					     .help = "time of a thread, by the accounts",
					     SCHEMA_FIELDS(thread_fields)};

/* Paths: the context is the whole. */

static const struct profile_path *path_of(const struct item *item)
{
	return item->row;
}

static const struct profile_thread *path_thread(const struct item *item)
{
	const struct profile_result *result = item->context;

	return &result->threads[path_of(item)->thread];
}

VALUE_GETTER(get_path_pid, value_known, path_thread(item)->pid, path_thread(item)->pid)
VALUE_GETTER(get_path_tid, value_known, path_thread(item)->tid, path_thread(item)->tid)
VALUE_GETTER(get_path_threads, value_number,
	     path_thread(item)->pooled ? path_thread(item)->pooled : 1)
VALUE_GETTER(get_path_comm, value_text, path_thread(item)->comm)
VALUE_GETTER(get_path_state, value_string, state_info[path_of(item)->state].key)
FIELD_GETTER(get_path_reason)
{
	const struct profile_result *result = item->context;

	(void)field;
	reason_format(value->text, sizeof(value->text), path_of(item)->site,
		      session_is_native(result->session));
	value_text(value, *value->text ? value->text : NULL);
}

VALUE_GETTER(get_path_ns, value_number, rounded(path_of(item)->time.ns))
VALUE_GETTER(get_path_error, value_number, error_ns(&path_of(item)->time))

static const struct stack *path_stack(const struct item *item)
{
	const struct profile_result *result = item->context;

	return stacks_stack(profile_stacks(result->profile), path_of(item)->stack);
}

FIELD_GETTER(get_path_frames)
{
	const struct stack *stack = path_stack(item);

	value_elements(value, stack ? stack->count : 0);
}

FIELD_ELEMENT(path_frame)
{
	const struct profile_result *result = item->context;
	const struct frame *frame =
		stacks_frame(profile_stacks(result->profile), path_stack(item)->frames[index]);

	if (frame)
		value_object(value, frame, NULL);
	else
		value_absent(value);
}

static const struct field path_fields[] = {
	INTEGER_FIELD("pid", get_path_pid, "process id; null: of several"),
	INTEGER_FIELD("tid", get_path_tid, "thread id; null: of several"),
	STRING_FIELD("comm", get_path_comm, "thread name"),
	INTEGER_FIELD("threads", get_path_threads, "how many it is of"),
	STRING_FIELD("state", get_path_state, "what it was in"),
	STRING_FIELD("reason", get_path_reason, "what it waited for; null: nothing"),
	INTEGER_FIELD("ns", get_path_ns, "how long"),
	INTEGER_FIELD("error_ns", get_path_error, "standard error of that"),
	NUMBER_MEMBER(struct profile_path, count, "stacks", "how many"),
	LIST_FIELD("stack", get_path_frames, path_frame, &frame_schema, "innermost first"),
};

static const struct schema path_schema = {
	.name = "profile_path",
	.help = "time of a thread in a state for a reason, on one stack",
	SCHEMA_FIELDS(path_fields)};

/* The whole. */

FIELD_GETTER(get_start)
{
	view_format_time(value->text, result_of(item)->start_realtime_ns);
	value_string(value, value->text);
}

FIELD_GETTER(get_states)
{
	const struct profile_result *result = result_of(item);

	value_rows(value, profile_states(result->profile), STATES, sizeof(struct profile_state),
		   result);
}

FIELD_GETTER(get_spots)
{
	const struct profile_result *result = result_of(item);

	value_rows(value, result->spots, result->spot_count, sizeof(*result->spots), result);
}

FIELD_GETTER(get_paths)
{
	value_elements(value, result_of(item)->path_count);
}

FIELD_ELEMENT(path_element)
{
	const struct profile_result *result = result_of(item);

	if (result->states & 1U << result->paths[index].state)
		value_object(value, &result->paths[index], result);
	else
		value_absent(value);
}

FIELD_GETTER(get_threads)
{
	value_elements(value, result_of(item)->thread_count);
}

FIELD_ELEMENT(thread_element)
{
	const struct profile_result *result = result_of(item);

	if (result->threads[index].threads)
		value_object(value, &result->threads[index], result);
	else
		value_absent(value);
}

static const struct wire_profile *quality_of(const struct item *item)
{
	return profile_quality(result_of(item)->profile);
}

VALUE_GETTER(get_by, value_string, profile_grouping_keys[result_of(item)->by])
VALUE_GETTER(get_frequency, value_known, quality_of(item)->frequency, quality_of(item)->frequency)
VALUE_GETTER(get_complete, value_number, quality_of(item)->stacks_complete)
VALUE_GETTER(get_truncated, value_number, quality_of(item)->stacks_truncated)
VALUE_GETTER(get_failed, value_number, quality_of(item)->stacks_failed)
VALUE_GETTER(get_addresses, value_number, quality_of(item)->frames)
VALUE_GETTER(get_named, value_number, quality_of(item)->frames_named)
VALUE_GETTER(get_with_lines, value_number, quality_of(item)->frames_with_lines)
VALUE_GETTER(get_lost, value_number, quality_of(item)->lost)
VALUE_GETTER(get_lost_transitions, value_number, result_of(item)->losses.transitions)

FIELD_GETTER(get_unavailable)
{
	const struct session_info *session = result_of(item)->session;

	value_rows(value, session->missing, session->missing_count, sizeof(struct wire_missing),
		   NULL);
}

static const struct field quality_fields[] = {
	INTEGER_FIELD("stacks_complete", get_complete, "to the thread's start"),
	INTEGER_FIELD("stacks_truncated", get_truncated, "ended early"),
	INTEGER_FIELD("stacks_failed", get_failed, "without a caller"),
	INTEGER_FIELD("addresses", get_addresses, "different ones on them"),
	INTEGER_FIELD("addresses_named", get_named, "of those"),
	INTEGER_FIELD("addresses_with_lines", get_with_lines, "of those"),
	INTEGER_FIELD("lost", get_lost, "stacks and waits that found no room"),
	INTEGER_FIELD("lost_transitions", get_lost_transitions, "switches that were not seen"),
	LIST_FIELD("unavailable", get_unavailable, NULL, &missing_schema, "what is not measured"),
};

static const struct schema quality_schema = {.name = "profile_quality",
					     .help = "how far to trust the figures",
					     SCHEMA_FIELDS(quality_fields)};

static const struct field profile_fields[] = {
	STRING_FIELD("start", get_start, "beginning, UTC"),
	NUMBER_MEMBER(struct profile_result, duration_ns, "duration_ns", "time measured"),
	STRING_FIELD("by", get_by, "what `functions` are summed up by"),
	INTEGER_FIELD("frequency", get_frequency, "samples a second and CPU; null: none"),
	NUMBER_MEMBER(struct profile_result, self_cpu_ns, "self_cpu_ns", "CPU time of dwell"),
	OBJECT_FIELD("quality", get_same_row, &quality_schema, "how far to trust it"),
	LIST_FIELD("states", get_states, NULL, &state_schema, "of all threads"),
	LIST_FIELD("threads", get_threads, thread_element, &thread_schema_, "that were there"),
	LIST_FIELD("functions", get_spots, NULL, &spot_schema, "the largest first"),
	LIST_FIELD("paths", get_paths, path_element, &path_schema, "the largest first"),
};

const struct schema profile_schema = {.name = "profile",
				      .help = "which code each state's time was spent in",
				      .version = 1,
				      SCHEMA_FIELDS(profile_fields),
				      .table = "profile_function"};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/text.h"
#include "capture/frame_record.h"
#include "dwell.skel.h"
#include "symbol/frame_kind.h"
#include "symbol/opener.h"
#include "symbol/python.h"

/* Different stacks, and the texts of different frames, that are kept; a stack with more is lost. */
#define STACKS_BYTES_MAX  (16 << 20)
#define FRAMES_BYTES_MAX  (32 << 20)
#define READER_FRAMES_MAX (1 << 20)

/* Deaths of readers after which none is asked any more: each may be one that the kernel holds. */
#define DEATHS_MAX 16

#define PRELOAD_NS (10 * NS_PER_S)

/* Now, not when the first stall comes and others wait to be looked at. */
static void ask_preload(struct span_stacks *stacks, uint64_t kind, uint32_t pid)
{
	/* not on the stack, which the helpers keep: theirs would be deeper than what is copied */
	static struct stack_question question;

	question.head.kind = kind;
	question.stack.pid = pid;
	if (!helper_ask(stacks->helper, &question, offsetof(struct stack_question, stack.user)))
		return;
	stacks->asked[stacks->next++ % SPAN_STACKS_ASKED] = (struct span_stacks_asked){.pid = pid};
	stacks->preloads++;
}

int span_stacks_start(struct span_stacks *stacks, const struct stack_options *options,
		      const uint32_t *pids, size_t count, struct error *error)
{
	*stacks = (struct span_stacks){.frames.bytes_max = FRAMES_BYTES_MAX,
				       .stacks.bytes_max = STACKS_BYTES_MAX,
				       .first = 1,
				       .next = 1,
				       .pythons_fd = -1,
				       .ends_fd = -1};
	opener_allow_symbols(options->symbols);
	/* when a stack is read, its process may have ended, or have other libraries */
	opener_follow_processes();
	if (helper_start(&stacks->helper, &stack_reader_work, options, error) < 0)
		return -EAGAIN;
	ask_preload(stacks, STACK_PRELOAD, count ? pids[0] : 0);
	for (size_t i = 1; i < count && i < SPAN_STACKS_PRELOADED; i++)
		ask_preload(stacks, STACK_LOOK, pids[i]);
	return 0;
}

void span_stacks_release(struct span_stacks *stacks)
{
	helper_end(stacks->helper);
	interned_release(&stacks->frames);
	interned_release(&stacks->stacks);
	free(stacks->ids);
	*stacks = (struct span_stacks){0};
}

uint64_t span_stacks_deaths(const struct span_stacks *stacks)
{
	return helper_deaths(stacks->helper);
}

bool span_stacks_ended(const struct span_stacks *stacks)
{
	return helper_deaths(stacks->helper) >= DEATHS_MAX || helper_is_gone(stacks->helper);
}

static int report_deaths(struct span_stacks *stacks, struct record_sink sink)
{
	bool first = !stacks->deaths_reported && span_stacks_deaths(stacks);

	if (span_stacks_ended(stacks) && stacks->deaths_reported != UINT64_MAX) {
		stacks->deaths_reported = UINT64_MAX;
		return sink_missing(sink, "stacks",
				    "reading the program's files or memory made dwell's helper "
				    "hang or die too often: no more stacks are read");
	}
	if (!first)
		return 0;
	stacks->deaths_reported = span_stacks_deaths(stacks);
	return sink_missing(sink, "stacks",
			    "reading the program's files or memory made dwell's helper hang or "
			    "die: some stacks are lost");
}

/* Of the first such file: what is not measured, and why, in a sentence around its name. */
static const struct {
	const char *source, *before, *after;
} file_reports[STACK_FILES] = {
	[STACK_FILE_32_BIT] = {"stacks", "",
			       "is a 32-bit program, whose stacks are not looked into"},
	[STACK_FILE_PYTHON] = {"python", "",
			       "is a CPython that dwell cannot look into (" PYTHON_VERSIONS
			       " with an interpreter lock are): functions are the interpreter's"},
	[STACK_FILE_UNFOLLOWED] = {"symbols", "what ",
				   "had mapped at some moments could not be followed: some of its "
				   "functions have no names"},
	[STACK_FILE_OTHER_BUILD] = {"symbols", "the debug file of ",
				    "is from another build, so it is not used"},
	[STACK_FILE_UNSYMBOLED] = {"symbols", "",
				   "is from another build than the file of --target, which is not "
				   "used for it"},
	[STACK_FILE_UNANSWERED] = {"symbols", "",
				   "lies on a filesystem that another user's program serves (FUSE) "
				   "or may serve, and that may never answer: it is not read"},
};

int span_stacks_report(struct span_stacks *stacks, struct record_sink sink)
{
	int result = report_deaths(stacks, sink);

	for (size_t i = 0; result >= 0 && i < STACK_FILES; i++) {
		char why[STACK_FILE_BYTES + 160];

		if (!*stacks->files[i] || stacks->files_reported[i])
			continue;
		stacks->files_reported[i] = true;
		snprintf(why, sizeof(why), "%s%s %s", file_reports[i].before, stacks->files[i],
			 file_reports[i].after);
		result = sink_missing(sink, file_reports[i].source, why);
	}
	return result;
}

static size_t bytes_of(const struct span_stack *stack, bool asleep)
{
	return offsetof(struct span_stack, user) + (asleep ? 0 : stack->user_bytes);
}

struct span_question *span_question_new(const struct span_stack *raw, bool asleep,
					uint64_t switches)
{
	size_t length = bytes_of(raw, asleep);
	struct span_question *question;

	if (length > sizeof(*raw))
		return NULL;
	question = malloc(offsetof(struct span_question, stack) + length);
	if (!question)
		return NULL;
	question->asleep = asleep;
	question->switches = switches;
	memcpy(&question->stack, raw, length);
	return question;
}

size_t span_question_bytes(const struct span_question *question)
{
	return offsetof(struct span_question, stack) + bytes_of(&question->stack, question->asleep);
}

uint64_t span_stacks_ask_raw(struct span_stacks *stacks, const struct span_stack *raw, bool asleep,
			     uint64_t switches)
{
	const struct stack_question_head head = {.kind = asleep ? STACK_ASLEEP : STACK_COPIED,
						 .switches = switches};
	size_t length = bytes_of(raw, asleep);

	if (stacks->next - stacks->first == SPAN_STACKS_ASKED || length > sizeof(*raw) ||
	    !helper_ask_both(stacks->helper, &head, sizeof(head), raw, length))
		return 0;
	stacks->asked[stacks->next % SPAN_STACKS_ASKED] =
		(struct span_stacks_asked){.time_ns = raw->header.time_ns,
					   .thread_start_ns = raw->thread_start_ns,
					   .pid = raw->pid,
					   .tid = raw->tid,
					   .exec_id = raw->exec_id,
					   .counts = span_stack_counts(raw->of)};
	return stacks->next++;
}

uint64_t span_stacks_ask(struct span_stacks *stacks, const struct span_question *question)
{
	return span_stacks_ask_raw(stacks, &question->stack, question->asleep, question->switches);
}

/* Another reader has begun: its ids are its own. */
static void take_generation(struct span_stacks *stacks, uint64_t generation)
{
	if (stacks->generation == generation)
		return;
	stacks->generation = generation;
	stacks->id_count = 0;
	stacks->counts_before = span_stacks_counts(stacks);
	stacks->counts = (struct symbolizer_counts){0};
}

/*
 * Numbers a frame, and sends it if it is new. The texts of `record` are checked. *ret_id 0: there
 * is no room for another. 0, -ENOMEM, or what the sink says.
 */
static int add_frame(struct span_stacks *stacks, struct wire_frame *record, uint64_t time_ns,
		     uint32_t *ret_id, struct record_sink sink)
{
	size_t known = stacks->frames.count, index;

	record->header.time_ns = 0;
	record->id = 0;
	index = interned_add(&stacks->frames, record, record->header.size);
	*ret_id = 0;
	if (index == INTERNED_NONE)
		return -ENOMEM;
	if (index == INTERNED_FULL)
		return 0;
	*ret_id = (uint32_t)index + 1;
	if (index < known)
		return 0;
	record->header.time_ns = time_ns;
	record->id = *ret_id;
	return sink_send(sink, &record->header);
}

/* What a reader says may be a lie, but has the form of a frame. */
static bool is_frame(const struct wire_frame *frame, size_t length)
{
	const unsigned int known = WIRE_FRAME_INLINED | WIRE_FRAME_NAMED | WIRE_FRAME_BUILD_ID;
	size_t used;

	return length >= sizeof(*frame) && length <= FRAME_RECORD_BYTES && length % 8 == 0 &&
	       frame->header.kind == WIRE_FRAME && frame->header.size == length &&
	       frame->line <= INT32_MAX && frame->kind <= FRAME_KIND_KERNEL &&
	       !(frame->flags & ~known) && frame_record_is_sound(frame, length, &used) &&
	       length - used < 8;
}

static int take_part(struct span_stacks *stacks, const uint8_t *bytes, size_t length,
		     uint64_t time_ns, struct record_sink sink)
{
	union {
		struct wire_frame record;
		uint8_t room[FRAME_RECORD_BYTES];
	} frame;
	uint64_t generation;
	uint32_t id;

	if (length < sizeof(struct stack_part) ||
	    length > offsetof(struct stack_part, frame) + sizeof(frame))
		return 0;
	memcpy(&generation, bytes, sizeof(generation));
	length -= offsetof(struct stack_part, frame);
	memcpy(&frame, bytes + offsetof(struct stack_part, frame), length);
	take_generation(stacks, generation);
	id = frame.record.id;
	if (!id || id <= stacks->id_count || id > READER_FRAMES_MAX)
		return 0;
	if (array_reserve(&stacks->ids, &stacks->id_room, id, sizeof(*stacks->ids)) < 0)
		return -ENOMEM;
	/* one that is refused, or did not come, costs the stacks that it is in */
	memset(stacks->ids + stacks->id_count, 0, (id - stacks->id_count) * sizeof(*stacks->ids));
	stacks->id_count = id;
	if (!is_frame(&frame.record, length))
		return 0;
	return add_frame(stacks, &frame.record, time_ns, &stacks->ids[id - 1], sink);
}

/* The frames by our own ids. False: one of them has none. */
static bool translate(const struct span_stacks *stacks, const struct stack_answer *answer,
		      uint32_t ids[STACK_FRAMES_MAX])
{
	for (uint32_t i = 0; i < answer->count; i++) {
		uint32_t id = answer->frames[i];

		ids[i] = id && id <= stacks->id_count ? stacks->ids[id - 1] : 0;
		if (!ids[i])
			return false;
	}
	return true;
}

static int send_stack(struct span_stacks *stacks, const struct stack_answer *answer,
		      uint64_t time_ns, uint32_t *ret_id, struct record_sink sink)
{
	union {
		struct wire_stack record;
		uint8_t room[sizeof(struct wire_stack) + (STACK_FRAMES_MAX + 1) * sizeof(uint32_t)];
	} out;
	uint32_t *ids = (uint32_t *)(out.room + sizeof(out.record));
	size_t known = stacks->stacks.count, index;
	size_t bytes = answer->count * sizeof(*ids);

	*ret_id = 0;
	/* the process ended before its map was read, and the kernel's part is not known either */
	if (!answer->count)
		return 0;
	if (!translate(stacks, answer, ids)) {
		stacks->lost++;
		return 0;
	}
	index = interned_add(&stacks->stacks, ids, bytes);
	if (index == INTERNED_FULL) {
		stacks->lost++;
		return 0;
	}
	if (index == INTERNED_NONE)
		return -ENOMEM;
	*ret_id = (uint32_t)index + 1;
	if (index < known)
		return 0;
	out.record = (struct wire_stack){
		.header = {.size = (__u32)(sizeof(out.record) + (bytes + 7) / 8 * 8),
			   .kind = WIRE_STACK,
			   .time_ns = time_ns},
		.id = *ret_id,
		.count = answer->count,
		.end = answer->end,
	};
	memset(out.room + sizeof(out.record) + bytes, 0, -bytes % 8);
	return sink_send(sink, &out.record.header);
}

static void count_end(struct span_stacks *stacks, uint32_t end)
{
	if (end == WIRE_STACK_COMPLETE)
		stacks->complete++;
	else if (end == WIRE_STACK_TRUNCATED)
		stacks->truncated++;
	else
		stacks->failed++;
}

/* For the next stack of that thread. */
static void keep_end(const struct span_stacks *stacks, const struct stack_answer *answer,
		     const struct span_stacks_asked *asked)
{
	const struct stack_end end = {.thread_start_ns = asked->thread_start_ns,
				      .end = answer->user_end,
				      .exec_id = asked->exec_id};

	if (!answer->is_end_new || stacks->ends_fd < 0)
		return;
	if (end.end)
		(void)bpf_map_update_elem(stacks->ends_fd, &asked->tid, &end, BPF_ANY);
	else
		(void)bpf_map_delete_elem(stacks->ends_fd, &asked->tid);
}

static int take_answer(struct span_stacks *stacks, const void *bytes, size_t length,
		       const struct span_stacks_asked *asked, struct span_found *found,
		       struct record_sink sink)
{
	struct stack_answer answer;

	if (length < offsetof(struct stack_answer, frames) || length > sizeof(answer))
		return 0;
	memcpy(&answer, bytes, length);
	if (answer.count > STACK_FRAMES_MAX || answer.end > WIRE_STACK_FAILED ||
	    length !=
		    offsetof(struct stack_answer, frames) + answer.count * sizeof(answer.frames[0]))
		return 0;
	take_generation(stacks, answer.generation);
	stacks->counts = answer.counts;
	for (size_t i = 0; i < STACK_FILES; i++) {
		answer.files[i][STACK_FILE_BYTES - 1] = '\0';
		if (*answer.files[i])
			memcpy(stacks->files[i], answer.files[i], STACK_FILE_BYTES);
	}
	answer.python.exec_id = asked->exec_id;
	/* of very many, those that have not run for longest are forgotten */
	if (answer.python.threads && stacks->pythons_fd >= 0)
		(void)bpf_map_update_elem(stacks->pythons_fd, &asked->pid, &answer.python, BPF_ANY);
	keep_end(stacks, &answer, asked);
	if (!answer.is_read)
		return 0;
	found->is_read = true;
	found->signs = answer.signs;
	/* those of threads that may be no workers say nothing of the quality */
	if (asked->counts)
		count_end(stacks, answer.end);
	return send_stack(stacks, &answer, asked->time_ns, &found->id, sink);
}

int span_stacks_next(struct span_stacks *stacks, uint64_t deadline_ns, uint64_t single_ns,
		     uint64_t *ret_number, struct span_found *found, struct record_sink sink)
{
	*found = (struct span_found){0};
	while (stacks->first < stacks->next) {
		static uint8_t bytes[HELPER_MESSAGE_BYTES];
		const struct span_stacks_asked *asked;
		size_t length = 0;
		int result = 0;
		enum helper_state state = helper_next(stacks->helper, deadline_ns, single_ns,
						      ret_number, bytes, &length);

		if (state == HELPER_NONE)
			return 0;
		asked = &stacks->asked[*ret_number % SPAN_STACKS_ASKED];
		if (state == HELPER_PART) {
			result = take_part(stacks, bytes, length, asked->time_ns, sink);
			if (result < 0)
				return result;
			continue;
		}
		if (state == HELPER_LOST)
			stacks->lost += asked->counts;
		else
			result = take_answer(stacks, bytes, length, asked, found, sink);
		stacks->first = *ret_number + 1;
		return result < 0 ? result : 1;
	}
	return 0;
}

static int refuse(void *data, const struct wire_header *record)
{
	(void)data;
	(void)record;
	return -EINVAL;
}

void span_stacks_configure(struct dwell_bpf *bpf)
{
	bpf_map__set_max_entries(bpf->maps.stack_ends,
				 STACK_ENDS + (__u32)get_nprocs_conf() * STACK_ENDS_OF_CPU);
}

void span_stacks_await_preload(struct span_stacks *stacks, const struct dwell_bpf *bpf)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PRELOAD_NS, number;
	struct record_sink none = {.record = refuse};
	struct span_found found;

	if (bpf) {
		stacks->pythons_fd = bpf_map__fd(bpf->maps.pythons);
		stacks->ends_fd = bpf_map__fd(bpf->maps.stack_ends);
	}
	while (stacks->first <= stacks->preloads) {
		int result =
			span_stacks_next(stacks, deadline_ns, PRELOAD_NS, &number, &found, none);

		if (result <= 0) {
			stacks->lost += result < 0;
			break;
		}
	}
}

int span_stacks_name(struct span_stacks *stacks, const char *name, bool named, uint64_t time_ns,
		     uint32_t *ret_id, struct record_sink sink)
{
	const struct symbol_frame frame = {.function = name,
					   .module = "",
					   .named = named,
					   .kind = named ? FRAME_KIND_USER : FRAME_KIND_UNKNOWN};
	union {
		struct wire_frame record;
		uint8_t room[FRAME_RECORD_BYTES];
	} out;

	frame_record_write(out.room, 0, &frame);
	return add_frame(stacks, &out.record, time_ns, ret_id, sink);
}

const uint32_t *span_stacks_frames(const struct span_stacks *stacks, uint32_t id, size_t *ret_count)
{
	size_t length;
	const uint32_t *frames = interned_get(&stacks->stacks, id - 1, &length);

	*ret_count = length / sizeof(*frames);
	return frames;
}

static const char *module_of(const struct wire_frame *record)
{
	return record->text + record->function_bytes + record->file_bytes;
}

unsigned int span_stacks_kind(const struct span_stacks *stacks, uint32_t frame)
{
	size_t length;
	const struct wire_frame *record = interned_get(&stacks->frames, frame - 1, &length);

	return record->kind;
}

uint64_t span_stacks_function(const struct span_stacks *stacks, uint32_t frame)
{
	size_t length;
	const struct wire_frame *record = interned_get(&stacks->frames, frame - 1, &length);
	const char *file = record->text + record->function_bytes, *module = module_of(record);
	bool is_python = *file && !strcmp(file, module);

	if (!*module && record->kind != FRAME_KIND_KERNEL)
		return 0;
	return ((text_hash(record->text) * 31 + text_hash(module)) & ~SPAN_FUNCTION_PYTHON) | 1 |
	       (is_python ? SPAN_FUNCTION_PYTHON : 0);
}

bool span_stacks_is_call(const struct span_stacks *stacks, uint32_t frame)
{
	static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-musl", "[vdso]"};
	size_t length;
	const struct wire_frame *record = interned_get(&stacks->frames, frame - 1, &length);
	const char *module = module_of(record);
	const char *slash = strrchr(module, '/');

	if (record->kind == FRAME_KIND_KERNEL)
		return true;
	module = slash ? slash + 1 : module;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(module, names[i], strlen(names[i])))
			return true;
	return false;
}

struct symbolizer_counts span_stacks_counts(const struct span_stacks *stacks)
{
	const struct symbolizer_counts *now = &stacks->counts, *before = &stacks->counts_before;

	return (struct symbolizer_counts){before->addresses + now->addresses,
					  before->named + now->named,
					  before->with_lines + now->with_lines};
}

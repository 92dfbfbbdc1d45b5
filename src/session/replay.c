// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/replay.h"

#include <errno.h>

#include "capture/recording_paths.h"

/* Whole intervals alone. */
static bool is_chosen(struct replay *replay, const struct interval *interval)
{
	const struct recording_facts *facts = recording_facts(replay->recording);
	uint64_t end_ns = interval->start_realtime_ns + interval->end_ns - interval->start_ns;

	replay->is_over |= facts->until_realtime_ns && end_ns >= facts->until_realtime_ns;
	return interval->start_realtime_ns >= facts->since_realtime_ns &&
	       (!facts->until_realtime_ns || end_ns <= facts->until_realtime_ns);
}

static int take_record(void *data, const struct wire_header *record)
{
	struct replay *replay = data;
	struct interval *interval;
	int result = 0;

	if (record->kind == WIRE_INTERVAL)
		replay->foreign = !session_is_native(intervals_session(replay->intervals));
	if (replay->audience.record)
		result =
			replay->audience.record(replay->audience.data, record, &replay->sink_error);
	if (result >= 0 && record->kind == WIRE_CHILD && replay->audience.child)
		result = replay->audience.child(replay->audience.data,
						(const struct wire_child *)record,
						&replay->sink_error);
	if (result >= 0)
		result = intervals_feed(replay->intervals, record, &interval);
	if (result <= 0 || !is_chosen(replay, interval))
		return result < 0 ? result : 0;
	if (!replay->shown++)
		replay->start_ns = interval->start_ns;
	replay->end_ns = interval->end_ns;
	result = replay->audience.interval(replay->audience.data, interval, &replay->sink_error);
	return result < 0 ? result : 0;
}

int replay_choose(struct replay *replay, const struct recording_choice *choice, struct error *error)
{
	replay->intervals = intervals_new();
	if (!replay->intervals)
		return error_set(error, ENOMEM, "out of memory");
	return recording_open(&replay->recording, choice, error);
}

int replay_open(struct replay *replay, const char *path, struct error *error)
{
	const struct recording_choice choice = {.paths = &path, .count = 1};

	return replay_choose(replay, &choice, error);
}

bool replay_is_rotation(const char *path)
{
	return recording_paths_are(path);
}

void replay_seek(struct replay *replay, uint64_t time_ns)
{
	recording_seek(replay->recording, time_ns);
	replay->is_over = false;
}

int replay_step(struct replay *replay, struct error *error)
{
	struct record_sink sink = {take_record, replay};
	uint64_t before = replay->shown;
	int result;

	do
		result = recording_next(replay->recording, sink, error);
	while (result > 0 && replay->shown == before && !replay->is_over);
	if (audience_explains(result, &replay->sink_error))
		*error = replay->sink_error;
	return result > 0 && replay->shown == before ? 0 : result;
}

const char *replay_remark(const struct replay *replay)
{
	static char text[160];
	const struct wire_session *session = &intervals_session(replay->intervals)->wire;
	uint64_t older = recording_facts(replay->recording)->older_files;

	if (older) {
		snprintf(text, sizeof(text),
			 "%llu older %s left out: %s from another boot, or before a suspend or a "
			 "change of the clock",
			 (unsigned long long)older, older == 1 ? "file is" : "files are",
			 older == 1 ? "it is" : "they are");
		return text;
	}
	if (!replay->foreign)
		return NULL;
	snprintf(text, sizeof(text),
		 "recorded on another architecture (%.15s, %u bits): system calls are shown by "
		 "number",
		 session->machine, session->word_bits);
	return text;
}

int replay_check(const struct replay *replay, struct error *error)
{
	const struct recording_facts *facts = recording_facts(replay->recording);
	char text[256];

	if (facts->damaged_chunks || facts->damaged_bytes) {
		size_t used = (size_t)snprintf(text, sizeof(text), "%llu of %llu chunks %s damaged",
					       (unsigned long long)facts->damaged_chunks,
					       (unsigned long long)facts->chunks,
					       facts->damaged_chunks == 1 ? "is" : "are");

		if (facts->dependent_chunks)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 ", and %llu that refer to %s cannot be read",
						 (unsigned long long)facts->dependent_chunks,
						 facts->damaged_chunks == 1 ? "it" : "them");
		if (facts->damaged_bytes)
			snprintf(text + used, sizeof(text) - used,
				 ", and %llu bytes between chunks are damaged",
				 (unsigned long long)facts->damaged_bytes);
		return error_set(error, EBADMSG, "%s%s", text,
				 facts->damaged_chunks + facts->dependent_chunks < facts->chunks
					 ? "; the rest is as it was recorded"
					 : ": nothing else is in it");
	}
	if (facts->tail_bytes)
		return error_set(error, EBADMSG,
				 "the recording ends in the middle of a chunk (%llu bytes left "
				 "out): was it killed?",
				 (unsigned long long)facts->tail_bytes);
	return 0;
}

static bool is_enough(const struct replay *replay)
{
	return (replay->count && replay->shown >= replay->count) ||
	       (replay->duration_ns && replay->end_ns - replay->start_ns >= replay->duration_ns);
}

int replay_run(struct replay *replay, struct error *error)
{
	int result;

	do
		result = replay_step(replay, error);
	while (result > 0 && !is_enough(replay));
	return result < 0 ? result : replay_check(replay, error);
}

void replay_release(struct replay *replay)
{
	recording_close(replay->recording);
	intervals_free(replay->intervals);
}

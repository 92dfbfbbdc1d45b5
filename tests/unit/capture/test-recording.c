// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/proc_stat.h"
#include "capture/delta.h"
#include "capture/proc_threads.h"
#include "capture/recorder.h"
#include "capture/recording.h"
#include "capture/recording_layout.h"
#include "capture/taskstats.h"

static struct wire_thread sample_thread(uint32_t tid, uint64_t end_ns)
{
	struct wire_thread thread = {
		.header = {.size = sizeof(thread), .kind = WIRE_THREAD, .time_ns = end_ns},
		.start_ns = 7000 + tid,
		.origin_ns = 10,
		.end_ns = end_ns,
		.since_ns = 10,
		.tid = tid,
		.pid = tid,
		.site = {WIRE_IDLE, 0, -1},
	};

	thread.totals.ns[WIRE_IDLE] = end_ns - 10;
	return thread;
}

static size_t nonzero(const void *bytes, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((const char *)bytes)[i] != 0;
	return count;
}

CASE(differences_are_small_and_undone)
{
	struct delta writer = {0}, reader = {0};
	char coded[5][sizeof(struct wire_thread)];

	for (uint64_t round = 1; round <= 4; round++) {
		/* one is new in each round, and one is gone */
		for (uint32_t i = 0; i < 5; i++) {
			struct wire_thread thread =
				sample_thread(i * 10 + (i == 4 ? (uint32_t)round : 0), round * 100);
			const struct wire_header *record;

			assert_int_equal(delta_encode(&writer, &thread.header, coded[i]), 0);
			assert_int_equal(delta_decode(&reader, coded[i], sizeof(coded[i]), &record),
					 sizeof(thread));
			assert_memory_equal(record, &thread, sizeof(thread));
			/* time, end and the total of its state move; the kind is marked */
			if (round > 1 && i < 4)
				assert_true(nonzero(coded[i], sizeof(coded[i])) <= 8);
		}
		delta_next(&writer);
		delta_next(&reader);
	}
	delta_release(&writer);
	delta_release(&reader);
}

CASE(a_difference_to_nothing_is_refused)
{
	struct delta writer = {0}, reader = {0};
	struct wire_thread thread = sample_thread(1, 100);
	char coded[sizeof(thread)];
	const struct wire_header *record;

	assert_int_equal(delta_encode(&writer, &thread.header, coded), 0);
	delta_next(&writer);
	assert_int_equal(delta_encode(&writer, &thread.header, coded), 0);
	assert_int_equal(delta_decode(&reader, coded, sizeof(coded), &record), -EBADMSG);
	assert_int_equal(delta_decode(&reader, coded, 8, &record), -EBADMSG);
	delta_release(&writer);
	delta_release(&reader);
}

/* Room for records of one size is not room for as many of another. */
CASE(records_of_another_layout_have_room)
{
	struct recording_layout layout = recording_layout_here;
	struct delta reader = {0};
	const struct wire_header *record;

	for (int larger = 0; larger <= 1; larger++) {
		for (uint32_t tid = 1; tid <= 64; tid++) {
			struct wire_thread thread = sample_thread(tid, 100);
			char bytes[65528] = {0};

			thread.header.size = layout.sizes[WIRE_THREAD];
			memcpy(bytes, &thread, sizeof(thread));
			assert_int_equal(delta_decode(&reader, bytes, sizeof(bytes), &record),
					 layout.sizes[WIRE_THREAD]);
		}
		layout.sizes[WIRE_THREAD] = layout.sizes[WIRE_EXIT] = sizeof((char[65528]){0});
		delta_lay_out(&reader, &layout);
	}
	delta_release(&reader);
}

static int count_records(void *data, const struct wire_header *record)
{
	unsigned int *counts = data;

	if (record->kind < 16)
		counts[record->kind]++;
	return 0;
}

#define THREAD_1_BYTES 392

/* A recording of version 1 had ten states, and nothing of the machine's time. */
CASE(records_of_version_1_are_read_as_todays)
{
	struct {
		struct wire_header header;
		uint64_t words[(THREAD_1_BYTES - sizeof(struct wire_header)) / 8];
	} old = {.header = {.size = sizeof(old), .kind = WIRE_EXIT}};
	union recording_laid_out room;
	const struct wire_header *record;
	size_t ns = offsetof(struct wire_thread, totals.ns) / 8;
	size_t after = offsetof(struct wire_thread, totals.ns[WIRE_STATES]) / 8;
	size_t tid_at = recording_layout_tid(&recording_layout_1);
	uint32_t tid = 4711;

	((uint64_t *)&old)[ns + 9] = 99;
	((uint64_t *)&old)[ns + 10] = 1234; /* latency_max_ns */
	memcpy((char *)&old + tid_at, &tid, sizeof(tid));
	/* behind tid, pid, parent_pid and exit_code: a state that was none then */
	((char *)&old)[tid_at + 16] = 10;
	record = recording_lay_out(&old.header, &recording_layout_1, &room);
	assert_ptr_equal(record, &room.header);
	assert_int_equal(record->size, sizeof(struct wire_thread));
	assert_int_equal(room.thread.totals.ns[WIRE_STOPPED], 99);
	assert_int_equal(room.thread.totals.ns[WIRE_STOLEN], 0);
	assert_int_equal(((uint64_t *)&room)[after], 1234);
	assert_int_equal(room.thread.tid, 4711);
	assert_int_equal(room.thread.site.state, WIRE_STATES);
	/* of another size it is damaged, and stays as it is */
	old.header.size = sizeof(old) - 8;
	assert_ptr_equal(recording_lay_out(&old.header, &recording_layout_1, &room), &old.header);

	struct wire_interval interval = {
		.header = {.size = recording_layout_1.sizes[WIRE_INTERVAL], .kind = WIRE_INTERVAL}};

	/* final, self_cpu_ns and snapshot_ns lay one word earlier */
	((uint64_t *)&interval)[offsetof(struct wire_interval, losses.clamped) / 8] =
		7 | 1ULL << 32;
	record = recording_lay_out(&interval.header, &recording_layout_1, &room);
	assert_int_equal(room.interval.losses.clamped, 0);
	assert_int_equal(room.interval.threads, 7);
	assert_int_equal(room.interval.final, 1);
	assert_int_equal(room.interval.machine_busy_ns, 0);
}

/* As of a dwell without the last state, and without the last word of a stall. */
static struct recording_layout_record make_layout(void)
{
	struct recording_layout_record record = recording_layout_record();

	record.states--;
	record.sizes[WIRE_THREAD] -= 8;
	record.sizes[WIRE_EXIT] -= 8;
	record.sizes[WIRE_STALL] -= 16;
	record.sizes[WIRE_DELAYS] -= 8;
	return record;
}

CASE(a_recording_says_how_large_its_records_are)
{
	struct recording_layout_record said = make_layout();
	struct recording_layout layout;
	uint64_t words[sizeof(struct wire_stall) / 8] = {0};
	struct wire_header *old = (struct wire_header *)words;
	size_t states = offsetof(struct wire_stall, states_ns) / 8;
	size_t task = offsetof(struct wire_stall, task) / 8;
	union recording_laid_out room;

	assert_int_equal(recording_layout_read(&layout, &said.header), 0);
	*old = (struct wire_header){.size = layout.sizes[WIRE_STALL], .kind = WIRE_STALL};
	words[states + WIRE_STATES - 2] = 77;
	words[task - 1] = 0xabcd;
	assert_ptr_equal(recording_lay_out(old, &layout, &room), &room.header);
	assert_int_equal(room.header.size, sizeof(struct wire_stall));
	assert_int_equal(room.stall.states_ns[WIRE_STATES - 2], 77);
	assert_int_equal(room.stall.states_ns[WIRE_STATES - 1], 0);
	assert_int_equal(room.stall.task, 0xabcd);
	assert_int_equal(layout.sizes[WIRE_DELAYS], sizeof(struct wire_delays) - 8);
	assert_memory_equal(room.stall.culprit.comm + 8, "\0\0\0\0\0\0\0", 8);
	/* what is not different is not copied */
	*old = (struct wire_header){.size = sizeof(struct wire_sample), .kind = WIRE_SAMPLE};
	assert_int_equal(recording_lay_out(old, &recording_layout_here, &room)->size,
			 sizeof(struct wire_sample));
	assert_ptr_equal(recording_lay_out(old, &recording_layout_here, &room), old);
}

/* One that was longer, by a dwell of a higher minor version, is cut. */
CASE(a_longer_record_is_cut)
{
	struct recording_layout_record said = recording_layout_record();
	struct recording_layout layout;
	uint64_t words[(sizeof(struct wire_sample) + 8) / 8] = {0};
	struct wire_header *record = (struct wire_header *)words;
	union recording_laid_out room;

	said.sizes[WIRE_SAMPLE] += 8;
	assert_int_equal(recording_layout_read(&layout, &said.header), 0);
	*record = (struct wire_header){.size = sizeof(words), .kind = WIRE_SAMPLE};
	assert_int_equal(recording_lay_out(record, &layout, &room)->size,
			 sizeof(struct wire_sample));
}

CASE(layouts_that_cannot_be_are_refused)
{
	struct recording_layout_record said;
	struct recording_layout layout;

#define REFUSED(change)                                                                            \
	said = recording_layout_record();                                                          \
	change;                                                                                    \
	assert_int_equal(recording_layout_read(&layout, &said.header), -EBADMSG)

	REFUSED(said.states = 0);
	REFUSED(said.states++);
	REFUSED(said.states = UINT32_MAX);
	REFUSED(said.count = UINT32_MAX);
	REFUSED(said.count = 2);
	REFUSED(said.header.size = 20);
	REFUSED(said.sizes[WIRE_THREAD] -= 8);
	REFUSED(said.sizes[WIRE_EXIT] = said.sizes[WIRE_THREAD] = 160);
	REFUSED(said.sizes[WIRE_DELAYS] = 0);
	REFUSED(said.sizes[WIRE_STALL] = 48);
	REFUSED(said.sizes[WIRE_SAMPLE] = 12);
	REFUSED(said.sizes[WIRE_SAMPLE] = 8);
	REFUSED(said.sizes[WIRE_SAMPLE] = 1U << 20);
}

CASE(what_is_written_is_read)
{
	char path[] = "/tmp/dwell-unit-XXXXXX";
	struct recorder *recorder;
	struct recording *recording;
	struct error error;
	unsigned int counts[16] = {0};
	struct record_sink sink = {count_records, counts};

	close(mkstemp(path));
	assert_int_equal(recorder_open(&recorder, path, false, &error), -EEXIST);
	assert_int_equal(recorder_open(&recorder, path, true, &error), 0);
	for (uint64_t round = 1; round <= 193; round++) {
		struct wire_interval end = {
			.header = {.size = sizeof(end), .kind = WIRE_INTERVAL, .time_ns = round}};

		for (uint32_t i = 0; i < 20; i++) {
			struct wire_thread thread = sample_thread(i, round + 100);

			assert_int_equal(recorder_record(recorder, &thread.header, &error), 0);
		}
		assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	}
	assert_int_equal(recorder_intervals(recorder), 193);
	recorder_close(recorder);
	assert_int_equal(recording_open_path(&recording, path, &error), 0);
	assert_int_equal(recording_facts(recording)->chunks, 193);
	while (recording_next(recording, sink, &error) > 0)
		;
	assert_int_equal(counts[WIRE_THREAD], 3860);
	assert_int_equal(counts[WIRE_INTERVAL], 193);
	/* the key before 130 is chunk 128 (time 129): enough of a baseline */
	recording_seek(recording, 131);
	assert_int_equal(recording_next_ns(recording), 129);
	recording_seek(recording, 129);
	assert_int_equal(recording_next_ns(recording), 121);
	/* the last chunk is a key too: alone it would show nothing */
	recording_seek(recording, 1000);
	assert_int_equal(recording_next_ns(recording), 185);
	recording_seek(recording, 0);
	assert_int_equal(recording_next_ns(recording), 1);
	counts[WIRE_RESTART] = 0;
	assert_int_equal(recording_next(recording, sink, &error), 1);
	assert_int_equal(counts[WIRE_RESTART], 1);
	recording_close(recording);
	unlink(path);
}

/* A file of an interval that ends at `time_ns`, and what was before it. */
static void write_file(char *path, uint64_t time_ns, uint8_t boot)
{
	struct wire_session session = {.header = {sizeof(session), WIRE_SESSION, 0, 0},
				       .boot = {boot}};
	struct wire_interval end = {
		.header = {.size = sizeof(end), .kind = WIRE_INTERVAL, .time_ns = time_ns}};
	struct recorder *recorder;
	struct error error;

	close(mkstemp(path));
	assert_int_equal(recorder_open(&recorder, path, true, &error), 0);
	assert_int_equal(recorder_record(recorder, &session.header, &error), 0);
	assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	recorder_close(recorder);
}

CASE(files_of_one_boot_follow_each_other_across_a_suspend)
{
	static const struct {
		uint64_t later_ns; /* by one clock, not by the other */
		uint8_t boots[2];
		const char *refused;
	} cases[] = {
		{NS_PER_S, {0, 0}, NULL},
		{600 * NS_PER_S, {0, 0}, "from different boots"},
		{600 * NS_PER_S, {0, 7}, "from different boots"},
		{600 * NS_PER_S, {7, 8}, "from different boots"},
		{600 * NS_PER_S, {7, 7}, NULL},
		/* of the same time */
		{-NS_PER_S, {0, 0}, "have the same time"},
		{-NS_PER_S, {7, 7}, "have the same time"},
		{-600 * NS_PER_S, {7, 7}, "have the same time"},
		{-NS_PER_S, {7, 8}, "from different boots"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char first[] = "/tmp/dwell-unit-XXXXXX", second[] = "/tmp/dwell-unit-XXXXXX";
		const char *paths[] = {first, second};
		unsigned int counts[16] = {0};
		struct record_sink sink = {count_records, counts};
		struct recording *recording = NULL;
		struct error error = {""};
		int result;

		write_file(first, 1000 * NS_PER_S, cases[i].boots[0]);
		write_file(second, 1000 * NS_PER_S + cases[i].later_ns, cases[i].boots[1]);
		result = recording_open(
			&recording, &(struct recording_choice){.paths = paths, .count = 2}, &error);
		assert_int_equal(result, cases[i].refused ? -EINVAL : 0);
		assert_true(!cases[i].refused || strstr(error.text, cases[i].refused));
		while (recording && recording_next(recording, sink, &error) > 0)
			;
		/* all is read from its beginning on */
		assert_int_equal(counts[WIRE_SESSION], recording ? 2 : 0);
		assert_int_equal(counts[WIRE_INTERVAL], recording ? 4 : 0);
		assert_int_equal(counts[WIRE_RESTART], recording ? 1 : 0);
		recording_close(recording);
		unlink(first);
		unlink(second);
	}
}

/* One record costs itself, never the interval. */
CASE(a_record_that_is_not_sound_is_left_out)
{
	char path[] = "/tmp/dwell-unit-XXXXXX";
	struct recorder *recorder;
	struct recording *recording;
	struct error error;
	unsigned int counts[16] = {0};
	struct record_sink sink = {count_records, counts};
	struct wire_stack empty = {.header = {.size = sizeof(empty), .kind = WIRE_STACK},
				   .id = 1,
				   .end = WIRE_STACK_FAILED};

	close(mkstemp(path));
	assert_int_equal(recorder_open(&recorder, path, true, &error), 0);
	/* there are recordings with stacks of no frames */
	assert_int_equal(recorder_record(recorder, &empty.header, &error), 0);
	for (uint64_t round = 1; round <= 20; round++) {
		struct wire_interval end = {
			.header = {.size = sizeof(end), .kind = WIRE_INTERVAL, .time_ns = round}};
		struct wire_thread thread = sample_thread(1, round + 100);

		assert_int_equal(recorder_record(recorder, &thread.header, &error), 0);
		thread.since_ns = thread.end_ns + (round == 2);
		assert_int_equal(recorder_record(recorder, &thread.header, &error), 0);
		/* more frames than it has room for */
		empty.count = round == 3;
		assert_int_equal(recorder_note(recorder, &empty.header, &error), 0);
		assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	}
	recorder_close(recorder);
	assert_int_equal(recording_open_path(&recording, path, &error), 0);
	while (recording_next(recording, sink, &error) > 0)
		;
	assert_int_equal(recording_facts(recording)->damaged_chunks, 0);
	assert_int_equal(counts[WIRE_INTERVAL], 20);
	assert_int_equal(counts[WIRE_THREAD], 39);
	/* from the interval after it on, and at each key */
	assert_int_equal(counts[WIRE_MISSING], 19 + 2);
	recording_close(recording);
	unlink(path);
}

CASE(another_file_has_lacks_of_its_own)
{
	char path[] = "/tmp/dwell-unit-XXXXXX", next[sizeof(path) + 2];
	struct recorder *recorder;
	struct recording *recording;
	struct error error;
	unsigned int counts[16] = {0};
	struct record_sink sink = {count_records, counts};
	struct wire_thread thread = sample_thread(1, 100);
	struct wire_interval end = {
		.header = {.size = sizeof(end), .kind = WIRE_INTERVAL, .time_ns = 1}};

	close(mkstemp(path));
	snprintf(next, sizeof(next), "%s.2", path);
	assert_int_equal(recorder_open(&recorder, path, true, &error), 0);
	thread.since_ns = thread.end_ns + 1;
	assert_int_equal(recorder_record(recorder, &thread.header, &error), 0);
	assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	assert_int_equal(recorder_continue(recorder, next, &error), 0);
	/* between files nothing is left out of one */
	assert_int_equal(recorder_note(recorder, &thread.header, &error), 0);
	/* with the second one it has its name */
	for (int i = 0; i < 2; i++)
		assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	recorder_close(recorder);
	assert_int_equal(recording_open_path(&recording, next, &error), 0);
	assert_int_equal(recording_next(recording, sink, &error), 1);
	assert_int_equal(counts[WIRE_INTERVAL], 1);
	assert_int_equal(counts[WIRE_MISSING], 0);
	recording_close(recording);
	unlink(path);
	unlink(next);
}

/* What a reader knows of the session, from wherever it began. */
struct known {
	unsigned int session, missing, cgroup, threads_of_unknown;
};

static int take_standing(void *data, const struct wire_header *record)
{
	struct known *known = data;

	known->session += record->kind == WIRE_SESSION;
	known->missing += record->kind == WIRE_MISSING;
	known->cgroup += record->kind == WIRE_CGROUP;
	if (record->kind == WIRE_THREAD && ((const struct wire_thread *)record)->cgroup_id)
		known->threads_of_unknown += !known->cgroup;
	return 0;
}

CASE(a_reader_that_begins_late_knows_as_much)
{
	char path[] = "/tmp/dwell-unit-XXXXXX";
	struct recorder *recorder;
	struct recording *recording;
	struct error error;
	struct known known = {0};
	struct record_sink sink = {take_standing, &known};
	struct wire_session session = {.header = {sizeof(session), WIRE_SESSION, 0, 0}};
	struct wire_missing missing = {.header = {sizeof(missing), WIRE_MISSING, 0, 0},
				       .source = "taskstats",
				       .why = "no"};
	union {
		struct wire_cgroup record;
		char room[32];
	} cgroup = {.record = {.header = {32, WIRE_CGROUP, 0, 0}, .id = 77}};

	memcpy(cgroup.room + sizeof(cgroup.record), "/a", 3);
	close(mkstemp(path));
	assert_int_equal(recorder_open(&recorder, path, true, &error), 0);
	assert_int_equal(recorder_record(recorder, &session.header, &error), 0);
	assert_int_equal(recorder_record(recorder, &missing.header, &error), 0);
	assert_int_equal(recorder_record(recorder, &cgroup.record.header, &error), 0);
	for (uint64_t round = 1; round <= 200; round++) {
		struct wire_interval end = {
			.header = {.size = sizeof(end), .kind = WIRE_INTERVAL, .time_ns = round}};
		struct wire_thread thread = sample_thread(5, round + 100);

		/* no thread is in it at the key itself */
		thread.cgroup_id = round % 8 > 2 ? 77 : 0;
		assert_int_equal(recorder_record(recorder, &thread.header, &error), 0);
		assert_int_equal(recorder_record(recorder, &end.header, &error), 0);
	}
	recorder_close(recorder);
	assert_int_equal(recording_open_path(&recording, path, &error), 0);
	while (recording_next(recording, sink, &error) > 0)
		;
	assert_int_equal(known.session, 25);
	assert_int_equal(known.missing, 25);
	assert_int_equal(known.cgroup, 25);
	assert_int_equal(known.threads_of_unknown, 0);
	known = (struct known){0};
	recording_seek(recording, 140);
	while (recording_next(recording, sink, &error) > 0)
		;
	assert_int_equal(known.session, 8); /* keys from 136 to 192 */
	assert_int_equal(known.missing, 8);
	assert_int_equal(known.cgroup, 8);
	assert_int_equal(known.threads_of_unknown, 0);
	recording_close(recording);
	unlink(path);
}

CASE(stat_lines_with_any_name)
{
	struct proc_stat stat;

	assert_true(proc_stat_parse("17 (a) R (b) S 3 1 1 0 -1 4194304 0 0 0 0 150 25 0 0 20 -5 1 "
				    "0 4200 1 2 3 4 5 6 7 8 "
				    "9 10 11 12 13 14 15 17 3 0 1 0 0 0",
				    &stat));
	assert_memory_equal(stat.comm, "a) R (b", 8);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent_pid, 3);
	assert_int_equal(stat.utime_ns, 1500000000);
	assert_int_equal(stat.stime_ns, 250000000);
	assert_int_equal(stat.nice, -5);
	assert_int_equal(stat.start_ns, 42000000000);
	assert_int_equal(stat.stack_start, 6);
	assert_int_equal(stat.cpu, 3);
	assert_int_equal(stat.policy, 1);
	assert_false(proc_stat_parse("17 (cut", &stat));
	assert_false(proc_stat_parse("17 (name) S 3 1", &stat));
	assert_false(proc_stat_parse("", &stat));
}

CASE(taskstats_of_any_version)
{
	unsigned char bytes[432] = {0};
	struct taskstats_reading reading;
	uint64_t number;

	for (size_t offset = 16; offset + 8 <= sizeof(bytes); offset += 8) {
		number = offset;
		memcpy(bytes + offset, &number, 8);
	}
	number = 10000000; /* elapsed, us */
	memcpy(bytes + 144, &number, 8);
	bytes[0] = 14;
	assert_true(taskstats_decode(bytes, sizeof(bytes), &reading));
	assert_int_equal(reading.delays.measured, 0xff);
	assert_int_equal(reading.delays.delays[WIRE_DELAY_BLOCK_IO].count, 32);
	assert_int_equal(reading.delays.delays[WIRE_DELAY_IRQ].total_ns, 424);
	assert_int_equal(reading.delays.run_virtual_ns, 72);
	assert_int_equal(reading.elapsed_ns, 10000000000);
	/* an older kernel, and a shorter structure */
	bytes[0] = 8;
	assert_true(taskstats_decode(bytes, 328, &reading));
	assert_int_equal(reading.delays.measured, 0xf);
	/* the one with another layout, and what is no structure at all */
	bytes[0] = 15;
	assert_false(taskstats_decode(bytes, sizeof(bytes), &reading));
	bytes[0] = 14;
	assert_false(taskstats_decode(bytes, 100, &reading));
	/* a wait longer than the thread has existed cannot be */
	number = 12000000000;
	memcpy(bytes + 40, &number, 8);
	assert_true(taskstats_decode(bytes, sizeof(bytes), &reading));
	assert_int_equal(reading.delays.measured, 0xff & ~(1U << WIRE_DELAY_BLOCK_IO));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(differences_are_small_and_undone),
		cmocka_unit_test(a_difference_to_nothing_is_refused),
		cmocka_unit_test(records_of_version_1_are_read_as_todays),
		cmocka_unit_test(a_recording_says_how_large_its_records_are),
		cmocka_unit_test(a_longer_record_is_cut),
		cmocka_unit_test(records_of_another_layout_have_room),
		cmocka_unit_test(layouts_that_cannot_be_are_refused),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(files_of_one_boot_follow_each_other_across_a_suspend),
		cmocka_unit_test(a_record_that_is_not_sound_is_left_out),
		cmocka_unit_test(another_file_has_lacks_of_its_own),
		cmocka_unit_test(a_reader_that_begins_late_knows_as_much),
		cmocka_unit_test(stat_lines_with_any_name),
		cmocka_unit_test(taskstats_of_any_version),
	};

	return RUN(cases);
}

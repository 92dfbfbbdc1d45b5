// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of waits by reason, without the hooks that fill it. */
#include "test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/config.h"
#include "bpf/wire.h"
#include "capture/reasons.h"

#define ROOM 8192

/* Skips where the kernel gives no map. */
static int make_map(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct reason_key),
				 sizeof(struct reason_total), ROOM, NULL);

	if (map == -EPERM)
		skip();
	assert_true(map >= 0);
	return map;
}

static void put(int map, uint32_t tid, uint32_t pid, int syscall, uint64_t sent_ns)
{
	struct reason_key key = {
		.tid = tid,
		.site = {.state = WIRE_LOCK, .syscall = (__s16)syscall},
	};
	struct reason_total total = {
		.origin_ns = 1, .ns = 100, .count = 1, .pid = pid, .sent_ns = sent_ns};

	assert_int_equal(bpf_map_update_elem(map, &key, &total, BPF_ANY), 0);
}

static size_t left(int map)
{
	struct reason_key key, next;
	size_t count = 0;

	for (bool more = !bpf_map_get_next_key(map, NULL, &next); more;
	     more = !bpf_map_get_next_key(map, &key, &next)) {
		count++;
		key = next;
	}
	return count;
}

static int count_record(void *data, const struct wire_header *record)
{
	size_t *count = data;

	assert_int_equal(record->kind, WIRE_REASON);
	(*count)++;
	return 0;
}

/* How many are sent. */
static size_t send(struct reasons *reasons, uint64_t instant_ns)
{
	size_t count = 0;
	struct record_sink sink = {.record = count_record, .data = &count};

	assert_int_equal(reasons_send(reasons, 1, 0, instant_ns, sink), 0);
	return count;
}

/* A thread that was there. */
static uint32_t ended_thread(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return (uint32_t)child;
}

CASE(reasons_of_threads_that_are_gone_make_room)
{
	struct reasons reasons = {.map = make_map()};
	uint32_t own = (uint32_t)getpid(), gone = ended_thread();

	put(reasons.map, own, own, 1, 0);
	/* the end was lost */
	for (int i = 0; i < 4; i++)
		put(reasons.map, gone, gone, i, i == 3 ? 50 : 0);
	/* it has another id since it called execve() */
	put(reasons.map, gone, own, 7, 0);
	/* what the walk has sent waits for the next snapshot */
	assert_int_equal(send(&reasons, 50), 5);
	assert_int_equal(left(reasons.map), 2);
	assert_int_equal(send(&reasons, 60), 2);
	assert_int_equal(left(reasons.map), 1);
	assert_int_equal(send(&reasons, 70), 1);
	assert_int_equal(left(reasons.map), 1);
	close(reasons.map);
	reasons_release(&reasons);
}

CASE(of_many_reasons_each_has_its_turn)
{
	struct reasons reasons = {.map = make_map()};
	uint32_t own = (uint32_t)getpid(), gone = ended_thread();

	for (int i = 0; i < 2000; i++) {
		put(reasons.map, own, own, i, 0);
		put(reasons.map, gone, gone, i, 0);
	}
	assert_int_equal(send(&reasons, 10), 4000);
	assert_true(left(reasons.map) > 2000);
	for (uint64_t i = 0; i < 10; i++)
		send(&reasons, 20 + i);
	assert_int_equal(left(reasons.map), 2000);
	close(reasons.map);
	reasons_release(&reasons);
}

CASE(the_end_of_a_thread_makes_room_at_once)
{
	struct reasons reasons = {.map = make_map()};
	uint32_t own = (uint32_t)getpid();

	put(reasons.map, own, own, 1, 0);
	put(reasons.map, own, own, 2, 10);
	reasons_note_end(&reasons, own, 1);
	assert_int_equal(send(&reasons, 10), 1);
	assert_int_equal(send(&reasons, 20), 1);
	assert_int_equal(left(reasons.map), 0);
	close(reasons.map);
	reasons_release(&reasons);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_of_threads_that_are_gone_make_room),
		cmocka_unit_test(of_many_reasons_each_has_its_turn),
		cmocka_unit_test(the_end_of_a_thread_makes_room_at_once),
	};

	return RUN(tests);
}

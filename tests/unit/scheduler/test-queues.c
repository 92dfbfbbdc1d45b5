// SPDX-License-Identifier: GPL-2.0-or-later
/* From walks over the threads that wait to the depths of dispatch queues. */
#include "test.h"

#include "scheduler/queues.h"

static const struct queue_record waiting[] = {
	{.queue = 7},
	{.queue = QUEUE_LOCAL, .cpu = 1},
	{.queue = 7, .cpu = 1},
	{.queue = QUEUE_LOCAL, .cpu = 3},
	{.queue = QUEUE_OF_SCHEDULER, .cpu = 2},
};

static struct queue_depths depths_of(const struct scheduler_queues *queues, size_t number)
{
	return scheduler_queue_depths(queues, &queues->items[number]);
}

CASE(depths_are_over_all_looks)
{
	struct scheduler_queues queues = {.bpf = NULL};
	struct queue_depths depths;

	scheduler_queues_take(&queues, waiting, 5);
	for (int i = 0; i < 97; i++)
		scheduler_queues_take(&queues, waiting, i < 49 ? 1 : 0);
	scheduler_queues_take(&queues, waiting, 4);
	scheduler_queues_take(&queues, waiting, 0);
	scheduler_queues_close(&queues);
	assert_int_equal(queues.looks, 100);
	assert_int_equal(queues.count, 4);
	/* 49 times nothing, 49 times one, twice two */
	depths = depths_of(&queues, 0);
	assert_int_equal(queues.items[0].id, 7);
	assert_true(depths.p50 == 1 && depths.p99 == 2 && depths.max == 2);
	/* local queues are one for each CPU */
	assert_true(queues.items[1].id == QUEUE_LOCAL && queues.items[1].cpu == 1);
	assert_true(queues.items[2].id == QUEUE_LOCAL && queues.items[2].cpu == 3);
	depths = depths_of(&queues, 1);
	assert_true(depths.p50 == 0 && depths.p99 == 1 && depths.max == 1);
	/* once in a hundred is beyond the 99th percentile */
	depths = depths_of(&queues, 3);
	assert_true(depths.p50 == 0 && depths.p99 == 0 && depths.max == 1);
	scheduler_queues_release(&queues);
}

CASE(names_of_queues)
{
	char name[48];

	scheduler_queue_name(name, sizeof(name), QUEUE_LOCAL, 12);
	assert_string_equal(name, "local of CPU 12");
	scheduler_queue_name(name, sizeof(name), QUEUE_GLOBAL, 0);
	assert_string_equal(name, "global");
	scheduler_queue_name(name, sizeof(name), QUEUE_OF_SCHEDULER, 0);
	assert_string_equal(name, "the scheduler's own");
	scheduler_queue_name(name, sizeof(name), 0x12, 0);
	assert_string_equal(name, "user 0x12");
	scheduler_queue_name(name, sizeof(name), QUEUE_BUILT_IN | 9, 0);
	assert_string_equal(name, "built-in 0x9");
}

CASE(without_the_program_the_reason_is_there)
{
	struct scheduler_queues queues = {.unknown = "for a reason"};
	struct output out;

	assert_int_equal(output_init(&out, -1), 0);
	scheduler_queues_look(&queues);
	assert_int_equal(queues.looks, 0);
	scheduler_queues_write(&out, &queues);
	output_char(&out, '\0');
	assert_string_equal(out.buffer, "not known: for a reason\n");
	output_release(&out);
	scheduler_queues_release(&queues);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(depths_are_over_all_looks),
		cmocka_unit_test(names_of_queues),
		cmocka_unit_test(without_the_program_the_reason_is_there),
	};

	return RUN(cases);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What sched_ext says of itself: files that may not be there, and counts that begin again. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "scheduler/counters.h"

static void put(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

CASE(files_of_sysfs)
{
	static const char *const names[] = {"root/ops",	  "root",	 "state",
					    "switch_all", "nr_rejected", ""};
	char directory[] = "/tmp/dwell-counters-XXXXXX", path[256];
	struct scheduler_counters counters;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/root", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	put(directory, "root/ops", "qmap\n");
	put(directory, "state", "enabled\n");
	put(directory, "switch_all", "1\n");
	put(directory, "nr_rejected", "none of it\n");
	scheduler_counters_read(&counters, directory);
	assert_string_equal(counters.ops, "qmap");
	assert_string_equal(counters.state, "enabled");
	assert_true(counters.switch_all.known && counters.switch_all.value == 1);
	assert_false(counters.rejected.known);
	assert_false(counters.enabled.known);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		remove(path);
	}
	scheduler_counters_read(&counters, directory);
	assert_string_equal(counters.ops, "");
	assert_string_equal(counters.state, "");
	assert_false(counters.switch_all.known);
}

static uint64_t sum_of(const struct scheduler_events *events, const char *name)
{
	for (size_t i = 0; i < events->count; i++)
		if (!strcmp(events->items[i].name, name))
			return scheduler_event_sum(&events->items[i]);
	return UINT64_MAX;
}

CASE(events_are_those_since_the_beginning)
{
	struct scheduler_events events = {.count = 0};

	scheduler_events_begin(&events, "SCX_EV_A 5\nSCX_EV_B 0\n\nnothing\nSCX_EV_C x\n");
	assert_int_equal(events.count, 2);
	assert_int_equal(sum_of(&events, "SCX_EV_A"), 0);
	scheduler_events_take(&events, "SCX_EV_A 9\nSCX_EV_B 1", false);
	assert_int_equal(sum_of(&events, "SCX_EV_A"), 4);
	/* another scheduler begins at 0, and may have counted further than the one before */
	scheduler_events_take(&events, "SCX_EV_A 20\nSCX_EV_B 0\nSCX_EV_D 3\n", true);
	assert_int_equal(sum_of(&events, "SCX_EV_A"), 24);
	assert_int_equal(sum_of(&events, "SCX_EV_B"), 1);
	assert_int_equal(sum_of(&events, "SCX_EV_D"), 3);
	/* none is in use for a while: the sums stay */
	scheduler_events_take(&events, "", true);
	assert_int_equal(sum_of(&events, "SCX_EV_A"), 24);
	/* one that was not noticed */
	scheduler_events_take(&events, "SCX_EV_A 2\n", false);
	scheduler_events_take(&events, "SCX_EV_A 1\n", false);
	assert_int_equal(sum_of(&events, "SCX_EV_A"), 27);
	scheduler_events_release(&events);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(files_of_sysfs),
		cmocka_unit_test(events_are_those_since_the_beginning),
	};

	return RUN(cases);
}

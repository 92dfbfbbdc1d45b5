// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <math.h>

#include "profiles.h"

static const struct profile_spot *spot(struct profile *profile, uint32_t frame, enum state state)
{
	const struct profile_spot *spots;
	size_t count;

	assert_int_equal(profile_spots(profile, PROFILE_BY_FUNCTION,
				       (struct profile_choice){.states = ~0U}, &spots, &count),
			 0);
	for (size_t i = 0; i < count; i++)
		if (spots[i].frame == frame && spots[i].state == state)
			return &spots[i];
	return NULL;
}

static void assert_near(double left, double right)
{
	assert_true(fabs(left - right) <= 1e-6 * (fabs(right) + 1));
}

CASE(totals_are_those_of_the_account)
{
	struct profile *profile = make();
	struct wire_spent records[] = {
		sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE),
		sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE),
		sample(ON_RECURSION, WIRE_SPENT_IN_USER_MODE),
		sample(ON_COMPUTE, 0),
		away(WIRE_LOCK, 200, 260, 300, 1, ON_WAIT),
	};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		feed(profile, &records[i].header);
	end(profile, (const uint64_t[STATES]){[STATE_USER] = 900,
					      [STATE_KERNEL] = 100,
					      [STATE_LOCK] = 60,
					      [STATE_RUNNABLE] = 80,
					      [STATE_DISK] = 5});
	assert_near(spot(profile, COMPUTES, STATE_USER)->self.ns, 600);
	assert_near(spot(profile, RECURSES, STATE_USER)->self.ns, 300);
	/* once, however often it calls itself */
	assert_near(spot(profile, RECURSES, STATE_USER)->total.ns, 300);
	assert_near(spot(profile, MAIN, STATE_USER)->total.ns, 900);
	assert_near(spot(profile, MAIN, STATE_USER)->self.ns, 0);
	assert_near(spot(profile, COMPUTES, STATE_KERNEL)->self.ns, 100);
	/* a wait is named by the program's own function; what was certain has no error */
	assert_near(spot(profile, WAITS, STATE_LOCK)->self.ns, 60);
	assert_near(spot(profile, LIBRARY, STATE_LOCK)->total.ns, 60);
	assert_near(estimate_error(&spot(profile, WAITS, STATE_LOCK)->self), 0);
	/* then it waited for a CPU, 40 by its record and 80 by the account */
	assert_near(spot(profile, WAITS, STATE_RUNNABLE)->self.ns, 80);
	assert_null(spot(profile, WAITS, STATE_DISK));
	assert_int_equal(profile_states(profile)[STATE_DISK].total_ns, 5);
	assert_int_equal(profile_states(profile)[STATE_DISK].sampled_ns, 0);
	assert_int_equal(profile_states(profile)[STATE_LOCK].sampled_ns, 60);
	profile_free(profile);
}

/* A recording may have lost it, or may be made up. */
CASE(a_frame_that_is_not_there_is_none)
{
	struct profile *profile = make();
	const struct wire_stack head = {
		.header = {.size = sizeof(head) + 2 * sizeof(__u32), .kind = WIRE_STACK},
		.id = 9,
		.count = 1,
		.end = WIRE_STACK_COMPLETE};
	const __u32 frames[] = {~0U, 0};
	_Alignas(struct wire_stack) unsigned char lost[sizeof(head) + sizeof(frames)];
	struct wire_spent record = sample(9, WIRE_SPENT_IN_USER_MODE);

	memcpy(lost, &head, sizeof(head));
	memcpy(lost + sizeof(head), frames, sizeof(frames));
	feed(profile, (const struct wire_header *)lost);
	feed(profile, &record.header);
	end(profile, (const uint64_t[STATES]){[STATE_USER] = 900});
	assert_near(spot(profile, 0, STATE_USER)->self.ns, 900);
	profile_free(profile);
}

CASE(a_wait_in_parts_is_one_stack)
{
	struct profile *profile = make();
	struct wire_spent first = away(WIRE_SLEEP, 200, 300, 300, 1, ON_WAIT);
	struct wire_spent more = away(WIRE_SLEEP, 300, 700, 700, 1, ON_WAIT);

	more.flags |= WIRE_SPENT_MORE;
	feed(profile, &first.header);
	feed(profile, &more.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 500});
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 500);
	assert_int_equal(profile_states(profile)[STATE_SLEEP].count, 1);
	profile_free(profile);
}

CASE(what_was_unlikely_counts_more)
{
	struct profile *profile = make();
	struct wire_spent often = away(WIRE_SLEEP, 200, 300, 300, 1, ON_WAIT);
	struct wire_spent rare = away(WIRE_SLEEP, 400, 500, 500, 0.25, ON_COMPUTE);

	feed(profile, &often.header);
	feed(profile, &rare.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 1000});
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 200);
	assert_near(spot(profile, COMPUTES, STATE_SLEEP)->self.ns, 800);
	assert_true(estimate_error(&spot(profile, COMPUTES, STATE_SLEEP)->self) > 0);
	profile_free(profile);
}

CASE(what_was_before_the_profile_does_not_count)
{
	struct profile *profile = make();
	struct wire_spent over = away(WIRE_SLEEP, 10, 90, 95, 1, ON_COMPUTE);
	struct wire_spent into = away(WIRE_SLEEP, 50, START + 40, START + 50, 1, ON_WAIT);

	feed(profile, &over.header);
	feed(profile, &into.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 40, [STATE_RUNNABLE] = 10});
	assert_null(spot(profile, COMPUTES, STATE_SLEEP));
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 40);
	assert_near(spot(profile, WAITS, STATE_RUNNABLE)->self.ns, 10);
	profile_free(profile);
}

/* Minimal standard (Park and Miller 1988). */
static double drawn(uint32_t *seed)
{
	*seed = (uint32_t)((uint64_t)*seed * 48271 % 2147483647);
	return *seed / 2147483647.0;
}

/* 4,000 waits of two kinds, of which some hundred are chosen: 300 times over. */
CASE(shares_are_right_on_average_and_within_their_errors)
{
	const double short_ns = 100, long_ns = 3000, truth = 3600 * short_ns;
	double sum = 0;
	unsigned int inside = 0, rounds = 300;
	uint32_t seed = 42;

	for (unsigned int round = 0; round < rounds; round++) {
		struct profile *profile = make();
		const struct profile_spot *found;

		for (int i = 0; i < 4000; i++) {
			bool is_long = i % 10 == 0;
			double length = is_long ? long_ns : short_ns;
			/* what is expected is wrong half of the time */
			double expected = drawn(&seed) < 0.5 ? length : 500;
			double chance = fmin(1, expected / 5000);
			struct wire_spent one = away(WIRE_IPC, 1000, 1000 + (uint64_t)length,
						     1000 + (uint64_t)length, chance,
						     is_long ? ON_WAIT : ON_COMPUTE);

			if (drawn(&seed) < chance)
				feed(profile, &one.header);
		}
		end(profile,
		    (const uint64_t[STATES]){[STATE_IPC] = (uint64_t)(truth + 400 * long_ns)});
		found = spot(profile, COMPUTES, STATE_IPC);
		assert_non_null(found);
		sum += found->self.ns;
		inside += fabs(found->self.ns - truth) <= 1.96 * estimate_error(&found->self);
		assert_near(found->self.ns + spot(profile, WAITS, STATE_IPC)->self.ns,
			    truth + 400 * long_ns);
		profile_free(profile);
	}
	assert_true(fabs(sum / rounds / truth - 1) < 0.02);
	assert_true(inside > rounds * 90 / 100 && inside < rounds * 99 / 100);
}

CASE(records_that_cannot_be)
{
	struct profile *profile = make();
	struct wire_spent good = away(WIRE_SLEEP, 200, 300, 400, 1, ON_WAIT), bad;
	struct wire_profile quality = {.header = {.size = 24, .kind = WIRE_PROFILE}};

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		assert_int_equal(profile_feed(profile, &bad.header), -EBADMSG);                    \
	} while (0)
	REFUSED(bad.header.size -= 8);
	REFUSED(bad.site.state = WIRE_STATES);
	REFUSED(bad.inverse = WIRE_SPENT_CERTAIN - 1);
	REFUSED(bad.ready_ns = 199);
	REFUSED(bad.ready_ns = 401);
	assert_int_equal(profile_feed(profile, &quality.header), -EBADMSG);
	/* a stack that is not there is none */
	good.stack = 77;
	feed(profile, &good.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 100, [STATE_RUNNABLE] = 100});
	assert_near(spot(profile, 0, STATE_SLEEP)->self.ns, 100);
	profile_free(profile);
}

CASE(lines_and_files)
{
	struct profile *profile = make();
	struct wire_spent records[] = {sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE),
				       sample(ON_RECURSION, WIRE_SPENT_IN_USER_MODE)};
	const struct profile_spot *spots;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		feed(profile, &records[i].header);
	end(profile, (const uint64_t[STATES]){[STATE_USER] = 100, [STATE_DISK] = 7});
	assert_int_equal(profile_spots(profile, PROFILE_BY_FILE,
				       (struct profile_choice){.states = ~0U}, &spots, &count),
			 0);
	assert_int_equal(count, 1);
	assert_near(spots[0].self.ns, 100);
	assert_int_equal(profile_spots(profile, PROFILE_BY_LINE,
				       (struct profile_choice){.states = ~0U}, &spots, &count),
			 0);
	assert_int_equal(count, 3);
	/* exactly, and also what is not sampled */
	assert_int_equal(profile_spots(profile, PROFILE_BY_THREAD,
				       (struct profile_choice){.states = ~0U}, &spots, &count),
			 0);
	assert_int_equal(count, 2);
	assert_int_equal(spots[0].thread, 1);
	assert_near(spots[0].self.ns, 100);
	assert_near(spots[1].self.ns, 7);
	assert_int_equal(profile_spots(profile, PROFILE_BY_STATE,
				       (struct profile_choice){.states = 1U << STATE_DISK}, &spots,
				       &count),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(profile_spots(profile, PROFILE_BY_FUNCTION,
				       (struct profile_choice){.states = 1U << STATE_LOCK}, &spots,
				       &count),
			 0);
	assert_int_equal(count, 0);
	profile_free(profile);
}

CASE(a_library_without_names_is_not_called_by_what_begins_threads)
{
	enum { SCHEDULE = 20, UNNAMED, OTHER, START_THREAD, CLONE, MEMCPY };
	const uint32_t preempted[] = {SCHEDULE, UNNAMED, OTHER, START_THREAD, CLONE};
	const uint32_t copies[] = {MEMCPY, UNNAMED, START_THREAD, CLONE};
	const uint32_t begins[] = {SCHEDULE, START_THREAD, CLONE};
	struct profile *profile = make();
	const struct stacks *stacks = profile_stacks(profile);

	add_frame(profile, SCHEDULE, "schedule", WIRE_FRAME_KERNEL);
	add_frame_flagged(profile, UNNAMED, "liblzma.so.5+0x15990", WIRE_FRAME_SYSTEM, 0);
	add_frame_flagged(profile, OTHER, "liblzma.so.5+0x161c0", WIRE_FRAME_SYSTEM, 0);
	add_frame(profile, START_THREAD, "start_thread", WIRE_FRAME_SYSTEM);
	add_frame(profile, CLONE, "clone3", WIRE_FRAME_SYSTEM);
	add_frame(profile, MEMCPY, "memcpy", WIRE_FRAME_SYSTEM);
	add_stack(profile, 10, preempted, 5);
	add_stack(profile, 11, copies, 4);
	add_stack(profile, 12, begins, 3);
	assert_int_equal(stacks_function_of(stacks, 10), UNNAMED);
	assert_int_equal(stacks_function_of(stacks, 11), MEMCPY);
	/* where there is nothing else */
	assert_int_equal(stacks_function_of(stacks, 12), START_THREAD);
	profile_free(profile);
}

CASE(a_named_library_says_more_than_an_address_of_a_stripped_program)
{
	enum { WAIT = 20, EXEC, OWN, NAMED, OUTERMOST };
	const uint32_t query[] = {WAIT, EXEC, OWN, OUTERMOST}, own[] = {WAIT, OWN, EXEC, OUTERMOST};
	const uint32_t named[] = {WAIT, EXEC, NAMED, OUTERMOST};
	struct profile *profile = make();
	const struct stacks *stacks = profile_stacks(profile);

	add_frame_in(profile, WAIT, "fsync", "/usr/lib/libc.so.6", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_frame_in(profile, EXEC, "sqlite3VdbeExec", "/usr/lib/libsqlite3.so.0",
		     WIRE_FRAME_SYSTEM, WIRE_FRAME_NAMED);
	add_frame_in(profile, OWN, "sqlite3+0x20080", "/usr/bin/sqlite3", WIRE_FRAME_USER, 0);
	add_frame_in(profile, NAMED, "run_query", "/usr/bin/app", WIRE_FRAME_USER,
		     WIRE_FRAME_NAMED);
	add_frame_in(profile, OUTERMOST, "__libc_start_main", "/usr/lib/libc.so.6",
		     WIRE_FRAME_SYSTEM, WIRE_FRAME_NAMED);
	add_stack(profile, 10, query, 4);
	add_stack(profile, 11, own, 4);
	add_stack(profile, 12, named, 4);
	assert_int_equal(stacks_named_function_of(stacks, 10), EXEC);
	assert_int_equal(stacks_function_of(stacks, 10), OWN);
	assert_int_equal(stacks_named_function_of(stacks, 11), OWN);
	assert_int_equal(stacks_named_function_of(stacks, 12), NAMED);
	profile_free(profile);
}

/* A Java program, which waits in the same few functions of its machine. */
CASE(what_nameless_code_has_called_says_more_than_where_that_waits)
{
	enum { FUTEX = 20, PARK, ENTER, CALL, NAMELESS, BEGINS };
	const uint32_t called[] = {FUTEX, PARK, ENTER, NAMELESS, CALL, BEGINS};
	const uint32_t machine[] = {FUTEX, PARK, BEGINS}, direct[] = {FUTEX, NAMELESS, CALL};
	struct profile *profile = make();
	const struct stacks *stacks = profile_stacks(profile);

	add_frame_in(profile, FUTEX, "futex_wait", "/usr/lib/libc.so.6", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_frame_in(profile, PARK, "os::park", "/usr/lib/libjvm.so", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_frame_in(profile, ENTER, "JVM_Sleep", "/usr/lib/libjvm.so", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_frame_in(profile, CALL, "JavaCalls::call", "/usr/lib/libjvm.so", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_frame_flagged(profile, NAMELESS, "0x7f00", WIRE_FRAME_UNKNOWN, 0);
	add_frame_in(profile, BEGINS, "start_thread", "/usr/lib/libc.so.6", WIRE_FRAME_SYSTEM,
		     WIRE_FRAME_NAMED);
	add_stack(profile, 10, called, 6);
	add_stack(profile, 11, machine, 3);
	add_stack(profile, 12, direct, 3);
	assert_int_equal(stacks_function_of(stacks, 10), ENTER);
	assert_int_equal(stacks_function_of(stacks, 11), PARK);
	assert_int_equal(stacks_function_of(stacks, 12), CALL);
	profile_free(profile);
}

/* Node.js and its OpenSSL are one file; an addon is the user's own. */
CASE(a_script_is_named_before_its_interpreter)
{
	enum { SHA512 = 20, LOAD, JS_OWN, JS_NODE, ADDON, NAMELESS };
	const uint32_t hashes[] = {SHA512, JS_NODE, JS_OWN}, native[] = {SHA512, LOAD};
	const uint32_t addon[] = {ADDON, JS_OWN}, nameless[] = {SHA512, NAMELESS, LOAD};
	const uint32_t known[] = {SHA512, JS_OWN, NAMELESS}, stale[] = {NAMELESS, JS_OWN};
	struct profile *profile = make();
	const struct stacks *stacks = profile_stacks(profile);

	add_frame_in(profile, SHA512, "sha512", "/opt/node", WIRE_FRAME_USER, WIRE_FRAME_NAMED);
	add_frame_in(profile, LOAD, "load", "/opt/node", WIRE_FRAME_USER, WIRE_FRAME_NAMED);
	add_frame(profile, JS_OWN, "JS:sign /srv/app.js:1:1", WIRE_FRAME_USER);
	add_frame(profile, JS_NODE, "JS:hash node:crypto:1:1", WIRE_FRAME_STANDARD);
	add_frame_in(profile, ADDON, "pack", "/srv/a.node", WIRE_FRAME_USER, WIRE_FRAME_NAMED);
	add_frame_flagged(profile, NAMELESS, "0x7f00", WIRE_FRAME_UNKNOWN, 0);
	add_stack(profile, 10, hashes, 3);
	add_stack(profile, 11, native, 2);
	add_stack(profile, 12, addon, 2);
	add_stack(profile, 13, nameless, 3);
	add_stack(profile, 14, known, 3);
	add_stack(profile, 15, stale, 2);
	assert_int_equal(stacks_function_of(stacks, 10), JS_OWN);
	assert_int_equal(stacks_function_of(stacks, 11), SHA512);
	assert_int_equal(stacks_function_of(stacks, 12), ADDON);
	/* with the names it might be another one */
	assert_false(stacks_lacks_names(stacks, 11));
	assert_true(stacks_lacks_names(stacks, 13));
	assert_false(stacks_lacks_names(stacks, 14));
	assert_true(stacks_lacks_names(stacks, 15));
	assert_false(stacks_lacks_names(stacks, 99));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_library_without_names_is_not_called_by_what_begins_threads),
		cmocka_unit_test(a_named_library_says_more_than_an_address_of_a_stripped_program),
		cmocka_unit_test(what_nameless_code_has_called_says_more_than_where_that_waits),
		cmocka_unit_test(a_script_is_named_before_its_interpreter),
		cmocka_unit_test(totals_are_those_of_the_account),
		cmocka_unit_test(a_frame_that_is_not_there_is_none),
		cmocka_unit_test(a_wait_in_parts_is_one_stack),
		cmocka_unit_test(what_was_unlikely_counts_more),
		cmocka_unit_test(what_was_before_the_profile_does_not_count),
		cmocka_unit_test(shares_are_right_on_average_and_within_their_errors),
		cmocka_unit_test(records_that_cannot_be),
		cmocka_unit_test(lines_and_files),
	};

	return RUN(cases);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles of made-up records: totals, stacks, and how functions and programs are named. */
#include "test.h"

#include "model/made-profile.h"

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
	/* then it waited for a CPU, 40 by its record and 80 by the account: of the rest is no stack
	 */
	assert_near(spot(profile, WAITS, STATE_RUNNABLE)->self.ns, 40);
	assert_int_equal(profile_states(profile)[STATE_RUNNABLE].total_ns, 80);
	assert_int_equal(profile_states(profile)[STATE_RUNNABLE].sampled_ns, 40);
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
	/* what is known keeps its length */
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 100);
	assert_near(estimate_error(&spot(profile, WAITS, STATE_SLEEP)->self), 0);
	assert_near(spot(profile, COMPUTES, STATE_SLEEP)->self.ns, 900);
	assert_true(estimate_error(&spot(profile, COMPUTES, STATE_SLEEP)->self) > 0);
	/* one in four: it stands for three that were not seen, and they had 800 */
	assert_near(profile_states(profile)[STATE_SLEEP].unseen_ns, 300);
	assert_near(profile_states(profile)[STATE_SLEEP].scaled_ns, 800);
	profile_free(profile);
}

/* Records were lost, or very unlikely: what one stack of 100 at 1/4 stands for is no tenth. */
CASE(what_chance_does_not_explain_is_not_sampled)
{
	struct profile *profile = make();
	struct wire_spent known = away(WIRE_SLEEP, 200, 1200, 1200, 1, ON_WAIT);
	struct wire_spent rare = away(WIRE_SLEEP, 1200, 1300, 1300, 0.25, ON_COMPUTE);

	feed(profile, &known.header);
	feed(profile, &rare.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 11000});
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 1000);
	assert_near(spot(profile, COMPUTES, STATE_SLEEP)->self.ns, 400);
	assert_int_equal(profile_states(profile)[STATE_SLEEP].sampled_ns, 1400);
	assert_near(profile_states(profile)[STATE_SLEEP].scaled_ns, 300);
	profile_free(profile);
}

/* The account and the records read their clocks one after the other. */
CASE(no_more_than_the_account_has)
{
	struct profile *profile = make();
	struct wire_spent known = away(WIRE_SLEEP, 200, 1200, 1200, 1, ON_WAIT);
	struct wire_spent rare = away(WIRE_SLEEP, 1200, 1300, 1300, 0.25, ON_COMPUTE);

	feed(profile, &known.header);
	feed(profile, &rare.header);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 990});
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 900);
	assert_near(spot(profile, COMPUTES, STATE_SLEEP)->self.ns, 90);
	assert_int_equal(profile_states(profile)[STATE_SLEEP].sampled_ns, 990);
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

CASE(a_window_begins_later_with_counts_of_its_own)
{
	struct profile *profile = make();
	struct wire_spent over = away(WIRE_SLEEP, 110, 190, 195, 1, ON_COMPUTE);
	struct wire_spent into = away(WIRE_SLEEP, 150, 240, 250, 1, ON_WAIT);
	struct wire_profile quality = {.header = {.size = sizeof(quality), .kind = WIRE_PROFILE},
				       .stacks_complete = 5,
				       .frames = 9,
				       .lost = 2};

	profile_pass(profile, &over.header);
	profile_pass(profile, &quality.header);
	profile_begin(profile, 200);
	feed(profile, &over.header);
	feed(profile, &into.header);
	quality.stacks_complete = 7;
	feed(profile, &quality.header);
	assert_int_equal(profile_quality(profile)->stacks_complete, 2);
	assert_int_equal(profile_quality(profile)->lost, 0);
	/* another session counts from zero */
	quality.stacks_complete = quality.frames = quality.lost = 1;
	feed(profile, &quality.header);
	assert_int_equal(profile_quality(profile)->stacks_complete, 1);
	assert_int_equal(profile_quality(profile)->lost, 1);
	end(profile, (const uint64_t[STATES]){[STATE_SLEEP] = 40, [STATE_RUNNABLE] = 10});
	assert_null(spot(profile, COMPUTES, STATE_SLEEP));
	assert_near(spot(profile, WAITS, STATE_SLEEP)->self.ns, 40);
	assert_near(spot(profile, WAITS, STATE_RUNNABLE)->self.ns, 10);
	profile_free(profile);
}

/* Samples on a CPU at 100 a second. */
static struct profile *sampled(unsigned int user, unsigned int kernel, uint64_t user_ms,
			       uint64_t kernel_ms)
{
	const struct wire_spent in_user = sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE);
	const struct wire_spent in_kernel = sample(ON_RECURSION, 0);
	const struct wire_profile quality = {
		.header = {.size = sizeof(quality), .kind = WIRE_PROFILE}, .frequency = 100};
	struct profile *profile = make();

	for (unsigned int i = 0; i < user; i++)
		feed(profile, &in_user.header);
	for (unsigned int i = 0; i < kernel; i++)
		feed(profile, &in_kernel.header);
	feed(profile, &quality.header);
	end(profile,
	    (const uint64_t[STATES]){
		    [STATE_USER] = user_ms * NS_PER_MS, [STATE_KERNEL] = kernel_ms * NS_PER_MS});
	return profile;
}

/* Of 2 s, samples have met 1.1 s: the rest is in turns that end before the next one. */
CASE(what_samples_miss_is_not_spread)
{
	struct profile *profile = sampled(100, 10, 1500, 500);
	const struct profile_spot *found = spot(profile, COMPUTES, STATE_USER);

	assert_near(found->self.ns / NS_PER_MS, 1000);
	/* of the samples alone: of the whole, nothing is known */
	assert_true(fabs(estimate_error(&found->self) / NS_PER_MS - 100) < 1);
	assert_near(spot(profile, RECURSES, STATE_KERNEL)->self.ns / NS_PER_MS, 100);
	assert_int_equal(profile_states(profile)[STATE_USER].sampled_ns / NS_PER_MS, 1000);
	assert_int_equal(profile_states(profile)[STATE_KERNEL].sampled_ns / NS_PER_MS, 100);
	profile_free(profile);
}

CASE(samples_that_chance_explains_divide_all)
{
	static const struct {
		unsigned int user, kernel;
		uint64_t user_ms, kernel_ms;
	} those[] = {
		{100, 10, 1050, 150},
		{1, 0, 80, 0},
		{400, 0, 4200, 0},
		{3, 1, 120, 10},
		/* the tick may take one for the other */
		{20, 180, 1700, 300},
	};

	for (size_t i = 0; i < ARRAY_SIZE(those); i++) {
		struct profile *profile = sampled(those[i].user, those[i].kernel, those[i].user_ms,
						  those[i].kernel_ms);

		assert_near(spot(profile, COMPUTES, STATE_USER)->self.ns / NS_PER_MS,
			    (double)those[i].user_ms);
		assert_int_equal(profile_states(profile)[STATE_KERNEL].sampled_ns,
				 those[i].kernel_ms * NS_PER_MS);
		profile_free(profile);
	}
}

/* Two standard errors more than was met: that may be chance, or not. */
CASE(what_chance_hardly_explains_is_in_the_error)
{
	struct profile *usual = sampled(100, 0, 1000, 0), *odd = sampled(100, 0, 1330, 0);
	const struct profile_spot *found = spot(odd, COMPUTES, STATE_USER);

	assert_near(found->self.ns / NS_PER_MS, 1330);
	assert_true(estimate_error(&found->self) / NS_PER_MS > 150);
	assert_true(estimate_error(&spot(usual, COMPUTES, STATE_USER)->self) / NS_PER_MS < 15);
	profile_free(usual);
	profile_free(odd);
}

/* Files of two sessions, which number their stacks from one on, and two of one session. */
CASE(sessions_that_are_read_as_one_keep_their_stacks)
{
	struct profile *profile = make();
	struct wire_header restart = {.size = sizeof(restart), .kind = WIRE_RESTART};
	struct wire_spent computes = sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE);
	struct wire_spent other = sample(1, WIRE_SPENT_IN_USER_MODE), unknown = other;
	const uint32_t frames[] = {1, 2}, again[] = {COMPUTES, MAIN};
	const struct profile_spot *found;

	unknown.stack = 77;
	feed(profile, &computes.header);
	feed(profile, &restart);
	add_frame(profile, 1, "other", WIRE_FRAME_USER);
	add_frame(profile, 2, "main", WIRE_FRAME_USER);
	add_stack(profile, 1, frames, 2);
	feed(profile, &other.header);
	feed(profile, &restart);
	/* what was there is not, until it is named again */
	feed(profile, &computes.header);
	feed(profile, &restart);
	add_frame(profile, MAIN, "main", WIRE_FRAME_USER);
	add_frame(profile, COMPUTES, "computes", WIRE_FRAME_USER);
	add_stack(profile, 900, again, 2);
	computes.stack = 900;
	feed(profile, &computes.header);
	feed(profile, &unknown.header);
	end(profile, (const uint64_t[STATES]){[STATE_USER] = 500});
	assert_near(spot(profile, COMPUTES, STATE_USER)->self.ns, 200);
	found = spot(profile, FRAMES, STATE_USER);
	assert_string_equal(stacks_frame(profile_stacks(profile), FRAMES)->function, "other");
	assert_near(found->self.ns, 100);
	assert_near(spot(profile, 0, STATE_USER)->self.ns, 200);
	/* one frame of the same line is one, and so is a stack */
	assert_int_equal(profile_stacks(profile)->frame_count, FRAMES + 1);
	assert_int_equal(profile_stacks(profile)->stack_count, ON_RECURSION + 1);
	profile_free(profile);
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
	enum { FUTEX = 20, PARK, ENTER, CALL, NAMELESS, BEGINS, INTERRUPT };
	const uint32_t preempted[] = {INTERRUPT, NAMELESS, CALL, BEGINS};
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
	/* it lost its CPU there: what has called it is not meant, by name or not */
	add_frame(profile, INTERRUPT, "irqentry_exit", WIRE_FRAME_KERNEL);
	add_stack(profile, 13, preempted, 4);
	assert_int_equal(profile_own_frame(stacks, 13, STATE_RUNNABLE), NAMELESS);
	assert_int_equal(profile_own_frame(stacks, 12, STATE_LOCK), CALL);
	add_stack(profile, 14, preempted, 2);
	assert_int_equal(stacks_function_of(stacks, 14), NAMELESS);
	add_stack(profile, 15, preempted, 1);
	assert_int_equal(stacks_function_of(stacks, 15), INTERRUPT);
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
		cmocka_unit_test(what_chance_does_not_explain_is_not_sampled),
		cmocka_unit_test(no_more_than_the_account_has),
		cmocka_unit_test(what_samples_miss_is_not_spread),
		cmocka_unit_test(samples_that_chance_explains_divide_all),
		cmocka_unit_test(what_chance_hardly_explains_is_in_the_error),
		cmocka_unit_test(what_was_before_the_profile_does_not_count),
		cmocka_unit_test(a_window_begins_later_with_counts_of_its_own),
		cmocka_unit_test(sessions_that_are_read_as_one_keep_their_stacks),
		cmocka_unit_test(records_that_cannot_be),
		cmocka_unit_test(lines_and_files),
	};

	return RUN(cases);
}

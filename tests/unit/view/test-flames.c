// SPDX-License-Identifier: GPL-2.0-or-later
#include "profiles.h"

#include <stdlib.h>

#include "view/flames.h"

/* 10 ms of waits in main() > waits(), 4 of computing in main() > computes(), 2 of recursion. */
static struct profile *make_measured(void)
{
	struct profile *profile = make();
	struct wire_spent wait = away(WIRE_SLEEP, 1000000, 11000000, 11000000, 1, ON_WAIT);
	struct wire_spent compute = sample(ON_COMPUTE, WIRE_SPENT_IN_USER_MODE),
			  recursion = sample(ON_RECURSION, WIRE_SPENT_IN_USER_MODE);

	feed(profile, &wait.header);
	feed(profile, &compute.header);
	feed(profile, &compute.header);
	feed(profile, &recursion.header);
	end(profile, (uint64_t[STATES]){[STATE_SLEEP] = 10000000, [STATE_USER] = 6000000});
	return profile;
}

struct fixture {
	struct profile_result result;
	struct session_info session;
	struct flames flames;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->result.profile = make_measured();
	fixture->result.states = ~0U;
	fixture->result.session = &fixture->session;
	assert_int_equal(profile_result_make(&fixture->result), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	flames_release(&fixture->flames);
	profile_free(fixture->result.profile);
	free(fixture);
	return 0;
}

static const char *name_of(const struct fixture *fixture, const struct flame *flame)
{
	const struct frame *frame =
		stacks_frame(profile_stacks(fixture->result.profile), flame->frame);

	return flame->kind == FLAME_FUNCTION ? frame->function
	       : flame->kind == FLAME_STATE  ? state_info[flame->state].key
					     : "-";
}

/* "main 16 (waits 10 (...) computes 4)", ms. */
static void write_flame(const struct fixture *fixture, size_t index, char *into, size_t size)
{
	const struct flame *flame = &fixture->flames.items[index];
	size_t used = strlen(into);

	snprintf(into + used, size - used, "%s %.0f", name_of(fixture, flame), flame->ns / 1e6);
	if (flame->child == FLAME_NONE)
		return;
	strcat(into, " (");
	for (size_t child = flame->child; child != FLAME_NONE;
	     child = fixture->flames.items[child].sibling) {
		write_flame(fixture, child, into, size);
		strcat(into, fixture->flames.items[child].sibling == FLAME_NONE ? ")" : ", ");
	}
}

static void assert_flames(struct fixture *fixture, const struct flame_choice *choice,
			  const char *expected)
{
	char text[1024] = "";

	assert_int_equal(flames_make(&fixture->flames, &fixture->result, choice), 0);
	if (fixture->flames.count)
		write_flame(fixture, 0, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* The largest first; what functions have in common is one. */
static void test_calls_are_one_where_they_begin_alike(void **state)
{
	struct flame_choice choice = {.time.states = ~0U, .root = PROFILE_ROOT_NONE};

	assert_flames(*state, &choice,
		      "- 16 (main 16 (waits 10 (futex_wait 10), computes 4, "
		      "recurses 2 (recurses 2 (recurses 2))))");
}

static void test_states_come_first_where_they_are_the_root(void **state)
{
	struct flame_choice choice = {.time.states = ~0U, .root = PROFILE_ROOT_STATE};

	assert_flames(*state, &choice,
		      "- 16 (sleep 10 (main 10 (waits 10 (futex_wait 10))), "
		      "user 6 (main 6 (computes 4, recurses 2 (recurses 2 (recurses 2)))))");
}

static void test_a_state_can_be_shown_alone(void **state)
{
	struct flame_choice choice = {.time.states = 1U << STATE_USER, .root = PROFILE_ROOT_NONE};
	struct fixture *fixture = *state;

	assert_flames(fixture, &choice,
		      "- 6 (main 6 (computes 4, recurses 2 (recurses 2 (recurses 2))))");
	choice.time.thread = 2; /* there is one */
	assert_flames(fixture, &choice, "");
	choice.time.thread = 1;
	choice.time.states = 1U << STATE_DISK;
	assert_flames(fixture, &choice, "");
}

static void test_inverted_it_begins_with_the_innermost(void **state)
{
	struct flame_choice choice = {
		.time.states = ~0U, .root = PROFILE_ROOT_NONE, .inverted = true};

	assert_flames(*state, &choice,
		      "- 16 (futex_wait 10 (waits 10 (main 10)), computes 4 (main 4), "
		      "recurses 2 (recurses 2 (recurses 2 (main 2))))");
}

/* From its outermost call on; its callers from the innermost. */
static void test_one_function_can_be_shown_alone(void **state)
{
	struct fixture *fixture = *state;
	const struct frame *frame = stacks_frame(profile_stacks(fixture->result.profile), RECURSES);
	struct flame_choice choice = {.time.states = ~0U,
				      .root = PROFILE_ROOT_NONE,
				      .has_focus = true,
				      .focus = profile_name_key(frame, PROFILE_BY_FUNCTION)};

	assert_flames(fixture, &choice, "- 2 (recurses 2 (recurses 2 (recurses 2)))");
	choice.inverted = true;
	assert_flames(fixture, &choice, "- 2 (recurses 2 (recurses 2 (recurses 2 (main 2))))");
}

/* What is selected stays so when there is more to show. */
static void test_a_way_has_the_same_key_in_every_tree(void **state)
{
	struct flame_choice choice = {.time.states = ~0U, .root = PROFILE_ROOT_NONE};
	struct fixture *fixture = *state;
	uint64_t key;
	size_t found;

	assert_int_equal(flames_make(&fixture->flames, &fixture->result, &choice), 0);
	key = fixture->flames.items[fixture->flames.count - 1].key;
	assert_string_equal(
		name_of(fixture, &fixture->flames.items[fixture->flames.count - 1]),
		name_of(fixture, &fixture->flames.items[flames_find(&fixture->flames, key)]));
	choice.time.states = 1U << STATE_USER;
	assert_int_equal(flames_make(&fixture->flames, &fixture->result, &choice), 0);
	found = flames_find(&fixture->flames, fixture->flames.items[0].key);
	assert_int_equal(found, 0);
	assert_int_equal(flames_find(&fixture->flames, 12345), FLAME_NONE);
}

/* Of a wait and of the wait for a CPU behind it: one, but in both of these states. */
static void test_a_stack_in_two_states_is_one(void **state)
{
	struct flame_choice choice = {.time.states = ~0U, .root = PROFILE_ROOT_STATE};
	struct fixture *fixture = *state;
	struct profile *profile = fixture->result.profile;
	struct wire_spent wait = away(WIRE_SLEEP, 12000000, 13000000, 14000000, 1, ON_WAIT);

	feed(profile, &wait.header);
	end(profile, (uint64_t[STATES]){[STATE_SLEEP] = 1000000, [STATE_RUNNABLE] = 1000000});
	assert_int_equal(profile_result_make(&fixture->result), 0);
	assert_int_equal(flames_make(&fixture->flames, &fixture->result, &choice), 0);
	assert_int_equal(profile_stack_count(profile), 5);
	for (size_t i = 0; i < fixture->flames.count; i++) {
		const struct flame *flame = &fixture->flames.items[i];

		if (flame->kind == FLAME_ALL)
			assert_int_equal(flame->count, 5);
		else if (flame->kind == FLAME_STATE)
			assert_int_equal(flame->count, flame->state == STATE_SLEEP	? 2
						       : flame->state == STATE_RUNNABLE ? 1
											: 3);
	}
	assert_true(profile_complete_share(profile) == 0);
}

static void test_a_profile_without_time_has_no_flames(void **state)
{
	struct fixture *fixture = *state;
	struct flame_choice choice = {.time.states = 0};

	assert_flames(fixture, &choice, "");
	assert_int_equal(fixture->flames.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_calls_are_one_where_they_begin_alike, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_states_come_first_where_they_are_the_root,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_state_can_be_shown_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inverted_it_begins_with_the_innermost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_one_function_can_be_shown_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_way_has_the_same_key_in_every_tree, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_stack_in_two_states_is_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_profile_without_time_has_no_flames, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

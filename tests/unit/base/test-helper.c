// SPDX-License-Identifier: GPL-2.0-or-later
/* A helper answers, hangs, dies and grows, and the parent goes on. */
#define _GNU_SOURCE
#include "test.h"
#include "children.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#define SECOND 1000000000ULL
#define GROWN  (64 << 20)
#define PARTS  64 /* more than a socket holds */

static int secret = -1; /* a descriptor that the parent had open */

static int context; /* when a helper is started */

/* Instead of a context: what a helper does when it begins. */
enum { HANG_AT_FIRST = -1, DIE_AT_FIRST = -2, NO_MEMORY_AT_FIRST = -3 };

static void *begin(const void *data)
{
	int *own = malloc(sizeof(*own));

	if (*(const int *)data == HANG_AT_FIRST)
		for (;;)
			pause();
	if (*(const int *)data == DIE_AT_FIRST)
		_exit(1);
	if (*(const int *)data == NO_MEMORY_AT_FIRST)
		return NULL;
	if (own)
		*own = *(const int *)data;
	return own;
}

#define TO_PARENT 3 /* see helper_process.c */

/* Numbers that were not given, or are done; kinds that there are none of; then silence. */
static void tell_lies(void)
{
	static const uint64_t lies[][2] = {{0, 2}, {1, 4},  {77, 2},	     {UINT64_MAX, 4},
					   {1, 3}, {1, 99}, {UINT64_MAX, 3}, {2, 0}};

	for (int i = 0; i < 1000; i++)
		(void)!write(TO_PARENT, lies[i % ARRAY_SIZE(lies)], sizeof(lies[0]));
	for (;;)
		pause();
}

static size_t answer(void *data, const void *question, size_t length, void *into,
		     struct helper_parts *parts)
{
	if (!memcmp(question, "what", 4)) {
		memcpy(into, data, sizeof(int));
		return sizeof(int);
	}
	if (!memcmp(question, "read", 4)) {
		char text[HELPER_REPLY_BYTES];
		size_t text_length;
		int fd, result = helper_request("greet", 5, text, &text_length, &fd);

		/* "hello", and the descriptor of a file with " world" */
		assert_int_equal(result, 1);
		memcpy(into, text, text_length);
		text_length += (size_t)read(fd, (char *)into + text_length, 100);
		close(fd);
		if (helper_request("refuse", 6, text, &length, &fd) != -EPERM || fd != -1)
			return 0;
		if (helper_request("plain", 5, text, &length, &fd) != 1 || fd != -1 || length != 2)
			return 0;
		return text_length;
	}
	if (!memcmp(question, "rest", 4)) {
		char text[HELPER_REPLY_BYTES];
		size_t text_length;
		int fd;

		/* the reader dies, or hangs */
		(void)!helper_request((const char *)question + 4, 4, text, &text_length, &fd);
	}
	if (!memcmp(question, "much", 4)) {
		static const char part[HELPER_PART_BYTES];

		for (int i = 0; i < PARTS; i++)
			helper_part(parts, part, sizeof(part));
	}
	if (!memcmp(question, "hang", 4))
		for (;;)
			pause();
	if (!memcmp(question, "spin", 4))
		for (volatile bool for_ever = true; for_ever;)
			;
	if (!memcmp(question, "work", 4))
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < SECOND / 2)
			;
	if (!memcmp(question, "die!", 4))
		raise(SIGKILL);
	if (!memcmp(question, "fail", 4))
		_exit(127);
	/* as the parent is served when the bytes have taken over: its socket is ours too */
	if (!memcmp(question, "lies", 4))
		tell_lies();
	if (!memcmp(question, "gush", 4)) {
		static const char part[HELPER_PART_BYTES];

		for (;;)
			helper_part(parts, part, sizeof(part));
	}
	if (!memcmp(question, "quit", 4))
		_exit(0);
	if (!memcmp(question, "grow", 4)) {
		void *memory = malloc(GROWN);

		memcpy(into, memory ? "room" : "none", 4);
		free(memory);
		return 4;
	}
	if (!memcmp(question, "open", 4)) {
		memcpy(into, fcntl(secret, F_GETFD) < 0 ? "none" : "some", 4);
		return 4;
	}
	memcpy(into, question, length);
	return length;
}

static int serve(const void *request, size_t length, void *reply, size_t *ret_length, int *ret_fd)
{
	(void)length;
	*ret_length = 0;
	if (!memcmp(request, "die!", 4))
		raise(SIGKILL);
	if (!memcmp(request, "hang", 4))
		for (;;)
			pause();
	if (!memcmp(request, "refuse", 6))
		return -EPERM;
	if (!memcmp(request, "plain", 5)) {
		*ret_length = 2;
		return 0;
	}
	*ret_fd = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(pwrite(*ret_fd, " world", 6, 0), 6);
	memcpy(reply, "hello", 5);
	*ret_length = 5;
	return 0;
}

static const struct helper_work work = {
	.begin = begin,
	.answer = answer,
	.serve = serve,
#ifdef SANITIZED
	.memory_bytes = 1ULL << 50, /* its shadow */
#else
	.memory_bytes = 16 << 20,
#endif
	.patience_ns = SECOND / 5,
};

static struct helper *start(void)
{
	struct helper *helper;
	struct error error = {""};

	assert_int_equal(helper_start(&helper, &work, &context, &error), 0);
	return helper;
}

static uint64_t ask(struct helper *helper, const char *question)
{
	return helper_ask(helper, question, strlen(question));
}

/* With time for a machine that is busy: nothing here is measured. */
static enum helper_state next(struct helper *helper, uint64_t *ret_number, char *text)
{
	size_t length = 0;
	char bytes[HELPER_MESSAGE_BYTES];
	enum helper_state state = helper_next(helper, clock_monotonic_ns() + 60 * SECOND,
					      60 * SECOND, ret_number, bytes, &length);

	if (state == HELPER_ANSWERED) {
		memcpy(text, bytes, length);
		text[length] = '\0';
	}
	return state;
}

static void expect(struct helper *helper, uint64_t number, const char *text)
{
	char got[HELPER_MESSAGE_BYTES + 1];
	uint64_t of;

	assert_int_equal(next(helper, &of, got), HELPER_ANSWERED);
	assert_int_equal(of, number);
	assert_string_equal(got, text);
}

static void expect_lost(struct helper *helper, uint64_t number)
{
	char got[HELPER_MESSAGE_BYTES + 1];
	uint64_t of;

	assert_int_equal(next(helper, &of, got), HELPER_LOST);
	assert_int_equal(of, number);
}

/* After some parts of an answer. */
static void await_lost(struct helper *helper, uint64_t number)
{
	static char got[HELPER_MESSAGE_BYTES + 1];
	enum helper_state state;
	uint64_t of;

	do
		state = next(helper, &of, got);
	while (state == HELPER_PART);
	assert_int_equal(state, HELPER_LOST);
	assert_int_equal(of, number);
}

CASE(questions_are_answered_in_their_order)
{
	struct helper *helper = start();

	for (int round = 0; round < 100; round++) {
		uint64_t first = ask(helper, "one"), second = ask(helper, "two");

		assert_int_equal(first, 2 * round + 1);
		assert_int_equal(second, first + 1);
		expect(helper, first, "one");
		expect(helper, second, "two");
	}
	assert_int_equal(helper_deaths(helper), 0);
	assert_true(helper_cpu_ns(helper) > 0);
	helper_end(helper);
}

CASE(what_kills_it_is_lost_and_what_follows_is_answered)
{
	static const char *const deaths[] = {"die!", "fail",	 "hang",     "spin",
					     "quit", "restdie!", "resthang", "gush"};
	struct helper *helper = start();

	for (size_t i = 0; i < ARRAY_SIZE(deaths); i++) {
		uint64_t before = ask(helper, "before"), death = ask(helper, deaths[i]);
		uint64_t after = ask(helper, "after");

		expect(helper, before, "before");
		await_lost(helper, death);
		expect(helper, after, "after");
		assert_int_equal(helper_deaths(helper), i + 1);
	}
	/* of the one that computed until it was killed, too */
	assert_true(helper_cpu_ns(helper) > SECOND / 20);
	helper_end(helper);
}

/* Beside three that spin it needs two seconds for half a second of CPU time. */
CASE(without_a_cpu_it_does_not_hang)
{
	struct helper_work slow = work;
	struct helper *helper;
	pid_t spinners[3];
	cpu_set_t before, one;

	slow.patience_ns = SECOND;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (size_t i = 0; i < ARRAY_SIZE(spinners); i++) {
		spinners[i] = fork();
		if (!spinners[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	}
	assert_int_equal(helper_start(&helper, &slow, &context, NULL), 0);
	expect(helper, ask(helper, "work"), "work");
	assert_int_equal(helper_deaths(helper), 0);
	helper_end(helper);
	for (size_t i = 0; i < ARRAY_SIZE(spinners); i++) {
		kill(spinners[i], SIGKILL);
		waitpid(spinners[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

CASE(a_wait_ends_while_it_hangs)
{
	struct helper *helper = start();
	char bytes[HELPER_MESSAGE_BYTES];
	uint64_t number;
	size_t length;

	/* nothing was asked */
	assert_int_equal(helper_next(helper, clock_monotonic_ns() + SECOND / 100, SECOND, &number,
				     bytes, &length),
			 HELPER_NONE);
	assert_int_equal(ask(helper, "hang"), 1);
	/* by the time for one question, long before the deadline and its end */
	while (helper_next(helper, clock_monotonic_ns() + 60 * SECOND, 1, &number, bytes,
			   &length) != HELPER_NONE)
		fail_msg("it does not hang");
	helper_end(helper);
}

CASE(there_is_an_end_to_what_can_be_asked)
{
	struct helper *helper = start();
	char bytes[HELPER_MESSAGE_BYTES + 1] = "";
	unsigned int count = 0;

	assert_int_equal(helper_ask(helper, bytes, sizeof(bytes)), 0);
	assert_int_equal(ask(helper, "hang"), 1);
	while (helper_ask(helper, bytes, HELPER_MESSAGE_BYTES) && count < 100000)
		count++;
	assert_in_range(count, 1, 99999);
	expect_lost(helper, 1);
	/* there is room again when the next helper has taken the first of those that wait */
	expect(helper, 2, "");
	assert_true(ask(helper, "again") > 0);
	helper_end(helper);
}

/* None of them answers: each question is lost, in its time. */
CASE(helpers_that_do_not_begin_are_no_loop)
{
	static const int beginnings[] = {HANG_AT_FIRST, DIE_AT_FIRST, NO_MEMORY_AT_FIRST};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		struct helper *helper;
		uint64_t deaths;

		context = beginnings[i];
		helper = start();
		expect_lost(helper, ask(helper, "first"));
		expect_lost(helper, ask(helper, "second"));
		deaths = helper_deaths(helper);
		assert_in_range(deaths, 2, 16);
		helper_end(helper);
	}
	context = 0;
}

/* What it says costs answers, and holds up neither us nor the next helper for good. */
CASE(lies_cost_answers_only)
{
	struct helper *helper = start();
	uint64_t first = ask(helper, "lies"), second = ask(helper, "two"), number = 0;
	static char got[HELPER_MESSAGE_BYTES + 1];
	enum helper_state came;
	unsigned int ended = 0;

	assert_int_equal(first, 1);
	while (ended < 2) {
		came = next(helper, &number, got);
		/* after many lies in a row it returns, so that others have their turn */
		if (came == HELPER_NONE || came == HELPER_PART)
			continue;
		assert_int_equal(number, ++ended);
	}
	assert_int_equal(ended, second);
	do {
		uint64_t asked = ask(helper, "three");

		assert_true(asked > 0);
		do
			came = next(helper, &number, got);
		while (number != asked || (came != HELPER_ANSWERED && came != HELPER_LOST));
	} while (came != HELPER_ANSWERED);
	assert_string_equal(got, "three");
	helper_end(helper);
}

CASE(without_its_keeper_all_is_lost)
{
	struct helper *helper = start();
	char bytes[HELPER_MESSAGE_BYTES];
	uint64_t number;
	size_t length;

	expect(helper, ask(helper, "one"), "one");
	assert_int_equal(ask(helper, "hang"), 2);
	kill(newest_child(), SIGKILL);
	expect_lost(helper, 2);
	/* on a busy machine the question may have been lost before, for its time was up */
	while (!helper_is_gone(helper))
		helper_next(helper, clock_monotonic_ns() + 1000000, UINT64_MAX, &number, bytes,
			    &length);
	assert_int_equal(ask(helper, "three"), 0);
	/* at once, not at the deadline */
	assert_int_equal(helper_next(helper, UINT64_MAX, UINT64_MAX, &number, bytes, &length),
			 HELPER_NONE);
	helper_end(helper);
}

CASE(memory_is_limited)
{
	struct helper *helper = start();
	uint64_t number = ask(helper, "grow");

	if (work.memory_bytes < GROWN)
		expect(helper, number, "none");
	helper_end(helper);
}

CASE(a_reader_opens_for_it)
{
	struct helper *helper = start();
	char bytes[16];
	size_t length;
	int fd;

	expect(helper, ask(helper, "read"), "hello world");
	helper_end(helper);
	/* this is no helper */
	assert_int_equal(helper_request("greet", 5, bytes, &length, &fd), 0);
}

CASE(an_answer_has_parts)
{
	struct helper *helper = start();
	const struct timespec longer = {.tv_nsec = SECOND / 2};
	static char bytes[HELPER_MESSAGE_BYTES + 1];
	uint64_t asked = ask(helper, "much"), number;

	/* that its parent does not read is not its fault: longer than our patience */
	nanosleep(&longer, NULL);
	for (int i = 0; i < PARTS; i++) {
		assert_int_equal(next(helper, &number, bytes), HELPER_PART);
		assert_int_equal(number, asked);
	}
	expect(helper, asked, "much");
	assert_int_equal(helper_deaths(helper), 0);
	helper_end(helper);
}

CASE(the_context_is_that_of_the_start)
{
	struct helper *helper;
	int got;
	char bytes[HELPER_MESSAGE_BYTES + 1];
	uint64_t number, asked;

	context = 42;
	helper = start();
	context = 43;
	asked = ask(helper, "die!");
	expect_lost(helper, asked);
	asked = ask(helper, "what");
	assert_int_equal(next(helper, &number, bytes), HELPER_ANSWERED);
	memcpy(&got, bytes, sizeof(got));
	assert_int_equal(got, 42);
	helper_end(helper);
}

CASE(a_wait_ends_with_the_parent)
{
	struct helper *helper = start();
	char bytes[HELPER_MESSAGE_BYTES];
	uint64_t number;
	size_t length;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	assert_int_equal(helper_next(helper, clock_monotonic_ns() + 600 * SECOND, 600 * SECOND,
				     &number, bytes, &length),
			 HELPER_NONE);
	assert_int_equal(sigwaitinfo(&set, NULL), SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	helper_end(helper);
}

CASE(it_has_nothing_of_the_parent_open)
{
	struct helper *helper;

	secret = open("/dev/null", O_RDONLY | O_CLOEXEC);
	secret = fcntl(secret, F_DUPFD_CLOEXEC, 100);
	assert_true(secret >= 100);
	helper = start();
	expect(helper, ask(helper, "open"), "none");
	helper_end(helper);
	close(secret);
}

CASE(it_is_killed_at_any_moment)
{
	struct helper *helper = start();
	char text[32], got[HELPER_MESSAGE_BYTES + 1];
	unsigned int answered = 0;

	for (int i = 0; i < 300; i++) {
		uint64_t number, of;
		bool is_answered = false, is_lost = false;
		pid_t pid;

		snprintf(text, sizeof(text), "question %d", i);
		number = ask(helper, text);
		assert_true(number > 0);
		/* the keeper is our only child; the reader, its first, takes the helper along */
		pid = i % 2 ? child_of(newest_child()) : 0;
		if (pid > 1)
			kill(pid, SIGKILL);
		while (!is_answered && !is_lost) {
			enum helper_state came = next(helper, &of, got);

			assert_true(came != HELPER_NONE);
			if (of != number)
				continue;
			is_answered = came == HELPER_ANSWERED;
			is_lost = came == HELPER_LOST;
			if (is_answered)
				assert_string_equal(got, text);
		}
		answered += is_answered;
	}
	assert_true(answered >= 150);
	helper_end(helper);
}

CASE(nothing_is_left_of_it)
{
	struct helper *helper = start();

	expect(helper, ask(helper, "hello"), "hello");
	helper_end(helper);
	helper = start();
	assert_int_equal(ask(helper, "hang"), 1);
	helper_end(helper);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	helper_end(NULL);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(questions_are_answered_in_their_order),
		cmocka_unit_test(what_kills_it_is_lost_and_what_follows_is_answered),
		cmocka_unit_test(without_a_cpu_it_does_not_hang),
		cmocka_unit_test(a_wait_ends_while_it_hangs),
		cmocka_unit_test(there_is_an_end_to_what_can_be_asked),
		cmocka_unit_test(helpers_that_do_not_begin_are_no_loop),
		cmocka_unit_test(lies_cost_answers_only),
		cmocka_unit_test(without_its_keeper_all_is_lost),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(a_reader_opens_for_it),
		cmocka_unit_test(an_answer_has_parts),
		cmocka_unit_test(the_context_is_that_of_the_start),
		cmocka_unit_test(a_wait_ends_with_the_parent),
		cmocka_unit_test(it_has_nothing_of_the_parent_open),
		cmocka_unit_test(it_is_killed_at_any_moment),
		cmocka_unit_test(nothing_is_left_of_it),
	};

	return RUN(cases);
}

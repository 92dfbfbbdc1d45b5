// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks on their way: asked for, named by a helper, sent once. */
#define _GNU_SOURCE
#include "test.h"
#include "children.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interned.h"
#include "capture/record_check.h"
#include "capture/span_queue.h"
#include "capture/span_stacks.h"

CASE(texts_are_kept_once)
{
	struct interned interned = {.bytes_max = 1 << 20};
	char text[16];

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < 5000; i++) {
			int length = snprintf(text, sizeof(text), "text %zu", i);

			assert_int_equal(interned_add(&interned, text, (size_t)length), i);
		}
	/* one that begins as another is another */
	assert_int_equal(interned_add(&interned, "text 1", 5), 5000);
	assert_int_equal(interned_add(&interned, "", 0), 5001);
	assert_int_equal(interned_add(&interned, "", 0), 5001);
	assert_int_equal(interned.count, 5002);
	interned_release(&interned);
	assert_int_equal(interned_add(&interned, "again", 5), 0);
	interned_release(&interned);
}

CASE(there_is_room_for_so_many_bytes)
{
	struct interned interned = {.bytes_max = 10};

	assert_int_equal(interned_add(&interned, "123456", 6), 0);
	assert_true(interned_add(&interned, "abcdef", 6) == INTERNED_FULL);
	/* what is there is found, and what fits is kept */
	assert_int_equal(interned_add(&interned, "123456", 6), 0);
	assert_int_equal(interned_add(&interned, "abcd", 4), 1);
	assert_true(interned_add(&interned, "x", 1) == INTERNED_FULL);
	interned_release(&interned);
}

static struct span_question *question_of(uint32_t tid)
{
	struct span_stack stack;

	memset(&stack, 0, offsetof(struct span_stack, user));
	stack.tid = tid;
	return span_question_new(&stack, false, 0);
}

/* Adds a record of that time, with or without a question. */
static int add(struct span_queue *queue, uint64_t time_ns, bool asks)
{
	struct wire_header record = {.size = sizeof(record), .time_ns = time_ns};

	return span_queue_add(queue, &record, sizeof(record), asks ? question_of(1) : NULL);
}

static void expect(struct span_queue *queue, uint64_t time_ns)
{
	struct span_waiting *waiting = span_queue_take(queue);

	assert_non_null(waiting);
	assert_int_equal(waiting->record.time_ns, time_ns);
	free(waiting);
}

CASE(records_wait_in_their_order)
{
	struct span_queue queue = {0};

	assert_int_equal(add(&queue, 1, false), 0);
	assert_int_equal(add(&queue, 2, true), 0);
	assert_int_equal(add(&queue, 3, false), 0);
	assert_int_equal(add(&queue, 4, true), 0);
	expect(&queue, 1);
	/* it has not even been asked about; nor is what comes later passed on */
	assert_null(span_queue_take(&queue));
	assert_int_equal(span_queue_give_up(&queue), 2);
	for (uint64_t time_ns = 2; time_ns <= 4; time_ns++)
		expect(&queue, time_ns);
	assert_null(span_queue_take(&queue));
	assert_int_equal(queue.count, 0);
	span_queue_release(&queue);
}

CASE(so_many_may_wait)
{
	struct span_queue queue = {0};
	struct span_question *question = question_of(1);
	size_t bytes = span_question_bytes(question), asked = 0, all = 0;

	free(question);
	while (!add(&queue, 1, true))
		asked++;
	assert_int_equal(asked, SPAN_QUEUE_UNASKED_BYTES / bytes);
	for (all = asked; !add(&queue, 1, false); all++)
		;
	assert_int_equal(all, SPAN_QUEUE_MAX);
	assert_int_equal(span_queue_give_up(&queue), asked);
	span_queue_release(&queue);
	assert_int_equal(add(&queue, 1, true), 0);
	span_queue_release(&queue);
}

CASE(what_is_no_stack_is_not_asked_for)
{
	struct span_stack stack;

	memset(&stack, 0, offsetof(struct span_stack, user));
	stack.user_bytes = SPAN_USER_BYTES + 1;
	assert_null(span_question_new(&stack, false, 0));
}

/* What was sent. */
struct sent {
	unsigned int frames, stacks;
	char function[64];
};

static int take(void *data, const struct wire_header *record)
{
	const struct wire_frame *frame = (const struct wire_frame *)record;
	struct sent *sent = data;

	/* it can be recorded */
	assert_true(record_is_sound(record));
	sent->frames += record->kind == WIRE_FRAME;
	sent->stacks += record->kind == WIRE_STACK;
	if (record->kind == WIRE_FRAME)
		snprintf(sent->function, sizeof(sent->function), "%s", frame->text);
	return 0;
}

/* The id of a stack with one frame: this function. 0: it was lost, or the process has ended. */
__attribute__((noinline)) static uint32_t ask_of(struct span_stacks *stacks, pid_t pid,
						 struct sent *sent)
{
	struct record_sink sink = {take, sent};
	struct span_question *question = question_of((uint32_t)pid);
	struct span_found found;
	uint64_t asked, number = 0;

	question->stack.header.time_ns = 42;
	question->stack.of = SPAN_STACK_BLOCK;
	question->stack.pid = (uint32_t)pid;
	question->stack.in_user_mode = 1;
	question->stack.frame.address = (uint64_t)(uintptr_t)ask_of + 4;
	asked = span_stacks_ask(stacks, question);
	free(question);
	assert_true(asked > 0);
	while (number != asked)
		assert_int_equal(span_stacks_next(stacks, clock_monotonic_ns() + 60000000000ULL,
						  60000000000ULL, &number, &found, sink),
				 1);
	return found.id;
}

static uint32_t ask(struct span_stacks *stacks, struct sent *sent)
{
	return ask_of(stacks, getpid(), sent);
}

CASE(a_stack_is_sent_once_by_whatever_reader)
{
	const struct stack_options options = {.unwind = STACK_UNWIND_AUTO};
	struct span_stacks stacks;
	struct sent sent = {0};
	struct error error = {""};
	uint64_t generation;
	uint32_t self = (uint32_t)getpid();
	uint32_t id;
	pid_t helper;

	assert_int_equal(span_stacks_start(&stacks, &options, &self, 1, &error), 0);
	span_stacks_await_preload(&stacks, NULL);
	id = ask(&stacks, &sent);
	assert_int_equal(id, 1);
	assert_string_equal(sent.function, "ask_of");
	assert_int_equal(ask(&stacks, &sent), id);
	assert_int_equal(sent.stacks, 1);
	assert_int_equal(sent.frames, 1);
	/* another reader counts its frames from 1, and we know them */
	helper = child_of(newest_child());
	assert_true(helper > 1);
	kill(helper, SIGKILL);
	generation = stacks.generation;
	do
		id = ask(&stacks, &sent);
	while (!id || stacks.generation == generation);
	assert_int_equal(id, 1);
	assert_int_equal(sent.stacks, 1);
	assert_int_equal(sent.frames, 1);
	assert_true(span_stacks_counts(&stacks).named >= 2);
	/* a name is a frame too, and another one */
	assert_int_equal(span_stacks_name(&stacks, "app::serve", true, 42, &id,
					  (struct record_sink){take, &sent}),
			 0);
	assert_int_equal(id, 2);
	assert_int_equal(sent.frames, 2);
	span_stacks_release(&stacks);
}

CASE(of_a_process_that_has_ended_there_is_no_stack)
{
	const struct stack_options options = {.unwind = STACK_UNWIND_AUTO};
	struct span_stacks stacks;
	struct sent sent = {0};
	struct error error = {""};
	uint32_t self = (uint32_t)getpid();
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(span_stacks_start(&stacks, &options, &self, 1, &error), 0);
	span_stacks_await_preload(&stacks, NULL);
	assert_int_equal(ask_of(&stacks, child, &sent), 0);
	assert_int_equal(sent.stacks, 0);
	assert_int_equal(stacks.failed, 1);
	span_stacks_release(&stacks);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(texts_are_kept_once),
		cmocka_unit_test(there_is_room_for_so_many_bytes),
		cmocka_unit_test(records_wait_in_their_order),
		cmocka_unit_test(so_many_may_wait),
		cmocka_unit_test(what_is_no_stack_is_not_asked_for),
		cmocka_unit_test(a_stack_is_sent_once_by_whatever_reader),
		cmocka_unit_test(of_a_process_that_has_ended_there_is_no_stack),
	};

	return RUN(cases);
}

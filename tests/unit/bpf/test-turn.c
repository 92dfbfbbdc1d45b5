// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns on a CPU that no hypervisor produces on demand: bpf/turn.h. */
#include "test.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "bpf/turn.h"

#define US 1000ULL
#define MS 1000000ULL

/* A thread's account, and the clocks of a machine that runs it. */
struct machine {
	struct turn turn;
	struct turn_parts parts;
	struct turn_clock clock; /* of the run queue */
	uint64_t charged_ns;	 /* sum_exec_runtime, of all turns */
	/* by dwell: they sum to what has passed */
	uint64_t on_cpu_ns, stolen_ns, irq_ns, runnable_ns, blocked_ns;
	/* the truth */
	uint64_t passed_ns, truly_stolen_ns, truly_irq_ns;
	uint32_t clamped;
};

static uint64_t accounted_ns(const struct machine *machine)
{
	return machine->on_cpu_ns + machine->stolen_ns + machine->irq_ns + machine->runnable_ns +
	       machine->blocked_ns;
}

/* What the hooks do for a time off the CPU. */
static void be_off(struct machine *machine, uint64_t ns, bool runnable)
{
	bool pays = runnable ? machine->turn.balance_ns < -TURN_TOLERANCE_NS
			     : machine->turn.overdue_ns > 0;
	uint64_t paid_ns = pays ? turn_pay(&machine->turn, ns, runnable) : 0;

	*(runnable ? &machine->runnable_ns : &machine->blocked_ns) += ns - paid_ns;
	machine->on_cpu_ns += paid_ns;
	machine->passed_ns += ns;
}

static uint64_t not_own(const struct turn *turn, const struct turn_parts *parts)
{
	return turn->is_divided ? parts->stolen_ns + parts->irq_ns + parts->hidden_ns : 0;
}

/*
 * A turn between two switches as the tracepoint sees it. `before_ns` and `after_ns`: how much
 * earlier the kernel read its clock for the switch at its beginning and its end.
 */
static void run(struct machine *machine, uint64_t length_ns, uint64_t stolen_ns, uint64_t irq_ns,
		uint64_t before_ns, uint64_t after_ns)
{
	struct turn *turn = &machine->turn;
	struct turn_parts *parts = &machine->parts;
	uint64_t charged_ns = length_ns + before_ns - after_ns - stolen_ns - irq_ns, early_ns;
	uint64_t others_ns;

	turn->omitted_ns = machine->clock.omitted_ns;
	parts->begin_irq_ns = machine->clock.irq_ns;
	machine->clock.omitted_ns += stolen_ns + irq_ns;
	machine->clock.irq_ns += irq_ns;
	machine->charged_ns += charged_ns;
	early_ns = turn_end(turn, parts, length_ns, charged_ns, &machine->clock, &machine->clamped);
	others_ns = not_own(turn, parts);
	assert_true(early_ns + others_ns <= length_ns);
	machine->on_cpu_ns += length_ns - early_ns - others_ns;
	if (turn->is_divided) {
		machine->stolen_ns += parts->stolen_ns;
		machine->irq_ns += parts->irq_ns;
		machine->runnable_ns += parts->hidden_ns;
		turn->is_divided = 0;
	}
	machine->blocked_ns += early_ns;
	machine->passed_ns += length_ns;
	machine->truly_stolen_ns += stolen_ns;
	machine->truly_irq_ns += irq_ns;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Within a thousandth of wall, at any share of steal and any length of turn. */
CASE(cpu_time_is_what_the_kernel_charged)
{
	static const uint64_t lengths[] = {5 * US, 100 * US, 4 * MS, 900 * MS};

	for (unsigned int percent = 0; percent <= 90; percent += 10) {
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			struct machine machine = {0};
			uint64_t length_ns = lengths[i], stolen_ns = length_ns * percent / 100;

			for (int turn = 0; turn < 1000; turn++) {
				be_off(&machine, 3 * US, true);
				/* the clock of the wakeup, or nearly that of the switch */
				run(&machine, length_ns, stolen_ns, 0, turn % 3 ? 3 * US : 200,
				    300);
				be_off(&machine, 50 * US, false);
			}
			assert_int_equal(accounted_ns(&machine), machine.passed_ns);
			/* whatever the number of turns */
			assert_true(distance(machine.on_cpu_ns, machine.charged_ns) <= 10 * US);
			assert_true(distance(machine.stolen_ns, machine.truly_stolen_ns) <
				    machine.passed_ns / 1000);
			assert_int_equal(machine.irq_ns, 0);
			assert_int_equal(machine.clamped, 0);
		}
	}
}

CASE(interrupts_are_distinguished_from_theft)
{
	struct machine machine = {0};

	for (int turn = 0; turn < 100; turn++) {
		run(&machine, 10 * MS, 2 * MS, MS, 200, 200);
		be_off(&machine, MS, false);
	}
	assert_int_equal(accounted_ns(&machine), machine.passed_ns);
	assert_int_equal(machine.stolen_ns, machine.truly_stolen_ns);
	assert_int_equal(machine.irq_ns, machine.truly_irq_ns);
	assert_int_equal(machine.on_cpu_ns, machine.charged_ns);
}

/* Charged from its wakeup on: the wait for the CPU pays, and never more than there was. */
CASE(debts_are_paid_by_waits)
{
	struct turn turn = {0};
	struct turn_parts parts = {0};
	struct turn_clock now = {0};
	uint32_t clamped = 0;

	assert_int_equal(turn_end(&turn, &parts, 10 * US, 14 * US, &now, &clamped), 0);
	assert_true(turn.balance_ns == -4 * (int64_t)US);
	/* it sleeps first: that is not the time it was charged for */
	assert_int_equal(turn_pay(&turn, MS, false), 0);
	assert_int_equal(turn_pay(&turn, 3 * US, true), 3 * US);
	/* what that wait left is paid by any other */
	assert_int_equal(turn.overdue_ns, US);
	assert_int_equal(turn_pay(&turn, 400, false), 400);
	assert_int_equal(turn_pay(&turn, MS, false), 600);
	assert_int_equal(turn_pay(&turn, MS, true), 0);
	/* a turn of which the kernel charged less pays too, and what is left ended it early */
	assert_int_equal(turn_end(&turn, &parts, 10 * US, 14 * US, &now, &clamped), 0);
	assert_int_equal(turn_end(&turn, &parts, 20 * US, 10 * US, &now, &clamped), 6 * US);
	assert_true(turn.balance_ns == 0);
	/* small differences stay, and cancel each other out */
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(turn_end(&turn, &parts, 5300, 5000, &now, &clamped), 0);
		assert_int_equal(turn_end(&turn, &parts, 5000, 5300, &now, &clamped), 0);
	}
	assert_true(turn.balance_ns == 0);
	assert_int_equal(clamped, 0);
	assert_int_equal(turn.is_divided, 0);
}

/* A switch without a tracepoint: its time is neither charged nor left out by the clock. */
CASE(a_hidden_thread_is_waited_for)
{
	struct turn turn = {0};
	/* of the turn before */
	struct turn_parts parts = {.stolen_ns = 7 * MS, .irq_ns = MS};
	struct turn_clock now = {.omitted_ns = MS};
	uint32_t clamped = 0;

	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 5 * MS, &now, &clamped), 0);
	assert_true(turn.is_divided);
	assert_int_equal(parts.stolen_ns, MS);
	assert_int_equal(parts.hidden_ns, 4 * MS);
	assert_int_equal(parts.irq_ns, 0);
	turn = (struct turn){.omitted_ns = MS};
	parts.stolen_ns = 7 * MS;
	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 6 * MS, &now, &clamped), 0);
	assert_int_equal(not_own(&turn, &parts), 4 * MS);
	assert_int_equal(parts.hidden_ns, 4 * MS);
	assert_int_equal(clamped, 0);
}

/*
 * The hypervisor took the CPU for 5 ms between the kernel's look at its clock and the switch: the
 * turn before waited, and this one, in whose time it shows, owes nothing for it.
 */
CASE(a_pause_in_a_switch_is_no_debt)
{
	struct turn turn = {0};
	struct turn_parts parts = {0};
	struct turn_clock now = {.omitted_ns = 5 * MS};
	uint32_t clamped = 0;

	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 10 * MS, &now, &clamped), 0);
	assert_int_equal(not_own(&turn, &parts), 0);
	assert_true(turn.balance_ns == 0);
	/* what there is room for was stolen in this turn */
	turn = (struct turn){0};
	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 8 * MS, &now, &clamped), 0);
	assert_int_equal(parts.stolen_ns, 2 * MS);
	assert_int_equal(not_own(&turn, &parts), 2 * MS);
	assert_true(turn.balance_ns == 0);
	assert_int_equal(clamped, 0);
}

CASE(clocks_that_contradict_each_other_are_clamped)
{
	struct turn turn = {.omitted_ns = 5 * MS};
	struct turn_parts parts = {.begin_irq_ns = 2 * MS};
	struct turn_clock back = {.omitted_ns = 4 * MS, .irq_ns = 2 * MS};
	struct turn_clock jumped = {.omitted_ns = ~0ULL >> 1, .irq_ns = 2 * MS};
	struct turn_clock nothing = {0};
	uint32_t clamped = 0;

	/* the steal clock went back: nothing is stolen, the rest of the turn is unexplained */
	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 9 * MS, &back, &clamped), 0);
	assert_int_equal(clamped, 1);
	assert_int_equal(parts.stolen_ns, 0);
	assert_int_equal(not_own(&turn, &parts), MS);
	/* it jumped ahead after a migration: no more than the turn has room for */
	clamped = turn.is_divided = 0;
	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 9 * MS, &jumped, &clamped), 0);
	assert_int_equal(parts.stolen_ns, MS);
	assert_int_equal(not_own(&turn, &parts), MS);
	assert_int_equal(clamped, 1);
	/* the kernel charged seconds for a turn of milliseconds */
	turn = (struct turn){0};
	clamped = 0;
	assert_int_equal(turn_end(&turn, &parts, 10 * MS, 2000 * MS, &nothing, &clamped), 0);
	assert_int_equal(clamped, 1);
	assert_true(turn.balance_ns == 0);
	/* a debt that nothing pays does not grow for ever */
	clamped = 0;
	for (int i = 0; i < 10; i++)
		turn_end(&turn, &parts, MS, 3 * MS, &nothing, &clamped);
	assert_int_equal(clamped, 1);
	assert_true(turn.balance_ns >= -TURN_DEBT_MAX_NS);
}

/* A snapshot in the middle of a turn that has ended when it is read. */
CASE(a_turn_is_split_at_a_snapshot)
{
	static const uint64_t parts[] = {0, 1, MS, 5 * MS, 9 * MS, 10 * MS};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		for (uint64_t before_ns = 0; before_ns <= 10 * MS; before_ns += MS / 4) {
			uint64_t share_ns = turn_before(parts[i], before_ns, 10 * MS);

			assert_true(share_ns <= parts[i]);
			assert_true(share_ns <= before_ns);
			/* what is left fits behind the snapshot */
			assert_true(parts[i] - share_ns <= 10 * MS - before_ns);
		}
	}
	assert_true(distance(turn_before(4 * MS, 5 * MS, 10 * MS), 2 * MS) < 10 * US);
	/* an hour of turn does not overflow */
	assert_true(distance(turn_before(1800000 * MS, 1800000 * MS, 3600000 * MS), 900000 * MS) <
		    MS);
}

CASE(an_open_turn_gives_up_what_its_clock_left_out)
{
	struct turn turn = {.omitted_ns = MS}, later = {.omitted_ns = 5 * MS};
	struct turn_parts parts = {.begin_irq_ns = 10 * US};
	struct turn_clock now = {.omitted_ns = 4 * MS, .irq_ns = 510 * US};
	struct turn_loss loss = turn_loss(&turn, &parts, &now, 100 * MS);

	assert_int_equal(loss.stolen_ns, 2500 * US);
	assert_int_equal(loss.irq_ns, 500 * US);
	/* no more than there was of the turn */
	loss = turn_loss(&turn, &parts, &now, MS);
	assert_int_equal(loss.stolen_ns + loss.irq_ns, MS);
	loss = turn_loss(&later, &parts, &now, MS);
	assert_true(loss.is_backward);
	assert_int_equal(loss.stolen_ns + loss.irq_ns, 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(cpu_time_is_what_the_kernel_charged),
		cmocka_unit_test(interrupts_are_distinguished_from_theft),
		cmocka_unit_test(debts_are_paid_by_waits),
		cmocka_unit_test(a_hidden_thread_is_waited_for),
		cmocka_unit_test(a_pause_in_a_switch_is_no_debt),
		cmocka_unit_test(clocks_that_contradict_each_other_are_clamped),
		cmocka_unit_test(a_turn_is_split_at_a_snapshot),
		cmocka_unit_test(an_open_turn_gives_up_what_its_clock_left_out),
	};

	return RUN(cases);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What a call before a return address called. */
#include "test.h"

#include "base/cleanup.h"
#include "bpf/config.h"
#include "symbol/call_site.h"

#define BASE 0x400000ULL

/* A piece of a program's memory. */
struct program {
	uint8_t bytes[256];
	size_t size;
};

static size_t read_program(void *data, uint64_t address, void *into, size_t bytes)
{
	const struct program *program = data;
	uint64_t offset = address - BASE;

	if (address < BASE || offset >= program->size)
		return 0;
	bytes = bytes < program->size - offset ? bytes : program->size - (size_t)offset;
	memcpy(into, program->bytes + offset, bytes);
	return bytes;
}

static struct program program_of(const uint8_t *code, size_t size)
{
	struct program program = {.size = sizeof(program.bytes)};
	uint64_t slot = 0x7f0000001234;

	memcpy(program.bytes, code, size);
	memcpy(program.bytes + 0x80, &slot, sizeof(slot));
	return program;
}

static uint64_t target(enum call_site_machine machine, const uint8_t *code, size_t size)
{
	struct program program = program_of(code, size);

	return call_site_target(machine, BASE + size, read_program, &program);
}

static uint64_t jump(enum call_site_machine machine, const uint8_t *code, size_t size)
{
	struct program program = program_of(code, size);

	return call_site_jump(machine, BASE, read_program, &program);
}

static uint64_t slot(enum call_site_machine machine, const uint8_t *code, size_t size)
{
	struct program program = program_of(code, size);

	return call_site_slot(machine, BASE, read_program, &program);
}

#define X86(what, ...)                                                                             \
	what(CALL_SITE_X86_64, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))
#define ARM(what, ...)                                                                             \
	what(CALL_SITE_AARCH64, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* Behind eight bytes that are no call. */
static bool indirect(enum call_site_machine machine, const uint8_t *code, size_t size)
{
	uint8_t all[16] = {0};
	struct program program;

	memcpy(all + 8, code, size);
	program = program_of(all, 8 + size);
	return call_site_is_indirect(machine, BASE + 8 + size, read_program, &program);
}

struct tails {
	uint64_t wanted;
	unsigned int count;
};

static bool count_tail(void *data, uint64_t target)
{
	struct tails *tails = data;

	tails->count++;
	return target == tails->wanted;
}

static void calls_by_pointers(void **state)
{
	(void)state;
	/* call *%rax; *%r9; *0x48(%rdi); *8(%rsp); *0x100(%rdi); *0x100(%rsp); *(%rdi); *0(,%rax,8)
	 */
	assert_true(X86(indirect, 0xff, 0xd0));
	assert_true(X86(indirect, 0x41, 0xff, 0xd1));
	assert_true(X86(indirect, 0xff, 0x57, 0x48));
	assert_true(X86(indirect, 0xff, 0x54, 0x24, 0x08));
	assert_true(X86(indirect, 0xff, 0x97, 0, 1, 0, 0));
	assert_true(X86(indirect, 0xff, 0x94, 0x24, 0, 1, 0, 0));
	assert_true(X86(indirect, 0xff, 0x17));
	assert_true(X86(indirect, 0xff, 0x14, 0xc5, 0, 0, 0, 0));
	/* jmp *%rax; push (%rax); call -16; one byte too many */
	assert_false(X86(indirect, 0xff, 0xe0));
	assert_false(X86(indirect, 0xff, 0x30));
	assert_false(X86(indirect, 0xe8, 0xf0, 0xff, 0xff, 0xff));
	assert_false(X86(indirect, 0xff, 0xd0, 0x90));
	/* blr x1; br x1 */
	assert_true(ARM(indirect, 0x20, 0x00, 0x3f, 0xd6));
	assert_false(ARM(indirect, 0x20, 0x00, 0x1f, 0xd6));
}

static void calls_that_are_the_last_act(void **state)
{
	/* mov $5, %edi; jmp +32; jmp +16 */
	static const uint8_t x86[] = {0xbf, 5, 0, 0, 0, 0xe9, 0x20, 0, 0, 0, 0xe9, 0x10, 0, 0, 0};
	/* mov x0, #5; b +32 */
	static const uint8_t arm[] = {0xa0, 0x00, 0x80, 0xd2, 0x08, 0x00, 0x00, 0x14};
	struct program program = program_of(x86, sizeof(x86));
	struct tails tails = {.wanted = BASE + 10 + 32};

	(void)state;
	assert_true(call_site_tails(CALL_SITE_X86_64, BASE, read_program, &program, count_tail,
				    &tails));
	assert_int_equal(tails.count, 1);
	tails = (struct tails){.wanted = BASE + 15 + 16};
	assert_true(call_site_tails(CALL_SITE_X86_64, BASE, read_program, &program, count_tail,
				    &tails));
	assert_int_equal(tails.count, 2);
	tails = (struct tails){.wanted = 1};
	assert_false(call_site_tails(CALL_SITE_X86_64, BASE, read_program, &program, count_tail,
				     &tails));
	program = program_of(arm, sizeof(arm));
	tails = (struct tails){.wanted = BASE + 4 + 32};
	assert_true(call_site_tails(CALL_SITE_AARCH64, BASE, read_program, &program, count_tail,
				    &tails));
}

static void calls_of_x86(void **state)
{
	(void)state;
	/* call -16; nop before it */
	assert_int_equal(X86(target, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff), BASE + 6 - 16);
	/* call *0x7a(%rip) */
	assert_int_equal(X86(target, 0xff, 0x15, 0x7a, 0, 0, 0), 0x7f0000001234);
	/* of a slot that is not mapped */
	assert_int_equal(X86(target, 0xff, 0x15, 0, 0, 0, 0x10), 0);
	/* call *%rax */
	assert_int_equal(X86(target, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0), 0);
	/* nothing can be read so far in front */
	assert_int_equal(X86(target, 0x90), 0);
}

static void jumps_of_x86(void **state)
{
	(void)state;
	/* jmp -5 */
	assert_int_equal(X86(jump, 0xe9, 0xfb, 0xff, 0xff, 0xff), BASE);
	/* jmp *0x7a(%rip): an entry of .plt */
	assert_int_equal(X86(jump, 0xff, 0x25, 0x7a, 0, 0, 0), 0x7f0000001234);
	/* endbr64; bnd jmp *0x75(%rip): of .plt.sec */
	assert_int_equal(X86(jump, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x75, 0, 0, 0),
			 0x7f0000001234);
	/* push %rbp */
	assert_int_equal(X86(jump, 0x55, 0x48, 0x89, 0xe5), 0);
	assert_int_equal(X86(slot, 0xff, 0x25, 0x7a, 0, 0, 0), BASE + 0x80);
	assert_int_equal(X86(slot, 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x75, 0, 0, 0),
			 BASE + 0x80);
	assert_int_equal(X86(slot, 0xe9, 0xfb, 0xff, 0xff, 0xff), 0);
}

static void calls_of_arm(void **state)
{
	(void)state;
	/* bl -16 */
	assert_int_equal(ARM(target, 0xfc, 0xff, 0xff, 0x97), BASE - 16);
	/* blr x1 */
	assert_int_equal(ARM(target, 0x20, 0x00, 0x3f, 0xd6), 0);
	/* b +8 */
	assert_int_equal(ARM(jump, 0x02, 0x00, 0x00, 0x14), BASE + 8);
	/* adrp x16, 0; ldr x17, [x16, #0x80] */
	assert_int_equal(ARM(jump, 0x10, 0x00, 0x00, 0x90, 0x11, 0x42, 0x40, 0xf9), 0x7f0000001234);
	/* bti c before it */
	assert_int_equal(
		ARM(jump, 0x5f, 0x24, 0x03, 0xd5, 0x10, 0x00, 0x00, 0x90, 0x11, 0x42, 0x40, 0xf9),
		0x7f0000001234);
	/* the page before, which is not mapped */
	assert_int_equal(ARM(jump, 0xf0, 0xff, 0xff, 0xf0, 0x11, 0x42, 0x40, 0xf9), 0);
	/* stp x29, x30, [sp, #-16]! */
	assert_int_equal(ARM(jump, 0xfd, 0x7b, 0xbf, 0xa9), 0);
	assert_int_equal(ARM(slot, 0x10, 0x00, 0x00, 0x90, 0x11, 0x42, 0x40, 0xf9), BASE + 0x80);
	assert_int_equal(
		ARM(slot, 0x5f, 0x24, 0x03, 0xd5, 0x10, 0x00, 0x00, 0x90, 0x11, 0x42, 0x40, 0xf9),
		BASE + 0x80);
	assert_int_equal(ARM(slot, 0x02, 0x00, 0x00, 0x14), 0);
}

static void futexes_without_a_name(void **state)
{
	static const struct {
		uint32_t value, before;
		bool is_bitset;
		enum site_verdict verdict;
		uint32_t lock[LOCK_WORDS];
	} cases[] = {
		{2, 0, false, SITE_LOCK, {2, 0, 412, 1}}, /* glibc's mutex */
		{2, 0, false, SITE_OPAQUE, {2}},	  /* Go's lock, musl's thread */
		{2, 0, false, SITE_OPAQUE, {0}},	  /* it could not be read */
		{0, 0, false, SITE_CONDITION, {0}},	  /* Go's note */
		{1, 0, false, SITE_OPAQUE, {0}},      /* parking_lot: a lock's or a condition's */
		{0, 0, true, SITE_CONDITION, {0}},    /* glibc's condition variable, semaphore */
		{4711, 0, true, SITE_CONDITION, {0}}, /* Rust's Condvar, glibc's join */
		{2, 0, true, SITE_OPAQUE, {0}},	      /* Rust's Mutex, or a Condvar's second time */
		{5, 0, true, SITE_OPAQUE, {0}},	      /* Rust's Once */
		{0x7fffffff, 0, true, SITE_OPAQUE, {0}}, /* Rust's RwLock, to read */
		{~0U, 0, true, SITE_OPAQUE, {0}},	 /* the same, or a parked thread */
		{0, 0x80000000, true, SITE_OPAQUE, {0}}, /* Rust's RwLock, to write */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct site_futex futex = {.value = cases[i].value,
					   .is_bitset = cases[i].is_bitset};

		struct site_words around = {.before = cases[i].before};

		memcpy(around.lock, cases[i].lock, sizeof(around.lock));
		assert_int_equal(site_of_futex(&futex, &around), cases[i].verdict);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_by_pointers), cmocka_unit_test(calls_that_are_the_last_act),
		cmocka_unit_test(calls_of_x86),	     cmocka_unit_test(jumps_of_x86),
		cmocka_unit_test(calls_of_arm),	     cmocka_unit_test(futexes_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

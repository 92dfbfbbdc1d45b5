// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of a thread, of which some pages are not there. */
#define _GNU_SOURCE /* gettid */
#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "symbol/thread_memory.h"

#define PAGES 5

/* Of so many pages, those that were written to have their number in each byte, from 1 on. */
static uint8_t *map_pages(size_t size, uint32_t written)
{
	uint8_t *pages = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(madvise(pages, PAGES * size, MADV_NOHUGEPAGE), 0);
	for (size_t i = 0; i < PAGES; i++)
		if (written >> i & 1)
			memset(pages + i * size, (int)i + 1, size);
	return pages;
}

static void pages_that_are_not_there(void **state)
{
	/* 1 << those that are; what is read from the middle of the first one on, in halves */
	static const struct {
		uint32_t written;
		size_t memory, stack;
	} cases[] = {
		{0x1f, 9, 9}, {0x0f, 7, 7}, {0x11, 1, 9}, {0x13, 3, 9},
		{0x05, 1, 5}, {0x10, 0, 9}, {0, 0, 0},
	};
	size_t size = (size_t)sysconf(_SC_PAGESIZE), half = size / 2;
	static uint8_t into[THREAD_MEMORY_BYTES];
	cleanup_memory struct thread_memory memory = thread_memory_open((uint32_t)gettid());

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *pages = map_pages(size, cases[i].written);
		uint64_t address = (uint64_t)(uintptr_t)pages + half;

		assert_int_equal(thread_memory_read(&memory, address, into, 9 * half),
				 cases[i].memory * half);
		memset(into, 0xff, sizeof(into));
		assert_int_equal(thread_memory_read_stack(&memory, address, into, 9 * half),
				 cases[i].stack * half);
		for (size_t j = 0; j < cases[i].stack; j++) {
			size_t page = (j + 1) / 2;

			assert_int_equal(into[j * half],
					 cases[i].written >> page & 1 ? page + 1 : 0);
		}
		munmap(pages, PAGES * size);
	}
}

static void what_cannot_be_read(void **state)
{
	static uint8_t into[THREAD_MEMORY_BYTES];
	cleanup_memory struct thread_memory memory = thread_memory_open((uint32_t)gettid());

	(void)state;
	assert_int_equal(thread_memory_read_stack(&memory, 4096, into, 8192), 0);
	assert_int_equal(thread_memory_read_stack(&memory, UINT64_MAX - 4096, into, 8192), 0);
	assert_int_equal(thread_memory_read_stack(&memory, (uint64_t)(uintptr_t)into, into,
						  sizeof(into) + 1),
			 0);
	assert_int_equal(thread_memory_read(&memory, (uint64_t)(uintptr_t)into, into, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_are_not_there),
		cmocka_unit_test(what_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Touches pages of memory, and gives them back: page faults, and changes of the address space. */
#define _GNU_SOURCE /* MADV_NOHUGEPAGE */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "load/work_type.h"

#define PAGE 4096

struct page_fault_churn {
	uint64_t region;
	uint64_t touches;
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct page_fault_churn, region, SIZE, "4M", PAGE, 0, "memory to touch"),
	PARAM(struct page_fault_churn, touches, COUNT, "256", 0, 0,
	      "random pages before they are given back"),
	PARAM(struct page_fault_churn, spin_iters, COUNT, "64", 0, 0,
	      "units of spinning afterwards"),
	{.name = NULL},
};

static uint64_t units(const void *params_, unsigned int position)
{
	const struct page_fault_churn *page_fault_churn = params_;

	(void)position;
	return page_fault_churn->touches + page_fault_churn->spin_iters;
}

static int begin(struct worker *worker)
{
	const struct page_fault_churn *page_fault_churn = worker->params;
	void *region = mmap(NULL, page_fault_churn->region, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (region == MAP_FAILED) {
		worker_fail(worker, "mmap: %s", strerror(errno));
		return -ENOMEM;
	}
	/* else one fault would do for 512 pages; a kernel without huge pages refuses this */
	madvise(region, page_fault_churn->region, MADV_NOHUGEPAGE);
	worker->state = region;
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct page_fault_churn *page_fault_churn = worker->params;
	uint64_t pages = page_fault_churn->region / PAGE;
	volatile char *region = worker->state;

	for (uint64_t i = 0; i < page_fault_churn->touches; i++) {
		region[random_next(&worker->random) % pages * PAGE] = 1;
		worker->work_units++;
	}
	if (madvise(worker->state, page_fault_churn->region, MADV_DONTNEED) < 0)
		worker_fail(worker, "madvise: %s", strerror(errno));
	worker_spin(worker, page_fault_churn->spin_iters);
}

static void end(struct worker *worker)
{
	const struct page_fault_churn *page_fault_churn = worker->params;

	if (worker->state)
		munmap(worker->state, page_fault_churn->region);
}

const struct work_type work_page_fault_churn = {
	.name = "page-fault-churn",
	.summary = "touches pages and gives them back",
	.params = params,
	.params_bytes = sizeof(struct page_fault_churn),
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/alu.h"

/* The barrier keeps each step, in registers: no vectors, no closed formula. */
__attribute__((noinline)) void alu_chain(struct worker *worker, uint64_t n)
{
	uint64_t a = 3, b = 5, c = 7, d = 11;

	for (uint64_t i = 0; i < n; i++) {
		a *= 0x9e3779b97f4a7c15ULL;
		b *= 0xbf58476d1ce4e5b9ULL;
		c *= 0x94d049bb133111ebULL;
		d *= 0xd6e8feb86659fd93ULL;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
		worker->work_units++;
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/matrices.h"

struct matrices {
	uint64_t n;
	uint64_t *a, *b, *product;
	uint64_t values[];
};

struct matrices *matrices_make(struct worker *worker, uint64_t bytes)
{
	uint64_t cells = bytes / 3 / sizeof(uint64_t), n = 1;
	struct matrices *matrices;

	while ((n + 1) * (n + 1) <= cells)
		n++;
	matrices = malloc(sizeof(*matrices) + 3 * n * n * sizeof(uint64_t));
	if (!matrices) {
		worker_fail(worker, "no memory for its matrices");
		return NULL;
	}
	matrices->n = n;
	matrices->a = matrices->values;
	matrices->b = matrices->a + n * n;
	matrices->product = matrices->b + n * n;
	for (uint64_t i = 0; i < 3 * n * n; i++)
		matrices->values[i] = random_next(&worker->random);
	return matrices;
}

void matrices_free(struct matrices *matrices)
{
	free(matrices);
}

/* Each sum grows in memory, as in schbench: it costs a store each. */
bool matrices_multiply(struct matrices *matrices)
{
	uint64_t n = matrices->n, *a = matrices->a, *b = matrices->b, *product = matrices->product;

	for (uint64_t row = 0; row < n; row++) {
		if (worker_stopping())
			return false;
		for (uint64_t column = 0; column < n; column++) {
			product[row * n + column] = 0;
			for (uint64_t k = 0; k < n; k++)
				product[row * n + column] += a[row * n + k] * b[k * n + column];
		}
		__asm__ volatile("" ::: "memory"); /* or the compiler leaves it all out */
	}
	return true;
}

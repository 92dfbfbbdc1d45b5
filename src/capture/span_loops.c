// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_loops.h"

/* Threads that wait for one file are of one loop, whichever function a compiler has put it into. */
static void share(struct span_loops *loops, uint64_t file, uint32_t tid)
{
	bool is_shared = false;

	for (size_t i = 0; i < loops->count; i++)
		is_shared |= loops->functions[i].file == file && loops->functions[i].tid != tid;
	for (size_t i = 0; is_shared && i < loops->count; i++)
		loops->functions[i].is_shared |= loops->functions[i].file == file;
}

static struct loop_function *find(struct span_loops *loops, uint64_t hash)
{
	for (size_t i = 0; i < loops->count; i++)
		if (loops->functions[i].hash == hash)
			return &loops->functions[i];
	return NULL;
}

void span_loops_note(struct span_loops *loops, const struct span_signs *signs, uint32_t tid,
		     uint64_t file)
{
	for (size_t i = 0; i < SPAN_FUNCTIONS && signs->functions[i]; i++) {
		struct loop_function *known = find(loops, signs->functions[i]);

		if (known) {
			known->is_shared |= known->tid != tid;
			known->file = file ? file : known->file;
		} else if (loops->count < LOOP_FUNCTIONS) {
			loops->functions[loops->count++] = (struct loop_function){
				.hash = signs->functions[i], .file = file, .tid = tid};
		}
	}
	if (file)
		share(loops, file, tid);
}

const struct loop_function *span_loops_find(const struct span_loops *loops,
					    const struct span_signs *signs)
{
	for (size_t i = 0; i < loops->count; i++)
		if (signs->functions[0] == loops->functions[i].hash)
			return &loops->functions[i];
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_ab_words.h"

#include <stdio.h>
#include <unistd.h>

#define WORDS_MAX (32 + 4 * 64) /* of a command line; checks and values are at most 64 */

struct words {
	const char *words[WORDS_MAX];
	char seed[24], duration[24], save[PATH_MAX]; /* some of them */
};

/* The command line of a run: what was given for both, and the seed of its pair. */
static void make_words(const struct load_options *options, const struct load_pairs *pairs,
		       struct words *into)
{
	const char **words = into->words;
	size_t count = 0;

	snprintf(into->seed, sizeof(into->seed), "%llu",
		 (unsigned long long)load_pairs_seed(pairs));
	snprintf(into->duration, sizeof(into->duration), "%lluns",
		 (unsigned long long)options->given.duration_ns);
	words[count++] = "dwell";
	words[count++] = "load";
	words[count++] = "--quiet";
	words[count++] = "--json";
	/* it would cost the side that has a scheduler more than the other */
	words[count++] = "--no-time-ops";
	words[count++] = "--seed";
	words[count++] = into->seed;
	if (options->given.duration_ns) {
		words[count++] = "--duration";
		words[count++] = into->duration;
	}
	for (unsigned int i = 0; i < options->given.check_count; i++) {
		words[count++] = "--check";
		words[count++] = options->given.checks[i];
	}
	for (unsigned int i = 0; i < options->given.set_count; i++) {
		words[count++] = "--set";
		words[count++] = options->given.sets[i];
	}
	if (options->cgroup_root) {
		words[count++] = "--cgroup-root";
		words[count++] = options->cgroup_root;
	}
	if (options->scratch) {
		words[count++] = "--scratch";
		words[count++] = options->scratch;
	}
	if (options->save) {
		words[count++] = "--save";
		words[count++] = into->save;
		load_pairs_directory(into->save, pairs, pairs->side);
	}
	words[count++] = "--";
	words[count++] = pairs->paths[pairs->side];
	words[count] = NULL;
}

void load_ab_become(const struct load_options *options, const struct load_pairs *pairs)
{
	struct words words;

	make_words(options, pairs, &words);
	execv("/proc/self/exe", (char *const *)words.words);
}

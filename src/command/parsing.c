// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/parsing.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "capture/stack_options.h"
#include "base/similar.h"
#include "base/text.h"

/* Two lines of a terminal have room for them and the rest of the message. */
#define CHOICES_SHOWN 120

int parsing_unknown(struct error *error, const char *what, const char *value, const char *choices)
{
	char shown[64], guess[64];

	text_printable(shown, sizeof(shown), value, 40);
	similar_choice(guess, sizeof(guess), value, choices);
	if (*guess)
		return error_set(error, EINVAL, "unknown %s '%s'; did you mean '%s'?", what, shown,
				 guess);
	if (strlen(choices) > CHOICES_SHOWN)
		return error_set(error, EINVAL, "unknown %s '%s': --help lists them", what, shown);
	return error_set(error, EINVAL, "unknown %s '%s': use %s", what, shown, choices);
}

int parsing_grouping(const char *value, bool has_threads, enum grouping *ret_by,
		     struct error *error)
{
	for (int by = has_threads ? BY_THREAD : BY_PROCESS; by < GROUPINGS_COUNT; by++)
		if (!strcmp(value, grouping_keys[by])) {
			*ret_by = (enum grouping)by;
			return 0;
		}
	return parsing_unknown(error, "grouping", value,
			       has_threads ? "thread, process or cgroup" : "cgroup or process");
}

int parsing_count(const char *text, const char *option, uint64_t *ret_count, struct error *error)
{
	char *end;

	errno = 0;
	*ret_count = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || !*ret_count)
		return error_set(error, EINVAL, "%s needs a number from 1 up, not '%s'", option,
				 text);
	return 0;
}

/* " (a program to run comes after --)", and that this is not the only target, or is a number. */
static void add_advice(struct error *error, const struct targets *targets, char **rest)
{
	char others[192] = "", first[64], second[64];
	size_t used = strlen(error->text);

	if (rest[0][strspn(rest[0], "0123456789")] == '\0') {
		text_printable(first, sizeof(first), rest[0], 15);
		snprintf(others, sizeof(others), "-p %s is the process of that number; ", first);
	} else if (!targets_everything(targets)) {
		snprintf(others, sizeof(others), "another target was given before it; ");
	} else if (rest[1] && *rest[1] != '-') {
		text_printable(first, sizeof(first), rest[0], 15);
		text_printable(second, sizeof(second), rest[1], 15);
		snprintf(others, sizeof(others), "two targets were given, '%s' and '%s'; ", first,
			 second);
	}
	snprintf(error->text + used, sizeof(error->text) - used,
		 " (%sa program to run comes after --)", others);
}

int parsing_name(struct targets *targets, char **rest, struct error *error)
{
	int result = targets_add_name(targets, rest[0], error);

	if (result == -ESRCH)
		add_advice(error, targets, rest);
	return result;
}

int parsing_own(void *data, const char *value, struct error *error)
{
	struct stack_options *stacks = data;

	if (!*value)
		return error_set(error, EINVAL, "--own: an empty prefix is everything");
	if (stacks->own_count == STACK_OWN_MAX)
		return error_set(error, E2BIG, "--own %s: %d at most", value, STACK_OWN_MAX);
	stacks->own[stacks->own_count++] = value;
	return 0;
}

int parsing_unwind(void *data, const char *value, struct error *error)
{
	struct stack_options *stacks = data;

	if (!strcmp(value, "fp"))
		stacks->unwind = STACK_UNWIND_FRAME_POINTERS;
	else if (!strcmp(value, "auto") || !strcmp(value, "dwarf"))
		stacks->unwind = STACK_UNWIND_AUTO;
	else
		return parsing_unknown(error, "unwinding", value, "auto, dwarf or fp");
	return 0;
}

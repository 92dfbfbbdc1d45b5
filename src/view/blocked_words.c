// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/blocked_words.h"

#include <stdio.h>
#include <string.h>

#include "model/reason.h"

/* What rustc makes of the body of an async function, block or closure. */
static const char *const bodies[] = {"::{{closure}}",	"::{closure#",	    "::{async_fn#",
				     "::{async_block#", "::{async_fn_env#", "::{async_block_env#",
				     "::{closure_env#"};

static bool cut_body(char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		char *at = NULL, *next = name, *end;

		while ((next = strstr(next, bodies[i])))
			at = next++;
		if (!at || at == name)
			continue;
		end = at + strlen(bodies[i]);
		if (bodies[i][strlen(bodies[i]) - 1] == '#')
			end = strchr(end, '}') ? strchr(end, '}') + 1 : end;
		if (*end)
			continue;
		*at = '\0';
		return true;
	}
	return false;
}

void blocked_name(char into[BLOCKED_NAME_BYTES], const struct frame *frame)
{
	snprintf(into, BLOCKED_NAME_BYTES, "%s", frame->function);
	while (cut_body(into))
		;
}

void blocked_place(char into[BLOCKED_PLACE_BYTES], const struct frame *frame)
{
	const char *slash = frame ? strrchr(frame->file, '/') : NULL;

	*into = '\0';
	if (frame && *frame->file)
		snprintf(into, BLOCKED_PLACE_BYTES, frame->line ? "%.100s:%u" : "%.100s",
			 slash ? slash + 1 : frame->file, frame->line);
}

void blocked_cause(char into[BLOCKED_CAUSE_BYTES], enum stall_cause cause,
		   struct wire_wait_site where)
{
	char reason[REASON_BYTES] = "";

	if (cause != CAUSE_CPU && cause != CAUSE_RUNNABLE && where.state > WIRE_RUNNABLE)
		reason_format(reason, sizeof(reason), where, true);
	snprintf(into, BLOCKED_CAUSE_BYTES, "%s%s%s", stall_cause_info[cause].key,
		 *reason ? " " : "", reason);
}

const char *blocked_without_function(enum stall_cause cause)
{
	switch (cause) {
	case CAUSE_STOLEN:
		return "(hypervisor)";
	case CAUSE_IRQ:
		return "(interrupts)";
	default:
		return "(no stack)";
	}
}

const char *blocked_found_by(unsigned int number)
{
	switch (number) {
#define X(name, value, key, help)                                                                  \
	case value:                                                                                \
		return key;
		WIRE_FOUND_BY(X)
#undef X
	}
	return "unknown";
}

bool blocked_is_about_stalls(const struct wire_missing *missing)
{
	return strcmp(missing->source, "taskstats") != 0 &&
	       strcmp(missing->source, "delayacct") != 0;
}

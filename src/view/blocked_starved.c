// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom the workers waited for a CPU. docs/formats/json.md is the contract. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/text.h"
#include "model/starvation.h"
#include "view/blame.h"
#include "view/blocked.h"

#define PARTIES_SHOWN 4
#define LEAST_SHARE   0.01

static const struct blame *blame_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_kind, value_string, culprit_key(blame_of(item)->kind))
VALUE_GETTER(get_pid, value_known, blame_of(item)->culprit.pid, blame_of(item)->culprit.pid != 0)

static const struct field starving_party_fields[] = {
	STRING_FIELD("kind", get_kind, "as that of a culprit in `blame`"),
	INTEGER_FIELD("pid", get_pid, "process id"),
	ARRAY_MEMBER(struct blame, culprit.comm, "comm", "its name"),
};

static const struct schema starving_party_schema = {
	.name = "starving_party", .help = "because of whom", SCHEMA_FIELDS(starving_party_fields)};

static double share_of(const struct blame *blame, uint64_t total_ns)
{
	return total_ns ? (double)blame->total_ns / (double)total_ns : 0.0;
}

FIELD_GETTER(get_share)
{
	value->kind = VALUE_SHARE;
	value->real = share_of(blame_of(item), starvation_total(item->context));
}

static const struct field starved_fields[] = {
	OBJECT_FIELD("party", get_same_row, &starving_party_schema, "because of whom"),
	NUMBER_MEMBER(struct blame, total_ns, "total_ns", "of the workers' waits for a CPU"),
	SHARE_FIELD("share", get_share, "of all their waits for a CPU"),
};

const struct schema starved_schema = {.name = "starved_by",
				      .help = "because of whom workers waited for a CPU",
				      SCHEMA_FIELDS(starved_fields)};

bool blocked_has_starved(const struct blocked_summary *summary)
{
	return summary->starvation && summary->starvation->measured;
}

void value_starved(struct value *value, const struct blocked_summary *summary)
{
	const struct starvation *starvation = summary->starvation;

	if (blocked_has_starved(summary))
		value_rows(value, starvation->sum.items, starvation->sum.count,
			   sizeof(*starvation->sum.items), starvation);
	else
		value_absent(value);
}

/* Processes of one name, as a build has many, or one kind of other culprits. */
struct named {
	const struct blame *first;
	uint64_t total_ns;
	size_t processes;
};

static bool same_name(const struct blame *a, const struct blame *b)
{
	return a->kind == b->kind &&
	       (a->kind != WIRE_CULPRIT_THREAD || !strcmp(a->culprit.comm, b->culprit.comm));
}

static int by_total(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

/* `names` has room for all; how many there are, the largest first. */
static size_t sum_names(const struct blame_sum *sum, uint32_t process, struct named *names)
{
	size_t count = 0;

	for (size_t i = 0; i < sum->count; i++) {
		const struct blame *blame = &sum->items[i];
		size_t k = 0;

		/* its own threads are not another process of that name */
		while (k < count && (!same_name(names[k].first, blame) ||
				     (names[k].first->culprit.pid == process) !=
					     (blame->culprit.pid == process)))
			k++;
		if (k == count)
			names[count++] = (struct named){.first = blame};
		names[k].total_ns += blame->total_ns;
		names[k].processes++;
	}
	if (count)
		qsort(names, count, sizeof(*names), by_total);
	return count;
}

static void write_name(struct output *out, const struct named *named, uint32_t process)
{
	static const char *const words[WIRE_CULPRIT_KINDS_COUNT] = {
		[WIRE_CULPRIT_UNKNOWN] = "unknown",
		[WIRE_CULPRIT_THROTTLE] = "its CPU budget",
		[WIRE_CULPRIT_IRQ] = "interrupts",
		[WIRE_CULPRIT_STEAL] = "the hypervisor",
		[WIRE_CULPRIT_IDLE] = "an idle CPU that had to wake up",
		[WIRE_CULPRIT_TIMER] = "timers",
		[WIRE_CULPRIT_DEVICE] = "devices",
		[WIRE_CULPRIT_OTHERS] = "others",
	};
	const struct blame *first = named->first;
	char comm[32];

	if (first->kind != WIRE_CULPRIT_THREAD || first->culprit.pid == process) {
		output_string(out, first->kind == WIRE_CULPRIT_THREAD ? "its own threads"
								      : words[first->kind]);
		return;
	}
	text_printable(comm, sizeof(comm), first->culprit.comm, 16);
	output_string(out, comm);
	if (named->processes > 1)
		output_format(out, " (%zu processes)", named->processes);
	else if (first->culprit.pid)
		output_format(out, " (%u)", first->culprit.pid);
}

/* The small ones are one. */
static void write_names(struct output *out, const struct named *names, size_t count,
			uint64_t total_ns, uint32_t process)
{
	uint64_t rest_ns = 0;
	size_t shown = 0;

	for (size_t i = 0; i < count; i++) {
		double share = (double)names[i].total_ns / (double)total_ns;

		if (names[i].first->kind == WIRE_CULPRIT_OTHERS || shown >= PARTIES_SHOWN ||
		    (shown && share < LEAST_SHARE)) {
			rest_ns += names[i].total_ns;
			continue;
		}
		output_string(out, shown++ ? ", " : "");
		write_name(out, &names[i], process);
		output_format(out, " %.0f %%", 100 * share);
	}
	if (rest_ns)
		output_format(out, "%sothers %.0f %%", shown ? ", " : "",
			      100 * (double)rest_ns / (double)total_ns);
}

void blocked_write_starved(struct output *out, const struct blocked_summary *summary)
{
	uint32_t process = stalls_runtime(summary->stalls)->pid;
	uint64_t total_ns =
		blocked_has_starved(summary) ? starvation_total(summary->starvation) : 0;
	cleanup_free struct named *names = NULL;
	char total[16];
	size_t count;

	if (!total_ns)
		return;
	names = reallocarray(NULL, summary->starvation->sum.count, sizeof(*names));
	if (!names) {
		output_fail(out, ENOMEM);
		return;
	}
	count = sum_names(&summary->starvation->sum, process, names);
	duration_format(total, sizeof(total), total_ns);
	output_format(out, "\nThe workers waited %s for a CPU, starved by: ", total);
	write_names(out, names, count, total_ns, process);
	output_char(out, '\n');
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Because of whom the workers waited for a CPU. docs/formats/json.md is the contract. */
#include "base/duration.h"
#include "model/starvation.h"
#include "view/blame.h"
#include "view/blocked.h"
#include "view/blocked_words.h"

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

void blocked_write_starved(struct output *out, const struct blocked_summary *summary)
{
	uint64_t total_ns =
		blocked_has_starved(summary) ? starvation_total(summary->starvation) : 0;
	char total[16], names[STARVED_BYTES];

	if (!total_ns)
		return;
	duration_format(total, sizeof(total), total_ns);
	blocked_starved_text(names, summary->starvation, stalls_runtime(summary->stalls)->pid,
			     summary->stalls);
	output_format(out, "\nThe workers waited %s for a CPU, starved by: ", total);
	output_string(out, names);
	output_char(out, '\n');
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell doctor` says of the machine. */
#include "view/doctor.h"

#include "base/text.h"

static const char *const status_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_DEGRADED] = "degraded",
	[CHECK_MISSING] = "missing",
};

/* A check: the row is its finding, the context the check itself. */

VALUE_GETTER(get_name, value_string, ((const struct check *)item->context)->name)
VALUE_GETTER(get_about, value_string, ((const struct check *)item->context)->about)
VALUE_GETTER(get_status, value_string, status_names[((const struct diagnosis *)item->row)->status])

/* An empty text says that there is none. */
VALUE_GETTER(get_text, value_string, (const char *)item->row + field->argument)

#define TEXT_FIELD(member, key_, header_, help_)                                                   \
	STRING_FIELD(key_, get_text, help_, .header = (header_),                                   \
		     .argument = MEMBER(struct diagnosis, member), .width = 56)

static const struct field check_fields[] = {
	STRING_FIELD("name", get_name, "what was looked at", .header = "CHECK"),
	STRING_FIELD("about", get_about, "what it is for"),
	STRING_FIELD("status", get_status, "ok, degraded or missing", .header = "STATUS"),
	TEXT_FIELD(found, "found", "FOUND", "what is there"),
	TEXT_FIELD(costs, "costs", "IMPACT", "what you do without"),
	TEXT_FIELD(fix, "mend", "FIX", "a command, or who can do it"),
};

static const struct schema check_schema = {
	.name = "machine_check", .help = "of the machine", SCHEMA_FIELDS(check_fields)};

VALUE_GETTER(get_checks, value_elements, check_count)

FIELD_ELEMENT(check_element)
{
	const struct checkup *checkup = item->row;

	value_object(value, &checkup->findings[index], &checks[index]);
}

static const struct field doctor_fields[] = {
	LIST_FIELD("checks", get_checks, check_element, &check_schema, "one after the other"),
	BOOL_MEMBER(struct checkup, exact, "exact", "what `dwell top` shows is exact"),
};

const struct schema doctor_schema = {.name = "doctor",
				     .help = "what works on this machine",
				     .version = 1,
				     SCHEMA_FIELDS(doctor_fields),
				     .table = "machine_check"};

/* Behind the name of what it is, which has so many columns. */
#define WORDS_AT 24
#define PARTS_AT (WORDS_AT + 8)

static void write_part(struct output *out, const char *name, const char *text, size_t columns)
{
	if (!*text)
		return;
	output_format(out, "%*s%-*s", WORDS_AT, "", PARTS_AT - WORDS_AT, name);
	text_wrapped(out, text, PARTS_AT, columns);
	output_char(out, '\n');
}

void doctor_table(struct output *out, const struct checkup *checkup, size_t columns)
{
	for (size_t i = 0; i < check_count; i++) {
		const struct diagnosis *finding = &checkup->findings[i];

		output_format(out, "%-9s %-13s ", status_names[finding->status], checks[i].name);
		text_wrapped(out, finding->found, WORDS_AT, columns);
		output_char(out, '\n');
		write_part(out, "impact:", finding->costs, columns);
		write_part(out, "fix:", finding->fix, columns);
	}
	output_string(out, checkup->exact ? "\ndwell top is exact here.\n"
					  : "\ndwell top is not exact here: see bpf.\n");
}

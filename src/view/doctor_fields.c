// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell doctor` says of the machine. */
#include "view/doctor.h"

#define STRING .type = FIELD_STRING

static const char *const status_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_DEGRADED] = "degraded",
	[CHECK_MISSING] = "missing",
};

/* A check: the row is its finding, the context the check itself. */

FIELD_GETTER(get_name)
{
	value_string(value, ((const struct check *)item->context)->name);
}

FIELD_GETTER(get_about)
{
	value_string(value, ((const struct check *)item->context)->about);
}

FIELD_GETTER(get_status)
{
	value_string(value, status_names[((const struct diagnosis *)item->row)->status]);
}

/* An empty text says that there is none. */
FIELD_GETTER(get_text)
{
	value_string(value, (const char *)item->row + field->argument);
}

#define TEXT_FIELD(member, key_, header_, help_)                                                   \
	{                                                                                          \
		.key = (key_), .header = (header_), .help = (help_), .get = get_text,              \
		.argument = MEMBER(struct diagnosis, member), STRING                               \
	}

static const struct field check_fields[] = {
	{.key = "name", .header = "CHECK", .help = "what was looked at", .get = get_name, STRING},
	{.key = "about", .help = "what it is for", .get = get_about, STRING},
	{.key = "status",
	 .header = "STATUS",
	 .help = "ok, degraded or missing",
	 .get = get_status,
	 STRING},
	TEXT_FIELD(found, "found", "FOUND", "what is there"),
	TEXT_FIELD(costs, "costs", "IMPACT", "what you do without"),
	TEXT_FIELD(mend, "mend", "FIX", "a command, or who can do it"),
};

static const struct schema check_schema = {
	.name = "machine_check", .help = "of the machine", SCHEMA_FIELDS(check_fields)};

FIELD_GETTER(get_checks)
{
	value_elements(value, check_count);
}

FIELD_ELEMENT(check_element)
{
	const struct checkup *checkup = item->row;

	value_object(value, &checkup->findings[index], &checks[index]);
}

static const struct field doctor_fields[] = {
	{.key = "checks",
	 .help = "one after the other",
	 .get = get_checks,
	 .element = check_element,
	 .type = FIELD_LIST,
	 .schema = &check_schema},
	BOOL_FIELD(struct checkup, exact, "exact", "what `dwell top` shows is exact"),
};

const struct schema doctor_schema = {.name = "doctor",
				     .help = "what works on this machine",
				     .version = 1,
				     SCHEMA_FIELDS(doctor_fields),
				     .table = "machine_check"};

void doctor_table(struct output *out, const struct checkup *checkup)
{
	for (size_t i = 0; i < check_count; i++) {
		const struct diagnosis *finding = &checkup->findings[i];

		output_format(out, "%-9s %-13s %s\n", status_names[finding->status], checks[i].name,
			      finding->found);
		if (*finding->costs)
			output_format(out, "%-23s impact: %s\n", "", finding->costs);
		if (*finding->mend)
			output_format(out, "%-23s fix:    %s\n", "", finding->mend);
	}
	output_string(out, checkup->exact ? "\ndwell top is exact here.\n"
					  : "\ndwell top is not exact here: see bpf.\n");
}

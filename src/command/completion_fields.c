// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of fields, for --fields and --sort. */
#include <string.h>

#include "command/completion.h"
#include "emit/columns.h"
#include "matrix/fields.h"
#include "model/group.h"
#include "view/blocked.h"
#include "view/compare.h"
#include "view/compare_threads.h"
#include "view/doctor.h"
#include "view/fields.h"
#include "view/load.h"
#include "view/recorded.h"
#include "view/profile.h"
#include "view/sweep.h"
#include "view/verify_schema.h"
#include "view/view.h"

/* Rows by what: fields.levels. */
static unsigned int level_of(const struct given *given)
{
	const char *by = given_value(given, "by");

	for (int i = 0; by && i < GROUPINGS_COUNT; i++)
		if (!strcmp(by, grouping_keys[i]))
			return 1U << i;
	return 1U << BY_THREAD;
}

static void offer_columns(struct offers *offers, const struct schema *schema, unsigned int levels)
{
	struct columns columns;

	if (columns_init(&columns, schema, levels) >= 0)
		for (size_t i = 0; i < columns.count; i++)
			offer(offers, columns.items[i].name,
			      columns.items[i].fields[columns.items[i].depth - 1]->help);
	columns_release(&columns);
}

void offer_fields(struct offers *offers, const struct given *given)
{
	static const struct {
		const char *command;
		const struct schema *schema;
	} results[] = {
		{"blocked", &blocked_schema},
		{"compare", &compare_load_schema},
		{"compare", &compare_blocked_schema},
		{"compare", &compare_threads_schema},
		{"doctor", &doctor_schema},
		{"guest", &matrix_schema},
		{"load", &load_schema},
		{"profile", &profile_schema},
		{"record", &recorded_schema},
		{"report", &interval_schema},
		{"verify", &verify_schema},
	};
	const char *by = given_value(given, "by");
	enum blame_side blame = given_value(given, "blame") ? BLAME_SUFFERED : BLAME_NONE;

	if (given_value(given, "sweep"))
		offer_columns(offers, &sweep_schema, ~0U);
	if (!strcmp(given->command->name, "top"))
		offer_columns(offers, interval_schema_for(blame), level_of(given));
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (!strcmp(results[i].command, given->command->name) &&
		    !given_value(given, "sweep"))
			offer_columns(
				offers,
				results[i].schema == &blocked_schema && by && !strcmp(by, "task")
					? blocked_row_schemas[BLOCKED_BY_TASK]
					: results[i].schema,
				results[i].schema == &interval_schema ? 1U << BY_THREAD : ~0U);
	offer(offers, "help", "lists them");
}

void offer_orders(struct offers *offers, const struct given *given)
{
	const struct field *active = field_find("active");

	/* shares of blame have none */
	if ((given->command == &command_top && !given_value(given, "blame")) ||
	    given->command == &command_report)
		offer(offers, active->name, active->help);
	offer_fields(offers, given);
}

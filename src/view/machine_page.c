// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/machine_page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "emit/emit.h"
#include "view/findings.h"
#include "view/page.h"
#include "view/view.h"

/* Before the plain text, between that and the data, and behind. */
static const char *const parts[] = {
#define TEXT(...) __VA_ARGS__,
#include "machine_page.inc"
#undef TEXT
};

/* Rows of the table for browsers without JavaScript. */
#define PLAIN_ROWS 50

/* What a browser without JavaScript shows. */
struct plain {
	const char *begin; /* HTML, before the findings */
	const char *damage;
	const struct findings *findings;
	const struct session_info *session;
	const char *caption, *heading; /* HTML: of the table, of its first column */
	struct plain_row {
		const char *name;
		uint64_t threads, active_ns;
		const uint64_t *states_ns;
		uint32_t unmeasured; /* 1 << enum state */
	} rows[PLAIN_ROWS];
	size_t count;
};

static bool has_column(const struct plain *plain, enum state state)
{
	for (size_t i = 0; i < plain->count; i++)
		if (plain->rows[i].states_ns[state])
			return true;
	return false;
}

static void write_plain_row(struct output *out, const struct plain *plain,
			    const struct plain_row *row)
{
	char length[16];

	output_string(out, "<tr><td>");
	text_html(out, row->name);
	output_string(out, "</td><td>");
	output_u64(out, row->threads);
	output_string(out, "</td>");
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		if (!has_column(plain, state))
			continue;
		duration_format(length, sizeof(length), row->states_ns[state]);
		output_format(out, "<td>%s</td>", row->unmeasured & 1U << state ? "-" : length);
	}
	output_string(out, "</tr>\n");
}

static void write_plain(struct output *out, const struct plain *plain)
{
	char text[FINDING_BYTES];

	output_string(out, plain->begin);
	if (plain->damage) {
		output_string(out, "<p>Not all of the recording could be read: ");
		text_html(out, plain->damage);
		output_string(out, "</p>\n");
	}
	output_string(out, "<ul>\n");
	for (size_t i = 0; i < plain->findings->count; i++) {
		finding_format(text, &plain->findings->items[i], plain->session);
		output_string(out, "<li>");
		text_html(out, text);
		output_string(out, "</li>\n");
	}
	output_format(out, "</ul>\n<table><caption>%s</caption>\n<tr><th>%s</th><th>Threads</th>",
		      plain->caption, plain->heading);
	for (int i = 0; i < STATES; i++)
		if (has_column(plain, state_columns[i]))
			output_format(out, "<th>%s</th>", state_info[state_columns[i]].key);
	output_string(out, "</tr>\n");
	for (size_t i = 0; i < plain->count; i++)
		write_plain_row(out, plain, &plain->rows[i]);
	output_string(out, "</table>");
}

/* Of a recording: its programs are in order. */
static void write_plain_programs(struct output *out, const struct machine_page *page)
{
	const struct interval *all = page->programs;
	struct plain plain = {
		.begin = "<p>This browser runs no JavaScript: without it there are only the "
			 "totals.</p>\n",
		.damage = page->damage,
		.findings = page->findings,
		.session = page->status->session,
		.caption = "Time of threads by state, of the most active programs",
		.heading = "Program",
	};

	for (; plain.count < all->row_count && plain.count < PLAIN_ROWS; plain.count++) {
		const struct row *row = &all->rows[plain.count];

		plain.rows[plain.count] =
			(struct plain_row){.name = *row->process ? row->process : "unknown",
					   .threads = row->threads,
					   .states_ns = row->states_ns,
					   .unmeasured = row->unmeasured};
	}
	write_plain(out, &plain);
}

/* The most active stay. */
static void add_group(struct plain *plain, const struct leader *group, uint32_t unmeasured)
{
	struct plain_row row = {.name = group->name ? group->name : "other",
				.threads = group->gauge,
				.active_ns = states_active_ns(group->counts),
				.states_ns = group->counts,
				.unmeasured = unmeasured};
	size_t at = plain->count;

	while (at && plain->rows[at - 1].active_ns < row.active_ns)
		at--;
	if (at == PLAIN_ROWS)
		return;
	plain->count += plain->count < PLAIN_ROWS;
	memmove(plain->rows + at + 1, plain->rows + at,
		(plain->count - at - 1) * sizeof(*plain->rows));
	plain->rows[at] = row;
}

static void write_plain_groups(struct output *out, const struct machine_page_live *page)
{
	const struct counters *counters = page->counters;
	char since[VIEW_TIME_BYTES], caption[160];
	struct plain plain = {
		.begin = "<p>This browser runs no JavaScript: without it there are only the "
			 "totals, as in <a href=\"/metrics\">/metrics</a>; "
			 "<a href=\"/api/history\">/api/history</a> has the last hours.</p>\n",
		.findings = page->findings,
		.session = page->session,
		.caption = caption,
		.heading = "Group",
	};
	uint32_t unmeasured = 0;

	for (int i = 0; i < STATES; i++)
		if (!session_measures(page->session, wire_of_state((enum state)i)))
			unmeasured |= 1U << i;
	for (size_t i = 0; i < counters->groups.count; i++)
		if (counters->groups.items[i]->leads)
			add_group(&plain, counters->groups.items[i], unmeasured);
	add_group(&plain, &counters->groups.rest, unmeasured);
	view_format_time(since, counters->start_realtime_ns);
	snprintf(caption, sizeof(caption),
		 "Time of threads by state since %s, of the most active groups", since);
	write_plain(out, &plain);
}

void machine_page_write_live(struct output *out, const struct machine_page_live *page)
{
	output_string(out, parts[0]);
	write_plain_groups(out, page);
	output_string(out, parts[1]);
	output_string(out, "null");
	output_string(out, parts[2]);
}

static void write_data(struct output *out, const struct machine_page *page)
{
	struct item status = {page->status, NULL};
	struct json json = {.out = out};
	char text[FINDING_BYTES];

	json_object_begin(&json, NULL);
	json_add_string(&json, "file", page->file);
	if (page->damage)
		json_add_string(&json, "damage", page->damage);
	else
		json_add_null(&json, "damage");
	emit_json_object(&json, "status", &serve_status_schema, &status);
	json_array_begin(&json, "findings");
	for (size_t i = 0; i < page->findings->count; i++) {
		finding_format(text, &page->findings->items[i], page->status->session);
		json_add_string(&json, NULL, text);
	}
	json_array_end(&json);
	json_key(&json, "periods");
	periods_write(page->periods, out, UINT64_MAX, 0, 0);
	json_object_end(&json);
}

int machine_page_write(struct output *out, const struct machine_page *page)
{
	cleanup(output_release) struct output data = {.fd = -1};

	if (output_init(&data, -1) < 0)
		return -ENOMEM;
	write_data(&data, page);
	if (data.error)
		return -ENOMEM;
	output_string(out, parts[0]);
	write_plain_programs(out, page);
	output_string(out, parts[1]);
	page_write_data(out, &data);
	output_string(out, parts[2]);
	return 0;
}

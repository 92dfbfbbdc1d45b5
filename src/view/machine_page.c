// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/machine_page.h"

#include <errno.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "emit/emit.h"
#include "view/findings.h"
#include "view/page.h"

/* Before the plain text, between that and the data, and behind. */
static const char *const parts[] = {
#define TEXT(...) __VA_ARGS__,
#include "machine_page.inc"
#undef TEXT
};

/* Rows of the table for browsers without JavaScript. */
#define PLAIN_ROWS 50

void machine_page_write_live(struct output *out)
{
	output_string(out, parts[0]);
	output_string(out, "<p>This page needs JavaScript. The same numbers are at "
			   "<a href=\"/metrics\">/metrics</a> and "
			   "<a href=\"/api/history\">/api/history</a>.</p>");
	output_string(out, parts[1]);
	output_string(out, "null");
	output_string(out, parts[2]);
}

static bool has_column(const struct interval *all, enum state state)
{
	for (size_t i = 0; i < all->row_count; i++)
		if (all->rows[i].states_ns[state])
			return true;
	return false;
}

static void write_plain_row(struct output *out, const struct interval *all, const struct row *row)
{
	char length[16];

	output_string(out, "<tr><td>");
	text_html(out, *row->process ? row->process : "unknown");
	output_format(out, "</td><td>%u</td>", row->threads);
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		if (!has_column(all, state))
			continue;
		duration_format(length, sizeof(length), row->states_ns[state]);
		output_format(out, "<td>%s</td>", row->unmeasured & 1U << state ? "-" : length);
	}
	output_string(out, "</tr>\n");
}

/* For browsers without JavaScript. */
static void write_plain(struct output *out, const struct machine_page *page)
{
	const struct interval *all = page->programs;
	char text[FINDING_BYTES];

	output_string(out, "<p>This browser runs no JavaScript: without it there are only the "
			   "totals.</p>\n");
	if (page->damage) {
		output_string(out, "<p>Not all of the recording could be read: ");
		text_html(out, page->damage);
		output_string(out, "</p>\n");
	}
	output_string(out, "<ul>\n");
	for (size_t i = 0; i < page->findings->count; i++) {
		finding_format(text, &page->findings->items[i], page->status->session);
		output_string(out, "<li>");
		text_html(out, text);
		output_string(out, "</li>\n");
	}
	output_string(out, "</ul>\n<table><caption>Time of threads by state, of the most active "
			   "programs</caption>\n<tr><th>Program</th><th>Threads</th>");
	for (int i = 0; i < STATES; i++)
		if (has_column(all, state_columns[i]))
			output_format(out, "<th>%s</th>", state_info[state_columns[i]].key);
	output_string(out, "</tr>\n");
	for (size_t i = 0; i < all->row_count && i < PLAIN_ROWS; i++)
		write_plain_row(out, all, &all->rows[i]);
	output_string(out, "</table>");
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
	write_plain(out, page);
	output_string(out, parts[1]);
	page_write_data(out, &data);
	output_string(out, parts[2]);
	return 0;
}

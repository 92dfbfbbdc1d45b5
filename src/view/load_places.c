// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/load_places.h"

#include <math.h>

#include "base/text.h"
#include "view/load_rows.h"

#define NAME_COLUMNS 30
#define PLACES_SHOWN 6

struct place_row load_place(const struct topology_parts *parts, const struct summary_place *places,
			    size_t group, size_t number)
{
	const struct summary_place *of_group = &places[group * parts->count];
	struct place_row row = {.id = parts->items[number].id, .place = of_group[number]};

	for (size_t i = 0; i < parts->count; i++) {
		row.whole.cpu_ns += of_group[i].cpu_ns;
		row.whole.work_units += of_group[i].work_units;
	}
	return row;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static const struct place_row *row_of(const struct item *item)
{
	return item->row;
}

VALUE_GETTER(get_cpu_share, value_real,
	     share(row_of(item)->place.cpu_ns, row_of(item)->whole.cpu_ns))
VALUE_GETTER(get_work_share, value_real,
	     share(row_of(item)->place.work_units, row_of(item)->whole.work_units))

static const struct field place_fields[] = {
	NUMBER_MEMBER(struct place_row, id, "id", "the kernel's number of it"),
	NUMBER_MEMBER(struct place_row, place.cpu_ns, "cpu_time_ns", "CPU time on its CPUs"),
	SHARE_FIELD("cpu_share", get_cpu_share, "of the group's on all"),
	NUMBER_MEMBER(struct place_row, place.work_units, "work_units", "units of work done there"),
	SHARE_FIELD("work_share", get_work_share, "of the group's on all"),
};

const struct schema load_place_schema = {.name = "place",
					 .help = "what a group did on a cache's or node's CPUs",
					 SCHEMA_FIELDS(place_fields)};

static void write_shares(struct output *out, const struct place_row *row)
{
	double cpu = share(row->place.cpu_ns, row->whole.cpu_ns);
	double work = share(row->place.work_units, row->whole.work_units);

	output_char(out, ' ');
	for (int i = 0; i < 2; i++)
		if (isnan(i ? work : cpu))
			output_string(out, "     -");
		else
			output_format(out, " %5.1f", 100 * (i ? work : cpu));
}

static void write_places(struct output *out, const struct outcome *outcome, const char *heading,
			 const char *what, const struct topology_parts *parts,
			 const struct summary_place *places)
{
	size_t shown = parts->count < PLACES_SHOWN ? parts->count : PLACES_SHOWN;
	char name[256];

	if (parts->count < 2)
		return;
	output_char(out, '\n');
	text_padded(out, heading, NAME_COLUMNS);
	for (size_t i = 0; i < shown; i++) {
		snprintf(name, sizeof(name), "%s %u", what, parts->items[i].id);
		output_format(out, "  %11s", name);
	}
	if (shown < parts->count)
		output_format(out, "  and %zu more", parts->count - shown);
	output_char(out, '\n');
	for (size_t i = 0; i < outcome->run->worker_group_count; i++) {
		load_group_name(name, sizeof(name), outcome->run, outcome->run->worker_groups[i]);
		text_padded(out, name, NAME_COLUMNS);
		for (size_t k = 0; k < shown; k++) {
			struct place_row row = load_place(parts, places, i, k);

			write_shares(out, &row);
		}
		output_char(out, '\n');
	}
}

void load_places_table(struct output *out, const struct outcome *outcome)
{
	const struct topology *topology = outcome->run->topology;

	write_places(out, outcome, "% OF CPU TIME, WORK BY CACHE", "cache", &topology->llcs,
		     outcome->llcs);
	write_places(out, outcome, "% OF CPU TIME, WORK BY NODE", "node", &topology->nodes,
		     outcome->nodes);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/recorded.h"

#include "base/size.h"
#include "base/text.h"
#include "model/interval.h"
#include "view/view.h"

static const struct recorded *recorded_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_start)
{
	if (recorded_of(item)->start_ns) {
		view_format_time(value->text, recorded_of(item)->start_realtime_ns);
		value_string(value, value->text);
	} else {
		value_null(value);
	}
}

VALUE_GETTER(get_duration, value_number, recorded_of(item)->end_ns - recorded_of(item)->start_ns)
VALUE_GETTER(get_lost, value_number, losses_all(&recorded_of(item)->losses))

static const struct field recorded_fields[] = {
	POINTER_MEMBER(struct recorded, path, "file", "the recording", .header = "FILE"),
	POINTER_MEMBER(struct recorded, source, "source", "bpf, taskstats or procfs"),
	BOOL_MEMBER(struct recorded, has_blame, "blame", "because of whom threads waited is in it"),
	STRING_FIELD("start", get_start, "beginning, UTC; null: there is no interval"),
	INTEGER_FIELD("duration_ns", get_duration, "from there to the end"),
	NUMBER_MEMBER(struct recorded, intervals, "intervals", "that were written"),
	NUMBER_MEMBER(struct recorded, threads, "threads", "in the interval that had most"),
	NUMBER_MEMBER(struct recorded, bytes, "bytes", "size of the file, or of all of a rotation"),
	NUMBER_MEMBER(struct recorded, files, "files", "that there are; 1 without a rotation"),
	INTEGER_FIELD("lost", get_lost, "records, switches and threads that are missing"),
};

const struct schema recorded_schema = {.name = "recording",
				       .help = "what `dwell record` has written",
				       .version = 1,
				       SCHEMA_FIELDS(recorded_fields)};

void recorded_line(struct output *out, const struct recorded *recorded)
{
	char size[16];

	size_format(size, sizeof(size), recorded->bytes);
	output_format(out, "%s", recorded->path);
	if (recorded->files > 1)
		output_format(out, ", the last of %llu files", (unsigned long long)recorded->files);
	output_format(out, ": %llu interval%s, %s, lost %llu\n",
		      (unsigned long long)recorded->intervals, text_plural(recorded->intervals),
		      size, (unsigned long long)losses_all(&recorded->losses));
}

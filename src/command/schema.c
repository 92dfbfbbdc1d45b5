// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell schema`: what its JSON looks like, for programs that read it. */
#include <errno.h>
#include <unistd.h>

#include "command/command.h"
#include "emit/schema_json.h"

static const char text[] =
	"Writes the JSON Schema (2020-12) of every line of JSON that dwell writes."
	"\v"
	"Examples:\n"
	"  dwell schema > dwell.schema.json\n"
	"  dwell schema | jq '.\"$defs\".thread.properties | keys'\n";

static const struct command_line schema_line = {.text = text};

static int schema_run(int argc, char **argv)
{
	struct error error = {""};
	struct output out;
	int result, code = command_line_parse(&schema_line, argc, argv, NULL);

	if (code != EXIT_DONE)
		return code;
	if (output_init(&out, STDOUT_FILENO) < 0) {
		(void)error_set(&error, ENOMEM, "out of memory");
		return command_fail("schema", EXIT_NOT_RUN, &error);
	}
	result = schema_json(&out, result_schemas);
	if (result < 0)
		(void)error_set(&error, ENOMEM, "out of memory");
	else
		result = command_write(&out, &error);
	output_release(&out);
	return result < 0 ? command_fail("schema", EXIT_NOT_RUN, &error) : EXIT_DONE;
}

const struct command command_schema = {
	.name = "schema",
	.summary = "the JSON Schema of what the commands write",
	.line = &schema_line,
	.run = schema_run,
};

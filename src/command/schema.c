// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell schema`: what its JSON looks like, for programs that read it. */
#include <errno.h>
#include <unistd.h>

#include "command/command.h"
#include "command/watch_options.h"
#include "emit/schema_json.h"

static const char doc[] =
	"Writes the JSON Schema (2020-12) of every line of JSON that dwell writes."
	"\v"
	"Examples:\n"
	"  dwell schema > dwell.schema.json\n"
	"  dwell schema | jq '.\"$defs\".thread.properties | keys'\n";

static const struct argp_option argp_options[] = {
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	(void)value;
	return state->input && parsing_helps(key, state) ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp schema_argp = {
	.options = argp_options, .parser = parse_option, .doc = doc};

static int schema_run(int argc, char **argv)
{
	struct parsing parsing = {.code = EXIT_DONE};
	struct error error = {""};
	struct output out;
	int result,
		code = parsing_run(&schema_argp, "dwell schema", argc, argv, &parsing, &parsing);

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
	.argp = &schema_argp,
	.run = schema_run,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell verify`: how exact dwell's own figures are on this machine. */
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "capture/verified.h"
#include "command/command.h"
#include "command/verify_options.h"

#define LIMIT_PERCENT 1

static void list_one(void *data, const char *name, const char *help, enum state state)
{
	(void)data;
	if (help)
		print_text(stdout, "%-16s %s\n", name, help);
	else
		print_text(stdout, "%-16s a call that waits: %s\n", name, state_info[state].key);
}

static void show_progress(void *data, unsigned int round, const char *what)
{
	struct verify *verify = data;

	status_line_show(&verify->line, "round %u of %u: %s", round + 1, verify->options.rounds,
			 what);
}

static int write_page(struct output *out, const void *result)
{
	const struct verification *verification = result;
	const struct verify *verify = verification->options->data;

	verify_table(out, verification, verify->all || verify->options.patterns);
	return 0;
}

static const struct result_kind kind = {.schema = &verify_schema, .page = write_page};

/* For `dwell doctor`, of a machine without other tools, by the limit that it knows; users without
 * the rights keep nothing. */
static void store(const struct verification *result)
{
	struct item item = {result, NULL};
	struct output line;
	int code;

	if (result->options->patterns || result->options->peers ||
	    result->options->limit_percent > LIMIT_PERCENT || result->interrupted ||
	    output_init(&line, -1) < 0)
		return;
	emit_json_line(&line, &verify_schema, &item);
	code = line.error ? -line.error : verified_write(VERIFIED_PATH, line.buffer, line.used);
	output_release(&line);
	if (code < 0 && code != -EACCES)
		print_text(stderr, "dwell verify: " VERIFIED_PATH " is not written: %s\n",
			   strerror(-code));
}

static int verify_run_command(int argc, char **argv)
{
	struct verify verify = {
		.options = {.limit_percent = LIMIT_PERCENT,
			    .rounds = 3,
			    .run_ns = 2 * NS_PER_S,
			    .directory = VERIFY_DIRECTORY,
			    .data = &verify},
	};
	struct verification result;
	struct error error = {""};
	int code = command_line_parse(&verify_line, argc, argv, &verify);

	if (code != EXIT_DONE)
		return code;
	if (verify.list && verify.output.given) {
		(void)error_set(
			&error, EINVAL,
			"--list prints text: it takes no --format, --fields, --sort or --top");
		return command_fail("verify", EXIT_USAGE, &error);
	}
	if (verify.list) {
		verify_each(list_one, NULL);
		return EXIT_DONE;
	}
	status_line_begin(&verify.line, true);
	verify.options.progress = show_progress;
	code = verify_run(&result, &verify.options, &error);
	status_line_clear(&verify.line);
	if (code >= 0) {
		code = result_print(&verify.output, &kind, &result, &error);
		/* that it could not be is a remark on what has been said */
		store(&result);
	}
	if (code >= 0)
		code = (int)verdict_exit_code(result.verdict);
	else
		code = command_fail("verify", code == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	verify_release(&result);
	return code;
}

const struct command command_verify = {
	.name = "verify",
	.summary = "how exact dwell's figures are on this machine",
	.line = &verify_line,
	.run = verify_run_command,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell doctor`: what works here, what does not, what that costs and how to fix it. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "view/doctor.h"

struct doctor {
	struct parsing parsing;
	struct result_options options;
};

static const char doc[] = "Shows what dwell can do on this machine with these privileges, what is "
			  "missing, and how to get it."
			  "\v"
			  "Changes nothing. Exit status 0 if `dwell top` is exact here, else 3.\n";

static const struct argp_option argp_options[] = {
	RESULT_OPTIONS(RESULT_FORMATS " (table)", "", 1),
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct doctor *doctor = state->input;
	int result;

	if (!doctor)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	if (key == ARGP_KEY_END)
		result = result_options_end(&doctor->options, &doctor_schema, ~0U,
					    &doctor->parsing.error);
	else
		result = result_option(&doctor->options, key, value, false, &doctor->parsing.error);
	return parsing_result(&doctor->parsing, result);
}

static const struct argp doctor_argp = {
	.options = argp_options, .parser = parse_option, .doc = doc};

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int examine(struct checkup *checkup, struct error *error)
{
	checkup->findings = calloc(check_count, sizeof(*checkup->findings));
	if (!checkup->findings)
		return error_set(error, ENOMEM, "out of memory");
	checkup->exact = true;
	for (size_t i = 0; i < check_count; i++) {
		libbpf_set_print(silent);
		checks[i].run(&checkup->findings[i]);
		if (checks[i].decides && checkup->findings[i].status != CHECK_OK)
			checkup->exact = false;
	}
	return 0;
}

static int write_page(struct output *out, const void *checkup)
{
	doctor_table(out, checkup);
	return 0;
}

static const struct result_kind kind = {.schema = &doctor_schema, .page = write_page};

static int doctor_run(int argc, char **argv)
{
	struct doctor doctor = {.options = {.format = NULL}};
	struct checkup checkup = {.findings = NULL};
	struct error error = {""};
	int result, code = parsing_run(&doctor_argp, "dwell doctor", argc, argv, &doctor,
				       &doctor.parsing);

	if (code != EXIT_DONE)
		return code;
	result = examine(&checkup, &error);
	if (result >= 0)
		result = result_print(&doctor.options, &kind, &checkup, &error);
	free(checkup.findings);
	if (result < 0)
		return command_fail("doctor", EXIT_NOT_RUN, &error);
	return checkup.exact ? EXIT_DONE : EXIT_CHECK_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "what works here, what does not, and how to fix it",
	.argp = &doctor_argp,
	.run = doctor_run,
};

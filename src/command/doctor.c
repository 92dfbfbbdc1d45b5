// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell doctor`: what works here, what does not, what that costs and how to fix it. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/window.h"
#include "command/command.h"
#include "command/result_options.h"
#include "view/doctor.h"

struct doctor {
	struct result_options output;
};

static const char text[] = "Shows what dwell can do on this machine with these privileges, what is "
			   "missing, and how to get it."
			   "\v"
			   "Changes nothing. Exit status 0 if `dwell top` is exact here, else 3.\n";

static const struct command_option doctor_option_table[] = {
	RESULT_OPTIONS(struct doctor, " (table)", ""),
	END_OF_OPTIONS,
};

static int end(void *data, struct error *error)
{
	struct doctor *doctor = data;

	return result_options_end(&doctor->output, &doctor_schema, ~0U, error);
}

static const struct command_line doctor_line = {
	.options = doctor_option_table, .text = text, .end = end};

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
	doctor_table(out, checkup, window_columns(out->fd));
	return 0;
}

static const struct result_kind kind = {.schema = &doctor_schema, .page = write_page};

static int doctor_run(int argc, char **argv)
{
	struct doctor doctor = {.output = {.format = NULL}};
	struct checkup checkup = {.findings = NULL};
	struct error error = {""};
	int result, code = command_line_parse(&doctor_line, argc, argv, &doctor);

	if (code != EXIT_DONE)
		return code;
	result = examine(&checkup, &error);
	if (result >= 0)
		result = result_print(&doctor.output, &kind, &checkup, &error);
	free(checkup.findings);
	if (result < 0)
		return command_fail("doctor", EXIT_NOT_RUN, &error);
	return checkup.exact ? EXIT_DONE : EXIT_CHECK_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "what works here, what does not, and how to fix it",
	.line = &doctor_line,
	.run = doctor_run,
};

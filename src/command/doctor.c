// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell doctor`: what works here, what does not, what that costs and how to fix it. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "capture/checks.h"
#include "command/command.h"
#include "command/watch_options.h"

enum {
	OPTION_JSON = 512,
};

struct doctor {
	struct parsing parsing;
	bool json;
};

static const char *const status_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_DEGRADED] = "degraded",
	[CHECK_MISSING] = "missing",
};

static const char doc[] = "Shows what dwell can do on this machine with these privileges, what is "
			  "missing, and how to get it."
			  "\v"
			  "Changes nothing. Exit status 0 if `dwell top` is exact here, else 3.\n";

static const struct argp_option argp_options[] = {
	{"json", OPTION_JSON, 0, 0, "for a program to read", 1},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct doctor *doctor = state->input;

	(void)value;
	if (!doctor)
		return ARGP_ERR_UNKNOWN;
	switch (key) {
	case OPTION_JSON:
		doctor->json = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp doctor_argp = {
	.options = argp_options, .parser = parse_option, .doc = doc};

static void write_text(struct output *out, const struct check *check, const struct finding *finding)
{
	output_format(out, "%-9s %-13s %s\n", status_names[finding->status], check->name,
		      finding->found);
	if (*finding->costs)
		output_format(out, "%-23s impact: %s\n", "", finding->costs);
	if (*finding->mend)
		output_format(out, "%-23s fix:    %s\n", "", finding->mend);
}

static void write_json(struct json *json, const struct check *check, const struct finding *finding)
{
	json_object_begin(json, NULL);
	json_add_string(json, "name", check->name);
	json_add_string(json, "about", check->about);
	json_add_string(json, "status", status_names[finding->status]);
	json_add_string(json, "found", finding->found);
	json_add_string(json, "costs", finding->costs);
	json_add_string(json, "mend", finding->mend);
	json_object_end(json);
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Whether dwell top is exact; or a negative errno when nothing could be written. */
static int examine(const struct doctor *doctor, struct output *out, struct error *error)
{
	struct json json = {.out = out};
	bool exact = true;

	if (doctor->json) {
		json_object_begin(&json, NULL);
		json_add_string(&json, "type", "doctor");
		json_add_u64(&json, "version", 1);
		json_array_begin(&json, "checks");
	}
	for (size_t i = 0; i < check_count; i++) {
		struct finding finding = {.status = CHECK_OK};

		libbpf_set_print(silent);
		checks[i].run(&finding);
		exact = exact && (!checks[i].decides || finding.status == CHECK_OK);
		if (doctor->json)
			write_json(&json, &checks[i], &finding);
		else
			write_text(out, &checks[i], &finding);
	}
	if (doctor->json) {
		json_array_end(&json);
		json_add_bool(&json, "exact", exact);
		json_object_end(&json);
		output_char(out, '\n');
	} else {
		output_string(out, exact ? "\ndwell top is exact here.\n"
					 : "\ndwell top is not exact here: see bpf.\n");
	}
	return command_write(out, error) < 0 ? -out->error : exact;
}

static int doctor_run(int argc, char **argv)
{
	struct doctor doctor = {.json = false};
	struct error error = {""};
	struct output out;
	int result, code = parsing_run(&doctor_argp, "dwell doctor", argc, argv, &doctor,
				       &doctor.parsing);

	if (code != EXIT_DONE)
		return code;
	if (output_init(&out, STDOUT_FILENO) < 0) {
		(void)error_set(&error, ENOMEM, "out of memory");
		return command_fail("doctor", EXIT_NOT_RUN, &error);
	}
	result = examine(&doctor, &out, &error);
	output_release(&out);
	if (result < 0)
		return command_fail("doctor", EXIT_NOT_RUN, &error);
	return result ? EXIT_DONE : EXIT_CHECK_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "what works here, what does not, and how to fix it",
	.argp = &doctor_argp,
	.run = doctor_run,
};

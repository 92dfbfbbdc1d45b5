// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memrchr */
#include "matrix/judge.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/exit_code.h"
#include "emit/read.h"
#include "guest/outcome.h"
#include "load/checks.h"
#include "matrix/fields.h"
#include "results/load_reports.h"
#include "view/load.h"
#include "view/verify_schema.h"

#define TAIL_BYTES_MAX (16 << 20)  /* of the output: a report's last line is far shorter */
#define DUMP_BYTES_MAX (256 << 10) /* the kernel's default is 32 KiB */
#define CHECKS_MAX     100	   /* that failed: each group may have all of them */
#define SAID_BYTES_MAX (16 << 10)  /* of standard error */
#define REASON_BYTES   768
/* A guest whose CPUs lacked half of what they could have had is not what it is elsewhere. */
#define LACKED_LARGE 0.5

/* A string or nothing. */
static int take_text(char **into, const json_t *value)
{
	if (!json_is_string(value))
		return 0;
	*into = strdup(json_string_value(value));
	return *into ? 0 : -ENOMEM;
}

static uint64_t number_of(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0
		       ? (uint64_t)json_integer_value(value)
		       : UINT64_MAX;
}

static double share_of(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

#define TAKE_HOST_SHARE(name, key, help)                                                           \
	guest->host_##name = share_of(result_read(schema, object, "host." key));

int matrix_take_guest(struct matrix_guest *guest, const struct schema *schema, const json_t *object)
{
	int result = 0;

	if (!json_is_object(object))
		return 0;
	guest->reported = true;
	guest->boot_ns = number_of(result_read(schema, object, "boot_ns"));
	guest->wall_ns = number_of(result_read(schema, object, "wall_ns"));
	guest->exit = number_of(result_read(schema, object, "exit"));
	guest->scheduler_after_ns = number_of(result_read(schema, object, "scheduler.after_ns"));
	GUEST_HOST_SHARES(TAKE_HOST_SHARE)
	result = take_text(&guest->release, result_read(schema, object, "release"));
	if (result >= 0)
		result = take_text(&guest->accel, result_read(schema, object, "accel"));
	if (result >= 0)
		result = take_text(&guest->scheduler_state,
				   result_read(schema, object, "scheduler.state"));
	if (result >= 0)
		result = take_text(&guest->scheduler_reason,
				   result_read(schema, object, "scheduler.reason"));
	return result;
}

/* The last bytes of a file, at most `most` of them, ended by a NUL; NULL: there are none. */
static char *read_tail(int fd, size_t most)
{
	off_t length = lseek(fd, 0, SEEK_END);
	size_t wanted = length > 0 ? (size_t)length : 0, done = 0;
	char *text;

	wanted = wanted < most ? wanted : most;
	text = wanted ? malloc(wanted + 1) : NULL;
	while (text && done < wanted) {
		ssize_t got =
			pread(fd, text + done, wanted - done, length - (off_t)(wanted - done));

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (text)
		text[done] = '\0';
	return text;
}

/* The last line that is not empty; cuts the text there. */
static char *last_line(char *text)
{
	size_t length = text ? strlen(text) : 0;
	char *newline;

	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		text[--length] = '\0';
	newline = length ? memrchr(text, '\n', length) : NULL;
	return newline ? newline + 1 : text;
}

/* The kernel's dump goes into the file of verdicts: its own one does not last. */
static int take_dump(struct matrix_guest *guest, const json_t *object)
{
	const char *path = result_read_string(&guest_schema, object, "scheduler.dump");
	cleanup_file FILE *file = path ? fopen(path, "re") : NULL;
	size_t length;

	if (!file)
		return 0;
	guest->dump = malloc(DUMP_BYTES_MAX + 1);
	if (!guest->dump)
		return -ENOMEM;
	length = fread(guest->dump, 1, DUMP_BYTES_MAX, file);
	guest->dump[length] = '\0';
	return 0;
}

/* "front pipe-io: worker 53: worst 3.20s, limit 2.00s", as in the table of the load itself. */
static int take_finding(struct matrix_words *into, const json_t *check)
{
	const char *cgroup = result_read_string(&load_check_schema, check, "cgroup");
	const char *work = result_read_string(&load_check_schema, check, "work");
	const char *text = result_read_string(&load_check_schema, check, "text");
	json_int_t tid = json_integer_value(result_read(&load_check_schema, check, "tid"));
	struct output out;
	int result = output_init(&out, -1);

	if (result < 0)
		return result;
	if (cgroup)
		output_format(&out, "%s ", cgroup);
	if (work)
		output_format(&out, "%s: ", work);
	if (tid)
		output_format(&out, "worker %lld: ", (long long)tid);
	output_string(&out, text ? text : "");
	output_char(&out, '\0');
	result = out.error ? -ENOMEM : matrix_words_add(into, out.buffer);
	output_release(&out);
	return result;
}

static int take_checks(struct matrix_cell *cell, const json_t *report)
{
	const json_t *checks = result_read(&load_schema, report, "checks");
	int result = 0;

	for (size_t i = 0; result >= 0 && i < json_array_size(checks); i++) {
		const json_t *check = json_array_get(checks, i);
		const char *verdict = result_read_string(&load_check_schema, check, "verdict");
		const char *name = result_read_string(&load_check_schema, check, "check");

		if (!verdict || strcmp(verdict, "fail") != 0 || !name ||
		    cell->checks.count >= CHECKS_MAX * 2)
			continue;
		result = matrix_words_add(&cell->checks, name);
		if (result >= 0)
			result = take_finding(&cell->checks, check);
	}
	return result;
}

/* The patterns of `dwell verify` that did not pass, as checks. */
static int take_patterns(struct matrix_cell *cell, const json_t *report)
{
	const json_t *patterns = result_read(&verify_schema, report, "results");
	int result = 0;

	for (size_t i = 0; result >= 0 && i < json_array_size(patterns); i++) {
		const json_t *pattern = json_array_get(patterns, i);
		const char *verdict =
			result_read_string(&verify_pattern_schema, pattern, "verdict");
		const char *name = result_read_string(&verify_pattern_schema, pattern, "name");
		const char *why = result_read_string(&verify_pattern_schema, pattern, "why");

		if (!verdict || strcmp(verdict, "fail") != 0 || !name ||
		    cell->checks.count >= CHECKS_MAX * 2)
			continue;
		result = matrix_words_add(&cell->checks, name);
		if (result >= 0)
			result = matrix_words_add(&cell->checks, why ? why : "");
	}
	return result;
}

/* "2 inconclusive, 5 skipped of 102 patterns" */
static int describe_patterns(struct matrix_cell *cell, const json_t *report)
{
	char text[96];

	snprintf(text, sizeof(text), "%lld inconclusive, %lld skipped of %lld patterns",
		 json_integer_value(result_read(&verify_schema, report, "inconclusive")),
		 json_integer_value(result_read(&verify_schema, report, "skipped")),
		 json_integer_value(result_read(&verify_schema, report, "patterns")));
	cell->reason = strdup(text);
	return cell->reason ? 0 : -ENOMEM;
}

/* The report of `dwell load` or `dwell verify`, if the command printed one. */
static json_t *read_report(int fd)
{
	cleanup_free char *text = read_tail(fd, TAIL_BYTES_MAX);
	const char *line = last_line(text), *type;
	json_t *report = line && *line == '{' ? json_loads(line, 0, NULL) : NULL;

	type = json_string_value(json_object_get(report, "type"));
	if (type && (!strcmp(type, "load") || !strcmp(type, "verify")))
		return report;
	json_decref(report);
	return NULL;
}

static int set(struct matrix_cell *cell, enum matrix_verdict verdict, const char *reason)
{
	cell->verdict = verdict;
	cell->reason = reason && *reason ? strdup(reason) : NULL;
	return reason && *reason && !cell->reason ? -ENOMEM : 0;
}

/* The last line that begins with `start`; NULL: none does. */
static const char *line_from(const char *text, const char *start)
{
	const char *found = NULL;

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, start, strlen(start)))
			found = at;
	}
	return found;
}

/*
 * With what was said to be wrong: by the command, whose words are not the last ones as ours come
 * after them, by us, or at last.
 */
static int set_error(struct matrix_cell *cell, const struct matrix_cell_end *end, const char *what)
{
	cleanup_free char *text = read_tail(end->error_fd, SAID_BYTES_MAX);
	const char *last = last_line(text), *said;
	char start[64], reason[REASON_BYTES];

	snprintf(start, sizeof(start), "dwell %s: ", end->command);
	said = line_from(text, start);
	if (!said && !cell->guest.reported)
		said = line_from(text, "dwell guest: ");
	if (!said)
		said = last;
	snprintf(reason, sizeof(reason), "%s%s%.*s", what, said && *said ? ": " : "",
		 said ? (int)strcspn(said, "\n") : 0, said ? said : "");
	return set(cell, MATRIX_ERROR, reason);
}

/* The process says nothing of its guest. */
static int judge_silent(struct matrix_cell *cell, const struct matrix_cell_end *end)
{
	char what[64];

	if (WIFSIGNALED(end->wait_status))
		snprintf(what, sizeof(what), "killed by signal %d", WTERMSIG(end->wait_status));
	else
		snprintf(what, sizeof(what), "ended with status %d and no result",
			 WEXITSTATUS(end->wait_status));
	return set_error(cell, end, what);
}

static int judge_exit(struct matrix_cell *cell, const struct matrix_cell_end *end)
{
	int status = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
	uint64_t code = cell->guest.exit;
	char what[64];

	if (code == EXIT_DONE && status == EXIT_DONE)
		return set(cell, MATRIX_PASS, NULL);
	if (code == EXIT_CHECK_FAILED || (code == EXIT_DONE && status == EXIT_CHECK_FAILED))
		return set(cell, MATRIX_FAIL, cell->checks.count ? NULL : "a check failed");
	if (code == EXIT_INCONCLUSIVE)
		return set(cell, MATRIX_INCONCLUSIVE, NULL);
	if (code == UINT64_MAX)
		return set_error(cell, end, "the command did not end");
	if (code == EXIT_DONE)
		return judge_silent(cell, end);
	snprintf(what, sizeof(what), "the command ended with status %llu",
		 (unsigned long long)code);
	return set_error(cell, end, what);
}

static int judge_reported(struct matrix_cell *cell, const struct matrix_cell_end *end,
			  const json_t *outcome, const json_t *report)
{
	const struct matrix_guest *guest = &cell->guest;
	const char *state = guest->scheduler_state ? guest->scheduler_state : "";
	const char *ended = result_read_string(&load_schema, report, "end");
	const char *error = result_read_string(&guest_schema, outcome, "error");
	const char *kernel_end = result_read_string(&guest_schema, outcome, "kernel_end");

	if (!strcmp(state, "died"))
		return set(cell, MATRIX_DIED, guest->scheduler_reason);
	/* one that an op of the spec has started */
	if (ended && !strcmp(ended, "scheduler-died"))
		return set(cell, MATRIX_DIED, "a scheduler of the spec");
	/* it hangs, or it was never there */
	if (end->timed_out)
		return set(cell, guest->boot_ns == UINT64_MAX ? MATRIX_ERROR : MATRIX_FAIL,
			   "not ended within the `timeout` of the matrix");
	/* what ran in it did that: the scheduler, most likely */
	if (error)
		return set(cell,
			   kernel_end && strcmp(state, "not-started") != 0 ? MATRIX_FAIL
									   : MATRIX_ERROR,
			   error);
	if (!strcmp(state, "not-started"))
		return set(cell, MATRIX_ERROR,
			   guest->scheduler_reason ? guest->scheduler_reason
						   : "the scheduler did not start");
	return judge_exit(cell, end);
}

/* Whether all that failed in the report may have failed for want of CPUs of the host. */
static bool may_be_by_host(const struct matrix_cell *cell, const json_t *report)
{
	const json_t *checks = result_read(&load_schema, report, "checks");

	/* the patterns of `dwell verify` */
	if (!report)
		return !cell->checks.count;
	for (size_t i = 0; i < json_array_size(checks); i++) {
		const json_t *check = json_array_get(checks, i);
		const char *verdict = result_read_string(&load_check_schema, check, "verdict");
		const char *name = result_read_string(&load_check_schema, check, "check");

		if (verdict && name && !strcmp(verdict, "fail") &&
		    !check_may_lack_cpus(name,
					 share_of(result_read(&load_check_schema, check, "figure")),
					 share_of(result_read(&load_check_schema, check, "limit"))))
			return false;
	}
	return true;
}

/*
 * As `load` does with limits by what it received: inside, a CPU that the host does not run looks
 * like one that a scheduler leaves idle.
 */
static int forgive(struct matrix_cell *cell, const json_t *report)
{
	cleanup_free char *failed = cell->reason;
	char reason[REASON_BYTES];

	if (cell->verdict != MATRIX_FAIL || !(cell->guest.host_lacked >= LACKED_LARGE) ||
	    !may_be_by_host(cell, report)) {
		failed = NULL;
		return 0;
	}
	snprintf(reason, sizeof(reason),
		 "%s%sothers had %.0f %% of the host's CPUs: the guest lacked %.0f %% of what it "
		 "could have had",
		 failed ? failed : "", failed ? "; but " : "", 100 * cell->guest.host_taken,
		 100 * cell->guest.host_lacked);
	return set(cell, MATRIX_INCONCLUSIVE, reason);
}

/* What a scheduler is scored by. Other commands have none, nor has a load that was cut short. */
static void take_figures(struct matrix_cell *cell, const struct matrix_cell_end *end)
{
	struct error error = {""};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", end->out_fd);
	if (load_reports_read(&cell->figures, path, &error) < 0 || cell->figures.runs != 1)
		load_side_release(&cell->figures);
	/* as they are written, so that what is read back comes to the same scores */
	for (size_t i = 0; i < cell->figures.group_count; i++)
		for (int k = 0; k < LOAD_METRICS; k++) {
			double *value = &cell->figures.groups[i].values[k][0];
			char text[32];

			snprintf(text, sizeof(text), "%.6g", *value);
			*value = strtod(text, NULL);
		}
}

int matrix_judge(struct matrix_cell *cell, const struct matrix_cell_end *end)
{
	json_t *outcome = json_load_file(end->result, 0, NULL);
	json_t *report = read_report(end->out_fd);
	int result = matrix_take_guest(&cell->guest, &guest_schema, outcome);
	bool verifies;

	if (result >= 0)
		result = take_dump(&cell->guest, outcome);
	verifies = report && !strcmp(json_string_value(json_object_get(report, "type")), "verify");
	if (result >= 0)
		result = verifies ? take_patterns(cell, report) : take_checks(cell, report);
	if (report && !verifies)
		take_figures(cell, end);
	if (result >= 0 && !cell->guest.reported && !end->timed_out)
		result = judge_silent(cell, end);
	else if (result >= 0)
		result = judge_reported(cell, end, outcome, verifies ? NULL : report);
	if (result >= 0)
		result = forgive(cell, verifies ? NULL : report);
	if (result >= 0 && verifies && cell->verdict == MATRIX_INCONCLUSIVE && !cell->reason)
		result = describe_patterns(cell, report);
	json_decref(outcome);
	json_decref(report);
	return result;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "capture/rotated_files.h"
#include "emit/emit.h"
#include "serve/notify.h"
#include "serve/server_push.h"
#include "serve/stall_recent.h"
#include "view/exposition.h"
#include "view/machine_page.h"
#include "view/serve.h"

/* Where an interval begins, for the triggers; those before are of the periods. */
#define TRIGGERS_MARK PERIODS_LEVELS
#define MARKS	      (PERIODS_LEVELS + 1)

#define JSON_TYPE     "application/json"
#define TEXT_TYPE     "text/plain; charset=utf-8"
#define HTML_TYPE     "text/html; charset=utf-8"

/* Status codes of HTTP. */
enum { HTTP_OK = 200, HTTP_ERROR = 500, HTTP_BUSY = 503 };

/* Parts of what is kept, so that little of it goes with the oldest. */
#define STORE_FILES   12
#define STORE_LEAST   (60 * NS_PER_S)

#define LOCK_TRIES    20
#define LOCK_PAUSE_MS 100

/* Of the periods that are kept: intervals, minutes, ten minutes. */
static const uint64_t period_lengths_ns[PERIODS_LEVELS] = {0, 60 * NS_PER_S, 600 * NS_PER_S};

/*
 * Two would remove each other's recordings, and those of one time could not be read together. All
 * processes of one have the lock: those of one that was killed end soon after it.
 */
static int lock_store(struct server *server, struct error *error)
{
	const char *store = server->options->store;

	server->store_lock = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int left = LOCK_TRIES; left && flock(server->store_lock, LOCK_EX | LOCK_NB) < 0;) {
		/* there are filesystems that cannot lock */
		if (errno != EWOULDBLOCK)
			return 0;
		if (!--left)
			return error_set(error, EBUSY,
					 "another dwell serve keeps its recordings in %s: end it, "
					 "or name another directory",
					 store);
		clock_sleep_ms(LOCK_PAUSE_MS);
	}
	return 0;
}

static int open_store(struct server *server, struct error *error)
{
	struct rotation_options options = {.file_ns = server->options->keep_ns / STORE_FILES,
					   .keep_ns = server->options->keep_ns,
					   .max_bytes = server->options->max_bytes,
					   .fits_disk = true};

	if (options.file_ns < STORE_LEAST)
		options.file_ns = STORE_LEAST;
	if (asprintf(&server->store_path, "%s/" ROTATED_STORE, server->options->store) < 0) {
		server->store_path = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	options.path = server->store_path;
	if (lock_store(server, error) < 0)
		return -EBUSY;
	return rotation_open(&server->store, &options, error);
}

static int open_flight(struct server *server, struct error *error)
{
	const struct flight_options options = {.directory = server->options->store,
					       .before_ns = server->options->before_ns,
					       .after_ns = server->options->after_ns,
					       .pause_ns = server->options->pause_ns};

	return flight_open(&server->flight, &options, error);
}

void server_note(struct server *server, const char *format, ...)
{
	size_t used = strlen(server->notice);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(server->notice + used, sizeof(server->notice) - used, format, arguments);
	va_end(arguments);
	used = strlen(server->notice);
	snprintf(server->notice + used, sizeof(server->notice) - used, "\n");
}

int server_record(struct server *server, const struct wire_header *record, struct error *error)
{
	struct error reason = {""};

	if (server->flight && flight_record(server->flight, record) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (!server->store)
		return 0;
	if (rotation_record(server->store, record, &reason) < 0) {
		if (!server->store_fails)
			server_note(server, "%s; trying again", reason.text);
		server->store_failures++;
		server->store_fails = true;
	} else if (record->kind == WIRE_INTERVAL && server->store_fails) {
		server_note(server, "recordings are kept again");
		server->store_fails = false;
	}
	return 0;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
}

int server_open(struct server *server, struct server_options *options, struct error *error)
{
	int result;

	server->options = options;
	periods_init(&server->periods, period_lengths_ns, ARRAY_SIZE(period_lengths_ns));
	if (counters_init(&server->counters, options->by, options->groups, MARKS) < 0)
		return error_set(error, ENOMEM, "out of memory");
	reason_marks_begin(&server->counters.marks);
	result = options->store ? open_store(server, error) : 0;
	if (result >= 0 && options->triggers.count)
		result = open_flight(server, error);
	if (result >= 0)
		result = jobs_start(&server->jobs, error);
	if (result >= 0 && options->stall_count)
		result = stall_watch_start(&server->stalls, options->stalls, options->stall_count,
					   options->stall_threshold_ns, error);
	if (result >= 0 && options->container_socket)
		result = container_names_start(&server->containers, options->container_socket,
					       error);
	if (result >= 0)
		result = web_host_start(&server->web, &options->web, error);
	/* no process has secrets of another one's work */
	forget(options->web.key);
	forget(options->web.token);
	return result < 0 ? result : server_push_open(server, error);
}

void server_finish(struct server *server)
{
	server_push_finish(server);
}

/* `wait`: for what follows to be recorded, too. */
static void look_at_flight(struct server *server, bool wait)
{
	struct error error = {""};
	int result = server->flight ? flight_look(server->flight, wait, &error) : 0;

	if (result > 0)
		server_note(server, "%s: %s, and what follows", server->flight_words,
			    flight_path(server->flight));
	else if (result < 0)
		server_note(server, "%s: %s", server->flight_words, error.text);
}

void server_release(struct server *server)
{
	push_host_end(server->push.host);
	web_host_end(server->web);
	jobs_end(server->jobs);
	stall_watch_end(server->stalls);
	container_names_end(server->containers);
	rotation_close(server->store);
	look_at_flight(server, false);
	flight_close(server->flight);
	free(server->store_path);
	if (server->store_lock >= 0)
		close(server->store_lock);
	counters_release(&server->counters);
	periods_release(&server->periods);
}

static void look_at_triggers(struct server *server, const struct interval *interval)
{
	struct trigger_event event;
	struct error error = {""};
	char words[sizeof(server->flight_words)];
	struct triggers_input input = {&server->counters, TRIGGERS_MARK, interval, server->stalls};
	bool fires = triggers_look(&server->options->triggers, &input, &event);
	int result;

	counters_set_mark(&server->counters, TRIGGERS_MARK);
	if (server->stalls)
		stall_watch_reset_longest(server->stalls);
	if (!fires)
		return;
	trigger_event_words(&event, words, sizeof(words));
	result = flight_fire(server->flight, server->jobs, ++server->last_job, &error);
	/* 0: none has begun, and the last one may run */
	if (!result)
		return;
	server->flight_job = server->last_job;
	snprintf(server->flight_words, sizeof(server->flight_words), "%s", words);
	if (result < 0)
		server_note(server, "%s: %s", words, error.text);
}

static void say_unmeasured(struct server *server, const struct session_info *session)
{
	const struct triggers *triggers = &server->options->triggers;

	for (size_t i = 0; i < triggers->count; i++)
		if (!trigger_is_measured(&triggers->items[i], session))
			server_note(server,
				    "--trigger %s: that is not measured here, so it never "
				    "fires",
				    triggers->items[i].words);
}

int server_interval(struct server *server, const struct interval *interval, struct error *error)
{
	if (!server->interval)
		say_unmeasured(server, interval->session);
	if (periods_add(&server->periods, &server->counters, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	server->interval = interval;
	look_at_flight(server, true);
	look_at_triggers(server, interval);
	server_push_interval(server);
	notify_send("WATCHDOG=1");
	web_host_beat(server->web);
	return 0;
}

static const struct session_info *session_of(const struct server *server)
{
	return intervals_session(server->watch->intervals);
}

/* Scrapes do without them, and those of a busy machine take as long as a tenth of one. */
static const struct findings *findings_of(struct server *server)
{
	if (server->interval && server->findings_end_ns != server->interval->end_ns) {
		if (findings_find(&server->findings, server->interval) < 0)
			return NULL;
		server->findings_end_ns = server->interval->end_ns;
	}
	return &server->findings;
}

static void write_status(struct server *server, struct output *out)
{
	struct serve_status status = {
		.counters = &server->counters,
		.session = session_of(server),
		.interval_ns = server->watch->options->interval_ns,
		.lengths_ns = {server->watch->options->interval_ns,
			       server->periods.levels[1].length_ns,
			       server->periods.levels[2].length_ns},
		.kept_ns = PERIODS_KEPT * server->periods.levels[2].length_ns,
		.findings = findings_of(server),
		.stall_programs = server->options->stall_count,
	};
	struct item item = {&status, NULL};

	emit_json_line(out, &serve_status_schema, &item);
}

static void write_page(struct server *server, struct output *out)
{
	const struct machine_page_live page = {&server->counters, session_of(server),
					       findings_of(server)};

	if (page.findings)
		machine_page_write_live(out, &page);
	else
		output_fail(out, ENOMEM);
}

static struct metrics_trigger trigger_at(const void *data, size_t index)
{
	const struct trigger *trigger = &((const struct triggers *)data)->items[index];

	return (struct metrics_trigger){trigger->words, trigger->group, trigger->fired};
}

static struct metrics_stalls stalls_of(const struct server *server, size_t index)
{
	const struct stall_counts_of *counts = stall_watch_counts(server->stalls, index);

	return (struct metrics_stalls){
		.process = counts->process,
		.is_up = counts->is_up,
		.stuck = counts->stuck,
		.by_cause = counts->by_cause,
		.by_length = counts->by_length,
		.total_ns = counts->total_ns,
		.last = {.ns = counts->last_ns,
			 .tid = counts->last_tid,
			 .start_ns = counts->last_start_ns,
			 .function = counts->function},
	};
}

static const char *name_container(const void *containers, const char *id)
{
	return container_names_find(containers, id);
}

static struct metrics_service service_of(const struct server *server)
{
	struct metrics_service service = {.has_store = server->store != NULL,
					  .store_failures = server->store_failures};

	for (size_t i = 0; server->stalls && i < stall_watch_count(server->stalls); i++)
		service.stalls[service.stall_count++] = stalls_of(server, i);
	if (server->containers) {
		service.container_name = name_container;
		service.containers = server->containers;
		service.container_names = container_names_count(server->containers);
		service.container_failures = container_names_failures(server->containers);
	}
	if (server->flight) {
		service.has_flight = true;
		service.trigger = trigger_at;
		service.trigger_data = &server->options->triggers;
		service.trigger_count = server->options->triggers.count;
		service.flight_written = flight_written(server->flight);
		service.flight_suppressed = flight_suppressed(server->flight);
	}
	if (server->store) {
		service.store_bytes = rotation_bytes(server->store);
		service.store_files = rotation_files(server->store);
	}
	server_push_metrics(server, &service);
	return service;
}

struct metrics_input server_metrics(const struct server *server, struct metrics_service *service)
{
	*service = service_of(server);
	return (struct metrics_input){&server->counters, session_of(server), service};
}

static void write_answer(struct server *server, const struct web_question *question,
			 struct output *out, const char **ret_type)
{
	*ret_type = JSON_TYPE;
	switch ((enum web_ask)question->ask) {
	case WEB_METRICS:
	case WEB_METRICS_OPEN: {
		enum exposition_format format =
			question->ask == WEB_METRICS ? EXPOSITION_TEXT : EXPOSITION_OPENMETRICS;
		struct metrics_service service;
		const struct metrics_input input = server_metrics(server, &service);

		*ret_type = exposition_type(format);
		exposition_write(out, &input, format, NULL);
		break;
	}
	case WEB_STATUS:
		write_status(server, out);
		break;
	case WEB_HISTORY:
		periods_write(&server->periods, out, question->arguments[0], question->arguments[1],
			      question->arguments[2]);
		break;
	case WEB_STALLS:
		stall_recent_write(server->stalls, out);
		break;
	case WEB_MAIN:
		*ret_type = HTML_TYPE;
		write_page(server, out);
		break;
	case WEB_PROFILE:
	case WEB_CANCEL:
	case WEB_ASKS:
		break;
	}
}

static void refuse(struct server *server, const struct web_question *question, unsigned int status,
		   const char *words)
{
	web_host_answer(server->web, question, status, TEXT_TYPE, words, strlen(words));
}

static struct profile_jobs *find_profile(struct server *server, uint64_t number)
{
	for (size_t i = 0; i < JOBS_AT_ONCE; i++)
		if (server->profiles[i].number == number)
			return &server->profiles[i];
	return NULL;
}

static const char *const profile_formats[WEB_PROFILE_KINDS] = {"pprof", "html", "folded"};
static const char *const profile_types[WEB_PROFILE_KINDS] = {"application/octet-stream", HTML_TYPE,
							     TEXT_TYPE};

/*
 * What takes the places: jobs that no one asked for, and for the rest profiles that others have.
 * Of these one may wait for the same refusal, so that they are not counted.
 */
static void refuse_busy(struct server *server, const struct web_question *question)
{
	static const char *const profiles = "a profile";
	const char *taken[JOBS_AT_ONCE];
	size_t count = 0;
	char words[160];

	_Static_assert(JOBS_AT_ONCE == 2, "so many are named");
	if (server->flight_job)
		taken[count++] = "a trigger's recording";
	if (server->push.profile_job)
		taken[count++] = "a profile for --push";
	while (count < JOBS_AT_ONCE)
		taken[count++] = profiles;
	if (taken[0] == profiles)
		snprintf(words, sizeof(words), "two profiles are being taken already\n");
	else
		snprintf(words, sizeof(words),
			 "%s and %s are being taken already: there is room for two\n", taken[1],
			 taken[0]);
	refuse(server, question, HTTP_BUSY, words);
}

static void begin_profile(struct server *server, const struct web_question *question)
{
	struct profile_jobs *place = find_profile(server, 0);
	uint64_t state = question->arguments[1];
	struct job job = {.number = ++server->last_job,
			  .seconds = (uint32_t)question->arguments[0]};

	job_add(&job, "profile");
	job_add(&job, "-d");
	job_add(&job, "%us", job.seconds);
	job_add(&job, "--format");
	job_add(&job, "%s", profile_formats[question->arguments[2]]);
	if (state && state <= STATES) {
		job_add(&job, "--state");
		job_add(&job, "%s", state_info[state - 1].key);
	}
	if (!place || !jobs_run(server->jobs, &job)) {
		refuse_busy(server, question);
		return;
	}
	*place = (struct profile_jobs){job.number, *question};
}

static void cancel_profile(struct server *server, uint64_t question)
{
	for (size_t i = 0; i < JOBS_AT_ONCE; i++)
		if (server->profiles[i].number && server->profiles[i].question.number == question)
			jobs_cancel(server->jobs, server->profiles[i].number);
}

int server_gone(const char *what, struct error *error)
{
	return error_set(error, ECHILD,
			 "the process that %s has been killed, and what would start it again is "
			 "not there any more",
			 what);
}

static int on_job_end(void *data, struct error *error)
{
	struct server *server = data;
	struct job_end end;
	cleanup_close int fd = -1;
	struct profile_jobs *profile;
	int result = jobs_next(server->jobs, &end, &fd);

	if (result <= 0)
		return result < 0 ? server_gone("starts jobs", error) : 0;
	if (end.number == server->flight_job) {
		server->flight_job = 0;
		look_at_flight(server, false);
		if (end.status)
			server_note(server, "what followed a trigger was not recorded: %s",
				    end.status == -EBUSY ? "two jobs run already" : end.error);
	}
	if (server_push_job_end(server, &end, fd))
		return 0;
	profile = find_profile(server, end.number);
	if (!profile)
		return 0;
	if (!end.status && fd >= 0)
		web_host_answer_file(server->web, profile->question.number, HTTP_OK,
				     profile_types[profile->question.arguments[2]], fd, end.length);
	else if (end.status == -EBUSY)
		refuse_busy(server, &profile->question);
	else
		refuse(server, &profile->question, HTTP_ERROR,
		       *end.error ? end.error : "the profile could not be taken\n");
	profile->number = 0;
	return 0;
}

static void answer(struct server *server, const struct web_question *question)
{
	cleanup(output_release) struct output out = {.fd = -1};
	const char *type;

	if (question->ask == WEB_PROFILE) {
		begin_profile(server, question);
		return;
	}
	if (question->ask == WEB_CANCEL) {
		cancel_profile(server, question->arguments[0]);
		return;
	}
	if (output_init(&out, -1) < 0)
		return;
	write_answer(server, question, &out, &type);
	if (out.error)
		refuse(server, question, HTTP_ERROR, "out of memory\n");
	else
		web_host_answer(server->web, question, HTTP_OK, type, out.buffer, out.used);
}

/* Figures are of the time of the question: an interval ends now, unless one has just ended. */
static int on_question(void *data, struct error *error)
{
	struct server *server = data;
	struct web_question question;
	int result;

	while ((result = web_host_next(server->web, &question)) > 0) {
		if (question.ask != WEB_PROFILE && question.ask != WEB_CANCEL)
			result = watch_catch_up(server->watch, error);
		if (result < 0)
			return result;
		answer(server, &question);
	}
	return result < 0 ? server_gone("serves", error) : 0;
}

static int on_stalls(void *data, struct error *error)
{
	const struct stall_source *source = data;
	const char *words;

	if (!stall_watch_work(source->server->stalls, source->index))
		return server_gone("watches for stalls", error);
	words = stall_watch_words(source->server->stalls, source->index);
	if (words)
		server_note(source->server, "stalls: %s", words);
	return 0;
}

static int on_containers(void *data, struct error *error)
{
	struct server *server = data;
	const char *words;

	if (!container_names_work(server->containers))
		return server_gone("asks for the names of containers", error);
	words = container_names_words(server->containers);
	if (words)
		server_note(server, "names of containers, %s: %s",
			    server->options->container_socket, words);
	return 0;
}

static int add_stalls(struct server *server, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < stall_watch_count(server->stalls); i++) {
		server->stall_sources[i] = (struct stall_source){server, i};
		result = loop_add(&server->watch->loop, stall_watch_descriptor(server->stalls, i),
				  on_stalls, &server->stall_sources[i], error);
	}
	return result;
}

int server_begin(struct server *server, struct watch *watch, struct error *error)
{
	int result;

	server->watch = watch;
	result = loop_add(&watch->loop, web_host_descriptor(server->web), on_question, server,
			  error);
	if (result >= 0)
		result = loop_add(&watch->loop, jobs_descriptor(server->jobs), on_job_end, server,
				  error);
	if (result >= 0 && server->containers)
		result = loop_add(&watch->loop, container_names_descriptor(server->containers),
				  on_containers, server, error);
	if (result >= 0 && server->stalls)
		result = add_stalls(server, error);
	return result < 0 ? result : server_push_begin(server, error);
}

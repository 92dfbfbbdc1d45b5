// SPDX-License-Identifier: GPL-2.0-or-later
/* Several kinds of work, one after the other, each for its time. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/similar.h"
#include "load/work/alu.h"
#include "load/work/io_file.h"
#include "load/work_type.h"

#define UNITS	   1024
#define IO_BLOCKS  16
#define IO_REST_NS 100000ULL

struct sequence {
	char *phases;
};

static const struct param params[] = {
	PARAM(struct sequence, phases, TEXT, "spin:10ms+sleep:5ms+yield:2ms+io:2ms", 0, 0,
	      "spin, sleep, yield, io or alu, each with its duration"),
	{.name = NULL},
};

enum phase_kind {
	PHASE_SPIN,
	PHASE_SLEEP,
	PHASE_YIELD,
	PHASE_IO,
	PHASE_ALU,
	PHASE_KINDS,
};

static const char *const phase_names[PHASE_KINDS] = {"spin", "sleep", "yield", "io", "alu"};

struct phase {
	enum phase_kind kind;
	uint64_t ns;
};

struct phases {
	struct phase *items;
	size_t count, room;
	int fd;
};

static void phases_release(struct phases *phases)
{
	if (phases->fd >= 0)
		close(phases->fd);
	free(phases->items);
}

/* One phase, "spin:10ms". */
static int parse_phase(struct phase *phase, const char *text, struct error *error)
{
	struct similar similar = {.wanted = NULL};
	const char *colon = strchr(text, ':');
	char name[32] = "";

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(name))
		return error_set(error, EINVAL, "phases: '%s' is not a phase: use KIND:DURATION",
				 text);
	memcpy(name, text, (size_t)(colon - text));
	similar.wanted = name;
	for (phase->kind = 0; phase->kind < PHASE_KINDS; phase->kind++) {
		int result;

		if (similar_same(phase_names[phase->kind], name)) {
			result = duration_parse(colon + 1, &phase->ns, error);
			return result < 0 ? error_wrap(error, result, "phases: %s", name) : 0;
		}
		similar_try(&similar, phase_names[phase->kind]);
	}
	return similar_error(error, EINVAL, &similar, "; use spin, sleep, yield, io or alu",
			     "phases: unknown '%s'", name);
}

static int parse(struct phases *phases, const char *text, struct error *error)
{
	cleanup_free char *copy = strdup(text ? text : "");
	char *rest = copy, *word;
	int result;

	*phases = (struct phases){.fd = -1};
	while (copy && (word = strsep(&rest, "+"))) {
		result = array_reserve(&phases->items, &phases->room, phases->count + 1,
				       sizeof(*phases->items));
		if (result < 0)
			return error_set(error, ENOMEM, "out of memory");
		result = parse_phase(&phases->items[phases->count], word, error);
		if (result < 0)
			return result;
		phases->count++;
	}
	return copy ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int check(const void *params_, struct error *error)
{
	const struct sequence *sequence = params_;
	struct phases phases;
	int result = parse(&phases, sequence->phases, error);

	phases_release(&phases);
	return result;
}

static int begin(struct worker *worker)
{
	const struct sequence *sequence = worker->params;
	struct phases *phases = calloc(1, sizeof(*phases));
	struct error error = {""};
	int result = phases ? parse(phases, sequence->phases, &error) : -ENOMEM;

	worker->state = phases;
	if (result < 0) {
		worker_fail(worker, "%.150s", phases ? error.text : "out of memory");
		return result;
	}
	for (size_t i = 0; i < phases->count && phases->fd < 0; i++)
		if (phases->items[i].kind == PHASE_IO) {
			result = phases->fd = io_open_private(worker);
			if (result < 0)
				return result;
		}
	return 0;
}

/* The file is rewritten each time, so that there is something to allocate. */
static bool io_step(struct worker *worker, int fd)
{
	static const char block[IO_BLOCK];

	if (ftruncate(fd, 0) < 0) {
		io_failed(worker, "ftruncate");
		return !worker_stopping();
	}
	for (int i = 0; i < IO_BLOCKS && !worker_stopping(); i++) {
		ssize_t written = pwrite(fd, block, IO_BLOCK, (off_t)i * IO_BLOCK);

		if (written != IO_BLOCK) {
			errno = written < 0 ? errno : ENOSPC;
			io_failed(worker, "pwrite");
			return !worker_stopping();
		}
		worker->work_units++;
	}
	return worker_sleep(worker, IO_REST_NS);
}

static bool step(struct worker *worker, const struct phase *phase)
{
	const struct phases *phases = worker->state;
	uint64_t began_ns;

	switch (phase->kind) {
	case PHASE_SPIN:
		worker_spin(worker, UNITS);
		break;
	case PHASE_SLEEP:
		return worker_sleep(worker, phase->ns);
	case PHASE_YIELD:
		worker->work_units++;
		worker_yield(worker);
		break;
	case PHASE_IO:
		return io_step(worker, phases->fd);
	case PHASE_ALU:
		began_ns = clock_monotonic_ns();
		alu_chain(worker, UNITS);
		worker_sample(worker, SAMPLES_COST, clock_monotonic_ns() - began_ns);
		break;
	case PHASE_KINDS:
		break;
	}
	return !worker_stopping();
}

/* False: stopped. */
static bool run_phase(struct worker *worker, const struct phase *phase)
{
	uint64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + phase->ns;

	while (now_ns < until_ns) {
		if (!step(worker, phase))
			return false;
		now_ns = clock_monotonic_ns();
		worker_look(worker, now_ns);
	}
	return true;
}

static void iterate(struct worker *worker)
{
	const struct phases *phases = worker->state;

	for (size_t i = 0; i < phases->count && run_phase(worker, &phases->items[i]); i++)
		;
}

static void end(struct worker *worker)
{
	if (worker->state)
		phases_release(worker->state);
	free(worker->state);
}

const struct work_type work_sequence = {
	.name = "sequence",
	.summary = "several kinds of work in turn",
	.params = params,
	.params_bytes = sizeof(struct sequence),
	.flags = WORK_FILE,
	.check = check,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};

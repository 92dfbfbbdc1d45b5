/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One command in many guests: kernels x topologies x schedulers, and what each of them came to. */
#ifndef DWELL_MATRIX_MATRIX_H
#define DWELL_MATRIX_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"
#include "base/sha256.h"
#include "guest/shape.h"
#include "load/side.h"

#define MATRIX_NAME_BYTES  64
#define MATRIX_CELLS_MAX   10000
#define MATRIX_CELL	   "{cell}" /* in the command: the number of the cell, from 1 */
#define MATRIX_REPEATS_MAX 1000

/* In the order of how much they say about a scheduler: of repeated runs the last one is shown. */
enum matrix_verdict {
	MATRIX_PENDING, /* not run yet, or interrupted */
	MATRIX_SKIPPED, /* more CPUs than wanted */
	MATRIX_PASS,
	MATRIX_ERROR, /* could not be run, or the scheduler not be started */
	MATRIX_INCONCLUSIVE,
	MATRIX_FAIL, /* a check failed */
	MATRIX_DIED, /* the scheduler */
	MATRIX_VERDICTS,
};

extern const char *const matrix_verdicts[MATRIX_VERDICTS];

/* Texts, in an array that ends with NULL. All zeros is empty. */
struct matrix_words {
	char **items;
	size_t count, room;
};

struct matrix_topology {
	char *name; /* as it was written: a preset's name or the shape */
	struct shape shape;
};

/* What `dwell guest --result` reports; NULL and UINT64_MAX: nothing. */
struct matrix_guest {
	bool reported; /* anything at all */
	char *release, *accel;
	uint64_t boot_ns, wall_ns, exit;
	char *scheduler_state, *scheduler_reason;
	uint64_t scheduler_after_ns;
	double host_taken, host_lacked; /* shares, as its result has them; NAN: not known */
	char *dump; /* text of the kernel's, when it has ejected the scheduler */
};

/* What a cell that had failed came to when it was run once more, with a recording beside it. */
struct matrix_again {
	enum matrix_verdict verdict; /* MATRIX_PENDING: it was not run again */
	char *reason;		     /* of anything but a pass; may be NULL */
	uint64_t elapsed_ns;
	char *trace, *recording; /* files; NULL: none came back */
};

struct matrix_cell {
	size_t kernel, topology, scheduler; /* numbers in the lists of the matrix */
	unsigned int run;		    /* from 1 to `repeat` */
	enum matrix_verdict verdict;
	char *reason;		    /* of anything but a pass; may be NULL */
	struct matrix_words checks; /* that failed: name, text, name, text ... */
	uint64_t elapsed_ns;	    /* from the start of its process to the end */
	/* when the `dwell guest --matrix` that ran it began, since 1970; 0: not known */
	uint64_t session_ns;
	struct matrix_guest guest;
	struct load_side
		figures; /* of its load, one run; none where that did not come to its end */
	struct matrix_again again;
};

/*
 * Sums of what is in the files that the matrix names: of a cell whose files have changed the
 * verdict is no longer known.
 */
struct matrix_files {
	uint32_t *kernels, *schedulers; /* one for each of the lists */
	uint32_t others;		/* of the command and the options */
};

/* A file that the matrix names, so that what came of it can be tied to what is in it. */
struct matrix_input {
	const char *
		used_as; /* kernel, scheduler (also what its command line reads), command, option */
	char *file;	 /* as the matrix has it */
	char sha256[SHA256_TEXT];
};

/* A `dwell guest --matrix` that ran cells. Texts: "", where it is not known. */
struct matrix_session {
	uint64_t began_ns; /* as its cells have it */
	char dwell[32];	   /* version */
	char dwell_sha256[SHA256_TEXT];
	char cpu_model[96], kernel[128], architecture[32];
	uint32_t cpus; /* usable; 0: not known */
};

struct matrix {
	char name[MATRIX_NAME_BYTES];
	struct matrix_words kernels;
	struct matrix_words schedulers; /* "": the kernel's own */
	struct matrix_topology *topologies;
	size_t topology_count, topology_room;
	uint64_t memory_bytes; /* 0: by the number of CPUs */
	uint64_t timeout_ns;
	uint64_t session_ns; /* of cells that run from now on */
	unsigned int repeat;
	struct matrix_words command; /* without "dwell" */
	/* whether dwell has a command of that name, as command_check(); NULL: any is taken */
	int (*check_command)(const char *name, struct error *error);
	struct matrix_words options; /* of `dwell guest`, for every cell */
	struct matrix_files files;
	struct matrix_input *inputs; /* each once */
	size_t input_count, input_room;
	struct matrix_session *sessions; /* those that are recorded: matrix/sessions.h */
	size_t session_count, session_room;
	struct matrix_cell *cells; /* run by run of each, in the order of the lists */
	size_t cell_count;
};

#define cleanup_matrix cleanup(matrix_release)

void matrix_init(struct matrix *matrix);
void matrix_release(struct matrix *matrix);

int matrix_words_add(struct matrix_words *words, const char *text) must_check;
void matrix_words_release(struct matrix_words *words);

/* A topology by name or shape, or "all" (also "*") presets. The same one twice: -EINVAL. */
int matrix_add_topology(struct matrix *matrix, const char *text, struct error *error) must_check;

/*
 * Makes the cells of the lists, none of them run; those of more than `max_cpus` are skipped. Reads
 * the files.
 */
int matrix_expand(struct matrix *matrix, unsigned int max_cpus, struct error *error) must_check;

/* Fills in `files` and `inputs`: part of matrix_expand(). -ENOMEM. */
int matrix_read_files(struct matrix *matrix) must_check;

/* A kernel, or the program that a scheduler's line begins with, of `length` bytes; NULL: no file.
 */
const struct matrix_input *matrix_input_find(const struct matrix *matrix, const char *file,
					     size_t length);

/* Of a failure. */
static inline bool matrix_verdict_is_failure(enum matrix_verdict verdict)
{
	return verdict == MATRIX_FAIL || verdict == MATRIX_DIED;
}

/* Forgets what a cell came to. */
void matrix_cell_reset(struct matrix_cell *cell);

static inline unsigned int matrix_cell_cpus(const struct matrix *matrix,
					    const struct matrix_cell *cell)
{
	return shape_cpus(&matrix->topologies[cell->topology].shape);
}

/*
 * In the order in which cells are run, from 0 on: each run of all schedulers before the next one,
 * and in turn from the first to the last and back, so that what the host does meanwhile meets all
 * alike.
 */
struct matrix_cell *matrix_cell_to_run(const struct matrix *matrix, size_t position);

/*
 * Which of `shards` parts a cell is of, from 0 on. All schedulers of a run are of one: what is
 * compared has run on one machine.
 */
size_t matrix_cell_shard(const struct matrix *matrix, const struct matrix_cell *cell,
			 size_t shards);

/* Of the guest. */
uint64_t matrix_cell_memory(const struct matrix *matrix, const struct matrix_cell *cell);

/* The command line that runs the cell: "guest", options, "--", the command. */
int matrix_cell_words(const struct matrix *matrix, const struct matrix_cell *cell,
		      struct matrix_words *ret_words) must_check;

/* The same to be given to a shell, with "dwell" before it. */
int matrix_cell_command(struct output *out, const struct matrix *matrix,
			const struct matrix_cell *cell) must_check;

/* "bzImage, smt-2llc, scx_simple, run 2": kernel and run where there are several. */
void matrix_cell_title(char *into, size_t room, const struct matrix *matrix,
		       const struct matrix_cell *cell);

/* How its second run ended, and its files: "passed when repeated; recording: a.dwell". "": not run.
 */
void matrix_again_format(char *into, size_t room, const struct matrix_again *again);

/* For tables: without directories, where names still differ; "none" of no scheduler. */
const char *matrix_scheduler_name(const struct matrix *matrix, size_t number);
const char *matrix_kernel_name(const struct matrix *matrix, size_t number);

/* How many cells have each verdict. */
void matrix_count(const struct matrix *matrix, size_t into[MATRIX_VERDICTS]);

#endif

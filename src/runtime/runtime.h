/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an async runtime looks like from outside: how its functions that poll tasks are called, what
 * its worker threads are. One file each, ending in one `const struct runtime_ops`.
 */
#ifndef DWELL_RUNTIME_RUNTIME_H
#define DWELL_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/stacks.h"
#include "symbol/span_marks.h"

/* What a function polls. */
enum runtime_polls {
	POLLS_TASKS,
	POLLS_POOL_CLOSURES,
	POLLS_WORKERS,	/* what worker threads live in */
	POLLS_CLOSURES, /* one of the last two */
	POLLS_COUNT,
};

struct runtime_probe {
	char *path;	 /* of the file, as we can open it; owned */
	uint64_t offset; /* of the function in the file */
	enum runtime_polls polls;
	char *type;   /* of the task, as its source names it; NULL: not known; owned */
	char *place;  /* where the type is not known: `program+0x1230`; else NULL; owned */
	bool is_task; /* POLLS_TASKS, for certain, though the type is not known */
};

#define RUNTIME_LIBRARIES     8
#define RUNTIME_LIBRARY_BYTES 256

/* All zeros is empty. */
struct runtime_plan {
	const struct runtime_ops *runtime;
	struct runtime_probe *probes;
	size_t count, room;
	bool turns; /* its workers have turns of an event loop, or, with probes, others have */
	bool turns_rotate; /* a loop may be another thread's with each of them */
	/*
	 * It is in these files, as the kernel prints their paths, and not in the program: whose own
	 * threads may be loops, too.
	 */
	char libraries[RUNTIME_LIBRARIES][RUNTIME_LIBRARY_BYTES];
	size_t library_count;
	char why[256]; /* it was chosen */
};

struct runtime_ops {
	const char *name;
	const char *summary;
	struct span_marks marks;
	bool reads_files; /* of the process: find() is called in a helper (base/helper.h) */
	/*
	 * Looks for the runtime in a process; `symbols`: a file with the symbols of its program,
	 * NULL = none. 1: it is there, and the plan is filled; 0: it is not, and plan->why says;
	 * or a negative errno.
	 */
	int (*find)(struct runtime_plan *plan, uint32_t pid, const char *symbols,
		    struct error *error);
};

/* The more specific first. */
#define RUNTIMES(X) X(tokio) X(jvm) X(loop)

#define X(name)	    extern const struct runtime_ops runtime_##name;
RUNTIMES(X)
#undef X

/* For messages and help. */
#define AND_RUNTIME(name) ", " #name
#define RUNTIME_CHOICES	  "auto" RUNTIMES(AND_RUNTIME)

/* Of the runtimes that have tasks: Tokio. */
const struct stack_marks *runtime_stack_marks(void);

/*
 * Packages, as the first part of a name, that are a runtime's own: tasks and event loops, and what
 * only passes on between them and the program. Ends with NULL.
 */
extern const char *const runtime_packages[];

extern const struct runtime_ops *const runtimes[];
extern const size_t runtime_count;

/*
 * Whether the process has a runtime whose threads are no workers, so that none of them is to blame:
 * -EOPNOTSUPP, and *error says which and what else to do. 0: it has none.
 */
int runtime_refuse(uint32_t pid, struct error *error) must_check;

/* The same of a 32-bit program, of which nothing can be found. */
int runtime_refuse_32_bit(uint32_t pid, struct error *error) must_check;

/* NULL: there is none of that name. */
const struct runtime_ops *runtime_find(const char *name);

/*
 * Of one runtime, or NULL: the first that is there. The files of the process are read by a helper,
 * and what it says of them is checked: probes are in files that the process has mapped. Errors say
 * what was looked for, and what the process has instead.
 */
int runtime_plan_make(struct runtime_plan *plan, const struct runtime_ops *runtime, uint32_t pid,
		      const char *symbols, struct error *error);

/* Takes the strings over. 0 or -ENOMEM. */
int runtime_plan_add(struct runtime_plan *plan, struct runtime_probe probe);

void runtime_plan_release(struct runtime_plan *plan);

#endif

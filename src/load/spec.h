/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to run, as a person wrote it: cgroups with work in them, phases with ops, checks. From YAML
 * (spec_yaml.h), from the command line, or from a built-in scenario.
 *
 * Everything a spec says is checked when it is read (names, ranges) or planned (plan.h: what the
 * machine has), before a process is forked.
 */
#ifndef DWELL_LOAD_SPEC_H
#define DWELL_LOAD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "load/work_type.h"

#define SPEC_NAME_BYTES	 64
#define SPEC_MAX_WORKERS 100000

/* Where in a file, for messages about it; 0: not from a file. */
struct spec_place {
	unsigned int line, column;
};

enum affinity_kind {
	AFFINITY_INHERIT,
	AFFINITY_CPUS,	       /* a set, as of a cpuset */
	AFFINITY_RANDOM,       /* `count` CPUs of a set, drawn for each worker */
	AFFINITY_SINGLE,       /* the first CPU of the cpuset */
	AFFINITY_LLC,	       /* the cache that shares most CPUs with the cpuset */
	AFFINITY_CROSS_CGROUP, /* all CPUs, in any cpuset; the kernel clamps */
	AFFINITY_SMT_PAIR,     /* pairs of workers on the two threads of a core */
	AFFINITY_SPREAD,       /* worker i on the ith CPU of the set, and round again */
};

struct spec_affinity {
	enum affinity_kind kind;
	char *cpus;	    /* CPUS, RANDOM, SPREAD; NULL: those of the cpuset */
	unsigned int count; /* RANDOM; 0: half */
};

enum policy_kind {
	POLICY_NORMAL, /* no system call: inherited */
	POLICY_BATCH,
	POLICY_IDLE,
	POLICY_FIFO,
	POLICY_RR,
	POLICY_DEADLINE,
	POLICY_EXT,
};

struct spec_policy {
	enum policy_kind kind;
	unsigned int priority;			     /* FIFO, RR: 1 to 99 */
	uint64_t runtime_ns, deadline_ns, period_ns; /* DEADLINE */
};

struct spec_memory {
	bool given;
	int mode;  /* MPOL_… */
	int flags; /* MPOL_F_… */
	uint64_t nodes;
};

/* One group: workers of one type. */
struct spec_work {
	const struct work_type *type;
	void *params;	      /* of type->params; owned */
	unsigned int workers; /* 0: one team */
	struct spec_affinity affinity;
	struct spec_policy policy;
	struct spec_memory memory;
	bool nice_given; /* 0 is a system call too */
	int nice;
	bool threads; /* `mode: thread`: one process, its threads are the workers */
	struct spec_place place;
};

struct spec_works {
	struct spec_work *items;
	size_t count, room;
};

/* Files of a cgroup that may be written; NULL: left alone. */
enum spec_limit {
	LIMIT_CPU_WEIGHT,
	LIMIT_CPU_MAX,
	LIMIT_MEMORY_MAX,
	LIMIT_MEMORY_HIGH,
	LIMIT_MEMORY_LOW,
	LIMIT_MEMORY_SWAP_MAX,
	LIMIT_IO_WEIGHT,
	LIMIT_PIDS_MAX,
	LIMIT_CPUSET_MEMS,
	SPEC_LIMITS,
};

struct spec_limits {
	char *values[SPEC_LIMITS]; /* as the kernel wants them written; owned */
};

struct spec_cgroup {
	char name[SPEC_NAME_BYTES]; /* with slashes where nested; "" : none, where we are */
	char *cpuset;		    /* NULL: not limited */
	struct spec_place cpuset_place;
	struct spec_limits limits;
	struct spec_works works;
	struct spec_place place;
};

struct spec_cgroups {
	struct spec_cgroup *items;
	size_t count, room;
};

enum op_kind {
	OP_ADD_CGROUP,
	OP_REMOVE_CGROUP,
	OP_SET_CPUSET,
	OP_CLEAR_CPUSET,
	OP_SWAP_CPUSETS,
	OP_SET_LIMITS,
	OP_SPAWN,
	OP_STOP_GROUP,
	OP_SET_AFFINITY,
	OP_MOVE_TASKS,
	OP_FREEZE,
	OP_THAW,
	OP_START_SCHEDULER,
	OP_STOP_SCHEDULER,
	OP_REPLACE_SCHEDULER,
	OP_KINDS,
};

extern const char *const op_names[OP_KINDS]; /* as in a spec */

struct spec_op {
	enum op_kind kind;
	struct spec_place place;
	/* add-cgroup, spawn (its works), set-cpuset (its cpuset), set-limits (its limits), and the
	 * name for all that act on one cgroup */
	struct spec_cgroup cgroup;
	char other[SPEC_NAME_BYTES]; /* swap-cpusets, move-tasks: the second one */
	struct spec_affinity affinity;
	char *command; /* start-scheduler, replace-scheduler */
};

enum hold_kind {
	HOLD_TIME,
	HOLD_SHARE, /* of the whole duration */
};

struct spec_phase {
	struct spec_op *ops;
	size_t op_count, op_room;
	enum hold_kind hold;
	uint64_t hold_ns;
	double share;
	uint64_t loop_ns; /* while holding, the ops are repeated this often; 0: done once */
	struct spec_place place;
};

struct spec_phases {
	struct spec_phase *items;
	size_t count, room;
};

/* Limits that a run must keep; a NAN or false: not asked for. */
struct spec_checks {
	bool not_starved, isolation, settings;
	double max_gap_ns;
	double max_spread; /* of off-CPU shares, as a share */
	double wake_p99_ns;
	double wake_cv;
	double min_iteration_rate;
	double max_migration_ratio;
	double throughput_cv;
	double min_work_rate;
	double numa_locality;
};

struct spec {
	char name[SPEC_NAME_BYTES];
	char *description;
	uint64_t duration_ns;
	uint64_t seed;
	bool seed_given;
	struct spec_cgroups cgroups;
	struct spec_phases phases;
	struct spec_checks checks;
	char *file;   /* its name, for messages; NULL: none */
	char *source; /* the text it was read from, to be kept with the results; NULL: none */
};

void spec_init(struct spec *spec); /* 5 s, nothing to run, no checks */
void spec_release(struct spec *spec);

/* How long a phase holds; and how long it all takes: with phases, as long as they hold. */
uint64_t spec_hold_ns(const struct spec *spec, const struct spec_phase *phase);
uint64_t spec_length_ns(const struct spec *spec);

/* Whether any of it is to run in a cgroup of its own. */
bool spec_needs_cgroups(const struct spec *spec);

/* New zeroed ones at the end of a list; NULL without memory. */
struct spec_cgroup *spec_add_cgroup(struct spec_cgroups *cgroups);
struct spec_work *spec_add_work(struct spec_works *works);
struct spec_phase *spec_add_phase(struct spec_phases *phases);
struct spec_op *spec_add_op(struct spec_phase *phase);

/* The type and, behind a colon, its parameters: "futex-ping-pong:spin_iters=256". */
int spec_parse_work(struct spec_work *work, const char *text, struct error *error) must_check;

/* One parameter of its type; an unknown name is answered with a guess. */
int spec_set_param(struct spec_work *work, const char *name, const char *text,
		   struct error *error) must_check;

/*
 * "inherit", "single", "llc", "cross-cgroup", "smt-pair", "spread[:CPUS]", "random[:N[:CPUS]]",
 * "cpus:CPUS", or CPUs as for a cpuset.
 */
int spec_parse_affinity(struct spec_affinity *affinity, const char *text,
			struct error *error) must_check;
/* "normal", "batch", "idle", "fifo:10", "rr:10", "deadline:1ms/5ms/10ms", "ext" */
int spec_parse_policy(struct spec_policy *policy, const char *text, struct error *error) must_check;
void spec_format_policy(char *into, size_t room, const struct spec_policy *policy);

/* "move-tasks a b"; of a scheduler without its command. */
void spec_format_op(char *into, size_t room, const struct spec_op *op);

/* One limit by the name of its key (cpu_max); its value in the words of a spec (50%). */
int spec_parse_limit(struct spec_limits *limits, const char *name, const char *text,
		     struct error *error) must_check;

bool spec_is_limit(const char *name);

struct limit_info {
	const char *key;	/* in a spec */
	const char *file;	/* in a cgroup */
	const char *controller; /* that must be enabled for it */
};

extern const struct limit_info limit_info[SPEC_LIMITS];

/* One check by the name of its key. */
int spec_parse_check(struct spec_checks *checks, const char *name, const char *text,
		     struct error *error) must_check;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Because of whom threads waited: the shares of WIRE_BLAME, completed, so that for each thread and
 * state they add up to the state's time in the interval.
 */
#ifndef DWELL_MODEL_BLAME_H
#define DWELL_MODEL_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/wire.h"
#include "model/interval.h"

/* A thread, or with tid 0 a process, or with pid 0 too a cgroup, a group or a name. */
struct blame_party {
	uint32_t tid, pid;
	uint32_t start;	    /* of a thread, as in struct wire_culprit: ids are used again */
	uint64_t cgroup_id; /* 0: not known */
	uint32_t group;	    /* model/blame_workers.h, + 1; 0: none */
	char comm[17];	    /* any bytes but NUL */
	char process[17];
};

/* Who ran instead of a culprit: model/blame_thieves.h. */
struct blame_thief {
	struct blame_party party;
	uint64_t least_ns; /* of total_ns, at least; 0: not known */
};

/*
 * What one victim lost in one state because of one culprit. A busy machine has 50,000 an interval:
 * who counts them reads no more than the first of it.
 */
struct blame {
	enum state state;
	enum wire_culprit_kind kind;
	bool goes_on;			 /* the wait has not ended: WIRE_CULPRIT_UNKNOWN */
	bool is_targets;		 /* of WIRE_SESSION_CAUSED: the culprit is a target */
	bool has_meanwhile;		 /* what the culprit did is known: */
	struct wire_wait_site meanwhile; /* state and reason */
	uint64_t count;			 /* waits that have ended */
	uint64_t total_ns;		 /* in the interval */
	uint64_t earlier_ns;		 /* of the same waits, before it: what was not known then */
	struct blame_party victim;
	struct blame_party culprit; /* a thread, the cgroup of a limit, a disk */
	struct blame_thief thief;   /* where that is runnable */
	struct blame_party holder;  /* of one for a lock: who has it now; tid 0: not known */
};

/* As JSON has it, "thread". */
const char *culprit_key(enum wire_culprit_kind kind);

/* Time in it is lost: the thread wanted, or needed, something else. Not idle, asleep or stopped. */
bool state_is_lost(enum state state);

/*
 * Waits for another program, perhaps of another machine. They are lost only where that one was held
 * up itself.
 */
static inline bool state_has_partner(enum state state)
{
	return state == STATE_IPC || state == STATE_NET;
}

/* Where the threads of an interval are among its rows. */
struct blame_places {
	struct blame_place {
		uint32_t tid; /* 0: none is here */
		uint32_t row;
	} * items;    /* from where its tid's hash leads; never full */
	size_t count; /* a power of two */
	uint64_t key; /* hash_secret() */
};

/* A thread, and its blame: `count` items from `first` on. */
struct blame_victim {
	uint32_t tid, start;
	size_t first, count;
};

/* A WIRE_BLAME that has come, and whose it is. */
struct blame_record {
	uint64_t origin_ns, time_ns;
	uint32_t tid;
	size_t at; /* of `bytes` */
};

/* What an interval's records say, until it ends. All zeros is empty. */
struct blames {
	struct blame_record *records;
	size_t record_count, record_room;
	uint8_t *bytes; /* of the records, one behind the other, aligned */
	size_t used, byte_room;
	struct wire_holder *holders;
	size_t holder_count, holder_room;
	struct wire_member *members; /* when it ends, by pid */
	size_t member_count, member_room;
	struct blame *items;
	size_t count, room;
	/* of the interval's threads, kept for the next one: rows are too large to look up a name */
	struct blame_places places;
	struct blame_party *parties;  /* of each row */
	struct blame_victim *victims; /* those that have any, in the order of the rows */
	size_t *thefts; /* numbers of items that may have a thief: blame_thieves_may() */
	size_t party_room, victim_room, theft_room, theft_count;
	bool only_lost; /* of states that are lost alone, and not sorted: half of the time */
};

/* Copies the record, a WIRE_BLAME, WIRE_HOLDER or WIRE_MEMBER. 0, -ENOMEM, or -EBADMSG. */
int blames_feed(struct blames *blames, const struct wire_header *record) must_check;

/*
 * Sets the interval's blame, of its rows, which are threads, and forgets what lies before its end:
 * largest shares first, or, with only_lost, victim by victim. States that are not lost, and of
 * which no culprit is known, have none. 0 or -ENOMEM.
 */
int blames_close(struct blames *blames, struct interval *interval) must_check;

void blames_restart(struct blames *blames);
void blames_release(struct blames *blames);

/* Sorts by time, the most first. */
void blames_sort(struct blame *blames, size_t count);

/* The victim itself: after it was summed up with others. */
static inline bool blame_is_own(const struct blame *blame)
{
	return blame->kind == WIRE_CULPRIT_THREAD && blame->culprit.tid == blame->victim.tid &&
	       blame->culprit.start == blame->victim.start &&
	       blame->culprit.pid == blame->victim.pid &&
	       blame->culprit.group == blame->victim.group &&
	       !strcmp(blame->culprit.comm, blame->victim.comm) &&
	       (blame->victim.pid || blame->victim.group ||
		(blame->victim.cgroup_id && blame->culprit.cgroup_id == blame->victim.cgroup_id));
}

#endif

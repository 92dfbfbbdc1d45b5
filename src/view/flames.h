/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as a tree of calls, in which a flame graph is drawn. Pure. */
#ifndef DWELL_VIEW_FLAMES_H
#define DWELL_VIEW_FLAMES_H

#include "base/identities.h"
#include "view/profile.h"
#include "view/profile_export.h"

enum flame_kind {
	FLAME_ALL, /* what the tree begins with */
	FLAME_STATE,
	FLAME_THREAD,
	FLAME_FUNCTION,
	FLAME_NO_STACK,
};

#define FLAME_NONE SIZE_MAX

struct flame {
	enum flame_kind kind;
	uint32_t frame;	       /* FLAME_FUNCTION: one of them */
	uint32_t thread;       /* FLAME_THREAD: its place among the threads */
	enum state state;      /* FLAME_STATE: that; else in which most of it was spent */
	size_t parent;	       /* FLAME_NONE: of the first */
	size_t child, sibling; /* the largest first; FLAME_NONE: there is none */
	uint32_t depth;	       /* 0: the first */
	uint64_t count;	       /* stacks */
	uint64_t shared;       /* of them, counted in a second state too, until it is made */
	double ns, self_ns;
	double states_ns[STATES];
	uint64_t key; /* the same for the same way from the root, in every tree */
};

/* Which part of a profile, and how. */
struct flame_choice {
	struct profile_choice time;
	enum profile_root root;
	bool inverted;	/* from the innermost function outwards: who calls it */
	bool has_focus; /* only calls of this, from it on: */
	uint64_t focus; /* profile_name_key() */
	enum profile_grouping focus_by;
};

/* All zeros is empty. */
struct flames {
	struct flame *items; /* the first is the root */
	size_t count, room;
	struct identities keys; /* (0, key) */
	uint32_t depth;		/* the largest */
};

/* 0 or -ENOMEM, and then it is empty. */
int flames_make(struct flames *flames, const struct profile_result *result,
		const struct flame_choice *choice) must_check;

/* FLAME_NONE: there is none. */
size_t flames_find(const struct flames *flames, uint64_t key);

void flames_release(struct flames *flames);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept beside a thread's account while blame is asked for: blame.bpf.h. */
#ifndef DWELL_BPF_BLAME_BANK_H
#define DWELL_BPF_BLAME_BANK_H

#include "bpf/wire.h"

/* As many as struct blamed_account has room for: account.bpf.h. */
#define BLAME_CULPRITS 12

/* Of each kind of span; a power of two. */
#define BLAME_SPANS 8
/* Spans this long take in nothing more. */
#define BLAME_RECENT_NS 4000000ULL
#define BLAME_OLDER_NS	64000000ULL

/* Sites, struct wire_wait_site as a number, that say no more than the state. */
#define BLAME_ON_CPU   (0xffff0000U | WIRE_ON_CPU)
#define BLAME_RUNNABLE (0xffff0000U | WIRE_RUNNABLE)

#define BLAME_SITES    2
/* In blame_span.ns: all that the others do not have. One of them has that. */
#define BLAME_THE_REST (~0U)

/* How long a thread was on a CPU, runnable, and at two sites (0: none), up to the next span. */
struct blame_span {
	__u64 begin_ns;
	__u32 site[BLAME_SITES];
	__u32 ns[2 + BLAME_SITES];
};

/* The last wait for a lock that has ended. */
struct blame_handed {
	__u64 until_ns;
	__u32 lock; /* as in struct blame */
	__u16 gaps; /* here for want of room: those in blame.polled, >> 16, ns */
	__u8 most;  /* of the wait that is being charged: place + 1 of the largest part so far */
	/* here, too: how often room is not looked for among the shares, as there was none */
	__u8 crowded;
};

struct blame {
	__u64 frozen_ns;  /* the snapshot instant that the shares follow */
	__u64 charged_ns; /* waits have been charged up to here */
	__u64 waking_ns;  /* the present wait was ended then, */
	__u16 waking_cpu; /* from that CPU, + 1; 0: it goes on, or is accounted for */
	__u8 again[2];	  /* culprits that were charged last: of a wait, of one for a CPU */
	__u8 count;	  /* of culprits */
	__u8 limit;	  /* limit_reached() of the last wait that had one */
	__u8 recent_at;	  /* the last span, modulo BLAME_SPANS */
	__u8 older_at;
	__u8 last;	    /* culprit that ended the last wait, + 1; 0: none */
	__u8 polled_beside; /* waits since then that is_beside_poll() has left out */
	__u16 polled_delay; /* >> 16, ns: from waking_ns until it had a CPU, if blame.polled */
	__u32 woken_ran;    /* >> 10, ns: CPU time that the thread had had at waking_ns */
	__u32 polled_lock;  /* of blame.polled, as `lock` */
	__u32 folded;	    /* as in struct wire_blame */
	__u32 refused_ns;   /* folded because it was less than the smallest share, since one was */
	__u32 lost_ns;	    /* folded because it was next to nothing */
	__u32 lock;	    /* of the present wait, or the last one: lock_number(); 0: not known */
	__u32 most;	    /* length of handed.most, >> 10, ns */
	/* of waits for a lock that a timer has ended, and that are not charged: blame_polls() */
	__u32 polled;	   /* length of all of them, >> 10, ns; the last one ended at waking_ns */
	__u32 polled_from; /* where on its stack the thread waited, and for which lock: poll_place()
			    */
	struct blame_handed handed;
	struct blame_span recent[BLAME_SPANS];
	struct blame_span older[BLAME_SPANS]; /* before those, several in one */
	struct wire_culprit culprits[BLAME_CULPRITS];
};

#endif

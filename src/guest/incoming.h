/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest sends, on the host: passed on, written, or kept for the judge. Nothing of it is
 * believed further than that: a guest may be broken, and what runs in it may have broken it.
 */
#ifndef DWELL_GUEST_INCOMING_H
#define DWELL_GUEST_INCOMING_H

#include "guest/boot.h"

#define INCOMING_LINES	  2 /* QEMU_SERIAL, QEMU_PORT */
#define INCOMING_DUMP_MAX (64 << 20)

struct incoming {
	const struct boot_options *options;
	struct boot_result *result;
	struct frame_reader readers[INCOMING_LINES];
	int fds[2]; /* where the command's output and errors go */
	int line;   /* the one that init uses; -1: not known yet */
	/* signals are taken even while its output is not read; signals: -1: none */
	int signals;
	int (*on_signal)(void *data, struct error *error);
	void *data;
	uint64_t give_up_ns;	     /* a reader of its output is not awaited longer; 0: for ever */
	uint64_t started_ns;	     /* the guest; set by the caller */
	uint64_t heard_ns, ended_ns; /* the last frame; the command's end */
	uint64_t returned_ns;	     /* the last frame of a file or a dump */
	char failed[sizeof(((struct error *)0)->text)]; /* what init says; "": nothing */
	struct file_draft dump;
	uint64_t dump_bytes;
	struct receiving receiving;
	struct error file_error; /* of the first file that could not come back */
};

/* Bytes of a line. Fails if the reader of the command's output is gone. */
int incoming_take(struct incoming *incoming, int line, const char *bytes, size_t length,
		  struct error *error) must_check;

/* Nothing more comes. */
void incoming_end(struct incoming *incoming);

#endif

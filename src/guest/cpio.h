/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes an initramfs: a cpio archive in the "newc" format
 * (Documentation/driver-api/early-userspace/ buffer-format.rst), as the kernel unpacks it.
 */
#ifndef DWELL_GUEST_CPIO_H
#define DWELL_GUEST_CPIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/output.h"

struct cpio {
	struct output *out; /* not owned */
	uint64_t bytes;	    /* written so far: members are aligned by it */
	uint32_t inode;
	char **directories; /* that are there already; owned */
	size_t directory_count, directory_room;
};

/* Names are paths without a leading slash. The directories above are made where they are missing.
 */
int cpio_add_bytes(struct cpio *cpio, const char *name, mode_t mode, const void *bytes,
		   size_t length, struct error *error) must_check;
int cpio_add_file(struct cpio *cpio, const char *name, const char *path,
		  struct error *error) must_check;
int cpio_add_directory(struct cpio *cpio, const char *name, struct error *error) must_check;
/* A character device. */
int cpio_add_device(struct cpio *cpio, const char *name, unsigned int major, unsigned int minor,
		    struct error *error) must_check;

/* The last member. Write errors are the output's. */
void cpio_end(struct cpio *cpio);
void cpio_release(struct cpio *cpio);

#endif

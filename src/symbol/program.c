// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/program.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/opener.h"

bool program_is_32_bit(uint32_t pid)
{
	char path[OPENER_PATH_BYTES], identity[EI_NIDENT];
	cleanup_close int fd = opener_program(pid, path);

	return fd >= 0 && pread(fd, identity, sizeof(identity), 0) == sizeof(identity) &&
	       !memcmp(identity, ELFMAG, SELFMAG) && identity[EI_CLASS] == ELFCLASS32;
}

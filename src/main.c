// SPDX-License-Identifier: GPL-2.0-or-later
#include <malloc.h>

#include "command/command.h"

int main(int argc, char **argv)
{
	/*
	 * By default glibc raises the first threshold to what was freed last. Arrays of 10,000
	 * rows would then grow by copies on the heap and leave their old places resident: 41 MiB
	 * instead of 31. Small ones stay on the heap, whose end is not given back each interval.
	 */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	return command_main(argc, argv);
}

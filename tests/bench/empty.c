// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches the empty programs and waits for a signal. */
#include <stdio.h>
#include <unistd.h>

#include "empty.skel.h"

int main(void)
{
	struct empty_bpf *bpf = empty_bpf__open_and_load();

	if (!bpf || empty_bpf__attach(bpf) < 0) {
		fputs("empty: cannot attach\n", stderr);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/wait_status.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void wait_status_format(char into[WAIT_STATUS_BYTES], int status)
{
	if (WIFSIGNALED(status))
		snprintf(into, WAIT_STATUS_BYTES, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(into, WAIT_STATUS_BYTES, "exited with status %d", WEXITSTATUS(status));
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"

static const struct {
	int code;
	int resource;
	const char *option; /* of the shell's ulimit */
	unsigned int unit;
	const char *of, *fix;
} known[] = {
	{EFBIG, RLIMIT_FSIZE, "-f", 1024, " KiB", "raise the limit of file sizes (ulimit -f)"},
	{EMFILE, RLIMIT_NOFILE, "-n", 1, "", "raise the limit of open files (ulimit -n)"},
};

static void go_on(int signal)
{
	(void)signal;
}

void limits_outlive(void)
{
	/* by a handler, which programs that dwell starts do not inherit as they would SIG_IGN */
	const struct sigaction handled = {.sa_handler = go_on, .sa_flags = SA_RESTART};
	struct sigaction before;

	if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &handled, NULL);
}

const char *limits_strerror(int code)
{
	static _Thread_local char text[128];
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].code != code || getrlimit(known[i].resource, &limit) < 0 ||
		    limit.rlim_cur == RLIM_INFINITY)
			continue;
		snprintf(text, sizeof(text), "%s: the limit is %llu%s (ulimit %s)", strerror(code),
			 (unsigned long long)limit.rlim_cur / known[i].unit, known[i].of,
			 known[i].option);
		return text;
	}
	return strerror(code);
}

const char *limits_fix(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].fix;
	return "";
}

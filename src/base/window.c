// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/window.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_COLUMNS 80

unsigned int window_columns(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

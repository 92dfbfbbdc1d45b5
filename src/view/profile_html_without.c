// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without the page (-Dpage=disabled): command/profile_options.c refuses to write it. */
#include <errno.h>

#include "view/profile_export.h"

int profile_write_html(struct output *out, const struct profile_result *result,
		       enum profile_root root)
{
	(void)out;
	(void)result;
	(void)root;
	return -ENOTSUP;
}

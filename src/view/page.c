// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/page.h"

void page_write_data(struct output *out, const struct output *data)
{
	size_t begin = 0;

	for (size_t i = 0; i < data->used; i++) {
		if (data->buffer[i] != '<')
			continue;
		output_bytes(out, data->buffer + begin, i - begin);
		output_string(out, "\\u003c");
		begin = i + 1;
	}
	output_bytes(out, data->buffer + begin, data->used - begin);
}

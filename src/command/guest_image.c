// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_image.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "command/outputs.h"
#include "guest/image.h"

#define UNPACKING_BYTES (128 << 20) /* what a kernel and a command need besides their files */

int guest_image_make(struct guest_options *options, char **command, struct pulled_files *pulled,
		     struct error *error)
{
	struct image_options image = {.program = options->program,
				      .sysroot = options->sysroot,
				      .arguments = command,
				      .files = options->files,
				      .scheduler = options->scheduler,
				      .repro = options->repro,
				      .recording = options->recording,
				      .kernel = options->boot.qemu.kernel,
				      .modules = options->modules,
				      .pulled = pulled};
	char directory[PATH_MAX];
	uint64_t bytes;
	int result;

	if (!getcwd(directory, sizeof(directory)))
		return error_set(error, errno, "the working directory: %s", strerror(errno));
	result = outputs_add(pulled, directory, command);
	if (result >= 0 && options->recording)
		result = pulled_files_add(pulled, directory, options->recording, false);
	for (size_t i = 0; result >= 0 && i < options->return_count; i++)
		result = pulled_files_add(pulled, directory, options->pulled[i], true);
	if (result < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = image_make(&image, &options->boot.qemu.image_fd, &bytes, error);
	/* unpacked, it is there twice for a while */
	if (result >= 0 && bytes * 2 + UNPACKING_BYTES > options->boot.qemu.memory_bytes)
		result = error_set(error, ENOMEM,
				   "the guest's files take %llu MiB, too much for its memory: more "
				   "by --memory",
				   (unsigned long long)(bytes >> 20));
	return result;
}

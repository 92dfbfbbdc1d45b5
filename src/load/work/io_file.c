// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_DIRECT */
#include "load/work/io_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/file.h"

#define STRIPES		 64
#define STRIPE_BYTES_MIN (64ULL << 10)
#define BYTES_MIN	 (2 * STRIPE_BYTES_MIN)
#define SECTOR		 512
#define FILL_BYTES	 (256ULL << 10)
#define RETRY_NS	 10000000ULL

struct io_file {
	int fd;
	uint64_t bytes;
	uint64_t base, extent, cursor; /* the stripe, and where in it the next write goes */
	unsigned int align;	       /* of offsets, as far as O_DIRECT cares */
	char *block;
};

const struct param io_params[] = {
	PARAM(struct io_params, path, TEXT, NULL, 0, 0,
	      "a file or block device, which writing overwrites; without, a private file"),
	PARAM(struct io_params, size, SIZE, "16M", BYTES_MIN, 1ULL << 40, "of the private file"),
	{.name = NULL},
};

static int check(const char *path, bool writes, struct error *error)
{
	cleanup_close int fd = -1;
	struct stat status;

	if (!path)
		return 0;
	if (stat(path, &status) < 0)
		return error_set(error, errno, "path: %s: %s", path, strerror(errno));
	if (S_ISREG(status.st_mode))
		return (uint64_t)status.st_size >= BYTES_MIN
			       ? 0
			       : error_set(error, EINVAL, "path: %s is too small; at least %lluK",
					   path, BYTES_MIN / 1024);
	if (!S_ISBLK(status.st_mode))
		return error_set(error, EINVAL, "path: %s is neither a file nor a block device",
				 path);
	if (!writes)
		return 0;
	/* what is mounted, or part of something else, cannot be had for oneself */
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	return fd < 0 && errno == EBUSY
		       ? error_set(error, EBUSY, "path: %s is in use, and would be overwritten",
				   path)
		       : 0;
}

int io_check_read(const void *params, struct error *error)
{
	return check(((const struct io_params *)params)->path, false, error);
}

int io_check_write(const void *params, struct error *error)
{
	return check(((const struct io_params *)params)->path, true, error);
}

int io_open_private(struct worker *worker)
{
	int fd = file_unnamed(worker->scratch->directory, ".");

	if (fd < 0)
		worker_fail(worker, "cannot make a file in %s: %s", worker->scratch->path,
			    strerror(-fd));
	return fd;
}

void io_failed(struct worker *worker, const char *what)
{
	worker_note(worker, "%s: %s", what, strerror(errno));
	worker_rest(worker, RETRY_NS);
}

static bool write_block(struct worker *worker, struct io_file *file, const char *block,
			uint64_t bytes, uint64_t at)
{
	ssize_t written = pwrite(file->fd, block, bytes, (off_t)at);

	if (written == (ssize_t)bytes)
		return true;
	if (written >= 0)
		errno = ENOSPC; /* what fitted was written */
	io_failed(worker, "pwrite");
	return false;
}

/* Reads of holes never reach a disk, and first writes are more than writes. */
static void fill(struct worker *worker, struct io_file *file, uint64_t from, uint64_t bytes)
{
	cleanup_free void *block = NULL;

	if (posix_memalign(&block, IO_BLOCK, FILL_BYTES) != 0)
		return;
	memset(block, 'd', FILL_BYTES);
	for (uint64_t done = 0; done < bytes && !worker_stopping(); done += FILL_BYTES)
		if (!write_block(worker, file, block,
				 bytes - done < FILL_BYTES ? bytes - done : FILL_BYTES,
				 from + done))
			return;
	/* not to be done while the others work */
	fdatasync(file->fd);
}

static int open_path(struct worker *worker, struct io_file *file, const char *path,
		     unsigned int use)
{
	struct stat status;

	file->fd = open(path, (use & IO_WRITES ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (file->fd >= 0 && !fstat(file->fd, &status)) {
		file->bytes = (uint64_t)status.st_size;
		if (!S_ISBLK(status.st_mode) || !ioctl(file->fd, BLKGETSIZE64, &file->bytes))
			return 0;
	}
	worker_fail(worker, "%s: %s", path, strerror(errno));
	return -EIO;
}

/* A stripe never reaches beyond the end, so stripes of small files overlap. */
static void choose_stripe(struct io_file *file, unsigned int index)
{
	uint64_t stripe = file->bytes / STRIPES & ~(file->align - 1ULL);

	file->extent = stripe > STRIPE_BYTES_MIN ? stripe : STRIPE_BYTES_MIN;
	file->base = index % STRIPES * stripe;
	if (file->base + file->extent > file->bytes)
		file->base = (file->bytes - file->extent) & ~(IO_BLOCK - 1ULL);
	file->extent &= ~(IO_BLOCK - 1ULL);
}

/* O_DIRECT where it can be had, and at which offsets. */
static void make_direct(struct worker *worker, struct io_file *file)
{
	int flags = fcntl(file->fd, F_GETFL);

	if (flags < 0 || fcntl(file->fd, F_SETFL, flags | O_DIRECT) < 0) {
		worker_note(worker, "no O_DIRECT on this file system: it goes through the cache");
		return;
	}
	if (pread(file->fd, file->block, IO_BLOCK, SECTOR) < 0 && errno == EINVAL)
		file->align = IO_BLOCK;
	if (file->align == IO_BLOCK && pread(file->fd, file->block, IO_BLOCK, 0) < 0 &&
	    errno == EINVAL) {
		worker_note(worker,
			    "O_DIRECT is refused for blocks of %d: it goes through the cache",
			    IO_BLOCK);
		fcntl(file->fd, F_SETFL, flags);
	}
}

int io_begin(struct worker *worker, unsigned int use)
{
	const struct io_params *given = worker->params;
	struct io_file *file = calloc(1, sizeof(*file));
	void *block = NULL;
	int result;

	if (!file || posix_memalign(&block, IO_BLOCK, IO_BLOCK) != 0) {
		free(file);
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	*file = (struct io_file){
		.fd = -1,
		.bytes = given->size & ~(IO_BLOCK - 1ULL),
		.align = SECTOR,
		.block = block,
	};
	memset(block, 'd', IO_BLOCK);
	worker->state = file;
	if (given->path) {
		result = open_path(worker, file, given->path, use);
	} else {
		result = file->fd = io_open_private(worker);
		if (result >= 0 && ftruncate(file->fd, (off_t)file->bytes) < 0)
			worker_note(worker, "ftruncate: %s", strerror(errno));
	}
	if (result < 0)
		return result;
	if (file->bytes < BYTES_MIN) {
		worker_fail(worker, "%s is too small", given->path);
		return -EINVAL;
	}
	if (use & IO_DIRECT)
		make_direct(worker, file);
	choose_stripe(file, worker->index);
	if (!given->path)
		fill(worker, file, use & IO_READS ? 0 : file->base,
		     use & IO_READS ? file->bytes : file->extent);
	return 0;
}

void io_end(struct worker *worker)
{
	struct io_file *file = worker->state;

	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->block);
	free(file);
}

bool io_write(struct worker *worker)
{
	struct io_file *file = worker->state;

	if (!write_block(worker, file, file->block, IO_BLOCK, file->base + file->cursor))
		return false;
	file->cursor = (file->cursor + IO_BLOCK) % file->extent;
	worker->work_units++;
	return true;
}

bool io_read(struct worker *worker)
{
	struct io_file *file = worker->state;
	uint64_t at = random_next(&worker->random) % (file->bytes - IO_BLOCK);
	ssize_t got = pread(file->fd, file->block, IO_BLOCK, (off_t)(at - at % file->align));

	if (got == IO_BLOCK) {
		worker->work_units++;
		return true;
	}
	if (got >= 0)
		errno = EIO; /* it has become shorter */
	io_failed(worker, "pread");
	return false;
}

void io_sync(struct worker *worker, uint64_t began_ns)
{
	struct io_file *file = worker->state;
	uint64_t now_ns;

	if (fdatasync(file->fd) < 0) {
		io_failed(worker, "fdatasync");
		return;
	}
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	worker_look(worker, now_ns);
}

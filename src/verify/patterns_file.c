// SPDX-License-Identifier: GPL-2.0-or-later
/* Disks, and page faults on files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/features.h"
#include "verify/pattern.h"

#define BLOCK 4096UL

/* A file that has its size already is taken as it is. */
static int open_filled(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char *block;

	if (fd < 0)
		die(path);
	if (lseek(fd, 0, SEEK_END) == (off_t)PATTERN_FILE_BYTES)
		return fd;
	block = malloc(1 << 20);
	if (!block)
		die(path);
	memset(block, 7, 1 << 20);
	for (unsigned long done = 0; done < PATTERN_FILE_BYTES; done += 1 << 20)
		if (pwrite(fd, block, 1 << 20, (off_t)done) != 1 << 20)
			die(path);
	if (fsync(fd) < 0)
		die(path);
	free(block);
	return fd;
}

static off_t random_block(void)
{
	return (off_t)((unsigned long)random() % (PATTERN_FILE_BYTES / BLOCK) * BLOCK);
}

/*
 * Of the file that is open: the disk that ends its requests. NULL: that one has no name for dwell
 * on this kernel, or requests of others end in its place, as where devices are stacked.
 */
static const char *disk_of(int fd)
{
	static char name[PATH_MAX];
	char path[64], *part;
	struct stat status;
	ssize_t length;

	if (!features_names_disks() || fstat(fd, &status) < 0)
		return NULL;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(status.st_dev),
		 minor(status.st_dev));
	length = readlink(path, name, sizeof(name) - 1);
	if (length <= 0)
		return NULL;
	name[length] = '\0';
	/* the directory of a partition lies in that of its disk */
	part = strrchr(name, '/');
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(status.st_dev),
		 minor(status.st_dev));
	if (part && !access(path, F_OK)) {
		*part = '\0';
		part = strrchr(name, '/');
	}
	/* of others requests are none of their own */
	snprintf(path, sizeof(path), "/sys/block/%.40s/mq", part ? part + 1 : name);
	return access(path, F_OK) ? NULL : part ? part + 1 : name;
}

/* Large ones: of many small ones a second, what lies between two clocks is a large part. */
#define DIRECT_BYTES (1UL << 20)

static void direct_reads(const char *path)
{
	int fd;
	void *buffer;
	struct meter meter;

	meter_start(&meter, "direct", "direct-read");
	meter_expect(&meter, STATE_DISK, "pread64:file");
	fd = open_filled(path);
	meter_blame(&meter, STATE_DISK, WIRE_CULPRIT_DEVICE, disk_of(fd));
	close(fd);
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || posix_memalign(&buffer, BLOCK, DIRECT_BYTES))
		die("O_DIRECT");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;)
		if (pread(fd, buffer, DIRECT_BYTES,
			  (off_t)((unsigned long)random_block() / DIRECT_BYTES * DIRECT_BYTES)) < 0)
			die("pread");
	meter_report(&meter, STATE_DISK);
}

static void write_and_sync(const char *path)
{
	char block[BLOCK] = {1};
	struct meter meter;
	int fd;

	meter_start(&meter, "fsync", "fsync");
	meter_expect(&meter, STATE_DISK, "fsync*");
	meter_blame(&meter, STATE_DISK, WIRE_CULPRIT_DEVICE, NULL);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		if (pwrite(fd, block, BLOCK, random_block()) < 0)
			die("pwrite");
		meter_begin(&meter);
		if (fsync(fd) < 0)
			die("fsync");
		meter_end(&meter, STATE_DISK);
		meter_sleep(&meter, NS_PER_MS);
	}
	meter_report(&meter, STATE_STOLEN);
}

#define FAULT_GAP_NS (300 * NS_PER_US)

static void file_faults(const char *path)
{
	volatile char *map;
	struct meter meter;
	int fd;

	meter_start(&meter, "file-fault", "file-fault");
	meter_expect(&meter, STATE_DISK, NULL);
	fd = open_filled(path);
	map = mmap(NULL, PATTERN_FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || madvise((void *)map, PATTERN_FILE_BYTES, MADV_RANDOM) < 0)
		die("mmap");
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		/* out of the page tables and the page cache, then in again from disk */
		if (madvise((void *)map, PATTERN_FILE_BYTES, MADV_DONTNEED) < 0 ||
		    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
			die("drop");
		for (int i = 0; i < 1000 && now_ns() < end; i++) {
			(void)map[random_block()];
			/* of many faults a second, what lies between two clocks is a large part */
			spin_wall_ns(FAULT_GAP_NS);
		}
	}
	meter_report(&meter, STATE_DISK);
}

#define SWAP_BYTES (8UL << 20)

static bool has_swap(void)
{
	struct sysinfo info;

	return sysinfo(&info) >= 0 && (uint64_t)info.freeswap * info.mem_unit >= 2 * SWAP_BYTES;
}

/* What cannot be made out of zeros, by whatever stores it. */
static void fill(char *bytes, size_t size)
{
	long *words = (void *)bytes;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = random();
}

static void page_out(char *map)
{
	if (madvise(map, SWAP_BYTES, MADV_PAGEOUT) < 0)
		die("MADV_PAGEOUT");
}

static void swapped_memory(const char *path)
{
	volatile char *map =
		mmap(NULL, SWAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct meter meter;

	(void)path;
	errno = ENOSPC;
	if (map == MAP_FAILED || !has_swap()) {
		pattern_skip("swap");
		return;
	}
	meter_start(&meter, "swap", "swap");
	meter_expect(&meter, STATE_SWAP, NULL);
	fill((char *)map, SWAP_BYTES);
	/* is written, and stays in memory, too, until it is clean and to go once more */
	page_out((char *)map);
	meter_sleep(&meter, 50 * NS_PER_MS);
	for (size_t i = 0; i < SWAP_BYTES; i += BLOCK)
		(void)map[i];
	for (uint64_t end = pattern_end_ns(); now_ns() < end;) {
		page_out((char *)map);
		for (int i = 0; i < 200 && now_ns() < end; i++) {
			meter_begin(&meter);
			(void)map[random() % (long)(SWAP_BYTES / BLOCK) * (long)BLOCK];
			meter_end(&meter, STATE_SWAP);
			spin_wall_ns(FAULT_GAP_NS);
		}
	}
	meter_report(&meter, STATE_DISK);
}

const struct pattern file_patterns[] = {
	{"direct", "O_DIRECT reads of a file", PATTERN_ALONE, true, direct_reads},
	{"fsync", "small writes, each made durable", PATTERN_ALONE, true, write_and_sync},
	{"file-fault", "page faults on a mapped file that is not in memory", PATTERN_ALONE, true,
	 file_faults},
	{"swap", "memory that was swapped out is used again", PATTERN_ALONE, .run = swapped_memory},
	{NULL, NULL, PATTERN_BESIDE, false, NULL},
};

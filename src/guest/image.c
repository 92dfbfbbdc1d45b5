// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include "guest/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/forked.h"
#include "base/program.h"
#include "guest/board.h"
#include "guest/modules.h"
#include "guest/elf_dependencies.h"

struct image {
	struct output out;
	struct cpio cpio;
	const char *sysroot; /* NULL: none was named */
	char **added;	     /* paths that are in it already */
	size_t count, room;
	unsigned int modules;
};

static void image_release(struct image *image)
{
	for (size_t i = 0; i < image->count; i++)
		free(image->added[i]);
	free(image->added);
	cpio_release(&image->cpio);
	output_release(&image->out);
}

/* True, and noted: it is not in the image yet. */
static int is_new(struct image *image, const char *path)
{
	for (size_t i = 0; i < image->count; i++)
		if (!strcmp(image->added[i], path))
			return 0;
	if (array_reserve(&image->added, &image->room, image->count + 1, sizeof(*image->added)) < 0)
		return -ENOMEM;
	image->added[image->count] = strdup(path);
	return image->added[image->count] ? (image->count++, 1) : -ENOMEM;
}

/* The dynamic loader that a program asks for; false: it is static, or no program. */
static bool read_loader(const char *path, char loader[PATH_MAX])
{
	cleanup_file FILE *file = fopen(path, "re");
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (!file || fread(&header, sizeof(header), 1, file) != 1 ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (fseek(file, (long)(header.e_phoff + i * header.e_phentsize), SEEK_SET) < 0 ||
		    fread(&segment, sizeof(segment), 1, file) != 1)
			return false;
		if (segment.p_type == PT_INTERP && segment.p_filesz < PATH_MAX &&
		    !fseek(file, (long)segment.p_offset, SEEK_SET) &&
		    fread(loader, segment.p_filesz, 1, file) == 1) {
			loader[segment.p_filesz] = '\0';
			return true;
		}
	}
	return false;
}

/* "	libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x…)", or "	/lib64/ld-linux… (0x…)" */
static int add_listed(struct image *image, const char *program, char *line, struct error *error)
{
	static const char mark[] = "error while loading shared libraries: ";
	char *arrow = strstr(line, "=> "), *missing = strstr(line, mark), *path, *end;
	int result;

	if (missing)
		return error_set(error, ENOENT, "%s needs a library that is not here: %.*s",
				 program, (int)strcspn(missing + strlen(mark), ":\n"),
				 missing + strlen(mark));
	path = strchr(arrow ? arrow : line, '/');
	end = path ? strstr(path, " (0x") : NULL;
	if (!end)
		return 0; /* the vdso is not a file */
	*end = '\0';
	result = is_new(image, path);
	if (result <= 0)
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	return cpio_add_file(&image->cpio, path + 1, path, error);
}

/* Asks the loader itself, which knows where it would look. */
static int add_libraries(struct image *image, const char *loader, const char *path,
			 struct error *error)
{
	char inherited[64];
	char *arguments[] = {(char *)loader, (char *)"--list", (char *)path, NULL};
	cleanup_file FILE *list = NULL;
	cleanup_free char *line = NULL;
	size_t room = 0;
	int ends[2], status, result = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(error, errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		/* dwell's own program, if it has capabilities, may not be opened by the loader */
		int own = strncmp(path, "/proc/", 6) ? -1 : open(path, O_RDONLY);

		if (own >= 0) {
			snprintf(inherited, sizeof(inherited), "/proc/self/fd/%d", own);
			arguments[2] = inherited;
		}
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO); /* where it names what is missing */
		execv(loader, arguments);
		_exit(127);
	}
	close(ends[1]);
	list = file_reading(ends[0]);
	/* to the end: it would wait for a reader */
	while (list && getline(&line, &room, list) >= 0)
		if (result >= 0)
			result = add_listed(image, path, line, error);
	status = forked_await(pid);
	if (pid < 0 || !list)
		return error_set(error, EIO, "cannot find out which libraries %s needs", path);
	if (result >= 0 && status)
		return error_set(error, ENOEXEC, "%s cannot find out which libraries %s needs",
				 loader, path);
	return result;
}

/* What it needs itself, and then what that needs. */
static int add_found(void *data, const char *name, const char *path, struct error *error)
{
	struct image *image = data;
	int result = is_new(image, name);

	if (result <= 0)
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	result = cpio_add_file(&image->cpio, name + 1, path, error);
	return result < 0 ? result
			  : elf_dependencies_find(image->sysroot ? image->sysroot : "/", path,
						  add_found, image, error);
}

/* "#!/bin/sh -e": what runs a script, as it is found here; false: it is no script. */
static bool read_interpreter(const struct image *image, const char *path, char into[PATH_MAX])
{
	cleanup_file FILE *file = fopen(path, "re");
	const char *name;
	char line[256]; /* the kernel reads no more */

	if (!file || !fgets(line, sizeof(line), file) || strncmp(line, "#!", 2) != 0)
		return false;
	name = line + 2 + strspn(line + 2, " \t");
	snprintf(into, PATH_MAX, "%s%.*s", image->sysroot ? image->sysroot : "",
		 (int)strcspn(name, " \t\n"), name);
	return *name == '/' && !access(into, X_OK);
}

/* A file, and if it is a program what it needs to run. */
static int add_program(struct image *image, const char *name, const char *path, struct error *error)
{
	char loader[PATH_MAX];
	int result = is_new(image, path);

	if (result <= 0)
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	result = cpio_add_file(&image->cpio, name, path, error);
	if (result < 0 || access(path, X_OK) < 0)
		return result;
	if (read_interpreter(image, path, loader))
		return add_program(image,
				   loader + (image->sysroot ? strlen(image->sysroot) : 0) + 1,
				   loader, error);
	if (!read_loader(path, loader))
		return result;
	if (image->sysroot || elf_machine(path) != board_here()->elf)
		return elf_dependencies_find(image->sysroot ? image->sysroot : "/", path, add_found,
					     image, error);
	result = is_new(image, loader);
	if (result > 0)
		result = cpio_add_file(&image->cpio, loader + 1, loader, error);
	return result < 0 ? result : add_libraries(image, loader, path, error);
}

/* Under the name it has here. */
static int add_here(struct image *image, const char *path, struct error *error)
{
	char whole[PATH_MAX];

	if (*path == '/')
		snprintf(whole, sizeof(whole), "%s", path);
	else if (!getcwd(whole, sizeof(whole)) || strlen(whole) + strlen(path) + 2 > sizeof(whole))
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", path);
	else
		snprintf(whole + strlen(whole), sizeof(whole) - strlen(whole), "/%s", path);
	return add_program(image, whole + 1, whole, error);
}

/* What the guest has of its own: its kernel's files, which are not of the length they say. */
static bool is_guests_own(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
	       !strncmp(path, "/dev/", 5);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !is_guests_own(path) && !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int add_order(struct image *image, const char *name, char *const *texts, size_t count,
		     struct error *error)
{
	struct output text;
	int result;

	if (output_init(&text, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		output_bytes(&text, texts[i], strlen(texts[i]) + 1);
	/* init would read the beginning only */
	if (text.used >= IMAGE_ORDER_BYTES || count > IMAGE_ORDER_TEXTS)
		result = error_set(error, E2BIG, "the command has too many arguments for a guest");
	else
		result = text.error ? error_set(error, text.error, "out of memory")
				    : cpio_add_bytes(&image->cpio, name, 0644, text.buffer,
						     text.used, error);
	output_release(&text);
	return result;
}

static int add_arguments(struct image *image, char *const *arguments, struct error *error)
{
	const char *texts[IMAGE_ORDER_TEXTS] = {"dwell"};
	size_t count = !image_is_program(arguments[0]);

	for (size_t i = 0; arguments[i]; i++) {
		if (count == IMAGE_ORDER_TEXTS)
			return error_set(error, E2BIG, "more than %d arguments", IMAGE_ORDER_TEXTS);
		texts[count++] = arguments[i];
	}
	return add_order(image, IMAGE_ARGUMENTS, (char *const *)texts, count, error);
}

/* What the command writes to has to have its directory there too. */
static int add_returns(struct image *image, const struct pulled_files *pulled, struct error *error)
{
	char *paths[IMAGE_ORDER_TEXTS];
	int result = 0;

	if (pulled->count > ARRAY_SIZE(paths))
		return error_set(error, E2BIG, "too many files are to come back");
	for (size_t i = 0; result >= 0 && i < pulled->count; i++) {
		const struct pulled_files_root *root = &pulled->roots[i];
		cleanup_free char *parent = strdup(root->path);

		if (!parent)
			return error_set(error, ENOMEM, "out of memory");
		paths[i] = root->path;
		if (!root->directory)
			*strrchr(parent, '/') = '\0';
		if (*parent && is_directory(parent))
			result = cpio_add_directory(&image->cpio, parent + 1, error);
	}
	return result < 0 ? result : add_order(image, IMAGE_RETURNS, paths, pulled->count, error);
}

static int add_orders(struct image *image, const struct image_options *options, struct error *error)
{
	char directory[PATH_MAX] = "/", *text = directory;
	int result = add_arguments(image, options->arguments, error);

	if (result >= 0 && getcwd(directory, sizeof(directory)) && directory[1])
		result = cpio_add_directory(&image->cpio, directory + 1, error);
	if (result >= 0)
		result = add_order(image, IMAGE_DIRECTORY, &text, 1, error);
	if (result >= 0)
		result = add_returns(image, options->pulled, error);
	if (result >= 0 && options->recording) {
		char *recording = (char *)options->recording;

		result = add_order(image, IMAGE_RECORDING, &recording, 1, error);
	}
	if (result >= 0 && options->repro)
		result = cpio_add_bytes(&image->cpio, IMAGE_REPRO, 0644, "1", 1, error);
	return result;
}

int image_find_program(const char *name, char into[PATH_MAX], struct error *error)
{
	/* what is wrong with a file that is named is for those who open it */
	if (strchr(name, '/'))
		return snprintf(into, PATH_MAX, "%s", name) < PATH_MAX
			       ? 0
			       : error_set(error, ENAMETOOLONG, "%s: %s", name,
					   strerror(ENAMETOOLONG));
	return program_find(name, into) ? 0
					: error_set(error, ENOENT, "no program '%s' in PATH", name);
}

/* The first word of a command line is its program; others may be files that it reads. */
static int add_scheduler(struct image *image, const char *command, struct error *error)
{
	cleanup_free char *copy = strdup(command), *line = NULL;
	char program[PATH_MAX], *rest = copy, *word = NULL;
	int result;

	while (rest && (!word || !*word))
		word = strsep(&rest, " \t");
	if (!word || !*word)
		return error_set(error, EINVAL, "the scheduler's command is empty");
	result = image_find_program(word, program, error);
	if (result >= 0 && access(program, X_OK) < 0)
		result = error_set(error, errno, "the scheduler %s: %s", program, strerror(errno));
	if (result >= 0)
		result = add_here(image, program, error);
	if (result < 0)
		return result;
	if (asprintf(&line, "%s%s%s", program, rest ? " " : "", rest ? rest : "") < 0) {
		line = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	result = add_order(image, IMAGE_SCHEDULER, &line, 1, error);
	while (result >= 0 && (word = strsep(&rest, " \t")))
		if (is_file(word))
			result = add_here(image, word, error);
	return result;
}

/* A directory with all that is in it; links to files are the files. */
static int add_tree(struct image *image, const char *path, struct error *error)
{
	char *const paths[] = {(char *)path, NULL};
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int result = 0;

	if (!tree)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	while (result >= 0 && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_F)
			result = add_here(image, entry->fts_path, error);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS ||
			 entry->fts_info == FTS_ERR)
			result = error_set(error, entry->fts_errno, "cannot read %s: %s",
					   entry->fts_path, strerror(entry->fts_errno));
	}
	fts_close(tree);
	return result;
}

/* Numbered as they are to be loaded. */
static int add_module(void *data, const char *name, const void *bytes, size_t length,
		      struct error *error)
{
	struct image *image = data;
	char path[256];
	int result;

	snprintf(path, sizeof(path), "module %.128s", name);
	result = is_new(image, path);
	if (result <= 0)
		return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
	snprintf(path, sizeof(path), "%s/%04u-%.128s", IMAGE_MODULES, image->modules++, name);
	return cpio_add_bytes(&image->cpio, path, 0644, bytes, length, error);
}

/*
 * Those that were asked for, and what drives the port of the frames, where that is not built in: a
 * serial line, which will do as well, is many times slower when it is emulated.
 */
static int add_modules(struct image *image, const struct image_options *options,
		       struct error *error)
{
	const char *const port[] = {"virtio_pci", "virtio_console", NULL};
	struct error none;
	int result = 0;

	if (options->modules[0])
		result = modules_find(options->kernel, options->modules, add_module, image, error);
	if (result >= 0 && modules_find(options->kernel, port, add_module, image, &none) < 0)
		return 0; /* most kernels have their modules nowhere here */
	return result;
}

static int fill(struct image *image, const struct image_options *options, struct error *error)
{
	static const char *const directories[] = {"proc", "sys", "tmp", "run", "dev"};
	static const char loader_cache[] = "/etc/ld.so.cache";
	char self[64];
	int result;

	/* not /proc/self: the loader looks at it too */
	snprintf(self, sizeof(self), "/proc/%d/exe", getpid());
	result = add_program(image, "init", options->program ? options->program : self, error);
	for (size_t i = 0; result >= 0 && i < ARRAY_SIZE(directories); i++)
		result = cpio_add_directory(&image->cpio, directories[i], error);
	/* where the loader finds the libraries that are not in its own directories */
	if (result >= 0 && !options->sysroot && is_file(loader_cache))
		result = cpio_add_file(&image->cpio, loader_cache + 1, loader_cache, error);
	/* before devtmpfs is mounted the kernel gives init this one */
	if (result >= 0)
		result = cpio_add_device(&image->cpio, "dev/console", 5, 1, error);
	for (size_t i = 0; result >= 0 && options->files[i]; i++)
		result = is_directory(options->files[i])
				 ? add_tree(image, options->files[i], error)
				 : add_here(image, options->files[i], error);
	for (size_t i = 0; result >= 0 && options->arguments[i]; i++)
		if (is_file(options->arguments[i]))
			result = add_here(image, options->arguments[i], error);
	if (result >= 0 && options->scheduler)
		result = add_scheduler(image, options->scheduler, error);
	if (result >= 0)
		result = add_modules(image, options, error);
	return result < 0 ? result : add_orders(image, options, error);
}

int image_make(const struct image_options *options, int *ret_fd, uint64_t *ret_bytes,
	       struct error *error)
{
	cleanup_close int fd = memfd_create("dwell-initramfs", MFD_CLOEXEC);
	struct image image = {.out.fd = -1, .sysroot = options->sysroot};
	int result;

	if (fd < 0)
		return error_set(error, errno, "cannot make the initramfs: %s", strerror(errno));
	if (output_init(&image.out, fd) < 0)
		return error_set(error, ENOMEM, "out of memory");
	image.cpio.out = &image.out;
	result = fill(&image, options, error);
	if (result >= 0) {
		cpio_end(&image.cpio);
		if (output_flush(&image.out) < 0)
			result = error_set(error, image.out.error, "cannot write the initramfs: %s",
					   strerror(image.out.error));
	}
	*ret_bytes = image.cpio.bytes;
	image_release(&image);
	if (result < 0)
		return result;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

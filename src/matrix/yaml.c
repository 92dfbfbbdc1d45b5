// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/yaml.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/similar.h"
#include "base/size.h"
#include "guest/image.h"
#include "load/yaml_reader.h"

#define LIST_MAX 1000 /* each is compared with all others */

static int no_memory(struct error *error)
{
	return error_set(error, ENOMEM, "out of memory");
}

static int take_name(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     struct error *error)
{
	struct matrix *matrix = into;
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	if (result < 0)
		return result;
	if (!*text || strlen(text) >= sizeof(matrix->name))
		return error_set(error, EINVAL, "a name has 1 to %zu bytes",
				 sizeof(matrix->name) - 1);
	snprintf(matrix->name, sizeof(matrix->name), "%s", text);
	return 0;
}

static bool same_file(const char *a, const char *b)
{
	struct stat first, second;

	return !strcmp(a, b) || (!stat(a, &first) && !stat(b, &second) &&
				 first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

static int take_kernel(struct yaml_reader *reader, const yaml_node_t *item, void *into,
		       struct error *error)
{
	struct matrix_words *kernels = into;
	const char *text;
	int result = yaml_text(reader, item, &text, error);

	if (result < 0)
		return result;
	if (!*text)
		return error_set(error, EINVAL, "a kernel is a file, or `auto`");
	if (strcmp(text, "auto") != 0 && access(text, R_OK) < 0)
		return error_set(error, EINVAL, "cannot read the kernel '%s': %s", text,
				 strerror(errno));
	for (size_t i = 0; i < kernels->count; i++)
		if (same_file(kernels->items[i], text))
			return error_set(error, EINVAL, "'%s' is there already, as '%s'", text,
					 kernels->items[i]);
	return matrix_words_add(kernels, text) < 0 ? no_memory(error) : 0;
}

static int take_topology(struct yaml_reader *reader, const yaml_node_t *item, void *into,
			 struct error *error)
{
	const char *text;
	int result = yaml_text(reader, item, &text, error);

	return result < 0 ? result : matrix_add_topology(into, text, error);
}

/* The first word of a command line, looked for as dwell guest does. */
static int check_program(const char *command, struct error *error)
{
	cleanup_free char *word = strndup(command, strcspn(command, " \t"));
	char program[PATH_MAX];
	struct stat status;

	if (!word)
		return no_memory(error);
	if (image_find_program(word, program, error) < 0)
		return error_set(error, EINVAL, "cannot find the scheduler '%s'", word);
	if (stat(program, &status) < 0)
		return error_set(error, EINVAL, "cannot find the scheduler '%s': %s", program,
				 strerror(errno));
	if (!S_ISREG(status.st_mode) || access(program, X_OK) < 0)
		return error_set(error, EINVAL, "the scheduler '%s' is not a program", program);
	return 0;
}

static int take_scheduler(struct yaml_reader *reader, const yaml_node_t *item, void *into,
			  struct error *error)
{
	struct matrix_words *schedulers = into;
	const char *text;
	int result = yaml_text(reader, item, &text, error);

	if (result < 0)
		return result;
	text += strspn(text, " \t");
	if (!strcmp(text, "none") || !strcmp(text, "~"))
		text = "";
	if (*text)
		result = check_program(text, error);
	for (size_t i = 0; result >= 0 && i < schedulers->count; i++)
		if (!strcmp(schedulers->items[i], text))
			return error_set(error, EINVAL, "'%s' is there already",
					 *text ? text : "none");
	if (result >= 0 && matrix_words_add(schedulers, text) < 0)
		result = no_memory(error);
	return result;
}

/* A list with something in it, and not with everything. */
static int take_list(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		     int (*take)(struct yaml_reader *reader, const yaml_node_t *item, void *into,
				 struct error *error),
		     struct error *error)
{
	if (value->type == YAML_SEQUENCE_NODE) {
		size_t count =
			(size_t)(value->data.sequence.items.top - value->data.sequence.items.start);

		if (!count)
			return error_set(error, EINVAL, "the list is empty");
		if (count > LIST_MAX)
			return error_set(error, EINVAL, "more than %d of them", LIST_MAX);
	}
	return yaml_read_items(reader, value, into, take, error);
}

static int take_kernels(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			struct error *error)
{
	return take_list(reader, value, &((struct matrix *)into)->kernels, take_kernel, error);
}

static int take_topologies(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			   struct error *error)
{
	return take_list(reader, value, into, take_topology, error);
}

static int take_schedulers(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			   struct error *error)
{
	return take_list(reader, value, &((struct matrix *)into)->schedulers, take_scheduler,
			 error);
}

static int take_memory(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result
			  : size_parse(text, &((struct matrix *)into)->memory_bytes, error);
}

static int take_timeout(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			struct error *error)
{
	const char *text;
	int result = yaml_text(reader, value, &text, error);

	return result < 0 ? result
			  : duration_parse(text, &((struct matrix *)into)->timeout_ns, error);
}

static int take_repeat(struct yaml_reader *reader, const yaml_node_t *value, void *into,
		       struct error *error)
{
	uint64_t number;
	int result = yaml_number(reader, value, 1, MATRIX_REPEATS_MAX, &number, error);

	if (result >= 0)
		((struct matrix *)into)->repeat = (unsigned int)number;
	return result;
}

static int take_word(struct yaml_reader *reader, const yaml_node_t *item, void *into,
		     struct error *error)
{
	const char *text;
	int result = yaml_text(reader, item, &text, error);

	if (result >= 0 && matrix_words_add(into, text) < 0)
		result = no_memory(error);
	return result;
}

static int split_words(struct matrix_words *words, const char *text, struct error *error)
{
	static const char blanks[] = " \t\n";
	cleanup_free char *copy = strdup(text);
	char *rest = NULL;

	if (!copy)
		return no_memory(error);
	for (char *word = strtok_r(copy, blanks, &rest); word; word = strtok_r(NULL, blanks, &rest))
		if (matrix_words_add(words, word) < 0)
			return no_memory(error);
	return 0;
}

static int check_command(const struct matrix *matrix, struct error *error)
{
	const char *name = matrix->command.count ? matrix->command.items[0] : NULL;

	if (!name)
		return error_set(error, EINVAL, "which command? `load steady`");
	if (!strcmp(name, "guest"))
		return error_set(error, EINVAL, "a guest within a guest is not tried");
	/* another program, which each guest has to find */
	if (strchr(name, '/') || !matrix->check_command)
		return 0;
	return matrix->check_command(name, error);
}

static int take_command(struct yaml_reader *reader, const yaml_node_t *value, void *into,
			struct error *error)
{
	struct matrix_words *command = &((struct matrix *)into)->command;
	const char *text;
	int result;

	if (value->type == YAML_SEQUENCE_NODE) {
		result = take_list(reader, value, command, take_word, error);
	} else {
		result = yaml_text(reader, value, &text, error);
		if (result >= 0)
			result = split_words(command, text, error);
	}
	if (result < 0)
		return result;
	return check_command(into, error);
}

static const struct yaml_key matrix_keys[] = {
	{"name", take_name},
	{"kernels", take_kernels},
	{"topologies", take_topologies},
	{"schedulers", take_schedulers},
	{"memory", take_memory},
	{"command", take_command},
	{"repeat", take_repeat},
	{"timeout", take_timeout},
	{NULL, NULL},
};

static int complete(struct matrix *matrix, const char *name, struct error *error)
{
	int result = 0;

	if (!matrix->command.count)
		return error_set(error, EINVAL, "%s: a matrix needs a `command`", name);
	if (!matrix->kernels.count)
		result = matrix_words_add(&matrix->kernels, "auto");
	if (result >= 0 && !matrix->schedulers.count)
		result = matrix_words_add(&matrix->schedulers, "");
	if (result < 0)
		return no_memory(error);
	/* as without --topology */
	return matrix->topology_count ? 0 : matrix_add_topology(matrix, "1n1l2c1t", error);
}

int matrix_read_text(struct matrix *matrix, const char *text, const char *name, struct error *error)
{
	struct yaml_reader reader = {.name = name};
	const yaml_node_t *root;
	int result = yaml_load(&reader, text, error);

	if (result < 0)
		return result;
	root = yaml_document_get_root_node(&reader.document);
	result = root ? yaml_read_mapping(&reader, root, "a matrix", matrix_keys, NULL, matrix,
					  error)
		      : error_set(error, EINVAL, "%s: there is nothing in it", name);
	yaml_document_delete(&reader.document);
	return result < 0 ? result : complete(matrix, name, error);
}

int matrix_read_file(struct matrix *matrix, const char *path, struct error *error)
{
	cleanup_free char *text = NULL;
	int result = yaml_read_file(path, &text, error);

	return result < 0 ? result : matrix_read_text(matrix, text, yaml_file_name(path), error);
}

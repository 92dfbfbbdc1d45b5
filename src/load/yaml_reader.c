// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/yaml_reader.h"

#include <errno.h>
#include <string.h>

#include "base/similar.h"

/* libyaml takes quadratic time for what is nested, anchors and directives: there are no more of
 * them than a spec can use. */
#define MOST_NESTED  32
#define MOST_ANCHORS 256

int yaml_error_at(struct yaml_reader *reader, const yaml_node_t *node, int result,
		  struct error *error)
{
	struct spec_place place = yaml_place(node);

	if (reader->placed)
		return result;
	reader->placed = true;
	return error_wrap(error, result, "%s:%u:%u", reader->name, place.line, place.column);
}

int yaml_text(struct yaml_reader *reader, const yaml_node_t *node, const char **ret_text,
	      struct error *error)
{
	if (node->type != YAML_SCALAR_NODE)
		return error_set(error, EINVAL, "a single value is wanted, not a %s",
				 node->type == YAML_SEQUENCE_NODE ? "list" : "mapping");
	if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return error_set(error, EINVAL, "there is a NUL in it");
	/* without aliases no text is read more than twice */
	reader->bytes += node->data.scalar.length + 1;
	if (reader->bytes > 2 * SPEC_BYTES_MAX)
		return error_set(error, EINVAL, "with its aliases it is larger than 2 MiB");
	*ret_text = (const char *)node->data.scalar.value;
	return 0;
}

int yaml_number(struct yaml_reader *reader, const yaml_node_t *node, uint64_t min, uint64_t max,
		uint64_t *ret_number, struct error *error)
{
	const char *text;
	char *end;
	int result = yaml_text(reader, node, &text, error);

	if (result < 0)
		return result;
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *ret_number < min || *ret_number > max)
		return error_set(error, EINVAL, "'%s' is not a whole number from %llu to %llu",
				 text, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

const yaml_node_t *yaml_find(struct yaml_reader *reader, const yaml_node_t *node, const char *key)
{
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);

		if (name->type == YAML_SCALAR_NODE &&
		    similar_same((const char *)name->data.scalar.value, key))
			return yaml_document_get_node(&reader->document, pair->value);
	}
	return NULL;
}

/* Of both tables, one after the other. */
static const char *known_key(const struct yaml_key *keys, const struct yaml_others *others,
			     const void *into, size_t number)
{
	for (; keys->name; keys++)
		if (!number--)
			return keys->name;
	return others && others->name ? others->name(into, number) : NULL;
}

static int unknown_key(const char *what, const char *key, const struct yaml_key *keys,
		       const struct yaml_others *others, const void *into, struct error *error)
{
	struct similar similar = {.wanted = key};
	char known[320] = "; there are ";
	const char *name;

	for (size_t i = 0; (name = known_key(keys, others, into, i)); i++) {
		size_t used = strlen(known);

		similar_try(&similar, name);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", name);
	}
	return similar_error(error, EINVAL, &similar, known, "%s has no key '%s'", what, key);
}

struct taking {
	const char *what;
	const struct yaml_key *keys;
	const struct yaml_others *others;
	void *into;
};

/* Whether a key before `pair` is the same as `key`. */
static bool is_repeated(struct yaml_reader *reader, const yaml_node_t *node,
			const yaml_node_pair_t *pair, const char *key)
{
	for (const yaml_node_pair_t *other = node->data.mapping.pairs.start; other < pair;
	     other++) {
		const yaml_node_t *name = yaml_document_get_node(&reader->document, other->key);

		if (similar_same((const char *)name->data.scalar.value, key))
			return true;
	}
	return false;
}

static int take_pair(struct yaml_reader *reader, struct taking *taking, const char *key,
		     const yaml_node_t *value, struct error *error)
{
	int result = 1;

	for (size_t i = 0; taking->keys[i].name; i++) {
		if (!similar_same(taking->keys[i].name, key))
			continue;
		return taking->keys[i].take
			       ? taking->keys[i].take(reader, value, taking->into, error)
			       : 0;
	}
	if (taking->others)
		result = taking->others->take(reader, key, value, taking->into, error);
	return result;
}

/* The key before what is wrong with its value, unless that begins with it. */
static int name_key(const char *key, int result, struct error *error)
{
	size_t length = strlen(key);

	if (!strncmp(error->text, key, length) && error->text[length] == ':')
		return result;
	return error_wrap(error, result, "%.40s", key);
}

int yaml_read_mapping(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
		      const struct yaml_key *keys, const struct yaml_others *others, void *into,
		      struct error *error)
{
	struct taking taking = {.what = what, .keys = keys, .others = others, .into = into};
	int result = 0;

	if (node->type != YAML_MAPPING_NODE)
		return yaml_error_at(
			reader, node,
			error_set(error, EINVAL, "%s must be a mapping of keys to values", what),
			error);
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     result >= 0 && pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
		const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
		const char *key;

		result = yaml_text(reader, name, &key, error);
		if (result < 0)
			return yaml_error_at(reader, name, error_wrap(error, result, "a key"),
					     error);
		/* those before are known keys, each of them once: there are few */
		result = is_repeated(reader, node, pair, key)
				 ? error_set(error, EINVAL, "it is there twice")
				 : take_pair(reader, &taking, key, value, error);
		if (result > 0) {
			result = unknown_key(what, key, keys, others, into, error);
			return yaml_error_at(reader, name, result, error);
		}
		if (result < 0 && !reader->placed)
			return yaml_error_at(reader, value, name_key(key, result, error), error);
	}
	return result;
}

int yaml_read_items(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		    int (*take)(struct yaml_reader *reader, const yaml_node_t *item, void *into,
				struct error *error),
		    struct error *error)
{
	int result = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return take(reader, node, into, error);
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     result >= 0 && item < node->data.sequence.items.top; item++) {
		const yaml_node_t *value = yaml_document_get_node(&reader->document, *item);

		result = take(reader, value, into, error);
		if (result < 0)
			return yaml_error_at(reader, value, result, error);
	}
	return result;
}

/* libyaml's own words for what is no YAML. */
static int explain_parser(const yaml_parser_t *parser, const char *text, const char *name,
			  struct error *error)
{
	size_t line = parser->problem_mark.line, column = parser->problem_mark.column;

	/* bytes that are not text are found before there are lines */
	if (parser->error == YAML_READER_ERROR) {
		line = column = 0;
		for (size_t i = 0; i < parser->problem_offset && text[i]; i++) {
			column = text[i] == '\n' ? 0 : column + 1;
			line += text[i] == '\n';
		}
	}
	return error_set(error, EINVAL, "%s:%zu:%zu: not YAML: %s%s%s", name, line + 1, column + 1,
			 parser->problem ? parser->problem : "it cannot be read",
			 parser->context ? ", " : "", parser->context ? parser->context : "");
}

struct shape {
	unsigned int documents, depth, anchors;
};

/* NULL, or what is wrong with it. */
static const char *take_event(struct shape *shape, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (event->type == YAML_DOCUMENT_START_EVENT) {
		shape->documents++;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	} else if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	}
	if (tag)
		return "a spec has no tags";
	if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT)
		shape->depth++;
	else if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
		shape->depth--;
	shape->anchors += anchor != NULL;
	if (shape->documents > 1)
		return "a second document: a spec is one";
	if (shape->depth > MOST_NESTED)
		return "nested too deeply for a spec";
	return shape->anchors > MOST_ANCHORS ? "too many anchors for a spec" : NULL;
}

/* Before it is loaded, so that nothing can keep libyaml busy, and nothing is left out. */
static int check_shape(const char *text, const char *name, struct error *error)
{
	struct shape shape = {0};
	const char *problem = NULL;
	yaml_parser_t parser;
	int result = 0;
	bool more = true;

	if (!yaml_parser_initialize(&parser))
		return error_set(error, ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	while (more && result >= 0) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			result = explain_parser(&parser, text, name, error);
			break;
		}
		more = event.type != YAML_STREAM_END_EVENT;
		problem = take_event(&shape, &event);
		if (problem)
			result = error_set(error, EINVAL, "%s:%zu:%zu: %s", name,
					   event.start_mark.line + 1, event.start_mark.column + 1,
					   problem);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return result;
}

/* They are read before anything else is, and each is compared with all others. */
static int check_directives(const char *text, const char *name, struct error *error)
{
	unsigned int line = 1;

	for (const char *at = text; *at; line++) {
		if (!strncmp(at, "%TAG", 4))
			return error_set(error, EINVAL, "%s:%u:1: a spec has no tags", name, line);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return 0;
}

const char *yaml_file_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int yaml_read_file(const char *path, char **ret_text, struct error *error)
{
	cleanup_free char *text = malloc(SPEC_BYTES_MAX + 2);
	cleanup_file FILE *file = NULL;
	size_t length;

	if (!text)
		return error_set(error, ENOMEM, "out of memory");
	file = strcmp(path, "-") ? fopen(path, "re") : fdopen(dup(STDIN_FILENO), "re");
	if (!file)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	length = fread(text, 1, SPEC_BYTES_MAX + 1, file);
	if (ferror(file))
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	if (length > SPEC_BYTES_MAX)
		return error_set(error, EINVAL, "%s is larger than 1 MiB: it is not a spec", path);
	text[length] = '\0';
	if (strlen(text) != length)
		return error_set(error, EINVAL, "%s is not text: it contains a NUL", path);
	*ret_text = text;
	text = NULL;
	return 0;
}

int yaml_load(struct yaml_reader *reader, const char *text, struct error *error)
{
	yaml_parser_t parser;
	int result = check_directives(text, reader->name, error);

	if (result >= 0)
		result = check_shape(text, reader->name, error);
	if (result < 0)
		return result;
	if (!yaml_parser_initialize(&parser))
		return error_set(error, ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (!yaml_parser_load(&parser, &reader->document))
		result = explain_parser(&parser, text, reader->name, error);
	yaml_parser_delete(&parser);
	return result;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command has to say, described once: every result is an object of fields, and a field may
 * be an object, or a list of them. The formats (emit.h), `--fields`, `--sort`, completion and
 * docs/formats/schema.json all follow these tables, so they cannot disagree.
 *
 * Getters read the model in place: no tree of values is built, however many rows there are.
 */
#ifndef DWELL_EMIT_SCHEMA_H
#define DWELL_EMIT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

struct schema;

/* What a schema describes: one row, and what its getters need besides. */
struct item {
	const void *row;
	const void *context;
};

enum field_type {
	FIELD_INTEGER, /* from 0 up; the first, as most are */
	FIELD_SIGNED,
	FIELD_REAL,  /* six significant digits */
	FIELD_SHARE, /* four decimals */
	FIELD_STRING,
	FIELD_BOOL,
	FIELD_OBJECT, /* of `schema` */
	FIELD_LIST,   /* of `schema`; NULL: of strings or integers */
	FIELD_MAP,    /* an object whose keys are not known before */
	FIELD_TYPES,
};

enum value_kind {
	VALUE_ABSENT, /* this row does not have the key */
	VALUE_NULL,   /* not measured, or meaningless for this row */
	VALUE_NUMBER,
	VALUE_SIGNED,
	VALUE_REAL, /* null if it is not finite */
	VALUE_SHARE,
	VALUE_STRING,
	VALUE_BOOL,
	VALUE_OBJECT,
	VALUE_LIST, /* of FIELD_LIST and FIELD_MAP */
};

#define VALUE_TEXT_BYTES 256

struct value {
	enum value_kind kind;
	uint64_t number; /* also of VALUE_BOOL; of VALUE_OBJECT what to sort by */
	double real;
	const char *string; /* any bytes; into `text`, the row, or what outlives it */
	struct item item; /* VALUE_OBJECT; VALUE_LIST: `row` is its first row, where it has rows */
	size_t count;	  /* VALUE_LIST */
	size_t stride;	  /* VALUE_LIST: from one row to the next, bytes */
	const char *name; /* key of one in a FIELD_MAP */
	_Alignas(8) char text[VALUE_TEXT_BYTES]; /* or value_made()'s row */
};

enum field_flag {
	FIELD_MAYBE = 1 << 0,	/* may be VALUE_ABSENT */
	FIELD_OF_ROWS = 1 << 1, /* in CSV and JSON lines each row of the table has it too */
	FIELD_NEVER_NULL = 1 << 2,
	FIELD_ON_REQUEST =
		1 << 3,		 /* a column only where --fields names it, and nothing to sort by */
	FIELD_OF_LINES = 1 << 4, /* its text has several, which CSV keeps */
	FIELD_NULL_IF_0 = 1 << 5, /* of an unsigned member: 0 stands for what is not known */
};

/* What `get` reads is an unsigned member of the row: who has a million of them need not call it. */
enum field_member {
	MEMBER_NONE,
	MEMBER_U64,
	MEMBER_U32,
};

/* Room for ,"key": and a NUL of the longest key there is. */
#define FIELD_KEY_BYTES 40

struct field {
	const char *name;   /* for --fields and --sort; unique; NULL: its path, "wake_to_run.cv" */
	const char *group;  /* JSON object it is in, NULL = the row's own; neighbours share one */
	const char *key;    /* JSON key; NULL: not in any output, only to sort by */
	const char *header; /* column in tables; NULL: has none */
	const char *help;
	unsigned int levels; /* which views of the schema have it; 0: all */
	void (*get)(const struct field *field, const struct item *item, struct value *ret_value);
	size_t argument; /* for `get`: which of several alike, or a member's offset */
	enum field_member member;
	unsigned int needs; /* bits of schema.lacks */
	enum field_type type;
	const struct schema *schema; /* FIELD_OBJECT, FIELD_LIST */
	/* One of a list that has no rows; VALUE_ABSENT: leave it out. */
	void (*element)(const struct field *field, const struct item *item, size_t index,
			struct value *ret_value);
	unsigned int flags; /* enum field_flag */
	unsigned int width; /* of a column of text, in a table; 0: 16 */
	/* The key as JSON has it, FIELD_KEY(): a row has fifty, each then a copy of a fixed size.
	 */
	unsigned char quoted_length;
	char quoted[FIELD_KEY_BYTES];
};

struct schema {
	const char *name;	/* of this kind of row; in a result: its "type" */
	const char *definition; /* its own name in schema.json; NULL: `name` */
	const char *help;
	unsigned int version; /* of a result; 0: it is part of one */
	const struct field *fields;
	size_t count;
	/*
	 * What this item does not have, as bits that the schema defines; NULL: it has everything.
	 * A field that needs any of them is null there, or absent if it is FIELD_MAYBE.
	 */
	unsigned int (*lacks)(const struct item *item);
	const char *table; /* key of the list whose rows are the table; NULL: the object itself */
};

/* Every result that dwell writes; ends with NULL. */
extern const struct schema *const result_schemas[];

static inline bool field_applies(const struct field *field, unsigned int level)
{
	return !field->levels || field->levels & level;
}

static inline unsigned int schema_lacks(const struct schema *schema, const struct item *item)
{
	return schema->lacks ? schema->lacks(item) : 0;
}

/* What a field is of an item that lacks what the field needs. */
static inline enum value_kind field_without(const struct field *field)
{
	return field->flags & FIELD_MAYBE ? VALUE_ABSENT : VALUE_NULL;
}

static inline void schema_get(const struct schema *schema, const struct field *field,
			      const struct item *item, struct value *ret_value)
{
	if (field->needs && field->needs & schema_lacks(schema, item))
		ret_value->kind = field_without(field);
	else
		field->get(field, item, ret_value);
}

/* The element `index` of the list that `list`, the value of `field`, stands for. */
void schema_element(const struct field *field, const struct item *item, const struct value *list,
		    size_t index, struct value *ret_value);

/* Values, for getters. */

static inline void value_null(struct value *value)
{
	value->kind = VALUE_NULL;
}

static inline void value_absent(struct value *value)
{
	value->kind = VALUE_ABSENT;
}

static inline void value_number(struct value *value, uint64_t number)
{
	value->kind = VALUE_NUMBER;
	value->number = number;
}

/* null where it is not known */
static inline void value_known(struct value *value, uint64_t number, bool known)
{
	value->kind = known ? VALUE_NUMBER : VALUE_NULL;
	value->number = number;
}

static inline void value_signed(struct value *value, int64_t number)
{
	value->kind = VALUE_SIGNED;
	value->number = (uint64_t)number;
}

static inline void value_real(struct value *value, double real)
{
	value->kind = VALUE_REAL;
	value->real = real;
}

static inline void value_bool(struct value *value, bool is_true)
{
	value->kind = VALUE_BOOL;
	value->number = is_true;
}

static inline void value_string(struct value *value, const char *string)
{
	value->kind = VALUE_STRING;
	value->string = string;
}

/* null if it is NULL or empty: what is not known */
static inline void value_text(struct value *value, const char *text)
{
	value->kind = text && *text ? VALUE_STRING : VALUE_NULL;
	value->string = text;
}

/* A copy of up to `size` bytes that need not end with a NUL. */
void value_bytes(struct value *value, const char *bytes, size_t size);

static inline void value_object(struct value *value, const void *row, const void *context)
{
	value->kind = VALUE_OBJECT;
	value->item = (struct item){row, context};
}

/*
 * A row that is put together for the moment, of `size` bytes, at most VALUE_TEXT_BYTES: it exists
 * as long as the value, so that no string of it may be handed out. Items are not kept either: what
 * a context points to must not be one.
 */
static inline void value_made(struct value *value, const void *row, size_t size,
			      const void *context)
{
	memcpy(value->text, row, size);
	value_object(value, value->text, context);
}

static inline void value_rows(struct value *value, const void *rows, size_t count, size_t stride,
			      const void *context)
{
	value->kind = VALUE_LIST;
	value->item = (struct item){rows, context};
	value->count = count;
	value->stride = stride;
}

/* Of a list without rows: how many times to ask for an element. */
static inline void value_elements(struct value *value, size_t count)
{
	value->kind = VALUE_LIST;
	value->count = count;
}

/* Getters of a member of the row; `argument` is its offset. */
void get_u64_member(const struct field *field, const struct item *item, struct value *value);
void get_u32_member(const struct field *field, const struct item *item, struct value *value);
void get_bool_member(const struct field *field, const struct item *item, struct value *value);
void get_double_member(const struct field *field, const struct item *item, struct value *value);
/* const char *; null if it is NULL or empty */
void get_pointer_member(const struct field *field, const struct item *item, struct value *value);
/* char[]; null if it is empty */
void get_array_member(const struct field *field, const struct item *item, struct value *value);
/* The row itself, as another schema describes it. */
void get_same_row(const struct field *field, const struct item *item, struct value *value);

/* The members of a field that its key, a literal, decides. */
#define FIELD_QUOTED(key_) ",\"" key_ "\":"
#define FIELD_KEY(key_)                                                                            \
	.key = key_, .quoted = FIELD_QUOTED(key_),                                                 \
	.quoted_length = (sizeof(FIELD_QUOTED(key_)) - 1) * FIELD_KEY_FITS(key_)
/* 1, or does not compile. */
#define FIELD_KEY_FITS(key_) sizeof(char[sizeof(FIELD_QUOTED(key_)) <= FIELD_KEY_BYTES ? 1 : -1])

/*
 * Lines of a table: key, getter, help; then what else the field has, as members (.header = "USER").
 * A list has the getter of its elements (NULL: it has rows) and their schema (NULL: plain values).
 */
#define TYPED_FIELD(type_, key_, get_, help_, ...)                                                 \
	{                                                                                          \
		FIELD_KEY(key_), .get = (get_), .help = (help_), .type = (type_), ##__VA_ARGS__    \
	}
#define INTEGER_FIELD(...) TYPED_FIELD(FIELD_INTEGER, __VA_ARGS__)
#define SIGNED_FIELD(...)  TYPED_FIELD(FIELD_SIGNED, __VA_ARGS__)
#define REAL_FIELD(...)	   TYPED_FIELD(FIELD_REAL, __VA_ARGS__)
#define SHARE_FIELD(...)   TYPED_FIELD(FIELD_SHARE, __VA_ARGS__)
#define STRING_FIELD(...)  TYPED_FIELD(FIELD_STRING, __VA_ARGS__)
#define BOOL_FIELD(...)	   TYPED_FIELD(FIELD_BOOL, __VA_ARGS__)
#define OBJECT_FIELD(key_, get_, schema_, help_, ...)                                              \
	TYPED_FIELD(FIELD_OBJECT, key_, get_, help_, .schema = (schema_), ##__VA_ARGS__)
#define LIST_FIELD(key_, get_, element_, schema_, help_, ...)                                      \
	TYPED_FIELD(FIELD_LIST, key_, get_, help_, .element = (element_), .schema = (schema_),     \
		    ##__VA_ARGS__)
#define MAP_FIELD(key_, get_, element_, schema_, help_, ...)                                       \
	TYPED_FIELD(FIELD_MAP, key_, get_, help_, .element = (element_), .schema = (schema_),      \
		    ##__VA_ARGS__)

/* Fields that are members of the row. */
#define MEMBER(type_, member) offsetof(type_, member)
/* An unsigned one of 64 or 32 bits. */
#define IS_64_BITS(row_type, member_) (sizeof(((row_type *)0)->member_) == sizeof(uint64_t))
#define READ_NUMBER(row_type, member_)                                                             \
	.get = IS_64_BITS(row_type, member_) ? get_u64_member : get_u32_member,                    \
	.member = IS_64_BITS(row_type, member_) ? MEMBER_U64 : MEMBER_U32,                         \
	.argument = MEMBER(row_type, member_)
#define NUMBER_MEMBER(row_type, member_, key_, help_, ...)                                         \
	{                                                                                          \
		FIELD_KEY(key_), READ_NUMBER(row_type, member_),                                   \
			.help = (help_), .type = FIELD_INTEGER, ##__VA_ARGS__                      \
	}
#define REAL_MEMBER(row_type, member, key_, help_, ...)                                            \
	TYPED_FIELD(FIELD_REAL, key_, get_double_member, help_,                                    \
		    .argument = MEMBER(row_type, member), ##__VA_ARGS__)
#define BOOL_MEMBER(row_type, member, key_, help_, ...)                                            \
	TYPED_FIELD(FIELD_BOOL, key_, get_bool_member, help_,                                      \
		    .argument = MEMBER(row_type, member), ##__VA_ARGS__)
#define POINTER_MEMBER(row_type, member, key_, help_, ...)                                         \
	TYPED_FIELD(FIELD_STRING, key_, get_pointer_member, help_,                                 \
		    .argument = MEMBER(row_type, member), ##__VA_ARGS__)
#define ARRAY_MEMBER(row_type, member, key_, help_, ...)                                           \
	TYPED_FIELD(FIELD_STRING, key_, get_array_member, help_,                                   \
		    .argument = MEMBER(row_type, member), ##__VA_ARGS__)

#define SCHEMA_FIELDS(fields_) .fields = (fields_), .count = ARRAY_SIZE(fields_)

/* For a getter's unused parameters. */
#define FIELD_GETTER(name)                                                                         \
	static void name(__attribute__((unused)) const struct field *field,                        \
			 __attribute__((unused)) const struct item *item, struct value *value)

/* One that hands an expression of its `item` to value_number() or the like. */
#define VALUE_GETTER(name, put, ...)                                                               \
	FIELD_GETTER(name)                                                                         \
	{                                                                                          \
		put(value, __VA_ARGS__);                                                           \
	}

#define FIELD_ELEMENT(name)                                                                        \
	static void name(__attribute__((unused)) const struct field *field,                        \
			 __attribute__((unused)) const struct item *item, size_t index,            \
			 struct value *value)

#endif

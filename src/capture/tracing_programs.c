// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/tracing_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PLACES_MAX 32

/* Those that are loaded next, or have been. */
static _Thread_local struct {
	const struct bpf_program *programs[PLACES_MAX];
	struct btf_place places[PLACES_MAX];
	char names[PLACES_MAX][64];
	size_t count;
	uint32_t cast_function;
} next;

/* How the kernel names what SEC("…/NAME") attaches to. */
static const struct {
	const char *section, *sections, *prefix;
	uint32_t kind;
	enum bpf_attach_type type;
} kinds[] = {
	{"tp_btf/", "tp_btf+", "btf_trace_", BTF_KIND_TYPEDEF, BPF_TRACE_RAW_TP},
	{"iter/", "iter+", "bpf_iter_", BTF_KIND_FUNC, BPF_TRACE_ITER},
};

static int note_place(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	size_t i = 0, at = next.count;

	while (i < ARRAY_SIZE(kinds) &&
	       strncmp(section, kinds[i].section, strlen(kinds[i].section)))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return 0;
	if (at == PLACES_MAX)
		return -E2BIG;
	snprintf(next.names[at], sizeof(next.names[at]), "%s%s", kinds[i].prefix,
		 section + strlen(kinds[i].section));
	next.programs[at] = program;
	next.places[at] = (struct btf_place){next.names[at], kinds[i].kind, 0};
	next.count++;
	return 0;
}

int tracing_programs_find(const struct kernel_btf *kernel, const struct bpf_object *object,
			  const struct cast_ids *casts)
{
	struct bpf_program *program = bpf_object__next_program(object, NULL);
	int result = 0;

	next.count = 0;
	next.cast_function = casts->function;
	for (; program && result >= 0; program = bpf_object__next_program(object, program))
		if (bpf_program__autoload(program))
			result = note_place(program);
	kernel_btf_find(kernel, next.places, next.count);
	return result;
}

struct cast_ids tracing_programs_casts(const struct kernel_btf *kernel)
{
	struct btf_place places[CAST_TYPES + 1] = {
#define PLACE(type) {#type, BTF_KIND_STRUCT, 0},
		CAST_TYPES_OF(PLACE)
#undef PLACE
			{"bpf_rdonly_cast", BTF_KIND_FUNC, 0},
	};
	struct cast_ids casts = {0};

	kernel_btf_find(kernel, places, CAST_TYPES + 1);
	for (int i = 0; i < CAST_TYPES; i++) {
		if (!places[i].id)
			return casts;
		casts.types[i] = places[i].id;
	}
	casts.function = places[CAST_TYPES].id;
	return casts;
}

/* Programs call CAST_CALL, which no kernel has: the function has another number in each. */
static int set_cast_calls(struct bpf_program *program)
{
	size_t count = bpf_program__insn_cnt(program);
	cleanup_free struct bpf_insn *insns = calloc(count, sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), count * sizeof(*insns));
	for (size_t i = 0; i < count; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].imm != CAST_CALL)
			continue;
		insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insns[i].imm = (__s32)next.cast_function;
	}
	return bpf_program__set_insns(program, insns, count);
}

static int load(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	size_t i = 0;
	int result;

	(void)cookie;
	while (i < next.count && next.programs[i] != program)
		i++;
	if (i == next.count || !next.places[i].id)
		return -ESRCH;
	options->attach_btf_id = next.places[i].id;
	result = next.cast_function ? set_cast_calls(program) : 0;
	/* not before: see tracing_programs_register() */
	return result < 0 ? result : bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

int tracing_programs_register(void)
{
	static bool is_registered;
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = load);

	for (size_t i = 0; !is_registered && i < ARRAY_SIZE(kinds); i++) {
		/* any other type: for the right one libbpf reads the kernel's type information */
		int result = libbpf_register_prog_handler(
			kinds[i].sections, BPF_PROG_TYPE_RAW_TRACEPOINT, kinds[i].type, &options);

		if (result < 0)
			return result;
	}
	is_registered = true;
	return 0;
}

int tracing_programs_attach(const struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		struct bpf_program *program = *skeleton->progs[i].prog;
		struct bpf_link **link = skeleton->progs[i].link;

		if (bpf_program__fd(program) < 0 || !bpf_program__autoattach(program) ||
		    bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
			continue;
		*link = bpf_program__expected_attach_type(program) == BPF_TRACE_ITER
				? bpf_program__attach_iter(program, NULL)
				: bpf_program__attach_trace(program);
		if (!*link)
			return -errno;
	}
	return 0;
}

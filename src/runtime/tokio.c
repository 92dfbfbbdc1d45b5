// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tokio: tokio::runtime::task::raw::poll<T, S> is entered for every poll of every task. It is in
 * each task's vtable, so no compiler inlines it away, and there is one for each type of task. T
 * says what is polled: a future, or BlockingTask<closure> on the blocking pool; the closure that a
 * worker thread lives in is one of those too, and not probed, because its poll lasts for the
 * thread's life.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_options.h"
#include "base/cleanup.h"
#include "base/proc_stat.h"
#include "base/text.h"
#include "runtime/runtime.h"
#include "runtime/tokio_vtables.h"
#include "symbol/debug_info.h"
#include "symbol/demangle.h"
#include "symbol/mappings.h"
#include "symbol/object.h"
#include "symbol/opener.h"

/*
 * In both manglings. The legacy one goes on with its hash. The other (v0) begins with what the path
 * is: an instance (I) of a function (Nv) in three modules (Nt) of a crate (C); types follow.
 */
#define RAW_POLL	"5tokio7runtime4task3raw4poll"
#define RAW_POLL_LEGACY RAW_POLL "17h"
#define RAW_POLL_V0	"_RINvNtNtNtC"

/* What a worker thread runs, called only by the closures that it lives in. */
#define WORKER_RUN "5tokio7runtime9scheduler12multi_thread6worker3run"

struct search {
	struct runtime_plan *plan;
	const char *path;	       /* for us to open */
	const struct mapping *mapping; /* NULL: it is another file, with the symbols */
	const char *module;	       /* what is mapped, by its path */
	uint32_t pid;
	struct object *object;	 /* with the symbols */
	struct debug_info *info; /* NULL: not opened yet, or there is none */
	int fd;
	uint64_t worker_run; /* address of the function; 0: there is none of its own */
	int program_fd;	     /* what runs, where the symbols are of another file; else -1 */
	bool info_tried;
	size_t found, skipped, unknown, by_tables;
	int result;
};

static bool is_raw_poll(const char *name)
{
	return strstr(name, RAW_POLL_LEGACY) ||
	       (!strncmp(name, RAW_POLL_V0, strlen(RAW_POLL_V0)) && strstr(name, RAW_POLL));
}

/* The closure a worker thread lives in, also one that takes over from block_in_place(). */
static bool is_worker_life(const char *type)
{
	return strstr(type, "BlockingTask<") && strstr(type, "worker") &&
	       (strstr(type, "launch") || strstr(type, "worker::block_in_place"));
}

/* The first of the type arguments in `…poll::<T, S>` or `poll<T, S>`. To be freed. */
static char *first_argument(const char *name)
{
	const char *at = strchr(name, '<'), *begin;
	int depth = 0;

	/* `<` may also open a qualified path before the function */
	if (!strncmp(name, "tokio::", 7) || !strncmp(name, "poll", 4))
		at = strstr(name, "poll");
	at = at ? strchr(at, '<') : NULL;
	if (!at)
		return NULL;
	begin = ++at;
	for (; *at; at++) {
		if (*at == '<' || *at == '(' || *at == '[' || *at == '{')
			depth++;
		/* not the arrow of a function type */
		else if ((*at == '>' && at[-1] != '-') || *at == ')' || *at == ']' || *at == '}')
			depth--;
		if (depth < 0 || (!depth && *at == ','))
			break;
	}
	return strndup(begin, (size_t)(at - begin));
}

/* The end of what stands there for an async body or a closure, `::{async_fn_env#0}`; NULL: none. */
static char *body_end(char *at)
{
	static const char *const bodies[] = {
		"::{async_fn_env#", "::{async_block_env#", "::{closure_env#",	   "::{closure#",
		"::{async_fn#",	    "::{async_block#",	   "::{async_closure_env#"};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		size_t length = strlen(bodies[i]), digits;

		if (strncmp(at, bodies[i], length) != 0)
			continue;
		digits = strspn(at + length, "0123456789");
		if (digits && at[length + digits] == '}')
			return at + length + digits + 1;
	}
	return NULL;
}

/*
 * `app::serve::{async_fn_env#0}` is what the source calls app::serve, also where it is an argument.
 * What has arguments of its own is left: `app::serve::{async_fn_env#0}<u8>`.
 */
static void trim_type(char *type)
{
	char *into = type;

	for (char *at = type; *at;) {
		char *end = at == type ? NULL : body_end(at), *next = end;

		/* one in another */
		while (next && body_end(next))
			next = body_end(next);
		if (next && (!*next || strchr(">,)", *next)))
			at = next;
		else
			*into++ = *at++;
	}
	*into = '\0';
}

/* What is polled there, from the symbol itself or from the debug information. To be freed. */
static char *type_at(struct search *search, uint64_t address, const char *symbol)
{
	const char *name;

	if (!strstr(symbol, RAW_POLL_LEGACY)) {
		cleanup_free char *plain = demangle(symbol);

		return plain ? first_argument(plain) : NULL;
	}
	if (!search->info_tried) {
		search->info_tried = true;
		search->info = debug_info_open(search->fd, search->mapping, search->pid);
	}
	name = search->info ? debug_info_name(search->info, address) : NULL;
	return name ? first_argument(name) : NULL;
}

/* A probe within an instruction would be the end of the program. */
#define COMPARED_BYTES 32

/* Whether what runs has the same code there as the file with the symbols. */
static bool is_same_code(const struct search *search, uint64_t offset)
{
	uint8_t there[COMPARED_BYTES], here[COMPARED_BYTES];

	return pread(search->program_fd, there, sizeof(there), (off_t)offset) == sizeof(there) &&
	       pread(search->fd, here, sizeof(here), (off_t)offset) == sizeof(here) &&
	       !memcmp(there, here, sizeof(there));
}

static void find_worker_run(void *data, uint64_t address, const char *name)
{
	struct search *search = data;
	const char *at = strstr(name, WORKER_RUN);

	if (at && (!at[strlen(WORKER_RUN)] || !strncmp(at + strlen(WORKER_RUN), "17h", 3)))
		search->worker_run = address;
}

/* A function of a few kilobytes, in which everything was inlined. */
#define CODE_MAX 65536

#if defined(__x86_64__)
/* A call or jump with a 32-bit displacement from the next instruction (Intel SDM, CALL, JMP). */
static bool calls(const uint8_t *code, size_t at, uint64_t address, uint64_t target)
{
	int32_t displacement;

	if (code[at] != 0xe8 && code[at] != 0xe9)
		return false;
	memcpy(&displacement, code + at + 1, sizeof(displacement));
	return address + at + 5 + (uint64_t)(int64_t)displacement == target;
}
#else
/* BL or B: a displacement of 26 bits, in words (Arm ARM, C6.2). */
static bool calls(const uint8_t *code, size_t at, uint64_t address, uint64_t target)
{
	uint32_t word;

	memcpy(&word, code + at, sizeof(word));
	return at % 4 == 0 && (word & 0x7c000000) == 0x14000000 &&
	       address + at + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36) == target;
}
#endif

/*
 * Without types: the closure a worker thread lives in calls what a worker runs, unless that is
 * called through other functions, and then those are on the stacks.
 */
static bool runs_worker(const struct search *search, uint64_t address, uint64_t offset)
{
	uint64_t end = object_function_end(search->object, address);
	size_t bytes = end > address && end - address < CODE_MAX ? end - address : 0;
	uint8_t *code = bytes > 5 && search->worker_run ? malloc(bytes) : NULL;
	bool found = false;

	if (code && pread(search->fd, code, bytes, (off_t)offset) == (ssize_t)bytes)
		for (size_t i = 0; !found && i + 5 <= bytes; i++)
			found = calls(code, i, address, search->worker_run);
	free(code);
	return found;
}

static struct runtime_probe *find_probe(const struct search *search, uint64_t offset)
{
	for (size_t i = 0; i < search->plan->count; i++)
		if (search->plan->probes[i].offset == offset &&
		    !strcmp(search->plan->probes[i].path, search->path))
			return &search->plan->probes[i];
	return NULL;
}

/* As frames without a name are called. To be freed. */
static char *place_of(const struct search *search, uint64_t address)
{
	const char *slash = strrchr(search->module, '/');
	char text[320];

	snprintf(text, sizeof(text), "%.256s+0x%" PRIx64, slash ? slash + 1 : search->module,
		 address);
	return strdup(text);
}

static void take_function(void *data, uint64_t address, const char *name)
{
	struct search *search = data;
	struct runtime_probe probe = {.polls = POLLS_TASKS};
	char *type;

	if (search->result < 0 || !is_raw_poll(name) ||
	    !object_offset(search->object, address, &probe.offset))
		return;
	search->found++;
	if (search->program_fd >= 0 && !is_same_code(search, probe.offset)) {
		search->result = -ESTALE;
		return;
	}
	if (find_probe(search, probe.offset))
		return; /* an alias */
	type = type_at(search, address, name);
	if (type && is_worker_life(type)) {
		search->skipped++;
		free(type);
		return;
	}
	if (type && strstr(type, "BlockingTask<"))
		probe.polls = POLLS_POOL_CLOSURES;
	if (!type && runs_worker(search, address, probe.offset)) {
		probe.polls = POLLS_WORKERS;
		search->skipped++;
	} else {
		search->unknown += !type;
	}
	if (type)
		trim_type(type);
	probe.path = strdup(search->path);
	probe.type = type;
	probe.place = type ? NULL : place_of(search, address);
	search->result = runtime_plan_add(search->plan, probe);
}

/* Of a program with symbols, whose types are not known: what is polled, the tables say. */
static void judge_by_table(void *data, uint64_t poll, bool polls_tasks)
{
	const struct search *search = data;
	struct runtime_probe *probe;
	uint64_t offset;

	probe = object_offset(search->object, poll, &offset) ? find_probe(search, offset) : NULL;
	if (!probe || probe->type)
		return;
	if (!polls_tasks && probe->polls == POLLS_TASKS)
		probe->polls = POLLS_CLOSURES;
	probe->is_task = polls_tasks && probe->polls == POLLS_TASKS;
}

/* Of a program without symbols. */
static void take_table(void *data, uint64_t poll, bool polls_tasks)
{
	struct search *search = data;
	struct runtime_probe probe = {.polls = polls_tasks ? POLLS_TASKS : POLLS_CLOSURES,
				      .is_task = polls_tasks};
	struct runtime_probe *known;

	if (search->result < 0 || !object_offset(search->object, poll, &probe.offset))
		return;
	known = find_probe(search, probe.offset);
	if (known) {
		/* two of them with the same code: no closure is to be blamed */
		known->is_task &= polls_tasks;
		if (!polls_tasks)
			known->polls = POLLS_CLOSURES;
		return;
	}
	search->by_tables++;
	probe.path = strdup(search->path);
	probe.place = place_of(search, poll);
	search->result = runtime_plan_add(search->plan, probe);
}

/*
 * The runtime is in a library: its threads are those with that on their stacks. In too many, or
 * with names that are too long, nothing would say which those are.
 */
static void note_library(struct runtime_plan *plan, const char *path, bool *too_many)
{
	if (plan->library_count == RUNTIME_LIBRARIES || strlen(path) >= RUNTIME_LIBRARY_BYTES)
		*too_many = true;
	else
		snprintf(plan->libraries[plan->library_count++], RUNTIME_LIBRARY_BYTES, "%s", path);
}

/* A file with symbols, or none; whose descriptor it takes over. -ENOEXEC: it is not an ELF file. */
static int search_file(struct search *search, int fd)
{
	size_t before = search->found;

	search->fd = fd;
	search->info = NULL;
	search->info_tried = false;
	search->worker_run = 0;
	if (object_open(&search->object, fd) < 0)
		return -ENOEXEC;
	object_each_function(search->object, find_worker_run, search);
	object_each_function(search->object, take_function, search);
	debug_info_close(search->info);
	if (search->result >= 0 && search->unknown &&
	    tokio_vtables_each(search->object, judge_by_table, search) < 0)
		search->result = -ENOMEM;
	if (search->result >= 0 && search->found == before && search->mapping &&
	    tokio_vtables_each(search->object, take_table, search) < 0)
		search->result = -ENOMEM;
	object_free(search->object);
	return search->result;
}

static int search_symbols(struct search *search, const char *symbols, uint32_t pid,
			  struct error *error)
{
	char path[OPENER_PATH_BYTES];
	int result;

	search->program_fd = opener_program(pid, path);
	if (search->program_fd < 0)
		return error_set(error, -search->program_fd,
				 "cannot read the program of process %u: %s", pid,
				 strerror(-search->program_fd));
	result = opener_symbols();
	if (result >= 0)
		result = search_file(search, result);
	close(search->program_fd);
	search->program_fd = -1;
	if (result == -ESTALE)
		return error_set(error, ESTALE,
				 "%s is not what process %u runs: its code is another", symbols,
				 pid);
	if (result == -ENOEXEC)
		return error_set(error, ENOEXEC, "%s is not an ELF file", symbols);
	if (result < 0)
		return error_set(error, -result, "cannot read %s: %s", symbols, strerror(-result));
	if (!search->found)
		return error_set(error, ENOENT,
				 "no tokio::runtime::task::raw::poll in the symbols of %s: it is "
				 "not a Tokio program, or stripped",
				 symbols);
	return 0;
}

static int find(struct runtime_plan *plan, uint32_t pid, const char *symbols, struct error *error)
{
	struct search search = {.plan = plan, .module = "", .program_fd = -1, .pid = pid};
	struct mappings mappings = {0};
	char program[64], path[MAPPING_PATH_BYTES];
	uint64_t inode = 0, device = 0;
	bool is_program = true, too_many = false;
	int fd, result = mappings_load(&mappings, pid, 0);

	if (result == -ESRCH)
		return error_set(
			error, ESRCH,
			"process %u has no user-space memory (a kernel thread, or it has exited)",
			pid);
	if (result < 0)
		return error_set(error, -result, "cannot read the memory map of process %u: %s%s",
				 pid, strerror(-result),
				 /* the helper that runs this is root nowhere */
				 result == -EACCES
					 ? "; it takes the rights of root (sudo dwell …), "
					   "which a sandbox may withhold"
					 : "");
	snprintf(program, sizeof(program), "/proc/%" PRIu32 "/exe", proc_living_thread(pid));
	if (symbols) {
		/* the program is mapped below its libraries */
		for (size_t i = 0; i < mappings.count && !*search.module; i++)
			if (mappings.items[i].inode)
				search.module = mappings.items[i].path;
		search.path = program;
		result = search_symbols(&search, symbols, pid, error);
	}
	/* in the program, or in any of its libraries: the program is mapped below those */
	for (size_t i = 0; result >= 0 && i < mappings.count; i++) {
		const struct mapping *mapping = &mappings.items[i];
		size_t before = search.found + search.by_tables;

		if (before && !plan->library_count && !too_many)
			break;
		if (!mapping->inode || (mapping->inode == inode && mapping->device == device))
			continue;
		inode = mapping->inode;
		device = mapping->device;
		fd = mapping_open_path(mapping, pid, path);
		if (fd < 0) {
			is_program = false;
			continue;
		}
		search.path = path;
		search.mapping = mapping;
		search.module = mapping->path;
		result = search_file(&search, fd);
		if (result == -ENOEXEC)
			result = 0;
		if (result < 0)
			result = error_set(error, -result, "out of memory");
		else if (!is_program && search.found + search.by_tables > before)
			note_library(plan, mapping->path, &too_many);
		is_program = false;
	}
	if (too_many)
		plan->library_count = 0;
	mappings_release(&mappings);
	if (result < 0)
		return result;
	/* its frames are known by their names: code of Tokio would be blamed */
	if (search.found + search.by_tables && !build_option_enabled(BUILD_DEMANGLE))
		return build_option_missing(BUILD_DEMANGLE, error);
	if (search.found)
		snprintf(
			plan->why, sizeof(plan->why),
			"Tokio polls its tasks by %zu function%s (%zu of unknown types, %zu worker "
			"loops left out)",
			search.found, text_plural(search.found), search.unknown, search.skipped);
	else if (search.by_tables)
		snprintf(plan->why, sizeof(plan->why),
			 "Tokio polls its tasks and closures by %zu function%s, found by its "
			 "tables: "
			 "the program has no symbols (--target FILE names one that has), "
			 "and what block_on() runs is not seen",
			 search.by_tables, text_plural(search.by_tables));
	else
		snprintf(plan->why, sizeof(plan->why),
			 "no tokio::runtime::task::raw::poll in the symbols of process %u: it is "
			 "not a Tokio program, or stripped (--target FILE names one with symbols)",
			 pid);
	return search.found + search.by_tables > 0;
}

const struct runtime_ops runtime_tokio = {
	.name = "tokio",
	.summary = "Rust's Tokio: every poll of every task, by probes",
	.marks = {.poll = "tokio::runtime::task::raw::poll",
		  .harness = "tokio::runtime::task::harness::Harness<",
		  /* no more of them: names have types in them, also those of other instances with
		   * the same code */
		  .worker = "scheduler::multi_thread::worker::Context",
		  .single = "scheduler::current_thread::C",
		  .pool = "blocking::pool",
		  .root = "block_on",
		  /* the second since 1.50 */
		  .names = {"tokio-runtime-w", "tokio-rt-worker"}},
	.reads_files = true,
	.find = find,
};

const struct stack_marks *runtime_stack_marks(void)
{
	static const struct stack_marks marks = {
		.poll = "tokio::runtime::task::raw::poll",
		.harness = "tokio::runtime::task::harness::Harness<T,S>::poll",
		.tasks = "tokio::runtime::task::",
		.in_place = "block_in_place",
		.worker = "multi_thread::worker",
		.single = "current_thread",
		.pool = "blocking::pool",
	};

	return &marks;
}

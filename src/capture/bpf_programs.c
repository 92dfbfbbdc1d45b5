// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "capture/cgroup.h"
#include "capture/core_btf.h"
#include "capture/reasons.h"
#include "capture/span_probes.h"
#include "capture/span_stacks.h"
#include "capture/syscalls.h"
#include "capture/tracing_programs.h"
#include "dwell.skel.h"
#include "symbol/code_address.h"

/*
 * What libbpf first complained about: the reason behind an errno. Set while a session opens. With
 * DWELL_DEBUG set, everything libbpf has to say goes to standard error, the verifier's log too.
 */
static _Thread_local char complaint[256];

__attribute__((format(printf, 2, 0))) static int keep_complaint(enum libbpf_print_level level,
								const char *format, va_list args)
{
	va_list copy;

	/* not the matter from 5.11 on: memory of BPF is charged to the cgroup */
	bool is_hint = strstr(format, "RLIMIT_MEMLOCK") != NULL;

	if (level == LIBBPF_WARN && !*complaint && !is_hint) {
		va_copy(copy, args);
		vsnprintf(complaint, sizeof(complaint), format, copy);
		va_end(copy);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return getenv("DWELL_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

enum source_beside bpf_programs_beside(const struct source_options *options,
				       const struct targets *targets)
{
	if (!options->blame || options->spans || targets_everything(targets))
		return BESIDE_IGNORED;
	return options->beside;
}

static void configure(struct dwell_bpf *bpf, const struct features *features,
		      const struct cast_ids *casts, const struct source_options *options,
		      const struct targets *targets)
{
	enum source_beside beside = bpf_programs_beside(options, targets);

	syscalls_classify(bpf->rodata->syscall_classes);
	bpf->rodata->code_address_mask = code_address_mask();
	bpf->rodata->switch_has_state = features->switch_has_state;
	/* blame and blocked: an interrupt wakes in whatever thread it hits */
	bpf->rodata->preempt_count_offset = features->preempt_count_offset;
	/* 5.17, and that is the next sign of a version */
	bpf->rodata->can_loop = features->switch_has_state;
	bpf->rodata->can_cast = casts->function;
	memcpy((void *)bpf->rodata->cast_types, casts->types, sizeof(casts->types));
	bpf->rodata->reasons_all =
		options->reasons || (targets->count && !targets->command && beside != BESIDE_SENT);
	if (bpf->rodata->reasons_all)
		bpf_map__set_max_entries(bpf->maps.reasons,
					 reasons_room(targets_everything(targets)));
	bpf->rodata->watch_all = beside || targets_everything(targets);
	bpf->rodata->watch_beside = beside;
	bpf->rodata->skip_beside = beside == BESIDE_FOLLOWED;
	bpf->rodata->pid_namespace = features_pid_namespace();
	bpf->rodata->watch_children = targets->children;
	bpf->rodata->watch_cgroup = targets->cgroup_id;
	bpf->bss->watch_cgroup_id = targets->cgroup_id;
	bpf->rodata->watch_cgroup_level =
		targets->cgroup_is_below_root ? targets->cgroup_level : CGROUP_LEVEL_UNKNOWN;
	bpf_program__set_autoload(bpf->progs.on_switch, !options->spans && !options->profile);
	bpf_program__set_autoload(bpf->progs.on_switch_spans, options->spans);
	bpf_program__set_autoload(bpf->progs.on_switch_profile, options->profile);
	bpf_program__set_autoload(bpf->progs.on_attach, targets->cgroup_id);
	bpf_program__set_autoload(bpf->progs.on_command, targets->command);
	bpf_program__set_autoload(
		bpf->progs.on_cgroup,
		targets->cgroup_id || (targets_everything(targets) && cgroup_paths_are_whole()));
	bpf->bss->command_pid = targets->command ? targets->items[0].id : 0;
}

/* What runs on each CPU is kept: for blame, and for who had the CPU that a worker waited for. */
static void configure_runs(struct dwell_bpf *bpf)
{
	int cpus = libbpf_num_possible_cpus();

	bpf->rodata->blame_keeps_runs = true;
	bpf_map__set_max_entries(bpf->maps.blame_cpus, cpus > 0 ? (__u32)cpus : 1);
}

static void configure_blame(struct dwell_bpf *bpf, const struct features *features)
{
	bpf->rodata->blame_on = true;
	bpf_map__set_max_entries(bpf->maps.blame_holds, BLAME_HOLD_SLOTS);
	bpf_program__set_autoload(bpf->progs.on_blame_waking, true);
	bpf_program__set_autoload(bpf->progs.on_migrate, true);
	bpf_program__set_autoload(bpf->progs.on_disk, features->names_disks);
}

static int set_targets(struct dwell_bpf *bpf, const struct targets *targets, struct error *error)
{
	int map = bpf_map__fd(bpf->maps.targets);

	for (unsigned int i = 0; i < targets->count; i++) {
		struct target_key key = {targets->items[i].id, targets->items[i].kind};
		__u8 one = 1;
		int result = bpf_map_update_elem(map, &key, &one, BPF_ANY);

		if (result < 0)
			return error_set(error, -result, "cannot set target %u: %s", key.id,
					 strerror(-result));
	}
	return 0;
}

void bpf_programs_forget_ended(struct dwell_bpf *bpf, const struct targets *targets)
{
	int map = bpf_map__fd(bpf->maps.targets);

	/* with the only one, dwell ends */
	for (unsigned int i = 0; targets->count > 1 && i < targets->count; i++) {
		const struct target *target = &targets->items[i];
		struct target_key key = {target->id, target->kind};

		if (target_has_ended(target))
			(void)bpf_map_delete_elem(map, &key);
	}
}

/* Whether it is the limit of open files: libbpf says so, and returns EINVAL of some maps. */
static bool lacks_descriptors(int result)
{
	return result == -EMFILE || strstr(complaint, strerror(EMFILE)) ||
	       strstr(complaint, "-EMFILE");
}

/* Opens the object, for which libbpf is to read `btf_fd`. NULL: see `error`. */
static struct dwell_bpf *open_object(int btf_fd, struct error *error)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	struct dwell_bpf *bpf;
	int result = tracing_programs_register();

	snprintf(path, sizeof(path), "/proc/self/fd/%d", btf_fd);
	bpf = result < 0 ? NULL : dwell_bpf__open_opts(&options);
	if (!bpf)
		(void)error_set(error, result < 0 ? -result : errno,
				"cannot open dwell's BPF object: %s", complaint);
	return bpf;
}

static void cleanup_btf(struct btf **btf)
{
	btf__free(*btf);
}

static int load_object(struct dwell_bpf *bpf, int btf_fd, const struct kernel_btf *kernel,
		       const struct cast_ids *casts, struct error *error)
{
	cleanup(cleanup_btf) struct btf *reduced =
		core_btf_reduce(kernel, bpf_object__btf(bpf->obj));
	const void *bytes = NULL;
	__u32 size = 0;
	int result;

	if (reduced)
		bytes = btf__raw_data(reduced, &size);
	result = bytes ? file_write(btf_fd, bytes, size) : -errno;
	if (result < 0)
		return error_set(error, -result,
				 "cannot keep the kernel's type information in memory: %s",
				 limits_strerror(-result));
	result = tracing_programs_find(kernel, bpf->obj, casts);
	if (result >= 0)
		result = dwell_bpf__load(bpf);
	if (result < 0 && lacks_descriptors(result))
		return error_set(error, EMFILE, "cannot load dwell's BPF programs: %s",
				 limits_strerror(EMFILE));
	if (result < 0)
		return error_set(error, -result, "the kernel refused dwell's BPF programs: %s%s%s",
				 strerror(-result), *complaint ? ": " : "", complaint);
	return 0;
}

static void cleanup_bpf(struct dwell_bpf **bpf)
{
	dwell_bpf__destroy(*bpf);
}

int bpf_programs_start(struct dwell_bpf **ret_bpf, const struct features *features,
		       const struct kernel_btf *kernel, const struct source_options *options,
		       const struct targets *targets, struct kernel_waits_search *waits,
		       struct error *error)
{
	cleanup_close int btf_fd = file_in_memory("dwell-btf");
	cleanup(cleanup_bpf) struct dwell_bpf *bpf = NULL;
	struct cast_ids casts = tracing_programs_casts(kernel);
	int found, result;

	*complaint = '\0';
	libbpf_set_print(keep_complaint);
	if (btf_fd < 0)
		return error_set(error, errno, "cannot create a file in memory: %s",
				 limits_strerror(errno));
	bpf = open_object(btf_fd, error);
	if (!bpf)
		return -EINVAL;
	configure(bpf, features, &casts, options, targets);
	if (options->blame)
		configure_blame(bpf, features);
	if (options->blame || options->spans)
		configure_runs(bpf);
	if (options->spans)
		span_probes_configure(bpf, options->spans);
	if (options->profile)
		profiler_configure(bpf, options->profile);
	if (options->spans || options->profile)
		span_stacks_configure(bpf);
	result = load_object(bpf, btf_fd, kernel, &casts, error);
	if (result < 0)
		return result;
	result = set_targets(bpf, targets, error);
	if (result < 0)
		return result;
	found = kernel_waits_end(waits);
	if (found == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	/* without them it goes on, and says what it cannot distinguish */
	memcpy((void *)bpf->bss->wait_functions, waits->table, sizeof(waits->table));
	result = tracing_programs_attach(bpf->skeleton);
	if (result >= 0)
		result = dwell_bpf__attach(bpf);
	if (result < 0 && lacks_descriptors(result))
		return error_set(error, EMFILE, "cannot attach dwell's BPF programs: %s",
				 limits_strerror(EMFILE));
	if (result < 0)
		return error_set(error, -result,
				 "cannot attach to the scheduler's tracepoints: %s%s%s",
				 strerror(-result), *complaint ? ": " : "", complaint);
	*ret_bpf = bpf;
	bpf = NULL;
	return found > 0 ? found : 0;
}

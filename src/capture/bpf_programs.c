// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/reasons.h"
#include "capture/span_probes.h"
#include "capture/syscalls.h"
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

	if (level == LIBBPF_WARN && !*complaint) {
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
		      const struct source_options *options, const struct targets *targets)
{
	enum source_beside beside = bpf_programs_beside(options, targets);

	syscalls_classify(bpf->rodata->syscall_classes);
	bpf->rodata->code_address_mask = code_address_mask();
	bpf->rodata->switch_has_state = features->switch_has_state;
	bpf->rodata->can_cast = features->can_cast;
	bpf->rodata->reasons_all = targets->count && !targets->command && beside != BESIDE_SENT;
	if (bpf->rodata->reasons_all)
		bpf_map__set_max_entries(bpf->maps.reasons, reasons_room());
	bpf->rodata->watch_all = beside || targets_everything(targets);
	bpf->rodata->watch_beside = beside;
	bpf->rodata->skip_beside = beside == BESIDE_FOLLOWED;
	bpf->rodata->pid_namespace = features_pid_namespace();
	bpf->rodata->watch_children = targets->children;
	bpf->rodata->watch_cgroup_id = targets->cgroup_id;
	bpf->rodata->watch_cgroup_level = targets->cgroup_level;
	bpf_program__set_autoload(bpf->progs.on_attach, targets->cgroup_id);
}

static void configure_blame(struct dwell_bpf *bpf, const struct features *features)
{
	int cpus = libbpf_num_possible_cpus();

	bpf->rodata->preempt_count_offset = features->preempt_count_offset;
	bpf->rodata->blame_on = true;
	bpf_map__set_max_entries(bpf->maps.blame_cpus, cpus > 0 ? (__u32)cpus : 1);
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

static void cleanup_bpf(struct dwell_bpf **bpf)
{
	dwell_bpf__destroy(*bpf);
}

int bpf_programs_start(struct dwell_bpf **ret_bpf, const struct features *features,
		       const struct source_options *options, const struct targets *targets,
		       struct kernel_waits_search *waits, struct error *error)
{
	cleanup(cleanup_bpf) struct dwell_bpf *bpf = NULL;
	int found, result;

	*complaint = '\0';
	libbpf_set_print(keep_complaint);
	bpf = dwell_bpf__open();
	if (!bpf)
		return error_set(error, errno, "cannot open dwell's BPF object: %s", complaint);
	configure(bpf, features, options, targets);
	if (options->blame)
		configure_blame(bpf, features);
	if (options->spans)
		span_probes_configure(bpf, options->spans);
	result = dwell_bpf__load(bpf);
	if (result < 0)
		return error_set(error, -result, "the kernel refused dwell's BPF programs: %s%s%s",
				 strerror(-result), *complaint ? ": " : "", complaint);
	result = set_targets(bpf, targets, error);
	if (result < 0)
		return result;
	found = kernel_waits_end(waits);
	if (found == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	/* without them it goes on, and says what it cannot distinguish */
	memcpy((void *)bpf->bss->wait_functions, waits->table, sizeof(waits->table));
	result = dwell_bpf__attach(bpf);
	if (result < 0)
		return error_set(error, -result,
				 "cannot attach to the scheduler's tracepoints: %s%s%s",
				 strerror(-result), *complaint ? ": " : "", complaint);
	*ret_bpf = bpf;
	bpf = NULL;
	return found > 0 ? found : 0;
}

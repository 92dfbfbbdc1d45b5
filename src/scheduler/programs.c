// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define OPS_TYPE   "sched_ext_ops"
#define TRIAL_RUNS 20000
#define PACKET	   64 /* bytes; a socket filter is not run on fewer than a header */

static void cleanup_btf(struct btf **btf)
{
	btf__free(*btf);
}

/* 0: it is not known. */
static double mean_of_runs(int fd, struct bpf_prog_info *info)
{
	char packet[PACKET] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, trial, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = TRIAL_RUNS);
	__u32 length = sizeof(*info);

	if (bpf_prog_test_run_opts(fd, &trial) < 0)
		return 0;
	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &length) < 0 ? 0 : trial.duration;
}

/* An empty program with the count and without it. */
static void measure_cost(struct scheduler_programs *programs)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	cleanup_close int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "dwell_nothing", "GPL",
					     nothing, ARRAY_SIZE(nothing), NULL);
	struct bpf_prog_info info;
	double without, with;

	if (fd < 0)
		return;
	mean_of_runs(fd, &info); /* the first runs are slower */
	without = mean_of_runs(fd, &info);
	programs->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	with = mean_of_runs(fd, &info);
	if (with <= without || !info.run_cnt)
		return;
	programs->floor_ns = (double)info.run_time_ns / (double)info.run_cnt;
	programs->cost_ns = with - without;
	/* on a busy machine the difference may be less than what is certain */
	if (programs->cost_ns < programs->floor_ns)
		programs->cost_ns = programs->floor_ns;
}

/* The name of its function, which is longer than the name that the kernel keeps of a program. */
static void name_program(struct scheduler_program *program, const struct bpf_prog_info *info)
{
	struct bpf_func_info function = {0};
	struct bpf_prog_info again = {
		.nr_func_info = 1,
		.func_info_rec_size = sizeof(function),
		.func_info = (__u64)(uintptr_t)&function,
	};
	__u32 length = sizeof(again);
	cleanup(cleanup_btf) struct btf *btf =
		info->btf_id ? btf__load_from_kernel_by_id(info->btf_id) : NULL;
	const struct btf_type *type = NULL;

	if (btf && !bpf_obj_get_info_by_fd(program->fd, &again, &length))
		type = btf__type_by_id(btf, function.type_id);
	snprintf(program->name, sizeof(program->name), "%s",
		 type ? btf__name_by_offset(btf, type->name_off) : info->name);
}

/* Other struct_ops are of the network's congestion control, or of a queueing discipline. */
static bool is_scheduler(struct scheduler_programs *programs, const struct bpf_prog_info *info)
{
	if (info->type != BPF_PROG_TYPE_STRUCT_OPS || !info->attach_btf_id)
		return false;
	if (!programs->type_id) {
		cleanup(cleanup_btf) struct btf *btf = btf__load_vmlinux_btf();
		int id = btf ? btf__find_by_name_kind(btf, OPS_TYPE, BTF_KIND_STRUCT) : -ENOENT;

		if (id <= 0)
			return false;
		programs->type_id = (uint32_t)id;
	}
	return info->attach_btf_id == programs->type_id;
}

static bool is_known(const struct scheduler_programs *programs, uint32_t id)
{
	for (size_t i = 0; i < programs->count; i++)
		if (programs->items[i].id == id)
			return true;
	return false;
}

/* Adds it if it is a scheduler's; takes the descriptor. */
static void take(struct scheduler_programs *programs, uint32_t id, int fd, uint64_t now_ns)
{
	struct bpf_prog_info info = {0};
	__u32 length = sizeof(info);
	struct scheduler_program *program;

	if (bpf_obj_get_info_by_fd(fd, &info, &length) < 0 || !is_scheduler(programs, &info) ||
	    array_reserve(&programs->items, &programs->room, programs->count + 1,
			  sizeof(*programs->items)) < 0) {
		close(fd);
		return;
	}
	program = &programs->items[programs->count++];
	*program = (struct scheduler_program){.id = id,
					      .fd = fd,
					      .calls_before = info.run_cnt,
					      .ns_before = info.run_time_ns,
					      .found_ns = now_ns,
					      .ran_ns = now_ns};
	name_program(program, &info);
}

void scheduler_programs_find(struct scheduler_programs *programs)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t before = programs->count;
	__u32 id = 0;

	if (programs->unknown)
		return;
	while (!bpf_prog_get_next_id(id, &id)) {
		int fd = is_known(programs, id) ? -1 : bpf_prog_get_fd_by_id(id);

		if (fd >= 0)
			take(programs, id, fd, now_ns);
	}
	if (!programs->count && errno != ENOENT)
		programs->unknown = errno == EPERM ? "dwell may not see BPF programs"
						   : "the kernel does not list its BPF programs";
	if (before || !programs->count)
		return;
	measure_cost(programs);
	if (programs->stats_fd < 0)
		programs->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (programs->stats_fd < 0)
		programs->unknown = "the kernel does not count runs of BPF programs for us";
}

void scheduler_programs_read(struct scheduler_programs *programs)
{
	for (size_t i = 0; i < programs->count && programs->stats_fd >= 0; i++) {
		struct scheduler_program *program = &programs->items[i];
		struct bpf_prog_info info = {0};
		__u32 length = sizeof(info);

		if (bpf_obj_get_info_by_fd(program->fd, &info, &length) < 0)
			continue;
		if (program->calls != info.run_cnt - program->calls_before)
			program->ran_ns = clock_monotonic_ns();
		program->calls = info.run_cnt - program->calls_before;
		program->ns = info.run_time_ns - program->ns_before;
	}
}

uint64_t scheduler_programs_length(const struct scheduler_programs *programs, size_t number)
{
	uint64_t found_ns = programs->items[number].found_ns, ran_ns = found_ns;

	for (size_t i = 0; i < programs->count; i++)
		if (programs->items[i].found_ns == found_ns && programs->items[i].ran_ns > ran_ns)
			ran_ns = programs->items[i].ran_ns;
	return ran_ns - found_ns;
}

void scheduler_programs_stop(struct scheduler_programs *programs)
{
	if (programs->stats_fd >= 0)
		close(programs->stats_fd);
	programs->stats_fd = -1;
	for (size_t i = 0; i < programs->count; i++)
		if (programs->items[i].fd >= 0) {
			close(programs->items[i].fd);
			programs->items[i].fd = -1;
		}
}

void scheduler_programs_release(struct scheduler_programs *programs)
{
	scheduler_programs_stop(programs);
	free(programs->items);
	*programs = (struct scheduler_programs)SCHEDULER_PROGRAMS_INIT;
}

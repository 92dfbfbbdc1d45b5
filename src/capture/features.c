// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/features.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel_text.h"
#include "base/privilege.h"

/* include/linux/proc_ns.h */
#define PROC_PID_INIT_INO  0xEFFFFFFCU
#define PROC_USER_INIT_INO 0xEFFFFFFDU

bool features_user_namespace(void)
{
	struct stat status;

	/* a kernel without user namespaces has no such file */
	return stat("/proc/self/ns/user", &status) >= 0 && status.st_ino != PROC_USER_INIT_INO;
}

bool features_kallsyms_masked(void)
{
	char line[256];

	return !kernel_line("/proc/kallsyms", line, sizeof(line));
}

int features_bpf_call(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY,
				     .key_size = sizeof(__u32),
				     .value_size = sizeof(__u32),
				     .max_entries = 1};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));

	if (fd < 0)
		return errno == EPERM || errno == EACCES || errno == ENOSYS ? -errno : 0;
	close(fd);
	return 0;
}

unsigned int features_pid_namespace(void)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) < 0 || status.st_ino == PROC_PID_INIT_INO)
		return 0;
	return (unsigned int)status.st_ino;
}

enum place {
	PLACE_ITERATOR,
	PLACE_SWITCH,
	PLACE_RUN_QUEUE,
	PLACE_PER_CPU,
	PLACE_DISK_QUEUE,
	PLACE_DISK_DONE,
	PLACE_STORAGE,
	PLACES,
};

static const struct btf_place features_places[PLACES] = {
	[PLACE_ITERATOR] = {"bpf_iter__task", BTF_KIND_STRUCT, 0},
	[PLACE_SWITCH] = {"btf_trace_sched_switch", BTF_KIND_TYPEDEF, 0},
	[PLACE_RUN_QUEUE] = {"rq", BTF_KIND_STRUCT, 0},
	[PLACE_PER_CPU] = {".data..percpu", BTF_KIND_DATASEC, 0},
	[PLACE_DISK_QUEUE] = {"request_queue", BTF_KIND_STRUCT, 0},
	[PLACE_DISK_DONE] = {"btf_trace_block_rq_complete", BTF_KIND_TYPEDEF, 0},
	[PLACE_STORAGE] = {"bpf_local_storage_map", BTF_KIND_STRUCT, 0},
};

/* Arguments of the raw tracepoint, without the first (its own data); 0 if it is not in the BTF. */
static int tracepoint_arguments(const struct kernel_btf *btf, uint32_t typedef_id)
{
	const struct btf_type *type = kernel_btf_type(btf, typedef_id);

	if (type)
		type = kernel_btf_type(btf, type->type); /* pointer */
	if (type && btf_is_ptr(type))
		type = kernel_btf_type(btf, type->type); /* function */
	return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : 0;
}

bool features_precise_cpu_split(void)
{
	char online[256], full[256];

	return kernel_line("/sys/devices/system/cpu/online", online, sizeof(online)) &&
	       kernel_line("/sys/devices/system/cpu/nohz_full", full, sizeof(full)) &&
	       !strcmp(online, full);
}

static struct omitted_time omitted_time(const struct kernel_btf *btf, uint32_t run_queue)
{
	const struct btf_type *type = kernel_btf_type(btf, run_queue);
	struct omitted_time omitted = {false, false};

	for (__u32 i = 0; type && i < btf_vlen(type); i++) {
		const char *name = kernel_btf_text(btf, btf_members(type)[i].name_off);

		omitted.stolen |= !strcmp(name, "prev_steal_time_rq");
		omitted.interrupted |= !strcmp(name, "prev_irq_time");
	}
	return omitted;
}

static const char *type_name(const struct kernel_btf *btf, const struct btf_type *type)
{
	return type ? kernel_btf_text(btf, type->name_off) : "";
}

/* Bytes from the beginning of a structure, also through members without a name; -1: none. */
static long member_offset(const struct kernel_btf *btf, __u32 struct_id, const char *name)
{
	const struct btf_type *type = kernel_btf_type(btf, struct_id);

	for (__u32 i = 0; type && btf_is_composite(type) && i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *member_name = kernel_btf_text(btf, member->name_off);
		long inside = strcmp(member_name, name) ? -1 : 0;

		if (!*member_name)
			inside = member_offset(btf, member->type, name);
		if (inside >= 0)
			return (long)btf_member_bit_offset(type, i) / 8 + inside;
	}
	return -1;
}

/*
 * Variables of each CPU lie in one section, of which there is a copy for each. From 6.2 to 6.13 the
 * count is in a structure (commits 64701838bf05, 46e8fff6d45f).
 */
static long preempt_count_offset(const struct kernel_btf *btf, uint32_t per_cpu)
{
	const struct btf_type *section = kernel_btf_type(btf, per_cpu);
	long queue = -1, count = -1;

	for (__u32 i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *place = &btf_var_secinfos(section)[i];
		const struct btf_type *variable = kernel_btf_type(btf, place->type);
		const char *name = type_name(btf, variable);

		if (!strcmp(name, "runqueues"))
			queue = place->offset;
		else if (!strcmp(name, "__preempt_count"))
			count = place->offset;
		else if (!strcmp(name, "pcpu_hot"))
			count = (long)place->offset +
				member_offset(btf, variable->type, "preempt_count");
	}
	return queue < 0 || count < 0 ? 0 : count - queue;
}

/* CONFIG_BLOCK; disk: from 5.15 on (commit d152c682f03c). */
static bool names_disks(const struct kernel_btf *btf, const struct btf_place places[PLACES])
{
	return places[PLACE_DISK_QUEUE].id &&
	       member_offset(btf, places[PLACE_DISK_QUEUE].id, "disk") >= 0 &&
	       tracepoint_arguments(btf, places[PLACE_DISK_DONE].id) > 0;
}

struct omitted_time features_omitted_time(void)
{
	cleanup(kernel_btf_close) struct kernel_btf btf = {0};
	struct btf_place place = features_places[PLACE_RUN_QUEUE];

	if (kernel_btf_open(&btf, KERNEL_BTF, NULL) >= 0)
		kernel_btf_find(&btf, &place, 1);
	return omitted_time(&btf, place.id);
}

bool features_names_disks(void)
{
	cleanup(kernel_btf_close) struct kernel_btf btf = {0};
	struct btf_place places[PLACES];

	memcpy(places, features_places, sizeof(places));
	if (kernel_btf_open(&btf, KERNEL_BTF, NULL) >= 0)
		kernel_btf_find(&btf, places, PLACES);
	return names_disks(&btf, places);
}

/* As on_wakeup_new() asks. */
bool features_sees_unforked(void)
{
	cleanup(kernel_btf_close) struct kernel_btf btf = {0};
	struct btf_place place = features_places[PLACE_STORAGE];

	if (kernel_btf_open(&btf, KERNEL_BTF, NULL) >= 0)
		kernel_btf_find(&btf, &place, 1);
	return member_offset(&btf, place.id, "selem_ma") >= 0 ||
	       member_offset(&btf, place.id, "use_kmalloc_nolock") >= 0;
}

bool features_clock_shifted(void)
{
	cleanup_file FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds, nanoseconds;
	char clock[16];

	while (file && fscanf(file, "%15s %lld %lld", clock, &seconds, &nanoseconds) == 3)
		if (seconds || nanoseconds)
			return true;
	return false;
}

int features_permitted(struct error *error)
{
	int refused;

	if (features_user_namespace())
		return error_set(error, EPERM,
				 "exact states need BPF, and BPF needs the host's root: this is %s "
				 "of a user namespace (a rootless container)",
				 geteuid() ? "a user" : "root");
	if (!privilege_has(CAP_SYS_ADMIN) &&
	    !(privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON)))
		return error_set(
			error, EPERM,
			geteuid() ? "exact states need BPF: run as root (sudo dwell …), or give "
				    "the program CAP_BPF and CAP_PERFMON"
				  : "exact states need BPF: this root lacks CAP_BPF or "
				    "CAP_PERFMON, as in most containers: add them");
	if (features_clock_shifted())
		return error_set(error, ENOTSUP,
				 "this time namespace has other clocks than the kernel: "
				 "nsenter --time=/proc/1/ns/time dwell …");
	refused = features_bpf_call();
	if (refused < 0)
		return error_set(error, -refused,
				 "the kernel or a seccomp filter refuses bpf(): %s",
				 strerror(-refused));
	return 0;
}

int features_probe(struct features *ret_features, const struct kernel_btf *btf, struct error *error)
{
	struct btf_place places[PLACES];
	int arguments;

	memcpy(places, features_places, sizeof(places));
	kernel_btf_find(btf, places, PLACES);
	if (!places[PLACE_ITERATOR].id)
		return error_set(error, ENOTSUP,
				 "this kernel has no BPF task iterators: it needs 5.15 or newer "
				 "with CONFIG_BPF_SYSCALL=y");
	arguments = tracepoint_arguments(btf, places[PLACE_SWITCH].id);
	if (arguments < 3)
		return error_set(error, ENOTSUP,
				 "this kernel's BTF does not describe sched_switch: it needs 5.15 "
				 "or newer with CONFIG_TRACEPOINTS=y");
	ret_features->others_memory = privilege_has(CAP_SYS_PTRACE);
	ret_features->switch_has_state = arguments >= 4;
	ret_features->names_disks = names_disks(btf, places);
	ret_features->precise_cpu_split = features_precise_cpu_split();
	ret_features->omitted = omitted_time(btf, places[PLACE_RUN_QUEUE].id);
	ret_features->preempt_count_offset = preempt_count_offset(btf, places[PLACE_PER_CPU].id);
	return 0;
}

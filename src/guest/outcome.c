// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell guest --result` says of a guest. docs/formats/json.md is the contract. */
#include "guest/outcome.h"

static const struct guest_outcome *outcome_of(const struct item *item)
{
	return item->row;
}

/* ns; 0: it did not come to that */
static void value_ns(struct value *value, uint64_t ns)
{
	value_known(value, ns, ns > 0);
}

VALUE_GETTER(get_kernel, value_string, outcome_of(item)->boot->qemu.kernel)
VALUE_GETTER(get_release, value_text, outcome_of(item)->result->release)
VALUE_GETTER(get_accel, value_string, outcome_of(item)->result->kvm ? "kvm" : "tcg")

FIELD_GETTER(get_kvm_error)
{
	const struct boot_result *result = outcome_of(item)->result;

	value_text(value, result->kvm ? NULL : result->kvm_error.text);
}

FIELD_GETTER(get_topology)
{
	shape_format(value->text, sizeof(value->text), &outcome_of(item)->boot->qemu.shape);
	value_string(value, value->text);
}

VALUE_GETTER(get_memory, value_number, outcome_of(item)->boot->qemu.memory_bytes)
VALUE_GETTER(get_boot, value_ns, outcome_of(item)->result->ready_ns)
VALUE_GETTER(get_wall, value_ns, outcome_of(item)->result->wall_ns)
VALUE_GETTER(get_teardown, value_ns, outcome_of(item)->result->teardown_ns)

FIELD_GETTER(get_exit)
{
	value_signed(value, outcome_of(item)->code);
	if (!outcome_of(item)->result->ended)
		value_null(value);
}

static const struct pressure *host_of(const struct item *item)
{
	return &outcome_of(item)->result->host;
}

VALUE_GETTER(get_host_cpus, value_number, host_of(item)->cpu_ns)
VALUE_GETTER(get_host_own, value_number, host_of(item)->own_ns)
VALUE_GETTER(get_host_others, value_number, host_of(item)->others_ns)
VALUE_GETTER(get_host_stolen, value_number, host_of(item)->stolen_ns)
VALUE_GETTER(get_host_taken, value_real, pressure_taken(host_of(item)))
VALUE_GETTER(get_host_lacked, value_real,
	     pressure_lacked(host_of(item), shape_cpus(&outcome_of(item)->boot->qemu.shape)))

#define HOST_SHARE(name, key, help) REAL_FIELD(key, get_host_##name, help),

static const struct field host_fields[] = {
	INTEGER_FIELD("cpus_ns", get_host_cpus, "time of all its CPUs"),
	INTEGER_FIELD("own_ns", get_host_own, "CPU time of QEMU and dwell"),
	INTEGER_FIELD("others_ns", get_host_others, "of all others"),
	INTEGER_FIELD("stolen_ns", get_host_stolen, "what its own hypervisor took"),
	GUEST_HOST_SHARES(HOST_SHARE)};

static const struct schema host_schema = {
	.name = "guest_host", .help = GUEST_HOST_HELP, SCHEMA_FIELDS(host_fields)};

FIELD_GETTER(get_host)
{
	get_same_row(field, item, value);
	if (!host_of(item)->measured)
		value_null(value);
}

VALUE_GETTER(get_files, value_number, outcome_of(item)->result->files)
VALUE_GETTER(get_command, value_string, outcome_of(item)->scheduler)

FIELD_GETTER(get_state)
{
	static const char *const states[] = {
		[BOOT_SCHEDULER_NONE] = NULL,	  [BOOT_SCHEDULER_NOT_STARTED] = "not-started",
		[BOOT_SCHEDULER_ALIVE] = "alive", [BOOT_SCHEDULER_STOPPED] = "stopped",
		[BOOT_SCHEDULER_DIED] = "died",
	};

	value_text(value, states[outcome_of(item)->result->scheduler]);
}

VALUE_GETTER(get_after, value_ns, outcome_of(item)->result->scheduler_after_ns)
VALUE_GETTER(get_reason, value_text, outcome_of(item)->result->scheduler_reason)
VALUE_GETTER(get_dump, value_text,
	     outcome_of(item)->result->dumped ? outcome_of(item)->boot->dump : NULL)

static const struct field scheduler_fields[] = {
	STRING_FIELD("command", get_command, "that started it"),
	STRING_FIELD("state", get_state, "alive, died, stopped or not-started"),
	INTEGER_FIELD("after_ns", get_after, "its end, since it was taken into use"),
	STRING_FIELD("reason", get_reason, "of its end"),
	STRING_FIELD("dump", get_dump, "file with what the kernel said"),
};

static const struct schema scheduler_schema = {
	.name = "requested_scheduler", .help = "of --scheduler", SCHEMA_FIELDS(scheduler_fields)};

FIELD_GETTER(get_scheduler)
{
	get_same_row(field, item, value);
	if (!outcome_of(item)->scheduler)
		value_null(value);
}

VALUE_GETTER(get_trace, value_text, outcome_of(item)->trace)
VALUE_GETTER(get_kernel_end, value_text, outcome_of(item)->result->kernel_end)
VALUE_GETTER(get_error, value_text, outcome_of(item)->failed->text)

static const struct field guest_fields[] = {
	STRING_FIELD("kernel", get_kernel, "the file"),
	STRING_FIELD("release", get_release, "what the kernel calls itself"),
	STRING_FIELD("accel", get_accel, "kvm or tcg"),
	STRING_FIELD("kvm_error", get_kvm_error, "why not kvm"),
	STRING_FIELD("topology", get_topology, "NUMA nodes, caches, cores and threads"),
	INTEGER_FIELD("memory_bytes", get_memory, "of the guest"),
	INTEGER_FIELD("boot_ns", get_boot, "from the start of QEMU until dwell ran inside"),
	INTEGER_FIELD("wall_ns", get_wall, "until nothing of it was left"),
	INTEGER_FIELD("teardown_ns", get_teardown, "of these, since the command had ended"),
	SIGNED_FIELD("exit", get_exit, "status of `dwell guest`"),
	INTEGER_FIELD("files", get_files, "that came back"),
	OBJECT_FIELD("scheduler", get_scheduler, &scheduler_schema, "of --scheduler"),
	OBJECT_FIELD("host", get_host, &host_schema, GUEST_HOST_HELP),
	STRING_FIELD("trace", get_trace,
		     "file with what threads did around the failure of a load, for Perfetto"),
	STRING_FIELD("kernel_end", get_kernel_end,
		     "hang or panic, after it had booted; null: neither"),
	STRING_FIELD("error", get_error, "what went wrong with the guest"),
};

const struct schema guest_schema = {
	.name = "guest", .help = "what came of a guest", .version = 1, SCHEMA_FIELDS(guest_fields)};

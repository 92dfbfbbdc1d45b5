// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell guest --result` says of a guest. docs/formats/json.md is the contract. */
#include "view/guest.h"

#define STRING .type = FIELD_STRING

static const struct guest_outcome *outcome_of(const struct item *item)
{
	return item->row;
}

/* ns; 0: it did not come to that */
static void value_ns(struct value *value, uint64_t ns)
{
	value_known(value, ns, ns > 0);
}

FIELD_GETTER(get_kernel)
{
	value_string(value, outcome_of(item)->boot->qemu.kernel);
}

FIELD_GETTER(get_release)
{
	value_text(value, outcome_of(item)->result->release);
}

FIELD_GETTER(get_accel)
{
	value_string(value, outcome_of(item)->result->kvm ? "kvm" : "tcg");
}

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

FIELD_GETTER(get_memory)
{
	value_number(value, outcome_of(item)->boot->qemu.memory_bytes);
}

FIELD_GETTER(get_boot)
{
	value_ns(value, outcome_of(item)->result->ready_ns);
}

FIELD_GETTER(get_wall)
{
	value_ns(value, outcome_of(item)->result->wall_ns);
}

FIELD_GETTER(get_teardown)
{
	value_ns(value, outcome_of(item)->result->teardown_ns);
}

FIELD_GETTER(get_exit)
{
	value_signed(value, outcome_of(item)->code);
	if (!outcome_of(item)->result->ended)
		value_null(value);
}

FIELD_GETTER(get_files)
{
	value_number(value, outcome_of(item)->result->files);
}

FIELD_GETTER(get_command)
{
	value_string(value, outcome_of(item)->scheduler);
}

FIELD_GETTER(get_state)
{
	static const char *const states[] = {
		[BOOT_SCHEDULER_NONE] = NULL,	  [BOOT_SCHEDULER_NOT_STARTED] = "not-started",
		[BOOT_SCHEDULER_ALIVE] = "alive", [BOOT_SCHEDULER_STOPPED] = "stopped",
		[BOOT_SCHEDULER_DIED] = "died",
	};

	value_text(value, states[outcome_of(item)->result->scheduler]);
}

FIELD_GETTER(get_after)
{
	value_ns(value, outcome_of(item)->result->scheduler_after_ns);
}

FIELD_GETTER(get_reason)
{
	value_text(value, outcome_of(item)->result->scheduler_reason);
}

FIELD_GETTER(get_dump)
{
	value_text(value, outcome_of(item)->result->dumped ? outcome_of(item)->boot->dump : NULL);
}

static const struct field scheduler_fields[] = {
	{.key = "command", .help = "that started it", .get = get_command, STRING},
	{.key = "state", .help = "alive, died, stopped or not-started", .get = get_state, STRING},
	{.key = "after_ns", .help = "its end, since it was taken into use", .get = get_after},
	{.key = "reason", .help = "of its end", .get = get_reason, STRING},
	{.key = "dump", .help = "file with what the kernel said", .get = get_dump, STRING},
};

static const struct schema scheduler_schema = {
	.name = "requested_scheduler", .help = "of --scheduler", SCHEMA_FIELDS(scheduler_fields)};

FIELD_GETTER(get_scheduler)
{
	get_same_row(field, item, value);
	if (!outcome_of(item)->scheduler)
		value_null(value);
}

FIELD_GETTER(get_error)
{
	value_text(value, outcome_of(item)->failed->text);
}

static const struct field guest_fields[] = {
	{.key = "kernel", .help = "the file", .get = get_kernel, STRING},
	{.key = "release", .help = "what the kernel calls itself", .get = get_release, STRING},
	{.key = "accel", .help = "kvm or tcg", .get = get_accel, STRING},
	{.key = "kvm_error", .help = "why not kvm", .get = get_kvm_error, STRING},
	{.key = "topology",
	 .help = "NUMA nodes, caches, cores and threads",
	 .get = get_topology,
	 STRING},
	{.key = "memory_bytes", .help = "of the guest", .get = get_memory},
	{.key = "boot_ns",
	 .help = "from the start of QEMU until dwell ran inside",
	 .get = get_boot},
	{.key = "wall_ns", .help = "until nothing of it was left", .get = get_wall},
	{.key = "teardown_ns",
	 .help = "of these, since the command had ended",
	 .get = get_teardown},
	{.key = "exit", .help = "status of `dwell guest`", .get = get_exit, .type = FIELD_SIGNED},
	{.key = "files", .help = "that came back", .get = get_files},
	{.key = "scheduler",
	 .help = "of --scheduler",
	 .get = get_scheduler,
	 .type = FIELD_OBJECT,
	 .schema = &scheduler_schema},
	{.key = "error", .help = "what went wrong with the guest", .get = get_error, STRING},
};

const struct schema guest_schema = {
	.name = "guest", .help = "what came of a guest", .version = 1, SCHEMA_FIELDS(guest_fields)};

// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <asm/unistd.h>
#include <locale.h>

#include "runtime/runtime.h"
#include "view/blocked_export.h"
#include "view/compare_threads.h"
#include "view/fields.h"
#include "view/blame.h"
#include "view/view.h"

#if defined(__x86_64__)
#define MACHINE "x86_64"
#else
#define MACHINE "aarch64"
#endif

/* A session that measures all, and knows one cgroup. */
static const struct session_info *sample_session(void)
{
	static struct session_info session;
	static union {
		struct wire_cgroup record;
		char room[64];
	} cgroup;
	static const struct wire_missing missing = {
		{.size = sizeof(missing), .kind = WIRE_MISSING}, "taskstats", "not asked"};

	if (!session.wire.source) {
		session.wire = (struct wire_session){.source = WIRE_SOURCE_BPF,
						     .states = ~0U,
						     .metrics = ~0U,
						     .machine = MACHINE,
						     .word_bits = 64};
		cgroup.record.header.kind = WIRE_CGROUP;
		cgroup.record.id = 1;
		memcpy(cgroup.record.path, "/system.slice/db.service", 24);
		assert_int_equal(session_feed(&session, &cgroup.record.header), 1);
		assert_int_equal(session_feed(&session, &missing.header), 1);
	}
	return &session;
}

static struct row sample_row(void)
{
	struct row row = {
		.tid = 31187,
		.pid = 31170,
		.parent_pid = 1,
		.threads = 1,
		.start_ns = 42,
		.cgroup_id = 1,
		.comm = "wal-\"sync\"",
		.process = "db",
		.observed_ns = 1000000,
		.site = {WIRE_DISK, WIRE_DETAIL_NONE, __NR_read},
		.in_state_ns = 2000000,
		.voluntary = 212,
		.woken = 209,
		.latency = {[10] = 99, [16] = 1},
		.latency_count = 100,
		.latency_max_ns = 90000,
	};

	row.states_ns[STATE_USER] = 250000;
	row.states_ns[STATE_DISK] = 750000;
	return row;
}

/* The page of text is no format of a schema. */
#define PAGE NULL

/* What a format makes of one interval; static storage. */
static const char *shown_interval(const struct format *format, enum grouping by,
				  struct interval *interval)
{
	static char text[8192];
	struct output out;
	struct view view = {.format = format, .out = &out, .by = by, .sort = field_find("active")};
	struct error error;

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(view_begin(&view, &error), 0);
	assert_int_equal(view_interval(&view, interval), 0);
	view_end(&view);
	assert_true(out.used < sizeof(text));
	memcpy(text, out.buffer, out.used);
	text[out.used] = '\0';
	output_release(&out);
	return text;
}

static const char *shown(const struct format *format, enum grouping by, struct row *rows,
			 size_t count)
{
	struct interval interval = {.start_ns = 5,
				    .end_ns = 1000005,
				    .start_realtime_ns = 1767323045123456789ULL,
				    .rows = rows,
				    .row_count = count,
				    .self_cpu_ns = 4000,
				    .snapshot_ns = 3,
				    .session = sample_session()};

	return shown_interval(format, by, &interval);
}

CASE(json_is_the_contract)
{
	struct row row = sample_row();

	assert_string_equal(
		shown(&format_json, BY_THREAD, &row, 1),
		"{\"type\":\"interval\",\"version\":1,\"start\":\"2026-01-02T03:04:05.123456789Z\","
		"\"start_ns\":5,\"duration_ns\":1000000,\"final\":false,\"sources\":[\"bpf\"],"
		"\"quality\":{\"lost\":0,\"lost_threads\":0,\"lost_exits\":0,\"lost_transitions\":"
		"0,"
		"\"torn\":0,\"clamped\":0,\"machine_stolen_ns\":null,"
		"\"machine_busy_ns\":null,\"cpu_split\":\"tick\",\"states\":\"exact\","
		"\"verified\":false,\"overrun_ns\":null,"
		"\"unavailable\":[{"
		"\"source\":\"taskstats\","
		"\"why\":\"not "
		"asked\"}]},\"self\":{\"cpu_ns\":4000,\"snapshot_ns\":3,\"runnable_ns\":null},"
		"\"total\":1,\"threads\":[{"
		"\"pid\":31170,\"tid\":31187,"
		"\"parent_pid\":1,\"comm\":\"wal-\\\"sync\\\"\",\"process\":\"db\","
		"\"cgroup\":\"/system.slice/db.service\",\"start_time_ns\":42,"
		"\"observed_ns\":1000000,\"states_ns\":{\"user\":250000,\"kernel\":0,\"runnable\":"
		"0,"
		"\"disk\":750000,\"net\":0,\"ipc\":0,\"lock\":0,\"swap\":0,\"sleep\":0,\"idle\":0,"
		"\"stopped\":0,\"stolen\":0,\"irq\":0,\"unknown\":0},\"state\":\"disk\",\"reason\":"
		"\"read\",\"in_"
		"state_ns\":2000000,"
		"\"switches\":{\"voluntary\":212,\"involuntary\":0},\"wakeups\":209,"
		"\"migrations\":0,\"runnable\":{\"count\":100,\"max_ns\":90000,\"p50_ns\":1536,"
		"\"p99_ns\":2042,\"woken\":209,\"preempted\":0,\"throttled\":0},\"delays\":null,"
		"\"exited\":false,\"exit_code\":null}]}\n");
}

CASE(unmeasured_is_null)
{
	struct row row = sample_row();
	const char *text;

	row.cgroup_id = 99;
	row.exited = true;
	memset(row.latency, 0, sizeof(row.latency));
	row.latency_count = row.latency_max_ns = 0;
	text = shown(&format_json, BY_THREAD, &row, 1);
	assert_non_null(strstr(text, "\"cgroup\":null"));
	assert_non_null(strstr(text, "\"state\":null,\"reason\":null,\"in_state_ns\":null"));
	assert_non_null(
		strstr(text, "\"count\":0,\"max_ns\":null,\"p50_ns\":null,\"p99_ns\":null"));
	text = shown(&format_csv, BY_THREAD, &row, 1);
	assert_non_null(strstr(text, ",,,,212,0,")); /* state, reason, in_state_ns */
}

CASE(what_a_source_does_not_measure_is_null)
{
	struct session_info *session = (struct session_info *)sample_session();
	struct row row = sample_row();
	const char *text;

	session->wire.states = 1U << WIRE_ON_CPU | 1U << WIRE_RUNNABLE;
	session->wire.metrics = 0;
	session->wire.source = WIRE_SOURCE_TASKSTATS;
	text = shown(&format_json, BY_THREAD, &row, 1);
	assert_non_null(strstr(text, "\"states_ns\":{\"user\":250000,\"kernel\":0,\"runnable\":0,"
				     "\"disk\":null,\"net\":null,"));
	assert_non_null(strstr(text, "\"state\":null,\"reason\":null,\"in_state_ns\":null"));
	assert_non_null(strstr(text, "\"states\":\"counters\""));
	text = shown(PAGE, BY_THREAD, &row, 1);
	assert_non_null(strstr(
		text, " 25.0    0    0    -    -    -    -    -    -    -    -      -  -\n"));
	assert_non_null(strstr(text, "counters (taskstats)"));
	session->wire.states = session->wire.metrics = ~0U;
	session->wire.source = WIRE_SOURCE_BPF;
}

CASE(another_architecture_has_other_calls)
{
	struct session_info *session = (struct session_info *)sample_session();
	struct row row = sample_row();

	row.site.syscall = 0;
	snprintf(session->wire.machine, sizeof(session->wire.machine), "riscv64");
	assert_non_null(
		strstr(shown(&format_json, BY_THREAD, &row, 1), "\"reason\":\"syscall 0\""));
	snprintf(session->wire.machine, sizeof(session->wire.machine), MACHINE);
}

CASE(delays_are_pairs)
{
	struct row row = sample_row();

	row.delays_measured = 1U << WIRE_DELAY_CPU | 1U << WIRE_DELAY_BLOCK_IO;
	row.delays[WIRE_DELAY_BLOCK_IO] = (struct wire_delay){97, 402000000};
	assert_non_null(strstr(shown(&format_json, BY_THREAD, &row, 1),
			       "\"delays\":{\"cpu\":{\"count\":0,\"total_ns\":0},"
			       "\"block_io\":{\"count\":97,\"total_ns\":402000000},"
			       "\"swap_in\":null,"));
	assert_non_null(strstr(shown(&format_csv, BY_THREAD, &row, 1), ",0,0,97,402000000,,,"));
}

CASE(csv_has_a_cell_for_each_heading)
{
	struct row row = sample_row();
	char *line = strdup(shown(&format_csv, BY_THREAD, &row, 1));
	char *second = strchr(line, '\n') + 1;
	int heading = 0, cells = 0;

	assert_memory_equal(line, "start,start_ns,duration_ns,lost,torn,pid,tid,", 44);
	assert_non_null(strstr(line, ",states_ns.user,"));
	assert_non_null(strstr(second, ",\"wal-\"\"sync\"\"\",db,"));
	for (const char *c = line; c < second; c++)
		heading += *c == ',';
	for (const char *c = second; *c; c++)
		cells += *c == ',';
	assert_int_equal(cells, heading);
	free(line);
}

CASE(table_shows_shares)
{
	struct row row = sample_row();
	const char *text = shown(PAGE, BY_THREAD, &row, 1);

	assert_non_null(strstr(
		text, "1 thread, 1 shown  exact (bpf), user/sys by tick  self 0.4%  lost 0\n"));
	assert_non_null(strstr(
		text, "   31187 wal-\"sync\"      25.0    0    0     0    0 75.0    0    0    0"
		      "    0    0    0    0    2us  disk read 2.0ms\n"));
}

/* Stolen and interrupt time have columns only where the kernel accounts for them. */
CASE(table_shows_what_was_stolen)
{
	struct row row = sample_row();
	struct session_info *session = (struct session_info *)sample_session();
	struct interval interval = {
		.start_ns = 5,
		.end_ns = 1000005,
		.rows = &row,
		.row_count = 1,
		.session = session,
		.machine_busy_ns = 500000000,
		.machine_stolen_ns = 206000000,
	};
	const char *text;

	row.states_ns[STATE_USER] = 150000;
	row.states_ns[STATE_STOLEN] = 100000;
	session->wire.flags |= WIRE_SESSION_MACHINE;
	text = shown_interval(PAGE, BY_THREAD, &interval);
	assert_non_null(strstr(text, "  stolen 41.2% of busy CPU time  "));
	assert_non_null(strstr(text, "  USER  SYS RUNQ STEAL  IRQ DISK"));
	assert_non_null(strstr(text, " 15.0    0    0  10.0    0 75.0    0"));
	session->wire.states &= ~(1U << WIRE_STOLEN | 1U << WIRE_IRQ);
	session->wire.flags &= ~WIRE_SESSION_MACHINE;
	text = shown_interval(PAGE, BY_THREAD, &interval);
	assert_null(strstr(text, "stolen"));
	assert_non_null(strstr(text, " RUNQ DISK"));
	text = shown_interval(&format_json, BY_THREAD, &interval);
	assert_non_null(strstr(text, "\"stolen\":null,\"irq\":null,"));
	assert_non_null(strstr(text, "\"machine_stolen_ns\":null"));
	session->wire.states = ~0U;
}

CASE(table_names_what_is_lost)
{
	struct interval interval = {
		.end_ns = 1000000, .losses = {.exits = 3, .torn = 1}, .session = sample_session()};
	struct output out;
	struct view view = {.out = &out, .sort = field_find("active")};

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(view_interval(&view, &interval), 0);
	output_char(&out, '\0');
	assert_non_null(strstr(out.buffer, "  LOST 3 exits, 1 torn\n"));
	output_release(&out);
}

CASE(table_leaves_out_the_idle)
{
	struct row rows[2] = {sample_row(), sample_row()};
	const char *text;

	rows[1].tid = 99999;
	memset(rows[1].states_ns, 0, sizeof(rows[1].states_ns));
	rows[1].states_ns[STATE_IDLE] = rows[1].observed_ns;
	text = shown(PAGE, BY_THREAD, rows, 2);
	assert_non_null(strstr(text, "2 threads, 1 shown"));
	assert_null(strstr(text, "99999"));
}

CASE(groups_have_their_own_arrays_and_fields)
{
	struct row row = sample_row();
	const char *text = shown(&format_json, BY_PROCESS, &row, 1);

	assert_non_null(strstr(text, "\"processes\":[{\"pid\":31170,"));
	assert_non_null(strstr(text, "\"threads\":1,"));
	assert_null(strstr(text, "\"tid\""));
	assert_null(strstr(text, "\"reason\""));
	text = shown(&format_json, BY_CGROUP, &row, 1);
	assert_non_null(strstr(text, "\"cgroups\":[{\"cgroup\":"));
	assert_null(strstr(text, "\"pid\""));
	assert_non_null(strstr(shown(PAGE, BY_CGROUP, &row, 1), "/system.slice/db.service\n"));
	assert_non_null(strstr(shown(PAGE, BY_PROCESS, &row, 1), "   31170 db "));
}

CASE(fields_have_unique_names)
{
	for (size_t i = 0; i < field_count; i++) {
		assert_ptr_equal(field_find(fields[i].name),
				 field_orders(&fields[i], ~0U) ? &fields[i] : NULL);
		/* an object's fields are neighbours, or the JSON would have it twice */
		for (size_t j = i + 2; fields[i].group && j < field_count; j++)
			if (fields[j].group && !strcmp(fields[i].group, fields[j].group))
				assert_string_equal(fields[j - 1].group, fields[i].group);
	}
	assert_null(field_find("nonsense"));
}

CASE(sorting_puts_the_unmeasured_last)
{
	struct row rows[3] = {sample_row(), sample_row(), sample_row()};

	rows[0].tid = 1;
	memset(rows[0].latency, 0, sizeof(rows[0].latency));
	rows[0].latency_count = 0;
	rows[1].tid = 2;
	rows[2].tid = 3;
	rows[2].latency_max_ns = 900000;
	rows[2].latency[19] = 50;
	rows[2].latency_count += 50;
	assert_int_equal(rows_sort(rows, 3, field_find("p99"), sample_session()), 0);
	assert_int_equal(rows[0].tid, 3);
	assert_int_equal(rows[1].tid, 2);
	assert_int_equal(rows[2].tid, 1);
	snprintf(rows[0].comm, sizeof(rows[0].comm), "zzz");
	assert_int_equal(rows_sort(rows, 3, field_find("comm"), sample_session()), 0);
	assert_int_equal(rows[2].tid, 3);
}

CASE(formats_are_found_by_name)
{
	for (size_t i = 0; i < format_count; i++)
		assert_ptr_equal(format_find(formats[i]->name), formats[i]);
	assert_null(format_find("xml"));
}

/* As tables do: no code did it. */
CASE(folded_stacks_say_what_the_machine_took)
{
	const struct blocked_export_ops *folded = blocked_export_find("folded");
	const struct stall stalls[] = {
		{.parts = {{.cause = CAUSE_STOLEN, .ns = 5, .stack = 1}}, .part_count = 1},
		{.parts = {{.cause = CAUSE_IRQ, .ns = 30}}, .part_count = 1},
		{.parts = {{.cause = CAUSE_STOLEN, .ns = 2}}, .part_count = 1},
		{.parts = {{.cause = CAUSE_SLEEP, .ns = 100}}, .part_count = 1},
	};
	struct output out;
	struct blocked_summary summary = {.stalls = stalls_new(0, runtime_stack_marks())};
	struct blocked_export export = {.ops = folded, .out = &out, .stalls = summary.stalls};

	assert_non_null(summary.stalls);
	assert_int_equal(output_init(&out, -1), 0);
	folded->begin(&export);
	for (size_t i = 0; i < ARRAY_SIZE(stalls); i++)
		assert_int_equal(folded->stall(&export, &stalls[i]), 0);
	folded->end(&export, &summary);
	output_char(&out, '\0');
	assert_string_equal(out.buffer, "(no stack) 100\n(hypervisor) 7\n(interrupts) 30\n");
	output_release(&out);
	blocked_export_release(&export);
	stalls_free(summary.stalls);
}

CASE(a_culprit_that_is_not_a_thread_needs_no_session)
{
	struct share_key key = {
		.level = SHARE_CULPRIT, .state = STATE_DISK, .kind = WIRE_CULPRIT_DEVICE};
	char text[64];

	compare_threads_because(text, sizeof(text), NULL, &key);
	assert_string_equal(text, "ended by a disk");
}

CASE(who_ran_may_be_of_another_pid_namespace)
{
	struct blame blame = {
		.kind = WIRE_CULPRIT_THREAD,
		.state = STATE_LOCK,
		.culprit = {.tid = 8, .pid = 8, .comm = "http-4"},
		.has_meanwhile = true,
		.meanwhile = {.state = WIRE_RUNNABLE, .syscall = -1},
		.thief = {.party = {.comm = "backup", .cgroup_id = 1}, .least_ns = 90},
		.total_ns = 100,
	};
	char text[96];

	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "ended by http-4 8, meanwhile runnable (backup ran)");
}

static void know_cgroup(struct session_info *session, uint64_t id, const char *path)
{
	union {
		struct wire_cgroup record;
		char room[128];
	} cgroup = {.record = {.header = {.kind = WIRE_CGROUP, .size = sizeof(cgroup)}, .id = id}};

	snprintf(cgroup.record.path, sizeof(cgroup) - sizeof(cgroup.record), "%s", path);
	assert_int_equal(session_feed(session, &cgroup.record.header), 1);
}

/* What the page says of blame; static storage. */
static const char *blame_page(const struct session_info *session, enum grouping by,
			      enum blame_side side, struct blame *blames, size_t count)
{
	static char text[4096];
	struct output out;
	struct view view = {.out = &out, .by = by, .blame = side};
	struct interval interval = {
		.end_ns = 1000000, .blames = blames, .blame_count = count, .session = session};

	assert_int_equal(output_init(&out, -1), 0);
	assert_int_equal(page_blame(&view, &interval), 0);
	assert_true(out.used < sizeof(text));
	memcpy(text, out.buffer, out.used);
	text[out.used] = '\0';
	output_release(&out);
	return text;
}

CASE(a_long_cgroup_is_known_by_its_end)
{
	struct session_info session = {
		.wire = {.source = WIRE_SOURCE_BPF, .flags = WIRE_SESSION_BLAME}};
	struct blame blames[2];
	const char *text;

	setlocale(LC_ALL, "C.UTF-8");
	know_cgroup(&session, 1, "/machines/benchmarks-10876/of-tonight/server-a");
	know_cgroup(&session, 2, "/machines/benchmarks-10876/of-tonight/server-b");
	for (unsigned int i = 0; i < 2; i++)
		blames[i] = (struct blame){.kind = WIRE_CULPRIT_THREAD,
					   .state = STATE_LOCK,
					   .victim = {.cgroup_id = 1 + i},
					   .culprit = {.cgroup_id = 2 - i},
					   .total_ns = 200 - i};
	text = blame_page(&session, BY_CGROUP, BLAME_SUFFERED, blames, 2);
	assert_non_null(strstr(text, "\n/machin…onight/server-a "));
	assert_non_null(strstr(text, "\n/machin…onight/server-b "));
	assert_non_null(strstr(text, "ended by /machines/ben…-10876/of-tonight/server-b\n"));
	session_release(&session);
}

CASE(what_has_no_known_cgroup_is_not_nameless)
{
	struct session_info session = {
		.wire = {.source = WIRE_SOURCE_BPF, .flags = WIRE_SESSION_BLAME}};
	struct blame blames[] = {{.state = STATE_RUNNABLE,
				  .kind = WIRE_CULPRIT_THREAD,
				  .victim = {.cgroup_id = 1},
				  .culprit = {.cgroup_id = 7},
				  .total_ns = 20},
				 {.state = STATE_RUNNABLE,
				  .kind = WIRE_CULPRIT_THREAD,
				  .victim = {.cgroup_id = 1},
				  .culprit = {.comm = "rustc", .process = "rustc"},
				  .total_ns = 10}};
	const char *text = blame_page(&session, BY_CGROUP, BLAME_SUFFERED, blames, 2);

	assert_non_null(strstr(text, "\nunknown  "));
	assert_non_null(strstr(text, "  ran instead: unknown\n"));
	assert_non_null(strstr(text, "  ran instead: rustc\n"));
	session_release(&session);
}

/* By its number the process would be the first thread, which may have done nothing. */
CASE(several_threads_that_cost_others_are_not_the_first)
{
	struct session_info session = {
		.wire = {.source = WIRE_SOURCE_BPF, .flags = WIRE_SESSION_BLAME}};
	struct blame blames[2];
	const char *text;

	for (unsigned int i = 0; i < 2; i++)
		blames[i] = (struct blame){.kind = WIRE_CULPRIT_THREAD,
					   .state = STATE_LOCK,
					   .victim = {.pid = 10, .tid = 12, .comm = "fold"},
					   .culprit = {.pid = 10, .tid = 11 * i, .comm = "fold"},
					   .total_ns = 200 - i};
	text = blame_page(&session, BY_THREAD, BLAME_CAUSED, blames, 2);
	assert_non_null(strstr(text, "\nthreads of fold 10  "));
	assert_non_null(strstr(text, "\nfold 11  "));
	/* by process it is that */
	blames[0].victim.tid = 0;
	text = blame_page(&session, BY_PROCESS, BLAME_CAUSED, blames, 1);
	assert_non_null(strstr(text, "\nfold 10  "));
	session_release(&session);
}

/* As above, where they are a culprit; processes of a name are no one of them either. */
CASE(a_culprit_may_stand_for_several)
{
	struct session_info session = {
		.wire = {.source = WIRE_SOURCE_BPF, .flags = WIRE_SESSION_BLAME}};
	struct blame blames[] = {{.kind = WIRE_CULPRIT_THREAD,
				  .state = STATE_RUNNABLE,
				  .victim = {.tid = 12, .pid = 10, .comm = "worker"},
				  .culprit = {.pid = 10, .comm = "wl"},
				  .total_ns = 200},
				 {.kind = WIRE_CULPRIT_THREAD,
				  .state = STATE_RUNNABLE,
				  .victim = {.tid = 12, .pid = 10, .comm = "worker"},
				  .culprit = {.comm = "sh"},
				  .has_meanwhile = true,
				  .meanwhile = {.state = WIRE_DISK, .syscall = -1},
				  .total_ns = 100}};
	char text[96];

	blame_describe(text, sizeof(text), &blames[0], &session);
	assert_string_equal(text, "ran instead: threads of wl 10");
	blame_describe(text, sizeof(text), &blames[1], &session);
	assert_string_equal(text,
			    "ran instead: sh, meanwhile disk page fault (several of that name)");
	assert_non_null(strstr(blame_page(&session, BY_THREAD, BLAME_SUFFERED, blames, 2),
			       "  ran instead: threads of wl 10\n"));
	assert_non_null(
		strstr(blame_page(&session, BY_THREAD, BLAME_SUFFERED, blames, 2),
		       "  ran instead: sh, meanwhile disk page fault (several of that name)\n"));
	/* of a lock, too: its name may be the process's */
	blames[0].state = STATE_LOCK;
	blame_describe(text, sizeof(text), &blames[0], &session);
	assert_string_equal(text, "ended by threads of wl 10");
	/* by process the number is right, and who held a lock of its own is known by name */
	blames[0].victim.tid = 0;
	blame_describe(text, sizeof(text), &blames[0], &session);
	assert_string_equal(text, "ended by its own wl");
	blames[0].state = STATE_RUNNABLE;
	blames[0].culprit.pid = 11;
	blame_describe(text, sizeof(text), &blames[0], &session);
	assert_string_equal(text, "ran instead: wl 11");
	session_release(&session);
}

CASE(limits_and_disks_are_named_as_far_as_they_are_known)
{
	struct blame blame = {.kind = WIRE_CULPRIT_THROTTLE, .state = STATE_RUNNABLE};
	char text[96];

	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "throttled: its CPU budget was used up");
	memcpy(blame.culprit.comm, "db.service", 11);
	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "throttled: the CPU quota of db.service");
	blame.culprit.cgroup_id = 1;
	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "throttled: cpu.max of /system.slice/db.service");
	blame = (struct blame){.kind = WIRE_CULPRIT_DEVICE, .state = STATE_DISK};
	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "ended by a disk");
	memcpy(blame.culprit.comm, "nvme0n1", 8);
	blame_describe(text, sizeof(text), &blame, sample_session());
	assert_string_equal(text, "ended by nvme0n1");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(json_is_the_contract),
		cmocka_unit_test(unmeasured_is_null),
		cmocka_unit_test(what_a_source_does_not_measure_is_null),
		cmocka_unit_test(another_architecture_has_other_calls),
		cmocka_unit_test(delays_are_pairs),
		cmocka_unit_test(csv_has_a_cell_for_each_heading),
		cmocka_unit_test(table_shows_shares),
		cmocka_unit_test(table_shows_what_was_stolen),
		cmocka_unit_test(table_names_what_is_lost),
		cmocka_unit_test(table_leaves_out_the_idle),
		cmocka_unit_test(groups_have_their_own_arrays_and_fields),
		cmocka_unit_test(fields_have_unique_names),
		cmocka_unit_test(sorting_puts_the_unmeasured_last),
		cmocka_unit_test(formats_are_found_by_name),
		cmocka_unit_test(folded_stacks_say_what_the_machine_took),
		cmocka_unit_test(a_culprit_that_is_not_a_thread_needs_no_session),
		cmocka_unit_test(who_ran_may_be_of_another_pid_namespace),
		cmocka_unit_test(a_long_cgroup_is_known_by_its_end),
		cmocka_unit_test(what_has_no_known_cgroup_is_not_nameless),
		cmocka_unit_test(several_threads_that_cost_others_are_not_the_first),
		cmocka_unit_test(a_culprit_may_stand_for_several),
		cmocka_unit_test(limits_and_disks_are_named_as_far_as_they_are_known),
	};

	return RUN(cases);
}

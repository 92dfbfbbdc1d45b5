// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that never go back, of those that count most; and what a cgroup's path says. */
#include "test.h"

#include "base/duration.h"
#include "model/cgroup_names.h"
#include "model/counters.h"
#include "model/leaders.h"
#include "model/name_groups.h"

static void count(struct leaders *leaders, const char *name, uint64_t amount)
{
	struct leader *leader = leaders_at(leaders, name, strlen(name));

	leader->fresh[0] += amount;
	leader->fresh_weight += amount;
	leader->fresh_gauge++;
}

static uint64_t own(struct leaders *leaders, const char *name)
{
	for (size_t i = 0; i < leaders->count; i++)
		if (!strcmp(leaders->items[i]->name, name))
			return leaders->items[i]->leads ? leaders->items[i]->counts[0] : 0;
	return 0;
}

CASE(first_come_lead_while_there_is_room)
{
	struct leaders leaders;

	assert_int_equal(leaders_init(&leaders, 2, 10, 1, 0), 0);
	count(&leaders, "a", 5);
	count(&leaders, "b", 7);
	count(&leaders, "c", 3);
	leaders_turn(&leaders, NS_PER_S);
	assert_int_equal(own(&leaders, "a"), 5);
	assert_int_equal(own(&leaders, "b"), 7);
	assert_int_equal(own(&leaders, "c"), 0);
	assert_int_equal(leaders.rest.counts[0], 3);
	assert_int_equal(leaders.rest.gauge, 1);
	leaders_release(&leaders);
}

CASE(a_place_changes_hands_after_its_term_and_counts_stay)
{
	struct leaders leaders;
	uint64_t now_ns = NS_PER_S;

	assert_int_equal(leaders_init(&leaders, 1, 10, 1, 0), 0);
	count(&leaders, "a", 10);
	leaders_turn(&leaders, now_ns);
	/* larger, but within the term */
	count(&leaders, "a", 1);
	count(&leaders, "b", 50);
	leaders_turn(&leaders, now_ns + LEADERS_TERM_NS - 1);
	assert_int_equal(own(&leaders, "b"), 0);
	assert_int_equal(leaders.rest.counts[0], 50);
	count(&leaders, "a", 1);
	count(&leaders, "b", 1000);
	leaders_turn(&leaders, now_ns + LEADERS_TERM_NS);
	/* what b counted before stays with the others, and what a counts from now on goes there */
	assert_int_equal(own(&leaders, "b"), 1000);
	assert_int_equal(own(&leaders, "a"), 0);
	assert_int_equal(leaders.rest.counts[0], 51);
	leaders_release(&leaders);
}

CASE(one_of_another_order_takes_a_place_at_once)
{
	struct leaders leaders;

	assert_int_equal(leaders_init(&leaders, 1, 10, 1, 0), 0);
	count(&leaders, "a", 10);
	leaders_turn(&leaders, NS_PER_S);
	count(&leaders, "b", 1000);
	leaders_turn(&leaders, 2 * NS_PER_S);
	assert_int_equal(own(&leaders, "b"), 1000);
	assert_int_equal(own(&leaders, "a"), 0);
	leaders_release(&leaders);
}

CASE(names_that_are_gone_yield_their_places)
{
	struct leaders leaders;
	uint64_t now_ns = NS_PER_S;

	/* two that had much, and one more of their kind; then none of them is there any more */
	assert_int_equal(leaders_init(&leaders, 2, 10, 1, 0), 0);
	count(&leaders, "gone-a", 1000000);
	count(&leaders, "gone-b", 900000);
	count(&leaders, "gone-c", 800000);
	leaders_turn(&leaders, now_ns);
	count(&leaders, "d", 1);
	leaders_turn(&leaders, now_ns + LEADERS_ABSENT_NS - 1);
	assert_int_equal(own(&leaders, "d"), 0);
	count(&leaders, "d", 2);
	leaders_turn(&leaders, now_ns + LEADERS_ABSENT_NS);
	assert_int_equal(own(&leaders, "d"), 2);
	/* the lightest is the first to go, and goes for one that is there */
	assert_int_equal(own(&leaders, "gone-a"), 1000000);
	assert_int_equal(own(&leaders, "gone-c"), 0);
	count(&leaders, "e", 3);
	leaders_turn(&leaders, now_ns + LEADERS_ABSENT_NS + 1);
	assert_int_equal(own(&leaders, "e"), 3);
	assert_int_equal(leaders.leading, 2);
	assert_int_equal(leaders.rest.counts[0], 800001);
	leaders_release(&leaders);
}

CASE(one_that_is_hardly_larger_waits)
{
	struct leaders leaders;

	assert_int_equal(leaders_init(&leaders, 1, 10, 1, 0), 0);
	count(&leaders, "a", 100);
	leaders_turn(&leaders, 1);
	for (uint64_t i = 1; i <= 10; i++) {
		count(&leaders, "a", 100);
		count(&leaders, "b", 140);
		leaders_turn(&leaders, i * LEADERS_TERM_NS);
	}
	assert_int_equal(own(&leaders, "a"), 1100);
	assert_int_equal(leaders.rest.counts[0], 1400);
	leaders_release(&leaders);
}

CASE(all_together_are_what_was_counted)
{
	struct leaders leaders;
	uint64_t total = 0, since, before[6] = {0};
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

	assert_int_equal(leaders_init(&leaders, 3, 5, 1, 1), 0);
	for (uint64_t turn = 1; turn < 2000; turn++) {
		uint64_t sum;

		for (size_t i = 0; i < 6; i++) {
			uint64_t amount =
				(turn * (i + 3) * 2654435761U >> 7) % (turn % 6 == i ? 900 : 20);

			count(&leaders, names[i], amount);
			total += amount;
		}
		leaders_turn(&leaders, turn * 30 * NS_PER_S);
		sum = leaders.rest.counts[0];
		for (size_t i = 0; i < leaders.count; i++) {
			sum += leaders.items[i]->counts[0];
			assert_true(leaders.items[i]->counts[0] >= before[i]);
			before[i] = leaders.items[i]->counts[0];
		}
		assert_int_equal(sum, total);
		assert_true(leaders.leading <= 3);
	}
	/* five names are remembered, the sixth never finds room */
	assert_int_equal(leaders.unnamed, 1999);
	leaders_set_mark(&leaders, 0);
	count(&leaders, "a", 4);
	leaders_turn(&leaders, 2000 * 30 * NS_PER_S);
	since = leader_since(&leaders, &leaders.rest, 0, 0);
	for (size_t i = 0; i < leaders.count; i++)
		since += leader_since(&leaders, leaders.items[i], 0, 0);
	assert_int_equal(since, 4);
	leaders_release(&leaders);
}

CASE(names_that_are_gone_are_forgotten)
{
	struct leaders leaders;

	assert_int_equal(leaders_init(&leaders, 1, 2, 1, 0), 0);
	count(&leaders, "a", 10);
	leaders_turn(&leaders, 1);
	leaders_turn(&leaders, LEADERS_FORGET_NS + 1);
	assert_int_equal(leaders.count, 0);
	assert_int_equal(leaders.leading, 0);
	count(&leaders, "b", 3);
	leaders_turn(&leaders, LEADERS_FORGET_NS + 2);
	assert_int_equal(own(&leaders, "b"), 3);
	leaders_release(&leaders);
}

CASE(names_that_are_gone_make_room_for_others)
{
	struct leaders leaders;
	char name[32];

	assert_int_equal(leaders_init(&leaders, 1, 100, 1, 0), 0);
	count(&leaders, "led", 1000);
	leaders_turn(&leaders, 1);
	for (uint64_t i = 1; i <= 3600; i++) {
		snprintf(name, sizeof(name), "name %d", (int)i);
		count(&leaders, name, 1);
		leaders_turn(&leaders, 1 + i * 2 * NS_PER_S);
		/* what it has counted in its place waits for it */
		assert_int_equal(!!leaders_find(&leaders, "led", 3),
				 i * 2 * NS_PER_S < LEADERS_FORGET_NS);
	}
	assert_int_equal(leaders.unnamed, 0);
	leaders_release(&leaders);
}

CASE(names_are_found_after_others_were_forgotten)
{
	struct leaders leaders;
	char name[32];

	assert_int_equal(leaders_init(&leaders, 1, 300, 1, 0), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		count(&leaders, name, 1);
	}
	leaders_turn(&leaders, 1);
	for (int i = 0; i < 300; i += 3) {
		snprintf(name, sizeof(name), "name %d", i);
		count(&leaders, name, 1);
	}
	leaders_turn(&leaders, LEADERS_FORGET_NS + 1);
	assert_int_equal(leaders.count, 100);
	for (int i = 0; i < 300; i++) {
		const struct leader *found;

		snprintf(name, sizeof(name), "name %d", i);
		found = leaders_find(&leaders, name, strlen(name));
		assert_int_equal(found != NULL, i % 3 == 0);
		assert_true(!found || !strcmp(found->name, name));
	}
	/* in the order of their names, and none twice */
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		count(&leaders, name, 1);
	}
	assert_int_equal(leaders.count, 300);
	assert_int_equal(leaders.unnamed, 0);
	for (size_t i = 1; i < leaders.count; i++)
		assert_true(leaders.items[i - 1]->length < leaders.items[i]->length ||
			    strcmp(leaders.items[i - 1]->name, leaders.items[i]->name) < 0);
	leaders_release(&leaders);
}

static uint64_t cgroup_of(struct interval *interval, const char *comm)
{
	struct blame blame = {.kind = WIRE_CULPRIT_THREAD};
	struct name_groups groups = {.is_made = false};
	uint64_t cgroup_id;

	snprintf(blame.culprit.comm, sizeof(blame.culprit.comm), "%s", comm);
	cgroup_id = name_groups_cgroup(&groups, interval, &blame);
	name_groups_release(&groups);
	return cgroup_id;
}

CASE(a_name_is_of_a_cgroup_where_all_its_threads_are)
{
	static const char *const names[] = {"alone", "twice", "spread"};
	struct session_info session = {.wire.source = WIRE_SOURCE_BPF};
	struct row rows[600] = {0};
	struct interval interval = {.rows = rows, .row_count = 600, .session = &session};

	for (size_t i = 0; i < 600; i++) {
		snprintf(rows[i].comm, sizeof(rows[i].comm), "other %zu", i);
		rows[i].cgroup_id = 1000 + i;
	}
	for (size_t i = 0; i < 5; i++)
		snprintf(rows[100 * i].comm, sizeof(rows[0].comm), "%s", names[(i + 1) / 2]);
	rows[100].cgroup_id = rows[200].cgroup_id = 7;
	assert_int_equal(cgroup_of(&interval, "alone"), 1000);
	assert_int_equal(cgroup_of(&interval, "twice"), 7);
	assert_int_equal(cgroup_of(&interval, "spread"), 0);
	assert_int_equal(cgroup_of(&interval, "other 599"), 1599);
	assert_int_equal(cgroup_of(&interval, "unheard"), 0);
	/* of a part of the machine */
	session.wire.flags = WIRE_SESSION_TARGETED;
	assert_int_equal(cgroup_of(&interval, "twice"), 0);
	session.wire.flags = WIRE_SESSION_NAMESPACE;
	assert_int_equal(cgroup_of(&interval, "twice"), 0);
}

CASE(a_thread_or_process_that_has_ended_is_of_no_cgroup_by_its_name)
{
	struct session_info session = {.wire.source = WIRE_SOURCE_BPF};
	struct row row = {.tid = 10, .pid = 10, .comm = "mysqld", .cgroup_id = 7};
	struct interval interval = {.rows = &row, .row_count = 1, .session = &session};
	struct blame blame = {.kind = WIRE_CULPRIT_THREAD, .culprit.comm = "mysqld"};
	struct name_groups groups = {.is_made = false};

	assert_int_equal(name_groups_cgroup(&groups, &interval, &blame), 7);
	blame.culprit.pid = 20;
	assert_int_equal(name_groups_cgroup(&groups, &interval, &blame), 0);
	blame.culprit.tid = 21;
	assert_int_equal(name_groups_cgroup(&groups, &interval, &blame), 0);
	blame.culprit.cgroup_id = 8;
	assert_int_equal(name_groups_cgroup(&groups, &interval, &blame), 8);
	name_groups_release(&groups);
}

CASE(threads_of_the_kernel_are_grouped_by_kind)
{
	static const struct {
		const char *process, *group;
	} cases[] = {
		{"kworker/0:1-events", "kworker"},
		{"kworker/R-kblockd", "kworker"},
		{"kworker/u8:3", "kworker"},
		{"ksoftirqd/1", "ksoftirqd"},
		{"jbd2/vda-8", "jbd2"},
		{"kworkers/0", "kworkers/0"},
		{"kwork/0", "kwork/0"},
		{"/0", "/0"},
		{"kworker", "kworker"},
		{"rcu_preempt", "rcu_preempt"},
		{"nginx", "nginx"},
		{"other", "other (a process)"},
		{"", "unknown"},
	};
	struct counters counters = {.by = BY_PROCESS};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(counters_group(&counters, NULL, 0, cases[i].process),
				    cases[i].group);
}

CASE(a_group_is_called_as_it_is_served_too)
{
	assert_true(counters_is_called("a\x1b]b", "a\x1b]b"));
	assert_true(counters_is_called("a\x1b]b", "a?]b"));
	assert_false(counters_is_called("a\x1b]b", "a?]"));
	assert_false(counters_is_called("a?]b", "a\x1b]b"));
}

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "01234567-89ab-cdef-0123-456789abcdef"
#define LOW "01234567_89ab_cdef_0123_456789abcdef" /* as part of a slice's name */
#define MD5 "0123456789abcdef0123456789abcdef"

CASE(paths_say_who_made_the_cgroup)
{
	static const struct {
		const char *path, *unit, *container, *pod;
	} cases[] = {
		{"/", "", "", ""},
		{"/system.slice/ssh.service", "ssh.service", "", ""},
		{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "",
		 ""},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
		 "app-x.scope", "", ""},
		{"/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", "", ""},
		/* Docker: systemd's driver, cgroupfs, without root, init inside */
		{"/system.slice/docker-" ID ".scope", "system.slice", "0123456789ab", ""},
		{"/system.slice/docker-" ID ".scope/init.scope", "system.slice", "0123456789ab",
		 ""},
		{"/docker/" ID, "", "0123456789ab", ""},
		{"/docker/" ID "/init.scope", "", "0123456789ab", ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope",
		 "user.slice", "0123456789ab", ""},
		/* Podman: systemd, cgroupfs, in a unit of its own, in a pod, its monitor */
		{"/machine.slice/libpod-" ID ".scope/container", "machine.slice", "0123456789ab",
		 ""},
		{"/libpod_parent/libpod-" ID, "", "0123456789ab", ""},
		{"/system.slice/web.service/libpod-payload-" ID, "web.service", "0123456789ab", ""},
		{"/system.slice/web.service/runtime", "web.service", "", ""},
		{"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope/container",
		 "machine.slice", "0123456789ab", "0123456789ab"},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" ID
		 ".slice",
		 "user.slice", "", "0123456789ab"},
		{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", ""},
		/* the kubelet with systemd's driver: containerd, CRI-O, Docker; from a file; in
		   kind */
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" LOW
		 ".slice/cri-containerd-" ID ".scope",
		 "kubepods-burstable.slice", "0123456789ab", UID},
		{"/kubepods.slice/kubepods-pod" LOW ".slice/crio-" ID ".scope", "kubepods.slice",
		 "0123456789ab", UID},
		{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" LOW
		 ".slice/docker-" ID ".scope",
		 "kubepods-besteffort.slice", "0123456789ab", UID},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" MD5
		 ".slice/crio-" ID ".scope/container",
		 "kubepods-burstable.slice", "0123456789ab", MD5},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" LOW
		 ".slice/crio-conmon-" ID ".scope",
		 "kubepods-burstable.slice", "", UID},
		{"/system.slice/docker-" ID ".scope/kubelet.slice/kubelet-kubepods.slice/"
		 "kubelet-kubepods-pod" LOW ".slice/cri-containerd-" ID ".scope",
		 "system.slice", "0123456789ab", UID},
		/* with cgroupfs, and with the drivers mixed up */
		{"/kubepods/besteffort/pod" UID "/" ID, "", "0123456789ab", UID},
		{"/kubelet/kubepods/pod" MD5 "/crio-" ID, "", "0123456789ab", MD5},
		{"/system.slice/containerd.service/kubepods-besteffort-pod" LOW
		 ".slice:cri-containerd:" ID,
		 "containerd.service", "0123456789ab", UID},
		{"/kubepods-pod" LOW ".slice:crio:" ID, "", "0123456789ab", UID},
		/* containerd alone */
		{"/system.slice/nerdctl-" ID ".scope", "system.slice", "0123456789ab", ""},
		{"/default/" ID, "", "0123456789ab", ""},
		/* LXC, Proxmox, systemd-nspawn, libvirt */
		{"/lxc/web/system.slice/nginx.service", "", "web", ""},
		{"/lxc/101/ns/init.scope", "", "101", ""},
		{"/lxc.payload.web", "", "web", ""},
		{"/lxc.payload.web/system.slice/nginx.service", "", "web", ""},
		{"/machine.slice/machine-deb.scope/payload", "machine.slice", "deb", ""},
		{"/machine.slice/systemd-nspawn@deb\\x2d12.service/payload/init.scope",
		 "machine.slice", "deb-12", ""},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator", "machine.slice",
		 "qemu-1-vm", ""},
		/* what only looks like one */
		{"/docker-" ID "0.scope", "docker-" ID "0.scope", "", ""},
		{"/podish/pod/", "", "", ""},
		{"/x-pod" UID ".slice", "x-pod" UID ".slice", "", ""},
		{"/machine-x.slice", "machine-x.slice", "", ""},
		{"/machine-libpod_pod_.slice", "machine-libpod_pod_.slice", "", ""},
		{"/systemd-nspawn@.service", "systemd-nspawn@.service", "", ""},
		{"/:/a:b", "", "", ""},
		{"//a.service//", "a.service", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cgroup_names names;

		cgroup_names_find(&names, cases[i].path);
		assert_string_equal(names.pod, cases[i].pod);
		assert_string_equal(names.container, cases[i].container);
		assert_string_equal(names.unit, cases[i].unit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_come_lead_while_there_is_room),
		cmocka_unit_test(a_place_changes_hands_after_its_term_and_counts_stay),
		cmocka_unit_test(one_of_another_order_takes_a_place_at_once),
		cmocka_unit_test(names_that_are_gone_yield_their_places),
		cmocka_unit_test(one_that_is_hardly_larger_waits),
		cmocka_unit_test(all_together_are_what_was_counted),
		cmocka_unit_test(names_that_are_gone_are_forgotten),
		cmocka_unit_test(names_that_are_gone_make_room_for_others),
		cmocka_unit_test(names_are_found_after_others_were_forgotten),
		cmocka_unit_test(a_name_is_of_a_cgroup_where_all_its_threads_are),
		cmocka_unit_test(a_thread_or_process_that_has_ended_is_of_no_cgroup_by_its_name),
		cmocka_unit_test(threads_of_the_kernel_are_grouped_by_kind),
		cmocka_unit_test(a_group_is_called_as_it_is_served_too),
		cmocka_unit_test(paths_say_who_made_the_cgroup),
	};

	return RUN(tests);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The floor: programs on the hooks of sched.bpf.c that do nothing. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup")
int empty_wakeup(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hypervisor takes from the machine, for the tests and for the runner, which has no pytest."""
import os
import pathlib

#: Of the kernel: (6, 18) and the like.
RELEASE = tuple(int(number) for number in os.uname().release.split("-")[0].split(".")[:2])

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def machine_ns():
    """(stolen, busy): of all CPUs since boot; busy contains stolen."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return steal * TICK_NS, (user + nice + system + irq + softirq + steal) * TICK_NS

# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile` of threads and processes that are shorter than what a stack stands for, beside their own clocks."""
import collections
import json
import re
import subprocess

import pytest

from conftest import run
from profiles import ON_CPU, profile

#: One after the other: a thread or process computes or sleeps for moments, and the program itself does the same. It ends with lines of
#: function and seconds.
SHORT = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static volatile double sum;
static void burn(void) { for (int i = 0; i < 200000; i++) sum += i; }
static double short_took;
__attribute__((noinline)) void short_computes(void) { burn(); __asm__ volatile(""); }
__attribute__((noinline)) void long_computes(void) { burn(); __asm__ volatile(""); }
__attribute__((noinline)) void short_sleeps(void) { usleep(2000); __asm__ volatile(""); }
__attribute__((noinline)) void long_sleeps(void) { usleep(2000); __asm__ volatile(""); }
static void *computes(void *data) { double begin = now(CLOCK_THREAD_CPUTIME_ID); short_computes(); short_took += now(CLOCK_THREAD_CPUTIME_ID) - begin; return data; }
static void *sleeps(void *data) { double begin = now(CLOCK_MONOTONIC); short_sleeps(); short_took += now(CLOCK_MONOTONIC) - begin; return data; }
int main(int count, char **words) {
	const char *how = words[1];
	double end = now(CLOCK_MONOTONIC) + atof(words[2]), long_took = 0;
	int rounds = count > 3 ? atoi(words[3]) : 1 << 30;
	clockid_t clock = !strcmp(how, "sleeps") ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	for (; rounds-- && now(CLOCK_MONOTONIC) < end;) {
		double begin = now(clock);
		if (!strcmp(how, "processes")) {
			if (!fork()) short_computes(), _exit(0);
			wait(NULL);
		} else {
			pthread_t thread;
			pthread_create(&thread, NULL, clock == CLOCK_MONOTONIC ? sleeps : computes, NULL);
			pthread_join(thread, NULL);
		}
		begin = now(clock);
		if (clock == CLOCK_MONOTONIC) long_sleeps();
		else long_computes();
		long_took += now(clock) - begin;
	}
	if (!strcmp(how, "processes")) {
		struct rusage usage;
		getrusage(RUSAGE_CHILDREN, &usage);
		short_took = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
	}
	printf("%f %f\\n", short_took, long_took);
}
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    program = tmp_path_factory.mktemp("short") / "short"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-xc", "-", "-o", program], input=SHORT, text=True, check=True)
    return program


def sums_of(result):
    """{(function, state): (seconds, standard error)}: time in it and in what it calls."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in result["functions"]:
        key = row["function"], ON_CPU.get(row["state"], row["state"])
        sums[key][0] += row["total_ns"] / 1e9
        sums[key][1] += (row["total_error_ns"] / 1e9) ** 2
    return {key: (seconds, variance**0.5) for key, (seconds, variance) in sums.items()}


@pytest.mark.measures
@pytest.mark.parametrize("how, state", [("threads", "cpu"), ("processes", "cpu"), ("sleeps", "sleep")])
def test_short_lives_have_their_time(short, tmp_path, how, state):
    """As much as the same work in a long one."""
    file = tmp_path / "it.json"
    done = run("profile", "--format", "json", "-o", file, "--", short, how, "4")
    assert done.returncode == 0, done.stderr
    truth = dict(zip(("short", "long"), map(float, done.stdout.split())))
    known = sums_of(json.loads(file.read_text().splitlines()[-1]))
    verb = "sleeps" if how == "sleeps" else "computes"
    whole = sum(truth.values())
    for which, seconds in truth.items():
        share, error = known[f"{which}_{verb}", state]
        # a wait's clock has also what it waited for a CPU
        also = known.get((f"{which}_{verb}", "runnable"), (0, 0))[0] if how == "sleeps" else 0
        assert share - 4 * error - 0.03 * whole < seconds < share + also + 4 * error + 0.03 * whole, (which, truth, known)


def test_short_threads_are_one_row(short, tmp_path):
    """In each form; their times are the sums of what `dwell top` has of each."""
    recording = tmp_path / "it.dwell"
    done = run("record", "--stacks", "-i", "200ms", "-o", recording, "--", short, "sleeps", "60", "300")
    assert done.returncode == 0, done.stderr
    states, threads = collections.Counter(), set()
    for line in run("top", "--from", recording, "--no-blame", "--format", "json").stdout.splitlines():
        for row in json.loads(line).get("threads", []):
            threads.add((row["tid"], row["start_time_ns"]))
            states.update({state: ns for state, ns in row["states_ns"].items() if ns})
    result = profile("--from", recording, "--state", "all")
    sums = collections.Counter()
    for row in result["threads"]:
        sums.update({state: ns for state, ns in row["states_ns"].items() if ns})
    assert sums == states
    assert sum(row["threads"] for row in result["threads"]) == len(threads)
    (pooled,) = (row for row in result["threads"] if not row["tid"])
    assert pooled["threads"] > 10 and pooled["process"] == "short" and pooled["pid"]
    for state in result["states"]:
        self_ns = [row["self_ns"] for row in result["functions"] if row["state"] == state["state"]]
        paths_ns = [row["ns"] for row in result["paths"] if row["state"] == state["state"]]
        assert state["total_ns"] == states[state["state"]]
        assert abs(sum(self_ns) - state["sampled_ns"]) <= len(self_ns), state
        assert abs(sum(paths_ns) - state["sampled_ns"]) <= len(paths_ns), state
    (path,) = (path for path in result["paths"] if any(frame["function"] == "short_sleeps" for frame in path["stack"]) and path["state"] == "sleep" and not path["tid"])
    assert path["threads"] == pooled["threads"] and path["ns"] > 0.5 * pooled["states_ns"]["sleep"]
    name = f"{pooled['threads']} threads of short"
    by_thread = profile("--from", recording, "--by", "thread")["functions"]
    (row,) = (row for row in by_thread if not row["tid"] and row["state"] == "sleep")
    assert row["self_ns"] == pooled["states_ns"]["sleep"] and row["threads"] == pooled["threads"]
    assert name in run("profile", "--from", recording, "--by", "thread").stdout
    assert re.search(f"sleep  {name}\n", run("profile", "--from", recording).stdout)
    folded = run("profile", "--from", recording, "--format", "folded", "--root", "thread").stdout
    assert any(line.startswith(f"{name};") and ";short_sleeps;" in line for line in folded.splitlines()), folded
    events = json.loads(run("profile", "--from", recording, "--format", "chrome", "--root", "thread").stdout)["traceEvents"]
    assert name in {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert f'"{name}"' in run("profile", "--from", recording, "--format", "html").stdout


@pytest.mark.measures
def test_two_recordings_of_short_threads(short, tmp_path):
    """Functions have in `dwell compare` what they have in the profile: short threads as much as the long one."""
    recordings = []
    for name in ("before", "after"):
        recordings.append(tmp_path / f"{name}.dwell")
        done = run("record", "--stacks", "-i", "200ms", "-o", recordings[-1], "--", short, "sleeps", "60", "300")
        assert done.returncode == 0, done.stderr
    done = run("compare", *recordings, "--all", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    shorts, longs = ([row for row in rows if row.get("function") == name and row["state"] == "sleep"] for name in ("short_sleeps", "long_sleeps"))
    for side, recording in zip(("a_total_ns", "b_total_ns"), recordings):
        known = sums_of(profile("--from", recording))["short_sleeps", "sleep"][0] * 1e9
        assert abs(shorts[0][side] - known) < 0.05 * known, (shorts, known)
        assert abs(shorts[0][side] - longs[0][side]) < 0.2 * longs[0][side], (shorts, longs)

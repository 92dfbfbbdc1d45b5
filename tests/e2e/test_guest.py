# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell guest`: the other commands in a virtual machine. DWELL_GUEST_KERNEL names a kernel to try it with."""
import json
import os
import pathlib
import random
import shutil
import signal
import time

import guests
import pytest
import schemas
from conftest import DWELL, run, sum_ns
from guests import KERNEL, await_end_of, below, guest, start
from loads import children, spec

pytestmark = guests.needs


def refused(*arguments, status, **options):
    done = run("guest", *arguments, timeout=60, **options)
    assert done.returncode == status and done.stdout == "", done
    return done.stderr


def test_a_load_runs_inside_with_its_report(tmp_path):
    """cpusets and limits need controllers that this host may not have: the guest's kernel has them."""
    path = spec(tmp_path, """
name: inside
duration: 1s
cgroups:
  - {name: a, cpuset: "llc:0", cpu_max: 50%, work: {type: spin-wait, workers: 1}}
  - {name: b, cpuset: "llc:1", work: {type: spin-wait, workers: 2}}
phases:
  - hold: 50%
  - {ops: [{freeze: b}], hold: 20%}
  - {ops: [{thaw: b}, {swap-cpusets: [a, b]}], hold: 30%}
checks: {not-starved: true, isolation: true}
""")
    done = guest("load", path, "--json", options=["--topology", "2n2l1c1t", "--memory", "768M"])
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    report = lines[-1]
    assert report["type"] == "load" and report["verdict"] == "pass"
    machine = report["machine"]
    assert (machine["cpus"], machine["llcs"], machine["nodes"]) == (2, 2, 2)
    assert 600e6 < machine["memory_bytes"] < 768 * 2**20
    half, whole = report["groups"]
    assert half["cpu_time_ns"] < 0.65 * half["wall_time_ns"], "cpu.max holds it"
    assert whole["cpu_time_ns"] / whole["wall_time_ns"] > 0.2
    assert sorted(half["cpus_used"]) == [0, 1], "it used both, one after the other"


def test_exit_codes_come_back():
    assert guest("load", "--work", "no-such-type").returncode == 2
    done = guest("load", "--work", "spin-wait", "-d", "300ms", "--check", "max-gap=1ns")
    assert done.returncode == 3 and "verdict: fail" in done.stdout


def test_top_is_exact_inside():
    done = guest("top", "-d", "1s", "-i", "500ms", "--format", "json")
    intervals = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(intervals) >= 2
    for interval in intervals:
        assert interval["sources"][0] == "bpf"
        for thread in interval["threads"]:
            assert sum_ns(thread["states_ns"]) == thread["observed_ns"]


#: A program that computes on a CPU that was away, from when that is back.
AWAY = """
sh -c 'until [ -e back ]; do sleep 0.1; done; exec taskset 2 sh -c "while :; do :; done"' &
spinner=$!
{dwell} profile -p $spinner -d 10s --json > profile &
sleep 4
echo 0 > /sys/devices/system/cpu/cpu1/online
sleep 1.5
echo 1 > /sys/devices/system/cpu/cpu1/online
sleep 1.5
: > back
wait $!
kill $spinner
cat profile
"""


def test_a_cpu_that_was_away_is_sampled_again():
    """What the kernel had open for it is dead when it comes back."""
    programs = [word for name in ("sleep", "taskset", "cat") for word in ("--add", shutil.which(name))]
    done = guest("/bin/sh", "-c", f"cd /tmp; PATH=/usr/bin:/bin; {AWAY.format(dwell=DWELL)}", options=[*programs, "--add", DWELL])
    assert done.returncode == 0, done
    (profile,) = schemas.read(done.stdout)
    user = next(state for state in profile["states"] if state["state"] == "user")
    assert user["total_ns"] > 0 and user["sampled_ns"] > 0.5 * user["total_ns"], user


def test_mistakes(tmp_path):
    (tmp_path / "none").write_text("no kernel")
    assert "is not a kernel image" in refused("--kernel", tmp_path / "none", "--", "doctor", status=2)
    assert "cannot read the kernel" in refused("--kernel", "/nonexistent", "--", "doctor", status=1)
    assert "which command" in refused("--kernel", KERNEL, status=2)
    assert refused("--kernel", KERNEL, "--", "load", "--bogus", status=2) == "dwell guest: load: unrecognized option '--bogus'\n"
    assert "load: no file and no built-in scenario" in refused("--kernel", KERNEL, "--", "load", "steadyy", status=2)
    assert "no command 'nosuchcmd'" in refused("--kernel", KERNEL, "--", "nosuchcmd", status=2)
    assert "not tried" in refused("--kernel", KERNEL, "--", "guest", status=2)
    assert "divided evenly" in refused("--kernel", KERNEL, "--topology", "2n3l1c1t", "--", "doctor", status=2)
    assert "auto, kvm or tcg" in refused("--kernel", KERNEL, "--accel", "fast", "--", "doctor", status=2)
    assert "too much for its memory" in refused("--kernel", KERNEL, "--memory", "64M", "--", "doctor", status=1)
    assert "/nonexistent" in refused("--kernel", KERNEL, "--add", "/nonexistent", "--", "doctor", status=1)
    empty = dict(os.environ, PATH=str(tmp_path))
    assert "install qemu" in refused("--kernel", KERNEL, "--accel", "tcg", "--", "doctor", status=1, env=empty)
    text = refused("--kernel", KERNEL, "--accel", "tcg", "--boot-timeout", "300ms", "--", "doctor", status=1)
    assert "did not boot within 300ms" in text
    text = refused("--kernel", KERNEL, "--accel", "tcg", "--append", "rdinit=/nonexistent", "--", "doctor", status=1)
    assert "panic" in text.lower() or "ended before the guest had booted" in text, text
    assert not children(os.getpid())


def entries(directory):
    """All below it, with the lengths of files."""
    return {str(path.relative_to(directory)): path.stat().st_size for path in directory.rglob("*") if path.is_file()}


def test_files_come_back(tmp_path):
    """Below the directories that were named, and nothing hidden; with the modes they had."""
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / "here").write_text("old, and longer than the new one")
    (work / "untouched").write_text("as it was")
    text = f"""
        echo new > here; echo deep > below/there; echo absolute > {other}/file; : > empty; echo run > script
        umask 077; echo secret > secret; cat here; echo gone > /tmp/elsewhere
        echo no > .profile; echo no > below/.x
    """
    (work / "below").mkdir()
    (work / "below" / "x").write_text("")
    done = guest("/bin/sh", "-c", text, options=["--add", "below", "--add", "here", "--add", "/bin/cat", "--return", ".",
                                                  "--return", other, "--result", "result"], cwd=work)  # fmt: skip
    assert done.returncode == 0 and done.stdout == "new\n", done
    assert (work / "here").read_text() == "new\n" and (work / "below" / "there").read_text() == "deep\n"
    assert (other / "file").read_text() == "absolute\n" and (work / "untouched").read_text() == "as it was"
    assert (work / "secret").stat().st_mode & 0o777 == 0o600 and (work / "script").stat().st_mode & 0o777 == 0o644
    names = ["below/there", "below/x", "empty", "here", "result", "script", "secret", "untouched"]
    assert sorted(entries(work)) == names and sorted(entries(other)) == ["file"]
    assert schemas.read((work / "result").read_text())[0]["files"] == 6
    assert not pathlib.Path("/tmp/elsewhere").exists()


def test_what_was_not_asked_for_stays_in_the_guest(tmp_path):
    """Neither the working directory nor what an argument names is a place to write to."""
    (tmp_path / "input").write_text("as it was")
    done = guest("/bin/sh", "-c", "echo no > here; echo no > input; echo no > $0", f"{tmp_path}/other", options=["--add", "input"],
                 cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done
    assert (tmp_path / "input").read_text() == "as it was" and entries(tmp_path) == {"input": 9}


def test_recordings_and_reports_come_back(tmp_path):
    done = guest("record", "-o", "x.dwell", "-d", "1s", cwd=tmp_path)
    assert done.returncode == 0, done
    assert run("report", tmp_path / "x.dwell").returncode == 0
    done = guest("load", "--work", "spin-wait", "-d", "300ms", "--save", "runs", cwd=tmp_path)
    assert done.returncode == 0, done
    assert [json.loads(line)["type"] for path in (tmp_path / "runs").rglob("*") if path.is_file()
            for line in path.read_text().splitlines()][-1] == "load"  # fmt: skip


def test_files_that_cannot_come_back_are_reported(tmp_path):
    (tmp_path / "file").write_text("no directory")  # and not there in the guest
    done = guest("/bin/sh", "-c", "echo a > kept; mkdir file; echo b > file/b", options=["--add", "/bin/mkdir", "--return", "."], cwd=tmp_path)
    assert done.returncode == 1 and f"cannot write {tmp_path}/file/b: Not a directory" in done.stderr, done
    assert entries(tmp_path) == {"file": 12, "kept": 2}


def test_names_of_procfs_and_input_are_the_guests():
    done = guest("/bin/cat", "/proc/cpuinfo", "-", options=["--topology", "1n1l3c1t"])
    assert done.returncode == 0 and done.stdout.count("processor\t") == 3, done


def test_orphans_do_not_keep_the_guest(tmp_path):
    done = guest("/bin/sh", "-c", "(while :; do echo x >> grows; done) & while [ ! -s grows ]; do :; done; echo over", options=["--return", "."], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "over\n", done
    assert (tmp_path / "grows").stat().st_size > 0


def test_nothing_is_left_when_it_is_killed(tmp_path):
    """At any moment, DWELL_GUEST_KILLS times: no QEMU, no file here or in TMPDIR, no socket."""
    rng = random.Random(6)
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    for number in range(int(os.environ.get("DWELL_GUEST_KILLS", "8"))):
        process = start("load", "--work", "spin-wait", "-d", "60s", "--save", "runs", cwd=work,
                        env=dict(os.environ, TMPDIR=str(scratch)))  # fmt: skip
        time.sleep(rng.random() * 3)
        known = below(process.pid)
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        assert process.wait(timeout=30) in (-signal.SIGKILL, -signal.SIGTERM, 1)
        process.communicate()
        assert not await_end_of(known), number
        assert not children(os.getpid()), number
        assert not list(work.rglob("*")) and not list(scratch.rglob("*")), number


def test_a_scheduler_and_a_script_are_found_where_the_command_runs(tmp_path):
    """By relative names; a script brings what it is run by."""
    simple = pathlib.Path(KERNEL).resolve().parent / "scx_simple"
    if not simple.exists():
        pytest.skip("there is no scx_simple beside the kernel")
    shutil.copy(simple, tmp_path / "scx_mine")
    (tmp_path / "tell").write_text("#!/bin/sh -e\nread name < /sys/kernel/sched_ext/root/ops\necho $1 $name\n")
    (tmp_path / "tell").chmod(0o755)
    done = guest("./tell", "it is", options=["--scheduler", "./scx_mine"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "it is simple\n"), done.stderr


@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="KVM is not tried without /dev/kvm")
def test_what_kvm_could_not_run_is_no_error_of_what_emulation_could(tmp_path):
    qemu = tmp_path / "qemu-system-x86_64"
    qemu.write_text(f'#!/bin/sh\ncase "$*" in *"-accel kvm"*) exit 1;; esac\nexec {shutil.which(qemu.name)} "$@"\n')
    qemu.chmod(0o755)
    path = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = run("guest", "--kernel", KERNEL, "--result", tmp_path / "result", "--", "top", "-c", "1", "-i", "200ms", timeout=120,
               env=path)
    result = schemas.read((tmp_path / "result").read_text())[0]
    assert (done.returncode, result["accel"], result["error"]) == (0, "tcg", None)
    assert "emulated (TCG)" in done.stderr


def test_the_result_says_what_others_did_on_the_host(tmp_path):
    """QEMU is none of the others: the time of an emulated boot is our own."""
    done = run("guest", "--kernel", KERNEL, "--accel", "tcg", "--result", tmp_path / "result", "--", "top", "-c", "1", "-i", "200ms", timeout=200)
    assert done.returncode == 0, done.stderr
    host = schemas.read((tmp_path / "result").read_text())[0]["host"]
    assert host["own_ns"] > 200e6, host
    assert host["own_ns"] + host["others_ns"] + host["stolen_ns"] <= 1.1 * host["cpus_ns"], host
    assert host["taken_share"] == pytest.approx((host["others_ns"] + host["stolen_ns"]) / host["cpus_ns"], abs=1e-4)
    assert 0 <= host["lacked_share"] <= max(0, host["taken_share"]) + 1e-4

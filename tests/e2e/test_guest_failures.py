# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests and QEMUs that fail: each says what is wrong, ends, and leaves nothing. Some are played by a script."""
import os
import resource
import signal
import time
import subprocess

import pytest

import guests
from conftest import DWELL
from guests import KERNELS, await_end_of, below, fake, guest, qemu_of, shell
from loads import children

pytestmark = guests.needs

SPIN = 'echo started; while :; do :; done'


def failed(done, *words):
    assert done.returncode == 1, done
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    assert done.stderr.startswith("dwell guest: ") and done.stderr.count("\n") == 1, done.stderr


def test_a_fake_qemu_that_does_all_well(tmp_path):
    """What the others are compared with: it is not the fake itself that fails."""
    for what in ("run", "noise"):
        done = fake(tmp_path, what)
        assert done.returncode == 0 and done.stdout == "hello\n", done


def test_a_qemu_that_is_too_old(tmp_path):
    failed(fake(tmp_path, "old"), "qemu-system-x86_64 is version 4: 5 or later is needed")


def test_a_qemu_that_ends_at_once(tmp_path):
    failed(fake(tmp_path, "gone"), "QEMU ended before the guest had booted", "no such machine")


def test_a_qemu_that_stops_the_guest(tmp_path):
    failed(fake(tmp_path, "stopped"), "QEMU stopped the guest")


def test_a_kernel_that_says_nothing(tmp_path):
    failed(fake(tmp_path, "hang", "--boot-timeout", "1s"), "did not boot within 1.00s", "serial console (ttyS0)")


def test_a_console_that_never_ends(tmp_path):
    log = tmp_path / "console.log"
    failed(fake(tmp_path, "flood", "--boot-timeout", "1s", "--keep-log", log), "did not boot within 1.00s", "again and again")
    assert log.stat().st_size > 4096
    failed(fake(tmp_path, "flood", "--boot-timeout", "1s", "--keep-log", "/dev/full"), "did not boot within 1.00s")


def test_damaged_frames_are_no_success(tmp_path):
    done = fake(tmp_path, "damaged", "--result", "result.json")
    failed(done, "incomplete: 1 frames were damaged")
    assert done.stdout == "whole\n"
    assert '"error":"the report of the guest is incomplete' in (tmp_path / "result.json").read_text()


@pytest.mark.parametrize("option", ("--result", "--keep-log", "--keep-dump"))
def test_what_cannot_be_written_is_refused_before_a_guest_boots(tmp_path, option):
    done = fake(tmp_path, "run", option, "/nonexistent/x")
    failed(done, "cannot write /nonexistent/x: No such file or directory")
    assert done.stdout == ""


def test_cut_frames(tmp_path):
    failed(fake(tmp_path, "cut"), "the guest ended before the command did")
    failed(fake(tmp_path, "cut_and_hang", "--boot-timeout", "1s"), "the guest hangs: no sign of life for 1.00s")


def test_files_that_were_not_asked_for(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(tmp_path)
    (tmp_path / "mine").write_text("mine")
    (work / "to-mine").symlink_to(tmp_path / "mine")
    os.mkfifo(work / "pipe")
    names = [f"{tmp_path}/outside", f"{work}/../outside", "outside", f"{work}x", f"{work}//a", f"{work}/./a", str(work), "/",
             f"{work}/.bashrc", f"{work}/a/.ssh/b", f"{tmp_path}/mine"]
    for name in names:
        done = fake(work, "files", "--return", ".", FAKE_FILES=name)
        assert done.returncode == 1 and "unexpected file" in done.stderr, (name, done)
    # nor without --return, nor by an argument
    done = fake(work, "files", FAKE_FILES=f"{work}/a", command=("/bin/echo", "a", f"--out={work}/a"))
    assert done.returncode == 1 and "unexpected file" in done.stderr, done
    for name, why in (("link/outside", "Not a directory"), ("to-mine", "is not a regular file"), ("pipe", "is not a regular file"),
                      ("fake-bin", "Is a directory")):
        done = fake(work, "files", "--return", ".", FAKE_FILES=f"{work}/{name}")
        assert done.returncode == 1 and why in done.stderr, (name, done)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "work"] and (tmp_path / "mine").read_text() == "mine"
    assert sorted(path.name for path in work.iterdir()) == ["fake-bin", "link", "pipe", "to-mine"]


def test_files_are_limited(tmp_path):
    """A guest that sends without an end, of one file or of many."""
    done = fake(tmp_path, "endless_file", "--return", ".", "--return-limit", "1M", FAKE_FILES=f"{tmp_path}/big")
    failed(done, "more than 1.0 MiB of files", "--return-limit")
    assert not (tmp_path / "big").exists()
    done = fake(tmp_path, "many_files", "--return", ".", FAKE_FILES=f"{tmp_path}/many")
    failed(done, "more than 10000 files")
    assert len(list((tmp_path / "many").iterdir())) == 10000


def test_files_that_are_cut_are_not_kept(tmp_path):
    failed(fake(tmp_path, "files", "--return", ".", FAKE_FILES=f"{tmp_path}/whole:{tmp_path}/cut"), "cut came back incomplete")
    failed(fake(tmp_path, "unfinished", "--return", ".", FAKE_FILES=f"{tmp_path}/half"), "half came back incomplete")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fake-bin", "whole"]


def test_qemu_gets_its_lines_and_nothing_else(tmp_path):
    done = fake(tmp_path, "lines")
    fds = dict(item.split("=", 1) for item in done.stdout.splitlines())
    assert fds.pop("0") == "/dev/null"
    others = [to for to in fds.values() if not to.startswith("socket:")]
    # the kernel and the initramfs, and a script also has itself
    assert sorted(to.split(" ")[0] for to in others if "fake-qemu" not in to) == ["/memfd:dwell-initramfs", "/memfd:dwell-kernel"], fds
    assert len(set(to for to in fds.values() if to.startswith("socket:"))) == 5, "one for each line"


def test_qemu_has_no_rights(tmp_path):
    """Nothing of root's: neither the user, nor a group, nor a capability, nor a way to them."""
    done = fake(tmp_path, "rights")
    status = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    users, groups = set(status["Uid"].split()), set(status["Gid"].split())
    assert len(users) == len(groups) == 1 and int(users.pop()) > 1000000000 and int(groups.pop()) > 1000000000, status
    kvm = str(os.stat("/dev/kvm").st_gid) if os.path.exists("/dev/kvm") else None
    assert set(status["Groups"].split()) <= {kvm}, status
    assert all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")), status
    assert status["NoNewPrivs"] == "1"


def test_qemu_is_in_a_sandbox(tmp_path):
    """And one that has none runs all the same, which is said."""
    process, _ = started(SPIN)
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{qemu_of(process)}/status") if ":\t" in line)
    assert int(status["Seccomp"]) == 2 and int(status["CapEff"], 16) == 0, status
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    done = fake(tmp_path, "no_sandbox")
    assert done.returncode == 0 and done.stdout == "hello\n" and "is built without a sandbox" in done.stderr, done


@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="no /dev/kvm")
def test_kvm_that_does_not_work_is_not_used(tmp_path):
    done = fake(tmp_path, "no_kvm", accel="auto")
    assert done.returncode == 0 and done.stdout == "hello\n", done
    assert done.stderr == "dwell guest: emulated (TCG), for KVM cannot run this guest here: its timings are indicative only\n"
    failed(fake(tmp_path, "no_kvm", accel="kvm"), "under KVM (without it: --accel tcg)", "failed to set MSR")


def test_any_accelerator_ends(tmp_path):
    """Whatever KVM is worth here: it runs the guest, or says that it does not. A QEMU that aborts leaves no core."""

    def settle():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as the program that started us may have

    done = guest("/bin/echo", "hi", options=["--accel", "auto"], cwd=tmp_path, preexec_fn=settle)
    assert done.returncode == 0 and done.stdout == "hi\n", done
    done = guest("/bin/echo", "hi", options=["--accel", "kvm", "--boot-timeout", "20s"], cwd=tmp_path, preexec_fn=settle)
    assert (done.returncode, done.stdout) == (0, "hi\n") or (done.returncode == 1 and "KVM" in done.stderr.upper()), done
    assert list(tmp_path.iterdir()) == []


def test_a_panic_is_named(tmp_path):
    failed(guest("/bin/echo", options=["--append", "rdinit=/nonexistent"]), "the guest's kernel panicked: ", "; the console ends with: ")
    failed(fake(tmp_path, "panic", "--boot-timeout", "1s"), "the guest's kernel panicked: for ever")


@pytest.mark.skipif(not KERNELS, reason="DWELL_GUEST_KERNELS names no other kernel")
def test_a_panic_while_the_command_runs():
    for kernel in KERNELS:
        # a panic takes along what is on its way: output needs its time to be carried out of the guest
        done = shell("echo before; sleep 1; echo c > /proc/sysrq-trigger; while :; do :; done", kernel=kernel,
                     options=["--add", "/bin/sleep"])  # fmt: skip
        failed(done, "panicked: sysrq triggered crash")
        assert done.stdout == "before\n"


def test_lack_of_memory_is_named():
    failed(shell("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done", options=["--memory", "192M"]),
           "the guest ran out of memory (more by --memory); killed ", "(sh)")  # fmt: skip


def test_a_full_console_does_not_hide_the_command(tmp_path):
    log = tmp_path / "log"
    flood = 'i=0; while [ $i -lt 2000 ]; do echo "<1>flood $i" > /dev/kmsg; i=$((i+1)); done; echo done'
    done = shell(flood, options=["--append", "printk.devkmsg=on", "--keep-log", log])
    assert done.returncode == 0 and done.stdout == "done\n", done
    assert "flood 1999" in log.read_text(errors="replace")


def started(text=SPIN, **others):
    process = guests.start("/bin/sh", "-c", text, **others)
    assert process.stdout.readline() == "started\n", process.communicate()
    return process, below(process.pid)


def test_the_first_interrupt_is_the_commands_and_the_second_ends(tmp_path):
    process, known = started("trap 'echo caught; exit 7' INT; " + SPIN)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (7, "caught\n")
    assert not await_end_of(known)

    process = fake(tmp_path, "deaf", popen=True)
    assert process.stdout.readline() == "started\n"
    known = below(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "heard 2\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 1 and process.stderr.read() == "dwell guest: interrupted\n"
    assert not await_end_of(known)


def test_sigterm_ends_it_also_while_output_is_not_read(tmp_path):
    process = fake(tmp_path, "endless", popen=True)
    assert process.stdout.readline() == "started\n"
    known = below(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 1
    assert not await_end_of(known)
    assert "interrupted" in process.communicate()[1]


@pytest.mark.parametrize("what", ["deaf", "stubborn", "stubborn, and unread"])
def test_one_interrupt_ends_it_whatever_the_guest_does(tmp_path, what):
    """Within 10 s. Here what takes time is waiting, so a slow machine does not make it longer by much."""
    process = fake(tmp_path, what.split(",")[0], "--return", ".", popen=True, FAKE_FILES=f"{tmp_path}/again")
    assert process.stdout.readline() == "started\n"
    known = below(process.pid)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    if what.endswith("unread"):
        assert process.wait(timeout=60) == 1
    else:
        _, error = process.communicate(timeout=60)
        assert process.returncode == 1 and "interrupted" in error, error
    took = time.monotonic() - began
    assert 4 < took < 30, took
    assert not await_end_of(known)


def test_a_reader_that_leaves(tmp_path):
    process = fake(tmp_path, "endless", popen=True)
    assert process.stdout.readline() == "started\n"
    known = below(process.pid)
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    assert not await_end_of(known)


def test_qemu_is_killed_or_stopped_from_outside(tmp_path):
    process, known = started()
    os.kill(qemu_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "the guest ended before the command did" in err

    process = fake(tmp_path, "ready", "--boot-timeout", "2s", popen=True)
    assert process.stdout.readline() == "started\n"
    known = below(process.pid)
    (stopped,) = children(process.pid)
    os.kill(stopped, signal.SIGSTOP)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "no sign of life for 2.00s" in err
    assert not await_end_of(known)


def test_a_slow_reader_gets_all_of_it():
    """Longer than a dead command's words are waited for, and more than the pipes between hold."""
    count = 20000
    process, _ = started(f"echo started; i=0; while [ $i -lt {count} ]; do echo $i; i=$((i+1)); done")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=6)
    out = process.stdout.read()  # not communicate(): some of it may be in the reader's buffer already
    assert process.wait(timeout=60) == 0 and out.split() == [str(number) for number in range(count)], process.stderr.read()


def test_a_standard_output_that_is_closed_or_full(tmp_path):
    with open("/dev/full", "w") as full:
        done = fake(tmp_path, "run", stdout=full)
    assert done.returncode == 1 and "No space left on device" in done.stderr, done
    command = [DWELL, *guests.arguments("/bin/echo", "hi")]
    closed = subprocess.run(["/bin/sh", "-c", '"$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=60)
    assert closed.returncode == 1 and "cannot write what the command prints: Bad file descriptor" in closed.stderr, closed


def test_a_reader_that_has_had_enough(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = fake(tmp_path, "run", stdout=closed)
    assert (done.returncode, done.stderr) == (1, ""), done


def test_arguments_that_are_too_long_for_init(tmp_path):
    done = fake(tmp_path, "run", command=("/bin/echo", *["x" * 1000] * 70))
    failed(done, "too many arguments")
    failed(fake(tmp_path, "run", command=("/bin/echo", *["x"] * 1100)), "arguments")

# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong gets one line that says what to do, and exit status 1 or 2."""
import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from conftest import DWELL, lost, parse, run
from hostile import BPF, refusing

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def one_line(done, status, *parts):
    assert done.returncode == status, (done.returncode, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("dwell"), lines
    for part in parts:
        assert part in lines[0], lines[0]


@pytest.mark.parametrize(
    "arguments, status, parts",
    [
        (["-p", "4194304999"], 2, ["bad id list", "12,34"]),
        (["-p", "x"], 2, ["--pid: bad id list 'x'"]),
        (["-p", "0"], 2, ["--pid: bad id list '0'", "from 1"]),
        (["-p", "1,"], 2, ["ends with a comma"]),
        (["-p", "4194303"], 1, ["no such process: 4194303"]),
        (["-t", "4194303"], 1, ["no such thread: 4194303"]),
        (["-n", "no-such-name-anywhere"], 1, ["no process named 'no-such-name-anywhere'"]),
        (["-n", "\x1b[31mred"], 1, ["no process named '?[31mred'"]),
        (["--cgroup", "/no/such"], 1, ["no cgroup '/no/such'", "mounted at"]),
        (["--cgroup", "/proc"], 1, ["cgroup"]),
        (["-i", "5 parsecs"], 2, ["--interval: bad duration '5 parsecs'", "1.5s"]),
        (["-i", "0"], 2, ["more than zero"]),
        (["-i", "10us"], 2, ["too short"]),
        (["-d", "-1s"], 2, ["bad duration"]),
        (["-c", "0"], 2, ["--count", "from 1 up"]),
        (["-c", "many"], 2, ["--count"]),
        (["--top", "-3"], 2, ["--top"]),
        (["--format", "xml"], 2, ["unknown format 'xml'", "table, json, jsonl, csv"]),
        (["--format", "jsn"], 2, ["unknown format 'jsn'; did you mean 'json'?"]),
        (["--sort", "beauty"], 2, ["unknown field 'beauty': `--fields help` lists them"]),
        (["--sort", "runable"], 2, ["unknown field 'runable'; did you mean 'runnable'?"]),
        (["--by", "proces"], 2, ["did you mean 'process'?"]),
        (["--by", "colour"], 2, ["unknown grouping 'colour'"]),
        (["--by", "process", "--sort", "tid"], 2, ["no field 'tid'"]),
        (["--source", "magic"], 2, ["unknown source 'magic'"]),
        (["--children"], 2, ["--children needs"]),
        (["-p", "1", "--", "true"], 2, ["not both"]),
        (["--", "/no/such/program"], 1, ["cannot run /no/such/program", "No such file"]),
        (["--", ""], 1, ["cannot run ''", "No such file"]),
        (["-d", "1s", "--"], 2, ["-- needs a command after it"]),
        (["--", "/etc/passwd"], 1, ["cannot run /etc/passwd", "Permission denied"]),
    ],
)
def test_bad_arguments(arguments, status, parts):
    one_line(run("top", *arguments), status, *parts)


def test_unknown_option_and_command():
    done = run("top", "--frobnicate")
    assert done.returncode == 2 and "frobnicate" in done.stderr
    one_line(run("frobnicate"), 2, "no command 'frobnicate'", "--help")
    one_line(run("tpo"), 2, "no command 'tpo'; did you mean 'top'?")
    one_line(run("help", "tpo"), 2, "did you mean 'top'?")
    for option in ("--json", "-x", "--"):
        one_line(run(option, "top"), 2, f"'{option}' is not an option of dwell itself: options come after the command")
    one_line(run("--verison"), 2, "'--verison' is not an option of dwell itself; did you mean '--version'?")
    done = run()
    assert done.returncode == 2 and "Usage" in done.stderr


def test_help_and_version():
    for words, same in ((("help", "help"), "--help"), (("help", "version"), "--help"), (("version",), "--version")):
        done = run(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, run(same).stdout, "")
    done = run("--help")
    assert done.returncode == 0 and "top" in done.stdout
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith("dwell ")
    done = run("top", "--help")
    assert done.returncode == 0 and "Examples:" in done.stdout
    assert run("help", "top").stdout == done.stdout
    # what argp adds says nothing that the list does not show
    assert not [name for name in ("top", "blocked", "doctor") if "Mandatory or" in run(name, "--help").stdout]
    assert max(map(len, done.stdout.splitlines())) <= 100


def as_nobody(*arguments):
    """dwell, copied to where every user may run it, without any privilege."""
    return subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def public_copy():
    directory = pathlib.Path(f"/tmp/dwell-test-{os.getpid()}")
    directory.mkdir(mode=0o755)
    copy = directory / "dwell"
    shutil.copy(DWELL, copy)
    copy.chmod(0o755)
    yield str(copy)
    shutil.rmtree(directory)


def test_without_privileges(public_copy):
    """What was asked for by name is refused; left to itself, dwell samples, and says so in one line."""
    one_line(as_nobody(public_copy, "top", "-c", "1", "--source", "bpf"), 1, "root", "CAP_BPF and CAP_PERFMON")
    one_line(as_nobody(public_copy, "top", "-c", "1", "--source", "taskstats"), 1, "root", "CAP_NET_ADMIN")
    done = as_nobody(public_copy, "top", "-c", "1", "-i", "100ms", "--format", "json")
    one_line(done, 0, "sampling /proc instead, of this user's processes alone: ", "CAP_BPF and CAP_PERFMON")
    table = as_nobody(public_copy, "top", "-c", "1", "-i", "100ms")
    assert " shown  other users left out  sampled every" in table.stdout, table
    named = as_nobody(public_copy, "top", "-c", "1", "-i", "100ms", "-p", "1")
    assert "left out" not in named.stdout and "sampling /proc instead: " in named.stderr, named
    (bpf,) = [check for check in json.loads(as_nobody(public_copy, "doctor", "--json").stdout)["checks"] if check["name"] == "bpf"]
    assert "this user's processes alone" in bpf["costs"], bpf
    (interval,), _ = parse(done.stdout)
    assert interval["sources"] == ["procfs"]
    assert interval["quality"]["states"] == "sampled" and interval["quality"]["sample_ns"] >= 10_000_000
    assert "bpf" in [missing["source"] for missing in interval["quality"]["unavailable"]]
    # other tests may run programs of the same user meanwhile
    assert "dwell" in [thread["comm"] for thread in interval["threads"]]
    assert all(thread["states_ns"]["swap"] is None for thread in interval["threads"])


def test_with_just_the_capabilities_it_names(public_copy):
    """What the message promises must be enough."""
    done = subprocess.run(
        [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon",
            public_copy, "top", "-c", "1", "-i", "50ms", "--format", "json",
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert lost(parse(done.stdout)[0]) == 0
    # and what they do not give is said
    if pathlib.Path("/proc/sys/kernel/kptr_restrict").read_text().strip() != "0":
        assert "kallsyms" in done.stdout
    assert "CAP_SYS_PTRACE" in done.stdout


@pytest.mark.skipif(not BPF, reason="the number of bpf(2) is not known here")
@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
def test_bpf_that_a_filter_refuses(code):
    """No limit on memory is to blame, and no old kernel."""
    def refused(*arguments):
        return subprocess.run([DWELL, *arguments], capture_output=True, text=True, preexec_fn=refusing(BPF, code))

    said = f"the kernel or a seccomp filter refuses bpf(): {os.strerror(code)}"
    one_line(refused("top", "-c", "1", "--source", "bpf"), 1, said)
    checks = {check["name"]: check for check in json.loads(refused("doctor", "--json").stdout)["checks"]}
    assert said in checks["bpf"]["found"] and said in checks["bpf-maps"]["found"]
    assert checks["bpf-maps"]["mend"] == "a seccomp profile that permits bpf()"
    assert "RLIMIT_MEMLOCK" not in json.dumps(checks)


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOSYS])
def test_a_process_that_cannot_be_held_is_there(code):
    """Old container runtimes refuse the calls that they do not know; pidfd_open has one number everywhere."""
    for option in ("-p", "-t"):
        done = subprocess.run([DWELL, "top", option, str(os.getpid()), "-c", "1"], capture_output=True, text=True, preexec_fn=refusing(434, code))
        one_line(done, 1, f"cannot hold on to {os.getpid()}: pidfd_open: {os.strerror(code)}", "a seccomp filter")


def test_root_of_a_user_namespace(public_copy):
    """It has all capabilities there, and none for the kernel."""
    if as_nobody("unshare", "-Ur", "true").returncode:
        pytest.skip("no user namespaces here")
    said = "this is root of a user namespace (a rootless container)"
    one_line(as_nobody("unshare", "-Ur", public_copy, "top", "-c", "1", "--source", "bpf"), 1, said, "the host's root")
    done = as_nobody("unshare", "-Ur", public_copy, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert said in checks["bpf"]["found"]
    assert checks["capabilities"]["status"] == "missing" and "of a user namespace" in checks["capabilities"]["found"]
    for name in ("bpf", "capabilities", "bpf-maps"):
        assert checks[name]["mend"] == "run dwell outside of the user namespace, as the host's root", checks[name]
    assert "RLIMIT_MEMLOCK" not in done.stdout and "5.15" not in done.stdout


def with_btf(content, *arguments):
    """dwell in a mount namespace where the kernel's BTF is `content`, or is not there."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here (a chroot?)")
    prepare = "mount -t tmpfs none /sys/kernel/btf"
    source = None
    if content is not None:
        source = f"/tmp/dwell-btf-{os.getpid()}"
        pathlib.Path(source).write_bytes(content)
        prepare = f"mount --bind {source} /sys/kernel/btf/vmlinux"
    try:
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", f'{prepare} && exec "$0" "$@"', DWELL, *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    finally:
        if source:
            os.unlink(source)


def test_kernel_without_btf():
    one_line(with_btf(None, "top", "-c", "1", "--source", "bpf"), 1, "no type information", "CONFIG_DEBUG_INFO_BTF")
    done = with_btf(None, "doctor", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["exact"]) == (3, False), report
    (btf,) = [check for check in report["checks"] if check["name"] == "btf"]
    assert (btf["status"], btf["found"], btf["costs"]) == ("missing", "no /sys/kernel/btf/vmlinux", "exact states"), btf
    assert btf["mend"].startswith("a kernel with CONFIG_DEBUG_INFO_BTF=y"), btf


@pytest.mark.parametrize("line, status, costs, mend", [
    ("[none] integrity confidentiality", "ok", None, None),
    ("none [integrity] confidentiality", "degraded", "dwell top does not need it", "boot without kernel lockdown"),
    ("none integrity [confidentiality]", "missing", "exact states", "lockdown=integrity or none"),
])  # fmt: skip
def test_doctor_of_a_kernel_in_lockdown(tmp_path, line, status, costs, mend):
    """As the kernel writes it: a securityfs with that one file."""
    (tmp_path / "lockdown").write_text(line + "\n")
    prepare = f"mount --bind {tmp_path} /sys/kernel/security"
    if subprocess.run(["unshare", "-m", "sh", "-c", prepare], capture_output=True).returncode:
        pytest.skip("nothing can be mounted over /sys/kernel/security here")
    done = subprocess.run(["unshare", "-m", "sh", "-c", f'{prepare} && exec "$0" doctor --json', DWELL], capture_output=True, text=True)
    (check,) = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "lockdown"]
    assert (check["status"], check["found"]) == (status, line), check
    assert (costs or "") in (check["costs"] or "") and bool(check["costs"]) == bool(costs), check
    assert (mend or "") in (check["mend"] or "") and bool(check["mend"]) == bool(mend), check


def test_sys_that_is_not_mounted_is_no_kernel_without_btf():
    """As in a chroot: nothing is known of the kernel there."""
    def without_sys(*arguments):
        return subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys && exec "$0" "$@"', DWELL, *arguments], capture_output=True, text=True)  # fmt: skip

    done = without_sys("top", "-c", "1", "--source", "bpf")
    one_line(done, 1, "/sys is not mounted", "mount -t sysfs none /sys")
    assert "CONFIG_DEBUG_INFO_BTF" not in done.stderr
    btf = next(check for check in json.loads(without_sys("doctor", "--json").stdout)["checks"] if check["name"] == "btf")
    assert btf["found"] == "/sys is not mounted" and btf["mend"] == "mount -t sysfs none /sys"


def test_kernel_without_task_iterators():
    btf = pathlib.Path("/sys/kernel/btf/vmlinux").read_bytes()
    assert btf.count(b"\0bpf_iter__task\0") == 1
    btf = btf.replace(b"\0bpf_iter__task\0", b"\0bpf_iter__tusk\0")
    one_line(with_btf(btf, "top", "-c", "1", "--source", "bpf"), 1, "no BPF task iterators", "5.15")


def test_damaged_btf():
    one_line(with_btf(b"\x9f\xeb\x01\x00garbage", "top", "-c", "1", "--source", "bpf"), 1, "type information")


def test_no_btf_falls_back_to_sampling():
    one_line(with_btf(None, "top", "-c", "1", "-i", "50ms"), 0, "sampling /proc instead", "no type information")


@contextlib.contextmanager
def setting(name, value):
    """Of the kernel, as sysctl(8) names it."""
    path = pathlib.Path("/proc/sys") / name.replace(".", "/")
    if not path.exists():
        pytest.skip(f"this kernel has no {name}")
    before = path.read_text()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)


def test_hidden_kernel_symbols(public_copy):
    """Kernel addresses shown as zero: figures stay exact, and what is missing is named."""
    with setting("kernel.kptr_restrict", "2"):
        done = run("top", "-c", "1", "-i", "20ms", "--format", "json")
    assert done.returncode == 0
    assert '"source":"kallsyms"' in done.stdout


@pytest.mark.parametrize("prepare", ["mount --bind /dev/null /proc/kallsyms", "mount -t proc -o subset=pid proc /proc"])
def test_kernel_symbols_that_are_masked(prepare):
    """No setting of the kernel hides them."""
    if subprocess.run(["unshare", "-m", "sh", "-c", prepare], capture_output=True).returncode:
        pytest.skip("no such mount here")

    def masked(*arguments):
        return subprocess.run(["unshare", "-m", "sh", "-c", f'{prepare} && exec "$0" "$@"', DWELL, *arguments], capture_output=True, text=True)  # fmt: skip

    done = masked("top", "-c", "1", "-i", "20ms", "--format", "json", "--source", "bpf")
    assert done.returncode == 0 and "/proc/kallsyms is masked or absent here" in done.stdout and "kptr_restrict" not in done.stdout, done.stderr
    (line,) = [check for check in json.loads(masked("doctor", "--json").stdout)["checks"] if check["name"] == "kallsyms"]
    assert line["status"] == "degraded" and "masked or absent" in line["found"] and "kptr_restrict" not in line["mend"]


def test_memory_files_that_must_not_be_executable():
    """Where the administrator refuses all others."""
    with setting("vm.memfd_noexec", "2"):
        done = run("top", "--source", "bpf", "-c", "1", "-i", "20ms")
    assert done.returncode == 0 and "exact (bpf" in done.stdout, done.stderr


def test_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [DWELL, "top", "-i", "20ms"], stdout=full, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )
    one_line(done, 1, "cannot write to standard output", "No space left")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["help", "top"], ["load", "--help"], ["serve", "--usage"]])
def test_help_on_a_full_disk(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([DWELL, *words], stdout=full, stderr=subprocess.PIPE, text=True)
    one_line(done, 1, "cannot write to standard output", "No space left")


@pytest.mark.parametrize("words, last", [(["help", "top", "blocked"], "top"), (["--version", "extra"], "--version"), (["version", "--json"], "version"), (["completion", "bash", "zsh"], "zsh")])
def test_words_too_many(words, last):
    one_line(run(*words), 2, last)


def test_a_small_stack():
    done = subprocess.run(["bash", "-c", f"ulimit -s 64; exec {DWELL} top -c 1 -i 50ms"], capture_output=True, text=True)
    assert done.returncode == 1, done
    assert done.stderr == "dwell: needs a stack of 256 KiB, and may have 64: raise the limit (ulimit -s 8192)\n"


@pytest.mark.parametrize("files", [16, 60])
def test_a_small_limit_of_open_files(files):
    """libbpf says EINVAL of it, and that it tries again without BTF."""
    def limited(*words):
        return subprocess.run(["bash", "-c", f'ulimit -n {files}; exec "$@"', "bash", DWELL, *words], capture_output=True, text=True)

    said = f"Too many open files: the limit is {files} (ulimit -n)"
    done = limited("top", "-p", str(os.getpid()), "-c", "1", "-i", "50ms", "--source", "bpf", "--blame")
    one_line(done, 1, said)
    assert "BTF" not in done.stderr, done
    if files == 16:
        (bpf,) = [check for check in json.loads(limited("doctor", "--json").stdout)["checks"] if check["name"] == "bpf"]
        assert said in bpf["found"] and bpf["mend"] == "raise the limit of open files (ulimit -n)", bpf


def test_a_small_limit_of_file_sizes(tmp_path):
    """What dwell writes ends there, with a word; its pipes and the kernel are not to blame, and its command keeps the signal."""
    def limited(size, *words, stdout=subprocess.PIPE):
        return subprocess.run(["bash", "-c", f'ulimit -f {size}; exec "$@"', "bash", DWELL, *map(str, words)], stdout=stdout, stderr=subprocess.PIPE, text=True)

    said = "File too large: the limit is 2 KiB (ulimit -f)"
    one_line(limited(2, "top", "-p", os.getpid(), "-c", "1", "-i", "50ms", "--source", "bpf"), 1, "in memory: " + said)
    (bpf,) = [check for check in json.loads(limited(2, "doctor", "--json").stdout)["checks"] if check["name"] == "bpf"]
    assert said in bpf["found"] and bpf["mend"] == "raise the limit of file sizes (ulimit -f)", bpf
    done = limited(2, "record", "-o", tmp_path / "file", "-p", os.getpid(), "-i", "10ms", "-d", "1s", "--source", "procfs")
    one_line(done, 1, "cannot write to", said)
    with open(tmp_path / "out", "w") as out:
        one_line(limited(0, "top", "-p", os.getpid(), "-c", "1", "-i", "50ms", "--source", "procfs", stdout=out), 1,
                 "cannot write to standard output: File too large: the limit is 0 KiB (ulimit -f)")  # fmt: skip
    done = limited(0, "top", "-i", "1s", "--source", "procfs", "--", "sh", "-c", f"echo long > {tmp_path}/of-command; sleep 9")
    assert "sh killed by signal 25" in done.stdout, done


def test_closed_pipe():
    done = subprocess.run(
        ["sh", "-c", f"{DWELL} top -i 20ms --format json | head -c 100 > /dev/null"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
    )
    # the reader has what it wanted
    assert done.stderr == ""


#: A recording is never written to standard output; `dwell guest`: test_guest_failures.py.
@pytest.mark.parametrize("words", [
    "top -i 20ms", "top -i 20ms --format json", "top -i 20ms --blame --format csv", "top --from {golden}/mixed.dwell", "blocked -p {pid} -d 200ms",
    "blocked -p {pid} -d 200ms --format json", "blocked --from {golden}/blocked.dwell", "load --work pipe-io --workers 2 -d 300ms",
    "load --work pipe-io --workers 2 -d 300ms --format json", "load --list", "record -d 100ms -i 20ms -o {directory}/it.dwell -- seq 1000000",
    "report {golden}/mixed.dwell", "report --format json {golden}/mixed.dwell", "report --format html {golden}/mixed.dwell",
    "compare {golden}/mixed.dwell {golden}/blame.dwell", "compare --format json {golden}/mixed.dwell {golden}/blame.dwell", "doctor", "doctor --json",
    "verify --list", "verify --quick --patterns nanosleep", "verify --quick --patterns nanosleep --format json", "profile -p {pid} -d 200ms",
    "profile --from {golden}/stacks.dwell --format folded", "schema", "completion bash", "help", "serve --help", "--version",
])  # fmt: skip
def test_a_reader_that_has_had_enough(words, tmp_path):
    """From the beginning on: each command ends soon, says nothing, and its status is that of what was not written, or of SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed, subprocess.Popen(["sleep", "60"]) as target:
        words = words.format(golden=GOLDEN, directory=tmp_path, pid=target.pid).split()
        done = subprocess.run([DWELL, *words], stdin=subprocess.DEVNULL, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=100)
        target.kill()
    if words[0] == "record":
        # the output is the command's own affair: how it ended is said where it ends within the 100 ms
        ended = r"(dwell record: the command ended: killed by signal 13 \(Broken pipe\)\n)?"
        assert done.returncode in (0, 128 + signal.SIGPIPE) and re.fullmatch(ended + r".*it\.dwell: \d+ intervals?, .*\n", done.stderr), done
    else:
        assert done.returncode in (1, -signal.SIGPIPE) and not done.stderr, done


def test_closed_output():
    done = subprocess.run(
        ["sh", "-c", f"{DWELL} top -c 1 -i 20ms >&-"], stderr=subprocess.PIPE, text=True, timeout=30
    )
    one_line(done, 1, "cannot write to standard output")


def test_target_that_ends_at_once():
    """The process is gone before, or while, dwell attaches: an error or a short report, never a hang."""
    for _ in range(10):
        process = subprocess.Popen(["true"])
        done = run("top", "-p", process.pid, "-i", "50ms", "--format", "json", timeout=20)
        process.wait()
        assert done.returncode in (0, 1), done.stderr

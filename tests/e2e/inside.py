# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that run inside a guest of `dwell guest`: python3, pytest and what they need, packed; results as they come back.

DWELL_GUEST_KERNEL names a kernel with sched_ext, DWELL_GUEST_KERNELS others, colon-separated.
"""
import functools
import importlib.util
import os
import pathlib
import pickle
import py_compile
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import BUILD, DWELL, run
from verdicts import inconclusive

TESTS = pathlib.Path(__file__).resolve().parent
PYTHON = os.path.realpath(sys.executable)

#: How test_truth.py measures under emulation. Edges: a thread's start and end take up to 0.2 s on a loaded host of two CPUs.
EMULATED = {"DWELL_TRUTH_EDGES_MS": "500", "DWELL_TRUTH_RUNS": "4", "DWELL_TRUTH_STORM": "1000", "DWELL_SCHEMAS": "0"}

#: What tests run by their names.
PROGRAMS = ["/bin/sh", "/bin/mkdir", "/bin/mount", "/bin/sleep", "/bin/umount", "/usr/bin/dd", "/usr/bin/stat", "/sbin/mkswap",
            "/sbin/swapon", "/sbin/swapoff"]

#: A file system on a block device, though only of memory: what waits for a journal waits there too.
DISK = ["echo 1G > /sys/block/zram0/disksize && mke2fs -q -t ext4 -J size=4 /dev/zram0 && mount -t ext4 /dev/zram0 /tmp/pytest || exit 9"]
DISK_PROGRAMS = ["/sbin/mke2fs", "/etc/mke2fs.conf"]

# Prints what a run of pytest has imported, a failing test and a report in XML included; names are relative to sys.path.
IMPORTED = """
import os, sys, tempfile
import pytest
directory = tempfile.mkdtemp()
with open(directory + "/test_it.py", "w") as file:
    file.write("import pytest\\ndef test_good(tmp_path, monkeypatch, capsys): pass\\n"
               "def test_bad(): assert [1, {2: 3}] == [2], 'wrong'\\n"
               "@pytest.mark.parametrize('a', ['b', b'c', 1])\\ndef test_skipped(a): pytest.skip('so')\\n")
sys.path[:0] = sys.argv[1:2]
for name in sys.argv[2:]:
    __import__(name)
pytest.main(["-q", "-p", "no:cacheprovider", "--color=no", "-rs", "--junitxml", directory + "/x.xml", "-o", "junit_family=xunit2",
             directory])
import shutil
shutil.rmtree(directory)
print("imported")
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None) or ""
    if not file.startswith(directory):
        print(name, file, hasattr(module, "__path__"), sep="\\t")
"""


def kernels():
    """Every kernel that is named and there, by the name of its file."""
    named = [os.environ.get("DWELL_GUEST_KERNEL", ""), *os.environ.get("DWELL_GUEST_KERNELS", "").split(":")]
    return {os.path.basename(name): os.path.realpath(name) for name in named if name and os.path.exists(name)}


def sched_ext_kernel():
    return os.path.realpath(os.environ["DWELL_GUEST_KERNEL"]) if os.environ.get("DWELL_GUEST_KERNEL") else None


def why_not():
    """Why no guest can be run here; None: they can."""
    if not shutil.which("qemu-system-x86_64"):
        return "QEMU is not installed"
    if not kernels():
        return "neither DWELL_GUEST_KERNEL nor DWELL_GUEST_KERNELS names a kernel"
    return None


def libraries(path):
    """The shared libraries that an extension module loads; those of programs `dwell guest` finds itself."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True)
    words = [line.split() for line in done.stdout.splitlines() if "=>" in line]
    return [word[2] for word in words if len(word) > 2 and word[2].startswith("/")]


def imported(modules):
    """(name, file, is a package) of all that a run of pytest and these modules of ours import."""
    done = subprocess.run([PYTHON, "-c", IMPORTED, TESTS, *modules], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))
    assert "imported\n" in done.stdout, done.stdout + done.stderr
    for line in done.stdout.split("imported\n", 1)[1].splitlines():
        name, file, package = line.split("\t")
        if file and name != "__main__":
            yield name, file, package == "True"


class Pack:
    """A directory that is a Python's home, with no more in it than tests import; compiled, for emulation is slow."""

    MODULES = ["conftest", "loads", "services", "inside", "machine", "verdicts"]

    def __init__(self, home):
        self.home = home
        self.library = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        (self.library / "lib-dynload").mkdir(parents=True)
        self.files = []
        for name, file, package in imported(self.MODULES):
            if pathlib.Path(file).parent == TESTS:
                continue
            self.add_module(name, file, package)
        for name in ("encodings.idna", "mmap", "stringprep", "unicodedata", "encodings.latin_1", "encodings.ascii", "encodings.unicode_escape", "pytest.__main__"):
            self.add_module(name, importlib.util.find_spec(name).origin, False)
        for library in libraries(PYTHON):
            self.add_file(library)

    def add_module(self, name, file, package):
        where = self.library.joinpath(*name.split("."))
        where = where / "__init__" if package else where
        where.parent.mkdir(parents=True, exist_ok=True)
        if file.endswith(".py"):
            py_compile.compile(file, where.with_name(where.name + ".pyc"), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        elif file.endswith(".so"):
            shutil.copy(file, where.parent)
            for library in libraries(file):
                self.add_file(library)

    def add_file(self, file):
        if file not in self.files:
            self.files.append(file)


@functools.lru_cache(maxsize=None)
def pack():
    import atexit
    import tempfile

    home = pathlib.Path(tempfile.mkdtemp(prefix="dwell-python-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return Pack(home)


class Case:
    """What one test inside came to."""

    def __init__(self, element):
        self.name = element.get("name")
        self.id = f"{element.get('classname').replace('.', '/')}.py::{self.name}"  # as pytest calls it, where tests/ is the root
        self.seconds = float(element.get("time"))
        bad = [child for child in element if child.tag in ("failure", "error", "skipped")]
        self.result = bad[0].tag if bad else "passed"
        self.text = (bad[0].get("message") or "") + "\n" + (bad[0].text or "") if bad else ""
        if self.result == "skipped" and "inconclusive: " in self.text:
            self.result = "inconclusive"

    def __str__(self):
        return f"{self.name} {self.result} {self.seconds:.1f}s {self.text}"


class Results:
    """Of one boot, and of those before it in which the same test ran: what has been judged does not run again."""

    def __init__(self, done, paths, judged):
        self.done = done
        self.said = done.stdout[-6000:] + done.stderr[-3000:]
        self.cases = dict(judged)
        for path in paths:
            assert path.exists(), f"no results came back: exit {done.returncode}\n{self.said}"
            root = xml.etree.ElementTree.parse(path).getroot()
            self.cases.update((case.name, case) for case in map(Case, root.iter("testcase")))

    def of(self, result):
        return {case.name for case in self.cases.values() if case.result == result}

    def check(self, skipped=()):
        """All passed but those that this kernel cannot run, which are known: what is skipped besides tests nothing.

        What the guest could not judge makes the whole inconclusive, when nothing else is wrong.
        """
        wrong = [str(case) for case in self.cases.values() if case.result in ("failure", "error")]
        assert not wrong, "\n".join(wrong)
        assert self.done.returncode == 0, self.said
        surprise = {name: self.cases[name].text for name in self.of("skipped") if not any(name.startswith(one) for one in skipped)}
        assert not surprise, surprise
        assert self.of("passed")
        if self.of("inconclusive"):
            inconclusive("; ".join(str(self.cases[name]) for name in sorted(self.of("inconclusive"))))


def pytest_collection_modifyitems(items):
    """As a plugin (-p inside): every n-th test only, for several that run side by side."""
    part, parts = map(int, os.environ.get("DWELL_PART", "0/1").split("/"))
    items[:] = items[part::parts]


def script_of(packed, parts, disk, environment, words):
    """What a shell does inside: pytest as often as there are parts, each with its share of the tests."""
    settings = {
        "PYTHONHOME": packed.home, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "DWELL_BUILD": BUILD,
        "PYTHONPATH": TESTS, "LC_ALL": "C.UTF-8", **EMULATED, **environment,
    }
    lines = [f"export {name}='{value}'" for name, value in settings.items()]
    lines += ["mkdir -p /tmp/pytest", *(DISK if disk else [])]
    python = " ".join(f"'{word}'" for word in [PYTHON, "-S", "-m", "pytest", *words])
    for part in range(parts):
        lines += [f"DWELL_PART={part}/{parts} {python} --basetemp /tmp/pytest/{part} --junitxml results-{part}.xml &", f"part{part}=$!"]
    # 5: of a part that has run before no test is left
    lines += ["bad=0", *[f"wait $part{part} || {{ end=$?; [ $end = 5 ] || bad=$end; }}" for part in range(parts)], "exit $bad"]
    return "\n".join(lines) + "\n"


#: Emulated CPUs that run beside each other see a breakpoint of the kernel's own code patching (a tracepoint that is turned on or
#: off) after it is gone. No processor does: https://docs.kernel.org/staging/static-keys.html on how code is exchanged.
EMULATORS_FAULT = "Oops: int3"
BOOTS = 4


class Judged:
    """Cases of the test that runs now which have passed, or been skipped, in a boot before: when the test is repeated they need not run.

    DWELL_JUDGED: a directory that keeps them from one process to the next.
    """

    HERE = {}

    def __init__(self):
        self.test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
        directory = os.environ.get("DWELL_JUDGED")
        self.path = directory and pathlib.Path(directory) / re.sub(r"[^\w.-]", "_", self.test)

    def take(self):
        """-> {name: Case}"""
        if self.path and self.path.exists():
            return pickle.loads(self.path.read_bytes())
        return self.HERE.get(self.test, {})

    def keep(self, cases):
        self.HERE[self.test] = {name: case for name, case in cases.items() if case.result in ("passed", "skipped")}
        if self.path:
            self.path.write_bytes(pickle.dumps(self.HERE[self.test]))


def run_inside(kernel, directory, *files, options=(), arguments=(), environment=(), disk=False, parts=1, always=(), timeout=400):
    """pytest on these files inside a guest of that kernel, in that directory, whose files come back.

    A test that is repeated runs what has not passed yet, and what is in `always`: tests whose files are asked for.
    """
    packed = pack()
    judged = Judged()
    before = {name: case for name, case in judged.take().items() if name not in always}
    arguments = [*arguments, *[f"--deselect={case.id}" for case in before.values()]]
    directory = pathlib.Path(directory)
    script = directory / "inside.sh"
    words = ["-q", "-rs", "--color=no", "-p", "no:cacheprovider", "-p", "inside", "-o", "junit_family=xunit2", "--rootdir",
             TESTS.parent, "--durations=8", *arguments, *files]
    script.write_text(script_of(packed, parts, disk, dict(environment), words))
    added = [PYTHON, packed.home, *packed.files, *PROGRAMS, *(DISK_PROGRAMS if disk else []), *TESTS.glob("*.py"), *files, DWELL,
             BUILD / "tests" / "workload", BUILD / "tests" / "loop-service"]
    flags = [word for file in dict.fromkeys(map(str, added)) for word in ("--add", file)]
    for _ in range(BOOTS):
        done = run("guest", "--kernel", kernel, "--accel", "tcg", "--memory", "1G", "--keep-log", directory / "console", "--return", directory,
                   *options, *flags, "--", "/bin/sh", str(script), timeout=timeout, cwd=directory)  # fmt: skip
        # what a kernel said before it panicked is more than the end that a message has room for
        console = (directory / "console").read_text(errors="replace") if (directory / "console").exists() else ""
        if EMULATORS_FAULT not in console:
            break
        print(f"the emulator made its kernel panic: {EMULATORS_FAULT}", file=sys.stderr)
        (directory / "console").unlink()
    assert "Kernel panic" not in console, console[-6000:]
    results = Results(done, [directory / f"results-{part}.xml" for part in range(parts)], before)
    if done.returncode in (0, 1):  # not of a guest that did not end well
        judged.keep(results.cases)
    return results

# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernels of guests come from: `--kernel auto`, scripts/guest-kernel and scripts/stock-kernels. Without a network."""
import glob
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import run

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
FRAGMENT = SCRIPTS / "guest-kernel.config"


def bzimage():
    """No more than a head, which is all that is looked at before it is booted."""
    head = bytearray(1024)
    head[0x202:0x208] = b"HdrS\x0f\x02"
    head[0x236] = 1
    return bytes(head)


def put(path, content, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/dwell/kernels"


def script(name, *arguments):
    return subprocess.run([SCRIPTS / name, *arguments], capture_output=True, text=True, timeout=60)


def test_auto_takes_what_guest_kernel_has_built(kernels, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    if not glob.glob("/boot/vmlinuz*"):
        done = run("guest", "--", "doctor", timeout=60)
        assert done.returncode == 1 and "make guest-kernel" in done.stderr and "linux-image" in done.stderr
    put(kernels / "6.12.1-0123456789ab/bzImage", bzimage())
    for arguments in (["--kernel", "auto"], []):
        done = run("guest", *arguments, "--", "doctor", timeout=60)
        assert done.returncode == 1 and "install qemu" in done.stderr, "a kernel is there, QEMU is not"


def test_guest_kernel_knows_what_it_has_built(kernels):
    options = re.findall(r"^(?:# )?CONFIG_.*\n", FRAGMENT.read_text(), re.M)
    tag = hashlib.sha256("".join(options).encode()).hexdigest()[:12]
    assert script("guest-kernel", "--cached").returncode == 1
    put(kernels / "6.12.9-0123456789ab/bzImage", bzimage())  # of other options
    put(kernels / f"6.1.9-{tag}/bzImage", bzimage())
    put(kernels / f".guest-kernel.work.x/6.12.9-{tag}/bzImage", bzimage())
    assert script("guest-kernel", "--cached").returncode == 1
    put(kernels / f"6.12.9-{tag}/bzImage", bzimage())
    newest = put(kernels / f"6.12.10-{tag}/bzImage", bzimage())
    for arguments in (["--cached"], []):
        done = script("guest-kernel", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{newest}\n", "")


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """apt's commands, with a choice of kernels; returns where to put the one that does the download."""
    commands = tmp_path / "bin"
    names = ["6.1.0-9-cloud-amd64", "6.1.0-50-cloud-amd64", "6.1.0-60-cloud-amd64-unsigned", "6.1.0-70-amd64", "6.12.1+deb13-cloud-amd64"]
    put(commands / "apt-cache", "".join(["#!/bin/sh\n", *[f"echo linux-image-{name}\n" for name in names]]).encode(), 0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return commands / "apt-get"


def left(kernels):
    return sorted(path.name for path in kernels.iterdir() if not path.name.endswith(".lock"))


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")
def test_stock_kernels_are_unpacked_once(kernels, packages, tmp_path):
    name = "linux-image-6.1.0-50-cloud-amd64"
    put(tmp_path / "tree/boot/vmlinuz-6.1.0-50-cloud-amd64", b"kernel")
    put(tmp_path / "tree/DEBIAN/control", f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n".encode())
    subprocess.run(["dpkg-deb", "--build", tmp_path / "tree", tmp_path / "deb"], check=True, stdout=subprocess.DEVNULL)
    put(packages, f'#!/bin/sh\nfor name; do :; done\ncp {tmp_path}/deb "${{name}}_1_amd64.deb"\n'.encode(), 0o755)
    done = script("stock-kernels", "6.1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{kernels / name}/boot/vmlinuz-6.1.0-50-cloud-amd64\n"
    assert left(kernels) == [name]
    put(packages, b"#!/bin/sh\nexit 1\n", 0o755)
    again = script("stock-kernels", "6.1")
    assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, "")


def test_a_download_that_fails_leaves_nothing(kernels, packages):
    put(packages, b"#!/bin/sh\nexit 100\n", 0o755)
    done = script("stock-kernels")
    assert done.returncode == 1 and done.stdout == "" and "cannot download linux-image-6.1.0-50-cloud-amd64" in done.stderr
    assert left(kernels) == []
    assert "which of Debian's releases" in script("stock-kernels", "5.10").stderr


def test_packages_that_no_package_are_leave_nothing(kernels, packages):
    put(packages, b'#!/bin/sh\nfor name; do :; done\necho > "${name}_1_amd64.deb"\n', 0o755)
    done = script("stock-kernels")
    assert done.returncode == 1 and done.stdout == "" and "failed: dpkg-deb" in done.stderr
    assert left(kernels) == []


def test_what_is_killed_is_tidied_up_by_the_next(kernels, packages):
    put(packages, b"#!/bin/sh\ntouch half\nexec sleep 60\n", 0o755)
    process = subprocess.Popen([SCRIPTS / "stock-kernels", "6.1"], stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 30
    while not list(kernels.glob("**/half")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(kernels.glob(".stock-kernels.work.*/deb/half"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    put(packages, b"#!/bin/sh\nexit 100\n", 0o755)
    assert script("stock-kernels").returncode == 1
    assert left(kernels) == []

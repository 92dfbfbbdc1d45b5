# SPDX-License-Identifier: GPL-2.0-or-later
"""A user without rights, and a directory of theirs, for tests of attacks."""
import ctypes
import os
import pathlib
import shutil
import struct

import pytest

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]

#: The number of bpf(2); None: not known here.
BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)


def refusing(call, code):
    """For preexec_fn: a seccomp filter that refuses one system call, given by its number, with an errno."""
    def load(*words):
        return b"".join(struct.pack("HBBI", *word) for word in words)

    program = load((0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | code), (0x06, 0, 0, 0x7FFF0000))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        buffer = ctypes.create_string_buffer(program)
        descriptor = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, descriptor) == 0

    return install


@pytest.fixture
def lair():
    """A directory that the user `nobody` owns."""
    directory = pathlib.Path(f"/var/tmp/dwell-test-lair-{os.getpid()}")
    directory.mkdir(mode=0o755)
    os.chown(directory, 65534, 65534)
    yield directory
    shutil.rmtree(directory)

# SPDX-License-Identifier: GPL-2.0-or-later
"""A user without rights, and a directory of theirs, for tests of attacks."""
import os
import pathlib
import shutil

import pytest

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


@pytest.fixture
def lair():
    """A directory that the user `nobody` owns."""
    directory = pathlib.Path(f"/var/tmp/dwell-test-lair-{os.getpid()}")
    directory.mkdir(mode=0o755)
    os.chown(directory, 65534, 65534)
    yield directory
    shutil.rmtree(directory)

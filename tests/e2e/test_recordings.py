# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings: the same figures again, whatever happens to the file."""
import datetime
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time
import zlib

import pytest

import schemas
from conftest import DWELL, WORKLOAD, run, sum_ns

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "mixed.dwell"
HEADER = 32
CHUNK = struct.Struct("<IIIIQQII")


def chunks(data):
    """(offset, bytes of header and body) of each chunk."""
    offset, found = HEADER, []
    while offset < len(data):
        fields = CHUNK.unpack_from(data, offset)
        found.append((offset, CHUNK.size + fields[2]))
        offset += CHUNK.size + fields[2]
    return found


@pytest.mark.parametrize("arguments", [["--", WORKLOAD, "mixed", "1"], ["-c", "5"]])
@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_replay_is_what_was_printed(tmp_path, form, arguments):
    recording = tmp_path / "live.dwell"
    live = run("top", "--record", recording, "-i", "100ms", "--format", form, *arguments)
    assert live.returncode == 0, live.stderr
    replayed = run("top", "--from", recording, "--format", form)
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout == live.stdout


def test_key_chunks_are_joined_without_a_seam(tmp_path):
    """Differences begin again every 8 intervals; that cannot be seen."""
    recording = tmp_path / "long.dwell"
    live = run("top", "--record", recording, "-i", "10ms", "-c", "150", "--format", "json")
    assert run("top", "--from", recording, "--format", "json").stdout == live.stdout


def test_record_and_report(tmp_path):
    recording = tmp_path / "build.dwell"
    done = run("record", "-o", recording, "-i", "100ms", "--", WORKLOAD, "mixed", "1")
    assert done.returncode == 0 and "interval" in done.stderr and done.stdout == ""
    report = run("report", recording)
    assert report.returncode == 0
    for part in ("All threads", "Threads", "Processes", "Programs", "encoder-1", "exited with status 0", "2 CPUs" if os.cpu_count() == 2 else "CPUs"):
        assert part in report.stdout
    (whole, ended) = map(json.loads, run("report", recording, "--format", "json").stdout.splitlines())
    assert ended["status"] == 0
    for row in whole["threads"]:
        assert sum_ns(row["states_ns"]) == row["observed_ns"]


def test_existing_file_needs_force(tmp_path):
    recording = tmp_path / "there.dwell"
    recording.write_text("something of value")
    for command in (["record", "-o", recording], ["top", "--record", recording]):
        done = run(*command, "-c", "1", "-i", "20ms")
        assert done.returncode == 1 and "exists: --force replaces it" in done.stderr
        assert recording.read_text() == "something of value"
    assert run("record", "-o", recording, "--force", "-c", "1", "-i", "20ms").returncode == 0
    assert run("report", recording).returncode == 0
    done = run("record", "-o", tmp_path / "no" / "such" / "place", "-c", "1")
    assert done.returncode == 1 and "No such file or directory" in done.stderr


def test_full_disk_leaves_whole_intervals(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place]).returncode:
        pytest.skip("cannot mount a tmpfs here")
    try:
        done = run("record", "-o", place / "full.dwell", "-i", "2ms", timeout=60)
        assert done.returncode == 1
        said = re.search(r"No space left on device; the file can be read, with (\d+) intervals?", done.stderr)
        assert said, done.stderr
        replayed = run("top", "--from", place / "full.dwell", "--format", "json")
        assert replayed.returncode == 0, replayed.stderr
        assert len(replayed.stdout.splitlines()) == int(said.group(1))
    finally:
        subprocess.run(["umount", place], check=True)


def test_killed_while_recording(tmp_path):
    for attempt in range(5):
        recording = tmp_path / f"killed-{attempt}.dwell"
        process = subprocess.Popen([DWELL, "record", "-o", recording, "-i", "5ms"], stderr=subprocess.DEVNULL)
        sizes = set()  # the first interval of a busy machine may take that much alone
        while len(sizes) < 6 or max(sizes) < 20000:
            assert process.poll() is None
            sizes |= {recording.stat().st_size} if recording.exists() else set()
            time.sleep(0.01)
        time.sleep(random.random() * 0.05)
        process.kill()
        process.wait()
        done = run("top", "--from", recording, "--format", "json")
        assert done.stdout.count("\n") > 3
        assert done.returncode == 0 or "ends in the middle" in done.stderr


def replay(tmp_path, data, *arguments):
    damaged = tmp_path / "damaged.dwell"
    damaged.write_bytes(data)
    return run("top", "--from", damaged, "--format", "json", *arguments, timeout=20)


def test_cut_off_anywhere(tmp_path):
    """The intervals before the cut, and a message; or just the message."""
    data = GOLDEN.read_bytes()
    whole = run("top", "--from", GOLDEN, "--format", "json").stdout
    ends = [offset + length for offset, length in chunks(data)]
    for length in sorted({*range(0, len(data), 97), *ends, *(end - 1 for end in ends), *range(HEADER + 1)}):
        done = replay(tmp_path, data[:length])
        complete = sum(end <= length for end in ends)
        assert whole.startswith(done.stdout)
        assert done.stdout.count("\n") == max(0, complete - 1), length
        if length in ends:
            assert done.returncode == 0
        else:
            assert done.returncode == 1
            expected = "ends in the middle" if complete else "not a recording" if length < HEADER else "no whole interval"
            assert expected in done.stderr, (length, done.stderr)


def test_what_is_recorded_of_a_busy_machine_is_read(tmp_path):
    """Stacks of processes that have ended when they are read, among others."""
    recording = tmp_path / "busy.dwell"
    shell = "while :; do (for i in {1..1000}; do :; done); done"
    crowd = [subprocess.Popen(["bash", "-c", shell], start_new_session=True) for _ in range(6)]
    try:
        run("record", "--stacks", "-d", "2s", "-i", "200ms", "--freq", "400", "-o", recording)
    finally:
        for process in crowd:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    report = run("report", recording, "--format", "json")
    assert report.returncode == 0 and not report.stderr, report.stderr
    # where a record was left out that no reader would take
    assert "recording" not in {item["source"] for item in json.loads(report.stdout)["quality"]["unavailable"]}
    assert run("profile", "--from", recording, "--format", "folded").stdout


def test_flipped_bits_are_found(tmp_path):
    """What is printed was recorded; what is damaged is reported."""
    data = GOLDEN.read_bytes()
    good = set(run("top", "--from", GOLDEN, "--format", "json").stdout.splitlines())
    generator = random.Random(1)
    for _ in range(150):
        copy = bytearray(data)
        for _ in range(generator.choice((1, 1, 3))):
            copy[generator.randrange(len(copy))] ^= 1 << generator.randrange(8)
        done = replay(tmp_path, bytes(copy))
        # without the first chunk it is not known what the rest is about: then it may differ in that
        lines = done.stdout.splitlines()
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1
        threads = {line.split('"threads":')[1] for line in good}
        assert all(line.split('"threads":')[1] in threads for line in lines if '"threads":' in line) or not lines


def test_a_damaged_chunk_is_left_out(tmp_path):
    recording = tmp_path / "long.dwell"
    live = run("top", "--record", recording, "-i", "5ms", "-c", "200", "--format", "json").stdout.splitlines()
    data = bytearray(recording.read_bytes())
    offset, length = chunks(data)[82]
    data[offset + CHUNK.size + length // 4] ^= 0xFF
    done = replay(tmp_path, bytes(data))
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and "1 of 201 chunks is damaged, and 5 that refer to it" in done.stderr, done.stderr
    # chunk 0 is the baseline; 82 to 87 are gone, 88 is the next key and the new baseline
    assert lines == live[:81] + live[88:]
    report = run("report", tmp_path / "damaged.dwell")
    length, readable, intervals = re.search(r"  (\S+), (\S+) of it readable, in (\d+) intervals, ", report.stdout).groups()
    assert length != readable and int(intervals) == len([line for line in lines if '"interval"' in line])
    assert "\nnot all of the recording could be read: 1 of 201 chunks is damaged, and 5 that refer to it" in report.stdout
    # of one that is whole there is nothing to say
    whole = run("report", recording).stdout
    assert "readable" not in whole and "could be read" not in whole


def with_header(data, **changes):
    magic, major, minor, order, realtime = struct.unpack_from("<8sHHIQ", data)
    header = struct.pack(
        "<8sHHIQ", changes.get("magic", magic), changes.get("major", major), changes.get("minor", minor),
        changes.get("order", order), realtime,
    )  # fmt: skip
    return header + struct.pack("<I4B", zlib.crc32(header), 0, *changes.get("writer", (0, 0, 0))) + data[HEADER:]


def test_other_formats_are_refused_by_name(tmp_path):
    data = GOLDEN.read_bytes()
    version = run("--version").stdout.split()[1]
    errors = replay(tmp_path, with_header(data, major=3)).stderr
    assert "was written by a newer dwell and needs that: it is in version 3.0 of the format" in errors
    assert f"of which this dwell ({version}) reads 1.x to 2.x\n" in errors
    assert "was written by dwell 1.12.3 and needs dwell >= 1.12.3: it is" in replay(tmp_path, with_header(data, major=3, writer=(1, 12, 3))).stderr
    fresh = tmp_path / "fresh.dwell"
    assert run("record", "-o", fresh, "-c", "1", "-i", "10ms").returncode == 0
    version = subprocess.run([DWELL, "--version"], capture_output=True, text=True).stdout.split()[1]
    assert list(fresh.read_bytes()[HEADER - 3 : HEADER]) == [int(part) for part in version.split(".")]
    assert "other byte order" in replay(tmp_path, with_header(data, order=0x04030201)).stderr
    assert "not a recording" in replay(tmp_path, with_header(data, magic=b"DWELLREX")).stderr
    assert replay(tmp_path, with_header(data, minor=9)).returncode == 0
    assert "not a recording" in run("report", "/etc/passwd").stderr
    assert "not a regular file" in run("report", "/dev/null").stderr
    assert "a directory without recordings" in run("report", "/dev").stderr
    assert "No such file" in run("top", "--from", tmp_path / "nothing").stderr


def test_from_takes_nothing_else():
    for extra in (["-p", "1"], ["--record", "/tmp/x"], ["--", "true"]):
        done = run("top", "--from", GOLDEN, *extra)
        assert done.returncode == 2 and "--from shows what was recorded" in done.stderr


def test_signal_ends_recording_cleanly(tmp_path):
    recording = tmp_path / "stopped.dwell"
    process = subprocess.Popen([DWELL, "record", "-o", recording, "-i", "50ms"], stderr=subprocess.PIPE, text=True)
    while not recording.exists() or recording.stat().st_size < 3000:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0 and "interval" in errors
    last = json.loads(run("top", "--from", recording, "--format", "json").stdout.splitlines()[-1])
    assert last["final"] is True


def test_a_pipe_is_not_a_recording(tmp_path):
    """It is not waited for, and what `-` is elsewhere is refused."""
    pipe = tmp_path / "pipe.dwell"
    os.mkfifo(pipe)
    for command in (["report", pipe], ["top", "--from", pipe], ["blocked", "--from", pipe]):
        done = run(*command)
        assert done.returncode == 1 and done.stderr.rstrip().endswith("pipe.dwell is not a regular file"), done.stderr
    for command in (["report", "-"], ["record", "-o", "-", "-d", "1s"]):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 1 and "./-" in done.stderr and not (tmp_path / "-").exists(), done.stderr


def test_a_pipe_is_written_to_while_a_process_reads_it(tmp_path):
    """Without one dwell does not wait until one comes."""
    pipe, copy = tmp_path / "pipe", tmp_path / "copy.dwell"
    os.mkfifo(pipe)
    done = run("record", "--force", "-o", pipe, "-d", "300ms")
    assert done.returncode == 1 and done.stderr == f"dwell record: cannot write {pipe}: no process reads it\n"
    with open(copy, "wb") as file, subprocess.Popen(["cat", pipe], stdout=file):
        held = os.open(pipe, os.O_WRONLY)  # as soon as it is read
        done = run("record", "--force", "-o", pipe, "-d", "300ms")
        os.close(held)
    assert done.returncode == 0 and run("report", copy).returncode == 0, done.stderr


def test_a_command_that_cannot_run_leaves_no_file(tmp_path):
    """One that was there stays, for nothing has replaced it."""
    for command in (["record", "-o"], ["top", "--record"]):
        recording = tmp_path / f"{command[0]}.dwell"
        done = run(*command, recording, "--", "/nonexistent")
        assert done.returncode == 1 and "cannot run /nonexistent" in done.stderr and not recording.exists()
        recording.write_text("something of value")
        assert run(*command, recording, "--force", "--", "/nonexistent").returncode == 1
        assert recording.read_text() == "something of value"


def spans_of(path):
    """Beginning and end of each interval of a recording, in ns since 1970."""
    lines = run("top", "--from", path, "--format", "json").stdout.splitlines()
    intervals = [json.loads(line) for line in lines]
    starts = [int(datetime.datetime.fromisoformat(interval["start"][:26]).replace(tzinfo=datetime.timezone.utc).timestamp() * 1e6) * 1000 + int(interval["start"][26:29])
              for interval in intervals if interval["type"] == "interval"]
    return [(start, start + interval["duration_ns"]) for start, interval in zip(starts, intervals)]


def test_a_rotation_has_each_interval_once(tmp_path):
    path = tmp_path / "night.dwell"
    done = run("record", "-p", os.getpid(), "-o", path, "--rotate", "500ms", "-i", "100ms", "-d", "4s", "--format", "json")
    assert done.returncode == 0, done.stderr
    (recorded,) = schemas.read(done.stdout)
    files = sorted(tmp_path.iterdir())
    assert recorded["files"] == len(files) >= 3 and recorded["file"] == str(files[-1])
    assert all(re.fullmatch(r"night\.\d{8}T\d{6}Z\.dwell", file.name) and file.stat().st_mode & 0o777 == 0o600 for file in files)
    spans = [span for file in files for span in spans_of(file)]
    assert len(spans) == recorded["intervals"]
    assert all(abs(end - start) < 1_000_000 for (_, end), (start, _) in zip(spans, spans[1:]))
    assert sum(end - start for start, end in spans) == recorded["duration_ns"]


def totals(interval):
    return {(thread["tid"], state): ns for thread in interval["threads"] for state, ns in thread["states_ns"].items() if ns is not None}


def report_of(*arguments):
    done = run("report", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0]), done.stderr


def test_files_that_follow_each_other_are_one(tmp_path):
    """By their names, by that without the times, by their directory: what each has is there once."""
    ring = tmp_path / "ring"
    ring.mkdir()
    (recorded,) = schemas.read(run("record", "-p", os.getpid(), "-o", ring / "night.dwell", "--rotate", "500ms", "-i", "100ms", "-c", "25", "--format", "json").stdout)
    files = sorted(ring.iterdir())
    parts = [report_of(file)[0] for file in files]
    sums = {key: sum(totals(part).get(key, 0) for part in parts) for part in parts for key in totals(part)}
    for paths in ([*reversed(files)], [ring / "night.dwell"], [ring], [f"{ring}/"]):
        whole, _ = report_of(*paths)
        assert totals(whole) == sums and whole["duration_ns"] == recorded["duration_ns"], paths
    part, _ = report_of(ring, "--since", "1s", "--until", "300ms")
    assert 400_000_000 <= part["duration_ns"] <= 710_000_000
    part = run("top", "--from", ring, "--since", "1s", "--until", "300ms", "--format", "json")
    intervals = [line for line in part.stdout.splitlines() if '"type":"interval"' in line]
    assert 4 <= len(intervals) <= 8 and run("top", "--since", "1s", "-c", "1").returncode == 2
    assert all(run("top", "--from", path, "--format", "csv").stdout.count("\n") > 25 for path in (ring, ring / "night.dwell"))
    assert run("compare", ring, ring / "night.dwell", "--format", "json").returncode == 0
    # what is being begun, or has just been removed, is no error
    (ring / "night.20991231T000000Z.dwell").write_bytes(files[0].read_bytes()[:HEADER])
    assert totals(report_of(ring)[0]) == sums
    (tmp_path / "file.dwell").write_bytes(files[0].read_bytes()[:HEADER])
    assert run("report", tmp_path / "file.dwell").returncode == 1


def test_what_does_not_follow_is_refused(tmp_path):
    ring = tmp_path / "ring"
    ring.mkdir()
    assert run("record", "-p", os.getpid(), "-o", ring / "night.dwell", "--rotate", "200ms", "-i", "100ms", "-c", "6").returncode == 0
    first, second, *_ = sorted(ring.iterdir())
    for arguments, words in [
        ([first, first], "have the same time"), ([GOLDEN, first], "from different boots"), ([tmp_path], "a directory without recordings"),
        ([first, "--since", "24:30"], "is not a time"), ([first, "--since", "1s", "--until", "2s"], "not after --since"),
        ([first, "--until", "2020-01-01"], "nothing of that time"), ([first, "--until", "1h"], "nothing of that time"),
        ([tmp_path / "none.dwell"], "cannot read"),
    ]:
        done = run("report", *arguments)
        assert done.returncode in (1, 2) and words in done.stderr and not done.stdout, (arguments, done.stderr)
    other = second.name.replace("night", "trigger.before")
    (ring / other).write_bytes(second.read_bytes())
    refused = run("report", ring)
    assert refused.returncode == 1 and f"{ring}/night.dwell" in refused.stderr and f"{ring}/trigger.before.dwell" in refused.stderr
    # a store of `dwell serve` has both
    for path in ring.glob("night.*"):
        path.rename(ring / path.name.replace("night", "dwell"))
    assert report_of(ring)[0] == report_of(ring / "dwell.dwell")[0]


def test_what_lies_between_recordings_was_not_measured(tmp_path):
    """A loss is a part of what was measured, however much later the next recording was made."""
    recordings, lengths = [tmp_path / "first.dwell", tmp_path / "second.dwell"], []
    two = "taskset -c 0 sh -c 'while :; do :; done' & taskset -c 0 sh -c 'while :; do :; done' & sleep 1; kill %1 %2"
    for recording in recordings:
        time.sleep(4 * len(lengths))
        assert run("record", "-o", recording, "-i", "200ms", "--", "bash", "-c", two).returncode == 0
        lengths.append(json.loads(run("report", recording, "--format", "json").stdout.splitlines()[0])["duration_ns"])
    whole = json.loads(run("report", *recordings, "--format", "json").stdout.splitlines()[0])
    assert whole["duration_ns"] == sum(lengths)
    assert any(finding["state"] == "runnable" and finding["victim"]["comm"] == "sh" for finding in whole["findings"]), whole["findings"]
    head = run("report", *recordings).stdout.splitlines()[1]
    assert re.search(r"  [0-9.]+s measured of [0-9.]+s in \d+ intervals, ", head), head


def test_causes_in_one_of_two_recordings_count_once(tmp_path):
    """Of the one without blame none are known: those of the last interval of the other are not counted again for each of its own."""
    with_blame, without = tmp_path / "blame.dwell", tmp_path / "without.dwell"
    spin = "while :; do :; done"
    crowd = ["taskset", "-c", "0", "bash", "-c", f"({spin}) & ({spin}) & sleep 1; kill %1 %2"]
    assert run("record", "-o", with_blame, "-i", "200ms", "--", *crowd).returncode == 0
    assert run("record", "-o", without, "-i", "100ms", "--no-blame", "--", *crowd).returncode == 0
    for recordings in ([with_blame, without], [without, with_blame], [with_blame]):
        whole = json.loads(run("report", *recordings, "--format", "json").stdout.splitlines()[0])
        assert whole["findings"] or recordings[-1] == without, whole
        for finding in whole["findings"]:
            assert sum(cause["total_ns"] for cause in finding["causes"]) <= 1.001 * finding["total_ns"], finding


def test_files_before_another_boot_are_left_out(tmp_path):
    """Of a rotation that has gone on after it: threads there are others, of the same ids."""
    old = tmp_path / "night.20250101T000000Z.dwell"
    old.write_bytes(GOLDEN.read_bytes())
    assert run("record", "-p", os.getpid(), "-o", tmp_path / "night.dwell", "--rotate", "200ms", "-i", "100ms", "-c", "6").returncode == 0
    whole, remark = report_of(tmp_path)
    assert "1 older file is left out" in remark
    old.rename(tmp_path / "kept")
    assert report_of(tmp_path) == (whole, "")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_rotation_counts_the_files_that_there_are(count, tmp_path):
    """Where the last interval was the last of its file, too, the next one has none, and no name."""
    done = run("record", "-p", os.getpid(), "-o", tmp_path / "night.dwell", "--rotate", "100ms", "-i", "100ms", "-c", count, "--format", "json")
    (recorded,), files = schemas.read(done.stdout), sorted(tmp_path.iterdir())
    assert (recorded["files"], recorded["file"]) == (len(files), str(files[-1])), (recorded, files)
    assert sum(len(spans_of(file)) for file in files) == recorded["intervals"] == count


def test_a_rotation_removes_its_own_oldest_files_alone(tmp_path):
    kept = ["night.dwell", "night.20260101T000000Z.dwell.txt", "other.20260101T000000Z.dwell", "night.2026-101T000000Z.dwell"]
    for name in kept:
        (tmp_path / name).write_bytes(b"x" * 3_000_000)
    (tmp_path / "night.20260102T000000Z.dwell").symlink_to(tmp_path / "night.dwell")
    (tmp_path / "night.20260103T000000Z.dwell").mkdir()
    for day in range(10, 20):
        (tmp_path / f"night.202601{day}T000000Z.dwell").write_bytes(os.urandom(300_000))
    done = run("record", "-p", os.getpid(), "-o", tmp_path / "night.dwell", "--max-bytes", "1M", "-i", "100ms", "-c", "3")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert {*kept, "night.20260102T000000Z.dwell", "night.20260103T000000Z.dwell", "night.20260119T000000Z.dwell"} <= names
    assert not {f"night.202601{day}T000000Z.dwell" for day in range(10, 17)} & names


def test_a_rotation_goes_on_after_the_clock_was_set_back(tmp_path):
    """What was recorded under the clock's earlier, later time is the oldest, and goes first."""
    for day in range(10, 20):
        (tmp_path / f"night.205001{day}T000000Z.dwell").write_bytes(os.urandom(300_000))
    done = run("record", "-p", os.getpid(), "-o", tmp_path / "night.dwell", "--rotate", "100ms", "--max-bytes", "1M", "-i", "100ms", "-c", "4", "--format", "json")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert "night.20500119T000000Z.dwell" in names and not {f"night.205001{day}T000000Z.dwell" for day in range(10, 17)} & {*names}
    own = [name for name in names if name > "night.20500119T000000Z.dwell"]
    assert own[0] == "night.20500119T000001Z.dwell" and own[-1] == names[-1]
    assert sum(len(spans_of(tmp_path / name)) for name in own) == schemas.read(done.stdout)[0]["intervals"] == 4


@pytest.mark.parametrize("arguments, words", [
    (["--rotate", "1h", "--force"], "--force is for one file"),
    (["--max-bytes", "10K"], "1M at least"),
])
def test_what_a_rotation_refuses(tmp_path, arguments, words):
    done = run("record", "-o", tmp_path / "x.dwell", *arguments)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize("name, words", [
    ("nowhere", "the directory {} does not exist: mkdir it"),
    ("file", "{} is not a directory"),
    ("file/x", "cannot reach {}: Not a directory"),
])  # fmt: skip
def test_a_rotation_into_no_directory(tmp_path, name, words):
    (tmp_path / "file").touch()
    for arguments in ("record", "-o", tmp_path / name / "x.dwell", "--rotate", "1h"), ("serve", "--store", tmp_path / name):
        done = run(*arguments)
        # before that serve may say that a machine has no cgroups
        said = [line for line in done.stderr.splitlines() if "there are no cgroups v2 here" not in line]
        assert done.returncode == 1 and said == [f"dwell {arguments[0]}: {words.format(tmp_path / name)}"], done.stderr

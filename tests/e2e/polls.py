# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell blocked` beside what the tasks of a Tokio service noted of each of their polls: by build, runtime and kind of stall.

A cell of the matrix is one of each. A service runs in one build and one runtime, and is asked for several kinds of stalls.
"""
import collections
import contextlib
import dataclasses
import itertools
import signal
import subprocess
import tempfile

from services import STRIPPED, Blocked, Named, SlowNames, Stripped, build_tokio, taken_away, tokio_service

#: what the matrix calls a build -> what services.py does
BUILDS = {
    "release+debug": "release",
    "no debug": "plain",
    "LTO+abort": "fat",
    "v0": "v0",
    "opt z": "small",
    "stripped": "plain, stripped",
    "static-pie": "static-pie",
    "cdylib": "cdylib",
}

RUNTIMES = {
    "multi-thread": (),
    "current_thread": ("--threads", "0"),
    "LocalSet": ("--threads", "local"),
    "two runtimes": ("--runtimes", "2"),
}

#: of a poll that stalls: what it is asked for, the largest of its causes, the function of that
Stall = collections.namedtuple("Stall", "handler argument cause function")
STALLS = {
    "spin": Stall("spin", 30, "cpu", "compute_report"),
    "sleep": Stall("sleep", 30, "sleep", "wait_for_printer"),
    "lock": Stall("lock", 30, "lock", "read_ledger"),
    # 20 ms each: judged by its parts
    "mixed": Stall("mixed", 20, None, None),
    "fsync": Stall("fsync", 16, "disk", "append_audit"),
    "read": Stall("read", 64, "disk", "load_archive"),
    "dns": Stall("dns", "printer.example", "net", "resolve_partner"),
    "fault": Stall("fault", 32, "disk", "touch_archive"),
    "child": Stall("child", "0.03", "ipc", "print_label"),
    "offload": Stall("offload", 30, None, None),
    "in_place": Stall("inplace", 30, "sleep", "wait_for_printer"),
    "good": Stall("good", 30, None, None),
    "good, 4 stress-ng": Stall("good", 30, None, None),
}
#: of which each poll is short
INNOCENT = ("offload", "good", "good, 4 stress-ng")
STRESSED = "good, 4 stress-ng"
MIXED_NS = 20_000_000
MIXED = {"cpu": "compute_report", "sleep": "wait_for_printer", "lock": "read_ledger"}

#: cells that cannot be, and why
IMPOSSIBLE = {
    (runtime, "in_place"): "block_in_place() panics: there is no other worker that could take over"
    for runtime in ("current_thread", "LocalSet")
}

THRESHOLD_NS = 5_000_000
EDGE_NS = 100_000  # a poll so close to the threshold may be above it for one clock, and not for the other
NEAR = 0.1  # of a poll: causes whose shares differ by less are both the largest
PART = 1 / 7  # of a poll: what takes more than this has to be one of its parts (model/stall_parts.c: 1/8)

#: a share of all, or ms
BARS = {"recall": 0.99, "false": 0, "right": 0.98, "p95_ms": 0.1}

#: seconds for one request of each kind, with what is around them, and for a service and dwell to start and end
SECONDS_EACH, SECONDS_START = 0.06, 1.0


def cells():
    """-> all (build, runtime, stall) that there can be."""
    return [cell for cell in itertools.product(BUILDS, RUNTIMES, STALLS) if cell[1:] not in IMPOSSIBLE]


def pairs_of(cell):
    """Its values, two by two, with the axis that each is of."""
    return set(itertools.combinations(enumerate(cell), 2))


def pairwise():
    """-> cells in which each two values meet that can: always that next which has most pairs that have not met, of those the one
    whose service has least to do."""
    left = set().union(*map(pairs_of, cells()))
    chosen, load = [], collections.Counter()
    while left:
        cell = max(cells(), key=lambda cell: (len(pairs_of(cell) & left), -load[cell[:2]]))
        left -= pairs_of(cell)
        load[cell[:2]] += 1
        chosen.append(cell)
    return chosen


def runs_of(chosen):
    """-> {(build, runtime): [stall]}, in the order of the axes."""
    return {
        (build, runtime): [stall for stall in STALLS if (build, runtime, stall) in set(chosen)]
        for build, runtime in itertools.product(BUILDS, RUNTIMES)
        if any(cell[:2] == (build, runtime) for cell in chosen)
    }


def estimate_s(chosen, requests):
    return len(chosen) * requests * SECONDS_EACH + len(runs_of(chosen)) * SECONDS_START


@dataclasses.dataclass(frozen=True)
class Poll:
    """As tests/fixtures/tokio/src/notes.rs has it."""

    tid: int
    start: int
    end: int
    cpu: int
    delay: int  # it could have run

    @property
    def duration(self):
        return self.end - self.start

    def overlap(self, stall):
        end = stall["start_ns"] + stall["duration_ns"]
        return min(self.end, end) - max(self.start, stall["start_ns"]) if self.tid == stall["tid"] else 0

    def causes(self, cause):
        """The largest of its causes, where what it waited for is of `cause`; two that are nearly as large."""
        shares = {"runnable": self.delay, "cpu": self.cpu}
        shares[cause] = shares.get(cause, 0) + max(0, self.duration - self.cpu - self.delay)
        return {name for name, ns in shares.items() if ns > max(shares.values()) - NEAR * self.duration}


@dataclasses.dataclass
class Verdict:
    """Of a cell, or of several."""

    long: int = 0  # polls that dwell has to report
    found: int = 0
    judged: int = 0  # of these: what was stolen from has no cause of its own
    right: int = 0  # cause and function, and whether it is legitimate
    unknown: int = 0  # not right, and not wrong: of a program without names it is open whether a futex is a lock's
    false: int = 0  # stalls that blame code that did not block
    errors_ns: list = dataclasses.field(default_factory=list)  # of durations
    complaints: list = dataclasses.field(default_factory=list)

    def add(self, other):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def figures(self):
        """None: nothing to say it by."""
        errors = sorted(self.errors_ns)
        return {
            "recall": self.found / self.long if self.long else None,
            "false": self.false,
            "right": self.right / self.judged if self.judged else None,
            "p95_ms": errors[min(len(errors) - 1, int(0.95 * len(errors)))] / 1e6 if errors else None,
        }

    def short_of(self, unknown_is_right=False):
        """-> names of the bars it does not reach"""
        figures = self.figures()
        if unknown_is_right and self.judged:
            figures["right"] = (self.right + self.unknown) / self.judged
        return [
            name
            for name, bar in BARS.items()
            if figures[name] is not None and (figures[name] < bar if name in ("recall", "right") else figures[name] > bar)
        ]


@contextlib.contextmanager
def stressed():
    """The machine, by twice as much as a small one can do."""
    company = subprocess.Popen(["stress-ng", "--quiet", "--cpu", "4"], start_new_session=True)
    try:
        yield
    finally:
        company.send_signal(signal.SIGINT)
        company.wait()


def ask(services, stall, requests):
    """-> [(start, duration) of what blocked], and what the machine's clock said around it"""
    request, answers = STALLS[stall], []
    with stressed() if stall == STRESSED else contextlib.nullcontext():
        for _, service in zip(range(requests), itertools.cycle(services)):
            answers.append(service.ask(request.handler, request.argument)[:2])
            # what comes next is another poll
            service.settle()
    return answers


def watch(build, runtime, stalls, requests, names):
    """-> ({stall: answers}, polls, what dwell reported)"""
    options = [*RUNTIMES[runtime], "--notes", "yes"]
    with tokio_service(BUILDS[build], *options, prefix=names.prefix) as service:
        services = [service]
        if runtime == "two runtimes":
            services.append(service.another(int(service.process.stdout.readline())))
        blocked = Blocked(service.process.pid)
        # the first probe that is hit makes room for all others
        for each in services:
            each.settle()
        answers = {stall: ask(services, stall, requests) for stall in stalls}
        reported, summary = blocked.end()
        assert summary["runtime"] == "tokio" and summary["quality"]["lost"] == 0, summary["quality"]
        numbers = service.ask("notes", 0)
    return answers, [Poll(*numbers[at : at + 5]) for at in range(0, len(numbers), 5)], reported


def parts_complaint(poll, stall, names):
    """Of a poll that computed, slept, and waited for a lock."""
    expected = {"sleep"}
    if poll.cpu > PART * poll.duration:
        expected.add("cpu")
    if poll.duration - poll.cpu - poll.delay - MIXED_NS > PART * poll.duration:
        expected.add("lock")
    parts = {part["cause"]: part for part in stall["parts"]}
    for cause in expected:
        part = parts.get(cause) or (parts.get("unknown") if names.is_cause({"cause": "unknown"}, cause) else None)
        if not part or not names.is_blamed(part, MIXED[cause]):
            return f"no {cause} in {MIXED[cause]}: {[(part['cause'], part['function']) for part in stall['parts']]}"
    return None


def is_unknown(name, stall):
    """Whether dwell says that it does not know a cause."""
    return "unknown" in [stall["cause"], *(part["cause"] for part in stall["parts"] if name == "mixed")]


def complaint(name, poll, stall, names):
    """What is wrong with how a poll is reported; None: nothing. As far as names can say it: is_unknown()."""
    request = STALLS[name]
    legitimate = "block_in_place" if name == "in_place" else None
    if stall["legitimate"] != legitimate:
        return f"legitimate: {stall['legitimate']}"
    if name == "mixed":
        return parts_complaint(poll, stall, names)
    if not any(names.is_cause(stall, cause) for cause in poll.causes(request.cause)):
        states = {state: ns for state, ns in stall["states_ns"].items() if ns}
        return f"{stall['cause']}, not {' or '.join(poll.causes(request.cause))} ({states}, {poll})"
    # of what only waited for a CPU no code is to blame
    if stall["cause"] != "runnable" and not names.is_blamed(stall, request.function):
        return f"{stall['function']} instead of {request.function} ({stall['cause']})"
    return None


def judge(answers, polls, reported, names):
    """-> {stall: Verdict}"""
    verdicts = {name: Verdict() for name in answers}
    blocking = {}
    for name in answers:
        for start, duration in answers[name] if name not in INNOCENT else ():
            (poll,) = [poll for poll in polls if poll.start <= start and start + duration <= poll.end]
            blocking[poll] = name
    begins = {name: min(start for start, _ in answers[name]) for name in answers}
    matched = {}
    for stall in reported:
        poll = max(polls, key=lambda poll: poll.overlap(stall))
        is_poll = poll.overlap(stall) > stall["duration_ns"] / 2 and poll.duration > THRESHOLD_NS - EDGE_NS
        if is_poll and poll in blocking and poll not in matched:
            matched[poll] = stall
        # the kernel charged it that: of a machine that others disturb, and true
        elif is_poll and stall["cause"] == "cpu" and poll.cpu > THRESHOLD_NS - EDGE_NS:
            continue
        elif stall["cause"] != "runnable" and not taken_away(stall):
            # of what was asked for at that time
            name = max((name for name in begins if begins[name] <= stall["start_ns"]), key=begins.get, default=next(iter(begins)))
            verdicts[name].false += 1
            verdicts[name].complaints.append(f"false: {stall['cause']} in {stall['function']}, {stall['duration_ns'] / 1e6} ms, {poll}")
    for poll, name in blocking.items():
        verdict, stall = verdicts[name], matched.get(poll)
        if poll.duration < THRESHOLD_NS + EDGE_NS:
            continue
        verdict.long += 1
        if not stall:
            verdict.complaints.append(f"not found: {poll}")
            continue
        verdict.found += 1
        verdict.errors_ns.append(abs(stall["duration_ns"] - poll.duration))
        if taken_away(stall):
            continue
        verdict.judged += 1
        wrong = complaint(name, poll, stall, names)
        verdict.unknown += not wrong and is_unknown(name, stall)
        verdict.right += not wrong and not is_unknown(name, stall)
        if wrong:
            verdict.complaints.append(wrong)
            # it may block, and is blamed
            verdict.false += name == "in_place" and stall["legitimate"] is None
    return verdicts


def measure(chosen, requests, report=lambda run, verdicts: None):
    """Runs these cells -> {cell: Verdict}; reports on each run when it has ended."""
    verdicts = {}
    with tempfile.TemporaryDirectory() as directory:
        names = SlowNames(directory, 0.04)
        try:
            for (build, runtime), stalls in runs_of(chosen).items():
                seen = watch(build, runtime, stalls, requests, names)
                named = Stripped(BUILDS[build]) if BUILDS[build] in STRIPPED else Named()
                found = judge(*seen, named)
                report((build, runtime), found)
                verdicts |= {(build, runtime, stall): found[stall] for stall in stalls}
        finally:
            names.end()
    return verdicts


def summed(verdicts, axis=None, value=None):
    total = Verdict()
    for cell, verdict in verdicts.items():
        if axis is None or cell[axis] == value:
            total.add(verdict)
    return total

# SPDX-License-Identifier: GPL-2.0-or-later
"""`dwell profile --format html` in a browser, alone and beside an earlier recording."""
import base64
import hashlib
import json
import pathlib
import re
import subprocess

import browser
import pytest

from conftest import run
from profiles import STACKS, profile
from test_libraries import compile_into

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>"


def hostile_program(directory):
    """A function with that name."""
    source = directory / "hostile.c"
    source.write_text(
        "#include <unistd.h>\nvolatile unsigned long sink;\n"
        "__attribute__((noinline)) void evil(void) { for (int i = 0; i < 1000000; i++) sink += i; usleep(1000); }\n"
        "int main(void) { for (;;) { evil(); sink++; } }\n"
    )
    program = compile_into(directory / "hostile", "gcc", "-O2", source)
    subprocess.run(["objcopy", f"--redefine-sym=evil={HOSTILE}", program], check=True)
    return program


def test_page(tmp_path):
    """In a browser: drawn, searched, zoomed, by keys too; it asks for nothing, and names are text."""
    file = tmp_path / "it.html"
    process = subprocess.Popen([hostile_program(tmp_path)])
    try:
        done = run("profile", "-p", process.pid, "-d", "1s", "--freq", "400", "--format", "html", "-o", file)
        assert done.returncode == 0, done.stderr
    finally:
        process.kill()
        process.wait()
    found = "document.querySelectorAll('#graph .found').length"
    boxes = "document.querySelectorAll('#graph div').length"
    with browser.Page(file, tmp_path) as page:
        assert re.fullmatch(f"hostile {process.pid}: where [0-9.]+s went", page.evaluate("document.title"))
        everything = page.evaluate(boxes)
        assert everything > 10 and page.evaluate("document.querySelectorAll('#rows tr').length") > 2
        assert page.evaluate("[...document.querySelectorAll('#rows td')].some(cell => cell.textContent.includes('onerror'))")
        page.key("/")
        for letter in "onerror":
            page.key(letter)
        assert page.evaluate(found) > 0
        assert "found: " in page.evaluate("document.getElementById('status').textContent")
        page.key("Escape")
        assert page.evaluate(found) == 0
        # into one state by keys, and back
        for key in ("ArrowDown", "Enter"):
            page.key(key)
        assert page.evaluate(boxes) < everything
        page.key("Escape")
        assert page.evaluate(boxes) == everything
        # a state less, a thread alone, upside down
        page.evaluate("document.querySelector('#states button').click()")
        assert page.evaluate(boxes) < everything
        page.evaluate("document.getElementById('invert').click()")
        assert page.evaluate("document.getElementById('threads').options.length") == 2
        assert not page.errors and page.requests == [f"file://{file}"], (page.errors, page.requests)
        page.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 5000
    for width, dark in ((390, True), (1200, True)):
        with browser.Page(file, tmp_path, width, 800, dark) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(21, 24, 28)"


def page_of_stacks(directory):
    file = directory / "it.html"
    done = run("profile", "--from", STACKS, "--state", "all", "--format", "html", "-o", file)
    assert done.returncode == 0, done.stderr
    return file


def test_what_the_page_says_on_a_phone(tmp_path):
    """Light or dark as the reader has it, until the button is pressed; and what no stack stands for, as text: nothing hovers there."""
    states = {state["state"]: state["total_ns"] - state["sampled_ns"] for state in profile("--from", STACKS, "--state", "all")["states"]}
    with browser.Page(page_of_stacks(tmp_path), tmp_path, 390, 800) as page:
        buttons = page.evaluate("[...document.querySelectorAll('#states button')].map(one => [one.innerText, one.getBoundingClientRect().right])")
        assert buttons and all(right <= 390 for _, right in buttons), buttons
        said = {text.split()[0]: text for text, _ in buttons}
        assert re.fullmatch(r"user 469 ms, 16\.0 ms not sampled", said["user"]) and states["user"] // 100_000 == 160, (said, states)
        assert {state for state, text in said.items() if "not sampled" in text} == {state for state, ns in states.items() if ns}, (said, states)
        for colour in (LIGHT, DARK, LIGHT):
            assert page.evaluate(BACKGROUND) == colour
            page.evaluate("document.getElementById('theme').click()")
        assert not page.errors, page.errors


def test_one_thread_of_the_page(tmp_path):
    result = profile("--from", STACKS, "--state", "all")
    own_ns = {row["tid"]: sum(path["ns"] for path in result["paths"] if path["tid"] == row["tid"]) for row in result["threads"]}
    with browser.Page(page_of_stacks(tmp_path), tmp_path) as page:
        names = page.evaluate("[...document.getElementById('threads').options].map(one => one.text)")
        assert len(names) == len(own_ns) + 1, names
        assert page.evaluate("root.ns") == sum(own_ns.values())
        for at, name in enumerate(names[1:], 1):
            page.evaluate(f"(() => {{ const all = document.getElementById('threads'); all.selectedIndex = {at}; all.dispatchEvent(new Event('change')); }})()")
            (tid,) = (tid for tid in own_ns if str(tid) in name)
            assert page.evaluate("root.ns") == own_ns[tid], (name, own_ns)
            assert page.evaluate("document.querySelectorAll('#graph div').length") > 1 and page.evaluate("document.querySelectorAll('#rows tr').length")


def test_the_page_runs_its_own_script_and_asks_for_nothing(tmp_path):
    """By a policy in the page itself, which the browser keeps to."""
    file = page_of_stacks(tmp_path)
    text = file.read_text()
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
              for part in (re.search(f"<{name}>(.*?)</{name}>", text, re.S)[1] for name in ("script", "style"))]  # fmt: skip
    with browser.Page(file, tmp_path) as page:
        policy = page.evaluate("document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        rules = {name: sources for name, *sources in map(str.split, policy.split(";"))}
        assert rules == {"default-src": ["'none'"], "script-src": [hashes[0]], "style-src": [hashes[1]], "base-uri": ["'none'"], "form-action": ["'none'"]}, policy
        assert not page.errors and page.requests == [f"file://{file}"], (page.errors, page.requests)
        page.evaluate("(() => { const script = document.createElement('script'); script.textContent = 'ran = true'; document.body.append(script); })()")
        page.evaluate("(() => { const image = document.createElement('img'); image.onerror = () => { document.title = 'refused'; }; image.src = 'data:image/gif;base64,'; document.body.append(image); })()")
        page.until("document.title === 'refused'")
        assert page.evaluate("typeof ran") == "undefined"
        refused = " ".join(error["entry"]["text"] for error in page.errors)
        assert "inline script" in refused and "\"default-src 'none'\"" in refused and refused.count("Content Security Policy") == 2, refused


CHANGED = """
#include <pthread.h>
#include <unistd.h>
volatile unsigned long sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define APART __attribute__((noinline))
APART static void computes(long rounds) { for (long i = 0; i < rounds; i++) sink = sink * 3 + i; sink++; }
APART static void compares(long rounds) { for (long i = 0; i < rounds; i++) sink = sink * 5 + i; sink++; }
APART static void locks(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); sink++; }
static void *holds(void *unused) { for (;;) { pthread_mutex_lock(&mutex); usleep(HELD); pthread_mutex_unlock(&mutex); usleep(1000); } }
/* apart from what computes: how long that takes is the machine's business */
static void *waits(void *unused) { for (;;) { locks(); usleep(1000); } }
int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], 0, holds, 0);
	pthread_create(&threads[1], 0, waits, 0);
	for (;;) { computes(ROUNDS); compares(1000000); usleep(1000); }
}
"""


@pytest.mark.measures
def test_what_two_recordings_differ_in(tmp_path):
    """The function that computes more, and the one that waits longer for a lock; of two runs of one program, none."""
    (tmp_path / "it.c").write_text(CHANGED)
    recordings = []
    for number, (held, rounds) in enumerate(((2000, 1_000_000), (2000, 1_000_000), (9000, 8_000_000))):
        directory = tmp_path / str(number)
        directory.mkdir()
        program = compile_into(directory / "changes", "gcc", "-O2", "-pthread", f"-DHELD={held}", f"-DROUNDS={rounds}", tmp_path / "it.c")
        recordings.append(directory / "it.dwell")
        done = run("record", "--stacks", "-d", "6s", "-i", "100ms", "-o", recordings[-1], "--", program)
        assert done.returncode == 0, done.stderr
    done = run("compare", recordings[0], recordings[1], "--format", "json")
    same = json.loads(done.stdout)
    assert not [row for row in same["rows"] if row["level"] == "code" and row["verdict"] not in ("same", "chance", "undecided", None)], same
    done = run("compare", recordings[0], recordings[2], "--format", "json")
    changed = json.loads(done.stdout)
    assert changed["a"]["stacks"] and changed["b"]["stacks"]
    verdicts = {(row["function"], row["state"]): row["verdict"] for row in changed["rows"] if row["level"] == "code"}
    assert verdicts["computes", "user"] == "more" and verdicts["locks", "lock"] == "worse", verdicts
    page = run("compare", recordings[0], recordings[2]).stdout
    assert " in locks " in page and "changes computes more in computes: " in page, page
    check_difference(tmp_path, recordings)


def check_difference(directory, recordings):
    """The page with both: what takes more is red, and first in the table; of two runs of one program nothing is."""
    rows = "[...document.querySelectorAll('#rows tr')].map(row => [...row.children].map(cell => cell.textContent))"
    red = "[...document.querySelectorAll('#graph div')].filter(box => box.style.background.includes('--more')).map(box => box.textContent)"
    for name, after in (("same", recordings[1]), ("changed", recordings[2])):
        file = directory / f"{name}.html"
        done = run("profile", "--from", after, "--before", recordings[0], "--format", "html", "-o", file)
        assert done.returncode == 0, done.stderr
    with browser.Page(directory / "changed.html", directory, 1200, 800) as page:
        changes = {(row[5].partition(".")[0], row[4]): row[7] for row in page.evaluate(rows)}
        assert changes["computes", "user"].startswith("+") and changes["locks", "lock"].startswith("+"), changes
        assert {"computes", "locks"} <= {name.partition(".")[0] for name in page.evaluate(red)}, page.evaluate(red)
        page.evaluate("document.getElementById('difference').click()")
        assert not page.evaluate(red) and not page.errors, page.errors
    with browser.Page(directory / "same.html", directory, 1200, 800) as page:
        changed = [row for row in page.evaluate(rows) if row[7] and float(row[7].split()[0].replace("\u2212", "-")) > 2]
        assert not changed and not page.errors, (changed, page.errors)


def test_what_takes_less_is_blue(tmp_path):
    """And red in the other direction: one of two programs waited more for a CPU. In user mode chance explains the difference."""
    golden = pathlib.Path(__file__).parents[1] / "golden"
    colours = "[...document.querySelectorAll('#graph div')].map(box => [box.textContent, box.style.background.match(/--(more|less|same)/)?.[1]])"
    shown = []
    for after, before in (("stacks", "short"), ("short", "stacks")):
        done = run("profile", "--from", golden / f"{after}.dwell", "--before", golden / f"{before}.dwell", "--state", "user,runnable",
                   "--format", "html", "-o", tmp_path / f"{after}.html")  # fmt: skip
        assert done.returncode == 0, done.stderr
        with browser.Page(tmp_path / f"{after}.html", tmp_path) as page:
            names = page.evaluate("data.states.map(state => state.name)")
            shown.append({name: colour for name, colour in page.evaluate(colours) if name in names})
            assert not page.errors, page.errors
    assert shown == [{"user": "same", "runnable": "less"}, {"user": "same", "runnable": "more"}]


def test_before_needs_a_page_and_stacks(tmp_path):
    golden = pathlib.Path(__file__).parents[1] / "golden"
    for arguments, word in (
        (["--before", golden / "stacks.dwell"], "--format html"),
        (["--before", golden / "mixed.dwell", "--format", "html"], "has no stacks"),
        (["--before", tmp_path / "none.dwell", "--format", "html"], "none.dwell"),
    ):
        done = run("profile", "--from", golden / "stacks.dwell", *arguments)
        assert done.returncode and word in done.stderr and not done.stdout, (arguments, done.stderr)

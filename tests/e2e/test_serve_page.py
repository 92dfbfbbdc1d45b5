# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `dwell serve` and of `dwell report --format html`, in a browser."""
import base64
import contextlib
import datetime
import hashlib
import itertools
import json
import math
import operator
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import browser
import pytest
import schemas
from conftest import BUILD, STATES, WORKLOAD, run
from services import loop_service
from serving import serving

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
DOCS = pathlib.Path(__file__).parents[2] / "docs"
TOKEN = "0123456789abcdef0123456789abcdef"
DATA = re.compile(r'<script type="application/json" id="data">([^<]*)</script>')
#: Of what is seen: the ratio of text to what lies behind it, WCAG 2.1 (https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio), where that is below 4.5.
CONTRAST = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) { const colour = parse(getComputedStyle(at).backgroundColor); if (colour.length === 3 || colour[3] === 1) return colour; }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || ['SCRIPT', 'NOSCRIPT', 'OPTION'].includes(element.tagName) || !element.getClientRects().length || element.closest(':disabled')) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    texts++;
    if (ratio < 4.5) found.push([ratio, element.tagName, element.className, walker.currentNode.textContent]);
  }
  return { texts, found };
})()"""
#: Controls without a name for a screen reader.
NAMELESS = """[...document.querySelectorAll('button, input, select, a, canvas, [tabindex]')].filter(one => one.getClientRects().length && !one.getAttribute('aria-hidden'))
  .filter(one => !(one.textContent.trim() || one.getAttribute('aria-label') || one.closest('label'))).map(one => one.outerHTML)"""

#: Instead of the server that a page came from, one that has measured for 20 minutes, in periods of 5 s, 1 min and 1 h; it goes on by 5 s for each `asked`.
LONG_MEASURED = """(() => {
  const lengths = [5, 60, 3600], since = Date.parse('2026-11-27T08:00:00Z'), until = () => since + 1200e3 + asked * 5e3;
  const periods = (seconds, from) => {
    const list = [];
    for (let start = since; start + seconds * 1e3 <= until(); start += seconds * 1e3)
      if (start + seconds * 1e3 > from) list.push({ start: new Date(start).toISOString(), duration_ns: seconds * 1e9, all: { threads: 1, states_ns: { user: 1e9 }, run_queue_waits: [] }, groups: [], blame: [] });
    return list;
  };
  window.asked = 0;
  server.ask = async path => {
    const parameters = new URLSearchParams(path.split('?')[1]);
    if (path !== '/api/status') return periods(Number(parameters.get('step')) || 5, Number(parameters.get('from')));
    asked++;
    return { host: 'made', since: new Date(since).toISOString(), until: new Date(until()).toISOString(), period_lengths_ns: lengths.map(length => length * 1e9), interval_ns: 3600e9, findings: [] };
  };
  clearTimeout(timer);
  get('step').length = 1;
  source = null;
  restart();
})()"""


def rows(page, table):
    return page.evaluate(f"[...document.querySelectorAll('#{table} tbody tr')].filter(row => row.children.length > 2).map(row => [...row.children].map(cell => cell.textContent))")


def text(page, name):
    return page.evaluate(f"document.getElementById('{name}').textContent")


def click(page, selector):
    page.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def drop(page, file, name=None):
    """As a user does it."""
    content = json.dumps(file.read_bytes().decode("latin-1") if file.suffix == ".dwell" else file.read_text())
    page.evaluate(f"""(() => {{ const transfer = new DataTransfer(); transfer.items.add(new File([{content}], {json.dumps(name or file.name)}));
      document.body.dispatchEvent(new DragEvent('drop', {{ bubbles: true, cancelable: true, dataTransfer: transfer }})); }})()""")


@contextlib.contextmanager
def working(program=WORKLOAD, *arguments):
    with subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(recording, its page)"""
    directory = tmp_path_factory.mktemp("page")
    hostile = directory / "<b>&\"'</script"[:15].replace("/", "|")
    shutil.copy("/bin/sh", hostile)
    with working(WORKLOAD, "mixed", "60"), working(hostile, "-c", "while :; do :; done"):
        done = run("record", "-d", "3s", "-i", "100ms", "-o", directory / "it.dwell")
        assert done.returncode == 0, done.stderr
    done = run("report", "--format", "html", directory / "it.dwell")
    assert done.returncode == 0, done.stderr
    (directory / "it.html").write_text(done.stdout)
    return directory / "it.dwell", directory / "it.html", hostile.name


def test_a_page_follows_what_happens(tmp_path):
    with serving("--by", "process", "-i", "1s") as server, working(WORKLOAD, "mixed", "60"):
        address = f"http://127.0.0.1:{server.port}/"
        with browser.Page(address, tmp_path) as page:
            page.until("source && source.periods.length > 1 && [...source.periods[1].groups.keys()].includes('workload')")
            page.until("[...document.querySelectorAll('#groups .name')].some(name => name.textContent === 'workload')")
            assert text(page, "live") == "live" and "exact states by bpf" in text(page, "facts")
            number = page.evaluate("source.periods.length")
            page.until(f"source.periods.length > {number + 1}")
            # in order, and none twice
            assert page.evaluate("source.periods.every((period, i, all) => !i || Math.abs(period.start - all[i - 1].end) < 1)")
            page.key(" ")
            assert text(page, "live") == "paused"
            number, intervals = page.evaluate("source.periods.length"), server.json("/api/status")["intervals"]
            while server.json("/api/status")["intervals"] < intervals + 3:
                pass
            assert page.evaluate("source.periods.length") == number
            page.key(" ")
            page.until(f"source.periods.length > {number}")
            link = page.evaluate("document.getElementById('profile-link').href")
            assert link.startswith(address) and "format=html" in link
            status, headers, body = server.ask(link[len(address) - 1 :].replace("seconds=10", "seconds=1"))
            assert status == 200 and headers["Content-Type"].startswith("text/html") and DATA.search(body.decode())
            assert not page.errors and all(request.startswith(address) for request in page.requests), (page.errors, page.requests)
            server.stop()
            page.until("!document.getElementById('error').hidden")
            assert "does not answer" in text(page, "error") and text(page, "live") == "no answer"
            assert rows(page, "groups"), "what was there stays"


def test_what_is_pressed_or_selected_stays(tmp_path):
    """While the page goes on."""
    name = "[...document.querySelectorAll('#groups .name')].find(name => name.textContent === 'workload')"
    with serving("--by", "process", "-i", "1s") as server, working(WORKLOAD, "mixed", "60"), \
            browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path, height=2000) as page:
        page.until(f"source && source.periods.length > 1 && Boolean({name})")

        def goes_on(periods=2):
            page.until(f"source.periods.length >= {page.evaluate('source.periods.length') + periods}")

        for _ in range(3):
            page.evaluate(f"void (held = {name})")
            x, y = page.evaluate("(({ left, top }) => [left + 4, top + 4])(held.getBoundingClientRect())")
            page.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1)
            pressed = page.evaluate("held.matches(':active')")
            if pressed:
                goes_on()
            page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)
            if pressed:
                break
        # else it was drawn again before it could be pressed
        assert pressed and page.evaluate("chosen") == "workload"
        page.key("Escape")
        page.evaluate(f"getSelection().selectAllChildren({name})")
        goes_on()
        assert page.evaluate("getSelection().toString()") == "workload"
        page.evaluate("getSelection().removeAllRanges()")
        page.evaluate(f"void (held = {name})")
        page.until("!held.isConnected")
        assert not page.errors, page.errors


def test_what_a_page_shows_at_first_it_shows_later(tmp_path):
    with serving("-i", "60s") as server, browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path) as page:
        # it asks again after an interval
        page.until("Boolean(source)")
        page.evaluate(LONG_MEASURED)
        for polls in 1, 2, 3:
            page.until(f"source && source.status.host === 'made' && Date.parse(source.status.until) === Date.parse(source.status.since) + 1200e3 + {polls} * 5e3")
            # ten minutes, to which a first or last period may add its own length
            assert 600e3 <= page.evaluate("source.periods[source.periods.length - 1].end - source.periods[0].start") < 660e3, polls
            assert page.evaluate("source.periods.every((period, i, all) => !i || period.start === all[i - 1].end)")
            page.evaluate("void poll()")
        assert not page.errors, page.errors


def test_findings_and_stalls_are_on_the_page(tmp_path):
    program = tmp_path / f"<i>loop{os.getpid()}"
    shutil.copy(pathlib.Path(BUILD) / "tests" / "loop-service", program)
    with serving("--by", "process", "-i", "1s", "--stalls", program.name) as server, working(WORKLOAD, "mixed", "60"), \
            browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path, height=1400) as page:
        page.until("source && source.stalls.length")
        assert "not running" in text(page, "stalls") and program.name in text(page, "stalls")
        with loop_service(program=program) as service:
            page.until("source.stalls[0].watched && !source.stalls[0].stuck")
            assert "no worker is stuck" in text(page, "stalls")
            service.ask("spin", 60)
            service.settle()
            page.until("source.stalls[0].rows.length")
            row = "[...document.querySelectorAll('#stalls tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
            page.until(f"{row}.some(row => row[0].endsWith(' ago') && row[3] === 'compute_report')")
            page.evaluate("[...document.querySelectorAll('#stalls .name')].find(name => name.textContent === 'compute_report').click()")
            page.until("document.querySelectorAll('#stalls .frames li').length > 1")
            service.file.write("sleep 5000\n")
            service.file.flush()
            page.until("source.stalls[0].stuck === 1", 60)
            service.process.send_signal(signal.SIGSTOP)
            page.until(f"{row}[0][0] === 'now'")
            assert "1 worker stuck now" in text(page, "stalls")
            page.until("document.querySelectorAll('#findings li').length", 60)
            shown = page.evaluate("[source.status.findings.map(finding => finding.text), [...document.querySelectorAll('#findings li')].map(one => one.textContent)]")
            assert shown[0] == shown[1] and 1 <= len(shown[0]) <= 3
            page.evaluate("pause()")
            assert not page.evaluate(NAMELESS)
            for width, name in (1200, "wide"), (390, "narrow"):
                page.ask("Emulation.setDeviceMetricsOverride", width=width, height=1400, deviceScaleFactor=1, mobile=width < 600)
                for theme in "dark", "light":
                    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'; readColours(); render()")
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
                    contrast = page.evaluate(CONTRAST)
                    assert contrast["texts"] > 50 and not contrast["found"], contrast
                    page.screenshot(tmp_path / f"{name}-{theme}.png")
            assert not page.errors, page.errors
        page.evaluate("pause()")
        page.until("!source.stalls[0].watched && !source.stalls[0].stuck && source.stalls[0].rows.length")
        assert not schemas.mistakes(server.json("/api/status"))
        for stall in server.json("/api/stalls")[0]["stalls"]:
            assert not schemas.mistakes(stall)


def test_a_page_asks_for_the_password(tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    with serving("--token-file", tmp_path / "token", "-i", "1s") as server:
        with browser.Page(f"http://user:{TOKEN}@127.0.0.1:{server.port}/", tmp_path) as page:
            page.until("source && source.periods.length")
            assert not page.errors, page.errors
        with browser.Page(f"http://user:wrong@127.0.0.1:{server.port}/", tmp_path) as page:
            assert page.evaluate("document.getElementById('page')") is None and server.ask("/")[0] == 401


def test_a_recording_is_a_page_with_all_of_it(recorded, tmp_path):
    recording, file, hostile = recorded
    data = json.loads(DATA.search(file.read_text())[1])
    whole = json.loads(run("report", "--format", "json", recording).stdout)
    for state in data["periods"][0]["all"]["states_ns"]:
        counted = sum(period["all"]["states_ns"].get(state, 0) for period in data["periods"])
        assert counted == sum(thread["states_ns"][state] or 0 for thread in whole["threads"]), state
        assert counted == sum(group["states_ns"].get(state, 0) for period in data["periods"] for group in period["groups"])
    assert sum(period["duration_ns"] for period in data["periods"]) == data["status"]["measured_ns"]
    assert 10 <= len(data["periods"]) <= 361
    with browser.Page(file, tmp_path) as page:
        assert page.evaluate("document.title") == "it.dwell · dwell"
        assert [row[0] for row in rows(page, "groups")].count("workload") == 1
        assert page.evaluate(f"source.periods.some(period => period.groups.has({json.dumps(hostile)}))")
        assert page.evaluate("document.querySelectorAll('#findings li').length") == len(data["findings"])
        assert page.evaluate("[...document.querySelectorAll('#span, #pause, #profile')].every(one => !one.getClientRects().length)")
        assert not page.errors and page.requests == [f"file://{file}"], (page.errors, page.requests)


def test_damage_is_on_the_page_and_in_json(recorded, tmp_path):
    data = recorded[0].read_bytes()
    middle = bytearray(data)
    middle[len(data) // 2] ^= 0xFF
    for content, words in (data, None), (data[:-100], "ends in the middle of a chunk"), (middle, "damaged"):
        (tmp_path / "it.dwell").write_bytes(content)
        made = {form: run("report", "--format", form, tmp_path / "it.dwell") for form in ("json", "html")}
        interval = json.loads(made["json"].stdout)
        assert not schemas.mistakes(interval)
        damage = interval["quality"]["damage"]
        assert damage is None if words is None else words in damage and damage in made["json"].stderr
        assert json.loads(DATA.search(made["html"].stdout)[1])["damage"] == damage
        for form in made:
            (tmp_path / f"it.{form}").write_text(made[form].stdout)
        with browser.Page(tmp_path / "it.html", tmp_path) as page:
            assert page.evaluate("document.getElementById('damage').hidden") == (words is None)
            assert damage is None or text(page, "damage").endswith(damage)
            # as a page shows other files
            drop(page, tmp_path / "it.json")
            page.until("source.name === 'it.json'")
            assert damage is None or text(page, "damage").endswith(damage)
            assert not page.errors, page.errors
        plain = made["html"].stdout.split("<noscript>")[1].split("</noscript>")[0]
        assert damage is None or damage in plain


def test_a_page_is_zoomed_sorted_and_filtered(recorded, tmp_path):
    _, file, _ = recorded
    length = "(view().to - view().from)"
    with browser.Page(file, tmp_path) as page:
        all_of_it = page.evaluate(length)
        box = page.evaluate("(({ left, width, top }) => [left, width, top])(document.getElementById('time').getBoundingClientRect())")
        page.drag(box[0] + box[1] * 0.25, box[0] + box[1] * 0.5, box[2] + 100)
        assert page.evaluate(length) == pytest.approx(all_of_it / 4, rel=0.02)
        assert page.evaluate("view().from - source.periods[0].start") == pytest.approx(all_of_it / 4, rel=0.02)
        page.key("Escape")
        assert page.evaluate(length) == all_of_it
        # by keys alone: five periods from the first
        page.evaluate("document.getElementById('time').focus()")
        page.key("Home")
        for _ in range(4):
            page.key("ArrowRight", shift=True)
        selected = page.evaluate("source.periods[4].end - source.periods[0].start")
        assert page.evaluate("source.periods[0].start") == page.evaluate("selection.from") and "runnable" in text(page, "readout")
        page.key("Enter")
        assert page.evaluate(length) == pytest.approx(selected)
        page.key("-")
        assert page.evaluate(length) == pytest.approx(2 * selected, rel=0.5) and page.evaluate(length) > selected
        click(page, "#whole")
        assert page.evaluate(length) == all_of_it
        # headings
        for key, column in ("threads", 3), ("active", 2):
            click(page, f"#groups button[data-key='column {key}']")
            values = [float(row[column].replace("<", "")) for row in rows(page, "groups")]
            assert page.evaluate("document.querySelector('#groups th[aria-sort=descending]').textContent").lower() == key
            assert values == sorted(values, reverse=True), key
        # only what is looked for, and back
        everything = len(rows(page, "groups"))
        page.key("/")
        for letter in "workload":
            page.key(letter)
        assert {row[0] for row in rows(page, "groups")} == {"workload"} and rows(page, "blame")
        assert all("workload" in (row[0], row[2]) for row in rows(page, "blame"))
        page.key("Escape")
        assert len(rows(page, "groups")) == everything
        # and the next key is one of the page
        page.key("a")
        assert page.evaluate("Boolean(windows.a)") and not page.evaluate("get('filter').value")
        page.key("x")
        # a group alone: who made it wait, and whom it made wait
        page.evaluate("[...document.querySelectorAll('#groups .name')].find(name => name.textContent === 'workload').click()")
        assert text(page, "group").startswith("only workload") and "workload" in text(page, "blame-title")
        # a period lists a group if it counted something
        period = "source.periods.find(period => period.groups.has('workload'))"
        assert page.evaluate(f"ofChosen({period}).states.user === {period}.groups.get('workload').states.user")
        assert rows(page, "blame") and all("workload" in (row[0], row[2]) for row in rows(page, "blame"))
        page.key("Escape")
        assert page.evaluate("document.getElementById('group').hidden")
        # a state less
        shares = page.evaluate("document.getElementById('areas').toDataURL()")
        click(page, "#states button[data-state=runnable]")
        assert page.evaluate("document.getElementById('areas').toDataURL()") != shares
        assert not page.errors, page.errors


#: where the keys go
FOCUSED = "document.activeElement"
#: what can be seen and used
USABLE = "[...document.querySelectorAll('button, select, input, a[href], [tabindex]')].filter(one => one.getClientRects().length && !one.disabled)"


def test_a_page_is_used_by_keys_alone(recorded, tmp_path):
    """Tab and Enter: all that can be used is reached, what has the keys is seen and keeps them when it is drawn again."""
    _, file, _ = recorded
    with browser.Page(file, tmp_path) as page:

        def tab_to(selector):
            for _ in range(page.evaluate(f"{USABLE}.length") + 1):
                if page.evaluate(f"{FOCUSED}.matches({json.dumps(selector)})"):
                    assert page.evaluate(f"getComputedStyle({FOCUSED}).outlineStyle") != "none", selector
                    return
                page.key("Tab")
            raise AssertionError(f"no way to {selector}")

        def enter(selector):
            tab_to(selector)
            page.key("Enter")
            assert page.evaluate(f"{FOCUSED}.matches({json.dumps(selector)})"), f"{selector} has lost the keys"

        dark = page.evaluate("isDark()")
        enter("#theme")
        assert page.evaluate("isDark()") != dark
        shares = page.evaluate("document.getElementById('areas').toDataURL()")
        enter("#states button[data-state=runnable]")
        assert page.evaluate("document.getElementById('areas').toDataURL()") != shares
        for direction in "descending", "ascending":
            enter("#groups button[data-key='column threads']")
            assert page.evaluate(f"{FOCUSED}.closest('th').getAttribute('aria-sort')") == direction
            values = [float(row[3]) for row in rows(page, "groups")]
            assert values == sorted(values, reverse=direction == "descending")
        enter("#groups button[data-key='column active']")
        enter("#groups .name[title=workload]")
        assert page.evaluate("chosen") == "workload" and text(page, "group").startswith("only workload")
        page.key("Escape")
        assert page.evaluate("chosen") is None
        # all around
        page.evaluate(f"{USABLE}.forEach(one => one.dataset.reached = '')")
        for _ in range(page.evaluate(f"{USABLE}.length") + 2):
            page.key("Tab")
            page.evaluate(f"{FOCUSED}.dataset.reached = 'yes'")
        missed = page.evaluate(f"{USABLE}.filter(one => !one.dataset.reached).map(one => one.outerHTML)")
        assert not missed and not page.errors, (missed, page.errors)


def policy_of(page):
    """{directive: its sources} of the text of a page."""
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    return {name: sources for name, *sources in map(str.split, policy.split(";"))}


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_runs_nothing_but_its_own_and_asks_nothing_else(recorded, tmp_path):
    """As its policy says: not what has found a way into it."""
    _, file, _ = recorded
    with serving("--by", "process", "-i", "1s") as server, socket.create_server(("127.0.0.1", 0)) as foreign:
        address = f"http://127.0.0.1:{server.port}/"
        for whole in server.ask("/")[2].decode(), file.read_text():
            (script,), (style,) = (re.findall(f"<{name}>(.*?)</{name}>", whole, re.S) for name in ("script", "style"))
            assert policy_of(whole) == {"default-src": ["'none'"], "script-src": [hash_of(script)], "style-src": [hash_of(style)], "connect-src": ["'self'"],
                                        "img-src": ["data:"], "base-uri": ["'none'"], "form-action": ["'none'"]}
        elsewhere = json.dumps(f"http://127.0.0.1:{foreign.getsockname()[1]}/")
        for number, opened in enumerate((address, file)):
            with browser.Page(opened, tmp_path / str(number)) as page:
                page.until("source && source.periods.length")
                page.evaluate(f"""(() => {{
                  refused = new Set();
                  addEventListener('securitypolicyviolation', event => refused.add(event.effectiveDirective));
                  const add = (name, members) => document.body.append(Object.assign(document.createElement(name), members));
                  add('script', {{ textContent: 'injected = 1' }});
                  add('script', {{ src: {elsewhere} }});
                  add('style', {{ textContent: 'body {{ display: none }}' }});
                  add('iframe', {{ src: {elsewhere} }});
                  add('div', {{ innerHTML: '<img src="data:," onerror="injected = 1">' }});
                  new Image().src = {elsewhere};
                  fetch({elsewhere}, {{ mode: 'no-cors' }}).then(() => fetched = 'yes', () => fetched = 'no');
                }})()""")
                page.until("typeof fetched !== 'undefined'")
                page.until("['script-src-elem', 'script-src-attr', 'style-src-elem', 'frame-src', 'img-src', 'connect-src'].every(one => refused.has(one))")
                assert page.evaluate("fetched") == "no" and page.evaluate("typeof injected") == "undefined"
                assert page.evaluate("getComputedStyle(document.body).display") != "none"
        foreign.setblocking(False)
        # a browser connects before it knows whether it will ask
        with contextlib.suppress(BlockingIOError):
            while True:
                with foreign.accept()[0] as client:
                    client.settimeout(60)
                    assert client.recv(1000) == b""


def made_periods(count):
    """Twenty periods with one thread of web that waits for locks, then twenty with three; db does the same throughout."""
    periods = []
    for i in range(count):
        lock = (1 if i < count / 2 else 3) * 10**9 + (i % 3) * 10**7
        noise = 5 * 10**8 + (i * 7919 % 11) * 10**7
        web, db = {"lock": lock, "user": 10**8}, {"user": noise}
        start = datetime.datetime(2026, 11, 27, 8, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=i)
        periods.append({
            "type": "serve_period", "version": 1, "start": start.strftime("%Y-%m-%dT%H:%M:%S.000000000Z"), "duration_ns": 10**9,
            "all": {"group": None, "threads": 7, "states_ns": {"lock": lock, "user": 10**8 + noise}, "run_queue_waits": [0] * 12 + [5, 1]},
            "groups": [{"group": "web", "threads": 5, "states_ns": web, "run_queue_waits": []}, {"group": "db", "threads": 2, "states_ns": db, "run_queue_waits": []}],
            "blame": [{"victim": "web", "state": "lock", "kind": "thread", "culprit": "db", "total_ns": lock}],
        })  # fmt: skip
    return periods


def test_two_windows_are_compared(recorded, tmp_path):
    (tmp_path / "made.json").write_text(json.dumps(made_periods(40)))
    with browser.Page(recorded[1], tmp_path) as page:
        drop(page, tmp_path / "made.json")
        page.until("source.name === 'made.json'")
        assert page.evaluate("document.getElementById('comparison').hidden")
        page.evaluate("document.getElementById('time').focus()")
        for key, start, end in ("a", "Home", 19), ("b", "End", -19):
            page.key(start)
            for _ in range(abs(end)):
                page.key("ArrowRight" if end > 0 else "ArrowLeft", shift=True)
            page.key(key)
        assert page.evaluate("[inside(source.periods, windows.a).length, inside(source.periods, windows.b).length]") == [20, 20]
        changes = {tuple(row[:3]): row[3:] for row in rows(page, "changes")}
        assert changes["web", "lock", ""][2:] == ["+2.00", "▲ more"], changes
        assert changes["web", "lock", "db"][2:] == ["+2 s/s", "▲ more"], changes
        assert changes["db", "user", ""][3] == "may be chance", changes
        assert ("web", "user", "") not in changes, "it did not change at all"
        page.key("x")
        assert page.evaluate("document.getElementById('comparison').hidden")
        assert not page.errors, page.errors


def test_what_is_in_all_others_is_no_zero(recorded, tmp_path):
    """A group that is not among the largest of a period did something then: no one knows how much."""
    periods = made_periods(40)
    for i, period in enumerate(periods):
        others = {"group": None, "threads": 3, "states_ns": {"user": 1_500_000_000, "lock": 200_000_000}, "run_queue_waits": []}
        period["groups"] = [group for group in period["groups"] if i >= 20 or group["group"] == "web"] + [others]
    (tmp_path / "made.json").write_text(json.dumps(periods))
    with browser.Page(recorded[1], tmp_path) as page:
        drop(page, tmp_path / "made.json")
        page.until("source.name === 'made.json'")
        page.evaluate("windows.a = { from: source.periods[0].start, to: source.periods[19].end }, windows.b = { from: source.periods[20].start, to: source.periods[39].end }, render()")
        changes = {tuple(row[:3]): row[3:] for row in rows(page, "changes")}
        assert changes["web", "lock", ""][2:] == ["+2.00", "▲ more"], changes
        a, b, _, verdict = changes["db", "user", ""]
        assert a == "≥ 0" and not b.startswith("≥") and verdict == "partly in all others", changes
        groups = {row[0]: row for row in rows(page, "groups")}
        assert groups["db"][2].startswith("≥ ") and not groups["web"][2].startswith("≥"), groups
        page.evaluate("choose('db')")
        page.evaluate("cursor = source.periods[3].start + 1, render()")
        assert "db is one of all others" in text(page, "readout")
        # on average over the periods that list it
        share = page.evaluate("sum(inside(source.periods, windows.b)).groups.get('db').states.user / sum(inside(source.periods, windows.b)).ns")
        assert f"user {share:.2f}" in text(page, "states"), text(page, "states")
        page.screenshot(tmp_path / "others.png")
        assert not page.errors, page.errors


@pytest.mark.parametrize("has_others", [True, False])
def test_a_culprit_that_is_not_known_is_no_group(recorded, tmp_path, has_others):
    """Those that a period does not list may be among all others, if it has such."""
    periods = made_periods(3)
    for period in periods:
        period["blame"] += [{**period["blame"][0], "culprit": culprit} for culprit in ("unknown", "small")]
        if has_others:
            period["groups"].append({"group": None, "threads": 3, "states_ns": {"user": 10**9}, "run_queue_waits": []})
    (tmp_path / "made.json").write_text(json.dumps(periods))
    with browser.Page(recorded[1], tmp_path) as page:
        drop(page, tmp_path / "made.json")
        page.until("source.name === 'made.json'")
        linked = page.evaluate("[...document.querySelectorAll('#blame tbody tr')].map(row => [row.children[2].textContent, Boolean(row.children[2].querySelector('button'))])")
        assert dict(linked) == {"db": True, "unknown": False, "small": has_others}
        assert not page.errors, page.errors


def test_files_are_opened_or_refused(recorded, tmp_path):
    recording, file, _ = recorded
    with working(WORKLOAD, "mixed", "60"):
        done = run("top", "--blame", "-c", "3", "-i", "300ms", "--format", "json")
    (tmp_path / "top.json").write_text(done.stdout)
    (tmp_path / "report.json").write_text(run("report", "--format", "json", recording).stdout)
    (tmp_path / "other.txt").write_text("nothing of ours")
    (tmp_path / "other.html").write_text("<html><body>nothing of ours")
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "short.json").write_text('[{"type":"serve_period","start":"x","duration_ns":1}]')
    with serving("-i", "1s") as server, browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path) as page:
        page.until("source && source.periods.length")
        for name, words in (("other.txt", "neither JSON"), ("other.html", "not a page of dwell"), ("empty.json", "no intervals"), ("short.json", "no beginning")):
            drop(page, tmp_path / name)
            page.until(f"document.getElementById('error').textContent.includes({json.dumps(words)})")
            assert page.evaluate("!isFile"), "the machine stays"
        drop(page, recording)
        page.until("document.getElementById('error').textContent.includes('dwell report --format html')")
        for opened, name, by, number in (tmp_path / "top.json", "top.json", "process", 3), (tmp_path / "report.json", "report.json", "process", 1), (file, "it.dwell", "process", None):
            drop(page, opened)
            page.until(f"source.name === {json.dumps(name)}")
            assert page.evaluate("isFile") and page.evaluate("document.getElementById('error').hidden")
            assert page.evaluate("source.status.by") == by and (number is None or page.evaluate("source.periods.length") == number)
            assert "workload" in [row[0] for row in rows(page, "groups")] and rows(page, "blame")
        assert "not measured by length" not in text(page, "heat-title")
        click(page, "#back")
        page.until("!isFile && source && source.periods.length")
        assert not page.errors, page.errors


@pytest.mark.parametrize("width", [390, 1920])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_and_is_legible(recorded, tmp_path, width, dark):
    with browser.Page(recorded[1], tmp_path, width, 1000, dark) as page:
        for background in ("rgb(21, 24, 28)", "rgb(255, 255, 255)") if dark else ("rgb(255, 255, 255)", "rgb(21, 24, 28)"):
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
            page.key("a")
            page.key("b")
            click(page, "#keys")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # what each row comes to is in view, without scrolling the table
            assert page.evaluate("['active', 'ns'].every(key => document.querySelector(`th [data-key='column ${key}']`).getBoundingClientRect().right <= innerWidth)")
            contrast = page.evaluate(CONTRAST)
            assert contrast["texts"] > 50 and not contrast["found"], contrast
            assert not page.evaluate(NAMELESS)
            click(page, "#theme")
        page.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 20000 and not page.errors, page.errors


@pytest.mark.parametrize("width", [1400, 1720, 1920])
def test_a_table_has_the_room_that_there_is(tmp_path, width):
    """Each column in sight without scrolling, also where most states have time; what has to be scrolled says so."""
    file = tmp_path / "blame.html"
    file.write_text(run("report", "--format", "html", GOLDEN / "blame.dwell").stdout)
    with browser.Page(file, tmp_path, width, 1000) as page:
        assert page.evaluate("['groups', 'blame'].filter(id => { const box = document.getElementById(id).parentElement; return box.scrollWidth > box.clientWidth; })") == []
        for id in ("groups", "blame"):
            assert "linear-gradient" in page.evaluate(f"getComputedStyle(document.getElementById('{id}').parentElement).backgroundImage")


def test_states_have_colours_of_their_own():
    """Those of the pages, as test-palette has it for the terminal's: CIE76, and contrast with what is written on them.

    Also for whom cones of one kind are missing: they have no other sign. The matrices are of Machado, Oliveira and Fernandes, 2009.
    """
    style = (DOCS.parent / "src" / "view" / "page" / "states.css").read_text()
    colours = {state: [int(code[i:i + 2], 16) / 255 for i in (0, 2, 4)] for state, code in re.findall(r"--(\w+): #([0-9a-f]{6})", style)}

    def linear(colour):
        return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]

    def luminance(colour):
        return sum(factor * part for factor, part in zip((0.2126, 0.7152, 0.0722), linear(colour)))

    def lab(red, green, blue):
        x, y, z = ((part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116) for part in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047, 0.2126 * red + 0.7152 * green + 0.0722 * blue, (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883))  # fmt: skip
        return 116 * y - 16, 500 * (x - y), 200 * (y - z)

    def seen(colour, eyes):
        return lab(*(min(1, max(0, sum(map(operator.mul, row, linear(colour))))) for row in eyes))

    usual = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    protanopia = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
    deuteranopia = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    tritanopia = ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))
    assert len(colours) == len(STATES)
    for eyes, least in (usual, 18), (protanopia, 10), (deuteranopia, 10), (tritanopia, 8):
        for one, other in itertools.combinations(colours, 2):
            if {one, other} != {"sleep", "idle"}:  # neither did anything, and each has its place
                assert math.dist(seen(colours[one], eyes), seen(colours[other], eyes)) > least, (one, other, eyes)
    ink = luminance([0x14 / 255, 0x17 / 255, 0x1a / 255])
    assert all((luminance(colour) + 0.05) / (ink + 0.05) > 4.5 for colour in colours.values())


def test_the_picture_in_the_documentation_is_of_this_page(tmp_path):
    """Pixels depend on fonts and the browser, so that only what is on it, and its size, are compared; `make golden-update` takes it again."""
    made = run("report", "--format", "html", GOLDEN / "blame.dwell")
    (tmp_path / "blame.html").write_text(made.stdout)
    taken, shown, words = tmp_path / "serve.png", DOCS / "screens" / "serve.png", DOCS / "screens" / "serve.txt"
    with browser.Page(tmp_path / "blame.html", tmp_path, 1200, 1250, True) as page:
        page.ask("Emulation.setTimezoneOverride", timezoneId="UTC")
        page.evaluate("render()")
        page.screenshot(taken)
        on_it = re.sub(r"dwell \d+\.\d+\.\d+", "dwell VERSION", page.evaluate("document.getElementById('page').innerText")) + "\n"
        assert not page.errors
    if os.environ.get("GOLDEN_UPDATE"):
        shutil.copy(taken, shown)
        words.write_text(on_it)
    assert on_it == words.read_text()
    assert shown.read_bytes()[:24] == taken.read_bytes()[:24], "a PNG of another size"
    assert "screens/serve.png" in (DOCS / "fleet.md").read_text()


def test_without_javascript_there_is_a_table(recorded, tmp_path):
    _, file, hostile = recorded
    with browser.Page(file, tmp_path, script=False) as page:
        table = page.evaluate("[...document.querySelectorAll('noscript table tr')].map(row => [...row.children].map(cell => cell.textContent))")
        assert table[0][:2] == ["Program", "Threads"] and "workload" in [row[0] for row in table] and len({len(row) for row in table}) == 1
        assert page.evaluate("document.querySelector('noscript table').getClientRects().length") and page.evaluate("document.getElementById('page').hidden")
    with serving() as server, browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path, script=False) as page:
        assert page.evaluate("document.querySelector('noscript a').getAttribute('href')") == "/metrics"


@pytest.mark.parametrize("arguments, words", [
    (["--format", "html", "--top", "3"], "cannot be combined"),
    (["--format", "html", "--by", "cgroup"], "cannot be combined"),
    (["--by", "cgroup", "--sort", "pid"], "no field 'pid' to sort by"),
    (["--by", "unit"], "thread, process or cgroup"),
    (["--format", "html", "--sort", "user"], "cannot be combined"),
    (["--format", "html", "--format", "csv"], None),
    (["--format", "htm"], "html"),
])
def test_formats_that_exclude_each_other(arguments, words):
    done = run("report", *arguments, GOLDEN / "mixed.dwell")
    assert (done.returncode == 2 and words in done.stderr) if words else done.returncode == 0, done.stderr


def seconds(duration):
    """Of a length of time as tables have it, which is cut, not rounded."""
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "": 0}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)([a-z]*)", duration))


def test_without_javascript_the_live_page_has_what_metrics_says(tmp_path):
    """Counters only grow: what the table has of each group lies between two scrapes."""
    with serving("-i", "1h", "--by", "process", "--groups", "900") as server, working(WORKLOAD, "mixed", "60"):
        def scraped():
            return {(key[2], key[4]): value for key, value in server.metrics().items() if key[0] == "dwell_group_thread_seconds_total"}

        while (before := scraped()).get(("workload", "user"), 0) < 0.5:
            pass
        with browser.Page(f"http://127.0.0.1:{server.port}/", tmp_path, script=False) as page:
            caption = page.evaluate("document.querySelector('noscript caption').textContent")
            head, *table = page.evaluate("[...document.querySelectorAll('noscript table tr')].map(row => [...row.children].map(cell => cell.textContent))")
        after = scraped()
        since = server.json("/api/status")["since"]
    assert since in caption
    assert head[:2] == ["Group", "Threads"] and 1 < len(table) <= 50 and {len(row) for row in table} == {len(head)}
    groups = {row[0]: dict(zip(head[2:], row[2:])) for row in table}
    assert len(groups) == len(table) and seconds(groups["workload"]["user"]) >= 0.49
    for group, states in groups.items():
        for state, shown in states.items():
            least, most = before.get((group, state), 0), after[group, state]
            # two digits and more
            assert seconds(shown) <= most + 1e-9 and seconds(shown) >= least * (0.99 if least >= 0.1 else 0), (group, state, shown, least, most)
        assert not any(before.get((group, state), 0) for state in {key[1] for key in before} - states.keys()), group
    # the most active first, as far as what is cut says
    active = [sum(seconds(states.get(state, "0")) for state in ("user", "kernel", "runnable", "disk", "lock", "swap", "stolen", "irq", "unknown"))
              for states in groups.values()]
    assert all(earlier * 1.1 + 1e-3 >= later for earlier, later in zip(active, active[1:])) and active[0] > active[-1]

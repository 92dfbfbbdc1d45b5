# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages in a headless Chromium, by its debugging protocol over a pipe."""
import base64
import json
import os
import shutil
import subprocess
import time

import pytest


class Page:
    """A file, or an address, in a browser: evaluate() and screenshot(); `requests` has what the page asked for, `errors` what went wrong."""

    def __init__(self, file, directory, width=1200, height=900, dark=False, headers=None, script=True):
        if not shutil.which("chromium"):
            pytest.skip("chromium is not installed")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # the browser reads from 3 and writes to 4
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}', "bash", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={directory}/browser", "--no-first-run", "--disable-background-networking", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.file, self.buffer, self.number = file, b"", 0
        self.requests, self.errors = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Network.setExtraHTTPHeaders", headers=headers or {})
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.ask("Page.navigate", url=str(file) if "://" in str(file) else f"file://{file}")
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read, 1 << 16)
            assert part, "the browser has ended"
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if method == "Runtime.exceptionThrown" or (method == "Log.entryAdded" and parameters["entry"]["level"] == "error"):
            self.errors.append(parameters)
        return message

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            question["sessionId"] = self.session
        os.write(self.write, json.dumps(question).encode() + b"\0")
        while (message := self.message()).get("id") != self.number:
            pass
        assert "error" not in message, message
        return message["result"]

    def evaluate(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression, seconds=60):
        """Its value, as soon as that is true."""
        end = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.05)
        return value

    def key(self, key, shift=False):
        """What the browser itself does for it, too, as for Tab, and Enter on a button."""
        code, says = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " ")}.get(key, (0, key if len(key) == 1 else ""))
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 * shift, text=says if kind == "keyDown" else "", windowsVirtualKeyCode=code)

    def drag(self, start, end, y):
        """With the left button, from one x to another."""
        for kind, x in (("mouseMoved", start), ("mousePressed", start), ("mouseMoved", (start + end) / 2), ("mouseMoved", end), ("mouseReleased", end)):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" and x == start else "left", buttons=int(kind != "mouseReleased"), clickCount=1)

    def screenshot(self, file):
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

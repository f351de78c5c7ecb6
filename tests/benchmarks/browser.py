"""A headless Chromium over its debugging pipe (Chrome DevTools Protocol), with Python's standard library alone."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile


def find():
    """The program, or nothing. BOXSUM_CHROMIUM names another one."""
    for name in (os.environ.get("BOXSUM_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One page. `messages` collects what the page said on its console, its errors, and what it asked the network for."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def pipes():  # the protocol reads from descriptor 3 and writes to 4
            keep_read, keep_write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(keep_read, 3)
            os.dup2(keep_write, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", f"--user-data-dir={self.folder.name}",
             "--remote-debugging-pipe"],
            preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.session, self.pending, self.messages, self.loaded = 0, None, b"", [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(20)
        os.close(self.output)
        os.close(self.input)
        self.folder.cleanup()

    def read(self):
        while b"\0" not in self.pending:
            part = os.read(self.input, 1 << 16)
            if not part:
                raise EOFError("the browser ended")
            self.pending += part
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(("console", json.dumps(values["args"])))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(("exception", json.dumps(values["exceptionDetails"])))
        elif method == "Log.entryAdded":
            self.messages.append((values["entry"]["level"], values["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.messages.append(("request", values["request"]["url"]))

    def call(self, method, **values):
        self.number += 1
        request = {"id": self.number, "method": method, "params": values}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.output, json.dumps(request).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") != self.number:
                self.note(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def open(self, path, scheme="light", width=1200):
        """Loads a file as a reader would whose system prefers this colour scheme."""
        self.messages.clear()
        self.loaded = False
        self.call("Emulation.setEmulatedMedia", media="screen",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.loaded:
            self.note(self.read())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def screenshot(self, path, whole=True):
        clip = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                         **({"clip": {**clip, "scale": 1}} if whole else {}))
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

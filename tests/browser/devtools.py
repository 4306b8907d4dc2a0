"""A browser to drive: Chromium, headless, over the DevTools protocol, with nothing but the standard library.

Invariant: every wait ends, by what is waited for or by an error that says what was not there in time.
Absent on purpose: a WebSocket library (the few lines of RFC 6455 that the protocol needs are here); retries of what failed; sleeps.
"""

import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# How often a condition in the page is looked at again, in seconds.
LOOK = 0.05


class TooLate(Exception):
    """Something did not happen in time."""


def installed():
    """The browser's program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Socket:
    """The client's side of one WebSocket: whole text messages, masked as a client must."""

    def __init__(self, url, timeout):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.rsplit(":", 1)
        self.stream = socket.create_connection((name, int(port)), timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.kept = b""
        while b"\r\n\r\n" not in self.kept:
            self.kept += self.some()
        head, self.kept = self.kept.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"the browser refused a connection: {head[:200]!r}")

    def some(self):
        received = self.stream.recv(65536)
        if not received:
            raise ConnectionError("the browser closed the connection")
        return received

    def take(self, count):
        while len(self.kept) < count:
            self.kept += self.some()
        taken, self.kept = self.kept[:count], self.kept[count:]
        return taken

    def send(self, text):
        self.frame(0x1, text.encode())

    def frame(self, kind, payload):
        length = len(payload)
        head = bytes([0x80 | kind])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", length)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", length)
        mask = os.urandom(4)
        pattern = mask * (length // 4 + 1)
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(pattern[:length], "big")
        self.stream.sendall(head + mask + masked.to_bytes(length, "big"))

    def receive(self):
        """The next message, put together of its frames."""
        message = b""
        while True:
            first, second = self.take(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.take(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.take(8))
            payload, kind = self.take(length), first & 0x0F
            if kind == 0x8:
                raise ConnectionError("the browser closed the connection")
            if kind == 0x9:
                self.frame(0xA, payload)
            elif kind in (0x0, 0x1):
                message += payload
                if first & 0x80:
                    return message.decode()

    def close(self):
        self.stream.close()


class Browser:
    """A Chromium with a profile of its own in `folder`."""

    def __init__(self, program, folder, timeout):
        self.timeout = timeout
        profile = os.path.join(folder, "profile")
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--force-color-profile=srgb",
            "--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=1280,800", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        told = os.path.join(profile, "DevToolsActivePort")
        until(lambda: os.path.exists(told) and open(told).read().count("\n") >= 1, timeout, "the browser to start")
        self.port = int(open(told).readline())

    def tab(self, url):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=self.timeout) as answer:
            about = json.load(answer)
        return Tab(about["webSocketDebuggerUrl"], url, self.timeout)


    def end(self):
        """With its renderers, which are a process group."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Tab:
    """One page. `problems` are exceptions and errors that its console showed."""

    def __init__(self, address, url, timeout):
        self.socket, self.timeout, self.asked, self.problems = Socket(address, timeout), timeout, 0, []
        for domain in ("Page", "Runtime", "Log"):
            self.command(f"{domain}.enable")
        self.size(1280, 800)
        self.go(url)

    def command(self, method, **parameters):
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            self.note(message)
            if message.get("id") == self.asked:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(f"{about['entry']['text']} {about['entry'].get('url', '')}".strip())

    def go(self, url):
        self.command("Page.navigate", url=url)

    def ask(self, expression):
        """The value of an expression in the page; of a promise, what it resolves to."""
        result = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, what, timeout=None):
        """Until an expression in the page is true; gives its value."""
        return until(lambda: self.ask(expression), timeout or self.timeout, what)

    def click(self, selector):
        chosen = json.dumps(selector)
        self.wait(f"!!document.querySelector({chosen})?.checkVisibility()", f"something to click at {selector}")
        self.ask(f"document.querySelector({chosen}).click()")

    def write(self, text):
        """Into the message box, and sends it, as a person does."""
        self.wait("document.getElementById('composer')?.checkVisibility()", "the message box")
        self.ask("document.getElementById('text').focus()")
        self.command("Input.insertText", text=text)
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        self.command("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
        self.command("Input.dispatchKeyEvent", type="keyUp", **enter)
        self.wait("document.getElementById('text').value === ''", f"`{text}` to be taken")

    def size(self, width, height, mobile=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def dark(self, on):
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path):
        taken = base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as file:
            file.write(taken)

    def close(self):
        self.command("Page.close")
        self.socket.close()


def until(condition, timeout, what):
    """Waits for a condition; gives its value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TooLate(f"waited {timeout:.0f} s for {what}")
        time.sleep(LOOK)

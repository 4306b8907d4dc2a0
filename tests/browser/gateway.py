"""The real binary on a loopback port, with a data folder of its own; it can be killed and started again on the same ones.

Invariant: what was started here is ended here, supervisors and programs included: they carry the data folder in their arguments or environment.
"""

import os
import queue
import signal
import socket
import subprocess
import threading

from devtools import TooLate


class Gateway:
    def __init__(self, program, folder, timeout):
        self.program, self.timeout = program, timeout
        self.data, self.workspace = os.path.join(folder, "data"), os.path.join(folder, "workspace")
        os.makedirs(self.workspace)
        self.log = os.path.join(folder, "gateway.log")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.process = None

    def url(self, key=""):
        return f"http://{self.address}/" + (f"#{key}" if key else "")

    def start(self):
        """Gives the login link that it prints."""
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--data", self.data, "--listen", self.address],
                cwd=self.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        links = queue.Queue()

        def read(output):
            for line in output:
                links.put(line)
            links.put(None)

        threading.Thread(target=read, args=(self.process.stdout,), daemon=True).start()
        while True:
            try:
                line = links.get(timeout=self.timeout)
            except queue.Empty:
                raise TooLate(f"waited {self.timeout:.0f} s for the gateway to start") from None
            if line is None:
                raise RuntimeError(f"the gateway ended before it served: {self.words()}")
            if "/login?token=" in line:
                return line.split()[-1]

    def kill(self):
        """As the kernel does when memory runs out: nothing is written, nothing is said."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        for pid in self.left_behind():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def left_behind(self):
        """Processes that this gateway started and that outlived it, which is what they are for."""
        mark = self.data.encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as line, open(f"/proc/{name}/environ", "rb") as environment:
                    ours = mark in line.read() or mark in environment.read()
            except OSError:
                continue
            if ours and int(name) != os.getpid():
                yield int(name)

    def words(self):
        with open(self.log) as log:
            return log.read()[-2000:].strip() or "it said nothing"

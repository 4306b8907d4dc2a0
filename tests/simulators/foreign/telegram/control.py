"""The simulated Bot API as a program, for the judge in Python."""

import json
import subprocess
import urllib.request


class World:
    """Starts the program; leaving ends it."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--until-eof"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = json.loads(self.process.stdout.readline())["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def tell(self, verb, **body):
        """One verb of the control API."""
        request = urllib.request.Request(
            f"{self.url}/_control/{verb}",
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=70) as response:
                return json.load(response)["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{verb}: {error.read().decode()}") from error

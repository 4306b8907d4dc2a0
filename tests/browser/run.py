#!/usr/bin/env python3
"""The console in a real browser against the real binary: the two-minute demo, live output, a kill in between.

    tests/browser/run.py [target/release/homing] [--require] [--limit SECONDS] [--screenshot FILE]

Prints a line for each check and `N passed, N failed`; exits 1 if one failed, 2 if asked for wrongly. Without Chromium nothing is checked and
it exits 0, unless `--require`. With `--screenshot` it checks nothing: it makes the picture for the README (1280x800).

Invariant: everything happens on loopback in a temporary folder, ends within the limit, and leaves no process behind.
Absent on purpose: looking inside the gateway. What is checked is what a person sees.
"""

import argparse
import os
import signal
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True

import devtools  # noqa: E402 (the line above has to come first)
import picture  # noqa: E402
from gateway import Gateway  # noqa: E402

# Of one step, in seconds. The machine may be busy; the limit over all is what bounds a run.
STEP = 20
SKIPPED = "skipped: chromium is not installed (apt-get install chromium)"

STARTED = "[...document.querySelectorAll('#messages .agent:not(.background)')].at(-1)?.textContent.includes('Started prc_')"
TAIL = "(document.querySelector('#messages .tail:not([hidden]) pre')?.textContent ?? '')"
# The newest line is in the list's view, and the box around the output is not lower than the output.
SEEN_WHOLE = """(() => {
    const [list, box, text] = ['', ' .tail:not([hidden])', ' .tail:not([hidden]) pre'].map((part) => document.querySelector('#messages' + part).getBoundingClientRect());
    return box.height >= text.height && text.height > 20 && text.bottom <= list.bottom;
})()"""
# Tells, ever after, whether a tail was shown at any moment.
OBSERVE = """new MutationObserver(() => { window.sawTail ||= !!document.querySelector('#messages .tail:not([hidden])'); })
    .observe(document.getElementById('messages'), { childList: true, subtree: true, attributes: true })"""
# Progress that overwrites itself, with the marks of a terminal.
STEPS = r"for n in 1 2 3 4 5 6; do echo step $n; printf '1%%\r\033[32mhalf way\033[0m'; sleep 0.5; printf '\rfine\n'; done"


def came_home(text):
    """How many results of background work show this output."""
    return f"[...document.querySelectorAll('#messages .background pre')].filter((output) => output.textContent.includes('{text}')).length"


def seen(selector):
    return f"(document.querySelector('{selector}')?.textContent ?? '')"


LIVE = f"{seen('#connection')} === 'live'"


class Demo:
    """One run, step after step; each check goes on where the one before ended."""

    def __init__(self, browser, gateway):
        self.browser, self.gateway = browser, gateway
        self.first = self.second = self.beside = None
        self.tabs = []

    def tab(self, url):
        self.tabs.append(self.browser.tab(url))
        return self.tabs[-1]

    def the_printed_link_opens_the_console(self):
        self.first = self.tab(self.gateway.start())
        self.first.wait("document.getElementById('welcome')?.checkVisibility()", "the welcome page")
        # The page is there before its script is.
        self.first.wait(LIVE, "the page to be connected")

    def two_threads_are_open_in_two_tabs(self):
        self.first.click("#first-conversation")
        self.second = self.tab(self.gateway.url())
        self.second.wait(LIVE, "the page to be connected")
        self.second.click("#new-conversation")
        for tab in (self.first, self.second):
            tab.wait("location.hash.length > 1 && document.getElementById('composer').checkVisibility()", "an open thread")
        assert self.first.ask("location.hash") != self.second.ask("location.hash"), "both tabs show the same thread"

    def one_result_comes_home_and_the_other_is_dropped(self):
        for tab in (self.first, self.second):
            tab.write("!bg sleep 2; echo done")
        for tab in (self.first, self.second):
            tab.wait(STARTED, "the answer that it was started")
        self.second.write("/new")
        self.second.wait("!!document.querySelector('#messages .reply')", "the answer to /new")
        self.first.wait(came_home("done"), "the result in its thread")
        self.second.wait(f"{seen('#notifications .about')}.includes('dropped')", "the other result to be dropped")
        assert self.second.ask(came_home("done")) == 0, "a result was told in a session that it does not belong to"

    def a_click_on_it_says_why(self):
        self.second.click("#notifications button")
        self.second.wait(f"{seen('#detail-body')}.includes('was reset with /new')", "the reason in words")
        decided = self.second.ask(seen("#detail-body .decisions"))
        assert "dropped: session_reset" in decided, f"the decision is not shown: {decided}"
        self.second.click("#detail-close")

    def live_output_is_in_the_tab_that_started_it_and_in_no_other(self):
        self.beside = self.tab(self.gateway.url(self.first.ask("location.hash.slice(1)")))
        self.beside.wait(came_home("done"), "the same thread in another tab")
        self.beside.ask(OBSERVE)
        # So low that the list has more to show than there is room for.
        self.first.size(1280, 480)
        self.first.write(f"!bg {STEPS}")
        self.first.wait(f"{TAIL}.includes('half way')", "live output")
        shown = self.first.ask(TAIL)
        assert "1%" not in shown and "\x1b" not in shown, f"it is not what a terminal would show: {shown!r}"
        before = self.first.ask(TAIL)
        self.first.wait(f"{TAIL}.length > {len(before)}", "the live output to go on")
        assert self.first.ask(SEEN_WHOLE), "the live output is squeezed, or out of sight"
        self.first.size(1280, 800)

    def an_open_log_reads_on_until_the_end(self):
        self.first.click("#processes button")
        self.first.wait(f"{seen('#detail .log')}.includes('step 6')", "the log to read on by itself")
        self.first.wait(f"{seen('#detail .facts')}.includes('exit code 0')", "the end to be seen in the log")
        self.first.click("#detail-close")

    def the_result_takes_the_place_of_the_live_output(self):
        for tab in (self.first, self.beside):
            tab.wait(came_home("step 6"), "the result in both tabs")
        self.first.wait("!document.querySelector('#messages .tail')", "the live output to go away")
        assert not self.beside.ask("window.sawTail"), "another tab showed the live output, too"

    def a_command_that_is_waited_for_shows_its_output_as_well(self):
        self.second.write("!echo early; sleep 1; echo late")
        self.second.wait(f"{TAIL}.trim() === 'early'", "its first line, live")
        self.second.wait("[...document.querySelectorAll('#messages .agent')].at(-1).textContent.includes('late')", "its answer")

    def a_sub_agent_stands_beside_the_processes(self):
        self.second.write("!delegate echo found it")
        self.second.wait(f"{seen('#delegations .about')}.includes('finished')", "the sub-agent to finish")
        self.second.wait(came_home("found it"), "what it found to be told")
        talk = self.second.ask("[...document.querySelectorAll('#messages .person .text')].map((item) => item.textContent)")
        assert "echo found it" not in talk, f"its own session is mixed into the conversation: {talk}"
        assert "echo found it" in self.second.ask(seen("#notifications .command")), "its notification does not say its task"
        self.second.click("#delegations button")
        self.second.wait(f"{seen('#detail-body')}.includes('found it')", "its result")
        self.second.click("#detail-close")

    def a_session_shows_its_title(self):
        self.second.write("/title The Friday release")
        self.second.wait(f"{seen('#session-title')} === 'The Friday release'", "the title beside the thread's name")

    def a_gateway_that_is_killed_comes_back_under_the_page(self):
        self.first.write("!bg for n in 1 2 3 4 5 6 7 8; do echo beat $n; sleep 0.5; done; echo survived")
        self.first.wait(f"{TAIL}.includes('beat')", "live output")
        before = self.first.ask("document.querySelectorAll('#messages .item').length")
        self.gateway.kill()
        self.first.wait(f"{seen('#connection')} === 'reconnecting…'", "the page to see that the gateway is gone")
        self.gateway.start()
        for tab in self.tabs:
            tab.wait(LIVE, "the page to reconnect")
        self.first.wait(came_home("survived"), "the result of what ran all the while")
        for text in ("done", "step 6", "survived"):
            assert self.first.ask(came_home(text)) == 1, f"`{text}` was told {self.first.ask(came_home(text))} times"
        assert self.first.ask("document.querySelectorAll('#messages .item').length") >= before, "the conversation has lost something"

    def a_reload_shows_the_same_conversation(self):
        before = self.first.ask("document.querySelectorAll('#messages .item').length")
        self.first.command("Page.reload")
        self.first.wait(f"document.querySelectorAll('#messages .item').length === {before}", "the conversation after a reload")

    def no_page_reported_an_error(self):
        # While the gateway was dead, and while it said so.
        expected = ("net::ERR_", "status of 503")
        problems = [problem for tab in self.tabs for problem in tab.problems if not any(part in problem for part in expected)]
        assert not problems, "; ".join(problems)

    def checks(self):
        return [value for name, value in vars(Demo).items() if not name.startswith("__") and name not in ("tab", "checks")]


def play(demo):
    passed = failed = 0
    for check in demo.checks():
        sentence = check.__name__.replace("_", " ")
        try:
            check(demo)
            passed += 1
            print(f"ok      {sentence}", flush=True)
        except OutOfTime:
            failed += 1
            print(f"FAILED  {sentence}: no time was left", flush=True)
            break
        except Exception as error:
            failed += 1
            known = isinstance(error, (AssertionError, devtools.TooLate))
            print(f"FAILED  {sentence}: {error if known else traceback.format_exc()}", flush=True)
    if failed:
        print(f"The gateway's last words:\n{demo.gateway.words()}")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


class OutOfTime(BaseException):
    """The limit over all is reached."""


def out_of_time(*_):
    raise OutOfTime


def stopped(*_):
    sys.exit(130)


def arguments():
    parser = argparse.ArgumentParser(description="The console in a real browser, against the real binary.")
    parser.add_argument("program", nargs="?", default="target/release/homing", help="default: %(default)s")
    parser.add_argument("--require", action="store_true", help="fail if there is no browser")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="of the whole run; default: %(default)s")
    parser.add_argument("--screenshot", metavar="FILE", help="only make this picture")
    wanted = parser.parse_args()
    if not os.access(wanted.program, os.X_OK):
        parser.error(f"there is no program {wanted.program}; build it with `cargo build --release -p homing`")
    return wanted


def main():
    wanted = arguments()
    program = devtools.installed()
    if program is None:
        print(SKIPPED)
        return 1 if wanted.require else 0
    signal.signal(signal.SIGALRM, out_of_time)
    signal.signal(signal.SIGTERM, stopped)
    signal.alarm(wanted.limit)
    with tempfile.TemporaryDirectory(prefix="homing-browser-", ignore_cleanup_errors=True) as folder:
        gateway, browser = Gateway(os.path.abspath(wanted.program), folder, STEP), None
        try:
            browser = devtools.Browser(program, folder, STEP)
            if wanted.screenshot:
                picture.take(browser, gateway, wanted.screenshot)
                return 0
            return play(Demo(browser, gateway))
        except OutOfTime:
            print(f"FAILED: not done within {wanted.limit} s\n0 passed, 1 failed")
            return 1
        except devtools.TooLate as error:
            print(f"FAILED: {error}\n0 passed, 1 failed")
            return 1
        finally:
            signal.alarm(0)
            gateway.end()
            if browser:
                browser.end()


if __name__ == "__main__":
    sys.exit(main())

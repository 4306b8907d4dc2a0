"""The picture of the README: a thread with a process at work, a result that came home, and one that did not, with its reason."""

import os
import stat

PROGRAMS = {
    "migrate": "sleep 1; echo '3 migrations done'",
    "build": "sleep 1; printf 'compiled 214 files\\nall 1832 tests passed\\n'",
    "deploy": "for host in ash birch cedar; do echo \"$host: 412 files copied\"; echo \"$host: restarted, healthy\"; done; printf 'oak: 118 of 412 files'; sleep 300",
    "crawl": "sleep 300",
}


def take(browser, gateway, path):
    scene(browser, gateway).picture(path)


def scene(browser, gateway):
    """The tab, ready to be looked at."""
    for name, script in PROGRAMS.items():
        program = os.path.join(gateway.workspace, name)
        with open(program, "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(program, stat.S_IRWXU)
    tab = browser.tab(gateway.start())
    tab.wait("document.getElementById('welcome')?.checkVisibility()", "the welcome page")

    show(tab, "price-crawler")
    tab.write("!bg ./crawl")
    tab.wait("!!document.querySelector('#processes .live') && !!document.querySelector('#messages .agent')", "a process in another thread")

    show(tab, "release-2-4")
    tab.write("!bg ./migrate")
    tab.wait("!!document.querySelector('#processes .live')", "a process")
    tab.write("/new")
    tab.wait("!!document.querySelector('#notifications .bad')", "a result to be dropped")
    tab.write("!bg ./build")
    tab.wait("!!document.querySelector('#messages .background')", "a result to come home")
    tab.write("!bg ./deploy staging")
    tab.wait("document.querySelector('#messages .tail:not([hidden]) pre')?.textContent.includes('oak')", "live output")
    tab.ask("document.activeElement.blur()")
    # The news has glowed, and the ages say seconds.
    tab.wait("!document.getAnimations().some((one) => one.animationName === 'news')", "the page to be at rest")
    return tab


def show(tab, thread):
    tab.ask(f"location.hash = encodeURIComponent('agent:main:console:dm:local:{thread}')")
    tab.wait(f"document.getElementById('title').textContent === '{thread}'", f"the thread {thread}")
    tab.wait("document.getElementById('connection').textContent === 'live'", "the stream")

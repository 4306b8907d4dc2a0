// Live output: the last lines of what runs and was started by this tab's window, in the conversation itself, until it ends and the result is told.
//
// A process that has written nothing has no tail to show. Its output is read when the stream says that it wrote, never by the clock.

import { age, by, element, keepEnd } from "./dom.js";
import { showLog } from "./detail.js";
import { Output } from "./output.js";
import { soon } from "./soon.js";

const LINES = 20;
/** More at once would be a wall; the panel on the right has them all. */
const AT_MOST = 4;
const KEPT = 8 * 1024;
const SETTLE = 150;
/** What is followed, by process. */
const tails = new Map();

/** Follows what `window` has started and what still runs; gives that, oldest first, for the list of messages. */
export function follow(processes, window) {
  const ours = processes.filter((one) => one.live && window && one.window === window).slice(0, AT_MOST).reverse();
  const live = new Set(ours.map((one) => one.id));
  for (const id of tails.keys()) if (!live.has(id)) tails.delete(id);
  for (const one of ours) if (!tails.has(one.id)) begin(one);
  return ours.map((one) => ({ id: `tail-${one.id}`, kind: "tail", process: one.id, delegation: one.delegation }));
}

/** It wrote. */
export const wrote = (process) => tails.get(process)?.read();

/** Hints may have been missed. */
export const readAll = () => tails.forEach((tail) => tail.read());

/** The element of an item that `follow` gave. */
export const line = (item) => tails.get(item.process)?.box ?? element("li", { hidden: true });

function begin(one) {
  const output = new Output(one.id, KEPT, KEPT);
  const text = element("pre", { class: "tail-text", tabindex: "0", "aria-label": "Live output" });
  const head = element(
    "p",
    { class: "head" },
    element("span", { class: "pulse", "aria-hidden": "true" }),
    element("code", { class: "command" }, one.command),
    element("span", {}, "running for ", age(one.created_at, "")),
    element("button", { type: "button", class: "link", click: () => showLog(one.id) }, "whole log"),
  );
  // A person who listens to the page would hear every line of a build.
  const box = element("li", { class: "item tail", "aria-live": "off", hidden: true }, head, text);
  const read = async () => {
    await output.readOn();
    const lines = output.lines(LINES);
    if (lines === text.textContent) return;
    keepEnd(by("messages"), () => {
      box.hidden = !lines;
      keepEnd(text, () => (text.textContent = lines));
    });
  };
  // Why it cannot be read, its log says; here is only a glimpse.
  const tail = { box, read: soon(read, () => {}, SETTLE) };
  tails.set(one.id, tail);
  tail.read();
}

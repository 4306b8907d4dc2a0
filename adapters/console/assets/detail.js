// The dialog: a process's log, a sub-agent, or why a notification went where it went.

import * as api from "./api.js";
import { by, clock, element, keepEnd, prose } from "./dom.js";
import { Output } from "./output.js";
import { soon } from "./soon.js";
import * as windows from "./window.js";
import { delegationStanding, standing as standingOf } from "./work.js";

const dialog = () => by("detail");
/** A later call wins over an earlier one whose answer comes late. */
let latest = 0;

export function prepare() {
  by("detail-close").addEventListener("click", () => dialog().close());
  dialog().addEventListener("close", () => (log = null));
  // A click beside the dialog lands on the dialog element itself.
  dialog().addEventListener("click", (event) => event.target === dialog() && dialog().close());
}

/** Shows what `read` gives, which is asked with a function that says whether the dialog still shows its subject. */
async function present(title, read) {
  const mine = ++latest;
  log = null;
  by("detail-title").textContent = title;
  by("detail-body").replaceChildren(element("p", { class: "quiet" }, "Reading…"));
  if (!dialog().open) dialog().showModal();
  try {
    const parts = await read(() => mine === latest && dialog().open);
    if (mine === latest) by("detail-body").replaceChildren(...parts);
  } catch (problem) {
    if (mine === latest) by("detail-body").replaceChildren(element("p", { class: "problem" }, problem.message));
  }
}

// ---- the log of a process

const KEPT = 64 * 1024;
const SETTLE = 150;
/** The log that the dialog shows right now. */
let log = null;

/** It reads on by itself where this tab hears that the process wrote: in the window that started it. */
export const showLog = (id) =>
  present("Process", async (isLatest) => {
    const output = new Output(id, KEPT, KEPT);
    await output.readOn();
    const head = element("div");
    const extent = element("p", { class: "quiet" });
    const text = element("pre", { class: "log", tabindex: "0", "aria-label": "Output" });
    const foot = element("p");
    const read = soon(
      async () => {
        await output.readOn();
        if (isLatest()) fill();
      },
      (problem) => isLatest() && foot.replaceChildren(element("span", { class: "problem" }, problem.message)),
      SETTLE,
    );
    const fill = () => {
      head.replaceChildren(about(output.process));
      extent.textContent = output.whole ? `${output.total} bytes of output` : `The end of ${output.total} bytes of output`;
      keepEnd(text, () => (text.textContent = output.shown || "(no output)"));
      const byItself = windows.all().includes(output.process.window);
      const again = byItself ? element("span", { class: "quiet" }, "Goes on by itself while the process writes.") : element("button", { type: "button", class: "plain", click: read }, "Read again");
      foot.replaceChildren(...(output.process.live ? [again] : []));
    };
    fill();
    // What was written last is what one looks for.
    requestAnimationFrame(() => (text.scrollTop = text.scrollHeight));
    if (isLatest()) log = { id, output, read };
    return [head, extent, text, foot];
  });

function about(process) {
  const { tone, words } = standingOf(process);
  return facts([
    ["Command", element("code", {}, process.command)],
    ["State", element("span", { class: `state ${tone}` }, words)],
    ["Why", process.failure],
    ["Known before it was told", process.consumed],
    ["In", element("code", {}, process.directory)],
    ["Started", clock(process.created_at)],
    ["Ended", process.ended_at ? clock(process.ended_at) : null],
    ["Process", element("code", {}, process.id)],
    ["Session", element("code", {}, process.session)],
    ["Sub-agent", process.delegation && element("code", {}, process.delegation)],
  ]);
}

/** It wrote. */
export const wrote = (id) => log?.id === id && log.read();

/** How processes stand now: the end of the one that is shown has to be seen as well. */
export function standing(processes) {
  const now = log && processes.find((one) => one.id === log.id);
  if (now && now.state !== log.output.process.state) log.read();
}

// ---- a sub-agent

export const showDelegation = (one) =>
  present("Sub-agent", async () => {
    const { tone, words } = delegationStanding(one);
    return [
      facts([
        ["Task", one.task],
        ["State", element("span", { class: `state ${tone}` }, words)],
        ["Started", clock(one.created_at)],
        ["Ended", one.ended_at ? clock(one.ended_at) : null],
        ["Sub-agent", element("code", {}, one.id)],
        ["Its session", element("code", {}, one.session)],
      ]),
      element("h3", {}, one.state === "interrupted" ? "What it had produced" : "Result"),
      one.result ? element("div", { class: "text" }, prose(one.result)) : element("p", { class: "quiet" }, one.state === "running" ? "It is at it. What it finds is told in the conversation." : "Nothing."),
    ];
  });

// ---- why

/** What the commonest reasons mean. Others speak for themselves, and the facts below them always do. */
const MEANING = {
  session_reset: "The conversation was reset with /new or /reset, so the result no longer belongs there. The process list still has its output, and /adopt takes it over.",
  session_deleted: "The conversation's session was deleted, so there is nowhere to put it.",
  auto_reset: "The session had ended by itself (idle or daily), and after_auto_reset says that such results are dropped.",
  reset_during_turn: "The conversation was reset while the answer was being written; the answer was not sent.",
  parked: "Its session is set aside by /resume. It is told when that session is current again.",
  away: "The window that asked is closed and no other shows this conversation. It is told as soon as one does.",
  expired: "It was held for longer than hold_for.",
  unaddressed: "Nothing proves which conversation owns it.",
  waited: "The agent waited for the process and has its result already.",
  read_to_end: "The agent read the whole output of the ended process already.",
  foreground: "Somebody waited for the command: its answer was the result.",
  agent_killed: "The agent stopped the process itself.",
  person_killed: "A person stopped the process.",
};

export const explain = (id) =>
  present("Why", async () => {
    const { notification, conversation, process, delegation, decisions, answer } = await api.explain(id);
    const meaning = MEANING[notification.reason];
    return [
      facts([
        ["About", process ? element("code", {}, process.command) : (delegation?.task ?? notification.source)],
        ["How it ended", process ? standingOf(process).words : delegation?.state],
        ["Belongs to", conversation],
        ["Now", [notification.state, notification.reason].filter(Boolean).join(": ")],
        ["Failed turns", notification.attempts > 0 ? String(notification.attempts) : null],
        ["Notification", element("code", {}, notification.id)],
      ]),
      meaning && element("p", { class: "meaning" }, meaning),
      element("h3", {}, "Decisions"),
      decisions.length ? element("ol", { class: "decisions" }, ...decisions.map(decision)) : element("p", { class: "quiet" }, "Nothing has been decided yet."),
      element("h3", {}, "Its answer"),
      answer.length ? element("ul", { class: "decisions" }, ...answer.map(sent)) : element("p", { class: "quiet" }, "No answer was written for it."),
    ].filter(Boolean);
  });

function decision(one) {
  return element(
    "li",
    {},
    element("p", {}, element("time", {}, clock(one.at)), ` ${one.from} → `, element("strong", {}, one.to), one.reason ? `: ${one.reason}` : ""),
    one.facts && element("p", { class: "facts-line" }, one.facts),
  );
}

function sent(item) {
  const tries = item.attempt > 1 ? `, attempt ${item.attempt}` : "";
  return element(
    "li",
    {},
    element("p", {}, element("time", {}, clock(item.settled_at ?? item.created_at)), ` ${item.kind} `, element("strong", {}, item.state), tries, item.reason ? `: ${item.reason}` : ""),
    element("p", { class: "facts-line" }, item.text.length > 300 ? `${item.text.slice(0, 300)}…` : item.text),
  );
}

function facts(pairs) {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of pairs) if (value) list.append(element("dt", {}, name), element("dd", {}, value));
  return list;
}

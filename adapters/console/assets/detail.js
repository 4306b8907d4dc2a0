// The dialog: a process's log, or why a notification went where it went.

import * as api from "./api.js";
import { by, clock, element } from "./dom.js";
import { standing } from "./work.js";

const dialog = () => by("detail");
/** A later call wins over an earlier one whose answer comes late. */
let latest = 0;

export function prepare() {
  by("detail-close").addEventListener("click", () => dialog().close());
  // A click beside the dialog lands on the dialog element itself.
  dialog().addEventListener("click", (event) => event.target === dialog() && dialog().close());
}

async function present(title, read) {
  const mine = ++latest;
  by("detail-title").textContent = title;
  by("detail-body").replaceChildren(element("p", { class: "quiet" }, "Reading…"));
  if (!dialog().open) dialog().showModal();
  try {
    const parts = await read();
    if (mine === latest) by("detail-body").replaceChildren(...parts);
  } catch (problem) {
    if (mine === latest) by("detail-body").replaceChildren(element("p", { class: "problem" }, problem.message));
  }
}

export const showLog = (id) =>
  present("Process", async () => {
    const { process, from, next, total, text } = await api.log(id);
    const { tone, words } = standing(process);
    const output = element("pre", { class: "log", tabindex: "0" }, text || "(no output)");
    const again = process.live && element("p", {}, element("button", { type: "button", class: "plain", click: () => showLog(id) }, "Read again"));
    return [
      facts([
        ["Command", element("code", {}, process.command)],
        ["State", element("span", { class: `state ${tone}` }, words)],
        ["Why", process.failure],
        ["Known before it was told", process.consumed],
        ["In", element("code", {}, process.directory)],
        ["Started", clock(process.created_at)],
        ["Ended", process.ended_at ? clock(process.ended_at) : null],
        ["Process", element("code", {}, process.id)],
        ["Session", element("code", {}, process.session)],
      ]),
      element("p", { class: "quiet" }, from > 0 ? `Bytes ${from} to ${next} of ${total}` : `${total} bytes of output`),
      output,
      again,
    ].filter(Boolean);
  });

/** What the commonest reasons mean. Others speak for themselves, and the facts below them always do. */
const MEANING = {
  session_reset: "The conversation was reset with /new or /reset, so the result no longer belongs there. The process list still has its output, and /adopt takes it over.",
  session_deleted: "The conversation's session was deleted, so there is nowhere to put it.",
  reset_during_turn: "The conversation was reset while the answer was being written; the answer was not sent.",
  parked: "Its session is set aside by /resume. It is told when that session is current again.",
  away: "The window that asked is closed and no other shows this conversation. It is told as soon as one does.",
  expired: "It was held for longer than hold_for.",
  unaddressed: "Nothing proves which conversation owns it.",
  waited: "The agent waited for the process and has its result already.",
  read_to_end: "The agent read the whole output of the ended process already.",
  agent_killed: "The agent stopped the process itself.",
  person_killed: "A person stopped the process.",
};

export const explain = (id) =>
  present("Why", async () => {
    const { notification, conversation, process, decisions, answer } = await api.explain(id);
    const meaning = MEANING[notification.reason];
    return [
      facts([
        ["About", process ? element("code", {}, process.command) : notification.source],
        ["How it ended", process ? standing(process).words : null],
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

// What was said, as a list of items from the API.

import { by, clock, element, isNearEnd, keepEnd, prose, show } from "./dom.js";
import * as tails from "./tails.js";

/** The conversation that the list shows: its first rendering is history, not news. */
let shown = null;

// A command leaves no line in the history, only its reply does. So that the reply does not answer nothing, this tab remembers the commands
// that were written in it. Just for the eye: nothing is decided by them, and other tabs do not have them.

const ECHOES = "homing.echoes";
const ECHOES_KEPT = 50;
/** Closer together than this, an echo and a line of the same words are one message. */
const SAME = 10_000;
let echoes = JSON.parse(sessionStorage.getItem(ECHOES) ?? "[]");

export function echo(key, text, at) {
  if (!/^\s*\/[a-z]/i.test(text)) return;
  echoes = [...echoes, { key, item: { id: `echo-${at}`, kind: "person", text, at, buttons: [] } }].slice(-ECHOES_KEPT);
  sessionStorage.setItem(ECHOES, JSON.stringify(echoes));
}

/** Each echo before the first message that is later; none that is older than what is shown. */
function withEchoes(key, messages) {
  const told = (echo) => messages.some((item) => ["person", "waiting"].includes(item.kind) && item.text === echo.text && Math.abs(item.at - echo.at) < SAME);
  const items = [...messages];
  for (const { key: where, item } of echoes) {
    if (where !== key || told(item) || (messages.length > 0 && item.at < messages[0].at - SAME)) continue;
    const place = items.findIndex((other) => other.at > item.at);
    items.splice(place < 0 ? items.length : place, 0, item);
  }
  return items;
}

/** Each tail under the answer that said what, or which sub-agent, was started; where none did (a command that is waited for), at the end. */
function withTails(messages, running) {
  const items = [...messages];
  for (const tail of running) {
    const names = (text) => text.includes(tail.process) || (tail.delegation && text.includes(tail.delegation));
    const said = items.findIndex((item) => ["agent", "reply"].includes(item.kind) && names(item.text));
    items.splice(said < 0 ? items.length : said + 1, 0, tail);
  }
  return items;
}

// What there is of an answer while it is written: a glimpse from the stream, kept until its turn is over and the answer itself is there.

let glimpse = null;

/** Shows the newest state of an answer under everything else. */
export function partial(event) {
  if (event.conversation !== shown) return;
  glimpse = event.text ? event : null;
  const list = by("messages");
  keepEnd(list, () => {
    list.querySelector('[data-key="partial"]')?.remove();
    if (!glimpse) return;
    const made = writing(glimpse);
    made.dataset.key = "partial";
    made.dataset.content = JSON.stringify(glimpse);
    list.append(made);
  });
}

/** Nothing to show any more once the turn that wrote it is over. */
function withGlimpse(items, turns) {
  if (glimpse && !turns.some((turn) => turn.id === glimpse.turn)) glimpse = null;
  return glimpse ? [...items, { id: "partial", kind: "partial", ...glimpse }] : items;
}

function writing(item) {
  const head = element("p", { class: "head" }, element("span", { class: "who" }, "Agent"), element("span", { class: "tag" }, item.stopped ? "stopped" : "writing…"));
  // A person who listens to the page hears the answer when it is there, not every word of it.
  return element("li", { class: "item agent partial", "aria-live": "off" }, head, element("div", { class: "text" }, prose(item.text)));
}

/** Whoever looks at the end goes on looking at the end, also when a keyboard slides in or the window changes. */
export function prepare() {
  const list = by("messages");
  let atEnd = true;
  list.addEventListener("scroll", () => (atEnd = isNearEnd(list)));
  new ResizeObserver(() => atEnd && (list.scrollTop = list.scrollHeight)).observe(list);
}

/** Gives the items that are new to this page and addressed to `window`. */
export function render(key, messages, running, window, turns) {
  const list = by("messages");
  const first = shown !== key;
  if (first) {
    list.replaceChildren();
    glimpse = null;
  }
  shown = key;
  const items = withGlimpse(withTails(divided(withEchoes(key, messages)), running), turns);
  const added = new Set(keepEnd(list, () => show(list, items, (item) => item.id, line)));
  const news = first ? [] : messages.filter((item) => added.has(item.id) && item.window && item.window === window);
  // What nobody asked for just now is worth a glance; the answer to what was just written is looked at anyway.
  const unasked = news.filter((item) => item.background || item.kind === "notice");
  unasked.forEach((item) => list.querySelector(`[data-key="${item.id}"]`)?.classList.add("news"));
  return news;
}

/** A line where one session ends and the next begins, and a word where nothing was said yet. */
function divided(messages) {
  if (messages.length === 0) return [{ id: "empty", kind: "empty" }];
  const items = [];
  let session = null;
  for (const item of messages) {
    if (item.session && session && item.session !== session) items.push({ id: `begin-${item.session}`, kind: "divider", session: item.session });
    session = item.session ?? session;
    items.push(item);
  }
  return items;
}

const WHO = { person: "You", waiting: "You", agent: "Agent", reply: "Homing", notice: "Notice" };

function line(item) {
  if (item.kind === "empty") return empty();
  if (item.kind === "tail") return tails.line(item);
  if (item.kind === "partial") return writing(item);
  if (item.kind === "tool") return tool(item);
  if (item.kind === "divider") return element("li", { class: "divider" }, element("span", {}, "a new session begins"));
  if (item.kind === "notification") return block(item);
  const who = item.kind === "person" && item.author ? item.author : WHO[item.kind];
  const head = element(
    "p",
    { class: "head" },
    element("span", { class: "who" }, who),
    item.background && element("span", { class: "tag home" }, "result of background work"),
    item.kind === "waiting" && element("span", { class: "tag" }, "waiting for its turn"),
    delivery(item.delivery),
    element("time", { datetime: new Date(item.at).toISOString() }, clock(item.at)),
  );
  const body = element("div", { class: "text" }, prose(item.text));
  return element("li", { class: `item ${item.kind}${item.background ? " background" : ""}` }, head, body, file(item), buttons(item));
}

function file(item) {
  return item.file && element("p", { class: "file" }, element("a", { href: `/api/v1/outbox/${item.id}/file`, download: item.file }, item.file));
}

/** Clicking one is as good as writing what it says. */
function buttons(item) {
  if (!item.buttons.length) return null;
  const one = (button) => element("button", { type: "button", title: button.says, click: () => dispatchEvent(new CustomEvent("say", { detail: button.says })) }, button.label);
  return element("p", { class: "buttons" }, ...item.buttons.map(one));
}

/** What a tool answered to the agent. Collapsed: the agent says what matters. */
function tool(item) {
  const first = item.text.split("\n", 1)[0].slice(0, 120) || "nothing";
  const summary = element("summary", {}, `a tool answered: ${first}`, element("time", { datetime: new Date(item.at).toISOString() }, clock(item.at)));
  return element("li", { class: "item notification tool" }, element("details", {}, summary, element("pre", {}, item.text)));
}

function delivery(delivery) {
  if (!delivery) return null;
  const words = { queued: "waits to be sent", sending: "being sent", uncertain: "sent, outcome unknown", cancelled: "not sent", dead: "could not be sent" };
  const reason = delivery.reason ? `: ${delivery.reason}` : "";
  const trouble = ["uncertain", "cancelled", "dead"].includes(delivery.state);
  return element("span", { class: trouble ? "tag trouble" : "tag" }, (words[delivery.state] ?? delivery.state) + reason);
}

/** What the agent was given. Collapsed: its answer follows. */
function block(item) {
  const about = item.text.match(/\b(?:prc|dlg)_[0-9a-hjkmnp-tv-z]{13}\b/)?.[0];
  const title = about ? `result of ${about}` : "result of background work";
  const summary = element("summary", {}, title, element("time", { datetime: new Date(item.at).toISOString() }, clock(item.at)));
  return element("li", { class: "item notification" }, element("details", {}, summary, element("pre", {}, item.text)));
}

function empty() {
  const shell = document.body.dataset.shell === "true";
  const first = shell ? ["Try ", element("code", {}, "!bg sleep 5; echo done")] : ["Ask for something to be run in the background"];
  return element(
    "li",
    { class: "empty" },
    element("p", {}, "Nothing has been said here yet."),
    element("p", {}, ...first, ", open a second thread, and do the same there. Then ", element("code", {}, "/new"), " in one of them, and see which result comes home."),
  );
}

// The page: which conversation is open, and when what is read again.
//
// There is no polling. The stream says "something changed there"; then the parts of the page that show it are read again, a moment later,
// so that a burst of changes is one reading.

import * as api from "./api.js";
import * as conversations from "./conversations.js";
import * as detail from "./detail.js";
import { by, keepAges } from "./dom.js";
import * as live from "./live.js";
import * as messages from "./messages.js";
import { soon } from "./soon.js";
import * as tails from "./tails.js";
import * as windows from "./window.js";
import * as work from "./work.js";

const state = { key: null, id: null, writable: false, list: [], pending: null, crowded: false };

// ---- reading again

const failed = (problem) => say(problem.message);

const readList = soon(async () => {
  state.list = (await api.conversations()).conversations;
  showList();
}, failed);

const readOpen = soon(async () => {
  const key = state.key;
  if (!key) return;
  const [found, said, ran, delegated, told] = await Promise.all([
    api.conversation(key),
    api.messages(key),
    api.processes(key),
    api.delegations(key),
    api.notifications(key),
  ]);
  // Another conversation may have been opened meanwhile.
  if (key !== state.key) return;
  const running = tails.follow(ran.processes, windows.of(key));
  const news = messages.render(key, said.messages, running, windows.of(key), said.turns);
  if (news.length && document.hidden) conversations.alertOf(key);
  work.render(ran.processes, delegated.delegations, told.notifications);
  detail.standing(ran.processes);
  showSession(found.session_title);
  showWorking(said.turns);
  showTitle();
}, failed);

function readAll() {
  readList();
  readOpen();
}

// ---- showing

function showList() {
  const known = state.list.some((one) => one.key === state.key);
  const fresh = state.key && !known && state.writable ? [{ key: state.key, title: by("title").textContent, platform: "console", active_at: null, running: 0 }] : [];
  conversations.render([...fresh, ...state.list], state.key, (key) => go(key));
  state.id = state.list.find((one) => one.key === state.key)?.id ?? state.id;
}

function showTitle() {
  const alerts = conversations.alertCount();
  const name = state.key ? `${by("title").textContent} – Homing` : "Homing";
  document.title = alerts ? `(${alerts}) ${name}` : name;
}

/** What a person called the session that is current (`/title`). */
function showSession(title) {
  by("session-title").hidden = !title;
  by("session-title").textContent = title ?? "";
}

function showWorking(turns) {
  const foreground = turns.some((turn) => turn.kind === "foreground");
  by("working").hidden = turns.length === 0;
  by("working").textContent = foreground ? "The agent is working…" : "A result is being told…";
}

function say(sentence) {
  by("problem").hidden = !sentence;
  by("problem").textContent = sentence ?? "";
}

function connection(words, lost) {
  by("connection").textContent = words;
  by("connection").classList.toggle("lost", lost);
}

// ---- opening a conversation

/** By way of the address, so that back, forward, reload and bookmarks work. */
function go(key) {
  closeDrawers();
  if (decodeURIComponent(location.hash.slice(1)) === key) open(key);
  else location.hash = encodeURIComponent(key);
}

async function open(key) {
  say(null);
  let found;
  try {
    found = (await api.conversation(key)).conversation;
  } catch (problem) {
    state.key = null;
    by("welcome").hidden = false;
    by("conversation").hidden = true;
    connection(problem.message, true);
    return;
  }
  Object.assign(state, { key: found.key, id: found.id, writable: found.writable });
  by("welcome").hidden = true;
  by("conversation").hidden = false;
  by("title").textContent = found.title;
  showSession(null);
  by("subtitle").textContent = found.writable ? "" : found.key;
  by("composer").hidden = !found.writable;
  by("read-only").hidden = found.writable;
  by("read-only").textContent = `This conversation lives on ${found.platform}. It can be read here; to answer, write there.`;
  conversations.look(found.key);
  showList();
  showTitle();
  if (found.writable) await openWindow();
  readAll();
  if (found.writable && matchMedia("(min-width: 800px)").matches) by("text").focus();
}

/** Only threads of the console have windows: results of other platforms go to those platforms. */
async function openWindow() {
  if (!state.key || !state.writable) return;
  try {
    if (await windows.open(state.key)) connect();
  } catch (problem) {
    say(problem.message);
  }
}

function connect() {
  if (!state.crowded) live.connect(windows.all(), hints);
}

const hints = {
  windows: windows.all,
  open() {
    connection("live", false);
    this.refresh();
  },
  lost() {
    connection("reconnecting…", true);
  },
  changed(conversation) {
    readList();
    if (conversation === state.id || conversation === state.key) readOpen();
  },
  message(event) {
    // Of the one that is shown, `readOpen` finds out by itself, also what came while the stream was away.
    if (event.conversation !== state.key) conversations.alertOf(event.conversation);
    this.changed(event.conversation);
    showTitle();
  },
  output(event) {
    tails.wrote(event.process);
    detail.wrote(event.process);
  },
  partial: messages.partial,
  async gone(window) {
    const key = windows.forget(window);
    if (key === state.key) await openWindow();
  },
  refresh() {
    readAll();
    tails.readAll();
  },
};

// ---- writing

async function send() {
  const box = by("text");
  const text = box.value;
  if (!text.trim() || state.sending) return;
  const limit = Number(document.body.dataset.textLimit);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > limit) return say(`That is ${bytes} bytes; a message may have ${limit}. Put it in a file and send its path.`);
  // The same text again after a failure is the same message: whether the first try arrived, nobody has to know.
  if (state.pending?.text !== text || state.pending.key !== state.key) state.pending = { text, key: state.key, id: crypto.randomUUID() };
  state.sending = true;
  const at = Date.now();
  try {
    await deliver(state.pending);
    messages.echo(state.pending.key, text, at);
    state.pending = null;
    if (box.value === text) box.value = "";
    grow();
    say(null);
    by("messages").scrollTop = by("messages").scrollHeight;
    readAll();
  } catch (problem) {
    say(problem.message);
  } finally {
    state.sending = false;
  }
}

/** As if it had been written; what stands in the box stays there. */
async function sayNow(text) {
  const one = { text, key: state.key, id: crypto.randomUUID() };
  try {
    await deliver(one);
    messages.echo(one.key, text, Date.now());
    say(null);
    readAll();
  } catch (problem) {
    say(problem.message);
  }
}

async function deliver({ key, text, id }) {
  try {
    await api.send(key, { text, id, window: windows.of(key) });
  } catch (problem) {
    if (problem.status !== 410) throw problem;
    // Our window was closed while the tab slept.
    windows.forget(windows.of(key));
    await openWindow();
    await api.send(key, { text, id, window: windows.of(key) });
  }
}

/** The box is as high as its text, up to a third of the page. */
function grow() {
  const box = by("text");
  box.rows = Math.min(12, Math.max(1, box.value.split("\n").length));
}

async function touch() {
  if (state.key && (await windows.touch(state.key))) connect();
}

async function startConversation() {
  try {
    go((await api.newConversation()).conversation.key);
  } catch (problem) {
    connection(problem.message, true);
  }
}

// ---- wiring

function closeDrawers() {
  for (const [drawer, button] of [["conversations", "show-conversations"], ["work", "show-work"]]) {
    by(drawer).classList.remove("out");
    by(button).setAttribute("aria-expanded", "false");
  }
}

function drawer(button, panel) {
  by(button).addEventListener("click", () => {
    const out = !by(panel).classList.contains("out");
    closeDrawers();
    by(panel).classList.toggle("out", out);
    by(button).setAttribute("aria-expanded", String(out));
  });
}

function wire() {
  by("new-conversation").addEventListener("click", startConversation);
  by("first-conversation").addEventListener("click", startConversation);
  by("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  by("text").addEventListener("keydown", (event) => {
    // While an input method composes a word, Enter chooses it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  // A button of a message.
  addEventListener("say", (event) => sayNow(event.detail));
  by("text").addEventListener("input", () => {
    grow();
    touch();
  });
  for (const hint of document.querySelectorAll("[data-insert]")) {
    hint.addEventListener("click", () => {
      by("text").value = hint.dataset.insert;
      by("text").focus();
    });
  }
  by("logout").addEventListener("click", async () => {
    try {
      await api.logout();
      location.assign("/");
    } catch (problem) {
      say(problem.message);
    }
  });
  drawer("show-conversations", "conversations");
  drawer("show-work", "work");
  document.querySelector("main").addEventListener("click", closeDrawers);
  addEventListener("keydown", (event) => event.key === "Escape" && closeDrawers());
  addEventListener("hashchange", openFromAddress);
  addEventListener("focus", touch);
  // Back from the browser's page cache: the windows may be closed, and the stream is.
  addEventListener("pageshow", (event) => event.persisted && openFromAddress().then(connect));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !state.key) return;
    conversations.look(state.key);
    showList();
    showTitle();
  });
}

async function openFromAddress() {
  let key = "";
  try {
    key = decodeURIComponent(location.hash.slice(1));
  } catch {
    // A mangled bookmark: the welcome page is fine.
  }
  if (key) return open(key);
  state.key = null;
  by("welcome").hidden = false;
  by("conversation").hidden = true;
  work.render([], [], []);
  showTitle();
  readList();
}

async function begin() {
  wire();
  detail.prepare();
  messages.prepare();
  keepAges();
  state.crowded = !(await windows.takePlace());
  if (state.crowded) connection("Too many tabs: a browser keeps six connections to a server. Close one and reload this one.", true);
  connect();
  await openFromAddress();
}

begin();

// Making elements, and text that stays text.
//
// Nothing here or elsewhere in these scripts sets innerHTML: whatever somebody writes into a message ends up in a text node.

/** element("p", { class: "quiet", title: "…" }, "text", child, …); properties that are functions become listeners. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const by = (id) => document.getElementById(id);

/**
 * Makes the children of `parent` show `items`, in order. An item whose content did not change keeps its element, so focus, selection and
 * opened details survive, and a screen reader hears only what is new. Gives the keys that were not shown before.
 */
export function show(parent, items, key, make) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const added = [];
  let previous = null;
  for (const item of items) {
    const name = String(key(item));
    const content = JSON.stringify(item);
    let child = before.get(name);
    if (!child) added.push(name);
    if (!child || child.dataset.content !== content) {
      const fresh = make(item);
      fresh.dataset.key = name;
      fresh.dataset.content = content;
      child?.replaceWith(fresh);
      child = fresh;
    }
    before.delete(name);
    const next = previous ? previous.nextSibling : parent.firstChild;
    if (next !== child) parent.insertBefore(child, next);
    previous = child;
  }
  before.forEach((child) => child.remove());
  return added;
}

/** Closer to its end than this, in pixels, a scrolled element follows what arrives. */
const NEAR = 80;

export const isNearEnd = (scrolled) => scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight < NEAR;

/** Makes a change to what `scrolled` shows. Whoever looked at its end looks at its end afterwards; whoever read above is left in peace. */
export function keepEnd(scrolled, change) {
  const follows = isNearEnd(scrolled);
  const result = change();
  if (follows) scrolled.scrollTop = scrolled.scrollHeight;
  return result;
}

/** Text with the little markdown that agents use: fences, `code`, **bold**. Links stay text: nothing here leads elsewhere by a click. */
export function prose(text) {
  const made = document.createDocumentFragment();
  const fence = /^(`{3,})[^\n`]*\n([\s\S]*?)(?:^\1`*[ \t]*(?:\n|$)|$(?![\s\S]))/gm;
  let end = 0;
  for (const match of text.matchAll(fence)) {
    made.append(...inline(text.slice(end, match.index)));
    made.append(element("pre", {}, element("code", {}, match[2].replace(/\n$/, ""))));
    end = match.index + match[0].length;
  }
  made.append(...inline(text.slice(end)));
  return made;
}

function inline(text) {
  const trimmed = text.replace(/^\n+|\n+$/g, "");
  if (!trimmed) return [];
  const parts = trimmed.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/);
  const paragraph = element("p");
  for (const part of parts) {
    if (/^`[^`\n]+`$/.test(part)) paragraph.append(element("code", {}, part.slice(1, -1)));
    else if (/^\*\*[^*\n]+\*\*$/.test(part)) paragraph.append(element("strong", {}, part.slice(2, -2)));
    else if (part) paragraph.append(part);
  }
  return [paragraph];
}

/** A span of milliseconds as people say it, like `Span` in homing-domain. */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function clock(at) {
  const day = new Date(at);
  const today = day.toDateString() === new Date().toDateString();
  const time = day.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? time : `${day.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

/** An age that keeps up by itself (see `keepAges`). */
export function age(at, after = " ago") {
  const made = element("time", { datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString(), "data-age": at, "data-after": after });
  made.textContent = aged(at, after);
  return made;
}

function aged(at, after) {
  const ms = Date.now() - at;
  return after && ms < 5000 ? "just now" : span(ms) + after;
}

/** Only the words on the page grow older; nothing is asked of the server. */
export function keepAges() {
  setInterval(() => {
    for (const one of document.querySelectorAll("[data-age]")) {
      const text = aged(Number(one.dataset.age), one.dataset.after);
      if (one.textContent !== text) one.textContent = text;
    }
  }, 1000);
}

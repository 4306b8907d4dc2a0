// This tab's windows: one for each conversation that it has opened, for as long as the tab lives (OWN-34…36).
//
// The ids are kept in sessionStorage, so a reload goes on with the same windows. A *duplicated* tab gets a copy of sessionStorage; it must
// not pass for the first one, so each tab holds a lock in its name, and a tab that finds its lock taken takes a new name and no windows.

import * as api from "./api.js";

const TAB = "homing.tab";
const WINDOWS = "homing.windows";
const LOCK = "homing-tab:";
/** Browsers keep six connections per server; each tab's stream takes one, and one must stay free for everything else. */
const TABS_AT_MOST = 5;
const TOUCH_EVERY = 10_000;

let windows = new Map(Object.entries(JSON.parse(sessionStorage.getItem(WINDOWS) ?? "{}")));
let touched = 0;

function keep() {
  sessionStorage.setItem(WINDOWS, JSON.stringify(Object.fromEntries(windows)));
}

/** Takes this tab's place among the tabs. Gives false if there are too many for one browser. */
export async function takePlace() {
  if (!navigator.locks) return true;
  const name = sessionStorage.getItem(TAB);
  if (!name || !(await hold(name))) {
    windows = new Map();
    keep();
    const fresh = crypto.randomUUID();
    sessionStorage.setItem(TAB, fresh);
    await hold(fresh);
  }
  const { held } = await navigator.locks.query();
  return held.filter((lock) => lock.name.startsWith(LOCK)).length <= TABS_AT_MOST;
}

/** Resolves once it is known whether the lock is ours; the lock itself is held until the tab is gone. */
function hold(name) {
  return new Promise((resolve) => {
    navigator.locks.request(LOCK + name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock ? new Promise(() => {}) : undefined;
    });
  });
}

export const all = () => [...windows.values()];
export const of = (key) => windows.get(key);

/** Shows the conversation in a window of this tab. Gives true if the set of windows changed, so that the stream must be told. */
export async function open(key) {
  const before = windows.get(key);
  const { window } = await api.openWindow(key, before);
  windows.set(key, window);
  keep();
  touched = Date.now();
  return window !== before;
}

/** The gateway has closed it meanwhile. Gives the conversation it showed. */
export function forget(window) {
  for (const [key, id] of windows) {
    if (id !== window) continue;
    windows.delete(key);
    keep();
    return key;
  }
  return undefined;
}

/** Somebody is here: which window is most recently active decides where a result goes whose own window is gone (OWN-35). */
export async function touch(key) {
  const window = windows.get(key);
  if (!window || Date.now() - touched < TOUCH_EVERY) return false;
  touched = Date.now();
  try {
    await api.touchWindow(window);
    return false;
  } catch (problem) {
    if (problem.status !== 410) return false;
    forget(window);
    return open(key);
  }
}

// A reload says goodbye as well; the gateway waits a moment whether the page comes back.
addEventListener("pagehide", () => all().forEach(api.goodbye));

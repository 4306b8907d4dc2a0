// The list on the left.

import { age, by, element, show } from "./dom.js";

/** What was told to this tab in conversations that it does not show right now, by key. */
const alerts = new Map();
/** When each conversation was last active while it was shown here, by key. */
const seen = new Map();

export function alertOf(key) {
  alerts.set(key, (alerts.get(key) ?? 0) + 1);
}

export function look(key) {
  alerts.delete(key);
}

/** Alerts for the tab's title. */
export const alertCount = () => [...alerts.values()].reduce((sum, count) => sum + count, 0);

export function render(list, shown, open) {
  for (const one of list) {
    // What was there before this page was opened is not news.
    if (one.key === shown || !seen.has(one.key)) seen.set(one.key, one.active_at ?? 0);
  }
  const rows = list.map((one) => ({
    ...one,
    current: one.key === shown,
    alerts: alerts.get(one.key) ?? 0,
    news: one.key !== shown && (one.active_at ?? 0) > (seen.get(one.key) ?? 0),
  }));
  show(by("conversation-list"), rows, (row) => row.key, (row) => line(row, open));
}

function line(row, open) {
  const badge = row.alerts > 0 && element("span", { class: "badge", title: `${row.alerts} told to this window` }, String(row.alerts));
  const news = !badge && row.news && element("span", { class: "dot", title: "Something new" });
  const running = row.running > 0 && element("span", { class: "running" }, `${row.running} running`);
  const platform = row.platform !== "console" && element("span", { class: "tag" }, row.platform);
  const when = row.active_at ? age(row.active_at) : element("span", {}, "not begun");
  return element(
    "li",
    {},
    element(
      "button",
      { class: "thread", type: "button", "aria-current": row.current ? "true" : undefined, title: row.key, click: () => open(row.key) },
      element("span", { class: "name" }, row.title, badge, news),
      element("span", { class: "about" }, platform, when, running),
    ),
  );
}

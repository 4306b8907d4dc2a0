// The panel on the right: what runs, and what it had to say.

import { age, by, element, show, span } from "./dom.js";
import * as detail from "./detail.js";

export function render(processes, delegations, notifications) {
  const subjects = new Map([...processes.map((one) => [one.id, { command: one.command }]), ...delegations.map((one) => [one.id, { task: one.task }])]);
  const nothing = (id, text) => [{ id, nothing: text }];
  const card = (make) => (one) => (one.nothing ? element("li", { class: "nothing" }, one.nothing) : make(one));
  show(
    by("processes"),
    processes.length ? processes : nothing("no-processes", `Nothing runs here. ${document.body.dataset.shell === "true" ? "Start something with !bg and a command." : "Ask for something to be run in the background."}`),
    (one) => one.id,
    card(process),
  );
  by("delegations-part").hidden = delegations.length === 0;
  show(by("delegations"), delegations, (one) => one.id, delegation);
  show(
    by("notifications"),
    notifications.length ? notifications.map((one) => ({ ...one, ...subjects.get(one.source) })) : nothing("no-notifications", "When background work ends, what became of its result stands here, with the reason."),
    (one) => one.id,
    card(notification),
  );
}

/** Words for how a process stands; also used by its log. */
export function standing(one) {
  if (one.state === "failed") return { tone: "bad", words: "could not be started" };
  if (one.live) return { tone: "live", words: one.state };
  if (one.state === "lost") return { tone: "warn", words: one.ending ?? "exit code unknown" };
  return { tone: one.ending === "exit code 0" ? "good" : "bad", words: one.ending ?? one.state };
}

function process(one) {
  const { tone, words } = standing(one);
  const when = one.live ? age(one.created_at, "") : element("span", {}, `ran ${span((one.ended_at ?? one.created_at) - one.created_at)}`);
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "card-button", title: one.id, click: () => detail.showLog(one.id) },
      element("code", { class: "command" }, one.command),
      element("span", { class: "about" }, element("span", { class: `state ${tone}` }, words), when, one.kind === "service" && element("span", { class: "tag" }, "service"), one.delegation && element("span", { class: "tag" }, "sub-agent")),
    ),
  );
}

const DELEGATION_TONES = { running: "live", finished: "good", failed: "bad", interrupted: "warn" };

/** Words for how a sub-agent stands. */
export const delegationStanding = (one) => ({ tone: DELEGATION_TONES[one.state] ?? "", words: one.state });

function delegation(one) {
  const { tone, words } = delegationStanding(one);
  const when = one.ended_at === null ? age(one.created_at, "") : element("span", {}, `took ${span(one.ended_at - one.created_at)}`);
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "card-button", title: one.id, click: () => detail.showDelegation(one) },
      element("span", { class: "command" }, one.task),
      element("span", { class: "about" }, element("span", { class: `state ${tone}` }, words), when),
    ),
  );
}

const TONES = { delivered: "good", noticed: "good", consumed: "good", dropped: "bad", held: "warn", pending: "live", claimed: "live" };

function notification(one) {
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "card-button", title: one.id, click: () => detail.explain(one.id) },
      element("span", { class: "command" }, one.command ? element("code", {}, one.command) : (one.task ?? one.source)),
      element(
        "span",
        { class: "about" },
        element("span", { class: `state ${TONES[one.state] ?? ""}` }, one.state),
        one.reason && element("span", {}, one.reason),
        age(one.settled_at ?? one.created_at),
        element("span", { class: "why" }, "why?"),
      ),
    ),
  );
}

// Calls to /api/v1. Every failure is a Problem whose message is a sentence that can be shown as it is.

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function call(method, path, body) {
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem("The gateway does not answer. Nothing you wrote is lost; it is tried again when it is back.", 0);
  }
  // The login ended: the page itself says how to get in again.
  if (response.status === 401) location.assign("/");
  const text = await response.text();
  if (!response.ok) throw new Problem(sentence(text) ?? `The gateway answered ${response.status}.`, response.status);
  return text ? JSON.parse(text) : null;
}

function sentence(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim() || undefined;
  }
}

const at = (conversation) => encodeURIComponent(conversation);

export const conversations = () => call("GET", "conversations");
export const conversation = (name) => call("GET", `conversations/${at(name)}`);
export const newConversation = (name) => call("POST", "conversations", name ? { name } : {});
export const messages = (name) => call("GET", `conversations/${at(name)}/messages`);
export const send = (name, message) => call("POST", `conversations/${at(name)}/messages`, message);
export const processes = (name) => call("GET", `processes?conversation=${at(name)}`);
export const delegations = (name) => call("GET", `delegations?conversation=${at(name)}`);
export const log = (process, from, limit) => call("GET", `processes/${process}/log?limit=${limit}${from === undefined ? "" : `&from=${from}`}`);
export const notifications = (name) => call("GET", `notifications?conversation=${at(name)}`);
export const explain = (notification) => call("GET", `notifications/${notification}`);
export const openWindow = (conversation, window) => call("POST", "windows", { conversation, window });
export const touchWindow = (window) => call("POST", `windows/${window}/touch`);
export const logout = () => call("POST", "logout");

/** For a page that is going away: it cannot wait for an answer. */
export const goodbye = (window) => navigator.sendBeacon(`/api/v1/windows/${window}/close`);

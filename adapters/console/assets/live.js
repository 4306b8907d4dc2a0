// The stream of hints. An event says where to look again; what there is to see is read from the API.

let source = null;
let again = null;

/**
 * (Re)connects for these windows. `on` has: open(), lost(), changed(conversation), message(event), output(event), partial(event), gone(window),
 * refresh(). A browser reconnects by itself where the connection breaks, but not after an answer such as 503: then we do.
 */
export function connect(windows, on) {
  source?.close();
  clearTimeout(again);
  const mine = new EventSource(`/api/v1/stream?window=${windows.join(",")}`);
  source = mine;
  const listen = (name, act) => mine.addEventListener(name, (event) => act(JSON.parse(event.data)));
  mine.onopen = () => on.open();
  mine.onerror = () => {
    on.lost();
    if (mine.readyState !== EventSource.CLOSED || source !== mine) return;
    again = setTimeout(() => connect(on.windows(), on), 2000);
  };
  listen("changed", (data) => on.changed(data.conversation));
  listen("message", (data) => on.message(data));
  listen("output", (data) => on.output(data));
  listen("partial", (data) => on.partial(data));
  listen("gone", (data) => on.gone(data.window));
  listen("refresh", () => on.refresh());
}

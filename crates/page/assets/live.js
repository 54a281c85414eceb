// Entry of the page: the stream of versions, the bar of messages, switches and times.
//
// The module runs in two places. In a window it follows the versions of the fragments that are shown, and imports the
// other modules when they are needed, so that the first view costs one script. As a SharedWorker it is the hub: one
// endless request for all tabs of a browser. Without SharedWorker the hub runs in the tab with the lowest number among
// those that answer on a BroadcastChannel.

const PREFIX = new URL("../../", import.meta.url).href;
const MINUTE = 60_000;

/** The key to follow for a fragment: changes of groups of the grid come with those of the list. */
const followedAs = (key) => key.startsWith("grid:") ? "tasks" : key;

/** Follows versions and logs for all tabs: `hear` takes messages of tabs, `tell` sends to all of them or to one. */
function startHub(tell) {
  const tabs = new Map(); // What each tab wants, by its number.
  // Mark of each key. For `grid:N` the version and a counter, because a group can move without a new version.
  const marks = {};
  const refused = new Set();
  let followed = [], stream = new AbortController(), state, counted = 0, lost = true, stopped = false;
  let wakeStream = () => {}, wakeLogs = () => {}, streamDue = Infinity;

  function wanted() {
    const now = Date.now();
    for (const [number, tab] of tabs) if (now - tab.heard > 3 * MINUTE) tabs.delete(number);
    const shownFirst = [...tabs.values()].sort((a, b) => b.shownAt - a.shownAt);
    if (!shownFirst.some((tab) => now - tab.shownAt < MINUTE)) return []; // Hidden tabs need no versions.
    const keys = new Set(shownFirst.flatMap((tab) => tab.keys));
    return [...keys].filter((key) => !refused.has(key)).slice(0, 64);
  }

  const lacks = () => wanted().some((key) => !followed.includes(key));
  const report = (newer) => { if (state !== newer) tell({ state: (state = newer) }); };
  const address = (keys) => `${PREFIX}follow?keys=${keys.map(encodeURIComponent).join()}`;
  const sleep = (time, keep) => new Promise((wake) => { keep(wake); setTimeout(wake, time); });

  /** Takes one event into `newer`. `tasks` says which groups of the grid have changed; all of them come first. */
  function learn({ key, version, groups = [] }, first, newer) {
    if (key === "tasks" && !(first && !lost && marks.tasks === version)) {
      counted += 1;
      for (const group of groups) newer[`grid:${group}`] = `${version} ${counted}`;
    }
    newer[key] = version;
  }

  async function read(response, keys) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const unseen = new Set(keys);
    let text = "", silence;
    try {
      for (;;) {
        clearTimeout(silence);
        silence = setTimeout(() => stream.abort(), 40_000); // The gateway sends a comment every 15 s.
        const { value, done } = await reader.read();
        if (done) return;
        const events = (text + value).split("\n\n");
        text = events.pop();
        const newer = {}, first = unseen.size > 0;
        for (const event of events) {
          const data = /^data: ?(.*)$/m.exec(event);
          if (!data) continue;
          const message = JSON.parse(data[1]);
          learn(message, unseen.delete(message.key), newer);
        }
        Object.assign(marks, newer);
        if (Object.keys(newer).length) tell({ marks: newer, first });
        if (!unseen.size) lost = false;
        report("up");
      }
    } finally {
      clearTimeout(silence);
    }
  }

  /** Leaves out the keys for which a request is refused: pruned runs, tasks that the reader may not see. */
  async function sieve(keys) {
    for (const key of keys) {
      const { status, body } = await fetch(address([key]));
      const reader = body.getReader();
      await reader.read();
      await sleep(50, () => {}); // Chromium closes a connection at once only while it waits for more of the answer.
      await reader.cancel();
      if (status >= 400 && status < 405 && status !== 401) refused.add(key);
    }
    return keys.some((key) => refused.has(key));
  }

  /** Makes one request; returns the time to wait before the next one. */
  async function connect(keys, failures) {
    stream = new AbortController();
    followed = keys;
    for (const key of Object.keys(marks)) if (!keys.includes(followedAs(key))) delete marks[key];
    const patience = setTimeout(() => {
      report("down");
      stream.abort();
    }, 10_000);
    const pause = Math.min(250 * 2 ** failures, 10_000) * (0.75 + Math.random() / 2);
    try {
      const response = await fetch(address(keys), { signal: stream.signal, cache: "no-store" });
      const later = 1000 * (response.headers.get("Retry-After") || 0);
      clearTimeout(patience);
      if (response.ok) {
        await read(response, keys);
      } else if (response.status === 401) {
        report("login");
        return MINUTE;
      } else if ([429, 501].includes(response.status)) {
        report("refused"); // Too many streams, or a scheduler of an earlier version.
        return Math.max(10_000, later);
      } else if (response.status < 405) {
        if (await sieve(keys)) return 250;
      }
      return Math.max(pause, later);
    } catch {
      return pause;
    } finally {
      clearTimeout(patience);
      stream.abort();
    }
  }

  async function streams() {
    for (let failures = 0; !stopped;) {
      const keys = wanted();
      if (!keys.length) {
        followed = [];
        await sleep(MINUTE, (wake) => { wakeStream = wake; });
        continue;
      }
      const begun = Date.now();
      const pause = await connect(keys, failures);
      if (lacks()) continue; // A tab wants more: the hub itself has ended the stream.
      failures = Date.now() - begun > 5000 ? 0 : failures + 1;
      lost = true;
      if (failures > 3 && !["login", "refused"].includes(state)) report("down");
      streamDue = Date.now() + pause;
      await sleep(pause, (wake) => { wakeStream = wake; });
    }
  }

  /** Reads followed logs in windows, one request at a time, so that they need no endless request of their own. */
  async function logs() {
    while (!stopped) {
      const reading = [...tabs].filter(([, { log, shown }]) => log && shown);
      const [tab, { log }] = reading.sort(([, a], [, b]) => a.log.next - b.log.next)[0] ?? [0, {}];
      const wait = log ? log.next - Date.now() : MINUTE;
      if (wait > 0) {
        await sleep(wait, (wake) => { wakeLogs = wake; });
        continue;
      }
      log.next = Date.now() + 2000;
      try {
        const response = await fetch(`${log.address}?format=ndjson&limit=1000&after=${log.after}`);
        if (response.status < 500 && !response.ok) log.next = Date.now() + MINUTE;
        if (!response.ok) continue;
        const lines = await response.json();
        tell({ log: log.address, after: log.after, ...lines }, tab);
        log.after = lines.lines.at(-1)?.position ?? log.after;
        log.next = Date.now() + (lines.lines.length ? 250 : 1000);
      } catch {
        // The next turn asks for the same lines again.
      }
    }
  }

  streams();
  logs();
  return {
    hear({ tab, keys, shown, log, retry }) {
      const known = tabs.get(tab);
      tabs.delete(tab);
      if (keys) {
        const now = Date.now(), shownAt = shown ? now : known?.shownAt ?? 0;
        const same = known?.log && known.log.address === log?.address;
        tabs.set(tab, { keys, shown, shownAt, heard: now, log: log && Object.assign(same ? known.log : { next: 0 }, log) });
        wakeLogs();
        if (!known) {
          refused.clear();
          if (state === "login") state = undefined; // The tab may have a new session.
          tell({ marks, state, first: true }, tab);
        }
      }
      if (lacks() || !wanted().length) stream.abort();
      const overdue = Date.now() > streamDue; // The timer of a hidden tab is late.
      if (overdue || lacks() || ((retry || !known) && state !== "up")) wakeStream();
    },
    stop() {
      stopped = true;
      stream.abort();
      [wakeStream, wakeLogs].forEach((wake) => wake());
    },
  };
}

/** The policy for trusted types, the only one of the page: answers of its own gateway, and the address of its worker. */
let accepted;
const policy = globalThis.document && globalThis.trustedTypes?.createPolicy("cts", {
  createHTML(text) {
    if (text !== accepted) throw new TypeError("only answers of the gateway become elements");
    return text;
  },
  createScriptURL(url) {
    if (url !== import.meta.url) throw new TypeError("the page has one worker");
    return url;
  },
});

/** The document in an answer of the gateway; `null` for any other answer. */
export async function parse(response) {
  const own = response.type === "basic" && response.url.startsWith(PREFIX);
  if (!own || !response.headers.has("Cts-Fragment")) return null;
  const text = await response.text();
  accepted = text;
  try {
    return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  } finally {
    accepted = undefined;
  }
}

/** Marks of keys, as the hub has told them. */
export const marks = new Map();
export const prefix = PREFIX;

const number = Date.now() * 1000 + Math.floor(Math.random() * 1000); // Tabs that were opened earlier have lower numbers.
let post, log, onLines;
let left = false; // The document is left, so its tab wants nothing.

/** An element; attributes whose names begin with `on` are listeners. */
export function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/** Shows a message at the lower edge with what to do about it. A message replaces that of its kind. */
export function say(kind, text, ...todo) {
  const message = make("p", { "data-kind": kind }, text, " ", ...todo);
  const shown = messages.querySelector(`[data-kind=${kind}]`);
  if (shown?.textContent === message.textContent) return;
  shown?.remove();
  messages.append(message);
}

export const hush = (kind) => messages.querySelector(`[data-kind=${kind}]`)?.remove();

export function sayLogin() {
  const to = encodeURIComponent(location.href.slice(PREFIX.length).replace(/#.*/, ""));
  say("login", "Your session has ended.", make("a", { href: `${PREFIX}login?to=${to}`, target: "_blank" }, "Log in again"));
}

/** Follows a log from now on, `{ address, after }`, whose windows go to `take`, which moves `after`; or none. */
export function followLog(newer, take) {
  [log, onLines] = [newer, take];
  announce();
}

/** Tells the hub which keys this tab shows. With `retry` a hub that is not connected tries again at once. */
export function announce(retry = false) {
  const keys = new Set([...document.querySelectorAll("[data-live]")].map(({ dataset }) => followedAs(dataset.live)));
  if (left || (!keys.size && !post)) return;
  post ??= connectHub();
  post({ tab: number, keys: [...keys], shown: !document.hidden, log: isFrozen ? undefined : log, retry });
}

function hear(message) {
  if (message.state === "login") sayLogin();
  if (message.state === "down") say("connection", "The connection is lost; this page may be old. Trying again …");
  if (message.state === "refused") say("connection", "Live updates are not available now. Reload the page to see changes.");
  if (message.state === "up") ["connection", "login"].forEach(hush);
  if (message.log && message.log === log?.address && !isFrozen) onLines(message);
  if (!message.marks) return;
  for (const [key, mark] of Object.entries(message.marks)) marks.set(key, mark);
  update(message.first);
}

function connectHub() {
  const name = `cts ${PREFIX}`;
  if (!globalThis.SharedWorker) return elect(new BroadcastChannel(name));
  const url = policy ? policy.createScriptURL(import.meta.url) : import.meta.url;
  const { port } = new SharedWorker(url, { type: "module", name });
  port.onmessage = ({ data }) => hear(data);
  setInterval(announce, MINUTE);
  return (message) => port.postMessage(message);
}

/** The hub runs here while no tab with a lower number was heard for three seconds. */
function elect(channel) {
  const lower = new Map(); // Tabs with lower numbers, and when each was heard.
  let hub;
  const tell = (message) => {
    channel.postMessage({ told: message });
    hear(message);
  };
  function choose() {
    const follows = [...lower.values()].some((heard) => Date.now() - heard < 3000);
    if (follows) hub = hub?.stop();
    else hub ??= startHub(tell);
  }
  channel.onmessage = ({ data }) => {
    if (data.told) return hear(data.told);
    if (data.tab < number) {
      if (data.keys || data.here) lower.set(data.tab, Date.now());
      else lower.delete(data.tab);
    }
    // Choices and answers do not wait for timers: those of hidden tabs run once a minute.
    choose();
    if (hub && data.tab > number && data.keys) channel.postMessage({ tab: number, here: true });
    if (!data.here) hub?.hear(data);
  };
  setInterval(() => { choose(); announce(); }, 1000);
  return (message) => {
    channel.postMessage(message);
    hub?.hear(message);
  };
}

/** Brings newer fragments into the page, unless nobody sees them. */
async function update(first) {
  if (document.hidden || isFrozen) return;
  (await import("./morph.js")).update(first);
}

// Times follow the clock of the server, which each whole document has.

const UNITS = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
let loaded = globalThis.performance?.timeOrigin, shownNow;
let ahead = 0; // Milliseconds from the clock of the browser to that of the server.

function tick() {
  if (document.hidden) return;
  const { now } = document.documentElement.dataset;
  if (now && now !== shownNow) [shownNow, ahead, loaded] = [now, Date.parse(now) - (loaded ?? Date.now()), undefined];
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = Math.round((Date.now() + ahead - Date.parse(time.dateTime)) / 1000);
    const [length, unit] = UNITS.find(([length]) => Math.abs(seconds) >= length) ?? UNITS[3];
    const rounded = `${Math.floor(Math.abs(seconds) / length)} ${unit}`;
    const text = seconds < 0 ? `in ${rounded}` : `${rounded} ago`;
    if (time.dataset.ago !== text) time.dataset.ago = text;
  }
}

// Switches.

let isFrozen = false, messages;
export const frozen = () => isFrozen;

/** A setting that this browser remembers, if it may. */
export function setting(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`cts-${name}`, value);
    return localStorage.getItem(`cts-${name}`) ?? "";
  } catch {
    return value ?? "";
  }
}

let keys;
const loadKeys = async () => { keys = await import("./keys.js"); return keys; };

const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };

function switches() {
  const root = document.documentElement;
  const theme = make("button", { type: "button", onclick: () => showTheme(setting("theme", after(root.dataset.theme))) });
  const freeze = make("button", { type: "button", "aria-pressed": "false", onclick: switchFreeze }, "Freeze");
  const after = (name) => Object.keys(THEMES)[(Object.keys(THEMES).indexOf(name) + 1) % 3];
  function showTheme(name) {
    root.dataset.theme = name;
    theme.textContent = THEMES[name];
  }
  function switchFreeze() {
    isFrozen = !isFrozen;
    freeze.setAttribute("aria-pressed", isFrozen);
    if (isFrozen) say("frozen", "Frozen: changes are not shown.", make("button", { type: "button", onclick: switchFreeze }, "Go on"));
    else {
      if (messages.contains(document.activeElement)) freeze.focus();
      hush("frozen");
    }
    announce();
    update(true);
  }
  showTheme(setting("theme") in THEMES ? setting("theme") : "");
  const help = make("button", { type: "button", "aria-label": "Keys", onclick: async () => (keys ?? await loadKeys()).help() }, "?");
  document.getElementById("tools")?.append(freeze, theme, help);
}

/** Loads the window of a log that has the line of the address, before anything is painted. */
function toLine() {
  const line = /^#L(\d+)$/.exec(location.hash)?.[1];
  const lacks = document.querySelector("[data-log]") && !document.getElementById(`L${line}`);
  if (line && lacks && !location.search.includes("line=")) location.replace(`?line=${line}#L${line}`);
}

function start() {
  toLine();
  messages = make("div", { id: "messages", role: "status", "data-own": "" });
  document.body.append(messages);
  switches();
  tick();
  setInterval(tick, 1000);
  document.addEventListener("cts:newer", tick);
  document.addEventListener("keydown", async (event) => (keys ?? await loadKeys()).press(event));
  document.addEventListener("visibilitychange", () => {
    tick();
    announce(true);
    update(true);
  });
  addEventListener("online", () => announce(true));
  addEventListener("pageshow", ({ persisted }) => {
    left = false;
    if (persisted) announce(true);
  });
  addEventListener("pagehide", () => {
    post?.({ tab: number });
    left = true;
  });
  // After the first paint.
  const begin = () => setTimeout(() => {
    announce();
    loadKeys();
    for (const name of ["morph", "form", "log"]) import(`./${name}.js`);
  }, 100);
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin);
}

if (globalThis.document) {
  start();
} else {
  const ports = new Map(); // By the numbers of their tabs.
  const hub = startHub((message, tab) => (tab ? [ports.get(tab)] : [...ports.values()]).forEach((port) => port?.postMessage(message)));
  globalThis.onconnect = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => {
      if (data.keys) ports.set(data.tab, port);
      else ports.delete(data.tab);
      hub.hear(data);
    };
  };
}

// Logs of runs: new lines at the end without forced scroll, and `#L123`.

import { followLog, make } from "./live.js";
import { isPlain, visit } from "./morph.js";

const MOST_LINES = 6000;
// The same characters as in `text.rs`.
const INVISIBLE = /[\p{Cc}\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]/gu;
// Escapes of terminals: colours, titles.
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))/g;

let log, followed, last, unread, more;

/** The text of a line as nodes: what cannot be seen becomes words. */
function visible(text) {
  const plain = text.replaceAll(ESCAPES, ""), nodes = [];
  let end = 0;
  for (const { 0: found, index } of plain.matchAll(INVISIBLE)) {
    if (found === "\t") continue;
    const code = found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(plain.slice(end, index), make("i", { class: "code" }, `U+${code}`));
    end = index + found.length;
  }
  return [...nodes, plain.slice(end)];
}

const addressOf = (position) => `?line=${position}#L${position}`;

function lineOf({ position, stream, text, bytes }) {
  const line = make("span", { class: stream === "stderr" ? "line stderr" : "line", id: `L${position}` },
    make("a", { class: "at", href: addressOf(position), tabindex: "-1" }, position),
    make("bdi", {}, ...visible(text)));
  if (bytes) line.append(" ", make("a", { class: "cut", href: `${log.dataset.log}?line=${position}`, download: "" }, `cut: the whole line has ${bytes} bytes`));
  return line;
}

function append({ after, lines, attempts = [] }) {
  if (!followed || after > last) return; // The next window begins with the lines that are missing.
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 32;
  const newer = lines.filter(({ position }) => position > last);
  last = followed.after = newer.at(-1)?.position ?? last;
  if (!newer.length && !("after" in log.dataset)) {
    followed = undefined;
    followLog();
  }
  unread = atEnd ? 0 : unread + newer.length;
  const isFull = log.querySelectorAll(".line").length + newer.length > MOST_LINES;
  // A reader who has scrolled back keeps these lines: newer ones come with the button.
  if (isFull && !atEnd) more.dataset.cut = "";
  if (!("cut" in more.dataset)) newer.forEach((line) => place(line, attempts));
  if (atEnd) {
    if (isFull) [...log.querySelectorAll(".line")].slice(0, -MOST_LINES / 2).forEach((line) => line.remove());
    log.scrollTop = log.scrollHeight;
  }
  showUnread();
}

function place(line, attempts) {
  const begun = attempts.find(({ first_position }) => first_position === line.position);
  if (begun && !document.getElementById(`attempt-${begun.number}`)) {
    log.append(make("section", { class: "attempt", id: `attempt-${begun.number}` }, make("h3", {}, `Attempt ${begun.number}`)));
  }
  const end = log.lastElementChild;
  (end?.matches(".attempt") ? end : log).append(lineOf(line));
}

function showUnread() {
  more.hidden = !unread;
  more.textContent = `${unread} newer lines`;
}

function toEnd() {
  if ("cut" in more.dataset) location.assign(location.pathname);
  else log.scrollTop = log.scrollHeight;
}

/** Takes the log of the screen, if that has changed. */
function prepare() {
  const found = document.querySelector("[data-log]");
  const wanted = /^#L\d+$/.test(location.hash) ? location.hash.slice(1) : undefined;
  const line = wanted && document.getElementById(wanted);
  document.querySelector(".line[aria-current]")?.removeAttribute("aria-current");
  line?.setAttribute("aria-current", "true");
  if (found === log) return;
  log = found;
  followed = "after" in (log?.dataset ?? {}) ? { address: new URL(log.dataset.log, location.href).href, after: Number(log.dataset.after) } : undefined;
  followLog(followed, append);
  if (!log) return;
  [last, unread] = [followed?.after, 0];
  more?.remove();
  more = make("button", { type: "button", class: "unread", "data-own": "", hidden: "", onclick: toEnd });
  log.after(more);
  log.addEventListener("scroll", () => {
    if (log.scrollHeight - log.scrollTop - log.clientHeight < 32 && !("cut" in more.dataset)) showUnread(unread = 0);
  });
  if (line) line.scrollIntoView({ block: "center" });
  else if (wanted && !location.search.includes(`line=${wanted.slice(1)}`)) visit(new URL(addressOf(wanted.slice(1)), location.href).href, "replace");
  else if (log.id === "tail") log.scrollTop = log.scrollHeight;
}

// A number that is shown has its line in the page: only the address changes.
document.addEventListener("click", (event) => {
  if (!event.target.matches(".line > .at") || !isPlain(event)) return;
  event.preventDefault();
  location.hash = event.target.hash;
});
addEventListener("hashchange", prepare);
document.addEventListener("cts:newer", prepare);
prepare();

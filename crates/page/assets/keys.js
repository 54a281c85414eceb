// Keys: `?` lists them. None of them changes anything. In the grid of tasks the arrows move from task to task.

import { make, parse, setting } from "./live.js";
import { request, visit } from "./morph.js";

const $ = (selector) => document.querySelector(selector);
const go = (index) => () => document.querySelectorAll("header nav a")[index]?.click();

function step(by) {
  const rows = [...document.querySelectorAll("main :is(tbody tr, .card, li)")];
  const links = [...new Set(rows.map((row) => row.querySelector("a[href]")))].filter((link) => link?.checkVisibility());
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, at + by)]?.focus();
}

const KEYS = {
  "?": ["This list", () => help()],
  "/": ["Search", () => $("main input[type=search]")?.focus()],
  j: ["Next row", () => step(1)],
  k: ["Row before", () => step(-1)],
  u: ["Upper edge of the page", () => { scrollTo(0, 0); $("h1").focus(); }],
  "g o": ["Overview", go(0)],
  "g t": ["Tasks", go(1)],
  "g r": ["Runs", go(2)],
  "g a": ["Approvals", go(3)],
  "g c": ["Cluster", go(4)],
};

let prefix = "", until = 0;

/** Does what a pressed key stands for. */
export function press(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || $("dialog[open]")) return;
  if (target.closest("input, textarea, select, [contenteditable]")) return;
  if (move(event) || setting("keys") === "off") return;
  const known = (Date.now() < until && KEYS[`${prefix} ${key}`]) || KEYS[key];
  [prefix, until] = [key, Date.now() + 1500];
  if (!known) return;
  event.preventDefault();
  known[1]();
}

export function help() {
  const rows = Object.entries(KEYS).map(([key, [what]]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, key)), make("td", {}, what)));
  const single = make("input", { type: "checkbox", onchange: () => setting("keys", single.checked ? "" : "off") });
  single.checked = setting("keys") !== "off";
  const dialog = make("dialog", { "aria-label": "Keys", "data-own": "", onclose: () => dialog.remove() },
    make("h2", {}, "Keys"),
    make("table", {}, make("tbody", {}, ...rows)),
    make("p", {}, "Arrows, Home and End move within the grid of tasks, Enter opens a task."),
    make("label", {}, single, " Keys are on"),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

// The grid of tasks is one tab stop: the cells of the active group, as a slider over all tasks. Names come with the group
// that is pointed at.

const names = new Map(); // Links of a group, by the address of its names.
let active = 0, label, pointed;

function namesOf(group) {
  const address = group.querySelector("[data-names]")?.dataset.names;
  const known = names.get(address);
  if (!address || known?.until > Date.now()) return known?.links ?? [];
  const links = request(address).answer.then(parse).then((page) => [...page?.querySelectorAll(".names a") ?? []]).catch(() => []);
  names.set(address, { links, until: Date.now() + 10_000 });
  return links;
}

/** Shows the name and the state of a cell; returns the address of its task. */
async function point(cell) {
  pointed = cell;
  const group = cell.closest(".group");
  const link = (await namesOf(group))[[...group.querySelectorAll(".cell")].indexOf(cell)];
  if (pointed !== cell) return link?.href; // The label is that of a newer cell.
  const state = /state-(\S+)/.exec(cell.className)[1].replaceAll("_", " ");
  label.replaceChildren(...link ? [link.cloneNode(true), `, ${state}`] : [state]);
  if (cell.hasAttribute("data-active")) cell.parentElement.setAttribute("aria-valuetext", label.textContent);
  return link?.href;
}

function activate(index, focus) {
  const all = [...document.querySelectorAll(".grid .cell")];
  active = Math.min(Math.max(index, 0), all.length - 1);
  for (const former of document.querySelectorAll(".grid [data-active]")) {
    former.removeAttribute("data-active");
    if (former.hasAttribute("tabindex")) former.tabIndex = -1;
  }
  const cell = all[active], cells = cell?.parentElement;
  if (!cell) return;
  cell.dataset.active = "";
  const slider = { "data-active": "", tabindex: 0, role: "slider", "aria-label": "Task", "aria-valuenow": active + 1, "aria-valuemin": 1, "aria-valuemax": all.length };
  for (const [name, value] of Object.entries(slider)) cells.setAttribute(name, value);
  if (!focus) return;
  cells.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest" });
  point(cell);
}

function move(event) {
  if (!event.target.matches?.(".grid .cells")) return false;
  const groups = [...document.querySelectorAll(".grid .group")], top = groups[0].offsetTop;
  const across = Math.max(1, groups.findIndex((group) => group.offsetTop > top));
  const [group, row] = [Math.floor(active / 100), Math.floor(active / 10) % 10];
  const to = {
    ArrowRight: active + 1,
    ArrowLeft: active - 1,
    ArrowDown: row < 9 ? active + 10 : (group + across) * 100 + active % 10,
    ArrowUp: row > 0 ? active - 10 : (group - across) * 100 + 90 + active % 10,
    Home: 0,
    End: Infinity,
  }[event.key];
  if (event.key === "Enter") point($(".cell[data-active]")).then((address) => address && visit(address));
  else if (to === undefined) return false;
  else if (to >= 0) activate(to, true);
  event.preventDefault();
  return true;
}

function prepare() {
  const grid = $(".grid");
  if (!grid) return;
  if (!label?.isConnected) {
    label = make("output", { class: "pointed", "data-own": "", "aria-live": "off" }, "Point at a task to see its name.");
    grid.before(label);
  }
  for (const link of grid.querySelectorAll("[data-names]:not([tabindex])")) link.tabIndex = -1;
  if (!grid.querySelector(".cell[data-active]")) activate(active);
}

for (const type of ["pointerover", "focusin", "click"]) {
  document.addEventListener(type, async ({ target }) => {
    const cell = target.closest?.(".grid .cell") ?? target.querySelector?.(".grid .cells > [data-active]");
    if (!cell || !label || !target.closest(".grid .cells")) return;
    const address = await point(cell);
    if (type === "click" && address) visit(address);
  });
}
document.addEventListener("cts:newer", prepare);
prepare();

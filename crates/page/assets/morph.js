// Newer HTML in the place of older HTML: the morph, fragments that have changed, and navigation.
//
// The morph keeps what a reader has done: elements stay, with their focus, selection, scroll position, open details and
// popovers, and only what differs is written. Children are partners by `id`, else by position and tag. Elements with
// `data-keep` keep their content, elements with `data-own` are of the scripts; a form that somebody has begun is never
// touched.

import { announce, frozen, hush, make, marks, parse, prefix, say, sayLogin } from "./live.js";

const root = document.documentElement;

// Attributes that scripts and readers set.
const OURS = new Set(["open", "tabindex", "data-ago", "aria-busy", "data-unanswered"]); // `data-active` keeps all of them.

const isKept = (node) => node.hasAttribute("data-keep");
// A field with the name `id` hides the property of its form.
const idOf = (node) => node.nodeType === 1 ? node.getAttribute("id") : null;
// A form that is sent once more has the same key, so that what it requests is made once.
const isSent = (form) => form.hasAttribute("aria-busy") || form.hasAttribute("data-unanswered");
const isOwn = (node) => node.nodeType === 1 && node.hasAttribute("data-own");

function isChanged(control) {
  const { options, type } = control;
  if (type === "checkbox" || type === "radio") return control.checked !== control.defaultChecked;
  if (type === "select-one") return control.selectedIndex !== Math.max(0, [...options].findIndex((o) => o.defaultSelected));
  if (options) return [...options].some((option) => option.selected !== option.defaultSelected);
  return control.defaultValue !== undefined && control.value !== control.defaultValue;
}

/** Whether a form has fields that were changed, and that `next` does not have with the same value. */
function isBegun(form, next) {
  const has = ({ name, type, value, checked }) => {
    const same = [...next?.elements ?? []].find((other) => other.name === name && (type !== "radio" || other.value === value));
    return same && same.value === value && same.checked === checked;
  };
  return [...form.elements].some((control) => isChanged(control) && !has(control));
}

function sayNewer(form) {
  if (form.method !== "post") return;
  const show = () => {
    form.reset();
    hush("form");
    visit(location.href, "refresh");
  };
  say("form", "Newer data are there. The form that you have begun is unchanged.",
    make("button", { type: "button", onclick: show }, "Show newer data"));
}

function morphAttributes(old, next) {
  for (const name of next.getAttributeNames()) {
    const value = next.getAttribute(name);
    if (!OURS.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.hasAttribute("data-active")) return;
  for (const name of old.getAttributeNames()) {
    if (!OURS.has(name) && !next.hasAttribute(name)) old.removeAttribute(name);
  }
}

/** Writes the middle that differs, so that a selection around it stays. */
function morphText(old, next) {
  const [from, to] = [old.data, next.data];
  let start = 0, end = 0;
  while (start < from.length && from[start] === to[start]) start += 1;
  while (end < Math.min(from.length, to.length) - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  old.replaceData(start, from.length - start - end, to.slice(start, to.length - end));
}

function partnerOf(want, at, byId) {
  const id = idOf(want);
  if (id) {
    const same = byId.get(id);
    return same?.nodeName === want.nodeName && byId.delete(id) ? same : undefined;
  }
  for (let node = at, left = 8; node && left; node = node.nextSibling, left -= 1) {
    if (node.nodeName === want.nodeName && !idOf(node) && !isOwn(node)) return node;
  }
  return undefined;
}

function drop(node) {
  if (isOwn(node)) return;
  const forms = node.nodeType === 1 ? [node, ...node.querySelectorAll("form")] : [];
  const begun = forms.find((form) => form.localName === "form" && isBegun(form));
  if (begun) sayNewer(begun);
  else node.remove();
}

function morphChildren(old, next) {
  const byId = new Map([...old.children].filter(idOf).map((child) => [idOf(child), child]));
  const wanted = new Set([...next.children].map(idOf));
  let at = old.firstChild;
  for (const want of [...next.childNodes]) {
    while (at && (isOwn(at) || (idOf(at) && !wanted.has(idOf(at))))) {
      const gone = at;
      at = at.nextSibling;
      drop(gone);
    }
    const partner = partnerOf(want, at, byId);
    if (!partner) {
      old.insertBefore(want, at);
      continue;
    }
    if (partner === at) at = at.nextSibling;
    else if (old.moveBefore) old.moveBefore(partner, at);
    else old.insertBefore(partner, at);
    morphNode(partner, want);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    drop(gone);
  }
}

function morphNode(old, next) {
  if (isOwn(old) || old.isEqualNode(next)) return;
  if (old.nodeType !== 1) {
    morphText(old, next);
    return;
  }
  const isForm = old.localName === "form";
  if (isForm && isSent(old) && old.getAttribute("action") === next.getAttribute("action")) return;
  if (isForm && isBegun(old, next)) {
    sayNewer(old);
    return;
  }
  morphAttributes(old, next);
  if (isKept(old)) return;
  morphChildren(old, next);
  if (isForm && [...old.elements].some(isChanged)) old.reset();
}

/** Makes `old` equal to `next`, except for what the reader has done. `next` is used up. */
export function morph(old, next) {
  const focused = document.activeElement ?? document.body;
  const range = focused.selectionStart === null ? undefined : [focused.selectionStart, focused.selectionEnd];
  morphNode(old, next);
  if (document.activeElement === focused || focused === document.body) return;
  const to = focused.isConnected ? focused : document.querySelector("main");
  to.focus({ preventScroll: true });
  if (to === focused && range?.[0] !== undefined) focused.setSelectionRange(...range);
}

// Fragments.

const drawn = new WeakMap(); // The mark that the content of each fragment is as new as.
const etags = new WeakMap();
const next = new WeakMap(); // The earliest time of the next request.
const loading = new WeakSet();
const visible = new WeakSet();
let running = 0, timer;

const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) visible[isIntersecting ? "add" : "delete"](target);
  update();
}, { rootMargin: "50%" });

const fragments = () => [...document.querySelectorAll("[data-live]")];
const isDue = (fragment) => {
  const mark = marks.get(fragment.dataset.live);
  return mark !== undefined && drawn.get(fragment) !== mark;
};

/** Asks for the fragments that have changed; after a connection (`first`) for many of them at once by the whole page. */
export function update(first) {
  if (document.hidden || frozen()) return;
  const due = fragments().filter((one) => isDue(one) && !isDue(one.parentElement.closest("[data-live]") ?? root));
  if (first && due.length > 4) {
    visit(location.href, "refresh");
    return;
  }
  const now = Date.now();
  let wait = Infinity;
  for (const fragment of due) {
    // A followed log counts as visible, because only its fragment tells that the run has ended.
    if (!(visible.has(fragment) || fragment.querySelector("[data-after]")) || loading.has(fragment)) continue;
    const left = (next.get(fragment) ?? 0) - now;
    if (left > 0) wait = Math.min(wait, left);
    else if (running < 4) bring(fragment);
  }
  clearTimeout(timer);
  if (wait < Infinity) timer = setTimeout(update, wait);
}

async function bring(fragment) {
  // While the browser goes back, its address is no longer that of the fragment.
  const then = new Map(marks), shown = place;
  const address = new URL(shown, location.origin);
  address.searchParams.set("fragment", fragment.id);
  address.searchParams.set("v", then.get(fragment.dataset.live).split(" ")[0]);
  const headers = etags.has(fragment) ? { "If-None-Match": etags.get(fragment) } : {};
  loading.add(fragment);
  running += 1;
  next.set(fragment, Date.now() + 1000);
  try {
    const response = await fetch(address, { headers, cache: "no-store" });
    const page = response.ok ? await parse(response) : undefined;
    if (place !== shown || frozen()) return;
    if (response.status === 401) sayLogin();
    const newer = page?.getElementById(fragment.id);
    if (newer) {
      morph(fragment, newer);
      etags.set(fragment, response.headers.get("ETag") ?? "");
    } else if (response.status !== 304 && response.status !== 404) {
      throw new Error(`a fragment was answered with ${response.status}`);
    }
    settle(fragment, then);
    // The last group of the grid is empty. Once it has tasks, the page brings a new empty group.
    if (newer && fragment.matches(".grid > .group:last-child") && fragment.childElementCount) visit(location.href, "refresh");
  } catch {
    next.set(fragment, Date.now() + 10_000);
  } finally {
    loading.delete(fragment);
    running -= 1;
    update();
  }
}

/** Notes that an element and its fragments are as new as `then`. */
function settle(element, then) {
  for (const fragment of [element, ...element.querySelectorAll("[data-live]")]) {
    if (!fragment.dataset.live) continue;
    drawn.set(fragment, then.get(fragment.dataset.live));
    observer.observe(fragment);
  }
  document.dispatchEvent(new CustomEvent("cts:newer", { detail: element }));
}

// Navigation.

const script = new URL("live.js", import.meta.url).href;
let visits = 0, navigates = false, place = location.pathname + location.search, prefetched;

/** Fetches a page. */
export function request(address, options = {}) {
  const answer = fetch(address, { cache: "no-store", ...options, headers: { "Cts-Navigate": "1" } });
  answer.catch(() => {});
  return { then: new Map(marks), answer };
}

/**
 * Swaps in the page at an address: `push` adds to the history, `replace` does not, `pop` is there already, `refresh`
 * stays. Anything unknown is a full load.
 */
export async function visit(address, how = "push", asked = request(address)) {
  if (how === "refresh" && navigates) return;
  navigates = how !== "refresh";
  visits += 1;
  const turn = visits;
  const slow = setTimeout(() => { root.dataset.busy = ""; }, 150);
  let response, page;
  try {
    response = await asked.answer;
    page = response.ok ? await parse(response) : undefined;
  } catch {
    // Without an answer the browser shows why.
  }
  clearTimeout(slow);
  if (turn !== visits) return;
  navigates = false;
  delete root.dataset.busy;
  const known = page?.querySelector("main") && new URL(page.querySelector("script[src]")?.src ?? "", script).href === script;
  if (known) {
    show(page, new URL(new URL(address).hash, response.url), how, asked.then);
  } else if (how !== "refresh") {
    if (how === "pop") location.reload();
    else location.assign(response?.redirected ? response.url : address);
  } else if (response?.status === 401) {
    sayLogin();
  } else {
    setTimeout(update, 5000);
  }
}

function show(page, url, how, then) {
  const main = document.querySelector("main"), newer = page.querySelector("main");
  const samePath = url.pathname === place.split("?")[0];
  if (how === "push" || how === "replace") {
    if (how === "push") history.replaceState({ y: scrollY }, "");
    history[`${how}State`]({}, "", url);
  }
  place = url.pathname + url.search;
  hush("login");
  if (how !== "refresh") ["form", "send"].forEach(hush);
  document.title = page.title;
  root.dataset.now = page.documentElement.dataset.now ?? "";
  morph(document.querySelector("header"), page.querySelector("header"));
  if (samePath) {
    morph(main, newer);
  } else {
    morphAttributes(main, newer);
    main.replaceChildren(...newer.childNodes);
  }
  for (const fragment of fragments()) etags.delete(fragment);
  settle(main, then);
  announce();
  if (how !== "refresh") arrive(main, url, how, samePath);
}

/** Puts focus and scroll position where a load would put them. */
function arrive(main, url, how, samePath) {
  const target = url.hash && document.getElementById(decodeURIComponent(url.hash.slice(1)));
  const top = document.activeElement.closest(".pager") || document.activeElement === document.body;
  if (!samePath || top) {
    const heading = main.querySelector("h1") ?? main;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
  if (how === "pop") scrollTo(0, history.state?.y ?? 0);
  else if (target) target.scrollIntoView();
  else if (!samePath || top) scrollTo(0, 0);
}

/** Whether a click opens a link in this tab. */
export const isPlain = (event) => !(event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);

/** The address of a link that the page can follow itself. */
function ownAddress(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || !isPlain(event)) return undefined;
  if (link.target || link.hasAttribute("download") || !link.href.startsWith(prefix)) return undefined;
  const inPage = link.hash && (link.pathname + link.search === place || link.matches(".line > .at"));
  return inPage ? undefined : link.href;
}

document.addEventListener("pointerdown", (event) => {
  const address = ownAddress(event);
  if (!address) return;
  const control = new AbortController();
  prefetched?.control.abort();
  prefetched = { address, control, asked: request(address, { signal: control.signal }) };
  setTimeout(() => { if (prefetched?.control === control) control.abort(prefetched = undefined); }, 3000);
});

document.addEventListener("click", (event) => {
  const address = event.defaultPrevented ? undefined : ownAddress(event);
  if (!address) return;
  event.preventDefault();
  const asked = prefetched?.address === address ? prefetched.asked : undefined;
  if (asked) prefetched = undefined;
  visit(address, address === location.href ? "replace" : "push", asked);
});

addEventListener("popstate", ({ state }) => {
  if (location.pathname + location.search !== place) visit(location.href, "pop");
  else if (state?.y !== undefined) scrollTo(0, state.y);
});
history.scrollRestoration = "manual";
addEventListener("scrollend", () => history.replaceState({ y: scrollY }, ""));
addEventListener("pagehide", () => { history.scrollRestoration = "auto"; });
addEventListener("pageshow", () => { history.scrollRestoration = "manual"; });

for (const fragment of fragments()) observer.observe(fragment);

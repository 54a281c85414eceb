// Forms: sent once, in the background, so that what was typed stays if the session has ended; confirmations by typing;
// and lines to copy.

import { hush, make, parse, say, sayLogin } from "./live.js";
import { morph, request, visit } from "./morph.js";

const sending = new WeakSet();

function fieldsOf(form, submitter) {
  return new URLSearchParams(new FormData(form, submitter?.form === form ? submitter : undefined));
}

function search(form, submitter, how = "push") {
  const address = new URL(form.action);
  address.search = fieldsOf(form, submitter);
  visit(address.href, how);
}

/** What a refused form has in it counts as typed, so that newer data do not replace it. */
function claim(form) {
  for (const control of form.elements) {
    const { value, checked } = control;
    if (control.type === "text") [control.defaultValue, control.value] = ["", value];
    if (control.type === "checkbox") [control.defaultChecked, control.checked] = [false, checked];
  }
}

/** Shows the reason of a refusal above the screen, and the fields of the form with their errors. */
function refuse(form, page, status) {
  const action = form.getAttribute("action");
  const newer = [...page?.forms ?? []].find((other) => other.getAttribute("action") === action);
  const notice = page?.getElementById("notice")
    ?? make("p", { id: "notice", role: "alert", class: "notice failed" }, `The gateway refused the form (${status}).`);
  notice.dataset.own = ""; // The reason stays when newer data come.
  document.querySelector("h1").after(notice);
  if (newer) {
    form.reset(); // The answer has the fields that stay filled.
    morph(form, newer);
    claim(form);
  }
  const field = form.querySelector("[aria-invalid=true]") ?? notice;
  if (field === notice) notice.tabIndex = -1;
  field.focus();
}

async function send(form, submitter) {
  sending.add(form);
  form.setAttribute("aria-busy", "true");
  hush("send");
  document.getElementById("notice")?.remove();
  try {
    const address = submitter?.getAttribute("formaction") ? submitter.formAction : form.action;
    const asked = request(address, { method: "POST", body: fieldsOf(form, submitter) });
    const response = await asked.answer;
    ["aria-busy", "data-unanswered"].forEach((mark) => form.removeAttribute(mark));
    if (response.status === 401) sayLogin();
    else if (response.redirected) {
      form.reset();
      await visit(response.url, "push", asked);
    } else refuse(form, await parse(response), response.status);
  } catch {
    form.dataset.unanswered = "";
    say("send", "No answer came. Look at the task before you send the form again.");
  } finally {
    sending.delete(form);
    form.removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target, { submitter } = event;
  if (event.defaultPrevented || !form.closest("main") || !document.getElementById("tools")) return;
  event.preventDefault();
  if (form.method === "get") search(form, submitter);
  else if (form.method === "post" && !sending.has(form)) send(form, submitter);
});

let typing;

document.addEventListener("input", ({ target }) => {
  const { form } = target;
  if (form?.getAttribute("role") !== "search" || target.type !== "search") return;
  clearTimeout(typing);
  typing = setTimeout(() => { if (form.isConnected) search(form, undefined, "replace"); }, 300);
});

function copy({ target }) {
  const line = target.closest(".command"), text = line.firstChild.textContent;
  const done = () => { target.textContent = "Copied"; };
  // Over plain HTTP there is no clipboard: the text is selected in a field instead.
  const select = () => {
    const field = make("input", { readonly: "", "data-own": "", "aria-label": "Text to copy: press Ctrl+C" });
    field.value = text;
    target.replaceWith(field);
    field.select();
    field.addEventListener("blur", () => field.replaceWith(target));
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select);
  else select();
}

function prepare(element) {
  for (const line of element.querySelectorAll(".command:not(:has(.copy, input))")) {
    line.append(make("button", { type: "button", class: "copy", "data-own": "", onclick: copy }, "Copy"));
  }
}

document.addEventListener("cts:newer", ({ detail }) => prepare(detail));
prepare(document);
for (const form of document.forms) if (form.method === "post") claim(form);

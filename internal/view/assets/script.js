// Comfort only: every page works without this file.
"use strict";

// WCAG 2.1.4: shortcuts of one character are inactive in fields, and the reader can turn them off in the
// dialog that the button in the footer opens.
const shortcuts = {
  get on() {
    try { return localStorage.getItem("shortcuts") !== "off"; } catch { return true; }
  },
  set on(value) {
    try { localStorage.setItem("shortcuts", value ? "on" : "off"); } catch { /* then it is not remembered */ }
  },
};

const help = [
  ["/", "move to the search field"],
  ["j, k", "move to the next, the previous result"],
  ["Enter", "open the result"],
  ["?", "show this list"],
];

// element returns a new element with text.
function element(name, text = "") {
  const out = document.createElement(name);
  out.textContent = text;
  return out;
}

// makeDialog returns the dialog that lists the shortcuts.
function makeDialog() {
  const dialog = element("dialog");
  const title = element("h2", "Keyboard shortcuts");
  title.id = "shortcuts-title";
  dialog.setAttribute("aria-labelledby", title.id);
  const list = element("dl");
  list.className = "pairs";
  for (const [keys, words] of help) {
    const term = element("dt");
    term.append(element("kbd", keys));
    list.append(term, element("dd", words));
  }
  const label = element("label", " Use these shortcuts");
  const box = element("input");
  box.type = "checkbox";
  box.checked = shortcuts.on;
  box.addEventListener("change", () => { shortcuts.on = box.checked; });
  label.prepend(box);
  label.className = "choice";
  const close = element("button", "Close");
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, list, label, close);
  document.body.append(dialog);
  return dialog;
}

let dialog;
function showHelp() {
  dialog ??= makeDialog();
  if (!dialog.open) dialog.showModal();
}

// move focuses the link of the result that is one step away from the focused one.
function move(step) {
  const results = [...document.querySelectorAll(".results > li")];
  if (results.length === 0) return false;
  const now = results.findIndex((one) => one.contains(document.activeElement));
  const next = results[now < 0 ? (step > 0 ? 0 : results.length - 1) : now + step];
  const link = next && (next.querySelector("a.hit") ?? next.querySelector("a"));
  if (link) {
    link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
  return true;
}

// focusSearch moves to the search field of the page, if there is one.
function focusSearch() {
  const field = document.querySelector("input[type=search]");
  field?.focus();
  field?.select();
  return Boolean(field);
}

const actions = {
  "/": focusSearch,
  "j": () => move(1),
  "k": () => move(-1),
  "?": () => { showHelp(); return true; },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog, [contenteditable]");
  const action = actions[event.key];
  if (!action || typing || event.ctrlKey || event.metaKey || event.altKey || !shortcuts.on) return;
  if (action()) event.preventDefault();
});

// The button exists only with this script, because without it there are no shortcuts.
const button = element("button", "Keyboard shortcuts");
button.type = "button";
button.className = "second";
button.addEventListener("click", showHelp);
document.querySelector("body > footer")?.append(button);

// A search without values has a shorter address without the empty fields.
for (const form of document.querySelectorAll("form[method=get]")) {
  form.addEventListener("submit", () => {
    for (const field of form.querySelectorAll("input[name], select[name]")) {
      if (field.value === "" && field.name !== "q") field.disabled = true;
    }
  });
}
window.addEventListener("pageshow", () => { // after "back", the fields can be used again
  for (const field of document.querySelectorAll("form[method=get] [name]")) field.disabled = false;
});

// During a crawl, the parts of the page that change are renewed while the page is visible.
const part = (page, name) => page.querySelector(`[data-live="${name}"]`);
if (part(document, "crawl")) {
  const end = new AbortController();
  const renew = async () => {
    if (document.hidden) return;
    const crawl = part(document, "crawl");
    const answer = await fetch(location.href).catch(() => null);
    if (!answer) { // the server of crawl --serve ends with the crawl
      crawl.replaceChildren(element("p", "This archive does not answer. The crawl may have ended."));
    }
    if (!answer || !answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const ended = !part(next, "crawl");
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = part(next, old.dataset.live);
      if (now && !old.contains(document.activeElement)) old.replaceWith(now);
    }
    if (ended) {
      end.abort();
      crawl.replaceChildren(element("p", "The crawl has ended. Reload this page."));
    }
  };
  const timer = setInterval(renew, 5000);
  end.signal.addEventListener("abort", () => clearInterval(timer));
  document.addEventListener("visibilitychange", renew, { signal: end.signal });
}

// Comfort only: every page works without this file.
"use strict";

// "/" moves to the search field, as on many sites. In form fields it stays a character.
document.addEventListener("keydown", (event) => {
  const field = document.querySelector("input[type=search]");
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && field && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
    field.select();
  }
});

// The progress of a running crawl is renewed while the page is visible.
const live = document.querySelector("[data-live]");
if (live) {
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(location.href).catch(() => null);
    if (!answer || !answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
    if (next) live.replaceChildren(...next.childNodes);
  }, 5000);
}

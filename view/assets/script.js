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

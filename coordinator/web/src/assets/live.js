// Keeps the parts of a page up to date. Without it the page is loaded anew every few seconds, and does the same.
"use strict";

const main = document.querySelector("main[data-live]");
const link = document.getElementById("link");
const parts = main.querySelectorAll("[data-part]");
let source = null;
let isOver = false;

function say(what) {
  link.hidden = false;
  link.dataset.state = what;
  link.textContent = link.dataset[what];
}

// Puts a part in place; who is at work in it with the keyboard, has typed or scrolled in it, finds it
// as he left it.
function put(part, text) {
  const held = part.contains(document.activeElement) ? document.activeElement.id : null;
  const open = [...part.querySelectorAll("details[open][id]")].map((one) => one.id);
  const typed = [...part.querySelectorAll("input[id]")].map((one) => [one.id, one.value, one.checked]);
  const places = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  part.innerHTML = text;
  part.querySelectorAll(".scroll").forEach((one, number) => { one.scrollLeft = places[number] ?? 0; });
  open.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
  for (const [id, value, isChecked] of typed) {
    const field = document.getElementById(id);
    if (field !== null) Object.assign(field, { value, checked: isChecked });
  }
  if (held !== null) {
    (document.getElementById(held) ?? part.querySelector("a, button, summary") ?? main).focus({ preventScroll: true });
  }
}

function begin() {
  if (source !== null || isOver) return;
  source = new EventSource(main.dataset.live);
  source.onopen = () => say("on");
  source.onerror = () => say("off");
  source.addEventListener("over", () => { isOver = true; end(); say("over"); });
  for (const part of parts) {
    source.addEventListener(part.dataset.part, (event) => put(part, event.data));
  }
}

function end() {
  source?.close();
  source = null;
}

// A page that nobody sees needs no stream: browsers allow few of them.
document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()));
addEventListener("pagehide", end);
addEventListener("pageshow", begin);
begin();

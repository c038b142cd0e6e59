// Opens the flows of an address below those that link them. Without scripts, the same links lead to a page of their own.
"use strict";

const first = document.getElementById("flows");
// Readers who do not see the page are told by it.
const status = document.createElement("p");
status.className = "hidden";
status.setAttribute("role", "status");
document.querySelector("main").append(status);

// Parts that were opened, each with its link; and the parts of each view, by the number in its entry of the history.
const links = new Map();
const views = [[]];
let shown = views[0];
history.replaceState({ view: 0 }, "");

// Shows the parts of a view below each other. A part that goes gives the focus back to its link.
function show(parts) {
  const gone = shown.filter((part) => !parts.includes(part));
  const hadFocus = gone.some((part) => part.contains(document.activeElement));
  gone.forEach((part) => part.remove());
  let above = first;
  for (const part of parts) {
    if (above.nextElementSibling !== part) above.after(part);
    above = part;
  }
  shown = parts;
  if (hadFocus) links.get(gone[0]).focus();
}

// Reads the page of an address, and returns the part of it that has the flows, with the verdict on top.
async function read(url) {
  const response = await fetch(url);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const part = page.getElementById("flows");
  if (!response.ok || !part) throw new Error(`no flows at ${url}`);
  const heading = part.querySelector("h2");
  heading.textContent = `Flows of funds of ${page.querySelector("h1").textContent}`;
  heading.after(...page.querySelectorAll(".answer .sentence, .answer .kept"));
  part.removeAttribute("id");
  part.className = "hop";
  return part;
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href$='#flows']");
  const isOther = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || isOther) return;
  event.preventDefault();
  if (link.hasAttribute("aria-busy")) return;
  link.setAttribute("aria-busy", "true");
  status.textContent = "Reading the flows.";
  const url = link.getAttribute("href");
  try {
    const part = await read(url);
    links.set(part, link);
    // Parts below the one with the link belong to another path.
    const above = shown.findIndex((other) => other.contains(link));
    const parts = [...shown.slice(0, above + 1), part];
    show(parts);
    history.pushState({ view: views.push(parts) - 1 }, "");
    status.textContent = `${part.querySelector("h2").textContent} are shown below.`;
    part.scrollIntoView({ block: "nearest" });
  } catch {
    location.assign(url);
  } finally {
    link.removeAttribute("aria-busy");
  }
});

addEventListener("popstate", ({ state }) => show(views[state?.view] ?? []));

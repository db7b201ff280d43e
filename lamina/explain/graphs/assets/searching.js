// The search field: a list of what was found, to be walked with the arrow keys.

const field = document.getElementById("search");
const list = document.getElementById("found");
const mostFound = 40;
const hunt = { found: [], at: -1 };

const texts = nodes.map((node) => {
  const place = placeOf(node);
  const where = place ? `${placeInWords(place)} ${place.expression}` : "";
  const path = node.group === null ? "" : groups[node.group].path;
  return [node.name, node.word, node.class_name, node.outputs.join(" "), where, path].join(" ").toLowerCase();
});

function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const score = (number) => {
    const node = nodes[number];
    const exact = [node.name, node.word].some((name) => name && name.toLowerCase() === text.trim().toLowerCase());
    return exact ? 0 : words.every((word) => `${node.name || ""} ${node.word}`.toLowerCase().includes(word)) ? 1 : 2;
  };
  return nodes
    .map((_, number) => number)
    .filter((number) => words.every((word) => texts[number].includes(word)))
    .map((number) => [score(number), number])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .map(([, number]) => number);
}

function choose(position) {
  hunt.at = position;
  [...list.querySelectorAll("[role=option]")].forEach((item, k) => {
    item.setAttribute("aria-selected", String(k === position));
    if (k === position) item.scrollIntoView({ block: "nearest" });
  });
  if (position < 0) field.removeAttribute("aria-activedescendant");
  else field.setAttribute("aria-activedescendant", `found-${position}`);
}

function showFound() {
  hunt.found = find(field.value);
  list.replaceChildren();
  hunt.found.slice(0, mostFound).forEach((number, k) => {
    const node = nodes[number];
    const item = element("li", titleOf(node), list);
    item.id = `found-${k}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    const place = placeOf(node);
    element("small", [node.outputs[0], place && `${placeInWords(place)}  ${place.expression}`].filter(Boolean).join("  "), item);
    item.addEventListener("click", () => take(k));
  });
  const isOpen = Boolean(field.value.trim());
  list.hidden = !isOpen || !hunt.found.length;
  field.setAttribute("aria-expanded", String(!list.hidden));
  const more = hunt.found.length > mostFound ? `, the first ${mostFound} are listed` : "";
  if (isOpen) say(hunt.found.length ? `${hunt.found.length} found${more}` : `nothing is called "${field.value.trim()}"`);
  choose(hunt.found.length && isOpen ? 0 : -1);
}

function closeFound() {
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
  choose(-1);
}

function take(position) {
  const number = hunt.found[position];
  closeFound();
  if (number !== undefined) reveal(number);
}

function startSearching() {
  field.addEventListener("input", showFound);
  field.addEventListener("focus", () => field.value && showFound());
  field.addEventListener("blur", () => setTimeout(closeFound, 150));
  field.addEventListener("keydown", (event) => {
    const count = Math.min(hunt.found.length, mostFound);
    if (event.key === "ArrowDown" && count) choose((hunt.at + 1) % count);
    else if (event.key === "ArrowUp" && count) choose((hunt.at + count - 1) % count);
    else if (event.key === "Enter" && hunt.at >= 0) take(hunt.at);
    else if (event.key === "Escape") closeFound();
    else return;
    event.preventDefault();
  });
}

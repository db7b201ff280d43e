// Focus, keys, folding, zoom, and the start of all.

const leastScale = 0.85;
const mostVisible = 300;
const focus = { key: null };

function say(text) {
  sentence.textContent = text;
}

function intoView(key) {
  const made = drawing.elements.get(key);
  if (!made) return;
  const box = made.getBoundingClientRect();
  const frame = canvas.getBoundingClientRect();
  const margin = 40;
  if (box.left < frame.left + margin || box.right > frame.right - margin) canvas.scrollLeft += (box.left + box.right - frame.left - frame.right) / 2;
  if (box.top < frame.top + margin || box.bottom > frame.bottom - margin) canvas.scrollTop += (box.top + box.bottom - frame.top - frame.bottom) / 2;
}

function select(key, moveFocus) {
  drawing.elements.forEach((made) => {
    made.classList.remove("selected");
    made.setAttribute("tabindex", "-1");
  });
  const made = drawing.elements.get(key);
  if (!made) return;
  focus.key = key;
  made.setAttribute("tabindex", "0");
  made.classList.add("selected");
  drawing.edges.forEach((edge) => edge.path.classList.toggle("near", edge.source === key || edge.target === key));
  const number = numberOf(key);
  if (key[0] === "n") showNode(number);
  else showGroup(number);
  if (moveFocus) made.focus({ preventScroll: true });
  intoView(key);
}

// Draw again after groups were opened or folded; what `key` names stays where it is on the screen.
function redraw(key) {
  const old = drawing.elements.get(key);
  const before = old && old.getBoundingClientRect();
  const other = key[0] === "g" ? `b${key.slice(1)}` : key[0] === "b" ? `g${key.slice(1)}` : key;
  draw();
  showStep();
  const made = drawing.elements.get(key) || drawing.elements.get(other);
  if (!made) return;
  if (before) {
    const after = made.getBoundingClientRect();
    canvas.scrollLeft += after.left - before.left;
    canvas.scrollTop += after.top - before.top;
  }
  select(made.dataset.key, true);
}

function toggle(number) {
  const isOpen = open.has(number);
  if (!isOpen && countIfOpen([number]) > mostVisible) {
    say(`More than ${mostVisible} boxes would be drawn. Fold something else first.`);
    return;
  }
  if (isOpen) open.delete(number);
  else open.add(number);
  redraw(isOpen ? `b${number}` : `g${number}`);
}

function reveal(number) {
  openAround(number);
  redraw(`n${number}`);
}

function setAll(isOpen) {
  if (!isOpen) open.clear();
  else {
    // Outer groups first, as many as can be drawn.
    groups.forEach((_, number) => {
      if (isVisibleGroup(number) && countIfOpen([number]) <= mostVisible) open.add(number);
    });
    const left = groups.length - open.size;
    if (left) say(`${left} groups stay folded: not more than ${mostVisible} boxes are drawn at once.`);
  }
  redraw(focus.key || standingFor(model.roots[0]));
  fit(false);
}

// The nearest visible neighbours of a node or group, along edges.
function along(key, direction) {
  const found = [];
  drawing.edges.forEach((edge) => {
    if (direction === "up" && edge.target === key) found.push(edge.source);
    if (direction === "down" && edge.source === key) found.push(edge.target);
  });
  const at = (k) => drawing.layout.shown.get(k);
  return found.sort((a, b) => Math.abs(at(a).x - at(key).x) - Math.abs(at(b).x - at(key).x))[0];
}

// The neighbour on the same level.
function beside(key, sign) {
  const own = drawing.layout.shown.get(key);
  let best = null;
  drawing.layout.shown.forEach((item, other) => {
    const distance = (item.x - own.x) * sign;
    if (other !== key && distance > 0 && Math.abs(item.y - own.y) < 45 && (best === null || distance < best.distance)) best = { other, distance };
  });
  return best && best.other;
}

function moveFrom(key, name) {
  if (key[0] === "b") {
    if (!["ArrowUp", "ArrowDown"].includes(name)) return null;
    const inside = [...drawing.layout.shown.keys()].filter((k) => groupOfKey(k) === numberOf(key));
    return inside[0] || null;
  }
  const moves = {
    ArrowUp: () => along(key, "up"),
    ArrowDown: () => along(key, "down"),
    ArrowLeft: () => beside(key, -1),
    ArrowRight: () => beside(key, 1),
    Home: () => [...drawing.layout.shown.keys()][0],
    End: () => standingFor(model.roots[0]),
  };
  return moves[name] ? moves[name]() : null;
}

function onNodeKey(event) {
  const made = event.target.closest("[data-key]");
  if (!made || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = made.dataset.key;
  if (event.key === "Enter" || event.key === " ") activate(key);
  else if (event.key === "f") {
    const around = key[0] === "b" ? numberOf(key) : groupOfKey(key);
    if (around !== null) toggle(around);
  } else {
    const next = moveFrom(key, event.key);
    if (!next) return;
    select(next, true);
  }
  event.preventDefault();
  event.stopPropagation();
}

function activate(key) {
  if (key[0] === "n") select(key, true);
  else toggle(numberOf(key));
}

function onPageKey(event) {
  const isTyping = event.target.matches("input");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const acts = {
    "/": () => field.focus(),
    n: () => document.getElementById("step").click(),
    p: () => document.getElementById("back").click(),
    "+": () => zoom(1.2),
    "-": () => zoom(1 / 1.2),
    0: () => fit(true),
    "?": () => document.getElementById("help-button").click(),
    Escape: () => showWhole(),
  };
  if (!acts[event.key]) return;
  acts[event.key]();
  event.preventDefault();
}

function zoom(factor) {
  const frame = canvas.getBoundingClientRect();
  const [x, y] = [frame.width / 2, frame.height / 2];
  const [left, top] = [canvas.scrollLeft + x, canvas.scrollTop + y];
  const before = drawing.scale;
  setScale(before * factor);
  canvas.scrollLeft = (left * drawing.scale) / before - x;
  canvas.scrollTop = (top * drawing.scale) / before - y;
}

// Folds the innermost open groups, a level at a time, until the width fits where text is readable.
function foldToFit() {
  while (open.size && drawing.layout.width > (canvas.clientWidth - 8) / leastScale) {
    const deepest = Math.max(...[...open].map(depthOf));
    if (deepest === 0) return; // one box for all of it would show nothing
    [...open].filter((number) => depthOf(number) === deepest).forEach((number) => open.delete(number));
    draw();
  }
}

// At most full size. At the start only the width must fit, and text stays readable.
function fit(isWhole) {
  const { width, height } = drawing.layout;
  const across = (canvas.clientWidth - 8) / width;
  const scale = isWhole ? Math.min(across, (canvas.clientHeight - 8) / height) : Math.max(across, leastScale);
  setScale(Math.min(1, scale));
  if (isWhole) return;
  // What does not fit is shown from its beginning on.
  const first = [...drawing.layout.shown.values()].reduce((top, item) => (item.y < top.y ? item : top));
  canvas.scrollLeft = first.x * drawing.scale - canvas.clientWidth / 2;
}

function startDragging() {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch" || event.target.closest("[data-key]")) return;
    from = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
    canvas.classList.add("dragged");
  });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    canvas.scrollLeft = from.left + from.x - event.clientX;
    canvas.scrollTop = from.top + from.y - event.clientY;
  });
  addEventListener("pointerup", () => {
    from = null;
    canvas.classList.remove("dragged");
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
    event.preventDefault();
  }, { passive: false });
}

function writeHelp() {
  const help = document.getElementById("help");
  const keys = [
    ["↑ ↓", "along the edges, to an input or a use"], ["← →", "to the neighbour"], ["Enter", "unfold, fold, or show"], ["f", "fold the box around"],
    ["n p", "next and previous step of the backward pass"], ["/", "search"], ["+ − 0", "zoom in, out, fit"], ["Home End", "the first node; where backward begins"], ["Esc", "the overview in the panel"],
  ];
  const left = element("div", null, help);
  element("h2", "Keys", left);
  const list = element("dl", null, left);
  keys.forEach(([key, what]) => {
    const term = element("dt", null, list);
    key.split(" ").forEach((part) => {
      element("kbd", part, term);
      term.append(" ");
    });
    element("dd", what, list);
  });
  const right = element("div", null, help);
  element("h2", "Legend", right);
  const legend = element("dl", null, right);
  const shapes = [
    ["operation", "operation", 6], ["operation root", "where the backward pass begins", 6], ["leaf", "leaf: its gradient is collected in .grad", 10], ["data", "data: needs no gradient, kept for a derivative", 10],
    ["group", "folded group: a module's call, or a part", 6], ["operation waiting", "a gradient waits here for its turn", 6], ["operation now", "the current step", 6], ["leaf filled", "its .grad is filled", 10],
  ];
  const line = svgElement("svg", { width: 44, height: 22, "aria-hidden": "true" }, element("dt", null, legend));
  svgElement("path", { class: "edge infinite", d: "M2,11L40,11" }, line);
  element("dd", "a gradient with NaN or infinite numbers, where values were computed", legend);
  shapes.forEach(([kind, what, round]) => {
    const picture = svgElement("svg", { width: 44, height: 22, "aria-hidden": "true" }, element("dt", null, legend));
    const made = svgElement("g", { class: `node ${kind}` }, picture);
    svgElement("rect", { class: "shape", x: 2, y: 2, width: 38, height: 18, rx: round }, made);
    element("dd", what, legend);
  });
}

function startControls() {
  const on = (id, act) => document.getElementById(id).addEventListener("click", act);
  on("fold-all", () => setAll(false));
  on("unfold-all", () => setAll(true));
  on("zoom-in", () => zoom(1.2));
  on("zoom-out", () => zoom(1 / 1.2));
  on("fit", () => fit(true));
  on("help-button", () => {
    const help = document.getElementById("help");
    help.hidden = !help.hidden;
    document.getElementById("help-button").setAttribute("aria-expanded", String(!help.hidden));
  });
  canvas.addEventListener("click", (event) => {
    const made = event.target.closest("[data-key]");
    if (made) activate(made.dataset.key);
  });
  canvas.addEventListener("keydown", onNodeKey);
  canvas.addEventListener("focusin", (event) => {
    const made = event.target.closest("[data-key]");
    if (made && made.dataset.key !== focus.key) select(made.dataset.key, false);
  });
  document.addEventListener("keydown", onPageKey);
}

function start() {
  const title = document.getElementById("title");
  title.append("Graph of ");
  element("code", model.title, title);
  document.getElementById("totals").textContent = model.totals;
  const notes = document.getElementById("notes");
  model.notes.forEach((note) => element("li", note, notes));
  notes.hidden = !model.notes.length;
  writeHelp();
  draw();
  foldToFit();
  fit(false);
  startControls();
  startDragging();
  startStepping();
  startSearching();
  startHints();
  showWhole();
  showStep();
  const first = drawing.elements.get(standingFor(model.roots[0]));
  if (first) first.setAttribute("tabindex", "0");
  document.body.dataset.ready = "true";
}

start();

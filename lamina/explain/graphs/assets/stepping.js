// The backward pass, step by step: what is under way, what was collected, what was dropped.

const steps = model.steps;
const walk = { at: 0, timer: null };
const sentence = document.getElementById("sentence");
const slider = document.getElementById("slider");

function stateAt(count) {
  const filled = new Set();
  const passed = new Set();
  const waiting = new Set(count ? [] : model.roots);
  const sent = new Set();
  steps.slice(0, count).forEach((step) => {
    waiting.delete(step.node);
    (step.action === "accumulate" ? filled : passed).add(step.node);
    step.sent.forEach((number) => {
      sent.add(number);
      if (edges[number].state !== "undefined") waiting.add(edges[number].source);
    });
  });
  return { filled, passed, waiting, sent };
}

// What the pass has not freed yet.
function stillKept(passed) {
  const memory = new Map();
  nodes.forEach((node, number) => {
    if (!passed.has(number)) node.kept.forEach((kept) => kept.extra && memory.set(kept.memory, kept.held));
  });
  const words = keptInWords(memory);
  return words ? `, ${words.replace("keeps ", "")} still kept` : "";
}

function overlay(numbers, kind, withChips) {
  const drawn = new Map();
  numbers.forEach((number) => {
    const name = (endsOf(number) || {}).name;
    if (drawing.edges.has(name)) drawn.set(name, [...(drawn.get(name) || []), number]);
  });
  drawn.forEach((group, name) => {
    const edge = drawing.edges.get(name);
    const none = group.every((number) => edges[number].state === "undefined");
    const path = svgElement("path", { class: `grad ${kind}${none ? " none" : ""}`, d: pathThrough(edge.points), "marker-start": "url(#grad-arrow)" }, drawing.over);
    if (!withChips) return;
    const text = none ? "None" : edges[group[0]].gradient.replace(/].*/, "]") + (group.length > 1 ? ` +${group.length - 1}` : "");
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    chipAt(middle.x, middle.y, text);
  });
}

function chipAt(x, y, text) {
  const width = widthOf(text, "small") + 14;
  const chip = svgElement("g", { class: "chip", transform: `translate(${x - width / 2},${y - 10})` }, drawing.over);
  svgElement("rect", { width, height: 19, rx: 9.5 }, chip);
  svgElement("text", { x: 7, y: 13.5 }, chip).textContent = text;
}

// Says on a node's upper edge that its .grad is filled.
function badge(key) {
  const item = drawing.layout.shown.get(key);
  if (item) chipAt(item.x, item.y - item.height / 2 - 5, ".grad");
}

function showStep() {
  drawing.over.replaceChildren();
  drawing.elements.forEach((made) => made.classList.remove("now", "waiting", "filled", "passed"));
  const state = stateAt(walk.at);
  const step = walk.at ? steps[walk.at - 1] : null;
  if (walk.at) {
    const mark = (numbers, kind) => numbers.forEach((number) => {
      elementsFor(number).forEach((made) => made.classList.add(kind));
    });
    const unfinished = new Set(nodes.map((_, k) => k).filter((k) => nodes[k].kind === "operation" && !state.passed.has(k)).map(standingFor));
    drawing.elements.forEach((made, key) => {
      if (key[0] !== "b" && !unfinished.has(key) && (key[0] === "g" || nodes[numberOf(key)].kind === "operation")) made.classList.add("passed");
    });
    mark([...state.filled].filter((k) => standingFor(k)[0] === "n"), "filled");
    mark(state.waiting, "waiting");
    const now = new Set(step.sent);
    overlay([...state.sent].filter((number) => !now.has(number)), "past", false);
    overlay(step.sent, "", true);
    const key = standingFor(step.node);
    const made = drawing.elements.get(key);
    if (made) {
      made.classList.remove("passed", "waiting");
      made.classList.add("now");
    }
    state.filled.forEach((number) => badge(`n${number}`));
    state.passed.forEach((number) => nodes[number].keeps_gradient && badge(`n${number}`));
  }
  sentence.textContent = step ? step.sentence : steps.length ? "Step through the backward pass: each step takes the newest operation whose gradient is complete." : "There is no backward pass to step through.";
  document.getElementById("count").textContent = `${walk.at} of ${steps.length}${stillKept(state.passed)}`;
  slider.value = walk.at;
  slider.setAttribute("aria-valuetext", `step ${walk.at} of ${steps.length}`);
  ["first", "back"].forEach((id) => { document.getElementById(id).disabled = walk.at === 0; });
  ["step", "last", "play"].forEach((id) => { document.getElementById(id).disabled = walk.at === steps.length; });
}

function goTo(count) {
  walk.at = Math.max(0, Math.min(steps.length, count));
  showStep();
  if (walk.at) intoView(standingFor(steps[walk.at - 1].node));
  if (walk.at === steps.length) play(false);
}

function play(isOn) {
  clearInterval(walk.timer);
  walk.timer = isOn ? setInterval(() => goTo(walk.at + 1), 900) : null;
  const button = document.getElementById("play");
  button.setAttribute("aria-pressed", String(isOn));
  button.textContent = isOn ? "Pause" : "Play";
  sentence.setAttribute("aria-live", isOn ? "off" : "polite");
}

function startStepping() {
  slider.max = steps.length;
  const on = (id, act) => document.getElementById(id).addEventListener("click", act);
  const pausing = (count) => () => {
    play(false);
    goTo(count());
  };
  on("first", pausing(() => 0));
  on("back", pausing(() => walk.at - 1));
  on("step", pausing(() => walk.at + 1));
  on("last", pausing(() => steps.length));
  on("play", () => play(walk.timer === null));
  slider.addEventListener("input", pausing(() => Number(slider.value)));
}

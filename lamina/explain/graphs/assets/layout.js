// What is visible, measured and laid out.

const pen = document.createElement("canvas").getContext("2d");
const fonts = getComputedStyle(document.documentElement);
const sans = fonts.getPropertyValue("--sans");
const mono = fonts.getPropertyValue("--mono");
const widest = 250;

// The lines of text in a node; each has a class, which sets its font.
const fontOf = {
  word: `620 13px ${sans}`,
  name: `600 12.5px ${mono}`,
  source: `11.5px ${mono}`,
  small: `11.5px ${sans}`,
};

function widthOf(text, kind) {
  pen.font = fontOf[kind];
  return pen.measureText(text).width;
}

function clipped(text, kind, room) {
  if (widthOf(text, kind) <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widthOf(`${text.slice(0, middle)}…`, kind) <= room) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

// A line is a list of [text, class]; parts stand side by side.
function linesOfNode(node) {
  if (node.kind !== "operation") {
    const name = shortName(node) || (node.kind === "data" ? "data" : "a leaf");
    return [[[name, "name"]], [[node.outputs[0], "small"]]];
  }
  const lines = [[[node.word, "word"], ...(node.name ? [[node.name, "name"]] : [])]];
  const place = placeOf(node);
  if (place && place.expression) lines.push([[place.expression, "source"]]);
  const kept = keptBy(node);
  lines.push([[node.outputs[0] + (node.outputs.length > 1 ? ` +${node.outputs.length - 1}` : ""), "small"]]);
  if (kept) lines[lines.length - 1].push([`· ${kept}`, "small"]);
  return lines;
}

function linesOfGroup(number, shared) {
  const group = groups[number];
  const first = [[group.label, "word"]];
  if (group.detail) first.push([group.detail, "small"]);
  const lines = [first, [[contentInWords(number), "small"]]];
  const kept = keptInWords(contents[number].memory);
  if (kept) lines.push([[kept, "small"]]);
  if (shared.length) lines.push([[`shares ${shared.join(", ")}`, "small"]]);
  return lines;
}

function measured(key, shared) {
  const number = numberOf(key);
  const isGroup = key[0] === "g";
  let lines = isGroup ? linesOfGroup(number, shared) : linesOfNode(nodes[number]);
  if (key.includes("@")) lines = lines.slice(0, 1);
  const isTensor = !isGroup && nodes[number].kind !== "operation";
  let width = 0;
  const clippedLines = lines.map((line) => {
    let room = widest;
    const parts = line.map(([text, kind]) => {
      const shown = clipped(text, kind, Math.max(room, 40));
      const size = widthOf(shown, kind);
      room -= size + 7;
      return { text: shown, kind, size };
    });
    width = Math.max(width, parts.reduce((sum, part) => sum + part.size + 7, -7));
    return parts;
  });
  const sides = isTensor ? 34 : isGroup ? 44 : 28;
  return { key, isGroup, lines: clippedLines, width: Math.ceil(width) + sides, height: lines.length * 17 + 15 };
}

// Where the edge of a shared tensor begins: at a copy beside its target, or (null) nowhere, since
// the folded group that it leads to names the tensor. The first use keeps its edge.
let shares = new Map();

function findShares() {
  const targets = new Map();
  edges.forEach((edge) => {
    const source = standingFor(edge.source);
    if (source[0] !== "n" || nodes[edge.source].kind === "operation") return;
    if (!targets.has(source)) targets.set(source, new Set());
    targets.get(source).add(standingFor(edge.target));
  });
  shares = new Map();
  targets.forEach((found, source) => {
    if (found.size < manyUses) return;
    [...found].slice(1).forEach((target) => {
      shares.set(`${source}>${target}`, target[0] === "n" ? `${source}@${target}` : null);
    });
  });
}

// The ends of an edge in the drawing; null if it is not drawn.
function endsOf(number) {
  const target = standingFor(edges[number].target);
  const source = standingFor(edges[number].source);
  if (source === target) return null;
  const name = `${source}>${target}`;
  const from = shares.has(name) ? shares.get(name) : source;
  return from === null ? null : { source: from, target, name: `${from}>${target}` };
}

// The visible nodes and folded groups, and the edges between them: several become one.
function visible() {
  findShares();
  const named = new Map();
  shares.forEach((copy, name) => {
    const [source, target] = name.split(">");
    if (copy === null) named.set(target, [...(named.get(target) || []), shortName(nodes[numberOf(source)]) || "a tensor"]);
  });
  const shown = new Map();
  const show = (key) => {
    if (!shown.has(key)) shown.set(key, measured(key, named.get(key) || []));
  };
  const between = new Map();
  edges.forEach((_, number) => {
    const ends = endsOf(number);
    if (ends === null) return;
    if (!between.has(ends.name)) between.set(ends.name, { ...ends, edges: [] });
    between.get(ends.name).edges.push(number);
  });
  nodes.forEach((_, number) => {
    const key = standingFor(number);
    inputsOf[number].forEach((edge) => {
      const ends = endsOf(edge);
      if (ends && ends.source.includes("@")) show(ends.source);
    });
    show(key);
  });
  const boxes = groups.map((_, number) => number).filter((number) => open.has(number) && isVisibleGroup(number));
  return { shown, between, boxes };
}

function countIfOpen(wanted) {
  const before = new Set(open);
  wanted.forEach((number) => open.add(number));
  const count = new Set(nodes.map((_, number) => standingFor(number))).size;
  open.clear();
  before.forEach((number) => open.add(number));
  return count;
}

// Lay out what is visible. dagre is asked for the positions, and for nothing else.
function layOut() {
  const seen = visible();
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 22, edgesep: 12, ranksep: 46, marginx: 16, marginy: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  seen.boxes.forEach((number) => graph.setNode(`g${number}`, {}));
  seen.shown.forEach((item, key) => graph.setNode(key, { width: item.width, height: item.height }));
  seen.boxes.forEach((number) => {
    if (groups[number].parent !== null) graph.setParent(`g${number}`, `g${groups[number].parent}`);
  });
  seen.shown.forEach((_, key) => {
    const around = groupOfKey(key);
    if (around !== null) graph.setParent(key, `g${around}`);
  });
  seen.between.forEach((edge) => graph.setEdge(edge.source, edge.target, { weight: edge.edges.length > 1 ? 2 : 1 }));
  dagre.layout(graph);
  seen.shown.forEach((item, key) => Object.assign(item, { x: graph.node(key).x, y: graph.node(key).y }));
  seen.between.forEach((edge) => {
    edge.points = graph.edge(edge.source, edge.target).points;
  });
  seen.frames = seen.boxes.map((number) => ({ number, ...graph.node(`g${number}`) }));
  const size = graph.graph();
  return { ...seen, width: Math.max(size.width, 1), height: Math.max(size.height, 1) };
}

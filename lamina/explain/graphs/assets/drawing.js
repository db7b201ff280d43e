// The drawing, as SVG: boxes around open groups, edges, nodes, and over them the gradients.

const space = "http://www.w3.org/2000/svg";
const canvas = document.getElementById("graph");
const drawing = { layout: null, scale: 1, elements: new Map(), edges: new Map(), svg: null, over: null };

function svgElement(name, attributes, parent) {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.appendChild(made);
  return made;
}

// A smooth line through the points of an edge: straight at its ends, a B-spline between.
function pathThrough(points) {
  const [first, ...rest] = points;
  if (rest.length < 2) return `M${first.x},${first.y}L${rest[0].x},${rest[0].y}`;
  let path = `M${first.x},${first.y}`;
  const all = [first, ...points, points[points.length - 1]];
  for (let k = 1; k < all.length - 2; k += 1) {
    const [a, b, c] = [all[k - 1], all[k], all[k + 1]];
    if (k === 1) path += `L${(5 * b.x + c.x) / 6},${(5 * b.y + c.y) / 6}`;
    else {
      const mid = (p, q, s, t) => `${(s * p.x + t * q.x) / (s + t)},${(s * p.y + t * q.y) / (s + t)}`;
      path += `C${mid(a, b, 2, 1)} ${mid(a, b, 1, 2)} ${(a.x + 4 * b.x + c.x) / 6},${(a.y + 4 * b.y + c.y) / 6}`;
    }
  }
  const last = all[all.length - 1];
  return `${path}L${last.x},${last.y}`;
}

// What a screen reader says: first what is seen, then what the shape and the edges tell.
function describe(item) {
  const number = numberOf(item.key);
  const seen = item.lines.map((line) => line.map((part) => part.text).join(" ")).join(" ");
  const parts = [seen];
  if (item.isGroup) {
    parts.push("folded group");
    return parts.join(", ");
  }
  const node = nodes[number];
  const kinds = { operation: "operation", leaf: "leaf, collects a gradient", data: "data, needs no gradient" };
  parts.push(kinds[node.kind]);
  if (node.name && !seen.includes(node.name)) parts.push(node.name);
  const place = placeOf(node);
  if (node.kind === "operation" && place && !seen.includes(place.expression)) parts.push(place.expression);
  if (model.roots.includes(number)) parts.push("backward begins here");
  if (node.problem) parts.push("backward fails here");
  if (inputsOf[number].length) parts.push(counted(inputsOf[number].length, "input"));
  parts.push(counted(usesOf[number].length, "use"));
  return parts.join(", ");
}

function drawNode(item, parent) {
  const number = numberOf(item.key);
  const node = item.isGroup ? null : nodes[number];
  const kinds = ["node", item.isGroup ? "group" : node.kind];
  const holds = (test) => (item.isGroup ? nodes.some((n, k) => test(n, k) && standingFor(k) === item.key) : test(node, number));
  if (holds((_, k) => model.roots.includes(k))) kinds.push("root");
  if (holds((n) => n.problem)) kinds.push("problem");
  const made = svgElement("g", {
    class: kinds.join(" "), transform: `translate(${item.x - item.width / 2},${item.y - item.height / 2})`,
    role: "button", tabindex: "-1", "aria-label": describe(item), "data-key": item.key,
  }, parent);
  if (item.isGroup) made.setAttribute("aria-expanded", "false");
  const { width, height } = item;
  const round = !item.isGroup && node.kind !== "operation" ? height / 2 : 7;
  svgElement("rect", { class: "ring", x: -4, y: -4, width: width + 8, height: height + 8, rx: round + 4 }, made);
  if (item.isGroup) svgElement("rect", { class: "behind", x: 4, y: 4, width, height, rx: round }, made);
  svgElement("rect", { class: "shape", width, height, rx: round }, made);
  item.lines.forEach((line, row) => {
    const whole = line.reduce((sum, part) => sum + part.size + 7, -7);
    let x = (width - whole) / 2;
    if (item.isGroup && row === 0) svgElement("path", { d: `M11,${height / 2 - 5}l6,5l-6,5z`, fill: "currentColor", class: "arrow" }, made);
    line.forEach((part) => {
      const text = svgElement("text", { class: part.kind, x, y: 20 + row * 17 }, made);
      text.textContent = part.text;
      made.append(" "); // between words, for those who read and do not look
      x += part.size + 7;
    });
  });
  if (kinds.includes("problem")) svgElement("text", { class: "sign", x: width - 13, y: 19 }, made).textContent = "!";
  drawing.elements.set(item.key, made);
}

// All that stands for a node in the drawing: a shared tensor has copies.
function elementsFor(number) {
  const key = standingFor(number);
  const found = [drawing.elements.get(key)];
  usesOf[number].forEach((edge) => {
    const ends = endsOf(edge);
    if (ends && ends.source !== key) found.push(drawing.elements.get(ends.source));
  });
  return found.filter(Boolean);
}

function drawFrame(frame, parent) {
  const group = groups[frame.number];
  const left = frame.x - frame.width / 2;
  const top = frame.y - frame.height / 2;
  svgElement("rect", { class: "box", x: left, y: top, width: frame.width, height: frame.height, rx: 9 }, parent);
  const title = svgElement("g", {
    class: "box-title", role: "button", tabindex: "-1", "aria-expanded": "true", "data-key": `b${frame.number}`,
  });
  const name = clipped(group.label, "word", Math.max(frame.width - 40, 30));
  const size = widthOf(name, "word");
  const detail = group.detail ? clipped(group.detail, "small", frame.width - size - 44) : "";
  const whole = Math.min(size + 30 + (detail.length > 1 ? widthOf(detail, "small") : 0), frame.width);
  svgElement("rect", { class: "hit", x: left, y: top, width: whole, height: 22 }, title);
  svgElement("rect", { class: "ring", x: left, y: top, width: whole, height: 22, rx: 6 }, title);
  svgElement("path", { d: `M${left + 8},${top + 8}l10,0l-5,6z`, class: "arrow" }, title);
  svgElement("text", { x: left + 22, y: top + 15.5 }, title).textContent = name;
  title.append(" ");
  if (detail.length > 1) svgElement("text", { class: "class", x: left + 28 + size, y: top + 15.5 }, title).textContent = detail;
  title.setAttribute("aria-label", `${[name, detail].filter(Boolean).join(" ")}, unfolded group, ${contentInWords(frame.number)}`);
  drawing.elements.set(`b${frame.number}`, title);
  return title;
}

function marker(id, kind, defs) {
  const made = svgElement("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, defs);
  svgElement("path", { d: "M0,0.6L7.4,4L0,7.4z", class: kind }, made);
}

function drawEdge(edge, parent) {
  const isUnwanted = edge.edges.every((number) => edges[number].state === "unwanted");
  const kinds = ["edge", ...(edge.edges.length > 1 ? ["many"] : []), ...(isUnwanted ? ["unwanted"] : [])];
  if (edge.edges.some((number) => !edges[number].finite)) kinds.push("infinite");
  const d = pathThrough(edge.points);
  const path = svgElement("path", { class: kinds.join(" "), d, "marker-end": "url(#arrow)" }, parent);
  svgElement("path", { class: "edge-near", d, "data-edge": edge.name }, parent);
  drawing.edges.set(edge.name, { ...edge, path });
}

function draw() {
  const layout = layOut();
  const svg = svgElement("svg", { role: "group", "aria-label": `${model.title}: what was computed from what, from top to bottom` });
  const defs = svgElement("defs", {}, svg);
  marker("arrow", "arrow", defs);
  marker("grad-arrow", "grad-arrow", defs);
  drawing.elements.clear();
  drawing.edges.clear();
  const titles = layout.frames.map((frame) => drawFrame(frame, svg));
  layout.between.forEach((edge) => drawEdge(edge, svg));
  // In reading order, which is the order of running: that is how screen readers meet them.
  layout.shown.forEach((item) => drawNode(item, svg));
  titles.forEach((title) => svg.appendChild(title));
  drawing.over = svgElement("g", { "aria-hidden": "true", "pointer-events": "none" }, svg);
  drawing.layout = layout;
  drawing.svg = svg;
  canvas.replaceChildren(svg);
  setScale(drawing.scale);
}

function setScale(scale) {
  drawing.scale = Math.min(2.5, Math.max(0.1, scale));
  const { width, height } = drawing.layout;
  drawing.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.svg.setAttribute("width", width * drawing.scale);
  drawing.svg.setAttribute("height", height * drawing.scale);
  document.getElementById("zoom").textContent = `${Math.round(drawing.scale * 100)}%`;
}

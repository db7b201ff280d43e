// The panel about one node or group.

const panel = document.getElementById("details");

function element(name, text, parent, kind) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  if (kind) made.className = kind;
  if (parent) parent.appendChild(made);
  return made;
}

function facts(pairs, parent) {
  const list = element("dl", null, parent);
  pairs.filter(([, value]) => value).forEach(([name, value]) => {
    element("dt", name, list);
    element("dd", value, list);
  });
}

function linkTo(number, parent) {
  const button = element("button", titleOf(nodes[number]), parent, "link");
  button.type = "button";
  button.addEventListener("click", () => reveal(number));
}

function sourceOf(place, parent) {
  element("h3", placeInWords(place) + (place.function && place.function !== "<module>" ? `, in ${place.function}` : ""), parent);
  if (place.text) markedSource(place, parent);
}

function markedSource(place, parent) {
  const [first, ...rest] = place.text.split("\n");
  const shown = element("pre", null, parent);
  shown.append(first.slice(0, place.start));
  element("mark", first.slice(place.start, place.end), shown);
  shown.append(first.slice(place.end), ...(rest.length ? [`\n${rest.join("\n")}`] : []));
}

function gradientInWords(edge) {
  const words = { undefined: "None: no gradient goes here", unwanted: "no gradient is wanted", unknown: edge.gradient || "unknown" };
  return (words[edge.state] || edge.gradient) + (edge.values ? ` (${edge.values})` : "");
}

function neighbours(title, numbers, end, parent) {
  if (!numbers.length) return;
  element("h3", title, parent);
  const list = element("ul", null, parent);
  numbers.forEach((number) => {
    const item = element("li", null, list);
    linkTo(edges[number][end], item);
    element("small", ` gradient: ${gradientInWords(edges[number])}`, item);
  });
}

function showNode(number) {
  const node = nodes[number];
  panel.replaceChildren();
  element("h2", titleOf(node), panel);
  element("p", node.kind === "operation" ? node.class_name : `${node.class_name}, ${node.kind === "leaf" ? "a leaf: its gradient is collected in .grad" : "data: it needs no gradient"}`, panel);
  if (node.problem) {
    element("p", "Backward fails here:", panel, "bad");
    element("pre", node.problem, panel, "bad").tabIndex = 0;
  }
  node.notes.forEach((note) => element("p", note, panel));
  const group = node.group === null ? null : groups[node.group];
  facts([
    [node.outputs.length > 1 ? "results" : node.kind === "operation" ? "result" : "is", node.outputs.join(", ")],
    ["gradient", node.kind === "operation" ? (node.keeps_gradient ? "kept in .grad (retain_grad)" : "passed on, then dropped") : node.kind === "leaf" ? (node.has_gradient ? "added to the .grad that is there" : "kept in .grad") : "none"],
    [group && group.kind === "module" ? "module" : "part", group && (group.kind === "module" ? `${group.path} (${group.detail})` : group.label)],
  ], panel);
  const place = placeOf(node);
  if (place) sourceOf(place, panel);
  if (node.kept.length) {
    element("h3", "Kept for backward", panel);
    const list = element("ul", null, panel);
    node.kept.forEach((kept) => {
      const item = element("li", `${kept.what}: `, list);
      if (kept.node !== null && kept.node !== number) {
        linkTo(kept.node, item);
        item.append(" ");
      }
      element("small", `${kept.facts}, ${bytesInWords(kept.bytes)}${kept.extra ? "" : ", held elsewhere too"}`, item);
    });
  }
  neighbours("Computed from", inputsOf[number], "source", panel);
  neighbours("Used by", usesOf[number], "target", panel);
}

function showGroup(number) {
  const group = groups[number];
  panel.replaceChildren();
  element("h2", group.path && group.kind === "module" ? group.path : group.label, panel);
  if (group.detail) element("p", group.detail, panel);
  facts([["holds", contentInWords(number)], ["memory", keptInWords(contents[number].memory).replace("keeps ", "keeps for backward ")]], panel);
  const inside = childrenOf[number];
  if (!inside.length) return;
  element("h3", "In it", panel);
  const list = element("ul", null, panel);
  inside.slice(0, 60).forEach((child) => element("li", `${groups[child].label} ${groups[child].detail}: ${contentInWords(child)}`, list));
  if (inside.length > 60) element("li", `and ${inside.length - 60} more`, list);
}

function showWhole() {
  panel.replaceChildren();
  element("h2", "Details", panel);
  element("p", "Choose a node to see where it comes from, what it keeps for backward, and which gradients meet there. Step through the backward pass below.", panel);
  const biggest = nodes
    .map((node, number) => [node.kept.reduce((sum, kept) => sum + (kept.extra ? kept.bytes : 0), 0), number])
    .filter(([size]) => size > 0)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 8);
  if (!biggest.length) return;
  element("h3", "Keep most for backward", panel);
  const list = element("ul", null, panel);
  biggest.forEach(([size, number]) => {
    const item = element("li", null, list);
    linkTo(number, item);
    element("small", ` ${bytesInWords(size)}`, item);
  });
}

"use strict";

// The model as it was written, who leads to whom, and which groups are open.

const model = JSON.parse(document.getElementById("model").textContent);
const nodes = model.nodes;
const edges = model.edges;
const groups = model.groups;

// For each node: the edges to it from what it was computed from, and from it to what used it.
const inputsOf = nodes.map(() => []);
const usesOf = nodes.map(() => []);
edges.forEach((edge, number) => {
  inputsOf[edge.target].push(number);
  usesOf[edge.source].push(number);
});

const childrenOf = groups.map(() => []);
groups.forEach((group, number) => {
  if (group.parent !== null) childrenOf[group.parent].push(number);
});

// For each group: how many operations and leaves are in it, and what they keep.
const contents = groups.map(() => ({ operations: 0, leaves: 0, memory: new Map() }));
nodes.forEach((node) => {
  for (let at = node.group; at !== null; at = groups[at].parent) {
    if (node.kind === "operation") contents[at].operations += 1;
    if (node.kind === "leaf") contents[at].leaves += 1;
    node.kept.forEach((kept) => {
      if (kept.extra) contents[at].memory.set(kept.memory, kept.held);
    });
  }
});

const manyUses = 4;

const open = new Set(model.open);

// What stands for a node in the drawing: itself, or the outermost folded group around it.
// Both have a key: "n12" for a node, "g3" for a group.
function standingFor(number) {
  let shown = `n${number}`;
  for (let at = nodes[number].group; at !== null; at = groups[at].parent) {
    if (!open.has(at)) shown = `g${at}`;
  }
  return shown;
}

function depthOf(number) {
  let depth = 0;
  for (let at = groups[number].parent; at !== null; at = groups[at].parent) depth += 1;
  return depth;
}

function isVisibleGroup(number) {
  for (let at = groups[number].parent; at !== null; at = groups[at].parent) {
    if (!open.has(at)) return false;
  }
  return true;
}

// A tensor that many boxes use is drawn again beside each of them: "n12@n40" stands beside n40.
function numberOf(key) {
  return Number.parseInt(key.slice(1), 10);
}

function groupOfKey(key) {
  const [own, beside] = key.split("@");
  if (beside) return groupOfKey(beside);
  return own[0] === "g" ? groups[numberOf(own)].parent : nodes[numberOf(own)].group;
}

function openAround(number) {
  for (let at = nodes[number].group; at !== null; at = groups[at].parent) open.add(at);
}

function bytesInWords(count) {
  if (count < 1024) return count === 1 ? "1 byte" : `${count} bytes`;
  const unit = Math.min(3, Math.floor(Math.log2(count) / 10)); // powers of 1024
  return `${(count / 1024 ** unit).toFixed(2)} ${["KiB", "MiB", "GiB"][unit - 1]}`;
}

function keptInWords(memory) {
  let sum = 0;
  for (const size of memory.values()) sum += size;
  return sum ? `keeps ${bytesInWords(sum)}` : "";
}

function keptBy(node) {
  const memory = new Map();
  node.kept.forEach((kept) => {
    if (kept.extra) memory.set(kept.memory, kept.held);
  });
  return keptInWords(memory);
}

function counted(count, word) {
  const many = word === "leaf" ? "leaves" : `${word}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? word : many}`;
}

function contentInWords(number) {
  const found = contents[number];
  const parts = [];
  if (found.operations) parts.push(counted(found.operations, "operation"));
  if (found.leaves) parts.push(counted(found.leaves, "leaf"));
  return parts.join(", ");
}

// A name without the path that the boxes around it show already.
function shortName(node) {
  if (!node.name) return "";
  for (let at = node.group; at !== null; at = groups[at].parent) {
    const path = `${groups[at].path}.`;
    if (open.has(at) && groups[at].path && node.name.startsWith(path)) {
      return node.name.slice(path.length);
    }
  }
  return node.name;
}

function titleOf(node) {
  if (node.kind === "operation") return node.name ? `${node.word} (${node.name})` : node.word;
  return node.name || node.word;
}

function placeOf(node) {
  return node.place === null ? null : model.places[node.place];
}

function placeInWords(place) {
  return place.line ? `${place.file}:${place.line}` : place.file;
}

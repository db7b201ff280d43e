// What is shown beside the pointer: the source of a node, the gradient of an edge.

const hint = document.getElementById("hint");

function fillHint(target) {
  const { key, edge } = target.dataset;
  hint.replaceChildren();
  if (edge) {
    const found = drawing.edges.get(edge);
    const words = found.edges.map((number) => `gradient: ${gradientInWords(edges[number])}`);
    [...new Set(words)].slice(0, 6).forEach((line) => element("div", line, hint));
    return true;
  }
  const place = key[0] === "n" && placeOf(nodes[numberOf(key)]);
  if (!place) return false;
  element("small", placeInWords(place), hint);
  if (place.text) markedSource(place, hint);
  return true;
}

function placeHint(x, y) {
  const { width, height } = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 6))}px`;
  hint.style.top = `${y + height + 24 > innerHeight ? y - height - 10 : y + 18}px`;
}

function hideHint() {
  hint.hidden = true;
}

function startHints() {
  canvas.addEventListener("pointerover", (event) => {
    const target = event.target.closest("[data-key], [data-edge]");
    hint.hidden = !target || event.pointerType === "touch" || !fillHint(target);
    if (!hint.hidden) placeHint(event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", hideHint);
  canvas.addEventListener("scroll", hideHint);
  addEventListener("keydown", hideHint);
}

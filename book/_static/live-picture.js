/* The picture of the live page: mean distance from the clean form, state by state. */
function livePicture(box, lines) {
  "use strict";
  const [width, height, left, right, top, bottom] = [640, 310, 72, 16, 36, 60];
  const depth = lines[0][2].length - 1;
  const most = Math.max(0.02, ...lines.flatMap(([, , values]) => values)) * 1.05;
  const x = (t) => left + (t * (width - left - right)) / depth;
  const y = (value) => height - bottom - (value * (height - top - bottom)) / most;
  const make = (tag, attributes, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(make("title", {}, "Mean distance of the tokens from their clean form"),
    make("desc", {}, "One line for each condition, from state x0 to the last; the table below has the numbers."));
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((size) => most / size <= 5) ?? 1;
  for (let value = 0; value < most; value += step) {
    svg.append(make("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }),
      make("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${Math.round(100 * value)} %`));
  }
  for (let t = 0; t <= depth; t++)
    svg.append(make("text", { x: x(t), y: height - bottom + 24, "text-anchor": "middle" }, `x${t}`));
  svg.append(make("text", { x: 0, y: 18 }, "distance from the clean form"),
    make("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, "state before block 0, 1, ..., and at the exit"));
  const legend = document.createElement("p");
  legend.className = "live-legend";
  for (const [name, words, values] of lines) {
    const points = values.map((value, t) => `${x(t).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    svg.append(make("polyline", { points, class: `line ${name}` }));
    values.forEach((value, t) => svg.append(make("circle", { cx: x(t), cy: y(value), r: 3, class: `dot ${name}` })));
    const swatch = make("svg", { viewBox: "0 0 30 8", "aria-hidden": "true" });
    swatch.append(make("polyline", { points: "0,4 30,4", class: `line ${name}` }));
    const label = document.createElement("span");
    label.append(swatch, ` ${words}`);
    legend.append(label, " ");
  }
  box.replaceChildren(svg, legend);
}

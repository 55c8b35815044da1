/* What the theme and Sphinx leave unsaid to readers who hear the page, or hold it in a hand. */
document.addEventListener("DOMContentLoaded", () => {
  // the arrow that unfolds the pages beneath another is a picture
  for (const toggle of document.querySelectorAll(".toctree-toggle")) {
    const page = toggle.closest("li").querySelector("a").textContent.trim();
    toggle.closest("summary").setAttribute("aria-label", `Pages beneath ${page}`);
  }
  // the lines of a long signature are laid out as a list of definitions, and are none
  for (const lines of document.querySelectorAll("dt.sig > dl")) {
    lines.setAttribute("role", "presentation");
  }
  // on a telephone the rows of a table are blocks where it has many columns, or stands in a fold in
  // a fold: each cell is told its column's name
  for (const table of document.querySelectorAll("article table.table")) {
    const names = [...table.querySelectorAll("thead th")].map((e) => e.textContent.trim());
    if (table.closest(".fits") || (names.length < 4 && !table.closest("details details"))) continue;
    table.classList.add("stacks");
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, k) => {
        if (k && cell.textContent.trim()) cell.dataset.column = names[k];
      });
  }
});

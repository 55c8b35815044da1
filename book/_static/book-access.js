/* What the theme and Sphinx leave unsaid to readers who hear the page. */
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
});

/* The arrow that unfolds the pages beneath another is a picture: say what it does. */
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll(".toctree-toggle")) {
    const page = toggle.closest("li").querySelector("a").textContent.trim();
    toggle.closest("summary").setAttribute("aria-label", `Pages beneath ${page}`);
  }
});

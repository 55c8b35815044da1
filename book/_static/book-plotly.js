/* Draws .book-plotly figures with the local plotly.min.js, fetched only when one comes near the screen. */
(() => {
  const here = document.currentScript.src;
  const lib = new URL("plotly.min.js", here).href;
  let loading = null;
  const load = () => loading || (loading = new Promise((ok, no) => {
    if (window.Plotly) return ok(window.Plotly);
    const s = document.createElement("script");
    s.src = lib; s.onload = () => ok(window.Plotly); s.onerror = no;
    document.head.appendChild(s);
  }));
  const css = (name, fallback) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim() || fallback;
  const colours = () => ({
    "font.color": css("--pst-color-text-base", "#222"),
    "hoverlabel.bgcolor": css("--pst-color-surface", "#fff"),
    "hoverlabel.font.color": css("--pst-color-text-base", "#222"),
  });
  /* Sliders as controls of the page: they take the arrow keys and speak to screen readers. */
  const dials = (box, div, fig) => {
    const sliders = fig.layout.sliders || [];
    if (!sliders.every((s) => s.steps.every((step) => step.method === "restyle"))) return false;
    const panel = document.createElement("div");
    panel.className = "book-dials";
    const inputs = sliders.map((s) => {
      const label = document.createElement("label");
      const chosen = (fig.layout.meta || {}).choose;        // names, not a scale: a list to choose from
      const input = document.createElement(chosen ? "select" : "input");
      const shown = document.createElement("output");
      const what = ((s.currentvalue || {}).prefix || "").trim();
      if (chosen) s.steps.forEach((step, k) => input.add(new Option(step.label, k)));
      else Object.assign(input, { type: "range", min: 0, max: s.steps.length - 1, step: 1 });
      input.value = s.active || 0;
      const name = document.createElement("span");
      name.textContent = what;
      if (chosen) label.append(name, input);
      else label.append(name, input, shown);
      panel.appendChild(label);
      const say = () => {
        shown.textContent = s.steps[input.value].label;
        if (!chosen) input.setAttribute("aria-valuetext", `${what} ${shown.textContent}`);
      };
      input.addEventListener("input", () => {
        say();
        const pictures = (fig.layout.meta || {}).pictures;
        let place = 0;
        inputs.forEach((other, k) => { place = place * sliders[k].steps.length + +other.value; });
        const picture = pictures ? pictures[place] : s.steps[input.value].args[0];
        window.Plotly.restyle(div, picture);
      });
      say();
      return input;
    });
    box.appendChild(panel);
    return true;
  };
  const draw = async (box) => {
    const fig = JSON.parse(box.querySelector("script").textContent);
    const P = await load();
    const div = document.createElement("div");
    box.appendChild(div);                       // the plot first, its sliders beneath
    const layout = Object.assign({ autosize: true }, fig.layout);
    if (box.clientWidth < 480) {              // a telephone: smaller letters, no empty bands
      layout.font = Object.assign({}, layout.font, { size: 12 });
      const polar = fig.data.some((trace) => trace.type === "scatterpolar");
      if (polar) {
        layout.margin = { l: 78, r: 78, t: 36, b: 36 };
        layout.height = 360 + 75 * (fig.layout.sliders || []).length;
        box.style.minHeight = "360px";
      }
    }
    if ((fig.layout.sliders || []).length && dials(box, div, fig)) {
      layout.height = (layout.height || 480) - 75 * layout.sliders.length;
      box.style.minHeight = "";
      delete layout.sliders;
    }
    await P.newPlot(div, {
      data: fig.data, layout, frames: fig.frames,
      config: Object.assign({ responsive: true, displaylogo: false,
        modeBarButtonsToRemove: ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
        displayModeBar: box.clientWidth < 480 ? false : "hover" }, // it would hide the legend
        fig.config, { plotlyServerURL: "" }),
    });
    await P.relayout(div, colours());
    box.dataset.drawn = "1";
  };
  const start = () => {
    const seen = new IntersectionObserver((es) => es.forEach((e) => {
      if (e.isIntersecting) { seen.unobserve(e.target); draw(e.target); }
    }), { rootMargin: "600px" });
    document.querySelectorAll(".book-plotly").forEach((b) => seen.observe(b));
    new MutationObserver(() => document.querySelectorAll(".book-plotly .js-plotly-plot")
      .forEach((d) => window.Plotly.relayout(d, colours())))
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();

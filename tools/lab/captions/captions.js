// Captions of figures, which stand in a cell's metadata, shown beneath its outputs and never saved.
"use strict";
(() => {
  const STYLE = `
.book-caption { padding-left: calc(var(--jp-cell-prompt-width) + 5px); box-sizing: border-box; }
.jp-MarkdownCell .myst h1 { margin-bottom: 0.6em; }
.jp-OutputArea summary { list-style: disclosure-closed inside; cursor: pointer; }
.jp-OutputArea [open] > summary { list-style-type: disclosure-open; }`;

  function show(cell, rendermime) {
    const { name, caption } = cell.model.getMetadata("mystnb")?.figure ?? {};
    if (!caption) return;
    const apart = caption.replace(/\[(Measured: [^\]]*)\]\{\.measured\}$/, "\n\n$1");
    const text = `*As published (${name}).* ${apart}`;
    const words = rendermime.createRenderer("text/markdown");
    words.addClass("book-caption");
    cell.layout.addWidget(words);
    words.renderModel(rendermime.createModel({ data: { "text/markdown": text } }));
  }

  function activate(app) {
    const style = document.createElement("style");
    style.textContent = STYLE;
    document.head.append(style);
    app.docRegistry.addWidgetExtension("Notebook", {
      createNew({ content, context }) {
        context.ready.then(() => {
          for (const cell of content.widgets) {
            cell.ready.then(() => show(cell, content.rendermime));
          }
        });
      },
    });
  }

  const plugin = { id: "captions:plugin", autoStart: true, activate };
  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB.captions = { init() {}, get: async () => () => plugin };
})();

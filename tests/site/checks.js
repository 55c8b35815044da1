/* What the tests ask of a page in a browser. A check returns what is wrong, as texts. */
window.checks = (() => {
  "use strict";
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const begin = (e) => e.textContent.trim().slice(0, 60);
  const plots = () => all(".book-plotly .js-plotly-plot");

  // ---------------------------------------------------------------- waiting

  async function until(holds, what) {
    for (const end = performance.now() + 120_000; !holds();) {
      if (performance.now() > end) throw new Error(`${what}: not within two minutes`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  /* Until figures and mathematics are drawn. A figure is drawn when it comes near the screen. */
  async function ready() {
    for (const box of all(".book-plotly")) {
      box.scrollIntoView({ behavior: "instant" });
      await until(() => box.dataset.drawn, "a figure is drawn");
    }
    const formulas = all("article .math");
    await until(() => formulas.every((e) => e.querySelector("mjx-container")), "formulas are set");
  }

  /* Show a theme as the page's own button does, until plotly's letters have its colour. */
  async function turn(theme) {
    const root = document.documentElement;
    if (root.dataset.theme !== theme) root.dataset.theme = theme;
    const text = getComputedStyle(root).getPropertyValue("--pst-color-text-base").trim();
    const turned = () => plots().every((e) => e._fullLayout.font.color === text);
    await until(turned, `figures are ${theme}`);
  }

  // ---------------------------------------------------------------- what is drawn

  function empty() {
    // what plotly draws for a trace: a path, a mark, a bar or a text; a legend shows nothing
    const lines = ":is(.trace path, .point, .js-line, .gl-canvas):not(.legend *)";
    return [
      ...all("mjx-merror").map((e) => `a formula is wrong: ${begin(e)}`),
      ...all(".book-plotly").filter((e) => !e.querySelector(".main-svg"))
        .map((e) => `a figure is empty: ${e.ariaLabel}`),
      ...all(".book-plotly").filter((e) => !e.querySelector(lines))
        .map((e) => `a figure has axes and no line: ${e.ariaLabel}`),
    ];
  }

  /* Text that should have been set as a formula. */
  function raw() {
    const dollars = /\$[^$]*[\\_^{][^$]*\$/;
    const set = "pre, code, script, noscript, style, svg, mjx-container";
    const commands = /\\[(\[]|\\(frac|sum|top|alpha|lambda|mathcal|begin)\b/, found = [];
    const article = document.querySelector("article");
    const words = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
      const { textContent: text, parentElement: at } = words.currentNode;
      if ((dollars.test(text) || commands.test(text)) && !at.closest(set))
        found.push(text.trim().slice(0, 60));
    }
    return found;
  }

  // ---------------------------------------------------------------- width

  function wide() {
    const root = document.documentElement, more = root.scrollWidth - root.clientWidth;
    return more > 0 ? [`the page is ${more} pixels wider than the screen`] : [];
  }

  /* A formula within a line cannot be scrolled. */
  function cut() {
    return all("article span.math").filter((e) => {
      const line = e.closest("p, li, td, th, dd, dt, h1, h2, h3, figcaption, div");
      return e.getBoundingClientRect().right > line.getBoundingClientRect().right + 1;
    }).map((e) => `a formula is cut: ${begin(e.parentElement)}`);
  }

  /* A table in a text is no wider than its column: on a telephone its rows are blocks. */
  function tables() {
    return all("article .pst-scrollable-table-container")
      .filter((e) => e.scrollWidth > e.clientWidth + 1)
      .map((e) => `a table is wider than its column: ${begin(e)}`);
  }

  /* A displayed formula can be scrolled, which only a telephone should need. */
  function scrolled() {
    return all("mjx-container[display=true]").filter((e) => e.scrollWidth > e.clientWidth + 1)
      .map((e) => `an equation is wider than its column: ${(e.closest("[id]") || e).id}`);
  }

  // ---------------------------------------------------------------- contrast

  const LEAST = 4.5, LEAST_OF_LINKS = 3;
  const UNREAD = "script, style, noscript, template, svg, mjx-container, :disabled, option";

  /* Red, green and blue from 0 to 255 and the share that is seen. */
  function colour(text) {
    const [r, g, b, share = 1] = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return text.startsWith("color(") ? [255 * r, 255 * g, 255 * b, share] : [r, g, b, share];
  }

  const mixed = (upper, share, lower) =>
    [0, 1, 2].map((k) => share * upper[k] + (1 - share) * lower[k]);

  const luminance = (rgb) => rgb.map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);

  function ratio(one, other) {
    const [a, b] = [luminance(one), luminance(other)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  /* Text that hardly differs from its ground, and links that hardly differ from the text around. */
  function pale() {
    const grounds = new Map(), filled = new Map(), low = new Set();

    /* The colour behind an element's letters, and the share of them that is seen. What a fold hides
       is judged too, and not laid out for that. */
    function ground(e) {
      if (!e) return { on: [255, 255, 255], seen: 1 };
      if (!grounds.has(e)) {
        const style = getComputedStyle(e), under = ground(e.parentElement);
        const own = colour(style.backgroundColor);
        const on = own[3] ? mixed(own, own[3], under.on) : under.on;
        const seen = style.display === "none" ? 0 : under.seen * style.opacity;
        grounds.set(e, { on, seen, style });
      }
      return grounds.get(e);
    }

    function say(e, text, letters, { on, seen }) {
      const ink = colour(letters), share = ink[3] * seen;
      if (share === 0) return;  // not shown, or on demand only
      const found = ratio(mixed(ink, share, on), on);
      if (found < LEAST)
        low.add(`${found.toFixed(2)} ${e.tagName}.${e.getAttribute("class")}: ` +
          text.trim().slice(0, 30));
    }

    /* Whether a word of a program looks like one before it: of one class, in one block. */
    const alike = new Map();
    function known(e) {
      const block = e.parentElement, kind = `${e.className} ${e.getAttribute("style")}`;
      if (block.tagName !== "PRE") return false;
      if (!alike.has(block)) alike.set(block, new Set());
      const kinds = alike.get(block), before = kinds.has(kind);
      kinds.add(kind);
      return before;
    }

    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const judged = new Set();
    while (words.nextNode()) {
      const e = words.currentNode.parentElement;
      if (judged.has(e) || !words.currentNode.data.trim() || known(e)) continue;
      judged.add(e);
      if (e.closest(UNREAD)) continue;
      const place = ground(e);
      say(e, e.textContent, place.style.color, place);
      if (place.seen && e.matches("article :is(p, li, td, dd, figcaption) > a") && !underlined(e))
        low.add(`a link is not told from the text: ${begin(e)}`);
    }

    /* Whether a link is told from the text around it, by more than a shade. */
    function underlined(link) {
      const around = [...link.parentElement.childNodes]
        .some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      const { style } = ground(link), text = ground(link.parentElement).style;
      return !around || style.textDecorationLine.includes("underline")
        || ratio(colour(style.color), colour(text.color)) >= LEAST_OF_LINKS;
    }

    // a letter of a figure may stand on a filled shape, such as a cell of a heat map
    function shapes(svg) {
      if (!filled.has(svg))
        filled.set(svg, all("path", svg).filter((e) => !e.closest("defs, [id*='-text_']"))
          .map((e) => [e, getComputedStyle(e)])
          .filter(([, s]) => /^rgb\(/.test(s.fill) && s.opacity * s.fillOpacity > 0.99)
          .map(([e, s]) => [e.getBoundingClientRect(), colour(s.fill)]));
      return filled.get(svg);
    }

    function behind(e) {
      const at = e.getBoundingClientRect(), x = at.x + at.width / 2, y = at.y + at.height / 2;
      const under = shapes(e.closest("svg")).filter(([box]) => box.left <= x && x <= box.right
        && box.top <= y && y <= box.bottom && box.width > at.width);
      return under.length ? { on: under.pop()[1], seen: 1 } : ground(e);
    }

    for (const e of all("article svg text"))
      if (e.textContent.trim()) say(e, e.textContent, getComputedStyle(e).fill, ground(e));
    for (const e of all('.book-svg svg [id*="-text_"] > g')) {  // matplotlib's letters are shapes
      const { fill } = getComputedStyle(e);
      if (/^rgb\(/.test(fill)) say(e, e.parentElement.id, fill, behind(e));
    }
    return [...low].slice(0, 10);
  }

  // ---------------------------------------------------------------- folds, and cells to copy

  const folds = () => all("article details:not([hidden] *)");
  const body = (fold) => fold.querySelector(":scope > :not(summary)");

  function visible(e) {
    const { width, height } = e.getBoundingClientRect();
    return e.checkVisibility({ visibilityProperty: true }) && width > 0 && height > 0;
  }

  /* Folds are closed at first, their titles in reach of mouse and keyboard, their contents shown. */
  function folded() {
    const wrong = [], depth = (e) => (e ? depth(e.parentElement.closest("details")) + 1 : 0);
    const levels = Object.values(Object.groupBy(folds(), depth));
    for (const level of levels) {  // a fold may stand in a fold
      const closed = level.map((e) => body(e) && !visible(body(e)));
      const reached = level.map((e) => {
        const title = e.querySelector("summary");
        title.scrollIntoView({ block: "center", behavior: "instant" });
        title.focus();
        const { x, y, width, height } = title.getBoundingClientRect();
        const hit = document.elementFromPoint(x + width / 2, y + height / 2);
        return title.contains(hit) && document.activeElement === title;
      });
      for (const e of level) e.open = true;
      level.forEach((e, k) => {
        const say = (what) => wrong.push(`${what}: ${begin(e.querySelector("summary"))}`);
        if (!closed[k]) say("a fold is open at first, or empty");
        else if (!reached[k]) say("a fold is out of reach");
        else if (!visible(body(e)) || !body(e).innerText.trim())
          say("a fold does not show its content");
      });
    }
    for (const e of folds()) e.open = false;
    document.activeElement.blur();
    return wrong;
  }

  /* One fold of each kind that does not stand in another. */
  function kinds() {
    const outer = folds().filter((e) => !e.parentElement.closest("details"));
    return Object.values(Object.groupBy(outer, (e) => e.className)).map(([first]) => first);
  }

  const cells = () => all("article .cell_input .highlight");
  const uncopied = () => cells().filter((e) => !e.querySelector("button.copybtn"))
    .map((e) => `a cell has no button to copy it: ${begin(e)}`);

  // ---------------------------------------------------------------- axe

  /* Axe's time grows with the elements. Drawn letters of formulas and of pictures, which it cannot
     judge, and the coloured words of programs, which `pale` judges, are set aside meanwhile. */
  async function violations(options) {
    const heavy = all("mjx-container, .book-svg svg, article pre");
    const kept = heavy.map((e) => [e, [...e.childNodes]]);
    for (const [e] of kept) e.replaceChildren(e.matches("pre") ? e.textContent : "");
    const how = { resultTypes: ["violations"], preload: false, ...options };
    const found = await axe.run(document, how);
    for (const [e, nodes] of kept) e.replaceChildren(...nodes);
    return found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
      .map((v) => `${v.id}: ` + v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join("; "));
  }

  const waiting = { ready, turn }, width = { wide, cut, tables, scrolled };
  const asking = { empty, raw, ...width, pale, folded, uncopied };
  return { ...waiting, ...asking, kinds, violations };
})();

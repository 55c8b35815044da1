/* The live page itself: what the reader does goes to the engine, what the engine finds is shown. */
(() => {
  "use strict";
  const $ = (name) => document.getElementById(name === "live" ? "live" : `live-${name}`);
  const folder = new URL("live/", document.currentScript.src);
  const NAMES = { none: "no control", pd: "P-D control", terminal: "terminal control",
    noise: "noise of P-D's size" };
  const EDITS = ["premise", "hypothesis", "example", "typo", "synonym", "attack", "back", "keep"];
  const LIMIT = 80;  // readings of an attack
  const state = { engine: null, clean: null, cleanAnswers: new Map(), answers: {}, wanted: 0, busy: false,
    seed: 0, stopped: true };

  // ---------------------------------------------------------------- the engine's worker

  class Engine {
    constructor() {
      const source = new Blob([`(${liveEngine})(self)`], { type: "text/javascript" });
      const address = URL.createObjectURL(source);
      this.worker = new Worker(address);
      URL.revokeObjectURL(address);
      this.waiting = new Map();
      this.count = 0;
      this.worker.onmessage = ({ data: { id, value, fault: said } }) => {
        const { done, failed } = this.waiting.get(id);
        this.waiting.delete(id);
        if (said) failed(new Error(said)); else done(value);
      };
      this.worker.onerror = (event) => {
        this.close(event.message || "the worker stopped");
        if (state.engine === this) lost();
      };
    }
    ask(job, given) {
      return new Promise((done, failed) => {
        this.waiting.set(++this.count, { done, failed });
        this.worker.postMessage({ id: this.count, job, given });
      });
    }
    close(why) {
      this.worker.terminate();
      for (const { failed } of this.waiting.values()) failed(new Error(why));
      this.waiting.clear();
    }
  }

  function fault(text) {
    $("fault").textContent = text;
    $("fault").hidden = !text;
  }

  /* A worker that broke down takes the weights with it. */
  function lost() {
    state.engine = null;
    $("load").hidden = $("load").disabled = false;
    $("attack").disabled = true;
    fault("The worker that ran the model broke down. “Load the model” starts it anew.");
  }

  function say(text) { $("status").textContent = text; }

  // ---------------------------------------------------------------- loading

  /* A part is a script that calls livePart: a page opened as a file can read nothing else. */
  function fetchPart(place) {
    const { file } = liveManifest.parts[place];
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      let letters = null;
      window.livePart = (of, text) => { if (of === place) letters = text; };
      script.onload = () => {
        script.remove();
        if (letters === null) failed(new Error(`${file} is broken: no weights are in it`));
        else done(letters);
      };
      script.onerror = () => {
        script.remove();
        failed(new Error(`${file} is missing. It belongs into the folder _static/live of this site; unpack the whole site, or build it again`));
      };
      script.src = new URL(file, folder).href;
      document.head.append(script);
    });
  }

  async function load() {
    fault("");
    const parts = liveManifest.parts, start = performance.now();
    let engine = null, cancelled = false;
    const stop = new Promise((_, failed) => {
      $("cancel").onclick = () => { cancelled = true; failed(new Error("cancelled")); };
    });
    stop.catch(() => {});
    $("load").disabled = true;
    $("progress").hidden = $("cancel").hidden = false;
    try {
      engine = new Engine();
      await engine.ask("open", liveManifest);
      for (let place = 0; place < parts.length; place++) {
        const letters = await Promise.race([fetchPart(place), stop]);
        await Promise.race([engine.ask("part", { place, letters }), stop]);
        $("progress").value = (place + 1) / parts.length;
        say(`Loading: part ${place + 1} of ${parts.length}.`);
      }
      await Promise.race([engine.ask("unpack"), stop]);
      state.engine = engine;
      $("load").hidden = $("size").hidden = true;
      $("attack").disabled = false;
      $("live").dataset.loaded = ((performance.now() - start) / 1000).toFixed(2);
    } catch (error) {
      engine?.close("closed");
      $("load").disabled = false;
      if (cancelled) say("Cancelled. Nothing was kept: “Load the model” starts again.");
      else {
        say("The model is not loaded.");
        fault(`The model could not be loaded: ${error.message}.`);
      }
    }
    $("progress").hidden = $("cancel").hidden = true;
    $("progress").value = 0;
    if (state.engine) refresh();
  }

  // ---------------------------------------------------------------- answers

  const condition = () => document.querySelector("[name=live-condition]:checked").value;
  const strength = () => Number($("strength").value);
  const sentences = () => ({ premise: $("premise").value, hypothesis: $("hypothesis").value });
  const dials = () => ({ strength: strength(), seed: state.seed });
  const read = async (pair, under, more) => {
    if (!state.engine) throw new Error("The model is not loaded.");
    return state.engine.ask("answer", { ...pair, condition: under, ...dials(), ...more });
  };

  /* Something changed: what is on its way is finished and thrown away, then asked anew. */
  async function refresh() {
    state.wanted++;
    if (!state.engine || state.busy) return;
    state.busy = true;
    for (let version = -1; version !== state.wanted;) {
      version = state.wanted;
      try {
        fault("");
        await answerAll(version);
      } catch (error) {
        $("results").hidden = true;
        say("There is no answer.");
        fault(error.message);
      }
    }
    state.busy = false;
  }

  async function answerAll(version) {
    const pair = sentences(), start = performance.now(), times = [];
    for (const side of ["premise", "hypothesis"])
      if (!pair[side].trim()) throw new Error(`The ${side} is empty: type a sentence.`);
    const shown = condition();
    const order = [shown, ...Object.keys(NAMES).filter((name) => name !== shown)];
    state.answers = {};
    for (const name of order) {
      const answer = await read(pair, name);
      const clean = await cleanAnswer($("same").checked ? name : "none");
      if (version !== state.wanted) return;
      state.answers[name] = { ...answer, off: offsets(clean, answer) };
      times.push(((performance.now() - start) / 1000).toFixed(2));
      show();
    }
    const all = order.map((name) => `${NAMES[name]}: ${verdict(state.answers[name])}`).join("; ");
    say(`${all}. Answered in ${times[0]} s, all four in ${times[3]} s.`);
    $("live").dataset.answered = `${times[0]} ${times[3]}`;
    $("live").dataset.version = version;
  }

  /* The answer to the clean sentences; kept, for most edits leave them as they are. */
  async function cleanAnswer(under) {
    const key = under === "none" ? under : `${under} ${strength()} ${state.seed}`;
    const known = state.cleanAnswers, clean = state.clean;
    if (known.size > 12) known.clear();
    if (!known.has(key)) {
      const answer = await read(clean, under).catch(({ message }) => {
        throw new Error(`The clean form cannot be read. ${message} “Take these as the clean form” puts others in its place.`);
      });
      if (clean === state.clean) known.set(key, answer);
      return answer;
    }
    return known.get(key);
  }

  function offsets(clean, answer) {
    const units = liveWords.units(clean.tokens, answer.tokens);
    const far = liveWords.distances(units, clean.states, answer.states, liveManifest.width);
    const known = far.filter(Boolean);
    const means = answer.states.map((_, t) =>
      known.reduce((sum, row) => sum + row[t], 0) / known.length);
    return { units, far, means };
  }

  const percent = (share, digits = 0) => (100 * share).toFixed(digits);
  function verdict({ probabilities }) {
    const top = probabilities.indexOf(Math.max(...probabilities));
    return `${liveManifest.labels[top]}, ${percent(probabilities[top])} %`;
  }

  // ---------------------------------------------------------------- what is shown

  function element(tag, text = "", more = {}) {
    const node = document.createElement(tag);
    node.textContent = text;  // a reader's text is text, never markup
    Object.assign(node, more);
    return node;
  }

  function table(name, heads, rows) {
    const caption = $(name).caption, head = document.createElement("thead");
    const line = (cells, tag) => {
      const row = document.createElement("tr");
      cells.forEach((cell, k) => {
        const node = cell instanceof Node ? cell : element(k ? tag : "th", cell);
        if (node.tagName === "TH") node.scope = tag === "th" ? "col" : "row";
        row.append(node);
      });
      return row;
    };
    head.append(line(heads, "th"));
    const body = document.createElement("tbody");
    body.append(...rows.map((cells) => line(cells, "td")));
    $(name).replaceChildren(caption, head, body);
  }

  function cellOf(share, most) {
    const node = element("td", percent(share, share < 0.0995 ? 1 : 0));
    node.style.setProperty("--far", `${Math.round(45 * Math.min(share / most, 1))}%`);
    return node;
  }

  function show() {
    const { answers } = state, shown = condition(), known = Object.keys(NAMES).filter((n) => answers[n]);
    if (!answers[shown]) return;
    $("recorded").hidden = true;
    const steps = summarise(known, shown);
    showTokens(answers[shown]);
    $("distances").parentElement.hidden = false;
    const { units, far } = answers[shown].off;
    $("distances").caption.textContent = `Distance of each token from its clean form under ${NAMES[shown]}, in percent of its length`;
    const most = Math.max(...known.flatMap((name) => answers[name].off.far.filter(Boolean).flat()), 0.01);
    table("distances", ["token", ...steps.map((t) => `x${t}`)], units.map((unit, place) => {
      const head = element("th", unit.name);
      if (unit.was && unit.was !== unit.name) head.append(element("small", ` was ${unit.was}`));
      if (!unit.was) head.append(element("small", " was added"));
      const row = far[place];
      return [head, ...steps.map((t) => (row ? cellOf(row[t], most) : element("td", "–")))];
    }));
  }

  /* What needs no states: answers, picture, its numbers. Returns the places of the states. */
  function summarise(known, shown) {
    const means = known.map((name) => state.answers[name].off.means), steps = means[0].map((_, t) => t);
    $("results").hidden = false;
    showAnswers(known, shown);
    livePicture($("picture"), known.map((name, k) => [name, NAMES[name], means[k]]));
    table("means", ["state", ...known.map((name) => NAMES[name])], steps.map((t) =>
      [`x${t}`, ...means.map((values) => percent(values[t], 1))]));
    return steps;
  }

  /* Before the model is loaded the first example is shown, until something is edited. */
  function recorded({ answers }) {
    for (const [name, { probabilities, means }] of Object.entries(answers))
      state.answers[name] = { probabilities, off: { means } };
    $("distances").parentElement.hidden = true;
    summarise(Object.keys(NAMES), "none");
    $("recorded").hidden = false;
    state.answers = {};
  }

  function showAnswers(known, shown) {
    table("answers", ["", ...liveManifest.labels], known.map((name) => {
      const { probabilities } = state.answers[name], top = Math.max(...probabilities);
      const head = element("th", NAMES[name], { className: name === shown ? "shown" : "" });
      return [head, ...probabilities.map((share) => {
        const node = element("td", `${percent(share)} %${share === top ? " ●" : ""}`);
        node.style.setProperty("--share", `${percent(share, 1)}%`);
        if (share === top) node.className = "top";
        return node;
      })];
    }));
  }

  function showTokens({ tokens }) {
    const unknown = tokens.filter(({ text }) => text === "[UNK]").map(({ of }) => of);
    $("tokens-caption").textContent = `The model reads ${tokens.length} tokens.`
      + (unknown.length ? ` It does not know ${unknown.join(", ")}: these become [UNK].` : "");
    $("tokens").replaceChildren(...tokens.flatMap(({ text, word }, k) =>
      [k && tokens[k - 1].word !== word ? " " : "", element("span", text)]));
  }

  // ---------------------------------------------------------------- what the reader does

  function put(pair) {
    $("premise").value = pair.premise;
    $("hypothesis").value = pair.hypothesis;
    edited();
  }

  function keep(pair) {
    state.clean = pair;
    state.cleanAnswers.clear();
    $("clean").textContent = `${pair.premise} / ${pair.hypothesis}`;
  }

  function edited() {
    if (!state.engine) $("results").hidden = true;
    $("address").href = `?${new URLSearchParams(sentences())}`;
    refresh();
  }

  function change(edit, none) {
    if (!edit) return say(none);
    say(`${edit.word} becomes ${edit.to}.`);
    put(liveWords.edited(sentences(), edit));
  }

  async function attack() {
    const start = sentences(), under = condition(), more = { states: false, ...dials() };
    if (!start.premise.trim() || !start.hypothesis.trim()) return refresh();
    keep(start);
    state.stopped = false;
    state.busy = true;  // no other answer meanwhile
    for (const name of EDITS) $(name).disabled = true;
    $("stop").hidden = $("steps").hidden = false;
    $("steps").replaceChildren();
    const note = (text) => $("steps").append(element("li", text));
    try {
      const { now, used, turned, label } = await liveWords.attack({
        sentences: start, groups: liveManifest.synonyms, limit: LIMIT,
        read: async (pair) => {
          if (state.stopped) throw new Error("stopped");
          return (await read(pair, under, more)).probabilities;
        },
        report: ({ used: n, ranking, step }) => {
          if (ranking) say(`Attack, ${n} readings: how much does “${ranking.word}” matter?`);
          else note(`${step.word} → ${step.to}: ${percent(step.share, 1)} % are left${step.turned ? ", and the answer turns." : "."}`);
        },
      });
      const was = liveManifest.labels[label];
      note(turned ? `Turned from ${was} after ${used} readings, under ${NAMES[under]}.`
        : `Not turned from ${was} in ${used} readings, under ${NAMES[under]}.`);
      $("premise").value = now.premise;
      $("hypothesis").value = now.hypothesis;
    } catch (error) {
      note(error.message === "stopped" ? "Stopped." : error.message);
    }
    state.busy = false;
    state.stopped = true;
    for (const name of EDITS) $(name).disabled = false;
    $("stop").hidden = true;
    edited();
  }

  function begin() {
    const examples = JSON.parse($("examples").textContent);
    const asked = new URLSearchParams(location.search);
    const example = $("example");
    examples.forEach(({ name }, k) => example.append(new Option(name, k)));
    const take = ({ clean, now }) => { keep(clean); put(now); };
    example.onchange = () => take(examples[example.value]);
    if (asked.has("premise") || asked.has("hypothesis")) {
      example.prepend(new Option("the sentences of the address", "", true, true));
      example.options[0].disabled = true;
      const pair = { premise: asked.get("premise") ?? "", hypothesis: asked.get("hypothesis") ?? "" };
      take({ clean: pair, now: pair });
    } else {
      take(examples[0]);
      recorded(examples[0]);
    }
    let waiting;
    for (const side of ["premise", "hypothesis"])
      $(side).oninput = () => { clearTimeout(waiting); waiting = setTimeout(edited, 150); };
    for (const radio of document.querySelectorAll("[name=live-condition]"))
      radio.onchange = () => (state.answers[radio.value] && !state.busy ? show() : refresh());
    $("strength").oninput = () => {
      $("strength-value").value = strength().toFixed(1);
      if (!state.engine) $("results").hidden = true;
      refresh();
    };
    $("same").onchange = refresh;
    $("seed").onclick = () => { state.seed++; refresh(); };
    $("typo").onclick = () => change(liveWords.randomTypo(sentences()), "No word is long enough.");
    $("synonym").onclick = () => change(
      liveWords.randomSynonym(sentences(), liveManifest.synonyms), "The lexicon knows none of these words.");
    $("back").onclick = () => put(state.clean);
    $("keep").onclick = () => { keep(sentences()); refresh(); };
    $("attack").onclick = attack;
    $("stop").onclick = () => { state.stopped = true; };
    $("load").onclick = load;
  }

  if (typeof liveManifest === "undefined")
    return fault("The model cannot be loaded: manifest.js is missing. It belongs into the folder _static/live of this site; unpack the whole site, or build it again.");
  begin();
  const letters = liveManifest.parts.reduce((sum, { bytes }) => sum + 4 * Math.ceil(bytes / 3), 0);
  $("size").textContent = `${Math.round(letters / 1e6)} MB, to download; nothing is stored when you leave.`;
  if (typeof Worker === "undefined")
    return fault("This browser has no workers, so the model cannot run in it. The rest of the page can be read.");
  $("load").disabled = false;
  window.live = { state, read };  // for tests, and for readers who like to look
})();

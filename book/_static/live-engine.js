/* The engine of the live page: it cuts sentences into tokens, runs the model and applies a control.

   MiniLM is a BERT of six blocks. Its state x_t is one row of 384 numbers for each token. A control
   adds u_t to the state before block t; chapter 10 says why, pidlib does the same in PyTorch.
   The page runs this function in a worker, so nothing in here touches the page. */
function liveEngine(scope) {
  "use strict";
  let facts, bytes, arrays, vocabulary;

  // ---------------------------------------------------------------- weights
  // They come in parts, each a text in base64. What is broken is refused before it is used.

  function open(manifest) {
    facts = manifest;
    bytes = new Uint8Array(facts.bytes);
    arrays = vocabulary = null;
  }

  function part({ place, letters }) {
    const { file, start, bytes: size, sum } = facts.parts[place];
    let text = "";
    try { text = atob(letters); } catch { /* not base64: the length will not fit */ }
    if (text.length !== size) throw new Error(`${file} is broken: it has another length`);
    for (let k = 0; k < size; k++) bytes[start + k] = text.charCodeAt(k);
    if (adler32(bytes.subarray(start, start + size)) !== sum)
      throw new Error(`${file} is broken: its checksum differs`);
  }

  function adler32(values) {
    let a = 1, b = 0;
    for (let k = 0; k < values.length;) {
      // 2000 sums stay below 2^53, so the remainder is needed only now and then
      for (const end = Math.min(k + 2000, values.length); k < end; k++) { a += values[k]; b += a; }
      a %= 65521; b %= 65521;
    }
    return b * 65536 + a;
  }

  /* Every matrix but the largest becomes 32-bit numbers once: products then run fast. The vectors of
     the 30,522 pieces stay in 8 bits, for a sentence needs few of them. */
  function unpack() {
    arrays = {};
    const kinds = { int8: Int8Array, uint8: Uint8Array, float32: Float32Array };
    for (const [name, [kind, start, size]] of Object.entries(facts.arrays))
      arrays[name] = new kinds[kind](bytes.buffer, start, size);
    for (const name of Object.keys(arrays)) {
      const scales = arrays[`${name}.scale`];
      if (!scales || name === "words") continue;
      const width = arrays[name].length / scales.length;
      arrays[name] = Float32Array.from(arrays[name]);
      for (let run = 0, k = 0; run < scales.length; run++)  // numbers that share a scale
        for (const end = k + width; k < end; k++) arrays[name][k] *= scales[run];
    }
    const text = new TextDecoder().decode(arrays.vocabulary);
    vocabulary = new Map(text.split("\n").map((piece, place) => [piece, place]));
  }

  // ---------------------------------------------------------------- tokens
  // BERT's tokenizer: small letters without accents, words and marks, then the longest known pieces.

  const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
  const IDEOGRAPH = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;
  const MARK = /[!-\/:-@\[-`{-~]|\p{P}/u;

  /* Words of a text, each with its pieces. A piece that is no beginning of a word has ## before it. */
  function cut(text) {
    const words = [];
    for (const stretch of text.split(SPECIAL)) {
      if (SPECIAL.test(stretch)) words.push({ text: stretch, pieces: [stretch] });
      else for (const word of wordsOf(stretch)) words.push({ text: word, pieces: piecesOf(word) });
    }
    return words;
  }

  function wordsOf(text) {
    let plain = "";
    for (const letter of text) {
      if (letter === "\ufffd" || /[^\t\n\r]/.test(letter) && /\p{C}/u.test(letter)) continue;
      if (/\s/u.test(letter)) plain += " ";
      else plain += IDEOGRAPH.test(letter) ? ` ${letter} ` : letter;
    }
    let spaced = "";
    for (const letter of plain.normalize("NFD").replace(/\p{Mn}/gu, "")) {
      const small = letter.toLowerCase();  // letter by letter: a Greek sigma at an end stays one
      spaced += MARK.test(small) ? ` ${small} ` : small;
    }
    return spaced.split(/\s+/u).filter(Boolean);
  }

  function piecesOf(word) {
    const letters = [...word], pieces = [];
    if (letters.length > 100) return ["[UNK]"];
    for (let start = 0; start < letters.length;) {
      let end = letters.length, piece;
      for (; end > start; end--) {
        piece = (start ? "##" : "") + letters.slice(start, end).join("");
        if (vocabulary.has(piece)) break;
      }
      if (end === start) return ["[UNK]"];
      pieces.push(piece);
      start = end;
    }
    return pieces;
  }

  /* [CLS] premise [SEP] hypothesis [SEP]: for each token its number, its sentence and its word. */
  function encode(premise, hypothesis) {
    const tokens = [];
    let word = 0;
    const add = (pieces, side, of) => {
      for (const text of pieces) tokens.push({ text, of, id: vocabulary.get(text), side, word });
      word++;
    };
    add(["[CLS]"], 0);
    [premise, hypothesis].forEach((sentence, side) => {
      for (const { text, pieces } of cut(sentence)) add(pieces, side, text);
      add(["[SEP]"], side);
    });
    return tokens;
  }

  // ---------------------------------------------------------------- the forward pass

  /* Y = X W^T + b, W as PyTorch keeps it: a row for each output. Four outputs of two tokens are summed
     at a time, so that each number that is read serves more than once. */
  function linear(X, rows, W, b, from, to) {
    const Y = new Float32Array(rows * to);
    const whole = to - to % 4;
    for (let n = 0; n < whole; n += 4) {
      const w0 = n * from, w1 = w0 + from, w2 = w1 + from, w3 = w2 + from;
      for (let m = 0; m < rows; m += 2) {
        const odd = m + 1 === rows, x0 = m * from, x1 = odd ? x0 : x0 + from;
        let a0 = b[n], a1 = b[n + 1], a2 = b[n + 2], a3 = b[n + 3];
        let c0 = a0, c1 = a1, c2 = a2, c3 = a3;
        for (let k = 0; k < from; k++) {
          const p = X[x0 + k], q = X[x1 + k];
          const r = W[w0 + k], s = W[w1 + k], t = W[w2 + k], u = W[w3 + k];
          a0 += p * r; a1 += p * s; a2 += p * t; a3 += p * u;
          c0 += q * r; c1 += q * s; c2 += q * t; c3 += q * u;
        }
        const y = m * to + n;
        Y[y] = a0; Y[y + 1] = a1; Y[y + 2] = a2; Y[y + 3] = a3;
        if (!odd) { Y[y + to] = c0; Y[y + to + 1] = c1; Y[y + to + 2] = c2; Y[y + to + 3] = c3; }
      }
    }
    for (let n = whole; n < to; n++)
      for (let m = 0; m < rows; m++) {
        let sum = b[n];
        for (let k = 0; k < from; k++) sum += X[m * from + k] * W[n * from + k];
        Y[m * to + n] = sum;
      }
    return Y;
  }

  const layer = (name, X, rows, from, to) =>
    linear(X, rows, arrays[`${name}.weight`], arrays[`${name}.bias`], from, to);

  /* Layer normalisation of X + Y, row by row. */
  function normed(name, X, Y, rows, d) {
    const scale = arrays[`${name}.weight`], shift = arrays[`${name}.bias`];
    const Z = new Float32Array(rows * d);
    for (let m = 0; m < rows; m++) {
      let mean = 0, spread = 0;
      for (let k = m * d; k < (m + 1) * d; k++) { Z[k] = X[k] + (Y ? Y[k] : 0); mean += Z[k] / d; }
      for (let k = m * d; k < (m + 1) * d; k++) spread += (Z[k] - mean) ** 2 / d;
      const size = 1 / Math.sqrt(spread + 1e-12);
      for (let k = 0; k < d; k++)
        Z[m * d + k] = (Z[m * d + k] - mean) * size * scale[k] + shift[k];
    }
    return Z;
  }

  function softmax(values) {
    const top = Math.max(...values), powers = values.map((v) => Math.exp(v - top));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((v) => v / sum);
  }

  /* GELU, x times the normal distribution's share below x; erf by Abramowitz and Stegun 7.1.26. */
  function gelu(x) {
    const z = Math.abs(x) / Math.SQRT2, s = 1 / (1 + 0.3275911 * z);
    const series = ((((1.061405429 * s - 1.453152027) * s + 1.421413741) * s - 0.284496736) * s
      + 0.254829592) * s;
    const erf = Math.sign(x) * (1 - series * Math.exp(-z * z));
    return 0.5 * x * (1 + erf);
  }

  /* x_0: the sum of three vectors for each token (its piece, its place, its sentence), normalised. */
  function embed(tokens) {
    const d = facts.width, X = new Float32Array(tokens.length * d);
    const { words, places, kinds, "words.scale": scales } = arrays;
    tokens.forEach(({ id, side }, m) => {
      for (let k = 0; k < d; k++)
        X[m * d + k] = words[id * d + k] * scales[id] + places[m * d + k] + kinds[side * d + k];
    });
    return normed("norm0", X, null, tokens.length, d);
  }

  /* Each head mixes the values of all tokens, by how well its query meets their keys. */
  function attention(t, X, rows) {
    const d = facts.width, size = d / facts.heads, Y = new Float32Array(rows * d);
    const [Q, K, V] = ["query", "key", "value"].map((name) => layer(`${t}.${name}`, X, rows, d, d));
    for (let from = 0; from < d; from += size)
      for (let m = 0; m < rows; m++) {
        const scores = [];
        for (let n = 0; n < rows; n++) {
          let sum = 0;
          for (let k = from; k < from + size; k++) sum += Q[m * d + k] * K[n * d + k];
          scores.push(sum / Math.sqrt(size));
        }
        softmax(scores).forEach((share, n) => {
          for (let k = from; k < from + size; k++) Y[m * d + k] += share * V[n * d + k];
        });
      }
    return layer(`${t}.gather`, Y, rows, d, d);
  }

  /* F_t, a block: attention, then two layers on each token; each adds to what it was given. */
  function block(t, X, rows) {
    const d = facts.width;
    const Y = normed(`${t}.norm1`, X, attention(t, X, rows), rows, d);
    const wide = layer(`${t}.widen`, Y, rows, d, 4 * d).map(gelu);
    return normed(`${t}.norm2`, Y, layer(`${t}.narrow`, wide, rows, 4 * d, d), rows, d);
  }

  // ---------------------------------------------------------------- the controls

  /* u_t = b - K x_t. K's diagonal is kept apart from the rest, which is far smaller. */
  function push(name, t, X, rows) {
    const d = facts.width, [rest, diagonal, offset] =
      ["", ".diagonal", ".offset"].map((part) => arrays[`${name}.${t}${part}`]);
    const U = linear(X, rows, rest, new Float32Array(d), d, d);
    for (let k = 0; k < rows * d; k++) U[k] = offset[k % d] - diagonal[k % d] * X[k] - U[k];
    return U;
  }

  /* Noise in place of a push, of its length at every token. mulberry32 counts through a 32-bit hash,
     Box and Muller make normal numbers of it; it begins anew for each seed, state and token. */
  function noise(seed, t, U, rows) {
    const d = facts.width, N = new Float32Array(rows * d);
    for (let m = 0; m < rows; m++) {
      const next = mulberry32(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(t + 1, 0x85ebca6b)
        ^ Math.imul(m + 1, 0xc2b2ae35));
      let drawn = 0, wanted = 0;
      for (let k = m * d; k < (m + 1) * d; k += 2) {
        const far = Math.sqrt(-2 * Math.log(1 - next())), angle = 2 * Math.PI * next();
        N[k] = far * Math.cos(angle);
        N[k + 1] = far * Math.sin(angle);
      }
      for (let k = m * d; k < (m + 1) * d; k++) { drawn += N[k] ** 2; wanted += U[k] ** 2; }
      for (let k = m * d; k < (m + 1) * d; k++) N[k] *= Math.sqrt(wanted / drawn);
    }
    return N;
  }

  function mulberry32(state) {
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let z = Math.imul(state ^ (state >>> 15), state | 1);
      z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
      return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  // ---------------------------------------------------------------- an answer

  /* The answer to a pair under "none", "pd", "terminal" or "noise" (of the size of "pd"), and the
     states x_0 to x_6, each as the blocks before left it: before its own push. */
  function answer({ premise, hypothesis, condition, strength = 1, seed = 0, states = true }) {
    const tokens = encode(premise, hypothesis), rows = tokens.length, d = facts.width;
    if (rows > facts.length)
      throw new Error(`The two sentences are ${rows} tokens; this page reads at most ${facts.length}.`);
    let X = embed(tokens);
    const seen = [X];
    for (let t = 0; t < facts.depth; t++) {
      if (condition !== "none" && strength !== 0) {
        const law = condition === "noise" ? "pd" : condition;
        const U = push(law, t, X, rows), added = condition === "noise" ? noise(seed, t, U, rows) : U;
        X = X.map((value, k) => value + strength * added[k]);
      }
      X = block(t, X, rows);
      seen.push(X);
    }
    // The first token's last state, through one more layer, gives the three answers.
    const pooled = layer("pooler", X.subarray(0, d), 1, d, d).map(Math.tanh);
    const probabilities = softmax([...layer("classifier", pooled, 1, d, facts.labels.length)]);
    return { tokens, probabilities, states: states ? seen : null };
  }

  const jobs = { open, part, unpack, answer, cut };
  scope.onmessage = ({ data: { id, job, given } }) => {
    try {
      scope.postMessage({ id, value: jobs[job](given) });
    } catch (error) {
      scope.postMessage({ id, fault: error.message });
    }
  };
  return jobs;
}

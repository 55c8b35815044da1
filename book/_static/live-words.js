/* What the live page does with words: edits, an attack, and which word was which. */
const liveWords = (() => {
  "use strict";
  const WORD = /[\p{L}\p{N}'’]+/gu;

  const words = (text) => [...text.matchAll(WORD)].map((match) => match[0]);

  /* The text with its k-th word put in another's place; an empty word goes with its space. */
  function replaced(text, k, word) {
    const match = [...text.matchAll(WORD)][k], end = match.index + match[0].length;
    const before = text.slice(0, match.index);
    return (word ? before : before.replace(/ $/, "")) + word + text.slice(end);
  }

  /* Words of the same group of the lexicon, capital where the word has one. */
  function synonyms(groups, word) {
    const small = word.toLowerCase();
    const others = groups.filter((group) => group.includes(small)).flat().filter((w) => w !== small);
    const capital = word[0] !== word[0].toLowerCase();
    return [...new Set(others)].map((w) => (capital ? w[0].toUpperCase() + w.slice(1) : w));
  }

  /* A slip after the first k letters: the next two swapped, the next one lost, or struck twice. */
  function typos(word, k) {
    const letters = [...word], [start, a, b] = [letters.slice(0, k), letters[k], letters[k + 1]];
    const slip = (...middle) => [...start, ...middle].join("");
    const after = letters.slice(k + 1), rest = letters.slice(k + 2);
    return [slip(b, a, ...rest), slip(...after), slip(a, a, ...after)].filter((w) => w !== word);
  }

  /* Every word of the two sentences that is long enough for a slip within it. */
  function places(sentences, least = 1) {
    return ["premise", "hypothesis"].flatMap((side) => words(sentences[side])
      .map((word, k) => ({ side, k, word })).filter(({ word }) => [...word].length >= least));
  }

  const pick = (list) => list[Math.floor(Math.random() * list.length)];

  function randomTypo(sentences) {
    const place = pick(places(sentences, 4));
    if (!place) return null;
    const at = 1 + Math.floor(Math.random() * ([...place.word].length - 2));
    return { ...place, to: pick(typos(place.word, at)) };
  }

  function randomSynonym(sentences, groups) {
    const all = places(sentences).flatMap((place) =>
      synonyms(groups, place.word).map((to) => ({ ...place, to })));
    return pick(all) ?? null;
  }

  const edited = (sentences, { side, k, to }) =>
    ({ ...sentences, [side]: replaced(sentences[side], k, to) });

  /* A greedy attack. First every word is left out in turn: the more that costs the answer, the more
     the word matters. Then, the most important word first, all its synonyms and three slips are
     tried, and the one that costs most is kept. It stops when the answer turns. `read` gives the
     probabilities of a pair, `report` hears of each step. */
  async function attack({ sentences, groups, read, report, limit }) {
    let now = sentences, used = 0;
    const ask = (pair) => { used++; return read(pair); };
    const first = await ask(now), label = first.indexOf(Math.max(...first));
    let share = first[label];
    const ranked = [];
    for (const place of places(now)) {
      const without = await ask(edited(now, { ...place, to: "" }));
      ranked.push({ ...place, loss: share - without[label] });
      report({ used, ranking: place });
    }
    ranked.sort((a, b) => b.loss - a.loss);
    for (const { side, k, word } of ranked) {
      const middle = Math.max(1, Math.floor([...word].length / 2) - 1);
      const tried = synonyms(groups, word).concat([...word].length < 4 ? [] : typos(word, middle));
      let best = null;
      for (const to of tried) {
        if (used >= limit) return { now, used, turned: false, label };
        const step = { side, k, word, to }, answer = await ask(edited(now, step));
        if (answer[label] < (best ? best.share : share))
          best = { ...step, share: answer[label], turned: Math.max(...answer) > answer[label] };
      }
      if (!best) continue;
      now = edited(now, best);
      share = best.share;
      report({ used, step: best });
      if (best.turned) return { now, used, turned: true, label };
    }
    return { now, used, turned: false, label };
  }

  /* Tokens in the words that they were cut from. */
  function grouped(tokens) {
    const units = [];
    tokens.forEach(({ text, word, side }, place) => {
      units[word] ??= { side, pieces: [], at: [] };
      units[word].pieces.push(text);
      units[word].at.push(place);
    });
    return units;
  }

  /* Which clean word each word was: the pairing with the fewest words changed, added or lost. Words
     of different sentences, and the marks [CLS] and [SEP], are never paired with others. */
  function paired(clean, now) {
    const mark = (word) => /^\[(CLS|SEP)\]$/.test(word.pieces[0]);
    const price = (a, b) => a.pieces.join() === b.pieces.join() && a.side === b.side ? 0
      : a.side !== b.side || mark(a) || mark(b) ? Infinity : 1;
    const cost = clean.concat(null).map(() => []);
    for (let i = clean.length; i >= 0; i--)
      for (let j = now.length; j >= 0; j--) {
        const ends = i === clean.length && j === now.length;
        cost[i][j] = ends ? 0 : Math.min(
          i < clean.length && j < now.length ? price(clean[i], now[j]) + cost[i + 1][j + 1] : Infinity,
          i < clean.length ? 1 + cost[i + 1][j] : Infinity,
          j < now.length ? 1 + cost[i][j + 1] : Infinity);
      }
    const partner = [];
    for (let i = 0, j = 0; j < now.length;) {
      if (i < clean.length && cost[i][j] === price(clean[i], now[j]) + cost[i + 1][j + 1])
        partner[j++] = clean[i++];
      else if (i < clean.length && cost[i][j] === 1 + cost[i + 1][j]) i++;
      else partner[j++] = null;
    }
    return partner;
  }

  /* What is compared: a token with its clean token where a word has as many pieces as before; else the
     mean of its pieces with the mean of the clean ones; a word that was added with nothing. */
  function units(cleanTokens, tokens) {
    const now = grouped(tokens), partners = paired(grouped(cleanTokens), now);
    return now.flatMap((word, j) => {
      const was = partners[j];
      if (was && was.at.length === word.at.length)
        return word.at.map((at, n) => ({
          name: word.pieces[n], was: was.pieces[n], side: word.side, at: [at], from: [was.at[n]],
        }));
      return [{
        name: word.pieces.join(" "), was: was && was.pieces.join(" "), side: word.side,
        at: word.at, from: was && was.at,
      }];
    });
  }

  /* Distance of each unit's state from its clean form, over the length of that: [unit][t]. */
  function distances(units, cleanStates, states, width) {
    const mean = (X, at, k) => at.reduce((sum, m) => sum + X[m * width + k], 0) / at.length;
    return units.map(({ at, from }) => from && states.map((X, t) => {
      let off = 0, size = 0;
      for (let k = 0; k < width; k++) {
        const clean = mean(cleanStates[t], from, k);
        off += (mean(X, at, k) - clean) ** 2;
        size += clean ** 2;
      }
      return Math.sqrt(off / size);
    }));
  }

  return { attack, distances, edited, randomSynonym, randomTypo, synonyms, units, words };
})();

// Words of a text, as the server counts them, and the links between those of a source and of its translation.

import { element } from "./dom.js";

const SPACES = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // as Python splits
const PARTS = new RegExp(`[${SPACES}]+|[^${SPACES}]+`, "g");
const IS_SPACE = new RegExp(`^[${SPACES}]`);
export const UNSURE = 0.5; // words with a lower probability are marked

// The words of a text: where each starts, and its text.
export function wordsOf(text) {
  return [...text.matchAll(PARTS)].filter((part) => !IS_SPACE.test(part[0])).map((part) => ({ start: part.index, text: part[0] }));
}

// The probability of each target word. Copied text has none.
export function probabilities(segment) {
  let next = 0;
  return wordsOf(segment.target).map(({ text }) => {
    const place = segment.words.findIndex((word, i) => i >= next && word.text === text);
    if (place < 0) return null;
    next = place + 1;
    return segment.words[place].probability;
  });
}

// The text of a segment as nodes: white space, and for each word what `draw(word, number)` makes of it.
export function nodesOf(text, draw) {
  let number = 0;
  return [...text.matchAll(PARTS)].map((part) => (IS_SPACE.test(part[0]) ? document.createTextNode(part[0]) : draw(part[0], number++)));
}

// What stands under the source field: the same text, with a place for every word that can be lit.
export function mirrorOf(text, segments) {
  const end = text.endsWith("\n") || text === "" ? "\u200b" : "";
  if (segments.map((each) => each.source).join("") !== text) return [text + end];
  return [...segments.flatMap((segment, i) => nodesOf(segment.source, (word, number) => element("span", { "data-segment": i, "data-word": number }, word))), end];
}

// Lights a word and the words of the other side that belong to it.
export function light(source, target, segments, place) {
  for (const node of [...source.querySelectorAll(".lit"), ...target.querySelectorAll(".lit")]) node.classList.remove("lit");
  if (!place || !segments[place.segment]) return;
  const links = segments[place.segment].alignments.filter((link) => link[place.side] === place.word);
  const lit = (side, word) => {
    const root = side === 0 ? source : target;
    root.querySelector(`[data-segment="${place.segment}"][data-word="${word}"]`)?.classList.add("lit");
  };
  lit(place.side, place.word);
  for (const link of links) lit(1 - place.side, link[1 - place.side]);
}

// The place of a word's node: its segment, its number, and its side (0 source, 1 target).
export function placeOf(node, side) {
  const word = node?.closest?.("[data-word]");
  return word ? { segment: Number(word.dataset.segment), word: Number(word.dataset.word), side } : null;
}

// The place of the source word at a position of the text.
export function placeAt(position, segments) {
  let start = 0;
  for (const [i, segment] of segments.entries()) {
    if (position <= start + segment.source.length) {
      const inside = position - start;
      const word = wordsOf(segment.source).findIndex((each) => each.start <= inside && inside <= each.start + each.text.length);
      if (word >= 0) return { segment: i, word, side: 0 };
    }
    start += segment.source.length;
  }
  return null;
}

// A translation with the white space around its source.
export function surround(source, text) {
  return source.slice(0, source.length - source.trimStart().length) + text.trim() + source.slice(source.trimEnd().length);
}

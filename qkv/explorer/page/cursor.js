// The current position: text, station, side, layer, head, row, column, step, checkpoint, experiment. It is stored in the URL.

const NUMBERS = ["station", "layer", "head", "row", "column", "step", "shuffle", "beam", "checkpoint"];
const FLAGS = ["no_scaling", "no_mask", "no_positions"];
const WORDS = ["model", "text", "side", "part"];

export const START = {
  model: "", text: "", station: 1, side: "", part: "", layer: 0, head: 0, row: 0, column: 0, step: 0, shuffle: 0, beam: 0,
  checkpoint: 0, no_scaling: false, no_mask: false, no_positions: false, silenced: [], force: [],
};

export function readCursor(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, "")), found = {};
  for (const name of WORDS) if (given.has(name)) found[name] = given.get(name).slice(0, 6000);
  for (const name of NUMBERS) {
    const value = Number.parseInt(given.get(name) ?? "", 10);
    if (Number.isFinite(value) && value >= 0) found[name] = ["station", "step", "shuffle", "beam", "checkpoint"].includes(name) ? value : Math.max(0, value - 1);
  }
  for (const name of FLAGS) if (given.has(name)) found[name] = given.get(name) === "1";
  if (given.has("silenced")) found.silenced = given.get("silenced").split(",").filter(Boolean).slice(0, 64);
  if (given.has("force")) found.force = given.get("force").split(",").map(Number).filter(Number.isInteger).slice(0, 64);
  return found;
}

// The URL counts layers, heads, rows and columns from 1.
export function writeCursor(cursor) {
  const parts = new URLSearchParams();
  for (const name of WORDS) if (cursor[name]) parts.set(name, cursor[name]);
  for (const name of NUMBERS) {
    const counted = ["layer", "head", "row", "column"].includes(name);
    if (counted || cursor[name]) parts.set(name, counted ? cursor[name] + 1 : cursor[name]);
  }
  for (const name of FLAGS) if (cursor[name]) parts.set(name, "1");
  if (cursor.silenced.length) parts.set("silenced", cursor.silenced.join(","));
  if (cursor.force.length) parts.set("force", cursor.force.join(","));
  return `#${parts}`;
}

export function experimentOf(cursor) {
  return {
    no_scaling: cursor.no_scaling, no_mask: cursor.no_mask, no_positions: cursor.no_positions,
    shuffle: cursor.shuffle, silenced: cursor.silenced, force: cursor.force,
  };
}

export function isExperiment(cursor) {
  return cursor.no_scaling || cursor.no_mask || cursor.no_positions || cursor.shuffle > 0 || cursor.silenced.length > 0 || cursor.force.length > 0;
}

export function queryOf(cursor) {
  const query = { text: cursor.text, experiment: experimentOf(cursor) };
  if (cursor.checkpoint) query.checkpoint = cursor.checkpoint;
  if (cursor.beam) query.beam = cursor.beam;
  return query;
}

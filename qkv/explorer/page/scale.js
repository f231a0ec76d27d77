// One colour scale for everything: cividis, which is perceptually uniform with and without colour vision deficiency.
// Blue is small or negative, grey is the middle (zero for signed values), yellow is large.

const STOPS = [
  [0, 34, 78], [0, 46, 106], [26, 56, 111], [50, 67, 109], [67, 78, 108], [83, 90, 109], [97, 101, 111], [111, 112, 115],
  [125, 124, 120], [140, 136, 120], [155, 148, 118], [171, 160, 114], [188, 174, 108], [205, 187, 99], [222, 201, 88],
  [240, 216, 70], [254, 232, 56],
];

export function shade(part) {
  const place = Math.min(1, Math.max(0, part)) * (STOPS.length - 1);
  const low = Math.floor(place), high = Math.min(STOPS.length - 1, low + 1), rest = place - low;
  return STOPS[low].map((each, i) => Math.round(each + (STOPS[high][i] - each) * rest));
}

export function colourOf(part) {
  return `rgb(${shade(part).join(" ")})`;
}

export function inkOn(part) {
  return part > 0.52 ? "#10151f" : "#ffffff";
}

// The range of the scale: 0 to 1 for weights, symmetric around 0 for signed values.
export function rangeOf(values, kind) {
  if (kind === "unit") return [0, 1];
  let most = 1e-9;
  for (const each of values) if (Number.isFinite(each)) most = Math.max(most, Math.abs(each));
  return [-most, most];
}

export function partOf(value, [low, high]) {
  return value === -Infinity ? 0 : (value - low) / (high - low);
}

// An image of a matrix, one pixel per value, enlarged by the style sheet.
export function paint(canvas, values, rows, columns, range) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), picture = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    picture.data.set([...shade(partOf(values[i], range)), 255], 4 * i);
  }
  context.putImageData(picture, 0, 0);
}

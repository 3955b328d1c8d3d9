// Tensors as `{dtype, shape, data}`, row-major, and walks over their indices.

export class Rejected extends Error {
  /** A program or data at fault; `rejected` is the code. */
  constructor(code, message) {
    super(message ?? code);
    this.rejected = code;
  }
}

export const tensor = (dtype, shape, data) => ({ dtype, shape, data });
export const size = (shape) => shape.reduce((n, d) => n * d, 1);
export const ints = (t) => t.data.map(Number);
export const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

/** How far apart neighbours along each axis are. */
export function strides(shape) {
  const found = new Array(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) found[i] = found[i + 1] * shape[i + 1];
  return found;
}

/** Every index of a shape, in row-major order; the array is the same one each time. */
export function* indices(shape) {
  const total = size(shape);
  const at = new Array(shape.length).fill(0);
  for (let n = 0; n < total; n++) {
    yield at;
    for (let i = shape.length - 1; i >= 0; i--) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

/** The place of an index in the data; axes of size 1 stand for all, leading axes may be missing. */
export function placeIn(shape, steps, at) {
  const skipped = at.length - shape.length;
  let place = 0;
  for (let i = 0; i < shape.length; i++) if (shape[i] !== 1) place += at[i + skipped] * steps[i];
  return place;
}

export function broadcast(...shapes) {
  const rank = Math.max(...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, i) => {
    const dims = shapes.map((s) => s[i - rank + s.length] ?? 1);
    const wide = dims.find((d) => d !== 1) ?? 1;
    if (dims.some((d) => d !== 1 && d !== wide)) throw new Rejected('shape-mismatch', shapes.join(' and '));
    return wide;
  });
}

/** A tensor of `shape` whose element at each index is what `from(index)` gives. */
export function build(dtype, shape, from) {
  const data = [];
  for (const at of indices(shape)) data.push(from(at));
  return tensor(dtype, shape, data);
}

/** A function from an index, of this shape or one that it broadcasts to, to the element there. */
export function reader(t) {
  const steps = strides(t.shape);
  return (at) => t.data[placeIn(t.shape, steps, at)];
}

/** The tensor in which the element at each index is that of `x` at `source(index)`. */
export function moved(x, shape, source) {
  const steps = strides(x.shape);
  return build(x.dtype, shape, (at) => x.data[source(at).reduce((n, i, axis) => n + i * steps[axis], 0)]);
}

export const without = (list, axis) => list.filter((_, i) => i !== axis);
export const replaced = (list, axis, value) => list.map((old, i) => (i === axis ? value : old));
export const inserted = (list, axis, value) => [...list.slice(0, axis), value, ...list.slice(axis)];

/** An index that may count from the end, as one that does not. */
export function checked(index, length) {
  const found = Number(index);
  if (found < -length || found >= length) throw new Rejected('index-out-of-range', `index ${found} of ${length}`);
  return found < 0 ? found + length : found;
}

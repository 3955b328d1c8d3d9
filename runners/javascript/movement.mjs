// Operators that move elements, choose them by index, or make them from nothing.
import { one, settle, zero } from './numbers.mjs';
import { greater, lesser } from './elementwise.mjs';
import { Rejected, axisOf, broadcast, build, checked, indices, inserted, ints, moved } from './tensors.mjs';
import { reader, replaced, size, strides, tensor, without } from './tensors.mjs';

const i64 = (shape, list) => tensor('i64', shape, list.map(BigInt));
const axesOf = (axes, rank) => axes.map((a) => axisOf(a, rank));

function reshape(x, shape, { allow_zero: zeros = false }) {
  const wanted = ints(shape).map((d, i) => (d === 0 && !zeros ? x.shape[i] : d));
  const known = size(wanted.filter((d) => d !== -1));
  const dims = wanted.map((d) => (d === -1 ? size(x.shape) / known : d));
  if (size(dims) !== size(x.shape)) throw new Rejected('shape-mismatch', `${x.shape} as ${dims}`);
  return tensor(x.dtype, dims, x.data);
}

function expandDims(x, { axes }) {
  const rank = x.shape.length + axes.length;
  const added = axesOf(axes, rank);
  const old = [...x.shape];
  return tensor(x.dtype, Array.from({ length: rank }, (_, i) => (added.includes(i) ? 1 : old.shift())), x.data);
}

function squeeze(x, { axes = null }) {
  const gone = axes === null ? x.shape.flatMap((d, i) => (d === 1 ? [i] : [])) : axesOf(axes, x.shape.length);
  return tensor(x.dtype, x.shape.filter((_, i) => !gone.includes(i)), x.data);
}

function slice(x, starts, ends, axes, steps) {
  const count = starts.data.length;
  const chosen = axes?.data ? axesOf(ints(axes), x.shape.length) : Array.from({ length: count }, (_, i) => i);
  const by = steps?.data ? ints(steps) : new Array(count).fill(1);
  const [first, shape] = [x.shape.map(() => 0), [...x.shape]];
  const stride = x.shape.map(() => 1);
  chosen.forEach((axis, i) => {
    const [step, length] = [by[i], x.shape[axis]];
    const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
    const bounded = (v) => Math.min(Math.max(v < 0 ? v + length : v, low), high);
    const [start, end] = [bounded(ints(starts)[i]), bounded(ints(ends)[i])];
    [first[axis], stride[axis]] = [start, step];
    shape[axis] = Math.max(0, Math.ceil((end - start) / step));
  });
  return moved(x, shape, (at) => at.map((v, i) => first[i] + v * stride[i]));
}

function concat(...given) {
  const { axis = 0 } = given.at(-1);
  const xs = given.slice(0, -1);
  const place = axisOf(axis, xs[0].shape.length);
  const shape = replaced(xs[0].shape, place, xs.reduce((n, x) => n + x.shape[place], 0));
  const steps = xs.map((x) => strides(x.shape));
  return build(xs[0].dtype, shape, (at) => {
    let [offset, which] = [at[place], 0];
    while (offset >= xs[which].shape[place]) offset -= xs[which++].shape[place];
    return xs[which].data[replaced(at, place, offset).reduce((n, v, i) => n + v * steps[which][i], 0)];
  });
}

function split(x, sizes, { axis = 0, num_outputs: parts }) {
  const place = axisOf(axis, x.shape.length);
  const [total, even] = [x.shape[place], Math.ceil(x.shape[place] / parts)];
  const evenly = Array.from({ length: parts }, (_, i) => Math.max(0, Math.min(even, total - i * even)));
  const lengths = sizes ? ints(sizes) : evenly;
  let start = 0;
  return lengths.map((length) => {
    const from = start;
    start += length;
    return moved(x, replaced(x.shape, place, length), (at) => replaced(at, place, at[place] + from));
  });
}

function permuteDims(x, { axes = null }) {
  const order = axes === null ? x.shape.map((_, i) => x.shape.length - 1 - i) : axesOf(axes, x.shape.length);
  return moved(x, order.map((a) => x.shape[a]), (at) => order.reduce((found, a, i) => ((found[a] = at[i]), found), []));
}

function spread(x, shape) {
  const element = reader(x);
  return build(x.dtype, shape, element);
}

function flip(x, { axes }) {
  const turned = axesOf(axes, x.shape.length);
  return moved(x, x.shape, (at) => at.map((v, i) => (turned.includes(i) ? x.shape[i] - 1 - v : v)));
}

function reverseSequence(x, lengths, { batch_axis: batch = 1, time_axis: time = 0 }) {
  const counts = ints(lengths);
  return moved(x, x.shape, (at) => {
    const count = counts[at[batch]];
    return at[time] < count ? replaced(at, time, count - 1 - at[time]) : at;
  });
}

function triangle(keeps) {
  return (x, k) => {
    const offset = k?.data ? ints(k)[0] : 0;
    const element = reader(x);
    return build(x.dtype, x.shape, (at) => (keeps(at.at(-1) - at.at(-2), offset) ? element(at) : zero(x.dtype)));
  };
}

const SOURCES = {
  edge: (i, n) => Math.min(Math.max(i, 0), n - 1),
  wrap: (i, n) => ((i % n) + n) % n,
  reflect: (i, n) => {
    if (n === 1) return 0;
    const period = 2 * (n - 1);
    const place = ((i % period) + period) % period;
    return place < n ? place : period - place;
  },
  constant: (i, n) => (i >= 0 && i < n ? i : null),
};

function pad(x, pads, value, axes, { mode = 'constant' }) {
  const [rank, given] = [x.shape.length, ints(pads)];
  const chosen = axes ? axesOf(ints(axes), rank) : x.shape.map((_, i) => i);
  const [before, after] = [new Array(rank).fill(0), new Array(rank).fill(0)];
  chosen.forEach((a, i) => ([before[a], after[a]] = [given[i], given[i + chosen.length]]));
  const filler = value ? value.data[0] : zero(x.dtype);
  const steps = strides(x.shape);
  return build(x.dtype, x.shape.map((d, i) => d + before[i] + after[i]), (at) => {
    const source = at.map((v, i) => SOURCES[mode](v - before[i], x.shape[i]));
    return source.includes(null) ? filler : x.data[source.reduce((n, v, i) => n + v * steps[i], 0)];
  });
}

function take(x, places, { axis = 0 }) {
  const on = axisOf(axis, x.shape.length);
  const rank = places.shape.length;
  const shape = [...x.shape.slice(0, on), ...places.shape, ...x.shape.slice(on + 1)];
  const chosen = places.data.map((i) => checked(i, x.shape[on]));
  const steps = strides(places.shape);
  return moved(x, shape, (at) => {
    const place = at.slice(on, on + rank).reduce((n, v, i) => n + v * steps[i], 0);
    return [...at.slice(0, on), chosen[place], ...at.slice(on + rank)];
  });
}

function takeAlongAxis(x, places, { axis = -1 }) {
  const on = axisOf(axis, x.shape.length);
  const chosen = reader(places);
  const shape = broadcast(without(x.shape, on), without(places.shape, on));
  const source = (at) => at.map((v, i) => (i === on ? checked(chosen(at), x.shape[on]) : x.shape[i] === 1 ? 0 : v));
  return moved(x, inserted(shape, on, places.shape[on]), source);
}

function gatherNd(x, places, { batch_dims: batch = 0 }) {
  const depth = places.shape.at(-1);
  const lead = places.shape.slice(0, -1);
  const rest = x.shape.slice(batch + depth);
  const steps = strides(places.shape);
  return moved(x, [...lead, ...rest], (at) => {
    const start = at.slice(0, lead.length).reduce((n, v, i) => n + v * steps[i], 0);
    const chosen = Array.from({ length: depth }, (_, i) => checked(places.data[start + i], x.shape[batch + i]));
    return [...at.slice(0, batch), ...chosen, ...at.slice(lead.length)];
  });
}

const JOIN = { none: (_, b) => b, add: (a, b) => a + b, mul: (a, b) => a * b, max: greater, min: lesser };

function scatterElements(x, places, updates, { axis = 0, reduction = 'none' }) {
  const on = axisOf(axis, x.shape.length);
  const [data, steps] = [[...x.data], strides(x.shape)];
  let n = 0;
  for (const at of indices(places.shape)) {
    const target = at.reduce((m, v, i) => m + (i === on ? checked(places.data[n], x.shape[on]) : v) * steps[i], 0);
    data[target] = settle(x.dtype, JOIN[reduction](data[target], updates.data[n++]));
  }
  return tensor(x.dtype, x.shape, data);
}

function scatterNd(x, places, updates, { reduction = 'none' }) {
  const depth = places.shape.at(-1);
  const count = size(x.shape.slice(depth));
  const [data, steps] = [[...x.data], strides(x.shape)];
  for (let row = 0; row < size(places.shape.slice(0, -1)); row++) {
    let start = 0;
    for (let i = 0; i < depth; i++) start += checked(places.data[row * depth + i], x.shape[i]) * steps[i];
    for (let i = 0; i < count; i++) {
      data[start + i] = settle(x.dtype, JOIN[reduction](data[start + i], updates.data[row * count + i]));
    }
  }
  return tensor(x.dtype, x.shape, data);
}

function oneHot(places, depth, values, { axis = -1 }) {
  const length = ints(depth)[0];
  const on = axisOf(axis, places.shape.length + 1);
  const chosen = reader(places);
  return build(values.dtype, inserted(places.shape, on, length), (at) => {
    const index = Number(chosen(without(at, on)));
    const inside = index >= -length && index < length;
    return values.data[inside && (index < 0 ? index + length : index) === at[on] ? 1 : 0];
  });
}

function compress(x, condition, { axis = null }) {
  const flat = axis === null ? tensor(x.dtype, [x.data.length], x.data) : x;
  const on = axisOf(axis ?? 0, flat.shape.length);
  const kept = condition.data.flatMap((c, i) => (c ? [i] : []));
  return take(flat, i64([kept.length], kept), { axis: on });
}

function nonzero(x) {
  const found = [];
  let n = 0;
  for (const at of indices(x.shape)) {
    const element = x.data[n++];
    if (element || element !== element) found.push([...at]);
  }
  return i64([x.shape.length, found.length], x.shape.flatMap((_, axis) => found.map((at) => at[axis])));
}

function arange(start, stop, step) {
  const [from, to, by] = [start, stop, step].map((t) => t.data[0]);
  const count = Math.max(0, Math.ceil((Number(to) - Number(from)) / Number(by)));
  const at = (i) => (typeof from === 'bigint' ? from + BigInt(i) * by : from + i * by);
  return tensor(start.dtype, [count], Array.from({ length: count }, (_, i) => settle(start.dtype, at(i))));
}

function eyeLike(x, { k = 0, dtype = null }) {
  const made = dtype?.dtype ?? x.dtype;
  return build(made, x.shape, ([row, column]) => (column - row === k ? one(made) : zero(made)));
}

export const OPERATORS = {
  reshape,
  flatten: (x, { axis = 1 }) => {
    const on = axisOf(axis, x.shape.length);
    return tensor(x.dtype, [size(x.shape.slice(0, on)), size(x.shape.slice(on))], x.data);
  },
  expand_dims: expandDims,
  squeeze,
  slice,
  concat,
  split,
  identity: (x) => x,
  device_copy: (x) => x,
  to_vdevice: (x) => x,
  hint_on_device: (x) => x,
  permute_dims: permuteDims,
  broadcast_to: (x, shape) => spread(x, ints(shape)),
  expand: (x, shape) => spread(x, broadcast(x.shape, ints(shape))),
  flip,
  tile: (x, reps) => moved(x, x.shape.map((d, i) => d * ints(reps)[i]), (at) => at.map((v, i) => v % x.shape[i])),
  reverse_sequence: reverseSequence,
  tril: triangle((diagonal, k) => diagonal <= k),
  triu: triangle((diagonal, k) => diagonal >= k),
  pad,
  take,
  take_along_axis: takeAlongAxis,
  gather_nd: gatherNd,
  scatter_elements: scatterElements,
  scatter_nd: scatterNd,
  one_hot: oneHot,
  compress,
  nonzero,
  full: (shape, value) => tensor(value.dtype, ints(shape), new Array(size(ints(shape))).fill(value.data[0])),
  arange,
  eye_like: eyeLike,
  shape_of: (x, { start = 0, end = null }) => {
    const found = x.shape.slice(start, end ?? undefined);
    return i64([found.length], found);
  },
  size_of: (x) => i64([], [x.data.length]),
  shape_to_tensor: (x) => x,
  tensor_to_shape: (x) => x,
};

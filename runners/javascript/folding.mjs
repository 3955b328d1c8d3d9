// Operators that fold axes, run along one, or contract several: reductions, softmax, matmul.
import { isFloat, isInteger, one, range, settle, zero } from './numbers.mjs';
import { greater, lesser } from './elementwise.mjs';
import { Rejected, axisOf, broadcast, build, indices, ints, placeIn, reader } from './tensors.mjs';
import { replaced, size, strides, tensor, without } from './tensors.mjs';

/** Folds axes, all of them if none is given: `fold` gets the elements that fall together. */
function folded(x, { axis = null, keepdims = false }, dtype, fold) {
  const axes = (axis ?? x.shape.map((_, i) => i)).map((a) => axisOf(a, x.shape.length));
  const kept = x.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const groups = Array.from({ length: size(kept) }, () => []);
  const steps = strides(kept);
  let n = 0;
  for (const at of indices(x.shape)) groups[placeIn(kept, steps, at)].push(x.data[n++]);
  const shape = keepdims ? kept : kept.filter((_, i) => !axes.includes(i));
  return tensor(dtype, shape, groups.map((g) => settle(dtype, fold(g))));
}

/** Replaces each line along an axis by what `fn` makes of it, `length` elements of `dtype`. */
function along(x, axis, dtype, length, fn) {
  const place = axisOf(axis, x.shape.length);
  const [step, count] = [strides(x.shape)[place], x.shape[place]];
  const shape = replaced(x.shape, place, length);
  const data = new Array(size(shape));
  const [outer, steps] = [replaced(x.shape, place, 1), strides(shape)];
  const starts = strides(x.shape);
  for (const at of indices(outer)) {
    const start = at.reduce((n, i, a) => n + i * starts[a], 0);
    const line = fn(Array.from({ length: count }, (_, i) => x.data[start + i * step]));
    const target = at.reduce((n, i, a) => n + i * steps[a], 0);
    line.forEach((e, i) => (data[target + i * steps[place]] = e));
  }
  return tensor(dtype, shape, data);
}

const sum = (dtype) => (list) => list.reduce((a, b) => a + b, zero(dtype));
const product = (dtype) => (list) => list.reduce((a, b) => (isFloat(dtype) ? a * b : settle(dtype, a * b)), one(dtype));
const least = (dtype) => (isFloat(dtype) ? -Infinity : isInteger(dtype) ? range(dtype)[0] : false);
const most = (dtype) => (isFloat(dtype) ? Infinity : isInteger(dtype) ? range(dtype)[1] : true);

/** The place of the best element: the first one, or the last one, or that of the first NaN. */
function best(beats) {
  return (x, { axis, keepdims = false, select_last: last = false }) => {
    const found = along(x, axis, 'i64', 1, (line) => {
      if (!line.length) throw new Rejected('empty-reduction', 'nothing to choose from');
      const missing = line.findIndex((e) => e !== e);
      if (missing >= 0) return [BigInt(missing)];
      let place = 0;
      line.forEach((e, i) => {
        if (beats(e, line[place]) || (last && e === line[place])) place = i;
      });
      return [BigInt(place)];
    });
    return keepdims ? found : { ...found, shape: without(found.shape, axisOf(axis, x.shape.length)) };
  };
}

function cumulative(join, neutral) {
  return (x, { axis, exclusive = false, reverse = false }) =>
    along(x, axis, x.dtype, x.shape[axisOf(axis, x.shape.length)], (line) => {
      const given = reverse ? [...line].reverse() : line;
      let total = neutral(x.dtype);
      const made = given.map((e) => {
        const before = total;
        total = isFloat(x.dtype) ? join(total, e) : settle(x.dtype, join(total, e));
        return settle(x.dtype, exclusive ? before : total);
      });
      return reverse ? made.reverse() : made;
    });
}

function shiftedBy(line) {
  const top = line.reduce(greater, -Infinity);
  const apart = line.map((e) => e - top);
  return [apart, apart.reduce((n, e) => n + Math.exp(e), 0)];
}

function softmax(line) {
  const [apart, total] = shiftedBy(line);
  return apart.map((e) => Math.exp(e) / total);
}

function logSoftmax(line) {
  const [apart, total] = shiftedBy(line);
  return apart.map((e) => e - Math.log(total));
}

const normalized = (fn) => (x, { axis = -1 }) =>
  along(x, axis, x.dtype, x.shape[axisOf(axis, x.shape.length)], (line) => fn(line).map((e) => settle(x.dtype, e)));

function matmul(x, y) {
  const a = x.shape.length === 1 ? { ...x, shape: [1, ...x.shape] } : x;
  const b = y.shape.length === 1 ? { ...y, shape: [...y.shape, 1] } : y;
  const [rows, inner, columns] = [a.shape.at(-2), a.shape.at(-1), b.shape.at(-1)];
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const batch = broadcast(left, right);
  const [ls, rs] = [strides(left), strides(right)];
  const data = [];
  for (const at of indices(batch)) {
    const [p, q] = [placeIn(left, ls, at) * rows * inner, placeIn(right, rs, at) * inner * columns];
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        let total = zero(x.dtype);
        for (let k = 0; k < inner; k++) total += a.data[p + i * inner + k] * b.data[q + k * columns + j];
        data.push(settle(x.dtype, total));
      }
    }
  }
  const shape = [...batch, ...(x.shape.length === 1 ? [] : [rows]), ...(y.shape.length === 1 ? [] : [columns])];
  return tensor(x.dtype, shape, data);
}

/** Numbers for the letters of an equation; `...` stands for the axes that no letter names. */
function labels(term, rank) {
  const [before, after] = term.split('...');
  if (after === undefined) return [...term];
  const count = rank - before.length - after.length;
  return [...before, ...Array.from({ length: count }, (_, i) => `.${count - i}`), ...after];
}

function einsum(...given) {
  const { equation } = given.at(-1);
  const xs = given.slice(0, -1);
  const [left, right] = equation.replace(/\s/g, '').split('->');
  const terms = left.split(',').map((term, i) => labels(term, xs[i].shape.length));
  const sizes = {};
  terms.forEach((term, i) => term.forEach((l, axis) => {
    const length = xs[i].shape[axis];
    if (length !== 1 || !(l in sizes)) sizes[l] = length;
  }));
  const all = Object.keys(sizes);
  const dots = all.filter((l) => l.startsWith('.')).sort((p, q) => Number(q.slice(1)) - Number(p.slice(1)));
  const once = all.filter((l) => !l.startsWith('.') && terms.flat().filter((m) => m === l).length === 1).sort();
  const named = right?.split('...').flatMap((part, i) => [...(i ? dots : []), ...part]);
  const kept = named ?? [...dots, ...once];
  const inner = all.filter((l) => !kept.includes(l));
  const order = [...kept, ...inner];
  const steps = xs.map((x) => strides(x.shape));
  const places = terms.map((term) => term.map((l) => order.indexOf(l)));
  const element = (x, i, at) => x.data[placeIn(x.shape, steps[i], places[i].map((p) => at[p]))];
  const dtype = xs[0].dtype;
  return build(dtype, kept.map((l) => sizes[l]), (outer) => {
    let total = zero(dtype);
    for (const rest of indices(inner.map((l) => sizes[l]))) {
      const at = [...outer, ...rest];
      total += xs.reduce((n, x, i) => n * element(x, i, at), one(dtype));
    }
    return settle(dtype, total);
  });
}

/** Scales elements to mean 0 and variance 1 over the axes from one on. */
function layerNorm(x, scale, bias, attrs) {
  const { axis = -1, epsilon = 1e-5 } = attrs;
  const from = axisOf(axis, x.shape.length);
  const count = size(x.shape.slice(from));
  const [weight, shift] = [reader(scale), bias ? reader(bias) : () => 0];
  const rows = Array.from({ length: size(x.shape.slice(0, from)) }, (_, i) => x.data.slice(i * count, (i + 1) * count));
  const moments = rows.map(momentsOf);
  let n = 0;
  return build(x.dtype, x.shape, (at) => {
    const [mean, variance] = moments[Math.floor(n / count)];
    return settle(x.dtype, ((x.data[n++] - mean) / Math.sqrt(variance + epsilon)) * weight(at) + shift(at));
  });
}

function momentsOf(list) {
  const mean = list.reduce((a, b) => a + b, 0) / list.length;
  return [mean, list.reduce((n, e) => n + (e - mean) ** 2, 0) / list.length];
}

function batchNorm(x, scale, bias, mean, variance, { epsilon = 1e-5 }) {
  const element = reader(x);
  return build(x.dtype, x.shape, (at) => {
    const [weight, shift, middle, spread] = [scale, bias, mean, variance].map((t) => t.data[at[1]]);
    return settle(x.dtype, ((element(at) - middle) / Math.sqrt(spread + epsilon)) * weight + shift);
  });
}

/** The first elements in order and their places; NaN is the greatest, equal ones keep their order. */
function topK(x, k, { axis = -1, largest = true }) {
  const count = ints(k)[0];
  const rank = ([a, i], [b, j]) => {
    const order = a !== a ? (b !== b ? 0 : 1) : b !== b ? -1 : a < b ? -1 : a > b ? 1 : 0;
    return (largest ? -order : order) || i - j;
  };
  const chosen = (line) => line.map((e, i) => [e, i]).sort(rank).slice(0, count);
  return [
    along(x, axis, x.dtype, count, (line) => chosen(line).map(([e]) => e)),
    along(x, axis, 'i64', count, (line) => chosen(line).map(([, i]) => BigInt(i))),
  ];
}

export const OPERATORS = {
  sum: (x, attrs) => folded(x, attrs, x.dtype, sum(x.dtype)),
  prod: (x, attrs) => folded(x, attrs, x.dtype, product(x.dtype)),
  max: (x, attrs) => folded(x, attrs, x.dtype, (list) => list.reduce(greater, least(x.dtype))),
  min: (x, attrs) => folded(x, attrs, x.dtype, (list) => list.reduce(lesser, most(x.dtype))),
  mean: (x, attrs) => folded(x, attrs, x.dtype, (list) => sum(x.dtype)(list) / list.length),
  all: (x, attrs) => folded(x, attrs, 'bool', (list) => list.every(Boolean)),
  any: (x, attrs) => folded(x, attrs, 'bool', (list) => list.some(Boolean)),
  argmax: best((a, b) => a > b),
  argmin: best((a, b) => a < b),
  cumulative_sum: cumulative((a, b) => a + b, zero),
  cumulative_prod: cumulative((a, b) => a * b, one),
  softmax: normalized(softmax),
  log_softmax: normalized(logSoftmax),
  matmul,
  einsum,
  layer_norm: layerNorm,
  batch_norm: batchNorm,
  top_k: topK,
};

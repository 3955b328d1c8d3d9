// Operators that work element by element, and casts.
import { convert, settle, toEven, width } from './numbers.mjs';
import { Rejected, broadcast, build, reader, tensor } from './tensors.mjs';

/** A function of one number, and of the call's attributes, on each element. */
const unary = (fn) => (x, attrs) => tensor(x.dtype, x.shape, x.data.map((e) => settle(x.dtype, fn(e, attrs, x.dtype))));

/** The tensor of `dtype` that a function makes of elements of operands that broadcast. */
function elementwise(dtype, fn, ...operands) {
  const read = operands.map(reader);
  const shape = broadcast(...operands.map((t) => t.shape));
  return build(dtype, shape, (at) => settle(dtype, fn(...read.map((r) => r(at)))));
}

const binary = (fn) => (x, y) => elementwise(x.dtype, (a, b) => fn(a, b, x.dtype), x, y);
const compared = (fn) => (x, y) => elementwise('bool', fn, x, y);
const isBig = (x) => typeof x === 'bigint';

/** One function for floats, another one for integers. */
const either = (floats, integers) => binary((a, b, dtype) => (isBig(a) ? integers(a, b, dtype) : floats(a, b)));

/** A division of integers that refuses to divide by 0. */
const dividing = (fn) => (a, b) => {
  if (b === 0n) throw new Rejected('division-by-zero', `${a} by 0`);
  return fn(a, b);
};

function floorRemainder(a, b) {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

function floorQuotient(a, b) {
  if (!Number.isFinite(a / b) || !Number.isFinite(b)) return Math.floor(a / b);
  const exact = (a - floorRemainder(a, b)) / b;
  return toEven(exact);
}

function power(a, b) {
  if (a === 1 || b === 0) return 1; // as IEEE 754 has it, also of NaN
  return a === -1 && !Number.isFinite(b) && !Number.isNaN(b) ? 1 : Math.pow(a, b);
}

function integerPower(a, b, dtype) {
  if (b < 0n) throw new Rejected('negative-exponent', `${a} to the ${b}`);
  let [result, base] = [1n, a];
  for (let rest = b; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = settle(dtype, result * base);
    base = settle(dtype, base * base);
  }
  return result;
}

function shifted(fn, beyond) {
  return binary((a, b, dtype) => (b < 0n || b >= BigInt(width(dtype)) ? beyond(a) : fn(a, b)));
}

const bitwise = (integers, bools) => binary((a, b) => (isBig(a) ? integers(a, b) : bools(a, b)));
const greater = (a, b) => (a !== a ? a : b !== b ? b : a > b ? a : b);
const lesser = (a, b) => (a !== a ? a : b !== b ? b : a < b ? a : b);
const elu = (x, alpha) => (x > 0 ? x : alpha * Math.expm1(x));
const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const clamped = (x) => (x !== x ? x : Math.min(Math.max(x, 0), 1));

function clip(x, least, most) {
  const [low, high] = [least && reader(least), most && reader(most)];
  const bounded = (e, at) => {
    const raised = low ? greater(e, low(at)) : e;
    return high ? lesser(raised, high(at)) : raised;
  };
  const element = reader(x);
  return build(x.dtype, x.shape, (at) => bounded(element(at), at));
}

function cast(x, { to: { dtype } }) {
  return tensor(dtype, x.shape, x.data.map((e) => convert(x.dtype, dtype, e)));
}

function isinf(x, { detect_negative: negative = true, detect_positive: positive = true }) {
  return tensor('bool', x.shape, x.data.map((e) => (positive && e === Infinity) || (negative && e === -Infinity)));
}

const FUNCTIONS = [
  ...['sqrt', 'exp', 'log', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan'],
  ...['sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh'],
];

export const OPERATORS = {
  ...Object.fromEntries(FUNCTIONS.map((name) => [name, unary((x) => Math[name](x))])),
  abs: unary((x) => (isBig(x) ? (x < 0n ? -x : x) : Math.abs(x))),
  negative: unary((x) => -x),
  sign: unary((x) => (isBig(x) ? (x > 0n ? 1n : x < 0n ? -1n : 0n) : Math.sign(x))),
  square: unary((x) => x * x),
  reciprocal: unary((x) => 1 / x),
  floor: unary((x) => (isBig(x) ? x : Math.floor(x))),
  ceil: unary((x) => (isBig(x) ? x : Math.ceil(x))),
  round: unary((x) => (isBig(x) ? x : toEven(x))),
  relu: unary((x) => (x < 0 ? (isBig(x) ? 0n : 0) : x)),
  sigmoid: unary(sigmoid),
  leaky_relu: unary((x, { alpha = 0.01 }) => (x < 0 ? alpha * x : x)),
  hard_sigmoid: unary((x, { alpha = 0.2, beta = 0.5 }) => clamped(alpha * x + beta)),
  hard_swish: unary((x) => x * clamped(x / 6 + 0.5)),
  elu: unary((x, { alpha = 1 }) => elu(x, alpha)),
  selu: unary((x, { alpha = 1.6732631921768188, gamma = 1.0507010221481323 }) => gamma * elu(x, alpha)),
  celu: unary((x, { alpha = 1 }) => (x > 0 ? x : alpha * Math.expm1(x / alpha))),
  softplus: unary(softplus),
  softsign: unary((x) => x / (1 + Math.abs(x))),
  mish: unary((x) => (x === -Infinity ? NaN : x * Math.tanh(softplus(x)))),
  thresholded_relu: unary((x, { alpha = 1 }) => (x > alpha ? x : 0)),
  shrink: unary((x, { bias = 0, lambd = 0.5 }) => (x < -lambd ? x + bias : x > lambd ? x - bias : 0)),
  logical_not: unary((x) => !x),
  bitwise_invert: unary((x) => (isBig(x) ? ~x : !x)),

  add: binary((a, b) => a + b),
  subtract: binary((a, b) => a - b),
  multiply: binary((a, b) => a * b),
  divide: binary((a, b) => a / b),
  floor_divide: either(floorQuotient, dividing((a, b) => a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n))),
  trunc_divide: binary(dividing((a, b) => a / b)),
  remainder: either(floorRemainder, dividing((a, b) => ((a % b) + b) % b)),
  fmod: either((a, b) => a % b, dividing((a, b) => a % b)),
  pow: either(power, integerPower),
  maximum: binary(greater),
  minimum: binary(lesser),
  prelu: binary((x, slope) => (x < 0 ? slope * x : x)),
  logical_and: binary((a, b) => a && b),
  logical_or: binary((a, b) => a || b),
  logical_xor: binary((a, b) => a !== b),
  bitwise_and: bitwise((a, b) => a & b, (a, b) => a && b),
  bitwise_or: bitwise((a, b) => a | b, (a, b) => a || b),
  bitwise_xor: bitwise((a, b) => a ^ b, (a, b) => a !== b),
  bitwise_left_shift: shifted((a, b) => a << b, () => 0n),
  bitwise_right_shift: shifted((a, b) => a >> b, (a) => (a < 0n ? -1n : 0n)),
  equal: compared((a, b) => a === b),
  not_equal: compared((a, b) => a !== b),
  less: compared((a, b) => a < b),
  less_equal: compared((a, b) => a <= b),
  greater: compared((a, b) => a > b),
  greater_equal: compared((a, b) => a >= b),

  where: (condition, x, y) => elementwise(x.dtype, (c, a, b) => (c ? a : b), condition, x, y),
  clip,
  cast,
  isnan: (x) => tensor('bool', x.shape, x.data.map(Number.isNaN)),
  isinf,
};

export { greater, lesser };

// The dtypes of the language: how a number is rounded to each, and what an integer wraps to.

const INTEGER = /^([iu])(4|8|16|32|64)$/;

export const isFloat = (dtype) => dtype.startsWith('f') || dtype === 'bf16';
export const isInteger = (dtype) => INTEGER.test(dtype);
export const FLOATS = ['f16', 'bf16', 'f32', 'f64'];
export const INTEGERS = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64'];

/** The least and the greatest element of an integer dtype. */
export function range(dtype) {
  const bits = BigInt(width(dtype));
  return dtype.startsWith('i') ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}

export const width = (dtype) => Number(INTEGER.exec(dtype)[2]);

/** What an integer, a BigInt, is modulo the width of its dtype. */
export function wrap(dtype, x) {
  return dtype.startsWith('i') ? BigInt.asIntN(width(dtype), x) : BigInt.asUintN(width(dtype), x);
}

// By dtype: bits of the significand, the least exponent of a normal number, the greatest number.
const FORMS = { f16: [11, -14, 65504], bf16: [8, -126, (2 - 2 ** -7) * 2 ** 127] };
const view = new DataView(new ArrayBuffer(8));

/** A float, rounded to the nearest element of its dtype, ties to the even one. */
export function round(dtype, x) {
  if (dtype === 'f64' || x === 0 || !Number.isFinite(x)) return x;
  if (dtype === 'f32') return Math.fround(x);
  const [bits, least, most] = FORMS[dtype];
  view.setFloat64(0, x);
  const exponent = Math.max(((view.getUint16(0) >> 4) & 0x7ff) - 1023, least);
  const step = 2 ** (exponent - bits + 1);
  const rounded = toEven(x / step) * step;
  return Math.abs(rounded) > most ? Math.sign(x) * Infinity : rounded;
}

/** The nearest integer, of two the even one; zeros keep their sign. */
export function toEven(x) {
  const below = Math.floor(x);
  const rest = x - below;
  const nearest = rest < 0.5 ? below : rest > 0.5 ? below + 1 : below % 2 === 0 ? below : below + 1;
  return nearest === 0 && (x < 0 || Object.is(x, -0)) ? -0 : nearest;
}

/** An element of `from` as an element of `to`: floats saturate to integers, integers wrap. */
export function convert(from, to, x) {
  if (to === 'bool') return isFloat(from) ? x !== 0 : Boolean(x);
  if (isFloat(to)) return round(to, Number(x));
  if (!isFloat(from)) return wrap(to, BigInt(x));
  const [least, most] = range(to);
  if (Number.isNaN(x)) return 0n;
  if (x <= Number(least)) return least;
  return x >= Number(most) ? most : BigInt(Math.trunc(x));
}

/** `x` made an element of `dtype`, as what an operator computed. */
export const settle = (dtype, x) => (isFloat(dtype) ? round(dtype, x) : isInteger(dtype) ? wrap(dtype, x) : x);

export const zero = (dtype) => (isFloat(dtype) ? 0 : isInteger(dtype) ? 0n : false);
export const one = (dtype) => (isFloat(dtype) ? 1 : isInteger(dtype) ? 1n : true);

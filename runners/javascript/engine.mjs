// An example of an engine for runner.mjs: an interpreter of programs without control flow, on one
// device, that is right and slow. What it does not claim is reported as unsupported.
import { OPERATORS as ELEMENTWISE } from './elementwise.mjs';
import { OPERATORS as FOLDING } from './folding.mjs';
import { OPERATORS as MOVEMENT } from './movement.mjs';
import { FLOATS, INTEGERS } from './numbers.mjs';
import { read } from './runner.mjs';
import { Rejected, tensor } from './tensors.mjs';

export const OPERATORS = { ...ELEMENTWISE, ...FOLDING, ...MOVEMENT };

/** The number of operands of those that may be left out; the attributes come after all of them. */
const OPERANDS = { clip: 3, slice: 5, split: 2, tril: 2, triu: 2, pad: 4, layer_norm: 3 };

export const capabilities = [
  'input:json',
  'device:cpu',
  ...['bool', ...FLOATS, ...INTEGERS].map((dtype) => `dtype:${dtype}`),
  ...Object.keys(OPERATORS).map((name) => `op:${name}`),
  ...['shape:symbolic', 'shape:unknown-dim', 'construct:tuple'],
  ...['diagnostics:data', 'diagnostics:codes', 'semantics:pinned'],
];

export function compile(program, { entry }) {
  const functions = new Map(program.functions.map((f) => [f.name, f]));
  if (!functions.has(entry)) throw new Rejected('unknown-function', entry);
  return { run: (name, args) => evaluate(functions.get(name), args) };
}

function evaluate({ params, body, bounds = [] }, args) {
  const values = new Map(params.map((p, i) => [p.name, args[i]]));
  const symbols = new Map();
  params.forEach((p, i) => bind(p.type, args[i], symbols));
  for (const { symbol, lower, upper } of bounds) {
    const found = symbols.get(symbol);
    const inside = found >= lower && (upper === null || found <= upper);
    if (!inside) throw new Rejected('symbol-out-of-bounds', `${symbol} is ${found}`);
  }
  for (const binding of body.bindings) values.set(binding.name, valueOf(binding, values, symbols));
  return values.get(body.result);
}

/** Notes the sizes of symbols: an argument of type f32[n, 4] says what n is. */
function bind(type, value, symbols) {
  if (type.kind === 'tuple') type.items.forEach((t, i) => bind(t, value[i], symbols));
  if (type.kind !== 'tensor' || !type.shape) return;
  type.shape.forEach((dim, i) => {
    if (typeof dim === 'string' && !symbols.has(dim)) symbols.set(dim, value.shape[i]);
  });
}

function valueOf(binding, values, symbols) {
  const operands = binding.args.map((name) => (name === null ? undefined : values.get(name)));
  switch (binding.kind) {
    case 'call':
      return call(binding, operands);
    case 'constant':
      return read(binding);
    case 'tuple':
      return operands;
    case 'project':
      return operands[0][binding.index];
    case 'alias':
      return operands[0];
    case 'shape':
      return tensor('i64', [binding.shape.length], binding.shape.map((dim) => BigInt(symbols.get(dim) ?? dim)));
    default:
      throw new Error(`this engine has no ${binding.kind}`);
  }
}

function call({ op, attrs }, operands) {
  const count = OPERANDS[op] ?? operands.length;
  const padded = Array.from({ length: count }, (_, i) => operands[i]);
  return OPERATORS[op](...padded, attrs);
}

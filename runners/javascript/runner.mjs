// Runs the cases that `hettest export --format=json` wrote on an engine: one line for each item.
//   node runner.mjs --engine ./engine.mjs DIR [--level N (default 2)]
// An engine is a module with `capabilities`, the words that it claims, and `compile(tree, item)`, which
// returns an object with `run(entry, args)`. A tensor is `{dtype, shape, data}`: numbers for floats,
// BigInts for integers, booleans; a tuple is an array. An error whose `rejected` is a code refuses a
// program or its data, any other one is a crash. Placement and copies are not checked here: items that
// need them are unsupported. Exit code: 0; 1 if an item failed or crashed; 2 for wrong usage.
import { readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const SPECIAL = { nan: NaN, inf: Infinity, '-inf': -Infinity };
const isFloat = (dtype) => dtype.startsWith('f') || dtype === 'bf16';
const element = (dtype) => (isFloat(dtype) ? (x) => SPECIAL[x] ?? x : dtype === 'bool' ? Boolean : BigInt);

/** Whether a claim, a word or a pattern, includes a word: `op:add` includes `op:add:f32`. */
function covers(claim, word) {
  const [, head, last] = claim.match(/^(.*:)?([^:]*)$/);
  const parts = word.split(':');
  const prefixes = parts.slice(1).map((_, i) => parts.slice(0, i + 2).join(':'));
  return last.split('|').some((name) => {
    const quoted = ((head ?? '') + name).replace(/[.+^${}()[\]\\]/g, '\\$&');
    const pattern = new RegExp(`^${quoted.replace(/\*/g, '.*').replace(/\?/g, '.')}$`);
    return prefixes.some((prefix) => pattern.test(prefix));
  });
}

function missing(words, claims) {
  const taken = claims.filter((c) => c.startsWith('-')).map((c) => c.slice(1));
  return words.filter((w) => taken.some((c) => covers(c, w)) || !claims.some((c) => covers(c, w)));
}

function bits16(bits, dtype) {
  if (dtype === 'bf16') return new Float32Array(new Uint32Array([bits << 16]).buffer)[0];
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}

const ARRAYS = {
  ...{ bool: Uint8Array, i4: Int8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array },
  ...{ u4: Uint8Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array },
  ...{ f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array },
};

function fromBytes(dtype, hex) {
  const found = Array.from(new ARRAYS[dtype](Uint8Array.from(Buffer.from(hex, 'hex')).buffer));
  return found.map(dtype.endsWith('f16') ? (bits) => bits16(bits, dtype) : element(dtype));
}

/** The tensor, or the tuple of tensors, that an export writes down. */
export function read(value) {
  if (Array.isArray(value)) return value.map(read);
  const { dtype, shape, data, hex } = value;
  return { dtype, shape, data: data ? data.map(element(dtype)) : fromBytes(dtype, hex) };
}

/** What is wrong with a result, or null. */
function wrong(found, wanted, signedZeros, place = 'the result') {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return `${place} is no tuple of ${wanted.length}`;
    return wanted.map((w, i) => wrong(found[i], w, signedZeros, `${place}[${i}]`)).find(Boolean) ?? null;
  }
  const { dtype, shape, data } = read(wanted);
  const form = `${found?.dtype}[${found?.shape}]`;
  if (form !== `${dtype}[${shape}]`) return `${place} is ${form}, expected ${dtype}[${shape}]`;
  if (found.data?.length !== data.length) return `${place} has ${found.data?.length} elements`;
  const allowed = (i) => (Array.isArray(wanted.allowed) ? wanted.allowed[i] : wanted.allowed);
  const agrees = (a, b, bound) =>
    bound === 'any' ||
    (a === b ? !signedZeros || a !== 0 || Object.is(a, b) : Object.is(a, b)) || // NaN is equal to NaN
    (a !== b && typeof a === 'number' && isFloat(dtype) && Math.abs(a - b) <= bound);
  const i = data.findIndex((b, place) => !agrees(found.data[place], b, allowed(place)));
  return i < 0 ? null : `${place}, element ${i} is ${found.data[i]}, expected ${data[i]} within ${allowed(i)}`;
}

/** How one item ends: an outcome, and why. */
function judge(engine, program, item) {
  const claims = [...engine.capabilities];
  const run = program.runs.find((r) => r.name === item.run);
  const more = { 'input:hir': program.refused, 'observe:intermediates': run?.vacuous };
  const needs = [...item.requires, ...Object.keys(more).filter((word) => more[word])];
  const lacks = [...new Set([...missing(needs, claims), ...needs.filter((w) => w.startsWith('observe:'))])];
  if (lacks.length) return ['unsupported', lacks.join(', ')];
  const [found, rejected] = execute(engine, program, item, run);
  if (rejected && typeof rejected.rejected !== 'string') return ['crashed', String(rejected)];
  if (program.refused) return rejected ? ['passed'] : ['failed', 'the program was accepted'];
  if (run?.error && missing(['diagnostics:data'], claims).length) return ['passed'];
  if (run?.error) {
    const right = rejected && (rejected.rejected === run.error || missing(['diagnostics:codes'], claims).length);
    return right ? ['passed'] : ['failed', `${rejected ?? 'there are results'}, expected ${run.error}`];
  }
  if (rejected) return ['failed', `refused: ${rejected.rejected}: ${rejected.message}`];
  const text = run ? wrong(found, run.result, run.signed_zeros) : null;
  const advisory = run?.advisory && missing(['semantics:pinned'], claims).length;
  return !text ? ['passed'] : advisory ? ['passed', `advisory: ${text}`] : ['failed', text];
}

function execute(engine, program, item, run) {
  const source = program.refused ? program.text : program.tree;
  const [executable, refused] = attempt(() => engine.compile(source, { ...item, entry: run?.entry ?? 'main' }));
  if (!executable || !run) return [executable, refused];
  const start = (each) => attempt(() => executable.run(each.entry, each.args.map((a) => read(a.value))));
  const before = program.runs.find((r) => r.name === run.after);
  const [, early] = before ? start(before) : [];
  return early && !before.error ? [null, early] : start(run);
}

/** What `make` returns, or the error that it throws. */
function attempt(make) {
  try {
    return [make(), null];
  } catch (error) {
    return [null, error];
  }
}

async function main() {
  const load = (file) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const options = { engine: { type: 'string' }, level: { type: 'string', default: '2' } };
  let values, folder, all, chosen, engine;
  try {
    ({ values, positionals: [folder] } = parseArgs({ allowPositionals: true, options }));
    if (!values.engine || !folder || !/^\d+$/.test(values.level)) throw new Error('name an engine, a folder and a level that is a number');
    chosen = (all = load('index.json').cases ?? []).filter((c) => c.level <= Number(values.level));
    if (!chosen.length) throw new Error(`${folder} has no case as JSON up to level ${values.level}`);
    engine = await import(pathToFileURL(resolve(values.engine)));
  } catch (error) {
    console.error(`runner: ${error.message}\nusage: node runner.mjs --engine ./engine.mjs DIR [--level N (default 2)]`);
    process.exit(2);
  }
  const counts = { passed: 0, failed: 0, crashed: 0, unsupported: 0 };
  for (const program of chosen.flatMap((c) => load(c.file).programs)) {
    for (const item of program.items) {
      const [outcome, text] = judge(engine, program, item);
      counts[outcome] += 1;
      console.log(`${outcome}: ${item.id}${text ? `: ${text}` : ''}`);
    }
  }
  const counted = Object.values(counts).reduce((a, b) => a + b);
  const [listed, every] = [chosen, all].map((cases) => cases.reduce((n, c) => n + c.items, 0));
  const told = Object.entries(counts).map(([word, n]) => `${n} ${word}`).join(', ');
  const left = `${every - listed} items above level ${values.level} left out`;
  console.log(`${counted} of ${listed} items: ${told}${every > listed ? `; ${left}` : ''}`);
  process.exitCode = counted !== listed || counts.failed || counts.crashed ? 1 : 0;
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) main();

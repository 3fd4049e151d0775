// SPDX-License-Identifier: MIT
/**
 * What a device does in a local collection, in a browser or in Node: it reads the public header of the collection,
 * randomises one value, and writes a report that the collector accepts. No value leaves this module unrandomised.
 *
 * It is the twin of `sfumato.local` in Python. Both read the system's random bytes in one order, so the same bytes give
 * the same report; shared vectors (`vectors/`) hold both to it. Probabilities are whole numbers out of 2^64, worked out
 * from ε in exact integers (Balcer & Vadhan 2019, "Differential Privacy on Finite Computers"); what ε promises never
 * hangs on a floating-point number. The protocols are those of Wang, Blocki, Li & Jha (2017), "Locally Differentially
 * Private Protocols for Frequency Estimation"; each names its own paper below.
 *
 *     const collection = await openCollection(header, { largestEpsilon: 2 });
 *     const line = reportLine(collection.perturb("Newport"));
 *
 * @module sfumato-device
 */

/** What was asked for cannot be done; nothing was drawn or sent. The sentence holds no value of the device. */
export class RefusedError extends Error {
  name = "RefusedError";
}

/** The budget of a device does not suffice. Send what `DeviceMemory.repeat` gives, not silence. */
export class BudgetExceededError extends RefusedError {
  name = "BudgetExceededError";
}

/**
 * @param {unknown} condition
 * @param {string} sentence
 * @returns {asserts condition}
 */
function check(condition, sentence) {
  if (!condition) throw new RefusedError(sentence);
}

// ---- Random bytes, and what is drawn from them: the same order as `sfumato.local.device`

const MOST_BYTES = 65536; // what getRandomValues gives at once
const SCALE = 1n << 64n;

/** @param {number} count @returns {Uint8Array<ArrayBuffer>} */
function systemBytes(count) {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

/** Uniform integers below 2^64. @param {number} count @returns {Generator<bigint, void>} */
function* words64(count) {
  for (let left = count; left > 0; left -= MOST_BYTES / 8) {
    const view = new DataView(systemBytes(Math.min(8 * left, MOST_BYTES)).buffer);
    for (let at = 0; at < view.byteLength; at += 8) yield view.getBigUint64(at, true);
  }
}

/** True with probability threshold/2^64. @param {bigint} threshold */
function coin(threshold) {
  const [word] = words64(1);
  return /** @type {bigint} */ (word) < threshold;
}

/** @param {bigint} number */
const bitLength = (number) => (number ? number.toString(2).length : 0);

/** A uniform integer below a bound, by rejection. @param {bigint} bound */
function below(bound) {
  const bits = bitLength(bound - 1n);
  const size = Math.ceil(bits / 8);
  for (;;) {
    const drawn = littleEndian(systemBytes(size)) >> BigInt(8 * size - bits);
    if (drawn < bound) return drawn;
  }
}

/** @param {number} bound */
const smallBelow = (bound) => Number(below(BigInt(bound)));

/** A uniform set of integers below a bound (Bentley & Floyd 1987). @param {number} count @param {number} bound */
function subset(count, bound) {
  /** @type {Set<number>} */
  const chosen = new Set();
  for (let top = bound - count; top < bound; top++) {
    const candidate = smallBelow(top + 1);
    chosen.add(chosen.has(candidate) ? top : candidate);
  }
  return chosen;
}

/** True with probability exp(-top/bottom), for a ratio of at most 1. @param {bigint} top @param {bigint} bottom */
function expCoin(top, bottom) {
  let trial = 1n;
  while (below(bottom * trial) < top) trial++;
  return trial % 2n === 1n;
}

/** Discrete Laplace noise (Canonne, Kamath & Steinke 2020, algorithm 2). @param {Fraction} scale, in lowest terms */
function discreteLaplace([top, bottom]) {
  for (;;) {
    const offset = below(top);
    if (!expCoin(offset, top)) continue;
    let whole = 0n;
    while (expCoin(1n, 1n)) whole++;
    const size = (offset + top * whole) / bottom;
    const negative = below(2n);
    if (size || !negative) return Number(negative ? -size : size);
  }
}

/** The samplers, for tests of their laws; an app has no use for them. */
export const sampling = Object.freeze({ words64, coin, below, subset, discreteLaplace });

// ---- Bytes and texts

/** @param {Uint8Array} bytes */
const littleEndian = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** @param {bigint | number} number @param {number} size */
const toBytes = (number, size) =>
  Uint8Array.from({ length: size }, (_, at) => Number((BigInt(number) >> BigInt(8 * at)) & 255n));

/** The bytes that hold any integer below a size: 1, 2 or 4. @param {number} size */
const integerBytes = (size) => (size <= 2 ** 8 ? 1 : size <= 2 ** 16 ? 2 : 4);

/** @param {Iterable<number>} places @param {number} size */
function packBits(places, size) {
  const row = new Uint8Array(Math.ceil(size / 8));
  for (const place of places) row[place >> 3] |= 1 << (place & 7);
  return row;
}

/** @param {Uint8Array} bytes @param {number} place */
const bitAt = (bytes, place) => ((bytes[place >> 3] >> (place & 7)) & 1) === 1;

/** @param {Uint8Array[]} parts */
function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** @param {Uint8Array} bytes */
const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** @param {string} text */
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** @param {Uint8Array} bytes */
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** JSON in ASCII, as fingerprints are taken of it. @param {unknown} content */
const asciiJSON = (content) =>
  JSON.stringify(content).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The SHA-256 of an ASCII text, in hexadecimal. @param {string} text */
async function sha256(text) {
  const subtle = globalThis.crypto?.subtle;
  check(subtle, "this page has no crypto.subtle: serve it by https, or from localhost");
  return toHex(new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** @param {string} text */
const fingerprint = async (text) => (await sha256(text)).slice(0, 16);

// BLAKE2b with a salt (RFC 7693), which the Bloom filters of RAPPOR are made of.
const BLAKE_START = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];
const BLAKE_ORDERS = [
  "0123456789abcdef",
  "ea489fd61c02b753",
  "b8c052fdae367194",
  "7931dcbe265a40f8",
  "905724afe1bc683d",
  "2c6a0b834d75fe19",
  "c51fed4a0763928b",
  "db7ec13950f4862a",
  "6fe9b308c2d714a5",
  "a2847615fb9e3cd0",
].map((row) => Array.from(row, (digit) => parseInt(digit, 16)));
const BLAKE_LANES = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];

/** @param {bigint} word @param {bigint} by */
const rotated = (word, by) => ((word >> by) | (word << (64n - by))) & (SCALE - 1n);

/** @param {bigint[]} state @param {bigint[]} block @param {bigint} seen @param {boolean} last */
function blakeRound(state, block, seen, last) {
  const v = [...state, ...BLAKE_START];
  v[12] ^= seen;
  if (last) v[14] ^= SCALE - 1n;
  for (let round = 0; round < 12; round++) {
    const order = BLAKE_ORDERS[round % 10];
    BLAKE_LANES.forEach(([a, b, c, d], lane) => {
      for (const [half, first, second] of [
        [0, 32n, 24n],
        [1, 16n, 63n],
      ]) {
        v[a] = BigInt.asUintN(64, v[a] + v[b] + block[order[2 * lane + Number(half)]]);
        v[d] = rotated(v[d] ^ v[a], BigInt(first));
        v[c] = BigInt.asUintN(64, v[c] + v[d]);
        v[b] = rotated(v[b] ^ v[c], BigInt(second));
      }
    });
  }
  state.forEach((_, at) => (state[at] ^= v[at] ^ v[at + 8]));
}

/** @param {Uint8Array} message @param {number} size @param {bigint} salt below 2^64 */
function blake2b(message, size, salt) {
  const state = [...BLAKE_START];
  state[0] ^= 0x01010000n ^ BigInt(size);
  state[4] ^= salt;
  const blocks = Math.max(1, Math.ceil(message.length / 128));
  for (let at = 0; at < blocks; at++) {
    const part = joined(message.slice(128 * at, 128 * at + 128), new Uint8Array(128)).slice(0, 128);
    const block = Array.from({ length: 16 }, (_, word) => littleEndian(part.slice(8 * word, 8 * word + 8)));
    const last = at === blocks - 1;
    blakeRound(state, block, BigInt(last ? message.length : 128 * (at + 1)), last);
  }
  return joined(...state.map((word) => toBytes(word, 8))).slice(0, size);
}

// ---- Exact numbers: the same as `sfumato.local.probabilities`

/** @typedef {[bigint, bigint]} Fraction a numerator, and a denominator above 0 */

const DIGITS = 60; // of a decimal; results are rounded to them, halves to the even one
const ONE = 10n ** 110n; // of fixed-point numbers, far finer than the digits that are kept
const SLACK = 10n ** 50n;

/** @param {bigint} a @param {bigint} b @returns {bigint} */
const divisor = (a, b) => (b ? divisor(b, a % b) : a);

/** @param {Fraction} fraction @returns {Fraction} */
const reduced = ([top, bottom]) => {
  const common = divisor(top < 0n ? -top : top, bottom);
  return [top / common, bottom / common];
};

/** @param {Fraction} a @param {Fraction} b */
const isLess = (a, b) => a[0] * b[1] < b[0] * a[1];

/** The double itself, as a fraction. @param {number} number above 0 @returns {Fraction} */
function fractionOf(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  const power = (bits >> 52n) - 1075n;
  const digits = (bits & ((1n << 52n) - 1n)) | (1n << 52n);
  return power < 0n ? [digits, 1n << -power] : [digits << power, 1n];
}

/** What the shortest text of a double says, as a fraction. @param {number} number above 0 @returns {Fraction} */
function decimalOf(number) {
  const [digits, power] = String(number).split("e");
  const [whole, part = ""] = digits.split(".");
  const exponent = Number(power ?? 0) - part.length;
  return exponent < 0
    ? [BigInt(whole + part), 10n ** BigInt(-exponent)]
    : [BigInt(whole + part) * 10n ** BigInt(exponent), 1n];
}

/** A fraction to 60 significant digits. @param {Fraction} fraction @returns {{digits: bigint, exponent: number}} */
function toDecimal([top, bottom]) {
  if (!top) return { digits: 0n, exponent: 0 };
  const size = top < 0n ? -top : top;
  let exponent = `${size}`.length - `${bottom}`.length - DIGITS;
  const scaled = () =>
    exponent < 0 ? [size * 10n ** BigInt(-exponent), bottom] : [size, bottom * 10n ** BigInt(exponent)];
  if (scaled()[0] >= scaled()[1] * 10n ** BigInt(DIGITS)) exponent++;
  const [over, under] = scaled();
  const twice = 2n * (over % under);
  const up = twice > under || (twice === under && (over / under) % 2n === 1n);
  const digits = over / under + (up ? 1n : 0n);
  return { digits: top < 0n ? -digits : digits, exponent };
}

/** @param {Fraction} fraction @returns {Fraction} */
function rounded(fraction) {
  const { digits, exponent } = toDecimal(fraction);
  return exponent < 0 ? [digits, 10n ** BigInt(-exponent)] : [digits * 10n ** BigInt(exponent), 1n];
}

/** @param {Fraction} exponent @returns {Fraction} */
function exp([top, bottom]) {
  const small = (((top < 0n ? -top : top) * ONE) / bottom) >> 16n;
  let sum = ONE;
  for (let term = ONE, count = 1n; term; count++) {
    term = (term * small) / ONE / count;
    sum += term;
  }
  for (let time = 0; time < 16; time++) sum = (sum * sum) / ONE;
  return top < 0n ? [ONE, sum] : [sum, ONE];
}

/** A fraction just below exp(exponent). @param {Fraction} exponent @returns {Fraction} */
function expBelow(exponent) {
  const [top, bottom] = rounded(exp(rounded(exponent)));
  return [top * (SLACK - 1n), bottom * SLACK];
}

/** 2·artanh(z) of a fixed-point number. @param {bigint} z */
function twiceArtanh(z) {
  let sum = 0n;
  for (let power = z, odd = 1n; power; power = (((power * z) / ONE) * z) / ONE, odd += 2n) sum += power / odd;
  return 2n * sum;
}

/** The natural logarithm of a whole number of at least 1. @param {bigint} number @returns {Fraction} */
function ln(number) {
  const halvings = BigInt(bitLength(number) - 1);
  const rest = (number * ONE) >> halvings;
  return [halvings * twiceArtanh(ONE / 3n) + twiceArtanh(((rest - ONE) * ONE) / (rest + ONE)), ONE];
}

/** A double of at least ln(ratio), the nearest one unless it is below. @param {Fraction} ratio */
function logAbove(ratio) {
  const [top, bottom] = reduced(ratio);
  if (top === bottom) return 0;
  const [over, under] = [rounded(ln(top)), rounded(ln(bottom))];
  const { digits, exponent } = toDecimal([over[0] * under[1] - under[0] * over[1], over[1] * under[1]]);
  const nearest = Number(`${digits}e${exponent}`);
  return isLess(fractionOf(nearest), rounded([digits, 10n ** BigInt(-exponent)])) ? nextUp(nearest) : nearest;
}

/** @param {number} number above 0 */
function nextUp(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0);
}

/** What an ε asks for, divided: the double or its text, the smaller. @param {number} epsilon @param {number} [by] */
function askedLoss(epsilon, by = 1) {
  const [binary, text] = [fractionOf(epsilon), decimalOf(epsilon)];
  const [top, bottom] = isLess(text, binary) ? text : binary;
  return /** @type {Fraction} */ (by < 0 ? [-top, bottom * BigInt(-by)] : [top, bottom * BigInt(by)]);
}

/** @param {Fraction} probability */
const thresholdBelow = ([top, bottom]) => (SCALE * top) / bottom;

/** @param {Fraction} probability */
const thresholdAbove = ([top, bottom]) => (SCALE * top + bottom - 1n) / bottom;

/** odds/(1 + odds). @param {Fraction} odds @returns {Fraction} */
const chanceOf = ([top, bottom]) => [top, top + bottom];

/** 1/(odds + more). @param {Fraction} odds @param {number} more @returns {Fraction} */
const inverse = ([top, bottom], more) => [bottom, top + BigInt(more) * bottom];

// ---- Protocols: the law of a report in whole numbers, and one draw

/**
 * @typedef {string | number} Value a text, or a whole number of at most 2^53
 * @typedef {Record<string, number>} Parameters
 * @typedef {{chances: Record<string, bigint>, ratio: Fraction, limits?: Record<string, number>}} Law
 * @typedef {object} Kind
 * @property {string[]} [parameters] besides ε
 * @property {(size: number, parameters: Parameters) => Law} law
 * @property {(law: Law, size: number, code: number) => Uint8Array} [draw]
 */

/** The chances of the true value and of each other one of so many. @param {number} epsilon @param {number} size */
function responseChances(epsilon, size) {
  const other = thresholdAbove(inverse(expBelow(askedLoss(epsilon)), size - 1));
  const own = SCALE - BigInt(size - 1) * other;
  check(own > other, `randomised response over ${size} values cannot keep this epsilon in probabilities out of 2^64`);
  return { own, other };
}

/** The code or another one, by one word. @param {number} code @param {Record<string, bigint>} chances */
function respond(code, { own, other }) {
  const word = /** @type {bigint} */ (words64(1).next().value);
  if (word < own) return code;
  const place = Number((word - own) / other);
  return place + (place >= code ? 1 : 0);
}

/** Generalised randomised response (Kairouz, Bonawitz & Ramage 2016). @type {Kind} */
const grr = {
  law(size, { epsilon }) {
    const chances = responseChances(epsilon, size);
    return { chances, ratio: [chances.own, chances.other] };
  },
  draw: ({ chances }, size, code) => toBytes(respond(code, chances), integerBytes(size)),
};

/** Randomised response for two values (Warner 1965). @type {Kind} */
const rr = {
  ...grr,
  law(size, parameters) {
    check(size === 2, `randomised response is for a domain of 2 values; the header has ${size}`);
    return grr.law(size, parameters);
  },
};

/** @param {(epsilon: number) => {own: bigint, other: bigint}} bits @returns {Kind} */
const unary = (bits) => ({
  law(_, { epsilon }) {
    const { own, other } = bits(epsilon);
    return { chances: { own, other }, ratio: [own * (SCALE - other), (SCALE - own) * other] };
  },
  draw: ({ chances: { own, other } }, size, code) =>
    packBits(
      onesOf(size, (at) => (at === code ? own : other)),
      size,
    ),
});

/** The places whose word is below their threshold. @param {number} size @param {(place: number) => bigint} threshold */
function* onesOf(size, threshold) {
  let place = 0;
  for (const word of words64(size)) {
    if (word < threshold(place)) yield place;
    place++;
  }
}

/** Symmetric unary encoding (Erlingsson, Pihur & Korolova 2014). */
const sue = unary((epsilon) => {
  const own = thresholdBelow(chanceOf(expBelow(askedLoss(epsilon, 2))));
  return { own, other: SCALE - own };
});

/** Optimised unary encoding (Wang et al. 2017). */
const oue = unary((epsilon) => ({ own: SCALE / 2n, other: thresholdAbove(inverse(expBelow(askedLoss(epsilon)), 1)) }));

const PRIME = 2n ** 31n - 1n;
const MOST_GROUPS = 2n ** 16n;

/** Optimised local hashing (Wang et al. 2017): a seed, and the randomised cell of the value under it. @type {Kind} */
const olh = {
  law(_, { epsilon }) {
    const [top, bottom] = expBelow(askedLoss(epsilon));
    const whole = (2n * top + bottom) / (2n * bottom) + 1n; // rounded, plus 1; a tie cannot be
    const groups = whole < MOST_GROUPS ? whole : MOST_GROUPS;
    const { own, other } = responseChances(epsilon, Number(groups));
    return { chances: { own, other, groups }, ratio: [own, other] };
  },
  draw({ chances }, _, code) {
    const [slope, shift] = [below(PRIME), below(PRIME)];
    const cell = Number((((slope * BigInt(code) + shift) % PRIME) * chances.groups) >> 31n);
    const answer = toBytes(respond(cell, chances), integerBytes(Number(chances.groups)));
    return joined(toBytes(slope, 4), toBytes(shift, 4), answer);
  },
};

/**
 * Hadamard response (Acharya, Sun & Zhang 2019): a row, likelier one where the value's column has a plus.
 * @type {Kind}
 */
const hr = {
  law(_, { epsilon }) {
    const plus = thresholdBelow(chanceOf(expBelow(askedLoss(epsilon))));
    return { chances: { plus }, ratio: [plus, SCALE - plus] };
  },
  draw({ chances }, size, code) {
    const [rows, column] = [2 ** bitLength(BigInt(size)), code + 1];
    let row = smallBelow(rows);
    if (isMinus(row, column) === coin(chances.plus)) row ^= column & -column;
    return toBytes(row, integerBytes(rows));
  },
};

/** @param {number} row @param {number} column */
function isMinus(row, column) {
  let odd = false;
  for (let both = row & column; both; both &= both - 1) odd = !odd;
  return odd;
}

/** Subset selection (Ye & Barg 2018): a set of values, likelier one with the true value. @type {Kind} */
const ss = {
  law(size, { epsilon }) {
    const [top, bottom] = expBelow(askedLoss(epsilon));
    const d = BigInt(size);
    const held = (/** @type {bigint} */ k) => thresholdBelow(chanceOf([k * top, bottom * (d - k)]));
    const whole = (d * bottom) / (top + bottom);
    const [less, more] = [whole || 1n, whole + 1n];
    const k = isLess(subsetNoise(more, d, held(more)), subsetNoise(less, d, held(less))) ? more : less;
    return { chances: { held: held(k), size: k }, ratio: [held(k) * (d - k), (SCALE - held(k)) * k] };
  },
  draw({ chances }, size, code) {
    const held = coin(chances.held);
    const members = [...subset(Number(chances.size) - (held ? 1 : 0), size - 1)].map((at) => at + (at >= code ? 1 : 0));
    return packBits(held ? [...members, code] : members, size);
  },
};

/**
 * A number in proportion to the variance of a count.
 * @param {bigint} k @param {bigint} d @param {bigint} held @returns {Fraction}
 */
function subsetNoise(k, d, held) {
  const whole = SCALE * (d - 1n);
  const [own, other] = [held * (d - 1n), held * (k - 1n) + (SCALE - held) * k];
  const [empty, full] = [other * (whole - other), own * (whole - own)];
  return [empty * d + full - empty, d * (own - other) ** 2n];
}

const COHORT_BYTES = 2;

/** RAPPOR (Erlingsson, Pihur & Korolova 2014): a permanent answer, and fresh noise for every report. @type {Kind} */
const rappor = {
  parameters: ["bits", "hashes", "cohorts", "p", "q"],
  law(_, { epsilon, bits, hashes, cohorts, p, q }) {
    const fits = (/** @type {number} */ number, /** @type {number} */ least, /** @type {number} */ most) =>
      Number.isInteger(number) && number >= least && number <= most;
    const whole =
      fits(bits, 2, 2 ** 16) && fits(hashes, 1, 8) && fits(cohorts, 1, 2 ** 16) && bits * cohorts <= 2 ** 24;
    check(whole, "the header's bits, hashes or cohorts are not those of RAPPOR");
    check(p >= 0.001 && p < q && q <= 0.999, "the header's p and q are not those of RAPPOR: 0.001 <= p < q <= 0.999");
    const flip = thresholdAbove(inverse(expBelow(askedLoss(epsilon, 2 * hashes)), 1));
    const again = { q: thresholdBelow(fractionOf(q)), p: thresholdAbove(fractionOf(p)) };
    const shape = { bits: BigInt(bits), hashes: BigInt(hashes), cohorts: BigInt(cohorts) };
    const power = 2n * shape.hashes;
    return {
      chances: { ...shape, flip, ...again },
      ratio: [(SCALE - flip) ** power, flip ** power],
      limits: { bits, hashes, cohorts },
    };
  },
};

/** The bits of a value in a cohort's Bloom filter. @param {Law} law @param {Value} value @param {number} cohort */
function bloom({ limits }, value, cohort) {
  const { bits, hashes } = /** @type {Record<string, number>} */ (limits);
  const digest = blake2b(new TextEncoder().encode(asciiJSON(value)), 8 * hashes, BigInt(cohort));
  const bit = (/** @type {number} */ at) => Number(littleEndian(digest.slice(8 * at, 8 * at + 8)) % BigInt(bits));
  return new Set(Array.from({ length: hashes }, (_, at) => bit(at)));
}

/**
 * A permanent answer; a device stays in the cohort it has.
 * @param {Law} law @param {Value} value @param {Uint8Array} [earlier]
 */
function permanentAnswer(law, value, earlier) {
  const { bits, cohorts } = /** @type {Record<string, number>} */ (law.limits);
  const cohort = earlier ? earlier[0] + 256 * earlier[1] : smallBelow(cohorts);
  const [own, { flip }] = [bloom(law, value, cohort), law.chances];
  const row = packBits(own, bits);
  for (const bit of onesOf(bits, () => flip)) row[bit >> 3] ^= 1 << (bit & 7);
  return joined(toBytes(cohort, COHORT_BYTES), row);
}

/** A fresh report of a permanent answer. @param {Law} law @param {Uint8Array} kept */
function instantaneousReport({ limits, chances }, kept) {
  const { bits } = /** @type {Record<string, number>} */ (limits);
  const row = kept.slice(COHORT_BYTES);
  const ones = onesOf(bits, (bit) => (bitAt(row, bit) ? chances.q : chances.p));
  return joined(kept.slice(0, COHORT_BYTES), packBits(ones, bits));
}

/** @type {Map<string, Kind>} */
const KINDS = new Map(Object.entries({ grr, hr, olh, oue, rappor, rr, ss, sue }));

// ---- A collection: what its public header says, checked, and the reports of a device

const FORMAT = "sfumato-local-reports";
const FIELDS = ["format", "version", "protocol", "parameters", "chances", "epsilon", "domain_hash", "domain"];
const LARGEST_DOMAIN = 2 ** 24;
const LEAST_EPSILON = 1e-6;
const MOST_EPSILON = 40;

/** @typedef {Readonly<{protocol: string, design: string, domain: string, payload: Uint8Array}>} Report */

/** A collection whose header was checked; `openCollection` makes one. */
export class Collection {
  #kind;
  #law;
  #codes;

  /**
   * @param {string} protocol @param {Law} law @param {Value[]} domain
   * @param {{epsilon: number, design: string, domain: string}} marks
   */
  constructor(protocol, law, domain, marks) {
    this.protocol = protocol;
    /** The ε that was asked for; the one that is spent is not above it. */
    this.epsilon = marks.epsilon;
    this.design = marks.design;
    this.domain = marks.domain;
    /** The declared values. */
    this.values = Object.freeze(domain);
    this.#kind = /** @type {Kind} */ (KINDS.get(protocol));
    this.#law = law;
    this.#codes = new Map(domain.map((value, code) => [value, code]));
    Object.freeze(this);
  }

  /** A fresh report of a value; every one costs ε. @param {Value} value @returns {Report} */
  perturb(value) {
    const code = this.#codeOf(value);
    const { draw } = this.#kind;
    if (draw) return this.#report(draw(this.#law, this.values.length, code));
    return this.reportAnswer(permanentAnswer(this.#law, value));
  }

  /** What answers are kept under: reports of two questions tell nothing about each other. */
  get question() {
    return this.#kind.draw ? `${this.design}-${this.domain}` : this.design;
  }

  /** What the answer for a value is kept under. RAPPOR takes any value, candidate or not. @param {Value} value */
  answerKey(value) {
    if (this.#kind.draw) return String(this.#codeOf(value));
    check(isValue(value), "the value is neither a text nor a whole number of at most 2^53");
    return asciiJSON(value);
  }

  /**
   * What a device keeps for a new value, given one of its earlier answers.
   * @param {Value} value @param {Uint8Array} [earlier]
   */
  drawAnswer(value, earlier) {
    this.answerKey(value);
    const { draw } = this.#kind;
    return draw ? draw(this.#law, this.values.length, this.#codeOf(value)) : permanentAnswer(this.#law, value, earlier);
  }

  /** The report that a device sends from what it keeps. @param {Uint8Array} kept @returns {Report} */
  reportAnswer(kept) {
    return this.#report(this.#kind.draw ? kept : instantaneousReport(this.#law, kept));
  }

  /** @param {Value} value @returns {number} */
  #codeOf(value) {
    const code = this.#codes.get(value);
    check(code !== undefined, `the value is not one of the ${this.values.length} of the domain`);
    return code;
  }

  /** @param {Uint8Array} payload @returns {Report} */
  #report(payload) {
    return Object.freeze({ protocol: this.protocol, design: this.design, domain: this.domain, payload });
  }
}

/**
 * The collection of a header, the first line of a report file. A header that is incomplete or contradicts itself is
 * refused: nobody would know what it promises. `largestEpsilon` is what the app accepts, whatever the header says.
 *
 * @param {string | object} header as text, or as parsed JSON
 * @param {{largestEpsilon?: number}} [options]
 */
export async function openCollection(header, { largestEpsilon = MOST_EPSILON } = {}) {
  const stated = readHeader(header);
  const { protocol, parameters, domain } = stated;
  const kind = KINDS.get(protocol);
  check(kind, `the header's protocol is not one that this module knows: ${[...KINDS.keys()].join(", ")}`);
  checkParameters(parameters, kind, largestEpsilon);
  checkDomain(domain);
  const law = kind.law(domain.length, parameters);
  const names = Object.keys(law.chances).sort();
  const chances = names.map((name) => `"${name}":${law.chances[name]}`).join(",");
  const marks = {
    epsilon: parameters.epsilon,
    design: await fingerprint(`{"chances":{${chances}},"protocol":"${protocol}"}`),
    domain: await fingerprint(asciiJSON(domain)),
  };
  const alike =
    hasKeys(stated.chances, names) && names.every((name) => stated.chances[name] === `${law.chances[name]}`);
  check(alike, "the header's chances are not those of its own parameters");
  check(stated.epsilon === logAbove(law.ratio), "the header's epsilon is not that of its own parameters");
  check(stated.domain_hash === marks.domain, "the header's domain hash is not that of its own domain");
  return new Collection(protocol, law, [...domain], marks);
}

/** @param {string | object} header @returns {any} */
function readHeader(header) {
  /** @type {any} */
  let stated = header;
  if (typeof header === "string") {
    try {
      stated = JSON.parse(header);
    } catch {
      throw new RefusedError("the header is not JSON; give the first line of a report file");
    }
  }
  check(isRecord(stated) && stated.format === FORMAT, `the header's format is not ${FORMAT}`);
  check(stated.version === 1, "the header is not one of version 1");
  check(hasKeys(stated, FIELDS), `the header needs exactly ${FIELDS.join(", ")}`);
  return stated;
}

/** @param {any} parameters @param {Kind} kind @param {number} largest */
function checkParameters(parameters, kind, largest) {
  const names = ["epsilon", ...(kind.parameters ?? [])];
  check(hasKeys(parameters, names), `the header's parameters are not those of its protocol: ${names.join(", ")}`);
  check(
    names.every((name) => Number.isFinite(parameters[name])),
    "the header's parameters are not all finite numbers",
  );
  checkEpsilon(parameters.epsilon, largest);
}

/** @param {unknown} epsilon @param {number} largest */
function checkEpsilon(epsilon, largest) {
  const allowed = typeof epsilon === "number" && epsilon >= LEAST_EPSILON && epsilon <= MOST_EPSILON;
  check(allowed, `epsilon must be a finite number from ${LEAST_EPSILON} to ${MOST_EPSILON}`);
  check(epsilon <= largest, `epsilon is ${epsilon}, above the ${largest} that this app accepts`);
}

/** @param {any} domain */
function checkDomain(domain) {
  const sized = Array.isArray(domain) && domain.length >= 2 && domain.length <= LARGEST_DOMAIN;
  check(sized, `the header's domain is not a list of 2 to ${LARGEST_DOMAIN} values`);
  check(
    domain.every(isValue),
    "the header's domain has an entry that is neither a text nor a whole number of at most 2^53",
  );
  check(new Set(domain).size === domain.length, "the header's domain has a value twice");
}

/** A text with a form in UTF-8, or a whole number that JavaScript keeps exactly. @param {unknown} value */
const isValue = (value) => (typeof value === "string" ? !/\p{Surrogate}/u.test(value) : Number.isSafeInteger(value));

/** @param {unknown} found */
const isRecord = (found) => typeof found === "object" && found !== null && !Array.isArray(found);

/** @param {unknown} found @param {string[]} names */
const hasKeys = (found, names) =>
  isRecord(found) &&
  Object.keys(/** @type {object} */ (found)).length === names.length &&
  names.every((name) => Object.hasOwn(/** @type {object} */ (found), name));

// ---- Reports as they travel

/** A report as one line of JSON, without its end. @param {Report} report */
export function reportLine({ protocol, design, domain, payload }) {
  return `{"protocol":"${protocol}","design":"${design}","domain":"${domain}","report":"${toBase64(payload)}"}`;
}

/**
 * Reports of one collection as one packed block, the body of a batch; blocks may be appended.
 * @param {Report[]} reports
 */
export function reportBlock(reports) {
  check(Array.isArray(reports) && reports.length > 0, "a block needs at least one report");
  const [{ design, domain, payload }] = reports;
  const same = reports.every((one) => one.design === design && one.domain === domain);
  check(same && reports.every((one) => one.payload.length === payload.length), "a block has reports of one collection");
  const content = joined(...reports.map((one) => one.payload));
  check(content.length <= 2 ** 24, "a block has at most 2^24 bytes; make several");
  const marks = Uint8Array.from(`${design}${domain}`.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return joined(marks, toBytes(reports.length, 4), toBytes(content.length, 4), toBytes(crc32(content), 4), content);
}

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

// ---- Memory: the answer once drawn for a value, sent again for that value, and what the device has spent

const MEMORY = "sfumato-device-js-1";
const UNITS = 10n ** 30n; // of ε, in which a budget is counted

/**
 * Where a memory is kept; the app supplies it. `exclusive` runs some work while no other page or process is at it
 * (`work => navigator.locks.request(name, work)`); without it the app must see to that.
 *
 * @typedef {object} Storage
 * @property {() => Promise<string | null> | string | null} read what was written last, or null
 * @property {(text: string) => Promise<void> | void} write returns when it is durable
 * @property {<T>(work: () => Promise<T>) => Promise<T>} [exclusive]
 *
 * @typedef {{budget: string, spent: string, answers: Record<string, Record<string, string>>, last: Record<string, string>}} Kept
 */

/** The memory of one device: answers already drawn, and a budget for new ones (`sfumato.local.Memory`). */
export class DeviceMemory {
  #storage;
  #budget;
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /** @param {Storage} storage @param {number} budget the largest ε of all that this device sends */
  constructor(storage, budget) {
    check(Number.isFinite(budget) && budget > 0, "the budget of a device must be a finite number above 0");
    this.#storage = storage;
    this.#budget = units(budget);
  }

  /**
   * The report of a value: of the answer drawn before if there is one, else of a new one that is paid for. Answer and
   * charge are written before the report is returned. @param {Collection} collection @param {Value} value
   */
  async report(collection, value) {
    const { question } = collection;
    const key = collection.answerKey(value);
    return this.#exclusive(async () => {
      const kept = await this.#read();
      const answers = (kept.answers[question] ??= {});
      if (!Object.hasOwn(answers, key)) {
        const spent = BigInt(kept.spent) + units(collection.epsilon);
        if (spent > this.#budget)
          throw new BudgetExceededError("the budget of this device does not suffice; repeat its last report");
        const [earlier] = Object.values(answers);
        answers[key] = toBase64(collection.drawAnswer(value, earlier === undefined ? undefined : fromBase64(earlier)));
        kept.spent = `${spent}`;
      }
      kept.last[question] = key;
      await this.#write(kept);
      return collection.reportAnswer(fromBase64(answers[key]));
    });
  }

  /**
   * The last report of a collection again, which costs nothing; RAPPOR's with fresh noise.
   * @param {Collection} collection
   */
  repeat(collection) {
    return this.#exclusive(async () => {
      const { answers, last } = await this.#read();
      const key = last[collection.question];
      check(key !== undefined, "this device has no report for this question yet");
      return collection.reportAnswer(fromBase64(answers[collection.question][key]));
    });
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #exclusive(work) {
    const storage = this.#storage;
    const result = this.#turn.then(() => (storage.exclusive ? storage.exclusive(work) : work()));
    this.#turn = result.catch(() => {});
    return result;
  }

  /** @returns {Promise<Kept>} */
  async #read() {
    const text = await this.#storage.read();
    if (text === null) return { budget: `${this.#budget}`, spent: "0", answers: {}, last: {} };
    const damaged = "the memory of this device is damaged; restore it, for it says what was spent";
    check(typeof text === "string" && text.startsWith(`${MEMORY} `), damaged);
    const [, hash, ...rest] = text.split(" ");
    check(hash === (await sha256(rest.join(" "))), damaged);
    const kept = JSON.parse(rest.join(" "));
    check(
      kept.budget === `${this.#budget}`,
      "the memory of this device was begun with another budget, which cannot be changed",
    );
    return kept;
  }

  /** @param {Kept} kept */
  async #write(kept) {
    const text = asciiJSON(kept);
    await this.#storage.write(`${MEMORY} ${await sha256(text)} ${text}`);
  }
}

/** @param {number} epsilon */
const units = (epsilon) => (([top, bottom]) => (top * UNITS) / bottom)(decimalOf(epsilon));

// ---- Means of a bounded number: the same as `sfumato.local.means`

const STEPS = 2 ** 16; // on either side of the middle of the bounds
const FINEST = 1n << 20n;
const LOWEST_HYBRID = 0.61;

/** @typedef {(step: number) => number} Draw a fresh report of a point of the grid */

/** Duchi, Jordan & Wainwright (2018): one of two answers. @param {number} epsilon @returns {Draw} */
function duchi(epsilon) {
  const truth = thresholdBelow(chanceOf(expBelow(askedLoss(epsilon))));
  return (step) => {
    const end = smallBelow(2 * STEPS) < step + STEPS ? 1 : -1;
    return coin(truth) ? end : -end;
  };
}

/** How far the window of the piecewise mechanism reaches. @param {number} epsilon */
function windowHalf(epsilon) {
  const [top, bottom] = fractionOf(epsilon);
  const [over, under] = expBelow([-top, 2n * bottom]);
  return Number((BigInt(STEPS) * over) / under); // x - 1/2, rounded, is x without its fraction
}

/** Wang, Xiao, Yang et al. (2019): a point, likelier within a window. @param {number} epsilon @returns {Draw} */
function piecewise(epsilon) {
  const half = windowHalf(epsilon);
  const width = 2 * half + 1;
  const [top, bottom] = expBelow(askedLoss(epsilon));
  const inside = thresholdBelow(chanceOf([top * BigInt(width), bottom * BigInt(2 * STEPS)]));
  return (step) => {
    if (coin(inside)) return step - half + smallBelow(width);
    const place = smallBelow(2 * STEPS) - STEPS - half;
    return place >= step - half ? place + width : place;
  };
}

/** Piecewise or Duchi by a public coin (Wang, Xiao, Yang et al. 2019). @param {number} epsilon @returns {Draw} */
function hybrid(epsilon) {
  const [fine, coarse, end] = [piecewise(epsilon), duchi(epsilon), STEPS + windowHalf(epsilon) + 1];
  const [top, bottom] = expBelow(askedLoss(epsilon, -2));
  const choice = epsilon <= LOWEST_HYBRID ? 0n : thresholdBelow([bottom - top, bottom]);
  return (step) => (coin(choice) ? fine(step) : coarse(step) * end);
}

/** Discrete Laplace noise on the grid. @param {number} epsilon @returns {Draw} */
function laplace(epsilon) {
  const [top, bottom] = reduced(decimalOf(epsilon));
  const coarse = (top * FINEST) / bottom;
  const [over, under] = bottom > FINEST ? [coarse || 1n, FINEST] : [top, bottom];
  const scale = reduced([BigInt(2 * STEPS) * under, over]);
  return (step) => step + discreteLaplace(scale);
}

/** @type {Map<string, (epsilon: number) => Draw>} */
const MEANS = new Map(Object.entries({ duchi, hybrid, laplace, piecewise }));

/**
 * A device for the mean of a bounded number; its reports are whole numbers, as `MeanProtocol.perturb` in Python gives
 * them. Bounds are public, and fixed before the first report.
 *
 * @param {{protocol: string, low: number, high: number, epsilon: number}} declared
 * @param {{largestEpsilon?: number}} [options]
 */
export function openMean({ protocol, low, high, epsilon }, { largestEpsilon = MOST_EPSILON } = {}) {
  const made = MEANS.get(protocol);
  check(made, `the protocol is not one that this module knows: ${[...MEANS.keys()].join(", ")}`);
  checkEpsilon(epsilon, largestEpsilon);
  const bounded = [low, high].every((bound) => typeof bound === "number" && Math.abs(bound) <= 1e12) && low < high;
  check(bounded, "the bounds must be two numbers from -1e12 to 1e12, the smaller one first");
  const draw = made(epsilon);
  /** A fresh report of a number. @param {number} value */
  function perturb(value) {
    check(typeof value === "number" && low <= value && value <= high, "the value is not a number within the bounds");
    const place = 2 * STEPS * ((value - low) / (high - low)) - STEPS;
    const step = Math.floor(place);
    return draw(step + (coin(BigInt((place - step) * 2 ** 64)) ? 1 : 0));
  }
  return Object.freeze({ protocol, low, high, epsilon, perturb });
}

// What the module refuses, how it takes random bytes, and what its memory keeps: node --test test/device.test.js
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as device from "../sfumato-device.js";
import { withBytes } from "./check-vectors.js";

const { BudgetExceededError, DeviceMemory, RefusedError, openCollection, openMean, reportBlock, reportLine } = device;
const vectors = JSON.parse(readFileSync(new URL("../vectors/local-reports.json", import.meta.url), "utf8"));

/** The first header of a protocol over some values. @param {string} protocol @param {number} epsilon @param {number} size */
function headerOf(protocol, epsilon, size) {
  const fits = (/** @type {any} */ one) => one.parameters.epsilon === epsilon && one.domain.length === size;
  return vectors.headers.find(
    (/** @type {string} */ text) => JSON.parse(text).protocol === protocol && fits(JSON.parse(text)),
  );
}

/** A storage in memory that tells what was written. @param {string | null} text */
const storageOf = (text = null) => ({
  text,
  writes: 0,
  read() {
    return this.text;
  },
  async write(/** @type {string} */ written) {
    await new Promise((done) => setTimeout(done, 1)); // others get a turn, as with a real one
    this.text = written;
    this.writes++;
  },
});

/** That some work is refused in one sentence that does not hold the value. @param {() => unknown} work @param {RegExp} words */
async function refuses(work, words) {
  const found = await Promise.resolve()
    .then(work)
    .then(
      () => null,
      (/** @type {any} */ error) => error,
    );
  assert.ok(found instanceof RefusedError, `${found}`);
  assert.match(found.message, words);
  assert.doesNotMatch(found.message, /secret|1e400|\n/);
}

test("a value outside the domain is refused, without it in the sentence, and no byte is drawn", async () => {
  const outside = ["secret", "", 1, "A", "a ", null, undefined, NaN, 1.5, true, {}, ["a"], 0n, "\ud800"];
  for (const protocol of ["grr", "hr", "olh", "oue", "ss", "sue", "rappor"]) {
    const collection = await openCollection(headerOf(protocol, 1, 3));
    for (const value of outside) {
      await refuses(
        () => withBytes("", () => collection.perturb(/** @type {any} */ (value))),
        /not one of the 3 of the domain/,
      );
    }
  }
});

test("1 and '1' are two values", async () => {
  const collection = await openCollection(headerOf("grr", 40, 12)); // at this ε the truth is told
  const [text, number] = ["1", 1].map((value) => collection.perturb(value).payload[0]);
  assert.deepEqual([collection.values[text], collection.values[number]], ["1", 1]);
});

test("an app's largest epsilon holds, whatever a header says", async () => {
  await refuses(() => openCollection(headerOf("oue", 2.251, 3), { largestEpsilon: 2 }), /2.251, above the 2 /);
  assert.equal((await openCollection(headerOf("oue", 2.251, 3), { largestEpsilon: 2.251 })).epsilon, 2.251);
  await refuses(
    () => openMean({ protocol: "duchi", low: 0, high: 1, epsilon: 3 }, { largestEpsilon: 2 }),
    /above the 2/,
  );
  await refuses(() => openCollection(headerOf("oue", 1, 3), { largestEpsilon: NaN }), /above the NaN/);
});

test("a whole number that JavaScript cannot keep is refused", async () => {
  const header = headerOf("grr", 1, 12).replace("9007199254740991", "9007199254740993");
  await refuses(() => openCollection(header), /whole number of at most 2\^53/);
});

test("a header may come parsed, and what is no header is refused", async () => {
  const header = headerOf("oue", 1, 3);
  assert.equal((await openCollection(JSON.parse(header))).design, (await openCollection(header)).design);
  for (const other of [null, undefined, 7, [], () => header]) {
    await refuses(() => openCollection(/** @type {any} */ (other)), /format is not sfumato-local-reports/);
  }
});

test("a collection cannot be changed after its header was checked", async () => {
  const collection = await openCollection(headerOf("oue", 1, 3));
  assert.throws(() => Object.assign(collection, { epsilon: 0.1 }), TypeError);
  assert.throws(() => /** @type {any} */ (collection.values).push("d"), TypeError);
});

test("without crypto.subtle, as on a page that is not served safely, nothing is opened", async () => {
  Object.defineProperty(globalThis.crypto, "subtle", { value: undefined, configurable: true });
  try {
    await refuses(() => openCollection(headerOf("oue", 1, 3)), /https/);
  } finally {
    Reflect.deleteProperty(globalThis.crypto, "subtle");
  }
});

test("many words come in lots of at most 65,536 bytes, all of them in order", () => {
  const lots = /** @type {number[]} */ ([]);
  let next = 0;
  const serve = (/** @type {Uint8Array} */ array) => {
    lots.push(array.length);
    const view = new DataView(array.buffer);
    for (let at = 0; at < array.length; at += 8) view.setBigUint64(at, BigInt(next++), true);
    return array;
  };
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: serve, configurable: true });
  try {
    const words = [...device.sampling.words64(20_000)];
    assert.deepEqual(lots, [65536, 65536, 28928]);
    assert.ok(words.length === 20_000 && words.every((word, at) => word === BigInt(at)));
  } finally {
    Reflect.deleteProperty(globalThis.crypto, "getRandomValues");
  }
});

test("where the generator fails there is no report", async () => {
  const collection = await openCollection(headerOf("oue", 1, 3));
  const fail = () => {
    throw new Error("no entropy");
  };
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: fail, configurable: true });
  try {
    assert.throws(() => collection.perturb("a"), /no entropy/);
  } finally {
    Reflect.deleteProperty(globalThis.crypto, "getRandomValues");
  }
});

test("a block has reports of one collection", async () => {
  const [one, other] = [await openCollection(headerOf("oue", 1, 3)), await openCollection(headerOf("sue", 1, 3))];
  await refuses(() => reportBlock([]), /at least one report/);
  await refuses(() => reportBlock([one.perturb("a"), other.perturb("a")]), /of one collection/);
  assert.equal(reportBlock([one.perturb("a"), one.perturb("b")]).length, 8 + 8 + 12 + 2);
});

test("numbers that are out of bounds, and bounds that are none, are refused", async () => {
  const ages = openMean({ protocol: "hybrid", low: 16, high: 94, epsilon: 1 });
  for (const value of [15.9, 94.1, NaN, Infinity, -Infinity, "31", null, undefined, 31n]) {
    await refuses(
      () => withBytes("", () => ages.perturb(/** @type {any} */ (value))),
      /not a number within the bounds/,
    );
  }
  for (const [low, high] of [
    [1, 1],
    [2, 1],
    [NaN, 1],
    [0, Infinity],
    [0, 2e12],
    ["0", 1],
  ]) {
    const declared = /** @type {any} */ ({ protocol: "duchi", low, high, epsilon: 1 });
    await refuses(() => openMean(declared), /bounds must be two numbers/);
  }
  for (const epsilon of [0, -1, NaN, Infinity, 41, "1", null]) {
    await refuses(
      () => openMean(/** @type {any} */ ({ protocol: "duchi", low: 0, high: 1, epsilon })),
      /epsilon must be/,
    );
  }
  await refuses(() => openMean({ protocol: "constructor", low: 0, high: 1, epsilon: 1 }), /protocol is not one/);
});

test("a device with a memory sends the same report again, pays once for a value, and keeps its budget", async () => {
  const collection = await openCollection(headerOf("olh", 1, 12)); // two fresh reports would hardly ever be alike
  const storage = storageOf();
  const memory = new DeviceMemory(storage, 2);
  const first = reportLine(await memory.report(collection, "東京"));
  assert.equal(reportLine(await memory.report(collection, "東京")), first);
  const second = reportLine(await new DeviceMemory(storage, 2).report(collection, "🚲"));
  assert.notEqual(second, first);
  const before = storage.text;
  const over = await memory.report(collection, "Zürich").then(
    () => null,
    (error) => error,
  );
  assert.ok(over instanceof BudgetExceededError);
  assert.equal(storage.text, before);
  assert.equal(reportLine(await memory.repeat(collection)), second);
  assert.equal(reportLine(await memory.report(collection, "東京")), first);
});

test("tenths add up exactly", async () => {
  const collection = await openCollection(headerOf("oue", 0.1, 12));
  const memory = new DeviceMemory(storageOf(), 0.3);
  for (const value of ["東京", "🚲", "1"]) await memory.report(collection, value);
  await refuses(() => memory.report(collection, 1), /budget/);
});

test("answers asked for at once are drawn once", async () => {
  const collection = await openCollection(headerOf("olh", 1, 12));
  const storage = storageOf();
  const memory = new DeviceMemory(storage, 1);
  const lines = await Promise.all(Array.from({ length: 8 }, () => memory.report(collection, "東京")));
  assert.equal(new Set(lines.map(reportLine)).size, 1);
  assert.equal(storage.writes, 8);
});

test("a storage's own lock is held while a memory is read and written", async () => {
  const collection = await openCollection(headerOf("olh", 1, 12));
  /** @type {Promise<unknown>} */
  let turn = Promise.resolve();
  const exclusive = (/** @type {() => Promise<any>} */ work) => (turn = turn.then(work, work));
  const storage = { ...storageOf(), exclusive };
  const lines = await Promise.all([1, 2, 3].map(() => new DeviceMemory(storage, 1).report(collection, "東京"))); // three tabs
  assert.equal(new Set(lines.map(reportLine)).size, 1);
});

test("RAPPOR takes any text, keeps its answer and its cohort, and has fresh noise in every report", async () => {
  const collection = await openCollection(headerOf("rappor", 1, 12));
  const memory = new DeviceMemory(storageOf(), 2);
  const reports = [await memory.report(collection, "no candidate"), await memory.report(collection, "no candidate")];
  reports.push(await memory.report(collection, "another"), await memory.repeat(collection));
  assert.equal(new Set(reports.map(reportLine)).size, 4);
  assert.equal(new Set(reports.map(({ payload }) => payload.slice(0, 2).join())).size, 1);
  await refuses(() => memory.report(collection, "third"), /budget/);
  await refuses(() => memory.report(collection, /** @type {any} */ (1.5)), /neither a text nor a whole number/);
});

test("a memory that is damaged, foreign or begun with another budget is refused", async () => {
  const collection = await openCollection(headerOf("oue", 1, 12));
  const storage = storageOf();
  await new DeviceMemory(storage, 2).report(collection, "東京");
  const sound = /** @type {string} */ (storage.text);
  await refuses(() => new DeviceMemory(storage, 3).report(collection, "東京"), /another budget/);
  for (const text of ["", "{}", sound.slice(0, -1), sound.replace('"spent":"1', '"spent":"0'), 7]) {
    const memory = new DeviceMemory(storageOf(/** @type {any} */ (text)), 2);
    await refuses(() => memory.report(collection, "東京"), /damaged/);
  }
  await refuses(() => new DeviceMemory(storageOf(), 2).repeat(collection), /no report for this question yet/);
  for (const budget of [0, -1, NaN, Infinity, "2"]) {
    await refuses(() => new DeviceMemory(storage, /** @type {any} */ (budget)), /budget of a device/);
  }
});

test("what cannot be written is not sent", async () => {
  const collection = await openCollection(headerOf("oue", 1, 12));
  const storage = { ...storageOf(), write: () => Promise.reject(new Error("the disk is full")) };
  await assert.rejects(new DeviceMemory(storage, 2).report(collection, "東京"), /disk is full/);
});

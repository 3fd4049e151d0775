// Whether the module gives what the shared vectors say; the same file runs in Node and on a page in a browser.

/** @param {string} text */
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} bytes */
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * What some work gives while getRandomValues serves these bytes; all of them must be taken, and none more.
 * @template T @param {string} hex @param {() => T} work @returns {T}
 */
export function withBytes(hex, work) {
  const bytes = fromHex(hex);
  let taken = 0;
  /** @param {Uint8Array} array */
  const serve = (array) => {
    if (taken + array.length > bytes.length) throw new Error(`took more than ${bytes.length} bytes`);
    array.set(bytes.subarray(taken, taken + array.length));
    taken += array.length;
    return array;
  };
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: serve, configurable: true });
  try {
    const made = work();
    if (taken !== bytes.length) throw new Error(`took ${taken} of ${bytes.length} bytes`);
    return made;
  } finally {
    Reflect.deleteProperty(globalThis.crypto, "getRandomValues");
  }
}

/** @param {unknown} found @param {unknown} wanted */
function expect(found, wanted) {
  if (found !== wanted) throw new Error(`found ${found}, wanted ${wanted}`);
}

/** One check for each kind of vector. @type {Record<string, (device: any, vector: any, headers: string[]) => Promise<void>>} */
const CHECKS = {
  async headers(device, header) {
    const [stated, collection] = [JSON.parse(header), await device.openCollection(header)];
    expect(collection.domain, stated.domain_hash);
    expect(collection.values.length, stated.domain.length);
  },
  async refused(device, { header, why }) {
    const found = await device.openCollection(header).then(
      () => "nothing",
      (/** @type {any} */ error) => error,
    );
    if (!(found instanceof device.RefusedError)) throw new Error(`${why}: not refused, but ${found}`);
  },
  async reports(device, { header, value, bytes, line, block }, headers) {
    const collection = await device.openCollection(headers[header]);
    const report = withBytes(bytes, () => collection.perturb(value));
    expect(device.reportLine(report), line);
    expect(toHex(device.reportBlock([report])), block);
  },
  async answers(device, { header, value, key, earlier, bytes, kept, bytes_again, line }) {
    const collection = await device.openCollection(header);
    expect(collection.answerKey(value), key);
    const before = earlier === null ? undefined : fromHex(earlier);
    expect(toHex(withBytes(bytes, () => collection.drawAnswer(value, before))), kept);
    expect(device.reportLine(withBytes(bytes_again, () => collection.reportAnswer(fromHex(kept)))), line);
  },
  async means(device, { mean, value, bytes, report }) {
    const opened = device.openMean(mean);
    expect(
      withBytes(bytes, () => opened.perturb(value)),
      report,
    );
  },
};

/**
 * How many vectors of each kind were checked, and a sentence for each that failed.
 * @param {any} device the module @param {Record<string, any[]>} vectors
 */
export async function checkVectors(device, vectors) {
  /** @type {{checked: Record<string, number>, failures: string[]}} */
  const told = { checked: {}, failures: [] };
  for (const [kind, list] of Object.entries(vectors)) {
    told.checked[kind] = list.length;
    for (const [number, vector] of list.entries()) {
      try {
        await CHECKS[kind](device, vector, vectors.headers);
      } catch (error) {
        told.failures.push(`${kind} ${number}: ${error}`);
      }
    }
  }
  return told;
}

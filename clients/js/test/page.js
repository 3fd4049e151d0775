// What a page in a browser finds: the shared vectors, and a memory in localStorage that two tabs would share.
import * as device from "../sfumato-device.js";
import { checkVectors } from "./check-vectors.js";

async function remembered(/** @type {any[]} */ headers) {
  const storage = {
    read: () => localStorage.getItem("sfumato-device"),
    write: (/** @type {string} */ text) => localStorage.setItem("sfumato-device", text),
    exclusive: (/** @type {any} */ work) => navigator.locks.request("sfumato-device", work),
  };
  const header = headers.find((text) => text.includes('"protocol":"olh"') && text.includes('"a","b","c"'));
  const collection = await device.openCollection(header, { largestEpsilon: 40 });
  const memories = [1, 2, 3].map(() => new device.DeviceMemory(storage, collection.epsilon));
  const reports = await Promise.all(memories.map((memory) => memory.report(collection, "b")));
  return reports.map(device.reportLine);
}

async function answer() {
  const vectors = await (await fetch("./vectors.json")).json();
  const told = await checkVectors(device, vectors);
  return { ...told, remembered: await remembered(vectors.headers), agent: navigator.userAgent };
}

const told = await answer().catch((error) => ({ checked: {}, failures: [String(error)], remembered: [] }));
await fetch("./told", { method: "POST", body: JSON.stringify(told) });

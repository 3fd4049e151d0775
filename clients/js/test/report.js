// Reports of many devices, for tests: node test/report.js HEADER_FILE VALUES_FILE REPORT_FILE
import { readFileSync, writeFileSync } from "node:fs";
import { openCollection, reportLine } from "../sfumato-device.js";

const [header, values] = process.argv.slice(2, 4).map((path) => readFileSync(path, "utf8"));
const collection = await openCollection(header);
const lines = JSON.parse(values).map((/** @type {string} */ value) => reportLine(collection.perturb(value)));
writeFileSync(process.argv[4], `${[header.trimEnd(), ...lines].join("\n")}\n`);

// Check a file of vectors in Node: node test/run-vectors.js FILE. What was checked is printed as JSON.
import { readFileSync } from "node:fs";
import * as device from "../sfumato-device.js";
import { checkVectors } from "./check-vectors.js";

const told = await checkVectors(device, JSON.parse(readFileSync(process.argv[2], "utf8")));
console.log(JSON.stringify(told));
process.exitCode = told.failures.length ? 1 : 0;

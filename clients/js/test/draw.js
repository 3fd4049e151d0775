// Many draws of each sampler, for a test of their laws: node test/draw.js COUNT. Prints JSON.
import { openMean, sampling } from "../sfumato-device.js";

const count = Number(process.argv[2]);

/** How often each outcome came. @param {() => string | number | bigint} draw */
function tallied(draw) {
  /** @type {Record<string, number>} */
  const tally = {};
  for (let time = 0; time < count; time++) {
    const outcome = `${draw()}`;
    tally[outcome] = (tally[outcome] ?? 0) + 1;
  }
  return tally;
}

const duchi = openMean({ protocol: "duchi", low: -1, high: 1, epsilon: 1 });
console.log(
  JSON.stringify({
    "below 3": tallied(() => sampling.below(3n)),
    "below 200": tallied(() => sampling.below(200n)),
    "below 2^40+1, by 2^38": tallied(() => sampling.below(2n ** 40n + 1n) >> 38n),
    "coin 3/10": tallied(() => Number(sampling.coin((2n ** 64n * 3n) / 10n))),
    "subset 2 of 5": tallied(() => [...sampling.subset(2, 5)].sort().join()),
    "laplace 5/2": tallied(() => sampling.discreteLaplace([5n, 2n])),
    "duchi of 0.5": tallied(() => duchi.perturb(0.5)),
  }),
);

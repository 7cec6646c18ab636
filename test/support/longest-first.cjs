const { default: Sequencer } = require('@jest/test-sequencer');

/** They take ten minutes and more. Jest knows durations only from a run before, and begins with large files: these are small. */
const longest = ['model.long.spec.ts', 'soak.long.spec.ts'];

/** Begun last, they would leave one of two cores with nothing to do. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const isLongest = ({ path }) => longest.some((name) => path.endsWith(name));
    const sorted = super.sort(tests);
    return [...sorted.filter(isLongest), ...sorted.filter((test) => !isLongest(test))];
  }
};

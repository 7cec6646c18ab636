const { readFileSync } = require('node:fs');

/** Of all tests those that the long run is for: the `.long` ones, and files that do more in it. All others are `npm test`'s. */
module.exports = (paths) => ({
  filtered: paths.filter((path) => path.endsWith('.long.spec.ts') || readFileSync(path, 'utf8').includes('TEST_LONG')),
});

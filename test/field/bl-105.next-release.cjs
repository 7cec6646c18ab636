// Preloaded into a process (`node --require`), it makes that process one of the release after this: the libraries have one more
// step, which fills a new column of every delivery. Plain JavaScript, because nothing can compile it before it runs.
require('../support/ts-hook.cjs');

const file = require.resolve('../../migrations/deliveries/steps.ts');
const { migrationSteps } = require(file);

const next = {
  version: migrationSteps.length + 1,
  name: 'DeliveriesNextRelease1893456000000',
  up: (schema) => [
    `ALTER TABLE ${schema}.deliveries ADD COLUMN release integer`,
    `UPDATE ${schema}.deliveries SET release = 2`,
    `ALTER TABLE ${schema}.deliveries ALTER COLUMN release SET NOT NULL, ALTER COLUMN release SET DEFAULT 2`,
    `CREATE INDEX deliveries_release_idx ON ${schema}.deliveries (release)`,
  ],
};
require.cache[file].exports = { migrationSteps: [...migrationSteps, next], currentVersion: next.version };

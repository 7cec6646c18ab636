// Nest 12 and jose ship as ES modules only, which Jest can require() only from Node 24.9 on. @swc/jest turns both our
// TypeScript and these packages into CommonJS instead, so the tests run on every supported Node.
const esmOnly = ['@nestjs', 'jose'];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: __dirname,
  testEnvironment: 'node',
  moduleFileExtensions: ['ts', 'js', 'json'],
  testRegex: '\\.spec\\.ts$',
  testPathIgnorePatterns: [
    '/node_modules/',
    '/build/',
    '/dist/',
    ...(process.env.TEST_LONG ? [] : ['\\.long\\.spec\\.ts$']),
  ],
  modulePathIgnorePatterns: ['<rootDir>/build/', '<rootDir>/dist/'],
  transform: {
    '^.+\\.[tj]s$': [
      '<rootDir>/test/support/swc-with-counters.cjs',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
        },
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`],
  moduleNameMapper: {
    '^nest-deliveries$': '<rootDir>/libs/deliveries/src',
    '^nest-deliveries/commands$': '<rootDir>/libs/deliveries/src/commands',
    '^nest-deliveries/migrations$': '<rootDir>/migrations',
    '^nest-deliveries/([^/]+)$': '<rootDir>/libs/$1/src',
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  collectCoverageFrom: ['libs/*/src/**/*.ts', '!**/*.spec.ts'],
  // Read by scripts/coverage.mjs.
  coverageReporters: ['json'],
  reporters: ['default', '<rootDir>/test/support/slowest-files.cjs'],
  // In ms: of a test that waits twice for what comes late on a busy machine.
  testTimeout: 45_000,
  maxWorkers: 2,
};

// Preloaded into a Node process (`node --require`), it lets that process run TypeScript: decorators, their metadata and the
// path aliases of tsconfig.json included. Compiled as in jest.config.cjs, so a child behaves as the test does that starts it.
// Plain JavaScript, because nothing can compile it before it runs. Nothing is written to disk: 100 files take about 0.1 s.
const Module = require('node:module');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { transformSync } = require('@swc/core');

const root = path.join(__dirname, '..', '..');
const [, options] = Object.values(require('../../jest.config.cjs').transform)[0];
const { paths } = JSON.parse(readFileSync(path.join(root, 'tsconfig.json'), 'utf8')).compilerOptions;

/** `nest-deliveries/*` becomes a pattern whose star is a capture, and its target takes the capture's place. */
const aliases = Object.entries(paths).map(([from, [to]]) => ({
  pattern: new RegExp(`^${from.replace('*', '([^/]+)')}$`),
  target: path.join(root, to.replace('*', '$1')),
}));

// oxlint-disable no-underscore-dangle -- what Node calls the hooks of require() that it lets programs replace
const resolve = Module._resolveFilename;
Module._resolveFilename = function resolveAlias(request, ...rest) {
  const alias = aliases.find(({ pattern }) => pattern.test(request));
  return resolve.call(this, alias ? request.replace(alias.pattern, alias.target) : request, ...rest);
};

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), { ...options, filename });
  module._compile(code, filename);
};

// A child does not outlive the test run, however that ends.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(1), 250).unref();

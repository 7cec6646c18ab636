// Preloaded into a Node process (`node --require`), it lets that process run TypeScript: decorators, their metadata and the
// path aliases of tsconfig.json included. Compiled as in jest.config.cjs, so a child behaves as the test does that starts it.
// Plain JavaScript, because nothing can compile it before it runs. What was compiled once is kept beside the dependencies, by its content:
// a run of all tests starts some hundred children of a few hundred files each.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

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

const kept = path.join(root, 'node_modules', '.cache', 'nest-deliveries-children');
const compiler = JSON.stringify([require('@swc/core/package.json').version, options]);

Module._extensions['.ts'] = (module, filename) => {
  const text = readFileSync(filename, 'utf8');
  const key = createHash('sha256')
    .update(JSON.stringify([compiler, filename, text]))
    .digest('hex');
  module._compile(codeOf(text, filename, path.join(kept, `${key}.js`)), filename);
};

function codeOf(text, filename, file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    const { code } = require('@swc/core').transformSync(text, { ...options, filename });
    keep(file, code);
    return code;
  }
}

/** Whole or not at all: other children write and read it at the same time. Who may not write there compiles each time. */
function keep(file, code) {
  const own = `${file}.${process.pid}`;
  try {
    mkdirSync(kept, { recursive: true });
    writeFileSync(own, code);
    renameSync(own, file);
  } catch {
    // The checkout may be somebody else's.
  }
}

// A child does not outlive the test run, however that ends.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(1), 250).unref();

// The transformer of jest.config.cjs: SWC, and before it, under `--coverage`, Istanbul's counters. They are set into the TypeScript,
// not into what SWC makes of it, whose helpers for decorators and their metadata have branches that nobody wrote. V8's own counts
// were the other choice: they know nothing of an `else` that is not written, nor of a default that is never used.
const { createInstrumenter } = require('istanbul-lib-instrument');
const { createTransformer } = require('@swc/jest');

const withCounters = (text, file) =>
  createInstrumenter({
    esModules: true,
    compact: false,
    parserPlugins: ['typescript', 'decorators-legacy'],
    // Stack traces keep their lines.
    generatorOpts: { retainLines: true },
  }).instrumentSync(text, file);

module.exports = {
  createTransformer(options) {
    const swc = createTransformer(options);
    return {
      canInstrument: true,
      getCacheKey: swc.getCacheKey,
      process: (text, file, jest) => swc.process(jest.instrument ? withCounters(text, file) : text, file, jest),
    };
  },
};

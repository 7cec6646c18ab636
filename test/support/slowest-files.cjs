/** Prints the ten slowest test files after a run, so that the time that a change costs is seen when it is made. */
module.exports = class SlowestFiles {
  onRunComplete(_contexts, results) {
    const files = results.testResults
      .map(({ testFilePath, perfStats }) => ({ file: testFilePath, seconds: perfStats.runtime / 1000 }))
      .filter(({ seconds }) => seconds > 0)
      .sort((a, b) => b.seconds - a.seconds);
    if (files.length < 2) return;
    console.log('\nSlowest files:');
    for (const { file, seconds } of files.slice(0, 10)) {
      console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${file.replace(`${process.cwd()}/`, '')}`);
    }
  }
};

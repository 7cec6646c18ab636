import './global-setup';

/** Ends the server of the run; one named by `TEST_DATABASE_URL` is left as it is. */
export default async function globalTeardown(): Promise<void> {
  await globalThis.testServer?.stop();
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../part';
import { readProfile, type Profile } from '../profile/read-profile';

/** A CPU profile of our drain: of one long enough for some thousand samples. */
export async function profileDrain(run: Run, folder: string): Promise<Profile> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'drain.cpuprofile');
  const stage = await run.stage();
  const { rate } = await stage.measure({
    contender: 'ours',
    prepare: { backlog: 100_000 },
    scenario: { kind: 'drain', count: 100_000, profile: file },
  });
  run.progress(`profile of a drain of 100,000: ${Math.round(rate!)} /s under the profiler; written to ${file}`);
  return readProfile(file);
}

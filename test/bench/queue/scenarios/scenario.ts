import type { Figures } from '../../part';
import { bulk } from './bulk';
import { drain, type Drain } from './drain';
import { fairness, type Fairness } from './fairness';
import { fanOut } from './fan-out';
import { heldSnapshot, type HeldSnapshot } from './held-snapshot';
import { idle, type Idle } from './idle';
import { latency, type Latency } from './latency';
import { quiet } from './quiet';
import { record, type Record } from './record';
import type { Setting } from './setting';

/** What is measured. */
export type Scenario =
  | Drain
  | Record
  | Latency
  | Fairness
  | HeldSnapshot
  | Idle
  | { readonly kind: 'bulk'; readonly count: number }
  | { readonly kind: 'fan-out'; readonly count: number }
  | { readonly kind: 'quiet' };

export function runScenario(setting: Setting, scenario: Scenario): Promise<Figures> {
  switch (scenario.kind) {
    case 'drain':
      return drain(setting, scenario);
    case 'record':
      return record(setting, scenario);
    case 'bulk':
      return bulk(setting, scenario.count);
    case 'fan-out':
      return fanOut(setting, scenario.count);
    case 'latency':
      return latency(setting, scenario);
    case 'fairness':
      return fairness(setting, scenario);
    case 'quiet':
      return quiet(setting);
    case 'held snapshot':
      return heldSnapshot(setting, scenario);
    case 'idle':
      return idle(setting, scenario);
  }
}

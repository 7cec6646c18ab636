import type { Part } from '../part';
import { httpPart } from '../http/http';
import { adminPart } from './admin';
import { backlogPart } from './backlog';
import { curvesPart } from './curves';
import { drainPart } from './drain';
import { fairnessPart } from './fairness';
import { fanOutPart } from './fan-out';
import { heldSnapshotPart } from './held-snapshot';
import { idlePart } from './idle';
import { latencyPart } from './latency';
import { orderedPart } from './ordered';
import { recordPart } from './record';

export const parts: readonly Part[] = [
  httpPart,
  drainPart,
  recordPart,
  fanOutPart,
  latencyPart,
  orderedPart,
  backlogPart,
  fairnessPart,
  heldSnapshotPart,
  idlePart,
  adminPart,
  curvesPart,
];

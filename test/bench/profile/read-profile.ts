import { readFileSync } from 'node:fs';

/** Where the CPU time of a process went: what V8's sampling profiler saw, without the time in which it had nothing to do. */
export interface Profile {
  readonly seconds: number;
  /** Of the time, in which the process waited. */
  readonly idlePercent: number;
  /** Self time by module, most first, in percent of the time at work. */
  readonly modules: readonly Share[];
  /** Self time by function, the first thirty. */
  readonly functions: readonly Share[];
  /** Stacks from the outermost call inwards; calls below a third of a percent are left out. */
  readonly flame: Frame;
}

export interface Share {
  readonly name: string;
  readonly percent: number;
}

export interface Frame {
  readonly name: string;
  readonly module: string;
  /** With all that it called. */
  readonly percent: number;
  readonly calls: readonly Frame[];
}

/** While it is put together: with the samples' time, in microseconds. */
interface TimedFrame extends Frame {
  readonly time: number;
  readonly calls: readonly TimedFrame[];
}

interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface CpuProfile {
  readonly nodes: readonly Node[];
  readonly startTime: number;
  readonly endTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** What a file has that V8's profiler wrote. */
export function readProfile(file: string): Profile {
  const { nodes, samples, timeDeltas, startTime, endTime } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const self = new Map<number, number>();
  samples.forEach((id, index) => self.set(id, (self.get(id) ?? 0) + (timeDeltas[index] ?? 0)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const idle = sum(nodes.filter(isIdle).map(({ id }) => self.get(id) ?? 0));
  const whole = sum([...self.values()]);
  const percent = (time: number): number => Math.round((1_000 * 100 * time) / (whole - idle)) / 1_000;
  const busy = nodes.filter((node) => !isIdle(node) && node.callFrame.functionName !== '(root)');

  const frame = (node: Node): TimedFrame => {
    const calls = mergeCalls((node.children ?? []).map((id) => frame(byId.get(id)!)));
    const time = (self.get(node.id) ?? 0) + sum(calls.map((call) => call.time));
    return { name: nameOf(node), module: moduleOf(node), percent: percent(time), time, calls };
  };
  const root = nodes.find(({ callFrame }) => callFrame.functionName === '(root)')!;
  const top = (root.children ?? []).map((id) => byId.get(id)!).filter((node) => !isIdle(node));
  const calls = mergeCalls(top.map(frame));
  return {
    seconds: Math.round((endTime - startTime) / 1e4) / 100,
    idlePercent: Math.round((1_000 * idle) / whole) / 10,
    modules: shares(busy, moduleOf, self, percent),
    functions: shares(busy, fullName, self, percent).slice(0, 30),
    flame: pruned({ name: 'all', module: '', percent: 100, calls }),
  };
}

const isIdle = ({ callFrame }: Node): boolean => callFrame.functionName === '(idle)';
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function shares(
  nodes: readonly Node[],
  nameOfNode: (node: Node) => string,
  self: ReadonlyMap<number, number>,
  percent: (time: number) => number,
): Share[] {
  const times = new Map<string, number>();
  for (const node of nodes) {
    const name = nameOfNode(node);
    times.set(name, (times.get(name) ?? 0) + (self.get(node.id) ?? 0));
  }
  return [...times]
    .map(([name, time]) => ({ name, percent: percent(time) }))
    .filter((share) => share.percent >= 0.05)
    .toSorted((a, b) => b.percent - a.percent);
}

/** The profiler keeps calls of one function from different lines apart; here they are one. */
function mergeCalls(frames: readonly TimedFrame[]): TimedFrame[] {
  const merged = new Map<string, TimedFrame>();
  for (const frame of frames) {
    const key = `${frame.module} ${frame.name}`;
    const known = merged.get(key);
    if (!known) merged.set(key, frame);
    else
      merged.set(key, {
        ...known,
        time: known.time + frame.time,
        percent: known.percent + frame.percent,
        calls: mergeCalls([...known.calls, ...frame.calls]),
      });
  }
  return [...merged.values()];
}

function pruned({ name, module, percent, calls }: Frame): Frame {
  const kept = calls.filter((call) => call.percent >= 1 / 3).map(pruned);
  return { name, module, percent: Math.round(percent * 100) / 100, calls: kept };
}

function fullName(node: Node): string {
  const [name, module] = [nameOf(node), moduleOf(node)];
  return name === module ? name : `${name} (${module})`;
}

function nameOf({ callFrame }: Node): string {
  return callFrame.functionName || '(anonymous)';
}

/** `pg`, `typeorm` …; of our own code the room; of Node the built-in module; V8's own work in its words. */
function moduleOf({ callFrame: { url, functionName } }: Node): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'V8';
  if (url.startsWith('node:')) return url.replace(/^node:(internal\/)?/, 'node:').split('/')[0]!;
  const ours = /\/libs\/([^/]+)\/src\/([^/]+)/.exec(url);
  if (ours) return ours[2]!.endsWith('.js') ? ours[1]! : `${ours[1]!}/${ours[2]!}`;
  const packages = [...url.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/g)];
  return packages.at(-1)?.[1] ?? 'bench';
}

import type { Type } from '@nestjs/common';
import {
  type Attempt,
  type ChannelHandler,
  type Delivery,
  DeliveryChannel,
  type DeliveryChannelOptions,
  type DeliveryDraft,
  type Outcome,
  succeeded,
} from 'nest-deliveries';
import type { EntityManager } from 'typeorm';

/** What a delivery of a scripted channel says. */
export interface Script {
  /** Which of the scripts sends it; without one it simply succeeds. */
  readonly script?: string;
  readonly n?: number;
}

/** One call of a scripted channel's `send`. */
export interface SendCall {
  readonly id: string;
  readonly attempt: number;
  readonly payload: Script;
  readonly startedAt: number;
  /** Undefined while it is in flight. */
  endedAt: number | undefined;
}

export type Play = (delivery: Delivery<Script>, attempt: Attempt) => Outcome | Promise<Outcome>;

/** A channel whose sends follow scripts that the test writes, and whose calls it can read. */
export interface ScriptedChannel {
  readonly type: Type<ChannelHandler<Script>>;
  readonly calls: SendCall[];
  /** Calls that have not returned. */
  inFlight(): SendCall[];
  on(script: string, play: Play): void;
}

export function scriptedChannel(
  options: DeliveryChannelOptions,
  onFailed?: (delivery: Delivery<Script>, tx: EntityManager) => Promise<void> | void,
): ScriptedChannel {
  const calls: SendCall[] = [];
  const scripts = new Map<string, Play>();

  @DeliveryChannel(options)
  class Scripted implements ChannelHandler<Script> {
    deliveries(): DeliveryDraft<Script>[] {
      return [];
    }

    async send(delivery: Delivery<Script>, attempt: Attempt): Promise<Outcome> {
      const { id, payload } = delivery;
      const call: SendCall = {
        id,
        attempt: attempt.number,
        payload,
        startedAt: performance.now(),
        endedAt: undefined,
      };
      calls.push(call);
      try {
        const play = scripts.get(payload.script ?? '');
        return play ? await play(delivery, attempt) : succeeded();
      } finally {
        call.endedAt = performance.now();
      }
    }
  }
  if (onFailed) Object.assign(Scripted.prototype, { onFailed });

  return {
    type: Scripted,
    calls,
    inFlight: () => calls.filter((call) => call.endedAt === undefined),
    on: (script, play) => void scripts.set(script, play),
  };
}

/** Resolves when the signal aborts: what a well-behaved channel that hangs does, which then throws. */
export function hang(attempt: Attempt): Promise<never> {
  return new Promise((_resolve, reject) => {
    attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason as Error), { once: true });
  });
}

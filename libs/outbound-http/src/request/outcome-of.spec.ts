import { failureKind } from './failure-kind';
import { outcomeOf } from './outcome-of';
import type { OutboundResult } from './result';

const KIND = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

function responded(status: number, headers: Record<string, string | string[]> = {}): OutboundResult {
  return { type: 'responded', status, headers, body: Buffer.alloc(0), truncated: false };
}

describe('outcomeOf', () => {
  it('decides every status', () => {
    const decided = (type: string): number[] =>
      Array.from({ length: 800 }, (_, index) => 200 + index).filter((status) => {
        const outcome = outcomeOf(responded(status));
        return outcome.type === type && ('kind' in outcome ? outcome.kind === String(status) : true);
      });
    const succeeded = Array.from({ length: 100 }, (_, index) => 200 + index);
    const retried = [408, 429, ...Array.from({ length: 100 }, (_, index) => 500 + index)];
    expect(decided('succeeded')).toEqual(succeeded);
    expect(decided('retry')).toEqual(retried);
    expect(decided('failed')).toHaveLength(800 - succeeded.length - retried.length);
  });

  it('hands on Retry-After as it came, for what is tried again', () => {
    expect(outcomeOf(responded(429, { 'retry-after': '120' }))).toEqual({
      type: 'retry',
      kind: '429',
      retryAfter: '120',
    });
    expect(outcomeOf(responded(503, { 'retry-after': ['1', '2'] }))).toMatchObject({ retryAfter: ['1', '2'] });
    expect(outcomeOf(responded(503))).toEqual({ type: 'retry', kind: '503' });
    expect(outcomeOf(responded(404, { 'retry-after': '120' }))).toEqual({ type: 'failed', kind: '404' });
  });

  it('fails what is refused and retries what gave no answer', () => {
    expect(outcomeOf({ type: 'refused', reason: 'private' })).toEqual({ type: 'failed', kind: 'refused:private' });
    expect(outcomeOf({ type: 'timedOut', phase: 'connect' })).toEqual({ type: 'retry', kind: 'timeout:connect' });
    expect(outcomeOf({ type: 'unreachable', kind: 'ECONNRESET' })).toEqual({ type: 'retry', kind: 'ECONNRESET' });
  });
});

describe('failureKind', () => {
  const withCode = (code: unknown): Error => Object.assign(new Error('secret.example.test'), { code });

  it.each([
    [withCode('ECONNREFUSED'), 'ECONNREFUSED'],
    [withCode('UND_ERR_SOCKET'), 'connection-closed'],
    [withCode('what is this?'), 'unknown'],
    [withCode(23), 'Error'],
    [new RangeError('x'), 'RangeError'],
    ['a text', 'unknown'],
    [null, 'unknown'],
    [Object.create(null), 'unknown'],
  ])('names %p as %s, never by its message', (error: unknown, kind) => {
    expect(failureKind(error)).toBe(kind);
    expect(kind).toMatch(KIND);
  });
});

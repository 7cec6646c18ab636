import type { QueryRunner } from 'typeorm';
import type { DueWork } from '../delivery/claim-path';
import type { DraftQuery } from '../delivery/draft-query';
import { InvalidDraftError } from '../errors';
import { destinationLimit, laneLimit, payloadLimit, recipientLimit } from './check-draft';
import { insertQuerySql, takeBackEventsSql } from './insert-query.sql';

/** A query of a channel's, and the event that causes what it produces. */
export interface QueryOfEvent {
  readonly eventId: string;
  readonly channel: string;
  readonly query: DraftQuery;
}

const rules: Readonly<Record<string, string>> = {
  destination: `must have 1 to ${destinationLimit} characters in each row`,
  payload: `must be there, and at most ${payloadLimit} bytes of JSON, in each row`,
  recipient: `must be at most ${recipientLimit} bytes of JSON in each row`,
  lane: `must have at most ${laneLimit} characters in each row`,
};

/** Inserts what queries produce, on the caller's own connection. */
export class QueryInserter {
  private readonly takeBackText: string;

  constructor(private readonly schema: string) {
    this.takeBackText = takeBackEventsSql(schema);
  }

  /** @throws InvalidDraftError for a row that breaks a limit: nothing of the query was inserted */
  async insert(
    runner: QueryRunner,
    { eventId, channel, query }: QueryOfEvent,
  ): Promise<{ count: number; due: DueWork[] }> {
    const { sql, parameters } = query;
    const limits = [destinationLimit, payloadLimit, recipientLimit, laneLimit];
    const [row] = (await runner.query(insertQuerySql(this.schema, sql, parameters.length), [
      ...parameters,
      eventId,
      channel,
      ...limits,
    ])) as [{ refused: string | null; inserted: number; due: number; due_in_lanes: number }];
    if (row.refused !== null) {
      throw new InvalidDraftError(row.refused, rules[row.refused]!, `Query of channel "${channel}"`);
    }
    const due: DueWork[] = [
      { channel, path: 'plain', count: row.due },
      { channel, path: 'lane', count: row.due_in_lanes },
    ];
    return { count: row.inserted, due: due.filter(({ count }) => count > 0) };
  }

  /** Deletes events of this call with all that they caused. */
  async takeBack(runner: QueryRunner, eventIds: readonly string[]): Promise<void> {
    await runner.query(this.takeBackText, [eventIds]);
  }
}

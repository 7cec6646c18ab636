import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { codeOf } from '../database/worker-database';
import { decodeNotification, encodeNotification, type Notification } from './notification';

/**
 * - `connecting`: no connection yet, or it was lost; polls serve meanwhile
 * - `listening`: this process hears what it says itself
 * - `deaf`: connected, and hears nothing, as behind a pooler that hands out connections by transaction; polls serve
 */
export type ListenState = 'connecting' | 'listening' | 'deaf';

/** How long things take; tests are in more of a hurry. In ms. */
export interface ListenerPace {
  /** Between two probes: together with `patience` and the reconnect, the longest that a dead connection goes unnoticed. */
  readonly probeEvery: number;
  /** For a connection, a reply, the echo of a probe. */
  readonly patience: number;
  /** Between attempts to connect, at most. */
  readonly reconnectWithin: number;
  /** Until a connection that proved deaf is tried anew. */
  readonly deafFor: number;
}

export const listenerPace: ListenerPace = {
  probeEvery: 15_000,
  patience: 5_000,
  reconnectWithin: 3_000,
  deafFor: 30_000,
};

/**
 * Hears what other replicas announce, on a connection of its own. A connection can die without a word (a firewall forgot it, a
 * machine vanished), and a pooler can swallow notifications, so the listener says something to itself now and then and
 * believes only what it hears.
 */
export class Listener {
  private readonly logger = new Logger('Deliveries');
  private current: ListenState = 'connecting';
  private client: Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private heard: ((probe: number) => void) | undefined;
  private probing: AbortController | undefined;
  private probes = 0;
  private stopped = false;
  private troubled = false;

  constructor(
    private readonly config: ClientConfig,
    private readonly channel: string,
    private readonly name: string,
    /** NOTIFY on another connection. */
    private readonly say: (payload: string) => Promise<unknown>,
    private readonly onNotification: (notification: Notification) => void,
    /** Whatever was announced while nobody listened is unknown: look everywhere. */
    private readonly onListening: () => void,
    private readonly pace: ListenerPace = listenerPace,
  ) {}

  get state(): ListenState {
    return this.current;
  }

  start(): void {
    void this.listen();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.drop();
  }

  private async listen(): Promise<void> {
    const client = new Client({
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'nest-deliveries listen',
      ...this.config,
      connectionTimeoutMillis: this.pace.patience,
      query_timeout: this.pace.patience,
    });
    this.client = client;
    // The end of an idle connection comes as an error, or as an end alone. The second of them finds another client, or none.
    client.on('error', (error) => this.lost(client, codeOf(error)));
    client.on('end', () => this.lost(client, 'connection ended'));
    client.on('notification', ({ payload }) => this.take(decodeNotification(payload)));
    try {
      await client.connect();
      await client.query(`LISTEN "${this.channel.replaceAll('"', '""')}"`);
      await this.probe(client);
    } catch (error) {
      this.lost(client, codeOf(error));
    }
  }

  /**
   * Waits until something that was said on another connection comes in. On this one it would not prove a thing: a pooler
   * passes on what a transaction of ours says to itself, and nothing that others say.
   */
  private async probe(client: Client): Promise<void> {
    const heard = await this.hearsItself();
    if (this.client !== client) return;
    if (heard) this.isListening();
    else {
      // Is the connection dead, or are its ears?
      await client.query('SELECT 1');
      if (this.client !== client) return;
      if (heard === false) return this.isDeaf(client);
      // Nothing could be said: of the connection that listens this says nothing bad.
    }
    this.timer = setTimeout(() => {
      this.probe(client).catch((error: unknown) => this.lost(client, codeOf(error)));
    }, this.pace.probeEvery);
  }

  /** @returns undefined when nothing could be said */
  private async hearsItself(): Promise<boolean | undefined> {
    const probe = (this.probes += 1);
    const over = (this.probing = new AbortController());
    const echo = new Promise<true>((resolve) => {
      this.heard = (number) => number === probe && resolve(true);
    });
    const patience = sleep(this.pace.patience, false as const, { signal: over.signal }).catch(() => undefined);
    try {
      await Promise.race([this.say(encodeNotification({ from: this.name, probe })), patience]);
      return await Promise.race([echo, patience]);
    } catch {
      return undefined;
    } finally {
      over.abort();
    }
  }

  private take(notification: Notification): void {
    if (!('probe' in notification)) this.onNotification(notification);
    else if (notification.from === this.name) this.heard?.(notification.probe);
  }

  private isListening(): void {
    if (this.current === 'listening') return;
    this.current = 'listening';
    if (this.troubled)
      this.logger.log('LISTEN works again: deliveries of other processes are sent without waiting for a poll.');
    this.troubled = false;
    this.onListening();
  }

  private lost(client: Client, reason: string): void {
    if (this.client !== client || this.stopped) return;
    if (this.current !== 'deaf')
      this.warn(`LISTEN lost its connection (${reason}): polls find what is due until it is back.`);
    this.current = 'connecting';
    void this.drop();
    this.timer = setTimeout(() => void this.listen(), this.pace.reconnectWithin * (0.3 + 0.7 * Math.random()));
  }

  private isDeaf(client: Client): void {
    if (this.client !== client || this.stopped) return;
    if (this.current !== 'deaf') {
      this.warn(
        'LISTEN is connected and hears nothing, as behind a pooler that hands out connections by transaction: polls find what is due. ' +
          'Give it a direct connection with the option listen: { connection: { … } }, or set listen: false.',
      );
    }
    this.current = 'deaf';
    void this.drop();
    this.timer = setTimeout(() => void this.listen(), this.pace.deafFor);
  }

  private warn(message: string): void {
    if (!this.troubled) this.logger.warn(message);
    this.troubled = true;
  }

  private async drop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    clearTimeout(this.timer);
    // Nothing will be heard on this connection any more, and whoever waited for it would hold a process that is to end.
    this.probing?.abort();
    if (!client) return;
    client.removeAllListeners('notification');
    client.on('error', () => undefined);
    // A connection that is frozen never ends by itself.
    const stream = (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;
    const cut = setTimeout(() => stream.destroy(), 500);
    await client.end().catch(() => undefined);
    clearTimeout(cut);
  }
}

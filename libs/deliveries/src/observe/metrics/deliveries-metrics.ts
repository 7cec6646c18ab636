import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type * as PromClient from 'prom-client';
import { DeliveriesOptionsError } from '../../errors';
import type { QueueCounter } from '../queue-counter';
import { metricDefinitions } from './definitions';
import type { MetricsSource } from './metrics-source';
import { addSource, removeSource } from './shared-metric';

/** What `metrics` of the module's options takes. */
export interface MetricsOptions {
  /** Put before every metric's name, as it is: `'shop_'` makes `shop_deliveries_pending`. Default: nothing. */
  readonly prefix?: string;
  /** prom-client registry that gets the metrics. Default: prom-client's own, which PrometheusModule serves. */
  readonly registry?: PromClient.Registry;
}

/** Shows what this application's deliveries do in a prom-client registry, from its start until it is closed. */
export class DeliveriesMetrics implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly added: (typeof metricDefinitions)[number][] = [];

  /** @param registry undefined when metrics are off */
  constructor(
    readonly registry: PromClient.Registry | undefined,
    private readonly prefix: string,
    private readonly source: MetricsSource,
    private readonly counter: QueueCounter,
  ) {}

  /**
   * Before anything is started: a start that fails here leaves nothing running.
   * @throws DeliveriesOptionsError when the registry has a metric of the same name
   */
  onModuleInit(): void {
    if (!this.registry) return;
    try {
      for (const definition of metricDefinitions) {
        addSource(this.registry, definition, this.prefix, this.source);
        this.added.push(definition);
      }
    } catch (error) {
      // A start that failed leaves nothing behind for the next one.
      this.onApplicationShutdown();
      throw error;
    }
  }

  onApplicationBootstrap(): void {
    if (this.registry) this.counter.start();
  }

  onApplicationShutdown(): void {
    if (!this.registry) return;
    for (const definition of this.added.splice(0)) removeSource(this.registry, definition, this.prefix, this.source);
  }
}

/**
 * The registry that the options mean.
 * @param options undefined for the default: prom-client's own registry if prom-client is installed
 * @throws DeliveriesOptionsError when metrics were asked for and prom-client is not there
 */
export function registryOf(options: MetricsOptions | false | undefined): PromClient.Registry | undefined {
  if (options === false) return undefined;
  if (options?.registry) return options.registry;
  try {
    // Not import(): Jest refuses it in compiled code, unless Node runs with --experimental-vm-modules.
    return (require('prom-client') as typeof PromClient).register;
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (options === undefined) return undefined;
    throw new DeliveriesOptionsError(
      'DeliveriesModule: metrics needs prom-client, which is not installed. Run "npm install prom-client", or set metrics: false.',
    );
  }
}

/** prom-client itself, and not something that it needs in turn. */
const isMissing = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'MODULE_NOT_FOUND' && /'prom-client'/.test((error as Error).message);

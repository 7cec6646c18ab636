import type { Metric, Registry } from 'prom-client';
import { DeliveriesOptionsError } from '../../errors';
import type { MetricDefinition, Sample } from './definitions';
import type { MetricsSource } from './metrics-source';

/** The metrics of this library in each registry. Weak: a registry that its host lets go takes them along. */
const metricsOf = new WeakMap<Registry, Map<string, SharedMetric>>();

/** What a registry asks a metric for. */
type Collected = Awaited<ReturnType<Metric['get']>>;

/**
 * A metric in a registry that is put together when it is asked for, from what the applications behind it say. Applications
 * of one process may share a registry, the default one for example: then they share its metrics as well, and the last one
 * to leave takes them out.
 */
class SharedMetric {
  readonly sources = new Set<MetricsSource>();
  readonly help: string;
  readonly type: MetricDefinition['type'];
  readonly aggregator: MetricDefinition['aggregator'];

  constructor(
    private readonly definition: MetricDefinition,
    /** Not read-only: a registry that speaks OpenMetrics takes `_total` off. */
    public name: string,
  ) {
    this.help = definition.help;
    this.type = definition.type;
    this.aggregator = definition.aggregator;
  }

  get(): Promise<Collected> {
    const { name, help, type, aggregator } = this;
    const values = this.samples().map(({ labels, value, suffix }) => ({
      labels: { ...labels },
      value,
      ...(suffix === undefined ? {} : { metricName: name + suffix }),
    }));
    return Promise.resolve({ name, help, type, aggregator, values } as unknown as Collected);
  }

  /** For `registry.resetMetrics()`. What is counted belongs to the applications. */
  reset(): void {}

  private samples(): Sample[] {
    const merged = new Map<string, Sample>();
    for (const source of this.sources) {
      for (const sample of this.definition.read(source)) {
        const key = JSON.stringify([sample.suffix, sample.labels]);
        const other = merged.get(key);
        const value = other ? this.merge(other.value, sample.value) : sample.value;
        merged.set(key, { ...sample, value });
      }
    }
    return [...merged.values()];
  }

  private merge(a: number, b: number): number {
    return this.aggregator === 'max' ? Math.max(a, b) : a + b;
  }
}

/**
 * Adds a source to a metric of a registry, and the metric to the registry if it is the first.
 * @throws DeliveriesOptionsError when the registry has a metric of that name that is not this library's
 */
export function addSource(
  registry: Registry,
  definition: MetricDefinition,
  prefix: string,
  source: MetricsSource,
): void {
  const name = prefix + definition.name;
  const metrics = metricsOf.get(registry) ?? new Map<string, SharedMetric>();
  metricsOf.set(registry, metrics);
  let metric = metrics.get(name);
  // A registry that was cleared has forgotten it.
  if (!metric || registry.getSingleMetric(name) !== (metric as unknown)) {
    if (registry.getSingleMetric(name)) {
      throw new DeliveriesOptionsError(
        `DeliveriesModule: metrics.registry has a metric named "${name}" already, and it is not one of this module's. Set metrics.prefix, or rename the other one.`,
      );
    }
    metric = new SharedMetric(definition, name);
    metrics.set(name, metric);
    registry.registerMetric(metric as unknown as Metric);
  }
  metric.sources.add(source);
}

/** Takes a source back, and with the last one the metric. */
export function removeSource(
  registry: Registry,
  definition: MetricDefinition,
  prefix: string,
  source: MetricsSource,
): void {
  const name = prefix + definition.name;
  const metrics = metricsOf.get(registry);
  const metric = metrics?.get(name);
  if (!metric?.sources.delete(source) || metric.sources.size > 0) return;
  metrics!.delete(name);
  if (registry.getSingleMetric(name) === (metric as unknown)) registry.removeSingleMetric(name);
}

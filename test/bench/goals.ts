/** What a ratio is to reach. Higher is better in every one. */
export interface Goal {
  readonly about: string;
  /** What a change must not fall below. */
  readonly must: number;
  /** Where this product wants to stand. */
  readonly aim: number;
}

const goal = (must: number, aim: number, about: string): Goal => ({ must, aim, about });

export const goals: Readonly<Record<string, Goal>> = {
  drain_vs_pgboss: goal(1.2, 2, 'draining 40,000 / pg-boss'),
  drain_vs_graphile: goal(0.8, 1.3, 'draining 40,000 / graphile-worker with local queue and batched completion'),
  drain_one_vs_graphile: goal(2, 5, '24 in flight, 1 ms each / graphile-worker without its local queue'),
  record_vs_pgboss: goal(1.3, 2, 'a business row and one delivery in a transaction, 8 clients / pg-boss'),
  record_vs_graphile: goal(1.3, 2, 'the same / graphile-worker'),
  record_overhead: goal(0.7, 0.9, 'the same / the same transactions with a plain INSERT of equal size'),
  bulk_vs_graphile: goal(0.7, 1.1, '100,000 in calls of 1,000 / graphile-worker'),
  latency_p50_vs_graphile: goal(0.7, 1, "graphile-worker's median from commit to handler / ours, two processes"),
  ordered_1_vs_pgboss: goal(3, 6, 'one ordering key / pg-boss, key_strict_fifo'),
  ordered_100_vs_pgboss: goal(1, 1.7, '100 ordering keys / the same'),
  ordered_100_vs_graphile: goal(30, 100, '100 ordering keys / graphile-worker, named queues'),
  ordered_10k_vs_unordered: goal(0.4, 0.8, '10,000 ordering keys / the same without keys'),
  history_1m: goal(0.8, 0.95, 'draining beside 1,000,000 finished / beside nothing'),
  scheduled_1m: goal(0.8, 0.95, 'draining beside 1,000,000 scheduled for later / beside nothing'),
  failed_100k: goal(0.8, 0.95, 'draining beside 100,000 failed / beside nothing'),
  stuck_heads: goal(0.8, 0.95, 'draining beside 1,000 failed heads with 100 waiting each / beside nothing'),
  held_snapshot: goal(0.85, 0.97, 'rate at 1,000/s offered, in the last part of a held snapshot / before it'),
  fairness_p99: goal(0.2, 0.8, "fast lanes' p99 without a slow lane / with 50,000 waiting in one"),
  fairness_webhooks_p99: goal(
    0.2,
    0.8,
    "endpoints' p99 without a dead one / with 50,000 waiting for one that never answers",
  ),
  admin_pages: goal(0.34, 0.8, "the slowest page's or call's p95 on 1,000 deliveries / on 1,250,000"),
  admin_workers: goal(0.9, 0.97, 'draining with the dashboard open / without'),
  http_vs_undici: goal(0.4, 0.7, 'requests through OutboundHttp / plain undici, 16 in flight'),
  fanout_rows: goal(0.5, 0.9, 'fan-out of 100,000 / INSERT … SELECT of equal rows'),
};

/** Ratios that have no goal. */
export const extras: Readonly<Record<string, string>> = {
  drain_cpu_vs_pgboss: "pg-boss's CPU time for each of the 40,000, Node and PostgreSQL together / ours",
  drain_cpu_vs_graphile: 'the same of graphile-worker / ours',
  admin_first_look: "the overview's p95 when nothing of it is cached, on 1,000 deliveries / on 1,250,000",
  drain_logged: 'draining 40,000 with a log line for each success, written to a file / without',
  lane_drain: 'draining 40,000 over 200 lanes / without lanes',
  http_vs_undici_plain: 'OutboundHttp over HTTP, connections kept / undici',
  http_vs_undici_tls: 'OutboundHttp over HTTPS, connections kept / undici',
  http_new_vs_undici_plain: 'OutboundHttp over HTTP, a new connection each / undici',
  http_new_vs_undici_tls: 'OutboundHttp over HTTPS, a new connection each / undici',
};

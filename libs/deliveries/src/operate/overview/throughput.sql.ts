import { endedPairsSql } from '../match/matching.sql';

/**
 * How many deliveries ended, by channel, status and bucket, through `deliveries_settled_idx`. No more than $4 are counted one by one;
 * each bucket of each pair gets its share of them, and a bucket that holds more is `full`: `count` came to its end `reached` ms
 * after its beginning. Empty buckets have no row.
 *
 * $1 start of the first bucket in ms since 1970 · $2 length of a bucket in ms · $3 how many · $4 rows to count in all
 */
export const throughputSql = (schema: string): string => `
WITH RECURSIVE ${endedPairsSql(schema)}, pair AS MATERIALIZED (
  SELECT status, channel, greatest(20, $4::bigint / (count(*) OVER () * $3::bigint)) AS most FROM ended
)
SELECT pair.channel, pair.status, bucket.nth::integer AS bucket, counted.count, counted.count = pair.most AS full,
       (extract(epoch FROM counted.reached - bucket.start) * 1000)::float8 AS reached
  FROM pair
 CROSS JOIN (SELECT nth, timestamptz 'epoch' + ($1::float8 + nth * $2::float8) * interval '1 ms' AS start
               FROM generate_series(0, $3::bigint - 1) nth) bucket
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS count, max(settled_at) AS reached
     FROM (SELECT d.settled_at
             FROM ${schema}.deliveries d
            WHERE d.channel = pair.channel AND d.status = pair.status AND d.settled_at IS NOT NULL
              AND d.settled_at >= bucket.start AND d.settled_at < bucket.start + $2::float8 * interval '1 ms'
            ORDER BY d.settled_at
            LIMIT pair.most) seen) counted
 WHERE counted.count > 0`;

/**
 * The same for buckets that turned out to be full, each in so many parts: what the others left of the rows to count goes to them, and
 * what came in a rush at the end of a bucket is not taken for a steady rate.
 *
 * $1 channels, $2 statuses and $3 starts in ms since 1970 of the buckets · $4 length of a part in ms · $5 parts of a bucket ·
 * $6 rows to count in each part
 */
export const fullBucketsSql = (schema: string): string => `
SELECT full_one.nth::integer - 1 AS full_one, part.nth AS part, counted.count, counted.count = $6::bigint AS full,
       (extract(epoch FROM counted.reached - part_of.start) * 1000)::float8 AS reached
  FROM unnest($1::text[], $2::text[], $3::float8[]) WITH ORDINALITY AS full_one (channel, status, start, nth)
 CROSS JOIN generate_series(0, $5::integer - 1) AS part (nth)
 CROSS JOIN LATERAL (
   SELECT timestamptz 'epoch' + (full_one.start + part.nth * $4::float8) * interval '1 ms' AS start) part_of
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS count, max(settled_at) AS reached
     FROM (SELECT d.settled_at
             FROM ${schema}.deliveries d
            WHERE d.channel = full_one.channel AND d.status = full_one.status AND d.settled_at IS NOT NULL
              AND d.settled_at >= part_of.start AND d.settled_at < part_of.start + $4::float8 * interval '1 ms'
            ORDER BY d.settled_at
            LIMIT $6::bigint) seen) counted
 WHERE counted.count > 0`;

/** What the page says beside figures. Nothing here that changes from run to run. */
export const method = `All contenders run on the same PostgreSQL with the same payload of 300 bytes, each run in a process of its own (Node 22, which
the other packages need) and in a database of its own that is prepared once and copied. They take turns, A B C A B C, so that whatever
else the machine does meets all of them. Figures are medians, with the least and the greatest of the rounds in brackets. A drain is timed
from the first delivery that is handled to the last that is settled.

Ours is the module in a Nest application: discovery, recorder and counters at their defaults, one worker with many slots, and a logger
at the levels of production, which write no line for an attempt that succeeded. Where the table has "successes logged", that line is
written to a file. The other packages have the settings that their documentation recommends
and that were the fastest of those tried: pg-boss fetches 1,000 at once with two pollers, graphile-worker has 24 jobs, a local queue of
500 and batched completion. They log nothing for a job. pg-boss keeps finished rows, as ours does; graphile-worker deletes them. Only
ours fences what a worker writes by a token.

Absolute figures differ from machine to machine, and by a fifth from run to run; compare ratios. They differ too, if less: what is a
quarter ahead on one machine may be level on another that computes half as fast.`;

export const choosing = `- **graphile-worker** when jobs are short, finished ones need no trace, and the database itself adds jobs: triggers and SQL functions can
  call \`add_job\`. It deletes what is done, so it does least. It has crontab-like schedules. It does not know NestJS or TypeORM.
- **pg-boss** when you want schedules, dead-letter queues and throttling of jobs by name, or run it with another client than \`pg\`. It
  keeps finished jobs, and its ordering by key (\`key_strict_fifo\`) blocks behind a failed job, as ours does.
- **This module** when what is sent belongs to a change of your own data in TypeORM, order by key or one slow receiver matter, and
  someone must be able to see and decide afterwards what became of each delivery.
- **A broker** (RabbitMQ, Kafka and the like) when many consumers read one stream, or a single PostgreSQL is not enough for the rates
  above. Recording in the transaction of a change then still needs an outbox in front of it.`;

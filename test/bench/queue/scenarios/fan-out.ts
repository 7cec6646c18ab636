import type { Figures } from '../../part';
import type { Setting } from './setting';

/** One change that causes `count` deliveries. */
export async function fanOut({ contender, url, query }: Setting, count: number): Promise<Figures> {
  const change = await contender.fanOut!(url);
  const began = performance.now();
  await change.run();
  const took = performance.now() - began;
  const [found] = await query<{ count: number }>('SELECT count(*)::integer AS count FROM deliveries.deliveries');
  if (found?.count !== count) throw new Error(`the fan-out made ${found?.count} deliveries instead of ${count}`);
  await change.close();
  return { rate: count / (took / 1_000) };
}

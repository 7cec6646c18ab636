import type { Registry } from 'prom-client';

/** What a registry exports, by name and labels as Prometheus writes them: `deliveries_pending{channel="mail"}`. */
export type Samples = Readonly<Record<string, number>>;

/** Reads the text that Prometheus would read. */
export async function samplesOf(registry: Registry): Promise<Samples> {
  return parseSamples(await registry.metrics());
}

export function parseSamples(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const border = line.lastIndexOf(' ');
      return [line.slice(0, border), Number(line.slice(border + 1))];
    }),
  );
}

import { MetadataScanner, type DiscoveryService } from '@nestjs/core';
import { sourceKey } from './verify-webhook';

/** The names that `@VerifyWebhook` has in an application: on controllers, and on their routes. */
export function routeSources(discovery: DiscoveryService): string[] {
  const scanner = new MetadataScanner();
  const targets = discovery.getControllers().flatMap(({ metatype }): object[] => {
    const prototype = metatype?.prototype as Record<string, object> | undefined;
    if (!metatype || !prototype) return [];
    return [metatype, ...scanner.getAllMethodNames(prototype).map((name) => prototype[name]!)];
  });
  const names = targets.map((target) => Reflect.getMetadata(sourceKey, target) as string | undefined);
  return names.filter((name) => name !== undefined);
}

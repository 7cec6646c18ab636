import {
  Inject,
  Logger,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { flag, refuseUnknown, requireRecord } from './options/option-rules';
import type { OutboundHttpOptions } from './options/outbound-http-options';
import { optionNames } from './options/read-options';
import { OutboundHttp } from './request/outbound-http';

export interface OutboundHttpModuleOptions extends OutboundHttpOptions {
  /** Makes `OutboundHttp` available to every module without an import. Default off. */
  isGlobal?: boolean;
}

export interface OutboundHttpAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  isGlobal?: boolean;
  inject?: FactoryProvider['inject'];
  useFactory: FactoryProvider<OutboundHttpOptions | Promise<OutboundHttpOptions>>['useFactory'];
}

/** Provides one `OutboundHttp` and closes its idle connections when the application shuts down. */
@Module({})
export class OutboundHttpModule implements OnApplicationShutdown {
  constructor(@Inject(OutboundHttp) private readonly http: OutboundHttp) {}

  /** @throws InvalidOptionsError while the application starts */
  static forRoot(given: OutboundHttpModuleOptions = {}): DynamicModule {
    requireRecord(given);
    refuseUnknown('', given, [...optionNames, 'isGlobal']);
    const { isGlobal, ...options } = given;
    return wired(isGlobal, [], { provide: OutboundHttp, useFactory: () => withLog(options) });
  }

  static forRootAsync({ isGlobal, imports = [], inject = [], useFactory }: OutboundHttpAsyncOptions): DynamicModule {
    return wired(isGlobal, imports, {
      provide: OutboundHttp,
      inject,
      useFactory: async (...dependencies: unknown[]) => withLog(await useFactory(...dependencies)),
    });
  }

  onApplicationShutdown(): void {
    this.http.close();
  }
}

function wired(
  isGlobal: unknown,
  imports: ModuleMetadata['imports'],
  client: FactoryProvider<OutboundHttp>,
): DynamicModule {
  const global = flag('isGlobal', isGlobal, false);
  return { module: OutboundHttpModule, global, imports: imports ?? [], providers: [client], exports: [OutboundHttp] };
}

/** The address belongs in the operators' log: neither attempt records nor receivers' owners are to learn it. */
function withLog(options: OutboundHttpOptions): OutboundHttp {
  const logger = new Logger(OutboundHttp.name);
  return new OutboundHttp(options, ({ reason, address }) => {
    logger.warn(`Refused to connect to ${address}: ${reason}.`);
  });
}

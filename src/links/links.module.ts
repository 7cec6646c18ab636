import { Global, Module, type DynamicModule } from '@nestjs/common';
import { LinkTokens } from './link-tokens';
import { PublicPages } from './public-pages';

/** What links are made of, for whoever makes or reads one. */
@Global()
@Module({})
export class LinksModule {
  static forRoot(tokens: LinkTokens, pages: PublicPages): DynamicModule {
    return {
      module: LinksModule,
      providers: [
        { provide: LinkTokens, useValue: tokens },
        { provide: PublicPages, useValue: pages },
      ],
      exports: [LinkTokens, PublicPages],
    };
  }
}

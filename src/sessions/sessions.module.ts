import { Global, Module, type DynamicModule } from '@nestjs/common';
import { SessionGuard } from './session.guard';
import { SessionsController } from './sessions.controller';
import { SessionsService } from './sessions.service';
import { TestLoginController } from './test-login.controller';

/** Sessions, for whoever needs to know who is signed in. */
@Global()
@Module({})
export class SessionsModule {
  /** @throws RangeError for a test login in production */
  static forRoot({ testLogin }: { testLogin: boolean }): DynamicModule {
    if (testLogin && process.env.NODE_ENV === 'production') {
      throw new RangeError(
        'TEST_LOGIN is on and NODE_ENV is production: anybody could sign in as anybody. Switch it off.',
      );
    }
    return {
      module: SessionsModule,
      controllers: testLogin ? [SessionsController, TestLoginController] : [SessionsController],
      providers: [SessionsService, SessionGuard],
      exports: [SessionsService, SessionGuard],
    };
  }
}

import { Inject, Injectable, Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { InvalidOptionsError, OutboundHttp, OutboundHttpModule } from '.';

@Injectable()
class Sender {
  constructor(@Inject(OutboundHttp) readonly http: OutboundHttp) {}
}

@Module({ providers: [Sender], exports: [Sender] })
class SenderModule {}

@Module({})
class DenyModule {}

describe('OutboundHttpModule', () => {
  afterEach(() => jest.restoreAllMocks());

  it('provides one client, to every module where it is global', async () => {
    const app = await Test.createTestingModule({
      imports: [OutboundHttpModule.forRoot({ isGlobal: true, profile: 'strict' }), SenderModule],
    }).compile();
    const { http } = app.get(Sender);
    expect(http).toBeInstanceOf(OutboundHttp);
    expect(http).toBe(app.get(OutboundHttp));
    expect(http.checkDestination('https://[64:ff9b::808:808]/')).toEqual({ allowed: false, reason: 'nat64' });
    await app.close();
  });

  it('takes its options from a factory', async () => {
    const app = await Test.createTestingModule({
      imports: [
        OutboundHttpModule.forRootAsync({
          imports: [
            { module: DenyModule, providers: [{ provide: 'DENY', useValue: ['8.8.8.8/32'] }], exports: ['DENY'] },
          ],
          inject: ['DENY'],
          useFactory: async (deny: string[]) => ({ deny }),
        }),
      ],
    }).compile();
    expect(app.get(OutboundHttp).checkDestination('https://8.8.8.8/')).toEqual({
      allowed: false,
      reason: 'denied-by-operator',
    });
    await app.close();
  });

  it('does not start with wrong options', async () => {
    const module = Test.createTestingModule({ imports: [OutboundHttpModule.forRoot({ timeout: -1 })] });
    await expect(module.compile()).rejects.toThrow(InvalidOptionsError);
  });

  it('tells the refused address to the log and to nobody else', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const resolver = async () => ['10.1.2.3'];
    const app = await Test.createTestingModule({ imports: [OutboundHttpModule.forRoot({ resolver })] }).compile();
    const result = await app.get(OutboundHttp).post('https://receiver.example.test/path?token=secret');
    expect(result).toEqual({ type: 'refused', reason: 'private' });
    expect(warn.mock.calls).toEqual([['Refused to connect to 10.1.2.3: private.']]);
    await app.close();
  });

  it('closes the client when the application shuts down', async () => {
    const app = await Test.createTestingModule({ imports: [OutboundHttpModule.forRoot()] }).compile();
    const close = jest.spyOn(app.get(OutboundHttp), 'close');
    await app.close();
    expect(close).toHaveBeenCalledTimes(1);
  });
});

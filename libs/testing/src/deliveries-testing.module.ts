import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  deliveriesToken,
  DeliveryOperations,
  DeliveryRecorder,
  DeliveryWorkers,
  RuntimeChannels,
} from 'nest-deliveries';
import { DeliveriesTester } from './deliveries-tester';

type Tested = ConstructorParameters<typeof DeliveriesTester>;

/** @param name of the `DeliveriesModule`, where an application has several; undefined for the one without */
function testing(mode: 'manual' | 'workers', name?: string): Required<Pick<DynamicModule, 'providers' | 'exports'>> {
  const token = deliveriesToken(DeliveriesTester, name);
  const tested = [DeliveryWorkers, DeliveryRecorder, DeliveryOperations, RuntimeChannels].map((each) =>
    deliveriesToken(each, name),
  );
  const tester: Provider = {
    provide: token,
    inject: [...tested, ModuleRef],
    useFactory: (
      workers: Tested[0],
      recorder: Tested[1],
      operations: Tested[2],
      channels: Tested[3],
      ref: Tested[4],
    ) => {
      // Everything is made before the first worker starts, which is when the application is bootstrapped.
      if (mode === 'manual') workers.byHand();
      return new DeliveriesTester(workers, recorder, operations, channels, ref, mode);
    },
  };
  const byClass: Provider[] = name === undefined ? [{ provide: DeliveriesTester, useExisting: token }] : [];
  return { providers: [tester, ...byClass], exports: [token, ...byClass.map(() => DeliveriesTester)] };
}

/**
 * Beside the application's own modules in a test, it takes the workers of `DeliveriesModule` out of action, so that nothing is
 * sent until the test says so: `Test.createTestingModule({ imports: [AppModule, DeliveriesTestingModule] })`. Then
 * `app.get(DeliveriesTester)` drains, looks and moves the time.
 */
@Module(testing('manual'))
export class DeliveriesTestingModule {
  /**
   * The same for one of several `DeliveriesModule`s of an application; its tester is
   * `app.get(deliveriesToken(DeliveriesTester, name))`.
   */
  static forModule(name: string): DynamicModule {
    // A class of its own, since what a decorator says of this one comes along with whatever a dynamic module adds.
    return { module: Testing, ...testing('manual', name) };
  }

  /**
   * The tester in an application whose workers run as they do in production.
   * @param name as in {@link forModule}. Default: the module without a name
   */
  static withWorkers(name?: string): DynamicModule {
    return { module: Testing, ...testing('workers', name) };
  }
}

@Module({})
class Testing {}

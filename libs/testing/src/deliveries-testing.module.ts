import { Module, type DynamicModule, type OnModuleInit, type Provider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { DeliveryOperations, DeliveryRecorder, DeliveryWorkers, RuntimeChannels } from 'nest-deliveries';
import { DeliveriesTester } from './deliveries-tester';

const modeToken = Symbol('nest-deliveries testing mode');
type Mode = 'manual' | 'workers';

const tester = {
  provide: DeliveriesTester,
  inject: [DeliveryWorkers, DeliveryRecorder, DeliveryOperations, RuntimeChannels, ModuleRef, modeToken],
  useFactory: (...injected: ConstructorParameters<typeof DeliveriesTester>) => new DeliveriesTester(...injected),
};

const providersFor = (mode: Mode): Provider[] => [{ provide: modeToken, useValue: mode }, tester];

/**
 * Beside the application's own modules in a test, it takes the workers of `DeliveriesModule` out of action, so that nothing is
 * sent until the test says so: `Test.createTestingModule({ imports: [AppModule, DeliveriesTestingModule] })`. Then
 * `app.get(DeliveriesTester)` drains, looks and moves the time.
 */
@Module({ providers: providersFor('manual'), exports: [DeliveriesTester] })
export class DeliveriesTestingModule implements OnModuleInit {
  constructor(private readonly workers: DeliveryWorkers) {}

  /** The tester in an application whose workers run as they do in production. */
  static withWorkers(): DynamicModule {
    // A class of its own, since what a decorator says of this one comes along with whatever a dynamic module adds.
    return { module: WithWorkers, providers: providersFor('workers'), exports: [DeliveriesTester] };
  }

  onModuleInit(): void {
    // Every module is initialized before the first worker starts, which is when the application is bootstrapped.
    this.workers.byHand();
  }
}

@Module({})
class WithWorkers {}

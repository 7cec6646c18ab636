import { Inject, Injectable, Scope, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule, getDataSourceToken } from '@nestjs/typeorm';
import {
  ChannelDefinitionError,
  DeliveriesModule,
  DeliveriesOptionsError,
  DeliveryChannel,
  DeliveryRecorder,
  SchemaBehindError,
  succeeded,
  type ChannelHandler,
  type DeliveriesOptions,
  type DeliveryChannelOptions,
  type DeliveryDraft,
  type Outcome,
} from 'nest-deliveries';
import { currentVersion, deliveriesMigrations, migrationSteps } from 'nest-deliveries/migrations';
import { DataSource } from 'typeorm';
import { startDeliveriesApp, testPace, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { Letters, letter, until } from './letters';

class Channel implements ChannelHandler {
  readonly constructed: boolean = true;
  deliveries(): DeliveryDraft[] {
    return [];
  }
  send(): Promise<Outcome> {
    return Promise.resolve(succeeded());
  }
}

/** A channel class of that name, with what its decorator is given. */
function channel(name: string, options: object | undefined, base: Type<object> = Channel): Type {
  const made = { [name]: class extends base {} }[name]!;
  DeliveryChannel(options as DeliveryChannelOptions)(made);
  return made;
}
const email = (base?: Type<object>): Type => channel('EmailChannel', { name: 'email', maxAge: '1d' }, base);

/** Enough of a DataSource for a start that fails before it asks PostgreSQL anything. */
const unused = { provide: DataSource, useValue: { options: { type: 'postgres' } } };
class HostModule {
  readonly isTheHosts = true;
}
const host = (...providers: Exclude<Provider, Type>[]): DynamicModule => ({
  module: HostModule,
  global: true,
  providers,
  exports: providers.map(({ provide }) => provide),
});

/** The error that a start fails with, before the database is asked anything. */
async function failure(
  channels: Provider[],
  deliveries: DynamicModule | object = {},
  imports: (DynamicModule | Type)[] = [ScheduleModule.forRoot(), host(unused)],
): Promise<{ error: Error; code: unknown; message: string }> {
  const module = 'module' in deliveries ? deliveries : DeliveriesModule.forRoot(deliveries);
  const started = Test.createTestingModule({ imports: [...imports, module], providers: channels })
    .compile()
    .then((built) => built.init());
  const error = await started.then(
    () => new Error('it started'),
    (thrown: Error) => thrown,
  );
  return { error, code: (error as { code?: unknown }).code, message: error.message };
}

describe('channel classes', () => {
  const refused = async (...channels: Provider[]): Promise<string> => {
    const { error, code, message } = await failure(channels);
    expect([error, code]).toEqual([expect.any(ChannelDefinitionError), 'DELIVERIES_CHANNEL_DEFINITION']);
    return message;
  };

  it('must have names of their own', async () => {
    expect(await refused(email(), channel('OtherChannel', { name: 'email', maxAge: '1h' }))).toBe(
      'OtherChannel and EmailChannel are both channels named "email". Give one of them another name: deliveries of one would be sent by the other.',
    );
  });

  it.each(['', 'a b', 'a\0', 'é', 'x'.repeat(161), undefined, 5])(
    'must have names that can be stored: %j',
    async (name) => {
      expect(await refused(channel('EmailChannel', { name, maxAge: '1d' }))).toBe(
        `Channel class EmailChannel: name must be 1 to 160 of A-Z a-z 0-9 . _ : - and is stored with each delivery; got ${JSON.stringify(name)}. Rename it.`,
      );
    },
  );

  it('must be given options', async () => {
    expect(await refused(channel('EmailChannel', undefined))).toMatch(
      /^Channel class EmailChannel: name must be .* got undefined\./,
    );
  });

  class Deliveries {
    deliveries = (): DeliveryDraft[] => [];
  }
  class Sends {
    send = (): Promise<Outcome> => Promise.resolve(succeeded());
  }
  it.each([
    ['deliveries', Sends],
    ['send', Deliveries],
  ])('must have the method %s', async (method, base) => {
    expect(await refused(email(base))).toBe(
      `Channel class EmailChannel (channel "email") lacks the method ${method}(). Implement ChannelHandler, which says what each method gets and returns.`,
    );
  });

  @Injectable()
  class OfRequest extends Channel {
    constructor(@Inject(REQUEST) readonly request: unknown) {
      super();
    }
  }
  const scoped = (scope: Scope, order: 'above' | 'below'): Type => {
    const made = class EmailChannel extends Channel {};
    const decorators = [Injectable({ scope }), DeliveryChannel({ name: 'email', maxAge: '1d' })];
    for (const decorate of order === 'below' ? decorators : decorators.toReversed()) decorate(made);
    return made;
  };
  const asksForRequest = class EmailChannel extends OfRequest {};
  DeliveryChannel({ name: 'email', maxAge: '1d' })(asksForRequest);

  it.each([
    ['an @Injectable above', scoped(Scope.REQUEST, 'above'), 'request-scoped (or depends on something that is)'],
    ['an @Injectable below', scoped(Scope.REQUEST, 'below'), 'request-scoped (or depends on something that is)'],
    ['what it injects', asksForRequest, 'request-scoped (or depends on something that is)'],
    ['an @Injectable, as transient', scoped(Scope.TRANSIENT, 'above'), 'transient'],
  ])('must be singletons, and are not by %s', async (_, of, is) => {
    expect(await refused(of)).toBe(
      `EmailChannel is ${is}, but a channel lives as long as the application. Make it and what it injects singletons; what belongs to a request goes into the draft.`,
    );
  });
});

describe('options', () => {
  const refused = async (channels: Provider[], options: DynamicModule | object): Promise<string> => {
    const { error, code, message } = await failure(channels, options);
    expect([error, code]).toEqual([expect.any(DeliveriesOptionsError), 'DELIVERIES_OPTIONS']);
    return message;
  };
  const settled = (settings: object): Type => channel('EmailChannel', { name: 'email', maxAge: '1d', ...settings });

  it.each([undefined, '1 day', -1, 'soon'])('need a maxAge of each channel: %j', async (maxAge) => {
    expect(await refused([settled({ maxAge })], {})).toBe(
      `Channel class EmailChannel (channel "email"): maxAge must say how long a delivery is still worth sending; got ${JSON.stringify(maxAge)}. Write, for example, maxAge: '1d'.`,
    );
  });

  it.each([
    [
      'a class',
      [settled({ timeout: 5 })],
      {},
      'Channel class EmailChannel: there is no option "timeout"; the nearest is "sendTimeout". Known are: maxAge,',
    ],
    [
      'the module',
      [],
      { polInterval: 5 },
      'DeliveriesModule: there is no option "polInterval"; the nearest is "pollInterval". Known are: schema,',
    ],
    [
      'channels',
      [email()],
      { channels: { email: { sendTimeOut: 5 } } },
      'DeliveriesModule: channels["email"]: there is no option "sendTimeOut"; the nearest is "sendTimeout". Known are: maxAge,',
    ],
    [
      'retry',
      [],
      { retry: { maximum: 5 } },
      'DeliveriesModule: retry: there is no option "maximum"; the nearest is "max". Known are: first, max.',
    ],
  ])('are refused by %s when they are unknown, with the nearest that is not', async (_, channels, options, message) => {
    expect(await refused(channels, options)).toContain(message);
  });

  it.each([
    [
      'a class',
      [settled({ concurrency: 0 })],
      {},
      'Channel class EmailChannel: concurrency must be a whole number from 1 to 10000; got 0. Choose one in that range.',
    ],
    [
      'channels',
      [email()],
      { channels: { email: { workers: 1.5 } } },
      'DeliveriesModule: channels["email"]: workers must be a whole number from 0 to 100; got 1.5. Choose one in that range.',
    ],
    [
      'the module',
      [],
      { sendTimeout: '10 s' },
      `DeliveriesModule: sendTimeout must be a duration from 1 ms to 86400000 ms; got "10 s". Write milliseconds or a string such as '10s', '5m', '1h' or '7d'.`,
    ],
  ])('are refused by %s when they are out of range', async (_, channels, options, message) => {
    expect(await refused(channels, options)).toBe(message);
  });

  it.each([
    ['a class', [settled({ sendTimeout: '56s' })], {}, 61_000, 60_000],
    ['the module', [email()], { lease: '14s' }, 15_000, 14_000],
    ['channels', [email()], { channels: { email: { sendTimeout: '1s', lease: '5999ms' } } }, 6_000, 5_999],
  ])('keep a lease above the send and the write of its outcome: %s', async (_, channels, options, atLeast, got) => {
    expect(await refused(channels, options)).toBe(
      `Channel class EmailChannel: lease must be at least sendTimeout and 5 seconds (${atLeast} ms), so that an outcome is written while the claim still holds; got ${got} ms. Raise lease or lower sendTimeout.`,
    );
  });

  it.each([
    ['run', { run: ['email', 'emial'] }],
    ['channels', { channels: { emial: { workers: 1 } } }],
  ])('name no channel that does not exist: %s', async (option, options) => {
    expect(await refused([email()], options)).toBe(
      `DeliveriesModule: ${option} names channel "emial", which no class of this application declares; there are: email. Correct the name.`,
    );
  });

  it('are checked when a factory gives them, too', async () => {
    const wrong = { useFactory: () => ({ workers: -1 }) };
    expect(await refused([], DeliveriesModule.forRootAsync(wrong))).toMatch(/^DeliveriesModule: workers must be/);
    const late = { useFactory: () => ({ dataSource: 'ledger' }) as DeliveriesOptions };
    expect(await refused([], DeliveriesModule.forRootAsync(late))).toBe(
      'DeliveriesModule: dataSource must be known before the factory of forRootAsync runs; got it from the factory. Put it beside useFactory.',
    );
  });
});

describe('what the module needs beside it', () => {
  const schedule = ScheduleModule.forRoot();
  const messageOf = async (deliveries: object, imports: DynamicModule[]): Promise<string> => {
    const { error, message } = await failure([email()], deliveries, imports);
    expect(error).toBeInstanceOf(DeliveriesOptionsError);
    return message;
  };

  it.each([
    ['the class DataSource', {}],
    ['"ledgerDataSource"', { dataSource: getDataSourceToken('ledger') }],
    ['"Symbol(ledger)"', { dataSource: Symbol('ledger') }],
  ])('is a DataSource: %s', async (sought, options) => {
    expect(await messageOf(options, [schedule])).toBe(
      `DeliveriesModule: dataSource must be the injection token of a TypeORM DataSource; nothing is provided under ${sought}. Import TypeOrmModule.forRoot(…) in the root module, or pass dataSource: getDataSourceToken('name') for a named one.`,
    );
  });

  it.each([
    [{ options: { type: 'mysql' } }, 'one of type "mysql"'],
    ['an address', 'something else'],
  ])('is a DataSource on PostgreSQL, whether or not there are channels: %j', async (useValue, got) => {
    expect(await messageOf({ dataSource: 'ledger' }, [schedule, host({ provide: 'ledger', useValue })])).toBe(
      `DeliveriesModule: dataSource must name a TypeORM DataSource of type "postgres", since deliveries are recorded in the application's own PostgreSQL transactions; got ${got}. Pass the token of the one that is, such as getDataSourceToken('name').`,
    );
  });

  it('is the ScheduleModule', async () => {
    expect(await messageOf({}, [host(unused)])).toBe(
      'DeliveriesModule needs the SchedulerRegistry of @nestjs/schedule, and it is not there. Import ScheduleModule.forRoot() in the root module.',
    );
  });
});

describe('on a database', () => {
  let database: TestDatabase;
  const opened: { close(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
    // A host's own tables of these names.
    await database.query('CREATE TABLE public.deliveries (id int); CREATE TABLE public.events (id int)');
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });
  afterAll(() => database.drop());

  const start = async (schema: string, options: DeliveriesOptions = {}): Promise<DeliveriesApp> => {
    const app = await startDeliveriesApp(database.url, [Letters], { schema, ...options });
    opened.push(app);
    return app;
  };
  async function hostDataSource(schema: string, table = `host_of_${schema}`): Promise<DataSource> {
    const migrations = deliveriesMigrations({ schema });
    const made = new DataSource({ type: 'postgres', url: database.url, migrations, migrationsTableName: table });
    await made.initialize();
    opened.push({ close: () => made.destroy() });
    return made;
  }
  const applied = (schema: string): Promise<object[]> =>
    database.query(`SELECT version, name, applied_at::text FROM ${schema}.schema_migrations ORDER BY version`);
  const everyStepOnce = migrationSteps.map(({ version, name }) => ({ version, name }));
  /** Records a letter and gives what arrived. */
  async function delivered({ recorder, module }: Pick<DeliveriesApp, 'recorder' | 'module'>): Promise<string[]> {
    await recorder.transaction((tx) => recorder.record(tx, { type: 'letters_written', payload: ['hello'] }));
    const letters = module.get(Letters);
    await until('the letter arrives', () => letters.arrived.length > 0);
    return letters.texts();
  }

  it.each(['all', 'each', 'none'] as const)(
    'takes a schema that the host’s migrations made, in transaction mode %s, as it is',
    async (transaction) => {
      const schema = `by_host_${transaction}`;
      const made = await (await hostDataSource(schema)).runMigrations({ transaction });
      expect(made.map(({ name }) => name)).toEqual(migrationSteps.map(({ name }) => name));
      const before = await applied(schema);
      expect(before).toMatchObject(everyStepOnce);
      expect(await delivered(await start(schema))).toEqual(['hello']);
      expect(await applied(schema)).toEqual(before);
    },
  );

  it('lets the host’s migrations take a schema that the module made as it is', async () => {
    await start('by_module');
    const before = await applied('by_module');
    expect(before).toMatchObject(everyStepOnce);
    const dataSource = await hostDataSource('by_module');
    expect(await dataSource.runMigrations()).toHaveLength(currentVersion);
    expect(await applied('by_module')).toEqual(before);
    expect(await dataSource.runMigrations()).toEqual([]);
  });

  it('reads the version after the lock, whatever the default isolation of the database: two hosts at once', async () => {
    await database.query(`ALTER DATABASE ${database.name} SET default_transaction_isolation = 'repeatable read'`);
    try {
      const hosts = [await hostDataSource('twice', 'host_one'), await hostDataSource('twice', 'host_two')];
      await Promise.all(hosts.map((each) => each.runMigrations({ transaction: 'none' })));
      expect(await applied('twice')).toMatchObject(everyStepOnce);
    } finally {
      await database.query(`ALTER DATABASE ${database.name} RESET default_transaction_isolation`);
    }
  });

  it('does not revert a migration: that would delete deliveries', async () => {
    const dataSource = await hostDataSource('kept');
    await dataSource.runMigrations();
    await expect(dataSource.undoLastMigration()).rejects.toThrow(
      /^Deliveries\w+\d{13} is not reverted: it would delete deliveries\. Drop schema "kept" by hand if that is meant\.$/,
    );
    expect(await applied('kept')).toMatchObject(everyStepOnce);
  });

  it('keeps out of a host’s own tables called deliveries and events', async () => {
    expect(await delivered(await start('deliveries'))).toEqual(['hello']);
    expect(await database.query('SELECT FROM public.deliveries')).toEqual([]);
    expect(await database.query('SELECT FROM public.events')).toEqual([]);
  });

  it.each([
    ['missing', '', 'has no tables of nest-deliveries'],
    ['behind', 'CREATE SCHEMA behind; CREATE TABLE behind.schema_migrations (version int)', 'is at version 0'],
  ])('does not start on a schema that is %s, and names the three ways', async (schema, prepare, found) => {
    await database.query(prepare);
    const started = start(schema, { migrate: false });
    await expect(started).rejects.toThrow(SchemaBehindError);
    await expect(started).rejects.toThrow(
      new RegExp(
        `^Schema "${schema}" ${found}, and this release needs version ${currentVersion}\\. Run the command "deliveries migrate", or add ` +
          'deliveriesMigrations\\(\\{ schema \\}\\) to the migrations of your DataSource, or set the option migrate: true\\.$',
      ),
    );
  });

  it('starts on a schema that is newer: a replica of the release before, during a deployment', async () => {
    await (await start('newer')).close();
    await database.query(`INSERT INTO newer.schema_migrations VALUES (${currentVersion + 1}, 'Later')`);
    expect(await delivered(await start('newer'))).toEqual(['hello']);
  });

  it('takes its options from a factory, the DataSource by its token, and a channel however it is provided', async () => {
    const settings = { provide: 'settings', useValue: { ...testPace, schema: 'by_factory' } };
    const built = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ name: 'ledger', type: 'postgres', url: database.url, retryAttempts: 0 }),
        ScheduleModule.forRoot(),
        DeliveriesModule.forRootAsync({
          imports: [host(settings)],
          inject: ['settings'],
          dataSource: getDataSourceToken('ledger'),
          useFactory: (given: DeliveriesOptions) => Promise.resolve(given),
        }),
      ],
      providers: [{ provide: Letters, useFactory: () => Promise.resolve(new Letters()) }],
    }).compile();
    opened.push(built);
    await built.init();
    expect(await delivered({ recorder: built.get(DeliveryRecorder), module: built })).toEqual(['hello']);
    expect(await database.query('SELECT FROM by_factory.deliveries')).toHaveLength(1);
  });

  it('lets a test put another handler in a channel’s place', async () => {
    const texts: unknown[] = [];
    const instead: ChannelHandler = {
      deliveries: () => [letter('from the test')],
      send: ({ payload }) => (texts.push(payload), Promise.resolve(succeeded())),
    };
    const built = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
        ScheduleModule.forRoot(),
        DeliveriesModule.forRoot({ ...testPace, schema: 'overridden' }),
      ],
      providers: [Letters],
    })
      .overrideProvider(Letters)
      .useValue(instead)
      .compile();
    opened.push(built);
    await built.init();
    const recorder = built.get(DeliveryRecorder);
    await recorder.transaction((tx) => recorder.record(tx, { type: 'anything' }));
    await until('it arrives', () => texts.length === 1);
    expect(texts).toEqual([{ text: 'from the test' }]);
  });
});

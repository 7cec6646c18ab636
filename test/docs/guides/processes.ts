import { DeliveriesModule } from 'nest-deliveries';

const { CHANNELS, DIRECT_DATABASE_URL } = process.env;

/** For every role of process: `CHANNELS=warehouse,reminder` for a sender of these, `CHANNELS=` for one that only records. */
export const deliveries = DeliveriesModule.forRoot({
  migrate: false,
  ...(CHANNELS === undefined ? {} : { run: CHANNELS.split(',').filter((name) => name !== '') }),
  // Past a pooler that hands out connections by transaction: LISTEN needs one that stays.
  ...(DIRECT_DATABASE_URL === undefined ? {} : { listen: { connection: { connectionString: DIRECT_DATABASE_URL } } }),
});

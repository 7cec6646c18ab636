import 'reflect-metadata';
import { startDeliveriesApp } from '../../support/deliveries-app';
import { HttpParcels } from './http-channel';

/** A replica in a process of its own, on the database in `REPLICA_DATABASE_URL`. Tells its parent when it is up. */
void startDeliveriesApp(process.env.REPLICA_DATABASE_URL!, [HttpParcels]).then(() => process.send?.('up'));

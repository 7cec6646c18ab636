import { deliveriesMigrations } from 'nest-deliveries/migrations';
import { DataSource } from 'typeorm';
import { Customer, Order } from './entities';

export const dataSource = new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  entities: [Customer, Order],
  migrations: [...deliveriesMigrations() /*, and yours */],
});

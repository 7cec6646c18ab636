import { getDataSourceToken } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';

export const modulesOfTwoDatabases = [
  DeliveriesModule.forRoot(),
  DeliveriesModule.forRoot({ name: 'billing', dataSource: getDataSourceToken('billing') }),
];

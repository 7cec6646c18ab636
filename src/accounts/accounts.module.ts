import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AddressesModule } from '../addresses/addresses.module';
import { Account } from './account.entity';
import { AccountsAdminController } from './accounts-admin.controller';
import { AccountsAdminService } from './accounts-admin.service';
import { AccountsController } from './accounts.controller';
import { AccountsService } from './accounts.service';

@Module({
  imports: [TypeOrmModule.forFeature([Account]), AddressesModule],
  controllers: [AccountsController, AccountsAdminController],
  providers: [AccountsService, AccountsAdminService],
})
export class AccountsModule {}

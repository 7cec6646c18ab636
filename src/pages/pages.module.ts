import { Module } from '@nestjs/common';
import { AddressesModule } from '../addresses/addresses.module';
import { LinksController } from './links.controller';

@Module({ imports: [AddressesModule], controllers: [LinksController] })
export class PagesModule {}

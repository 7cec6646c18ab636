import { Module } from '@nestjs/common';
import { PasskeysController } from './passkeys.controller';
import { RecoveryController } from './recovery.controller';
import { RecoveryService } from './recovery.service';

@Module({ controllers: [RecoveryController, PasskeysController], providers: [RecoveryService] })
export class RecoveryModule {}

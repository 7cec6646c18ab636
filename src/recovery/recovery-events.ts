import type { DeliveryEvent } from 'nest-deliveries';

/** Somebody asked for a recovery link to the primary address of an account. */
export type RecoveryStarted = DeliveryEvent<
  'recovery_started',
  { readonly accountId: string; readonly recoveryId: string; readonly addressId: string }
>;

export const recoveryStarted = (payload: NonNullable<RecoveryStarted['payload']>): RecoveryStarted => ({
  type: 'recovery_started',
  payload,
});

export const isRecoveryStarted = (event: DeliveryEvent): event is RecoveryStarted => event.type === 'recovery_started';

import type { IncomingRequest } from './request/request';

/** Who asks, and what may be shown to them. */
export interface Operator {
  readonly actor: string;
  readonly canSeePayload: boolean;
}

/** Asks the host's options who sent a request. */
export abstract class OperatorReader {
  abstract operatorOf(request: IncomingRequest): Promise<Operator>;
  abstract canSeePayload(request: IncomingRequest): Promise<boolean>;
}

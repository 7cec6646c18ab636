import {
  applyDecorators,
  createParamDecorator,
  Injectable,
  SetMetadata,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { WebhookConfigurationError, WebhookSignatureError } from '../errors';
import { rawBodyOf, type RawRequest } from './raw-body';
import { WebhookReceivers } from './webhook-receivers';
import type { ReceivedMessage } from './webhook-verifier';

export const sourceKey = 'nest-deliveries:verify-webhook';

/** What was verified, by request. */
const verified = new WeakMap<object, ReceivedMessage>();

/**
 * Lets a request pass if a known sender has signed it: 413 for a body over the limit, one and the same 401 for everything that is
 * wrong with a signature. It neither says what the sender may do nor keeps a message from coming twice; see `WebhookReceipts`.
 */
@Injectable()
export class WebhookGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly receivers: WebhookReceivers,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const source = this.reflector.getAllAndOverride<string>(sourceKey, [context.getHandler(), context.getClass()]);
    const verifier = this.receivers.get(source);
    const request = context.switchToHttp().getRequest<RawRequest>();
    const body = await rawBodyOf(request, verifier.limit);
    try {
      verified.set(request, verifier.verify((request.raw ?? request).rawHeaders, body));
      return true;
    } catch (error) {
      if (error instanceof WebhookSignatureError) throw new UnauthorizedException(error.message);
      throw error;
    }
  }
}

/**
 * Verifies what a controller, or one of its routes, receives. The application needs Nest's option `rawBody: true`.
 * @param source a name among those in the module's option `receive`
 */
export const VerifyWebhook = (source: string): ClassDecorator & MethodDecorator =>
  applyDecorators(SetMetadata(sourceKey, source), UseGuards(WebhookGuard));

/** The verified message, as a parameter of a route behind {@link VerifyWebhook}. */
export const Received = createParamDecorator((_: unknown, context: ExecutionContext): ReceivedMessage => {
  const message = verified.get(context.switchToHttp().getRequest<object>());
  if (message) return message;
  throw new WebhookConfigurationError('@Received() stands on a route without @VerifyWebhook(…). Add it.');
});

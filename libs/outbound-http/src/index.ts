// Set up
export { OutboundHttpModule } from './outbound-http.module';
export type { OutboundHttpAsyncOptions, OutboundHttpModuleOptions } from './outbound-http.module';
export type { KeepAliveOptions, OutboundHttpOptions } from './options/outbound-http-options';
export type { Duration } from './options/duration';
export type { Resolver } from './resolve/resolver';
export { dnsResolver } from './resolve/dns-resolver';

// Send
export { OutboundHttp } from './request/outbound-http';
export type { RefusedDestination } from './request/outbound-http';
export type { AttemptOptions, PostOptions, RequestOptions } from './request/attempt-options';
export type { Method, OutboundRequest } from './request/read-request';
export type { OutboundResult, Phase, ResponseHeaders } from './request/result';
export { outcomeOf } from './request/outcome-of';
export type { OutboundOutcome } from './request/outcome-of';

// Check beforehand
export { classifyAddress } from './address-policy/classify-address';
export type { Profile } from './address-policy/classify-address';
export { checkDestination } from './address-policy/read-destination';
export type { AddressReason, RefusalReason, SendReason, UrlReason, Verdict } from './address-policy/reasons';
export { checkHeaders } from './request/check-headers';

// Test
export { scriptedResolver } from './testing/scripted-resolver';
export type { ScriptedAnswer, ScriptedResolver } from './testing/scripted-resolver';

// Errors
export { InvalidOptionsError, InvalidRequestError } from './errors';
export type { InvalidRequestCode } from './errors';

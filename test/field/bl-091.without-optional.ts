// A machine on which nothing that is optional was installed. To be imported before what may look for it.
import Module from 'node:module';

const missing = ['prom-client', '@willsoto/nestjs-prometheus', '@nestjs/terminus'];
type Resolve = (this: unknown, request: string, ...rest: unknown[]) => string;
const modules = Module as unknown as { _resolveFilename: Resolve };
// oxlint-disable no-underscore-dangle -- what Node calls the hook of require() that it lets programs replace
const resolve = modules._resolveFilename;
modules._resolveFilename = function withoutOptional(request, ...rest) {
  if (!missing.includes(request)) return resolve.call(this, request, ...rest);
  throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
};

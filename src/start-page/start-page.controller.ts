import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';

/** What there is to open, below the application's own address. */
export const addresses = [
  { path: '/', what: 'this list' },
  { path: '/api', what: 'try the API: register a partner, create an account, sign in, add an address' },
  { path: '/accounts', what: 'the newest accounts' },
  { path: '/partners', what: 'the partners that are told of them' },
  {
    path: '/.well-known/openid-configuration',
    what: 'the OpenID provider, for its clients; /.well-known/jwks.json: its keys',
  },
  { path: '/admin/deliveries', what: 'the operators’ dashboard; /admin/deliveries/api: the same as JSON' },
  { path: '/metrics', what: 'what Prometheus reads' },
  { path: '/health/ready', what: 'whether this process can do its work; /health/live: whether it should be restarted' },
] as const;

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>nest-deliveries: the reference application</title>
<h1>nest-deliveries: the reference application</h1>
<ul>
${addresses.map(({ path, what }) => `<li><a href="${path}">${path}</a>: ${what}</li>`).join('\n')}
</ul>
</html>
`;

@ApiExcludeController()
@Controller()
export class StartPageController {
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  show(): string {
    return page;
  }
}

// The arrows between the libraries and between the rooms of a library. A room that is not named as a target may not be
// imported: what a rule says is what a reader may rely on.

const rooms = (from, allowed, library = 'deliveries') => ({
  name: `${library}/${from}`,
  comment: `${from}/ may import ${allowed.length ? allowed.map((room) => `${room}/`).join(', ') : 'no other room'}.`,
  severity: 'error',
  from: { path: `^libs/${library}/src/${from}/`, pathNot: '\\.spec\\.ts$' },
  to: {
    path: `^libs/${library}/src/[^/]+/`,
    pathNot: `^libs/${library}/src/(${[from, ...allowed].join('|')})/`,
  },
});

const libraries = (from, allowed) => ({
  name: `libs/${from}`,
  comment: `libs/${from} may import ${allowed.length ? allowed.map((lib) => `libs/${lib}`).join(', ') : 'no other library'}.`,
  severity: 'error',
  from: { path: `^libs/${from}/`, pathNot: '\\.spec\\.ts$' },
  to: { path: '^(libs|src|test)/', pathNot: `^libs/(${[from, ...allowed].join('|')})/` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'door',
      comment: 'A library is entered through its index.ts.',
      severity: 'error',
      from: { path: '^(src|libs/([^/]+))/' },
      to: { path: '^libs/([^/]+)/src/(?!(commands/)?index\\.ts)', pathNot: '^libs/$2/' },
    },
    {
      name: 'migrations',
      comment: 'Migrations stand alone.',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { path: '^(libs|src|test)/' },
    },
    libraries('deliveries', []),
    libraries('outbound-http', []),
    libraries('webhooks', ['deliveries', 'outbound-http']),
    libraries('backchannel-logout', ['deliveries', 'outbound-http']),
    libraries('email', ['deliveries']),
    libraries('testing', ['deliveries']),
    rooms('delivery', []),
    rooms('order', ['delivery']),
    rooms('channel', ['delivery']),
    rooms('database', []),
    rooms('observe', ['database', 'delivery']),
    rooms('pause', ['database', 'delivery']),
    rooms('wake-up', ['database', 'delivery']),
    rooms('record', ['order', 'database', 'channel', 'delivery']),
    rooms('claim', ['order', 'pause', 'database', 'delivery']),
    rooms('send', ['channel', 'delivery']),
    rooms('settle', ['order', 'pause', 'database', 'delivery']),
    rooms('commands', ['operate', 'clean-up', 'database', 'delivery']),
    rooms('operate', ['order', 'database', 'channel', 'delivery']),
    rooms('clean-up', ['order', 'database', 'channel', 'delivery']),
    rooms('worker', ['claim', 'send', 'settle', 'pause', 'wake-up', 'channel', 'database', 'delivery', 'observe']),
    rooms('address-policy', [], 'outbound-http'),
    rooms('resolve', ['address-policy'], 'outbound-http'),
    rooms('options', ['resolve', 'address-policy'], 'outbound-http'),
    rooms('request', ['options', 'resolve', 'address-policy'], 'outbound-http'),
    rooms('testing', ['resolve'], 'outbound-http'),
    rooms('sign', [], 'webhooks'),
    rooms('seal', ['sign'], 'webhooks'),
    rooms('send', ['sign', 'seal'], 'webhooks'),
    rooms('receive', ['sign'], 'webhooks'),
    rooms('outbox', ['send', 'seal', 'sign'], 'webhooks'),
    rooms('endpoint', ['send', 'seal', 'sign'], 'webhooks'),
    rooms('token', [], 'backchannel-logout'),
    rooms('options', ['token'], 'backchannel-logout'),
    rooms('compose', [], 'email'),
    rooms('relay', ['compose'], 'email'),
    rooms('channel', ['compose', 'relay'], 'email'),
    rooms('health', ['relay'], 'email'),
    rooms('receiver', [], 'testing'),
    rooms('contract', ['receiver'], 'testing'),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(build|dist|node_modules)/' },
  },
};

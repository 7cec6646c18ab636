import { BackchannelLogoutModule, BackchannelLogoutOptionsError } from 'nest-deliveries/backchannel-logout';
import { backchannelLogoutOptionNames } from '../../../libs/backchannel-logout/src/options/backchannel-logout-options';
import { readOptionsOf, type OptionTable } from '../option-table';

const issuer = 'https://accounts.example';
const never = (): never => {
  throw new Error('Nobody asks at the start of this test.');
};

export const backchannelLogoutTable: OptionTable = {
  of: 'BackchannelLogoutModule',
  names: [...backchannelLogoutOptionNames, 'deliveries'],
  errors: [BackchannelLogoutOptionsError],
  enough: { issuer, signingKey: never, clientsOf: never },
  start: (options) => readOptionsOf(BackchannelLogoutModule.forRoot(options as never)),
  rows: {
    issuer: {
      takes: [issuer, `${issuer}/tenant`],
      required: true,
      secret: true,
      refuses: [
        ['http://accounts.example', 'got "http://accounts.example"'],
        [`${issuer}?a=b`, 'without query or fragment'],
        ['https://ada:hunter2@accounts.example', 'got "https://…@accounts.example"'],
      ],
    },
    deliveries: { takes: ['billing'], sense: ['some text'] },
    signingKey: { takes: [never], required: true, sense: ['a function'] },
    clientsOf: { takes: [never], required: true, sense: ['a function'] },
  },
};

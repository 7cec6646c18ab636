import { loadTemplates } from '../../libs/email/src/compose/load-templates';
import { Composer } from '../../libs/email/src/compose/composer';
import { email, emailAddress } from 'nest-deliveries/email';
import { from, receipt, templates } from './support/kinds';

it('smoke', () => {
  const composer = new Composer(loadTemplates(templates, [receipt], from.name), from);
  const message = composer.compose(
    email(receipt, emailAddress('ada@example.com'), {
      customer: 'Ada & <Co>',
      message: 'One\ntwo\n\nthree "q"',
      link: 'https://shop.example/?a=1&b=2',
      items: [
        { name: 'x', gift: true },
        { name: 'y', gift: false },
      ],
    }),
    { id: 'id', createdAt: new Date() },
  );
  console.log(message.text, message.html, message);
});

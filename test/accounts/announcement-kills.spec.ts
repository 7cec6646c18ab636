import { until } from '../faults/support/facts';
import { AnnouncementRun, slots } from './support/announcement-run';

const recipients = 1_000;
let run: AnnouncementRun;

// Four processes, each of which loads Nest and TypeORM.
jest.setTimeout(180_000);

beforeAll(async () => {
  run = await AnnouncementRun.start();
});

afterAll(() => run?.close());

test('BL-079: killed in the fan-out, right after the call returned and in the middle of SMTP, it reaches everybody', async () => {
  await run.move(recipients);
  expect(await run.killInFanOut(await run.startReplica())).toBe(0);

  const { id, emails } = await run.announceAt(await run.startReplica());
  expect(emails).toBe(recipients);
  await run.kill();
  // Who comes later is no recipient.
  await run.move(5, 'late');

  await run.startReplica();
  await run.killInSmtp(300);
  const counted = await run.progress(id);
  expect(counted.sent + counted.pending).toBe(recipients);
  expect(counted.pending).toBeGreaterThan(0);

  await run.startReplica();
  // A link that is asked for now does not wait for the rest.
  await run.service.must('POST', '/accounts', { body: { handle: 'in-a-hurry', email: 'in-a-hurry@example.com' } });
  await until('the link has left', () => run.service.mail.at('in-a-hurry@example.com').length > 0, 10_000);

  expect(await run.finished(id)).toMatchObject({
    recipients,
    emails,
    sent: recipients,
    failed: 0,
    skipped: 0,
    removed: 0,
  });
  const copies = run.copies();
  expect(copies.size).toBe(recipients);
  const total = [...copies.values()].flat().length;
  expect(total).toBeGreaterThan(recipients);
  expect(total).toBeLessThanOrEqual(recipients + run.kills * slots);
  // Copies are the same message, which mail programs see by its Message-ID.
  for (const mails of copies.values()) expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(1);
  expect(run.copies('late').size).toBe(0);
});

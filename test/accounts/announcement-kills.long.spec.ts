import { AnnouncementRun, slots } from './support/announcement-run';

const recipients = 5_000;
let run: AnnouncementRun;

jest.setTimeout(300_000);

beforeAll(async () => {
  run = await AnnouncementRun.start();
});

afterAll(() => run?.close());

test('BL-079: 5,000 recipients, six kills, accounts that come and go', async () => {
  await run.move(recipients);
  const { id, emails } = await run.announceAt(await run.startReplica());
  expect(emails).toBe(recipients);
  await run.kill();
  for (let kill = 1; kill <= 5; kill += 1) {
    await run.startReplica();
    await run.killInSmtp(run.service.mail.arrivals.length + 200 + Math.floor(Math.random() * 600));
    await run.move(3, `late-${kill}`);
  }
  // One that still waits goes, and its delivery with it.
  const [waiting] = await run.service.database.query<{ account_id: string; email: string }>(
    `SELECT ad.account_id, ad.email FROM deliveries.deliveries d JOIN addresses ad ON ad.account_id::text = d.recipient->>'accountId'
      WHERE d.channel = 'announcement' AND d.status = 'pending' ORDER BY d.due_at DESC LIMIT 1`,
  );
  await run.service.must('DELETE', `/admin/accounts/${waiting!.account_id}`, { token: 'operator' });
  await run.startReplica();
  expect(await run.finished(id)).toMatchObject({
    recipients,
    emails,
    sent: recipients - 1,
    failed: 0,
    skipped: 0,
    removed: 1,
  });
  const copies = run.copies();
  copies.delete(waiting!.email);
  expect(copies.size).toBe(recipients - 1);
  expect([...copies.values()].flat().length).toBeLessThanOrEqual(recipients + run.kills * slots);
  expect(run.copies('late').size).toBe(0);
});

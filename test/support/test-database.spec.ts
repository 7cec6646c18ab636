import { createTestDatabase, databaseUrl } from './test-database';

it('gives many at once, each of its own, and removes them in use', async () => {
  const many = await Promise.all(Array.from({ length: 6 }, (_, index) => createTestDatabase({ empty: index === 0 })));
  const names = await Promise.all(
    many.map((database) => database.query<{ name: string }>('SELECT current_database() AS name')),
  );
  expect(names.map(([row]) => row?.name)).toEqual(many.map(({ name }) => name));
  const [first, ...others] = many;
  await Promise.all(others.map((database) => database.drop()));
  const left = await first?.query('SELECT FROM pg_database WHERE datname = ANY($1)', [many.map(({ name }) => name)]);
  expect(left).toHaveLength(1);
  await first?.drop();
});

it('keeps everything but the database of the address', () => {
  expect(databaseUrl('postgres://u:p@h:1/postgres?sslmode=disable', 't_1')).toBe(
    'postgres://u:p@h:1/t_1?sslmode=disable',
  );
});

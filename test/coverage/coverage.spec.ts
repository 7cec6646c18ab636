import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { branchesOf, judge, linesOf, roomOf, sum, type CountedFile, type Explained } from './coverage';

const source = `export function name(given = 'nobody') {
  if (given === '') return 'empty';
  return given.length > 9 ? long(given) : given;
}
`;
const at = (line: number, from: number, to: number): CountedFile['statementMap'][string] => ({
  start: { line, column: from },
  end: { line, column: to },
});
/** As Istanbul counts the source above after name() and name('Ada'). */
const counted: CountedFile = {
  path: '/somewhere/libs/webhooks/src/sign/name.ts',
  statementMap: { 0: at(2, 2, 35), 1: at(2, 20, 35), 2: at(3, 2, 48) },
  s: { 0: 2, 1: 0, 2: 2 },
  branchMap: {
    0: { type: 'default-arg', loc: at(1, 21, 37), locations: [at(1, 29, 37)] },
    1: { type: 'if', loc: at(2, 2, 35), locations: [at(2, 2, 35), { start: {}, end: {} }] },
    2: { type: 'cond-expr', loc: at(3, 9, 47), locations: [at(3, 28, 39), at(3, 42, 47)] },
  },
  b: { 0: [1], 1: [0, 2], 2: [0, 2] },
};
const file = 'libs/webhooks/src/sign/name.ts';
const branches = branchesOf(counted, file, source);

it('names each way by the line on which the choice begins, also an else that is not written', () => {
  expect(branches.map(({ line, way, taken }) => [line, way, taken])).toEqual([
    [1, "'nobody'", 1],
    [2, 'then', 0],
    [2, 'else', 2],
    [3, 'long(given)', 0],
    [3, 'given', 2],
  ]);
  expect(branches[1]?.code).toBe("if (given === '') return 'empty';");
});

it('counts a line when one statement that begins on it ran, and adds up', () => {
  expect(linesOf(counted)).toEqual({ all: 2, ran: 2 });
  expect(linesOf({ ...counted, s: { 0: 0, 1: 0, 2: 1 } })).toEqual({ all: 2, ran: 1 });
  const shares = [
    { all: 2, ran: 1 },
    { all: 3, ran: 3 },
  ];
  expect(sum(shares)).toEqual({ all: 5, ran: 4 });
});

it('knows the room of a file', () => {
  expect(
    ['settle/backoff.ts', 'operate/admin/page.ts', 'index.ts'].map((path) => roomOf(`libs/deliveries/src/${path}`)),
  ).toEqual(['deliveries/settle', 'deliveries/operate', 'deliveries']);
});

it('wants a reason for each way that is never taken, and code for each reason', () => {
  const [, then, , long] = branches;
  const reason = { file, code: then!.code, way: 'then', reason: 'nobody is called that' };
  const gone = { ...reason, way: 'other' };
  expect(judge(branches, [reason, gone])).toEqual({
    explained: [{ ...then, reason: reason.reason }],
    unexplained: [long],
    outdated: [gone],
  });
  const taken = branches.map((branch) => ({ ...branch, taken: 1 }));
  expect(judge(taken, [reason])).toEqual({ explained: [], unexplained: [], outdated: [] });
});

it('each reason says what it explains', () => {
  const explanations = JSON.parse(readFileSync(join(__dirname, 'not-taken.json'), 'utf8')) as Explained[];
  for (const explained of explanations) {
    expect(Object.keys(explained)).toEqual(['file', 'code', 'way', 'reason']);
    expect(readFileSync(join(__dirname, '..', '..', explained.file), 'utf8')).toContain(explained.code);
  }
});

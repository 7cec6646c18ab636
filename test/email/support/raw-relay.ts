import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { replyText } from './relay';

/** The steps of a session, in their order; `dot` is the end of the message. */
export const steps = ['greeting', 'EHLO', 'STARTTLS', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'dot'] as const;
export type Step = (typeof steps)[number];

/** What the relay does at a step in the place of what it should: a reply with this code, or something worse. */
export type Behaviour = number | 'silence' | 'reset' | 'close' | 'drip';

export interface RawRelay {
  readonly port: number;
  /** Messages that it has whole, whatever it said about them. */
  readonly messages: readonly string[];
  /** Commands, by their first word. */
  readonly commands: readonly string[];
  /** Sessions that were ever opened. */
  readonly opened: number;
  /** Sessions that are open now. */
  readonly sessions: number;
  /** What to do at each step; may be changed while it runs. */
  readonly behaviours: Map<Step, Behaviour>;
  /** Says something in every session, as the reply that it has kept back. */
  answer(line: string): void;
  close(): Promise<void>;
}

const good: Readonly<Record<Step, string>> = {
  greeting: '220 relay ready',
  EHLO: '250-relay\r\n250 AUTH PLAIN',
  STARTTLS: '502 no such thing',
  AUTH: '235 welcome',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  dot: '250 taken',
};

/** An SMTP server that is told at which step to misbehave. It offers no STARTTLS. */
export async function startRawRelay(behaviours: Partial<Record<Step, Behaviour>> = {}): Promise<RawRelay> {
  const sockets = new Set<Socket>();
  let opened = 0;
  const messages: string[] = [];
  const commands: string[] = [];
  const wanted = new Map(Object.entries(behaviours) as [Step, Behaviour][]);

  const act = (socket: Socket, step: Step): void => {
    const behaviour = wanted.get(step);
    if (behaviour === undefined) socket.write(`${good[step]}\r\n`);
    else if (typeof behaviour === 'number') socket.write(`${behaviour} ${replyText}\r\n`);
    else if (behaviour === 'reset') socket.resetAndDestroy();
    else if (behaviour === 'close') socket.end();
    else if (behaviour === 'drip') drip(socket);
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    opened += 1;
    socket.on('close', () => void sockets.delete(socket));
    socket.on('error', () => undefined);
    let pending = '';
    let message: string[] | undefined;
    const line = (text: string): void => {
      if (message) {
        if (text !== '.') return void message.push(text);
        messages.push(message.join('\r\n'));
        message = undefined;
        return act(socket, 'dot');
      }
      const command = text.split(' ')[0]!.toUpperCase();
      commands.push(command);
      if (command === 'QUIT') return void socket.end('221 bye\r\n');
      if (command === 'RSET') return void socket.write('250 ok\r\n');
      const step = command === 'HELO' ? 'EHLO' : (command as Step);
      if (step === 'DATA' && !wanted.has('DATA')) message = [];
      return act(socket, step);
    };
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      pending += chunk;
      const lines = pending.split('\r\n');
      pending = lines.pop()!;
      for (const each of lines) line(each);
    });
    act(socket, 'greeting');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    messages,
    commands,
    get opened() {
      return opened;
    },
    get sessions() {
      return sockets.size;
    },
    behaviours: wanted,
    answer: (line) => {
      for (const socket of sockets) socket.write(`${line}\r\n`);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A reply that never ends: no limit on silence notices it. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('250-still here\r\n'), 20);
  socket.once('close', () => clearInterval(timer));
}

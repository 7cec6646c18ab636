import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv4, type Server } from 'node:net';
import { listen } from './listen';

export type Answers = (
  name: string,
  type: 'A' | 'AAAA',
) => readonly string[] | 'silence' | 'truncated-over-udp' | 'no-such-name';

export interface DnsServer {
  /** What `dnsResolver` takes. */
  server: string;
  /** How often it was asked, by transport. */
  asked: { udp: number; tcp: number };
  close(): void;
}

const HEADER = 12;
const A = 1;
const AAAA = 28;

/** A name server of RFC 1035 messages over UDP and TCP, as far as the tests ask. Over TCP it has two addresses to say. */
export async function startDnsServer(answers: Answers): Promise<DnsServer> {
  const asked = { udp: 0, tcp: 0 };
  const udp: UdpSocket = createSocket('udp4');
  const tcp: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      asked.tcp++;
      const reply = respond(data.subarray(2), answers, true);
      if (reply) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(reply.length);
        socket.end(Buffer.concat([length, reply]));
      }
    });
  });
  const port = await listen(tcp);
  udp.on('message', (message, from) => {
    asked.udp++;
    const reply = respond(message, answers, false);
    if (reply) {
      udp.send(reply, from.port, from.address);
    }
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    server: `127.0.0.1:${port}`,
    asked,
    close: () => {
      udp.close();
      tcp.close();
    },
  };
}

function respond(question: Buffer, answers: Answers, overTcp: boolean): Buffer | undefined {
  const { name, end, type } = readQuestion(question);
  const kind = type === AAAA ? 'AAAA' : 'A';
  const given = answers(name, kind);
  if (given === 'silence') {
    return undefined;
  }
  const truncated = given === 'truncated-over-udp' && !overTcp;
  const addresses = typeof given === 'string' ? [] : given;
  const tcpOnly =
    given === 'truncated-over-udp' && overTcp ? (kind === 'A' ? ['127.0.0.1', '127.0.0.2'] : []) : addresses;
  const records = tcpOnly.map(record);
  const header = Buffer.alloc(HEADER);
  question.copy(header, 0, 0, 2);
  // A response, recursion available; TC where it was cut; NXDOMAIN where there is no such name.
  header.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | (given === 'no-such-name' ? 3 : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question.subarray(HEADER, end), ...records]);
}

function readQuestion(message: Buffer): { name: string; end: number; type: number } {
  const labels: string[] = [];
  let at = HEADER;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5, type: message.readUInt16BE(at + 1) };
}

function record(address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6(address);
  const head = Buffer.alloc(12);
  // A pointer to the name in the question, type, class IN, no time to live.
  head.writeUInt16BE(0xc000 | HEADER, 0);
  head.writeUInt16BE(isIPv4(address) ? A : AAAA, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function ipv6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [left, right] = [groups(before), groups(after)];
  const bytes = Buffer.alloc(16);
  [...left, ...Array.from<number>({ length: 8 - left.length - right.length }).fill(0), ...right].forEach(
    (group, index) => bytes.writeUInt16BE(group, index * 2),
  );
  return bytes;
}

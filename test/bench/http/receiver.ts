import * as http from 'node:http';
import * as https from 'node:https';
import type { Server } from 'node:net';

// A process of its own, so that its work does not count as the client's. Certificate and key come over the IPC channel.

interface Start {
  certificate: string;
  key: string;
}

const answer: http.RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => response.end('ok'));
};

async function open(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

process.once('message', ({ certificate, key }: Start) => {
  void Promise.all([
    open(http.createServer(answer)),
    open(https.createServer({ cert: certificate, key }, answer)),
  ]).then(([httpPort, httpsPort]) => process.send?.({ httpPort, httpsPort }));
});

process.once('disconnect', () => process.exit());

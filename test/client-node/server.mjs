// SPDX-License-Identifier: Apache-2.0
//
// A `dray up` of the test's own: started, stopped and started again on the same port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export class Server {
  static async start(...flags) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'dray-client-node-'));
    server.port = await freePort();
    server.flags = flags;
    await server.run();
    return server;
  }

  async run() {
    const address = `127.0.0.1:${this.port}`;
    this.process = spawn(process.env.DRAY_BINARY, ['up', '--data', this.folder, '--listen', address, ...this.flags]);
    let text = '';
    await new Promise((ready, failed) => {
      const read = (bytes) => {
        text += bytes;
        if (/^ready/m.test(text)) ready();
      };
      this.process.stdout.on('data', read);
      this.process.stderr.on('data', read);
      this.process.once('exit', (code) => failed(new Error(`dray up ended with ${code}: ${text}`)));
    });
    this.config = new KubeConfig();
    this.config.loadFromFile(join(this.folder, 'admin.kubeconfig'));
  }

  // With SIGTERM; the exit code.
  async stop(signal = 'SIGTERM') {
    this.process.removeAllListeners('exit');
    const ended = once(this.process, 'exit');
    this.process.kill(signal);
    return (await ended)[0];
  }

  async end() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// Until what `look` gives is true; the last value is in the error.
export async function until(look, what, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  let seen;
  do {
    seen = await look();
    if (seen) return seen;
    await new Promise((done) => setTimeout(done, 50));
  } while (Date.now() < end);
  throw new Error(`not within ${seconds} s: ${what}`);
}

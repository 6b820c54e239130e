// SPDX-License-Identifier: Apache-2.0
//
// The real processes: a `dray up --demo` of the test's own, and a `dray console` beside it. On loopback, on free ports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './browser.mjs';

const kDray = process.env.DRAY_BINARY;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

class Process {
  static running = new Set();
  // Until a line of its output is like `ready`.
  async spawn(args, ready) {
    this.child = spawn(kDray, args, { env: { ...process.env, KUBECONFIG: '' } });
    Process.running.add(this);
    this.text = '';
    await new Promise((done, failed) => {
      const read = (bytes) => {
        this.text += bytes;
        if (ready.test(this.text)) done();
      };
      this.child.stdout.on('data', read);
      this.child.stderr.on('data', read);
      this.child.once('exit', (code) => failed(new Error(`dray ${args[0]} ended with ${code}: ${this.text}`)));
    });
  }
  async stop(signal = 'SIGTERM') {
    Process.running.delete(this);
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.removeAllListeners('exit');
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}

export async function stopAll() {
  for (const one of [...Process.running]) await one.stop('SIGKILL');
}

export class Up extends Process {
  static async start(...flags) {
    const up = new Up();
    up.folder = mkdtempSync(join(tmpdir(), 'dray-live-'));
    up.port = await freePort();
    up.flags = flags;
    await up.run();
    return up;
  }
  async run() {
    await this.spawn(['up', '--demo', '--data', this.folder, '--listen', `127.0.0.1:${this.port}`, ...this.flags], /^ready/m);
    this.kubeconfig = join(this.folder, 'admin.kubeconfig');
    const text = readFileSync(this.kubeconfig, 'utf8');
    const bytes = (name) => Buffer.from(new RegExp(`${name}: *(\\S+)`).exec(text)[1], 'base64');
    this.tls = { ca: bytes('certificate-authority-data'), cert: bytes('client-certificate-data'), key: bytes('client-key-data') };
  }
  async end() {
    await this.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
  // As the administrator; the object, or the error with its code.
  api(method, path, body, type = 'application/json') {
    return new Promise((done, failed) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const asked = httpsRequest({ host: '127.0.0.1', port: this.port, path, method, ...this.tls, headers: text === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) } }, (response) => {
        let answer = '';
        response.on('data', (bytes) => (answer += bytes));
        response.on('end', () => {
          const object = JSON.parse(answer);
          if (response.statusCode >= 400) failed(Object.assign(new Error(`${method} ${path}: ${object.message}`), { code: response.statusCode }));
          else done(object);
        });
      });
      asked.on('error', failed);
      asked.end(text);
    });
  }
}

export class Console extends Process {
  static async start(kubeconfig, ...flags) {
    const made = new Console();
    made.args = ['console', '--kubeconfig', kubeconfig, ...flags];
    await made.run();
    return made;
  }
  async run() {
    await this.spawn(this.args, /#t=\S+[^]*^ready/m);
    this.printed = /http:\/\/\S+#t=\S+/.exec(this.text)[0];
    const url = new URL(this.printed);
    this.port = Number(url.port);
    this.token = url.hash.slice(3);
  }
  url(path = '/console/') {
    return `http://127.0.0.1:${this.port}${path}#t=${this.token}`;
  }
  // The API: what it answers.
  async ask(path, body) {
    const { text } = await this.raw({ path: `/console/api/v1/${path}`, ...(body ? { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } } : {}) });
    return JSON.parse(text);
  }
  // A request as somebody might make it: path and headers as they are given.
  raw({ method = 'GET', path = '/console/api/v1/info', headers = {}, body, token = this.token }) {
    return new Promise((done, failed) => {
      const asked = httpRequest({ host: '127.0.0.1', port: this.port, method, path, headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), 'X-Dray-Console': '1', ...headers } }, (response) => {
        let text = '';
        response.on('data', (bytes) => (text += bytes));
        response.on('end', () => done({ code: response.statusCode, headers: response.headers, text }));
      });
      asked.on('error', failed);
      asked.end(body);
    });
  }
}

// All that can be placed of the demo is, and the two that cannot have been told.
export async function placed(up) {
  await until(async () => {
    const { items } = await up.api('GET', '/api/v1/namespaces/default/pods');
    const waiting = items.filter((pod) => !pod.spec.nodeName).map((pod) => pod.metadata.name).sort();
    return items.length >= 10 && waiting.join() === 'kep-5963-vgpu,too-big' && items.filter((pod) => pod.status.phase === 'Pending').length === 2;
  }, 'the demo is placed');
}

// A command of dray: its output as JSON.
export async function dray(...args) {
  const child = spawn(kDray, args, { env: { ...process.env, KUBECONFIG: '' } });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes) => (out += bytes));
  child.stderr.on('data', (bytes) => (err += bytes));
  child.stdin.end();
  const [code] = await once(child, 'close');
  return { code, err, out, json: () => JSON.parse(out) };
}

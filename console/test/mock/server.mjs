// SPDX-License-Identifier: Apache-2.0
//
// The page with a process that is not there: the same files under the same headers, made-up clusters, and a stream that the caller
// drives. For tests, and for looking at the page:
//
//   node console/test/mock/server.mjs [demo|showcase|large|hostile|empty|denied] [PORT]
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as answers from './answers.mjs';
import { demo, empty, hostile, large, random, showcase } from './fleets.mjs';

const kDist = process.env.DRAY_CONSOLE_DIST ?? join(dirname(fileURLToPath(import.meta.url)), '../../dist');
const kTypes = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8', '.json': 'application/json' };
export const kHeaders = {
  'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Resource-Policy': 'same-origin',
};

const kMade = { demo, showcase, large, hostile, empty, denied: demo };

export class MockServer {
  static running = new Set();
  // Also those of tests that have failed.
  static async stopAll() {
    for (const server of [...MockServer.running]) await server.stop();
  }
  constructor(kind = 'demo', { now = Math.floor(Date.now() / 1000), token = 'let-me-in', size = [] } = {}) {
    this.kind = kind;
    this.now = now;
    this.token = token;
    this.epoch = 'e1';
    this.rev = 100;
    this.log = []; // of the stream: what has changed at each rev
    this.streams = new Set();
    this.simulations = [];
    this.steps = 0; // looks at a simulation until it has ended; 0: it takes 1.5 s
    this.asked = []; // what the page has asked for
    this.picture = kMade[kind](now, ...size);
    if (kind === 'denied') {
      this.picture.hidden = true;
      this.picture.claims = [];
      this.picture.devices.state = this.picture.devices.state.map(() => 6);
    }
  }

  async start(port = 0) {
    this.server = createServer((request, response) => this.answer(request, response));
    await new Promise((ready) => this.server.listen(port, '127.0.0.1', ready));
    this.port = this.server.address().port;
    MockServer.running.add(this);
    this.beat = setInterval(() => this.send({ beat: new Date().toISOString(), rev: this.rev }), 2000);
    return this;
  }
  // As a process that is killed.
  async stop() {
    if (!MockServer.running.delete(this)) return;
    clearInterval(this.beat);
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
  url(path = '/console/') {
    return `http://127.0.0.1:${this.port}${path}#t=${this.token}`;
  }

  send(line) {
    const text = `${JSON.stringify(line)}\n`;
    for (const response of this.streams) response.write(text);
  }
  // A change of the picture, told to all pages.
  change(line) {
    ++this.rev;
    const d = this.picture.devices;
    for (const [id, state, fill, marks] of line.d ?? []) {
      d.state[id] = state;
      d.fill[id] = fill;
      d.marks[id] = marks;
    }
    for (const row of line.c ?? []) {
      this.picture.claims = this.picture.claims.filter((claim) => claim.namespace !== row.namespace || claim.name !== row.name);
      if (!row.removed) this.picture.claims.push(row);
    }
    for (const row of line.p ?? []) {
      this.picture.pending = this.picture.pending.filter((pod) => pod.namespace !== row.namespace || pod.name !== row.name);
      if (!row.removed) this.picture.pending.push(row);
    }
    const made = { rev: this.rev, ...line };
    this.log.push(made);
    if (this.log.length > 1000) this.log.shift();
    this.send(made);
  }

  answer(request, response) {
    const url = new URL(request.url, `http://127.0.0.1:${this.port}`);
    const path = decodeURIComponent(url.pathname);
    if (!path.startsWith('/console/api/v1/')) return this.file(path, response);
    const call = path.slice('/console/api/v1/'.length);
    this.asked.push(`${request.method} ${call}`);
    const json = (code, body) => {
      response.writeHead(code, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...kHeaders });
      response.end(JSON.stringify(this.kind === 'hostile' && code === 200 && !['fleet', 'holders'].includes(call) ? answers.poison(body) : body));
    };
    if (request.headers.authorization !== `Bearer ${this.token}`) return json(401, answers.status(401, 'Unauthorized', 'the token is missing or wrong'));
    if (request.headers['x-dray-console'] !== '1') return json(403, answers.status(403, 'Forbidden', 'X-Dray-Console is missing'));
    if (this.failing?.[call]) return json(...this.failing[call]);
    let text = '';
    request.on('data', (bytes) => (text += bytes));
    request.on('end', () => {
      try {
        this.route(request.method, call, url.searchParams, text === '' ? {} : JSON.parse(text), json, request, response);
      } catch (error) {
        console.error(call, error);
        json(500, answers.status(500, 'InternalError', String(error.stack)));
      }
    });
  }

  file(path, response) {
    const known = ['/console/app.js', '/console/app.css', '/console/icon.svg', '/console/LICENSES.txt'].includes(path) ? path.slice('/console/'.length) : path.startsWith('/console') ? 'index.html' : undefined;
    if (!known) {
      response.writeHead(404, kHeaders);
      return response.end();
    }
    response.writeHead(200, { 'Content-Type': kTypes[extname(known)], ...kHeaders });
    response.end(readFileSync(join(kDist, known)));
  }

  route(method, call, query, body, json, request, response) {
    const p = this.picture;
    const missing = (what) => json(404, answers.status(404, 'NotFound', `${what} not found`));
    switch (call) {
      case 'info':
        return json(200, { version: '0.9', mode: 'local', cluster: this.cluster ?? (this.kind === 'large' ? 'large' : this.kind === 'showcase' ? 'prod-eu' : 'demo'), server: 'https://127.0.0.1:6443', user: 'admin', namespace: 'default', started: new Date((this.now - 2520) * 1000).toISOString(), resourceVersionOf: 'v1', can: ['plan', 'explain', 'cel', 'history', 'simulations'],
          missing: this.kind === 'denied' ? [{ resource: 'resourceclaims', verb: 'list', message: 'resourceclaims.resource.k8s.io is forbidden: User "viewer" cannot list resource "resourceclaims" in API group "resource.k8s.io" at the cluster scope' }] : [] });
      case 'fleet':
        if (this.kind === 'large') {
          // Made once: it is the page that is measured.
          if (this.textRev !== this.rev) [this.text, this.textRev] = [JSON.stringify(p.fleet(this.rev, this.epoch)), this.rev];
          response.writeHead(200, { 'Content-Type': 'application/json', ...kHeaders });
          return response.end(this.text);
        }
        return json(200, p.fleet(this.rev, this.epoch));
      case 'holders':
        return this.kind === 'denied' ? json(403, answers.status(403, 'Forbidden', 'resourceclaims is forbidden')) : json(200, p.holders(this.rev, this.epoch));
      case 'stream': {
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store', ...kHeaders });
        const from = Number(query.get('from'));
        const oldest = this.log[0]?.rev ?? this.rev + 1;
        if (query.get('epoch') !== this.epoch || from < oldest - 1 || from > this.rev) {
          response.end(`${JSON.stringify({ reset: true, message: 'too old' })}\n`);
          return undefined;
        }
        for (const line of this.log) if (line.rev > from) response.write(`${JSON.stringify(line)}\n`);
        response.write(`${JSON.stringify({ beat: new Date().toISOString(), rev: this.rev })}\n`);
        this.streams.add(response);
        response.on('close', () => this.streams.delete(response));
        return undefined;
      }
      case 'device': {
        const id = Number(query.get('id'));
        return id < p.devices.pool.length ? json(200, answers.deviceDetail(p, id)) : missing('device');
      }
      case 'node': {
        const found = answers.nodeDetail(p, query.get('name'));
        return found ? json(200, found) : missing('node');
      }
      case 'claim': {
        const found = p.claims.find((claim) => claim.namespace === query.get('namespace') && claim.name === query.get('name')) ?? (this.kind === 'hostile' ? p.claims[0] : undefined);
        return found ? json(200, answers.claimDetail(p, found)) : json(404, answers.status(404, 'NotFound', `resourceclaims.resource.k8s.io "${query.get('name')}" not found`));
      }
      case 'explain': {
        const found = answers.explain(p, this.kind, body);
        return found ? json(200, found) : missing(body.target);
      }
      case 'plan': {
        const made = answers.plan(p, this.kind, body);
        return json(made.code, made.body);
      }
      case 'scalable':
        return json(200, this.kind === 'showcase' ? { workloads: [{ kind: 'Deployment', namespace: 'inference', name: 'embed', replicas: 2, devices: 1 }, { kind: 'Job', namespace: 'training', name: 'pretrain-70b', replicas: 12, devices: 8 }], shapes: [{ like: 'hgx-000', nodes: 28, text: '8 × h100.example.com, 4 × nic.example.com' }, { like: 'l40s-000', nodes: 40, text: '4 × l40s.example.com' }] }
          : { workloads: [{ kind: 'Deployment', namespace: 'default', name: 'inference', replicas: 2, devices: 1 }], shapes: [{ like: 'gpu-000001', nodes: 2, text: '4 × gpu.example.com, 2 × cpu.example.com, 2 × nic.example.com' }] });
      case 'classes':
        return json(200, { rev: 1, classes: p.classes.map((name, c) => ({ name, selectors: [`device.driver == "${name}"`], extendedResourceName: c === 0 ? 'example.com/gpu' : '', devices: p.devices.shape.filter((s) => (p.shapes[s].classes ?? []).includes(c)).length })) });
      case 'cel':
        return json(200, answers.cel(p, body));
      case 'history':
        return json(200, answers.history(p, query.get('range') ?? '1h', random(11)));
      case 'namespaces':
        return json(200, answers.namespaces(p));
      case 'scenarios':
        return json(200, { folder: '/usr/share/dray/scenarios', scenarios: [{ name: 'everyday.yaml', title: 'An ordinary working day', nodes: 64, duration: 86400, seed: 3, policy: 'first-fit' }, { name: 'perf-full.yaml', title: 'A cluster that is full', nodes: 100, seed: 1, policy: 'first-fit' }, { name: 'broken.yaml', error: 'broken.yaml:3:7: error: cluster.nodeGroups[0].count: -1: must be from 0 to 1000000' }] });
      case 'simulations':
        if (method === 'POST') {
          if (body.text !== undefined && !/kind: *Scenario/.test(body.text)) return json(422, answers.status(422, 'Invalid', 'this is no Scenario', { issues: [{ line: 1, column: 1, message: 'kind: Scenario is missing' }] }));
          const run = { id: `s${this.simulations.length + 1}`, scenario: body.scenario ?? '', title: 'An ordinary working day', seed: body.seed ?? 3, policy: body.policy ?? 'first-fit', began: Date.now(), started: new Date(this.now * 1000).toISOString() };
          this.simulations.push(run);
          return json(202, { id: run.id });
        }
        return json(200, { simulations: [...this.simulations].reverse().map((run) => this.simulation(run, false)) });
      case 'search': {
        const wanted = (query.get('q') ?? '').toLowerCase();
        const hits = [];
        for (let id = 0; id < p.devices.pool.length && hits.length < 20; ++id) {
          const uuid = `GPU-${String(id).padStart(8, '0')}-7b2c`;
          if (wanted.startsWith('gpu-0000000') && uuid.toLowerCase().includes(wanted)) hits.push({ kind: 'device', id, name: p.nameOf(id), text: `uuid = ${uuid}` });
        }
        return json(200, { hits, more: false });
      }
      default: {
        const run = /^simulations\/(.+)$/.exec(call);
        const found = run && this.simulations.find((row) => row.id === run[1]);
        if (!found) return missing(call);
        if (method === 'DELETE') {
          this.simulations = this.simulations.filter((row) => row !== found);
          return json(200, { status: 'Success' });
        }
        return json(200, this.simulation(found, true));
      }
    }
  }

  simulation(run, whole) {
    const { began, looks = 0, ...rest } = run;
    run.looks = looks + 1;
    const progress = this.steps ? Math.min(1, looks / this.steps) : Math.min(1, (Date.now() - began) / 1500);
    const done = progress >= 1;
    return { ...rest, state: done ? 'done' : 'running', progress, simulatedSeconds: Math.round(86400 * progress), ...(done && whole ? { result: answers.simulationResult(run.seed, run.policy, random(run.seed)) } : {}) };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await new MockServer(process.argv[2] ?? 'demo').start(Number(process.argv[3] ?? 0));
  console.log(server.url());
}

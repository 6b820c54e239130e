// SPDX-License-Identifier: Apache-2.0
//
// What the page says when something is not there: the server, the token, rights, devices, an answer. Against the mock server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MockServer } from '../mock/server.mjs';
import { Browser, cell, drawn, end, goal, until } from './browser.mjs';

let browser;
let server;
before(async () => {
  browser = await Browser.start();
  server = await new MockServer('demo').start();
});
after(async () => {
  await browser.stop();
  await MockServer.stopAll();
});
const fresh = async (kind = 'demo', options) => new MockServer(kind, options).start();

test('a server that dies is seen, and is back without a reload', async () => {
  const own = await fresh();
  const { port } = own;
  const page = await browser.open(own.url(), { allow: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY|ERR_SOCKET/] });
  await drawn(page);
  await page.evaluate(() => { window.still = 'here'; });
  const began = Date.now();
  await own.stop();
  await page.locator('.live.stale').waitFor();
  goal('without the process: stale', Date.now() - began, 6000);
  assert.match(await page.locator('.live').innerText(), /last change .*reconnecting/);
  const next = new MockServer('demo');
  next.epoch = 'e2';
  next.picture.devices.state[0] = 0;
  next.picture.claims = next.picture.claims.filter((claim) => !claim.devices.includes(0));
  await next.start(port);
  await page.locator('.live.ok').waitFor();
  await until(async () => (await cell(page, 'gpu.example.com/gpu-000000/gpu-0')).state === 0, 'the new picture');
  assert.equal(await page.evaluate(() => window.still), 'here');
  assert.equal(await page.locator('[role=row]').count(), 5);
  assert.equal(next.streams.size, 1, 'one stream, not two');
  // Too old: a reset, and the same picture again.
  const before = await page.locator('[role=grid]').innerText();
  const asked = (call) => next.asked.filter((one) => one === call).length;
  const streams = asked('GET stream');
  next.send({ reset: true, message: 'too old' });
  await until(async () => asked('GET fleet') >= 2 && asked('GET stream') > streams && next.streams.size === 1, 'the fleet is asked for again, and followed');
  await until(async () => (await page.locator('[role=grid]').innerText()) === before, 'the same picture');
  // The process lives, the API server does not.
  next.send({ beat: new Date().toISOString(), rev: 100, lost: { since: new Date().toISOString(), message: 'connection refused' } });
  await page.locator('.live.stale').waitFor();
  assert.match(await page.locator('.live').getAttribute('title'), /API server does not answer: connection refused/);
  await end(page);
  await next.stop();
});

// On a clock of the page that only goes when it is told to: how busy the machine is does not matter.
test('silence is told as such', async () => {
  const own = await fresh();
  const page = await browser.open(own.url(), { before: async (one) => {
    await one.clock.install({ time: own.now * 1000 });
    await one.clock.pauseAt(own.now * 1000 + 1000);
  } });
  const tick = (milliseconds) => page.clock.runFor(milliseconds);
  const live = page.locator('.live.ok');
  await until(async () => { await tick(20); return live.isVisible(); }, 'it is live');
  await until(async () => { await tick(20); return page.evaluate(() => document.querySelector('canvas')?.painter?.frames > 0); }, 'the fleet is drawn');
  // The last that is sent, and so the last that comes.
  clearInterval(own.beat);
  own.change({ d: [[0, 5, 0, 0]] });
  await until(async () => { await tick(20); return (await cell(page, 'gpu.example.com/gpu-000000/gpu-0')).state === 5; }, 'the last line has come');
  // Four seconds of silence are no news; one beat may be late.
  await tick(4000);
  assert.ok(await live.isVisible());
  await tick(2000);
  await page.locator('.live.stale').waitFor();
  await end(page);
  await own.stop();
});

test('without the right token there is nothing but how to get one', async () => {
  for (const hash of ['', '#t=wrong']) {
    const page = await browser.open(`http://127.0.0.1:${server.port}/console/fleet${hash}`, { allow: [/401/] });
    await page.getByRole('heading', { name: 'A token is needed' }).waitFor();
    assert.match(await page.locator('main').innerText(), /open the printed address/);
    assert.doesNotMatch(await page.content(), /gpu-000000/);
    await page.getByLabel('Token').fill('let-me-in');
    await page.getByRole('button', { name: 'Open the console' }).click();
    await drawn(page);
    await end(page);
  }
});

test('who may not read claims sees question marks, never free devices', async () => {
  const own = await fresh('denied');
  const page = await browser.open(own.url(), { allow: [/403/] });
  await drawn(page);
  assert.match(await page.locator('.warn').innerText(), /cannot list resource "resourceclaims"/);
  const text = await page.locator('[role=grid]').innerText();
  assert.match(text, /gpu-0, unknown/);
  assert.doesNotMatch(text, /, free/);
  await page.goto(`http://127.0.0.1:${own.port}/console/claims`);
  await page.getByText('Claims may not be read with these rights').waitFor();
  await end(page);
  await own.stop();
});

test('nothing at all says what is missing', async () => {
  const own = await fresh('empty');
  const page = await browser.open(own.url());
  await page.getByText('No ResourceSlices: no DRA driver has published devices').waitFor();
  for (const [view, words] of [['claims', 'There are no ResourceClaims'], ['pending', 'No pod is pending'], ['usage', 'No namespace holds devices'], ['classes?tab=classes', 'There are no DeviceClasses'], ['classes?tab=slices', 'No ResourceSlices']]) {
    await page.goto(`http://127.0.0.1:${own.port}/console/${view}`);
    await page.getByText(words).first().waitFor();
  }
  // The first device appears by itself.
  await page.goto(`http://127.0.0.1:${own.port}/console/fleet`);
  await page.locator('.live.ok').waitFor();
  own.change({ n: [{ name: 'n1', labels: {} }], a: [{ id: 0, driver: 'd', pool: 'n1', device: 'gpu-0', node: 'n1', shape: { driver: 'd', classes: [] }, state: 0 }] });
  await drawn(page);
  await end(page);
  await own.stop();
});

test('an answer that fails is told in the server\'s words, and asked for again', async () => {
  const own = await fresh();
  const refusal = [500, { kind: 'Status', code: 500, message: 'etcdserver: request timed out', reason: 'InternalError' }];
  own.failing = Object.fromEntries(['explain', 'history', 'namespaces', 'scenarios', 'classes', 'cel', 'plan', 'scalable', 'claim', 'device'].map((call) => [call, refusal]));
  const page = await browser.open(own.url('/console/pending'), { allow: [/500/] });
  for (const view of ['pending', 'usage', 'simulate', 'classes?tab=classes', 'classes?cel=true', 'whatif', 'claims/default/x', 'fleet?sel=gpu.example.com%2Fgpu-000000%2Fgpu-0']) {
    await page.goto(`http://127.0.0.1:${own.port}/console/${view}`);
    await page.locator('.error', { hasText: 'etcdserver: request timed out' }).first().waitFor();
  }
  own.failing = {};
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.error').waitFor({ state: 'detached' });
  await end(page);
  await own.stop();
});

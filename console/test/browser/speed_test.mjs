// SPDX-License-Identifier: Apache-2.0
//
// 10,000 nodes with 16 devices each: how soon they are there, how long a frame takes, how much memory. What is asked for is a goal for an
// idle machine without a graphics card; a test that shares its machine takes the best of three.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MockServer } from '../mock/server.mjs';
import { Browser, drawn, end, until, Watch } from './browser.mjs';

let browser;
let server;
before(async () => {
  browser = await Browser.start();
  server = await new MockServer('large').start();
});
after(async () => {
  await browser.stop();
  await MockServer.stopAll();
});

// While `act` (a name) goes on in the page: times of drawing and between frames, in milliseconds.
async function frames(page, act, count) {
  return page.evaluate(async ([name, wanted]) => {
    const scroll = document.querySelector('.map-scroll');
    const { painter } = document.querySelector('canvas');
    const acts = {
      pan: (i) => { scroll.scrollTop += i % 120 < 60 ? 37 : -37; },
      zoom: (i) => { if (i % 20 === 10) document.querySelector(`[aria-label="Zoom ${i % 200 < 100 ? 'in' : 'out'}"]`).click(); },
      rest: () => painter.request(),
    };
    painter.times.length = 0;
    const intervals = [];
    let before;
    await new Promise((done) => {
      let i = 0;
      const frame = (now) => {
        if (before !== undefined) intervals.push(now - before);
        before = now;
        if (++i > wanted) return done();
        acts[name](i);
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0;
    return { frames: painter.times.length, p50: at(painter.times, 0.5), p95: at(painter.times, 0.95), p99: at(painter.times, 0.99), interval50: at(intervals, 0.5), interval95: at(intervals, 0.95) };
  }, [act, count]);
}
const said = (name, f) => console.log(`${name.padEnd(34)} draw p50 ${f.p50.toFixed(1)} p95 ${f.p95.toFixed(1)} p99 ${f.p99.toFixed(1)} ms, interval p50 ${f.interval50.toFixed(1)} p95 ${f.interval95.toFixed(1)} ms, ${f.frames} frames`);

async function best(page, name, act, count, goal) {
  let least;
  for (let round = 0; round < 3; ++round) {
    const watch = new Watch();
    const seen = { ...(await frames(page, act, count)), busy: watch.busy() };
    if (!least || seen.p95 / seen.busy < least.p95 / least.busy) least = seen;
    if (seen.p95 <= goal) break;
  }
  said(name, least);
  assert.ok(least.p95 <= goal * least.busy, `${name}: p95 ${least.p95.toFixed(1)} ms, wanted ${goal}, ${least.busy.toFixed(1)} times busy`);
  assert.ok(least.frames >= 15, `${name}: ${least.frames} frames say nothing`);
  // Frames come when the screen does, 60 times a second; a machine that works for others leaves out one here and there.
  const between = (least.busy > 1.1 ? 35 : 17.5) * least.busy;
  assert.ok(least.interval95 <= between, `${name}: p95 ${least.interval95.toFixed(1)} ms between frames, wanted ${between.toFixed(1)}`);
  return least;
}

const heap = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1e6;
};

test('160,000 devices are drawn within two seconds, and stay smooth at every level', async () => {
  let first = Infinity;
  let busy = 1;
  let page;
  for (let round = 0; round < 3 && first > 2000 * busy; ++round) {
    if (page) await page.context().close();
    const watch = new Watch();
    const began = Date.now();
    page = await browser.open(server.url());
    await drawn(page);
    const took = Date.now() - began;
    if (took / watch.busy() < first / busy) [first, busy] = [took, watch.busy()];
  }
  console.log(`first picture of 160,000 devices: ${first} ms`);
  assert.ok(first <= 2000 * busy, `${first} ms, ${busy.toFixed(1)} times busy`);
  await until(() => page.evaluate(() => document.querySelectorAll('[role=row]').length > 0), 'the grid');
  await page.waitForTimeout(1500);
  const memory = await heap(page);
  console.log(`heap with ${server.picture.claims.length} claims: ${memory.toFixed(0)} MB`);
  assert.ok(memory <= 120, `${memory} MB`);
  // All of it is in sight: there is nothing to pan, so it is drawn again and again.
  await best(page, 'level 0 (2 px), all of it', 'rest', 180, 8);
  for (const [level, name] of [[4, '9 px with marks, pan'], [7, '18 px, nested, names, pan'], [10, '72 px with device names, pan']]) {
    await page.goto(`http://127.0.0.1:${server.port}/console/fleet?z=${level}`);
    await drawn(page);
    await page.waitForTimeout(1200);
    await best(page, name, 'pan', 180, 8);
  }
  await page.goto(`http://127.0.0.1:${server.port}/console/fleet?z=0`);
  await drawn(page);
  await page.waitForTimeout(800);
  await best(page, 'zoom through all levels and back', 'zoom', 400, 8);
  await end(page);
});

test('a thousand changes a second are drawn, and leave no memory behind', async () => {
  const seconds = Number(process.env.DRAY_STORM ?? 8);
  const page = await browser.open(server.url());
  await drawn(page);
  await page.waitForTimeout(1500);
  const before = await heap(page);
  let n = 0;
  const storm = setInterval(() => {
    server.change({ d: Array.from({ length: 100 }, () => [(n = (n * 7919 + 12345) % 160000), n % 2, 0, n % 997 === 0 ? 1 : 0]) });
  }, 100);
  try {
    await best(page, '1,000 changes a second', 'pan', 60 * Math.max(2, Math.floor(seconds / 3)), 8);
    await page.waitForTimeout(seconds * 300);
  } finally {
    clearInterval(storm);
  }
  await page.waitForTimeout(500);
  const after = await heap(page);
  console.log(`heap before ${before.toFixed(0)} MB, after ${after.toFixed(0)} MB`);
  assert.ok(after - before <= 10, `${(after - before).toFixed(1)} MB more`);
  // What is shown is what the server has.
  await until(async () => (await page.evaluate((states) => {
    const { fleet } = document.querySelector('canvas').painter;
    return states.filter((state, id) => fleet.state[id] !== state).length;
  }, server.picture.devices.state)) === 0, 'all changes are in the picture');
  await end(page);
});

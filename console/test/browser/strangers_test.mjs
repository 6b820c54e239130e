// SPDX-License-Identifier: Apache-2.0
//
// Names that a hostile driver, user or file could choose, everywhere that a text is shown; and accessibility, on every view.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { MockServer } from '../mock/server.mjs';
import { Browser, drawn, end, settled } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser;
before(async () => { browser = await Browser.start(); });
after(async () => {
  await browser.stop();
  await MockServer.stopAll();
});

const kHere = ['fleet', 'fleet?view=list', 'fleet?view=groups', 'claims', 'claims/default/x', 'pending', 'whatif', 'usage', 'simulate', 'classes?cel=x', 'classes?tab=classes', 'classes?tab=slices'];

test('names of strangers are texts, everywhere', async () => {
  const server = await new MockServer('hostile').start();
  const page = await browser.open(server.url('/console/fleet'));
  await drawn(page);
  const scripts = await page.evaluate(() => document.scripts.length);
  let shown = 0;
  for (const view of kHere) {
    await page.goto(`http://127.0.0.1:${server.port}/console/${view}`);
    await settled(page);
    if (view === 'pending') await page.locator('.cause-head').first().click();
    if (view === 'simulate') {
      await page.locator('.start button').click();
      await page.locator('.compare').waitFor();
      await settled(page);
    }
    if (view === 'whatif') {
      await page.getByRole('slider').first().fill('5');
      await page.locator('.outcomes').waitFor();
    }
    const found = await page.evaluate(() => ({
      title: document.title, owned: window.owned, scripts: document.scripts.length, text: document.body.innerText,
      strange: document.querySelectorAll('main img, main script, main iframe, main object, main [onerror], main [onmouseover], a[href^="javascript:"]').length,
      hidden: /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u0000\u001b]/.test(document.body.innerText),
      wide: document.documentElement.scrollWidth > innerWidth + 1,
    }));
    assert.notEqual(found.title, 'owned');
    assert.deepEqual({ ...found, title: '', text: '' }, { title: '', owned: undefined, scripts, text: '', strange: 0, hidden: false, wide: false }, view);
    if (found.text.includes('onerror=')) ++shown;
  }
  assert.ok(shown >= 6, `the text itself is shown, in ${shown} views`);
  // Each device selected; then searched for.
  await page.goto(`http://127.0.0.1:${server.port}/console/fleet`);
  await drawn(page);
  await page.getByRole('grid').focus();
  for (let i = 0; i < 24; ++i) {
    await page.keyboard.press('Enter');
    await page.locator('.inspector h2').waitFor();
    await page.keyboard.press('ArrowRight');
  }
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('/');
  await page.keyboard.type('script');
  await page.locator('#hits [role=option]').first().waitFor();
  assert.equal(await page.evaluate(() => document.scripts.length), scripts);
  await end(page);
  await server.stop();
});

test('the policy is as strict as it is said to be', async () => {
  const server = await new MockServer('demo').start();
  const page = await browser.open(server.url('/console/fleet'), { allow: [/./] });
  await drawn(page);
  // Later, as a task of the page: what a test runs at once may more than the page.
  const blocked = await page.evaluate(() => new Promise((done) => setTimeout(() => {
    const tried = [];
    for (const attempt of [() => { document.body.insertAdjacentHTML('beforeend', '<i>x</i>'); }, () => { document.createElement('div').innerHTML = '<i>x</i>'; }, () => { (0, eval)('1'); }]) {
      try {
        attempt();
        tried.push('done');
      } catch (error) {
        tried.push(error.name);
      }
    }
    done(tried);
  })));
  assert.deepEqual(blocked, ['TypeError', 'TypeError', 'EvalError']);
  await page.context().close();
  await server.stop();
});

async function check(page, what) {
  const result = await page.evaluate(async (source) => {
    // The page's policy forbids scripts of others; the test's own isolated world does not.
    if (!window.axe) (0, eval)(source);
    return window.axe.run(document, { resultTypes: ['violations'], rules: { 'page-has-heading-one': { enabled: true } } });
  }, axe);
  const text = result.violations.map((rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join('\n   ')}`).join('\n');
  assert.equal(text, '', what);
}

test('no view has an accessibility violation, light or dark, inspector open or closed, on a phone or not', async () => {
  const server = await new MockServer('demo').start();
  for (const [theme, width, height] of [['light', 1440, 900], ['dark', 1440, 900], ['dark', 390, 844]]) {
    const page = await browser.open(server.url('/console/fleet'), { theme, width, height, bypassCSP: true, touch: width < 500 });
    await page.locator('h1').first().waitFor({ state: 'attached' });
    const views = ['fleet', 'fleet?view=map', 'fleet?view=list', 'fleet?view=map&sel=nic.example.com%2Fgpu-000000%2Fnic-0', 'fleet?view=map&sel=node%3Agpu-000000', 'claims', 'claims/default/kep-6080-same-numa-devices-xxwwr', 'pending?pod=default%2Ftoo-big', 'whatif', 'usage', 'simulate', 'classes?cel=device.attributes%5B%22gpu.example.com%22%5D.numa+%3D+0', 'classes?cel=device.driver+%3D%3D+%22nic.example.com%22', 'classes?tab=classes', 'classes?tab=slices'];
    for (const view of views) {
      await page.goto(`http://127.0.0.1:${server.port}/console/${view}`);
      await settled(page);
      if (view === 'whatif') {
        await page.getByRole('slider').first().fill('4');
        await page.locator('.outcomes').waitFor();
      }
      await check(page, `${view} ${theme} ${width}`);
      // Nothing sticks out sideways.
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} ${theme} ${width} is too wide`);
    }
    if (width > 500) {
      await page.keyboard.press('/');
      await page.keyboard.type('gpu');
      await page.locator('#hits [role=option]').first().waitFor();
      await check(page, `search ${theme}`);
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      await check(page, `help ${theme}`);
    }
    await end(page);
  }
  const door = await browser.open(`http://127.0.0.1:${server.port}/console/`, { bypassCSP: true, allow: [/401/] });
  await door.getByRole('heading', { name: 'A token is needed' }).waitFor();
  await check(door, 'the door');
  await end(door);
  await server.stop();
});

test('the rail shows how many pods are pending, however many, beside its whole name', async () => {
  const server = await new MockServer('showcase').start();
  for (const [pods, width, height] of [[16, 1440, 900], [1234, 1440, 900], [1234, 800, 600], [1234, 390, 844]]) {
    server.picture.pending = Array.from({ length: pods }, (_, i) => ({ namespace: 'default', name: `train-${i}`, since: server.now - i, claims: [] }));
    for (const view of ['pending', 'simulate']) {
      const page = await browser.open(server.url(`/console/${view}`), { width, height });
      await page.locator('.badge').waitFor();
      const cut = await page.evaluate(() => [...document.querySelectorAll('.rail a > *')].filter((part) => getComputedStyle(part).clipPath === 'none').filter((part) => part.tagName === 'svg' ? part.getBoundingClientRect().width < 18 : part.scrollWidth > part.clientWidth + 1 || part.getBoundingClientRect().right > part.closest('.rail').getBoundingClientRect().right).map((part) => part.outerHTML.slice(0, 80)));
      assert.deepEqual(cut, [], `${pods} pods at ${width}, ${view}`);
      await end(page);
    }
  }
  await server.stop();
});

test('a long name of the cluster leaves room for whether the page is live', async () => {
  const server = await new MockServer('demo').start();
  server.cluster = 'arn:aws:eks:eu-central-1:123456789012:cluster/production-gpu-fleet-with-a-long-name';
  for (const width of [320, 390, 800]) {
    const page = await browser.open(server.url(), { width, height: 700 });
    await page.locator('.live.ok').waitFor();
    const cut = await page.evaluate(() => { const live = document.querySelector('.live'); return live.scrollWidth > live.clientWidth + 1 || document.documentElement.scrollWidth > innerWidth; });
    assert.equal(cut, false, `${width}`);
    await end(page);
  }
  await server.stop();
});

test('on a phone, cells are for fingers and the state of a claim is in sight', async () => {
  const server = await new MockServer('demo').start();
  const page = await browser.open(server.url('/console/fleet?view=map&sel=nic.example.com%2Fgpu-000000%2Fnic-0'), { width: 390, height: 844, touch: true });
  await drawn(page);
  await page.locator('.inspector h2').waitFor();
  await page.waitForFunction(() => document.querySelector('canvas').painter.layout.level.cw >= 24);
  await page.goto(`http://127.0.0.1:${server.port}/console/claims`);
  const tags = page.locator('.claims .state-tag');
  await tags.first().waitFor();
  // What a slider does is told where it is, and a tap away.
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(`http://127.0.0.1:${server.port}/console/whatif`);
  await page.getByRole('slider').first().fill('4');
  const sum = page.getByRole('button', { name: /2 placed .* 2 still pending, as before/ });
  await sum.waitFor();
  assert.ok((await sum.boundingBox()).y < 650);
  await sum.click();
  await sum.waitFor({ state: 'detached' });
  await page.locator('.outcomes').waitFor();
  const bar = await page.evaluate(() => Math.max(...[...document.querySelectorAll('.top button')].map((button) => button.getBoundingClientRect().right)));
  assert.ok(bar > 370, `the buttons of the header end at ${bar}, at its end`);
  await page.goto(`http://127.0.0.1:${server.port}/console/claims`);
  await tags.first().waitFor();
  for (const right of await tags.evaluateAll((all) => all.map((tag) => tag.getBoundingClientRect().right))) assert.ok(right <= 390, `a state ends at ${right}`);
  await end(page);
  await server.stop();
});

test('narrow pages, large letters and forced colours are usable', async () => {
  const server = await new MockServer('showcase').start();
  const page = await browser.open(server.url('/console/fleet'), { width: 320, height: 640, touch: true, forcedColors: 'active' });
  await page.getByRole('button', { name: /hgx-h100/ }).click();
  await drawn(page);
  for (const view of ['fleet', 'claims', 'pending', 'whatif', 'usage', 'simulate', 'classes']) {
    await page.goto(`http://127.0.0.1:${server.port}/console/${view}`);
    await settled(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view} is too wide`);
    // Targets for fingers.
    const small = await page.evaluate(() => [...document.querySelectorAll('main button:not(.link):not(.small), nav a')].filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 44).map((element) => element.outerHTML.slice(0, 80)));
    assert.deepEqual(small, [], view);
  }
  await end(page);
  const zoomed = await browser.open(server.url('/console/pending'), { width: 720, height: 450, deviceScaleFactor: 2 });
  await zoomed.locator('.cause-head').first().click();
  await zoomed.locator('.answer').waitFor();
  assert.ok(await zoomed.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await end(zoomed);
  await server.stop();
});

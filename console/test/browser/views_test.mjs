// SPDX-License-Identifier: Apache-2.0
//
// The views with the data of the demo, in a browser, against the mock server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MockServer } from '../mock/server.mjs';
import { Browser, cell, drawn, end, go, goal, settled, until } from './browser.mjs';

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

test('the printed address shows the fleet, and the token leaves the address', async () => {
  const began = Date.now();
  const page = await browser.open(server.url());
  await drawn(page);
  goal('first picture of the demo', Date.now() - began, 2000);
  assert.equal(new URL(page.url()).hash, '');
  assert.equal(await page.evaluate(() => sessionStorage.getItem('dray-console-token')), 'let-me-in');
  assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);
  assert.equal(await page.locator('[role=row]').count(), 5);
  await end(page);
});

test('a cell is drawn in the colour of its state, with marks', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  assert.ok((await cell(page, 'gpu.example.com/gpu-000000/gpu-1')).colors['#0347c4'] > 0.5);
  assert.ok((await cell(page, 'gpu.example.com/gpu-000001/gpu-3')).colors['#ffffff'] > 0.7);
  const nic = await cell(page, 'nic.example.com/gpu-000000/nic-0');
  assert.equal(nic.fill, 80);
  assert.ok(nic.colors['#81bcf5'] > 0.55 && nic.colors['#81bcf5'] < 0.85, JSON.stringify(nic.colors));
  const blocked = await cell(page, 'mig.example.com/partitioned-000000/vgpu-0');
  assert.ok(blocked.colors['#6b245f'] > 0.08 && !(blocked.colors['#6b245f'] > 0.6), JSON.stringify(blocked.colors));
  await end(page);
});

test('pointing at a device tells its model, NUMA node and holder; opening it all of it', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  const gpu = await cell(page, 'gpu.example.com/gpu-000000/gpu-1');
  await page.mouse.move(gpu.x, gpu.y);
  const tip = page.locator('.tip');
  await tip.waitFor();
  const text = await tip.innerText();
  for (const words of ['gpu-1', 'H100', 'numa', 'kep-5491-aligned']) assert.ok(text.includes(words), `${words} is not in: ${text}`);
  const nic = await cell(page, 'nic.example.com/gpu-000000/nic-0');
  await page.mouse.click(nic.x, nic.y);
  const inspector = page.locator('.inspector');
  await inspector.getByText('80G of 100G in use').waitFor();
  for (const words of ['kep-5075-share-0', 'kep-5075-share-1', '40G']) assert.ok((await inspector.innerText()).includes(words), words);
  assert.equal(new URL(page.url()).searchParams.get('sel'), 'nic.example.com/gpu-000000/nic-0');
  await page.keyboard.press('Escape');
  await inspector.waitFor({ state: 'detached' });
  await end(page);
});

test('what changes shows at once, without asking: taint, release, new holder, gone, unhealthy', async () => {
  const own = await fresh();
  const page = await browser.open(own.url());
  await drawn(page);
  await page.locator('.live.ok').waitFor();
  const key = 'gpu.example.com/gpu-000001/gpu-0';
  const { id } = await cell(page, key);
  const claim = own.picture.claims.find((row) => row.devices.includes(id));
  const changes = [
    [{ d: [[id, 1, 0, 1]] }, (seen) => seen.marks === 1 && seen.colors['#eebd02'] > 0.02],
    [{ d: [[id, 0, 0, 0]], c: [{ namespace: claim.namespace, name: claim.name, removed: true }] }, (seen) => seen.state === 0 && seen.colors['#ffffff'] > 0.7],
    [{ d: [[id, 1, 0, 0]], c: [{ namespace: 'default', name: 'again', state: 2, created: 1, devices: [id], pods: ['inference-2'] }] }, (seen) => seen.state === 1 && seen.colors['#0347c4'] > 0.5],
    [{ d: [[id, 5, 0, 0]] }, (seen) => seen.state === 5 && seen.colors['#808990'] > 0.4],
    [{ d: [[id, 1, 0, 2]] }, (seen) => seen.marks === 2 && seen.colors['#b33210'] > 0.02],
  ];
  for (const [change, done] of changes) {
    const began = Date.now();
    own.change(change);
    await until(async () => done(await cell(page, key)), JSON.stringify(change));
    goal('a change is shown', Date.now() - began, 1000);
  }
  // Told by the stream: nobody has asked for the fleet again.
  assert.equal(own.asked.filter((call) => call === 'GET fleet').length, 1);
  await page.locator(`#cell-${id}`, { hasText: 'held, unhealthy by pod default/inference-2' }).waitFor({ state: 'attached' });
  // Devices and nodes that come, and go.
  own.change({ n: [{ name: 'gpu-000002', labels: { zone: 'z' } }], a: [{ id: 22, driver: 'gpu.example.com', pool: 'gpu-000002', device: 'gpu-0', node: 'gpu-000002', shape: { driver: 'gpu.example.com', attributes: [['numa', 'int', 0]], classes: ['gpu.example.com'] }, state: 0 }] });
  await page.locator('[role=rowheader]', { hasText: 'gpu-000002' }).waitFor({ state: 'attached' });
  own.change({ d: [[22, 255, 0, 0]], n: [{ name: 'gpu-000002', removed: true }] });
  await page.locator('[role=rowheader]', { hasText: 'gpu-000002' }).waitFor({ state: 'detached' });
  await end(page);
  await own.stop();
});

test('a claim: requests beside what they got, why, its life; released while one looks', async () => {
  const own = await fresh();
  const page = await browser.open(own.url('/console/claims'));
  await page.getByRole('link', { name: 'kep-6080-same-numa-devices-xxwwr' }).click();
  await page.locator('.timeline').waitFor();
  const text = await page.locator('main').innerText();
  for (const words of ['gpu.example.com', 'nic.example.com', 'shared-numa=1', 'gpu-000000/gpu-2', 'gpu-000000/nic-1', 'holds', 'device.attributes["gpu.example.com"].numa']) assert.ok(text.includes(words), words);
  const steps = await page.locator('.timeline li').evaluateAll((items) => items.map((item) => item.innerText.replace(/\s+/g, ' ')));
  assert.match(steps[0], /created \d\d:\d\d:\d\d/);
  assert.match(steps[1], /allocated \d\d:\d\d:\d\d \+0 s/);
  assert.match(steps[2], /reserved .*kep-6080-same-numa/);
  assert.match(steps[3], /prepared unknown/);
  assert.match(steps[4], /released not yet/);
  own.change({ c: [{ namespace: 'default', name: 'kep-6080-same-numa-devices-xxwwr', removed: true }] });
  await page.locator('h1 .state-tag', { hasText: 'released' }).waitFor();
  page.faults = page.faults.filter((fault) => !/404/.test(fault)); // the claim is gone, and asked for once more
  await end(page);
  await own.stop();
});

test('three clicks from the fleet to why a pod waits', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  await page.locator('.badge').click();
  await page.locator('.cause-head', { hasText: '16 devices' }).click();
  const answer = await page.locator('.answer').innerText();
  assert.match(answer, /16.*has 4/);
  const cures = await page.locator('.cure').evaluateAll((items) => items.map((item) => item.innerText.replace(/\s+/g, ' ')));
  assert.match(cures[0], /✓ sufficient ask for at most 2 .*gpu-000001/);
  assert.ok(cures.some((cure) => /✗ not sufficient wait until .* short of 12 devices/.test(cure)), cures.join('\n'));
  assert.ok(cures.some((cure) => /\? not tried/.test(cure)));
  const tree = page.locator('.tree').first();
  assert.match(await tree.innerText(), /gpu-000001\s+nearest/);
  assert.match(await tree.innerText(), /3 nodes/);
  // The other pod, its cure, and the cure on the fleet.
  await page.keyboard.press(']');
  await page.keyboard.press(']');
  await page.locator('.cause-head', { hasText: 'vgpu' }).click();
  if (!(await page.locator('.cure', { hasText: 'kep-5963-mig' }).isVisible())) await page.locator('.cause-head', { hasText: 'vgpu' }).click();
  const wait = page.locator('.cure', { hasText: 'wait until pod kep-5963-mig' });
  assert.match(await wait.innerText(), /✓ sufficient/);
  await wait.getByText('see it').click();
  await page.locator('.outcomes', { hasText: 'vgpu-0' }).waitFor();
  await until(() => page.evaluate(() => { const { marks } = document.querySelector('canvas').painter; return marks.planned.size === 1 && marks.victims.size === 1; }), 'one cell dashed, one struck');
  await end(page);
});

test('two hundred pods that wait for one reason are one cause', async () => {
  const own = await fresh();
  own.kind = 'many';
  own.picture.pending = Array.from({ length: 200 }, (_, i) => ({ namespace: 'default', name: `train-${i}`, since: own.now - i, claims: [] }));
  const page = await browser.open(own.url('/console/pending'));
  await page.locator('.cause').first().waitFor();
  assert.equal(await page.locator('.cause').count(), 1);
  assert.match(await page.locator('.lead').innerText(), /200 pods pending, 1 cause/);
  await page.getByRole('button', { name: /default\/train-7\b/ }).click();
  await page.locator('.outcome h2', { hasText: 'train-7' }).waitFor();
  await end(page);
  await own.stop();
});

test('many equal pods leave their answer in sight; a link leads to each of them, and to one that waits no more', async () => {
  const own = await fresh();
  own.kind = 'many';
  own.picture.pending = Array.from({ length: 300 }, (_, i) => ({ namespace: 'default', name: `train-${i}`, since: own.now - i, claims: [] }));
  const page = await browser.open(own.url('/console/pending'), { width: 390, height: 844, touch: true });
  await page.locator('.answer').waitFor();
  assert.ok((await page.locator('.answer').boundingBox()).y < 700, 'the answer is on the first screen of a phone');
  await page.getByRole('button', { name: 'show all 200' }).click();
  await page.getByText('and 100 more, for the same reason').waitFor();
  assert.equal(await page.locator('.members button').count(), 200);
  // Of a pod that is not among those that are listed, and of one that is not pending.
  await page.goto(`http://127.0.0.1:${own.port}/console/pending?pod=default%2Ftrain-299`);
  await page.locator('.outcome h2', { hasText: 'train-299' }).waitFor();
  const [holder] = own.picture.claims;
  await page.goto(`http://127.0.0.1:${own.port}/console/pending?pod=${holder.namespace}%2F${holder.pods[0]}`);
  await page.locator('.answer', { hasText: `Pod ${holder.pods[0]} is not pending: it is on node gpu-00000` }).waitFor();
  await end(page);
  await own.stop();
});

test('what pods wait for is told anew when others wait, though as many', async () => {
  const own = await fresh();
  own.kind = 'many';
  own.picture.pending = [{ namespace: 'default', name: 'train-1', since: own.now, claims: [] }];
  const page = await browser.open(own.url('/console/pending'));
  await page.locator('.cause', { hasText: 'Too few devices for train' }).waitFor();
  for (const [before, after] of [['train', 'serve'], ['serve', 'embed'], ['embed', 'rank']]) {
    own.change({ p: [{ namespace: 'default', name: `${before}-1`, removed: true }, { namespace: 'default', name: `${after}-1`, since: own.now, claims: [] }] });
    await page.locator('.cause', { hasText: `Too few devices for ${after}` }).waitFor();
    assert.equal(await page.locator('.cause').count(), 1);
  }
  await end(page);
  await own.stop();
});

test('pods that a quota keeps from being created are told, and claims without a pod', async () => {
  const own = await fresh();
  own.kind = 'many';
  own.picture.quota = true;
  const page = await browser.open(own.url('/console/pending'), { allow: [/404/] });
  await page.locator('.lead', { hasText: '0 pods and 1 claim without a pod pending, 1 pod not created, 2 causes' }).waitFor();
  await page.locator('.cause-head', { hasText: 'ResourceQuota' }).click();
  await page.getByText('1 of 3 pods cannot be created: exceeded quota: gpus').waitFor();
  assert.match(await page.locator('.cause.open').innerText(), /team\/Deployment\/train/);
  await page.locator('.cause-head', { hasText: '1 claim' }).click();
  const asked = page.waitForRequest((request) => request.url().endsWith('/explain') && request.postData().includes('claim/default/loose'));
  await page.getByRole('button', { name: /default\/loose/ }).click();
  await asked;
  await end(page);
  await own.stop();
});

test('a plan is made anew when the cluster changes under it', async () => {
  const own = await fresh();
  const page = await browser.open(own.url('/console/whatif'));
  await drawn(page);
  await page.getByRole('slider').first().fill('3');
  const planned = () => page.evaluate(() => { const { marks, fleet } = document.querySelector('canvas').painter; return [...marks.planned].map((id) => fleet.key(id)); });
  await until(async () => (await planned()).length === 1, 'one more cell is dashed');
  const [key] = await planned();
  const { id } = await cell(page, key);
  own.change({ d: [[id, 1, 0, 0]], c: [{ namespace: 'default', name: 'first-come', state: 2, created: 1, devices: [id], pods: ['first-come'] }] });
  await until(async () => { const now = await planned(); return now.length === 1 && now[0] !== key; }, 'another cell is dashed');
  await end(page);
  await own.stop();
});

const kPod = (name, more = '') => `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n${more}  containers: []\n`;

test('what if: pasted, dropped, broken, more replicas, more nodes, victims; nothing is written', async () => {
  const page = await browser.open(server.url('/console/whatif'), { allow: [/422/] });
  await drawn(page);
  const planned = () => page.evaluate(() => [...document.querySelector('canvas').painter.marks.planned]);
  // Dropped.
  const transfer = await page.evaluateHandle((text) => {
    const made = new DataTransfer();
    made.items.add(new File([text], 'pod.yaml', { type: 'text/yaml' }));
    return made;
  }, kPod('dropped'));
  await page.dispatchEvent('.whatif', 'drop', { dataTransfer: transfer });
  await page.locator('.outcomes', { hasText: 'default/dropped' }).waitFor();
  await until(async () => (await planned()).length === 1, 'a cell is dashed');
  assert.match(await page.locator('.plan-head').innerText(), /1 placed .* nothing was applied/);
  // Broken: the place, and nothing planned.
  await page.fill('textarea', 'apiVersion: v1\nkind: [Pod\n');
  await page.locator('.error', { hasText: 'line 2, column 3' }).waitFor();
  await until(async () => (await planned()).length === 0, 'no cell is dashed');
  await page.getByRole('button', { name: 'go to line 2' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.selectionStart), 'apiVersion: v1\n  '.length);
  // A slider.
  await page.getByRole('button', { name: 'start over' }).click();
  const slider = page.getByRole('slider').first();
  const began = Date.now();
  await slider.fill('4');
  await until(async () => (await planned()).length === 2, 'two more cells are dashed');
  goal('planned after the slider moved', Date.now() - began, 300);
  assert.match(await page.locator('.slider.moved').innerText(), /2 → 4/);
  // Somebody more important.
  await page.fill('textarea', kPod('urgent', '  priorityClassName: high\n'));
  await page.locator('.state-tag.o-Preempted').waitFor();
  await until(() => page.evaluate(() => document.querySelector('canvas').painter.marks.victims.size === 1), 'a victim is struck');
  assert.match(await page.locator('.outcomes').innerText(), /inference-84b8fcd969-p2pbz\s+Preempted/);
  // One more node.
  await page.getByRole('slider').nth(1).fill('3');
  await page.locator('.ghosts', { hasText: 'gpu-000001-new-0' }).waitFor();
  // Nothing but questions was asked.
  assert.deepEqual(server.asked.filter((call) => !call.startsWith('GET') && !/^POST (plan|explain|cel|simulations)$/.test(call)), []);
  await end(page);
});

test('usage: what is in use of what can be, the quota, and numbers beside the lines', async () => {
  const page = await browser.open(server.url('/console/usage'));
  await page.locator('.uplot').first().waitFor();
  assert.equal(await page.locator('.uplot').count(), 4);
  const row = page.getByRole('region', { name: 'Classes now' }).locator('tr', { hasText: 'gpu.example.com' });
  assert.match((await row.innerText()).replace(/\s+/g, ' '), /gpu\.example\.com 8 5 0 63 %/);
  assert.equal(await page.getByRole('img', { name: '5 of 7 allowed by quota devices' }).count(), 1);
  assert.match(await page.locator('.u-legend').first().innerText(), /gpu\.example\.com:?\s*63 %/);
  await end(page);
});

// How each line of a chart is shown in its legend: the marker's pattern without its colour.
const patterns = (page, title) => page.locator('figure', { hasText: title }).locator('.u-series .u-marker').evaluateAll((markers) => markers.slice(1).map((marker) => getComputedStyle(marker).backgroundImage.replace(/rgba?\([^)]*\)/g, (color) => (/, 0\)$/.test(color) ? 'gap' : 'ink'))));

test('lines of a chart differ by more than their colour, in the legend too', async () => {
  const page = await browser.open(server.url('/console/usage'));
  await page.locator('.uplot').first().waitFor();
  for (const title of ['Utilisation', 'Fragmentation', 'Waiting time']) {
    const seen = await patterns(page, title);
    assert.ok(seen.length >= 3, title);
    assert.equal(new Set(seen).size, seen.length, `${title}: ${seen.join(' | ')}`);
  }
  await end(page);
});

test('simulations run with progress, and two of them are compared', async () => {
  const own = await fresh();
  own.steps = 8;
  const page = await browser.open(own.url('/console/simulate'));
  await page.getByRole('button', { name: '▶ run' }).click();
  await page.getByRole('progressbar').waitFor();
  const seen = new Set();
  await until(async () => {
    for (const value of await page.getByRole('progressbar').evaluateAll((bars) => bars.map((bar) => bar.value))) seen.add(value);
    return (await page.locator('.compare').count()) > 0;
  }, 'the run ends');
  assert.ok(seen.size >= 2, 'progress was seen to grow');
  await page.locator('form select').selectOption('best-fit');
  await page.getByRole('button', { name: '▶ run' }).click();
  await page.getByLabel('Compare with run s1').check();
  await page.locator('.compare th', { hasText: 'B − A' }).waitFor();
  const line = (await page.locator('.compare tr', { hasText: 'still pending at the end' }).innerText()).replace(/\s+/g, ' ');
  assert.match(line, /11 23 \+12 worse/);
  assert.match(page.url(), /run=s2&compare=s1/);
  const lines = await patterns(page, 'Utilisation');
  assert.ok(lines.length >= 6 && new Set(lines).size === lines.length, lines.join(' | '));
  await page.getByRole('button', { name: 'Forget run s1' }).click();
  await page.getByText('s1', { exact: true }).first().waitFor({ state: 'detached' });
  await end(page);
  await own.stop();
});

test('expressions: type, cost, four cells lit; a slip underlined at its column', async () => {
  const page = await browser.open(server.url('/console/classes'));
  await drawn(page);
  const area = page.getByRole('textbox');
  await area.fill('device.attributes["gpu.example.com"].numa == 0');
  await page.getByRole('button', { name: '4 match' }).waitFor();
  const answer = await page.locator('#cel-answer').innerText();
  for (const words of ['bool', 'cost at most 5 of 1,000,000', '4 do not', '14 fail', 'no such key: numa', 'has(']) assert.ok(answer.includes(words), words);
  const lit = () => page.evaluate(() => { const { match, fleet } = document.querySelector('canvas').painter; return [...(match ?? [])].flatMap((bit, id) => (bit ? [`${fleet.nodeNameOf(id)}/${fleet.deviceName(id)}`] : [])); });
  await until(async () => (await lit()).length === 4, 'four cells are lit');
  assert.deepEqual(await lit(), ['gpu-000000/gpu-0', 'gpu-000000/gpu-1', 'gpu-000001/gpu-0', 'gpu-000001/gpu-1']);
  await page.getByRole('button', { name: '14 fail' }).click();
  await until(async () => (await lit()).length === 14, 'those that fail are lit');
  await area.fill('device.attributes["gpu.example.com"].numa = 0');
  await page.locator('.error', { hasText: 'column 43' }).waitFor();
  assert.equal(await page.locator('mark').innerText(), '=');
  assert.equal(new URL(page.url()).searchParams.get('cel'), 'device.attributes["gpu.example.com"].numa = 0');
  await page.getByRole('button', { name: 'slices' }).click();
  assert.match((await page.locator('tr', { hasText: 'mig.example.com' }).innerText()).replace(/\s+/g, ' '), /mig\.example\.com 1 one per node 1 6 ✓ all/);
  await end(page);
});

test('/ finds everything, Enter opens, Esc gives the focus back', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  await page.getByRole('grid').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('H100');
  await page.getByRole('option', { name: /model=H100/ }).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'grid');
  await page.keyboard.press('/');
  await page.keyboard.type('H100');
  await page.keyboard.press('Enter');
  await until(() => page.evaluate(() => { const { match } = document.querySelector('canvas').painter; return match && [...match].filter((bit) => bit).length === 8; }), 'eight devices are lit');
  assert.equal(new URL(page.url()).searchParams.get('q'), 'model=H100');
  await page.locator('body').click({ position: { x: 700, y: 20 } });
  await page.keyboard.press('/');
  await page.keyboard.type('too-big');
  await page.keyboard.press('Enter');
  await page.locator('.answer').waitFor();
  // What the page does not have is asked for.
  await page.keyboard.press('/');
  await page.keyboard.type('gpu-00000003-7b2c');
  await page.getByRole('option', { name: /uuid = GPU-00000003/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.inspector h2', { hasText: 'gpu-3' }).waitFor();
  await end(page);
});

test('every view by keys alone, with a focus that one sees', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  const views = [['f', 'Fleet'], ['c', 'Claims'], ['w', 'Why not'], ['i', 'What if'], ['u', 'Usage'], ['s', 'Simulation'], ['l', 'Classes']];
  for (const [key, title] of views) {
    await go(page, key, title);
    await settled(page);
    await page.evaluate(() => document.activeElement?.blur?.());
    // Tab comes around: to every control, and out again.
    const seen = new Set();
    let around = false;
    for (let i = 0; i < 120 && !around; ++i) {
      await page.keyboard.press('Tab');
      const state = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        element.dataset.seen ??= String(Math.random());
        const style = getComputedStyle(element);
        const map = element.closest('.map');
        const shown = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
        return { id: element.dataset.seen, what: element.outerHTML.slice(0, 90), visible: shown || (map && getComputedStyle(map).outlineStyle !== 'none') };
      });
      if (state === null || seen.has(state.id)) around = true;
      else {
        seen.add(state.id);
        assert.ok(state.visible, `${title}: no focus to be seen on ${state.what}`);
      }
    }
    assert.ok(around, `${title}: the focus does not come around`);
    assert.ok(seen.size >= 10, `${title}: ${seen.size} controls`);
  }
  // Through the map: cells, nodes, open, list, theme, help.
  await page.keyboard.press('Escape');
  await go(page, 'f', 'Fleet');
  const grid = page.getByRole('grid');
  await grid.focus();
  const at = () => page.evaluate(() => document.getElementById(document.querySelector('[role=grid]').getAttribute('aria-activedescendant'))?.innerText ?? '');
  const stands = (pattern) => until(async () => pattern.test(await at()), `the cursor is at ${pattern}`);
  await stands(/^gpu-000000, gpu-0, held by pod default\/kep-5004-extended, NUMA 0/);
  await page.keyboard.press('ArrowRight');
  await stands(/^gpu-000000, gpu-1/);
  await page.keyboard.press('ArrowDown');
  await stands(/^gpu-000000, nic-0, shared, 80 % in use by pod .* and 1 more/);
  await page.keyboard.press('Shift+ArrowRight');
  await stands(/^gpu-000001, gpu-0/);
  await page.keyboard.press('Shift+ArrowDown');
  await stands(/^partitioned-000000, mig-0/);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await page.locator('.inspector h2', { hasText: 'gpu-0' }).waitFor();
  await page.keyboard.press('w');
  await page.getByText('claim/default/kep-5004-extended').waitFor();
  await go(page, 'f', 'Fleet');
  await page.keyboard.press('l');
  await page.getByRole('region', { name: 'Devices' }).waitFor();
  assert.equal(await page.locator('tbody tr').count(), 22);
  await page.keyboard.press('t');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('y');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
  await end(page);
});

test('links lead to the same place in another tab, and back leads back', async () => {
  const page = await browser.open(server.url());
  await drawn(page);
  const links = [
    '/console/fleet?sel=nic.example.com%2Fgpu-000000%2Fnic-0&group=label%3Atopology.kubernetes.io%2Fzone', '/console/fleet?class=mig.example.com&z=8', '/console/fleet?view=list&q=model%3DH100', '/console/claims/default/kep-5491-aligned-devices-r9nqt',
    '/console/pending?pod=default%2Ftoo-big', '/console/usage?range=6h', '/console/simulate/perf-full.yaml', '/console/classes?cel=device.driver+%3D%3D+%22nic.example.com%22',
  ];
  const picture = (tab) => tab.evaluate(() => `${document.querySelector('main').innerText.replace(/\d+:\d\d:\d\d|\d+ (s|m|h)\b/g, '')}|${document.querySelector('canvas')?.painter?.layout?.index ?? ''}`);
  for (const link of links) {
    // Typed into a tab of its own: the token comes from the other tab.
    const tab = await browser.open(`http://127.0.0.1:${server.port}${link}`, { context: page.context() });
    await tab.locator('main').waitFor();
    await tab.locator('.live.ok').waitFor();
    // Until nothing more comes.
    let first = '';
    for (let same = 0; same < 3; await tab.waitForTimeout(300)) {
      const seen = await picture(tab);
      same = seen === first && !/Loading/.test(seen) ? same + 1 : 0;
      first = seen;
    }
    assert.ok(first.length > 20, link);
    assert.equal(new URL(tab.url()).pathname + new URL(tab.url()).search, link);
    assert.equal(await tab.locator('.door').count(), 0);
    await go(tab, 'u', 'Usage');
    await tab.goBack();
    await until(async () => (await picture(tab)) === first, `the same picture at ${link}`);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  }
  await end(page);
});

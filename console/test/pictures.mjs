// SPDX-License-Identifier: Apache-2.0
//
// pictures.mjs FOLDER: what the README shows, as small PNG files: the fleet of a made-up cluster that is always the same, and with
// DRAY_BINARY what dray console says of dray up --demo.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Browser, cell, drawn, end, until } from './browser/browser.mjs';
import { Console, stopAll, Up } from './browser/live.mjs';
import { MockServer } from './mock/server.mjs';

const folder = process.argv[2] ?? '.';
mkdirSync(folder, { recursive: true });
// The clock of all pictures.
const now = Math.floor(Date.parse('2026-11-18T14:20:00Z') / 1000);
const browser = await Browser.start();

async function picture(name, kind, path, { act, ...options } = {}) {
  const server = await new MockServer(kind, { now }).start();
  const page = await browser.open(server.url(path), { width: 1280, height: 760, timezoneId: 'UTC', locale: 'en-GB', before: (one) => one.clock.install({ time: now * 1000 }), ...options });
  await page.clock.runFor(1000);
  await page.waitForTimeout(1200);
  if (act) await act(page, server);
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(folder, name) });
  await end(page);
  await server.stop();
}

await picture('console-fleet.png', 'showcase', '/console/fleet?z=6', {
  act: async (page) => {
    await drawn(page);
    const at = await cell(page, 'gpu.example.com/hgx-007/gpu-5');
    await page.mouse.move(at.x, at.y);
  },
});
// Answers are those of the real planner, on the demo.
if (process.env.DRAY_BINARY) {
  const up = await Up.start();
  const desk = await Console.start(up.kubeconfig);
  await until(async () => (await up.api('GET', '/api/v1/namespaces/default/pods')).items.filter((pod) => pod.spec.nodeName).length >= 9, 'the demo is placed', 30);
  const options = { width: 1280, height: 760, timezoneId: 'UTC', locale: 'en-GB' };
  const why = await browser.open(desk.url('/console/pending?pod=default%2Fkep-5963-vgpu'), options);
  await why.locator('.cures').waitFor();
  await why.screenshot({ path: join(folder, 'console-why-not.png') });
  await end(why);
  const plan = await browser.open(desk.url('/console/whatif'), { ...options, theme: 'dark' });
  await drawn(plan);
  await plan.fill('textarea', 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: one-more\nspec:\n  resourceClaims:\n  - name: gpu\n    resourceClaimTemplateName: one-gpu\n  containers:\n  - name: main\n    image: example.com/train:1\n');
  await plan.locator('.outcomes').waitFor();
  await plan.getByRole('slider', { name: /inference/ }).fill('3');
  await plan.locator('.outcomes tr').nth(2).waitFor();
  await plan.waitForTimeout(600);
  await plan.screenshot({ path: join(folder, 'console-what-if.png') });
  await end(plan);
  await stopAll();
  await up.end();
}
await browser.stop();

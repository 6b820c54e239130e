// SPDX-License-Identifier: Apache-2.0
//
// A chromium for a test file, and pages in it that complain of everything that no page may do.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

// Milliseconds until something must have come true, on a machine that has other things to do.
const kPatience = 90000;
export const kChromium = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

export class Browser {
  static async start() {
    const made = new Browser();
    made.chromium = await chromium.launch({ executablePath: kChromium, args: ['--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])] });
    return made;
  }
  stop() {
    return this.chromium.close();
  }

  // A page of its own, at `url`; `faults` has what the browser or the page complained of.
  async open(url, { width = 1440, height = 900, theme = 'light', context, touch = false, allow = [], before, ...more } = {}) {
    const own = context ?? (await this.chromium.newContext({ viewport: { width, height }, colorScheme: theme, hasTouch: touch, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'], ...more }));
    const page = await own.newPage();
    page.setDefaultTimeout(kPatience);
    page.faults = [];
    const complain = (text) => {
      if (!allow.some((pattern) => pattern.test(text))) page.faults.push(text);
    };
    page.on('console', (message) => {
      if (message.type() === 'error' || /Content.Security.Policy|TrustedHTML/i.test(message.text())) complain(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complain(`thrown: ${error.stack}`));
    page.on('dialog', (dialog) => {
      complain(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const to = new URL(request.url());
      if (to.protocol.startsWith('http') && to.host !== new URL(url).host) complain(`asked somebody else: ${request.url()}`);
    });
    if (before) await before(page);
    await page.goto(url);
    return page;
  }
}

// Goals in time are for a machine that has nothing else to do, and a test cannot know what else its machine does. What was measured is
// printed beside the goal, and insisted on with DRAY_GOALS=1, on a machine of one's own. That something is told instead of asked for, or
// kept instead of painted anew, the tests see by counting: requests, strips.
export function goal(what, took, wanted, unit = 'ms') {
  console.log(`${what}: ${took.toFixed(took < 20 ? 1 : 0)} ${unit}, goal ${wanted} ${unit}`);
  if (process.env.DRAY_GOALS) assert.ok(took <= wanted, `${what}: ${took} ${unit}, and ${wanted} ${unit} is the goal`);
}

export async function end(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

// Until the fleet is drawn.
export async function drawn(page) {
  await page.waitForFunction(() => document.querySelector('canvas')?.painter?.frames > 0);
}

// A device on the map: where its middle is on the page, and what is drawn there.
export function cell(page, key) {
  return page.evaluate((wanted) => {
    const canvas = document.querySelector('canvas');
    const { painter } = canvas;
    const { fleet, layout } = painter;
    const id = fleet.find(wanted);
    const slot = layout.slot[painter.placeOf[id]];
    const at = layout.devices[layout.order[slot]].indexOf(id);
    const template = layout.template[slot];
    const box = canvas.getBoundingClientRect();
    const x = layout.x[slot] + template.x[at];
    const y = layout.y[slot] + template.y[at] - painter.top;
    const pixels = canvas.getContext('2d').getImageData(Math.round(x * painter.ratio), Math.round(y * painter.ratio), Math.round(layout.level.cw * painter.ratio), Math.round(layout.level.ch * painter.ratio)).data;
    const counts = new Map();
    for (let i = 0; i < pixels.length; i += 4) {
      const color = `#${[pixels[i], pixels[i + 1], pixels[i + 2]].map((v) => v.toString(16).padStart(2, '0')).join('')}`;
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
    const total = pixels.length / 4;
    return { id, x: box.x + x + layout.level.cw / 2, y: box.y + y + layout.level.ch / 2, state: fleet.state[id], fill: fleet.fill[id], marks: fleet.marks[id], colors: Object.fromEntries([...counts].filter(([, n]) => n / total > 0.02).map(([color, n]) => [color, n / total])) };
  }, key);
}

// To another view by keys. Whoever takes more than a second for two keys has to begin again.
export async function go(page, key, title) {
  const there = page.getByRole('heading', { level: 1, name: title });
  for (let tries = 0; tries < 10; ++tries) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    if (await there.waitFor({ state: 'attached', timeout: 3000 }).then(() => true, () => false)) return;
  }
  throw new Error(`g ${key} does not lead to ${title}`);
}

// Until nothing more comes by itself.
export async function settled(page) {
  let before = '';
  for (let same = 0; same < 3;) {
    await page.waitForTimeout(120);
    const seen = await page.evaluate(() => document.querySelector('main')?.innerText.replace(/\d+:\d\d:\d\d|\d+ (ms|s|m|h)\b/g, '') ?? '');
    same = seen === before && seen !== '' && !/Loading|Planning…/.test(seen) ? same + 1 : 0;
    before = seen;
  }
}

export async function until(look, what, seconds = kPatience / 1000) {
  const end = Date.now() + seconds * 1000;
  let seen;
  do {
    seen = await look();
    if (seen) return seen;
    await new Promise((done) => setTimeout(done, 30));
  } while (Date.now() < end);
  throw new Error(`not within ${seconds} s: ${what}`);
}

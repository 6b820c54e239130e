// SPDX-License-Identifier: Apache-2.0
//
// A chromium for a test file, and pages in it that complain of everything that no page may do.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { chromium } from 'playwright-core';

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

// Goals in time are for a machine that has nothing else to do. While a Watch exists it counts what the processors did for others than this
// test and what it has started: if they left half of the machine, twice the time is fine. What the page itself takes counts for nothing,
// so a page that became slow fails on a busy machine as well.
export class Watch {
  constructor() {
    this.began = Watch.look();
  }
  // Ticks: of the machine, of its work, of our part of that.
  static look() {
    let row;
    try {
      row = readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1, 9).map(Number);
    } catch {
      return undefined; // another system than Linux
    }
    const all = row.reduce((a, b) => a + b);
    const families = new Map();
    const ticks = new Map();
    for (const name of readdirSync('/proc').filter((entry) => /^[0-9]+$/.test(entry))) {
      let text;
      try {
        text = readFileSync(`/proc/${name}/stat`, 'utf8');
      } catch {
        continue; // it has ended meanwhile
      }
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const parent = Number(fields[1]);
      families.set(parent, [...(families.get(parent) ?? []), Number(name)]);
      ticks.set(Number(name), fields.slice(11, 15).map(Number).reduce((a, b) => a + b)); // with children that have ended
    }
    let ours = 0;
    for (const open = [process.pid]; open.length > 0;) {
      const one = open.pop();
      ours += ticks.get(one) ?? 0;
      open.push(...(families.get(one) ?? []));
    }
    return { all, worked: all - row[3] - row[4], ours };
  }
  busy() {
    const now = Watch.look();
    if (!now || !this.began) return Math.max(1, loadavg()[0] / cpus().length);
    const all = Math.max(1, now.all - this.began.all);
    const others = Math.max(0, now.worked - this.began.worked - (now.ours - this.began.ours));
    return Math.min(10, 1 / Math.max(0.1, 1 - others / all));
  }
}

export async function end(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

// Until the fleet is drawn.
export async function drawn(page) {
  await page.waitForFunction(() => document.querySelector('canvas')?.painter?.frames > 0, undefined, { timeout: 30000 });
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

export async function until(look, what, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  let seen;
  do {
    seen = await look();
    if (seen) return seen;
    await new Promise((done) => setTimeout(done, 30));
  } while (Date.now() < end);
  throw new Error(`not within ${seconds} s: ${what}`);
}

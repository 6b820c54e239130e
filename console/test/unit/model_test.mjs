// SPDX-License-Identifier: Apache-2.0
//
// The page's model without a page. UNIT names entry.ts as one module.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { demo, hostile, kHostile, large, random, showcase } from '../mock/fleets.mjs';

const { text, Fleet, Claims, holderText, groups, search, layout, palette, address, parse } = await import(pathToFileURL(process.env.UNIT));
const kNow = 1_795_029_115;
const kDist = process.env.DRAY_CONSOLE_DIST;

const picture = (made) => {
  const fleet = Fleet.from(structuredClone(made.fleet(1, 'e')));
  const claims = new Claims();
  claims.load(structuredClone(made.holders(1, 'e')));
  claims.loadPending(structuredClone(made.pending));
  return { fleet, claims };
};

test('the page fits into 120 kB as it is sent', () => {
  const bytes = ['app.js', 'app.css', 'index.html', 'icon.svg'].map((name) => gzipSync(readFileSync(join(kDist, name)), { level: 9 }).length);
  const total = bytes.reduce((a, b) => a + b);
  console.log(`gzip: ${total} bytes (${bytes.join(', ')})`);
  assert.ok(total <= 120_000, `${total} bytes`);
});

test('nothing writes markup or evaluates text', () => {
  const page = readFileSync(join(kDist, 'index.html'), 'utf8');
  assert.doesNotMatch(page, /<script(?![^>]*\ssrc=)|\son[a-z]+=|style=/i);
  for (const file of process.env.SOURCES.split('\n').filter((name) => /\.tsx?$/.test(name))) {
    assert.doesNotMatch(readFileSync(file, 'utf8'), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|createContextualFragment/, file);
  }
});

test('characters that cannot be seen are shown by their number', () => {
  assert.equal(text.visible('plain gpu-0 ü 漢'), 'plain gpu-0 ü 漢');
  assert.equal(text.visible('\u202egnp'), '⟨U+202E⟩gnp');
  assert.equal(text.visible('a\u0000b\u200b'), 'a⟨U+0000⟩b⟨U+200B⟩');
  assert.equal(text.visible('tab\tline\n'), 'tab\tline\n');
  const deep = text.visibleAll({ a: ['\u2066x'], '\u202ek': { n: 1, b: true, z: null } });
  assert.deepEqual(deep, { a: ['⟨U+2066⟩x'], '⟨U+202E⟩k': { n: 1, b: true, z: null } });
  // Twice is once: what has been made visible stays as it is.
  for (const one of kHostile) assert.equal(text.visible(text.visible(one)), text.visible(one));
});

test('amounts and times are short', () => {
  for (const [seconds, words] of [[0, '0 s'], [0.2, '200 ms'], [3.5, '3.5 s'], [59, '59 s'], [119, '119 s'], [180, '3 m'], [3600, '1 h'], [7500, '2 h 5 m'], [86400 * 3, '3 d'], [86400 * 3 + 7200, '3 d 2 h'], [NaN, '?'], [-4, '0 s']]) assert.equal(text.duration(seconds), words);
  assert.equal(text.percent(0.625), '63 %');
  assert.equal(text.percent(NaN), '–');
  assert.equal(text.endOf('gpu-004837', 8), '…-004837');
  assert.equal(text.endOf('gpu', 8), 'gpu');
  assert.equal(text.cut('x'.repeat(500)).length, 200);
});

test('a spreadsheet does not take a name for a formula', () => {
  for (const bad of ['=1+1', '+1', '-1', '@x', '\tx']) assert.ok(text.csvCell(bad).replace(/^"/, '').startsWith("'"), bad);
  assert.equal(text.csvCell('a,"b"'), '"a,""b"""');
});

test('an address says the same as the place that it was made of', () => {
  for (const name of kHostile) {
    const [path, query = ''] = address('claims', [name, 'x'], { q: name, sel: `a/${name}/c` }).split('?');
    // An empty part and a dot part are no names; all else comes back.
    const back = parse(path, `?${query}`);
    assert.deepEqual(back.parts, [name, 'x']);
    assert.equal(back.query.get('q'), name);
    assert.equal(back.query.get('sel'), `a/${name}/c`);
  }
  assert.equal(parse('/console/nowhere', '').view, 'fleet');
  assert.equal(parse('/console/%E0%A4%A', '').view, 'fleet');
});

test('the demo has eight free of sixteen GPUs, sockets and cards, and blocked ones are not free', () => {
  const { fleet, claims } = picture(demo(kNow));
  const made = new groups.Groups(fleet, groups.kByName);
  const of = (title) => made.groups.find((group) => group.title === title);
  assert.deepEqual(made.groups.map((group) => group.title), ['gpu', 'partitioned', 'plain']);
  assert.equal(of('gpu').devices, 16);
  assert.equal(of('gpu').counts[0], 8);
  assert.equal(of('partitioned').counts[0], 3);
  assert.equal(of('partitioned').counts[4], 2);
  assert.equal(of('plain').devices, 0);
  const id = fleet.find('nic.example.com/gpu-000000/nic-0');
  assert.equal(fleet.fill[id], 80);
  assert.equal(claims.holdersOf(id).length, 2);
  assert.match(holderText(claims.holdersOf(id)), /kep-5075-share-0 and 1 more/);
});

test('sums kept up with changes are those counted anew', () => {
  const made = large(kNow, 200, 8);
  const { fleet } = picture(made);
  const roll = random(5);
  for (const by of ['nodegroup', 'node', 'label:topology.kubernetes.io/zone', 'label:none']) {
    const kept = new groups.Groups(fleet, by);
    for (let round = 0; round < 50; ++round) {
      const rows = Array.from({ length: 1 + Math.floor(roll() * 30) }, () => [Math.floor(roll() * fleet.size), Math.floor(roll() * 7), Math.floor(roll() * 101), Math.floor(roll() * 8)]);
      kept.update(fleet.apply({ rev: round + 2, d: rows }).devices);
    }
    const fresh = new groups.Groups(fleet, by);
    const rows = (of) => of.groups.map((group) => [group.key, [...group.counts], group.tainted, group.unhealthy, group.devices]);
    assert.deepEqual(rows(kept), rows(fresh), by);
  }
});

test('what the stream says by pieces is what a snapshot says at once', () => {
  // Devices, nodes and claims in random order and at random times, against a plain list.
  const roll = random(17);
  for (let round = 0; round < 40; ++round) {
    const { fleet, claims } = picture(demo(kNow));
    const model = new Map();
    for (let id = 0; id < fleet.size; ++id) model.set(id, { key: fleet.key(id), node: fleet.nodeNameOf(id), state: fleet.state[id], fill: fleet.fill[id], marks: fleet.marks[id] });
    const held = new Map([...claims.all].map(([key, claim]) => [key, claim.devices]));
    let next = fleet.size;
    let rev = 1;
    for (let step = 0; step < 60; ++step) {
      const what = roll();
      ++rev;
      if (what < 0.3) {
        const id = next + Math.floor(roll() * 3);
        next = id + 1;
        const node = `gpu-00000${Math.floor(roll() * 4)}`;
        const device = `new-${id}`;
        fleet.apply({ rev, a: [{ id, driver: 'gpu.example.com', pool: node, device, node, shape: { driver: 'gpu.example.com', attributes: [['numa', 'int', Math.floor(roll() * 2)]], classes: ['gpu.example.com'] }, state: 1, fill: 3, marks: 2 }] });
        for (const row of model.values()) if (row.key.startsWith(`gpu.example.com/${node}/`)) row.node = node;
        model.set(id, { key: `gpu.example.com/${node}/${device}`, node, state: 1, fill: 3, marks: 2 });
      } else if (what < 0.7) {
        const ids = [...model.keys()];
        const id = ids[Math.floor(roll() * ids.length)];
        const state = roll() < 0.15 ? 255 : Math.floor(roll() * 7);
        fleet.apply({ rev, d: [[id, state, 7, 1]] });
        if (state === 255) model.delete(id);
        else Object.assign(model.get(id), { state, fill: 7, marks: 1 });
      } else {
        const name = `c${Math.floor(roll() * 8)}`;
        const removed = roll() < 0.3;
        const devices = Array.from({ length: Math.floor(roll() * 4) }, () => Math.floor(roll() * next)).filter((v, i, a) => a.indexOf(v) === i);
        claims.apply([{ namespace: 'default', name, state: 2, devices, pods: [], removed }], rev);
        if (removed) held.delete(`default/${name}`);
        else held.set(`default/${name}`, devices);
      }
    }
    for (let id = 0; id < next; ++id) {
      const row = model.get(id);
      assert.equal(fleet.exists(id), row !== undefined, `device ${id}`);
      if (!row) continue;
      assert.deepEqual({ key: fleet.key(id), node: fleet.nodeNameOf(id), state: fleet.state[id], fill: fleet.fill[id], marks: fleet.marks[id] }, row);
      assert.equal(fleet.find(row.key), id);
      const who = [...held].filter(([, devices]) => devices.includes(id)).map(([key]) => key).sort();
      assert.deepEqual(claims.holdersOf(id).map((claim) => `${claim.namespace}/${claim.name}`).sort(), who);
    }
    // Every device that is there is shown once.
    const shown = new groups.Groups(fleet, 'nodegroup').groups.reduce((sum, group) => sum + group.devices, 0);
    assert.equal(shown, model.size);
  }
});

test('a pool that goes leaves devices that somebody has where they were', () => {
  const { fleet } = picture(demo(kNow));
  const id = fleet.find('mig.example.com/partitioned-000000/mig-0');
  fleet.apply({ rev: 2, o: [{ driver: 'mig.example.com', name: 'partitioned-000000', removed: true }], d: [[id, 5, 0, 0]] });
  assert.equal(fleet.nodeNameOf(id), 'partitioned-000000');
  assert.equal(fleet.state[id], 5);
  const moved = fleet.apply({ rev: 3, o: [{ driver: 'mig.example.com', name: 'partitioned-000000', node: 'plain-000000', flags: 0, slices: 1, generation: 2 }] });
  assert.ok(moved.structure);
  assert.equal(fleet.nodeNameOf(id), 'plain-000000');
});

test('a change of claims that the snapshot has already does not come back', () => {
  const { claims } = picture(demo(kNow));
  const before = claims.all.size;
  claims.apply([{ namespace: 'default', name: 'old', devices: [1] }], 1);
  assert.equal(claims.all.size, before);
  claims.apply([{ namespace: 'default', name: 'new', devices: [1] }], 2);
  assert.equal(claims.all.size, before + 1);
});

test('at every level each device has a place of its own, inside of its node, and is found there', () => {
  for (const made of [demo(kNow), showcase(kNow), large(kNow, 60, 16), hostile(kNow)]) {
    const { fleet } = picture(made);
    const grouped = new groups.Groups(fleet, groups.kByName);
    const structure = new layout.Structure(fleet, grouped);
    for (let index = 0; index < layout.kLevels.length; ++index) {
      for (const width of [320, 390, 1440, 2560]) {
        const made = layout.layOut(structure, index, width);
        const { level } = made;
        let bottom = 0;
        for (let slot = 0; slot < made.order.length; ++slot) {
          const place = made.order[slot];
          const template = made.template[slot];
          assert.equal(made.slot[place], slot);
          assert.ok(made.y[slot] >= bottom - 1e9);
          assert.ok(made.y[slot] + template.h <= made.height);
          const boxes = made.devices[place].length > 0 ? Array.from(made.devices[place], (id, i) => [template.x[i], template.y[i], id]) : [];
          for (const [x, y, id] of boxes) {
            assert.ok(x >= 0 && y >= 0 && x + level.cw <= template.w && y + level.ch <= template.h, `level ${index}, width ${width}: a cell sticks out`);
            if (level.sorted) continue;
            const hit = layout.hit(made, made.x[slot] + x + level.cw / 2, made.y[slot] + y + level.ch / 2);
            assert.equal(hit?.device, id);
            const at = layout.cellOf(made, place, id);
            assert.deepEqual([at.x, at.y], [made.x[slot] + x, made.y[slot] + y]);
          }
          for (let i = 0; i < boxes.length; ++i) {
            for (let k = 0; k < i; ++k) {
              const apart = Math.abs(boxes[i][0] - boxes[k][0]) >= level.cw || Math.abs(boxes[i][1] - boxes[k][1]) >= level.ch;
              assert.ok(apart, `level ${index}: two devices of a node in one place`);
            }
          }
        }
        // Nodes of a row stand beside each other.
        for (const row of made.rows) for (let slot = row.first + 1; slot < row.last; ++slot) assert.ok(made.x[slot] >= made.x[slot - 1] + made.template[slot - 1].w);
        for (let y = 0; y < made.height; y += 37) {
          const row = layout.rowAt(made, y);
          assert.ok(row === made.rows.length || made.rows[row].y + made.rows[row].h > y);
          assert.ok(row === 0 || made.rows[row - 1].y + made.rows[row - 1].h <= y);
        }
        bottom = made.height;
      }
    }
  }
});

test('NUMA nodes, PCIe roots and cards are frames around their devices', () => {
  const { fleet } = picture(demo(kNow));
  const grouped = new groups.Groups(fleet, groups.kByName);
  const structure = new layout.Structure(fleet, grouped);
  const made = layout.layOut(structure, layout.kFirstNested + 2, 1440);
  const inside = (node, kind, label) => {
    const place = grouped.places.findIndex((p) => p.node === fleet.findNode(node));
    const slot = made.slot[place];
    const template = made.template[slot];
    const frame = template.frames.find((f) => f.kind === kind && f.label === label);
    assert.ok(frame, `${node} has no frame ${label}`);
    return Array.from(made.devices[place]).filter((_, i) => template.x[i] >= frame.x && template.y[i] >= frame.y && template.x[i] + made.level.cw <= frame.x + frame.w && template.y[i] + made.level.ch <= frame.y + frame.h).map((id) => fleet.deviceName(id)).sort();
  };
  assert.deepEqual(inside('gpu-000000', 'numa', 'NUMA 0'), ['gpu-0', 'gpu-1', 'nic-0']);
  assert.deepEqual(inside('gpu-000000', 'numa', 'NUMA 1'), ['gpu-2', 'gpu-3', 'nic-1']);
  assert.deepEqual(inside('gpu-000001', 'root', 'pci0000:01'), ['gpu-2', 'gpu-3']);
  assert.deepEqual(inside('partitioned-000000', 'card', 'gpu-0'), ['mig-0', 'mig-1', 'mig-2', 'mig-3', 'vgpu-0', 'vgpu-1']);
});

test('a small fleet begins large, a large one small', () => {
  const fit = (made, width, height) => {
    const { fleet } = picture(made);
    return layout.fittingLevel(new layout.Structure(fleet, new groups.Groups(fleet, groups.kByName)), width, height);
  };
  assert.ok(layout.kLevels[fit(demo(kNow), 1200, 780)].cw >= 60);
  assert.ok(fit(large(kNow), 1290, 780) <= 1);
  // On phones one scrolls, as far as one likes to.
  for (const height of [200, 700]) assert.ok(layout.kLevels[fit(demo(kNow), 390, height)].cw >= 24);
  assert.ok(fit(large(kNow), 390, 700) <= 1);
});

test('everything is found by name, and by value', () => {
  const { fleet, claims } = picture(demo(kNow));
  const first = (words) => search.search(fleet, claims, words)[0];
  assert.deepEqual([first('H100').kind, first('H100').query], ['attribute', 'model=H100']);
  assert.equal(first('model=h100').query, 'model=H100');
  assert.equal(first('too-big').kind, 'pending');
  assert.equal(first('gpu-000001').kind, 'node');
  assert.equal(first('mig-0').kind, 'device');
  assert.equal(first('kep-6080-same-numa').kind, 'pod');
  assert.equal(first('nic.example.com').kind, 'class');
  assert.equal(search.search(fleet, claims, 'nothing like that').length, 0);
  assert.equal(search.search(fleet, claims, '   ').length, 0);
  const names = (words, namespace = '') => {
    const match = search.matching(fleet, claims, words, namespace);
    return Array.from(match, (hit, id) => (hit ? `${fleet.nodeNameOf(id)}/${fleet.deviceName(id)}` : '')).filter((name) => name !== '');
  };
  assert.equal(names('model=H100').length, 8);
  assert.equal(names('numa=1').length, 6);
  assert.deepEqual(names('kep-5491'), ['gpu-000000/gpu-1', 'gpu-000000/socket-0']);
  assert.equal(names('', 'default').length, 9);
  assert.equal(search.matching(fleet, claims, ' ', ''), undefined);
});

test('names of strangers find nothing but themselves, and break nothing', () => {
  const { fleet, claims } = picture(hostile(kNow));
  for (const name of kHostile) {
    search.search(fleet, claims, name);
    search.matching(fleet, claims, name, name);
  }
  for (let id = 0; id < fleet.size; ++id) assert.doesNotMatch(fleet.key(id), /[\u0000-\u0008\u202a-\u202e\u2066-\u2069\u200b]/);
});

test('a hundred thousand nodes are laid out in a moment', () => {
  const { fleet } = picture(large(kNow, 20_000, 8));
  const grouped = new groups.Groups(fleet, groups.kByName);
  const structure = new layout.Structure(fleet, grouped);
  const began = performance.now();
  const made = layout.layOut(structure, 0, 1440);
  console.log(`layout of ${made.order.length} nodes: ${(performance.now() - began).toFixed(1)} ms`);
  assert.equal(made.order.length, 20_000);
});

// Viénot, Brettel and Mollon are for screens; Machado's matrices (severity 1) are what the palette was chosen with.
test('states stay apart for those who see colours otherwise', () => {
  const vision = {
    protan: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    deutan: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    tritan: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
    all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const lab = (hex, m) => {
    const c = [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16) / 255));
    const [r, g, b] = [0, 3, 6].map((i) => Math.max(0, Math.min(1, m[i] * c[0] + m[i + 1] * c[1] + m[i + 2] * c[2])));
    const [l, mm, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b, 0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt);
    return [0.2104542553 * l + 0.793617785 * mm - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * mm + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * mm - 0.808675766 * s];
  };
  for (const [name, p, least] of [['light', palette.kLight, 0.15], ['dark', palette.kDark, 0.14]]) {
    const colors = [p.free, p.held, p.shared, p.partitioned, p.tainted, p.unhealthy, p.gone];
    let smallest = 9;
    for (const m of Object.values(vision)) {
      for (let i = 0; i < colors.length; ++i) for (let k = 0; k < i; ++k) smallest = Math.min(smallest, Math.hypot(...lab(colors[i], m).map((v, n) => v - lab(colors[k], m)[n])));
    }
    console.log(`${name}: smallest distance ${smallest.toFixed(3)}`);
    assert.ok(smallest >= least, `${name}: ${smallest}`);
  }
});

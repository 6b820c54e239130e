// SPDX-License-Identifier: Apache-2.0
//
// The fleet on a canvas that is as large as the window on it. What is below the window is painted in tiles, strips of the layout that
// are kept: cells are copied into a buffer of pixels (sprites.ts), text is written on top, and a frame only puts the visible tiles
// together. A change of a device repaints its cell in its tile. Tiles that come into sight are painted for at most a few milliseconds a
// frame; until all of a new zoom are there, the old picture stays.
import { endOf } from '../text';
import type { Fleet } from '../model/fleet';
import type { Groups } from '../model/groups';
import { Mark, NodeFlag, State } from '../model/states';
import { cellOf, type Layout, rowAt } from './layout';
import { drawHeaders, drawMarks, kNoMarks, type Marks } from './overlay';
import { kDark, kLight, mixed, pixel } from './palette';
import { lookOf, Sprites } from './sprites';

const kTile = 128; // height of a tile, CSS pixels
const kBudget = 5; // milliseconds of painting tiles in a frame
const kKept = 24; // tiles beside those in sight

interface Tile {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  index: number;
  used: number; // the frame that needed it last
}


// Cells too small to be told apart: one colour each, in this order within a node, what is rare last and larger.
const kRank = [5, 0, 1, 2, 3, 7, 4]; // by state; tainted: 6, unhealthy: 8
const rankOf = (state: number, marks: number): number => (marks & Mark.unhealthy ? 8 : marks & Mark.tainted && state === State.free ? 6 : kRank[state] ?? 5);

export class Painter {
  // Milliseconds of the last frames' drawing, for tests and for whoever wonders.
  readonly times: number[] = [];
  frames = 0;
  // What was painted since the beginning: the work of a frame, whatever the machine.
  readonly work = { tiles: 0, cells: 0, nodes: 0 };

  private readonly context: CanvasRenderingContext2D;
  private fleet!: Fleet;
  private groups!: Groups;
  private layout: Layout | undefined;
  private placeOf = new Int32Array(0);
  private match: Uint8Array | undefined;
  private marks: Marks = kNoMarks;
  private palette = kLight;
  private sprites: Sprites | undefined;
  private colors: number[] = [];
  private dimColors: number[] = [];
  private tiles = new Map<number, Tile>();
  private spare: Tile[] = [];
  private buffer = new Uint32Array(0);
  private image: ImageData | undefined;
  private width = 0;
  private height = 0;
  private ratio = 1;
  private top = 0;
  private asked = 0;
  private waitSince = 0; // of a picture that is not complete yet
  private fresh = true; // nothing has been shown of this layout

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d', { alpha: false })!;
  }

  resize(width: number, height: number, ratio: number): void {
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.forget();
  }
  setTheme(dark: boolean): void {
    this.palette = dark ? kDark : kLight;
    this.forget();
  }
  show(fleet: Fleet, groups: Groups, layout: Layout): void {
    const zoomed = layout !== this.layout;
    this.fleet = fleet;
    this.groups = groups;
    this.layout = layout;
    this.placeOf = new Int32Array(fleet.size).fill(-1);
    groups.groups.forEach((group) => {
      for (const place of group.places) for (const id of groups.places[place]!.devices) this.placeOf[id] = place;
    });
    if (zoomed) this.forget();
    this.request();
  }
  // 1: shown as it is, 0: dimmed. None: nothing is dimmed.
  light(match: Uint8Array | undefined): void {
    if (match === this.match) return;
    this.match = match;
    this.forget();
  }
  mark(marks: Marks): void {
    this.marks = marks;
    this.request();
  }
  scroll(top: number): void {
    this.top = top;
    this.request();
  }
  placeOfDevice(id: number): number {
    return id >= 0 && id < this.placeOf.length ? this.placeOf[id]! : -1;
  }

  // These devices look different now.
  changed(devices: readonly number[]): void {
    const { layout } = this;
    if (!layout || this.tiles.size === 0) return this.request();
    if (devices.length > 4000) return this.forget();
    const slots = new Set<number>();
    for (const id of devices) {
      const place = this.placeOfDevice(id);
      const slot = place < 0 ? -1 : layout.slot[place]!;
      if (slot < 0) continue;
      if (layout.level.sorted) slots.add(slot);
      else this.repaintCell(place, id);
    }
    for (const slot of slots) this.repaintNode(slot);
    this.request();
  }

  request(): void {
    if (this.asked !== 0) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      const began = performance.now();
      if (this.draw(began)) this.request();
      this.times.push(performance.now() - began);
      if (this.times.length > 1200) this.times.splice(0, 600);
      ++this.frames;
    });
  }
  stop(): void {
    cancelAnimationFrame(this.asked);
    this.asked = -1; // nobody asks any more
  }

  private forget(): void {
    for (const tile of this.tiles.values()) this.spare.push(tile);
    this.tiles.clear();
    this.sprites = undefined;
    this.fresh = true;
    this.waitSince = 0;
    this.request();
  }

  private prepare(): void {
    const { layout, palette: p } = this;
    if (!layout || this.sprites) return;
    this.sprites = new Sprites(layout.level.cw, layout.level.ch, this.ratio, p);
    const back = pixel(p.page);
    // By rank.
    this.colors = [p.held, p.shared, p.partitioned, p.blocked, p.line, p.freeLine, p.tainted, p.gone, p.unhealthy].map(pixel);
    // An empty box of two pixels would be its line alone; between line and page it reads as empty.
    this.colors[5] = mixed(pixel(p.freeLine), back, 0.62);
    this.colors[3] = mixed(pixel(p.blocked), pixel(p.free), 0.45);
    this.dimColors = this.colors.map((color) => mixed(color, back, 0.82));
    const w = Math.round(this.width * this.ratio);
    const h = Math.round(kTile * this.ratio);
    if (this.buffer.length !== w * h) {
      this.buffer = new Uint32Array(w * h);
      this.image = new ImageData(new Uint8ClampedArray(this.buffer.buffer), w, h);
      this.spare = [];
    }
  }

  // Whether there is more to do in the next frame.
  private draw(now: number): boolean {
    const { layout, context: c } = this;
    if (!layout || this.width === 0 || this.height === 0) return false;
    this.prepare();
    const first = Math.floor(this.top / kTile);
    const last = Math.floor((this.top + this.height - 1) / kTile);
    let missing = false;
    let painted = 0;
    for (let index = first; index <= last; ++index) {
      let tile = this.tiles.get(index);
      if (!tile) {
        if (painted > 0 && performance.now() - now > kBudget) {
          missing = true;
          continue;
        }
        tile = this.paintTile(index);
        ++painted;
      }
      tile.used = this.frames;
    }
    if (missing && this.fresh) {
      // The old picture is better than half of the new one, for a moment.
      if (this.waitSince === 0) this.waitSince = now;
      if (now - this.waitSince < 100) return true;
    }
    this.fresh = missing && this.fresh;
    if (!missing) this.waitSince = 0;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.palette.page;
    if (missing || layout.height - this.top < this.height + kTile) c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (let index = first; index <= last; ++index) {
      const tile = this.tiles.get(index);
      if (tile) c.drawImage(tile.canvas, 0, Math.round((index * kTile - this.top) * this.ratio));
    }
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const scene = { context: c, layout, groups: this.groups, palette: this.palette, width: this.width, height: this.height, top: this.top };
    drawHeaders(scene);
    drawMarks(scene, this.marks, (id) => this.placeOfDevice(id));
    this.evict();
    return missing;
  }

  private evict(): void {
    if (this.tiles.size <= kKept + Math.ceil(this.height / kTile) + 1) return;
    const old = [...this.tiles.values()].filter((tile) => tile.used !== this.frames).sort((a, b) => a.used - b.used);
    for (const tile of old.slice(0, this.tiles.size - kKept)) {
      this.tiles.delete(tile.index);
      if (this.spare.length < 8) this.spare.push(tile);
    }
  }

  private paintTile(index: number): Tile {
    const layout = this.layout!;
    const image = this.image!;
    let tile = this.spare.pop();
    if (!tile || tile.canvas.width !== image.width || tile.canvas.height !== image.height) {
      const canvas = document.createElement('canvas');
      canvas.width = image.width;
      canvas.height = image.height;
      tile = { canvas, context: canvas.getContext('2d', { alpha: false })!, index, used: 0 };
    }
    tile.index = index;
    ++this.work.tiles;
    this.tiles.set(index, tile);
    const top = index * kTile;
    const buffer = this.buffer;
    buffer.fill(pixel(this.palette.page));
    let from = rowAt(layout, top);
    const begin = from;
    for (; from < layout.rows.length && layout.rows[from]!.y < top + kTile; ++from) {
      const row = layout.rows[from]!;
      for (let slot = row.first; slot < row.last; ++slot) this.blitNode(slot, buffer, image.width, image.height, 0, top);
    }
    tile.context.setTransform(1, 0, 0, 1, 0, 0);
    tile.context.putImageData(image, 0, 0);
    if (layout.level.names > 0) {
      tile.context.setTransform(this.ratio, 0, 0, this.ratio, 0, -top * this.ratio);
      for (let r = begin; r < from; ++r) for (let slot = layout.rows[r]!.first; slot < layout.rows[r]!.last; ++slot) this.writeNode(tile.context, slot, top);
    }
    return tile;
  }

  // Cells, frames and panel of a node into a buffer whose origin is at (left, top) of the layout.
  private blitNode(slot: number, buffer: Uint32Array, bw: number, bh: number, left: number, top: number): void {
    const layout = this.layout!;
    const { ratio, palette: p } = this;
    const template = layout.template[slot]!;
    const devices = layout.devices[layout.order[slot]!]!;
    const x0 = layout.x[slot]! - left;
    const y0 = layout.y[slot]! - top;
    const px = (v: number): number => Math.round(v * ratio);
    const fill = (x: number, y: number, w: number, h: number, color: number): void => {
      const ax = Math.max(0, x);
      const bx = Math.min(bw, x + w);
      const by = Math.min(bh, y + h);
      if (bx <= ax) return;
      for (let yy = Math.max(0, y); yy < by; ++yy) buffer.fill(color, yy * bw + ax, yy * bw + bx);
    };
    const box = (x: number, y: number, w: number, h: number, color: number): void => {
      const line = Math.max(1, Math.floor(ratio));
      fill(px(x), px(y), px(x + w) - px(x), line, color);
      fill(px(x), px(y + h) - line, px(x + w) - px(x), line, color);
      fill(px(x), px(y), line, px(y + h) - px(y), color);
      fill(px(x + w) - line, px(y), line, px(y + h) - px(y), color);
    };
    if (layout.level.sorted && devices.length > 0) return this.blitSorted(devices, template.x, template.y, x0, y0, buffer, bw, bh);
    const panel = pixel(p.panel);
    fill(px(x0), px(y0), px(x0 + template.w) - px(x0), px(y0 + template.h) - px(y0), panel);
    if (layout.level.nested || devices.length === 0) {
      box(x0, y0, template.w, template.h, pixel(p.line));
      const frameColor = mixed(pixel(p.dim), panel, 0.45);
      const cardColor = pixel(p.partitioned);
      const back = mixed(pixel(p.page), panel, 0.1);
      for (const frame of template.frames) {
        if (frame.kind === 'numa') fill(px(x0 + frame.x), px(y0 + frame.y), px(frame.w), px(frame.h), back);
        box(x0 + frame.x, y0 + frame.y, frame.w, frame.h, frame.kind === 'card' ? cardColor : frame.kind === 'numa' ? pixel(p.line) : frameColor);
      }
    }
    for (let i = 0; i < devices.length; ++i) this.blitCell(devices[i]!, px(x0 + template.x[i]!), px(y0 + template.y[i]!), buffer, bw, bh);
  }

  private blitCell(id: number, x: number, y: number, buffer: Uint32Array, bw: number, bh: number): void {
    const { fleet } = this;
    const sprites = this.sprites!;
    const { w, h } = sprites;
    if (y + h <= 0 || y >= bh || x < 0 || x + w > bw) return;
    const sprite = sprites.get(lookOf(fleet.state[id]!, fleet.fill[id]!, fleet.marks[id]!, this.match !== undefined && this.match[id] !== 1));
    const to = Math.min(h, bh - y);
    for (let row = Math.max(0, -y); row < to; ++row) {
      let target = (y + row) * bw + x;
      let source = row * w;
      for (const end = source + w; source < end;) buffer[target++] = sprite[source++]!;
    }
  }

  private blitSorted(devices: Int32Array, xs: Int32Array, ys: Int32Array, x0: number, y0: number, buffer: Uint32Array, bw: number, bh: number): void {
    const { fleet, match, ratio } = this;
    const n = devices.length;
    const counts = new Uint16Array(18);
    for (let i = 0; i < n; ++i) {
      const id = devices[i]!;
      const rank = rankOf(fleet.state[id]!, fleet.marks[id]!) * 2 + (match !== undefined && match[id] !== 1 ? 1 : 0);
      ++counts[rank]!;
    }
    const cell = this.layout!.level.cw;
    const size = Math.max(1, Math.round(cell * ratio));
    const large = Math.max(size, Math.round(4 * ratio));
    let at = 0;
    for (let rank = 0; rank < 18; ++rank) {
      const color = rank & 1 ? this.dimColors[rank >> 1]! : this.colors[rank >> 1]!;
      const rare = rank >= 12 && !(rank & 1);
      for (let k = counts[rank]!; k > 0; --k, ++at) {
        const side = rare ? large : size;
        const x = Math.round((x0 + xs[at]!) * ratio) - (side - size);
        const y = Math.round((y0 + ys[at]!) * ratio) - (side - size);
        const right = Math.min(bw, x + side);
        const bottom = Math.min(bh, y + side);
        for (let yy = Math.max(0, y); yy < bottom; ++yy) {
          for (let t = yy * bw + Math.max(0, x), end = yy * bw + right; t < end; ++t) buffer[t] = color;
        }
      }
    }
  }

  // The texts of a node: its name, those of frames, and of cells that are large enough.
  private writeNode(c: CanvasRenderingContext2D, slot: number, top: number): void {
    const layout = this.layout!;
    const { level } = layout;
    const { palette: p, fleet } = this;
    const template = layout.template[slot]!;
    const place = layout.order[slot]!;
    const x = layout.x[slot]!;
    const y = layout.y[slot]!;
    if (y + template.h < top || y > top + kTile) return;
    const size = level.names >= 18 ? 12 : 10;
    c.textBaseline = 'alphabetic';
    c.textAlign = 'left';
    const node = this.groups.places[place]!.node;
    const flags = node < 0 ? 0 : fleet.nodeFlags[node]!;
    const suffix = flags & NodeFlag.notReady ? ' ✕' : flags & NodeFlag.cordoned ? ' ‖' : '';
    c.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    c.fillStyle = flags & NodeFlag.notReady ? p.unhealthy : p.ink;
    const room = Math.floor((template.w - 10) / (size * 0.605)) - suffix.length;
    c.fillText(endOf(this.groups.placeName(place), room) + suffix, x + 6, y + level.names - 3);
    if (template.x.length === 0 && level.names >= 18) {
      c.fillStyle = p.dim;
      c.font = '11px system-ui, sans-serif';
      c.fillText(template.w > 90 ? 'no devices' : '–', x + 6, y + level.names + Math.min(16, template.h - level.names - 4));
    }
    if (level.labels > 0) {
      c.font = '10px system-ui, sans-serif';
      c.fillStyle = p.dim;
      for (const frame of template.frames) {
        const fits = Math.floor((frame.w - 6) / 5.4);
        if (fits > 2) c.fillText(endOf(frame.label, fits), x + frame.x + 4, y + frame.y + level.labels - 2);
      }
    }
    if (level.cw >= 60) {
      const devices = layout.devices[place]!;
      for (let i = 0; i < devices.length; ++i) this.writeCell(c, devices[i]!, x + template.x[i]!, y + template.y[i]!);
    }
  }

  private writeCell(c: CanvasRenderingContext2D, id: number, x: number, y: number): void {
    const { palette: p, fleet } = this;
    const { level } = this.layout!;
    const state = fleet.state[id]!;
    const marks = fleet.marks[id]!;
    const dimmed = this.match !== undefined && this.match[id] !== 1;
    c.fillStyle = dimmed ? p.dim : state === State.held ? p.onHeld : state === State.partitioned ? p.onPartitioned : state === State.gone ? p.onGone : p.ink;
    c.font = '600 11px ui-monospace, "DejaVu Sans Mono", monospace';
    c.textBaseline = 'alphabetic';
    c.textAlign = 'left';
    const left = marks & Mark.unhealthy ? 22 : 6;
    const fits = Math.floor((level.cw - left - 4 - (marks & Mark.tainted ? 16 : 0)) / 6.7);
    const name = endOf(fleet.deviceName(id), fits);
    if (state === State.blocked && !dimmed) {
      // Hatching must not run through the letters.
      c.fillStyle = p.free;
      c.fillRect(x + left - 2, y + 6, name.length * 6.7 + 4, 14);
      c.fillStyle = p.ink;
    }
    // Half of the name may stand on the fill and half above it.
    const written = (text: string, tx: number, ty: number): void => {
      if (state === State.shared && !dimmed) {
        c.strokeStyle = p.free;
        c.lineWidth = 3;
        c.lineJoin = 'round';
        c.strokeText(text, tx, ty);
      }
      c.fillText(text, tx, ty);
    };
    written(name, x + left, y + 17);
    if (level.ch >= 50) {
      const shape = fleet.shapeOfDevice(id);
      const model = shape.attributes.find(([attribute]) => /(^|\/)(model|productName|type)$/.test(attribute));
      const text = model ? String(model[2]) : shape.driver;
      c.font = '10px system-ui, sans-serif';
      const shown = text.length * 5.4 > level.cw - 10 ? endOf(text, Math.floor((level.cw - 10) / 5.4)) : text;
      if (state === State.blocked && !dimmed) {
        c.fillStyle = p.free;
        c.fillRect(x + 4, y + 22, shown.length * 5.6 + 4, 13);
        c.fillStyle = p.ink;
      }
      c.globalAlpha = 0.85;
      written(shown, x + 6, y + 32);
      c.globalAlpha = 1;
    }
  }

  private tilesOf(y: number, h: number): Tile[] {
    const found: Tile[] = [];
    for (let index = Math.floor(y / kTile); index <= Math.floor((y + h) / kTile); ++index) {
      const tile = this.tiles.get(index);
      if (tile) found.push(tile);
    }
    return found;
  }

  private repaintCell(place: number, id: number): void {
    const layout = this.layout!;
    const at = cellOf(layout, place, id);
    const { sprites } = this;
    if (!at || !sprites) return;
    const { level } = layout;
    const sprite = sprites.get(lookOf(this.fleet.state[id]!, this.fleet.fill[id]!, this.fleet.marks[id]!, this.match !== undefined && this.match[id] !== 1));
    for (const tile of this.tilesOf(at.y, level.ch)) {
      ++this.work.cells;
      const image = new ImageData(new Uint8ClampedArray(sprite.buffer as ArrayBuffer), sprites.w, sprites.h);
      tile.context.setTransform(1, 0, 0, 1, 0, 0);
      tile.context.putImageData(image, Math.round(at.x * this.ratio), Math.round((at.y - tile.index * kTile) * this.ratio));
      if (level.cw >= 60) {
        tile.context.setTransform(this.ratio, 0, 0, this.ratio, 0, -tile.index * kTile * this.ratio);
        this.writeCell(tile.context, id, at.x, at.y);
      }
    }
  }

  private repaintNode(slot: number): void {
    const layout = this.layout!;
    const template = layout.template[slot]!;
    const y = layout.y[slot]!;
    const x = layout.x[slot]!;
    const tiles = this.tilesOf(y, template.h);
    if (tiles.length === 0) return;
    ++this.work.nodes;
    const w = Math.ceil(template.w * this.ratio);
    const h = Math.ceil(template.h * this.ratio);
    if (w <= 0 || h <= 0) return;
    const image = new ImageData(w, h);
    const buffer = new Uint32Array(image.data.buffer);
    buffer.fill(pixel(this.palette.page));
    this.blitNode(slot, buffer, w, h, x, y);
    for (const tile of tiles) {
      tile.context.setTransform(1, 0, 0, 1, 0, 0);
      tile.context.putImageData(image, Math.round(x * this.ratio), Math.round((y - tile.index * kTile) * this.ratio));
    }
  }
}

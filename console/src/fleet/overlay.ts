// SPDX-License-Identifier: Apache-2.0
//
// What is drawn over the tiles in every frame, because it is little and moves: headers of groups, and what is marked.
import { endOf, number } from '../text';
import type { Groups } from '../model/groups';
import { kStacked, State } from '../model/states';
import { cellOf, kHeader, type Layout } from './layout';
import type { Palette } from './palette';

export interface Scene {
  context: CanvasRenderingContext2D;
  layout: Layout;
  groups: Groups;
  palette: Palette;
  width: number; // of the window, CSS pixels
  height: number;
  top: number; // of the layout
}

export interface Marks {
  hover: number;
  selected: number;
  cursor: number;
  planned: ReadonlySet<number>;
  victims: ReadonlySet<number>;
}
export const kNoMarks: Marks = { hover: -1, selected: -1, cursor: -1, planned: new Set(), victims: new Set() };

// Names and sums of groups; that of the group at the top stays in sight.
export function drawHeaders(scene: Scene): void {
  const { layout, context: c, palette: p, groups } = scene;
  for (const section of layout.sections) {
    const end = section.y + section.h;
    if (end <= scene.top || section.y >= scene.top + scene.height) continue;
    const y = Math.min(Math.max(section.y - scene.top, 0), end - scene.top - kHeader);
    const group = groups.groups[section.group]!;
    c.globalAlpha = section.y < scene.top ? 0.94 : 1;
    c.fillStyle = p.page;
    c.fillRect(0, y, scene.width, kHeader - 4);
    c.globalAlpha = 1;
    c.textBaseline = 'alphabetic';
    c.textAlign = 'left';
    c.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
    c.fillStyle = p.ink;
    const most = Math.max(8, Math.floor((scene.width - 24) / 9));
    const title = endOf(group.title, Math.min(most, 60));
    c.fillText(title, 12, y + 17);
    const beside = 12 + c.measureText(title).width + 10;
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    c.fillStyle = p.dim;
    const nodes = group.key.startsWith('\u0000') ? `${group.places.length} pools` : `${number(group.places.length)} ${group.places.length === 1 ? 'node' : 'nodes'}`;
    const parts = [nodes];
    if (group.devices > 0) {
      parts.push(`${number(group.devices)} ${group.devices === 1 ? 'device' : 'devices'}`, `${number(group.counts[State.free]!)} free`);
      if (group.counts[State.blocked]! > 0) parts.push(`${number(group.counts[State.blocked]!)} blocked`);
      if (group.tainted > 0) parts.push(`${number(group.tainted)} tainted`);
      if (group.unhealthy > 0) parts.push(`${number(group.unhealthy)} unhealthy`);
      if (group.counts[State.gone]! > 0) parts.push(`${number(group.counts[State.gone]!)} gone`);
    } else {
      parts.push('no devices');
    }
    let text = '';
    for (const part of parts) {
      const longer = text === '' ? part : `${text} · ${part}`;
      if (beside + c.measureText(longer).width > scene.width - 12) break;
      text = longer;
    }
    c.fillText(text, beside, y + 17);
    if (group.devices > 0) drawBar(c, p, 12, y + 24, Math.min(scene.width - 24, 420), 7, group.counts, group.devices);
  }
}

function drawBar(c: CanvasRenderingContext2D, p: Palette, x: number, y: number, w: number, h: number, counts: Uint32Array, total: number): void {
  const colors = [p.free, p.held, p.shared, p.partitioned, p.blocked, p.gone, p.line];
  let at = x;
  for (const state of kStacked) {
    const n = counts[state]!;
    if (n === 0) continue;
    const part = (w * n) / total;
    c.fillStyle = state === State.blocked ? p.free : colors[state]!;
    c.fillRect(at, y, part, h);
    if (state === State.blocked) {
      c.save();
      c.beginPath();
      c.rect(at, y, part, h);
      c.clip();
      c.strokeStyle = p.blocked;
      c.lineWidth = 1.2;
      c.beginPath();
      for (let k = at - h; k < at + part; k += 4) {
        c.moveTo(k, y + h);
        c.lineTo(k + h, y);
      }
      c.stroke();
      c.restore();
    }
    at += part;
  }
  c.strokeStyle = p.freeLine;
  c.lineWidth = 1;
  c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
}

export function drawMarks(scene: Scene, marks: Marks, placeOfDevice: (id: number) => number): void {
  const { layout, context: c, palette: p } = scene;
  const { cw, ch } = layout.level;
  // The cell, or of cells that are too small the node.
  const rect = (id: number): [number, number, number, number] | undefined => {
    const place = placeOfDevice(id);
    const slot = place < 0 ? -1 : layout.slot[place]!;
    if (slot < 0) return undefined;
    const y = layout.y[slot]! - scene.top;
    const template = layout.template[slot]!;
    if (y > scene.height || y + template.h < 0) return undefined;
    if (layout.level.sorted) return [layout.x[slot]!, y, template.w, template.h];
    const at = cellOf(layout, place, id);
    return at && [at.x, at.y - scene.top, cw, ch];
  };
  const frame = (id: number, color: string, width: number, grow: number, dash: number[] = []): void => {
    const at = rect(id);
    if (!at) return;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.strokeRect(at[0] - grow, at[1] - grow, at[2] + 2 * grow, at[3] + 2 * grow);
    c.setLineDash([]);
  };
  for (const id of marks.planned) {
    frame(id, p.panel, 3, 0);
    frame(id, p.link, 2, 0, cw >= 9 ? [4, 3] : []);
    if (cw >= 24) {
      const at = rect(id);
      if (!at) continue;
      c.fillStyle = p.link;
      c.fillRect(at[0] + at[2] - 16, at[1] + at[3] - 16, 12, 12);
      c.fillStyle = p.panel;
      c.fillRect(at[0] + at[2] - 14, at[1] + at[3] - 11, 8, 2);
      c.fillRect(at[0] + at[2] - 11, at[1] + at[3] - 14, 2, 8);
    }
  }
  for (const id of marks.victims) {
    const at = rect(id);
    if (!at) continue;
    frame(id, p.unhealthy, 2, 0);
    for (const [color, width] of [[p.panel, 5], [p.unhealthy, 2.5]] as const) {
      c.strokeStyle = color;
      c.lineWidth = width;
      c.beginPath();
      c.moveTo(at[0], at[1] + at[3] / 2);
      c.lineTo(at[0] + at[2], at[1] + at[3] / 2);
      c.stroke();
    }
  }
  if (marks.hover >= 0) frame(marks.hover, p.ink, 1.5, 1.5);
  if (marks.selected >= 0) {
    frame(marks.selected, p.panel, 5, 2);
    frame(marks.selected, p.ink, 2.5, 2);
  }
  if (marks.cursor >= 0) frame(marks.cursor, p.focus, 2.5, 4);
}

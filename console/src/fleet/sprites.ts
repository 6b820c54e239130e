// SPDX-License-Identifier: Apache-2.0
//
// A cell for each look that occurs, drawn once and then copied pixel by pixel: in software that is many times faster than drawing paths.
import { Mark, State } from '../model/states';
import { mixed, type Palette, pixel } from './palette';

// What tells cells apart: state, marks, how full, whether dimmed.
export const lookOf = (state: number, fill: number, marks: number, dim: boolean): number =>
  state | (marks & 7) << 3 | (state === State.shared ? Math.min(15, Math.max(1, Math.round(fill * 0.15))) : 0) << 6 | (dim ? 1024 : 0);

export class Sprites {
  readonly w: number;
  readonly h: number;
  private readonly made = new Map<number, Uint32Array>();
  private readonly context: CanvasRenderingContext2D;

  // A cell of cw × ch CSS pixels, `ratio` of the screen's to each.
  constructor(private readonly cw: number, private readonly ch: number, ratio: number, private readonly palette: Palette) {
    this.w = Math.max(1, Math.round(cw * ratio));
    this.h = Math.max(1, Math.round(ch * ratio));
    const canvas = document.createElement('canvas');
    canvas.width = this.w;
    canvas.height = this.h;
    this.context = canvas.getContext('2d', { willReadFrequently: true, alpha: false })!;
  }

  get(look: number): Uint32Array {
    let sprite = this.made.get(look);
    if (!sprite) this.made.set(look, (sprite = this.draw(look)));
    return sprite;
  }

  private draw(look: number): Uint32Array {
    const state = look & 7;
    const marks = (look >> 3) & 7;
    const fill = ((look >> 6) & 15) / 15;
    const { context: c, palette: p, cw, ch } = this;
    c.setTransform(this.w / cw, 0, 0, this.h / ch, 0, 0);
    const small = Math.min(cw, ch);
    c.fillStyle = p.free;
    c.fillRect(0, 0, cw, ch);
    const outline = (color: string): void => {
      c.strokeStyle = color;
      c.lineWidth = 1;
      c.strokeRect(0.5, 0.5, cw - 1, ch - 1);
    };
    const lines = (color: string, width: number, ...points: number[][]): void => {
      c.strokeStyle = color;
      c.lineWidth = width;
      c.beginPath();
      for (const [x1, y1, x2, y2] of points) {
        c.moveTo(x1!, y1!);
        c.lineTo(x2!, y2!);
      }
      c.stroke();
    };
    switch (state) {
      case State.held:
        c.fillStyle = p.held;
        c.fillRect(0, 0, cw, ch);
        if (small >= 9) {
          c.fillStyle = p.onHeld;
          c.globalAlpha = 0.85;
          const bar = Math.max(1.5, Math.min(4, small * 0.12));
          c.fillRect(small * 0.18, ch - small * 0.14 - bar, cw - 2 * small * 0.18, bar);
          c.globalAlpha = 1;
        }
        break;
      case State.shared: {
        const height = Math.max(1, (ch - 2) * fill);
        c.fillStyle = p.shared;
        c.fillRect(1, ch - 1 - height, cw - 2, height);
        if (small >= 9) lines(p.link, 1, [0, ch - 1 - height + 0.5, cw, ch - 1 - height + 0.5]);
        outline(p.link);
        break;
      }
      case State.partitioned:
        c.fillStyle = p.partitioned;
        c.fillRect(0, 0, cw, ch);
        if (small >= 6) lines(p.onPartitioned, Math.max(1, small / 16), [cw / 2, ch * 0.15, cw / 2, ch * 0.85], [cw * 0.15, ch / 2, cw * 0.85, ch / 2]);
        break;
      case State.blocked: {
        const step = small < 9 ? 3 : Math.max(4, small / 4);
        const hatch: number[][] = [];
        for (let x = -ch; x < cw; x += step) hatch.push([x, ch, x + ch, 0]);
        lines(p.blocked, small < 9 ? 1 : Math.max(1.2, small / 18), ...hatch);
        outline(p.blocked);
        break;
      }
      case State.gone:
        c.fillStyle = p.gone;
        c.fillRect(0, 0, cw, ch);
        lines(p.onGone, Math.max(1, small / 14), [0, ch, cw, 0]);
        break;
      case State.unknown:
        c.fillStyle = p.line;
        c.fillRect(0, 0, cw, ch);
        outline(p.dim);
        if (small >= 9) {
          c.fillStyle = p.dim;
          c.font = `600 ${Math.round(small * 0.62)}px system-ui, sans-serif`;
          c.textAlign = 'center';
          c.textBaseline = 'middle';
          c.fillText('?', cw / 2, ch / 2 + small * 0.04);
        }
        break;
      default:
        outline(p.freeLine);
    }
    if (marks & Mark.tainted) {
      const side = small < 9 ? Math.max(3, small * 0.6) : Math.min(16, small * 0.5);
      c.beginPath();
      c.moveTo(cw - side - 1, 1);
      c.lineTo(cw - 1, 1);
      c.lineTo(cw - 1, side + 1);
      c.closePath();
      c.fillStyle = p.tainted;
      c.fill();
      if (small >= 9) {
        c.strokeStyle = p.ink;
        c.lineWidth = 1;
        c.stroke();
      }
    }
    if (marks & Mark.unhealthy) {
      if (small < 9) {
        c.fillStyle = p.unhealthy;
        c.fillRect(0, 0, Math.max(4, small * 0.65), Math.max(4, small * 0.65));
      } else {
        const side = Math.min(18, small * 0.55);
        c.fillStyle = p.unhealthy;
        c.fillRect(0, 0, side, side);
        const edge = side * 0.26;
        lines(p.onUnhealthy, Math.max(1.3, side / 7), [edge, edge, side - edge, side - edge], [side - edge, edge, edge, side - edge]);
      }
    }
    if (marks & Mark.admin && small >= 9) {
      const r = Math.min(4, small * 0.14);
      c.beginPath();
      c.arc(r + 3, ch - r - 3, r, 0, 7);
      c.fillStyle = p.panel;
      c.fill();
      c.strokeStyle = p.ink;
      c.lineWidth = 1.2;
      c.stroke();
    }
    const pixels = new Uint32Array(c.getImageData(0, 0, this.w, this.h).data.buffer);
    if (look & 1024) {
      const back = pixel(p.panel);
      for (let i = 0; i < pixels.length; ++i) pixels[i] = mixed(pixels[i]!, back, 0.8);
    }
    return pixels;
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Words for people: names that strangers chose made safe to look at, times, amounts, plurals. Pure.

// Controls, bidirectional overrides and characters without a width: shown by their number, so that no name can pretend to be
// another. Tabs and newlines stay.
const kUnseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]/g;

export function visible(text: string): string {
  // Most texts have none: looking is cheaper than replacing.
  kUnseen.lastIndex = 0;
  if (!kUnseen.test(text)) return text;
  return text.replace(kUnseen, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

export const kLongest = 200;
// For a line: one that goes on for pages is cut.
export function cut(text: string, most = kLongest): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

// Every text of an answer made visible, in place. Done once, at the door, so that nothing behind it has to remember.
export function visibleAll(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; ++i) {
      const item: unknown = value[i];
      if (typeof item === 'number') continue;
      value[i] = visibleAll(item);
    }
    return value;
  }
  if (value !== null && typeof value === 'object') {
    const map = value as Record<string, unknown>;
    for (const key of Object.keys(map)) {
      const seen = visible(key);
      const made = visibleAll(map[key]);
      if (seen === key) map[key] = made;
      else {
        delete map[key];
        map[seen] = made;
      }
    }
  }
  return value;
}

// The end says more than the beginning: "…u-004837".
export function endOf(text: string, most: number): string {
  if (text.length <= most) return text;
  return most < 2 ? '' : `…${text.slice(text.length - most + 1)}`;
}

const kNumber = new Intl.NumberFormat('en-US');
export const number = (value: number): string => kNumber.format(value);

export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function percent(share: number, digits = 0): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(digits)} %` : '–';
}

// "3 m", "2 h 5 m", "12 s": at most two units.
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  if (seconds < 0) seconds = 0;
  if (seconds < 10 && seconds > 0 && !Number.isInteger(seconds)) return seconds < 0.001 ? '<1 ms' : seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  if (s < 120) return `${s} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} m` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 10 ? `${days} d ${hours % 24} h` : `${days} d`;
}

const two = (value: number): string => String(value).padStart(2, '0');
// The reader's own time of day; the whole date is in the title.
export function clock(time: Date): string {
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

export const isTime = (text: string | undefined): text is string => text !== undefined && text !== '' && !Number.isNaN(Date.parse(text));

// "gpu.example.com/model" is said as "model" where there is little room.
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

// For a table that goes into a spreadsheet: what begins like a formula is quoted, so that it is none.
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// gpu-2 comes before gpu-10.
const kNatural = new Intl.Collator('en', { numeric: true });
export const natural = (a: string, b: string): number => kNatural.compare(a, b);

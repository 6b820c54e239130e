// SPDX-License-Identifier: Apache-2.0
//
// Single keys, where nobody is typing. `g` and a letter go to a view.
import { signal } from '@preact/signals';
import { adjust, address, follow, route, type View } from './route';
import { claims, fleet } from './live';
import { keysOn, switchTheme } from './theme';
import { nextPending } from './views/pending';
import { closeSearch, openSearch, searching, typeEarly } from './views/search';

export const helping = signal(false);
export const notice = signal(''); // said for a moment

export const kGo: Record<string, View> = { f: 'fleet', c: 'claims', w: 'pending', i: 'whatif', u: 'usage', s: 'simulate', l: 'classes' };
export const kKeys: readonly [keys: string, what: string][] = [
  ['/', 'search everything'],
  ['g f, g c, g w, g i', 'fleet, claims, why not, what if'],
  ['g u, g s, g l', 'usage, simulation, classes'],
  ['arrows', 'next cell or row (in the fleet)'],
  ['Shift+arrows', 'next node'],
  ['+  −  0', 'zoom in, out, fit'],
  ['Enter', 'open'],
  ['Esc', 'close, back'],
  ['[  ]', 'previous, next pending pod'],
  ['w', 'what if the selection were deleted'],
  ['l', 'list instead of map'],
  ['y', 'copy a link to this'],
  ['t', 'dark or light'],
  ['?', 'this help'],
];

function say(text: string): void {
  notice.value = text;
  setTimeout(() => {
    if (notice.peek() === text) notice.value = '';
  }, 2500);
}

// What-if input stays in its tab, and the link says so.
export function copyLink(): void {
  const text = location.href;
  const beside = route.peek().view === 'whatif' ? ' What is typed in here is not in the link.' : '';
  navigator.clipboard.writeText(text).then(() => say(`Link copied.${beside}`), () => say('The browser does not allow copying here.'));
}

function whatIf(): void {
  const { query, view, parts } = route.peek();
  let gone = '';
  const known = fleet.peek();
  if (view === 'claims' && parts.length >= 2) gone = `claim/${parts[0]}/${parts[1]}`;
  else if (known && query.get('sel')) {
    const id = known.find(query.get('sel')!);
    const holder = id >= 0 ? claims.holdersOf(id)[0] : undefined;
    if (holder) gone = `claim/${holder.namespace}/${holder.name}`;
  }
  follow(address('whatif', [], { delete: gone }));
}

let prefix = -Infinity; // when `g` was pressed, as the events say: a page that is busy handles them later

const typing = (target: EventTarget | null): boolean => target instanceof HTMLElement && (target.isContentEditable || target.matches('textarea, select, input:not([type=range]):not([type=checkbox]):not([type=radio]):not([type=file])'));

export function startKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') {
      if (searching.peek()) closeSearch();
      else if (helping.peek()) helping.value = false;
      else if (typing(event.target)) (event.target as HTMLElement).blur();
      else if (route.peek().query.has('sel')) adjust({ sel: undefined });
      else if (route.peek().query.has('only')) adjust({ only: undefined });
      else if (route.peek().view === 'claims' && route.peek().parts.length > 0) history.back();
      else return;
      event.preventDefault();
      return;
    }
    if (typing(event.target)) return;
    if (searching.peek()) {
      if (event.key.length === 1) {
        event.preventDefault();
        typeEarly(event.key);
      }
      return;
    }
    if (event.key === '/') {
      event.preventDefault();
      openSearch();
      return;
    }
    if (!keysOn.peek()) return;
    if (event.timeStamp - prefix < 1200) {
      prefix = -Infinity;
      const view = Object.hasOwn(kGo, event.key) ? kGo[event.key] : undefined;
      if (view) {
        event.preventDefault();
        follow(address(view));
        return;
      }
    }
    const acts: Record<string, () => void> = {
      g: () => { prefix = event.timeStamp; },
      '?': () => { helping.value = !helping.peek(); },
      t: switchTheme,
      y: copyLink,
      w: whatIf,
      l: () => { if (route.peek().view === 'fleet') adjust({ view: route.peek().query.get('view') === 'list' ? undefined : 'list' }); },
      '[': () => nextPending(-1),
      ']': () => nextPending(1),
    };
    const zooms = ['+', '=', '-', '0'];
    if (zooms.includes(event.key)) {
      // To the map, wherever the focus is.
      const grid = document.querySelector<HTMLElement>('.map [role=grid]');
      if (!grid || grid === event.target) return;
      event.preventDefault();
      grid.dispatchEvent(new KeyboardEvent('keydown', { key: event.key, bubbles: false }));
      return;
    }
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    act();
  });
}

// SPDX-License-Identifier: Apache-2.0
//
// Where we are, as the address says it: /console/<view>[/<namespace>/<name>]?<state>. Going to another view is a step back in the
// browser's history; what changes the picture (zoom, filters) is not.
import { signal } from '@preact/signals';

export const kViews = ['fleet', 'claims', 'pending', 'whatif', 'usage', 'simulate', 'classes'] as const;
export type View = (typeof kViews)[number];
export const kTitles: Record<View, string> = { fleet: 'Fleet', claims: 'Claims', pending: 'Why not', whatif: 'What if', usage: 'Usage', simulate: 'Simulation', classes: 'Classes' };

export interface Route {
  view: View;
  parts: string[]; // behind the view
  query: URLSearchParams;
}

export function parse(path: string, search: string): Route {
  const parts = path.replace(/^\/console\/?/, '').split('/').filter((part) => part !== '').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const view = (kViews as readonly string[]).includes(parts[0] ?? '') ? (parts[0] as View) : 'fleet';
  return { view, parts: parts.slice(1), query: new URLSearchParams(search) };
}

export function address(view: View, parts: readonly string[] = [], query: Record<string, string | undefined> | URLSearchParams = {}): string {
  const made = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== '') made.set(key, value);
  const text = made.toString();
  return `/console/${[view, ...parts].map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export const route = signal<Route>({ view: 'fleet', parts: [], query: new URLSearchParams() });

export function startRouting(): void {
  route.value = parse(location.pathname, location.search);
  addEventListener('popstate', () => {
    route.value = parse(location.pathname, location.search);
  });
}
export function go(view: View, parts: readonly string[] = [], query: Record<string, string | undefined> = {}): void {
  follow(address(view, parts, query));
}
export function follow(href: string): void {
  if (href !== location.pathname + location.search) history.pushState(null, '', href);
  const url = new URL(href, location.href);
  route.value = parse(url.pathname, url.search);
}
// The same place, looking different.
export function adjust(changes: Record<string, string | undefined>): void {
  const { view, parts, query } = route.peek();
  const made = new URLSearchParams(query);
  let same = true;
  for (const [key, value] of Object.entries(changes)) {
    if ((made.get(key) ?? '') === (value ?? '')) continue;
    same = false;
    if (value === undefined || value === '') made.delete(key);
    else made.set(key, value);
  }
  if (same) return;
  history.replaceState(null, '', address(view, parts, made));
  route.value = { view, parts, query: made };
}

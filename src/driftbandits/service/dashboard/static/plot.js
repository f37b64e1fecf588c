/* global uPlot */
// One chart, drawn by uPlot. Charts share their zoom and their cursor; a reader points, or moves by arrow keys.
import { count, make, moment, named, number, timeLabel } from './format.js';
import { paintBand, paintFan, paintMarks, paintMoments } from './painting.js';
import { colour } from './palette.js';
import { zoomByHand, zoomKey } from './zoom.js';

const MOST_BANDS = 4, MOST_SAID = 12, FONT = '12px system-ui, sans-serif';
export const HALF_LABEL = 32; // beside the plot, in pixels: labels of the x axis stand centred below its ends
const WHOLE = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map(each => each * 10 ** power)).flat(); // half a Decision would be rounded
const shared = { key: 'driftbandits', setSeries: false };
export const seen = new IntersectionObserver(entries => { for (const each of entries) each.target.plot.show(each.isIntersecting); }, { rootMargin: '200px' });

// data: { axis, x, steps, times, series: [{ name, look, values, low, high, area, ahead, hidden, alpha }], ahead, moments, gaps }
export class Plot {
  // `rangeOf` series decide on the range, which may then be `stretch` times as high to show more of the others.
  constructor(label, zoom, { height = 210, format = number, atLeast = [], rangeOf = 99, stretch = 1 } = {}) {
    Object.assign(this, { left: 0, zoom, format, atLeast, rangeOf, stretch, data: null, visible: false, at: null, made: '', coming: null });
    this.height = () => height;
    this.box = make('div', { class: 'chart', tabindex: '0', role: 'img', 'aria-label': label });
    this.tip = make('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
    this.waiting = make('p', { class: 'empty', hidden: true }, 'Waiting for traffic.');
    this.box.append(this.waiting, this.tip);
    this.box.plot = this;
    this.box.addEventListener('keydown', event => this.key(event));
    this.box.addEventListener('blur', () => this.leave());
    this.box.addEventListener('pointerleave', () => this.leave());
    new ResizeObserver(() => this.draw()).observe(this.box);
    seen.observe(this.box);
    zoom.changed.push(() => this.soon());
  }

  // Gestures come more often than frames.
  soon() { this.coming ??= requestAnimationFrame(() => { this.coming = null; this.draw(); }); }

  show(visible) { this.visible = visible; if (visible) this.draw(); }

  update(data) { this.data = data; this.draw(); }

  // Charts out of sight wait: a page with twenty arms draws one or two at a time.
  draw() {
    const data = this.data, width = this.box.clientWidth;
    if (!data || !width || !this.visible) return;
    this.waiting.hidden = data.x.length > 1;
    if (this.u) this.u.root.hidden = data.x.length < 2;
    if (data.x.length < 2 || !this.zoom.range()) return;
    const made = JSON.stringify([data.axis, data.series.map(each => [each.name, each.look])]);
    const columns = [data.x, ...data.series.map(each => each.values)];
    if (made !== this.made) {
      this.made = made;
      this.u?.destroy();
      this.u = new uPlot(this.options(data, width), columns, this.box);
      this.u.root.setAttribute('aria-hidden', 'true');
      zoomByHand(this.zoom, this.u.over, place => this.u.posToVal(place - this.u.over.getBoundingClientRect().left, 'x'));
      return;
    }
    if (width !== this.u.width || this.height(data) !== this.u.height) this.u.setSize({ width, height: this.height(data) });
    data.series.forEach((each, index) => { this.u.series[index + 1].show = !each.hidden; this.u.series[index + 1].alpha = each.alpha ?? 1; });
    this.u.setData(columns);
    if (this.at !== null) this.read();
  }

  options(data, width) {
    const line = { stroke: () => colour('--soft'), font: FONT, grid: { stroke: () => colour('--line'), width: 1 }, ticks: { show: false } };
    return {
      width, height: this.height(data), padding: [6, HALF_LABEL, 0, this.left], legend: { show: false },
      cursor: { sync: shared, drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
      scales: { x: { time: data.axis === 'time', range: () => this.zoom.range() }, y: { range: () => this.range() } },
      axes: [
        { ...line, space: 62, size: 26, gap: 4, values: (u, splits, axis, space, step) => splits.map(each => (data.axis === 'time' ? timeLabel(each, step) : count(each))) },
        { ...line, size: 56, gap: 5, space: 34, ...(this.format === count ? { incrs: WHOLE } : {}), values: (u, splits) => splits.map(each => this.format(each)), ...this.sideAxis(data) },
      ],
      series: [{}, ...data.series.map(each => ({ scale: 'y', show: !each.hidden, alpha: each.alpha ?? 1, width: 1.8, stroke: () => colour(each.look.colour), dash: each.look.dash, points: { show: false }, ...this.path() }))],
      hooks: {
        drawClear: [u => this.behind(u)],
        draw: [u => this.before(u)],
        setCursor: [u => this.pointed(u)],
        setSelect: [u => {
          if (u.select.width > 4) this.zoom.set(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    };
  }

  sideAxis() { return {}; }
  path() { return {}; }
  visibleSeries() { return this.data.series.filter(each => !each.hidden); }

  // Twenty bands are mud: they are drawn for few arms, or for the one that is looked at.
  banded() {
    const shown = this.visibleSeries().filter(each => each.low), looked = shown.filter(each => (each.alpha ?? 1) === 1);
    return looked.length <= MOST_BANDS ? looked : [];
  }

  behind(u) {
    const data = this.data;
    paintMoments(u, data.moments, data.gaps);
    for (const each of this.banded()) paintBand(u, data.x, each.low, each.high, each.look.colour, .17);
    for (const each of this.visibleSeries()) if (each.area) paintBand(u, data.x, each.values.map(value => value === null ? null : 0), each.values, each.look.colour, .2);
    if (data.ahead) paintFan(u, data.ahead, this.visibleSeries().filter(each => each.ahead && (each.alpha ?? 1) === 1));
  }

  before(u) { paintMarks(u, this.data.x, this.visibleSeries()); }

  // The lines that are in sight decide; bands, which are wide at first, may be cut off a quarter of the range beyond them.
  range() {
    const data = this.data, [from, to] = this.zoom.range();
    let first = data.x.findIndex(value => value >= from), last = data.x.length - 1;
    while (last > 0 && data.x[last] > to) last--;
    first = Math.max(Math.min(first < 0 ? last : first, last) - 1, 0);
    const extent = (columns, [low, high]) => {
      for (const column of columns) if (column) for (let index = first; index <= last + 1 && index < column.length; index++) {
        const value = column[index];
        if (value !== null && value !== undefined) { if (value < low) low = value; if (value > high) high = value; }
      }
      return [low, high];
    };
    const series = this.visibleSeries(), none = [Infinity, -Infinity];
    const ends = data.ahead ? series.filter(each => each.ahead).flatMap(each => each.ahead.mean).filter(value => value !== null) : [];
    let [low, high] = extent(series.slice(0, this.rangeOf).map(each => each.values), [Math.min(Infinity, ...this.atLeast, ...ends), Math.max(-Infinity, ...this.atLeast, ...ends)]);
    if (!Number.isFinite(low)) return [0, 1];
    const size = high - low || Math.abs(high) || 1, others = extent(series.slice(this.rangeOf).map(each => each.values), none);
    const bands = extent(this.banded().flatMap(each => [each.low, each.high]), none);
    if (Number.isFinite(others[1])) high = Math.min(Math.max(high, others[1]), low + this.stretch * size);
    if (Number.isFinite(bands[0])) { low = Math.max(Math.min(low, bands[0]), low - size / 4); high = Math.min(Math.max(high, bands[1]), high + size / 4); }
    if (low === high) return low === 0 ? [0, 1] : [low - size / 2, high + size / 2];
    const pad = .04 * (high - low);
    return [low === 0 ? 0 : low - pad, high === 0 ? 0 : high + pad];
  }

  // Reading a row, by pointer or by arrow keys

  pointed(u) {
    if (this.at === null && u.cursor.left >= 0 && this.box.matches(':hover')) this.tell(u.cursor.idx, u.cursor.left);
  }

  key(event) {
    if (zoomKey(this.zoom, event)) { event.preventDefault(); return; }
    if (event.key === 'Escape') this.leave();
    const move = { ArrowLeft: 1, ArrowRight: -1, Home: Infinity, End: -Infinity }[event.key];
    if (move === undefined || !this.data || this.data.x.length < 2) return;
    event.preventDefault();
    this.at = Math.min(Math.max((this.at ?? 0) + move, 0), this.data.x.length - 1);
    this.read();
    document.getElementById('reading').textContent = this.tip.innerText;
  }

  // The row that the keyboard is at, counted from the newest, as new ones come.
  read() {
    const index = Math.max(this.data.x.length - 1 - this.at, 0), left = this.u.valToPos(this.data.x[index], 'x');
    this.u.setCursor({ left, top: 10 }, true, true);
    this.tell(index, left);
  }

  leave() {
    if (this.at !== null) this.u?.setCursor({ left: -10, top: -10 }, true, true);
    this.at = null;
    this.tip.hidden = true;
  }

  tell(index, left) {
    const data = this.data;
    if (index === null || index === undefined || index >= data.x.length) return;
    const said = this.values(data, index), happened = data.moments.filter(each => Math.abs(this.u.valToPos(each.x, 'x') - left) < 6);
    this.tip.replaceChildren(make('b', {}, `step ${count(data.steps[index])}, ${moment(data.times[index])}`), ...said.slice(0, MOST_SAID),
      ...(said.length > MOST_SAID ? [make('div', {}, `and ${said.length - MOST_SAID} more`)] : []), ...happened.map(each => make('div', { class: 'happened' }, ...each.words())));
    this.tip.hidden = false;
    const x = left + this.u.bbox.left / devicePixelRatio, width = this.box.clientWidth, right = x < width / 2;
    this.tip.style.left = right ? `${x + 12}px` : 'auto';
    this.tip.style.right = right ? 'auto' : `${width - x + 12}px`;
  }

  // The largest first.
  values(data, index) {
    const value = each => each.values[index] ?? null;
    const known = this.visibleSeries().filter(each => value(each) !== null).sort((one, other) => value(other) - value(one));
    return known.map(each => {
      const band = each.low && each.low[index] !== null ? ` (${this.format(each.low[index])} to ${this.format(each.high[index])})` : '';
      return make('div', {}, named(each.name), `: ${this.format(value(each))}${band}`);
    });
  }
}

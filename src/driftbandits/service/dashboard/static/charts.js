// Charts as SVG, drawn anew whenever the data or the width changes: rows are few, so that takes a few milliseconds.
import { count, make, moment, number, ticks, timeTicks } from './format.js';

const LEFT = 52, RIGHT = 12, TOP = 8, BOTTOM = 24;

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function swatch(kind) {
  return svg('svg', { viewBox: '0 0 30 12', 'aria-hidden': 'true' }, svg('path', { class: `curve ${kind}`, d: 'M1 6H29' }));
}

let clips = 0;
const zeros = values => values.map(value => value === null ? null : 0);
const round = value => Math.round(10 * value) / 10;

// A line through the points that are known, broken where they are not.
function path(xs, ys, x, y) {
  let found = '', pen = 'M';
  for (let index = 0; index < xs.length; index++) {
    if (ys[index] === null) { pen = 'M'; continue; }
    const alone = pen === 'M' && (index + 1 === xs.length || ys[index + 1] === null);
    found += `${pen}${round(x(xs[index]))} ${round(y(ys[index]))}${alone ? 'h.1' : ''}`;
    pen = 'L';
  }
  return found;
}

function bandPath(xs, low, high, x, y) {
  let found = '';
  for (let start = 0; start < xs.length; start++) {
    if (low[start] === null) continue;
    let end = start;
    while (end + 1 < xs.length && low[end + 1] !== null) end++;
    for (let index = start; index <= end; index++) found += `${index === start ? 'M' : 'L'}${round(x(xs[index]))} ${round(y(high[index]))}`;
    for (let index = end; index >= start; index--) found += `L${round(x(xs[index]))} ${round(y(low[index]))}`;
    found += 'Z';
    start = end;
  }
  return found;
}

// One chart in a box. `draw` is given the data and the places; `values` tells what a reader sees at one row.
class Chart {
  constructor(label, height) {
    this.height = height;
    this.box = make('div', { class: 'chart', tabindex: '0', role: 'img', 'aria-label': label });
    this.tip = make('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
    this.data = null;
    this.at = null;
    this.box.addEventListener('pointermove', event => this.point(event.clientX - this.box.getBoundingClientRect().left));
    this.box.addEventListener('pointerleave', () => this.leave());
    this.box.addEventListener('blur', () => this.leave());
    this.box.addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  update(data) { this.data = data; this.draw(); }

  draw() {
    const data = this.data, width = this.box.clientWidth;
    if (!data || !width) return;
    if (data.x.length < 2) {
      this.box.replaceChildren(make('p', { class: 'empty' }, 'Waiting for traffic.'));
      return;
    }
    const first = data.x[0], last = data.x[data.x.length - 1];
    this.x = value => LEFT + (value - first) / (last - first || 1) * (width - LEFT - RIGHT);
    const height = this.height(data);
    this.root = svg('svg', { height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    this.xAxis(data, first, last, width, height);
    this.content(data, width, height);
    this.cross = svg('path', { class: 'cross', d: '' });
    this.root.append(this.cross);
    this.box.replaceChildren(this.root, this.tip);
    if (this.at !== null) this.show();
  }

  xAxis(data, first, last, width, height) {
    const most = Math.max(2, Math.floor((width - LEFT) / (data.axis === 'time' ? 70 : 88)));
    const found = data.axis === 'time' ? timeTicks(first, last, most) : ticks(first, last, most).map(at => [at, count(at)]);
    for (const [at, label] of found) {
      const x = this.x(at);
      const anchor = x > width - 34 ? 'end' : 'middle';
      this.root.append(svg('path', { class: 'grid-line', d: `M${round(x)} ${TOP}V${height - BOTTOM}` }));
      const text = svg('text', { x: anchor === 'end' ? width - 2 : round(x), y: height - 7, 'text-anchor': anchor });
      text.textContent = label;
      this.root.append(text);
    }
  }

  yAxis(low, high, y, width, format, most = 5) {
    for (const at of ticks(low, high, most)) {
      this.root.append(svg('path', { class: at === 0 ? 'zero' : 'grid-line', d: `M${LEFT} ${round(y(at))}H${width - RIGHT}` }));
      const text = svg('text', { x: LEFT - 7, y: round(y(at)) + 4, 'text-anchor': 'end' });
      text.textContent = format(at);
      this.root.append(text);
    }
  }

  // Reading a row, by pointer or by arrow keys

  point(left) {
    if (!this.data || this.data.x.length < 2) return;
    let best = 0;
    this.data.x.forEach((value, index) => { if (Math.abs(this.x(value) - left) <= Math.abs(this.x(this.data.x[best]) - left)) best = index; });
    this.at = this.data.x.length - 1 - best;
    this.show();
  }

  key(event) {
    const move = { ArrowLeft: 1, ArrowRight: -1, Home: Infinity, End: -Infinity }[event.key];
    if (event.key === 'Escape') this.leave();
    if (move === undefined || !this.data || this.data.x.length < 2) return;
    event.preventDefault();
    this.at = Math.min(Math.max((this.at ?? 0) + move, 0), this.data.x.length - 1);
    this.show();
  }

  leave() {
    this.at = null;
    this.tip.hidden = true;
    if (this.cross) this.cross.setAttribute('d', '');
  }

  show() {
    const data = this.data, index = Math.max(data.x.length - 1 - this.at, 0), x = this.x(data.x[index]);
    this.cross.setAttribute('d', `M${round(x)} ${TOP}V${this.root.viewBox.baseVal.height - BOTTOM}`);
    this.tip.replaceChildren(make('b', {}, `step ${count(data.steps[index])}, ${moment(data.times[index])}`),
      ...this.values(data, index).map(line => make('div', {}, line)));
    this.tip.hidden = false;
    const width = this.box.clientWidth, right = x < width / 2;
    this.tip.style.left = right ? `${x + 10}px` : 'auto';
    this.tip.style.right = right ? 'auto' : `${width - x + 10}px`;
  }
}

// Lines over one scale. data: { x, axis, steps, times, series: [{ name, kind, values, low, high, area }] }
export class Lines extends Chart {
  // `rangeOf` series decide on the range, which may then be `stretch` times as high to show more of the others.
  constructor(label, { height = 200, format = number, atLeast = [], rangeOf = 99, stretch = 1 } = {}) {
    super(label, () => height);
    Object.assign(this, { format, atLeast, rangeOf, stretch });
  }

  content(data, width, height) {
    const [low, high] = this.range(data);
    const y = value => height - BOTTOM - (value - low) / (high - low) * (height - BOTTOM - TOP);
    this.yAxis(low, high, y, width, this.format);
    const clip = `clip-${++clips}`, inside = svg('g', { 'clip-path': `url(#${clip})` });
    const frame = svg('rect', { x: LEFT, y: TOP - 2, width: Math.max(width - LEFT - RIGHT, 0), height: height - BOTTOM - TOP + 4 });
    this.root.append(svg('clipPath', { id: clip }, frame), inside);
    for (const each of data.series) {
      if (each.low) inside.append(svg('path', { class: `band ${each.kind}`, d: bandPath(data.x, each.low, each.high, this.x, y) }));
      if (each.area) inside.append(svg('path', { class: `band ${each.kind}`, d: bandPath(data.x, zeros(each.values), each.values, this.x, y) }));
    }
    for (const each of data.series) inside.append(svg('path', { class: `curve ${each.kind}`, d: path(data.x, each.values, this.x, y) }));
  }

  // The lines decide; bands, which are wide at first, may be cut off a quarter of the range beyond them.
  range(data) {
    const all = columns => columns.filter(Boolean).flat().filter(value => value !== null);
    const lines = all(data.series.slice(0, this.rangeOf).map(each => each.values)), bands = all(data.series.flatMap(each => [each.low, each.high]));
    let low = Math.min(...lines, ...this.atLeast), high = Math.max(...lines, ...this.atLeast);
    if (!Number.isFinite(low)) return [0, 1];
    const size = high - low || Math.abs(high) || 1;
    const others = all(data.series.slice(this.rangeOf).map(each => each.values));
    if (others.length) high = Math.min(Math.max(high, ...others), low + this.stretch * size);
    if (bands.length) { low = Math.max(Math.min(low, ...bands), low - size / 4); high = Math.min(Math.max(high, ...bands), high + size / 4); }
    if (low === high) return low === 0 ? [0, 1] : [low - size / 2, high + size / 2];
    const pad = .04 * (high - low);
    return [low === 0 ? 0 : low - pad, high === 0 ? 0 : high + pad];
  }

  values(data, index) {
    return data.series.map(each => {
      const known = each.low && each.low[index] !== null;
      return `${each.name}: ${this.format(each.values[index])}${known ? ` (${this.format(each.low[index])} to ${this.format(each.high[index])})` : ''}`;
    });
  }
}

// A lane for each arm: its share of traffic as an area, hatched where it was snoozed.
export class Lanes extends Chart {
  constructor(label) { super(label, data => TOP + BOTTOM + data.series.length * this.lane(data)); }

  lane(data) { return data.series.length > 4 ? 44 : 62; }

  content(data, width, height) {
    const lane = this.lane(data);
    const hatch = svg('pattern', { id: 'hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('path', { class: 'hatch-line', d: 'M0 0V7' }));
    this.root.append(svg('defs', {}, hatch));
    data.series.forEach((each, place) => {
      const top = TOP + place * lane + 17, bottom = TOP + (place + 1) * lane - 5;
      const y = value => bottom - value * (bottom - top);
      this.root.append(svg('rect', { class: 'lane', x: LEFT, y: top, width: width - LEFT - RIGHT, height: bottom - top }));
      this.root.append(svg('path', { class: `area ${each.kind}`, d: bandPath(data.x, zeros(each.values), each.values, this.x, y) }));
      for (const [from, to, share] of spans(each.snoozed)) {
        const left = this.x(data.x[Math.max(from - 1, 0)]), right = this.x(data.x[to]);
        this.root.append(svg('rect', { class: 'snooze', x: round(left), y: top, width: Math.max(round(right - left), 1.5), height: bottom - top, opacity: Math.max(round(share), .3) }));
      }
      const name = svg('text', { class: 'name', x: LEFT, y: top - 4 });
      const room = Math.floor((width - LEFT - 10) / 7.5);
      name.textContent = each.name.length > room ? each.name.slice(0, room - 1) + '…' : each.name;
      this.root.append(name);
      for (const [share, label] of [[0, '0'], [1, '100 %']]) {
        const text = svg('text', { x: LEFT - 7, y: round(y(share)) + (share ? 8 : 1), 'text-anchor': 'end' });
        text.textContent = label;
        this.root.append(text);
      }
    });
  }

  values(data, index) {
    return data.series.map(each => `${each.name}: ${each.values[index] === null ? '–' : Math.round(100 * each.values[index]) + ' %'}${each.snoozed[index] > 0 ? ', snoozed' : ''}`);
  }
}

// Stretches of rows in which an arm was snoozed, and for what share of them.
function spans(snoozed) {
  const found = [];
  snoozed.forEach((share, index) => {
    if (!share) return;
    const last = found[found.length - 1];
    if (last && last[1] === index - 1 && Math.abs(last[2] - share) < .15) last[1] = index;
    else found.push([index, index, share]);
  });
  return found;
}

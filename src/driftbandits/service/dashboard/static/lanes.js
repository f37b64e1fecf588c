// A lane for each arm: its share of traffic as an area, hatched where it was snoozed.
import { make, named, percent, shownName } from './format.js';
import { colour } from './palette.js';
import { paintMoments } from './painting.js';
import { HALF_LABEL, Plot } from './plot.js';

const STRIP = 12; // above the lanes, for the marks of what happened: names would hide them

export class Lanes extends Plot {
  constructor(label, zoom) {
    super(label, zoom, { format: percent });
    this.left = HALF_LABEL;
    this.names = make('div', { class: 'lane-names', 'aria-hidden': 'true' });
    this.height = data => 34 + STRIP + this.visibleIn(data).length * this.lane(data);
  }

  visibleIn(data) { return data.series.filter(each => !each.hidden); }
  lane(data) { return data.series.length > 8 ? 34 : data.series.length > 4 ? 44 : 58; }
  range() { return [0, 1]; }
  sideAxis() { return { show: false, size: 0 }; }
  path() { return { paths: () => null }; }

  draw() {
    super.draw();
    if (!this.u || !this.data) return;
    if (!this.names.isConnected) this.u.root.before(this.names);
    const lane = this.lane(this.data), key = JSON.stringify([lane, this.visibleIn(this.data).map(each => each.name)]);
    this.names.hidden = this.data.x.length < 2;
    if (this.names.dataset.key === key) return;
    this.names.dataset.key = key;
    this.names.replaceChildren(...this.visibleIn(this.data).map((each, place) => {
      const label = make('span', {}, named(each.name));
      label.style.top = `${6 + STRIP + place * lane}px`;
      return label;
    }));
  }

  behind() {}

  // The names, for a picture whose canvas they are no part of.
  writeNames(context, down, ratio) {
    this.visibleIn(this.data).forEach((each, place) => context.fillText(shownName(each.name), (HALF_LABEL + 3) * ratio, down + (18 + STRIP + place * this.lane(this.data)) * ratio, 200 * ratio));
  }

  before(u) {
    const { ctx, bbox } = u, ratio = devicePixelRatio, data = this.data, lane = this.lane(data) * ratio, x = value => u.valToPos(value, 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, 0, bbox.width, ctx.canvas.height);
    ctx.clip();
    this.visibleIn(data).forEach((each, place) => {
      const begin = bbox.top + STRIP * ratio + place * lane, top = begin + 16 * ratio, bottom = begin + lane - 3 * ratio, y = value => bottom - value * (bottom - top);
      ctx.globalAlpha = each.alpha ?? 1;
      ctx.fillStyle = colour('--lane');
      ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
      ctx.fillStyle = colour(each.look.colour);
      ctx.globalAlpha *= .6;
      for (let start = 0; start < data.x.length; start++) {
        if (each.values[start] === null) continue;
        let end = start;
        while (end + 1 < data.x.length && each.values[end + 1] !== null) end++;
        ctx.beginPath();
        ctx.moveTo(x(data.x[start]), bottom);
        for (let index = start; index <= end; index++) ctx.lineTo(x(data.x[index]), y(each.values[index]));
        ctx.lineTo(x(data.x[end]), bottom);
        ctx.fill();
        start = end;
      }
      ctx.globalAlpha = 1;
      for (const [from, to, share] of spans(each.snoozed)) hatch(ctx, x(data.x[Math.max(from - 1, 0)]), top, x(data.x[to]), bottom, Math.max(share, .3), ratio);
    });
    ctx.restore();
    paintMoments(u, data.moments, data.gaps);
  }
}

function hatch(ctx, left, top, right, bottom, opacity, ratio) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, Math.max(right - left, 1.5 * ratio), bottom - top);
  ctx.clip();
  ctx.strokeStyle = colour('--hatch');
  ctx.globalAlpha = opacity;
  ctx.lineWidth = 2 * ratio;
  ctx.setLineDash([]);
  ctx.beginPath();
  const height = bottom - top, gap = 8 * ratio;
  for (let at = Math.floor((left - height) / gap) * gap; at < right; at += gap) { ctx.moveTo(at, bottom); ctx.lineTo(at + height, top); }
  ctx.stroke();
  ctx.restore();
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

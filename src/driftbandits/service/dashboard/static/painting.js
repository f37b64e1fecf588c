// What a chart shows besides its lines: bands, the fan ahead, marks on the lines, moments of the timeline, stretches without traffic.
import { colour, markPath } from './palette.js';

const EVERY = 110, SIZE = 4;

function clipped(u, paint, room = 0) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - room, bbox.top - room, bbox.width + 2 * room, bbox.height + 2 * room);
  ctx.clip();
  paint(ctx);
  ctx.restore();
}

const places = u => [value => u.valToPos(value, 'x', true), value => u.valToPos(value, 'y', true)];

// An area between two columns, broken where they are not known.
export function paintBand(u, xs, low, high, name, opacity) {
  const [x, y] = places(u);
  clipped(u, ctx => {
    ctx.fillStyle = colour(name);
    ctx.globalAlpha = opacity;
    for (let start = 0; start < xs.length; start++) {
      if (low[start] === null || high[start] === null) continue;
      let end = start;
      while (end + 1 < xs.length && low[end + 1] !== null && high[end + 1] !== null) end++;
      ctx.beginPath();
      for (let index = start; index <= end; index++) ctx.lineTo(x(xs[index]), y(high[index]));
      for (let index = end; index >= start; index--) ctx.lineTo(x(xs[index]), y(low[index]));
      ctx.fill();
      start = end;
    }
  });
}

// Where now is, and from there on the expected mean with its band.
export function paintFan(u, ahead, series) {
  const [x, y] = places(u), { ctx, bbox } = u, ratio = devicePixelRatio;
  clipped(u, () => {
    ctx.strokeStyle = colour('--soft');
    ctx.lineWidth = ratio;
    ctx.setLineDash([ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x(ahead.now), bbox.top);
    ctx.lineTo(x(ahead.now), bbox.top + bbox.height);
    ctx.stroke();
    for (const each of series) {
      ctx.strokeStyle = colour(each.look.colour);
      ctx.lineWidth = 1.4 * ratio;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      each.ahead.mean.forEach((value, index) => { if (value !== null) ctx.lineTo(x(ahead.x[index]), y(value)); });
      ctx.stroke();
    }
  });
  for (const each of series) paintBand(u, ahead.x, each.ahead.low, each.ahead.high, each.look.colour, .16);
}

// Marks along the lines, each arm's at places of its own.
export function paintMarks(u, xs, series) {
  const [x, y] = places(u), ratio = devicePixelRatio, left = u.bbox.left, right = left + u.bbox.width;
  clipped(u, ctx => {
    series.forEach((each, place) => {
      if (!each.look.mark) return;
      ctx.fillStyle = colour(each.look.colour);
      ctx.globalAlpha = each.alpha ?? 1;
      let next = left + (place * 37 % EVERY) * ratio + 6;
      for (let index = 0; index < xs.length; index++) {
        const at = x(xs[index]);
        if (at < next || at > right || each.values[index] === null || each.values[index] === undefined) continue;
        ctx.beginPath();
        markPath(ctx, each.look.mark, at, y(each.values[index]), 3.1 * ratio);
        ctx.fill();
        next = at + EVERY * ratio;
      }
    });
  }, 4 * ratio); // a mark at the edge is drawn whole
}

// Where a mark is drawn whole that would be cut at the edge; one that is out of sight stays there.
export const whole = (at, left, right, size) => at <= left - size || at >= right + size ? at : Math.min(Math.max(at, left + size), right - size);

// Lines for what happened, a triangle on top; and a veil where nothing came for long.
export function paintMoments(u, moments, gaps) {
  const [x] = places(u), { bbox } = u, ratio = devicePixelRatio;
  clipped(u, ctx => {
    ctx.fillStyle = colour('--hatch');
    ctx.globalAlpha = .16;
    for (const [from, to] of gaps) ctx.fillRect(x(from), bbox.top, x(to) - x(from), bbox.height);
    for (const each of moments) {
      const at = whole(x(each.x), bbox.left, bbox.left + bbox.width, SIZE * ratio), name = each.kind === 'alarm' ? '--bad' : '--soft';
      ctx.strokeStyle = ctx.fillStyle = colour(name);
      ctx.globalAlpha = each.kind === 'alarm' ? .9 : .55;
      ctx.lineWidth = ratio;
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.beginPath();
      markPath(ctx, each.kind === 'alarm' ? 'diamond' : 'triangle', at, bbox.top + 5 * ratio, 3.5 * ratio);
      ctx.fill();
    }
  });
}

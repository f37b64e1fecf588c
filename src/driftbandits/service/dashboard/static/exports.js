// A figure as a file: a picture with its title and legend, or its numbers.
import { shownName } from './format.js';
import { colour, markPath } from './palette.js';

const heading = () => document.getElementById('title').textContent;

function save(blob, figure, kind) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = `${heading()} ${figure.title}`.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 100).replace(/^-|-$/g, '').toLowerCase() + kind;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// What is in sight, one line a row: step, time, and each arm's numbers.
export function saveCsv(figure, [from, to]) {
  const data = figure.last, columns = [['step', data.steps], ['time', data.times.map(each => new Date(1000 * each).toISOString())]];
  for (const each of data.series) {
    columns.push([each.name, each.values]);
    if (each.low) columns.push([`${each.name} low`, each.low], [`${each.name} high`, each.high]);
  }
  const lines = [columns.map(([name]) => name), ...data.x.flatMap((x, row) => (x >= from && x <= to ? [columns.map(([, values]) => values[row])] : []))];
  save(new Blob(['\ufeff', lines.map(line => line.map(field).join(',') + '\r\n').join('')], { type: 'text/csv' }), figure, '.csv');
}

// Text that begins as a formula would is kept from being one.
function field(value) {
  if (typeof value === 'number') return String(value);
  const text = String(value ?? ''), safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function savePng(figure) {
  const plot = figure.chart.u, drawn = plot.ctx.canvas, ratio = devicePixelRatio, series = figure.last.series.filter(each => !each.hidden);
  const canvas = document.createElement('canvas'), context = canvas.getContext('2d'), width = drawn.width, font = size => `${size * ratio}px system-ui, sans-serif`;
  context.font = font(12);
  const places = [];
  let x = 16 * ratio, y = 0;
  for (const each of series) {
    const room = context.measureText(shownName(each.name)).width + 56 * ratio;
    if (x > 16 * ratio && x + room > width) { x = 16 * ratio; y += 20 * ratio; }
    places.push([x, y]);
    x += room;
  }
  const top = 54 * ratio;
  canvas.width = width;
  canvas.height = top + drawn.height + y + 34 * ratio;
  context.fillStyle = colour('--card');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = colour('--ink');
  context.font = `600 ${font(15)}`;
  context.fillText(`${heading()}: ${figure.title}`, 16 * ratio, 24 * ratio, width - 32 * ratio);
  context.font = font(12);
  context.fillStyle = colour('--soft');
  context.fillText(figure.unit, 16 * ratio, 43 * ratio, width - 32 * ratio);
  context.drawImage(drawn, 0, top);
  context.fillStyle = colour('--ink');
  figure.chart.writeNames?.(context, top, ratio);
  series.forEach((each, index) => {
    const [left, down] = places[index], middle = top + drawn.height + down + 16 * ratio;
    context.strokeStyle = context.fillStyle = colour(each.look.colour);
    context.lineWidth = 2 * ratio;
    context.setLineDash(each.look.dash.map(part => part * ratio));
    context.beginPath();
    context.moveTo(left, middle);
    context.lineTo(left + 30 * ratio, middle);
    context.stroke();
    context.setLineDash([]);
    if (each.look.mark) { context.beginPath(); markPath(context, each.look.mark, left + 15 * ratio, middle, 3.5 * ratio); context.fill(); }
    context.fillStyle = colour('--ink');
    context.fillText(shownName(each.name), left + 37 * ratio, middle + 4 * ratio, width - left - 40 * ratio);
  });
  canvas.toBlob(blob => save(blob, figure, '.png'), 'image/png');
}

// How each arm looks: one of 8 colours, 3 kinds of line and 5 marks. Two of the first 24 arms that share line and mark have
// colours that all eyes can tell apart; tests/service/test_dashboard_colours.py computes it.
import { make } from './format.js';

const DASHES = [[], [7, 4], [2, 3]];
const MARKS = ['circle', 'square', 'triangle', 'diamond', 'cross'];

export const lookOf = arm => ({ colour: `--c${arm % 8}`, dash: DASHES[Math.floor(arm / 8) % 3], mark: MARKS[arm % 5] });
export const PLAIN = { colour: '--ink', dash: [] };
export const LIMIT = { colour: '--c1', dash: [7, 4] };

// A canvas knows no CSS variables: what one is now, light or dark.
const probe = make('i', { class: 'probe', 'aria-hidden': 'true' });
const known = new Map();
export function colour(name) {
  if (!known.has(name)) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  return known.get(name);
}
export function repaint() { known.clear(); }

// The mark of an arm, as a path around a point.
export function markPath(path, mark, x, y, size) {
  if (mark === 'circle') path.arc(x, y, size, 0, 7);
  else if (mark === 'square') path.rect(x - size * .9, y - size * .9, 1.8 * size, 1.8 * size);
  else if (mark === 'triangle') corners(path, [[x, y - 1.2 * size], [x + 1.2 * size, y + size], [x - 1.2 * size, y + size]]);
  else if (mark === 'diamond') corners(path, [[x, y - 1.4 * size], [x + 1.2 * size, y], [x, y + 1.4 * size], [x - 1.2 * size, y]]);
  else {
    const thin = .42 * size;
    corners(path, [[-thin, -1.2 * size], [thin, -1.2 * size], [thin, -thin], [1.2 * size, -thin], [1.2 * size, thin], [thin, thin],
      [thin, 1.2 * size], [-thin, 1.2 * size], [-thin, thin], [-1.2 * size, thin], [-1.2 * size, -thin], [-thin, -thin]].map(([dx, dy]) => [x + dx, y + dy]));
  }
}

function corners(path, points) {
  points.forEach(([x, y], index) => (index ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

// A bit of its line with its mark, for legends and tables.
export function swatch(look) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const shape = (tag, attributes) => {
    const child = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) child.setAttribute(name, value);
    child.style.color = `var(${look.colour})`;
    element.append(child);
  };
  element.setAttribute('viewBox', '0 0 34 12');
  element.setAttribute('aria-hidden', 'true');
  element.setAttribute('class', 'swatch');
  shape('path', { d: 'M1 6H33', fill: 'none', stroke: 'currentColor', 'stroke-width': 2, 'stroke-dasharray': look.dash.join(' ') || 'none' });
  if (look.mark) {
    const drawn = [];
    markPath({
      arc: (x, y, size) => drawn.push(`M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0`),
      rect: (x, y, width, height) => drawn.push(`M${x} ${y}h${width}v${height}h${-width}Z`),
      moveTo: (x, y) => drawn.push(`M${x} ${y}`), lineTo: (x, y) => drawn.push(`L${x} ${y}`), closePath: () => drawn.push('Z'),
    }, look.mark, 17, 6, 3.6);
    shape('path', { d: drawn.join(''), fill: 'currentColor' });
  }
  return element;
}

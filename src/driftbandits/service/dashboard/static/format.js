// Numbers and times for people, and elements made without any markup: what users typed is text and nothing else.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

export const count = value => value === null ? '–' : Math.round(value).toLocaleString('en');

export function number(value, digits = 3) {
  if (value === null || value === undefined) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return String(Number(value.toPrecision(digits)).toExponential()).replace('e+', 'e').replaceAll('-', '−');
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(decimals, 6) }).replace('-', '−');
}

export const signed = value => value === null || value === undefined ? '–' : (value > 0 ? '+' : '') + number(value);

export const percent = value => value === null || value === undefined ? '–'
  : (100 * value).toFixed(value > 0 && value < .1 ? 1 : 0) + ' %';

export function seconds(value) {
  if (value === null) return '–';
  if (value < 1) return `${Math.round(1000 * value)} ms`;
  if (value < 120) return `${number(value)} s`;
  return value < 7200 ? `${number(value / 60)} min` : `${number(value / 3600)} h`;
}

export const interval = (low, high) => low === null ? '–' : `${number(low)} to ${number(high)}`;

// So large a share of Decisions without a reward is told where it may bias what is shown.
export const MANY = .2;

const two = value => String(value).padStart(2, '0');

export function clock(time) {
  const at = new Date(1000 * time);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function moment(time) {
  const at = new Date(1000 * time);
  const today = at.toDateString() === new Date().toDateString();
  return (today ? '' : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} `) + clock(time);
}

// Without seconds, for lists.
export const day = time => `${timeLabel(time, 86400)} ${clock(time).slice(0, 5)}`;

// Names that people gave: in a direction of their own, and never invisible.

const SEEN = /[^\s\p{C}\p{Z}\u115f\u1160\u2800\u3164\uffa0]/u;

const TURNS = /[\u202a-\u202e\u2066-\u2069]/g; // they would turn the text around

export function shownName(name) {
  if (SEEN.test(name)) return name.replace(TURNS, each => `⟨U+${each.codePointAt(0).toString(16).toUpperCase()}⟩`);
  const points = [...new Set([...name].map(each => `U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`))];
  return `(blank: ${[...name].length} × ${points.slice(0, 3).join(', ')})`;
}

export const named = name => make('bdi', { title: shownName(name), class: SEEN.test(name) ? null : 'blank' }, shownName(name));

// The same within a sentence of plain text: between isolates, where it could turn what stands around it.
export const quoted = name => (/^[ -~]*$/.test(name) ? shownName(name) : `\u2068${shownName(name)}\u2069`);

// Seconds ago, for people.
export function ago(time, now = Date.now() / 1000) {
  const past = Math.max(0, now - time);
  if (past < 60) return 'just now';
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  return past < 2 * 86400 ? `${Math.floor(past / 3600)} h ago` : `${Math.floor(past / 86400)} days ago`;
}

// Labels of a time axis whose ticks are `step` seconds apart.
export function timeLabel(time, step) {
  const when = new Date(1000 * time);
  if (step >= 86400) return `${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  if (step < 1) return `${(when.getSeconds() + when.getMilliseconds() / 1000).toFixed(3)} s`; // of the minute
  const short = step >= 60 ? clock(time).slice(0, 5) : clock(time);
  return step >= 3600 && short === '00:00' ? `${two(when.getMonth() + 1)}-${two(when.getDate())}` : short;
}

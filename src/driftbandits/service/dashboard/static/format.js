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

// Ticks

export function ticks(low, high, most) {
  const raw = (high - low) / Math.max(most, 1);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= raw * .999);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index++) found.push(index * step);
  return found.map(value => Number(value.toPrecision(12)));
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

export function timeTicks(low, high, most) {
  const step = STEPS.find(each => (high - low) / each <= most) || 31536000;
  const offset = new Date(1000 * low).getTimezoneOffset() * 60;
  const found = [];
  for (let at = Math.ceil((low - offset) / step) * step + offset; at <= high; at += step) {
    const when = new Date(1000 * at);
    const label = step >= 86400 ? `${when.getMonth() + 1}-${two(when.getDate())}`
      : step >= 60 ? clock(at).slice(0, 5) : clock(at);
    found.push([at, label]);
  }
  return found;
}

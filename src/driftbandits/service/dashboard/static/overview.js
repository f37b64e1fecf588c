// All experiments at a glance: search, filter, sort; a row each, drawn when it comes into sight.
import { ago, count, interval, make, MANY, named, number, percent, signed } from './format.js';

const by = id => document.getElementById(id);
const AT_ONCE = 60, SILENT = 3600;
const rows = new Map();
let more = false, drawing = 0;

const words = row => `${row.id} ${row.title} ${row.policy} ${row.status} ${row.arms.join(' ')}`.toLowerCase();
const summary = (row, name) => row.summary?.[name] ?? null;
const SORTS = {
  name: row => (row.title || row.id).toLowerCase(), last: row => -(summary(row, 'last') ?? -1), alarms: row => -(summary(row, 'alarmed') ?? -1),
  lift: row => -(summary(row, 'lift')?.[0] ?? -Infinity), worst: row => summary(row, 'lift')?.[0] ?? Infinity, mean: row => -(summary(row, 'mean') ?? -Infinity),
  step: row => -(summary(row, 'step') ?? -1), created: row => -row.created,
};
const FILTERS = {
  all: () => true, running: row => row.status === 'running', paused: row => row.status === 'paused', archived: row => row.status === 'archived',
  alarms: row => summary(row, 'alarms') > 0, forced: row => summary(row, 'forced') !== null, lift: row => summary(row, 'holdout') !== null,
  silent: row => row.status === 'running' && Date.now() / 1000 - (summary(row, 'last') ?? 0) > SILENT,
};

export function takeOverview(news) {
  if (news.whole) { for (const known of rows.values()) known.item?.remove(); rows.clear(); }
  more = news.more;
  for (const id of news.gone) { rows.get(id)?.item?.remove(); rows.delete(id); }
  for (const row of news.rows) rows.set(row.id, { row, words: words(row), item: rows.get(row.id)?.item, stale: true });
  showOverview();
}

// As the fields say; the rows come a few at a time, so that typing never waits for a thousand of them.
export function showOverview() {
  const wanted = by('search').value.trim().toLowerCase().split(/\s+/), keep = FILTERS[by('filter').value], key = SORTS[by('sort').value];
  const found = [...rows.values()].filter(each => keep(each.row) && wanted.every(word => each.words.includes(word)));
  const keyed = found.map(each => [key(each.row), each]).sort(([one, first], [other, second]) => (one < other ? -1 : one > other ? 1 : first.row.id < second.row.id ? -1 : 1));
  by('found').textContent = rows.size ? `${count(found.length)} of ${count(rows.size)} experiments${more ? ', the first by id; there are more' : ''}` : '';
  by('list-empty').hidden = rows.size > 0;
  by('none-found').hidden = rows.size === 0 || found.length > 0;
  const shown = new Set(found);
  for (const each of rows.values()) if (each.item && !shown.has(each)) each.item.remove();
  const turn = ++drawing;
  let place = 0, next = by('list').firstChild;
  const some = () => {
    if (turn !== drawing) return;
    for (const end = Math.min(place + AT_ONCE, keyed.length); place < end; place++) {
      const each = keyed[place][1];
      each.item ??= make('li', {}, make('a', { href: `#${encodeURIComponent(each.row.id)}`, 'data-id': each.row.id }));
      if (each.stale) fill(each);
      if (each.item === next) next = next.nextSibling;
      else by('list').insertBefore(each.item, next);
    }
    if (place < keyed.length) requestAnimationFrame(some);
  };
  some();
}

function fill(each) {
  const { row } = each, of = row.summary, link = each.item.firstChild, lift = of?.lift;
  each.stale = false;
  const flags = [
    of?.alarms ? make('span', { class: 'flag bad' }, `⚠ ${count(of.alarms)} drift alarm${of.alarms > 1 ? 's' : ''}`) : null,
    of?.forced ? make('span', { class: 'flag wait' }, 'everyone gets ', named(of.forced)) : null,
    row.here || !of ? null : make('span', { class: 'flag' }, `as of ${ago(of.time)}`),
  ];
  const fact = (name, value, note = null, kind = null) => make('span', { class: `fact${kind ? ` ${kind}` : ''}` }, make('small', {}, name), make('b', {}, value), note === null ? null : make('small', {}, note));
  link.replaceChildren(
    make('span', { class: 'who' }, make('b', {}, named(row.title || row.id)), make('small', {}, `${row.title ? `${row.id} · ` : ''}${row.policy} · ${row.count} arms`)),
    make('span', { class: 'badge', 'data-state': row.status }, row.status),
    sparkline(of?.spark ?? []),
    fact('mean now', number(of?.mean ?? null)),
    fact('Decisions', of ? count(of.step) : '–'),
    fact('last reward', of?.last ? ago(of.last) : 'never'),
    ...(lift || of?.holdout ? [fact('lift', lift ? signed(lift[0]) : '–', lift ? `${interval(lift[1], lift[2])}${of.unknown > MANY ? `; ${percent(of.unknown)} of rewards unknown` : ''}` : 'too early', lift ? (lift[1] > 0 ? 'up' : lift[2] < 0 ? 'down' : null) : null)] : []),
    make('span', { class: 'flags' }, ...flags),
  );
}

// Mean rewards over its life, from its least to its largest.
function sparkline(values) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  const known = values.filter(value => value !== null), low = Math.min(...known), high = Math.max(...known);
  svg.setAttribute('viewBox', '0 0 120 30');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', known.length ? `mean reward from ${number(low)} to ${number(high)}, now ${number(known[known.length - 1])}` : 'no rewards yet');
  let drawn = '';
  values.forEach((value, index) => {
    if (value !== null) drawn += `${drawn ? 'L' : 'M'}${(2 + 116 * index / Math.max(values.length - 1, 1)).toFixed(1)} ${(high > low ? 27 - 24 * (value - low) / (high - low) : 15).toFixed(1)}`;
  });
  line.setAttribute('d', drawn);
  svg.append(line);
  return svg;
}

export function setUpOverview() {
  for (const [id, name] of [['search', 'input'], ['filter', 'change'], ['sort', 'change']]) by(id).addEventListener(name, showOverview);
  addEventListener('keydown', event => {
    if (event.key !== '/' || by('overview').hidden || /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    by('search').focus();
  });
}

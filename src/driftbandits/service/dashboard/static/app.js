// The page: which experiment is shown, what is known of it, and the controls.
import { swatch } from './charts.js';
import { openCreate, setUpCreate } from './create.js';
import { showDecisions } from './decisions.js';
import { buildFigures, drawFigures } from './figures.js';
import { count, make, moment, number, percent, seconds, signed } from './format.js';
import { request, Stream, token } from './stream.js';

const by = id => document.getElementById(id);
const picked = name => document.querySelector(`input[name="${name}"]:checked`).value;
let compiling = false;
let chosen = '', after = '', state = null, about = null, listed = { experiments: [], next: null };

// The stream

const stream = new Stream({
  state(kind, words) {
    if (kind !== 'live') compiling = false;
    if (compiling) [kind, words] = ['waiting', 'compiling: the first Decisions wait for it'];
    if (by('pill').dataset.state !== kind || by('pill').textContent !== words) {
      by('pill').dataset.state = kind;
      by('pill').textContent = words;
    }
  },
  locked(error) {
    say(error.message);
    if (!by('token').open) openToken();
  },
  event(name, data) {
    if (name === 'compiling') { compiling = data; this.state('live', 'live'); return; }
    ({ list: showList, about: showAbout, view: showView, refusal: refuse })[name](data);
  },
});

function listen() {
  stream.open({ experiment: chosen, span: picked('span'), after });
}

function refuse(told) {
  const elsewhere = told.url ? ` It is served at ${told.url}.` : '';
  say(told.message + elsewhere);
  if (told.error === 'unknown_experiment') location.hash = '';
}

function say(words) {
  const box = by('messages');
  if (!words) { box.replaceChildren(); return; }
  const close = make('button', { type: 'button', class: 'small' }, 'Dismiss');
  close.addEventListener('click', () => say(''));
  box.replaceChildren(make('div', { class: 'message' }, make('p', {}, words), close));
}

// The list

function showList(found) {
  listed = found;
  by('list-empty').hidden = found.experiments.length > 0;
  by('pages').hidden = !found.next && !after;
  by('next').disabled = !found.next;
  by('first').disabled = !after;
  const links = new Map([...by('list').querySelectorAll('a')].map(link => [link.dataset.id, link.parentElement]));
  const items = found.experiments.map(each => {
    const item = links.get(each.id) || make('li', {}, make('a', { href: `#${each.id}`, 'data-id': each.id }));
    const link = item.firstChild;
    link.toggleAttribute('aria-current', false);
    if (each.id === chosen) link.setAttribute('aria-current', 'page');
    link.replaceChildren(make('b', {}, each.title || each.id),
      make('small', {}, `${each.title ? `${each.id} · ` : ''}${each.status} · ${count(each.events)} events`),
      ...(each.alarms ? [make('small', { class: 'alarmed' }, '⚠ drifts faster than declared')] : []));
    return item;
  });
  if (items.some((item, index) => by('list').children[index] !== item) || by('list').children.length !== items.length) by('list').replaceChildren(...items);
}

// One experiment

function choose() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (id.startsWith('_')) return; // the skip link; no experiment's id begins so
  chosen = id;
  state = about = null;
  say('');
  by('experiment').hidden = true;
  by('nothing').hidden = false;
  by('nothing').textContent = id ? `Loading ${id} …` : 'Choose an experiment, or create one.';
  showList(listed);
  listen();
}

function showAbout(found) {
  about = found;
  by('nothing').hidden = true;
  by('experiment').hidden = false;
  document.title = `${found.title || found.id} · driftbandits`;
  by('title').textContent = found.title || found.id;
  const settings = Object.entries(found.policy.fields || {}).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : value}`);
  const drift = found.drift === null ? [] : [`watched for a drift above ${number(found.drift)} a step`];
  by('about').textContent = [found.title ? found.id : null, `${found.policy.class}${settings.length ? ` (${settings.join(', ')})` : ''}`,
    `${found.arms.length} arms`, ...drift, found.timeout === null ? 'waits for rewards for ever' : `timeout ${seconds(found.timeout)}`,
    `since ${moment(found.created)}`].filter(Boolean).join(' · ');
  by('status').textContent = found.status;
  by('status').dataset.state = found.status;
  by('pause').hidden = found.status !== 'running';
  by('resume').hidden = found.status === 'running';
  by('archive').hidden = found.status === 'archived';
}

function showView(found) {
  const before = state;
  state = found;
  state.names = Object.fromEntries(found.arms.map(arm => [arm.index, arm.arm]));
  state.snoozing = found.snoozes.length > 0 || /Snooze/.test(about.policy.class);
  if (found.start > 0) {
    for (const [name, column] of Object.entries(found.rows)) {
      const old = before.rows[name];
      found.rows[name] = Array.isArray(column[0]) ? column.map((each, arm) => old[arm].slice(0, found.start).concat(each)) : old.slice(0, found.start).concat(column);
    }
  }
  render();
}

function render() {
  if (!state) return;
  showTiles();
  showAlarm();
  showArms();
  showSnoozes();
  showDecisions(chosen, state.decisions);
  drawFigures(state, picked('axis'));
  by('resolution').textContent = state.rows.step.length ? `${count(state.rows.step.length)} rows of ${count(state.width)} steps` +
    (state.since ? `, from step ${count(state.since + 1)} on` : '') : '';
}

function showTiles() {
  const { told, late, settled, pending } = state.counts;
  const share = (value, words) => told + settled ? `${percent(value / (told + settled))} ${words}` : '';
  const tiles = [
    ['Decisions', count(state.step), ''], ['Rewards', count(told), state.mean === null ? '' : `mean ${number(state.mean)}`],
    ['Pending', count(pending), 'wait for their reward'], ['Late', count(late), share(late, 'overtaken by newer')],
    ['Time up', count(settled), share(settled, 'never came in time')],
    ['Delay', seconds(state.delay.median), state.delay.most === null ? 'from ask to tell' : `median; 90 % within ${seconds(state.delay.most)}`],
  ];
  by('tiles').replaceChildren(...tiles.map(([name, value, note]) => make('div', {}, make('dt', {}, name), make('dd', {}, value), note ? make('dd', {}, note) : null)));
}

function showAlarm() {
  const alarm = state.alarm, key = `seen:${chosen}`;
  const shown = alarm && alarm.count > Number(sessionStorage.getItem(key) || 0) ? alarm : null;
  const words = shown ? alarmWords(shown) : '';
  if (by('alarm').dataset.words === words) return;
  by('alarm').dataset.words = words;
  if (!shown) { by('alarm').replaceChildren(); return; }
  const close = make('button', { type: 'button', class: 'small' }, 'Dismiss');
  close.addEventListener('click', () => { sessionStorage.setItem(key, state.alarm.count); showAlarm(); });
  by('alarm').replaceChildren(make('div', { class: 'alarm' }, make('p', {}, make('strong', {}, '⚠ Rewards drift faster than declared. '), words), close));
}

function alarmWords(alarm) {
  const last = alarm.last[0];
  return `${last.arm} changed by ${signed(last.change)} between steps ${count(last.since)} and ${count(last.until)}: at least ${number(last.at_least)} a step, ` +
    `where ${number(alarm.drift)} was declared. The policy’s guarantee does not cover this: give it a larger drift, or use AutoTS, which must be told none. ` +
    `(A false alarm has a chance of one in a million.)`;
}

function interval(low, high) { return low === null ? '–' : `${number(low)} to ${number(high)}`; }

function showArms() {
  const heads = ['arm', 'Decisions', 'share', 'mean now', '95 %', 'mean overall', 'lead over it', 'policy’s estimate', '95 %', ''];
  const rows = state.arms.map(arm => make('tr', {},
    make('th', { scope: 'row', class: 'name' }, make('span', { class: 'swatch' }, state.drawn.includes(arm.index) ? swatch(`s${arm.index % 8}`) : null, make('span', {}, arm.arm))),
    ...[count(arm.asks), percent(state.step > state.since ? arm.asks / (state.step - state.since) : null), number(arm.mean), interval(arm.low, arm.high),
      number(arm.overall), signed(arm.lead), number(arm.estimate), interval(arm.estimate_low, arm.estimate_high)].map(value => make('td', { class: 'number' }, value)),
    make('td', { class: 'state' }, arm.snoozed ? `snoozed${arm.until === null ? ' for good' : ` until the policy’s step ${count(arm.until)}`}` : '')));
  const more = about.arms.length > state.arms.length ? ` The ${state.arms.length} busiest of ${about.arms.length} arms.` : '';
  by('arms-note').textContent = `Mean now: of the rewards within the last ${count(8 * state.width)} steps. Lead: what the policy has earned more than that arm alone would have.${more}`;
  by('arms').replaceChildren(make('thead', {}, make('tr', {}, ...heads.map((head, index) => head ? make('th', { scope: 'col', class: index ? 'number' : '' }, head) : make('td')))), make('tbody', {}, ...rows));
  by('legend').replaceChildren(...state.drawn.map(index => make('span', {}, swatch(`s${index % 8}`), state.names[index])));
}

function showSnoozes() {
  by('no-snoozes').hidden = state.snoozes.length > 0;
  by('snoozes').parentElement.hidden = by('snoozes-note').hidden = state.snoozes.length === 0;
  const heads = ['arm', 'behind', 'gap', 'pairs', 'from step', 'to step'];
  const rows = state.snoozes.slice(0, 20).map(each => make('tr', {}, make('th', { scope: 'row', class: 'name' }, each.arm), make('td', { class: 'name' }, each.better),
    ...[number(each.gap), count(each.window), count(each.start), each.end === null ? 'now' : count(each.end)].map(value => make('td', { class: 'number' }, value))));
  by('snoozes').replaceChildren(make('thead', {}, make('tr', {}, ...heads.map((head, index) => make('th', { scope: 'col', class: index > 1 ? 'number' : '' }, head)))), make('tbody', {}, ...rows));
}

// Controls

async function control(verb) {
  try {
    await request('POST', `v1/experiments/${encodeURIComponent(chosen)}/${verb}`);
    say('');
    stream.again();
  } catch (error) {
    say(error.message);
    if (error.status === 401 || error.status === 403) openToken();
  }
}

by('pause').addEventListener('click', () => control('pause'));
by('resume').addEventListener('click', () => control('resume'));
by('archive').addEventListener('click', () => {
  by('confirm-text').textContent = `${chosen} will make no Decisions and take no rewards. Its log stays, and it can be resumed.`;
  by('confirm').returnValue = 'no';
  by('confirm').showModal();
});
by('confirm').addEventListener('close', () => { if (by('confirm').returnValue === 'yes') control('archive'); });

function openToken() {
  by('token-form').elements.token.value = token.get();
  by('token').showModal();
}
by('open-token').addEventListener('click', openToken);
by('token-form').addEventListener('submit', event => {
  event.preventDefault();
  token.set(by('token-form').elements.token.value.trim());
  by('token').close();
  say('');
  stream.again();
});

by('new').addEventListener('click', openCreate);
setUpCreate(id => { location.hash = id; });
for (const button of document.querySelectorAll('[data-close]')) button.addEventListener('click', () => button.closest('dialog').close());
for (const radio of document.querySelectorAll('input[name="span"]')) radio.addEventListener('change', listen);
for (const radio of document.querySelectorAll('input[name="axis"]')) radio.addEventListener('change', render);
by('next').addEventListener('click', () => { after = listed.next; listen(); });
by('first').addEventListener('click', () => { after = ''; listen(); });

// Light and dark

const dark = matchMedia('(prefers-color-scheme: dark)');
function paint() {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
  by('theme').setAttribute('aria-pressed', String(theme ? theme === 'dark' : dark.matches));
}
by('theme').addEventListener('click', () => {
  localStorage.setItem('theme', by('theme').getAttribute('aria-pressed') === 'true' ? 'light' : 'dark');
  paint();
});
dark.addEventListener('change', paint);
paint();

buildFigures(by('figures'));
addEventListener('hashchange', choose);
choose();

// One experiment: what the stream tells of it, shown.
import { setUpArms, showArms, showLegend } from './arms.js';
import { showDecisions } from './decisions.js';
import { buildFigures, drawFigures, zoom } from './figures.js';
import { count, make, moment, named, number, percent, quoted, seconds, shownName, signed } from './format.js';
import { leading } from './leader.js';
import { openSettings, setUpSettings } from './settings.js';
import { fillTable } from './tables.js';
import { moments, readTimeline } from './timeline.js';
import { setUpTraffic, showTraffic } from './traffic.js';

const by = id => document.getElementById(id);
const picked = name => document.querySelector(`input[name="${name}"]:checked`).value;
let state = null, about = null, hidden = new Set(), focus = null;

export function forget() {
  state = about = null;
  hidden = new Set();
  focus = null;
  zoom.window = zoom.full = null;
  by('experiment').hidden = true;
}

export function showAbout(found) {
  about = found;
  by('experiment').hidden = false;
  document.title = `${shownName(found.title || found.id)} · driftbandits`;
  by('title').replaceChildren(named(found.title || found.id));
  const settings = Object.entries(found.policy.fields || {}).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : value}`);
  const drift = found.drift === null ? [] : [`watched for a drift above ${number(found.drift)} a step`];
  by('about').textContent = [found.title ? found.id : null, `${found.policy.class}${settings.length ? ` (${settings.join(', ')})` : ''}`,
    `${found.statuses.filter(each => each === 'on').length} of ${found.arms.length} arms on`, found.explore ? `explores ${percent(found.explore)}` : null, ...drift,
    found.timeout === null ? 'waits for rewards forever' : `timeout ${seconds(found.timeout)}`,
    found.late ? 'unreported rewards are corrected for delay' : null, found.sticky === null ? null : `a visitor keeps an arm for ${seconds(found.sticky)}`, `since ${moment(found.created)}`].filter(Boolean).join(' · ');
  by('status').textContent = found.status;
  by('status').dataset.state = found.status;
  by('pause').hidden = found.status !== 'running';
  by('resume').hidden = found.status === 'running';
  by('archive').hidden = found.status === 'archived';
  by('is-forced').hidden = found.forced === null;
  if (found.forced !== null) by('forced-to').replaceChildren(named(found.forced));
  if (state) render();
}

export function showView(found) {
  const before = state;
  state = Object.assign(found, { names: Object.fromEntries(found.arms.map(arm => [arm.index, arm.arm])), hidden, focus });
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
  showTiles();
  showAlarm();
  const words = leading(state.arms.filter(arm => (about.statuses[arm.index] ?? 'on') === 'on'));
  by('leader').hidden = !words;
  by('leader').replaceChildren(...(words ?? []));
  showCrossing();
  showArms(state, about);
  showTraffic(state, about);
  showSnoozes();
  showDecisions(about.id, state.decisions);
  draw();
  readTimeline(about.id, [state.changes, state.alarm?.count, about.status, about.title, about.drift].join()).then(is => { if (is) draw(); });
  by('resolution').textContent = state.rows.step.length ? `${count(state.rows.step.length)} rows of ${count(state.width)} steps` +
    (state.since ? `, from step ${count(state.since + 1)} on` : '') : '';
}

export function draw(on = focus) {
  focus = on;
  if (!state) return;
  state.focus = focus;
  showLegend(state, draw);
  drawFigures(state, picked('axis'), moments());
}

function showTiles() {
  const { told, settled, pending } = state.counts;
  const tiles = [
    ['Decisions', count(state.step), ''], ['Rewards', count(told), state.mean === null ? '' : `mean ${number(state.mean)}`],
    ['Pending', count(pending), 'wait for their reward'],
    ...(about.timeout !== null || settled ? [['Timed out', count(settled), told + settled ? `${percent(settled / (told + settled))} had no reward in time` : '']] : []),
    ['Delay', seconds(state.delay.median), state.delay.most === null ? 'from ask to tell' : `median; 90 % within ${seconds(state.delay.most)}`],
  ];
  by('tiles').replaceChildren(...tiles.map(([name, value, note]) => make('div', {}, make('dt', {}, name), make('dd', {}, value), note ? make('dd', {}, note) : null)));
}

function showAlarm() {
  const alarm = state.alarm, key = `seen:${about.id}`;
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
  return `${quoted(last.arm)} changed by ${signed(last.change)} between steps ${count(last.since)} and ${count(last.until)}: at least ${number(last.at_least)} a step, ` +
    `where ${number(alarm.drift)} was declared. ${(about.policy.fields?.drift ?? null) !== null ? 'The policy’s guarantee does not cover this: give it a larger drift, or use BreakEven, which requires none.' : 'The policy was told of no drift, so it does not rely on that.'} ` +
    `(If how late a reward comes has nothing to do with what it is, a false alarm has a chance of one in a million.)`;
}

function showCrossing() {
  const found = state.crossing, rows = state.rows, last = rows.step.length - 1;
  by('crossing').hidden = !found;
  if (!found) return;
  const from = Math.max(0, last - 16), pace = last > 0 ? (rows.time[last] - rows.time[from]) / Math.max(rows.step[last] - rows.step[from], 1) : 0;
  by('crossing').replaceChildren('The policy expects ', named(found.arm), ' to overtake ', named(found.other), ` in about ${count(found.steps)} steps` +
    `${pace > 0 ? `, which is ${seconds(found.steps * pace)} at the present pace` : ''}.`);
}

function showSnoozes() {
  by('snoozing').hidden = !state.snoozing;
  by('no-snoozes').hidden = state.snoozes.length > 0;
  by('snoozes').parentElement.hidden = by('snoozes-note').hidden = state.snoozes.length === 0;
  const heads = [['arm', 'name'], ['behind', 'name'], ['gap', 'number'], ['pairs', 'number'], ['from step', 'number'], ['to step', 'number']];
  fillTable(by('snoozes'), heads, state.snoozes.slice(0, 20).map((each, index) => ({
    key: index, cells: [named(each.arm), named(each.better), number(each.gap), count(each.window), count(each.start), each.end === null ? 'now' : count(each.end)],
  })));
}

// `does(path, method, body, question)` asks the service to do something to this experiment.
export function setUpExperiment(does) {
  buildFigures(by('figures'));
  setUpArms(does);
  setUpTraffic(does);
  setUpSettings(() => does.done());
  by('change').addEventListener('click', () => openSettings(about));
  by('pause').addEventListener('click', () => does('pause', 'POST'));
  by('resume').addEventListener('click', () => does('resume', 'POST'));
  by('archive').addEventListener('click', () => does('archive', 'POST', undefined, {
    title: 'Archive?', yes: 'Archive', text: `${about.id} will make no Decisions and take no rewards. Its log stays, and it can be resumed.`,
  }));
  const zooms = { 'zoom-in': () => zoom.by(.5), 'zoom-out': () => zoom.by(2), 'pan-left': () => zoom.pan(-.25), 'pan-right': () => zoom.pan(.25), 'zoom-reset': () => zoom.reset() };
  for (const [id, work] of Object.entries(zooms)) by(id).addEventListener('click', work);
  zoom.changed.push(() => {
    for (const id of ['pan-left', 'pan-right', 'zoom-out', 'zoom-reset']) by(id).disabled = !zoom.window;
  });
}

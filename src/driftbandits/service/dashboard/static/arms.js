// The arms: what is known of each, which are drawn, and what can be done to them.
import { count, interval, make, MANY, named, number, percent, quoted, shownName, signed } from './format.js';
import { lookOf, swatch } from './palette.js';
import { fillTable } from './tables.js';
import { sendEveryone } from './traffic.js';

const by = id => document.getElementById(id);
const HEADS = [['arm', 'name'], ['Decisions', 'number'], ['share', 'number'], ['mean now', 'number'], ['95 %', 'number'], ['mean overall', 'number'],
  ['lead over it', 'number']], OWN = [['estimate', 'number'], ['95 % of it', 'number']], LAST = [['state', 'state'], ['', '']];
let names = new Map(), buttons = new Map(), of = null, act = null, chosen = null;

const LATE = ' A missing reward counts in the means once its time is up: while most Decisions are young they are too high. The policy corrects for delay, and its estimates are not; ' +
  'but their 95 % is too narrow then, by a factor of up to 1/√(1 − p) where a share p converts. The drift alarm is off, as it would take young data for drift.';
const WORDS = { off: 'disabled', removed: 'removed' };

function stateOf(arm, about) {
  const status = about.statuses[arm.index] ?? 'on';
  if (about.forced === arm.arm) return 'gets everyone';
  if (status !== 'on') return WORDS[status];
  const held = about.holdout && about.holdout[1] === arm.arm ? 'control' : '';
  const snoozed = arm.snoozed ? `snoozed${arm.until === null ? ' for good' : ` until the policy’s step ${count(arm.until)}`}` : '';
  return [snoozed, held].filter(Boolean).join(', ') || 'on';
}

export function showArms(state, about) {
  if (of !== about.id) { of = about.id; names = new Map(); buttons = new Map(); }
  const own = state.arms.some(arm => arm.estimate !== null); // some policies keep no estimates
  fillTable(by('arms'), [...HEADS, ...(own ? OWN : []), ...LAST], state.arms.map(arm => ({
    key: arm.index, kind: about.statuses[arm.index] === 'removed' ? 'removed' : '',
    cells: [nameOf(arm, state.drawn.includes(arm.index)), count(arm.asks), percent(state.step > state.since ? arm.asks / (state.step - state.since) : null), number(arm.mean), interval(arm.low, arm.high),
      number(arm.overall), signed(arm.lead), ...(own ? [number(arm.estimate), interval(arm.estimate_low, arm.estimate_high)] : []), stateOf(arm, about), buttonOf(arm, about)],
  })));
  const more = about.arms.length > state.arms.length ? ` The ${state.arms.length} busiest of ${about.arms.length} arms.` : '';
  by('arms-note').textContent = `Mean now: of the rewards within the last ${count(8 * state.width)} steps. Lead: what the policy has earned more than that arm alone would have.${own ? ' Estimate: the policy’s own.' : ''}${more}${about.late ? LATE : silence(state.counts)}`;
}

// While many wait.
function silence({ told, settled, pending }) {
  const all = told + settled + pending;
  return pending > MANY * all ? ` ${count(pending)} of ${count(all)} Decisions wait for their reward: if only successes are told, means and estimates are too high until the others are settled.` : '';
}

function nameOf(arm, drawn) {
  const key = `${arm.index} ${drawn}`;
  if (!names.has(key)) names.set(key, make('span', { class: 'marked' }, drawn ? swatch(lookOf(arm.index)) : null, named(arm.arm)));
  return names.get(key);
}

function buttonOf(arm, about) {
  const status = about.statuses[arm.index], key = `${arm.index} ${status}`;
  if (!buttons.has(key)) {
    const button = make('button', { type: 'button', class: 'small', 'aria-haspopup': 'dialog', 'aria-label': `Change ${shownName(arm.arm)}`, disabled: status === 'removed' }, 'Change');
    button.addEventListener('click', () => openArm(arm.arm, status));
    buttons.set(key, button);
  }
  return buttons.get(key);
}

function openArm(arm, status) {
  chosen = arm;
  by('arm-name').replaceChildren(named(arm));
  by('arm-on').parentElement.hidden = status === 'on';
  by('arm-off').parentElement.hidden = status !== 'on';
  by('arm-force').parentElement.hidden = status !== 'on';
  by('arm').showModal();
}

// `does(path, method, body, question)` asks, if there is a question, and then the service.
export function setUpArms(does) {
  act = does;
  const close = work => () => { by('arm').close(); work(); };
  const set = (status, question) => act('arms', 'PATCH', { arm: chosen, status }, question);
  by('arm-on').addEventListener('click', close(() => set('on')));
  by('arm-off').addEventListener('click', close(() => set('off')));
  by('arm-remove').addEventListener('click', close(() => set('removed', { title: 'Remove?', yes: 'Remove', text: `${quoted(chosen)} will never be chosen again, and its name can’t be given to another arm. Its past stays in the log. To leave it out for a while, disable it.` })));
  by('arm-force').addEventListener('click', close(() => sendEveryone(chosen)));
  by('add-arm').addEventListener('submit', async event => {
    event.preventDefault();
    const input = by('add-arm').elements.arm;
    if (await act('arms', 'POST', { arm: input.value })) input.value = '';
  });
}

// The legend: a click shows one arm alone, or all again; with Ctrl or Shift it hides or shows one. Pointing at one dims the others.
export function showLegend(state, redraw) {
  const key = JSON.stringify(state.drawn.map(arm => [arm, state.names[arm]]));
  if (by('legend').dataset.key !== key) {
    by('legend').dataset.key = key;
    by('legend').replaceChildren(...state.drawn.map(arm => {
      const button = make('button', { type: 'button', 'aria-pressed': 'true', 'data-arm': arm }, swatch(lookOf(arm)), named(state.names[arm]));
      button.addEventListener('click', event => { toggle(state.hidden, state.drawn, arm, event.ctrlKey || event.shiftKey || event.metaKey); redraw(); });
      const focus = to => () => { redraw(to); };
      for (const name of ['pointerenter', 'focus']) button.addEventListener(name, focus(arm));
      for (const name of ['pointerleave', 'blur']) button.addEventListener(name, focus(null));
      return button;
    }));
  }
  for (const button of by('legend').children) button.setAttribute('aria-pressed', String(!state.hidden.has(Number(button.dataset.arm))));
}

function toggle(hidden, drawn, arm, one) {
  const alone = drawn.every(each => (each === arm) !== hidden.has(each));
  if (one) { if (!hidden.delete(arm)) hidden.add(arm); }
  else if (alone) hidden.clear();
  else { hidden.clear(); for (const each of drawn) if (each !== arm) hidden.add(each); }
  if (drawn.every(each => hidden.has(each))) hidden.clear();
}

// The last Decisions, each with its why, which opens in place.
import { clock, count, interval, make, named, number, quoted } from './format.js';
import { request } from './stream.js';
import { fillTable } from './tables.js';

const STATES = { pending: 'pending', dropped: 'dropped', default: 'timed out: ' };
const WAYS = {
  forced: 'Forced: the kill switch was on, and everyone got this arm.', 'held out': 'Held out: it is one of the Decisions that always get this arm, for comparison. The policy had no say.',
  again: 'Again: the visitor had this arm already, and keeps it for a while. The probability is that of the first choice; the table has those of a new visitor.',
};
const table = document.getElementById('decisions');
let rows = new Map(), body = null, of = null;

export function showDecisions(experiment, decisions) {
  if (of !== experiment) begin(experiment);
  for (const decision of decisions) {
    if (!rows.has(decision.id)) rows.set(decision.id, newRow(experiment, decision));
    if (decision.probability !== null) table.classList.add('with-probability');
    rows.get(decision.id).reward.textContent = (STATES[decision.state] ?? '') + (decision.reward === null ? '' : number(decision.reward));
  }
  // What someone reads, or has the keyboard on, stays, though newer ones came.
  const now = new Set(decisions.map(each => each.id));
  for (const [id, row] of rows) {
    if (!now.has(id) && !row.why && !row.main.contains(document.activeElement)) {
      row.main.remove();
      rows.delete(id);
    }
  }
  // Nothing that is in its place is moved: it would lose the keyboard.
  let next = body.firstChild;
  for (const row of [...rows.values()].sort((one, other) => other.step - one.step)) {
    for (const element of row.why ? [row.main, row.why] : [row.main]) {
      if (element === next) next = next.nextSibling;
      else body.insertBefore(element, next);
    }
  }
}

function begin(experiment) {
  of = experiment;
  form.reset();
  said.hidden = true;
  rows = new Map();
  body = make('tbody');
  table.classList.remove('with-probability');
  const heads = [['Decision', 'short'], ['time', 'short wide'], ['arm', ''], ['probability', 'number wide probability'], ['reward', 'number'], ['why', '']];
  table.replaceChildren(make('thead', {}, make('tr', {}, ...heads.map(([head, kind]) => make('th', { scope: 'col', class: kind }, head)))), body);
}

function newRow(experiment, decision) {
  const row = { step: decision.step, why: null, reward: make('td', { class: 'number' }) };
  row.button = make('button', { type: 'button', class: 'small', 'aria-expanded': 'false', 'aria-label': `Why ${decision.id}?` }, 'Why?');
  row.button.addEventListener('click', () => toggle(experiment, decision, row));
  row.main = make('tr', {}, make('th', { scope: 'row', class: 'short' }, make('span', { class: 'wide' }, decision.id.slice(0, -String(decision.step).length)), String(decision.step)), make('td', { class: 'short wide' }, clock(decision.time)),
    make('td', { class: 'name' }, named(decision.arm)), make('td', { class: 'number wide probability' }, decision.probability === null ? '–' : number(decision.probability)),
    row.reward, make('td', {}, row.button));
  return row;
}

function toggle(experiment, decision, row) {
  if (row.why) {
    row.why.remove();
    row.why = null;
    row.button.setAttribute('aria-expanded', 'false');
    return;
  }
  const box = make('div', { class: 'why', role: 'region', 'aria-label': `Why ${decision.id}`, 'aria-live': 'polite' }, make('p', {}, 'Looking it up …'));
  row.why = make('tr', { class: 'why-row' }, make('td', { colspan: '6' }, box));
  row.main.after(row.why);
  row.button.setAttribute('aria-expanded', 'true');
  look(experiment, decision.id, box);
}

// Any other Decision, however old: its id, or the number at its end.
const form = document.getElementById('why-any'), said = document.getElementById('why-said');
form.addEventListener('submit', event => {
  event.preventDefault();
  const given = form.elements.decision.value.trim(), experiment = of;
  said.hidden = false;
  look(experiment, /^\d+$/.test(given) ? `${experiment}-${given}` : given, said, () => of === experiment);
});

async function look(experiment, id, box, wanted = () => true) {
  let found;
  try {
    found = explained(await request('GET', `v1/experiments/${encodeURIComponent(experiment)}/explain/${encodeURIComponent(id)}`));
  } catch (error) {
    found = [make('p', { class: 'error' }, error.message)];
  }
  if (wanted()) box.replaceChildren(...found);
}

// With windows it is a test that would snooze an arm; without, how far the two best estimates are apart.
function gapWords({ window, gap, threshold }, words) {
  if (window !== null) return `The gap${words} is ${number(gap)}${threshold === null ? '' : `; above ${number(threshold)} an arm would be snoozed`}.`;
  return `The two best estimates are ${number(gap)} apart, ± ${number(threshold)}: ${gap > threshold ? 'they can be told apart' : 'they can’t be told apart yet'}.`;
}

function explained(why) {
  const said = [`${why.id}: ${quoted(why.arm)} was chosen with probability ${number(why.probability)}, when the policy had learnt ${count(why.learnt)} rewards.`];
  if (WAYS[why.phase]) said.push(WAYS[why.phase]);
  const window = why.window === null ? '' : ` over ${count(why.window)} pairs of pulls`;
  const snoozed = why.arms.filter(arm => arm.snoozed_until !== null || (why.phase === 'snoozed' && arm.probability === 0)).map(arm => quoted(arm.arm));
  if (why.phase === 'snoozed') {
    said.push(`Snoozed: ${snoozed.join(', ')}, ${why.until === null ? 'for good' : `until the policy’s step ${count(why.until)}`}. The gap found${window} was ${number(why.gap)}.`);
  } else {
    if (why.phase === 'exploring') said.push('Exploring: no arm is snoozed.');
    if (why.gap !== null && (why.window ?? why.threshold) !== null) said.push(gapWords(why, window));
  }
  if (why.overtaking) said.push(`${quoted(why.overtaking.arm)} was expected to overtake ${quoted(why.overtaking.best)} in about ${count(why.overtaking.steps)} steps.`);
  const heads = [['arm', 'name'], ['estimate', 'number'], ['95 %', 'number'], ['probability', 'number'], ...(snoozed.length ? [['snoozed until', 'number']] : [])];
  const table = make('table');
  fillTable(table, heads, why.arms.map((arm, index) => ({
    key: index, cells: [named(arm.arm), number(arm.estimate), interval(arm.low, arm.high), arm.available ? number(arm.probability) : 'disabled',
      ...(snoozed.length ? [arm.snoozed_until === null ? '–' : `step ${count(arm.snoozed_until)}`] : [])],
  })));
  table.classList.remove('stack'); // so few columns fit on a phone
  table.prepend(make('caption', {}, why.source === 'policy' ? `Estimates are the policy’s own.${why.late ? ' Unreported rewards are corrected for delay: while data is young the intervals are too narrow, by a factor of up to 1/√(1 − p) where a share p converts.' : ''}` : `Estimates are means of ${why.source}, as the policy keeps none.`,
    ' Probability: of choosing that arm then, with exploring and the holdout. Where the log keeps none, from 1,000 draws of the policy.'));
  return [...said.map(line => make('p', {}, line)), table];
}

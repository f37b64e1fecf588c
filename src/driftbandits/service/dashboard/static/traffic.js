// Who gets what, whatever the policy wants: the kill switch, the holdout, and what the policy gains over it.
import { count, interval, make, MANY, named, number, percent, quoted, shownName, signed } from './format.js';

const by = id => document.getElementById(id);
let act = null, options = '';

export function showTraffic(state, about) {
  const on = about.arms.filter((_, index) => about.statuses[index] === 'on'), key = JSON.stringify([about.id, on]);
  if (options !== key) {
    options = key;
    for (const select of [by('force').elements.arm, by('holdout').elements.arm]) {
      const chosen = select.value;
      select.replaceChildren(...on.map(arm => make('option', { value: arm }, shownName(arm))));
      if (on.includes(chosen)) select.value = chosen;
    }
  }
  by('release').hidden = about.forced === null;
  by('forced').replaceChildren(...(about.forced === null ? ['Off: the policy chooses.'] : ['On: everyone gets ', named(about.forced), '.']));
  by('held').replaceChildren(...(about.holdout ? [`${percent(about.holdout[0])} of Decisions always get `, named(about.holdout[1]), '.'] : ['None: there is nothing to compare the policy with.']));
  by('end-holdout').hidden = !about.holdout;
  showLift(state.lift, about.late);
}

function showLift(lift, late) {
  const known = lift.lift !== null;
  by('lift').hidden = !known && !lift.held_out;
  if (by('lift').hidden) return;
  by('lift-value').textContent = known ? signed(lift.lift) : '–';
  by('lift-note').textContent = known
    ? `95 %: ${interval(lift.low, lift.high)}. The policy earns ${number(lift.policy)} a Decision (${count(lift.rewards)} rewards), the holdout ${number(lift.holdout)} (${count(lift.held_out)}). ${
      lift.low > 0 ? 'The policy is better.' : lift.high < 0 ? 'The policy is worse.' : 'They can’t be told apart yet.'}${late ? ' Of Decisions before the oldest that still waits.' : silence(lift)}`
    : `${count(lift.held_out)} rewards of the holdout so far; from 20 on it is compared.${late ? ' Those behind a Decision that still waits are left out.' : ''}`;
  by('lift').dataset.sign = !known ? '' : lift.low > 0 ? 'up' : lift.high < 0 ? 'down' : 'even';
}

// Where only successes are told, silence is failure that is not counted yet, in both groups.
function silence({ rewards, held_out, unknown }) {
  const all = rewards + held_out + unknown;
  return unknown > MANY * all ? ` ${count(unknown)} of these ${count(all)} Decisions have no reward: they wait, or were dropped. If only successes are told, silence is failure, and the lift is too near 0 until a default reward counts it.` : '';
}

export const sendEveryone = arm => act('force', 'PUT', { arm }, {
  title: 'Send everyone there?', yes: 'Send everyone', text: `Every Decision gets ${quoted(arm)} until you release it. Rewards are learnt meanwhile.`,
});

export function setUpTraffic(does) {
  act = does;
  by('force').addEventListener('submit', event => {
    event.preventDefault();
    sendEveryone(by('force').elements.arm.value);
  });
  for (const button of [by('release'), by('release-too')]) button.addEventListener('click', () => act('force', 'PUT', { arm: null }));
  by('holdout').addEventListener('submit', event => {
    event.preventDefault();
    const { share, arm } = by('holdout').elements;
    act('holdout', 'PUT', { share: Number(share.value) / 100, arm: arm.value });
  });
  by('end-holdout').addEventListener('click', () => act('holdout', 'PUT', { share: 0 }));
}

// What happened to the experiment: as a list, and as moments that the charts mark.
import { count, day, make, named, number, percent, seconds, signed } from './format.js';
import { request } from './stream.js';

const ARMS = { on: ' was enabled', off: ' was disabled', removed: ' was removed' };
const SETTINGS = {
  timeout: value => `timeout ${value === null ? 'never' : seconds(value)}`, default_reward: value => `default reward ${value === null ? 'none' : number(value)}`,
  reward_range: value => `rewards ${value === null ? 'of any size' : `from ${number(value[0])} to ${number(value[1])}`}`,
  title: value => `title “${value}”`, drift: value => `drift to watch ${value === null ? 'the policy’s' : number(value)}`,
  sticky: value => (value === null ? 'units get any arm' : `a unit keeps its arm for ${seconds(value)}`), late: value => `unreported rewards ${value ? 'corrected for delay' : 'ignored'}`,
  keep: value => `events kept ${value === null ? 'forever' : seconds(value)}`,
};
const KINDS = {
  created: () => ['Created'],
  paused: () => ['Paused'],
  resumed: () => ['Resumed'],
  archived: () => ['Archived'],
  arm: each => [named(each.arm), each.new ? ' was added' : ARMS[each.status]],
  forced: each => (each.arm === null ? ['Kill switch released: the policy chooses again'] : ['Kill switch: everyone gets ', named(each.arm)]),
  'held out': each => (each.arm === null ? ['Holdout ended'] : [`${percent(each.share)} held out, always `, named(each.arm)]),
  policy: each => [each.policy === each.before ? `Policy ${each.policy} changed` : `Policy ${each.before} → ${each.policy}`, each.explore ? `, explores ${percent(each.explore)}` : ''],
  settings: each => [`Settings: ${Object.entries(each.settings).map(([name, value]) => SETTINGS[name](value)).join(', ')}`],
  corrected: each => [`${count(each.count)} reward${each.count > 1 ? 's' : ''} corrected`],
  clock: () => ['The clock was set back'],
  alarm: each => ['Drift alarm: ', named(each.arm), ` changed by ${signed(each.change)}`],
};

const list = document.getElementById('timeline');
let of = null, known = null, entries = [];

export const moments = () => entries.map(each => ({ time: each.time, kind: each.kind, words: () => KINDS[each.kind](each) }));

// Looks again when something has changed; true once that is shown.
export async function readTimeline(experiment, version) {
  if (of !== experiment) { of = experiment; known = null; entries = []; list.replaceChildren(); }
  if (known === version) return false;
  known = version;
  try {
    const found = await request('GET', `v1/live/timeline?${new URLSearchParams({ experiment })}`);
    if (of !== experiment) return false;
    entries = found;
  } catch {
    known = null;
    return false;
  }
  list.replaceChildren(...[...entries].reverse().map(each => make('li', { 'data-kind': each.kind },
    make('time', { datetime: new Date(1000 * each.time).toISOString() }, day(each.time)), make('span', {}, ...KINDS[each.kind](each)),
    each.who && each.who !== 'no token' ? make('small', {}, 'by ', named(each.who)) : null)));
  document.getElementById('no-timeline').hidden = entries.length > 0;
  return true;
}

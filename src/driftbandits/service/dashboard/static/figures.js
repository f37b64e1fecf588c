// The figures of an experiment: what each draws, what it says below, the same as a table and as a file.
import { saveCsv, savePng } from './exports.js';
import { count, make, moment, named, number, percent, signed } from './format.js';
import { Lanes } from './lanes.js';
import { LIMIT, lookOf, PLAIN } from './palette.js';
import { Plot } from './plot.js';
import { Zoom } from './zoom.js';

const TABLE_ROWS = 24;
const SILENCE = 10; // times as long as a row takes on average: then nothing came
export const zoom = new Zoom();

const byArm = (state, name, more = () => ({})) => state.drawn.map((arm, place) => ({
  name: state.names[arm], look: lookOf(arm), values: state.rows[name][place], hidden: state.hidden.has(arm),
  alpha: state.focus === null || state.focus === arm ? 1 : .18, ...more(place),
}));

const FIGURES = [
  {
    title: 'Share of traffic',
    unit: 'share of the Decisions that went to each arm',
    chart: new Lanes('Share of traffic of each arm over time, hatched where an arm was snoozed; the table below holds the numbers', zoom),
    data: state => ({ series: byArm(state, 'share', place => ({ snoozed: state.rows.snoozed[place] })) }),
    caption: state => `Each point is over ${count(8 * state.width)} steps.${state.snoozing ? ' Hatched: the policy had snoozed the arm, that is, left it alone because it was found to be worse. Paler where that was so for a part of the time only.' : ''}`,
    format: percent,
  },
  {
    title: 'Mean reward',
    unit: 'reward, rolling mean of each arm',
    chart: new Plot('Rolling mean reward of each arm over time with 95 % intervals; the table below holds the numbers', zoom),
    data: state => ({
      series: byArm(state, 'mean', place => ({ low: state.rows.low[place], high: state.rows.high[place], ahead: state.ahead && {
        mean: state.ahead.mean[place], low: state.ahead.low[place], high: state.ahead.high[place] } })),
      ahead: state.ahead,
    }),
    caption: state => `Each point is the mean of the rewards that came within ${count(8 * state.width)} steps. Band: its 95 % interval (Wilson’s for rewards of 0 and 1, else 1.96 standard errors), without what the mean drifted meanwhile, drawn for up to 4 arms or the one you point at. No line: fewer than 10 rewards.${
      state.ahead ? ' Right of now: what the policy expects of each arm if it is left alone, with its 95 % interval.' : ''}`,
    format: number,
  },
  {
    title: 'Gap, and what it must exceed',
    unit: 'reward',
    chart: new Plot('The gap that the policy looks at, and the threshold it must exceed; the table below holds the numbers', zoom, { atLeast: [0], rangeOf: 1, stretch: 2 }),
    data: state => ({ series: [
      { name: 'gap', look: PLAIN, values: state.rows.gap },
      { name: 'threshold', look: LIMIT, values: state.rows.threshold },
    ] }),
    caption: state => state.snoozing
      ? 'Solid: the difference of the arms’ means that the policy looks at, while it explores over the window nearest to passing its test, while it snoozes the gap that was found. Dashed: what it must exceed for a snooze, cut off where it is far above.'
      : 'Solid: the difference between the two best arms, as the policy estimates it. Dashed: half the width of its 95 % interval; above it the policy can tell the two apart.',
    empty: 'The policy has compared no gap with a threshold. Some never do, others begin with the first rewards.',
    isEmpty: state => state.rows.gap.every(value => value === null),
    format: number,
  },
  {
    title: 'Cumulative reward against each arm alone',
    unit: 'reward, the policy’s less the arm’s',
    chart: new Plot('Cumulative reward of the policy less that of each arm alone; the table below holds the numbers', zoom, { atLeast: [0], format: signed }),
    data: state => ({ series: byArm(state, 'lead') }),
    caption: state => `Above 0 the policy has earned more than that arm would have, pulled at every Decision that was answered. The arm’s mean is estimated from its own rewards of the last ${count(8 * state.width)} steps, ${state.weighted
      ? 'each weighted by 1/probability of its choice (self-normalised inverse propensity)' : 'unweighted, as no probabilities were kept'}; where it got none, its last known mean stands in, which may be out of date.`,
    format: signed,
  },
  {
    title: 'Pending rewards',
    unit: 'Decisions that wait for their reward',
    chart: new Plot('Decisions that wait for their reward, over time; the table below holds the numbers', zoom, { atLeast: [0], height: 150, format: count }),
    data: state => ({ series: [{ name: 'pending', look: { ...lookOf(0), mark: null }, values: state.rows.pending, area: true }] }),
    caption: () => 'How many Decisions had no reward yet.',
    format: count,
  },
  {
    title: 'Out-of-order and missing rewards',
    unit: 'share of the Decisions that were answered or timed out',
    chart: new Plot('Share of rewards that came out of order, and of Decisions that timed out; the table below holds the numbers', zoom, { atLeast: [0], height: 150, format: percent }),
    data: state => ({ series: [
      { name: 'out of order', look: { ...lookOf(0), mark: null }, values: shares(state, 'late') },
      { name: 'timed out', look: LIMIT, values: shares(state, 'settled') },
    ] }),
    caption: state => `Over ${count(8 * state.width)} steps. Solid: the reward of a newer Decision came first, as is usual where delays differ. Dashed: no reward came before the timeout.`,
    format: percent,
  },
];

// Over the last 8 rows, as the rolling means.
function shares(state, name) {
  const { told, settled } = state.rows;
  const recent = (column, index) => column.slice(Math.max(0, index - 7), index + 1).reduce((sum, value) => sum + value, 0);
  return told.map((_, index) => {
    const answers = recent(told, index) + recent(settled, index);
    return answers ? recent(state.rows[name], index) / answers : null;
  });
}

export function buildFigures(box) {
  FIGURES.forEach((figure, index) => {
    const id = `figure-${index}`;
    figure.caption_ = make('figcaption');
    figure.empty_ = make('p', { class: 'empty', hidden: true }, figure.empty || '');
    figure.table = make('table');
    figure.details = make('details', {}, make('summary', {}, 'As a table'),
      make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `${figure.title}, as a table` }, figure.table));
    figure.details.addEventListener('toggle', () => { if (figure.last) fillFigureTable(figure, figure.last); });
    figure.files = make('div', { class: 'files' }, fileButton(figure, 'PNG', savePng), fileButton(figure, 'CSV', saveCsv));
    figure.box = make('figure', { 'aria-labelledby': id }, make('div', { class: 'row' }, make('h3', { id }, figure.title), figure.files), make('p', { class: 'unit' }, figure.unit),
      figure.chart.box, figure.empty_, figure.caption_, figure.details);
    box.append(figure.box);
  });
}

function fileButton(figure, kind, save) {
  const button = make('button', { type: 'button', class: 'small', 'aria-label': `${figure.title} as ${kind}` }, kind);
  button.addEventListener('click', () => { if (figure.last?.x.length > 1) save(figure, zoom.range()); });
  return button;
}

export function drawFigures(state, chosen, moments) {
  const { time } = state.rows, axis = time[0] === time[time.length - 1] ? 'step' : chosen; // all at one moment: time would show nothing
  const { x, gaps, ahead } = along(state, axis);
  if (x.length > 1) zoom.cover(x[0], ahead ? ahead.x[ahead.x.length - 1] : x[x.length - 1]);
  const placed = moments.map(each => ({ ...each, x: axis === 'time' ? each.time : stepAt(state.rows, each.time) }));
  const shared = { axis, x, gaps, steps: state.rows.step, times: state.rows.time, moments: placed };
  for (const figure of FIGURES) {
    const data = { ...shared, ...figure.data({ ...state, ahead }) };
    const empty = Boolean(figure.isEmpty && x.length > 1 && figure.isEmpty(state));
    for (const part of [figure.chart.box, figure.caption_]) part.hidden = empty;
    for (const part of [figure.details, figure.files]) part.hidden = empty || x.length < 2;
    figure.empty_.hidden = !empty;
    figure.caption_.textContent = figure.caption({ ...state, ahead });
    figure.last = data;
    if (empty) continue;
    if (figure.chart instanceof Lanes) figure.box.style.gridRow = `span ${Math.ceil(data.series.length / 7)}`; // others stand beside it
    figure.chart.update(data);
    fillFigureTable(figure, data);
  }
}

// The x of each row, that of the forecasts at the pace of late, and stretches in which nothing came for long.
function along(state, axis) {
  const { step, time } = state.rows, x = axis === 'time' ? time : step, last = x.length - 1;
  let ahead = null;
  if (state.ahead && last > 0) {
    const from = Math.max(0, last - 16), pace = Math.max((time[last] - time[from]) / Math.max(step[last] - step[from], 1), 1e-6);
    ahead = { ...state.ahead, now: x[last], x: state.ahead.steps.map(steps => x[last] + (axis === 'time' ? steps * pace : steps)) };
  }
  const longest = Math.max(SILENCE * (time[last] - time[0]) / last, 5);
  const gaps = axis === 'time' && last > 2 * SILENCE ? time.flatMap((value, index) => (index && value - time[index - 1] > longest ? [[time[index - 1], value]] : [])) : [];
  return { x, gaps, ahead };
}

function stepAt(rows, time) {
  const index = rows.time.findIndex(each => each >= time);
  return rows.step[index < 0 ? rows.step.length - 1 : index];
}

// At most so many rows, the newest first: every n-th one, so that the whole span is there. Where the arms don't fit side by side, they
// are below each other, beside as many moments as fit.
function fillFigureTable(figure, data) {
  if (!figure.details.open) return;
  const room = figure.details.clientWidth || 600, wide = data.series.some(each => each.low) ? 170 : 100, columns = Math.max(1, Math.floor((room - 130) / wide));
  const across = data.series.length + 1 > columns, most = across ? columns : TABLE_ROWS, every = Math.max(1, Math.ceil(data.x.length / most));
  const chosen = data.x.map((_, index) => data.x.length - 1 - index).filter((_, place) => place % every === 0).slice(0, most);
  const when = index => `${count(data.steps[index])}, ${moment(data.times[index])}`, value = (each, index) => make('td', { class: 'number' }, cell(figure, each, index));
  const head = across ? ['arm', ...chosen.map(when)] : ['step, time', ...data.series.map(each => named(each.name))];
  const rows = across ? data.series.map(each => [named(each.name), chosen.map(index => value(each, index))])
    : chosen.map(index => [when(index), data.series.map(each => value(each, index))]);
  figure.table.replaceChildren(make('caption', {}, every > 1 ? `Every ${every}. row of ${data.x.length}.` : 'All rows.'),
    make('thead', {}, make('tr', {}, ...head.map((each, index) => make('th', { scope: 'col', class: index ? 'number head' : null }, each)))),
    make('tbody', {}, ...rows.map(([name, cells]) => make('tr', {}, make('th', { scope: 'row', class: 'name' }, name), ...cells))));
}

function cell(figure, each, index) {
  const value = figure.format(each.values[index]);
  if (each.low && each.low[index] !== null) return `${value} (${number(each.low[index])} to ${number(each.high[index])})`;
  return each.snoozed && each.snoozed[index] > 0 ? `${value}, snoozed` : value;
}

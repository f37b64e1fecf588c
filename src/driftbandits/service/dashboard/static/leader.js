// Which arm leads now, in a sentence, as far as the intervals can tell.
import { count, interval, named, number } from './format.js';

// By the policy's own estimates, or, if it keeps none, by the means of the last rewards. `arms` are those that are on; null if there is one.
export function leading(arms) {
  if (arms.length < 2) return null;
  const own = arms.some(arm => arm.estimate_low !== null), snoozed = arms.filter(arm => arm.snoozed && !own && arm.low === null);
  const known = arms.map(arm => (own ? [arm.arm, arm.estimate, arm.estimate_low, arm.estimate_high] : [arm.arm, arm.mean, arm.low, arm.high]))
    .filter(([, mean, low]) => mean !== null && low !== null).sort(([, one], [, other]) => other - one);
  if (!known.length) return ['Too early to say which arm leads: there are too few rewards.'];
  const [best, ...others] = known, unknown = arms.length - known.length - snoozed.length;
  const words = ([name, mean, low, high], kind = '') => [named(name), ` (${kind}${number(mean)}, 95 % interval ${interval(low, high)})`];
  const kind = own ? 'estimated ' : 'mean of its last rewards ', about = snoozed.flatMap((arm, index) => [index ? ', ' : '; snoozed as worse: ', named(arm.arm)]);
  if (unknown) {
    const few = own ? 'Too early to say which arm leads: there are too few rewards of' : 'It is not known which arm leads: there were too few recent rewards of';
    return [`${few} ${count(unknown)} of ${count(arms.length)} arms. Best of the others: `, ...words(best, kind), '.'];
  }
  const near = others.filter(each => !apart(best, each)), more = near.length > 1 ? `; nor can ${count(near.length - 1)} more` : '';
  if (near.length) return ['No arm leads clearly: ', ...words(best, kind), ' and ', ...words(near[0]), ` can’t be told apart yet${more}`, ...about, '.'];
  const then = others.length ? ['; next is ', ...words(others[0])] : [];
  return [named(best[0]), ` leads: ${kind}${number(best[1])}, 95 % interval ${interval(best[2], best[3])}`, ...then, ...about, '.'];
}

// Whether the difference of two estimates exceeds its own 95 % interval, which their distances to the ends between them make.
const apart = ([, one, low], [, other, , high]) => one - other > Math.hypot(one - low, high - other);

// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people.

const WHOLE = new Intl.NumberFormat('en');
const TIME = {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'};
const EXACT = {...TIME, second: '2-digit', timeZoneName: 'short'};
const SHORT = new Intl.DateTimeFormat(undefined, TIME);
const CLOCK = new Intl.DateTimeFormat(undefined, EXACT);
const DAY = new Intl.DateTimeFormat(undefined, {year: 'numeric', month: 'short', day: 'numeric', ...EXACT});

export function number(value) {
  return WHOLE.format(value);
}

export function plural(count, one, many) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Seconds as a short span, rounded up, so that no wait is too short: 0.4 s, 12 s, 3 min 20 s, 8 h, 2 d. */
export function span(seconds) {
  if (seconds <= 0) {
    return '0 s';
  }
  if (seconds < 1) {
    return `${up(seconds * 1000)} ms`;
  }
  if (seconds < 10) {
    return `${up(seconds * 10) / 10} s`;
  }
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const [, part] = units[units.findIndex(([, size]) => seconds >= size) + 1] ?? units[3];
  const whole = up(seconds / part) * part;
  const first = units.findIndex(([, size]) => whole >= size);
  const [name, size] = units[first];
  const count = Math.floor(whole / size);
  const next = units[first + 1];
  const rest = next ? (whole - count * size) / next[1] : 0;
  return rest > 0 ? `${count} ${name} ${rest} ${next[0]}` : `${number(count)} ${name}`;
}

/** The next whole number, but for the error of a calculation. */
function up(value) {
  return Math.ceil(value - 1e-6);
}

function trim(text) {
  return text.replace(/\.0$/, '');
}

/** A Go duration without its zero parts: 24h0m0s becomes 24h. */
export function period(text) {
  return text.replace(/(?<=h)0m0s$/, '').replace(/(?<=m)0s$/, '');
}

/** The quotas of a limit or an override, the longest period first. */
export function quotas(one) {
  return one.quotas ?? [one];
}

/** What a limit or an override lets through, and its bursts. */
export function quotaWords(one) {
  return [
    quotas(one).map((quota) => `${number(quota.count)} per ${period(quota.period)}`).join(' and '),
    quotas(one).map((quota) => number(quota.burst)).join(' and '),
  ];
}

/** What is known of a bucket while a failure rule decides. */
export function byRule({decidedBy}) {
  return `The store does not answer. The failure rule “${decidedBy}” decides, and nobody knows what the bucket holds.`;
}

/** The clock time of an instant without seconds and zone, for an axis. */
export function shortClock(millis) {
  return SHORT.format(new Date(millis));
}

/** A share of one: 0 %, <0.1 %, 3.4 %, 72 %. */
export function percent(share) {
  const text = rate(100 * share);
  return `${text} %`;
}

/** The clock time of an instant in milliseconds, with its zone; with the day if it is not today. */
export function clock(millis) {
  const then = new Date(millis);
  if (!(Math.abs(millis) < 8.64e15)) {
    return 'in a far future';
  }
  return then.toDateString() === new Date().toDateString() ? CLOCK.format(then) : DAY.format(then);
}

/** A rate per second of small counts: 0, 0.2, 3.4, 120. */
export function rate(perSecond) {
  if (perSecond === 0) {
    return '0';
  }
  return perSecond < 10 ? trim(perSecond.toFixed(1)).replace(/^0$/, '<0.1') : number(Math.round(perSecond));
}

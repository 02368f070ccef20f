// SPDX-License-Identifier: Apache-2.0
// Ids that nobody uses: from the ranges reserved for documentation, or random.

function random(length) {
  return crypto.getRandomValues(new Uint8Array(length));
}

function hex(length) {
  return [...random(length)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function ipv6() {
  const groups = Array.from({length: 6}, () => hex(2).replace(/^0+(?=.)/, ''));
  return `2001:db8:${groups.join(':')}`;
}

function whole() {
  return String(100_000_000 + (new DataView(random(4).buffer).getUint32(0) % 900_000_000));
}

function uuid() {
  const digits = hex(16);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
}

const FORMS = {
  ipAddress: (last) => (last ? ipv6() : `[${ipv6()}]`),
  regId: whole,
  integer: whole,
  uuid,
  string: () => `try-${hex(4)}`,
  bytes: () => `try-${hex(4)}`,
  domain: () => `try-${hex(4)}.example.com`,
  domainOrCIDR: () => `try-${hex(4)}.example.com`,
};

/** Returns an id of a format, such as ipAddress or string:uuid; empty if this page does not know the format. */
export function throwAwayId(form) {
  const parts = form.split(':').map((name, i, all) => {
    const last = i === all.length - 1;
    const range = /^ipv6RangeCIDR(?:\/(\d+))?$/.exec(name);
    if (range) {
      return `${ipv6()}/${range[1] ?? 48}`;
    }
    return Object.hasOwn(FORMS, name) ? FORMS[name](last) : '';
  });
  return parts.includes('') ? '' : parts.join(':');
}

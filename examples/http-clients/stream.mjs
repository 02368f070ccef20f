// SPDX-License-Identifier: Apache-2.0
// Decides on many acts in one request: a line each, answered in order. Node's own library is enough (18 or newer).
const server = process.argv[2]; // http://127.0.0.1:8080

const acts = Array.from({ length: 12 }, () => ({ op: 'spend', limit: 'SignUpsPerIPAddress', id: '198.51.100.1' }));

const answer = await fetch(`${server}/v1/decisions`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/x-ndjson' },
  body: acts.map((act) => JSON.stringify(act)).join('\n'),
});
const decisions = (await answer.text()).trim().split('\n').map((line) => JSON.parse(line));

console.log(decisions.filter((decision) => decision.allowed).length, 'of', decisions.length, 'allowed');

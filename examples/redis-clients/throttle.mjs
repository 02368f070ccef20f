// SPDX-License-Identifier: Apache-2.0
// Asks Sluice with node-redis: any command can be sent as it is.
import { createClient } from 'redis';

const client = createClient({ url: process.argv[2], RESP: Number(process.argv[3]) }); // redis://127.0.0.1:6380, 2 or 3
client.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
await client.connect();

// The caller brings the quota: a burst of 5, and a token a minute, as with redis-cell.
const replies = await Promise.all(
  Array.from({ length: 6 }, () => client.sendCommand(['CL.THROTTLE', `user-${process.argv[3]}`, '4', '5', '300'])),
);
const [limited, limit, remaining, retryAfter] = replies[5];
console.log(`limited ${limited}, limit ${limit}, remaining ${remaining}, retry after ${retryAfter} s`);

// Or the server knows the limit. What turned out good is given back.
const login = await client.sendCommand(['SLUICE.RESERVE', 'FailedLoginsPerIPAddress', '192.0.2.7', '1', '30s']);
const fields = Array.isArray(login) ? Object.fromEntries(pairs(login)) : login;
console.log('cancelled:', await client.sendCommand(['SLUICE.CANCEL', fields.token]));

await client.sendCommand(['SLUICE.SPEND', 'NoSuchLimit', 'x']).catch((error) => console.log(error.message));
await client.close();

function* pairs(list) {
  for (let i = 0; i < list.length; i += 2) {
    yield [list[i], list[i + 1]];
  }
}

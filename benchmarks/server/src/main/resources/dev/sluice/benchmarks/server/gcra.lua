-- SPDX-License-Identifier: Apache-2.0
-- What a user of Redis would write: GCRA on the server's clock, one number a bucket.
-- KEYS[1] bucket; ARGV[1] emission interval and ARGV[2] tolerance, in microseconds
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local tolerance = tonumber(ARGV[2])
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local new = tat + interval
if new - now > tolerance then
  return {1, new - now - tolerance}
end
redis.call('SET', KEYS[1], string.format('%.0f', new), 'PX', math.ceil((new - now) / 1000))
return {0, 0}

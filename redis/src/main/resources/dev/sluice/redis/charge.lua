-- SPDX-License-Identifier: Apache-2.0
-- Decides on batches of charges: the law of a bucket, inside the server.
--
-- KEYS     the bucket of each charge, in order; the same bucket may stand in several batches
-- ARGV[1]  MessagePack, an array of whole numbers:
--            nowS, nowN         the client's clock; nowS = -1: take this server's
--            slackMs            how much longer than its debt a bucket is kept (client's clock only)
--            then for each batch
--              n                how many charges it has
--              then for each charge
--                act, incS, incN, offS, offN, and for a refund or a withdrawal untilS, untilN
--                               the increment, the burst offset, the end of what can be given back
--                               or the TAT that the bucket must still have
-- Answers  nowS, nowN, then for each charge the TAT that was found, as it is stored, 0 for none;
--          for each charge of a batch that the server refused "!" and the reason; "?" instead of "!"
--          where a part of the batch had been written before.
--
-- A Lua number is a double, which holds 53 bits: less than a nanosecond timestamp. So a time is two
-- numbers, seconds (S, below 2^35) and nanoseconds (N, below 10^9), and no number here is ever
-- larger than 2^53. TATs and their ends are below 2^64 ns, everything else below 2^63 ns.
--
-- A batch is all or nothing. All of it is read before any of it is written, and what can make a
-- server refuse a write (memory, replica, disk) makes it refuse the first one of a script. Only a user
-- that may SET but not DEL, or the other way round, can be refused later.
-- The law is that of dev.sluice.store.Charge, act by act; a test holds the two together.

local CHECK, SPEND, SPEND_ONLY, REFUND, RESET, FORGIVE, WITHDRAW = 0, 1, 2, 3, 4, 5, 6
local G = 1000000000

local call, pcall_ = redis.call, redis.pcall
local sub, find, format, tonumber, floor = string.sub, string.find, string.format, tonumber, math.floor

local a = cmsgpack.unpack(ARGV[1])
local nowS, nowN, slackMs = a[1], a[2], a[3]
local ownClock = nowS < 0
if ownClock then
  local time = call('TIME')
  nowS, nowN = tonumber(time[1]), tonumber(time[2]) * 1000
end

local reply, replied = {nowS, nowN}, 2
local p, k, count = 4, 1, #a -- the next number of ARGV, the next key, the end of ARGV

-- What is known of each charge of a batch, side by side; every batch writes over the one before.
local found, aheads, aheadn, fitting, forgiven, last, at = {}, {}, {}, {}, {}, {}, {}

while p <= count do
  local n = a[p]
  p = p + 1
  local failure, wrote, passes = nil, false, true
  local q = p
  for i = 1, n do
    local act, incS, incN, offS, offN = a[q], a[q + 1], a[q + 2], a[q + 3], a[q + 4]
    at[i] = q
    q = q + ((act == REFUND or act == WITHDRAW) and 7 or 5)
    local value = pcall_('GET', KEYS[k + i - 1])
    local tatS, tatN = 0, 0
    if type(value) == 'table' then
      failure = value.err
    elseif value then
      local length = #value
      if length == 0 or length > 20 or find(value, '%D') then
        failure = 'GARBAGE ' .. sub(value, 1, 40)
      elseif length > 9 then
        tatS, tatN = tonumber(sub(value, 1, -10)), tonumber(sub(value, -9))
        if tatS > 18446744073 or (tatS == 18446744073 and tatN > 709551615) then
          failure = 'GARBAGE ' .. value
        end
      else
        tatN = tonumber(value)
      end
      found[i] = value
    else
      found[i] = 0
    end
    last[i] = act == WITHDRAW and tatS == a[at[i] + 5] and tatN == a[at[i] + 6]
    -- ahead = max(tat - now, 0); beyond off the bucket is empty and in debt
    local aS, aN = tatS - nowS, tatN - nowN
    if aN < 0 then
      aS, aN = aS - 1, aN + G
    end
    if aS < 0 then
      aS, aN = 0, 0
    end
    forgiven[i] = act == FORGIVE and (aS > offS or (aS == offS and aN > offN))
    if forgiven[i] then
      aS, aN = offS, offN
    end
    aheads[i], aheadn[i] = aS, aN
    if act <= SPEND_ONLY or act == FORGIVE then
      local sumS, sumN = aS + incS, aN + incN
      if sumN >= G then
        sumS, sumN = sumS + 1, sumN - G
      end
      local fits = sumS < offS or (sumS == offS and sumN <= offN) or (incS == 0 and incN == 0)
      fitting[i] = fits
      if not fits and act ~= SPEND_ONLY then
        passes = false
      end
    end
  end

  for i = 1, n do
    if failure then
      break
    end
    local o = at[i]
    local act, incS, incN, offS, offN = a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4]
    local aS, aN = aheads[i], aheadn[i]
    local write, forget = forgiven[i], false
    if act == SPEND or act == SPEND_ONLY or act == FORGIVE then
      -- A spend that is denied, and one of nothing, leave the TAT alone.
      if passes and fitting[i] and (incS > 0 or incN > 0) then
        write = true
        aS, aN = aS + incS, aN + incN
        if aN >= G then
          aS, aN = aS + 1, aN - G
        end
      end
    elseif passes and (aS > 0 or aN > 0) and (act == REFUND or (act == WITHDRAW and last[i])) then
      local backS, backN = incS, incN
      if act == REFUND then -- no more than what is left until its end
        local leftS, leftN = a[o + 5] - nowS, a[o + 6] - nowN
        if leftN < 0 then
          leftS, leftN = leftS - 1, leftN + G
        end
        if leftS < 0 then
          backS, backN = 0, 0
        elseif leftS < incS or (leftS == incS and leftN < incN) then
          backS, backN = leftS, leftN
        end
      end
      write = backS > 0 or backN > 0
      aS, aN = aS - backS, aN - backN
      if aN < 0 then
        aS, aN = aS - 1, aN + G
      end
      if aS < 0 then
        aS, aN = 0, 0
      end
    elseif act == RESET then
      forget = passes
    end

    local done = true
    if forget then
      if found[i] ~= 0 then
        done = pcall_('DEL', KEYS[k + i - 1])
      end
    elseif write then
      local tatS, tatN = nowS + aS, nowN + aN
      if tatN >= G then
        tatS, tatN = tatS + 1, tatN - G
      end
      local text = tatS > 0 and format('%d%09d', tatS, tatN) or format('%d', tatN)
      if text ~= found[i] then
        -- Forgotten a little after the TAT, never before it. By this server's clock the moment
        -- itself can be named; by another clock only the time that is left.
        if ownClock then
          local atMs = tatS * 1000 + floor(tatN / 1000000) + 2
          done = pcall_('SET', KEYS[k + i - 1], text, 'PXAT', format('%d', atMs))
        else
          local ms = aS * 1000 + floor(aN / 1000000) + 2 + slackMs
          done = pcall_('SET', KEYS[k + i - 1], text, 'PX', format('%d', ms))
        end
      end
    end
    if type(done) == 'table' and done.err then
      failure = done.err
    elseif write or forget then
      wrote = true
    end
  end

  for i = 1, n do
    replied = replied + 1
    reply[replied] = failure and ((wrote and '?' or '!') .. failure) or found[i]
  end
  p, k = q, k + n
end
return reply

-- SPDX-License-Identifier: Apache-2.0
-- Decides on batches of charges: the law of a bucket, inside the server.
--
-- KEYS     the bucket of each charge, in order; the same bucket may stand in several batches
-- ARGV[1]  MessagePack, an array of whole numbers:
--            nowS, nowN         the client's clock; nowS = -1: take this server's
--            slackMs            how much longer than its debt a bucket is kept (client's clock only)
--            then groups of
--              form, n          and n charges in this form:
--              SPENDS           n batches, each of them one spend of more than nothing: inc, off
--              SHORT            one batch of checks and spends: act, inc, off
--              LONG             one batch: act, incS, incN, offS, offN, and for a refund, a
--                               withdrawal or a spend of up to some tokens untilS, untilN
--            with the increment, the burst offset, and the end of what can be given back, the TAT
--            that the bucket must still have, or the emission interval
-- Answers  nowS, nowN, then for each charge the TAT that was found, as it is stored, 0 for none;
--          for each charge of a batch that the server refused "!" and the reason; "?" instead of "!"
--          where a part of the batch had been written before.
--
-- A Lua number is a double, which holds 53 bits: less than a nanosecond timestamp. So a time is two
-- numbers, seconds (S, below 2^35) and nanoseconds (N, below 10^9), and no number here is ever
-- larger than 2^53. TATs and their ends are below 2^64 ns, everything else below 2^63 ns.
--
-- In the forms SPENDS and SHORT increments and offsets are below 2^52 ns, 52 days, and stand in one
-- number. What is ahead of the present is one number then: exact up to 2^53, and where it is larger
-- it is larger than any offset, whatever it was rounded to.
--
-- A batch is all or nothing. All of it is read before any of it is written. A server that refuses
-- writes (memory, replica, disk) refuses the first one of a script. Only a user that may SET but not
-- DEL, or the other way round, can be refused later.
-- The law is that of dev.sluice.store.BucketStore.Charge, act by act; a test holds the two together.

local SPENDS, SHORT, LONG = 0, 1, 2
local CHECK, SPEND, SPEND_ONLY, REFUND, RESET, FORGIVE, WITHDRAW, UP_TO = 0, 1, 2, 3, 4, 5, 6, 7
local G = 1000000000

-- Nothing below is shared in functions that each charge would call: a call of Lua costs as much as
-- the arithmetic of a decision.
local call, pcall_ = redis.call, redis.pcall
local sub, find, format, tonumber, floor = string.sub, string.find, string.format, tonumber, math.floor
local KEYS = KEYS

local a = cmsgpack.unpack(ARGV[1])
local nowS, nowN, slackMs = a[1], a[2], a[3]
local ownClock = nowS < 0
if ownClock then
  local time = call('TIME')
  nowS, nowN = tonumber(time[1]), tonumber(time[2]) * 1000
end

-- Returns the TAT of what GET found, unless it has 19 digits; nil and a reason where it is none.
local function unusual(value)
  if not value then
    return 0, 0
  elseif type(value) == 'table' then
    return nil, value.err
  end
  local length = #value
  if length == 0 or length > 20 or find(value, '%D') then
    return nil, 'GARBAGE ' .. sub(value, 1, 40)
  elseif length <= 9 then
    return 0, tonumber(value)
  end
  local tatS, tatN = tonumber(sub(value, 1, -10)), tonumber(sub(value, -9))
  if tatS > 18446744073 or (tatS == 18446744073 and tatN > 709551615) then
    return nil, 'GARBAGE ' .. value
  end
  return tatS, tatN
end

-- Returns the whole tokens that fit into what is free, at least one and at most inc. The rest of a
-- division of numbers of this size is found by doubling.
local function whole(freeS, freeN, incS, incN, tokenS, tokenN)
  if freeN < 0 then
    freeS, freeN = freeS - 1, freeN + G
  end
  if freeS > incS or (freeS == incS and freeN >= incN) then
    return incS, incN
  elseif freeS < tokenS or (freeS == tokenS and freeN < tokenN) then
    return tokenS, tokenN
  end
  local s, n, d = {tokenS}, {tokenN}, 1
  while s[d] < freeS or (s[d] == freeS and n[d] <= freeN) do
    local carry = 2 * n[d] >= G and 1 or 0
    s[d + 1], n[d + 1] = 2 * s[d] + carry, 2 * n[d] - carry * G
    d = d + 1
  end
  local restS, restN = freeS, freeN
  for i = d - 1, 1, -1 do
    if s[i] < restS or (s[i] == restS and n[i] <= restN) then
      restS, restN = restS - s[i], restN - n[i]
      if restN < 0 then
        restS, restN = restS - 1, restN + G
      end
    end
  end
  local s1, n1 = freeS - restS, freeN - restN
  if n1 < 0 then
    s1, n1 = s1 - 1, n1 + G
  end
  return s1, n1
end

local reply, replied = {nowS, nowN}, 2
local p, k, count = 4, 1, #a -- the next number of ARGV, the next key, the end of ARGV

-- What is known of each charge of a batch, side by side; every batch writes over the one before.
local found, after = {}, {}
local aheads, aheadn, fitting, forgiven, last, at -- of the form LONG, made when one is met

while p <= count do
  local form, n, batches = a[p], a[p + 1], 1
  p = p + 2
  if form == SPENDS then
    n, batches = 1, n
  end
  for _ = 1, batches do
    local failure, wrote, passes = nil, false, true
    if form ~= LONG then
      for i = 1, n do
        local act = SPEND
        if form == SHORT then
          act, p = a[p], p + 1
        end
        local inc, off = a[p], a[p + 1]
        p = p + 2
        local value, tatS, tatN = pcall_('GET', KEYS[k + i - 1]), nil, nil
        if value and #value == 19 and not find(value, '%D') then -- any TAT from 2001 to 2286
          tatS, tatN = tonumber(sub(value, 1, 10)), tonumber(sub(value, 11))
        else
          tatS, tatN = unusual(value)
        end
        found[i] = value or 0
        if tatS then
          local ahead = (tatS - nowS) * G + (tatN - nowN)
          local sum = (ahead > 0 and ahead or 0) + inc
          local fits = sum <= off or inc == 0
          passes = passes and (fits or act == SPEND_ONLY)
          -- A spend that is denied, and one of nothing, leave the TAT alone.
          after[i] = fits and inc > 0 and act ~= CHECK and sum
        else
          failure = tatN
        end
      end

      if passes and not failure then
        for i = 1, n do
          local ahead = after[i]
          if ahead then
            local s = floor((nowN + ahead) / G) -- below 2^53 / 10^9 the quotient is never rounded up
            local tatS, tatN = nowS + s, nowN + ahead - s * G
            local text = tatS > 0 and format('%d%09d', tatS, tatN) or format('%d', tatN)
            local done
            -- Forgotten a little after the TAT, never before it. By this server's clock the moment
            -- itself can be named; by another clock only the time that is left.
            if ownClock then
              local atMs = tatS * 1000 + floor(tatN / 1000000) + 2
              done = pcall_('SET', KEYS[k + i - 1], text, 'PXAT', format('%d', atMs))
            else
              local ms = floor(ahead / 1000000) + 2 + slackMs
              done = pcall_('SET', KEYS[k + i - 1], text, 'PX', format('%d', ms))
            end
            if done.err then
              failure = done.err
              break
            end
            wrote = true
          end
        end
      end
    else
      if not at then
        aheads, aheadn, fitting, forgiven, last, at = {}, {}, {}, {}, {}, {}
      end
      for i = 1, n do
        local act, incS, incN, offS, offN = a[p], a[p + 1], a[p + 2], a[p + 3], a[p + 4]
        at[i] = p
        p = p + ((act == REFUND or act >= WITHDRAW) and 7 or 5)
        local value = pcall_('GET', KEYS[k + i - 1])
        local tatS, tatN
        if value and #value == 19 and not find(value, '%D') then
          tatS, tatN = tonumber(sub(value, 1, 10)), tonumber(sub(value, 11))
        else
          tatS, tatN = unusual(value)
        end
        found[i] = value or 0
        if not tatS then
          failure, tatS, tatN = tatN, 0, 0
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
        if act == UP_TO then -- from here on a spend of what fits
          local o = at[i]
          incS, incN = whole(offS - aS, offN - aN, incS, incN, a[o + 5], a[o + 6])
          a[o], a[o + 1], a[o + 2] = SPEND, incS, incN
          act = SPEND
        end
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
          if ownClock then
            local atMs = tatS * 1000 + floor(tatN / 1000000) + 2
            done = pcall_('SET', KEYS[k + i - 1], text, 'PXAT', format('%d', atMs))
          else
            local ms = aS * 1000 + floor(aN / 1000000) + 2 + slackMs
            done = pcall_('SET', KEYS[k + i - 1], text, 'PX', format('%d', ms))
          end
        end
        if type(done) == 'table' and done.err then
          failure = done.err
        elseif write or forget then
          wrote = true
        end
      end
    end

    for i = 1, n do
      reply[replied + i] = failure and ((wrote and '?' or '!') .. failure) or found[i]
    end
    replied, k = replied + n, k + n
  end
end
return reply

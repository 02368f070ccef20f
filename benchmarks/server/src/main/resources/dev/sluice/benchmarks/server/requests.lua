-- SPDX-License-Identifier: Apache-2.0
-- Requests for wrk, each with one of 100,000 ids, and one line of figures at the end.
local headers = {["Content-Type"] = "application/json"}
local spends = os.getenv("SLUICE_BENCH") == "spend"

request = function()
  local id = "user-" .. math.random(100000)
  if spends then
    return wrk.format("POST", "/v1/spend", headers, '{"limit":"Requests","id":"' .. id .. '"}')
  end
  return wrk.format("GET", "/v1/forward-auth?limit=Requests&id=" .. id)
end

done = function(summary, latency, requests)
  local failed = summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout
  io.write(string.format("figure %d %d %.0f %.0f %.0f %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), failed))
end

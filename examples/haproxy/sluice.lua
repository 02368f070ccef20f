-- SPDX-License-Identifier: Apache-2.0
-- Asks Sluice whether a request may pass, with HAProxy's own HTTP client (HAProxy 2.6 and newer).
-- The answer stands in txn.sluice_status (0 if there was none), and in a variable for each header below.

local HEADERS = { "ratelimit", "ratelimit-policy", "retry-after" }

local function ask(txn, url)
  -- Replaces what the client sent under these names: a client may not set them.
  local headers = txn.http:req_get_headers()
  local asked = {}
  for name, values in pairs(headers) do
    if name ~= "host" and name ~= "content-length" and name ~= "transfer-encoding" and name ~= "connection" then
      asked[name] = {}
      for _, value in pairs(values) do
        table.insert(asked[name], value)
      end
    end
  end
  asked["x-forwarded-method"] = { txn.f:method() }
  asked["x-forwarded-uri"] = { txn.f:pathq() }
  asked["x-forwarded-host"] = { txn.f:req_hdr("host") or "" }
  asked["x-forwarded-for"] = { txn.f:src() }
  -- Where Sluice has access control (--tokens): a token with the role decide, from HAProxy's environment.
  -- asked["sluice-token"] = { os.getenv("SLUICE_TOKEN") }

  txn:set_var("txn.sluice_status", 0)
  local answer = core.httpclient():get({ url = url, headers = asked, timeout = 1000 })
  if answer == nil then
    return
  end
  txn:set_var("txn.sluice_status", answer.status)
  txn:set_var("txn.sluice_body", answer.body or "")
  for _, name in ipairs(HEADERS) do
    local values = answer.headers[name]
    if values ~= nil and values[0] ~= nil then
      txn:set_var("txn.sluice_" .. name:gsub("-", "_"), values[0])
    end
  end
end

core.register_action("sluice", { "http-req" }, ask, 1)

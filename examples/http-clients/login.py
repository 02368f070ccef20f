# SPDX-License-Identifier: Apache-2.0
"""Counts failed logins only: reserve first, cancel when the password was right. Python's own library is enough."""
import json
import math
import sys
import urllib.error
import urllib.request

SERVER = sys.argv[1]  # http://127.0.0.1:8080


def post(path, body=None):
    request = urllib.request.Request(
        SERVER + path,
        data=b"" if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:  # problem+json says what is wrong, and where
        raise RuntimeError(json.load(e)["detail"]) from e


def login(address, password_is_right):
    attempt = post("/v1/reservations?expires=30s", {"limit": "FailedLoginsPerIPAddress", "id": address})
    if not attempt["allowed"]:
        return f"429, retry after {math.ceil(attempt['retryInSeconds'])} s"
    if not password_is_right():
        return "401"  # stays spent
    post(f"/v1/reservations/{attempt['token']}/cancel")
    return "200"  # a good login costs nothing


answers = [login("192.0.2.7", lambda: True) for _ in range(50)]
answers += [login("192.0.2.7", lambda: False) for _ in range(31)]
print(answers[0], answers[50], answers[-1])

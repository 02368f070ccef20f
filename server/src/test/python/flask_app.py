# SPDX-License-Identifier: Apache-2.0
"""An application on Flask that says which handler a request reached, and what the handler saw. Prints its port."""
from urllib.parse import quote, urlparse

from flask import Flask, request
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)


class MethodOverride:
    """As Flask's documentation has it."""

    allowed = frozenset(["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"])

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def __call__(self, environ, start_response):
        method = environ.get("HTTP_X_HTTP_METHOD_OVERRIDE", "").upper()
        if method in self.allowed:
            environ["REQUEST_METHOD"] = method
        return self.wrapped(environ, start_response)


app.wsgi_app = MethodOverride(app.wsgi_app)


def seen(value):
    return "handler:" + quote(str(value), safe="")


@app.post("/login", strict_slashes=False)
def login():
    return seen("login")


@app.delete("/login", strict_slashes=False)
def delete():
    return seen("delete")


@app.get("/users/<user>/x")
def user(user):
    return seen(user)


@app.get("/cookie/<n>")
def cookie(n):
    return seen(request.cookies.get("s", ""))


@app.get("/query/<n>")
def query(n):
    return seen(request.args.get("k", ""))


@app.get("/token/<n>")
def token(n):
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return seen(token.strip() if scheme.lower() == "bearer" else "")


@app.errorhandler(404)
def missing(error):
    path = urlparse(request.environ.get("RAW_URI", request.full_path)).path
    return seen("login") if request.method == "POST" and path == "/login" else "nothing here"


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type, message, *args):
        pass


server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
print(server.server_port, flush=True)
server.serve_forever()

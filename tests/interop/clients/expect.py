"""What the Python clients' scripts share: who to talk to, what answers look like, how to wait."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import threading
import time

HOST = "127.0.0.1"
PORT = int(os.environ["BERGAMOT_PORT"])
USER = os.environ["BERGAMOT_USER"]
PASSWORD = os.environ["BERGAMOT_PASSWORD"]
NZBS = pathlib.Path(os.environ["BERGAMOT_NZBS"])

# Far more than anything here takes on a busy machine.
PATIENCE_SECONDS = 60
BETWEEN_LOOKS_SECONDS = 0.05

SHAPES = json.loads(pathlib.Path(__file__).with_name("fields.json").read_text())


def check(what, holds, seen=None):
    """Says what was checked, and ends the script if it does not hold."""
    if not holds:
        raise SystemExit(f"{what}: it does not hold; seen: {seen!r}")
    print("ok:", what)


def equal(what, found, wanted):
    check(f"{what} is {wanted!r}", type(found) is type(wanted) and found == wanted, found)


def shaped(what, item, shape):
    """Each field of the shape is there, with its type and within its range."""
    check(f"{what} has {fit(what, item, shape)} fields of {shape}", True)


def all_shaped(what, items, shape):
    check(f"{what} is a list", isinstance(items, list), items)
    for place, item in enumerate(items):
        fit(f"{what}[{place}]", item, shape)
    print(f"ok: {what} has {len(items)} of {shape}")


def fit(what, item, shape):
    fields = dict(SHAPES[shape])
    parent = fields.pop("like", None)
    count = fit(what, item, parent) if parent else 0
    for field, kind in fields.items():
        for name, fits in rules(what, field, kind):
            if name not in item or not fits(item[name]):
                raise SystemExit(f"{what}.{name} should be {kind}: {item.get(name, 'not there')!r}")
            count += 1
    return count


def rules(what, field, kind):
    """The fields on the wire that one row of a shape stands for, and how to tell them."""
    if kind == "size":
        return rules(what, field, "halves") + [(field + "MB", is_int)]
    if kind == "halves":
        return [(field + "Lo", is_half), (field + "Hi", is_half)]
    if kind == "int":
        return [(field, is_int)]
    if kind == "bool":
        return [(field, lambda value: isinstance(value, bool))]
    if kind == "text":
        return [(field, lambda value: isinstance(value, str))]
    if kind[0] == "one of":
        return [(field, lambda value: value in kind[1:])]

    def is_list(values):
        for place, value in enumerate(values):
            fit(f"{what}.{field}[{place}]", value, kind[1])
        return isinstance(values, list)

    return [(field, is_list)]


def is_int(value):
    return type(value) is int and -(2**31) <= value < 2**31


def is_half(value):
    return type(value) is int and 0 <= value < 2**32


def size(item, field):
    return (item[field + "Hi"] << 32) + item[field + "Lo"]


def nzb(name):
    """The text of an NZB of the test, as `append` wants it."""
    return base64.standard_b64encode((NZBS / name).read_bytes()).decode()


@contextlib.contextmanager
def served(name):
    """The address of an NZB of the test, on a web server that runs meanwhile."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = (NZBS / name).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/{name}"
    finally:
        server.shutdown()


def await_one(what, look):
    """Looks again and again, as clients do, until there is something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found:
            print("ok:", what)
            return found
        time.sleep(BETWEEN_LOOKS_SECONDS)
    raise SystemExit(f"{what}: it did not come")


def only(items):
    """The one item of a list, if there is exactly one."""
    items = list(items)
    return items[0] if len(items) == 1 else None

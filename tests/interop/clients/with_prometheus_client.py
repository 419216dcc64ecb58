"""The parsers of PyPI's prometheus-client read what `/metrics` says, in both formats."""

import os
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from expect import HOST, NZBS, PORT, await_one, check, equal

KEY = os.environ["BERGAMOT_API_KEY"]


def fetched(accept):
    headers = {"Authorization": f"Bearer {KEY}", "Accept": accept}
    request = urllib.request.Request(f"http://{HOST}:{PORT}/metrics", headers=headers)
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def upload(name):
    body = b"--b0\r\nContent-Disposition: form-data; name=\"name\"; filename=\"%s\"\r\n\r\n%s\r\n--b0--\r\n"
    request = urllib.request.Request(
        f"http://{HOST}:{PORT}/api?mode=addfile&cat=tv&apikey={KEY}",
        body % (name.encode(), (NZBS / name).read_bytes()),
        {"Content-Type": "multipart/form-data; boundary=b0"},
    )
    urllib.request.urlopen(request).read()


def samples(families):
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}


def completed():
    key = ("bergamot_jobs_total", (("category", "tv"), ("result", "completed")))
    return samples(prometheus(fetched("text/plain")[1])).get(key) == 1.0


upload("first.nzb")
await_one("the download is counted", completed)
kind, text = fetched("application/openmetrics-text; version=1.0.0")
check("OpenMetrics is spoken", kind.startswith("application/openmetrics-text"), kind)
strict = samples(openmetrics(text))
loose = samples(prometheus(fetched("text/plain")[1]))
equal("the names of both", sorted({name for name, _ in strict}), sorted({name for name, _ in loose}))
check("there are many of them", len(strict) > 80, len(strict))
bytes_of = strict[("bergamot_download_bytes_total", (("server", "s0"),))]
check("what came is counted", bytes_of > 0, bytes_of)

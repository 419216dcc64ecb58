"""What feedparser makes of the feed of finished downloads: from the file and over HTTP."""

import base64
import calendar
import os
import time
import urllib.request

import feedparser

from expect import check, equal

user, password = os.environ["BERGAMOT_USER"], os.environ["BERGAMOT_PASSWORD"]
address = f"http://127.0.0.1:{os.environ['BERGAMOT_PORT']}"
login = base64.b64encode(f"{user}:{password}".encode()).decode()


def fetch(path, headers):
    request = urllib.request.Request(address + path, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read()


try:
    fetch("/rss", {})
    check("without a login there is no feed", False)
except urllib.error.HTTPError as error:
    equal("the status without a login", error.code, 401)

kind, text = fetch("/rss", {"Authorization": f"Basic {login}"})
equal("the type", kind, "application/rss+xml; charset=utf-8")
with open(os.environ["BERGAMOT_FEED"], "rb") as file:
    equal("the file", file.read(), text)

feed = feedparser.parse(text)
check("it is well-formed", not feed.bozo)
equal("the version", feed.version, "rss20")
equal("the encoding", feed.encoding, "utf-8")
equal("the title", feed.feed.title, "bergamot: finished downloads")
equal("the link", feed.feed.link, "https://nas.example/bergamot")
equal("the description", feed.feed.subtitle, "What bergamot has downloaded, the newest first.")
equal("the titles", [entry.title for entry in feed.entries], ["second & <last>", "first"])
for entry in feed.entries:
    check("the guid is no permalink", not entry.guidislink)
    check("the guid names the job", entry.id.startswith("bergamot:job:"))
    check("there is no link", "link" not in entry)
    age = time.time() - calendar.timegm(entry.published_parsed)
    check("the date is of today", -60 < age < 86_400)
    check("the date is by RFC 822", entry.published.endswith(" +0000"))
    check("the description has the size", " in 1 file, every byte verified." in entry.summary)
equal("the category", [tag.term for tag in feed.entries[0].tags], ["tv"])
check("the newest is first", feed.entries[0].published_parsed >= feed.entries[1].published_parsed)
check("each guid is there once", len({entry.id for entry in feed.entries}) == 2)

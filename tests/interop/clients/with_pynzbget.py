"""What scripts built with pynzbget ask of the daemon that runs them, over XML-RPC."""

import os

# The surroundings of a script: it finds the daemon, and its job, by these.
for option, value in {
    "SCRIPTDIR": os.getcwd(),
    "TEMPDIR": os.environ["BERGAMOT_NZBS"],
    "VERSION": "26.0",
    "CONTROLIP": "0.0.0.0",
    "CONTROLPORT": os.environ["BERGAMOT_PORT"],
    "CONTROLUSERNAME": os.environ["BERGAMOT_USER"],
    "CONTROLPASSWORD": os.environ["BERGAMOT_PASSWORD"],
}.items():
    os.environ["NZBOP_" + option] = value

import nzbget
from nzbget.ScriptBase import PRIORITY

from expect import NZBS, all_shaped, await_one, check, equal, only


def ended(job):
    return only(item for item in script.api.history(False) if item["NZBID"] == job)


script = nzbget.PostProcessScript()
check("it connects", script.api_connect())
equal("the answer to append", script.add_nzb("absent.nzb", category="tv"), False)
job = script.add_nzb(str(NZBS / "first.nzb"), category="tv")
check("add_nzb of a file gives a number", job > 0, job)
item = await_one("it comes into the history", lambda: ended(job))
equal("its name", item["Name"], "first")
equal("its category", item["Category"], "tv")
equal("its status", item["Status"], "SUCCESS/HEALTH")

script.api.pausedownload()
text = (NZBS / "second.nzb").read_text()
job = script.add_nzb("second.nzb", content=text, category="Movies", priority=PRIORITY.HIGH)
check("add_nzb of a text gives a number", job > 0, job)
item = only(script.api.listgroups(0))
equal("its priority", item["MaxPriority"], 50)
equal("its mode of duplicates", item["DupeMode"], "FORCE")
statistics = script.get_statistics(job)
check("get_statistics finds its fields", statistics is not None)
equal("what came so far", statistics["download_size_mb"], 0.0)
all_shaped("postqueue", script.api.postqueue(10_000), "group")
equal("get_logs, where nothing is in post-processing", script.get_logs(), [])
script.api.resumedownload()
await_one("the second comes into the history", lambda: ended(job))

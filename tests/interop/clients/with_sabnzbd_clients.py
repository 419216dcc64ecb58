"""The clients of SABnzbd's interface from PyPI: sabnzbd-api, which has most calls, pysabnzbd, which Home
Assistant uses, and aiosabnzbd, which is strict about every field."""

import asyncio
import json
import os
import urllib.request

import aiosabnzbd
from aiosabnzbd.const import QueueOperationCommand
from pysabnzbd import SabnzbdApi, SabnzbdApiException
from sabnzbd_api import SabnzbdClient

from expect import HOST, NZBS, PORT, await_one, check, equal, only, served

KEY = os.environ["BERGAMOT_API_KEY"]
BASE = f"http://{HOST}:{PORT}"
client = SabnzbdClient(f"http://{HOST}", KEY, str(PORT))


def slots():
    return client.get_downloads()["queue"]["slots"]


def slot(job):
    return only(item for item in slots() if item["nzo_id"] == job)


def past(job):
    return only(item for item in client.get_history()["history"]["slots"] if item["nzo_id"] == job)


def upload(name, priority="-100"):
    """As scripts send it: a form with the file, and all else in the query."""
    content = (NZBS / name).read_bytes()
    body = b"--b0\r\nContent-Disposition: form-data; name=\"name\"; filename=\"%s\"\r\n\r\n%s\r\n--b0--\r\n"
    request = urllib.request.Request(
        f"{BASE}/api?mode=addfile&output=json&cat=tv&priority={priority}&apikey={KEY}",
        body % (name.encode(), content),
        {"Content-Type": "multipart/form-data; boundary=b0"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["nzo_ids"][0]


def it_introduces_itself():
    check("version looks like one", client.version()["version"].split(".")[0] == "4")
    config = client.get_config(section="misc", keyword="complete_dir")["config"]
    check("complete_dir is a path", config["misc"]["complete_dir"].startswith("/"), config)
    wrong = SabnzbdClient(f"http://{HOST}", "wrong", str(PORT)).get_downloads()
    equal("the answer to a wrong key", wrong, {"status": False, "error": "API Key Incorrect"})


def a_job_goes_from_the_queue_to_the_history():
    equal("the answer to pause", client.pause_all(), {"status": True})
    job = upload("first.nzb")
    item = slot(job)
    equal("its name", item["filename"], "first")
    equal("its category", item["cat"], "tv")
    equal("its priority", item["priority"], "Normal")
    equal("its percentage", item["percentage"], "0")
    equal("the answer to a pause of it", client.pause_job(job), {"status": True, "nzo_ids": [job]})
    equal("its status", slot(job)["status"], "Paused")
    equal("the answer to its end", client.resume_job(job), {"status": True, "nzo_ids": [job]})
    files = client.get_files(job)["files"]
    equal("its files", [file["filename"] for file in files], ["first"])
    equal("the answer to change_opts", client.change_job_pp(job, 3), {"status": True})
    equal("its options", slot(job)["unpackopts"], "3")
    equal("the answer to resume", client.resume_all(), {"status": True})
    item = await_one("it is completed", lambda: (past(job) or {}).get("status") == "Completed" and past(job))
    check("its files lie where it says", os.path.exists(os.path.join(item["storage"], "first")), item)
    equal("what went wrong", item["fail_message"], "")
    stats = client.server_stats()
    check("what came was counted", sum(server["total"] for server in stats["servers"].values()) > 0, stats)
    return job


def what_nobody_has_fails_and_is_tried_again():
    job = upload("missing.nzb")
    item = await_one("it fails", lambda: (past(job) or {}).get("status") == "Failed" and past(job))
    check("it says why", item["fail_message"] != "", item)
    equal("the answer to retry", client.retry_item(job), {"status": True, "nzo_id": job})
    await_one("it fails again under its id", lambda: (past(job) or {}).get("status") == "Failed")
    failed = client.get_history(failed_only=True)["history"]["slots"]
    equal("what failed", [item["nzo_id"] for item in failed], [job])
    equal("the answer to delete", client.delete_history(job), {"status": True})
    equal("what is left of it", past(job), None)


def the_queue_is_edited():
    client.pause_all()
    with served("second.nzb") as address:
        answer = client.add_uri(address, nzbname="by address", cat="Movies", priority=-2)
        job = answer["nzo_ids"][0]
        await_one("its NZB comes", lambda: (slot(job) or {}).get("status") == "Paused")
    equal("its name", slot(job)["filename"], "by address")
    other = upload("third.nzb", priority="1")
    equal("its priority", slot(other)["priority"], "High")
    equal("the answer to delete", client.delete_job([other], True), {"status": True, "nzo_ids": [other]})
    purged = client.purge_all(True)
    equal("what was purged", purged, {"status": True, "nzo_ids": [job]})
    await_one("the queue is empty", lambda: slots() == [])
    client.resume_all()


def what_is_not_there_is_refused():
    for what, answer in [
        ("set_config", client.set_config("misc", "script_dir", "/tmp")),
        ("del_config", client.delete_config("servers", "x")),
        ("restart_repair", client.restart_repair()),
        ("an address of a file", client.add_uri("https://[bad/")),
        ("a file elsewhere", client.call({"mode": "addlocalfile", "name": "/etc/passwd"})),
    ]:
        check(f"{what} is refused: {answer.get('error')}", answer["status"] is False, answer)
    equal("the answer to a limit", client.set_speedlimit("400K"), {"status": True})
    equal("the limit", client.get_downloads()["queue"]["speedlimit_abs"], str(400 * 1024))
    equal("the answer to none", client.set_speedlimit(0), {"status": True})


async def home_assistant_looks():
    api = SabnzbdApi(BASE, KEY)
    check("it is available", await api.check_available())
    await api.refresh_data()
    check("sizes are numbers", api.queue["total_size"] >= 0 and api.queue["day_size"] >= 0, api.queue)
    for field in ["status", "kbpersec", "mb", "mbleft", "noofslots_total", "diskspace1", "diskspacetotal1"]:
        check(f"{field} is there", field in api.queue, api.queue)
    await api.pause_queue()
    await api.refresh_data()
    equal("whether it is paused", api.queue["paused"], True)
    await api.resume_queue()
    await api.set_speed_limit(100)
    await api._session.close()
    api._cleanup_session = False
    stranger = SabnzbdApi(BASE, "wrong")
    try:
        await stranger.check_available()
    except SabnzbdApiException as error:
        check(f"a stranger is told: {error}", "API Key Incorrect" in str(error))
    await stranger._session.close()
    stranger._cleanup_session = False


async def the_strict_one_looks():
    async with aiosabnzbd.SABnzbdClient(url=BASE, api_key=KEY) as api:
        both = await api.combined_queue_history()
        equal("the queue is idle", both.queue.status.value, "Idle")
        equal("the history is empty", both.history.slots, [])
        answer = await api.operate_queue(command=QueueOperationCommand.PAUSE)
        check("it was paused", answer.status)
        job = upload("first.nzb")
        queue = await api.queue()
        equal("the job is there", [slot.nzo_id for slot in queue.slots], [job])
        check("a limit is set", (await api.set_speed_limit(percentage=100)).status)
        client.delete_job(job, True)
        await api.operate_queue(command=QueueOperationCommand.RESUME)
        check("it has a version", (await api.version()).startswith("4."))


asyncio.run(the_strict_one_looks())
it_introduces_itself()
finished = a_job_goes_from_the_queue_to_the_history()
what_nobody_has_fails_and_is_tried_again()
the_queue_is_edited()
what_is_not_there_is_refused()
asyncio.run(home_assistant_looks())
client.delete_history("all")
equal("the history", client.get_history()["history"]["slots"], [])
equal("the answer to shutdown", client.shutdown(), {"status": True})

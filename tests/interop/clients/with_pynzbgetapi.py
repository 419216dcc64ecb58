"""Every call of pynzbgetapi, the client of Home Assistant, which speaks XML-RPC."""

import pynzbgetapi

from expect import HOST, PASSWORD, PORT, USER
from expect import all_shaped, await_one, check, equal, nzb, only, served, shaped, size

client = pynzbgetapi.NZBGetAPI(HOST, username=USER, password=PASSWORD, port=PORT)


def group(job):
    return only(item for item in client.listgroups(0) if item["NZBID"] == job)


def ended(job):
    return only(item for item in client.history() if item["NZBID"] == job)


def append(name, category="tv", paused=False, parameters=()):
    content = nzb(name)
    return client.append(name, content, category, 0, False, paused, "", 0, "SCORE", parameters)


def refused(what, call):
    try:
        answer = call()
    except pynzbgetapi.NZBGetAPIException as error:
        check(f"{what} is refused: {error}", True)
    else:
        check(f"{what} is refused", False, answer)


def a_stranger_gets_nowhere():
    stranger = pynzbgetapi.NZBGetAPI(HOST, username=USER, password="wrong", port=PORT)
    refused("version, with a wrong password", stranger.version)


def it_introduces_itself():
    major, minor = client.version().split("-")[0].split(".")
    check("version has two numbers, as of NZBGet 16 or later", int(major) >= 16 and int(minor) >= 0)
    shaped("status", client.status(), "status")
    config = client.config()
    all_shaped("config", config, "option")
    names = [option["Name"] for option in config]
    equal("the number of options that config has twice", len(names) - len(set(names)), 0)
    values = {option["Name"]: option["Value"] for option in config}
    equal("Category1.Name", values["Category1.Name"], "tv")
    check("the password stays where it is", PASSWORD not in values.values())
    all_shaped("loadconfig", client.loadconfig(), "option")
    all_shaped("servervolumes", client.servervolumes(), "volume")


def a_job_goes_from_the_queue_to_the_history():
    client.pausedownload()
    job = append("first.nzb", paused=True, parameters=[["drone", "0123abcd"]])
    check("append gives a number", job > 0, job)
    item = group(job)
    shaped("the group", item, "group")
    equal("its name", item["NZBName"], "first")
    equal("its category", item["Category"], "tv")
    equal("its parameters", item["Parameters"], [{"Name": "drone", "Value": "0123abcd"}])
    equal("its status", item["Status"], "PAUSED")
    equal("what is paused of it", size(item, "PausedSize"), size(item, "RemainingSize"))
    equal("whether it was resumed", client.editqueue("GroupResume", "", [job]), True)
    files = await_one("its files are listed", lambda: client.listfiles(job))
    all_shaped("listfiles", files, "file")
    equal("the number of its files", len(files), item["FileCount"])
    equal("the answer to FilePause", client.editqueue("FilePause", "", [files[0]["ID"]]), True)
    equal("whether the file is paused", client.listfiles(job)[0]["Paused"], True)
    equal("the answer to FileResume", client.editqueue("FileResume", "", [files[0]["ID"]]), True)
    client.resumedownload()
    item = await_one("it comes into the history", lambda: ended(job))
    shaped("its entry", item, "history")
    equal("its status", item["Status"], "SUCCESS/HEALTH")
    equal("what became of its move", item["MoveStatus"], "SUCCESS")
    equal("its health", item["Health"], 1000)
    equal("its missing articles", item["FailedArticles"], 0)
    equal("its parameters", item["Parameters"], [{"Name": "drone", "Value": "0123abcd"}])
    equal("its group", group(job), None)
    all_shaped("loadlog", client.loadlog(job, 0, 100), "logLine")
    return job


def what_nobody_has_fails():
    job = append("missing.nzb")
    item = await_one("a job without articles comes into the history", lambda: ended(job))
    shaped("its entry", item, "history")
    check("its status is a failure", item["Status"].startswith("FAILURE/"), item["Status"])
    told = item["ParStatus"] == "FAILURE" or item["DeleteStatus"] == "HEALTH"
    check("and nobody would import it", told, item)
    equal("the newest entry comes first", client.history()[0]["NZBID"], job)


def the_queue_is_edited():
    one, two = append("second.nzb", paused=True), append("third.nzb", paused=True)
    order = lambda: [item["NZBID"] for item in client.listgroups(0)]
    equal("the order", order(), [one, two])
    for command, param, jobs in [
        ("GroupMoveTop", "", [two]),
        ("GroupMoveOffset", "1", [two]),
        ("GroupMoveOffset", "-1", [two]),
        ("GroupSetPriority", "50", [two]),
        ("GroupSetName", "other name", [two]),
        ("GroupSetCategory", "Movies", [two]),
        ("GroupSetParameter", "colour=blue", [one, two]),
        ("GroupSetDupeKey", "key", [two]),
        ("GroupSetDupeScore", "7", [two]),
        ("GroupSetDupeMode", "FORCE", [two]),
    ]:
        equal(f"the answer to {command}({param!r})", client.editqueue(command, param, jobs), True)
    equal("the order", order(), [two, one])
    item = group(two)
    shaped("the group", item, "group")
    equal("its name", item["NZBName"], "other name")
    equal("its category", item["Category"], "Movies")
    equal("its priority", item["MaxPriority"], 50)
    equal("its parameters", item["Parameters"], [{"Name": "colour", "Value": "blue"}])
    equal("its duplicate key", (item["DupeKey"], item["DupeScore"], item["DupeMode"]), ("key", 7, "FORCE"))
    refused("an unknown command", lambda: client.editqueue("GroupFly", "", [two]))
    equal("whether one was deleted", client.editqueue("GroupDelete", "", [one]), True)
    item = await_one("the deleted one comes into the history", lambda: ended(one))
    equal("its status", item["Status"], "DELETED/MANUAL")
    equal("whether two left no trace", client.editqueue("GroupFinalDelete", "", [two]), True)
    await_one("the queue is empty", lambda: order() == [])
    equal("what history knows of two", ended(two), None)


def an_address_is_as_good_as_a_file():
    """As Prowlarr and NZBHydra2 give it: no name, and a key in the address."""
    with served("second.nzb") as address:
        job = client.append("", f"{address}?apikey=hush", "tv", 0, False, True, "", 0, "SCORE", [])
        check("append gives a number", job > 0, job)
        come = lambda: only(item for item in client.listgroups(0) if item["NZBID"] == job and item["Kind"] == "NZB")
        item = await_one("its NZB comes", come)
    shaped("the group", item, "group")
    equal("its name", item["NZBName"], "second")
    equal("its status", item["Status"], "PAUSED")
    check("the key is not shown", "hush" not in item["URL"], item["URL"])
    equal("whether it left no trace", client.editqueue("GroupFinalDelete", "", [job]), True)
    refused("an address of another kind", lambda: client.append("", "file:///etc/passwd", "", 0, False, False, "", 0, "SCORE", []))


def the_history_is_edited(job):
    equal("the answer to HistoryDelete", client.editqueue("HistoryDelete", "", [job]), True)
    equal("the entry that is hidden", ended(job), None)
    hidden = only(item for item in client.history(True) if item["NZBID"] == job)
    shaped("the hidden entry", hidden, "hidden")
    equal("its status", hidden["Status"], "SUCCESS/HIDDEN")
    equal("the answer to HistoryFinalDelete", client.editqueue("HistoryFinalDelete", "", [job]), True)
    equal("what is left of it", [item for item in client.history(True) if item["NZBID"] == job], [])


def it_is_paused_and_limited():
    for call, field, value in [
        (client.pausedownload, "DownloadPaused", True),
        (client.resumedownload, "DownloadPaused", False),
        (client.pausepost, "PostPaused", True),
        (client.pausedownload, "Download2Paused", True),
    ]:
        equal(f"the answer to {call.__name__}", call(), True)
        equal(field, client.status()[field], value)
    equal("the answer to scheduleresume", client.scheduleresume(1), True)
    check("status knows when it resumes", client.status()["ResumeTime"] > 0)
    await_one("it resumes by itself", lambda: not client.status()["DownloadPaused"])
    equal("PostPaused", client.status()["PostPaused"], False)
    equal("the answer to resumescan", client.resumescan(), True)
    equal("ScanPaused", client.status()["ScanPaused"], False)
    equal("the answer to rate", client.rate(512), True)
    equal("DownloadLimit", client.status()["DownloadLimit"], 512 * 1024)
    equal("the answer to rate", client.rate(0), True)
    equal("DownloadLimit", client.status()["DownloadLimit"], 0)


def the_log_is_read_and_written():
    equal("the answer to writelog", client.writelog("WARNING", "a <word> & another ü"), True)
    lines = client.log(0, 10)
    all_shaped("log", lines, "logLine")
    wanted = ("WARNING", "a <word> & another ü")
    check("the line is there as it was written", wanted in [(line["Kind"], line["Text"]) for line in lines], lines)
    line = lines[0]["ID"]
    equal("the first line from a number on", client.log(line, 0)[0]["ID"], line)
    refused("a kind of line that does not exist", lambda: client.writelog("SHOUT", "hey"))


def counters_are_set_back():
    volumes = client.servervolumes()
    equal("the numbers of the servers", [volume["ServerID"] for volume in volumes], [0, 1])
    check("bytes were counted", size(volumes[1], "TotalSize") > 0, volumes[1]["TotalSizeLo"])
    equal("the answer to resetservervolume", client.resetservervolume(-1, ""), True)
    equal("what is counted then", size(client.servervolumes()[1], "TotalSize"), 0)


def the_rest_is_answered_truthfully():
    equal("the answer to scan", client.scan(), True)
    saved = client.saveconfig([{"Name": "KeepHistory", "Value": "9"}])
    equal("the answer to saveconfig", saved, True)
    kept = [option["Value"] for option in client.config() if option["Name"] == "KeepHistory"]
    equal("what is kept then", kept, ["9"])
    refused("a path", lambda: client.saveconfig([{"Name": "DestDir", "Value": "/"}]))
    # The client misspells its name.
    refused("configtemplaes", lambda: client.configtemplates(False))
    equal("the answer to reload", client.reload(), True)
    await_one("it is there again", lambda: shaped("status", client.status(), "status") or True)


a_stranger_gets_nowhere()
it_introduces_itself()
finished = a_job_goes_from_the_queue_to_the_history()
what_nobody_has_fails()
the_queue_is_edited()
an_address_is_as_good_as_a_file()
the_history_is_edited(finished)
it_is_paused_and_limited()
the_log_is_read_and_written()
counters_are_set_back()
the_rest_is_answered_truthfully()
equal("the answer to shutdown", client.shutdown(), True)

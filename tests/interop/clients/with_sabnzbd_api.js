// The npm packages sabnzbd-api, which has nearly all modes and sends its key behind the file, and sabnzbd,
// which merges queue and history.
'use strict';

const fs = require('fs');
const path = require('path');
const FormData = require('form-data');
const SABnzbd = require('sabnzbd');
const { Client } = require('sabnzbd-api');
const { daemon, check, equal, awaitOne, run } = require('./expect.js');

const key = process.env.BERGAMOT_API_KEY;
const base = `http://${daemon.host}:${daemon.port}`;
const client = new Client(base, key);

const slot = async (id) => (await client.queue()).slots.find((slot) => slot.nzo_id === id);
const past = async (id) => (await client.history()).slots.find((slot) => slot.nzo_id === id);

async function upload(name) {
    const form = new FormData();
    const file = path.join(process.env.BERGAMOT_NZBS, name);
    form.append('nzbfile', fs.readFileSync(file), { filename: name });
    return (await client.addFile(form, undefined, undefined, 'tv')).nzo_ids[0];
}

async function introduces() {
    check('version looks like one', (await client.version()).startsWith('4.'));
    equal('auth', await client.auth(), 'apikey');
    equal('the scripts', await client.getScripts(), ['None']);
    equal('the first categories', (await client.getCats()).slice(0, 2), ['*', 'tv']);
    const { config } = await client.getConfig();
    check('the configuration has its parts', Array.isArray(config.categories) && config.misc.complete_dir, config);
    check('there is no secret in it', !JSON.stringify(config).includes(key));
    const status = await client.fullStatus();
    check('the status has a directory', status.completedir.startsWith('/'), status);
    // Its `warnings` expects a bare list, which SABnzbd does not give either.
    const { warnings } = await client.methodCall('warnings');
    check('warnings are a list', Array.isArray(warnings), warnings);
}

async function isEdited() {
    await client.queuePause();
    const [one, two] = [await upload('first.nzb'), await upload('second.nzb')];
    check('both are there', (await slot(one)) && (await slot(two)));
    equal('a pause', await client.jobPause(one), { nzo_ids: [one], status: true });
    equal('its status', (await slot(one)).status, 'Paused');
    equal('its end', await client.jobResume(one), { nzo_ids: [one], status: true });
    check('it is moved', (await client.jobMove(two, one)));
    equal('the order', (await client.queue()).slots.map((slot) => slot.nzo_id), [two, one]);
    equal('a new name', await client.jobChangeName(two, 'other name'), { status: true });
    equal('a category', await client.changeCat(two, 'Movies'), { status: true });
    equal('a script', await client.changeScript(two, 'None'), { status: true });
    equal('post-processing', await client.changePostProcessing(two, 1), { status: true });
    // Its `changePriority` gives the priority as the name of what to do.
    await client.methodCall('queue', { name: 'priority', value: two, value2: 1 });
    const edited = await slot(two);
    equal('all of it', [edited.filename, edited.cat, edited.priority, edited.unpackopts], ['other name', 'Movies', 'High', '1']);
    equal('its files', (await client.getFiles(two)).length, 1);
    equal('a sort', await client.queueSort('name', true), { status: true });
    equal('what is found', (await client.queue(0, 0, 'OTHER')).slots.length, 1);
    equal('a deletion', await client.jobDelete(two), { nzo_ids: [two], status: true });
    await client.queueResume();
    const done = await awaitOne('the first is completed', async () => {
        const slot = await past(one);
        return slot && slot.status === 'Completed' && slot;
    });
    check('it has its files', fs.existsSync(path.join(done.storage, 'first')), done);
    const again = await client.history(0, 0, undefined, undefined, undefined, false, (await client.history()).last_history_update);
    equal('a history that has not changed', again, false);
    return one;
}

async function isSteered() {
    equal('a limit', await client.queueSpeedLimit('1M'), { status: true });
    equal('the limit', (await client.queue()).speedlimit_abs, String(1 << 20));
    equal('no limit', await client.queueSpeedLimit('0'), { status: true });
    for (const call of ['pausePostProcessing', 'watchedNow', 'rssNow', 'restart', 'historyRetryAll']) {
        equal(call, (await client[call]()).status, true);
    }
    equal('an action at the end', (await client.changeCompleteAction('shutdown_program')).error, 'not implemented');
    check('statistics name the server', (await client.serverStats()).servers.size === 1);
}

async function mergesBoth(job) {
    const other = new SABnzbd(base, key);
    const entries = await other.entries();
    check('the other client finds the job', entries.some((entry) => entry.nzbid === job), entries);
    equal('its version', (await other.version()).split('.')[0], '4');
    equal('it deletes it', (await other.history.delete(job)).status, true);
    equal('it is gone', await past(job), undefined);
}

run(async () => {
    await introduces();
    const job = await isEdited();
    await isSteered();
    await mergesBoth(job);
    equal('shutdown', (await client.shutdown()).status, true);
});

// Every call of the npm package nzbget-api, which speaks JSON-RPC of its own age: `jsonrpc` is "1.0", there is
// no `id`, and where a call has no parameters it sends none.
'use strict';

const NzbGet = require('nzbget-api');
const { daemon, check, equal, shaped, allShaped, size, nzb, awaitOne, run } = require('./expect.js');

const client = new NzbGet({
    host: daemon.host,
    port: daemon.port,
    login: daemon.user,
    hash: daemon.password,
    suppressVersionWarning: true,
});

/** The client answers a call back; where there was an error, it finds no result. */
function call(method, ...parameters) {
    return new Promise((resolve, reject) => {
        client[method](...parameters, (error, result) => (error ? reject(error) : resolve(result)));
    });
}

async function accepted(method, ...parameters) {
    equal(`the answer to ${method}(${parameters.join(', ')})`, await call(method, ...parameters), true);
}

async function group(job) {
    return (await call('listGroups')).find((item) => item.NZBID === job);
}

async function ended(job) {
    return (await call('history', false)).find((item) => item.NZBID === job);
}

async function someFiles(job) {
    const files = await call('listFiles', job);
    return files.length > 0 && files;
}

function append(name, paused) {
    return call('append', name, nzb(name), 'tv', 0, false, paused, '', 0, 'SCORE');
}

async function itIntroducesItself() {
    check('version is as of NZBGet 16 or later', parseInt(await call('version'), 10) >= 16);
    shaped('status', await call('status'), 'status');
    const config = await call('config');
    allShaped('config', config, 'option');
    equal('options that config has twice', config.length - new Set(config.map((option) => option.Name)).size, 0);
    allShaped('loadconfig', await call('loadConfig'), 'option');
    equal('configtemplates', await call('configTemplates', false), []);
    allShaped('servervolumes', await call('serverVolumes'), 'volume');
}

async function aJobGoesFromTheQueueToTheHistory() {
    await accepted('pauseDownload');
    const job = await append('first.nzb', true);
    check('append gives a number', job > 0, job);
    const item = await group(job);
    shaped('the group', item, 'group');
    equal('its status', item.Status, 'PAUSED');
    await accepted('editQueue', 'GroupResume', 0, '', [job]);
    const files = await awaitOne('its files are listed', () => someFiles(job));
    allShaped('listFiles, in mixed case', files, 'file');
    equal('the number of its files', files.length, item.FileCount);
    await accepted('resumeDownload');
    const entry = await awaitOne('it comes into the history', () => ended(job));
    shaped('its entry', entry, 'history');
    equal('its status', entry.Status, 'SUCCESS/HEALTH');
    equal('its size', size(entry, 'FileSize'), size(item, 'FileSize'));
    allShaped('loadlog', await call('loadLog', job, 0, 100), 'logLine');
    return job;
}

async function theQueueIsEdited() {
    const [one, two] = [await append('second.nzb', true), await append('third.nzb', true)];
    const order = async () => (await call('listGroups')).map((item) => item.NZBID);
    equal('the order', await order(), [one, two]);
    await accepted('editQueue', 'GroupMoveOffset', -1, '', [two]);
    equal('the order', await order(), [two, one]);
    await accepted('editQueue', 'GroupSetName', 0, 'other name', [one]);
    equal('its name', (await group(one)).NZBName, 'other name');
    await accepted('editQueue', 'GroupSetPriority', 0, '-100', one);
    equal('its priority', (await group(one)).MinPriority, -100);
    await accepted('editQueue', 'GroupDelete', 0, '', [one, two]);
    await awaitOne('the queue is empty', async () => (await order()).length === 0);
    equal('its status', (await ended(one)).Status, 'DELETED/MANUAL');
}

async function theHistoryIsEdited(job) {
    await accepted('editQueue', 'HistoryMarkBad', 0, '', [job]);
    equal('its status', (await ended(job)).Status, 'FAILURE/BAD');
    await accepted('editQueue', 'HistoryDelete', 0, '', [job]);
    equal('the entry that is hidden', await ended(job), undefined);
    const hidden = (await call('history', true)).find((item) => item.NZBID === job);
    shaped('the hidden entry', hidden, 'hidden');
}

async function itIsPausedAndLimited() {
    for (const [method, field, value] of [
        ['pauseDownload', 'DownloadPaused', true],
        ['resumeDownload', 'DownloadPaused', false],
        ['pausePost', 'PostPaused', true],
        ['resumePost', 'PostPaused', false],
        ['pauseScan', 'ScanPaused', true],
        ['resumeScan', 'ScanPaused', false],
    ]) {
        await accepted(method);
        equal(field, (await call('status'))[field], value);
    }
    await accepted('pauseDownload');
    await accepted('scheduleResume', 1);
    await awaitOne('it resumes by itself', async () => !(await call('status')).DownloadPaused);
    await accepted('rate', 100);
    equal('DownloadLimit', (await call('status')).DownloadLimit, 100 * 1024);
    await accepted('rate', 0);
}

async function theRestIsAnsweredTruthfully() {
    await accepted('writeLog', 'INFO', 'a line of Node');
    const lines = await call('log', 0, 10);
    allShaped('log', lines, 'logLine');
    check('the line is there', lines.some((line) => line.Text === 'a line of Node'), lines);
    await accepted('resetServerVolume', 1, '');
    await accepted('scan');
    await accepted('saveConfig', [{ Name: 'KeepHistory', Value: '9' }]);
    const kept = (await call('config')).find((option) => option.Name === 'KeepHistory');
    equal('what is kept then', kept.Value, '9');
    equal('what a path gives', await call('saveConfig', [{ Name: 'DestDir', Value: '/' }]), undefined);
    await accepted('reload');
    shaped('status after it', await awaitOne('it is there again', () => call('status')), 'status');
}

run(async () => {
    await itIntroducesItself();
    const job = await aJobGoesFromTheQueueToTheHistory();
    await theQueueIsEdited();
    await theHistoryIsEdited(job);
    await itIsPausedAndLimited();
    await theRestIsAnsweredTruthfully();
    await accepted('shutdown');
});

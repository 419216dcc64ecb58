// Every call of the npm package node-nzbget, which asks with GET, and so only looks; what it is to see comes
// through its neighbour's POST.
'use strict';

const NzbGet = require('node-nzbget');
const { daemon, check, equal, shaped, allShaped, nzb, awaitOne, run } = require('./expect.js');

const client = new NzbGet({
    // It puts them into the URL as they are.
    username: encodeURIComponent(daemon.user),
    password: encodeURIComponent(daemon.password),
    url: `${daemon.host}:${daemon.port}`,
});

async function post(method, ...params) {
    const login = Buffer.from(`${daemon.user}:${daemon.password}`).toString('base64');
    const answer = await fetch(`http://${daemon.host}:${daemon.port}/jsonrpc`, {
        method: 'POST',
        headers: { Authorization: `Basic ${login}` },
        body: JSON.stringify({ method, params }),
    });
    return (await answer.json()).result;
}

function some(list) {
    return list.length > 0 && list;
}

run(async () => {
    const version = await client.cmd('version');
    check('version is as of NZBGet 16 or later', parseInt(version.result, 10) >= 16, version);
    // It reads a field that no NZBGet has ever sent.
    equal('what its own version() makes of that', await client.version(), undefined);
    shaped('status', (await client.status()).result, 'status');
    equal('the empty queue', (await client.listgroups()).result, []);

    await post('pausedownload');
    const job = await post('append', 'first.nzb', nzb('first.nzb'), 'tv', 0, false, false, '', 0, 'SCORE');
    const groups = (await client.listgroups()).result;
    allShaped('listgroups', groups, 'group');
    equal('the job in the queue', groups.map((item) => item.NZBID), [job]);
    const files = await awaitOne('its files are listed', async () => some((await client.listfiles()).result));
    allShaped('listfiles', files, 'file');
    equal('the job of its files', [...new Set(files.map((file) => file.NZBID))], [job]);

    equal('the answer to resumedownload', await post('resumedownload'), true);
    const history = await awaitOne('it comes into the history', async () => some((await client.history()).result));
    allShaped('history', history, 'history');
    equal('the job in the history', history.map((item) => item.NZBID), [job]);

    const refusal = await client.cmd('pausedownload');
    equal('what changes something is refused by GET', [refusal.result, refusal.error.code], [undefined, 4]);
    equal('DownloadPaused', (await client.status()).result.DownloadPaused, false);
    const stranger = new NzbGet({ username: daemon.user, password: 'wrong', url: `${daemon.host}:${daemon.port}` });
    const error = await stranger.status().catch((error) => error);
    equal('what a stranger gets', error.message, 'Did not return 200');
});

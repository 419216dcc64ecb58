// What the scripts of the clients for Node share: who to talk to, what answers look like, how to wait.
'use strict';

const fs = require('fs');
const path = require('path');

// Far more than anything here takes on a busy machine.
const PATIENCE_MS = 60_000;
const BETWEEN_LOOKS_MS = 50;

const shapes = JSON.parse(fs.readFileSync(path.join(__dirname, 'fields.json')));

const daemon = {
    host: '127.0.0.1',
    port: Number(process.env.BERGAMOT_PORT),
    user: process.env.BERGAMOT_USER,
    password: process.env.BERGAMOT_PASSWORD,
};

/** Says what was checked, and ends the script if it does not hold. */
function check(what, holds, seen) {
    if (!holds) throw new Error(`${what}: it does not hold; seen: ${JSON.stringify(seen)}`);
    console.log('ok:', what);
}

function equal(what, found, wanted) {
    const [left, right] = [found, wanted].map((value) => JSON.stringify(value));
    check(`${what} is ${right}`, left === right, found);
}

/** Each field of the shape is there, with its type and within its range. */
function shaped(what, item, shape) {
    check(`${what} has ${fit(what, item, shape)} fields of ${shape}`, true);
}

function allShaped(what, items, shape) {
    check(`${what} is a list`, Array.isArray(items), items);
    items.forEach((item, place) => fit(`${what}[${place}]`, item, shape));
    console.log(`ok: ${what} has ${items.length} of ${shape}`);
}

function fit(what, item, shape) {
    const { like, ...fields } = shapes[shape];
    let count = like ? fit(what, item, like) : 0;
    for (const [field, kind] of Object.entries(fields)) {
        for (const [name, fits] of rules(what, field, kind)) {
            if (!fits(item[name])) {
                throw new Error(`${what}.${name} should be ${kind}: ${JSON.stringify(item[name])}`);
            }
            count += 1;
        }
    }
    return count;
}

/** The fields on the wire that one row of a shape stands for, and how to tell them. */
function rules(what, field, kind) {
    switch (kind) {
        case 'size': return [...rules(what, field, 'halves'), [`${field}MB`, isInt]];
        case 'halves': return [[`${field}Lo`, isHalf], [`${field}Hi`, isHalf]];
        case 'int': return [[field, isInt]];
        case 'bool': return [[field, (value) => typeof value === 'boolean']];
        case 'text': return [[field, (value) => typeof value === 'string']];
    }
    const [word, ...rest] = kind;
    if (word === 'one of') return [[field, (value) => rest.includes(value)]];
    return [[field, (values) => {
        values.forEach((value, place) => fit(`${what}.${field}[${place}]`, value, rest[0]));
        return Array.isArray(values);
    }]];
}

function isInt(value) {
    return Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
}

function isHalf(value) {
    return Number.isInteger(value) && value >= 0 && value < 2 ** 32;
}

function size(item, field) {
    return item[`${field}Hi`] * 2 ** 32 + item[`${field}Lo`];
}

/** The text of an NZB of the test, as `append` wants it. */
function nzb(name) {
    return fs.readFileSync(path.join(process.env.BERGAMOT_NZBS, name)).toString('base64');
}

/** Looks again and again, as clients do, until there is something. */
async function awaitOne(what, look) {
    const deadline = Date.now() + PATIENCE_MS;
    while (Date.now() < deadline) {
        const found = await look();
        if (found) {
            console.log('ok:', what);
            return found;
        }
        await new Promise((again) => setTimeout(again, BETWEEN_LOOKS_MS));
    }
    throw new Error(`${what}: it did not come`);
}

/** Runs a script to its end; what goes wrong is its exit code. */
function run(script) {
    script().catch((error) => {
        console.error(error);
        process.exit(1);
    });
}

module.exports = { daemon, check, equal, shaped, allShaped, size, nzb, awaitOne, run };

//! [`Answer`]: what a model server answers to one request. Pure.

use std::time::Duration;

use bergamot_engine::{Event, Fault, Trouble};
use bergamot_queue::{Part, SegmentKey};
use bergamot_types::SplitMix;

use super::line::{Body, End, Question};
use crate::sim::day::misfits;
use crate::sim::day::{Day, ServerModel};
use crate::sim::kind::{ANSWERS, Kind};

/// How a server meets a question.
#[derive(Debug)]
pub(crate) enum Answer {
    Body(Body),
    End(Trouble),
    /// Another answer than an article.
    Line(Event),
    /// Nothing, until we lose patience.
    Silence,
}

/// Draws the kind of fault that meets a question, if one does.
pub(crate) fn draw(
    day: &Day,
    now: Duration,
    server: &ServerModel,
    key: SegmentKey,
    asked_before: bool,
    chance: &mut SplitMix,
) -> Option<Kind> {
    let lacks = lacks(day, server, key);
    match server.outage(now) {
        Some(outage) if !lacks || !outage.knows_missing => return Some(outage.answer),
        _ if lacks => return Some(Kind::Missing),
        _ => {}
    }
    if day.is_healed(now) {
        return None;
    }
    if !asked_before && chance.up_to(999) < server.chance_of(Kind::MissingOnce) {
        return Some(Kind::MissingOnce);
    }
    let roll = chance.up_to(999);
    let mut below = 0;
    ANSWERS.iter().copied().find(|&kind| {
        let counts = !matches!(kind, Kind::Missing | Kind::MissingOnce);
        below += if counts { server.chance_of(kind) } else { 0 };
        roll < below
    })
}

/// The same articles all day long; mirrors lack the same.
pub(crate) fn lacks(day: &Day, server: &ServerModel, key: SegmentKey) -> bool {
    let missing = server.chance_of(Kind::Missing);
    if missing == 0 {
        return false;
    }
    let source = match server.settings.group {
        0 => u64::from(server.settings.id.0),
        group => 1000 + u64::from(group),
    };
    let place = u64::from(key.job.0) << 48 | u64::from(key.file) << 24 | u64::from(key.segment);
    let mut chance = SplitMix::seeded(day.seed.number() ^ source << 56 ^ place);
    chance.up_to(999) < missing
}

/// The answer with that fault, or a good one.
pub(crate) fn answer(
    day: &Day,
    server: &ServerModel,
    kind: Option<Kind>,
    question: &Question,
    chance: &mut SplitMix,
) -> Answer {
    let ticket = question.fetch.ticket;
    match kind {
        Some(Kind::Missing | Kind::MissingOnce) => Answer::Line(Event::Missing { ticket }),
        Some(Kind::RefusedAnswer) => Answer::Line(Event::Refused { ticket }),
        Some(Kind::Stall) => Answer::Silence,
        Some(Kind::Dribble) => {
            let mut dribble = broken(question, u64::MAX);
            dribble.dribbles = true;
            Answer::Body(dribble)
        }
        Some(Kind::LongStatus | Kind::LoginForgotten) => Answer::End(Trouble::Broken),
        Some(Kind::Desync | Kind::Goodbye) => Answer::End(Trouble::OutOfStep),
        Some(Kind::RefusedMidway) => Answer::End(Trouble::Refused),
        Some(Kind::TooManyMidway) => Answer::End(Trouble::TooManyConnections),
        kind => Answer::Body(body(day, server, kind, question, chance)),
    }
}

fn body(
    day: &Day,
    server: &ServerModel,
    kind: Option<Kind>,
    question: &Question,
    chance: &mut SplitMix,
) -> Body {
    let ticket = question.fetch.ticket;
    let mut part = part(day, question.fetch.key);
    misfits::spoil(server, question.fetch.key, &mut part);
    let mut length = part.length;
    let mut fault = None;
    match kind {
        Some(Kind::Reset) => return broken(question, chance.up_to(length)),
        // The net reads no more of it than it was told.
        Some(Kind::Endless) => return broken(question, question.fetch.limit),
        Some(Kind::Corrupt) => fault = Some(Fault::Damaged),
        Some(Kind::Truncated) => {
            length = 1 + chance.up_to(length - 1);
            (part.length, fault) = (length, Some(Fault::Damaged));
        }
        Some(Kind::Empty) => {
            (length, fault) = (0, Some(Fault::Damaged));
            part = Part::default();
        }
        Some(Kind::Stranger) => {
            let count = day.jobs[question.fetch.key.job.0 as usize - 1].files
                [question.fetch.key.file as usize];
            let other = (question.fetch.key.segment + 1) % count.max(2);
            part.begin = Some(u64::from(other) * day.article);
            part.number = Some(other + 1);
        }
        // No two of them agree.
        Some(Kind::WrongSize) => part.file_size = part.file_size.map(|size| size + 1 + ticket.0),
        Some(Kind::NoChecksum) => part.verified = false,
        Some(Kind::Outgrown) => {
            let needed = u64::from(day.claimed) + day.article / 4 + SMALLEST_RESERVATION;
            let end = End::Outgrown { part, needed };
            return Body::new(ticket, length, end);
        }
        _ => {}
    }
    part.verified &= fault.is_none();
    let event = Event::Fetched { ticket, part, fault };
    let cut = kind == Some(Kind::CutBehindAnswer);
    let end = if cut { End::LastAnswer(event) } else { End::Answer(event) };
    Body::new(ticket, length, end)
}

fn broken(question: &Question, length: u64) -> Body {
    Body::new(question.fetch.ticket, length, End::Break(Trouble::Broken))
}

/// The part as it was posted.
pub(crate) fn part(day: &Day, key: SegmentKey) -> Part {
    let count = day.jobs[key.job.0 as usize - 1].files[key.file as usize];
    Part {
        begin: Some(u64::from(key.segment) * day.article),
        length: day.article,
        file_size: Some(u64::from(count) * day.article),
        number: Some(key.segment + 1),
        total: Some(count),
        verified: true,
        name: day.names.then(|| format!("file {}", key.file).into()),
        crc32: None,
    }
}

/// No article gets less room, whatever the NZB says of it.
const SMALLEST_RESERVATION: u64 = 16 << 10;

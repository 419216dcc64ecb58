//! [`Judge`]: decides whether a file is complete.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::identity::Identity;

/// Remembers what was seen of each file.
///
/// A file is offered once it has stood still for a second, or at once when its writer was seen to
/// close it. Only reading it tells whether it is whole: one that breaks off is offered again a few
/// times, for copies over a network pause longer than a second now and then.
#[derive(Debug, Default)]
pub struct Judge {
    files: HashMap<PathBuf, File>,
}

#[derive(Debug)]
struct File {
    identity: Identity,
    since: Instant, // it has stood still
    closed: bool,
    not_before: Option<Instant>,
    tries: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Queued or refused. It stays so while the file is unchanged, in case it cannot be renamed.
    Judged,
    Offered,
    Unread,
}

/// What reading a file that was offered came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    Refused,
    Taken,
    Truncated,
    Unreadable,
}

/// What follows from a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// Nothing more.
    Done,
    /// It has broken off too often: it is refused.
    Refuse,
    /// It will be offered again; `warn` the first time only.
    Wait { warn: bool },
}

impl Judge {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn knows(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// What a scan saw of a file; `closed` if a writer closed it or it was moved here since the last
    /// scan. Says whether the file may be offered now.
    pub fn observe(&mut self, now: Instant, path: &Path, identity: Identity, closed: bool) -> bool {
        let fresh =
            File { identity, since: now, closed, not_before: None, tries: 0, state: State::Unread };
        match self.files.get_mut(path) {
            None => self.files.insert(path.to_owned(), fresh).is_none() && self.is_ready(now, path),
            Some(file) if file.identity != identity => {
                *file = fresh;
                self.is_ready(now, path)
            }
            Some(file) => {
                file.closed |= closed;
                self.is_ready(now, path)
            }
        }
    }

    fn is_ready(&self, now: Instant, path: &Path) -> bool {
        self.files.get(path).and_then(File::ready_at).is_some_and(|at| at <= now)
    }

    /// The file is being read; it is not offered again before a verdict.
    pub fn offer(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path) {
            file.state = State::Offered;
        }
    }

    pub fn verdict(&mut self, now: Instant, path: &Path, verdict: Verdict) -> Next {
        let Some(file) = self.files.get_mut(path) else { return Next::Done };
        if file.state != State::Offered {
            return Next::Done; // it changed meanwhile, and will be offered anew
        }
        let retries = match verdict {
            Verdict::Taken | Verdict::Refused => 0,
            Verdict::Truncated => MOST_RETRIES,
            Verdict::Unreadable => u32::MAX,
        };
        if file.tries >= retries {
            file.state = State::Judged;
            return if verdict == Verdict::Truncated { Next::Refuse } else { Next::Done };
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << file.tries.min(16)).min(LONGEST_PAUSE);
        file.not_before = Some(now + pause);
        file.tries += 1;
        file.state = State::Unread;
        Next::Wait { warn: file.tries == 1 }
    }

    /// The file has another name now.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Forgets all files but those a whole scan has seen.
    pub fn retain(&mut self, seen: &HashSet<PathBuf>) {
        self.files.retain(|path, _| seen.contains(path));
    }

    /// When the next file may become ready by the passing of time alone.
    pub fn next_ready(&self) -> Option<Instant> {
        self.files.values().filter_map(File::ready_at).min()
    }
}

impl File {
    fn ready_at(&self) -> Option<Instant> {
        if self.state != State::Unread {
            return None;
        }
        // An empty file is one whose content is still to come, though it may have been closed.
        let done = self.closed && self.tries == 0 && self.identity.size > 0;
        let quiet = if done { self.since } else { self.since + QUIET };
        Some(self.not_before.map_or(quiet, |at| at.max(quiet)))
    }
}

/// Size and time unchanged for so long: the writer is done, or slow.
const QUIET: Duration = Duration::from_secs(1);
/// After the first attempt.
const MOST_RETRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "a.nzb";

    fn identity(size: u64) -> Identity {
        Identity { modified: (1, 0), device: 1, inode: 1, size }
    }

    /// Millisecond by millisecond: the state that is seen, and the decision.
    struct Story {
        judge: Judge,
        start: Instant,
    }

    impl Story {
        fn new() -> Self {
            Self { judge: Judge::new(), start: Instant::now() }
        }

        fn at(&self, millis: u64) -> Instant {
            self.start + Duration::from_millis(millis)
        }

        fn see(&mut self, millis: u64, size: u64, closed: bool) -> bool {
            let now = self.at(millis);
            let ready = self.judge.observe(now, Path::new(PATH), identity(size), closed);
            if ready {
                self.judge.offer(Path::new(PATH));
            }
            ready
        }

        fn say(&mut self, millis: u64, verdict: Verdict) -> Next {
            let now = self.at(millis);
            self.judge.verdict(now, Path::new(PATH), verdict)
        }
    }

    #[test]
    fn a_file_is_ready_when_it_stood_still_for_a_second() {
        let mut story = Story::new();
        assert!(!story.see(0, 10, false));
        assert!(!story.see(900, 20, false), "it grew");
        assert!(!story.see(1_899, 20, false));
        assert_eq!(story.judge.next_ready(), Some(story.at(1_900)));
        assert!(story.see(1_900, 20, false));
        assert!(!story.see(1_901, 20, false), "offered once");
    }

    #[test]
    fn a_closed_file_is_ready_at_once() {
        let mut story = Story::new();
        assert!(story.see(0, 10, true));
        assert_eq!(story.say(1, Verdict::Taken), Next::Done);
        assert!(!story.see(5_000, 10, true), "taken, even if it could not be renamed");
        assert!(story.see(5_001, 11, true), "but a changed file is another");
    }

    #[test]
    fn closed_in_two_bursts_it_is_read_whole_in_the_end() {
        let mut story = Story::new();
        assert!(story.see(0, 10, true));
        assert_eq!(story.say(1, Verdict::Truncated), Next::Wait { warn: true });
        assert!(!story.see(500, 10, true), "no haste a second time");
        assert!(story.see(600, 20, true), "the second burst");
        assert_eq!(story.say(601, Verdict::Taken), Next::Done);
    }

    #[test]
    fn what_breaks_off_is_tried_three_times_more_and_then_refused() {
        let mut story = Story::new();
        assert!(!story.see(0, 10, false));
        assert!(story.see(1_000, 10, false));
        assert_eq!(story.say(1_000, Verdict::Truncated), Next::Wait { warn: true });
        for (again, now) in [(1, 2_000), (2, 4_000), (3, 8_000)] {
            assert!(!story.see(now - 1, 10, false));
            assert!(story.see(now, 10, false), "retry {again}");
            let next = if again < 3 { Next::Wait { warn: false } } else { Next::Refuse };
            assert_eq!(story.say(now, Verdict::Truncated), next);
        }
        assert!(!story.see(100_000, 10, false));
        assert_eq!(story.judge.next_ready(), None);
    }

    #[test]
    fn an_empty_file_is_not_ready_at_once_though_it_was_closed() {
        let mut story = Story::new();
        assert!(!story.see(0, 0, true));
        assert!(!story.see(999, 0, true));
        assert_eq!(story.judge.next_ready(), Some(story.at(1_000)));
        assert!(story.see(1_000, 0, true));
        assert_eq!(story.say(1_000, Verdict::Truncated), Next::Wait { warn: true });
        assert!(story.see(1_100, 10, true), "here is its content");
    }

    #[test]
    fn an_unreadable_file_is_warned_of_once_and_tried_ever_less_often() {
        let mut story = Story::new();
        assert!(story.see(0, 10, true));
        assert_eq!(story.say(0, Verdict::Unreadable), Next::Wait { warn: true });
        let mut now = 0;
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            assert!(!story.see(now + pause * 1_000 - 1, 10, false));
            now += pause * 1_000;
            assert!(story.see(now, 10, false));
            assert_eq!(story.say(now, Verdict::Unreadable), Next::Wait { warn: false });
        }
        assert!(story.see(now + 60_000, 10, false));
        assert_eq!(story.say(now + 60_000, Verdict::Taken), Next::Done);
    }

    #[test]
    fn a_file_that_changed_while_it_was_read_is_offered_anew() {
        let mut story = Story::new();
        assert!(story.see(0, 10, true));
        assert!(!story.see(1, 20, false));
        assert_eq!(story.say(2, Verdict::Truncated), Next::Done);
        assert!(story.see(1_001, 20, false));
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut story = Story::new();
        assert!(story.see(0, 10, true));
        story.judge.retain(&HashSet::new());
        assert!(!story.judge.knows(Path::new(PATH)));
        assert_eq!(story.say(1, Verdict::Truncated), Next::Done);
        assert!(story.see(2, 10, true));
    }
}

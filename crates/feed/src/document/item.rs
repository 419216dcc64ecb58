//! [`Item`]: one item of a feed.

use std::fmt;

use bergamot_types::{ByteCount, UnixTime, Url};

#[derive(Clone, Default, PartialEq)]
pub struct Item {
    /// What the feed calls it, whatever else about it changes; never empty.
    pub guid: Box<str>,
    pub title: Box<str>,
    /// Where its NZB should be.
    pub url: Option<Url>,
    pub size: Option<ByteCount>,
    pub categories: Vec<Box<str>>,
    pub published: Option<UnixTime>,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    /// Newznab's, as they came, their names in lower case.
    pub attributes: Vec<(Box<str>, Box<str>)>,
}

impl Item {
    /// The first value of a Newznab attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| **known == *name);
        found.map(|(_, value)| &**value)
    }
}

/// Without the guid, which may be an address with a key in it.
impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("title", &self.title)
            .field("size", &self.size)
            .field("categories", &self.categories)
            .field("published", &self.published)
            .finish_non_exhaustive()
    }
}

/// Season and episode as names of releases have them: `S02E07`, `2x07`, `S02`.
pub(super) fn season_and_episode(title: &str) -> (Option<u32>, Option<u32>) {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric());
    let found = words.filter_map(|word| numbers(&word.to_ascii_lowercase())).next();
    found.map_or((None, None), |(season, episode)| (Some(season), episode))
}

fn numbers(word: &str) -> Option<(u32, Option<u32>)> {
    let (is_worded, rest) = match word.strip_prefix('s') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let (season, rest) = leading_number(rest)?;
    match (is_worded, rest.chars().next()) {
        (true, None) => Some((season, None)),
        (true, Some('e')) | (false, Some('x')) => {
            let (episode, rest) = leading_number(&rest[1..])?;
            // 1280x720 is no episode.
            let is_short = season < 100 && (is_worded || rest.is_empty() && episode < 1000);
            is_short.then_some((season, Some(episode)))
        }
        _ => None,
    }
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn season_and_episode_are_found_in_titles() {
        for (title, expected) in [
            ("A.Show.S02E07.720p", (Some(2), Some(7))),
            ("A Show s2e7e8 x264", (Some(2), Some(7))),
            ("A Show - 2x07 - Name", (Some(2), Some(7))),
            ("A.Show.S03.Complete", (Some(3), None)),
            ("Some.Film.1280x720.2001", (None, None)),
            ("Some Film S", (None, None)),
            ("S99999999999E1", (None, None)),
            ("", (None, None)),
        ] {
            assert_eq!(season_and_episode(title), expected, "{title}");
        }
    }
}

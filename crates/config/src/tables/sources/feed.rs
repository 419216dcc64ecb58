//! `[feeds]` and `[[feed]]`: [`Feeds`], [`Feed`] and their reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bergamot_feed::{Channel, FeedSettings, JobOptions, Rules};
use bergamot_jobs::machine::Category;
use bergamot_types::{Secret, Shown, Url};

use crate::catalogue::{Fallback, Key, MINUTE, Table, WEEK};
use crate::reading::credentials::read_password;
use crate::reading::environment::{Environment, feed_variable};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;
use crate::reading::warning::Warning;
use crate::tables::transfer::server::is_label;

pub(crate) static FEEDS: Table = Table {
    name: "feeds",
    repeated: false,
    about: "How feeds are polled, and the feed that bergamot writes.",
    keys: &[
        Key {
            name: "concurrency",
            kind: Kind::Number { least: 1, most: 50 },
            default: Fallback::Is("5"),
            about: "How many feeds are read at once; a host gets one request at a time.",
        },
        Key {
            name: "output",
            kind: Kind::Path("a path"),
            default: Fallback::Described { words: "none", example: "\"finished.xml\"" },
            about: "A file for an RSS feed of finished downloads; it is served as `/rss` in any case.",
        },
        Key {
            name: "output_items",
            kind: Kind::Number { least: 1, most: 10_000 },
            default: Fallback::Is("100"),
            about: "How many of the latest downloads are in that feed.",
        },
        Key {
            name: "output_link",
            kind: Kind::Text("an address"),
            default: Fallback::Is("\"http://localhost/\""),
            about: "The `link` of that feed: the page it belongs to.",
        },
    ],
};

pub(crate) static FEED: Table = Table {
    name: "feed",
    repeated: true,
    about: "A feed of an indexer: RSS, Atom or Newznab. Repeat the table for each one; the items that its \
            rules accept are downloaded.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name of at most 64 characters that no other feed has"),
            default: Fallback::Required { example: "\"indexer\"" },
            about: "The name of the feed in logs and records. Under a new name it counts as a new feed.",
        },
        Key {
            name: "url",
            kind: Kind::Secret("an http or https address"),
            default: Fallback::Required { example: "\"https://indexer.example/api?t=search\"" },
            about: "The URL of the feed. `{api_key}` in it is replaced by the key; without it the key is \
                    added as `apikey`.",
        },
        Key {
            name: "api_key",
            kind: Kind::Secret("a key"),
            default: Fallback::Described { words: "none", example: "\"secret\"" },
            about: "The API key of the account. The environment variable BERGAMOT_FEED_<NAME>_API_KEY \
                    overrides it.",
        },
        Key {
            name: "api_key_file",
            kind: Kind::Path("the path of a file that holds the key and nothing else"),
            default: Fallback::Described { words: "none", example: "\"indexer.key\"" },
            about: "Read the key from this file instead.",
        },
        Key {
            name: "active",
            kind: Kind::Flag,
            default: Fallback::Is("true"),
            about: "Whether the feed is read.",
        },
        Key {
            name: "rules",
            kind: Kind::Text("rules, one a line"),
            default: Fallback::Described {
                words: "all items are accepted",
                example: "\"Accept: debian -beta size:<5GB\"",
            },
            about: "Which items are accepted, and the options of their jobs; see docs/feeds.md.",
        },
        Key {
            name: "category",
            kind: Kind::Text("the name or an alias of a category"),
            default: Fallback::Described { words: "none", example: "\"tv\"" },
            about: "The category of its jobs, unless a rule sets another.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Described { words: "that of the category", example: "50" },
            about: "The priority of its jobs, unless a rule sets another.",
        },
        Key {
            name: "pause",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Add its jobs paused, unless a rule sets otherwise.",
        },
        Key {
            name: "backlog",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Also accept the items that are in the feed when it is read for the first time.",
        },
        Key {
            name: "interval",
            kind: Kind::Time { least: MINUTE, most: WEEK },
            default: Fallback::Described {
                words: "by how often the feed has new items",
                example: "\"1 h\"",
            },
            about: "The time between two polls, instead of one that follows how often the feed has new \
                    items.",
        },
        Key {
            name: "pages",
            kind: Kind::Number { least: 1, most: 100 },
            default: Fallback::Is("5"),
            about: "The most pages of a Newznab feed that are read to catch up.",
        },
        Key {
            name: "allow_private",
            kind: Kind::Flag,
            default: Fallback::Is("false"),
            about: "Whether redirects and links of this feed may lead to a private network; its own host is \
                    always allowed.",
        },
    ],
};

/// What holds for all feeds, and for the one that bergamot writes itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Feeds {
    pub concurrency: usize,
    pub output: Option<PathBuf>,
    pub output_items: usize,
    pub output_link: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Feed {
    pub name: String,
    pub active: bool,
    /// With its key; none only where a problem was reported.
    pub url: Option<Url>,
    /// As written in the file; they have been parsed once to check them.
    pub rules: String,
    pub category: Option<String>,
    pub priority: Option<i32>,
    pub pause: bool,
    pub backlog: bool,
    pub interval: Option<Duration>,
    pub pages: u32,
    pub allow_private: bool,
}

impl Feeds {
    pub(crate) fn read(mut fields: Fields<'_, '_>, base: &Path) -> Self {
        Self {
            concurrency: usize::from(fields.number::<u16>("concurrency")),
            output: fields.path("output", base),
            output_items: usize::from(fields.number::<u16>("output_items")),
            output_link: read_link(&mut fields),
        }
    }

    /// What the feed that bergamot writes says of itself.
    pub fn channel(&self) -> Channel {
        Channel { link: self.output_link.clone(), size: self.output_items, ..Channel::default() }
    }
}

impl Feed {
    pub fn settings(&self) -> Option<FeedSettings> {
        Some(FeedSettings {
            name: self.name.as_str().into(),
            url: self.url.clone()?,
            enabled: self.active,
            rules: Rules::parse(&self.rules).unwrap_or_default(),
            rules_text: self.rules.as_str().into(),
            options: JobOptions {
                category: self.category.as_deref().map(Into::into),
                priority: self.priority,
                paused: self.pause.then_some(true),
                ..JobOptions::default()
            },
            backlog: self.backlog,
            interval: self.interval,
            pages: self.pages,
            allow_private: self.allow_private,
        })
    }
}

/// Reads the tables one after another, for names are unique among them.
#[derive(Debug)]
pub(crate) struct FeedReader<'a> {
    base: &'a Path,
    environment: &'a Environment,
    categories: &'a [Category],
    feeds: Vec<Feed>,
    variables: BTreeMap<String, String>, // and the feed that each is for
}

impl<'a> FeedReader<'a> {
    pub(crate) fn new(
        base: &'a Path,
        environment: &'a Environment,
        categories: &'a [Category],
    ) -> Self {
        Self { base, environment, categories, feeds: Vec::new(), variables: BTreeMap::new() }
    }

    pub(crate) fn read(&mut self, mut fields: Fields<'_, '_>) {
        let name = self.read_name(&mut fields);
        let key = self.read_key(&mut fields, &name);
        let feed = Feed {
            name,
            active: fields.flag("active"),
            url: read_url(&mut fields, key),
            rules: read_rules(&mut fields),
            category: self.read_category(&mut fields),
            priority: fields.number_if_any("priority"),
            pause: fields.flag("pause"),
            backlog: fields.flag("backlog"),
            interval: fields.time_if_any("interval"),
            pages: fields.number("pages"),
            allow_private: fields.flag("allow_private"),
        };
        self.feeds.push(feed);
    }

    pub(crate) fn finish(self) -> (Vec<Feed>, Vec<Warning>) {
        let unused =
            self.environment.feed_names().filter(|name| !self.variables.contains_key(*name));
        let unused =
            unused.map(|name| Warning::UnusedFeedVariable { name: Shown(name).to_string() });
        let warnings = unused.collect();
        (self.feeds, warnings)
    }

    fn read_name(&mut self, fields: &mut Fields<'_, '_>) -> String {
        let Some(name) = fields.text("name") else { return String::new() };
        let is_known = |feed: &Feed| feed.name.to_lowercase() == name.to_lowercase();
        if !is_label(&name) || name.chars().count() > LONGEST_NAME {
            fields.unfit("name", format!("found \"{}\"", Shown(&name)));
        } else if self.feeds.iter().any(is_known) {
            fields.unfit("name", format!("there is another \"{}\"", Shown(&name)));
        }
        name
    }

    fn read_category(&self, fields: &mut Fields<'_, '_>) -> Option<String> {
        let name = fields.text("category").filter(|name| !name.trim().is_empty())?;
        if !self.categories.iter().any(|category| category.is_called(&name)) {
            let known: Vec<_> = self
                .categories
                .iter()
                .map(|category| format!("\"{}\"", Shown(&category.name)))
                .collect();
            let known = known.join(", ");
            fields.unfit("category", format!("\"{}\" is none; there are {known}", Shown(&name)));
        }
        Some(name)
    }

    /// The variable comes before the file of the key, and that before the key itself.
    fn read_key(&mut self, fields: &mut Fields<'_, '_>, name: &str) -> Option<Secret> {
        let variable = feed_variable(name);
        if let Some(other) = self.variables.insert(variable.clone(), name.to_owned())
            && self.environment.value(&variable).is_some()
        {
            let (one, two) = (Shown(&other), Shown(name));
            let reason = format!("both \"{one}\" and \"{two}\" have that variable; rename one");
            fields.unfit_variable(&variable, "api_key", reason);
        }
        let written = fields.text("api_key").filter(|key| !key.is_empty()).map(Secret::new);
        let path = fields.path("api_key_file", self.base);
        match self.environment.value(&variable) {
            Some(None) => fields.unfit_variable(&variable, "api_key", "it is not UTF-8"),
            Some(Some(key)) => return Some(key.clone()),
            None => {}
        }
        let Some(path) = path else { return written };
        if written.is_some() {
            fields.unfit("api_key_file", "there is also feed.api_key; leave one of them out");
        }
        let key = read_password(&path);
        key.map_err(|reason| {
            fields.unfit("api_key_file", format!("{} {reason}", path.display()));
        })
        .ok()
    }
}

/// As it is written, for it only goes into a document.
fn read_link(fields: &mut Fields<'_, '_>) -> String {
    let link = fields.text("output_link").unwrap_or_default();
    if let Err(error) = Url::parse(&link) {
        fields.unfit("output_link", error);
    }
    link
}

/// The address with the key where it belongs. None of the messages repeats either.
fn read_url(fields: &mut Fields<'_, '_>, key: Option<Secret>) -> Option<Url> {
    let text = fields.text("url")?;
    let key = key.map(|key| encoded(key.reveal()));
    let text = match (text.contains(PLACE), key) {
        (true, None) => {
            let reason = format!(
                "it has {PLACE} in it and there is no key: set feed.api_key, feed.api_key_file or \
                 the variable for this feed"
            );
            fields.unfit("url", reason);
            return None;
        }
        (true, Some(key)) => text.replace(PLACE, &key),
        (false, None) => text,
        (false, Some(key)) => {
            let sign = if text.contains('?') { '&' } else { '?' };
            format!("{text}{sign}apikey={key}")
        }
    };
    Url::parse(&text).map_err(|error| fields.unfit("url", error)).ok()
}

/// Within a query nothing else has to be escaped.
fn encoded(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    key.bytes().map(letter).collect()
}

fn read_rules(fields: &mut Fields<'_, '_>) -> String {
    let rules = fields.text("rules").unwrap_or_default();
    if let Err(error) = Rules::parse(&rules) {
        fields.unfit("rules", Shown(&error.to_string()));
    }
    rules
}

/// Where in an address its key goes.
const PLACE: &str = "{api_key}";
const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{config, environment, problems, read_with};

    fn feed(lines: &str) -> String {
        format!("[[feed]]\nname = \"an indexer\"\n{lines}\n")
    }

    fn url(text: &str) -> String {
        config(text).feeds[0].url.as_ref().unwrap().reveal()
    }

    #[test]
    fn the_key_goes_where_it_belongs() {
        for (lines, expected) in [
            ("url = 'https://x.example/rss'", "https://x.example/rss"),
            (
                "url = 'https://x.example/api?t=tv'\napi_key = 'a b'",
                "https://x.example/api?t=tv&apikey=a%20b",
            ),
            ("url = 'https://x.example/api'\napi_key = 'k'", "https://x.example/api?apikey=k"),
            ("url = 'https://x.example/{api_key}/rss'\napi_key = 'k'", "https://x.example/k/rss"),
        ] {
            assert_eq!(url(&feed(lines)), expected, "{lines}");
        }
        let variables = environment(&[("BERGAMOT_FEED_AN_INDEXER_API_KEY", "v")]);
        let text = feed("url = 'https://x.example/?r={api_key}'\napi_key = 'k'");
        let config = read_with(&text, &variables).unwrap();
        assert_eq!(config.feeds[0].url.as_ref().unwrap().reveal(), "https://x.example/?r=v");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "f\n").unwrap();
        let file = format!("url = 'https://x.example'\napi_key_file = '{}'", path.display());
        assert_eq!(url(&feed(&file)), "https://x.example/?apikey=f");
    }

    #[test]
    fn a_key_that_is_missing_is_told_at_once_and_none_is_repeated() {
        let told = problems(&feed("url = 'https://x.example/?r={api_key}'"));
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("line 3, column 7: feed.url: expected"), "{told:?}");
        assert!(told[0].contains("there is no key: set feed.api_key"), "{told:?}");
        for lines in [
            "url = 'ftp://x.example/SECRET'",
            "url = 'https://x.example/a'\napi_key_file = '/nowhere/at/all'",
            "url = 'https://x.example/SECRET'\nrules = 'colour:red'",
            "url = 'https://x.example/SECRET'\ninterval = '1 s'",
        ] {
            let told = problems(&feed(lines)).concat();
            assert!(!told.contains("SECRET"), "{told}");
        }
        let two = [feed("url = 'http://x.example'"), feed("url = 'http://x.example'")].concat();
        assert!(problems(&two)[0].contains("there is another \"an indexer\""));
    }

    #[test]
    fn what_could_never_be_is_told() {
        let other = feed("url = 'http://x.example'\ncategory = 'films'");
        let told = problems(&other);
        assert!(
            told[0].contains("feed.category") && told[0].contains("\"films\" is none"),
            "{told:?}"
        );
        let known = format!("{other}[[category]]\nname = 'Movies'\naliases = ['Films']\n");
        assert_eq!(config(&known).feeds[0].category.as_deref(), Some("films"));
        for link in ["here", "ftp://x.example/"] {
            let told = problems(&format!("[feeds]\noutput_link = '{link}'"));
            assert!(told[0].contains("feeds.output_link"), "{told:?}");
        }
    }

    #[test]
    fn a_variable_for_nobody_is_a_warning() {
        let variables = environment(&[("BERGAMOT_FEED_OTHER_API_KEY", "SECRET")]);
        let config = read_with("", &variables).unwrap();
        let told: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
        assert!(told.contains(
            &"BERGAMOT_FEED_OTHER_API_KEY is set, but there is no feed of that name".to_owned()
        ));
    }

    #[test]
    fn settings_reach_their_room() {
        let text = feed(
            "url = 'https://x.example'\nrules = '''\nAccept(priority:5): a\n'''\ncategory = 'tv'\n\
             priority = 7\npause = true\nbacklog = true\ninterval = '20 min'\npages = 2",
        );
        let settings = config(&text).feeds[0].settings().unwrap();
        assert_eq!(settings.options.category.as_deref(), Some("tv"));
        assert_eq!((settings.options.priority, settings.options.paused), (Some(7), Some(true)));
        assert_eq!(settings.interval, Some(Duration::from_secs(1200)));
        assert!(settings.backlog && settings.enabled && settings.pages == 2);
        assert!(!format!("{settings:?}").contains("example/?"));
    }
}

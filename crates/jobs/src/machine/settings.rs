//! [`Settings`] of all jobs, and [`JobDirectories`]: the directories of jobs by category. Plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bergamot_queue::Propagation;
use bergamot_storage::Reserve;
use bergamot_types::{SafeName, ServerId};

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    pub directories: JobDirectories,
    /// A job may have the articles of another.
    pub accept_duplicates: bool,
    pub wants_par2_volumes: bool,
    /// The age of a post before its articles are requested.
    pub propagation_delay: Duration,
    pub propagation: Propagation,
    /// What is kept free on each volume.
    pub reserve: Reserve,
    /// How long and how many ended jobs are kept.
    pub keep: Duration,
    pub most_kept: usize,
    /// No job is loaded and no NZB fetched.
    pub feeds_only: bool,
    /// By which outcomes name servers.
    pub server_names: BTreeMap<ServerId, String>,
}

/// Where jobs are downloaded to, and where they go by their category.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JobDirectories {
    pub incomplete: PathBuf,
    pub complete: PathBuf,
    pub categories: Vec<Category>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Category {
    /// As the configuration spells it.
    pub name: String,
    /// In full.
    pub directory: PathBuf,
    pub aliases: Vec<String>,
    pub priority: i32,
}

impl Category {
    /// By its name or an alias, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let name = folded(name);
        folded(&self.name) == name || self.aliases.iter().any(|alias| folded(alias) == name)
    }
}

/// Two names of a category are the same if these are.
fn folded(name: &str) -> String {
    SafeName::collision_key_of(name.trim())
}

impl JobDirectories {
    /// By its name or an alias, in any case.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories.iter().find(|category| category.is_called(name))
    }

    /// Every configured directory that finished jobs may be in.
    pub fn destinations(&self) -> impl Iterator<Item = &Path> {
        let categories = self.categories.iter().map(|category| category.directory.as_path());
        std::iter::once(self.complete.as_path()).chain(categories)
    }

    /// Every configured directory that jobs are written to, each once.
    pub fn all(&self) -> Vec<&Path> {
        let mut all = vec![self.incomplete.as_path()];
        for path in self.destinations() {
            if !all.contains(&path) {
                all.push(path);
            }
        }
        all
    }

    /// The configured directory that holds the finished jobs of a category.
    pub fn configured(&self, category: Option<&str>) -> &Path {
        match category.and_then(|name| self.category(name)) {
            Some(known) => &known.directory,
            None => &self.complete,
        }
    }

    /// The directory for finished jobs of a category. One that is not configured gets a directory of its
    /// own name, made safe.
    pub fn destination(&self, category: Option<&str>) -> PathBuf {
        let Some(name) = category.filter(|name| !name.trim().is_empty()) else {
            return self.complete.clone();
        };
        match self.category(name) {
            Some(known) => known.directory.clone(),
            None => {
                self.complete.join(SafeName::from_raw(&name.replace(['/', '\\'], "-")).as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_found_by_name_and_alias_and_others_stay_below_complete() {
        let tv = Category {
            name: "TV".to_owned(),
            aliases: vec!["series".to_owned()],
            directory: "/c/shows/tv".into(),
            priority: 50,
        };
        let directories =
            JobDirectories { incomplete: "/i".into(), complete: "/c".into(), categories: vec![tv] };
        for (category, directory) in [
            (None, "/c"),
            (Some("tv"), "/c/shows/tv"),
            (Some("Series"), "/c/shows/tv"),
            (Some("books"), "/c/books"),
            (Some("a/b"), "/c/a-b"),
            (Some("../../etc"), "/c/_..-..-etc"),
            (Some(" "), "/c"),
        ] {
            let found = directories.destination(category);
            assert_eq!(found, PathBuf::from(directory), "{category:?}");
        }
        assert_eq!(directories.all(), ["/i", "/c", "/c/shows/tv"].map(Path::new));
    }
}

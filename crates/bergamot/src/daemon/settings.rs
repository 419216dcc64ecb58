//! What the daemon is told beforehand.

use std::path::PathBuf;
use std::sync::Arc;

use bergamot_types::SafeName;

/// Built from the configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) engine: bergamot_engine::Settings,
    /// In the order of their ids, from 1.
    pub(crate) servers: Vec<bergamot_net::ServerSettings>,
    pub(crate) intake: bergamot_intake::Settings,
    pub(crate) jobs: Arc<JobSettings>,
    pub(crate) state: PathBuf,
    /// Draw a live line on the terminal.
    pub(crate) progress: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct JobSettings {
    pub(crate) incomplete: PathBuf,
    pub(crate) complete: PathBuf,
    pub(crate) categories: Vec<Category>,
    /// Take an NZB whose articles are queued or done already.
    pub(crate) accept_duplicates: bool,
    pub(crate) wants_par2_volumes: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Category {
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    /// Below the complete directory.
    pub(crate) directory: PathBuf,
    pub(crate) priority: i32,
}

impl JobSettings {
    pub(crate) fn category(&self, text: &str) -> Option<&Category> {
        let is = |name: &String| name.to_lowercase() == text.trim().to_lowercase();
        self.categories.iter().find(|known| is(&known.name) || known.aliases.iter().any(is))
    }

    /// Where the finished jobs of a category go. One that nobody configured gets a directory of its
    /// own name, made safe.
    pub(crate) fn destination(&self, category: Option<&str>) -> PathBuf {
        let Some(text) = category.filter(|text| !text.trim().is_empty()) else {
            return self.complete.clone();
        };
        match self.category(text) {
            Some(known) => self.complete.join(&known.directory),
            None => {
                self.complete.join(SafeName::from_raw(&text.replace(['/', '\\'], "-")).as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_found_by_name_and_alias_and_strangers_stay_below_complete() {
        let tv = Category {
            name: "TV".to_owned(),
            aliases: vec!["series".to_owned()],
            directory: "shows/tv".into(),
            priority: 50,
        };
        let settings = JobSettings {
            incomplete: "/i".into(),
            complete: "/c".into(),
            categories: vec![tv],
            accept_duplicates: false,
            wants_par2_volumes: false,
        };
        for (category, directory) in [
            (None, "/c"),
            (Some("tv"), "/c/shows/tv"),
            (Some("Series "), "/c/shows/tv"),
            (Some("books"), "/c/books"),
            (Some("a/b"), "/c/a-b"),
            (Some("../../etc"), "/c/_..-..-etc"),
            (Some(" "), "/c"),
        ] {
            assert_eq!(settings.destination(category), PathBuf::from(directory), "{category:?}");
        }
    }
}

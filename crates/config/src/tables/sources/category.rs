//! `[[category]]`: [`Category`], the directory, aliases and priority of a category.

use std::path::{Component, Path, PathBuf};

use bergamot_jobs::machine::Category;
use bergamot_types::{SafeName, Shown};

use crate::catalogue::{Fallback, Key, Table};
use crate::reading::fields::Fields;
use crate::reading::kind::Kind;
use crate::tables::transfer::directories::{Directories, is_inside, plain};

pub(crate) static CATEGORY: Table = Table {
    name: "category",
    repeated: true,
    about: "A category of downloads. Repeat the table for each one; if there is none, the categories are tv, \
            Movies, Music and Readarr, the defaults of Sonarr and the like.",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text("a name that no other category or alias has"),
            default: Fallback::Required { example: "\"tv\"" },
            about: "The name of the category; case does not matter when it is looked up.",
        },
        Key {
            name: "directory",
            kind: Kind::Path("a path without \"..\""),
            default: Fallback::Described { words: "the name", example: "\"tv\"" },
            about: "The directory of its finished downloads; a relative path starts at directories.complete.",
        },
        Key {
            name: "aliases",
            kind: Kind::Texts("a list of names that no other category or alias has"),
            default: Fallback::Is("[]"),
            about: "Other names of the category, such as those that indexers use.",
        },
        Key {
            name: "priority",
            kind: Kind::Number { least: -1000, most: 1000 },
            default: Fallback::Is("0"),
            about: "Downloads of a higher priority come first.",
        },
    ],
};

/// The default categories of Sonarr, Radarr, Lidarr and Readarr.
pub(crate) fn usual_categories(directories: &Directories) -> Vec<Category> {
    let usual = |name: &str| Category {
        name: name.to_owned(),
        directory: directories.complete.join(name),
        aliases: Vec::new(),
        priority: 0,
    };
    ["tv", "Movies", "Music", "Readarr"].map(usual).into()
}

/// `known` are the categories read so far, whose names and aliases are taken.
pub(crate) fn read_category(
    mut fields: Fields<'_, '_>,
    known: &[Category],
    directories: &Directories,
) -> Category {
    let name = fields.text("name");
    if let Some(reason) = name.as_deref().and_then(|name| objection(name, known, None)) {
        fields.unfit("name", reason);
    }
    let name = name.unwrap_or_default();
    let mut category = Category {
        directory: read_directory(&mut fields, &name, directories),
        name,
        aliases: Vec::new(),
        priority: fields.number("priority"),
    };
    for (at, alias) in fields.texts("aliases") {
        if let Some(reason) = objection(&alias, known, Some(&category)) {
            fields.unfit_at(at, "aliases", reason);
        }
        category.aliases.push(alias);
    }
    category
}

fn objection(name: &str, known: &[Category], current: Option<&Category>) -> Option<String> {
    let shown = Shown(name);
    if name.trim().is_empty() || name.contains(char::is_control) {
        return Some(format!("found \"{shown}\""));
    }
    let taken = known.iter().chain(current).find(|category| category.is_called(name))?;
    Some(format!("\"{shown}\" is taken by category \"{}\"", Shown(&taken.name)))
}

fn read_directory(fields: &mut Fields<'_, '_>, name: &str, directories: &Directories) -> PathBuf {
    let Some(path) = fields.path("directory", Path::new("")) else {
        return directories.complete.join(default_directory(name));
    };
    if path.components().any(|component| component == Component::ParentDir) {
        fields.unfit("directory", format!("found \"{}\"", Shown(&path.to_string_lossy())));
    }
    let path = directories.complete.join(path);
    if is_inside(&path, &directories.watch) || plain(&path) == plain(&directories.watch) {
        fields.unfit("directory", "it is inside directories.watch");
    }
    path
}

/// A name such as `tv/hd`, which a subfolder of the watch folder gives, stays a path.
fn default_directory(name: &str) -> PathBuf {
    let parts = name.split('/').filter(|part| !part.trim().is_empty());
    parts.map(|part| PathBuf::from(SafeName::from_raw(part).as_str())).collect()
}

#[cfg(test)]
mod tests {
    use crate::trial::{config, problems};

    #[test]
    fn a_category_is_found_by_name_and_alias_in_any_case() {
        let text = "
            [[category]]
            name = 'Movies'
            aliases = ['Film > HD', 'ÜBER']
            priority = -50
            [[category]]
            name = 'tv/hd: new'
            [[category]]
            name = 'books'
            directory = '/mnt/books'
            [[category]]
            name = 'audio'
            directory = 'music/new'
        ";
        let config = config(text);
        let called = |name: &str| config.categories.iter().find(|known| known.is_called(name));
        let found = |name| called(name).map(|category| category.name.as_str());
        assert_eq!(found("movies"), Some("Movies"));
        assert_eq!(found("film > hd"), Some("Movies"));
        assert_eq!(found("über"), Some("Movies"));
        assert_eq!(found("other"), None);
        assert_eq!(config.categories[0].priority, -50);
        let places: Vec<_> = config.categories.iter().map(|c| c.directory.to_str()).collect();
        assert_eq!(
            places,
            [
                Some("/srv/complete/Movies"),
                Some("/srv/complete/tv/hd_ new"),
                Some("/mnt/books"),
                Some("/srv/complete/music/new"),
            ]
        );
    }

    #[test]
    fn names_and_aliases_are_taken_once() {
        let text = "
[[category]]
name = \"tv\"
aliases = [\"series\", \"TV\", \"Series\", \"\"]
[[category]]
name = \"SERIES\"
[[category]]
aliases = \"tv\"
";
        assert_eq!(
            problems(text),
            [
                "line 4, column 22: category.aliases: expected a list of names that no other \
                 category or alias has, but \"TV\" is taken by category \"tv\"",
                "line 4, column 28: category.aliases: expected a list of names that no other \
                 category or alias has, but \"Series\" is taken by category \"tv\"",
                "line 4, column 38: category.aliases: expected a list of names that no other \
                 category or alias has, but found \"\"",
                "line 6, column 8: category.name: expected a name that no other category or alias \
                 has, but \"SERIES\" is taken by category \"tv\"",
                "line 7, column 1: category.name: missing; expected a name that no other category \
                 or alias has",
                "line 8, column 11: category.aliases: expected a list of names that no other \
                 category or alias has, found \"tv\"",
            ]
        );
    }

    #[test]
    fn a_directory_stays_out_of_the_watch_folder() {
        let text = |path| format!("[[category]]\nname = \"a\"\ndirectory = \"{path}\"");
        assert_eq!(
            problems(&text("/srv/watch/tv")),
            ["line 3, column 13: category.directory: expected a path without \"..\", but it is \
              inside directories.watch"]
        );
        assert_eq!(
            problems(&text("../tv")),
            ["line 3, column 13: category.directory: expected a path without \"..\", but found \
              \"../tv\""]
        );
    }
}

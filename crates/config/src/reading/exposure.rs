//! Finds files with passwords that other users of the machine can read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::catalogue::{Key, TABLES};
use crate::reading::kind::Kind;
use crate::{Warning, text_of};

/// A warning for the configuration itself, if passwords stand in it, and for each file it names for one.
pub(crate) fn warnings(path: &Path, bytes: &[u8], base: &Path) -> Vec<Warning> {
    let document = text_of(bytes).ok().and_then(|text| DeTable::parse(text).ok());
    let Some(document) = document else { return Vec::new() };
    let mut files: Vec<PathBuf> = Vec::new();
    for (key, text) in written(document.get_ref()) {
        let file = match key.kind {
            Kind::Secret(_) if is_password(key.name) && !text.is_empty() => path.to_owned(),
            _ if key.name.strip_suffix("_file").is_some_and(is_password) => base.join(text),
            _ => continue,
        };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files.into_iter().filter_map(exposed).collect()
}

/// Texts of the file, each with its key.
fn written<'a>(document: &'a DeTable<'_>) -> impl Iterator<Item = (&'static Key, &'a str)> {
    TABLES.iter().flat_map(move |table| {
        let entry = document.get(table.name).map(|entry| entry.get_ref());
        let several = entry.and_then(DeValue::as_array).into_iter();
        let several = several.flat_map(|items| items.iter().map(|item| item.get_ref()));
        let tables = several.chain(entry).filter_map(DeValue::as_table);
        tables.flat_map(|values| {
            table.keys.iter().filter_map(|key| {
                let text = values.get(key.name)?.get_ref().as_str()?;
                Some((key, text))
            })
        })
    })
}

/// User names and addresses are not shown either, but others may read them.
fn is_password(key: &str) -> bool {
    key.ends_with("password") || key.ends_with("key")
}

fn exposed(path: PathBuf) -> Option<Warning> {
    let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o777;
    (mode & BEYOND_GROUP != 0).then_some(Warning::Exposed { path, mode })
}

/// What 0640 does not allow to users other than the owner.
const BEYOND_GROUP: u32 = 0o037;

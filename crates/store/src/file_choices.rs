//! What people want of single files of a job.

use serde::{Deserialize, Serialize};

/// Files by their places in the NZB, in their order; each is there once at most.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct FileChoices {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paused: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<u32>,
}

impl FileChoices {
    pub fn paused(&self) -> &[u32] {
        &self.paused
    }

    /// Nobody wants these at all.
    pub fn dropped(&self) -> &[u32] {
        &self.dropped
    }

    pub fn is_empty(&self) -> bool {
        self.paused.is_empty() && self.dropped.is_empty()
    }

    pub fn pause(&mut self, file: u32) {
        insert(&mut self.paused, file);
    }

    pub fn resume(&mut self, file: u32) {
        remove(&mut self.paused, file);
    }

    pub fn drop(&mut self, file: u32) {
        remove(&mut self.paused, file);
        insert(&mut self.dropped, file);
    }
}

fn insert(files: &mut Vec<u32>, file: u32) {
    if let Err(place) = files.binary_search(&file) {
        files.insert(place, file);
    }
}

fn remove(files: &mut Vec<u32>, file: u32) {
    if let Ok(place) = files.binary_search(&file) {
        files.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_file_counts() {
        let mut choices = FileChoices::default();
        [3, 1, 3, 2].into_iter().for_each(|file| choices.pause(file));
        assert_eq!(choices.paused(), [1, 2, 3]);
        choices.resume(2);
        choices.resume(9);
        choices.drop(3);
        choices.drop(3);
        assert_eq!((choices.paused(), choices.dropped()), ([1].as_slice(), [3].as_slice()));
        choices.resume(1);
        assert!(!choices.is_empty());
    }
}

//! [`FileChoices`]: which files of a job are paused, dropped or moved to another job, and their order.

use serde::{Deserialize, Serialize};

/// Files by their places in the NZB. All lists but that of the order rise; each file is in a list once
/// at most.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct FileChoices {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paused: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    given_away: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    order: Vec<u32>,
}

impl FileChoices {
    pub fn paused(&self) -> &[u32] {
        &self.paused
    }

    /// Not downloaded at all.
    pub fn dropped(&self) -> &[u32] {
        &self.dropped
    }

    /// These are files of another job now.
    pub fn given_away(&self) -> &[u32] {
        &self.given_away
    }

    /// These are wanted first; the others follow by their places.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Not downloaded as part of this job.
    pub fn left_out(&self) -> Vec<u32> {
        self.dropped.iter().chain(&self.given_away).copied().collect()
    }

    pub fn is_empty(&self) -> bool {
        let lists = [&self.paused, &self.dropped, &self.given_away, &self.order];
        lists.into_iter().all(Vec::is_empty)
    }

    pub fn has_given_away(&self, files: &[u32]) -> bool {
        files.iter().all(|file| self.given_away.binary_search(file).is_ok())
    }

    pub fn set_order(&mut self, order: &[u32]) {
        self.order = order.to_vec();
    }

    pub fn give_away(&mut self, file: u32) {
        remove(&mut self.paused, file);
        remove(&mut self.dropped, file);
        insert(&mut self.given_away, file);
    }

    /// Undoes the choices; files that were moved to another job stay there.
    pub fn forget(&mut self) {
        *self = Self { given_away: std::mem::take(&mut self.given_away), ..Self::default() };
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
        choices.give_away(3);
        choices.set_order(&[2, 0]);
        assert_eq!((choices.dropped(), choices.left_out()), (&[][..], vec![3]));
        choices.forget();
        assert_eq!((choices.given_away(), choices.order()), (&[3][..], &[][..]));
    }
}

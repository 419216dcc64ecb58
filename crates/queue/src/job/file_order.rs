//! [`FileOrder`]: the order in which the files of a job are downloaded. Pure.

use std::collections::HashSet;

/// A permutation beside the files: they keep their places in the NZB, for journals and records speak
/// of them by those.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileOrder {
    files: Vec<u32>,
    places: Vec<u32>, // of each file among them
}

impl FileOrder {
    /// Of `count` files: first those that are told, the others by their places in the NZB. What is
    /// told twice or is no file does not count.
    pub fn new(count: u32, told: &[u32]) -> Self {
        let mut is_told = vec![false; count as usize];
        let first = told.iter().copied().filter(|file| {
            let slot = is_told.get_mut(*file as usize);
            slot.is_some_and(|slot| !std::mem::replace(slot, true))
        });
        let mut files: Vec<u32> = first.collect();
        files.extend((0..count).filter(|file| !is_told[*file as usize]));
        Self::of(files)
    }

    fn of(files: Vec<u32>) -> Self {
        let mut places = vec![0; files.len()];
        for (place, file) in (0..).zip(&files) {
            places[*file as usize] = place;
        }
        Self { files, places }
    }

    pub fn files(&self) -> &[u32] {
        &self.files
    }

    /// As much of it as [`FileOrder::new`] has to be told: nothing, as long as it was not changed.
    pub fn told(&self) -> &[u32] {
        let rising = self.files.windows(2).rev().take_while(|pair| pair[0] < pair[1]).count();
        &self.files[..self.files.len().saturating_sub(rising + 1)]
    }

    /// In this order before all others, which keep theirs.
    pub fn put_first(&mut self, named: &[u32]) {
        let all: Vec<u32> = named.iter().chain(&self.files).copied().collect();
        *self = Self::new(self.files.len() as u32, &all);
    }

    /// So many places down, or up if negative, counted among the files that `counts`. Those named
    /// never overtake each other.
    pub fn move_by(&mut self, named: &[u32], places: i64, counts: impl Fn(u32) -> bool) {
        let named: HashSet<u32> = named.iter().copied().collect();
        let mut counted: Vec<u32> = self.files.iter().copied().filter(|it| counts(*it)).collect();
        let is_down = places > 0;
        if is_down {
            counted.reverse();
        }
        let mut moved = moved_up(&counted, &named, places.unsigned_abs());
        if is_down {
            moved.reverse();
        }
        let mut moved = moved.into_iter();
        let slot = |file: &u32| if counts(*file) { moved.next().unwrap_or(*file) } else { *file };
        let files = self.files.iter().map(slot).collect();
        *self = Self::of(files);
    }

    pub(crate) fn place(&self, file: u32) -> usize {
        self.places.get(file as usize).map_or(0, |place| *place as usize)
    }
}

/// Each of those named goes up as far as it is told, or to where the one before it went.
fn moved_up(files: &[u32], named: &HashSet<u32>, by: u64) -> Vec<u32> {
    let by = usize::try_from(by).unwrap_or(usize::MAX);
    let mut slots: Vec<Option<u32>> = vec![None; files.len()];
    let mut free = 0;
    for (place, file) in files.iter().enumerate().filter(|(_, file)| named.contains(*file)) {
        let to = place.saturating_sub(by).max(free);
        slots[to] = Some(*file);
        free = to + 1;
    }
    let mut others = files.iter().copied().filter(|file| !named.contains(file));
    slots.into_iter().filter_map(|slot| slot.or_else(|| others.next())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(told: &[u32], named: &[u32], places: i64) -> Vec<u32> {
        let mut order = FileOrder::new(6, told);
        order.move_by(named, places, |_| true);
        assert_eq!(FileOrder::new(6, order.told()), order, "what is told is enough");
        order.files().to_vec()
    }

    #[test]
    fn files_go_where_they_are_told_and_keep_their_order_among_each_other() {
        for (told, named, places, expected) in [
            (&[][..], &[4][..], -2, [0, 1, 4, 2, 3, 5]),
            (&[], &[1], 3, [0, 2, 3, 4, 1, 5]),
            (&[], &[4, 2], i64::MIN, [2, 4, 0, 1, 3, 5]),
            (&[], &[2, 0], i64::MAX, [1, 3, 4, 5, 0, 2]),
            (&[], &[0, 1, 3], -1, [0, 1, 3, 2, 4, 5]),
            (&[], &[2, 4, 5], 1, [0, 1, 3, 2, 4, 5]),
            (&[5, 3], &[3, 0], -1, [3, 0, 5, 1, 2, 4]),
            (&[], &[1, 9], 0, [0, 1, 2, 3, 4, 5]),
        ] {
            assert_eq!(moved(told, named, places), expected, "{named:?} by {places}");
        }
    }

    #[test]
    fn what_does_not_count_stays_where_it_is() {
        let mut order = FileOrder::new(5, &[]);
        order.move_by(&[4], -1, |file| ![1, 3].contains(&file));
        assert_eq!(order.files(), [0, 1, 4, 3, 2]);
    }

    #[test]
    fn only_what_differs_is_told() {
        let mut order = FileOrder::new(4, &[]);
        assert_eq!(order.told(), []);
        order.put_first(&[3, 3, 7, 1]);
        assert_eq!((order.files(), order.told()), (&[3, 1, 0, 2][..], &[3, 1][..]));
        assert_eq!(order, FileOrder::new(4, &[3, 1]));
        assert_eq!([3, 0, 2].map(|file| order.place(file)), [0, 2, 3]);
        order.put_first(&[0, 1, 2]);
        assert_eq!(order.told(), []);
        assert_eq!(FileOrder::new(0, &[1]).told(), []);
    }
}

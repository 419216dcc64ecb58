//! [`PartChecksums`]: the checksums of what was written to files that are not finished, for `download.verify = "read"`.
//! Owned by the main loop; empty unless files are read back.

use std::collections::{BTreeMap, HashMap};

use bergamot_queue::{FileKey, Part, Restored, SegmentKey};
use bergamot_types::JobId;
use bergamot_writer::Sum;

#[derive(Debug, Default)]
pub(crate) struct PartChecksums {
    is_wanted: bool,
    files: HashMap<FileKey, BTreeMap<u32, Sum>>, // by segment
}

impl PartChecksums {
    /// From now on; what was written before is not known.
    pub(crate) fn want(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
        if !is_wanted {
            self.files.clear();
        }
    }

    pub(crate) fn add(&mut self, key: SegmentKey, part: &Part) {
        let sum = part.begin.zip(part.crc32).filter(|_| self.is_wanted);
        if let Some((from, crc32)) = sum {
            let sum = Sum { from, length: part.length, crc32 };
            self.files.entry(key.file_key()).or_default().insert(key.segment, sum);
        }
    }

    pub(crate) fn restore(&mut self, job: JobId, written: &[Restored]) {
        for Restored { file, segment, part } in written {
            self.add(SegmentKey { job, file: *file, segment: *segment }, part);
        }
    }

    pub(crate) fn remove(&mut self, key: SegmentKey) {
        if let Some(file) = self.files.get_mut(&key.file_key()) {
            file.remove(&key.segment);
        }
    }

    pub(crate) fn forget_file(&mut self, file: FileKey) {
        self.files.remove(&file);
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.files.retain(|file, _| file.job != job);
    }

    /// Those of a file of that size, if they are known of all of it.
    pub(crate) fn of_whole(&self, file: FileKey, size: u64) -> Vec<Sum> {
        let sums = self.files.get(&file).into_iter().flat_map(|file| file.values());
        let sums: Vec<_> = sums.copied().collect();
        let covered: u64 = sums.iter().map(|sum| sum.length).sum();
        if covered == size { sums } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileKey = FileKey { job: JobId(1), file: 2 };

    fn key(segment: u32) -> SegmentKey {
        SegmentKey { job: FILE.job, file: FILE.file, segment }
    }

    fn part(begin: u64) -> Part {
        Part { begin: Some(begin), length: 10, crc32: Some(7), ..Part::default() }
    }

    #[test]
    fn a_file_is_read_back_only_where_all_of_its_sums_are_known() {
        let mut sums = PartChecksums::default();
        sums.add(key(0), &part(0));
        assert!(sums.of_whole(FILE, 10).is_empty(), "nobody wants them");
        sums.want(true);
        sums.add(key(0), &part(0));
        assert!(sums.of_whole(FILE, 20).is_empty());
        sums.add(key(1), &part(10));
        assert_eq!(sums.of_whole(FILE, 20)[1], Sum { from: 10, length: 10, crc32: 7 });
        sums.remove(key(0));
        assert!(sums.of_whole(FILE, 20).is_empty());
        sums.forget(FILE.job);
        assert!(sums.files.is_empty());
    }
}

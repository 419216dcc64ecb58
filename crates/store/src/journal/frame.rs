//! [`Frame`]: one checksummed record of a journal, with its owner and the boot it was written in.

use bergamot_types::JobId;

use bergamot_jobs::Fingerprint;

/// A stretch of a journal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Frame<'a> {
    pub(crate) owner: Owner,
    /// No two frames of a journal have the same.
    pub(crate) sequence: u64,
    pub(crate) kind: Kind,
    pub(crate) payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Entries,
    /// The payload is the sequence up to which all is on the disk itself.
    Vouch,
}

/// Whose journal it is, and which run of the machine writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Owner {
    job: u32,
    boot: BootId,
}

/// A digest of what the kernel calls this run of the machine; nothing, where it does not say.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BootId(u32);

impl BootId {
    /// As Linux tells it.
    pub fn read() -> Self {
        std::fs::read("/proc/sys/kernel/random/boot_id").map_or(Self::default(), |id| Self::of(&id))
    }

    pub fn of(id: &[u8]) -> Self {
        // 0 stands for an id that is not known.
        Self(if id.is_empty() { 0 } else { crc32fast::hash(id).max(1) })
    }
}

impl Owner {
    pub(crate) fn new(job: JobId, fingerprint: Fingerprint, boot: BootId) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&job.0.to_le_bytes());
        hasher.update(&fingerprint.0);
        Self { job: hasher.finalize(), boot }
    }

    /// What was handed to the kernel then is still with it, or on the disk.
    pub(crate) fn same_boot(self, other: Self) -> bool {
        self.boot == other.boot && self.boot != BootId::default()
    }
}

impl<'a> Frame<'a> {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).expect("payloads are cut far below 4 GiB");
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len());
        bytes.extend(MAGIC);
        bytes.extend(self.owner.job.to_le_bytes());
        bytes.extend(self.owner.boot.0.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend(length.to_le_bytes());
        bytes.extend(checksum(&bytes[MAGIC.len()..], self.payload).to_le_bytes());
        bytes.extend(self.payload);
        bytes
    }

    /// The one that `bytes` begin with, if it is whole.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|offset| header[at + offset]));
        if header[..MAGIC.len()] != MAGIC || number(21) > MOST_PAYLOAD {
            return None;
        }
        let payload = rest.get(..number(21) as usize)?;
        if number(25) != checksum(&header[MAGIC.len()..25], payload) {
            return None;
        }
        let kind =
            [Kind::Entries, Kind::Vouch].into_iter().find(|kind| *kind as u8 == header[20])?;
        let owner = Owner { job: number(4), boot: BootId(number(8)) };
        let sequence = u64::from(number(16)) << 32 | u64::from(number(12));
        Some(Self { owner, sequence, kind, payload })
    }

    /// The sequence up to which everything is fsynced, if this is a mark.
    pub(crate) fn vouched(&self) -> Option<u64> {
        let sequence = self.payload.try_into().ok().map(u64::from_le_bytes);
        sequence.filter(|_| self.kind == Kind::Vouch)
    }
}

/// What was found in a journal.
#[derive(Debug, Default)]
pub(crate) struct FoundFrames<'a> {
    pub(crate) ours: Vec<Frame<'a>>,
    /// Whole frames of other jobs.
    pub(crate) foreign: usize,
    /// Stretches that are no frames.
    pub(crate) damaged: usize,
}

/// All frames that are whole. What is not costs itself: the next begins with the next magic.
pub(crate) fn frames(bytes: &[u8], owner: Owner) -> FoundFrames<'_> {
    let mut found = FoundFrames::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(frame) = Frame::parse(rest) else {
            found.damaged += 1;
            rest = from_next_frame(&rest[1..]);
            continue;
        };
        rest = &rest[HEADER + frame.payload.len()..];
        match frame.owner.job == owner.job {
            true => found.ours.push(frame),
            false => found.foreign += 1,
        }
    }
    found
}

fn from_next_frame(bytes: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == MAGIC[0]) {
        at += next;
        if Frame::parse(&bytes[at..]).is_some() {
            return &bytes[at..];
        }
        at += 1;
    }
    &[]
}

fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

/// Neither text nor zeros.
const MAGIC: [u8; 4] = [0xB7, b'j', 0x01, 0xE3];

/// Magic, job, boot, sequence, kind, length, checksum.
const HEADER: usize = 4 + 4 + 4 + 8 + 1 + 4 + 4;

const MOST_PAYLOAD: u32 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(job: u32) -> Owner {
        Owner::new(JobId(job), Fingerprint([7; 16]), BootId::of(b"boot"))
    }

    fn frame(job: u32, sequence: u64, payload: &[u8]) -> Vec<u8> {
        Frame { owner: owner(job), sequence, kind: Kind::Entries, payload }.to_bytes()
    }

    fn sequences(bytes: &[u8]) -> Vec<u64> {
        frames(bytes, owner(1)).ours.iter().map(|frame| frame.sequence).collect()
    }

    #[test]
    fn damage_costs_the_frame_it_is_in() {
        let parts =
            [frame(1, 1, b"one"), frame(1, 1 << 40, &MAGIC.repeat(9)), frame(1, u64::MAX, b"")];
        let whole = parts.concat();
        assert_eq!(sequences(&whole), [1, 1 << 40, u64::MAX]);
        let ends: Vec<usize> = parts
            .iter()
            .scan(0, |end, part| {
                *end += part.len();
                Some(*end)
            })
            .collect();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            let hit = ends.iter().position(|end| at < *end).unwrap();
            let mut left = vec![1, 1 << 40, u64::MAX];
            left.remove(hit);
            let found = frames(&flipped, owner(1));
            let sequences: Vec<_> = found.ours.iter().map(|frame| frame.sequence).collect();
            assert_eq!((sequences, found.damaged), (left, 1), "byte {at}");
            let cut = frames(&whole[..at], owner(1));
            assert_eq!(
                cut.ours.len(),
                ends.iter().filter(|end| **end <= at).count(),
                "cut at {at}"
            );
            assert_eq!(cut.damaged, usize::from(at != 0 && !ends.contains(&at)), "cut at {at}");
        }
        let zeros = [whole.clone(), vec![0; 5000], whole].concat();
        assert_eq!(sequences(&zeros), [1, 1 << 40, u64::MAX, 1, 1 << 40, u64::MAX]);
    }

    #[test]
    fn frames_of_other_jobs_are_told_apart() {
        let bytes = [frame(2, 1, b"theirs"), frame(1, 2, b"ours")].concat();
        assert_eq!(sequences(&bytes), [2]);
        assert_eq!(frames(&bytes, owner(1)).foreign, 1);
    }

    #[test]
    fn a_machine_that_does_not_say_which_run_it_is_in_is_never_in_the_same() {
        let owner = |boot| Owner::new(JobId(1), Fingerprint::default(), boot);
        let (known, other) = (owner(BootId::of(b"a")), owner(BootId::of(b"b")));
        assert!(known.same_boot(known) && !known.same_boot(other));
        let unknown = owner(BootId::of(b""));
        assert!(!unknown.same_boot(unknown));
    }
}

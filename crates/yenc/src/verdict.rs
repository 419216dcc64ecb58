//! [`Evidence`]: compares what the header, trailer and data of a body say.

use std::ops::Range;

use crate::control::{Begin, Placing, Trailer};
use crate::fault::Fault;
use crate::part::{Check, Encoding, Outcome, Part};
use crate::preamble::Preamble;

/// All that was seen of a body.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) ended: bool,
    pub(crate) preamble: Preamble,
    pub(crate) yenc: Option<YencEvidence>,
    pub(crate) uu: Option<UuEvidence>,
    pub(crate) length: u64,
    pub(crate) kept: u64,
    pub(crate) crc32: u32,
}

#[derive(Debug)]
pub(crate) struct YencEvidence {
    pub(crate) begin: Begin,
    pub(crate) placing: Option<Placing>,
    pub(crate) trailer: Option<Trailer>,
    pub(crate) overlong: bool, // one of the control lines is
}

#[derive(Debug, Default)]
pub(crate) struct UuEvidence {
    pub(crate) name: Option<String>,
    pub(crate) rows: u64,
    pub(crate) bad_row: Option<(u64, char)>,
}

impl Evidence {
    pub(crate) fn judge(self) -> Outcome {
        let (mut part, fault) = match (&self.yenc, &self.uu) {
            (Some(yenc), _) => yenc.judge(&self),
            (None, Some(uu)) => uu.judge(&self),
            (None, None) => (self.blank(None), Some(self.nothing_found())),
        };
        let fault = self.too_large().or_else(|| self.cut_off()).or(fault);
        if matches!(fault, Some(Fault::TooLarge { .. })) {
            part.check = Check::Absent; // the CRC saw only what had room
        }
        Outcome { part, fault }
    }

    fn blank(&self, encoding: Option<Encoding>) -> Part {
        Part {
            encoding,
            name: None,
            number: None,
            total: None,
            file_size: None,
            range: None,
            length: self.length,
            crc32: self.crc32,
            check: Check::Absent,
        }
    }

    /// Comes first: with more room everything else may turn out well.
    fn too_large(&self) -> Option<Fault> {
        (self.kept < self.length)
            .then_some(Fault::TooLarge { needed: self.length, room: self.kept })
    }

    fn cut_off(&self) -> Option<Fault> {
        let missing = "the end of the body";
        (!self.ended).then_some(Fault::Truncated { missing, decoded: self.length })
    }

    fn nothing_found(&self) -> Fault {
        match self.preamble.other() {
            Some(found) => Fault::Encoding { found },
            None if self.preamble.is_empty() => Fault::Empty,
            None => Fault::YencHeader { field: "=ybegin", problem: "not within the first 64 KiB" },
        }
    }
}

impl UuEvidence {
    fn judge(&self, seen: &Evidence) -> (Part, Option<Fault>) {
        let part = Part { name: self.name.clone(), ..seen.blank(Some(Encoding::Uu)) };
        let bad_row = self.bad_row.map(|(row, value)| Fault::Row { row, value });
        let empty = (seen.length == 0).then_some(Fault::Empty);
        (part, bad_row.or(empty))
    }
}

impl YencEvidence {
    pub(crate) fn new(begin: Begin, overlong: bool) -> Self {
        Self { begin, placing: None, trailer: None, overlong }
    }

    fn judge(&self, seen: &Evidence) -> (Part, Option<Fault>) {
        let range = self.range(seen.length);
        let known_range = range.as_ref().ok().cloned();
        let crc = self.stated_crc(known_range.as_ref());
        let verified = crc.is_some_and(|(_, stated)| stated == seen.crc32);
        let part = Part {
            name: self.begin.name.clone(),
            number: self.begin.part.good().filter(|&number| number > 0),
            total: self.begin.total.good().filter(|&total| total > 0),
            file_size: self.file_size(),
            range: known_range,
            check: if verified { Check::Verified } else { Check::Absent },
            ..seen.blank(Some(Encoding::Yenc))
        };
        let fault = self
            .without_trailer(seen.length)
            .or_else(|| self.overlong_line())
            .or(range.err())
            .or_else(|| wrong_crc(crc, seen.crc32))
            .or_else(|| wrong_length(part.range.as_ref(), self.placing.is_some(), seen.length))
            .or_else(|| self.wrong_size(verified, seen.length));
        (part, fault)
    }

    fn without_trailer(&self, decoded: u64) -> Option<Fault> {
        self.trailer.is_none().then_some(Fault::Truncated { missing: "=yend", decoded })
    }

    fn overlong_line(&self) -> Option<Fault> {
        self.overlong.then_some(Fault::YencHeader {
            field: "a control line",
            problem: "longer than 4096 bytes",
        })
    }

    /// One claim among many: whoever assembles the file asks several parts.
    fn file_size(&self) -> Option<u64> {
        self.begin.size.good().filter(|&size| size <= LARGEST_FILE)
    }

    fn range(&self, length: u64) -> Result<Range<u64>, Fault> {
        match &self.placing {
            Some(placing) => self.placed(placing),
            None if self.is_one_of_several() => Err(Fault::YencHeader {
                field: "=ypart",
                problem: "missing, though =ybegin names a part",
            }),
            None => Ok(0..self.file_size().unwrap_or(length)),
        }
    }

    fn placed(&self, placing: &Placing) -> Result<Range<u64>, Fault> {
        let bad = |field, value| Err(Fault::Range { field, value });
        let Some(begin) = placing.begin.good().filter(|&begin| begin > 0) else {
            return bad("=ypart begin", placing.begin.stated());
        };
        let Some(end) = placing.end.good().filter(|&end| end <= LARGEST_FILE) else {
            return bad("=ypart end", placing.end.stated());
        };
        if end < begin {
            return bad("=ypart end before begin", format!("{begin}..{end}"));
        }
        match self.file_size() {
            Some(size) if end > size => {
                bad("=ypart end behind =ybegin size", format!("{end} > {size}"))
            }
            _ => Ok(begin - 1..end),
        }
    }

    /// Some posters write `part=1 total=1` and no `=ypart`; that is a whole file.
    fn is_one_of_several(&self) -> bool {
        self.begin.part.good().is_some() && self.begin.total.good() != Some(1)
    }

    /// In a part of several `crc32` is the whole file's, so only `pcrc32` speaks for the part.
    fn stated_crc(&self, range: Option<&Range<u64>>) -> Option<(&'static str, u32)> {
        let trailer = self.trailer.as_ref()?;
        let part_crc = trailer.part_crc.map(|crc| ("pcrc32", crc));
        let crc = trailer.crc.map(|crc| ("crc32", crc));
        let whole = self.file_size().map(|size| 0..size);
        match &self.placing {
            None if self.is_one_of_several() => part_crc,
            None => crc.or(part_crc),
            Some(_) if range.is_some() && range == whole.as_ref() => part_crc.or(crc),
            Some(_) => part_crc,
        }
    }

    /// A size that is absent or nonsense matters only where no CRC vouches for the bytes.
    fn wrong_size(&self, verified: bool, decoded: u64) -> Option<Fault> {
        let trailer = &self.trailer.as_ref()?.size;
        let is_whole = self.placing.is_none();
        if trailer.good().is_some_and(|size| size != decoded) {
            return Some(Fault::Size { field: "=yend size", stated: trailer.stated(), decoded });
        }
        let wrong = match self.file_size() {
            Some(size) => is_whole && size != decoded,
            None => !verified,
        };
        let stated = self.begin.size.stated();
        wrong.then_some(Fault::Size { field: "=ybegin size", stated, decoded })
    }
}

fn wrong_crc(stated: Option<(&'static str, u32)>, computed: u32) -> Option<Fault> {
    let (field, stated) = stated?;
    (stated != computed).then_some(Fault::Crc { field, stated, computed })
}

fn wrong_length(range: Option<&Range<u64>>, placed: bool, decoded: u64) -> Option<Fault> {
    let range = range.filter(|range| placed && range.end - range.start != decoded)?;
    Some(Fault::Range {
        field: "=ypart begin and end",
        value: format!("{}..{} for {decoded} bytes", range.start + 1, range.end),
    })
}

/// Beyond this a size is a lie, and may be one made to make us reserve.
const LARGEST_FILE: u64 = 16 << 40;

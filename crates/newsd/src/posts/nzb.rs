//! [`NzbWriter`]: the NZB of a post.

use std::io::{self, Write};

/// Writes an NZB piece by piece, so that a huge post costs no memory.
#[derive(Debug)]
pub(crate) struct NzbWriter<W> {
    out: W,
}

impl<W: Write> NzbWriter<W> {
    pub(crate) fn begin(mut out: W) -> io::Result<Self> {
        out.write_all(HEAD.as_bytes())?;
        Ok(Self { out })
    }

    pub(crate) fn begin_file(&mut self, subject: &str) -> io::Result<()> {
        let subject = escaped(subject);
        writeln!(
            self.out,
            "  <file poster=\"{POSTER}\" date=\"{DATE}\" subject=\"{subject}\">\n    \
             <groups><group>{GROUP}</group></groups>\n    <segments>"
        )
    }

    pub(crate) fn segment(&mut self, number: u32, bytes: u64, id: &str) -> io::Result<()> {
        let id = escaped(id);
        writeln!(self.out, "      <segment bytes=\"{bytes}\" number=\"{number}\">{id}</segment>")
    }

    pub(crate) fn end_file(&mut self) -> io::Result<()> {
        self.out.write_all(b"    </segments>\n  </file>\n")
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.out.write_all(b"</nzb>\n")?;
        self.out.flush()
    }
}

/// About how many bytes so many bytes of noise become: 4 in 256 are escaped, each line of 128 has
/// its end, and there are control lines.
pub(crate) fn wire_size(length: u64) -> u64 {
    length + length / 64 + length / 64 + CONTROL_LINES
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const CONTROL_LINES: u64 = 180;
const HEAD: &str = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE nzb PUBLIC \"-//newzBin//DTD NZB 1.1//EN\" \"http://www.newzbin.com/DTD/nzb/nzb-1.1.dtd\">
<nzb xmlns=\"http://www.newzbin.com/DTD/2003/nzb\">
";
const POSTER: &str = "newsd &lt;poster@newsd.example&gt;";
const GROUP: &str = "alt.binaries.test";
/// The first of January 2026: no clock is read in here, and no test depends on today.
const DATE: u64 = 1_767_225_600;

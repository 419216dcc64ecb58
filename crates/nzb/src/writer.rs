//! NZB text for what was found elsewhere than in an NZB.

use bergamot_types::{GroupName, UnixTime};

/// One file to be written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenFile<'a, S> {
    pub poster: &'a str,
    pub date: UnixTime,
    pub subject: &'a str,
    pub groups: &'a [GroupName],
    pub segments: S,
}

#[derive(Clone, Copy, Debug)]
pub struct WrittenSegment<'a> {
    pub number: u32,
    pub bytes: u64,
    /// Without its brackets.
    pub id: &'a str,
}

/// An NZB that [`read`](crate::read) takes without a warning, if there is a segment in it.
pub fn write<'a, S: Iterator<Item = WrittenSegment<'a>>>(
    title: &str,
    files: impl Iterator<Item = WrittenFile<'a, S>>,
) -> String {
    let mut text =
        format!("{HEAD}  <head>\n    <meta type=\"title\">{}</meta>\n  </head>\n", escaped(title));
    for file in files {
        write_file(&mut text, file);
    }
    text + "</nzb>\n"
}

fn write_file<'a, S: Iterator<Item = WrittenSegment<'a>>>(
    text: &mut String,
    file: WrittenFile<'a, S>,
) {
    let (poster, subject) = (escaped(file.poster), escaped(file.subject));
    let date = file.date.0;
    text.push_str(&format!("  <file poster=\"{poster}\" date=\"{date}\" subject=\"{subject}\">\n"));
    text.push_str("    <groups>\n");
    for group in file.groups {
        text.push_str(&format!("      <group>{}</group>\n", escaped(group.as_str())));
    }
    text.push_str("    </groups>\n    <segments>\n");
    for WrittenSegment { number, bytes, id } in file.segments {
        let id = escaped(id);
        text.push_str(&format!(
            "      <segment bytes=\"{bytes}\" number=\"{number}\">{id}</segment>\n"
        ));
    }
    text.push_str("    </segments>\n  </file>\n");
}

/// Control characters, which XML does not know, become blanks.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

const HEAD: &str = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE nzb PUBLIC \"-//newzBin//DTD NZB 1.1//EN\" \"http://www.newzbin.com/DTD/nzb/nzb-1.1.dtd\">
<nzb xmlns=\"http://www.newzbin.com/DTD/2003/nzb\">
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, read};

    #[test]
    fn what_is_written_is_read_back() {
        let groups = [GroupName::parse("a.b").unwrap()];
        let subject = "[1/1] - \"ä & <b>.rar\" yEnc (1/2)";
        let segments = [(1, "one&two@x"), (2, "three@x")];
        let segments = segments.map(|(number, id)| WrittenSegment { number, bytes: 70, id });
        let poster = "Ann \u{7}<ann@x>";
        let date = UnixTime(1_767_225_600);
        let file =
            WrittenFile { poster, date, subject, groups: &groups, segments: segments.into_iter() };
        let text = write("A & B", [file].into_iter());
        let nzb = read(text.as_bytes(), &Limits::default()).unwrap();
        assert!(nzb.warnings.is_empty(), "{:?}", nzb.warnings);
        assert_eq!(nzb.meta.title.as_deref(), Some("A & B"));
        let file = &nzb.files[0];
        assert_eq!((&*file.subject, &*file.poster), (subject, "Ann  <ann@x>"));
        assert_eq!((file.date, &*file.groups), (Some(date), &groups[..]));
        let ids: Vec<_> = (0..2).map(|index| file.segments.id(index).to_string()).collect();
        assert_eq!((ids, file.bytes()), (vec!["one&two@x".to_owned(), "three@x".to_owned()], 140));
    }
}

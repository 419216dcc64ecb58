//! [`write()`] and [`rewrite`]: the text of an NZB. Pure.

use bergamot_types::{GroupName, UnixTime};

use crate::file::NzbFile;

/// Some files of an NZB as an NZB of their own: read, they are what they were.
pub fn rewrite<'a>(title: &str, files: impl Iterator<Item = &'a NzbFile>) -> String {
    let written = files.map(|file| {
        // Alternates behind all others: of equal numbers the first is the segment.
        let usable = file.segments.iter().chain(file.segments.alternates());
        let usable = usable.map(|segment| WrittenSegment {
            number: segment.number,
            bytes: segment.bytes.unwrap_or(0).into(),
            id: segment.id,
        });
        // What cannot be asked for is missing there as it is here.
        let unusable = file.segments.unusable().iter().map(|entry| WrittenSegment {
            number: entry.number,
            bytes: entry.bytes.into(),
            id: "",
        });
        WrittenFile {
            poster: &file.poster,
            // No article is that old: it is read as none.
            date: file.date.unwrap_or(UnixTime(0)),
            subject: &file.subject,
            groups: &file.groups,
            segments: usable.chain(unusable),
        }
    });
    write(title, written)
}

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
    fn files_that_get_an_nzb_of_their_own_stay_what_they_were() {
        let odd = "<nzb>\
             <file subject='first \"a &amp; b.rar\" (1/9)' poster='ann' date='1767225600'>\
             <groups><group>a.b</group><group>c.d</group></groups><segments>\
             <segment number='2' bytes='70'>two@x</segment><segment number='1'>one@x</segment>\
             <segment number='2' bytes='80'>other@x</segment><segment number='1'>last@x</segment>\
             <segment number='5' bytes='70'>no id at all</segment></segments></file>\
             <file subject='skipped'><segments><segment number='1'>s@x</segment></segments></file>\
             <file subject='second' date='never'><segments></segments></file></nzb>";
        let nzb = read(odd.as_bytes(), &Limits::default()).unwrap();
        let some = [&nzb.files[0], &nzb.files[2]];
        let again = rewrite("new", some.into_iter());
        let again = read(again.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(again.files.len(), 2);
        for (before, after) in some.into_iter().zip(&again.files) {
            let told = |file: &NzbFile| {
                let segments = file.segments.iter().chain(file.segments.alternates());
                let segments: Vec<_> = segments.map(|it| format!("{it:?}")).collect();
                let rest = (file.date, file.groups.clone(), file.segments.unusable().to_vec());
                (file.subject.clone(), file.poster.clone(), segments, rest)
            };
            assert_eq!(told(before), told(after));
            assert_eq!((before.announced(), before.bytes()), (after.announced(), after.bytes()));
        }
    }

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

//! NZB text, written by hand where a test wants it odd.

/// A whole NZB around `inner`.
pub fn nzb(inner: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<nzb>\n{inner}</nzb>\n")
}

/// A `<file>` of these articles. Everything is put in as it is given, entities and all.
pub fn file(subject: &str, ids: &[impl AsRef<str>]) -> String {
    let segment = |(number, id): (usize, &str)| {
        format!("<segment bytes=\"20000\" number=\"{number}\">{id}</segment>\n")
    };
    let segments: String = (1..).zip(ids.iter().map(AsRef::as_ref)).map(segment).collect();
    format!(
        "<file poster=\"p\" date=\"1767225600\" subject=\"{subject}\">\n\
         <groups><group>alt.binaries.test</group></groups>\n\
         <segments>{segments}</segments>\n</file>\n"
    )
}

/// Ends the head of an NZB with this password in it.
pub fn password(secret: &str) -> String {
    format!("<head><meta type=\"password\">{secret}</meta></head>\n")
}

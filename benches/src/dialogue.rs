//! What the bench server says.

use std::borrow::Cow;

use crate::payload::Payload;

/// An answer in up to two pieces, so that an article leaves from where it was prepared.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) head: Cow<'a, [u8]>,
    pub(crate) body: &'a [u8],
    /// Nothing follows it.
    pub(crate) last: bool,
}

impl<'a> Answer<'a> {
    pub(crate) fn greeting() -> Self {
        line("200 ready")
    }

    /// Answers a command, given without its line end.
    pub(crate) fn to(command: &[u8], payload: &'a Payload) -> Self {
        let mut words = command.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        let verb = words.next().unwrap_or_default().to_ascii_uppercase();
        let word = words.next().unwrap_or_default();
        match verb.as_slice() {
            b"BODY" => match payload.answer(bare(word)) {
                Some(body) => Self { head: Cow::Borrowed(&[]), body, last: false },
                None => line(MISSING),
            },
            b"ARTICLE" => on_article(bare(word), payload, "220", true),
            b"HEAD" => on_article(bare(word), payload, "221", false),
            b"STAT" if payload.answer(bare(word)).is_some() => {
                line(&format!("223 0 {}", String::from_utf8_lossy(word)))
            }
            b"STAT" => line(MISSING),
            b"GROUP" => line(&format!("211 1 1 1 {}", String::from_utf8_lossy(word))),
            b"AUTHINFO" if word.eq_ignore_ascii_case(b"USER") => line("381 and the password?"),
            b"AUTHINFO" => line("281 welcome"),
            b"CAPABILITIES" => line("101 these:\r\nVERSION 2\r\nREADER\r\nAUTHINFO USER\r\n."),
            b"DATE" => line("111 20260701000000"),
            b"MODE" => line("200 ready"),
            b"QUIT" => Self { last: true, ..line("205 bye") },
            _ => line("500 what?"),
        }
    }
}

/// Clients that ask for whole articles get few headers: they look at none of them.
fn on_article<'a>(id: &[u8], payload: &'a Payload, code: &str, whole: bool) -> Answer<'a> {
    let Some(body) = payload.body(id) else { return line(MISSING) };
    let id = String::from_utf8_lossy(id);
    let end = if whole { "" } else { ".\r\n" };
    let head = format!(
        "{code} 0 <{id}>\r\nMessage-ID: <{id}>\r\nFrom: bench\r\nNewsgroups: alt.binaries.test\r\n\
         Subject: sample\r\n\r\n{end}"
    );
    Answer {
        head: Cow::Owned(head.into_bytes()),
        body: if whole { body } else { &[] },
        last: false,
    }
}

fn line(text: &str) -> Answer<'static> {
    Answer { head: Cow::Owned(format!("{text}\r\n").into_bytes()), body: &[], last: false }
}

fn bare(id: &[u8]) -> &[u8] {
    id.strip_prefix(b"<").and_then(|id| id.strip_suffix(b">")).unwrap_or(id)
}

const MISSING: &str = "430 no such article";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Shape;

    fn said(payload: &Payload, command: &str) -> String {
        let Answer { head, body, last } = Answer::to(command.as_bytes(), payload);
        let text = [&*head, body].concat();
        format!("{}{}", text.escape_ascii(), if last { " and closes" } else { "" })
    }

    #[test]
    fn clients_are_answered() {
        let payload = Payload::new(Shape { files: 1, file_size: 3 });
        let body = said(&payload, "BODY <0@arena.example>");
        assert!(body.starts_with("222 0 <0@arena.example>\\r\\n=ybegin line=128 size=3"), "{body}");
        assert!(body.ends_with("\\r\\n.\\r\\n"), "{body}");
        let article = said(&payload, "article <0@arena.example>");
        assert!(article.starts_with("220 0 <0@arena.example>\\r\\nMessage-ID: "), "{article}");
        assert!(article.contains("\\r\\n\\r\\n=ybegin"), "{article}");
        assert_eq!(said(&payload, "STAT <0@arena.example>"), "223 0 <0@arena.example>\\r\\n");
        assert_eq!(said(&payload, "BODY <1@arena.example>"), "430 no such article\\r\\n");
        assert_eq!(said(&payload, "ARTICLE <x@y>"), "430 no such article\\r\\n");
        assert_eq!(said(&payload, "AUTHINFO USER ann"), "381 and the password?\\r\\n");
        assert_eq!(said(&payload, "AUTHINFO PASS x"), "281 welcome\\r\\n");
        assert_eq!(said(&payload, "GROUP a.b"), "211 1 1 1 a.b\\r\\n");
        assert_eq!(said(&payload, "QUIT"), "205 bye\\r\\n and closes");
        assert_eq!(said(&payload, ""), "500 what?\\r\\n");
    }
}

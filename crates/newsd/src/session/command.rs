//! [`Command`]: the commands that a client sends.

/// One command line, taken apart. Ids are without their brackets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Command<'a> {
    Article(Target<'a>),
    AuthPassword(&'a str),
    AuthUser(&'a str),
    Body(Target<'a>),
    Capabilities,
    Compress(&'a str),
    Date,
    Group(&'a str),
    /// A field and a range.
    Hdr(&'a str, &'a str),
    Head(Target<'a>),
    ListActive(&'a str),
    ListNewsgroups(&'a str),
    ModeReader,
    Over(&'a str),
    Quit,
    StartTls,
    Stat(Target<'a>),
    Unknown,
    Xover(&'a str),
}

/// Which article is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target<'a> {
    Current,
    Id(&'a str),
    Number,
}

impl<'a> Command<'a> {
    pub(crate) fn parse(line: &'a str) -> Self {
        let (verb, argument) = split(line);
        match verb.to_ascii_uppercase().as_str() {
            "ARTICLE" => Command::Article(Target::parse(argument)),
            "AUTHINFO" => match split(argument) {
                (word, user) if word.eq_ignore_ascii_case("USER") => Command::AuthUser(user),
                (word, pass) if word.eq_ignore_ascii_case("PASS") => Command::AuthPassword(pass),
                _ => Command::Unknown,
            },
            "BODY" => Command::Body(Target::parse(argument)),
            "CAPABILITIES" => Command::Capabilities,
            "COMPRESS" => Command::Compress(argument.trim_end()),
            "DATE" => Command::Date,
            "GROUP" => Command::Group(argument.trim_end()),
            "HDR" => {
                let (field, range) = split(argument);
                Command::Hdr(field, range.trim_end())
            }
            "HEAD" => Command::Head(Target::parse(argument)),
            "LIST" => match split(argument) {
                (word, pattern) if word.is_empty() || word.eq_ignore_ascii_case("ACTIVE") => {
                    Command::ListActive(pattern.trim_end())
                }
                (word, pattern) if word.eq_ignore_ascii_case("NEWSGROUPS") => {
                    Command::ListNewsgroups(pattern.trim_end())
                }
                _ => Command::Unknown,
            },
            "MODE" if argument.trim_end().eq_ignore_ascii_case("READER") => Command::ModeReader,
            "OVER" => Command::Over(argument.trim_end()),
            "QUIT" => Command::Quit,
            "STARTTLS" => Command::StartTls,
            "STAT" => Command::Stat(Target::parse(argument)),
            "XOVER" => Command::Xover(argument.trim_end()),
            _ => Command::Unknown,
        }
    }

    /// The name under which the command is counted.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Command::Article(_) => "ARTICLE",
            Command::AuthPassword(_) => "AUTHINFO PASS",
            Command::AuthUser(_) => "AUTHINFO USER",
            Command::Body(_) => "BODY",
            Command::Capabilities => "CAPABILITIES",
            Command::Compress(_) => "COMPRESS",
            Command::Date => "DATE",
            Command::Group(_) => "GROUP",
            Command::Hdr(..) => "HDR",
            Command::Head(_) => "HEAD",
            Command::ListActive(_) => "LIST ACTIVE",
            Command::ListNewsgroups(_) => "LIST NEWSGROUPS",
            Command::ModeReader => "MODE READER",
            Command::Over(_) => "OVER",
            Command::Quit => "QUIT",
            Command::StartTls => "STARTTLS",
            Command::Stat(_) => "STAT",
            Command::Unknown => "unknown",
            Command::Xover(_) => "XOVER",
        }
    }
}

impl<'a> Target<'a> {
    fn parse(argument: &'a str) -> Self {
        let argument = argument.trim_end();
        match argument.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(id) => Target::Id(id),
            None if argument.is_empty() => Target::Current,
            None => Target::Number,
        }
    }
}

fn split(line: &str) -> (&str, &str) {
    let line = line.trim_start_matches([' ', '\t']);
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    (word, rest.trim_start_matches([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_blanks_do_not_matter() {
        assert_eq!(Command::parse("body  <a@x> "), Command::Body(Target::Id("a@x")));
        assert_eq!(Command::parse("Mode Reader"), Command::ModeReader);
        assert_eq!(Command::parse("AUTHINFO user a b"), Command::AuthUser("a b"));
        assert_eq!(Command::parse("AUTHINFO PASS  b "), Command::AuthPassword("b "));
        assert_eq!(Command::parse("list active a.* "), Command::ListActive("a.*"));
        assert_eq!(Command::parse("HDR Subject 1-2"), Command::Hdr("Subject", "1-2"));
        assert_eq!(Command::parse("STAT 7"), Command::Stat(Target::Number));
        assert_eq!(Command::parse("HEAD"), Command::Head(Target::Current));
        for line in ["", "MODE", "AUTHINFO", "AUTHINFO SASL PLAIN", "XZVER 1-2"] {
            assert_eq!(Command::parse(line), Command::Unknown, "{line:?}");
        }
    }
}

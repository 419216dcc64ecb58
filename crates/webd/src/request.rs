//! [`Request`]: a request as received.

use std::io::{self, BufRead};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// None if the other side has said nothing.
    pub(crate) fn read_from(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let line = read_line(input)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let mut headers = Vec::new();
        loop {
            let line = read_line(input)?;
            if line.is_empty() {
                return Ok(Some(Self { method, target, headers }));
            }
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

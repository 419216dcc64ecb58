//! [`Query`]: a filter over headers.

use crate::headers::Header;

/// Words that must all be in the subject or the name of the poster, in any case and order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Query {
    words: Vec<String>,
}

impl Query {
    /// What is beyond the first few words narrows nothing that matters.
    pub fn new(text: &str) -> Self {
        let words = text.split_whitespace().take(MOST_WORDS);
        Self { words: words.map(str::to_lowercase).collect() }
    }

    pub fn matches(&self, header: &Header<'_>) -> bool {
        self.matches_texts(&[header.subject, header.poster])
    }

    pub fn matches_texts(&self, texts: &[&str]) -> bool {
        let texts: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
        self.words.iter().all(|word| texts.iter().any(|text| text.contains(word.as_str())))
    }
}

const MOST_WORDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Headers;
    use crate::headers::tests::overview;

    #[test]
    fn all_words_must_be_there_in_any_case_and_order() {
        let mut headers = Headers::default();
        headers.push(&overview(1, "Ann <ann@x>", "Größe ÜBER alles [1/2] \"a.rar\""));
        let header = headers.iter().next().unwrap();
        for (query, found) in [
            ("", true),
            ("alles größe", true),
            ("über", true),
            ("ANN a.rar", true),
            ("alles nichts", false),
            ("größe bob", false),
        ] {
            assert_eq!(Query::new(query).matches(&header), found, "{query}");
        }
    }
}

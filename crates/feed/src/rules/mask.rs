//! [`Mask`]: words with wildcards. Pure.
//!
//! Titles separate words by dots, dashes or spaces, so both sides are normalised to words separated by one
//! space before they are compared.

/// `show`, `s##e##`, `x26?`, `*show*`
#[derive(Clone, Debug)]
pub(super) struct Mask(Vec<Piece>);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Piece {
    /// Any number of letters of one word.
    AnyInWord,
    Anything,
    Digit,
    Letter(char),
    OneLetter,
}

impl Mask {
    /// Matches whole words; between two stars it matches anywhere.
    pub(super) fn new(text: &str) -> Self {
        let inner = text.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
        let (text, is_anywhere) = match inner {
            Some(inner) => (inner, true),
            None => (text, text == "*"),
        };
        let star = if is_anywhere { Piece::Anything } else { Piece::AnyInWord };
        let mut pieces = vec![Piece::Anything];
        if !is_anywhere {
            pieces.push(Piece::Letter(' '));
        }
        for c in text.chars().flat_map(char::to_lowercase) {
            let piece = match c {
                '*' => star,
                '?' => Piece::OneLetter,
                '#' => Piece::Digit,
                c if c.is_alphanumeric() => Piece::Letter(c),
                _ => Piece::Letter(' '),
            };
            let is_repeated = pieces.last() == Some(&piece)
                && matches!(piece, Piece::Anything | Piece::AnyInWord | Piece::Letter(' '));
            if !is_repeated {
                pieces.push(piece);
            }
        }
        if !is_anywhere && pieces.last() != Some(&Piece::Letter(' ')) {
            pieces.push(Piece::Letter(' '));
        }
        pieces.push(Piece::Anything);
        Self(pieces)
    }

    /// Walks through the text once, with all places in the mask that could be reached.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut reached = vec![false; self.0.len() + 1];
        self.reach(&mut reached, 0);
        for c in normalised(text).chars() {
            let mut next = vec![false; reached.len()];
            for (place, piece) in self.0.iter().enumerate().filter(|(place, _)| reached[*place]) {
                match piece {
                    Piece::Anything => self.reach(&mut next, place),
                    Piece::AnyInWord if c != ' ' => self.reach(&mut next, place),
                    Piece::Digit if c.is_ascii_digit() => self.reach(&mut next, place + 1),
                    Piece::OneLetter if c != ' ' => self.reach(&mut next, place + 1),
                    Piece::Letter(letter) if *letter == c => self.reach(&mut next, place + 1),
                    _ => {}
                }
            }
            reached = next;
        }
        reached[self.0.len()]
    }

    /// A star may also stand for nothing.
    fn reach(&self, reached: &mut [bool], mut place: usize) {
        reached[place] = true;
        while let Some(Piece::Anything | Piece::AnyInWord) = self.0.get(place) {
            place += 1;
            reached[place] = true;
        }
    }
}

/// In lower case, with one blank around each word.
pub(super) fn normalised(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            words.push(c);
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

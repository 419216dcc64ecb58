//! [`Headers`]: the headers of one group, in compact form.

use bergamot_types::UnixTime;

use crate::overview::Overview;

/// In the order of their numbers. All text is in one allocation, and a poster of several articles in a row is
/// stored once.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    text: String,
    rows: Vec<Row>,
}

/// One header as it is read back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header<'a> {
    pub number: u64,
    pub subject: &'a str,
    pub poster: &'a str,
    pub date: Option<UnixTime>,
    /// Without its brackets.
    pub id: &'a str,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    number: u64,
    date: i64, // NO_DATE where there is none
    bytes: u32,
    subject: Span,
    id: Span,
    poster: Span,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    length: u16,
}

impl Headers {
    /// Adds a header behind all others; one whose number is not higher than theirs is refused, and
    /// so is one beyond what this holds.
    pub fn push(&mut self, overview: &Overview) -> bool {
        let Overview { number, subject, poster, date, id, bytes } = overview;
        let header = Header {
            number: *number,
            subject,
            poster,
            date: *date,
            id: id.as_str(),
            bytes: *bytes,
        };
        self.push_header(header)
    }

    pub(crate) fn push_header(&mut self, header: Header<'_>) -> bool {
        let last = self.rows.last().copied();
        if last.is_some_and(|last| last.number >= header.number) || self.is_full() {
            return false;
        }
        let same = last.map(|row| row.poster).filter(|&span| self.read(span) == header.poster);
        let poster = same.unwrap_or_else(|| self.keep(header.poster));
        let (subject, id) = (self.keep(header.subject), self.keep(header.id));
        let date = header.date.map_or(NO_DATE, |date| date.0);
        let bytes = header.bytes.min(u32::MAX.into()) as u32;
        self.rows.push(Row { number: header.number, date, bytes, subject, id, poster });
        true
    }

    /// Adds what is newer. Most looks bring little to a group that is large, so there is some room
    /// to spare: else all of it would be moved each time.
    pub(crate) fn append(&mut self, newer: &Headers) {
        if self.text.capacity() - self.text.len() < newer.text.len() {
            self.text.reserve_exact(newer.text.len() + self.text.len() / SPARE);
        }
        if self.rows.capacity() - self.rows.len() < newer.rows.len() {
            self.rows.reserve_exact(newer.rows.len() + self.rows.len() / SPARE);
        }
        for header in newer.iter() {
            self.push_header(header);
        }
    }

    /// Gives back what no header needs.
    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.rows.shrink_to_fit();
    }

    /// Forgets all but the newest `count`.
    pub(crate) fn keep_newest(&mut self, count: usize) {
        let oldest = self.rows.len().saturating_sub(count);
        let mut kept = Self::default();
        for header in self.iter().skip(oldest) {
            kept.push_header(header);
        }
        kept.shrink();
        *self = kept;
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u64> {
        self.rows.first().map(|row| row.number)
    }

    /// The highest number.
    pub fn last(&self) -> Option<u64> {
        self.rows.last().map(|row| row.number)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Header<'_>> + ExactSizeIterator {
        self.rows.iter().map(|row| self.header(row))
    }

    /// Those with numbers below `number`, in their order.
    pub fn below(&self, number: u64) -> impl DoubleEndedIterator<Item = Header<'_>> {
        let end = self.rows.partition_point(|row| row.number < number);
        self.rows[..end].iter().map(|row| self.header(row))
    }

    /// How much memory they take.
    pub fn cost(&self) -> usize {
        self.text.capacity() + self.rows.capacity() * size_of::<Row>()
    }

    fn header(&self, row: &Row) -> Header<'_> {
        Header {
            number: row.number,
            subject: self.read(row.subject),
            poster: self.read(row.poster),
            date: (row.date != NO_DATE).then_some(UnixTime(row.date)),
            id: self.read(row.id),
            bytes: row.bytes.into(),
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() > MOST_TEXT
    }

    fn keep(&mut self, text: &str) -> Span {
        let text = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
        let span = Span { start: self.text.len() as u32, length: text.len() as u16 };
        self.text.push_str(text);
        span
    }

    fn read(&self, span: Span) -> &str {
        &self.text[span.start as usize..][..usize::from(span.length)]
    }
}

/// Such a part of what is there may be room for more.
const SPARE: usize = 16;

const NO_DATE: i64 = i64::MIN;

/// Well within what a span can point to, and far beyond any budget.
const MOST_TEXT: usize = 1 << 30;

#[cfg(test)]
pub(crate) mod tests {
    use bergamot_types::MessageId;

    use super::*;

    pub(crate) fn overview(number: u64, poster: &str, subject: &str) -> Overview {
        Overview {
            number,
            subject: subject.to_owned(),
            poster: poster.to_owned(),
            date: Some(UnixTime(1_767_225_600 + number as i64)),
            id: MessageId::parse(&format!("{number}@x")).unwrap(),
            bytes: 1000,
        }
    }

    pub(crate) fn headers(numbers: impl IntoIterator<Item = u64>) -> Headers {
        let mut headers = Headers::default();
        for number in numbers {
            assert!(headers.push(&overview(number, "ann", &format!("post {number}"))));
        }
        headers
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let mut headers = Headers::default();
        let first = overview(3, "ann", "one");
        let second = Overview { date: None, bytes: u64::MAX, ..overview(9, "bob", "two") };
        assert!(headers.push(&first) && headers.push(&second));
        let read: Vec<_> = headers.iter().collect();
        assert_eq!((read[0].number, read[0].subject, read[0].poster), (3, "one", "ann"));
        assert_eq!((read[0].id, read[0].date, read[0].bytes), ("3@x", first.date, 1000));
        assert_eq!((read[1].subject, read[1].date), ("two", None));
        assert_eq!(read[1].bytes, u32::MAX.into());
        assert!(!headers.push(&first), "not above the last");
    }

    #[test]
    fn pages_lie_below_a_number() {
        let headers = headers([2, 4, 6, 8]);
        let below = |number| headers.below(number).map(|h| h.number).collect::<Vec<_>>();
        assert_eq!([below(6), below(7), below(2)], [vec![2, 4], vec![2, 4, 6], vec![]]);
        assert_eq!(below(u64::MAX).len(), 4);
    }

    #[test]
    fn only_the_newest_are_kept_and_the_rest_is_given_back() {
        let mut many = headers(1..=1000);
        let before = many.cost();
        many.keep_newest(10);
        assert_eq!((many.first(), many.last(), many.len()), (Some(991), Some(1000), 10));
        assert!(many.cost() < before / 50);
    }

    #[test]
    fn a_header_costs_little_more_than_its_text() {
        let mut all = Headers::default();
        all.append(&headers(1..=5000));
        let each = all.cost() / all.len();
        assert!(each < 48 + "post 1234".len() + "1234@x".len() + 2, "{each} bytes each");
    }
}

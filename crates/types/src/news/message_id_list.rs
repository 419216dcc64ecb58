//! [`MessageIdList`]: many message-ids in one allocation.

use crate::news::message_id::{self, InvalidMessageId, MessageId};

/// Message-ids packed end to end in one buffer.
///
/// A queue of a million segments must not cost a million allocations: here an id costs its own
/// bytes and five more.
#[derive(Clone, Debug, Default)]
pub struct MessageIdList {
    text: String,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed)]
struct Place {
    start: u32,
    length: u8, // at most 248, by the rules of message ids
}

impl MessageIdList {
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the id and keeps it at the end of the list.
    pub fn push(&mut self, text: &str) -> Result<(), InvalidMessageId> {
        let id = message_id::bare(text)?;
        let start = u32::try_from(self.text.len())
            .expect("the readers of ids bound their input far below 4 GiB");
        grow_gently(id.len(), self.text.len(), self.text.capacity(), |more| {
            self.text.reserve_exact(more)
        });
        grow_gently(1, self.places.len(), self.places.capacity(), |more| {
            self.places.reserve_exact(more)
        });
        self.text.push_str(id);
        self.places.push(Place { start, length: id.len() as u8 });
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// # Panics
    /// When there is no such entry, as slices do.
    pub fn text(&self, index: usize) -> &str {
        let Place { start, length } = self.places[index];
        &self.text[start as usize..start as usize + usize::from(length)]
    }

    pub fn id(&self, index: usize) -> MessageId {
        MessageId::from_bare(self.text(index))
    }

    /// Puts the entries into the order that `order` lists; entries it leaves out are dropped.
    pub fn reorder(&mut self, order: &[u32]) {
        self.places = order.iter().map(|&index| self.places[index as usize]).collect();
    }

    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.places.shrink_to_fit();
    }
}

/// Doubling a large buffer would leave up to half of it empty; an eighth more each time keeps the
/// cost of growing linear and the waste small.
fn grow_gently(needed: usize, length: usize, capacity: usize, reserve: impl FnOnce(usize)) {
    if capacity - length < needed {
        reserve(needed.max(length / 8).max(SMALLEST_STEP));
    }
}

const SMALLEST_STEP: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_as_they_went_in() {
        let mut list = MessageIdList::new();
        for n in 0..1000 {
            list.push(&format!("<{n}@x>")).unwrap();
        }
        assert!(list.push("a b").is_err());
        assert_eq!(list.len(), 1000);
        assert_eq!(list.text(999), "999@x");
        assert_eq!(list.id(7), MessageId::parse("7@x").unwrap());
        list.reorder(&[2, 0]);
        assert_eq!((list.len(), list.text(0), list.text(1)), (2, "2@x", "0@x"));
    }
}
